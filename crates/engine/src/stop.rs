//! Whether somebody asked this process to stop what it executes. Asked inside long operations;
//! between statements communicators know ([`crate::comm::Comm::check`]).

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Signals that ask a run to stop: Ctrl-C, Ctrl-\, SIGTERM, a closed terminal.
pub const SIGNALS: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Somebody asked this process to stop.
#[inline(always)]
pub fn requested() -> bool {
    REQUESTED.load(Relaxed)
}

/// Asks this process to stop. Async-signal-safe.
pub fn request() {
    REQUESTED.store(true, Relaxed);
}

/// While this lives, [`SIGNALS`] ask the process to stop. Only measured runs have one, and a process at most one at a
/// time: the end of one sets again what signals did before it, whatever began meanwhile.
pub(crate) struct StopOnSignals {
    before: [libc::sigaction; SIGNALS.len()],
}

impl StopOnSignals {
    /// From now on; an earlier request is forgotten.
    pub(crate) fn new() -> StopOnSignals {
        REQUESTED.store(false, Relaxed);
        StopOnSignals { before: SIGNALS.map(|signal| handle(signal, on_signal)) }
    }
}

impl Drop for StopOnSignals {
    fn drop(&mut self) {
        for (signal, before) in SIGNALS.iter().zip(&self.before) {
            // SAFETY: the action is the one that the kernel gave.
            unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
        }
    }
}

/// For [`handle`]: a signal that asks to stop.
pub(crate) extern "C" fn on_signal(_signal: i32) {
    request();
}

/// Lets a signal call `handler`, which must be async-signal-safe; what it did before. Calls go on
/// where they can; sleeping ends all the same (signal(7)).
pub fn handle(signal: i32, handler: extern "C" fn(i32)) -> libc::sigaction {
    let mut before = MaybeUninit::zeroed();
    // SAFETY: zeros are a value of both structures, which live across the call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &action, before.as_mut_ptr());
        before.assume_init()
    }
}

//! Signals that ask an MPI rank to stop: Ctrl-C (MPICH), SIGTERM (Open MPI's Ctrl-C, batch
//! systems), a closed terminal, Ctrl-\\, SIGUSR1 (batch systems, before a limit); the last asks rank
//! 0 to start where it waits for that.
//!
//! The first one lets the rank stop at its next statement; one that comes later than
//! half a second ends the process. (A terminal and a launcher may both send the first.)

use engine::clock::monotonic_raw_ns;
use engine::stop::{SIGNALS, handle, request, requested};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// When the first signal came; 0: none did.
static SINCE_NS: AtomicU64 = AtomicU64::new(0);
static START: AtomicBool = AtomicBool::new(false);
/// Signals within this time are one.
const TWICE_NS: u64 = 500_000_000;

/// Takes the signals from now on. After MPI's initialisation, which may have handlers too.
pub fn take() {
    for signal in SIGNALS.iter().chain(&[libc::SIGUSR1]) {
        handle(*signal, stop);
    }
}

/// Lets SIGUSR1 mean "start" from now on, in place of "stop".
pub fn take_start() {
    handle(libc::SIGUSR1, start);
}

/// Somebody asked this process to stop.
#[inline(always)]
pub fn is_requested() -> bool {
    requested()
}

/// SIGUSR1 has come since [`take_start`].
pub fn may_start() -> bool {
    START.load(Relaxed)
}

/// Stops this rank as a signal would: another rank has received one.
pub fn stop_rank() {
    request();
}

extern "C" fn stop(signal: i32) {
    request();
    let now_ns = monotonic_raw_ns();
    let first = SINCE_NS.compare_exchange(0, now_ns, Relaxed, Relaxed);
    if first.is_err_and(|since_ns| now_ns > since_ns + TWICE_NS) {
        // SAFETY: both calls are async-signal-safe; the signal ends this process on return.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

extern "C" fn start(_signal: i32) {
    START.store(true, Relaxed);
}

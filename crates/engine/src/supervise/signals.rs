//! Signals of supervisor and ranks.
//!
//! The supervisor blocks those it cares for and takes them one by one: no handler
//! interrupts anything. Ranks ignore what a terminal sends to all processes, because the
//! supervisor tells them to stop; it wakes sleeping ranks with [`WAKE`].

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

/// Ends the sleep of a rank; does nothing else.
pub(super) const WAKE: i32 = libc::SIGUSR2;
const TAKEN: [i32; 5] = [libc::SIGCHLD, libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1];

/// The signals of a supervisor, blocked while this lives.
pub(super) struct Signals {
    taken: libc::sigset_t,
    before: libc::sigset_t,
}

/// What a supervisor is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Nothing within the time.
    Nothing,
    /// A child has changed.
    Child,
    /// Stop: Ctrl-C, SIGTERM or a closed terminal.
    Stop,
    /// Start (SIGUSR1).
    Start,
}

impl Signals {
    /// Takes the signals from now on.
    pub(super) fn take() -> io::Result<Signals> {
        let taken = set(&TAKEN);
        let mut before = MaybeUninit::uninit();
        // SAFETY: both sets live across the call, which initialises `before` on success.
        let before = unsafe {
            if libc::sigprocmask(libc::SIG_BLOCK, &taken, before.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            // An inherited "ignore" would hide how children end.
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            before.assume_init()
        };
        Ok(Signals { taken, before })
    }

    /// Waits for the next one.
    pub(super) fn next(&self, timeout: Duration) -> Told {
        let timeout = libc::timespec {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(timeout.subsec_nanos() as i32),
        };
        // SAFETY: the set and the time live across the call; no details are asked for.
        let signal = unsafe { libc::sigtimedwait(&self.taken, std::ptr::null_mut(), &timeout) };
        match signal {
            libc::SIGCHLD => Told::Child,
            libc::SIGUSR1 => Told::Start,
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP => Told::Stop,
            _ => Told::Nothing,
        }
    }

    /// Called in a rank: nothing is blocked, and only [`WAKE`] is heard.
    pub(super) fn become_rank(&self) {
        // SAFETY: the handler does nothing; ignoring and unblocking touch no memory of ours.
        unsafe {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1] {
                libc::signal(signal, libc::SIG_IGN);
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = do_nothing as *const () as libc::sighandler_t;
            // Calls go on where they can; sleeping ends all the same (signal(7)).
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(WAKE, &action, std::ptr::null_mut());
            let mut blocked = self.before;
            libc::sigdelset(&mut blocked, WAKE);
            libc::sigprocmask(libc::SIG_SETMASK, &blocked, std::ptr::null_mut());
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // A second Ctrl-C that came too late must not end what follows: results are written.
        while self.next(Duration::ZERO) != Told::Nothing {}
        // SAFETY: the set was given by the kernel.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

extern "C" fn do_nothing(_signal: i32) {}

fn set(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

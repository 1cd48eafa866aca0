//! Signals of supervisor and ranks.
//!
//! The supervisor blocks those it cares for and takes them one by one: no handler
//! interrupts anything. Ranks ignore what a terminal sends to all processes, because the
//! supervisor tells them to stop; it wakes sleeping ranks with [`WAKE`].

use crate::stop;
use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

/// Ends the sleep of a rank, and tells it inside a long operation to stop.
pub(crate) const WAKE: i32 = libc::SIGUSR2;

/// The signals of a supervisor, blocked while this lives.
pub(crate) struct Signals {
    taken: libc::sigset_t,
    before: libc::sigset_t,
}

/// A signal to the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// Nothing within the time.
    Nothing,
    /// A child has changed.
    Child,
    /// Stop: one of [`stop::SIGNALS`].
    Stop,
    /// Start, or stop if nobody waits for a start (SIGUSR1).
    Start,
}

impl Signals {
    /// Takes the signals from now on.
    pub(crate) fn take() -> io::Result<Signals> {
        let mut taken = set(&stop::SIGNALS);
        // SAFETY: the set is a valid one. An inherited "ignore" would hide how children end.
        unsafe {
            libc::sigaddset(&mut taken, libc::SIGCHLD);
            libc::sigaddset(&mut taken, libc::SIGUSR1);
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        }
        Ok(Signals { taken, before: block(&taken)? })
    }

    /// Waits for the next one.
    pub(crate) fn next(&self, timeout: Duration) -> Received {
        let timeout = libc::timespec {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(timeout.subsec_nanos() as i32),
        };
        // SAFETY: the set and the time live across the call; no details are asked for.
        let signal = unsafe { libc::sigtimedwait(&self.taken, std::ptr::null_mut(), &timeout) };
        match signal {
            libc::SIGCHLD => Received::Child,
            libc::SIGUSR1 => Received::Start,
            signal if stop::SIGNALS.contains(&signal) => Received::Stop,
            _ => Received::Nothing,
        }
    }

    /// Called in a rank: nothing is blocked, and only [`WAKE`] is heard.
    pub(crate) fn become_rank(&self) {
        // SAFETY: the handler does nothing; ignoring and unblocking touch no memory of ours.
        unsafe {
            for signal in stop::SIGNALS {
                libc::signal(signal, libc::SIG_IGN);
            }
            libc::signal(libc::SIGUSR1, libc::SIG_IGN);
            stop::handle(WAKE, stop::on_signal);
            let mut blocked = self.before;
            libc::sigdelset(&mut blocked, WAKE);
            libc::sigprocmask(libc::SIG_SETMASK, &blocked, std::ptr::null_mut());
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // A second Ctrl-C that came too late must not end what follows: results are written.
        while self.next(Duration::ZERO) != Received::Nothing {}
        // SAFETY: the set was given by the kernel.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

/// Calls `start`; threads that it starts get no signal that asks to stop: those are for the
/// thread that takes them.
///
/// # Errors
/// Those signals cannot be blocked.
pub fn without_signals<T>(start: impl FnOnce() -> T) -> io::Result<T> {
    let before = block(&set(&stop::SIGNALS))?;
    let started = start();
    // SAFETY: the set was given by the kernel.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    Ok(started)
}

/// A signal that asks to stop has arrived, and no thread takes it. To be called where these are blocked.
pub fn is_stop_pending() -> bool {
    let mut pending = MaybeUninit::uninit();
    // SAFETY: the set lives across the call, which initialises it on success.
    unsafe {
        libc::sigpending(pending.as_mut_ptr()) == 0
            && stop::SIGNALS.iter().any(|signal| libc::sigismember(pending.as_ptr(), *signal) == 1)
    }
}

/// Blocks signals in this thread; the mask before.
fn block(signals: &libc::sigset_t) -> io::Result<libc::sigset_t> {
    let mut before = MaybeUninit::uninit();
    // SAFETY: both sets live across the call, which initialises `before` on success.
    unsafe {
        if libc::sigprocmask(libc::SIG_BLOCK, signals, before.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(before.assume_init())
    }
}

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

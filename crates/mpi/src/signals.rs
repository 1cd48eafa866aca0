//! Signals of an MPI rank: those that ask it to stop or to start, and the alarm of a time limit.
//!
//! Ctrl-C (MPICH), SIGTERM (Open MPI's Ctrl-C, batch systems), a closed terminal, Ctrl-\\ and SIGUSR1 (batch systems,
//! before a limit) ask it to stop; the last asks rank 0 to start where it waits for that. The first one lets the rank
//! stop at its next statement; one that comes later than half a second ends the process. (A terminal and a launcher may
//! both send the first.) While rank 0 stores results, the first one prints what another one does.
//!
//! MPI_Init and MPI_Finalize have a time limit, because no process can return from them while others are missing: a
//! rank of the job may never call MPI_Init, and MPICH 4.0 with UCX may hang in MPI_Finalize where ranks are on several
//! machines. When the time is over, a signal handler prints a message and ends the process. No thread watches the
//! clock, because a process that ever had a second thread makes slower system calls.

use crate::launcher;
use engine::clock::monotonic_raw_ns;
use engine::stop::{SIGNALS, handle, request, requested};
use std::ffi::{CString, c_char};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// When the first signal came; 0: none did.
static SINCE_NS: AtomicU64 = AtomicU64::new(0);
static START: AtomicBool = AtomicBool::new(false);
/// Printed by the first signal while results are stored.
static ADVICE: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
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

/// The first signal from now on prints a note with this advice and ends nothing; an empty one takes the last back.
pub fn advise(advice: &str) {
    let note = (!advice.is_empty()).then(|| leak(&format!("note: {advice}\n")));
    ADVICE.store(note.unwrap_or(null_mut()), Ordering::Release);
}

/// A text for signal handlers, which may read it at any time: it is never freed, some bytes once or twice per process.
fn leak(text: &str) -> *mut c_char {
    CString::new(text).unwrap_or_default().into_raw()
}

extern "C" fn stop(signal: i32) {
    request();
    let now_ns = monotonic_raw_ns();
    let advice = ADVICE.swap(null_mut(), Ordering::AcqRel);
    if !advice.is_null() {
        SINCE_NS.store(now_ns, Relaxed);
        // SAFETY: the text ends with a NUL and is never freed; both calls are async-signal-safe.
        unsafe { libc::write(libc::STDERR_FILENO, advice.cast(), libc::strlen(advice)) };
        return;
    }
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

/// Seconds until the launcher has passed on what was printed.
const FORWARDED_S: u32 = 1;

static MESSAGE: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
/// Sent to a launcher that speaks PMI-1.
static FAREWELL: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
static EXIT_CODE: AtomicI32 = AtomicI32::new(0);
/// Connection to a launcher that speaks PMI-1; -1 without one.
static CONNECTION: AtomicI32 = AtomicI32::new(-1);

/// A running time limit; dropping it ends it. One at a time.
#[derive(Debug)]
pub(crate) struct Deadline(());

impl Deadline {
    /// After `limit_s` seconds prints `message` to standard error, sends `farewell` to the launcher and
    /// ends the process with `exit_code`.
    pub(crate) fn start(limit_s: u32, message: &str, farewell: &str, exit_code: u8) -> Deadline {
        MESSAGE.store(leak(message), Ordering::Release);
        FAREWELL.store(leak(farewell), Ordering::Release);
        EXIT_CODE.store(exit_code.into(), Ordering::Release);
        CONNECTION.store(launcher::pmi_connection().unwrap_or(-1), Ordering::Release);
        handle(libc::SIGALRM, expire);
        // SAFETY: no pointers.
        unsafe { libc::alarm(limit_s) };
        Deadline(())
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        // SAFETY: no pointers.
        unsafe {
            libc::alarm(0);
            libc::signal(libc::SIGALRM, libc::SIG_DFL);
        }
    }
}

extern "C" fn expire(_signal: i32) {
    let message = MESSAGE.load(Ordering::Acquire);
    let farewell = FAREWELL.load(Ordering::Acquire);
    let connection = CONNECTION.load(Ordering::Acquire);
    // SAFETY: all calls are async-signal-safe; both texts end with a NUL and are never freed.
    unsafe {
        libc::write(libc::STDERR_FILENO, message.cast(), libc::strlen(message));
        libc::sleep(FORWARDED_S);
        if connection >= 0 {
            let length = libc::strlen(farewell);
            libc::send(connection, farewell.cast(), length, libc::MSG_NOSIGNAL);
        }
        libc::_exit(EXIT_CODE.load(Ordering::Acquire));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_deadline_leaves_no_alarm() {
        drop(Deadline::start(1, "late", "", 2));
        // SAFETY: no pointers.
        assert_eq!(unsafe { libc::alarm(0) }, 0);
    }
}

//! A time limit for MPI_Init and MPI_Finalize, from which no process can return while others are missing:
//! a rank of the job may never call MPI_Init, and MPICH 4.0 with UCX may hang in MPI_Finalize where ranks are on
//! several machines.
//!
//! When the time is over, a signal handler prints a message and ends the process. No thread watches the
//! clock, because a process that ever had a second thread makes slower system calls.

use crate::launcher;
use engine::stop::handle;
use std::ffi::{CString, c_char};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// Seconds until the launcher has passed on what was printed.
const FORWARDED_S: u32 = 1;

static MESSAGE: AtomicPtr<c_char> = AtomicPtr::new(std::ptr::null_mut());
/// Sent to a launcher that speaks PMI-1.
static FAREWELL: AtomicPtr<c_char> = AtomicPtr::new(std::ptr::null_mut());
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
        // The handler may read them at any time, so they are never freed: some bytes once or twice per process.
        let leak = |text: &str| CString::new(text).unwrap_or_default().into_raw();
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

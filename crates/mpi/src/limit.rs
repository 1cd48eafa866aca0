//! The longest time in which all processes of a job have to meet. Nobody can leave MPI_Init while others are
//! missing, not even for a word; so when the time is over, a signal lets the process execute something else.
//!
//! No thread watches the clock: a process that ever had a second one makes slower system calls.

use std::ffi::{CString, c_char};
use std::ptr::null;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The exit code where even that fails: as of wrong input.
const REFUSED: i32 = 2;

/// The words to execute this program with; a null pointer ends them.
static WORDS: AtomicPtr<*const c_char> = AtomicPtr::new(std::ptr::null_mut());

/// Until this is dropped the time runs.
#[derive(Debug)]
pub struct Limit(());

impl Limit {
    /// After so many seconds this process executes its program again, with these words. One at a time.
    pub fn start(limit_s: u32, words: &[&str]) -> Limit {
        let words = words.iter().filter_map(|word| CString::new(*word).ok());
        let mut words: Vec<*const c_char> =
            words.map(|word| word.into_raw().cast_const()).collect();
        words.push(null());
        // A handler may read them whenever it likes, so they stay: some bytes, once per process.
        WORDS.store(Box::leak(words.into_boxed_slice()).as_mut_ptr(), Ordering::Release);
        // SAFETY: zeroes are a valid sigaction; the handler only calls what signal-safety(7) allows.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = over as extern "C" fn(i32) as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
            libc::alarm(limit_s);
        }
        Limit(())
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // SAFETY: no pointers.
        unsafe {
            libc::alarm(0);
            libc::signal(libc::SIGALRM, libc::SIG_DFL);
        }
    }
}

extern "C" fn over(_signal: i32) {
    // SAFETY: both calls are async-signal-safe; the words are NUL-terminated and never freed.
    unsafe {
        libc::execv(c"/proc/self/exe".as_ptr(), WORDS.load(Ordering::Acquire));
        libc::_exit(REFUSED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_kept_does_nothing() {
        drop(Limit::start(1, &["no-such-test"]));
        // SAFETY: no pointers.
        assert_eq!(unsafe { libc::alarm(0) }, 0, "no alarm is left");
    }
}

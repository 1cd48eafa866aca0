//! Sleeping until a word of shared memory changes: futex(2), without the
//! process-private shortcut.

use std::sync::atomic::AtomicU32;

/// Sleeps while `word` holds `seen`; returns early on signals and for no reason.
pub(super) fn wait(word: &AtomicU32, seen: u32) {
    // SAFETY: the word outlives the call; without a timeout the other arguments are not read.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            seen,
            std::ptr::null::<libc::timespec>(),
        );
    }
}

/// Wakes everybody who sleeps on `word`.
pub(super) fn wake_all(word: &AtomicU32) {
    // SAFETY: the word outlives the call, which only uses its address.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

//! SIGBUS while a mapping is copied: the copy ends all the same, and its caller learns how far it was
//! good.
//!
//! The handler puts memory of its own in place of the pages that the file does not have, so that the
//! interrupted instruction can go on. Nothing is jumped over, and the thread is not ended.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence};

const PAGE_BYTES: usize = 4096;

/// The bytes of a mapping that are being copied.
#[derive(Clone, Copy)]
struct Copying {
    start: usize,
    end: usize,
    /// Where a page was missing.
    fault: Option<usize>,
}

thread_local! {
    static COPYING: Cell<Copying> =
        const { Cell::new(Copying { start: 0, end: 0, fault: None }) };
}

/// The handler before ours.
static BEFORE: OnceLock<Before> = OnceLock::new();

struct Before(libc::sigaction);

/// Has the signal caught, from now on.
///
/// # Errors
/// The errno of sigaction(2).
pub(super) fn catch() -> Result<(), i32> {
    if BEFORE.get().is_some() {
        return Ok(());
    }
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zeros is an action without flags and with an empty mask; the handler touches only
    // this thread's cell and the mapping.
    let done = unsafe {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = on_bus as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &raw const action, before.as_mut_ptr())
    };
    if done != 0 {
        return Err(super::resolve::errno());
    }
    // SAFETY: zeroed, and filled by the call.
    BEFORE.get_or_init(|| Before(unsafe { before.assume_init() }));
    Ok(())
}

/// Copies from or to `len` bytes of a mapping at `place`; how many were good if a page was missing.
///
/// # Safety
/// They are bytes of a mapping that nothing else refers to; `copy` touches no others of a mapping.
#[inline(always)]
pub(super) unsafe fn copying(place: *const u8, len: usize, copy: impl FnOnce()) -> Option<usize> {
    let start = place as usize;
    COPYING.set(Copying { start, end: start + len, fault: None });
    compiler_fence(Ordering::SeqCst);
    copy();
    compiler_fence(Ordering::SeqCst);
    let done = COPYING.replace(Copying { start: 0, end: 0, fault: None });
    done.fault.map(|fault| (fault & !(PAGE_BYTES - 1)).saturating_sub(start))
}

extern "C" fn on_bus(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a filled structure with SA_SIGINFO.
    let at = unsafe { (*info).si_addr() } as usize;
    let now = COPYING.get();
    if !(now.start..now.end).contains(&at) || !put_memory(at, now.end) {
        // None of ours: as it was before, and the instruction raises it again.
        if let Some(before) = BEFORE.get() {
            // SAFETY: an action that was in force before.
            unsafe { libc::sigaction(libc::SIGBUS, &raw const before.0, ptr::null_mut()) };
        }
        return;
    }
    COPYING.set(Copying { fault: Some(now.fault.map_or(at, |first| first.min(at))), ..now });
}

/// Puts memory in place of the pages from `at` to `end`.
fn put_memory(at: usize, end: usize) -> bool {
    let start = at & !(PAGE_BYTES - 1);
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: pages of the mapping that is being copied, which its owner maps anew.
    let base = unsafe { libc::mmap(start as *mut _, end - start, protection, flags, -1, 0) };
    base != libc::MAP_FAILED
}

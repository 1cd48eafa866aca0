//! cachestat(2), Linux 6.5 and newer: what of a file is in main memory already.

use crate::call::Fd;
use std::mem::MaybeUninit;

/// Number of the system call on every architecture of Linux (asm-generic/unistd.h).
const SYS_CACHESTAT: libc::c_long = 451;

/// Bytes of a page as the kernel counts them here.
fn page_bytes() -> u64 {
    // SAFETY: no pointers.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as u64
}

/// Bytes of a file in main memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InMemory {
    pub(super) cached_bytes: u64,
    /// Pages of them that are dirty or under writeback.
    pub(super) unwritten_bytes: u64,
}

/// Looks at a whole file of this size; `None` if the kernel or the file system cannot tell.
pub(super) fn look(fd: Fd, size_bytes: u64) -> Option<InMemory> {
    // Start and length (0: to the end); cached, dirty, writeback, evicted, recently evicted pages.
    let (range, mut pages) = ([0u64; 2], [0u64; 5]);
    // SAFETY: both arrays have the layout of cachestat_range and cachestat.
    let done = unsafe {
        libc::syscall(SYS_CACHESTAT, fd.0, range.as_ptr(), pages.as_mut_ptr(), 0 as libc::c_uint)
    };
    let bytes = |pages: u64| pages.saturating_mul(page_bytes()).min(size_bytes);
    let [cached, dirty, writeback, ..] = pages;
    let unwritten_bytes = bytes(dirty.saturating_add(writeback));
    (done == 0).then_some(InMemory { cached_bytes: bytes(cached), unwritten_bytes })
}

/// Size of an open file, from what is known here already: a network file system is not asked.
pub(super) fn size_bytes(fd: Fd) -> Option<u64> {
    let mut facts = MaybeUninit::<libc::statx>::zeroed();
    let flags = libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC;
    // SAFETY: the structure is writable and as large as the call needs; zeros are a value.
    let (done, facts) = unsafe {
        let facts_at = facts.as_mut_ptr();
        let done = libc::statx(fd.0, c"".as_ptr(), flags, libc::STATX_SIZE, facts_at);
        (done, facts.assume_init())
    };
    (done == 0).then_some(facts.stx_size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn what_was_just_written_is_in_the_page_cache() {
        let file = tempfile::tempfile().expect("a file");
        std::io::Write::write_all(&mut &file, &[1; 100_000]).expect("room");
        let fd = Fd(file.as_raw_fd());
        assert_eq!(size_bytes(fd), Some(100_000));
        match look(fd, 100_000) {
            Some(found) => assert_eq!(found.cached_bytes, 100_000),
            None => eprintln!("not tested: this kernel has no cachestat"),
        }
    }

    #[test]
    fn what_is_no_file_tells_nothing() {
        assert_eq!((look(Fd(-1), 1), size_bytes(Fd(-1))), (None, None));
    }
}

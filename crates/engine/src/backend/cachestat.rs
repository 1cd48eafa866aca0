//! cachestat(2), Linux 6.5 and newer: what of a file is in main memory already.

use super::Cached;
use crate::call::Fd;
use std::mem::MaybeUninit;

/// Number of the system call on every architecture of Linux (asm-generic/unistd.h).
const SYS_CACHESTAT: libc::c_long = 451;

/// Bytes of a page as the kernel counts them here.
fn page_bytes() -> u64 {
    // SAFETY: no pointers.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as u64
}

/// Looks at a whole file; `None` if the kernel or the file system cannot tell.
pub(super) fn look(fd: Fd) -> Option<Cached> {
    let size_bytes = size_bytes(fd)?;
    // Start and length (0: to the end); cached, dirty, writeback, evicted, recently evicted pages.
    let (range, mut pages) = ([0u64; 2], [0u64; 5]);
    // SAFETY: both arrays have the layout of cachestat_range and cachestat.
    let done = unsafe {
        libc::syscall(SYS_CACHESTAT, fd.0, range.as_ptr(), pages.as_mut_ptr(), 0 as libc::c_uint)
    };
    let cached_bytes = pages[0].saturating_mul(page_bytes()).min(size_bytes);
    (done == 0).then_some(Cached { size_bytes, cached_bytes })
}

/// From what is known here already: a network file system is not asked.
fn size_bytes(fd: Fd) -> Option<u64> {
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
        match look(Fd(file.as_raw_fd())) {
            Some(cached) => {
                assert_eq!(cached, Cached { size_bytes: 100_000, cached_bytes: 100_000 });
            }
            None => eprintln!("not tested: this kernel has no cachestat"),
        }
    }

    #[test]
    fn what_is_no_file_tells_nothing() {
        assert_eq!(look(Fd(-1)), None);
    }
}

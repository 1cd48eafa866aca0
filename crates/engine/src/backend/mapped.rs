//! Files read and written through mappings: `with (engine="mmap")`.
//!
//! ```text
//! file     |#############|            known to be so long
//! window   |#############|...........|     mapped; longer, so that a file that grows needs no
//!                                          new mapping for every write
//! ```
//!
//! A page that the file system cannot give (a file that somebody has made shorter, a full disk) raises
//! SIGBUS; a failed copy is made of it, and the caller learns how many bytes were copied.
//! The handler puts memory of its own in place of the pages that the file does not have, so that the
//! interrupted instruction can go on. Nothing is jumped over, and the thread is not ended.

use crate::call::{Call, Fd, Reply};
use crate::memory::Mapping;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence};

/// A window is a multiple of this, and at least doubles when it grows.
const WINDOW_BYTES: u64 = 1 << 20;
/// The kernel's errno for a copy from or to a page of a mapping behind the end of the file.
const NO_PAGE: Reply = -(libc::EFAULT as Reply);

/// The mappings of a rank.
#[derive(Debug, Default)]
pub(crate) struct Maps {
    /// By descriptor.
    files: Vec<Option<Map>>,
}

/// A mapped file.
#[derive(Debug)]
struct Map {
    window: Mapping,
    /// The file was at least so long when it was looked at last.
    size_bytes: u64,
    write: bool,
}

impl Maps {
    /// Executes a call if it concerns mappings; else gives it back.
    #[inline(always)]
    pub(crate) fn issue<'a>(&mut self, call: Call<'a>) -> Result<Reply, Call<'a>> {
        Ok(match call {
            Call::MapRead { fd, buf, offset, .. } => self.read(fd, buf, offset),
            Call::MapWrite { fd, buf, offset } => self.write(fd, buf, offset),
            Call::Map { fd, write } => self.map(fd, write),
            Call::Unmap { fd } => self.unmap(fd),
            Call::Msync { fd } => self.sync(fd),
            Call::Ftruncate { fd, size } if self.find(fd).is_some() => self.resize(fd, size),
            call => return Err(call),
        })
    }

    #[inline(always)]
    fn find(&mut self, fd: Fd) -> Option<&mut Map> {
        self.files.get_mut(fd.0 as usize)?.as_mut()
    }

    #[cold]
    fn map(&mut self, fd: Fd, write: bool) -> Reply {
        let size_bytes = match size(fd) {
            Ok(bytes) => bytes,
            Err(errno) => return -Reply::from(errno),
        };
        if let Err(errno) = catch() {
            return -Reply::from(errno);
        }
        match Map::new(fd, size_bytes, write) {
            Ok(map) => {
                let at = fd.0 as usize;
                if self.files.len() <= at {
                    self.files.resize_with(at + 1, || None);
                }
                self.files[at] = Some(map);
                0
            }
            Err(errno) => -Reply::from(errno),
        }
    }

    #[cold]
    fn unmap(&mut self, fd: Fd) -> Reply {
        let map = self.files.get_mut(fd.0 as usize).and_then(Option::take);
        if map.is_some() { 0 } else { -Reply::from(libc::EBADF) }
    }

    #[cold]
    fn sync(&mut self, fd: Fd) -> Reply {
        let Some(map) = self.find(fd) else { return -Reply::from(libc::EBADF) };
        let base = map.window.base().as_ptr().cast();
        let bytes = (map.size_bytes as usize).min(map.window.bytes());
        // SAFETY: no more than the window, which is mapped.
        super::posix::reply(unsafe { libc::msync(base, bytes, libc::MS_SYNC) })
    }

    #[cold]
    fn resize(&mut self, fd: Fd, size: u64) -> Reply {
        // SAFETY: no pointers.
        let done = super::posix::reply(unsafe { libc::ftruncate(fd.0, size as libc::off_t) });
        if let Some(map) = self.find(fd).filter(|_| done == 0) {
            map.size_bytes = size;
        }
        done
    }

    #[inline(always)]
    fn read(&mut self, fd: Fd, buf: &mut [u8], offset: u64) -> Reply {
        let Some(map) = self.find(fd) else { return -Reply::from(libc::EBADF) };
        let wanted = buf.len() as u64;
        let inside = match map.reach(fd, offset, wanted) {
            Ok(end) => end.saturating_sub(offset).min(wanted) as usize,
            Err(errno) => return -Reply::from(errno),
        };
        if inside == 0 {
            return 0;
        }
        // SAFETY: `reach` has mapped the bytes; faults in them are caught.
        let fault = unsafe {
            let place = map.window.base().as_ptr().add(offset as usize);
            copying(place, inside, || ptr::copy_nonoverlapping(place, buf.as_mut_ptr(), inside))
        };
        match fault {
            None => inside as Reply,
            Some(good) => map.failed(fd, offset, good, |fd, at| {
                // SAFETY: one byte of a buffer that is at least so long.
                super::posix::reply(
                    unsafe { libc::pread(fd.0, buf.as_mut_ptr().cast(), 1, at) } as i64
                )
            }),
        }
    }

    #[inline(always)]
    fn write(&mut self, fd: Fd, buf: &[u8], offset: u64) -> Reply {
        let Some(map) = self.find(fd).filter(|map| map.write) else {
            return -Reply::from(libc::EBADF);
        };
        if buf.is_empty() {
            return 0;
        }
        if let Err(errno) = map.make_room(fd, offset, buf) {
            return -Reply::from(errno);
        }
        // SAFETY: `make_room` has mapped the bytes; faults in them are caught.
        let fault = unsafe {
            let place = map.window.base().as_ptr().add(offset as usize);
            copying(place, buf.len(), || ptr::copy_nonoverlapping(buf.as_ptr(), place, buf.len()))
        };
        match fault {
            None => buf.len() as Reply,
            Some(good) => {
                map.failed(fd, offset, good, |fd, at| {
                    // SAFETY: one byte of a buffer that is longer than what was copied.
                    super::posix::reply(
                        unsafe { libc::pwrite(fd.0, buf.as_ptr().cast(), 1, at) } as i64
                    )
                })
            }
        }
    }
}

impl Map {
    fn new(fd: Fd, size_bytes: u64, write: bool) -> Result<Map, i32> {
        Ok(Map { window: window(fd, size_bytes.max(1), write)?, size_bytes, write })
    }

    /// Maps the file anew, at least so much of it.
    #[cold]
    fn widen(&mut self, fd: Fd, end: u64) -> Result<(), i32> {
        self.window = window(fd, end.max(2 * self.window.bytes() as u64), self.write)?;
        Ok(())
    }

    /// Where the file ends, at most `offset + len`, which is mapped then. A file that is known to be
    /// shorter is looked at: somebody else may have made it longer.
    #[inline(always)]
    fn reach(&mut self, fd: Fd, offset: u64, len: u64) -> Result<u64, i32> {
        let end = offset.checked_add(len).filter(|end| *end <= i64::MAX as u64);
        let end = end.ok_or(libc::EINVAL)?;
        if end > self.size_bytes {
            self.size_bytes = size(fd)?;
        }
        let end = end.min(self.size_bytes);
        if end > self.window.bytes() as u64 {
            self.widen(fd, end)?;
        }
        Ok(end)
    }

    /// Makes the file so long that the bytes have room. By writing the last one of them, because
    /// ftruncate would cut what another rank has written behind it meanwhile.
    #[inline(always)]
    fn make_room(&mut self, fd: Fd, offset: u64, buf: &[u8]) -> Result<(), i32> {
        let end = offset.checked_add(buf.len() as u64).filter(|end| *end <= i64::MAX as u64);
        let end = end.ok_or(libc::EINVAL)?;
        if self.reach(fd, offset, buf.len() as u64)? < end {
            self.grow(fd, end, &buf[buf.len() - 1..])?;
        }
        Ok(())
    }

    #[cold]
    fn grow(&mut self, fd: Fd, end: u64, last: &[u8]) -> Result<(), i32> {
        // SAFETY: one byte of a buffer that is borrowed for the call.
        let done = unsafe { libc::pwrite(fd.0, last.as_ptr().cast(), 1, end as libc::off_t - 1) };
        if done < 0 {
            return Err(super::resolve::errno());
        }
        self.size_bytes = end;
        if end > self.window.bytes() as u64 { self.widen(fd, end) } else { Ok(()) }
    }

    /// Result of a copy that met a page the file system could not give, after `good` bytes: those bytes, or the reply
    /// of the kernel to a call that transfers the next one; [`NO_PAGE`] behind the end of the file.
    #[cold]
    fn failed(
        &mut self,
        fd: Fd,
        offset: u64,
        good: usize,
        ask: impl FnOnce(Fd, libc::off_t) -> Reply,
    ) -> Reply {
        // What the fault has put in place of the file goes.
        let (Ok(size), Ok(())) = (size(fd), self.widen(fd, 0)) else { return NO_PAGE };
        self.size_bytes = size;
        let at = offset + good as u64;
        match at >= size {
            true => NO_PAGE,
            false if good > 0 => good as Reply,
            false => ask(fd, at as libc::off_t),
        }
    }
}

/// A mapping of a file, with room for at least so much of it.
fn window(fd: Fd, end: u64, write: bool) -> Result<Mapping, i32> {
    let bytes = end.checked_next_multiple_of(WINDOW_BYTES);
    let bytes = bytes.filter(|bytes| *bytes <= isize::MAX as u64).ok_or(libc::EFBIG)?;
    // SAFETY: its size was asked for before, so it is open, and nobody closes it meanwhile.
    let file = unsafe { BorrowedFd::borrow_raw(fd.0) };
    let mapped = Mapping::of_file(file, bytes as usize, write);
    mapped.map_err(|error| error.raw_os_error().unwrap_or(libc::ENOMEM))
}

/// The size of an open file.
fn size(fd: Fd) -> Result<u64, i32> {
    // SAFETY: the structure is filled by the call.
    let reply = super::posix::size_of_file(|facts| unsafe { libc::fstat(fd.0, facts) });
    u64::try_from(reply).map_err(|_| -reply as i32)
}

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
fn catch() -> Result<(), i32> {
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
unsafe fn copying(place: *const u8, len: usize, copy: impl FnOnce()) -> Option<usize> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    fn mapped(write: bool) -> (File, Fd, Maps) {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(&[7; 10_000]).expect("written");
        let (fd, mut maps) = (Fd(file.as_raw_fd()), Maps::default());
        assert_eq!(maps.map(fd, write), 0);
        (file, fd, maps)
    }

    #[test]
    fn a_file_that_others_make_shorter_is_an_error_and_no_signal() {
        let (file, fd, mut maps) = mapped(true);
        let mut buf = [0; 4096];
        assert_eq!(maps.read(fd, &mut buf, 4096), 4096);
        file.set_len(1).expect("truncated");
        assert_eq!(maps.read(fd, &mut buf, 4096), NO_PAGE);
        file.set_len(10_000).expect("longer");
        assert_eq!(maps.write(fd, &[1; 100], 8192), 100);
        file.set_len(1).expect("truncated");
        assert_eq!(maps.write(fd, &[1; 100], 8192), NO_PAGE);
        // The mapping is a whole one again.
        assert_eq!(maps.write(fd, &[1; 100], 8192), 100);
        assert_eq!(maps.read(fd, &mut buf, 8192), 100);
        assert_eq!(buf[..100], [1; 100]);
    }

    #[test]
    fn files_grow_and_are_not_cut() {
        let (file, fd, mut maps) = mapped(true);
        assert_eq!(maps.write(fd, &[1; 10], 3 << 20), 10);
        file.set_len(5 << 20).expect("longer");
        assert_eq!(maps.write(fd, &[1; 10], 4 << 20), 10);
        assert_eq!(file.metadata().expect("metadata").len(), 5 << 20);
        assert_eq!(maps.sync(fd), 0);
        assert_eq!((maps.unmap(fd), maps.unmap(fd)), (0, -Reply::from(libc::EBADF)));
    }
}

//! Facts about an open file that need no read: its bytes in the page cache (cachestat(2),
//! Linux 6.5; mincore(2) where a page in the cache may lack data), the parts of it that were never written (FIEMAP), and whether the kernel knows a name
//! without asking the file system (openat2(2) with `RESOLVE_CACHED`, Linux 5.12).

use super::api::{Extents, Look};
use crate::call::Fd;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, StatxFlags, openat2, statx};
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;

/// Looks at a file; `None` where nothing is known of it.
pub(crate) fn look(fd: Fd) -> Option<Look> {
    let Facts { size_bytes, has_device } = facts(fd)?;
    let memory = cached(fd, size_bytes);
    let cached_bytes = match has_device {
        true => memory.map(|memory| memory.cached_bytes),
        false => valid_bytes(fd, size_bytes),
    };
    let mut extents = extents(fd, size_bytes);
    // What was written into an extent counts as unwritten until it has reached the storage.
    let unwritten_bytes = memory.map_or(0, |memory| memory.unwritten_bytes);
    if let Some(extents) = &mut extents {
        extents.hole_bytes = extents.hole_bytes.saturating_sub(unwritten_bytes);
    }
    Some(Look { size_bytes, cached_bytes, extents })
}

/// Number of the system call on every architecture of Linux (asm-generic/unistd.h).
const SYS_CACHESTAT: libc::c_long = 451;

/// Bytes of a page as the kernel counts them here.
fn page_bytes() -> u64 {
    // SAFETY: no pointers.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as u64
}

/// The number of bytes of a file that the page cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InMemory {
    cached_bytes: u64,
    /// Pages of them that are dirty or under writeback.
    unwritten_bytes: u64,
}

/// Looks at a whole file of this size; `None` if the kernel or the file system cannot tell.
fn cached(fd: Fd, size_bytes: u64) -> Option<InMemory> {
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

/// A window that is looked at, and the number of them in a larger file: they lie evenly, and stand for the rest.
const WINDOW_BYTES: u64 = 4 << 20;
const WINDOWS: u64 = 16;

/// Bytes of a file that a read would find in the page cache. FUSE and network file systems keep pages of which only a
/// part was written: cachestat(2) counts them, but a read fetches them. mincore(2) counts pages whose data is valid.
/// `None` where the file cannot be mapped, or belongs to somebody else.
fn valid_bytes(fd: Fd, size_bytes: u64) -> Option<u64> {
    if size_bytes == 0 {
        return Some(0);
    }
    let length = usize::try_from(size_bytes).ok()?;
    // SAFETY: a new mapping that nobody touches.
    let mapped = unsafe {
        libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_PRIVATE, fd.0, 0)
    };
    if mapped == libc::MAP_FAILED {
        return None;
    }
    let found = windows(size_bytes).into_iter().try_fold((0, 0), |(valid, looked), (at, bytes)| {
        Some((valid + resident_bytes(mapped, at, bytes)?, looked + bytes))
    });
    // SAFETY: the mapping from above, which nobody uses.
    unsafe { libc::munmap(mapped, length) };
    let (valid, looked) = found?;
    Some((valid as f64 / looked as f64 * size_bytes as f64).round() as u64)
}

/// Offsets and lengths of the parts of a file that are looked at; offsets are multiples of any page.
fn windows(size_bytes: u64) -> Vec<(u64, u64)> {
    if size_bytes <= WINDOWS * WINDOW_BYTES {
        return vec![(0, size_bytes)];
    }
    let step = (size_bytes - WINDOW_BYTES) / (WINDOWS - 1) / WINDOW_BYTES * WINDOW_BYTES;
    (0..WINDOWS).map(|number| (number * step, WINDOW_BYTES)).collect()
}

/// Bytes of a part of a mapping whose pages are in memory.
fn resident_bytes(mapped: *mut libc::c_void, at: u64, bytes: u64) -> Option<u64> {
    let page = page_bytes();
    let mut pages = vec![0u8; bytes.div_ceil(page) as usize];
    // SAFETY: the part lies in the mapping, and there is a byte for each of its pages.
    let done =
        unsafe { libc::mincore(mapped.byte_add(at as usize), bytes as usize, pages.as_mut_ptr()) };
    let resident = pages.iter().filter(|state| **state & 1 == 1).count() as u64;
    (done == 0).then(|| resident.saturating_mul(page).min(bytes))
}

/// Facts of an open file that are known on this machine: a network file system is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Facts {
    size_bytes: u64,
    /// Its file system has a block device of its own; FUSE, network and memory file systems have none.
    has_device: bool,
}

fn facts(fd: Fd) -> Option<Facts> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    // SAFETY: a descriptor of a file that the program holds open.
    let file = unsafe { BorrowedFd::borrow_raw(fd.0) };
    let found = statx(file, c"", flags, StatxFlags::SIZE).ok()?;
    Some(Facts { size_bytes: found.stx_size, has_device: found.stx_dev_major != 0 })
}

/// `_IOWR('f', 11, struct fiemap)` (linux/fs.h).
const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;
/// The last extent of the file.
const LAST: u32 = 0x1;
/// Compressed or encrypted.
const ENCODED: u32 = 0x8;
/// Allocated, but it reads as zeros that no storage is asked for.
const UNWRITTEN: u32 = 0x800;
/// Extents that are examined; in a file with more, the first ones represent all.
const EXTENTS: usize = 32;

/// `struct fiemap_extent` (linux/fiemap.h).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    reserved2: [u32; 3],
}

/// `struct fiemap` with its extents.
#[repr(C)]
#[derive(Debug)]
struct Map {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    room: u32,
    reserved: u32,
    extents: [Extent; EXTENTS],
}

/// Looks at a file of this size; `None` where the file system has no such map.
fn extents(fd: Fd, size_bytes: u64) -> Option<Extents> {
    let extents = [Extent::default(); EXTENTS];
    let room = EXTENTS as u32;
    let mut map =
        Map { start: 0, length: u64::MAX, flags: 0, mapped: 0, room, reserved: 0, extents };
    // SAFETY: the structure has the kernel's layout and says how many extents it has room for.
    let done = unsafe { libc::ioctl(fd.0, FS_IOC_FIEMAP as _, &raw mut map) };
    let found = map.extents.get(..map.mapped as usize)?;
    (done == 0 && size_bytes > 0).then(|| sum(found, size_bytes))
}

fn sum(found: &[Extent], size_bytes: u64) -> Extents {
    let is_whole = found.len() < EXTENTS || found.iter().any(|extent| extent.flags & LAST != 0);
    let end = found.last().map_or(0, |last| last.logical.saturating_add(last.length));
    let mapped_bytes = if is_whole { size_bytes } else { end.min(size_bytes) };
    let bytes = |wanted: fn(u32) -> bool| -> u64 {
        let within = |extent: &Extent| {
            let end = extent.logical.saturating_add(extent.length).min(mapped_bytes);
            end.saturating_sub(extent.logical)
        };
        found.iter().filter(|extent| wanted(extent.flags)).map(within).sum()
    };
    let written = bytes(|flags| flags & UNWRITTEN == 0);
    Extents {
        mapped_bytes,
        hole_bytes: mapped_bytes.saturating_sub(written),
        encoded_bytes: bytes(|flags| flags & ENCODED != 0),
    }
}

/// Looks for a path, relative to an open directory, in the cache; `None` where that is unknown. A name that is
/// known to be missing is in it too.
pub(crate) fn is_cached(directory: BorrowedFd<'_>, path: &CStr) -> Option<bool> {
    let how = OFlags::PATH | OFlags::CLOEXEC;
    let within = ResolveFlags::CACHED | ResolveFlags::BENEATH;
    match openat2(directory, path, how, Mode::empty(), within) {
        Err(Errno::AGAIN) => Some(false),
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Some(true),
        Err(_) => None,
    }
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
        assert_eq!(facts(fd).map(|facts| facts.size_bytes), Some(100_000));
        assert_eq!(valid_bytes(fd, 100_000), Some(100_000));
        match cached(fd, 100_000) {
            Some(found) => assert_eq!(found.cached_bytes, 100_000),
            None => eprintln!("not tested: this kernel has no cachestat"),
        }
    }

    #[test]
    fn what_is_no_file_tells_nothing() {
        let none = Fd(i32::MAX);
        assert_eq!((cached(none, 1), facts(none)), (None, None));
        assert_eq!((valid_bytes(none, 1), valid_bytes(none, 0)), (None, Some(0)));
    }

    #[test]
    fn windows_lie_evenly_in_large_files() {
        assert_eq!(windows(5_000), [(0, 5_000)]);
        let large = windows(1 << 40);
        assert_eq!((large.len() as u64, large[0]), (WINDOWS, (0, WINDOW_BYTES)));
        assert!(large.is_sorted() && large.iter().all(|(at, _)| at % WINDOW_BYTES == 0));
        assert!(large.last().is_some_and(|(at, bytes)| at + bytes <= 1 << 40));
    }

    fn extent(logical: u64, length: u64, flags: u32) -> Extent {
        Extent { logical, length, flags, ..Extent::default() }
    }

    #[test]
    fn what_is_no_written_extent_is_a_hole() {
        let found = [extent(0, 4096, 0), extent(8192, 4096, UNWRITTEN), extent(16384, 8192, LAST)];
        let holes = sum(&found, 20_000);
        assert_eq!((holes.mapped_bytes, holes.hole_bytes), (20_000, 20_000 - 4096 - 3616));
        assert_eq!(sum(&[], 100).hole_bytes, 100);
        let packed = sum(&[extent(0, 131_072, ENCODED | LAST)], 131_072);
        assert_eq!((packed.hole_bytes, packed.encoded_bytes), (0, 131_072));
        // More extents than were requested: the known ones represent the rest.
        let many: Vec<Extent> = (0..EXTENTS as u64).map(|i| extent(i * 8192, 4096, 0)).collect();
        let known = sum(&many, 1 << 30);
        assert_eq!((known.mapped_bytes, known.hole_bytes), (31 * 8192 + 4096, 31 * 4096));
    }

    #[test]
    fn a_file_that_was_only_cut_to_length_is_a_hole() {
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a file");
        file.set_len(1 << 20).expect("a length");
        match extents(Fd(file.as_raw_fd()), 1 << 20) {
            Some(found) => assert_eq!(found.hole_bytes, 1 << 20),
            None => eprintln!("not tested: this file system has no map of extents"),
        }
        assert!(extents(Fd(-1), 100).is_none());
    }

    #[test]
    fn a_name_that_was_just_made_is_known() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder");
        let name = |name: &str| {
            let path = folder.path().join(name).into_os_string().into_string().expect("UTF-8");
            std::ffi::CString::new(path).expect("no NUL")
        };
        let (made, unknown) = (name("made"), name("unknown"));
        std::fs::write(folder.path().join("made"), "").expect("written");
        let found = [made, unknown].map(|path| is_cached(rustix::fs::CWD, &path));
        match found {
            [None, None] => eprintln!("not tested: this kernel cannot tell"),
            found => assert_eq!(found, [Some(true), Some(false)]),
        }
    }
}

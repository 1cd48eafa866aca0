//! FIEMAP: what of a file has never been written, and what is stored in another form.

use super::api::Extents;
use crate::call::Fd;

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
pub(super) fn look(fd: Fd, size_bytes: u64) -> Option<Extents> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

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
        match look(Fd(file.as_raw_fd()), 1 << 20) {
            Some(found) => assert_eq!(found.hole_bytes, 1 << 20),
            None => eprintln!("not tested: this file system has no map of extents"),
        }
        assert!(look(Fd(-1), 100).is_none());
    }
}

//! Attributes of a directory that its files inherit: flags (compression, no copy on write, encryption), hints of
//! XFS, extended attributes. Two directories of one device that have the same are alike as storage.
//!
//! Only local file systems are known well enough. A parallel one may give each directory servers and stripes of
//! its own, and shows them in its own ways.

use rustix::fs::{IFlags, fgetxattr, flistxattr, fstatfs, ioctl_getflags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `f_type` of the file systems whose attributes are known: ext2 to ext4, XFS, Btrfs, F2FS, tmpfs.
const KNOWN: [u64; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994];
/// FS_IOC_FSGETXATTR: `_IOR('X', 31, struct fsxattr)`.
const FSGETXATTR: libc::Ioctl = 0x801c_581f_u32 as libc::Ioctl;
/// More than extended attributes have in practice.
const XATTR_BYTES: usize = 64 << 10;

/// Flags, hints and extended attributes that files of a directory inherit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    flags: u32,
    hints: [u32; 3],
    extended: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// `struct fsxattr` of linux/fs.h.
#[repr(C)]
#[derive(Default)]
struct FsXattr {
    xflags: u32,
    extent_size: u32,
    extents: u32,
    project: u32,
    cow_extent_size: u32,
    pad: [u8; 8],
}

impl Attributes {
    /// `None`: the file system may have others.
    pub(super) fn of(directory: BorrowedFd<'_>) -> Option<Attributes> {
        let kind = fstatfs(directory).ok()?.f_type as u64;
        if !KNOWN.contains(&kind) {
            return None;
        }
        // Index and inline data are the state of a directory, which its files do not inherit.
        let own = IFlags::from_bits_retain(0x1000_1000);
        let flags = match ioctl_getflags(directory) {
            Ok(flags) => flags.difference(own).bits(),
            Err(Errno::NOTTY | Errno::OPNOTSUPP) => 0,
            Err(_) => return None,
        };
        Some(Attributes { flags, hints: hints(directory), extended: extended(directory)? })
    }
}

/// Those of file systems without hints are zeros.
fn hints(directory: BorrowedFd<'_>) -> [u32; 3] {
    let mut found = FsXattr::default();
    // SAFETY: the request fills one `struct fsxattr`, which `found` is laid out as.
    let result = unsafe { libc::ioctl(directory.as_raw_fd(), FSGETXATTR, &raw mut found) };
    match result {
        0 => [found.xflags, found.extent_size, found.cow_extent_size],
        _ => [0; 3],
    }
}

fn extended(directory: BorrowedFd<'_>) -> Option<BTreeMap<Vec<u8>, Vec<u8>>> {
    let mut names = vec![0; XATTR_BYTES];
    let len = match flistxattr(directory, &mut names[..]) {
        Ok(len) => len,
        Err(Errno::OPNOTSUPP) => 0,
        Err(_) => return None,
    };
    let names = names[..len].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let value = |name: &[u8]| {
        let mut value = vec![0; XATTR_BYTES];
        let len = fgetxattr(directory, name, &mut value[..]).ok()?;
        value.truncate(len);
        Some((name.to_vec(), value))
    };
    names.map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    #[test]
    fn directories_are_alike_unless_their_files_inherit_something_else() {
        let [a, b] = [(); 2].map(|()| tempfile::tempdir_in(".").expect("a directory"));
        let of = |one: &tempfile::TempDir| {
            Attributes::of(File::open(one.path()).expect("readable").as_fd())
        };
        // What is in it is not inherited.
        (0..300).for_each(|i| drop(File::create(a.path().join(i.to_string()))));
        assert_eq!(of(&a), of(&b));
        let marked = File::open(b.path()).expect("readable");
        let name: &[u8] = b"user.layout";
        let set = rustix::fs::fsetxattr(&marked, name, b"8", rustix::fs::XattrFlags::empty());
        if set.is_ok() && of(&a).is_some() {
            assert_ne!(of(&a), of(&b));
        }
        let proc = File::open("/proc").expect("readable");
        assert_eq!(Attributes::of(proc.as_fd()), None);
    }
}

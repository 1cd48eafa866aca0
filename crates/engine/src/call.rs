//! One request to a storage back-end: what lies between two clock readings.
//!
//! PPL operations are made of these (`write` = Open, Pwrite, Close). The names
//! and numbers are those of POSIX and Linux.

mod file;
mod queue;

pub use file::{At, FileCall, Memory, MpiFile, MpiMode, ViewId};
pub use queue::{Lent, Queued, Submitted, Tag, Target};

use std::ffi::CStr;
use std::io::{IoSlice, IoSliceMut};

/// A file the back-end has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fd(pub i32);

/// Result of a call as the kernel gives it: not negative (bytes, descriptor,
/// 0), or minus the errno.
pub type Reply = i64;

/// One call.
#[derive(Debug)]
#[allow(missing_docs)] // the fields are those of the system calls
pub enum Call<'a> {
    /// open(path, flags, mode); the descriptor.
    Open { path: &'a CStr, flags: i32, mode: u32 },
    /// close(fd)
    Close { fd: Fd },
    /// pread(fd, buf, offset); the bytes. `rest`: part of "read to the end of the file".
    Pread { fd: Fd, buf: &'a mut [u8], offset: u64, rest: bool },
    /// pwrite(fd, buf, offset); the bytes.
    Pwrite { fd: Fd, buf: &'a [u8], offset: u64 },
    /// write(fd, buf) on a file opened with O_APPEND; the bytes.
    Append { fd: Fd, buf: &'a [u8] },
    /// lseek(fd, offset, SEEK_SET)
    Seek { fd: Fd, offset: u64 },
    /// fsync(fd)
    Fsync { fd: Fd },
    /// fdatasync(fd)
    Fdatasync { fd: Fd },
    /// ftruncate(fd, size)
    Ftruncate { fd: Fd, size: u64 },
    /// fallocate(fd, mode, offset, size)
    Fallocate { fd: Fd, mode: i32, offset: u64, size: u64 },
    /// posix_fadvise(fd, offset, size, advice)
    Fadvise { fd: Fd, offset: u64, size: u64, advice: i32 },
    /// copy_file_range(from.0, from.1, to.0, to.1, len): files and offsets; the bytes. `rest`: part
    /// of "copy to the end of the file".
    CopyRange { from: (Fd, u64), to: (Fd, u64), len: usize, rest: bool },
    /// ioctl(to, FICLONE, from)
    Clone { from: Fd, to: Fd },
    /// preadv(fd, bufs, offset); the bytes.
    Preadv { fd: Fd, bufs: &'a mut [IoSliceMut<'a>], offset: u64 },
    /// pwritev(fd, bufs, offset); the bytes.
    Pwritev { fd: Fd, bufs: &'a [IoSlice<'a>], offset: u64 },
    /// flock(fd, operation)
    Flock { fd: Fd, operation: i32 },
    /// linkat of an open file: a name for one that has none.
    LinkFile { fd: Fd, path: &'a CStr },
    /// fstat(fd); the size of the file in bytes.
    Fstat { fd: Fd },
    /// stat(path); the size of the file in bytes.
    Stat { path: &'a CStr },
    /// access(path, F_OK)
    Access { path: &'a CStr },
    /// unlink(path)
    Unlink { path: &'a CStr },
    /// renameat2(from, to, flags); rename(from, to) without flags.
    Rename { from: &'a CStr, to: &'a CStr, flags: u32 },
    /// mkdir(path, 0777)
    Mkdir { path: &'a CStr },
    /// rmdir(path)
    Rmdir { path: &'a CStr },
    /// truncate(path, size)
    Truncate { path: &'a CStr, size: u64 },
    /// getdents64(fd): one buffer full; the number of entries besides `.`, `..` and the
    /// marker, plus one, or 0 at the end.
    Getdents { fd: Fd, buf: &'a mut [u8] },
    /// link(from, to)
    Link { from: &'a CStr, to: &'a CStr },
    /// symlink(target, path)
    Symlink { target: &'a CStr, path: &'a CStr },
    /// readlink(path); the bytes.
    Readlink { path: &'a CStr },
    /// chmod(path, mode)
    Chmod { path: &'a CStr, mode: u32 },
    /// utimensat(path, now, now)
    Utime { path: &'a CStr },
    /// statfs(path)
    Statfs { path: &'a CStr },
    /// setxattr(path, name, value, 0)
    Setxattr { path: &'a CStr, name: &'a CStr, value: &'a [u8] },
    /// getxattr(path, name, buf); the bytes.
    Getxattr { path: &'a CStr, name: &'a CStr, buf: &'a mut [u8] },
    /// listxattr(path, buf); the bytes of all names.
    Listxattr { path: &'a CStr, buf: &'a mut [u8] },
    /// removexattr(path, name)
    Removexattr { path: &'a CStr, name: &'a CStr },
    /// syncfs(fd), or of the run directory.
    Syncfs { fd: Option<Fd> },
    /// write "3" to /proc/sys/vm/drop_caches
    DropCaches,
}

/// The names that a call works on. Confinement and the protection of the marker read it here: a new
/// call with a name cannot be forgotten by either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names<'a> {
    /// None: it works on an open file or on the whole file system.
    None,
    /// One name.
    One {
        /// The name.
        path: &'a CStr,
        /// What it leads to, or the name itself, is made, changed or removed.
        changes: bool,
    },
    /// Two names, both of which are made, changed or removed.
    Two {
        /// The first one.
        from: &'a CStr,
        /// The second one.
        to: &'a CStr,
    },
    /// A name that is made and the text it holds, which may lead anywhere.
    Link {
        /// The text.
        target: &'a CStr,
        /// The name.
        path: &'a CStr,
    },
}

/// What a call's time goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A file is opened.
    Open,
    /// A file is closed.
    Close,
    /// Bytes are moved: those that the reply tells.
    Data,
    /// Names, attributes, positions.
    Metadata,
    /// Data is made stable, or caches are dropped.
    Sync,
}

impl<'a> Call<'a> {
    /// The names it works on.
    #[inline(always)]
    pub fn names(&self) -> Names<'a> {
        const CHANGES: i32 = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
        match *self {
            Call::Open { path, flags, .. } => Names::One { path, changes: flags & CHANGES != 0 },
            Call::Stat { path }
            | Call::Access { path }
            | Call::Readlink { path }
            | Call::Getxattr { path, .. }
            | Call::Listxattr { path, .. }
            | Call::Statfs { path } => Names::One { path, changes: false },
            Call::Unlink { path }
            | Call::Mkdir { path }
            | Call::Rmdir { path }
            | Call::Truncate { path, .. }
            | Call::Chmod { path, .. }
            | Call::LinkFile { path, .. }
            | Call::Setxattr { path, .. }
            | Call::Removexattr { path, .. }
            | Call::Utime { path } => Names::One { path, changes: true },
            Call::Rename { from, to, .. } | Call::Link { from, to } => Names::Two { from, to },
            Call::Symlink { target, path } => Names::Link { target, path },
            Call::Close { .. }
            | Call::Pread { .. }
            | Call::Pwrite { .. }
            | Call::Append { .. }
            | Call::Seek { .. }
            | Call::Fsync { .. }
            | Call::Fdatasync { .. }
            | Call::Ftruncate { .. }
            | Call::Fallocate { .. }
            | Call::Fadvise { .. }
            | Call::CopyRange { .. }
            | Call::Clone { .. }
            | Call::Preadv { .. }
            | Call::Pwritev { .. }
            | Call::Flock { .. }
            | Call::Fstat { .. }
            | Call::Getdents { .. }
            | Call::Syncfs { .. }
            | Call::DropCaches => Names::None,
        }
    }

    /// What its time goes by.
    pub fn work(&self) -> Work {
        match self {
            Call::Open { .. } => Work::Open,
            Call::Close { .. } => Work::Close,
            Call::Pread { .. }
            | Call::Pwrite { .. }
            | Call::Append { .. }
            | Call::Preadv { .. }
            | Call::Pwritev { .. }
            | Call::CopyRange { .. } => Work::Data,
            Call::Fsync { .. }
            | Call::Fdatasync { .. }
            | Call::Syncfs { .. }
            | Call::DropCaches => Work::Sync,
            Call::Seek { .. }
            | Call::Ftruncate { .. }
            | Call::Fallocate { .. }
            | Call::Fadvise { .. }
            | Call::Clone { .. }
            | Call::Flock { .. }
            | Call::LinkFile { .. }
            | Call::Setxattr { .. }
            | Call::Getxattr { .. }
            | Call::Listxattr { .. }
            | Call::Removexattr { .. }
            | Call::Fstat { .. }
            | Call::Stat { .. }
            | Call::Access { .. }
            | Call::Unlink { .. }
            | Call::Rename { .. }
            | Call::Mkdir { .. }
            | Call::Rmdir { .. }
            | Call::Truncate { .. }
            | Call::Getdents { .. }
            | Call::Link { .. }
            | Call::Symlink { .. }
            | Call::Readlink { .. }
            | Call::Chmod { .. }
            | Call::Utime { .. }
            | Call::Statfs { .. } => Work::Metadata,
        }
    }
}

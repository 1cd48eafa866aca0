//! One request to a storage back-end: what lies between two clock readings.
//!
//! PPL operations are made of these (`write` = Open, Pwrite, Close). The names
//! and numbers are those of POSIX and Linux.

mod file;

pub use file::{At, FileCall, Lent, Memory, MpiFile, MpiMode, Request, ViewId};

use std::ffi::CStr;

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
    /// fallocate(fd, 0, 0, size)
    Fallocate { fd: Fd, size: u64 },
    /// fstat(fd); the size of the file in bytes.
    Fstat { fd: Fd },
    /// stat(path); the size of the file in bytes.
    Stat { path: &'a CStr },
    /// access(path, F_OK)
    Access { path: &'a CStr },
    /// unlink(path)
    Unlink { path: &'a CStr },
    /// rename(from, to)
    Rename { from: &'a CStr, to: &'a CStr },
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
    /// syncfs(run directory)
    Syncfs,
    /// write "3" to /proc/sys/vm/drop_caches
    DropCaches,
}

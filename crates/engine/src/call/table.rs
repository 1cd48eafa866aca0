//! The table of calls. Each is a row that holds all there is to know of it; back-ends execute it.

use super::show::{
    access, call as show, directory_or, locks, mapped, mode as bits, open_flags, own_path, renames,
};
use super::words::{Fd, Names, Reply, Work};
use std::ffi::CStr;
use std::io::{IoSlice, IoSliceMut};

/// Makes [`Call`] and its facts from rows
/// `name { fields } => work, names, reply of a back-end without files, name and arguments to show`.
macro_rules! calls {
    ($($(#[$doc:meta])* $call:ident { $($field:ident: $type:ty),* }
        => $work:ident, $names:expr, $reply:expr, $name:expr, [$($shown:expr),*];)*) => {
        /// One call.
        #[derive(Debug)]
        #[allow(missing_docs)] // the fields have the names of the system calls' arguments
        pub enum Call<'a> {
            $($(#[$doc])* $call { $($field: $type),* },)*
        }

        #[allow(unused_variables)] // each column uses some of the fields
        impl<'a> Call<'a> {
            /// The names it works on.
            #[inline(always)]
            pub fn names(&self) -> Names<'a> {
                match self {
                    $(Call::$call { $($field),* } => $names,)*
                }
            }

            /// Kind of its work, which decides what its time depends on.
            #[inline(always)]
            pub fn work(&self) -> Work {
                match self {
                    $(Call::$call { .. } => Work::$work,)*
                }
            }

            /// The reply of a back-end without files, as if all had been done. The end of every file
            /// comes at once.
            #[inline(always)]
            pub fn done_in_full(&self) -> Reply {
                match self {
                    $(Call::$call { $($field),* } => $reply,)*
                }
            }
        }

        #[allow(unused_variables)]
        impl std::fmt::Display for Call<'_> {
            /// As strace writes it, with lengths in place of contents.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Call::$call { $($field),* } => show(f, $name, &[$($shown),*]),)*
                }
            }
        }
    };
}

calls! {
    /// open(path, flags, mode); the file.
    Open { path: &'a CStr, flags: i32, mode: u32 } => Open, opens(path, *flags), 3,
        "openat", [path, &open_flags(*flags), &bits(*flags, *mode)];
    /// close(fd)
    Close { fd: Fd } => Close, Names::None, 0, "close", [fd];
    /// pread(fd, buf, offset); the bytes. `rest`: part of "read to the end of the file".
    Pread { fd: Fd, buf: &'a mut [u8], offset: u64, rest: bool } => Data, Names::None,
        if *rest { 0 } else { buf.len() as Reply }, "pread64", [fd, buf, offset];
    /// pwrite(fd, buf, offset); the bytes.
    Pwrite { fd: Fd, buf: &'a [u8], offset: u64 } => Data, Names::None, buf.len() as Reply,
        "pwrite64", [fd, buf, offset];
    /// write(fd, buf) on a file opened with O_APPEND; the bytes.
    Append { fd: Fd, buf: &'a [u8] } => Data, Names::None, buf.len() as Reply, "write", [fd, buf];
    /// lseek(fd, offset) from the start of the file, or from its `end`; the new position.
    Seek { fd: Fd, offset: i64, end: bool } => Metadata, Names::None, *offset,
        "lseek", [fd, offset, &(if *end { "SEEK_END" } else { "SEEK_SET" })];
    /// fsync(fd)
    Fsync { fd: Fd } => Sync, Names::None, 0, "fsync", [fd];
    /// fdatasync(fd)
    Fdatasync { fd: Fd } => Sync, Names::None, 0, "fdatasync", [fd];
    /// mmap(fd) of the whole file, to read it and, with `write`, to change it. The mapping is the
    /// file's until `Unmap`.
    Map { fd: Fd, write: bool } => Open, Names::None, 0, "mmap", [fd, &access(*write)];
    /// munmap of a file's mapping.
    Unmap { fd: Fd } => Close, Names::None, 0, "munmap", [fd];
    /// Copies out of a file's mapping; the bytes. `rest`: part of "read to the end of the file".
    MapRead { fd: Fd, buf: &'a mut [u8], offset: u64, rest: bool } => Data, Names::None,
        if *rest { 0 } else { buf.len() as Reply }, "memcpy", [buf, &mapped(*fd, *offset)];
    /// Copies into a file's mapping, which makes the file longer where it must; the bytes.
    MapWrite { fd: Fd, buf: &'a [u8], offset: u64 } => Data, Names::None, buf.len() as Reply,
        "memcpy", [&mapped(*fd, *offset), buf];
    /// No call: bytes that count as moved. `rest`: part of "read to the end of the file".
    Nothing { bytes: u64, rest: bool } => Nothing, Names::None,
        if *rest { 0 } else { *bytes as Reply }, "nothing", [bytes];
    /// msync(fd's mapping, MS_SYNC)
    Msync { fd: Fd } => Sync, Names::None, 0, "msync", [fd, &"MS_SYNC"];
    /// ftruncate(fd, size)
    Ftruncate { fd: Fd, size: u64 } => Metadata, Names::None, 0, "ftruncate", [fd, size];
    /// fallocate(fd, mode, offset, size)
    Fallocate { fd: Fd, mode: i32, offset: u64, size: u64 } => Metadata, Names::None, 0,
        "fallocate", [fd, mode, offset, size];
    /// posix_fadvise(fd, offset, size, advice)
    Fadvise { fd: Fd, offset: u64, size: u64, advice: i32 } => Metadata, Names::None, 0,
        "fadvise64", [fd, offset, size, advice];
    /// copy_file_range(from.0, from.1, to.0, to.1, len): files and offsets; the bytes. `rest`: part
    /// of "copy to the end of the file".
    CopyRange { from: (Fd, u64), to: (Fd, u64), len: usize, rest: bool } => Data, Names::None,
        if *rest { 0 } else { *len as Reply },
        "copy_file_range", [&from.0, &[from.1], &to.0, &[to.1], len, &"0"];
    /// ioctl(to, FICLONE, from)
    Clone { from: Fd, to: Fd } => Metadata, Names::None, 0, "ioctl", [to, &"FICLONE", from];
    /// ioctl(to.0, FICLONERANGE) of `len` bytes, 0: to the end, of `from`: files and offsets.
    CloneRange { from: (Fd, u64), to: (Fd, u64), len: u64 } => Metadata, Names::None, 0,
        "ioctl", [&to.0, &"FICLONERANGE", &from.0, &[from.1], len, &[to.1]];
    /// preadv(fd, bufs, offset); the bytes.
    Preadv { fd: Fd, bufs: &'a mut [IoSliceMut<'a>], offset: u64 } => Data, Names::None,
        bufs.iter().map(|buf| buf.len() as Reply).sum(), "preadv", [fd, bufs, offset];
    /// pwritev(fd, bufs, offset); the bytes.
    Pwritev { fd: Fd, bufs: &'a [IoSlice<'a>], offset: u64 } => Data, Names::None,
        bufs.iter().map(|buf| buf.len() as Reply).sum(), "pwritev", [fd, bufs, offset];
    /// flock(fd, operation)
    Flock { fd: Fd, operation: i32 } => Metadata, Names::None, 0, "flock", [fd, &locks(*operation)];
    /// linkat of an open file: a name for one that has none.
    LinkFile { fd: Fd, path: &'a CStr } => Metadata, changes(path), 0,
        "linkat", [&own_path(*fd), path, &"AT_SYMLINK_FOLLOW"];
    /// fstat(fd); the size of the file in bytes.
    Fstat { fd: Fd } => Metadata, Names::None, 0, "fstat", [fd];
    /// stat(path); the size of the file in bytes.
    Stat { path: &'a CStr } => Metadata, looks_at(path), 0, "stat", [path];
    /// lstat(path); the size in bytes, of a symbolic link that of its text.
    Lstat { path: &'a CStr } => Metadata, looks_at(path), 0, "lstat", [path];
    /// access(path, F_OK)
    Access { path: &'a CStr } => Metadata, looks_at(path), 0, "access", [path, &"F_OK"];
    /// unlink(path)
    Unlink { path: &'a CStr } => Metadata, changes(path), 0, "unlink", [path];
    /// renameat2(from, to, flags); rename(from, to) without flags.
    Rename { from: &'a CStr, to: &'a CStr, flags: u32 } => Metadata, Names::Two { from, to }, 0,
        if *flags == 0 { "rename" } else { "renameat2" }, [from, to, &renames(*flags)];
    /// mkdir(path, 0777)
    Mkdir { path: &'a CStr } => Metadata, changes(path), 0, "mkdir", [path, &"0777"];
    /// rmdir(path)
    Rmdir { path: &'a CStr } => Metadata, changes(path), 0, "rmdir", [path];
    /// truncate(path, size)
    Truncate { path: &'a CStr, size: u64 } => Metadata, changes(path), 0, "truncate", [path, size];
    /// getdents64(fd): one buffer full; the number of entries besides `.`, `..` and the
    /// marker, plus one, or 0 at the end.
    Getdents { fd: Fd, buf: &'a mut [u8] } => Metadata, Names::None, 0, "getdents64", [fd, buf];
    /// link(from, to)
    Link { from: &'a CStr, to: &'a CStr } => Metadata, Names::Two { from, to }, 0,
        "link", [from, to];
    /// symlink(target, path)
    Symlink { target: &'a CStr, path: &'a CStr } => Metadata, Names::Link { target, path }, 0,
        "symlink", [target, path];
    /// readlink(path); the bytes.
    Readlink { path: &'a CStr } => Metadata, looks_at(path), 0, "readlink", [path];
    /// chmod(path, mode)
    Chmod { path: &'a CStr, mode: u32 } => Metadata, changes(path), 0,
        "chmod", [path, &bits(libc::O_CREAT, *mode)];
    /// utimensat(path, now, now)
    Utime { path: &'a CStr } => Metadata, changes(path), 0,
        "utimensat", [path, &"UTIME_NOW"];
    /// statfs(path)
    Statfs { path: &'a CStr } => Metadata, looks_at(path), 0, "statfs", [path];
    /// setxattr(path, name, value, 0)
    Setxattr { path: &'a CStr, name: &'a CStr, value: &'a [u8] } => Metadata, changes(path), 0,
        "setxattr", [path, name, value, &"0"];
    /// getxattr(path, name, buf); the bytes.
    Getxattr { path: &'a CStr, name: &'a CStr, buf: &'a mut [u8] } => Metadata, looks_at(path),
        buf.len() as Reply, "getxattr", [path, name, buf];
    /// listxattr(path, buf); the bytes of all names.
    Listxattr { path: &'a CStr, buf: &'a mut [u8] } => Metadata, looks_at(path), 0,
        "listxattr", [path, buf];
    /// removexattr(path, name)
    Removexattr { path: &'a CStr, name: &'a CStr } => Metadata, changes(path), 0,
        "removexattr", [path, name];
    /// syncfs(fd), or of the run directory.
    Syncfs { fd: Option<Fd> } => Sync, Names::None, 0, "syncfs", [&directory_or(*fd)];
    /// syncfs of the directory with this absolute path.
    SyncDirectory { path: &'a CStr } => Sync, looks_at(path), 0, "syncfs", [path];
    /// write "3" to /proc/sys/vm/drop_caches
    DropCaches {} => Sync, Names::None, 0,
        "write", [&"\"/proc/sys/vm/drop_caches\"", &"\"3\""];
}

/// A name that is only looked at.
#[inline(always)]
fn looks_at(path: &CStr) -> Names<'_> {
    Names::One { path, changes: false }
}

/// A name that is made, changed or removed, or whose file is.
#[inline(always)]
fn changes(path: &CStr) -> Names<'_> {
    Names::One { path, changes: true }
}

#[inline(always)]
fn opens(path: &CStr, flags: i32) -> Names<'_> {
    const CHANGES: i32 = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
    Names::One { path, changes: flags & CHANGES != 0 }
}

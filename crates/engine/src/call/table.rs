//! The table of calls. Each is a row that holds all there is to know of it; back-ends execute it. Below the table:
//! calls as strace writes them.

use std::ffi::CStr;
use std::fmt::{self, Write};
use std::io::{IoSlice, IoSliceMut};

/// A file the back-end has opened: a number of the back-end's own. That of [`crate::backend::Posix`]
/// is a file descriptor; nobody else takes it for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fd(pub i32);

/// Result of a call as the kernel gives it: not negative (bytes, descriptor,
/// 0), or minus the errno.
pub type Reply = i64;

macro_rules! values {
    ($($name:ident)*) => { &[$((stringify!($name), libc::$name)),*] };
}

/// Names of flags of open(2).
pub(crate) const OPEN_FLAGS: &[(&str, i32)] = model::open_flag_names!(values);

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
        /// The name, or the file it leads to, is made, changed or removed.
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

/// Kind of a call's work, which decides what its time depends on.
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
    /// Nothing.
    Nothing,
}

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
        impl fmt::Display for Call<'_> {
            /// As strace writes it, with lengths in place of contents.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

/// An argument of a call, as strace writes it: a name, a number, or a length in place of contents.
pub(crate) trait Show {
    /// Its text; an empty one: the call is shown without it.
    fn show(&self) -> String;
}

/// `name(argument, argument)`
pub(crate) fn show(f: &mut fmt::Formatter<'_>, name: &str, args: &[&dyn Show]) -> fmt::Result {
    let args: Vec<String> = args.iter().map(|arg| arg.show()).collect();
    let shown: Vec<&str> = args.iter().map(String::as_str).filter(|arg| !arg.is_empty()).collect();
    write!(f, "{name}({})", shown.join(", "))
}

macro_rules! shown {
    ($($type:ty),* => |$one:ident| $text:expr) => {
        $(impl Show for $type {
            fn show(&self) -> String {
                let $one = self;
                $text
            }
        })*
    };
}

shown!(i32, i64, u64, usize, &str, String => |it| it.to_string());
shown!(Fd => |it| it.0.to_string());
shown!([u64; 1] => |it| format!("{it:?}"));
shown!(&CStr => |it| quote(it.to_bytes()));
shown!(&[u8], &mut [u8] => |it| it.len().to_string());
shown!(&[IoSlice<'_>], &mut [IoSliceMut<'_>] => |it| {
    let lengths: Vec<usize> = it.iter().map(|buf| buf.len()).collect();
    format!("{lengths:?}")
});

/// A place in the mapping of a file.
fn mapped(fd: Fd, offset: u64) -> String {
    format!("mapping of {} + {offset}", fd.0)
}

/// Access that a mapping allows.
fn access(write: bool) -> &'static str {
    if write { "PROT_READ|PROT_WRITE, MAP_SHARED" } else { "PROT_READ, MAP_SHARED" }
}

/// Permission bits of a call that makes something, by its flags.
fn bits(flags: i32, mode: u32) -> String {
    if flags & libc::O_CREAT != 0 { format!("{mode:04o}") } else { String::new() }
}

/// Operations of flock.
fn locks(operation: i32) -> &'static str {
    match operation & !libc::LOCK_NB {
        libc::LOCK_SH => "LOCK_SH|LOCK_NB",
        libc::LOCK_EX => "LOCK_EX|LOCK_NB",
        _ => "LOCK_UN",
    }
}

/// Flags of renameat2.
fn renames(flags: u32) -> &'static str {
    match flags {
        0 => "",
        libc::RENAME_EXCHANGE => "RENAME_EXCHANGE",
        _ => "RENAME_NOREPLACE",
    }
}

/// The path of an open file.
fn own_path(fd: Fd) -> String {
    format!("\"/proc/self/fd/{}\"", fd.0)
}

/// A file, or the run directory.
fn directory_or(fd: Option<Fd>) -> String {
    fd.map_or("\".\"".into(), |fd| fd.show())
}

/// Flags of open.
fn open_flags(flags: i32) -> String {
    let mut text = match flags & libc::O_ACCMODE {
        libc::O_WRONLY => "O_WRONLY",
        libc::O_RDWR => "O_RDWR",
        _ => "O_RDONLY",
    }
    .to_string();
    let mut rest = flags & !libc::O_ACCMODE;
    let mut names: Vec<(&str, i32)> = OPEN_FLAGS.to_vec();
    // O_SYNC contains O_DSYNC, O_TMPFILE contains O_DIRECTORY: the larger ones first.
    names.sort_by_key(|row| std::cmp::Reverse(row.1.count_ones()));
    for (name, bits) in names {
        if bits != 0 && rest & bits == bits {
            rest &= !bits;
            text.push('|');
            text.push_str(name);
        }
    }
    text
}

/// A text in double quotes with strace's escapes.
fn quote(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes {
        let _ = match byte {
            b'"' | b'\\' => write!(text, "\\{}", char::from(*byte)),
            b'\n' => text.write_str("\\n"),
            b'\t' => text.write_str("\\t"),
            b' '..=b'~' => text.write_char(char::from(*byte)),
            _ => write!(text, "\\x{byte:02x}"),
        };
    }
    text + "\""
}

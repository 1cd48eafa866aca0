//! Names of system calls and where their arguments stand.
//!
//! Calls that touch no file are not listed: [`Call::Other`].

use super::cursor::Cursor;
use super::flags::{
    AT_REMOVEDIR, AT_SYMLINK_NOFOLLOW, CLONE_FILES, CLONE_FS, CLONE_THREAD, CLOSE_RANGE_CLOEXEC,
    DUP_CLOEXEC, FD_CLOEXEC, MAP_ANONYMOUS, RENAME_EXCHANGE, RENAME_NOREPLACE, has, is,
    names as named_in, open_flags,
};
use crate::record::{At, Call, Fd, Name, Shares};
use model::Op;
use model::event::{self, MODE_UNKNOWN};
use model::open_flags::{O_CREAT, O_TRUNC};

/// What `name` with these arguments does. The cursor stands behind the opening bracket; it need not
/// be at its end afterwards. `None`: the arguments are not those of such a call.
pub fn call<'a>(name: &[u8], c: &mut Cursor<'a>) -> Option<Call<'a>> {
    Some(match name {
        b"read" => Call::Read { fd: first(c)?, bytes: buffer(c)?, offset: None },
        b"write" => Call::Write { fd: first(c)?, bytes: buffer(c)?, offset: None },
        b"pread64" | b"pread" => Call::Read { fd: first(c)?, bytes: buffer(c)?, offset: last(c)? },
        b"pwrite64" | b"pwrite" => {
            Call::Write { fd: first(c)?, bytes: buffer(c)?, offset: last(c)? }
        }
        b"readv" => Call::Read { fd: first(c)?, bytes: c.vector_bytes(), offset: None },
        b"writev" => Call::Write { fd: first(c)?, bytes: c.vector_bytes(), offset: None },
        b"preadv" | b"preadv2" => {
            Call::Read { fd: first(c)?, bytes: c.vector_bytes(), offset: behind_vector(c)? }
        }
        b"pwritev" | b"pwritev2" => {
            Call::Write { fd: first(c)?, bytes: c.vector_bytes(), offset: behind_vector(c)? }
        }
        b"lseek" | b"_llseek" | b"llseek" => Call::Seek { fd: first(c)? },
        b"fstat" | b"fstat64" => Call::Attributes { fd: first(c)?, size_bytes: size_of(c) },
        b"stat" | b"stat64" | b"lstat" | b"lstat64" => {
            let (at, itself) = (here(c)?, name.starts_with(b"l"));
            Call::NameAttributes { at, size_bytes: size_of(c), itself }
        }
        b"newfstatat" | b"fstatat64" => {
            let (at, size_bytes) = (there(c)?, size_of(c));
            attributes(at, size_bytes, c.word())
        }
        b"statx" => {
            let (at, flags) = (there(c)?, c.word());
            c.next();
            attributes(at, size_of(c), flags)
        }
        b"openat" => Call::Open { at: there(c)?, flags: open_flags(c.word()) },
        b"open" => Call::Open { at: here(c)?, flags: open_flags(c.word()) },
        b"creat" => Call::Open { at: here(c)?, flags: 1 | O_CREAT | O_TRUNC },
        b"openat2" => {
            let at = there(c)?;
            c.take(b"{flags=");
            Call::Open { at, flags: open_flags(c.word()) }
        }
        b"close" => Call::Close { fd: c.fd()? },
        _ => return rare(name, c),
    })
}

/// Calls on descriptors that are rarer than those above; then the others.
fn rare<'a>(name: &[u8], c: &mut Cursor<'a>) -> Option<Call<'a>> {
    Some(match name {
        b"close_range" => close_range(c)?,
        b"dup" => Call::Dup { fd: c.fd()?, over: None, at_exec: false },
        b"dup2" | b"dup3" => {
            let fd = first(c)?;
            let over = Some(first(c)?.number);
            Call::Dup { fd, over, at_exec: has(c.word(), DUP_CLOEXEC) }
        }
        b"fcntl" | b"fcntl64" => fcntl(c)?,
        b"fsync" => handle(Op::Fsync, c)?,
        b"fdatasync" => handle(Op::Fdatasync, c)?,
        b"sync" => Call::SyncAll,
        b"syncfs" => handle(Op::Syncfs, c)?,
        b"fadvise64" | b"posix_fadvise" => handle(Op::Fadvise, c)?,
        b"fsetxattr" => handle(Op::Setxattr, c)?,
        b"fgetxattr" => handle(Op::Getxattr, c)?,
        b"flistxattr" => handle(Op::Listxattr, c)?,
        b"fremovexattr" => handle(Op::Removexattr, c)?,
        b"fchmod" => {
            let at = At { dir: first(c)?, name: Name::default() };
            changed(at, c)
        }
        b"fstatfs" | b"fstatfs64" => handle(Op::Statfs, c)?,
        b"ftruncate" | b"ftruncate64" => {
            Call::Resize { fd: first(c)?, size_bytes: c.size().unwrap_or(0) }
        }
        b"fallocate" => fallocate(c)?,
        b"getdents" | b"getdents64" => Call::List { fd: first(c)? },
        b"fchdir" => Call::Enter { at: At { dir: c.fd()?, name: Name::default() } },
        b"copy_file_range" => copy_both(c)?,
        b"splice" => splice(c)?,
        b"ioctl" => control(c)?,
        b"sendfile" | b"sendfile64" => sendfile(c)?,
        b"mmap" | b"mmap2" => mmap(c)?,
        b"pipe" | b"pipe2" | b"socketpair" => pair(c),
        b"socket" | b"accept" | b"accept4" | b"epoll_create" | b"epoll_create1" | b"eventfd"
        | b"eventfd2" | b"signalfd" | b"signalfd4" | b"timerfd_create" | b"inotify_init"
        | b"inotify_init1" | b"memfd_create" | b"userfaultfd" | b"perf_event_open"
        | b"pidfd_open" | b"io_uring_setup" | b"bpf" | b"fanotify_init" => {
            Call::NoFile { fds: [None, None] }
        }
        b"flock" | b"readahead" | b"sync_file_range" | b"fchown" | b"tee" | b"vmsplice"
        | b"msync" => Call::WithoutOperation,
        b"io_uring_enter" | b"io_submit" | b"io_getevents" => Call::Opaque,
        _ => return names(name, c),
    })
}

/// Calls on names and processes; all others.
fn names<'a>(name: &[u8], c: &mut Cursor<'a>) -> Option<Call<'a>> {
    Some(match name {
        b"access" => named(Op::Lookup, here(c)?),
        b"faccessat" | b"faccessat2" => named(Op::Lookup, there(c)?),
        b"readlink" => {
            let at = here(c)?;
            Call::ReadLink { at, target: c.string().unwrap_or_default() }
        }
        b"readlinkat" => {
            let at = there(c)?;
            Call::ReadLink { at, target: c.string().unwrap_or_default() }
        }
        b"chmod" => changed(here(c)?, c),
        b"fchmodat" | b"fchmodat2" => changed(there(c)?, c),
        b"utime" | b"utimes" => named(Op::Utime, here(c)?),
        b"utimensat" | b"futimesat" => named(Op::Utime, there(c)?),
        b"setxattr" | b"lsetxattr" => named(Op::Setxattr, here(c)?),
        b"getxattr" | b"lgetxattr" => named(Op::Getxattr, here(c)?),
        b"listxattr" | b"llistxattr" => named(Op::Listxattr, here(c)?),
        b"removexattr" | b"lremovexattr" => named(Op::Removexattr, here(c)?),
        b"statfs" | b"statfs64" => named(Op::Statfs, here(c)?),
        b"truncate" | b"truncate64" => {
            let at = here(c)?;
            Call::Named { op: Op::Truncate, at, bytes: c.size().unwrap_or(0) }
        }
        b"unlink" => removed(here(c)?, false),
        b"rmdir" => removed(here(c)?, true),
        b"unlinkat" => {
            let at = there(c)?;
            removed(at, has(c.word(), AT_REMOVEDIR))
        }
        b"mkdir" => Call::MakeDirectory { at: here(c)? },
        b"mkdirat" => Call::MakeDirectory { at: there(c)? },
        b"rename" => Call::Rename { from: here(c)?, to: here(c)?, flags: 0 },
        b"renameat" | b"renameat2" => {
            let (from, to) = (there(c)?, there(c)?);
            Call::Rename { from, to, flags: rename_flags(c.word()) }
        }
        b"link" => Call::Link { from: here(c)?, to: here(c)? },
        b"linkat" => Call::Link { from: there(c)?, to: there(c)? },
        b"symlink" => Call::Symlink { target: here(c)?.name, at: here(c)? },
        b"symlinkat" => Call::Symlink { target: here(c)?.name, at: there(c)? },
        b"chdir" => Call::Enter { at: here(c)? },
        b"getcwd" => Call::TellDirectory { name: c.string().unwrap_or_default() },
        b"fork" | b"vfork" => Call::Spawn { shares: Shares::default() },
        b"clone" | b"clone2" | b"clone3" => Call::Spawn { shares: shares(c.rest()) },
        b"unshare" => {
            let shares = shares(c.rest());
            Call::Unshare { shares }
        }
        b"execve" => Call::Execute { name: c.string()? },
        b"execveat" => Call::Execute { name: there(c)?.name },
        b"exit" | b"exit_group" => Call::Exit,
        b"chown" | b"lchown" | b"fchownat" | b"mknod" | b"mknodat" | b"name_to_handle_at"
        | b"open_by_handle_at" | b"mount" | b"umount2" | b"chroot" | b"pivot_root"
        | b"quotactl" | b"swapon" => Call::WithoutOperation,
        _ => Call::Other,
    })
}

/// A descriptor that others follow.
fn first<'a>(c: &mut Cursor<'a>) -> Option<Fd<'a>> {
    let fd = c.fd()?;
    c.next();
    Some(fd)
}

/// `"..."..., 4096`: a buffer of the call and its size.
fn buffer(c: &mut Cursor<'_>) -> Option<u64> {
    c.next();
    let bytes = c.size();
    c.next();
    bytes
}

/// An offset in bytes; -1 is the current position.
#[allow(clippy::option_option)]
fn last(c: &mut Cursor<'_>) -> Option<Option<u64>> {
    c.number().map(|offset| u64::try_from(offset).ok())
}

/// Number of buffers, then the offset.
#[allow(clippy::option_option)]
fn behind_vector(c: &mut Cursor<'_>) -> Option<Option<u64>> {
    c.next();
    last(c)
}

fn here<'a>(c: &mut Cursor<'a>) -> Option<At<'a>> {
    let at = c.name_here();
    c.next();
    at
}

fn there<'a>(c: &mut Cursor<'a>) -> Option<At<'a>> {
    let at = c.at();
    c.next();
    at
}

fn named(op: Op, at: At<'_>) -> Call<'_> {
    Call::Named { op, at, bytes: 0 }
}

/// `0644`: a mode.
fn changed<'a>(at: At<'a>, c: &mut Cursor<'a>) -> Call<'a> {
    let mode = std::str::from_utf8(c.word()).ok();
    // Some programs hand over the kind of the file, too, which the kernel does not look at.
    let mode = mode.and_then(|mode| Some(u64::from_str_radix(mode, 8).ok()? & 0o7777));
    Call::Named { op: Op::Chmod, at, bytes: mode.unwrap_or(MODE_UNKNOWN) }
}

/// `RENAME_NOREPLACE`, as the kernel takes them; others have no operation.
fn rename_flags(word: &[u8]) -> u64 {
    let all =
        [(RENAME_NOREPLACE, event::RENAME_NOREPLACE), (RENAME_EXCHANGE, event::RENAME_EXCHANGE)];
    all.into_iter().filter(|(flag, _)| has(word, *flag)).map(|(_, bit)| bit).sum()
}

fn removed(at: At<'_>, directory: bool) -> Call<'_> {
    Call::Remove { at, directory, size_bytes: None }
}

fn handle<'a>(op: Op, c: &mut Cursor<'a>) -> Option<Call<'a>> {
    c.fd().map(|fd| Call::Handle { op, fd })
}

/// The type of a file in its mode.
const FILE_KIND: u64 = 0o170000;
const REGULAR_FILE: u64 = 0o100000;

/// `st_size=` or `stx_size=` of a regular file.
fn size_of(c: &mut Cursor<'_>) -> Option<u64> {
    let text = c.word();
    let kind = Cursor::new(text).field(b"_mode=").map(|mode| mode & FILE_KIND);
    if !named_in(text, b"S_IFREG") && kind != Some(REGULAR_FILE) {
        return None;
    }
    Cursor::new(text).field(b"_size=")
}

fn attributes<'a>(at: At<'a>, size_bytes: Option<u64>, flags: &[u8]) -> Call<'a> {
    let itself = has(flags, AT_SYMLINK_NOFOLLOW);
    match at.name.text.is_empty() {
        true => Call::Attributes { fd: at.dir, size_bytes },
        false => Call::NameAttributes { at, size_bytes, itself },
    }
}

fn close_range<'a>(c: &mut Cursor<'a>) -> Option<Call<'a>> {
    let first = first(c)?.number;
    let last = c.number()?;
    c.next();
    Some(Call::CloseRange { first, last, at_exec: has(c.word(), CLOSE_RANGE_CLOEXEC) })
}

fn fcntl<'a>(c: &mut Cursor<'a>) -> Option<Call<'a>> {
    let fd = first(c)?;
    let command = c.word();
    let is = |name, value| is(command, name, value);
    Some(match command {
        _ if is(b"F_DUPFD", 0) => Call::Dup { fd, over: None, at_exec: false },
        _ if is(b"F_DUPFD_CLOEXEC", 1030) => Call::Dup { fd, over: None, at_exec: true },
        _ if is(b"F_SETFD", 2) => Call::CloseAtExec { fd, on: has(c.word(), FD_CLOEXEC) },
        _ if is(b"F_SETFL", 4) => Call::SetFlags { fd, flags: open_flags(c.word()) },
        _ if is(b"F_GETFD", 1) || is(b"F_GETFL", 3) => Call::Other,
        _ => Call::WithoutOperation,
    })
}

/// Modes other than "allocate" punch holes, zero or move: no operation does that.
fn fallocate<'a>(c: &mut Cursor<'a>) -> Option<Call<'a>> {
    let fd = first(c)?;
    let mode = c.word();
    let offset = c.size()?;
    c.next();
    let end_bytes = offset.saturating_add(c.size()?);
    let keeps_size = is(mode, b"FALLOC_FL_KEEP_SIZE", 1);
    let allocates = keeps_size || is(mode, b"0", 0);
    Some(if allocates {
        Call::Allocate { fd, end_bytes, keeps_size }
    } else {
        Call::WithoutOperation
    })
}

/// `3, [100], 4, NULL, 4096, 0`: offsets in brackets as they were before the call.
fn copy_both<'a>(c: &mut Cursor<'a>) -> Option<Call<'a>> {
    let (from, from_offset) = (first(c)?, offset_at(c));
    let (to, to_offset) = (first(c)?, offset_at(c));
    Some(Call::Copy { from, from_offset, to, to_offset, bytes: c.size()? })
}

const FICLONE: u64 = 0x4004_9409;
const FICLONERANGE: u64 = 0x4020_940d;

/// `4, BTRFS_IOC_CLONE or FICLONE, 3`; of a range
/// `4, BTRFS_IOC_CLONE_RANGE or FICLONERANGE, {src_fd=3, src_offset=0, src_length=0, dest_offset=0}`.
fn control<'a>(c: &mut Cursor<'a>) -> Option<Call<'a>> {
    let to = first(c)?;
    let request = c.word();
    let is = |name: &[u8], number| {
        let mut words = request.split(|byte| *byte == b' ');
        words.any(|word| word == name) || Cursor::new(request).size() == Some(number)
    };
    if is(b"FICLONE", FICLONE) {
        return Some(Call::Clone { from: c.fd()?, from_offset: 0, to, to_offset: 0, bytes: 0 });
    }
    if !is(b"FICLONERANGE", FICLONERANGE) {
        return Some(Call::WithoutOperation);
    }
    if !c.take(b"{src_fd=") {
        return Some(Call::Opaque);
    }
    let from = c.fd()?;
    let mut number = |key| c.field(key);
    let (from_offset, bytes) = (number(b"src_offset=")?, number(b"src_length=")?);
    Some(Call::Clone { from, from_offset, to, to_offset: number(b"dest_offset=")?, bytes })
}

fn splice<'a>(c: &mut Cursor<'a>) -> Option<Call<'a>> {
    let (from, from_offset) = (first(c)?, offset_at(c));
    let (to, to_offset) = (first(c)?, offset_at(c));
    Some(Call::Send { from, from_offset, to, to_offset, bytes: c.size()? })
}

fn sendfile<'a>(c: &mut Cursor<'a>) -> Option<Call<'a>> {
    let (to, from, from_offset) = (first(c)?, first(c)?, offset_at(c));
    Some(Call::Send { from, from_offset, to, to_offset: None, bytes: c.size()? })
}

/// `[100]` or `[100] => [200]`; `None` for NULL.
fn offset_at(c: &mut Cursor<'_>) -> Option<u64> {
    let word = c.word();
    let inside = word.strip_prefix(b"[")?;
    Cursor::new(inside).size()
}

fn mmap<'a>(c: &mut Cursor<'a>) -> Option<Call<'a>> {
    c.next();
    let bytes = c.size()?;
    c.next();
    c.next();
    let flags = c.word();
    let fd = c.fd()?;
    Some(if has(flags, MAP_ANONYMOUS) { Call::Other } else { Call::Map { fd, bytes } })
}

/// `[3, 4]`, of socketpair behind three others.
fn pair<'a>(c: &mut Cursor<'a>) -> Call<'a> {
    let start = memchr::memchr(b'[', c.rest()).unwrap_or(c.rest().len());
    let mut inner = Cursor::new(c.rest().get(start + 1..).unwrap_or_default());
    let one = inner.fd().map(|fd| fd.number);
    inner.next();
    Call::NoFile { fds: [one, inner.fd().map(|fd| fd.number)] }
}

/// Flags of clone, `flags=CLONE_VM|CLONE_FS|SIGCHLD` among other arguments, or of unshare.
fn shares(text: &[u8]) -> Shares {
    let key = b"flags=";
    let start = memchr::memmem::find(text, key).map_or(0, |at| at + key.len());
    let flags = Cursor::new(&text[start..]).word();
    Shares {
        process: has(flags, CLONE_THREAD),
        files: has(flags, CLONE_FILES),
        directory: has(flags, CLONE_FS),
    }
}

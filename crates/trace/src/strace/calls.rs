//! Arguments of system calls as strace writes them.
//!
//! [`crate::functions`] has the actions and arguments of calls. Calls that touch no file are not
//! listed there: [`Act::Other`].

use super::cursor::Cursor;
use super::flags::{has, is, names, open_flags};
use crate::functions::find_function;
use crate::record::{Act, At, Call, Fd, KEEPS_SIZE, Name, Shares};
use model::Op;
use model::event::{MODE_UNKNOWN, RENAME_EXCHANGE, RENAME_NOREPLACE};
use model::open_flags::{O_CLOEXEC, O_CREAT, O_TRUNC};

/// The call `name` with these arguments. The cursor is after the opening bracket; it need not be at
/// its end afterwards. `None` if the arguments do not fit the call.
pub fn call<'a>(name: &[u8], c: &mut Cursor<'a>) -> Option<Call<'a>> {
    match name {
        b"fcntl" | b"fcntl64" => fcntl(c),
        b"fallocate" => fallocate(c),
        b"ioctl" => control(c),
        b"pipe" | b"pipe2" | b"socketpair" => Some(pair(c)),
        _ => match find_function(name) {
            Some((act, letters)) => arguments(act, letters, c),
            None => Some(Call::new(Act::Other)),
        },
    }
}

/// Reads the arguments that the letters of [`crate::functions`] name.
fn arguments<'a>(act: Act<'static>, letters: &[u8], c: &mut Cursor<'a>) -> Option<Call<'a>> {
    let mut call = Call::new(act);
    if act == Act::On(Op::Fcreat) {
        call.flags = 1 | O_CREAT | O_TRUNC;
    }
    for letter in letters {
        if *letter == b'h' {
            let shares = shares(c.rest());
            call.act = if act == Act::Unshare(Shares::NOTHING) {
                Act::Unshare(shares)
            } else {
                Act::Spawn(shares)
            };
            return Some(call);
        }
        let word = c.word();
        let mut inner = Cursor::new(word);
        match letter {
            b'f' | b'd' => call.at.dir = inner.fd()?,
            b'F' | b'D' => call.to.dir = inner.fd()?,
            b'p' => call.at.name = path(inner, letters, b'd')?,
            b'q' => call.to.name = path(inner, letters, b'D')?,
            b't' => call.to.name = inner.string().unwrap_or_default(),
            b'c' => call.bytes = inner.size()?,
            b'v' => call.bytes = inner.vector_bytes(),
            // -1 is the current position.
            b'o' => call.offset = u64::try_from(inner.number()?).ok(),
            b'O' => call.offset = offset_at(word),
            b'P' => call.to_offset = offset_at(word),
            b'g' => {
                let text = word.strip_prefix(b"{flags=").unwrap_or(word);
                call.flags = open_flags(Cursor::new(text).word());
            }
            b'm' => call.bytes = mode(word),
            b's' => call.size_bytes = size_of(word),
            b'x' if has(word, b"O_CLOEXEC", O_CLOEXEC.into())
                || has(word, b"CLOSE_RANGE_CLOEXEC", 4) =>
            {
                call.flags = O_CLOEXEC;
            }
            b'r' => call.flags = rename_flags(word),
            b'n' if has(word, b"MAP_ANONYMOUS", 0x20) => call.act = Act::Other,
            b'a' if act == Act::On(Op::Stat) && has(word, b"AT_SYMLINK_NOFOLLOW", 0x100) => {
                call.act = Act::On(Op::Lstat);
            }
            b'a' if act == Act::On(Op::Delete) && has(word, b"AT_REMOVEDIR", 0x200) => {
                call.act = Act::On(Op::Rmdir);
            }
            _ => {}
        }
    }
    Some(call)
}

/// A name; behind a descriptor it may be NULL, which means the descriptor itself.
fn path<'a>(mut word: Cursor<'a>, letters: &[u8], directory: u8) -> Option<Name<'a>> {
    let is_optional = letters.contains(&directory);
    word.string().or_else(|| is_optional.then(Name::default))
}

/// `0644`. Some programs hand over the kind of the file, too, which the kernel does not look at.
fn mode(word: &[u8]) -> u64 {
    let mode = std::str::from_utf8(word).ok().and_then(|word| u64::from_str_radix(word, 8).ok());
    mode.map_or(MODE_UNKNOWN, |mode| mode & 0o7777)
}

/// `RENAME_NOREPLACE`, as the kernel takes them; others have no operation.
fn rename_flags(word: &[u8]) -> u32 {
    let noreplace = has(word, b"RENAME_NOREPLACE", 1);
    let exchange = has(word, b"RENAME_EXCHANGE", 2);
    (u32::from(noreplace) * RENAME_NOREPLACE as u32)
        | (u32::from(exchange) * RENAME_EXCHANGE as u32)
}

/// The type of a file in its mode.
const FILE_KIND: u64 = 0o170000;
const REGULAR_FILE: u64 = 0o100000;

/// `st_size=` or `stx_size=` of a regular file.
fn size_of(text: &[u8]) -> Option<u64> {
    let kind = Cursor::new(text).field(b"_mode=").map(|mode| mode & FILE_KIND);
    if !names(text, b"S_IFREG") && kind != Some(REGULAR_FILE) {
        return None;
    }
    Cursor::new(text).field(b"_size=")
}

/// `[100]` or `[100] => [200]`; `None` for NULL. The offset is that before the call.
fn offset_at(word: &[u8]) -> Option<u64> {
    Cursor::new(word.strip_prefix(b"[")?).size()
}

/// A descriptor that others follow.
fn first<'a>(c: &mut Cursor<'a>) -> Option<Fd<'a>> {
    Cursor::new(c.word()).fd()
}

fn fcntl<'a>(c: &mut Cursor<'a>) -> Option<Call<'a>> {
    let fd = first(c)?;
    let command = c.word();
    let is = |name, value| is(command, name, value);
    let (act, flags) = match command {
        _ if is(b"F_DUPFD", 0) => (Act::Dup, 0),
        _ if is(b"F_DUPFD_CLOEXEC", 1030) => (Act::Dup, O_CLOEXEC),
        _ if is(b"F_SETFD", 2) && has(c.word(), b"FD_CLOEXEC", 1) => (Act::CloseAtExec, O_CLOEXEC),
        _ if is(b"F_SETFD", 2) => (Act::CloseAtExec, 0),
        _ if is(b"F_SETFL", 4) => (Act::SetFlags, open_flags(c.word())),
        _ if is(b"F_GETFD", 1) || is(b"F_GETFL", 3) => (Act::Other, 0),
        _ => (Act::WithoutOperation, 0),
    };
    Some(Call { at: At::open(fd), flags, ..Call::new(act) })
}

/// Modes other than "allocate" punch holes, zero or move: no operation does that.
fn fallocate<'a>(c: &mut Cursor<'a>) -> Option<Call<'a>> {
    let at = At::open(first(c)?);
    let mode = c.word();
    let offset = c.size()?;
    c.next();
    let bytes = offset.saturating_add(c.size()?);
    let keeps_size = is(mode, b"FALLOC_FL_KEEP_SIZE", 1);
    let allocates = keeps_size || is(mode, b"0", 0);
    let act = if allocates { Act::On(Op::Fallocate) } else { Act::WithoutOperation };
    Some(Call { at, bytes, flags: if keeps_size { KEEPS_SIZE } else { 0 }, ..Call::new(act) })
}

const FICLONE: u64 = 0x4004_9409;
const FICLONERANGE: u64 = 0x4020_940d;

/// `4, BTRFS_IOC_CLONE or FICLONE, 3`; of a range
/// `4, BTRFS_IOC_CLONE_RANGE or FICLONERANGE, {src_fd=3, src_offset=0, src_length=0, dest_offset=0}`.
fn control<'a>(c: &mut Cursor<'a>) -> Option<Call<'a>> {
    let to = At::open(first(c)?);
    let request = c.word();
    let is = |name: &[u8], number| {
        let mut words = request.split(|byte| *byte == b' ');
        words.any(|word| word == name) || Cursor::new(request).size() == Some(number)
    };
    let clone =
        Call { to, offset: Some(0), to_offset: Some(0), ..Call::new(Act::On(Op::Freflink)) };
    if is(b"FICLONE", FICLONE) {
        return Some(Call { at: At::open(c.fd()?), ..clone });
    }
    if !is(b"FICLONERANGE", FICLONERANGE) {
        return Some(Call::new(Act::WithoutOperation));
    }
    if !c.take(b"{src_fd=") {
        return Some(Call::new(Act::Opaque));
    }
    let at = At::open(c.fd()?);
    let (offset, bytes) = (Some(c.field(b"src_offset=")?), c.field(b"src_length=")?);
    let to_offset = Some(c.field(b"dest_offset=")?);
    Some(Call { at, offset, to_offset, bytes, ..clone })
}

/// `[3, 4]`, of socketpair behind three others.
fn pair<'a>(c: &mut Cursor<'a>) -> Call<'a> {
    let start = memchr::memchr(b'[', c.rest()).unwrap_or(c.rest().len());
    let mut inner = Cursor::new(c.rest().get(start + 1..).unwrap_or_default());
    let mut fd = || At::open(first(&mut inner).unwrap_or(Fd::bare(-1)));
    Call { at: fd(), to: fd(), ..Call::new(Act::NoFile) }
}

/// Flags of clone, `flags=CLONE_VM|CLONE_FS|SIGCHLD` among other arguments, or of unshare.
fn shares(text: &[u8]) -> Shares {
    let key = b"flags=";
    let start = memchr::memmem::find(text, key).map_or(0, |at| at + key.len());
    let flags = Cursor::new(&text[start..]).word();
    Shares {
        process: has(flags, b"CLONE_THREAD", 0x10000),
        files: has(flags, b"CLONE_FILES", 0x400),
        directory: has(flags, b"CLONE_FS", 0x200),
    }
}

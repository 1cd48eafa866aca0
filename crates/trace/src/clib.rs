//! Calls of the C library as recorders that wrap it tell them: with the file's name, or its number.
//!
//! ```text
//! pread64 file=/d/f count=50 offset=5000 result=50 ─▶ Call::Read of the descriptor that /d/f has now
//! fwrite  file=/d/f size=8 count=512     result=512 ─▶ Call::Write of 4096 bytes
//! ```

use crate::gaps::{Gap, Gaps};
use crate::named::{ByName, ByNumber, Who, at, flags_of_mode, name, number, opening};
use crate::record::{Call, ERRNO_UNKNOWN, Fd, Outcome};
use model::Op;
use model::event::MODE_UNKNOWN;
use model::open_flags::{O_CREAT, O_TRUNC};

const SEEK_SET: i64 = 0;

/// A call, as far as the recorder tells.
#[derive(Clone, Copy, Debug, Default)]
pub struct Called<'a> {
    /// Its function, without `64` at the end.
    pub function: &'a [u8],
    /// The process and thread of the call.
    pub who: Who,
    /// The file: a name, or a number where the recorder has numbers.
    pub file: &'a [u8],
    /// The second name.
    pub other: &'a [u8],
    /// Bytes, or elements of `size` bytes.
    pub count: Option<u64>,
    /// Bytes of an element.
    pub size: Option<u64>,
    /// Where, or how far to go.
    pub offset: Option<i64>,
    /// From where.
    pub whence: Option<i64>,
    /// Flags of `open`.
    pub flags: Option<u32>,
    /// Mode of `fopen`.
    pub mode: &'a [u8],
    /// Its return value.
    pub result: Option<i64>,
}

/// The open files.
#[derive(Debug)]
pub enum Files {
    /// The recorder names the file of each call.
    Named(ByName),
    /// It tells numbers.
    Numbered(ByNumber),
}

impl Files {
    fn open(&mut self, who: Who, file: &[u8]) -> Option<i64> {
        match self {
            Files::Named(files) => files.open(who, file),
            Files::Numbered(files) => files.open(who.process),
        }
    }

    fn find(&mut self, who: Who, file: &[u8], closes: bool) -> Option<Fd<'_>> {
        match (self, closes) {
            (Files::Named(_), _) if file.is_empty() => None,
            (Files::Named(files), false) => files.find(who, file),
            (Files::Named(files), true) => files.close(who, file),
            // Standard input and output.
            (Files::Numbered(_), _) if number(file).is_none_or(|number| number < 3) => None,
            (Files::Numbered(files), false) => files.find(who.process, number(file)?),
            (Files::Numbered(files), true) => files.close(who.process, number(file)?),
        }
    }
}

/// The call and its outcome. `None`: unknown, and counted.
pub fn understand<'a>(
    called: &Called<'a>,
    files: &'a mut Files,
    gaps: &mut Gaps,
) -> Option<(Call<'a>, Outcome<'a>)> {
    let Called { function, who, file, .. } = *called;
    let flags = match function {
        b"open" | b"openat" => called.flags,
        b"creat" => Some(1 | O_CREAT | O_TRUNC),
        b"fopen" => (!called.mode.is_empty()).then(|| flags_of_mode(called.mode)),
        _ => return without_opening(called, files, gaps),
    };
    if file.is_empty() {
        gaps.add_name(Gap::UnknownFiles, function);
        return None;
    }
    let call = opening(file, flags);
    if called.result.is_some_and(|result| result < 0) {
        return Some((call, Outcome::failure(ERRNO_UNKNOWN)));
    }
    if called.result.is_none() {
        gaps.add(Gap::NoResults);
    }
    let Some(fd) = files.open(who, file) else {
        gaps.add(Gap::Impossible);
        return None;
    };
    Some((call, Outcome::success(fd)))
}

fn without_opening<'a>(
    called: &Called<'a>,
    files: &'a mut Files,
    gaps: &mut Gaps,
) -> Option<(Call<'a>, Outcome<'a>)> {
    let call = match on_name(called) {
        Some(call) => call,
        None if is_on_open(called.function) => {
            let closes = matches!(called.function, b"close" | b"fclose");
            let Some(fd) = files.find(called.who, called.file, closes) else {
                gaps.add_name(Gap::UnknownFiles, called.function);
                return None;
            };
            on_open(called, fd)
        }
        None => Call::WithoutOperation,
    };
    if called.result.is_none() && !matches!(call, Call::Other | Call::WithoutOperation) {
        gaps.add(Gap::NoResults);
    }
    Some((call, outcome(called, &call)))
}

/// Calls on names.
fn on_name<'a>(called: &Called<'a>) -> Option<Call<'a>> {
    let (at, other) = (at(called.file), at(called.other));
    let named = |op| Call::Named { op, at, bytes: 0 };
    Some(match called.function {
        b"stat" | b"__xstat" | b"fstatat" | b"newfstatat" | b"statx" | b"__fxstatat" => {
            Call::NameAttributes { at, size_bytes: None, itself: false }
        }
        b"lstat" | b"__lxstat" => Call::NameAttributes { at, size_bytes: None, itself: true },
        b"access" | b"faccessat" => named(Op::Lookup),
        b"readlink" | b"readlinkat" => named(Op::Readlink),
        b"chmod" | b"fchmodat" => Call::Named { op: Op::Chmod, at, bytes: MODE_UNKNOWN },
        b"utime" | b"utimes" | b"utimensat" => named(Op::Utime),
        b"truncate" => Call::Named { op: Op::Truncate, at, bytes: called.count.unwrap_or(0) },
        b"mkdir" | b"mkdirat" => Call::MakeDirectory { at },
        b"rmdir" => Call::Remove { at, directory: true, size_bytes: None },
        b"unlink" | b"unlinkat" | b"remove" => {
            Call::Remove { at, directory: false, size_bytes: None }
        }
        b"rename" | b"renameat" => Call::Rename { from: at, to: other, flags: 0 },
        b"link" | b"linkat" => Call::Link { from: at, to: other },
        b"symlink" | b"symlinkat" => Call::Symlink { target: name(called.file), at: other },
        b"chdir" => Call::Enter { at },
        // The log has no calls that read the directory: opening it counts as reading it.
        b"opendir" => {
            let path = name(called.file);
            Call::Whole { op: Op::Readdir, path, offset: None, bytes: 0, flags: None }
        }
        b"readdir" | b"closedir" | b"getcwd" | b"umask" | b"fileno" | b"ftell" | b"ftello"
        | b"waitpid" | b"wait" | b"fork" | b"vfork" | b"dup" | b"dup2" | b"pipe" | b"fdopen"
        | b"fflush" | b"msync" | b"munmap" => Call::Other,
        _ => return None,
    })
}

fn is_on_open(function: &[u8]) -> bool {
    const ON_OPEN: &[&[u8]] = &[
        b"close",
        b"fclose",
        b"read",
        b"pread",
        b"readv",
        b"preadv",
        b"fread",
        b"fgets",
        b"write",
        b"pwrite",
        b"writev",
        b"pwritev",
        b"fwrite",
        b"fprintf",
        b"vfprintf",
        b"fputs",
        b"lseek",
        b"fseek",
        b"fseeko",
        b"rewind",
        b"fsync",
        b"fdatasync",
        b"fstat",
        b"__fxstat",
        b"ftruncate",
        b"mmap",
        b"fchmod",
    ];
    ON_OPEN.contains(&function)
}

/// Calls on what is open.
fn on_open<'a>(called: &Called<'a>, fd: Fd<'a>) -> Call<'a> {
    let bytes = called.count.unwrap_or(0).saturating_mul(called.size.unwrap_or(1));
    let offset = called.offset.and_then(|offset| u64::try_from(offset).ok());
    match called.function {
        b"close" | b"fclose" => Call::Close { fd },
        b"read" | b"readv" | b"fread" | b"fgets" => Call::Read { fd, bytes, offset: None },
        b"write" | b"writev" | b"fwrite" | b"fprintf" | b"vfprintf" | b"fputs" => {
            Call::Write { fd, bytes, offset: None }
        }
        b"pread" | b"preadv" => Call::Read { fd, bytes, offset },
        b"pwrite" | b"pwritev" => Call::Write { fd, bytes, offset },
        b"fsync" => Call::Handle { op: Op::Fsync, fd },
        b"fdatasync" => Call::Handle { op: Op::Fdatasync, fd },
        b"fchmod" => Call::Handle { op: Op::Chmod, fd },
        b"ftruncate" => Call::Resize { fd, size_bytes: called.count.unwrap_or(0) },
        b"mmap" => Call::Map { fd, bytes },
        b"lseek" | b"fseek" | b"fseeko" | b"rewind" => Call::Seek { fd },
        _ => Call::Attributes { fd, size_bytes: None },
    }
}

/// How a call ended; one without a result did what it was asked to do.
fn outcome<'a>(called: &Called<'a>, call: &Call<'a>) -> Outcome<'a> {
    let result = called.result;
    if result.is_some_and(|result| result < 0) && !matches!(call, Call::Map { .. }) {
        return Outcome::failure(ERRNO_UNKNOWN);
    }
    let whole = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    Outcome::success(match *call {
        Call::Read { bytes, .. } | Call::Write { bytes, .. } => match result {
            // Elements.
            Some(count) if matches!(called.function, b"fread" | b"fwrite") => {
                count.saturating_mul(whole(called.size.unwrap_or(1)))
            }
            Some(count) => count,
            None => whole(bytes),
        },
        Call::Seek { .. } => position(called),
        _ => 0,
    })
}

/// The position that a seek leads to; negative: not told.
fn position(called: &Called<'_>) -> i64 {
    match (called.function, called.whence) {
        (b"lseek", _) if called.result.is_some() => called.result.unwrap_or(-1),
        (b"rewind", _) => 0,
        (_, Some(SEEK_SET)) => called.offset.unwrap_or(-1),
        _ => -1,
    }
}

/// `pread64` is `pread`.
pub fn plain(function: &[u8]) -> &[u8] {
    function.strip_suffix(b"64").unwrap_or(function)
}

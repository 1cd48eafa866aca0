//! Fields of a line -> the record of a call.

use super::field::{Field, Fields};
use super::file::Rules;
use super::units::{Clock, bytes, duration_ns};
use super::who::{Handles, Thread, Threads};
use crate::record::{At, CWD, Call, FLAGS_UNKNOWN, Fd, Introduction, Name, Outcome, Record};
use crate::strace;
use model::event::MODE_UNKNOWN;
use model::op::{Class, OPS, ParamKind};
use model::{Op, errno, open_flags};
use std::borrow::Cow;

/// EIO: a failure whose reason the log does not name.
const UNKNOWN_FAILURE: u16 = 5;

/// Words of POSIX with another name in Parabench, whose `read` and `write` also open and close.
const POSIX: &[(&str, Op)] = &[
    ("open", Op::Fopen),
    ("creat", Op::Fcreat),
    ("close", Op::Fclose),
    ("read", Op::Fread),
    ("pread", Op::Fread),
    ("readv", Op::Fread),
    ("preadv", Op::Fread),
    ("write", Op::Fwrite),
    ("pwrite", Op::Fwrite),
    ("writev", Op::Fwrite),
    ("pwritev", Op::Fwrite),
    ("lseek", Op::Fseek),
    ("seek", Op::Fseek),
    ("access", Op::Lookup),
    ("getdents", Op::Readdir),
];

/// Finds an operation by its name in POSIX or Parabench, in upper or lower case.
pub fn find_operation(word: &[u8]) -> Option<Op> {
    let word = std::str::from_utf8(word).ok()?;
    let posix = POSIX.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    let ours = || Op::find(word).filter(|op| op.row().class != Class::Control);
    posix.map(|(_, op)| *op).or_else(ours)
}

/// All names of operations, for messages.
pub fn operation_names() -> String {
    let posix: Vec<&str> = POSIX.iter().map(|(name, _)| *name).collect();
    let is_ours = |name: &&str| find_operation(name.as_bytes()).is_some() && !posix.contains(name);
    let ours: Vec<&str> = OPS.iter().map(|row| row.name).filter(is_ours).collect();
    format!("operations: {}; {}", posix.join(" "), ours.join(" "))
}

/// The name under which the resolver counts it.
fn counted_name(op: Op) -> &'static [u8] {
    if op == Op::Fcreat { b"creat" } else { op.name().as_bytes() }
}

/// Why a line that a rule takes makes no operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint(pub Cow<'static, str>);

impl Complaint {
    /// The text of a field is not of the expected form.
    pub fn unexpected(field: Field, text: &[u8], expected: &str) -> Complaint {
        let text = String::from_utf8_lossy(&text[..text.len().min(60)]);
        Complaint(format!("{} \"{text}\" is not {expected}", field.name()).into())
    }

    fn missing(op: Op, what: &str) -> Complaint {
        Complaint(format!("{} without {what}", op.name()).into())
    }
}

/// When and by whom.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head {
    /// Who.
    pub thread: Thread,
    /// The thread must be introduced before.
    pub is_new: bool,
    /// When it began, nanoseconds.
    pub start_ns: u64,
    /// How long it took.
    pub elapsed_ns: Option<u64>,
    /// The log tells when.
    pub has_time: bool,
}

/// State of the lines before the current one.
#[derive(Clone, Debug, Default)]
pub struct Meaning {
    threads: Threads,
    handles: Handles,
    starts: Clock,
    ends: Clock,
    last_ns: u64,
}

impl Meaning {
    /// When and by whom. Called once for each line, in order.
    pub fn head(&mut self, rules: &Rules, fields: &Fields) -> Result<Head, Complaint> {
        let (start_ns, elapsed_ns, has_time) = self.span(rules, fields)?;
        self.last_ns = start_ns;
        if rules.has_ranks && fields.get(Field::Rank).is_none() {
            return Err(Complaint("no rank, unlike lines of other rules".into()));
        }
        let (thread, is_new) = self.threads.find_or_begin(fields)?;
        Ok(Head { thread, is_new, start_ns, elapsed_ns, has_time })
    }

    /// Start and duration from any two of start, end and duration.
    fn span(
        &mut self,
        rules: &Rules,
        fields: &Fields,
    ) -> Result<(u64, Option<u64>, bool), Complaint> {
        let time = |field: Field, clock: &mut Clock| {
            let Some(text) = fields.get(field) else { return Ok(None) };
            let wrong = || Complaint::unexpected(field, text, &rules.times.expected());
            let moment = rules.times.read(text.trim_ascii()).ok_or_else(wrong)?;
            Ok(Some(clock.ns(moment)))
        };
        let start = time(Field::Start, &mut self.starts)?;
        let end = time(Field::End, &mut self.ends)?;
        let elapsed = fields.get(Field::Elapsed).map(|text| {
            let wrong = || Complaint::unexpected(Field::Elapsed, text, "a duration");
            duration_ns(text, rules.elapsed_unit_ns).ok_or_else(wrong)
        });
        let elapsed = elapsed.transpose()?;
        Ok(match (start, end, elapsed) {
            (Some(start), _, Some(elapsed)) => (start, Some(elapsed), true),
            (Some(start), Some(end), None) => (start, Some(end.saturating_sub(start)), true),
            (None, Some(end), Some(elapsed)) => (end.saturating_sub(elapsed), Some(elapsed), true),
            (Some(start), None, None) => (start, None, true),
            (None, Some(end), None) => (end, None, true),
            (None, None, elapsed) => (self.last_ns, elapsed, false),
        })
    }

    /// The record that says who the thread is.
    pub fn introduction<'a>(
        &self,
        rules: &Rules,
        f: &'a Fields,
        line: u64,
        head: &Head,
    ) -> Record<'a> {
        let get = |field| f.get(field).unwrap_or_default();
        let ranks = rules.has_ranks.then_some(0);
        let (host, command) = (get(Field::Host), get(Field::Program));
        let (process, shares) = (Some(head.thread.process), Some(head.thread.shares));
        let introduction = Introduction { host, command, ranks, process, shares };
        bare(
            line,
            head,
            b"",
            Call::Introduce(introduction),
            Outcome { value: Some(0), ..Outcome::default() },
        )
    }

    /// The record of the call.
    pub fn record<'a>(
        &mut self,
        f: &'a Fields,
        line: u64,
        head: &Head,
    ) -> Result<Record<'a>, Complaint> {
        let word = f.get(Field::Operation).ok_or(Complaint("no operation".into()))?;
        let op = find_operation(word)
            .ok_or_else(|| Complaint::unexpected(Field::Operation, word, "an operation"))?;
        let values = Values::read(f)?;
        if matches!(op, Op::Fopen | Op::Fcreat | Op::Tmpfile) {
            return self.open(op, f, line, head, &values);
        }
        let call = match f.get(Field::Handle) {
            Some(text) if !prefers_name(op, f) => {
                on_handle(op, self.fd(head.thread, text), &values)
            }
            _ => by_name(op, f, &values)?,
        };
        if let (Op::Fclose, Some(text)) = (op, f.get(Field::Handle)) {
            self.handles.close(head.thread, text);
        }
        Ok(bare(line, head, counted_name(op), call, values.outcome(values.value(op))))
    }

    fn fd<'a>(&mut self, thread: Thread, text: &[u8]) -> Fd<'a> {
        Fd::bare(self.handles.number(thread, text))
    }

    /// Opening gives a descriptor, or is an operation on a name where the log has none.
    fn open<'a>(
        &mut self,
        op: Op,
        f: &'a Fields,
        line: u64,
        head: &Head,
        values: &Values,
    ) -> Result<Record<'a>, Complaint> {
        let created = open_flags::O_CREAT | open_flags::O_TRUNC | 1;
        let flags = match op {
            Op::Fcreat => values.flags.or(Some(created)),
            Op::Tmpfile => Some(values.flags.unwrap_or(2) | open_flags::O_TMPFILE),
            _ => values.flags,
        };
        let text = f.get(Field::Path).ok_or_else(|| Complaint::missing(op, "path"))?;
        let given = f.get(Field::Handle).or(f.get(Field::Result));
        let (name, offset, bytes) = (counted_name(op), None, 0);
        let Some(handle) = given.filter(|_| values.errno == 0) else {
            if values.errno != 0 {
                let call = Call::Open { at: at(text), flags: flags.unwrap_or(FLAGS_UNKNOWN) };
                return Ok(bare(line, head, name, call, values.outcome(Some(-1))));
            }
            let call = Call::Whole { op, path: named(text), offset, bytes, flags };
            return Ok(bare(line, head, name, call, values.outcome(Some(0))));
        };
        let number = self.handles.number(head.thread, handle);
        let call = Call::Open { at: at(text), flags: flags.unwrap_or(FLAGS_UNKNOWN) };
        Ok(bare(line, head, name, call, values.outcome(Some(number))))
    }
}

fn bare<'a>(
    line: u64,
    head: &Head,
    name: &'a [u8],
    call: Call<'a>,
    outcome: Outcome<'a>,
) -> Record<'a> {
    let (thread, start_ns, elapsed_ns) = (head.thread.number, head.start_ns, head.elapsed_ns);
    let plain = Record::at(line, thread, start_ns);
    Record { elapsed_ns, name, call, outcome, ..plain }
}

fn named(text: &[u8]) -> Name<'_> {
    Name { text, escaped: false, cut: false }
}

fn at(text: &[u8]) -> At<'_> {
    At { dir: Fd::bare(CWD), name: named(text) }
}

/// Numbers of a line.
#[derive(Clone, Copy, Debug, Default)]
struct Values {
    offset: Option<u64>,
    size: Option<u64>,
    done: Option<u64>,
    result: Option<i64>,
    flags: Option<u32>,
    errno: u16,
}

impl Values {
    fn read(f: &Fields) -> Result<Values, Complaint> {
        let number = |field: Field| {
            let Some(text) = f.get(field) else { return Ok(None) };
            let wrong = || Complaint::unexpected(field, text, "a number of bytes");
            bytes(text).map(Some).ok_or_else(wrong)
        };
        let result = f.get(Field::Result).and_then(signed);
        let flags =
            match f.get(Field::Flags) {
                None => None,
                Some(text) => {
                    let read = read_flags(text);
                    Some(read.ok_or_else(|| {
                        Complaint::unexpected(Field::Flags, text, "flags of opening")
                    })?)
                }
            };
        let errno = match (f.get(Field::Error), result) {
            (Some(text), _) => {
                let wrong = || Complaint::unexpected(Field::Error, text, "an error of Linux");
                read_errno(text).ok_or_else(wrong)?
            }
            (None, Some(-1)) => UNKNOWN_FAILURE,
            (None, Some(result)) if result < 0 => {
                u16::try_from(-i128::from(result)).unwrap_or(UNKNOWN_FAILURE)
            }
            _ => 0,
        };
        let (offset, size, done) =
            (number(Field::Offset)?, number(Field::Size)?, number(Field::Done)?);
        Ok(Values { offset, size, done, result, flags, errno })
    }

    /// Bytes moved: those that the log tells, or all.
    fn moved(&self) -> u64 {
        let result = self.result.and_then(|result| u64::try_from(result).ok());
        self.done.or(result).or(self.size).unwrap_or(0)
    }

    fn requested(&self) -> u64 {
        self.size.unwrap_or_else(|| self.moved())
    }

    /// The return value of the call.
    fn value(&self, op: Op) -> Option<i64> {
        let value = match (op, op.row().class) {
            (Op::Fseek, _) => self.offset.or(self.result.and_then(|at| u64::try_from(at).ok()))?,
            // The end of the directory: one line is the whole scan.
            (_, Class::Read | Class::Write) => self.moved(),
            _ => 0,
        };
        Some(i64::try_from(value).unwrap_or(i64::MAX))
    }

    fn outcome<'a>(&self, value: Option<i64>) -> Outcome<'a> {
        let value = if self.errno == 0 { value } else { Some(-1) };
        Outcome { value, errno: self.errno, ..Outcome::default() }
    }
}

/// Operations on names, and MPI-IO, whose handles are not descriptors.
fn prefers_name(op: Op, f: &Fields) -> bool {
    match op.row().params.first().map(|first| first.kind) {
        Some(ParamKind::MpiHandle | ParamKind::MpiMode) => true,
        Some(ParamKind::Handle) => false,
        _ => f.get(Field::Path).is_some(),
    }
}

/// On something open.
fn on_handle<'a>(op: Op, fd: Fd<'a>, v: &Values) -> Call<'a> {
    let (offset, bytes) = (v.offset, v.requested());
    match (op, op.row().class) {
        (Op::Fclose, _) => Call::Close { fd },
        (Op::Copy | Op::Fcopy | Op::Reflink | Op::Freflink, _) => Call::WithoutOperation,
        (_, Class::Read) => Call::Read { fd, bytes, offset },
        (_, Class::Write) => Call::Write { fd, bytes, offset },
        (Op::Fseek, _) => Call::Seek { fd },
        (Op::Fstat | Op::Stat | Op::Lstat, _) => Call::Attributes { fd, size_bytes: v.size },
        (Op::Ftruncate | Op::Truncate, _) => Call::Resize { fd, size_bytes: bytes },
        (Op::Fallocate, _) => {
            let end_bytes = offset.unwrap_or(0).saturating_add(bytes);
            Call::Allocate { fd, end_bytes, keeps_size: false }
        }
        (Op::Readdir, _) => Call::List { fd },
        _ => Call::Handle { op, fd },
    }
}

/// On a name.
fn by_name<'a>(op: Op, f: &'a Fields, v: &Values) -> Result<Call<'a>, Complaint> {
    if op == Op::Sync {
        return Ok(Call::SyncAll);
    }
    let missing = |what| Complaint::missing(op, what);
    let text = f.get(Field::Path).ok_or_else(|| missing("handle and path"))?;
    let second = || f.get(Field::Path2).ok_or_else(|| missing("path2"));
    let (at, bytes) = (at(text), v.requested());
    let call = match op {
        Op::Stat | Op::Lstat => {
            Call::NameAttributes { at, size_bytes: v.size, itself: op == Op::Lstat }
        }
        Op::Delete | Op::Pdelete => Call::Remove { at, directory: false, size_bytes: None },
        Op::Rmdir => Call::Remove { at, directory: true, size_bytes: None },
        Op::Mkdir => Call::MakeDirectory { at },
        Op::Rename => Call::Rename { from: at, to: self::at(second()?), flags: 0 },
        Op::Link => Call::Link { from: at, to: self::at(second()?) },
        Op::Symlink => Call::Symlink { target: named(text), at: self::at(second()?) },
        Op::Copy | Op::Fcopy | Op::Reflink | Op::Freflink | Op::Linkat => Call::WithoutOperation,
        Op::Chmod => Call::Named { op, at, bytes: MODE_UNKNOWN },
        _ if op.row().class == Class::Metadata && op != Op::Fseek => Call::Named { op, at, bytes },
        _ => Call::Whole { op, path: named(text), offset: v.offset, bytes, flags: v.flags },
    };
    Ok(call)
}

/// `-12`, `12`.
fn signed(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// A mode of C, names of open(2), or a number.
fn read_flags(text: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let create = open_flags::O_CREAT;
    let mode = open_flags::mode(text).map(|mode| match mode {
        "r" => 0,
        "w" => 1 | create | open_flags::O_TRUNC,
        "a" => 1 | create | open_flags::O_APPEND,
        "r+" => 2,
        "w+" => 2 | create | open_flags::O_TRUNC,
        _ => 2 | create | open_flags::O_APPEND,
    });
    let number = || match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None if text.starts_with('0') => u32::from_str_radix(text.trim_start_matches("0o"), 8).ok(),
        None => text.parse().ok(),
    };
    let is_named = || open_flags::names(text).all(|word| open_flags::NAMES.contains(&word));
    mode.or_else(number).or_else(|| {
        let words = || open_flags::names(text).map(|word| strace::open_flags(word.as_bytes()));
        is_named().then(|| words().fold(0, |all, word| all | word))
    })
}

/// A name such as ENOENT, its number with or without a sign, or its text.
fn read_errno(text: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let number =
        text.parse::<i64>().ok().and_then(|number| u16::try_from(number.unsigned_abs()).ok());
    let by_text = || errno::ERRNOS.iter().find(|(.., says)| says.eq_ignore_ascii_case(text));
    number.or_else(|| errno::number(text)).or_else(|| by_text().map(|(number, ..)| *number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_words_of_posix_or_ours() {
        for (word, op) in [
            ("READ", Some(Op::Fread)),
            ("fread", Some(Op::Fread)),
            ("unlink", Some(Op::Delete)),
            ("append", Some(Op::Append)),
            ("sleep", None),
            ("raed", None),
        ] {
            assert_eq!(find_operation(word.as_bytes()), op, "{word}");
        }
        assert!(operation_names().contains(" lseek ") && operation_names().contains(" fsync"));
    }

    #[test]
    fn flags_and_errors_are_read_in_every_form() {
        for (text, flags) in [
            ("r+", Some(2)),
            ("w", Some(0o1101)),
            ("O_RDWR|O_CREAT", Some(0o102)),
            ("577", Some(577)),
            ("0x241", Some(577)),
            ("01101", Some(577)),
            ("0", Some(0)),
            ("O_RDWR|O_WRONG", None),
        ] {
            assert_eq!(read_flags(text.as_bytes()), flags, "{text}");
        }
        for (text, errno) in [
            ("ENOENT", Some(2)),
            ("-28", Some(28)),
            ("no such file or directory", Some(2)),
            ("0", Some(0)),
            ("broken", None),
        ] {
            assert_eq!(read_errno(text.as_bytes()), errno, "{text}");
        }
    }
}

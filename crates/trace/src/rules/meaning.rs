//! Fields of a line -> the record of a call. Threads are introduced before their first one.

use super::units::{Times, bytes, duration_ns};
use super::{Fields, Rules};
use crate::clib::{number, number_of};
use crate::functions::find_function;
use crate::gaps::{Gap, Gaps};
use crate::record::{Act, At, Call, FLAGS_UNKNOWN, Fd, Introduction, Outcome, Record};
use crate::scanner::{DayClock, Found, LineFormat, Lines};
use hashbrown::{HashMap, HashSet};
use model::event::MODE_UNKNOWN;
use model::op::{Class, OPS, ParamKind};
use model::{Op, errno, open_flags};
use regex::bytes::CaptureLocations;
use rustc_hash::FxBuildHasher;

/// EIO: a failure whose reason the log does not name.
const UNKNOWN_FAILURE: u16 = 5;
/// Largest rank that is accepted.
const RANK_MAX: u64 = 1 << 24;
/// Numbers of threads whose names are no numbers of their own begin here.
const NAMED_FROM: u64 = 1 << 32;

/// Finds an operation by its name in POSIX or Parabench, in upper or lower case.
pub fn find_operation(word: &[u8]) -> Option<Op> {
    match find_function(&word.to_ascii_lowercase()) {
        Some((Act::On(op), _)) => Some(op),
        _ => {
            let ours = Op::find(std::str::from_utf8(word).ok()?);
            ours.filter(|op| op.row().class != Class::Control)
        }
    }
}

/// All names of operations, for messages.
pub fn operation_names() -> String {
    let is_ours = |name: &&str| find_operation(name.as_bytes()).is_some();
    let ours: Vec<&str> = OPS.iter().map(|row| row.name).filter(is_ours).collect();
    format!("operations: open, pread, lseek and other names of POSIX; {}", ours.join(" "))
}

/// Why a line that a rule takes makes no operation.
type Complaint = String;

/// The text of a field is not of the expected form.
fn unexpected(field: &str, text: &[u8], expected: &str) -> Complaint {
    let text = String::from_utf8_lossy(&text[..text.len().min(60)]);
    format!("{field} \"{text}\" is not {expected}")
}

fn missing(op: Op, what: &str) -> Complaint {
    format!("{} without {what}", op.name())
}

/// A thread of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Thread {
    /// Its number for the resolver: the log's, if it is one that no other thread has.
    number: u64,
    /// Number of its process.
    process: u64,
    /// The first thread that shares descriptors with it.
    shares: u64,
}

/// A text for fields that belong together.
type Key = Vec<u8>;

/// All threads seen so far.
#[derive(Clone, Debug, Default)]
struct Threads {
    /// With the program that each executes.
    known: HashMap<Key, (Thread, Vec<u8>), FxBuildHasher>,
    /// Process and first thread.
    processes: HashMap<Key, (u64, u64), FxBuildHasher>,
    numbers: HashSet<u64, FxBuildHasher>,
    named: u64,
}

fn key(fields: &Fields<'_, '_>, parts: &[&str]) -> Key {
    let texts = parts.iter().map(|part| fields.get(part).unwrap_or_default());
    texts.collect::<Vec<_>>().join(&0)
}

impl Threads {
    /// The thread of a line, and whether it must be introduced: it is new, or executes another program.
    fn find_or_begin(&mut self, fields: &Fields<'_, '_>) -> Result<(Thread, bool), Complaint> {
        let program = fields.get("program").unwrap_or_default();
        let key = key(fields, &["host", "process", "thread", "rank"]);
        if let Some((thread, before)) = self.known.get_mut(&key) {
            let changed = !program.is_empty() && before != program;
            if changed {
                *before = program.to_vec();
            }
            return Ok((*thread, changed));
        }
        let thread = self.begin(fields)?;
        self.known.insert(key, (thread, program.to_vec()));
        Ok((thread, true))
    }

    fn begin(&mut self, fields: &Fields<'_, '_>) -> Result<Thread, Complaint> {
        let number = match fields.get("rank") {
            Some(rank) => {
                let known = number(rank).filter(|rank| *rank <= RANK_MAX);
                known.ok_or_else(|| unexpected("rank", rank, "a rank"))?
            }
            None => {
                let name = fields.get("thread").or(fields.get("process"));
                self.number(name.unwrap_or(b"0"))
            }
        };
        let key = key(fields, &["host", "process", "rank"]);
        let process = fields.get("process").and_then(self::number).unwrap_or(number);
        let (process, shares) = *self.processes.entry(key).or_insert((process, number));
        Ok(Thread { number, process, shares })
    }

    /// The number that a name is, if no other thread has it.
    fn number(&mut self, name: &[u8]) -> u64 {
        let own = number(name).filter(|own| *own < NAMED_FROM);
        if let Some(own) = own.filter(|own| self.numbers.insert(*own)) {
            return own;
        }
        self.named += 1;
        NAMED_FROM + self.named - 1
    }
}

/// Reads a log by rules.
pub struct Ruled<'r> {
    rules: &'r Rules,
    locations: Vec<CaptureLocations>,
    log: Log,
    /// The record that introduces the thread comes now, or the one of the call is still to come.
    introduces: bool,
    waits: bool,
}

/// The lines so far.
#[derive(Default)]
struct Log {
    threads: Threads,
    /// Open files by the first thread of their process and the log's text for them.
    handles: HashMap<(u64, Box<[u8]>), i64, FxBuildHasher>,
    next_handle: i64,
    starts: DayClock,
    ends: DayClock,
    line: Line,
}

/// The current line: its rule, when, and by whom.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    rule: usize,
    thread: Thread,
    start_ns: u64,
    elapsed_ns: Option<u64>,
}

impl<'r> Ruled<'r> {
    /// Reads logs by these rules.
    pub fn new(rules: &'r Rules) -> Ruled<'r> {
        let (locations, log) = (rules.locations(), Log::default());
        Ruled { rules, locations, log, introduces: false, waits: false }
    }
}

impl Log {
    /// Begins a line. True if its thread must be introduced.
    fn begin(
        &mut self,
        rules: &Rules,
        rule: usize,
        fields: &Fields<'_, '_>,
        gaps: &mut Gaps,
    ) -> Result<bool, Complaint> {
        let (start_ns, elapsed_ns) = self.span(&rules.times, fields)?;
        if rules.has_ranks && fields.get("rank").is_none() {
            return Err("no rank, unlike lines of other rules".into());
        }
        let (thread, is_new) = self.threads.find_or_begin(fields)?;
        if start_ns.is_none() {
            gaps.add(Gap::NoTimes);
        }
        let last_ns = self.line.start_ns;
        let start_ns = start_ns.unwrap_or(last_ns);
        if start_ns < last_ns {
            gaps.add(Gap::Backwards);
        }
        self.line = Line { rule, thread, start_ns, elapsed_ns };
        Ok(is_new)
    }

    /// Start and duration from any two of start, end and duration.
    fn span(
        &mut self,
        times: &Times,
        fields: &Fields<'_, '_>,
    ) -> Result<(Option<u64>, Option<u64>), Complaint> {
        let time = |field: &str, clock: &mut DayClock| -> Result<Option<u64>, Complaint> {
            let Some(text) = fields.get(field) else { return Ok(None) };
            let wrong = || unexpected(field, text, &times.expected());
            let (ns, is_of_day) = times.read(text.trim_ascii()).ok_or_else(wrong)?;
            Ok(Some(if is_of_day { clock.since_first_midnight(ns) } else { ns }))
        };
        let start = time("start", &mut self.starts)?;
        let end = time("end", &mut self.ends)?;
        let elapsed = fields.get("elapsed").map(|text| {
            let wrong = || unexpected("elapsed", text, "a duration");
            duration_ns(text, times.unit_ns()).ok_or_else(wrong)
        });
        let elapsed = elapsed.transpose()?;
        Ok(match (start, end, elapsed) {
            (Some(start), Some(end), None) => (Some(start), Some(end.saturating_sub(start))),
            (None, Some(end), Some(elapsed)) => (Some(end.saturating_sub(elapsed)), Some(elapsed)),
            (start, end, elapsed) => (start.or(end), elapsed),
        })
    }

    /// The call of the line, and how it ended.
    fn call<'a>(&mut self, f: &Fields<'a, '_>) -> Result<(Op, Call<'a>, Outcome<'a>), Complaint> {
        let word = f.get("operation").ok_or("no operation")?;
        let op =
            find_operation(word).ok_or_else(|| unexpected("operation", word, "an operation"))?;
        let values = Values::read(f)?;
        if matches!(op, Op::Fopen | Op::Fcreat | Op::Tmpfile) {
            let (call, outcome) = self.open(op, f, &values)?;
            return Ok((op, call, outcome));
        }
        let call = match f.get("handle").filter(|_| !prefers_name(op, f)) {
            Some(text) => on_handle(op, Fd::bare(self.handle(text)), &values),
            None => by_name(op, f, &values)?,
        };
        if let (Op::Fclose, Some(text)) = (op, f.get("handle")) {
            self.handles.remove(&(self.line.thread.shares, Box::from(text)));
        }
        Ok((op, call, values.outcome(values.value(op))))
    }

    /// The descriptor of a text.
    fn handle(&mut self, text: &[u8]) -> i64 {
        let key = (self.line.thread.shares, Box::from(text));
        let number = *self.handles.entry(key).or_insert(self.next_handle);
        self.next_handle = self.next_handle.max(number + 1);
        number
    }

    /// Opening gives a descriptor, or is an operation on a name where the log has none.
    fn open<'a>(
        &mut self,
        op: Op,
        f: &Fields<'a, '_>,
        values: &Values,
    ) -> Result<(Call<'a>, Outcome<'a>), Complaint> {
        let created = open_flags::O_CREAT | open_flags::O_TRUNC | 1;
        let flags = match op {
            Op::Fcreat => values.flags.unwrap_or(created),
            Op::Tmpfile => values.flags.unwrap_or(2) | open_flags::O_TMPFILE,
            _ => values.flags.unwrap_or(FLAGS_UNKNOWN),
        };
        let path = f.get("path").ok_or_else(|| missing(op, "path"))?;
        let given = f.get("handle").or(f.get("result"));
        let act = if op == Op::Tmpfile { Op::Fopen } else { op };
        let call = Call { at: At::here(path), flags, ..Call::new(Act::On(act)) };
        Ok(match given {
            _ if values.errno != 0 => (call, values.outcome(-1)),
            Some(handle) => (call, values.outcome(self.handle(handle))),
            None => (Call { act: Act::Whole(op), ..call }, values.outcome(0)),
        })
    }
}

impl LineFormat for Ruled<'_> {
    fn understand(&mut self, lines: &Lines, gaps: &mut Gaps) -> Found {
        let Some(rule) = self.rules.find(lines.line(), &mut self.locations) else {
            return Found::Unknown;
        };
        let fields = self.rules.fields(rule, lines.line(), &self.locations);
        if fields.rule.skips() {
            gaps.add(Gap::SkippedLines);
            return Found::Nothing;
        }
        match self.log.begin(self.rules, rule, &fields, gaps) {
            Ok(is_new) => {
                (self.introduces, self.waits) = (is_new, is_new);
                Found::Record(self.log.line.start_ns)
            }
            Err(why) => {
                complain(lines, &why, gaps);
                Found::Nothing
            }
        }
    }

    fn waiting(&mut self) -> Option<u64> {
        self.introduces = false;
        std::mem::take(&mut self.waits).then_some(self.log.line.start_ns)
    }

    fn record<'a>(&'a mut self, lines: &'a Lines, gaps: &mut Gaps) -> Option<Record<'a>> {
        let Line { rule, thread, start_ns, elapsed_ns } = self.log.line;
        let fields = self.rules.fields(rule, lines.line(), &self.locations);
        let plain = Record { elapsed_ns, ..Record::at(lines.number(), thread.number, start_ns) };
        if self.introduces {
            let get = |field| fields.get(field).unwrap_or_default();
            let who = Introduction {
                host: get("host"),
                command: get("program"),
                ranks: self.rules.has_ranks.then_some(0),
                process: Some(thread.process),
                shares: Some(thread.shares),
            };
            return Some(Record { call: Call::new(Act::Introduce(who)), ..plain });
        }
        match self.log.call(&fields) {
            Ok((op, call, outcome)) => {
                Some(Record { name: op.name().as_bytes(), call, outcome, ..plain })
            }
            Err(why) => {
                complain(lines, &why, gaps);
                None
            }
        }
    }
}

fn complain(lines: &Lines, why: &str, gaps: &mut Gaps) {
    let text = [why.as_bytes(), b": ", lines.line()].concat();
    gaps.add_line(Gap::UnfitLines, lines.name(), lines.number(), &text);
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
    fn read(f: &Fields<'_, '_>) -> Result<Values, Complaint> {
        let size = |field| read_field(f, field, "a number of bytes", bytes);
        let result = f.get("result").and_then(|text| trimmed(text)?.parse().ok());
        let errno = read_field(f, "error", "an error of Linux", read_errno)?;
        let of_result = match result {
            Some(-1) => UNKNOWN_FAILURE,
            Some(..-1) => {
                u16::try_from(-i128::from(result.unwrap_or(0))).unwrap_or(UNKNOWN_FAILURE)
            }
            _ => 0,
        };
        Ok(Values {
            offset: size("offset")?,
            size: size("size")?,
            done: size("done")?,
            result,
            flags: read_field(f, "flags", "flags of opening", read_flags)?,
            errno: errno.unwrap_or(of_result),
        })
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
    fn value(&self, op: Op) -> i64 {
        match op.row().class {
            _ if op == Op::Fseek => self.offset.map(number_of).or(self.result).unwrap_or(-1),
            Class::Read | Class::Write => number_of(self.moved()),
            // The end of the directory: one line is the whole scan.
            _ => 0,
        }
    }

    fn outcome<'a>(&self, value: i64) -> Outcome<'a> {
        match self.errno {
            0 => Outcome::success(value),
            errno => Outcome::failure(errno),
        }
    }
}

/// The value of a field, if it is there.
fn read_field<T>(
    fields: &Fields<'_, '_>,
    field: &str,
    expected: &str,
    read: impl Fn(&[u8]) -> Option<T>,
) -> Result<Option<T>, Complaint> {
    let read = |text| read(text).ok_or_else(|| unexpected(field, text, expected));
    fields.get(field).map(read).transpose()
}

/// Operations on names, and MPI-IO, whose handles are not descriptors.
fn prefers_name(op: Op, f: &Fields<'_, '_>) -> bool {
    match op.row().params.first().map(|first| first.kind) {
        Some(ParamKind::MpiHandle | ParamKind::MpiMode) => true,
        Some(ParamKind::Handle) => false,
        _ => f.get("path").is_some() || matches!(op, Op::Rename | Op::Link | Op::Symlink),
    }
}

/// On something open.
fn on_handle<'a>(op: Op, fd: Fd<'a>, v: &Values) -> Call<'a> {
    let act = match (op, op.row().class) {
        (Op::Copy | Op::Fcopy | Op::Reflink | Op::Freflink, _) => Act::WithoutOperation,
        (_, Class::Read) => Act::On(Op::Fread),
        (_, Class::Write) => Act::On(Op::Fwrite),
        (Op::Truncate, _) => Act::On(Op::Ftruncate),
        _ => Act::On(op),
    };
    let bytes = match act {
        Act::On(Op::Fread | Op::Fwrite | Op::Ftruncate) => v.requested(),
        Act::On(Op::Fallocate) => v.offset.unwrap_or(0).saturating_add(v.requested()),
        Act::On(Op::Chmod) => MODE_UNKNOWN,
        _ => 0,
    };
    Call { at: At::open(fd), offset: v.offset, bytes, size_bytes: v.size, ..Call::new(act) }
}

/// On a name.
fn by_name<'a>(op: Op, f: &Fields<'a, '_>, v: &Values) -> Result<Call<'a>, Complaint> {
    if op == Op::Sync {
        return Ok(Call::new(Act::On(op)));
    }
    let path = f.get("path").ok_or_else(|| missing(op, "handle and path"))?;
    let (at, bytes) = (At::here(path), v.requested());
    let on = |op| Call { at, ..Call::new(Act::On(op)) };
    Ok(match op {
        Op::Stat | Op::Lstat => Call { size_bytes: v.size, ..on(op) },
        Op::Delete | Op::Pdelete => on(Op::Delete),
        Op::Rmdir | Op::Mkdir => on(op),
        Op::Rename | Op::Link | Op::Symlink => {
            Call { to: At::here(f.get("path2").ok_or_else(|| missing(op, "path2"))?), ..on(op) }
        }
        Op::Copy | Op::Fcopy | Op::Reflink | Op::Freflink | Op::Linkat => {
            Call::new(Act::WithoutOperation)
        }
        Op::Chmod => Call { bytes: MODE_UNKNOWN, ..on(op) },
        _ if op.row().class == Class::Metadata && op != Op::Fseek => Call { bytes, ..on(op) },
        _ => {
            let flags = v.flags.unwrap_or(FLAGS_UNKNOWN);
            let (op, offset) = whole_file(op, f).map_or((op, v.offset), |op| (op, Some(0)));
            Call { offset, flags, ..Call::whole(Act::Whole(op), path, bytes) }
        }
    })
}

/// POSIX's read and write need something open: where a rule knows neither that nor offsets, whole files are meant.
fn whole_file(op: Op, f: &Fields<'_, '_>) -> Option<Op> {
    let is = |name: &str| {
        f.get("operation").is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
    };
    match op {
        _ if ["offset", "handle"].iter().any(|field| f.rule.reads(field)) => None,
        Op::Fread if is("read") => Some(Op::Read),
        Op::Fwrite if is("write") => Some(Op::Write),
        _ => None,
    }
}

fn trimmed(text: &[u8]) -> Option<&str> {
    Some(std::str::from_utf8(text).ok()?.trim())
}

/// A mode of C, names of open(2), or a number.
fn read_flags(text: &[u8]) -> Option<u32> {
    let text = trimmed(text)?;
    if let Some(flags) = open_flags::flags_of_mode(text) {
        return Some(flags);
    }
    let number = match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None if text.starts_with('0') => u32::from_str_radix(text.trim_start_matches("0o"), 8).ok(),
        None => text.parse().ok(),
    };
    number.or_else(|| open_flags::flags_of_names(text))
}

/// A name such as ENOENT, its number with or without a sign, or its text.
fn read_errno(text: &[u8]) -> Option<u16> {
    let text = trimmed(text)?;
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
            ("readdir", Some(Op::Readdir)),
            ("seek", Some(Op::Fseek)),
            ("sleep", None),
            ("raed", None),
        ] {
            assert_eq!(find_operation(word.as_bytes()), op, "{word}");
        }
        assert!(operation_names().contains(" fsync"));
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

    /// Finds or begins the threads of lines with these two fields: process, number and what it shares.
    fn threads(fields: [&str; 2], lines: &[&str]) -> Vec<Result<(Thread, bool), Complaint>> {
        let [first, second] = fields;
        let rules = format!("[[rule]]\nmatch = '^(?<{first}>.*) (?<{second}>.*)$'");
        let rules = Rules::read(&rules, "rules").unwrap();
        let (mut threads, mut locations) = (Threads::default(), rules.locations());
        let find = |line: &&str| {
            rules.find(line.as_bytes(), &mut locations).unwrap();
            threads.find_or_begin(&rules.fields(0, line.as_bytes(), &locations))
        };
        lines.iter().map(find).collect()
    }

    #[test]
    fn threads_keep_their_numbers_where_these_are_their_own() {
        let found = threads(["process", "thread"], &["10 1", "10 2", "11 1", "10 1", "x main"]);
        let found: Vec<(Thread, bool)> = found.into_iter().map(Result::unwrap).collect();
        let thread = |number, process, shares| Thread { number, process, shares };
        assert_eq!(
            found[..4],
            [
                (thread(1, 10, 1), true),
                (thread(2, 10, 1), true),
                (thread(NAMED_FROM, 11, NAMED_FROM), true),
                (thread(1, 10, 1), false)
            ]
        );
        assert_eq!(found[4].0.process, NAMED_FROM + 1);
    }

    #[test]
    fn a_changed_program_is_introduced() {
        let found =
            threads(["rank", "program"], &["7 a", "7 a", "7 b", "7 ", "7 b", "99999999999 a"]);
        let is_new: Vec<bool> = found[..5].iter().map(|found| found.as_ref().unwrap().1).collect();
        assert_eq!(is_new, [true, false, true, false, false]);
        assert!(found[5].is_err());
    }
}

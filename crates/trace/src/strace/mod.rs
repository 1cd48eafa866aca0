//! The text that strace writes.
//!
//! ```text
//! 17 1795253061.8509 read(3</d/f>,  <unfinished ...>
//! 18 1795253061.8509 --- SIGCHLD {si_signo=SIGCHLD, ...} ---
//! 17 1795253061.8510 <... read resumed>"", 4096) = 0 <0.000058>
//! 18 1795253061.8511 +++ exited with 0 +++
//! ```
//!
//! A call on two lines is put together here. Which file a descriptor means is decided in
//! [`crate::resolve`].

mod calls;
mod cursor;
mod flags;
mod prefix;
mod stacks;
mod who;

use crate::gaps::{Gap, Gaps};
use crate::record::{Act, Call, Outcome, Record};
use crate::scanner::{DayClock, Lines, Scanner};
use cursor::Cursor;
use hashbrown::HashMap;
use prefix::{Prefix, Time, decimal, digits, prefix, time_ns};
use rustc_hash::FxBuildHasher;
use stacks::Calls;
use std::io;
use who::Who;

pub use cursor::unescape;
pub use flags::{CHANGEABLE, open_flags};

const UNFINISHED: &[u8] = b"<unfinished ...>";
/// In a whole line, before `= ?`: the thread ended before the call returned.
const NEVER_RETURNED: &[u8] = b"<unfinished ...>)";
/// An exec in a thread, with -ff: the log of the process has the rest.
const PID_CHANGED: &[u8] = b" <pid changed to ";
/// Bytes of calls whose ends have not come.
const PENDING_MAX: usize = 1 << 26;

/// A call whose end has not come.
#[derive(Debug, Default)]
struct Pending {
    text: Vec<u8>,
    start_ns: u64,
    line: u64,
}

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A whole call.
    Whole,
    /// The end of a call that began in an earlier line.
    Resumed,
    /// A call begins.
    Begun,
    /// The thread is over, or is replaced by another one.
    Over,
}

/// Reads one log of strace.
pub struct Strace {
    lines: Calls,
    name: String,
    who: Who,
    pending: HashMap<u64, Pending, FxBuildHasher>,
    pending_bytes: usize,
    /// The call of the current line, if it has two lines.
    joined: Pending,
    current: (u64, u64),
    kind: Kind,
    /// Place of the call in the line.
    at: usize,
    now_ns: u64,
    clock: DayClock,
    /// The thread whose next call began in the log of another one.
    replaced: Option<u64>,
    /// The table that the option -C prints at the end.
    in_summary: bool,
}

impl Strace {
    /// Reads `lines` of the log called `name`; lines that name no thread belong to `thread`.
    pub fn new(lines: Lines, name: &str, thread: u64) -> Strace {
        Strace {
            lines: Calls::new(lines),
            name: name.into(),
            who: Who::new(thread),
            pending: HashMap::default(),
            pending_bytes: 0,
            joined: Pending::default(),
            current: (0, 0),
            kind: Kind::Whole,
            at: 0,
            now_ns: 0,
            clock: DayClock::default(),
            replaced: None,
            in_summary: false,
        }
    }

    /// Calls that never ended. Those that end their thread need not.
    fn end(&mut self, gaps: &mut Gaps) {
        let mut left: Vec<_> = self.pending.drain().map(|(_, pending)| pending).collect();
        left.retain(|pending| !pending.text.starts_with(b"exit"));
        left.sort_by_key(|pending| pending.line);
        for pending in left {
            gaps.add_line(Gap::CutCalls, &self.name, pending.line, &pending.text);
        }
    }

    /// True if the line holds something for the resolver.
    fn understand(&mut self, gaps: &mut Gaps) -> bool {
        self.drop_unknown_call();
        let line = &self.lines.line[..];
        let found = prefix(line);
        let at = line.len() - found.rest.len();
        let Some(kind) = kind(found.rest, &mut self.in_summary) else {
            self.who.learn(found.rest);
            if !is_known(line, found.rest, self.in_summary) {
                gaps.add_line(Gap::Unparsed, &self.name, self.lines.number, line);
            } else if let Time::Since(ns) = found.time {
                // The next line's time counts from this one on.
                self.now_ns = self.now_ns.saturating_add(ns);
            }
            return false;
        };
        let thread = self.who.of(&found);
        match kind {
            Kind::Over => self.who.over(superseded(found.rest).unwrap_or(thread)),
            _ => self.who.learn(found.rest),
        }
        let (time, whole) = (found.time, found.whole_seconds);
        self.tell_time(time, whole, gaps);
        (self.kind, self.at) = (kind, at);
        self.current = (thread, self.now_ns);
        match kind {
            Kind::Begun => self.begin(thread, gaps),
            Kind::Resumed => self.resume(thread, gaps),
            Kind::Over => {
                self.rename_thread(thread);
                true
            }
            Kind::Whole => true,
        }
    }

    /// A thread that is superseded in a call that strace had no name for yet: `17 ???(17 +++ superseded ...`.
    fn drop_unknown_call(&mut self) {
        let found = prefix(&self.lines.line);
        let Some(rest) = found.rest.strip_prefix(b"???(") else { return };
        if superseded(prefix(rest).rest).is_none() {
            return;
        }
        let begin = self.lines.line.len() - rest.len();
        if let Time::Since(ns) = found.time {
            self.now_ns = self.now_ns.saturating_add(ns);
        }
        self.lines.line.drain(..begin);
    }

    /// The thread that executes a program goes on under the number of the process.
    fn rename_thread(&mut self, thread: u64) {
        let of = superseded(&self.lines.line[self.at..]);
        match of.map(|of| self.pending.remove(&of)) {
            Some(Some(pending)) => drop(self.pending.insert(thread, pending)),
            Some(None) => self.replaced = Some(thread),
            None => {}
        }
    }

    fn tell_time(&mut self, time: Time, whole_seconds: bool, gaps: &mut Gaps) {
        let now_ns = match time {
            Time::None => {
                gaps.add(Gap::NoTimes);
                self.now_ns
            }
            Time::Epoch(ns) => ns,
            Time::Since(ns) => self.now_ns.saturating_add(ns),
            Time::Day(ns) => self.clock.since_first_midnight(ns),
        };
        if whole_seconds {
            gaps.add(Gap::Seconds);
        }
        if now_ns < self.now_ns {
            gaps.add(Gap::Backwards);
        }
        self.now_ns = now_ns;
    }

    /// Keeps the beginning of a call. The resolver hears of it when it ends, except where other
    /// threads may feel it before.
    fn begin(&mut self, thread: u64, gaps: &mut Gaps) -> bool {
        let text = &self.lines.line[self.at..];
        let text = text.trim_ascii_end().strip_suffix(UNFINISHED).unwrap_or(text).trim_ascii_end();
        if self.pending_bytes > PENDING_MAX {
            gaps.add_line(Gap::Impossible, &self.name, self.lines.number, text);
            return false;
        }
        let pending = self.pending.entry(thread).or_default();
        if !pending.text.is_empty() {
            gaps.add_line(Gap::CutCalls, &self.name, pending.line, &pending.text);
        }
        self.pending_bytes = self.pending_bytes + text.len() - pending.text.len();
        pending.text.clear();
        pending.text.extend_from_slice(text);
        (pending.start_ns, pending.line) = (self.now_ns, self.lines.number);
        is_felt_early(text)
    }

    /// Puts both halves together.
    fn resume(&mut self, thread: u64, gaps: &mut Gaps) -> bool {
        let text = &self.lines.line[self.at..];
        let end = memchr::memmem::find(text, b" resumed>").map_or(text.len(), |at| at + 9);
        let Some(begun) = self.pending.remove(&thread) else {
            if self.replaced.take() == Some(thread) {
                return false;
            }
            gaps.add_line(Gap::LostStarts, &self.name, self.lines.number, &self.lines.line);
            return false;
        };
        self.pending_bytes -= begun.text.len();
        self.joined = begun;
        let rest = text[end..].strip_prefix(b" ").unwrap_or(&text[end..]);
        if self.joined.text.last() == Some(&b',') {
            self.joined.text.push(b' ');
        }
        self.joined.text.extend_from_slice(rest);
        if let Some(again) = self.joined.text.trim_ascii_end().strip_suffix(UNFINISHED) {
            let length = again.len();
            self.joined.text.truncate(length);
            self.pending_bytes += length;
            self.pending.insert(thread, std::mem::take(&mut self.joined));
            return false;
        }
        true
    }
}

impl Scanner for Strace {
    fn advance(&mut self, gaps: &mut Gaps) -> io::Result<Option<u64>> {
        while self.lines.advance(gaps)? {
            if self.understand(gaps) {
                return Ok(Some(self.now_ns));
            }
        }
        self.end(gaps);
        Ok(None)
    }

    fn record(&mut self, gaps: &mut Gaps) -> Option<Record<'_>> {
        let (thread, now_ns) = self.current;
        let here = (self.lines.number, now_ns);
        let whole = &self.lines.line[self.at..];
        let (text, (line, start_ns)) = match self.kind {
            Kind::Resumed => (&self.joined.text[..], (self.joined.line, self.joined.start_ns)),
            _ => (whole, here),
        };
        let mut is_begin = self.kind == Kind::Begun;
        if self.kind == Kind::Over {
            let (name, outcome, elapsed_ns) = (&b"exit"[..], Outcome::default(), None);
            let call = Call::new(superseded(text).map_or(Act::Exit, Act::Supersede));
            let plain = Record::at(line, thread, start_ns);
            return Some(Record { elapsed_ns, name, call, outcome, ..plain });
        }
        let (name, call, outcome, elapsed_ns) = match parse(text, is_begin) {
            Ok(parsed) => parsed,
            Err(gap) => {
                gaps.add_line(gap, &self.name, line, text);
                return None;
            }
        };
        // With -ff: the thread was killed in the call, or another one took its place.
        is_begin |= self.kind == Kind::Whole
            && outcome.value.is_none()
            && memchr::memmem::find(text, NEVER_RETURNED).is_some();
        // Without -T the end of a call on two lines is still known.
        let elapsed_ns = elapsed_ns
            .or_else(|| (self.kind == Kind::Resumed).then(|| now_ns.saturating_sub(start_ns)));
        let (site, plain) = (&self.lines.site, Record::at(line, thread, start_ns));
        Some(Record { elapsed_ns, name, site, call, outcome, is_begin, ..plain })
    }

    fn count(&self) -> u64 {
        self.lines.number
    }
}

/// The kind of a line by its first characters; `None` if it holds no call.
fn kind(rest: &[u8], in_summary: &mut bool) -> Option<Kind> {
    if rest.starts_with(b"% time ") {
        *in_summary = true;
    }
    match rest {
        [b'+', b'+', b'+', b' ', ..] => Some(Kind::Over),
        [b'<', b'.', b'.', b'.', b' ', ..]
            if memchr::memmem::find(rest, b" resumed>").is_some() =>
        {
            Some(Kind::Resumed)
        }
        [b'a'..=b'z' | b'_', ..] => {
            let name = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
            if rest.get(name) != Some(&b'(') {
                return None;
            }
            // With a note that -T does not add.
            let begun = rest.trim_ascii_end().ends_with(UNFINISHED);
            Some(if begun { Kind::Begun } else { Kind::Whole })
        }
        _ => None,
    }
}

/// Lines that hold no call and are no gap: signals, stacks (-k), what strace says of itself, the
/// summary of -C.
fn is_known(line: &[u8], rest: &[u8], in_summary: bool) -> bool {
    in_summary
        || rest.is_empty()
        || rest.starts_with(b"---")
        || rest.starts_with(b"> ")
        || line.starts_with(b" >")
        || rest.starts_with(b"strace: ")
        || rest.starts_with(b"[ Process PID=")
        || rest.starts_with(b"Process ")
}

/// Other threads feel these before they have ended: a new process runs, a number is free.
fn is_felt_early(text: &[u8]) -> bool {
    [&b"clone"[..], b"fork", b"vfork", b"close("].iter().any(|name| text.starts_with(name))
}

/// The thread that took this one's place by executing a program.
fn superseded(text: &[u8]) -> Option<u64> {
    let rest = text.strip_prefix(b"+++ superseded by execve in pid ")?;
    decimal(digits(rest).0)
}

type Parsed<'a> = (&'a [u8], Call<'a>, Outcome<'a>, Option<u64>);

/// `name(arguments) = result <time>`.
fn parse(text: &[u8], is_begin: bool) -> Result<Parsed<'_>, Gap> {
    let open = memchr::memchr(b'(', text).ok_or(Gap::Unparsed)?;
    let (name, arguments) = (&text[..open], &text[open + 1..]);
    let mut cursor = Cursor::new(arguments);
    let call = calls::call(name, &mut cursor);
    // A call that does not matter needs no understanding, a beginning has no end.
    if is_begin || call.is_some_and(|call| call.act == Act::Other) {
        let call = call.ok_or(Gap::Unparsed)?;
        let elapsed_ns = elapsed(text.trim_ascii_end()).1.filter(|_| !is_begin);
        return Ok((name, call, Outcome::default(), elapsed_ns));
    }
    if memchr::memmem::rfind(text, PID_CHANGED).is_some()
        && text.trim_ascii_end().ends_with(b"...>")
    {
        return Ok((name, call.ok_or(Gap::Unparsed)?, Outcome::success(0), None));
    }
    let mut end = if call.is_some() { cursor } else { Cursor::new(arguments) };
    if !end.close() {
        return Err(Gap::CutCalls);
    }
    let (outcome, elapsed_ns) = outcome(end.rest()).ok_or(Gap::CutCalls)?;
    // A failed call may have arguments of any form, for example addresses that cannot be read.
    let failed = (outcome.errno != 0).then_some(Call::new(Act::Other));
    let call = call.or(failed).ok_or(Gap::Unparsed)?;
    Ok((name, call, outcome, elapsed_ns))
}

/// ` = -1 ENOENT (No such file or directory) <0.000012>`.
fn outcome(text: &[u8]) -> Option<(Outcome<'_>, Option<u64>)> {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"=")?.trim_ascii_start();
    let (text, elapsed_ns) = elapsed(text);
    let mut cursor = Cursor::new(text);
    if cursor.take(b"?") {
        cursor.blanks();
        let restarts = cursor.rest().starts_with(b"ERESTART");
        return Some((Outcome { restarts, ..Outcome::default() }, elapsed_ns));
    }
    let value = cursor.number()?;
    let shown = cursor.shown();
    cursor.blanks();
    let word = cursor.rest();
    let length = word.iter().take_while(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let errno = if value == -1 { errno_of(&word[..length.count()]) } else { 0 };
    Some((Outcome { value: Some(value), errno, shown, restarts: false }, elapsed_ns))
}

/// The number of an error's name; of one that is not known EIO.
fn errno_of(name: &[u8]) -> u16 {
    let name = std::str::from_utf8(name).unwrap_or_default();
    model::errno::number(name).unwrap_or(if name.is_empty() { 0 } else { 5 })
}

/// Takes `<0.000012>` off the end.
fn elapsed(text: &[u8]) -> (&[u8], Option<u64>) {
    let split = || {
        let inside = text.strip_suffix(b">")?;
        let start = memchr::memrchr(b'<', inside)?;
        let (seconds, rest) = digits(&inside[start + 1..]);
        let (ns, has_fraction, rest) = time_ns(decimal(seconds)?, rest);
        let is_time = has_fraction && rest.is_empty();
        is_time.then_some((text[..start].trim_ascii_end(), Some(ns)))
    };
    split().unwrap_or((text, None))
}

/// The log looks like one of strace: lines of its beginning.
pub fn looks_like(beginning: &[u8]) -> bool {
    // With all of its environment (-v) the first call can be longer than the beginning.
    let is_cut = memchr::memchr(b'\n', beginning).is_none();
    if is_cut && prefix(beginning).rest.starts_with(b"execve(\"") {
        return true;
    }
    let lines = beginning.split(|byte| *byte == b'\n').take(50);
    let mut summary = false;
    lines.map(prefix).any(|Prefix { rest, .. }| match kind(rest, &mut summary) {
        Some(Kind::Whole) => {
            // All that a thread did that another program takes the place of may be to execute it.
            let ends = [&b" = "[..], PID_CHANGED];
            let ends = ends.iter().any(|end| memchr::memmem::find(rest, end).is_some());
            ends && parse(rest, false).is_ok()
        }
        Some(Kind::Over) => rest.ends_with(b"+++"),
        Some(Kind::Begun | Kind::Resumed) => true,
        None => false,
    })
}

/// Times of the log count from its own first call: there is one, and no time of day (-r alone).
pub fn has_relative_times(beginning: &[u8]) -> bool {
    let mut times = beginning.split(|byte| *byte == b'\n').map(|line| prefix(line).time);
    times.find(|time| *time != Time::None).is_some_and(|time| matches!(time, Time::Since(_)))
}

/// Lines of the log's beginning name their threads.
pub fn names_threads(beginning: &[u8]) -> bool {
    beginning.split(|byte| *byte == b'\n').take(50).any(|line| prefix(line).thread.is_some())
}

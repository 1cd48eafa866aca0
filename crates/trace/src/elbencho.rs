//! The log of operations of elbencho (`--opslog`): two lines of JSON for each.
//!
//! ```text
//! { "date": "2026-11-23T01:53:40.120+0000", "worker_rank": 0, "op_name": "openat", "entry_name": "/d/r0-f0",
//!   "offset": 0, "length": 0, "is_finished": false, "is_error": false }
//! ... "op_name": "pwrite", "entry_name": "25", "offset": 0, "length": 1048576, "is_finished": true, ...
//! ```
//!
//! Transfers and closes have numbers for files, which no opening gave: see [`crate::clib`].

use crate::clib::{self, Called, Files, Who, number, number_of};
use crate::functions::find_function;
use crate::gaps::{Gap, Gaps};
use crate::record::{Act, Call, ERRNO_UNKNOWN, Introduction, Outcome, Record};
use crate::scanner::{Found, LineFormat, Lines};
use hashbrown::HashMap;
use jiff::Timestamp;
use model::Op;
use rustc_hash::FxBuildHasher;
use serde::Deserialize;

/// Operations of one worker that have not ended: workers wait for each.
const PENDING_MAX: usize = 1 << 10;
/// Largest rank that is believed.
const RANK_MAX: u64 = 1 << 24;

/// A line: an operation begins or ends.
#[derive(Clone, Debug, Deserialize)]
struct Line {
    date: String,
    worker_rank: i64,
    op_name: String,
    entry_name: String,
    offset: u64,
    length: u64,
    is_finished: bool,
    is_error: bool,
}

impl Line {
    /// Both lines of an operation; listings are longer at their end.
    fn is_same(&self, other: &Line) -> bool {
        (&self.op_name, &self.entry_name, self.offset)
            == (&other.op_name, &other.entry_name, other.offset)
    }
}

/// An operation that has begun.
#[derive(Clone, Debug)]
struct Begun {
    operation: Line,
    start_ns: u64,
    line: u64,
}

impl Begun {
    /// It never ended.
    fn cut(&self, lines: &Lines, gaps: &mut Gaps) {
        let text = format!("{} {}", self.operation.op_name, self.operation.entry_name);
        gaps.add_line(Gap::CutCalls, lines.name(), self.line, text.as_bytes());
    }
}

/// The record that a line gives.
#[derive(Debug, Default)]
enum Current {
    /// A worker shows up.
    #[default]
    Introduction,
    /// An operation is over; without duration where its beginning is not in the log.
    Over { operation: Line, start_ns: u64, elapsed_ns: Option<u64> },
}

/// Reads one log.
#[derive(Default)]
pub struct Elbencho {
    workers: HashMap<u64, Vec<Begun>, FxBuildHasher>,
    files: Files,
    worker: u64,
    now_ns: u64,
    current: Current,
}

impl Elbencho {
    /// Reads the line; `None`: its form is unknown.
    fn take(&mut self, lines: &Lines, gaps: &mut Gaps) -> Option<Found> {
        let operation: Line = serde_json::from_slice(lines.line()).ok()?;
        let now_ns = date_ns(&operation.date)?;
        // Outside of the workers the rank is -1.
        let worker = u64::try_from(operation.worker_rank).unwrap_or(0);
        if worker > RANK_MAX {
            return None;
        }
        (self.worker, self.now_ns) = (worker, now_ns);
        let is_new = !self.workers.contains_key(&worker);
        let pending = self.workers.entry(worker).or_default();
        if !operation.is_finished {
            if pending.len() >= PENDING_MAX {
                pending.remove(0).cut(lines, gaps);
            }
            pending.push(Begun { operation, start_ns: now_ns, line: lines.number() });
            self.current = Current::Introduction;
            return Some(if is_new { Found::Record(now_ns) } else { Found::Nothing });
        }
        let begun = pending.iter().rposition(|begun| begun.operation.is_same(&operation));
        let begun = begun.map(|at| pending.remove(at));
        if begun.is_none() {
            lines.count(Gap::LostStarts, gaps);
        }
        let start_ns = begun.as_ref().map_or(now_ns, |begun| begun.start_ns);
        let elapsed_ns = begun.map(|begun| now_ns.saturating_sub(begun.start_ns));
        self.current = Current::Over { operation, start_ns, elapsed_ns };
        Some(Found::Record(now_ns))
    }
}

impl LineFormat for Elbencho {
    fn understand(&mut self, lines: &Lines, gaps: &mut Gaps) -> Found {
        self.take(lines, gaps).unwrap_or(Found::Unknown)
    }

    fn end(&mut self, lines: &Lines, gaps: &mut Gaps) {
        let mut left: Vec<Begun> = self.workers.drain().flat_map(|(_, begun)| begun).collect();
        left.sort_by_key(|begun| begun.line);
        left.iter().for_each(|begun| begun.cut(lines, gaps));
    }

    fn record<'a>(&'a mut self, lines: &'a Lines, gaps: &mut Gaps) -> Option<Record<'a>> {
        let plain = Record::at(lines.number(), self.worker, self.now_ns);
        match &self.current {
            Current::Introduction => {
                let ranks = Some(self.worker as u32 + 1);
                let introduction =
                    Introduction { command: b"elbencho", ranks, ..Introduction::default() };
                Some(Record { call: Call::new(Act::Introduce(introduction)), ..plain })
            }
            Current::Over { operation, start_ns, elapsed_ns } => {
                gaps.add(Gap::Milliseconds);
                let (call, outcome) = call(operation, self.worker, &mut self.files, gaps)?;
                let (name, elapsed_ns) = (operation.op_name.as_bytes(), *elapsed_ns);
                Some(Record { name, start_ns: *start_ns, elapsed_ns, call, outcome, ..plain })
            }
        }
    }
}

/// The call of an operation, and how it ended.
fn call<'a>(
    operation: &'a Line,
    worker: u64,
    files: &'a mut Files,
    gaps: &mut Gaps,
) -> Option<(Call<'a>, Outcome<'a>)> {
    let (function, file) = (operation.op_name.as_bytes(), operation.entry_name.as_bytes());
    let failed = operation.is_error;
    let called = Called {
        function,
        who: Who { process: worker, thread: worker },
        file,
        count: Some(operation.length),
        offset: i64::try_from(operation.offset).ok(),
        result: Some(if failed { -1 } else { number_of(operation.length) }),
        ..Called::default()
    };
    let found = find_function(function);
    if let Some((Act::On(op), letters)) = found
        && letters.contains(&b'f')
        && number(file).is_none()
    {
        // Of a file that is open and has its name.
        let is_whole = matches!(op, Op::Fstat | Op::Fsync | Op::Fdatasync);
        let act = if is_whole { Act::Whole(op) } else { Act::WithoutOperation };
        let outcome = if failed { Outcome::failure(ERRNO_UNKNOWN) } else { Outcome::success(0) };
        return Some((Call::whole(act, file, 0), outcome));
    }
    let (mut call, outcome) = clib::understand(&called, files, gaps)?;
    if call.act == Act::On(Op::Delete) && is_directory(file) {
        call.act = Act::On(Op::Rmdir);
    }
    Some((call, outcome))
}

/// elbencho calls directories r0, d7, and files r0-f3; both are removed by `unlinkat`.
fn is_directory(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    matches!(name, [b'r' | b'd', digits @ ..] if number(digits).is_some())
}

/// `2026-11-23T01:53:40.120+0000` as nanoseconds since 1970.
fn date_ns(text: &str) -> Option<u64> {
    let time = Timestamp::strptime("%Y-%m-%dT%H:%M:%S%.f%z", text).ok()?;
    u64::try_from(time.as_nanosecond()).ok()
}

/// The log begins like one of elbencho.
pub fn looks_like(beginning: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(beginning, word).is_some();
    beginning.trim_ascii_start().starts_with(b"{")
        && has(b"\"worker_rank\":")
        && has(b"\"op_name\":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_times() {
        for (text, ms) in [
            ("1970-01-01T00:00:00.001+0000", 1),
            ("2026-11-23T01:53:40.123+0000", 1_795_398_820_123),
            ("2026-11-23T02:53:40.123+0100", 1_795_398_820_123),
            ("2024-02-29T20:00:00.000-0330", 1_709_249_400_000),
        ] {
            assert_eq!(date_ns(text), Some(ms * 1_000_000), "{text}");
        }
        for text in
            ["", "1960-01-01T00:00:00.001+0000", "2026-11-23", "aaaa-01-01T00:00:00.001+0000"]
        {
            assert_eq!(date_ns(text), None, "{text}");
        }
        assert_eq!(
            ["/d/r0/d7", "d", "/r0-f3"].map(|path| is_directory(path.as_bytes())),
            [true, false, false]
        );
    }
}

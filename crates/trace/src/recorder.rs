//! Text of Recorder's `recorder2text`: a file per rank, `3.txt`, with a line per call.
//!
//! ```text
//! 0.161031 0.161092 open 0 0 ( /d/f 66 420 )        start, end, function, depth of calls, layer, arguments
//! 0.161100 0.161120 pwrite 1 0 ( /d/f 0x7ffe 4096 8192 )
//! ```
//!
//! The tables of `recorder2parquet` have the same in columns: rank, tstart, tend, func_id, args_1, ...
//!
//! Calls have no results. Older versions have numbers in place of names for files that are open. Calls of
//! MPI and HDF5 are left out, because the log also has the POSIX calls below them.

use crate::clib::{self, Called, Files, Who, number};
use crate::functions::find_function;
use crate::gaps::{Gap, Gaps};
use crate::record::{Act, Call, Introduction, Record};
use crate::scanner::Lines;
use crate::scanner::{Found, LineFormat};
use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

/// Largest rank that is believed.
const RANK_MAX: u64 = 1 << 24;
/// Layer of calls of POSIX.
const POSIX: u64 = 0;
/// Columns of a table that must be there; arguments follow behind the first one.
const COLUMNS: [&[u8]; 5] = [b"rank", b"tstart", b"tend", b"func_id", b"args_1"];

/// Reads one log.
pub struct Recorder {
    /// Places of [`COLUMNS`] in a table.
    columns: Option<[usize; COLUMNS.len()]>,
    rank: u64,
    files: Files,
    /// Ranks that were introduced.
    known: HashSet<u64, FxBuildHasher>,
    now_ns: u64,
    current: Item,
    /// A record that comes before the next line.
    waiting: Option<Item>,
}

/// The next record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Rank,
    Call,
}

impl Recorder {
    /// Reads the log called `name`.
    pub fn new(name: &str) -> Recorder {
        let rank = rank_of(name);
        Recorder {
            columns: None,
            rank,
            files: Files::default(),
            known: HashSet::from_iter([rank]),
            now_ns: 0,
            current: Item::Rank,
            // A rank that did nothing is there, too.
            waiting: Some(Item::Rank),
        }
    }

    fn line<'a>(&self, line: &'a [u8]) -> Option<Line<'a>> {
        match &self.columns {
            Some(columns) => row(line, columns),
            None => parse(line),
        }
    }
}

impl LineFormat for Recorder {
    fn understand(&mut self, lines: &Lines, gaps: &mut Gaps) -> Found {
        if lines.number() == 1 {
            self.columns = columns(lines.line());
            if self.columns.is_some() {
                return Found::Nothing;
            }
        }
        let Some(line) = self.line(lines.line()) else { return Found::Unknown };
        if line.layer.is_some_and(|layer| layer != POSIX) || is_above(line.function) {
            gaps.add_name(Gap::Above, line.function);
            return Found::Nothing;
        }
        let rank = line.rank.unwrap_or(self.rank);
        if rank > RANK_MAX {
            return Found::Unknown;
        }
        (self.rank, self.now_ns, self.current) = (rank, line.span_ns.0, Item::Call);
        if self.known.insert(rank) {
            (self.current, self.waiting) = (Item::Rank, Some(Item::Call));
        }
        Found::Record(self.now_ns)
    }

    fn waiting(&mut self) -> Option<u64> {
        self.current = self.waiting.take()?;
        Some(self.now_ns)
    }

    fn record<'a>(&'a mut self, lines: &'a Lines, gaps: &mut Gaps) -> Option<Record<'a>> {
        let plain = Record::at(lines.number(), self.rank, self.now_ns);
        if self.current == Item::Rank {
            let ranks = Some(self.rank as u32 + 1);
            let who = Introduction { ranks, ..Introduction::default() };
            return Some(Record { call: Call::new(Act::Introduce(who)), ..plain });
        }
        let line = self.line(lines.line())?;
        let Some(called) = called(&line, self.rank) else {
            lines.count(Gap::Unparsed, gaps);
            return None;
        };
        let (call, outcome) = clib::understand(&called, &mut self.files, gaps)?;
        if line.rank.is_some() {
            gaps.add(Gap::SinglePrecision);
        }
        let elapsed_ns = Some(line.span_ns.1.saturating_sub(line.span_ns.0));
        Some(Record { name: line.function, elapsed_ns, call, outcome, ..plain })
    }
}

/// A call's parts.
struct Line<'a> {
    /// The rank in a table; `None`: the log's name has it.
    rank: Option<u64>,
    span_ns: (u64, u64),
    function: &'a [u8],
    layer: Option<u64>,
    /// Arguments; in text perhaps parts of them, if there are blanks in names.
    words: Vec<&'a [u8]>,
    text: &'a [u8],
}

/// `0.161031 0.161092 open 0 0 ( /d/f 66 420 )`.
fn parse(line: &[u8]) -> Option<Line<'_>> {
    let open = memchr::memmem::find(line, b" (")?;
    let text = line[open + 2..].trim_ascii_end().strip_suffix(b")")?;
    let mut head = line[..open].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let span_ns = (seconds(head.next()?)?, seconds(head.next()?)?);
    let function = head.next()?;
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    if !function.first().is_some_and(is_letter) {
        return None;
    }
    // The depth came first, the layer later.
    let numbers: Vec<u64> = head.map(number).collect::<Option<_>>()?;
    let layer = numbers.get(1).copied();
    let words = text.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect();
    (numbers.len() <= 2).then_some(Line { rank: None, span_ns, function, layer, words, text })
}

fn seconds(text: &[u8]) -> Option<u64> {
    let seconds: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    // A cast saturates.
    (seconds.is_finite() && text.contains(&b'.')).then_some((seconds * 1e9).round() as u64)
}

/// The places of the columns in a table of recorder2parquet, by its first line.
fn columns(line: &[u8]) -> Option<[usize; COLUMNS.len()]> {
    let names: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
    let places = COLUMNS.map(|column| names.iter().position(|name| *name == column));
    places.iter().all(Option::is_some).then(|| places.map(Option::unwrap_or_default))
}

/// A row of a table.
fn row<'a>(line: &'a [u8], places: &[usize; COLUMNS.len()]) -> Option<Line<'a>> {
    let values: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
    let [rank, start, end, function, arguments] = *places;
    let text = |at: usize| std::str::from_utf8(values.get(at)?).ok();
    // A cast saturates.
    let ns = |at| {
        let seconds: f64 = text(at)?.parse().ok()?;
        seconds.is_finite().then_some((seconds * 1e9).round() as u64)
    };
    let mut words = values.get(arguments..)?.to_vec();
    words.truncate(1 + words.iter().rposition(|word| !word.is_empty()).unwrap_or(0));
    Some(Line {
        rank: Some(text(rank)?.parse().ok()?),
        span_ns: (ns(start)?, ns(end)?),
        function: values.get(function).filter(|function| !function.is_empty())?,
        layer: None,
        words,
        text: b"",
    })
}

/// Functions of other libraries.
fn is_above(function: &[u8]) -> bool {
    [&b"MPI_"[..], b"PMPI_", b"H5", b"ncmpi_", b"nc_"].iter().any(|head| function.starts_with(head))
}

/// The arguments by their meaning. Names may hold blanks.
fn called<'a>(line: &Line<'a>, rank: u64) -> Option<Called<'a>> {
    let (function, who) = (line.function, Who { process: rank, thread: rank });
    let mut called = Called { function, who, ..Called::default() };
    let letters = find_function(function).map_or(&b""[..], |found| found.1);
    if letters.is_empty() {
        return Some(called);
    }
    for (letter, text) in letters.iter().zip(spread(letters, line)?) {
        let number = || std::str::from_utf8(text).ok()?.parse::<i64>().ok();
        let count = || number().and_then(|number| u64::try_from(number).ok());
        match letter {
            b'f' | b'p' => called.file = text,
            b'q' => called.other = text,
            b'c' | b'v' => called.count = count(),
            b'z' => called.size = count(),
            b'o' => called.offset = number(),
            b'w' => called.whence = number(),
            b'g' => called.flags = number().and_then(|flags| u32::try_from(flags).ok()),
            b'M' => called.mode = text,
            _ => {}
        }
    }
    Some(called)
}

/// One text per letter: a single name takes the words that are too many.
fn spread<'a>(letters: &[u8], line: &Line<'a>) -> Option<Vec<&'a [u8]>> {
    let words = &line.words;
    // The mode of an opening is there if it creates.
    let letters = match letters {
        [head @ .., b'g', b'.'] if !is_creating(words) => &letters[..=head.len()],
        other => other,
    };
    if words.len() <= letters.len() || line.text.is_empty() {
        return Some(words.clone());
    }
    let is_name = |at: &usize| b"fpq".contains(&letters[*at]);
    let names: Vec<usize> = (0..letters.len()).filter(is_name).collect();
    let [at] = names[..] else { return None };
    let behind = words.len() - (letters.len() - at - 1);
    let place = |word: &[u8]| word.as_ptr() as usize - line.text.as_ptr() as usize;
    let end = place(words[behind - 1]) + words[behind - 1].len();
    let name = &line.text[place(words[at])..end];
    Some([&words[..at], &[name], &words[behind..]].concat())
}

/// `/d/f 66 420`: flags and mode stand behind the name.
fn is_creating(words: &[&[u8]]) -> bool {
    let number = |back: usize| words.len().checked_sub(back).and_then(|at| number(words[at]));
    words.len() > 2 && number(1).is_some() && number(2).is_some()
}

/// `/logs/_text/3.txt` is that of rank 3.
fn rank_of(name: &str) -> u64 {
    let base = name.rsplit('/').next().unwrap_or(name);
    let digits = base.split('.').next().unwrap_or(base).as_bytes();
    number(digits).filter(|rank| *rank <= RANK_MAX).unwrap_or(0)
}

/// The log begins like the text of recorder2text, or as a table of recorder2parquet.
pub fn looks_like(beginning: &[u8]) -> bool {
    let mut lines = beginning.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.next().is_some_and(|line| parse(line).is_some() || columns(line).is_some())
}

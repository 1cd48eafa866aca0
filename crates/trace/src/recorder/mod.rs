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
//! MPI and HDF5 are left out: those of POSIX that they became are there, too.

mod source;

use crate::clib::{self, Called, Files};
use crate::gaps::{Gap, Gaps};
use crate::input::Input;
use crate::lines::Lines;
use crate::named::{ByName, ByNumber, Who, number};
use crate::record::{Call, Introduction, Record};
use crate::scanner::Scanner;
use crate::scanner::{ByLine, Found, LineFormat};
use crate::table;
use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;
use source::Calls;
use std::io;

/// Largest rank that is believed.
const RANK_MAX: u64 = 1 << 24;

/// What the arguments of a function are, one letter for each: `f`ile, `p`ath, the `2`nd path, `c`ount of
/// bytes, `z`: size of an element, `o`ffset, `w`hence, fla`g`s, `m`ode; `.` for others.
const ARGUMENTS: &[(&str, &str)] = &[
    ("close", "f"),
    ("fclose", "f"),
    ("fsync", "f"),
    ("fdatasync", "f"),
    ("mmap", ".c..f."),
    ("creat", "p."),
    ("open", "pg."),
    ("fopen", "pm"),
    ("__xstat", ".p."),
    ("__lxstat", ".p."),
    ("__fxstat", ".f."),
    ("stat", "p."),
    ("lstat", "p."),
    ("fstat", "f."),
    ("pread", "f.co"),
    ("pwrite", "f.co"),
    ("readv", "fc."),
    ("writev", "fc."),
    ("fread", ".zcf"),
    ("fwrite", ".zcf"),
    ("fprintf", "fc"),
    ("vfprintf", "fc"),
    ("read", "f.c"),
    ("write", "f.c"),
    ("fseek", "fow"),
    ("fseeko", "fow"),
    ("lseek", "fow"),
    ("mkdir", "p."),
    ("rmdir", "p"),
    ("chdir", "p"),
    ("link", "p2"),
    ("linkat", ".p.2."),
    ("unlink", "p"),
    ("symlink", "p2"),
    ("symlinkat", "p.2"),
    ("readlink", "p.."),
    ("readlinkat", ".p.."),
    ("rename", "p2"),
    ("chmod", "p."),
    ("utime", "p."),
    ("opendir", "p"),
    ("access", "p."),
    ("faccessat", ".p.."),
    ("remove", "p"),
    ("truncate", "pc"),
    ("ftruncate", "fc"),
];

/// Layer of calls of POSIX.
const POSIX: u64 = 0;

/// Reads the text or table called `name`.
///
/// # Errors
/// The table is damaged, or none of Recorder's.
pub fn scanner(input: Input, name: &str) -> io::Result<Box<dyn Scanner>> {
    if !table::is_one(&input.beginning) {
        let format = Recorder::new(name, has_numbers(&input.beginning));
        return Ok(Box::new(ByLine::new(Lines::new(input.bytes, name), format)));
    }
    let (rows, has_numbers) = source::open(&table::copied(input)?, name)?;
    Ok(Box::new(ByLine::new(rows, Recorder::new(name, has_numbers))))
}

/// Reads one log.
pub struct Recorder {
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
    /// Reads the log called `name`, in which open files have numbers or names.
    pub fn new(name: &str, has_numbers: bool) -> Recorder {
        let rank = rank_of(name);
        Recorder {
            rank,
            files: match has_numbers {
                true => Files::Numbered(ByNumber::default()),
                false => Files::Named(ByName::default()),
            },
            known: HashSet::from_iter([rank]),
            now_ns: 0,
            current: Item::Rank,
            // A rank that did nothing is there, too.
            waiting: Some(Item::Rank),
        }
    }
}

impl<S: Calls> LineFormat<S> for Recorder {
    fn understand(&mut self, lines: &S, gaps: &mut Gaps) -> Found {
        let Some(line) = lines.call() else { return Found::Unknown };
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

    fn record<'a>(&'a mut self, lines: &'a S, gaps: &mut Gaps) -> Option<Record<'a>> {
        let plain = Record::at(lines.number(), self.rank, self.now_ns);
        if self.current == Item::Rank {
            let ranks = Some(self.rank as u32 + 1);
            let call = Call::Introduce(Introduction { ranks, ..Introduction::default() });
            return Some(Record { call, ..plain });
        }
        let line = lines.call()?;
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
pub struct Line<'a> {
    /// The rank in a table; `None`: the log's name has it.
    rank: Option<u64>,
    span_ns: (u64, u64),
    function: &'a [u8],
    layer: Option<u64>,
    arguments: Words<'a>,
}

/// Arguments.
enum Words<'a> {
    /// One after the other, with blanks between them and perhaps in them.
    Text(&'a [u8]),
    /// Each for itself.
    Apart(Vec<&'a [u8]>),
}

/// `0.161031 0.161092 open 0 0 ( /d/f 66 420 )`.
fn parse(line: &[u8]) -> Option<Line<'_>> {
    let open = memchr::memmem::find(line, b" (")?;
    let arguments = line[open + 2..].trim_ascii_end().strip_suffix(b")")?.trim_ascii();
    let arguments = Words::Text(arguments);
    let mut words = line[..open].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let span_ns = (seconds(words.next()?)?, seconds(words.next()?)?);
    let function = words.next()?;
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    if !function.first().is_some_and(is_letter) {
        return None;
    }
    // The depth came first, the layer later.
    let numbers: Vec<u64> = words.map(number).collect::<Option<_>>()?;
    let layer = numbers.get(1).copied();
    (numbers.len() <= 2).then_some(Line { rank: None, span_ns, function, layer, arguments })
}

fn seconds(text: &[u8]) -> Option<u64> {
    let seconds: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    // A cast saturates.
    (seconds.is_finite() && text.contains(&b'.')).then_some((seconds * 1e9).round() as u64)
}

/// Functions of other libraries.
fn is_above(function: &[u8]) -> bool {
    [&b"MPI_"[..], b"PMPI_", b"H5", b"ncmpi_", b"nc_"].iter().any(|head| function.starts_with(head))
}

/// The arguments by their meaning. Names may hold blanks.
fn called<'a>(line: &Line<'a>, rank: u64) -> Option<Called<'a>> {
    let function = clib::plain(line.function);
    let who = Who { process: rank, thread: rank };
    let mut called = Called { function, who, ..Called::default() };
    let known = ARGUMENTS.iter().find(|row| row.0.as_bytes() == function);
    let Some((_, letters)) = known else { return Some(called) };
    let texts = match &line.arguments {
        Words::Text(text) => spread(letters, text)?,
        Words::Apart(words) => words.clone(),
    };
    for (letter, text) in letters.bytes().zip(texts) {
        let number = || std::str::from_utf8(text).ok()?.parse::<i64>().ok();
        let count = || number().and_then(|number| u64::try_from(number).ok());
        match letter {
            b'f' | b'p' => called.file = text,
            b'2' => called.other = text,
            b'c' => called.count = count(),
            b'z' => called.size = count(),
            b'o' => called.offset = number(),
            b'w' => called.whence = number(),
            b'g' => called.flags = number().and_then(|flags| u32::try_from(flags).ok()),
            b'm' => called.mode = text,
            _ => {}
        }
    }
    Some(called)
}

/// One text per letter: a single name takes the words that are too many.
fn spread<'a>(letters: &str, arguments: &'a [u8]) -> Option<Vec<&'a [u8]>> {
    let words = split(arguments);
    // The mode of an opening is there if it creates.
    let letters = match letters {
        "pg." if !is_creating(&words) => "pg",
        other => other,
    };
    if words.len() <= letters.len() {
        return Some(words);
    }
    let names: Vec<usize> =
        (0..letters.len()).filter(|at| b"fp2".contains(&letters.as_bytes()[*at])).collect();
    let [at] = names[..] else { return None };
    let behind = words.len() - (letters.len() - at - 1);
    let place = |word: &[u8]| word.as_ptr() as usize - arguments.as_ptr() as usize;
    let end = place(words[behind - 1]) + words[behind - 1].len();
    let name = &arguments[place(words[at])..end];
    Some([&words[..at], &[name], &words[behind..]].concat())
}

fn split(arguments: &[u8]) -> Vec<&[u8]> {
    arguments.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect()
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

/// Files that are open have numbers in the text.
pub fn has_numbers(beginning: &[u8]) -> bool {
    let calls = beginning.split(|byte| *byte == b'\n').filter_map(parse);
    calls.filter_map(|line| is_number(&line)).next() == Some(true)
}

/// The open file of a call is a number; `None`: it works on none.
fn is_number(line: &Line<'_>) -> Option<bool> {
    let function = clib::plain(line.function);
    let at = ARGUMENTS.iter().find(|row| row.0.as_bytes() == function)?.1.find('f')?;
    let file = match &line.arguments {
        Words::Text(text) => split(text).get(at).copied(),
        Words::Apart(words) => words.get(at).copied(),
    };
    file.map(|file| number(file).is_some())
}

/// The log begins like the text of recorder2text, or as tables of Parquet do, recorder2parquet's among them.
pub fn looks_like(beginning: &[u8]) -> bool {
    if table::is_one(beginning) {
        return true;
    }
    let mut lines = beginning.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.next().and_then(parse).is_some()
}

//! Text of Recorder's `recorder2text`: a file per rank, `3.txt`, with a line per call.
//!
//! ```text
//! 0.161031 0.161092 open 0 0 ( /d/f 66 420 )        start, end, function, depth of calls, layer, arguments
//! 0.161100 0.161120 pwrite 1 0 ( /d/f 0x7ffe 4096 8192 )
//! ```
//!
//! Calls have no results. Older versions have numbers in place of names for files that are open. Calls of
//! MPI and HDF5 are left out: those of POSIX that they became are there, too.

use crate::clib::{self, Called, Files};
use crate::gaps::{Gap, Gaps};
use crate::import::Scanner;
use crate::lines::Lines;
use crate::named::{ByName, ByNumber, Who, number};
use crate::record::{Call, Introduction, Record};
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

/// Reads one log.
pub struct Recorder {
    lines: Lines,
    name: String,
    rank: u64,
    files: Files,
    introduced: bool,
    current: Current,
}

/// Where the parts of the current line stand.
#[derive(Clone, Debug, Default)]
struct Current {
    start_ns: u64,
    elapsed_ns: u64,
    function: (usize, usize),
    arguments: (usize, usize),
}

impl Recorder {
    /// Reads `lines` of the log called `name`, which begins like this.
    pub fn new(lines: Lines, name: &str, beginning: &[u8]) -> Recorder {
        let files = match has_numbers(beginning) {
            true => Files::Numbered(ByNumber::default()),
            false => Files::Named(ByName::default()),
        };
        let (rank, current) = (rank_of(name), Current::default());
        Recorder { lines, name: name.into(), rank, files, introduced: false, current }
    }

    /// True if the line holds a call of POSIX; `None`: it is in no known form.
    fn understand(&mut self, gaps: &mut Gaps) -> Option<bool> {
        let text = self.lines.line();
        let line = parse(text)?;
        if line.layer.is_some_and(|layer| layer != POSIX) || is_above(line.function) {
            gaps.add_name(Gap::Above, line.function);
            return Some(false);
        }
        let place = |part: &[u8]| {
            let start = part.as_ptr() as usize - text.as_ptr() as usize;
            (start, start + part.len())
        };
        let (start_ns, end_ns) = line.span_ns;
        self.current = Current {
            start_ns,
            elapsed_ns: end_ns.saturating_sub(start_ns),
            function: place(line.function),
            arguments: place(line.arguments),
        };
        Some(true)
    }
}

impl Scanner for Recorder {
    fn advance(&mut self, gaps: &mut Gaps) -> io::Result<Option<u64>> {
        if !self.introduced {
            return Ok(Some(0));
        }
        while self.lines.advance()? {
            match self.understand(gaps) {
                Some(true) => return Ok(Some(self.current.start_ns)),
                Some(false) => {}
                None if self.lines.line().trim_ascii().is_empty() => {}
                None => {
                    let line = self.lines.line();
                    gaps.add_line(Gap::Unparsed, &self.name, self.lines.number(), line);
                }
            }
        }
        Ok(None)
    }

    fn record(&mut self, gaps: &mut Gaps) -> Option<Record<'_>> {
        let number = self.lines.number();
        if !std::mem::replace(&mut self.introduced, true) {
            let ranks = Some(self.rank as u32 + 1);
            let call = Call::Introduce(Introduction { ranks, ..Introduction::default() });
            return Some(Record { call, ..Record::at(number, self.rank, 0) });
        }
        let Current { start_ns, elapsed_ns, function, arguments } = self.current.clone();
        let text = self.lines.line();
        let name = &text[function.0..function.1];
        let Some(called) = called(name, &text[arguments.0..arguments.1], self.rank) else {
            gaps.add_line(Gap::Unparsed, &self.name, number, text);
            return None;
        };
        let (call, outcome) = clib::understand(&called, &mut self.files, gaps)?;
        let (elapsed_ns, plain) = (Some(elapsed_ns), Record::at(number, self.rank, start_ns));
        Some(Record { name, elapsed_ns, call, outcome, ..plain })
    }

    fn count(&self) -> u64 {
        self.lines.number()
    }
}

/// A line's parts.
struct Line<'a> {
    span_ns: (u64, u64),
    function: &'a [u8],
    layer: Option<u64>,
    arguments: &'a [u8],
}

/// `0.161031 0.161092 open 0 0 ( /d/f 66 420 )`.
fn parse(line: &[u8]) -> Option<Line<'_>> {
    let open = memchr::memmem::find(line, b" (")?;
    let arguments = line[open + 2..].trim_ascii_end().strip_suffix(b")")?.trim_ascii();
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
    (numbers.len() <= 2).then_some(Line { span_ns, function, layer, arguments })
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
fn called<'a>(function: &'a [u8], arguments: &'a [u8], rank: u64) -> Option<Called<'a>> {
    let function = clib::plain(function);
    let who = Who { process: rank, thread: rank };
    let mut called = Called { function, who, ..Called::default() };
    let known = ARGUMENTS.iter().find(|row| row.0.as_bytes() == function);
    let Some((_, letters)) = known else { return Some(called) };
    let words: Vec<&[u8]> =
        arguments.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect();
    for (letter, text) in letters.bytes().zip(spread(letters, arguments, &words)?) {
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
fn spread<'a>(letters: &str, arguments: &'a [u8], words: &[&'a [u8]]) -> Option<Vec<&'a [u8]>> {
    // The mode of an opening is there if it creates.
    let letters = match letters {
        "pg." if !is_creating(words) => "pg",
        other => other,
    };
    if words.len() <= letters.len() {
        return Some(words.to_vec());
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

/// Files that are open have numbers.
fn has_numbers(beginning: &[u8]) -> bool {
    let calls = beginning.split(|byte| *byte == b'\n').filter_map(parse);
    let mut files = calls.filter_map(|line| {
        let function = clib::plain(line.function);
        let letters = ARGUMENTS.iter().find(|row| row.0.as_bytes() == function)?.1;
        let words = line.arguments.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        words.clone().nth(letters.find('f')?)
    });
    files.next().is_some_and(|file| number(file).is_some())
}

/// The log begins like the text of recorder2text.
pub fn looks_like(beginning: &[u8]) -> bool {
    let mut lines = beginning.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.next().and_then(parse).is_some()
}

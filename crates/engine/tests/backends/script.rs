//! The text of scripts.
//!
//! ```text
//! == title
//! open f a O_RDWR|O_CREAT -> 0        f, g, h, i: open files
//! pwrite f hello*2 0 -> 10            text, repeated
//! pread f 100 8 -> "lo"               bytes in quotes
//! stat ../x -> EXDEV posix:skip       another reply, or none, on one back-end
//! ```
//!
//! In paths, `''` is the empty one, `@255` a name of 255 letters, `{dir}` the absolute
//! path of the run directory.

use super::place::Place;
use super::steps::{Data, Outcome, Step};
use std::ffi::CString;

/// One line.
pub struct Line {
    pub text: String,
    pub step: Step,
    expected: Vec<(Option<Place>, String)>,
}

impl Line {
    /// What is expected at a place; `None`: the step is left out there.
    pub fn expected(&self, place: Place) -> Option<&str> {
        let own = self.expected.iter().find(|(at, _)| *at == Some(place));
        let text = &own.or_else(|| self.expected.first()).expect("a reply").1;
        (text != "skip").then_some(text)
    }
}

pub fn parse(script: &str, directory: &str) -> Vec<Line> {
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.map(|line| parse_line(line, directory)).collect()
}

fn parse_line(line: &str, directory: &str) -> Line {
    let (call, replies) = line.split_once("->").unwrap_or_else(|| panic!("no reply: {line}"));
    let words: Vec<&str> = call.split_whitespace().collect();
    Line {
        text: line.into(),
        step: step(&words, directory),
        expected: replies.split_whitespace().map(reply).collect(),
    }
}

fn reply(word: &str) -> (Option<Place>, String) {
    for place in Place::ALL {
        if let Some(text) = word.strip_prefix(place.name()).and_then(|rest| rest.strip_prefix(':'))
        {
            return (Some(place), text.into());
        }
    }
    (None, word.into())
}

/// The outcome as a script writes it.
pub fn show(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Errno(name) => name.to_string(),
        Outcome::Number(number) => number.to_string(),
        Outcome::Bytes(bytes) => {
            format!("\"{}\"", String::from_utf8_lossy(bytes).replace('\0', "."))
        }
    }
}

fn step(words: &[&str], directory: &str) -> Step {
    let slot_at =
        |at: usize| words[at].bytes().next().map(|b| usize::from(b - b'f')).expect("a slot");
    let slot = || slot_at(1);
    let path = |at: usize| path(words[at], directory);
    let number = |at: usize| words[at].parse::<u64>().unwrap_or_else(|_| panic!("{words:?}"));
    fn known<T: Copy>(words: &[(&str, T)], word: &str) -> T {
        words.iter().find(|row| row.0 == word).unwrap_or_else(|| panic!("unknown {word}")).1
    }
    let mode = |at: usize| u32::from_str_radix(words[at], 8).expect("an octal mode");
    match words[0] {
        "open" => {
            Step::Open(slot(), path(2), flags(words[3]), words.get(4).map_or(0o666, |_| mode(4)))
        }
        "close" => Step::Close(slot()),
        "pread" => Step::Pread(slot(), number(2) as usize, number(3)),
        "pwrite" => Step::Pwrite(slot(), data(words[2]), number(3)),
        "append" => Step::Append(slot(), data(words[2])),
        "map" => Step::Map(slot(), words.get(2) == Some(&"write")),
        "unmap" => Step::Unmap(slot()),
        "mapread" => Step::MapRead(slot(), number(2) as usize, number(3)),
        "mapwrite" => Step::MapWrite(slot(), data(words[2]), number(3)),
        "nothing" => Step::Nothing(number(1), words.get(2) == Some(&"rest")),
        "msync" => Step::Msync(slot()),
        "seek" => Step::Seek(slot(), number(2) as i64, false),
        "fsync" => Step::Fsync(slot()),
        "fdatasync" => Step::Fdatasync(slot()),
        "ftruncate" => Step::Ftruncate(slot(), number(2)),
        "fallocate" => Step::Fallocate(slot(), known(MODES, words[2]), number(3), number(4)),
        "fadvise" => Step::Fadvise(slot(), number(2), number(3), number(4) as i32),
        "copy" => Step::CopyRange((slot(), number(2)), (slot_at(3), number(4)), number(5) as usize),
        "clone" if words.len() > 3 => {
            Step::CloneRange((slot(), number(2)), (slot_at(3), number(4)), number(5))
        }
        "clone" => Step::Clone(slot(), slot_at(2)),
        "preadv" => {
            let lengths = words[2].split(',').map(|length| length.parse().expect("a length"));
            Step::Preadv(slot(), lengths.collect(), number(3))
        }
        "pwritev" => Step::Pwritev(slot(), words[2].split(',').map(data).collect(), number(3)),
        "flock" => Step::Flock(slot(), known(LOCKS, words[2])),
        "linkfile" => Step::LinkFile(slot(), path(2)),
        "setxattr" => Step::Setxattr(path(1), path(2), data(words[3])),
        "getxattr" => Step::Getxattr(path(1), path(2), number(3) as usize),
        "listxattr" => Step::Listxattr(path(1), number(2) as usize),
        "removexattr" => Step::Removexattr(path(1), path(2)),
        "rename" if words.len() > 3 => Step::Rename2(path(1), path(2), known(RENAMES, words[3])),
        "syncfs" if words.len() > 1 => Step::SyncfsOf(slot()),
        "fstat" => Step::Fstat(slot()),
        "list" => Step::List(slot()),
        "stat" => Step::Stat(path(1)),
        "access" => Step::Access(path(1)),
        "unlink" => Step::Unlink(path(1)),
        "rename" => Step::Rename(path(1), path(2)),
        "mkdir" => Step::Mkdir(path(1)),
        "rmdir" => Step::Rmdir(path(1)),
        "truncate" => Step::Truncate(path(1), number(2)),
        "link" => Step::Link(path(1), path(2)),
        "symlink" => Step::Symlink(path(1), path(2)),
        "readlink" => Step::Readlink(path(1)),
        "chmod" => Step::Chmod(path(1), mode(2)),
        "utime" => Step::Utime(path(1)),
        "lstat" => Step::Lstat(path(1)),
        "statfs" => Step::Statfs(path(1)),
        "syncfs" => Step::Syncfs,
        other => panic!("unknown call {other}"),
    }
}

fn path(word: &str, directory: &str) -> CString {
    let names = word.split('/').map(|name| match name.strip_prefix('@') {
        Some(length) => "n".repeat(length.parse().expect("a length")),
        None => name.replace("''", ""),
    });
    let path = names.collect::<Vec<_>>().join("/").replace("{dir}", directory);
    CString::new(path).expect("no NUL inside")
}

fn data(word: &str) -> Data {
    Data(match word.split_once('*') {
        Some((text, count)) => text.repeat(count.parse().expect("a count")).into(),
        None => word.replace("''", "").into(),
    })
}

/// Modes of fallocate, as PPL names them.
pub const MODES: &[(&str, i32)] = &[
    ("allocate", 0),
    ("keep", libc::FALLOC_FL_KEEP_SIZE),
    ("punch", libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE),
    ("zero", libc::FALLOC_FL_ZERO_RANGE),
    ("collapse", libc::FALLOC_FL_COLLAPSE_RANGE),
    ("insert", libc::FALLOC_FL_INSERT_RANGE),
];
/// Operations of flock; none waits.
pub const LOCKS: &[(&str, i32)] = &[
    ("shared", libc::LOCK_SH | libc::LOCK_NB),
    ("exclusive", libc::LOCK_EX | libc::LOCK_NB),
    ("unlock", libc::LOCK_UN),
    ("nothing", 0),
];
/// Flags of renameat2.
pub const RENAMES: &[(&str, u32)] =
    &[("exchange", libc::RENAME_EXCHANGE), ("noreplace", libc::RENAME_NOREPLACE)];

/// Flags by name.
pub const FLAGS: &[(&str, i32)] = &[
    ("O_RDONLY", libc::O_RDONLY),
    ("O_WRONLY", libc::O_WRONLY),
    ("O_RDWR", libc::O_RDWR),
    ("O_CREAT", libc::O_CREAT),
    ("O_EXCL", libc::O_EXCL),
    ("O_TRUNC", libc::O_TRUNC),
    ("O_APPEND", libc::O_APPEND),
    ("O_DIRECTORY", libc::O_DIRECTORY),
    ("O_NOFOLLOW", libc::O_NOFOLLOW),
    ("O_PATH", libc::O_PATH),
    ("O_TMPFILE", libc::O_TMPFILE),
];

fn flags(word: &str) -> i32 {
    let flag = |name| FLAGS.iter().find(|row| row.0 == name).expect("a known flag").1;
    word.split('|').map(flag).fold(0, |flags, flag| flags | flag)
}

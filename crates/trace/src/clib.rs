//! Calls of logs that have no descriptors: they name the file of each call, or have a number for it that no
//! opening gave.
//!
//! ```text
//! open /d/f  ─▶ descriptor 3      read /d/f ─▶ descriptor 3, the latest one of that name      close /d/f
//! open /d/f  ─▶ descriptor 3      pread 7   ─▶ 7 is from now on the latest open file without a number
//! fwrite file=/d/f size=8 count=512 result=512   ─▶ 4096 bytes are written to the descriptor of /d/f
//! ```
//!
//! The resolver then follows the descriptors as in logs of strace. Each process has its own.

use crate::functions::find_function;
use crate::gaps::{Gap, Gaps};
use crate::record::{Act, At, Call, ERRNO_UNKNOWN, FLAGS_UNKNOWN, Fd, Outcome};
use hashbrown::HashMap;
use model::Op;
use model::event::MODE_UNKNOWN;
use model::open_flags::{O_APPEND, O_CREAT, O_TRUNC};
use rustc_hash::FxBuildHasher;

/// Files that are open at once; the resolver follows as many.
const OPEN_MAX: usize = 1 << 20;
const SEEK_SET: i64 = 0;

/// A process and a thread of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Who {
    /// Number of the process.
    pub process: u64,
    /// Number of the thread.
    pub thread: u64,
}

/// Numbers that are given away one after the other, and again.
#[derive(Debug, Default)]
struct Numbers {
    free: Vec<i64>,
    next: i64,
}

impl Numbers {
    fn take(&mut self) -> Option<i64> {
        let next =
            self.free.pop().or_else(|| ((self.next as usize) < OPEN_MAX).then_some(self.next));
        self.next += i64::from(next == Some(self.next));
        next
    }
}

/// By process and name: thread and descriptor.
type Named = HashMap<(u64, Box<[u8]>), Vec<(u64, i64)>, FxBuildHasher>;

/// Open files by what later calls have for them.
#[derive(Debug, Default)]
pub struct Files {
    /// That is a number; `None`: no call has shown it yet.
    is_numbered: Option<bool>,
    /// By process and name: thread and descriptor, the latest one last.
    named: Named,
    /// By process and number.
    numbered: HashMap<(u64, u64), i64, FxBuildHasher>,
    /// By process: those that have no number yet.
    unbound: HashMap<u64, Vec<i64>, FxBuildHasher>,
    numbers: Numbers,
    shown: Vec<u8>,
}

impl Files {
    /// A thread opened the file: its descriptor. `None`: too many are open.
    fn open(&mut self, who: Who, name: &[u8]) -> Option<i64> {
        let number = self.numbers.take()?;
        if self.is_numbered != Some(true) {
            let key = (who.process, name.into());
            self.named.entry(key).or_default().push((who.thread, number));
        }
        if self.is_numbered != Some(false) {
            self.unbound.entry(who.process).or_default().push(number);
        }
        Some(number)
    }

    /// The descriptor of a file by its name or number. One that nobody opened shows its name, or `fd-7`.
    /// `None`: too many are open, or it is standard input or output.
    fn find(&mut self, who: Who, file: &[u8], closes: bool) -> Option<Fd<'_>> {
        let number = number(file);
        if *self.is_numbered.get_or_insert(number.is_some()) {
            self.find_number(who.process, number.filter(|number| *number > 2)?, closes)
        } else if file.is_empty() {
            None
        } else {
            self.find_name(who, file, closes)
        }
    }

    /// The latest file that the thread itself opened; without one, that its process did.
    fn find_name(&mut self, who: Who, name: &[u8], closes: bool) -> Option<Fd<'_>> {
        let key = (who.process, Box::from(name));
        let known = self.named.get(&key).map_or(&[][..], |all| all);
        let own = known.iter().rposition(|open| open.0 == who.thread);
        let found = own.or(known.len().checked_sub(1));
        let number = match found {
            Some(at) => known[at].1,
            None => self.open(who, name)?,
        };
        if closes && let Some(all) = self.named.get_mut(&key) {
            all.remove(found.unwrap_or(0));
            if all.is_empty() {
                self.named.remove(&key);
            }
            self.numbers.free.push(number);
        }
        if found.is_none() {
            self.show(name);
        }
        let shown = if found.is_none() { &self.shown[..] } else { b"" };
        Some(Fd { shown, ..Fd::bare(number) })
    }

    /// The file of this number, or the latest open file that has no number yet.
    fn find_number(&mut self, process: u64, number: u64, closes: bool) -> Option<Fd<'_>> {
        let unbound = || self.unbound.get_mut(&process).and_then(Vec::pop);
        let known = self.numbered.get(&(process, number)).copied().or_else(unbound);
        let found = match known {
            Some(found) => found,
            None => self.numbers.take()?,
        };
        if closes {
            self.numbered.remove(&(process, number));
            self.numbers.free.push(found);
        } else {
            self.numbered.insert((process, number), found);
        }
        if known.is_some() || closes {
            return Some(Fd::bare(found));
        }
        self.show(format!("fd-{number}").as_bytes());
        Some(Fd { shown: &self.shown, ..Fd::bare(found) })
    }

    /// Keeps a name as a recorder shows it beside a descriptor.
    fn show(&mut self, name: &[u8]) {
        self.shown.clear();
        if !name.starts_with(b"/") {
            self.shown.extend_from_slice(b"./");
        }
        self.shown.extend_from_slice(name);
    }
}

/// A call, as far as the log tells.
#[derive(Clone, Copy, Debug, Default)]
pub struct Called<'a> {
    /// Its function.
    pub function: &'a [u8],
    /// The process and thread of the call.
    pub who: Who,
    /// The file, or the first of two names.
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

/// The call and its outcome. `None`: unknown, and counted.
pub fn understand<'a>(
    called: &Called<'a>,
    files: &'a mut Files,
    gaps: &mut Gaps,
) -> Option<(Call<'a>, Outcome<'a>)> {
    let (act, letters) = find_function(called.function).unwrap_or((Act::WithoutOperation, b""));
    let is_on_one = letters.iter().any(|letter| b"fp".contains(letter)) && !letters.contains(&b'F');
    let act = match act {
        Act::On(_) | Act::Whole(_) | Act::Enter | Act::Map if is_on_one => act,
        Act::On(_) | Act::Send | Act::WithoutOperation => Act::WithoutOperation,
        _ => Act::Other,
    };
    let mut call = Call { at: At::here(called.file), to: At::here(called.other), ..Call::new(act) };
    if matches!(act, Act::WithoutOperation | Act::Other) {
        return Some((call, outcome(called, &call)));
    }
    if let Act::On(Op::Fopen | Op::Fcreat) = act {
        call.flags = match act {
            Act::On(Op::Fcreat) => 1 | O_CREAT | O_TRUNC,
            _ if !letters.contains(&b'M') => called.flags.unwrap_or(FLAGS_UNKNOWN),
            _ if called.mode.is_empty() => FLAGS_UNKNOWN,
            _ => flags_of_mode(called.mode),
        };
        return opened(called, call, files, gaps);
    }
    if letters.contains(&b'f') {
        let Some(fd) = files.find(called.who, called.file, act == Act::On(Op::Fclose)) else {
            gaps.add_name(Gap::UnknownFiles, called.function);
            return None;
        };
        call.at = At::open(fd);
    }
    fill(called, &mut call, letters);
    if called.result.is_none() {
        gaps.add(Gap::NoResults);
    }
    Some((call, outcome(called, &call)))
}

/// A file is opened: the result is a descriptor of ours.
fn opened<'a>(
    called: &Called<'a>,
    call: Call<'a>,
    files: &mut Files,
    gaps: &mut Gaps,
) -> Option<(Call<'a>, Outcome<'a>)> {
    if called.file.is_empty() {
        gaps.add_name(Gap::UnknownFiles, called.function);
        return None;
    }
    if called.result.is_some_and(|result| result < 0) {
        return Some((call, Outcome::failure(ERRNO_UNKNOWN)));
    }
    if called.result.is_none() {
        gaps.add(Gap::NoResults);
    }
    let fd = files.open(called.who, called.file);
    if fd.is_none() {
        gaps.add(Gap::Impossible);
    }
    Some((call, Outcome::success(fd?)))
}

/// Numbers of the call.
fn fill(called: &Called<'_>, call: &mut Call<'_>, letters: &[u8]) {
    let offset = called.offset.and_then(|offset| u64::try_from(offset).ok());
    let count = called.count.unwrap_or(0);
    call.bytes = match call.act {
        Act::On(Op::Fread | Op::Fwrite) | Act::Map => {
            count.saturating_mul(called.size.unwrap_or(1))
        }
        Act::On(Op::Truncate | Op::Ftruncate) => count,
        Act::On(Op::Fallocate) => offset.unwrap_or(0).saturating_add(count),
        Act::On(Op::Chmod) => MODE_UNKNOWN,
        _ => 0,
    };
    call.offset = offset.filter(|_| letters.contains(&b'o'));
    if let Act::Whole(_) = call.act {
        call.flags = FLAGS_UNKNOWN;
    }
}

/// How a call ended; one without a result did what it was asked to do.
fn outcome<'a>(called: &Called<'_>, call: &Call<'_>) -> Outcome<'a> {
    let result = called.result;
    if result.is_some_and(|result| result < 0) && call.act != Act::Map {
        return Outcome::failure(ERRNO_UNKNOWN);
    }
    Outcome::success(match call.act {
        Act::On(Op::Fread | Op::Fwrite) => match result {
            // Elements.
            Some(count) if matches!(called.function, b"fread" | b"fwrite") => {
                count.saturating_mul(number_of(called.size.unwrap_or(1)))
            }
            Some(count) => count,
            None => number_of(call.bytes),
        },
        Act::On(Op::Fseek) => position(called),
        _ => 0,
    })
}

/// The position that a seek leads to; negative: not told.
fn position(called: &Called<'_>) -> i64 {
    match (called.function, called.whence) {
        (b"lseek" | b"lseek64", _) if called.result.is_some() => called.result.unwrap_or(-1),
        (b"rewind", _) => 0,
        (_, Some(SEEK_SET)) => called.offset.unwrap_or(-1),
        _ => -1,
    }
}

/// A number of bytes as a return value.
pub fn number_of(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Flags of an `fopen` with this mode: "r+".
pub fn flags_of_mode(mode: &[u8]) -> u32 {
    let access = if mode.contains(&b'+') { 2 } else { u32::from(mode.first() != Some(&b'r')) };
    access
        | match mode.first() {
            Some(b'w') => O_CREAT | O_TRUNC,
            Some(b'a') => O_CREAT | O_APPEND,
            _ => 0,
        }
}

/// Decimal digits alone, as a number.
pub fn number(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_of(fd: Option<Fd<'_>>) -> (i64, String) {
        let fd = fd.unwrap();
        (fd.number, String::from_utf8_lossy(fd.shown).into_owned())
    }

    fn who(process: u64, thread: u64) -> Who {
        Who { process, thread }
    }

    #[test]
    fn names_mean_what_was_opened_last() {
        let mut files = Files::default();
        let mut open = |process, thread| files.open(who(process, thread), b"/f");
        assert_eq!([open(1, 1), open(1, 1), open(2, 2)], [Some(0), Some(1), Some(2)]);
        assert_eq!(shown_of(files.find(who(1, 7), b"/f", false)), (1, String::new()));
        assert_eq!(shown_of(files.find(who(1, 1), b"/f", true)), (1, String::new()));
        assert_eq!(shown_of(files.find(who(1, 1), b"/f", false)), (0, String::new()));
        assert_eq!(shown_of(files.find(who(1, 1), b"g", false)), (1, "./g".into()));
        assert_eq!(shown_of(files.find(who(1, 1), b"g", false)), (1, String::new()));
        assert_eq!(shown_of(files.find(who(3, 3), b"/h", true)), (3, "/h".into()));
        assert_eq!(files.open(who(1, 1), b"/i"), Some(3));
    }

    #[test]
    fn a_thread_means_what_it_opened_itself() {
        let mut files = Files::default();
        for thread in 0..3 {
            files.open(who(1, thread), b"/f");
        }
        assert_eq!(shown_of(files.find(who(1, 1), b"/f", false)), (1, String::new()));
        assert_eq!(shown_of(files.find(who(1, 0), b"/f", true)), (0, String::new()));
        assert_eq!(shown_of(files.find(who(1, 0), b"/f", false)), (2, String::new()));
    }

    #[test]
    fn numbers_mean_the_latest_file_without_one() {
        let mut files = Files::default();
        let me = who(1, 1);
        files.open(me, b"a");
        files.open(me, b"b");
        assert_eq!(shown_of(files.find(me, b"7", false)), (1, String::new()));
        assert_eq!(shown_of(files.find(me, b"8", false)), (0, String::new()));
        assert_eq!(shown_of(files.find(me, b"9", false)), (2, "./fd-9".into()));
        assert_eq!(shown_of(files.find(me, b"7", true)), (1, String::new()));
        files.open(me, b"c");
        assert_eq!(shown_of(files.find(me, b"7", false)), (1, String::new()));
        assert!(files.find(me, b"1", false).is_none());
    }

    #[test]
    fn too_many_files_are_refused() {
        let mut files = Files::default();
        let me = who(1, 1);
        assert!((0..OPEN_MAX).all(|_| files.open(me, b"f").is_some()));
        assert_eq!(files.open(me, b"f"), None);
        files.find(me, b"f", true);
        assert!(files.open(me, b"f").is_some());
    }

    #[test]
    fn modes_are_flags() {
        let flags = ["r", "rb+", "w", "a+", "x"].map(|mode| flags_of_mode(mode.as_bytes()));
        assert_eq!(flags, [0, 2, 0o1101, 0o2102, 1]);
        assert_eq!((number(b"12"), number(b"1a"), number(b"")), (Some(12), None, None));
    }
}

//! Descriptors for logs that have none: they name the file of each call, or a number that no opening gave.
//!
//! ```text
//! open /d/f  ─▶ descriptor 3      read /d/f ─▶ descriptor 3, the latest one of that name      close /d/f
//! open /d/f  ─▶ descriptor 3      pread 7   ─▶ 7 is from now on the latest open file without a number
//! ```
//!
//! The resolver then follows the descriptors as in logs of strace. Each process has its own.

use crate::record::{At, CWD, Call, FLAGS_UNKNOWN, Fd, Name};
use hashbrown::HashMap;
use model::open_flags::{O_APPEND, O_CREAT, O_TRUNC};
use rustc_hash::FxBuildHasher;

/// Files that are open at once; the resolver follows as many.
const OPEN_MAX: usize = 1 << 20;

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

type Opened = Vec<(u64, i64)>;

/// Open files by their names.
#[derive(Debug, Default)]
pub struct ByName {
    /// By process and name: thread and descriptor, the latest one last.
    open: HashMap<(u64, Box<[u8]>), Opened, FxBuildHasher>,
    numbers: Numbers,
    shown: Vec<u8>,
}

impl ByName {
    /// A thread opened the file: its descriptor. `None`: too many are open.
    pub fn open(&mut self, who: Who, name: &[u8]) -> Option<i64> {
        let number = self.numbers.take()?;
        self.open.entry((who.process, name.into())).or_default().push((who.thread, number));
        Some(number)
    }

    /// The descriptor of a file; one that nobody opened shows its name. `None`: too many are open.
    pub fn find(&mut self, who: Who, name: &[u8]) -> Option<Fd<'_>> {
        let all = self.open.get(&(who.process, Box::from(name)));
        if let Some((_, number)) = all.and_then(|all| all.get(latest(all, who.thread)?)) {
            return Some(Fd::bare(*number));
        }
        let number = self.open(who, name)?;
        Some(Fd { shown: shown(&mut self.shown, name), ..Fd::bare(number) })
    }

    /// The same of one that is closed with this call.
    pub fn close(&mut self, who: Who, name: &[u8]) -> Option<Fd<'_>> {
        let key = (who.process, Box::from(name));
        let known = self.open.contains_key(&key);
        self.find(who, name)?;
        let all = self.open.get_mut(&key)?;
        let (_, number) = all.remove(latest(all, who.thread)?);
        if all.is_empty() {
            self.open.remove(&key);
        }
        self.numbers.free.push(number);
        let shown = if known { b"" } else { shown(&mut self.shown, name) };
        Some(Fd { shown, ..Fd::bare(number) })
    }
}

/// Where the latest one is that the thread itself opened; without one, that any opened.
fn latest(all: &[(u64, i64)], thread: u64) -> Option<usize> {
    let own = all.iter().rposition(|open| open.0 == thread);
    own.or_else(|| all.len().checked_sub(1))
}

/// Open files by the numbers that later calls have for them.
#[derive(Debug, Default)]
pub struct ByNumber {
    bound: HashMap<(u64, u64), i64, FxBuildHasher>,
    unbound: HashMap<u64, Vec<i64>, FxBuildHasher>,
    numbers: Numbers,
    shown: Vec<u8>,
}

impl ByNumber {
    /// A process opened a file: its descriptor. `None`: too many are open.
    pub fn open(&mut self, process: u64) -> Option<i64> {
        let number = self.numbers.take()?;
        self.unbound.entry(process).or_default().push(number);
        Some(number)
    }

    /// What `number` means: what it meant before, or the latest open file that has no number yet. One
    /// that the log does not open at all is called `fd-7`.
    pub fn find(&mut self, process: u64, number: u64) -> Option<Fd<'_>> {
        if let Some(number) = self.bound.get(&(process, number)).copied() {
            return Some(Fd::bare(number));
        }
        if let Some(found) = self.unbound.get_mut(&process).and_then(Vec::pop) {
            self.bound.insert((process, number), found);
            return Some(Fd::bare(found));
        }
        let found = self.numbers.take()?;
        self.bound.insert((process, number), found);
        let name = format!("fd-{number}");
        Some(Fd { shown: shown(&mut self.shown, name.as_bytes()), ..Fd::bare(found) })
    }

    /// The same of one that is closed with this call.
    pub fn close(&mut self, process: u64, number: u64) -> Option<Fd<'_>> {
        let found = self.find(process, number)?.number;
        self.bound.remove(&(process, number));
        self.numbers.free.push(found);
        Some(Fd::bare(found))
    }
}

/// A name as a recorder shows it beside a descriptor.
fn shown<'a>(buffer: &'a mut Vec<u8>, name: &[u8]) -> &'a [u8] {
    buffer.clear();
    if !name.starts_with(b"/") {
        buffer.extend_from_slice(b"./");
    }
    buffer.extend_from_slice(name);
    buffer
}

/// A name without escapes.
pub fn name(text: &[u8]) -> Name<'_> {
    Name { text, escaped: false, cut: false }
}

/// A name as seen from the current directory.
pub fn at(text: &[u8]) -> At<'_> {
    At { dir: Fd::bare(CWD), name: name(text) }
}

/// Opens a file; `None`: the log does not tell with which flags.
pub fn opening(text: &[u8], flags: Option<u32>) -> Call<'_> {
    Call::Open { at: at(text), flags: flags.unwrap_or(FLAGS_UNKNOWN) }
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
        let mut files = ByName::default();
        let mut open = |process, thread| files.open(who(process, thread), b"/f");
        assert_eq!([open(1, 1), open(1, 1), open(2, 2)], [Some(0), Some(1), Some(2)]);
        assert_eq!(shown_of(files.find(who(1, 7), b"/f")), (1, String::new()));
        assert_eq!(shown_of(files.close(who(1, 1), b"/f")), (1, String::new()));
        assert_eq!(shown_of(files.find(who(1, 1), b"/f")), (0, String::new()));
        assert_eq!(shown_of(files.find(who(1, 1), b"g")), (1, "./g".into()));
        assert_eq!(shown_of(files.find(who(1, 1), b"g")), (1, String::new()));
        assert_eq!(shown_of(files.close(who(3, 3), b"/h")), (3, "/h".into()));
        assert_eq!(files.open(who(1, 1), b"/i"), Some(3));
    }

    #[test]
    fn a_thread_means_what_it_opened_itself() {
        let mut files = ByName::default();
        for thread in 0..3 {
            files.open(who(1, thread), b"/f");
        }
        assert_eq!(shown_of(files.find(who(1, 1), b"/f")), (1, String::new()));
        assert_eq!(shown_of(files.close(who(1, 0), b"/f")), (0, String::new()));
        assert_eq!(shown_of(files.find(who(1, 0), b"/f")), (2, String::new()));
    }

    #[test]
    fn numbers_mean_the_latest_file_without_one() {
        let mut files = ByNumber::default();
        files.open(1);
        files.open(1);
        assert_eq!(shown_of(files.find(1, 7)), (1, String::new()));
        assert_eq!(shown_of(files.find(1, 8)), (0, String::new()));
        assert_eq!(shown_of(files.find(1, 9)), (2, "./fd-9".into()));
        assert_eq!(shown_of(files.close(1, 7)), (1, String::new()));
        files.open(1);
        assert_eq!(shown_of(files.find(1, 7)), (1, String::new()));
    }

    #[test]
    fn too_many_files_are_refused() {
        let mut files = ByName::default();
        let me = who(1, 1);
        assert!((0..OPEN_MAX).all(|_| files.open(me, b"f").is_some()));
        assert_eq!(files.open(me, b"f"), None);
        files.close(me, b"f");
        assert!(files.open(me, b"f").is_some());
    }

    #[test]
    fn modes_are_flags() {
        let flags = ["r", "rb+", "w", "a+", "x"].map(|mode| flags_of_mode(mode.as_bytes()));
        assert_eq!(flags, [0, 2, 0o1101, 0o2102, 1]);
        assert_eq!((number(b"12"), number(b"1a"), number(b"")), (Some(12), None, None));
    }
}

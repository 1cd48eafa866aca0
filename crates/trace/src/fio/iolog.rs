//! `write_iolog` of fio.
//!
//! ```text
//! fio version 3 iolog                     fio version 2 iolog
//! 150 /d/f open                           /d/f open
//! 154 /d/f read 4096 4096                 /d/f read 4096 4096
//! ```
//!
//! Version 3 has the microsecond at which each operation was issued, version 2 none. In version 2,
//! `wait N` goes on N milliseconds after the start: so fio replays it, whatever its manual says.

use crate::gaps::{Gap, Gaps};
use crate::lines::Lines;
use crate::named::{ByName, Who, number, opening};
use crate::record::{Call, Fd, Outcome, Record};
use crate::scanner::{Found, LineFormat};
use model::Op;

/// Reads one log.
#[derive(Default)]
pub struct Iolog {
    version: u8,
    files: ByName,
    now_ns: u64,
    /// The file's name in the line.
    file: (usize, usize),
    action: Action,
}

/// The action of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Action {
    #[default]
    Open,
    Close,
    Read {
        offset: u64,
        bytes: u64,
    },
    Write {
        offset: u64,
        bytes: u64,
    },
    Sync,
    Datasync,
    /// Operations that Parabench does not have.
    Trim,
    SyncRange,
}

/// A line without its time.
enum Said {
    Action(Action),
    Wait(u64),
    Nothing,
}

impl Iolog {
    /// Reads the line; `None`: its form is unknown.
    fn take(&mut self, line: &[u8], gaps: &mut Gaps) -> Option<Found> {
        if let Some(version) = version(line) {
            self.version = version;
            return Some(Found::Nothing);
        }
        let (time, rest) = match self.version {
            3 => split_time(line)?,
            _ => (None, line),
        };
        let (file, said) = said(rest)?;
        if let Some(us) = time {
            let now_ns = us.saturating_mul(1000);
            if now_ns < self.now_ns {
                gaps.add(Gap::Backwards);
            }
            self.now_ns = now_ns;
        }
        let start = line.len() - rest.len();
        self.file = (start, start + file);
        match said {
            Said::Nothing => return Some(Found::Nothing),
            Said::Wait(ms) => {
                self.now_ns = self.now_ns.max(ms.saturating_mul(1_000_000));
                return Some(Found::Nothing);
            }
            Said::Action(action) => self.action = action,
        }
        if self.version != 3 && self.now_ns == 0 {
            gaps.add(Gap::NoTimes);
        }
        Some(Found::Record(self.now_ns))
    }
}

impl LineFormat for Iolog {
    fn understand(&mut self, lines: &Lines, gaps: &mut Gaps) -> Found {
        self.take(lines.line().trim_ascii_end(), gaps).unwrap_or(Found::Unknown)
    }

    fn record<'a>(&'a mut self, lines: &'a Lines, gaps: &mut Gaps) -> Option<Record<'a>> {
        let (line, now_ns, action) = (lines.number(), self.now_ns, self.action);
        let file = &lines.line()[self.file.0..self.file.1];
        gaps.add(Gap::NoResults);
        let plain = Record::at(line, 0, now_ns);
        if action == Action::Open {
            let Some(fd) = self.files.open(Who::default(), file) else {
                gaps.add(Gap::Impossible);
                return None;
            };
            let outcome = Outcome::success(fd);
            return Some(Record { name: b"open", call: opening(file, None), outcome, ..plain });
        }
        let fd = match action {
            Action::Close => self.files.close(Who::default(), file),
            _ => self.files.find(Who::default(), file),
        };
        let Some(fd) = fd else {
            gaps.add(Gap::Impossible);
            return None;
        };
        let (name, call, value) = call(action, fd);
        Some(Record { name, call, outcome: Outcome::success(value), ..plain })
    }
}

/// Name, call and result of an operation that did what it was asked to do.
fn call(action: Action, fd: Fd<'_>) -> (&'static [u8], Call<'_>, i64) {
    let moved = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    match action {
        Action::Open | Action::Close => (b"close", Call::Close { fd }, 0),
        Action::Read { offset, bytes } => {
            (b"read", Call::Read { fd, bytes, offset: Some(offset) }, moved(bytes))
        }
        Action::Write { offset, bytes } => {
            (b"write", Call::Write { fd, bytes, offset: Some(offset) }, moved(bytes))
        }
        Action::Sync => (b"sync", Call::Handle { op: Op::Fsync, fd }, 0),
        Action::Datasync => (b"datasync", Call::Handle { op: Op::Fdatasync, fd }, 0),
        Action::Trim => (b"trim", Call::WithoutOperation, 0),
        Action::SyncRange => (b"sync_file_range", Call::WithoutOperation, 0),
    }
}

/// `154 ` at the beginning of a line.
#[allow(clippy::option_option, reason = "no line, or a line that has its time")]
fn split_time(line: &[u8]) -> Option<(Option<u64>, &[u8])> {
    let at = memchr::memchr(b' ', line)?;
    Some((Some(number(&line[..at])?), line[at + 1..].trim_ascii_start()))
}

/// Length of the file's name at the beginning, and what is said of it. Names may hold blanks.
fn said(rest: &[u8]) -> Option<(usize, Said)> {
    let (head, last) = split_last(rest)?;
    let Some(bytes) = number(last) else {
        let said = match last {
            b"add" => Said::Nothing,
            b"open" => Said::Action(Action::Open),
            b"close" => Said::Action(Action::Close),
            _ => return None,
        };
        return Some((head.len(), said));
    };
    let (head, offset) = split_last(head)?;
    let offset = number(offset)?;
    let (file, action) = split_last(head)?;
    let said = match action {
        b"read" => Said::Action(Action::Read { offset, bytes }),
        b"write" => Said::Action(Action::Write { offset, bytes }),
        b"sync" => Said::Action(Action::Sync),
        b"datasync" => Said::Action(Action::Datasync),
        b"trim" => Said::Action(Action::Trim),
        b"sync_file_range" => Said::Action(Action::SyncRange),
        b"wait" => Said::Wait(offset),
        _ => return None,
    };
    Some((file.len(), said))
}

/// The last word, and what stands before it.
fn split_last(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_end();
    let at = memchr::memrchr2(b' ', b'\t', text)?;
    Some((text[..at].trim_ascii_end(), &text[at + 1..])).filter(|(head, _)| !head.is_empty())
}

/// `fio version 3 iolog`.
fn version(line: &[u8]) -> Option<u8> {
    match line {
        b"fio version 2 iolog" => Some(2),
        b"fio version 3 iolog" => Some(3),
        _ => None,
    }
}

/// The log begins like an iolog.
pub fn looks_like(beginning: &[u8]) -> bool {
    let first = beginning.split(|byte| *byte == b'\n').next().unwrap_or_default();
    version(first.trim_ascii_end()).is_some()
}

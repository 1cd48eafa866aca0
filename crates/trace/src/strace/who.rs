//! Whose line it is, where lines name their threads only while there are several.
//!
//! ```text
//! openat(AT_FDCWD, "f", O_RDONLY) = 3            strace -f on standard error
//! clone(child_stack=NULL, ...) = 18
//! strace: Process 18 attached
//! [pid    17] read(3, "", 1) = 0                 17 opened f
//! [pid    18] +++ exited with 0 +++
//! close(3) = 0                                   17 again
//! ```

use super::prefix::{Prefix, decimal, digits};
use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

/// Threads of such a log.
#[derive(Debug, Default)]
pub struct Who {
    /// Stands for the thread of lines that name none.
    first: u64,
    /// Lines of it were seen.
    is_seen: bool,
    is_over: bool,
    /// Its number, once lines show it.
    number: Option<u64>,
    /// Others that began and are not over.
    others: HashSet<u64, FxBuildHasher>,
}

impl Who {
    /// Lines without a thread belong to `first`.
    pub fn new(first: u64) -> Who {
        Who { first, ..Who::default() }
    }

    /// The thread of a line.
    pub fn of(&mut self, found: &Prefix<'_>) -> u64 {
        match found.thread {
            None if self.is_over && self.others.len() == 1 => self.others.iter().copied().sum(),
            None => {
                self.is_seen = true;
                self.first
            }
            Some(number) if !found.while_several => number,
            Some(number) if self.number == Some(number) => self.first,
            Some(number) if !self.is_seen || self.number.is_some() => number,
            Some(number) if self.others.contains(&number) => number,
            Some(number) => {
                self.number = Some(number);
                self.first
            }
        }
    }

    /// A line with a call that made a thread, or that strace says of itself: others begin.
    pub fn learn(&mut self, rest: &[u8]) {
        let begun = match rest.strip_prefix(b"strace: Process ").or(rest.strip_prefix(b"Process "))
        {
            Some(number) => decimal(digits(number).0),
            None if makes_thread(rest) => result(rest),
            None => None,
        };
        self.others.extend(begun.filter(|_| self.is_seen));
    }

    /// A thread is over.
    pub fn over(&mut self, thread: u64) {
        self.is_over |= thread == self.first;
        self.others.remove(&thread);
    }
}

fn makes_thread(rest: &[u8]) -> bool {
    let name = rest.strip_prefix(b"<... ").unwrap_or(rest);
    [&b"clone"[..], b"fork", b"vfork"].iter().any(|made| name.starts_with(made))
}

/// `= 18` at the end, before how long it took.
fn result(rest: &[u8]) -> Option<u64> {
    let at = memchr::memmem::rfind(rest, b" = ")?;
    decimal(digits(&rest[at + 3..]).0).filter(|number| *number > 0)
}

//! Settings of ranks, and facts of the plan that are looked up once for all of them.

use crate::call::OPEN_FLAGS;
use model::open_flags;
use model::plan::{Instr, Source};
use model::value::EvalError;
use model::{Op, Plan, Value};
use std::os::fd::RawFd;

/// How a rank executes its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// `sleep` does nothing.
    pub agile: bool,
    /// A failed operation ends the rank.
    pub stop_on_error: bool,
    /// Short operations count as failed.
    pub strict: bool,
    /// I/O inside labels is executed only in these and in what is inside them; empty: everywhere.
    pub only: Vec<String>,
    /// Where `print` writes; `None`: nowhere.
    pub print_fd: Option<RawFd>,
    /// Tells verified data of this run from that of others.
    pub run_mark: u16,
}

/// A plan and what was found in it; shared by all ranks of a process.
pub struct Prepared<'p> {
    pub(super) plan: &'p Plan,
    /// Constants that are open flags: index and flags, ascending by index.
    flags: Vec<(u32, i32)>,
    /// Instructions in loops with a time limit; empty: there is none.
    pub(super) timed: Vec<bool>,
}

impl<'p> Prepared<'p> {
    /// Looks through a plan.
    pub fn new(plan: &'p Plan) -> Prepared<'p> {
        let limited = plan.code.iter().any(|instr| matches!(instr, Instr::Limit { .. }));
        let timed = if limited { plan.timed(|_| true) } else { Vec::new() };
        Prepared { plan, flags: constant_flags(plan), timed }
    }

    /// The plan.
    pub fn plan(&self) -> &'p Plan {
        self.plan
    }

    /// The open flags of a constant.
    pub(super) fn flags(&self, constant: u32) -> Option<i32> {
        let at = self.flags.binary_search_by_key(&constant, |entry| entry.0).ok()?;
        Some(self.flags[at].1)
    }
}

fn constant_flags(plan: &Plan) -> Vec<(u32, i32)> {
    let flags = plan.code.iter().filter_map(|instr| {
        let Instr::Op { op: Op::Fopen, args, .. } = instr else { return None };
        let Source::Const(index) = plan.args.get(*args as usize + 1)?.source() else {
            return None;
        };
        let Value::Str(text) = plan.consts.get(index as usize)? else { return None };
        Some((index, parse_open_flags(text).ok()?))
    });
    let mut flags: Vec<(u32, i32)> = flags.collect();
    flags.sort_unstable();
    flags.dedup();
    flags
}

/// Reads flags of open(2).
pub(super) fn parse_open_flags(text: &[u8]) -> Result<i32, EvalError> {
    let refused = || {
        let found = format!("\"{}\"", String::from_utf8_lossy(text));
        EvalError::Type("open flags (\"r\" \"w\" \"a\" \"r+\" \"w+\" \"a+\" or O_ names)", found)
    };
    let words = std::str::from_utf8(text).map_err(|_| refused())?;
    if let Some(flags) = open_flags::flags_of_mode(words) {
        return Ok(flags as i32);
    }
    let mut names = open_flags::names(words).peekable();
    names.peek().ok_or_else(refused)?;
    names.try_fold(0, |flags, name| {
        OPEN_FLAGS.iter().find(|row| row.0 == name).map(|row| flags | row.1).ok_or_else(refused)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_and_names_are_flags() {
        for (text, flags) in [
            ("r", libc::O_RDONLY),
            ("rb+", libc::O_RDWR),
            ("w", libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC),
            ("a+", libc::O_RDWR | libc::O_CREAT | libc::O_APPEND),
            ("O_RDWR|O_CREAT", libc::O_RDWR | libc::O_CREAT),
            (" O_RDWR , O_EXCL O_CREAT ", libc::O_RDWR | libc::O_CREAT | libc::O_EXCL),
            ("O_RDONLY", 0),
        ] {
            assert_eq!(parse_open_flags(text.as_bytes()), Ok(flags), "{text}");
        }
    }

    #[test]
    fn names_are_matched_whole() {
        for text in ["", "x", "b", "rw", "O_RDW", "O_RDWRX", "O_RDWR+O_CREAT", "|", "o_rdwr"] {
            assert!(parse_open_flags(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse_open_flags(b"\xff").is_err());
    }
}

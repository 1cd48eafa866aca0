//! Shells that only look names up: they search the command that they start, and are no ranks.
//!
//! ```text
//! sh /root/.pyenv/shims/python     stat("/usr/local/bin/readlink"), stat("."), ... and then execve
//! ```
//!
//! What a shell looks up waits here until its process does something else with a file that is kept: then it was
//! part of the work. At the end the rest is left out and counted.

use super::Resolver;
use super::threads::Thread;
use crate::gaps::Gap;
use crate::selection::Selection;
use model::Op;
use model::event::{Details, Event};

const SHELLS: &[&[u8]] = &[b"sh", b"bash", b"dash", b"zsh", b"ksh", b"ash", b"busybox", b"env"];

/// A shell that looks up more names than this measures that.
const LOOKUPS_MAX: usize = 4096;

/// Lookups of shells that have no rank, by place of the thread.
pub(super) type Lookups = std::collections::BTreeMap<u32, Vec<(Event, Details)>>;

fn is_shell(thread: &Thread) -> bool {
    let name = thread.command.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    SHELLS.contains(&name)
}

impl Resolver<'_> {
    /// Gives an event to the thread's rank; the first lookups of a shell wait.
    pub(super) fn give(&mut self, thread: u32, op: Op, event: &Event, details: &Details) {
        if self.is_lookup_of_shell(thread, op) {
            let waiting = self.lookups.entry(thread).or_default();
            waiting.push((*event, *details));
            if waiting.len() <= LOOKUPS_MAX {
                return;
            }
            return self.give_waiting(thread);
        }
        self.give_waiting(thread);
        self.sorter.event(self.threads.rank(thread), event, details);
    }

    fn is_lookup_of_shell(&mut self, thread: u32, op: Op) -> bool {
        let looks_up = matches!(op, Op::Stat | Op::Lstat | Op::Lookup | Op::Readlink);
        let all_files = self.scope.which != Selection::Data;
        let has_rank = self.threads.at(thread).rank.is_some();
        looks_up
            && !all_files
            && !has_rank
            && is_shell(self.threads.at(thread))
            && self.threads.rank_in_job(thread).is_none()
    }

    fn give_waiting(&mut self, thread: u32) {
        for (event, details) in self.lookups.remove(&thread).into_iter().flatten() {
            self.sorter.event(self.threads.rank(thread), &event, &details);
        }
    }

    /// The log is over: what still waits is left out, unless nothing else is there.
    pub(super) fn finish_shells(&mut self) {
        let threads: Vec<u32> = self.lookups.keys().copied().collect();
        if self.threads.ranks == 0 {
            return threads.into_iter().for_each(|thread| self.give_waiting(thread));
        }
        let count: usize = self.lookups.values().map(Vec::len).sum();
        self.gaps.add_many(Gap::Shells, count as u64);
    }
}

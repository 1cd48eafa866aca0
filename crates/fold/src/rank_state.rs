//! The statements of a rank as they are made: labels that are open, variables of open files.

use super::barriers::Coming;
use super::irregular::finish;
use super::logged::Logged;
use super::loops::Folder;
use super::order::Action;
use super::statement::Alike;
use super::tree::{Gap, Node};
use model::event::NO_ID;
use std::collections::HashMap;

/// EBADF: an operation on a file that could not be opened.
const EBADF: u16 = 9;

/// Operations between getting a lock and the first for which others were waited for, at most.
const LOCKED: usize = 8;

/// A label that is open, or the program.
#[derive(Debug, Default)]
pub struct Level {
    /// Number of its name, its shape and the numbers in it.
    pub label: Option<(u32, u32, Vec<i64>)>,
    pub folder: Folder,
}

/// A rank's statements so far.
#[derive(Debug, Default)]
pub struct RankState {
    pub rank: u32,
    pub levels: Vec<Level>,
    /// Variables of open files.
    pub variables: HashMap<u32, u32>,
    pub taken: Vec<bool>,
    /// End of the last operation.
    pub last_ns: u64,
    /// It is a process that was started later, and has not begun yet.
    pub begins_late: bool,
    pub operations: u64,
    pub adopted: Vec<u64>,
}

impl RankState {
    /// A wait for a lock comes before the operations whose signals are waited for: only the part of the pause
    /// behind the last of these signals belongs to the operation.
    pub fn waits_ahead(&mut self, entry: &Logged, at: usize, actions: &[(usize, Action)]) {
        let (start_ns, waited_ns) = (entry.event.start_ns, entry.waited_ns());
        if waited_ns == 0 || waited_ns < start_ns.saturating_sub(self.last_ns) / 2 {
            return;
        }
        let near = actions.iter().take_while(|(place, _)| *place <= at + LOCKED);
        let free = near.filter_map(|(_, action)| action.free_ns()).filter(|ns| *ns <= start_ns);
        self.last_ns = free.fold(self.last_ns, u64::max);
    }

    /// The pause before a barrier of the log.
    pub fn gap_to(&mut self, coming: Coming) -> Option<Gap> {
        // What comes before the first operation is the start of the process.
        let is_start = coming.place == 0 && self.last_ns == 0;
        let ns = coming.came_ns.filter(|_| !is_start)?.saturating_sub(self.last_ns);
        let waits = std::mem::take(&mut self.begins_late);
        Some(Gap { waited_ns: coming.waited_ns.min(ns), ..Gap::once(ns, waits) })
    }

    pub fn push(&mut self, node: Node) {
        if let Some(level) = self.levels.last_mut() {
            level.folder.push(node);
        }
    }

    /// Labels that are open and wanted.
    pub fn common(&self, wanted: &[u32]) -> usize {
        let open = self.levels[1..].iter().filter_map(|level| level.label.as_ref());
        open.zip(wanted).take_while(|(label, wanted)| label.0 == **wanted).count()
    }

    /// Closes labels until `keep` are open.
    pub fn leave(&mut self, keep: usize, alike: &mut Alike<'_>) {
        while self.levels.len() > keep + 1 {
            let Some(Level { label: Some((_, shape, numbers)), folder }) = self.levels.pop() else {
                return;
            };
            self.push(Node::block(shape, &numbers, finish(folder, alike)));
        }
    }

    /// The lowest variable that is free.
    pub fn free(&self) -> u32 {
        self.taken.iter().position(|taken| !taken).unwrap_or(self.taken.len()) as u32
    }

    pub fn take(&mut self, instance: u32) -> u32 {
        let variable = self.free();
        if variable as usize == self.taken.len() {
            self.taken.push(false);
        }
        self.taken[variable as usize] = true;
        self.variables.insert(instance, variable);
        variable
    }

    /// The variable that an operation that opens gives its file to.
    pub fn opens(&mut self, entry: &Logged) -> u32 {
        match entry.details.instance {
            instance if instance != NO_ID && entry.is_ok() => self.take(instance),
            _ => self.free(),
        }
    }

    /// The variable of an operation's file; that of an open that failed is still free.
    pub fn variable(&mut self, entry: &Logged, closes: bool) -> Option<u32> {
        let instance = entry.details.instance;
        match self.variables.get(&instance).copied() {
            Some(variable) => {
                if closes {
                    self.variables.remove(&instance);
                    self.taken[variable as usize] = false;
                }
                Some(variable)
            }
            None if entry.event.errno == EBADF => Some(self.free()),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_lock_waits_before_what_others_are_waited_for() {
        let wait = |free_ns| Action::Wait { from: 1, count: 1, free_ns };
        for (waited_us, place, free_ns, expected_ns) in [
            (900, 13, 800_000, 800_000),
            // It computed, the wait is far away, or was over later.
            (100, 13, 800_000, 100_000),
            (900, 40, 800_000, 100_000),
            (900, 13, 2_000_000, 100_000),
        ] {
            let mut entry = Logged::default();
            (entry.event.start_ns, entry.details.waited_us) = (1_000_000, waited_us);
            let mut state = RankState { last_ns: 100_000, ..RankState::default() };
            state.waits_ahead(
                &entry,
                12,
                &[(12, Action::Signal { to: 2 }), (place, wait(free_ns))],
            );
            assert_eq!(state.last_ns, expected_ns, "{waited_us} {place} {free_ns}");
        }
    }
}

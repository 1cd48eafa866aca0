//! Which names are there, as results show: of two calls that overlap in time they tell which came first.
//!
//! ```text
//! rank 0   rmdir w          200 ........ 310
//! rank 1   stat w: ENOENT   190 ............ 320      comes last, though it began first
//! ```

use super::super::log::{Logged, takes_handle};
use super::{EEXIST, ENOENT, Effect, effect};
use model::Op;
use model::event::{NO_ID, RENAME_EXCHANGE};
use model::open_flags::{O_CREAT, O_EXCL};
use std::collections::HashMap;
use std::rc::Rc;

/// Directories above each name, as far as they are names of the log.
pub(super) type Parents = HashMap<u32, Vec<u32>>;

/// What is known so far.
#[derive(Debug, Default)]
pub(super) struct There {
    known: HashMap<u32, bool>,
    parents: Rc<Parents>,
}

impl There {
    /// Nothing is known yet.
    pub fn new(parents: &Rc<Parents>) -> There {
        There { known: HashMap::new(), parents: Rc::clone(parents) }
    }

    /// There is something of that name, as far as that is known.
    pub fn has(&self, path: u32) -> Option<bool> {
        self.known.get(&path).copied()
    }

    fn above(&self, path: u32) -> impl Iterator<Item = u32> + '_ {
        self.parents.get(&path).into_iter().flatten().copied()
    }

    /// Directories above a name that are known to be missing.
    pub fn missing_above(&self, path: u32) -> Vec<u32> {
        self.above(path).filter(|parent| self.has(*parent) == Some(false)).collect()
    }

    /// It cannot have ended so now: another call that begins before its end comes first.
    pub fn contradicts(&self, entry: &Logged) -> bool {
        let (event, Some(op)) = (&entry.event, entry.op()) else { return false };
        if event.path == NO_ID || takes_handle(op) || op == Op::Symlink {
            return false;
        }
        let own = self.has(event.path);
        let lacks_parent = || !self.missing_above(event.path).is_empty();
        match event.errno {
            0 if is_new(op, flags(entry)) => own == Some(true) || lacks_parent(),
            0 if needs(op, flags(entry)) => own == Some(false) || lacks_parent(),
            0 => lacks_parent(),
            EEXIST => own == Some(false),
            // What is made is missing: its directory was.
            ENOENT if makes(op, flags(entry)) => {
                self.above(event.path).last().and_then(|above| self.has(above)) == Some(true)
                    && !lacks_parent()
            }
            ENOENT if event.path2 == NO_ID => own == Some(true) && !lacks_parent(),
            _ => false,
        }
    }

    /// What an operation has shown.
    pub fn learn(&mut self, entry: &Logged) {
        let (event, Some(op)) = (&entry.event, entry.op()) else { return };
        if event.errno != 0 || event.path == NO_ID || (takes_handle(op) && op != Op::Linkat) {
            return;
        }
        let swaps = op == Op::Rename && event.requested_bytes == RENAME_EXCHANGE;
        let is_there = swaps || !removes(op);
        let is_name = op != Op::Symlink && effect(op, flags(entry), 0) != Effect::Nothing;
        if is_name {
            self.known.insert(event.path, is_there);
        }
        if event.path2 != NO_ID {
            self.known.insert(event.path2, true);
        }
    }
}

fn flags(entry: &Logged) -> u32 {
    if entry.details.open_flags == NO_ID { 0 } else { entry.details.open_flags }
}

fn removes(op: Op) -> bool {
    matches!(op, Op::Rmdir | Op::Delete | Op::Pdelete | Op::Rename)
}

/// It succeeds only where nothing has that name.
fn is_new(op: Op, flags: u32) -> bool {
    op == Op::Mkdir || (op == Op::Fopen && flags & O_EXCL != 0)
}

fn makes(op: Op, flags: u32) -> bool {
    op == Op::Mkdir || op == Op::Fcreat || (op == Op::Fopen && flags & O_CREAT != 0)
}

/// It succeeds only where something has that name.
fn needs(op: Op, flags: u32) -> bool {
    removes(op) || effect(op, flags, 0) == Effect::Uses
}

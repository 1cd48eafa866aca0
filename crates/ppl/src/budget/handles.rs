//! Open files before the program runs: positions, and how many are open at once.

use super::abs::{Turn, Why};
use super::key::Key;
use model::plan::Pc;
use std::rc::Rc;

/// An open file.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    pub(super) key: Rc<Key>,
    /// `None`: not known any more, or another in every turn.
    pub(super) position: Option<u64>,
    /// The position in every turn of a loop that is looked at as a whole.
    pub(super) turn: Option<Turn>,
    /// Why it is not known.
    pub(super) why: Why,
    pub(super) appends: bool,
    /// The file that was there or was made; `None`: the open may fail.
    pub(super) file: Option<u32>,
    /// Loops around the open that are looked at as a whole.
    pub(super) level: u32,
    pub(super) weight: u64,
    /// Bytes asked for by reads without a position, and the number and the last place of them.
    pub(super) asked_bytes: u64,
    pub(super) reads: u64,
    pub(super) site: Option<Pc>,
    open: bool,
    /// The position before the current loop.
    before: Option<(u32, Option<u64>)>,
}

/// All handles of a walk.
#[derive(Debug, Default)]
pub(super) struct Handles {
    pub(super) list: Vec<Handle>,
    open: u64,
    pub(super) most: u64,
    depth: u32,
    /// Handles whose position moved in the current loops.
    moved: Vec<u32>,
}

/// State at the start of a loop.
pub(super) struct Mark {
    open: u64,
    moved: usize,
}

impl Handles {
    /// A new handle with this key, at its start.
    pub(super) fn open(&mut self, key: Rc<Key>, level: u32, weight: u64) -> u32 {
        self.open = self.open.saturating_add(1);
        self.most = self.most.max(self.open);
        self.list.push(Handle {
            key,
            position: Some(0),
            turn: None,
            why: Why::Never,
            appends: false,
            file: None,
            level,
            weight,
            asked_bytes: 0,
            reads: 0,
            site: None,
            open: true,
            before: None,
        });
        self.list.len() as u32 - 1
    }

    pub(super) fn close(&mut self, number: u32) {
        if std::mem::replace(&mut self.list[number as usize].open, false) {
            self.open = self.open.saturating_sub(1);
        }
    }

    /// Sets a position, and remembers the one before the innermost loop.
    pub(super) fn go_to(&mut self, number: u32, position: Option<u64>) {
        let depth = self.depth;
        let handle = &mut self.list[number as usize];
        if handle.before.is_none_or(|(known, _)| known < depth) && handle.level < depth {
            handle.before = Some((depth, handle.position));
            self.moved.push(number);
        }
        (handle.position, handle.turn, handle.why) = (position, None, Why::Never);
    }

    /// Sets a position that is another in every turn, or not known.
    pub(super) fn go_to_turn(&mut self, number: u32, turn: Option<Turn>, why: Why) {
        self.go_to(number, None);
        let handle = &mut self.list[number as usize];
        (handle.turn, handle.why) = (turn, why);
    }

    pub(super) fn enter_loop(&mut self) -> Mark {
        self.depth += 1;
        Mark { open: self.open, moved: self.moved.len() }
    }

    /// The other turns move positions as far as the first did, and leave as much open.
    /// `seeks`: positions are set in the loop.
    pub(super) fn leave_loop(&mut self, mark: Mark, turns: u64, seeks: bool) {
        let again = turns.saturating_sub(1);
        for number in self.moved.split_off(mark.moved) {
            let handle = &mut self.list[number as usize];
            let Some((_, before)) = handle.before.take() else { continue };
            handle.turn = None;
            handle.position = match (before, handle.position) {
                (Some(from), Some(to)) if to >= from && !seeks => {
                    Some(to.saturating_add((to - from).saturating_mul(again)))
                }
                _ => None,
            };
            // To the loop around it, all this is one move.
            if self.depth > 1 && handle.level < self.depth - 1 {
                handle.before = Some((self.depth - 1, before));
                self.moved.push(number);
            }
        }
        self.depth -= 1;
        let left_open = self.open.saturating_sub(mark.open);
        self.open = self.open.saturating_add(left_open.saturating_mul(again));
        self.most = self.most.max(self.open);
    }
}

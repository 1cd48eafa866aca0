//! Places of variables: the globals' or those of one proc's frame.
//!
//! Hidden slots (intermediate results, counters of loops) and loop variables are
//! used again by later statements, so that a long program needs few.

use crate::ast::Name;
use model::plan::{Operand, Slot};
use rustc_hash::FxHashMap;

/// The slots of the globals or of one proc.
#[derive(Default)]
pub(super) struct Frame {
    /// Slots are relative to a proc's frame.
    local: bool,
    /// Names of all slots; "" for hidden ones.
    pub(super) names: Vec<String>,
    temps: Vec<Slot>,
    /// How many of `temps` the current statement uses.
    used: usize,
    /// First of the three hidden slots of the loop at each depth.
    loops: Vec<Slot>,
    depth: usize,
    /// Loop variables whose loop has ended.
    free: FxHashMap<Name, Vec<Slot>>,
}

impl Frame {
    pub(super) fn of_proc() -> Frame {
        Frame { local: true, ..Frame::default() }
    }

    /// A slot for a variable.
    pub(super) fn fresh(&mut self, name: &str) -> Slot {
        let index = self.names.len() as u32;
        self.names.push(name.into());
        if self.local { Slot::local(index) } else { Slot(index) }
    }

    /// A slot for an intermediate result, until [`Frame::end_statement`].
    pub(super) fn temp(&mut self) -> Slot {
        if self.used == self.temps.len() {
            let slot = self.fresh("");
            self.temps.push(slot);
        }
        self.used += 1;
        self.temps[self.used - 1]
    }

    /// The slot of an intermediate result of the current statement.
    pub(super) fn held(&self, operand: Operand) -> Option<Slot> {
        self.temps[..self.used].iter().copied().find(|slot| Operand::slot(*slot) == operand)
    }

    /// Intermediate results are not needed any more.
    pub(super) fn end_statement(&mut self) {
        self.used = 0;
    }

    /// The three hidden slots of a loop, until [`Frame::leave_loop`].
    pub(super) fn enter_loop(&mut self) -> Slot {
        if self.depth == self.loops.len() {
            let slot = self.fresh("");
            self.fresh("");
            self.fresh("");
            self.loops.push(slot);
        }
        self.depth += 1;
        self.loops[self.depth - 1]
    }

    pub(super) fn leave_loop(&mut self) {
        self.depth -= 1;
    }

    /// A slot for the variable of a loop.
    pub(super) fn loop_variable(&mut self, name: Name, text: &str) -> Slot {
        match self.free.get_mut(&name).and_then(Vec::pop) {
            Some(slot) => slot,
            None => self.fresh(text),
        }
    }

    /// The loop of this variable has ended.
    pub(super) fn release(&mut self, name: Name, slot: Slot) {
        self.free.entry(name).or_default().push(slot);
    }
}

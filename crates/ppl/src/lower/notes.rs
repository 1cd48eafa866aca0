//! Notes for checks of the finished code: facts that the code itself does not show.

use crate::facts::SymbolId;
use model::Op;
use model::plan::{Operand, Span};
use model::with::OptionRow;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Everything noted.
#[derive(Default)]
pub(crate) struct Notes {
    /// All `with` statements that are executed.
    pub(crate) withs: Vec<With>,
    /// By index in [`model::Plan::procs`]: what each executes.
    pub(crate) procs: Vec<Inside>,
    /// Variables that take files opened with O_DIRECT: how often, and where it is asked for.
    pub(crate) opened_direct: FxHashMap<SymbolId, (u32, Span)>,
    /// Variables that take files which each rank opens alone.
    pub(crate) opened_alone: FxHashSet<SymbolId>,
    /// Statements for all members under a condition that differs between ranks.
    pub(crate) collectives: Vec<Collective>,
    /// The first statement that needs MPI.
    pub(crate) needs_mpi: Option<(Op, Span)>,
    /// Patterns that values name, or were probably meant to name.
    pub(crate) used: FxHashSet<SymbolId>,
}

/// A `with` statement.
pub(crate) struct With {
    pub(crate) asked: Vec<Asked>,
    pub(crate) inside: Inside,
}

/// The kinds of operations in some code.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Inside {
    pub(crate) ops: BTreeSet<Op>,
    /// Procs that it calls, by their indices in [`model::Plan::procs`].
    pub(crate) calls: FxHashSet<u32>,
    /// Constants switch some of it off.
    pub(crate) is_dead: bool,
    /// Functions ask for files: `size("f")`.
    pub(crate) asks: bool,
}

impl Inside {
    pub(crate) fn add(&mut self, op: Op) {
        self.ops.insert(op);
    }

    pub(crate) fn join(&mut self, other: &Inside) {
        self.ops.extend(&other.ops);
        self.calls.extend(&other.calls);
        self.is_dead |= other.is_dead;
        self.asks |= other.asks;
    }

    /// This code with all procs that it leads to.
    pub(crate) fn with_called(&self, procs: &[Inside]) -> Inside {
        let (mut all, mut todo, mut seen) = (self.clone(), vec![self], FxHashSet::default());
        while let Some(code) = todo.pop() {
            let new = code.calls.iter().filter(|proc| seen.insert(**proc));
            let new: Vec<&Inside> = new.filter_map(|proc| procs.get(*proc as usize)).collect();
            new.iter().for_each(|proc| all.join(proc));
            todo.extend(new);
        }
        all
    }
}

/// One of its options.
pub(crate) struct Asked {
    pub(crate) row: &'static OptionRow,
    pub(crate) value: Operand,
    /// `name=value`
    pub(crate) span: Span,
}

/// Something that all members of the active group have to do.
pub(crate) struct Collective {
    /// In words.
    pub(crate) what: String,
    pub(crate) span: Span,
    /// The condition around it that differs between ranks.
    pub(crate) condition: Span,
}

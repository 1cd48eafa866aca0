//! Calls that all who opened an MPI file make together.
//!
//! ```text
//! $h = pfopen("f", "crw");
//! group "io" pfwrite($h, 4k, 0, "all");    // the others of those who opened it never come
//! ```

use super::Lower;
use super::groups::ranks_in_words;
use crate::ast::{Expr, ExprId, Name};
use crate::diag::{Code, Diagnostic};
use model::Op;
use model::plan::Span;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// MPI files that variables hold.
#[derive(Default)]
pub(super) struct Handles {
    opens: FxHashMap<Name, Opens>,
    calls: Vec<Call>,
}

/// The `pfopen`s that a variable takes at top level.
struct Opens {
    ranks: Range<u32>,
    /// The first of them.
    span: Span,
    count: u32,
    /// All were made by the same ranks.
    same: bool,
}

/// A call on a file that all who opened it have to make.
struct Call {
    name: Name,
    op: Op,
    ranks: Range<u32>,
    span: Span,
}

impl Lower<'_> {
    /// A variable takes an MPI file.
    pub(super) fn opened(&mut self, name: Name, span: Span) {
        let Some(ranks) = self.active.clone() else { return };
        let first = Opens { ranks: ranks.clone(), span, count: 0, same: true };
        let opens = self.handles.opens.entry(name).or_insert(first);
        opens.count += 1;
        opens.same &= opens.ranks == ranks;
    }

    /// What all members have to do together must not stand where only some of them come.
    pub(super) fn needs_all(&mut self, op: Op, ids: &[Option<ExprId>; 4], span: Span) {
        if !op.is_collective() && !self.is_called_together(op, ids) {
            return;
        }
        self.collective(&format!("{op}, which all members do together,"), span);
        let handle = ids[0].map(|id| self.ast.expr(id));
        let active = self.active.clone().filter(|ranks| !ranks.is_empty() && self.is_alive());
        if let (Some(Expr::Var(name)), Some(ranks)) = (handle, active) {
            self.handles.calls.push(Call { name, op, ranks, span });
        }
    }

    /// A transfer says it by a word, or by the level of its pattern.
    fn is_called_together(&mut self, op: Op, ids: &[Option<ExprId>; 4]) -> bool {
        if !matches!(op, Op::Pfwrite | Op::Pfread) {
            return false;
        }
        let word = ids[3].and_then(|id| self.plain_string(id));
        let name = ids[1].and_then(|id| self.plain_string(id));
        let pattern = self.plan.patterns.iter().find(|known| Some(&known.name) == name.as_ref());
        matches!(word.as_deref(), Some("all" | "ordered"))
            || pattern.is_some_and(|pattern| pattern.level > 0)
    }

    /// Variables that hold nothing but files opened by the same ranks: do all of these call?
    pub(super) fn check_handles(&mut self) {
        for call in std::mem::take(&mut self.handles.calls) {
            let definitions = self.definition_count(call.name);
            let opens = self.handles.opens.get(&call.name);
            let sure = opens.filter(|opens| opens.same && opens.count == definitions);
            let all =
                |ranks: &Range<u32>| call.ranks.start <= ranks.start && ranks.end <= call.ranks.end;
            if let Some((ranks, opened)) = sure
                .filter(|opens| !all(&opens.ranks))
                .map(|opens| (opens.ranks.clone(), opens.span))
            {
                self.not_all_call(&call, &ranks, opened);
            }
        }
    }

    #[cold]
    fn not_all_call(&mut self, call: &Call, ranks: &Range<u32>, opened: Span) {
        let (op, name) = (call.op, self.ast.names.text(call.name));
        let message = format!(
            "expected {op} to be called by all that opened ${name} ({}), found {}",
            ranks_in_words(ranks),
            ranks_in_words(&call.ranks)
        );
        let diagnostic = Diagnostic::new(Code::HandleGroup, call.span, message)
            .related(opened, "it is opened here")
            .help("open the file in this group, or let all call: those who have no bytes too");
        self.reports.push(diagnostic);
    }
}

//! Notes what is opened and called on MPI files ([`crate::check::handles`]).

use super::Lower;
use super::notes::{Call, Opens};
use super::op::MOST;
use crate::ast::{Expr, ExprId};
use crate::facts::{Mention, SymbolId};
use model::Op;
use model::plan::Span;

/// Operations on MPI files that open what they name.
const NAMES_FILE: [Op; 3] = [Op::Pfopen, Op::Pwrite, Op::Pread];

impl Lower<'_> {
    /// A variable takes an MPI file.
    pub(super) fn opened(&mut self, symbol: SymbolId, span: Span) {
        if self.around.alone {
            self.notes.opened_alone.insert(symbol);
        }
        let Some(ranks) = self.around.active.clone() else { return };
        let first = Opens { ranks: ranks.clone(), span, count: 0, same: true };
        let opens = self.notes.opens.entry(symbol).or_insert(first);
        opens.count += 1;
        opens.same &= opens.ranks == ranks;
    }

    /// What all members have to do together must not stand where only some of them come; files
    /// that ranks open alone are nobody else's.
    pub(super) fn needs_all(&mut self, op: Op, ids: &[Option<ExprId>; MOST], span: Span) {
        if !op.is_collective() && !self.is_called_together(op, ids) {
            return;
        }
        let is_variable = |id: &ExprId| matches!(self.ast.expr(*id), Expr::Var(_));
        let handle = ids[0].filter(is_variable).map(|id| self.ast.expr_span(id).start);
        let handle = handle.and_then(|place| self.mentioned(place));
        let of_own = |file: &Mention| self.notes.opened_alone.contains(&file.symbol);
        if handle.as_ref().is_some_and(of_own) || self.around.alone && NAMES_FILE.contains(&op) {
            return;
        }
        self.collective(&format!("{op}, which all members do together,"), span);
        let active =
            self.around.active.clone().filter(|ranks| !ranks.is_empty() && self.is_alive());
        if let (Some(Mention { symbol, .. }), Some(ranks)) = (handle, active) {
            self.notes.calls.push(Call { symbol, op, ranks, span });
        }
    }

    /// A transfer says it by a word, or by the level of its pattern.
    fn is_called_together(&mut self, op: Op, ids: &[Option<ExprId>; MOST]) -> bool {
        if !matches!(op, Op::Pfwrite | Op::Pfread) {
            return false;
        }
        let word = ids[3].and_then(|id| self.plain_string(id));
        let name = ids[1].and_then(|id| self.plain_string(id));
        let pattern = self.plan.patterns.iter().find(|known| Some(&known.name) == name.as_ref());
        matches!(word.as_deref(), Some("all" | "ordered"))
            || pattern.is_some_and(|pattern| pattern.level > 0)
    }
}

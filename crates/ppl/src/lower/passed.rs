//! Notes what procs do with their arguments ([`crate::check::passed`]).

use super::Lower;
use super::notes::Param;
use crate::ast::{Expr, ExprId, Name};

impl Lower<'_> {
    /// The parameter of the proc being lowered that an argument is, as it was passed.
    fn passed_param(&self, id: ExprId) -> Option<Param> {
        let (Expr::Var(name), Some(proc)) = (self.ast.expr(id), &self.proc) else { return None };
        let number = proc.number.filter(|_| self.around.unsure == 0 && self.is_alive())?;
        let params = self.ast.procs[number as usize].params;
        let place = self.ast.exprs_in(params).position(|id| self.ast.expr(id) == Expr::Var(name));
        place.filter(|_| !proc.assigned.contains(&name)).map(|place| (number, place))
    }

    /// An argument has to name a pattern here.
    pub(super) fn note_needed(&mut self, id: ExprId) {
        let param = self.passed_param(id);
        self.notes.passed.needed.extend(param);
    }

    /// An argument of a call.
    pub(super) fn note_passed(&mut self, to: Param, id: ExprId) {
        if let Some(from) = self.passed_param(id) {
            self.notes.passed.handed_on.push((from, to));
        }
        if let Some(text) = self.plain_string(id).filter(|_| self.is_alive()) {
            self.notes.passed.texts.push((to, text, self.ast.expr_span(id)));
        }
    }

    /// A variable of the proc gets another value.
    pub(super) fn note_assigned(&mut self, name: Name) {
        if let Some(proc) = &mut self.proc {
            proc.assigned.push(name);
        }
    }
}

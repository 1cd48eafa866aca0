//! Names of patterns that reach their use through procs:
//!
//! ```text
//! define proc sweep($what) { $h = fopen("f", "r"); fread($h, $what); fclose($h); }
//! sweep("nosuch");            # E0302 here: sweep uses its first argument as a pattern
//! ```
//!
//! Not found: a parameter that is used under a condition, or after it was assigned; the run
//! says it then.

use super::Lower;
use crate::ast::{Expr, ExprId, Name};
use model::Value;
use model::plan::Span;
use rustc_hash::FxHashSet;

/// A proc, by its index into [`crate::ast::Ast::procs`], and the place of a parameter.
type Param = (u32, usize);

/// What procs do with their arguments.
#[derive(Default)]
pub(super) struct Passed {
    /// Parameters that have to name a pattern, or be a number.
    needed: FxHashSet<Param>,
    /// Parameters that are handed on to those of other procs.
    handed_on: Vec<(Param, Param)>,
    /// Texts in calls.
    texts: Vec<(Param, String, Span)>,
}

impl Lower<'_> {
    /// The parameter of the proc being lowered that an argument is, as it was passed.
    fn passed_param(&self, id: ExprId) -> Option<Param> {
        let (Expr::Var(name), Some(proc)) = (self.ast.expr(id), &self.proc) else { return None };
        let number = proc.number.filter(|_| self.unsure == 0 && self.is_alive())?;
        let params = self.ast.procs[number as usize].params;
        let place = self.ast.exprs_in(params).position(|id| self.ast.expr(id) == Expr::Var(name));
        place.filter(|_| !proc.assigned.contains(&name)).map(|place| (number, place))
    }

    /// An argument has to name a pattern here.
    pub(super) fn note_needed(&mut self, id: ExprId) {
        let param = self.passed_param(id);
        self.passed.needed.extend(param);
    }

    /// An argument of a call.
    pub(super) fn note_passed(&mut self, to: Param, id: ExprId) {
        if let Some(from) = self.passed_param(id) {
            self.passed.handed_on.push((from, to));
        }
        if let Some(text) = self.plain_string(id).filter(|_| self.is_alive()) {
            self.passed.texts.push((to, text, self.ast.expr_span(id)));
        }
    }

    /// A variable of the proc gets another value.
    pub(super) fn note_assigned(&mut self, name: Name) {
        if let Some(proc) = &mut self.proc {
            proc.assigned.push(name);
        }
    }

    /// All procs are known: reports texts that had to name a pattern.
    pub(super) fn check_passed(&mut self) {
        let Passed { mut needed, handed_on, texts } = std::mem::take(&mut self.passed);
        let mut before = None;
        while before != Some(needed.len()) {
            before = Some(needed.len());
            let more = handed_on.iter().filter(|(_, to)| needed.contains(to));
            let more: Vec<Param> = more.map(|(from, _)| *from).collect();
            needed.extend(more);
        }
        for (to, text, span) in texts {
            let is_number = Value::str(&text).as_int().is_ok();
            // Texts with variables in them are no names yet.
            if needed.contains(&to)
                && !is_number
                && !text.contains('$')
                && !self.patterns.contains_key(&text)
            {
                self.unknown_pattern(&text, span);
            }
        }
    }
}

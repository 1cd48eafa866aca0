//! Loops.

use super::Lower;
use super::stmt::{Flow, Nest, OpenLoop};
use super::until::Limit;
use super::value::Ev;
use crate::ast::{Expr, ExprId, Name, Repeat, StmtId};
use crate::diag::{Code, Diagnostic};
use model::Value;
use model::iteration;
use model::plan::{Instr, LoopCode, NO_SLOT, Slot, Span};
use model::types::Types;

/// Range of a loop.
struct Range {
    from: Ev,
    to: Ev,
    step: Ev,
}

impl Lower<'_> {
    /// `repeat`
    pub(super) fn repeat(&mut self, number: u32, span: Span) {
        let repeat = self.ast.repeats[number as usize];
        if repeat.in_list {
            return self.repeat_in(&repeat, span);
        }
        let range = self.range(&repeat);
        let turns = self.turns(&range, &repeat);
        let outer = (self.around.unsure, self.around.differs);
        let limit = repeat.until.and_then(|until| self.limit(until, span));
        let state = self.frame().enter_loop();
        self.around.unsure += u32::from(turns.is_none_or(|n| n == 0));
        if range.from.differs || range.to.differs || range.step.differs {
            let end = repeat.step.or(repeat.to).unwrap_or(repeat.from);
            let (start, end) = (self.ast.expr_span(repeat.from).start, self.ast.expr_span(end).end);
            self.around.differs = Some(Span { start, end });
        }
        let code = self.plan.loops.len() as u32;
        self.plan.loops.push(LoopCode {
            state,
            var: NO_SLOT,
            from: range.from.operand,
            to: range.to.operand,
            step: range.step.operand,
            counted: repeat.to.is_none(),
            timed: limit.is_some(),
            body: 0,
            exit: 0,
        });
        let variable =
            repeat.var.map(|var| self.bind_variable(var, range.from.differs || range.step.differs));
        self.emit(Instr::Loop { code }, span);
        self.plan.loops[code as usize].var = variable.unwrap_or(NO_SLOT);
        self.plan.loops[code as usize].body = self.here_pc();
        let off = turns == Some(0);
        self.switched_off(off, |lower| lower.loop_body(repeat.body, code, limit, span));
        if let Some(((name, _), slot)) = repeat.var.zip(variable) {
            self.frame().release(name, slot);
        }
        (self.around.unsure, self.around.differs) = outer;
    }

    /// The body, the way to the next iteration, and what stands behind the loop.
    pub(super) fn loop_body(&mut self, body: StmtId, code: u32, limit: Option<Limit>, span: Span) {
        self.around.loops.push(OpenLoop::default());
        let limit = limit.map(|mut limit| {
            self.at_limit(&mut limit);
            limit
        });
        self.nested(Nest::Loop, body);
        let open = self.around.loops.pop().unwrap_or_default();
        let next = self.here_pc();
        open.continues.iter().for_each(|jump| self.patch(*jump, next));
        self.emit(Instr::Next { code }, span);
        let exit = self.here_pc();
        open.breaks.iter().for_each(|jump| self.patch(*jump, exit));
        self.plan.loops[code as usize].exit = exit;
        self.frame().leave_loop();
        if let Some(limit) = limit {
            self.limit_left(limit);
        }
    }

    /// The loop variable's slot.
    pub(super) fn bind_variable(&mut self, (name, span): (Name, Span), differs: bool) -> Slot {
        let text = self.ast.names.text(name);
        let slot = self.frame().loop_variable(name, text);
        if let Some(mention) = self.mentioned(span.start) {
            self.set_slot(mention.symbol, slot, differs);
        }
        slot
    }

    fn range(&mut self, repeat: &Repeat) -> Range {
        match repeat.to {
            None => {
                let from = self.known(Value::Int(0));
                let to = self.integer(repeat.from, "a number of repetitions");
                Range { from, to, step: self.known(Value::Int(1)) }
            }
            Some(end) => {
                let from = self.integer(repeat.from, "the start of a range");
                let to = self.integer(end, "the end of a range");
                let step = match repeat.step {
                    Some(step) => self.step(step),
                    None => self.known(Value::Int(1)),
                };
                Range { from, to, step }
            }
        }
    }

    fn step(&mut self, id: ExprId) -> Ev {
        let step = self.integer(id, "a step");
        if matches!(self.constant(step), Some(Value::Int(0))) && self.is_alive() {
            let span = self.ast.expr_span(id);
            let message = "expected a step that is not 0";
            self.reports.push(Diagnostic::new(Code::BadValue, span, message));
            return Ev::BAD;
        }
        step
    }

    /// An expression that has to be an integer; a constant becomes one.
    pub(super) fn integer(&mut self, id: ExprId, what: &str) -> Ev {
        let ev = self.expr(id);
        if ev.is_bad() || !self.is_alive() {
            return ev;
        }
        let span = self.ast.expr_span(id);
        if !ev.types.may(Types::AS_INT) {
            let found = match self.constant(ev) {
                Some(value) => value.describe(),
                None => ev.types.describe(),
            };
            return self.wrong_type(span, format!("expected {what} (an integer), found {found}"));
        }
        match self.constant(ev).map(Value::as_int) {
            Some(Ok(n)) => self.known(Value::Int(n)),
            Some(Err(error)) => self.no_value(error, span),
            None => ev,
        }
    }

    /// Number of turns if it is constant. A negative count is reported.
    fn turns(&mut self, range: &Range, repeat: &Repeat) -> Option<u64> {
        let int = |ev: Ev| match self.constant(ev) {
            Some(Value::Int(n)) => Some(*n),
            _ => None,
        };
        let (from, to, step) = (int(range.from)?, int(range.to)?, int(range.step)?);
        if repeat.to.is_none() && to < 0 && self.is_alive() {
            self.negative_count(to, self.ast.expr_span(repeat.from));
            return None;
        }
        Some(iteration::count(from, to, step))
    }

    #[cold]
    fn negative_count(&mut self, count: i64, span: Span) {
        let message =
            format!("expected a number of repetitions that is not negative, found {count}");
        let help = "repeat 0 does nothing; a range counts down with step: repeat $i 10..0 step -1";
        self.reports.push(Diagnostic::new(Code::BadValue, span, message).help(help));
    }

    /// `while`
    pub(super) fn while_loop(&mut self, cond: ExprId, body: StmtId, span: Span) -> Flow {
        let top = self.here_pc();
        let value = self.condition_value(cond);
        let known = self.constant(value).and_then(|value| value.as_condition().ok());
        let outer = (self.around.unsure, self.around.differs);
        self.around.unsure += 1;
        if value.differs {
            self.around.differs = Some(self.ast.expr_span(cond));
        }
        let place = self.ast.expr_span(cond);
        let jump = match known {
            Some(true) => None,
            Some(false) => Some(self.emit(Instr::Jump { to: 0 }, place)),
            None => {
                Some(self.emit(Instr::JumpIf { cond: value.operand, when: false, to: 0 }, place))
            }
        };
        let breaks =
            self.switched_off(known == Some(false), |lower| lower.while_body(body, top, span));
        if let Some(jump) = jump {
            self.patch_here(jump);
        }
        (self.around.unsure, self.around.differs) = outer;
        if self.is_literal(cond) && known == Some(true) && !breaks { Flow::Away } else { Flow::On }
    }

    /// The body and the jump back; whether a `break` leaves it.
    fn while_body(&mut self, body: StmtId, top: u32, span: Span) -> bool {
        self.around.loops.push(OpenLoop::default());
        self.nested(Nest::Loop, body);
        let open = self.around.loops.pop().unwrap_or_default();
        open.continues.iter().for_each(|jump| self.patch(*jump, top));
        self.emit(Instr::Jump { to: top }, span);
        let exit = self.here_pc();
        open.breaks.iter().for_each(|jump| self.patch(*jump, exit));
        !open.breaks.is_empty()
    }

    /// `1`, `true`: constant without any parameter in it.
    fn is_literal(&self, id: ExprId) -> bool {
        match self.ast.expr(id) {
            Expr::Int(_) | Expr::Bool(_) => true,
            Expr::Paren(inner) => self.is_literal(inner),
            _ => false,
        }
    }
}

//! `repeat n until 30s`: the members start together, and each stops at the first iteration that
//! would begin later. With `level` those that are behind then go on to what the fastest one has
//! reached (stonewalling with wear-out, as IOR does it):
//!
//! ```text
//! barrier; end = $$now + limit; k = 0; bound = infinity;     label "until"
//! loop:  k >= bound: leave      bound is known: run
//!        limit end: meet        (bound = gmax(k), label "wear-out")
//! run:   k = k + 1; body
//! after: bound is not known: meet
//! ```

use super::Lower;
use super::stmt::Nest;
use crate::ast::Until;
use crate::diag::{Code, Diagnostic};
use model::Value;
use model::plan::{
    BinaryOp, Function, Instr, Internal, Label, LabelKind, Operand, PARTS, Pc, Slot, Span,
};
use model::types::Types;

/// The time limit of a loop that is being lowered.
pub(super) struct Limit {
    /// Three hidden slots: the end, iterations begun, those that every member has to reach.
    state: Slot,
    level: bool,
    span: Span,
    /// Jumps behind the meeting after the loop.
    done: Vec<Pc>,
}

impl Limit {
    fn end(&self) -> Slot {
        self.state
    }

    fn begun(&self) -> Slot {
        self.state.after(1)
    }

    fn bound(&self) -> Slot {
        self.state.after(2)
    }
}

impl Lower<'_> {
    /// What stands before the loop.
    pub(super) fn limit(&mut self, until: Until, span: Span) -> Option<Limit> {
        let ev = self.expr(until.limit);
        let place = self.ast.expr_span(until.limit);
        if ev.is_bad() || !self.is_duration(ev.types, place) {
            return None;
        }
        if let Some(Value::Duration(..0)) = self.constant(ev) {
            return self.before_its_beginning(place);
        }
        let head = Span { start: span.start, end: place.end };
        self.collective("repeat ... until", head);
        self.emit(Instr::Barrier { group: None }, head);
        let state = self.frame().enter_loop();
        let limit = Limit { state, level: until.level, span: place, done: Vec::new() };
        let (end, now) = (limit.end(), Operand::slot(limit.end()));
        self.emit(Instr::Internal { what: Internal::Now, dst: end }, place);
        self.emit(Instr::Binary { op: BinaryOp::Add, dst: end, a: now, b: ev.operand }, place);
        if until.level {
            self.set_known(limit.begun(), 0, place);
            self.set_known(limit.bound(), i64::MAX, place);
            self.enter_part(0, place);
            self.around.nests.push(Nest::Label);
        }
        self.around.differs = Some(place);
        Some(limit)
    }

    fn is_duration(&mut self, types: Types, span: Span) -> bool {
        if types.may(Types::DURATION) || !self.is_alive() {
            return true;
        }
        let message = format!("expected a duration after `until`, found {}", types.describe());
        let help = "write it with its unit: repeat 1m until 30s {...}";
        self.reports.push(Diagnostic::new(Code::WrongType, span, message).help(help));
        false
    }

    fn before_its_beginning(&mut self, span: Span) -> Option<Limit> {
        if self.is_alive() {
            let message = "expected a duration after `until` that is not negative";
            let help = "it is counted from the loop's beginning: repeat 1m until 30s {...}";
            self.reports.push(Diagnostic::new(Code::BadValue, span, message).help(help));
        }
        None
    }

    /// The beginning of the body: `break` leaves what [`Lower::limit_left`] ends.
    pub(super) fn at_limit(&mut self, limit: &mut Limit) {
        let span = limit.span;
        if !limit.level {
            let jump = self.emit(Instr::Limit { end: limit.end(), exit: 0 }, span);
            return self
                .around
                .loops
                .last_mut()
                .into_iter()
                .for_each(|open| open.breaks.push(jump));
        }
        let top = self.here_pc();
        let reached =
            self.compared(BinaryOp::Ge, limit.begun(), Operand::slot(limit.bound()), span);
        limit.done.push(self.emit(Instr::JumpIf { cond: reached, when: true, to: 0 }, span));
        let run_known = self.if_bounded(limit);
        let over = self.emit(Instr::Limit { end: limit.end(), exit: 0 }, span);
        let run_early = self.emit(Instr::Jump { to: 0 }, span);
        self.patch_here(over);
        self.meet(limit);
        self.emit(Instr::Jump { to: top }, span);
        self.patch_here(run_known);
        self.patch_here(run_early);
        let (begun, one) = (limit.begun(), self.known(Value::Int(1)).operand);
        let a = Operand::slot(begun);
        self.emit(Instr::Binary { op: BinaryOp::Add, dst: begun, a, b: one }, span);
    }

    /// What stands behind the loop.
    pub(super) fn limit_left(&mut self, limit: Limit) {
        if limit.level {
            let bounded = self.if_bounded(&limit);
            self.meet(&limit);
            limit.done.iter().chain([&bounded]).for_each(|jump| {
                self.patch_here(*jump);
            });
            self.around.nests.pop();
            self.emit(Instr::LabelLeave, limit.span);
        }
        self.frame().leave_loop();
    }

    /// All members have come to their limit or to the end of the loop.
    fn meet(&mut self, limit: &Limit) {
        self.emit(Instr::LabelLeave, limit.span);
        let args = self.push_args([Operand::slot(limit.begun())]);
        let (function, dst) = (Function::Gmax, limit.bound());
        self.emit(Instr::Function { function, dst, args }, limit.span);
        self.enter_part(1, limit.span);
    }

    fn enter_part(&mut self, part: usize, span: Span) {
        let text = self.known_text(PARTS[part].as_bytes()).operand;
        let label = self.label(Label { text, kind: LabelKind::Wall, sync: false, part: true });
        self.emit(Instr::LabelEnter { label }, span);
    }

    /// Jumps if the members have met.
    fn if_bounded(&mut self, limit: &Limit) -> Pc {
        let never = self.known(Value::Int(i64::MAX)).operand;
        let cond = self.compared(BinaryOp::Lt, limit.bound(), never, limit.span);
        self.emit(Instr::JumpIf { cond, when: true, to: 0 }, limit.span)
    }

    fn compared(&mut self, op: BinaryOp, a: Slot, b: Operand, span: Span) -> Operand {
        let dst = self.frame().temp();
        self.emit(Instr::Binary { op, dst, a: Operand::slot(a), b }, span);
        Operand::slot(dst)
    }

    fn set_known(&mut self, dst: Slot, number: i64, span: Span) {
        let src = self.known(Value::Int(number)).operand;
        self.emit(Instr::Move { dst, src }, span);
    }
}

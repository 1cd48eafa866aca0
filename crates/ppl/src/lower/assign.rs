//! Assignments.

use super::Lower;
use crate::ast::{Expr, ExprId, List, Name};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Kind, Mention, SymbolId};
use model::Op;
use model::plan::{BinaryOp, Instr, NO_SLOT, Operand, Slot, Source, Span};

impl Lower<'_> {
    /// `$x = value;`
    pub(super) fn assign(&mut self, name: Name, value: ExprId, span: Span) {
        let Some(Mention { symbol, .. }) = self.mentioned(span.start) else { return };
        self.note_assigned(name);
        if let Expr::Call(called, args) = self.ast.expr(value)
            && let Some(op) = self.called_op(called)
        {
            return self.assign_result(symbol, op, args, value, span);
        }
        if let Expr::Call(called, args) = self.ast.expr(value)
            && self.facts.find(Kind::Proc, self.ast.names.text(called)).is_some()
        {
            return self.assign_call(symbol, (called, args), span);
        }
        self.note_value(symbol, value);
        // A variable that is there takes the result at once.
        let here = self.place(symbol);
        let before = self.plan.code.len();
        let ev = self.expr_to(value, (here.slot != NO_SLOT).then_some(here.slot));
        let differs = ev.differs || self.around.differs.is_some();
        self.warn_hidden(symbol, span);
        if let Source::Const(konst) = ev.operand.source()
            && self.around.unsure == 0
            && self.is_set_once(symbol)
        {
            return self.define_constant(symbol, konst);
        }
        let dst = self.define(symbol, differs);
        // `$x = $x;` is left in: it is an error if the variable has no value.
        let written = ev.operand == Operand::slot(dst) && self.plan.code.len() > before;
        if ev.is_bad() || written {
            return;
        }
        let one = here.slot == NO_SLOT && self.has_one_writer(value);
        let made = self.plan.code[before..].last_mut().filter(|_| one);
        if !made.is_some_and(|last| retarget(last, &self.plan.args, ev.operand, dst)) {
            self.emit(Instr::Move { dst, src: ev.operand }, span);
        }
    }

    /// The last instruction of an expression alone writes its result; the sides of
    /// `||` and `&&` both do.
    fn has_one_writer(&self, id: ExprId) -> bool {
        match self.ast.expr(id) {
            Expr::Paren(inner) => self.has_one_writer(inner),
            Expr::Binary(op, ..) => !matches!(op, BinaryOp::Or | BinaryOp::And),
            _ => true,
        }
    }

    /// `$h = fopen(...);`, `$ok = mkdir(...);`
    fn assign_result(&mut self, symbol: SymbolId, op: Op, args: List, value: ExprId, span: Span) {
        if !op.is_io() {
            self.op_as_value(op, self.ast.expr_span(value));
            self.define(symbol, false);
            return;
        }
        let args = self.op_arguments(op, args, self.ast.expr_span(value));
        self.warn_hidden(symbol, span);
        // What becomes of an operation differs between ranks; whether a file is open is not asked.
        let differs = self.around.differs.is_some() || !op.row().gives_handle;
        let dst = self.define(symbol, differs);
        if op == Op::Pfopen {
            self.opened(symbol, span);
        }
        if let Some(args) = args {
            self.emit(Instr::Op { op, dst, args }, span);
        }
    }

    /// An operation as a statement.
    pub(super) fn op_statement(&mut self, op: Op, args: List, span: Span) {
        if op.row().gives_handle {
            let message = format!("expected `$h = {op}(...)`: the handle that {op} gives is lost");
            let fix = (Span { start: span.start, end: span.start }, "$h = ");
            let diagnostic = Diagnostic::new(Code::Misplaced, span, message).fix(fix.0, fix.1);
            self.reports.push(diagnostic);
        }
        if let Some(args) = self.op_arguments(op, args, span) {
            self.emit(Instr::Op { op, dst: NO_SLOT, args }, span);
        }
    }
}

/// Lets an instruction whose result is the hidden slot `result` write to `dst` instead, unless it
/// lets go of a list by that ([`Lower::computed_over`]).
fn retarget(instr: &mut Instr, args: &[Operand], result: Operand, new: Slot) -> bool {
    match instr {
        Instr::Index { list, .. } if *list == result => false,
        Instr::Function { args: of, .. } if args[of.range()].contains(&result) => false,
        Instr::Unary { dst, .. }
        | Instr::Binary { dst, .. }
        | Instr::Function { dst, .. }
        | Instr::Internal { dst, .. }
        | Instr::List { dst, .. }
        | Instr::Index { dst, .. }
            if Operand::slot(*dst) == result =>
        {
            *dst = new;
            true
        }
        _ => false,
    }
}

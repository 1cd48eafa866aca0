//! `mix { 70: read("a"); 30: write("a", 4k); }`: one of the alternatives, drawn by weight each time.

use super::Lower;
use super::stmt::Flow;
use crate::ast::{ExprId, Mix};
use crate::diag::{Code, Diagnostic};
use model::Value;
use model::plan::{BinaryOp, Function, Instr, Operand, Pc, Span};

impl Lower<'_> {
    pub(super) fn mix(&mut self, mix: Mix, span: Span) -> Flow {
        let told: Vec<Option<i64>> =
            self.ast.exprs_in(mix.weights).map(|id| self.weight(id)).collect();
        let head = Span { start: span.start, end: span.start + 3 };
        let weights: Vec<i64> = told.iter().flatten().copied().collect();
        let total = weights.iter().try_fold(0i64, |sum, weight| sum.checked_add(*weight));
        let total = match total {
            _ if weights.len() < told.len() => return Flow::On,
            Some(total @ 1..) => total,
            _ => return self.no_weight(head),
        };
        let jumps = self.draw(&weights, total, head);
        let outer = (self.around.unsure, self.around.differs);
        self.around.unsure += 1;
        // Each rank draws for itself.
        self.around.differs = Some(head);
        let bodies: Vec<_> = self.ast.stmts_in(mix.bodies).collect();
        let (mut ends, mut flow) = (Vec::with_capacity(bodies.len()), Flow::Away);
        for ((body, jump), weight) in bodies.into_iter().zip(jumps).zip(weights) {
            self.patch_here(jump);
            if self.switched_off(weight == 0, |lower| lower.statement(body)) == Flow::On {
                flow = Flow::On;
            }
            ends.push(self.emit(Instr::Jump { to: 0 }, head));
        }
        ends.into_iter().for_each(|jump| {
            self.patch_here(jump);
        });
        (self.around.unsure, self.around.differs) = outer;
        flow
    }

    /// Jumps to the alternatives: the first whose share of `1..=total` the drawn number lies in.
    fn draw(&mut self, weights: &[i64], total: i64, span: Span) -> Vec<Pc> {
        let (first, last) =
            (self.known(Value::Int(1)).operand, self.known(Value::Int(total)).operand);
        let args = self.push_args([first, last]);
        let drawn = self.frame().temp();
        self.emit(Instr::Function { function: Function::Rand, dst: drawn, args }, span);
        let dst = self.frame().temp();
        let mut up_to = 0;
        let mut jumps = Vec::with_capacity(weights.len());
        for weight in weights {
            up_to += weight;
            let (a, b) = (Operand::slot(drawn), self.known(Value::Int(up_to)).operand);
            self.emit(Instr::Binary { op: BinaryOp::Le, dst, a, b }, span);
            let cond = Operand::slot(dst);
            jumps.push(self.emit(Instr::JumpIf { cond, when: true, to: 0 }, span));
        }
        jumps
    }

    /// A weight as it is known before the run; `None` for one that was reported.
    fn weight(&mut self, id: ExprId) -> Option<i64> {
        let ev = self.integer(id, "a weight");
        match self.constant(ev) {
            Some(Value::Int(weight)) if *weight >= 0 => return Some(*weight),
            _ if ev.is_bad() || !self.is_alive() => return None,
            _ => {}
        }
        let found = self.constant(ev).map_or("one that is not constant".into(), Value::describe);
        let message = format!("expected a weight that is not negative, found {found}");
        let help = "weights are whole numbers of constants and parameters: mix { 70: ... 30: ... }";
        self.reports
            .push(Diagnostic::new(Code::BadValue, self.ast.expr_span(id), message).help(help));
        None
    }

    fn no_weight(&mut self, span: Span) -> Flow {
        if self.is_alive() {
            let message = "expected a weight above 0 in `mix`, and a sum that is a 64-bit integer";
            let help = "write as in mix { 70: read(\"a\"); 30: write(\"a\", 4k); }";
            self.reports.push(Diagnostic::new(Code::BadValue, span, message).help(help));
        }
        Flow::On
    }
}

//! `share $i n by k body`: every index is executed once, by whichever member claims it first.
//!
//! ```text
//! share n by k
//! top: claim $i -> exit      the next index of the k that were claimed last, or of k new ones
//!      body, jump top        continue: jump top
//! exit: share end            a barrier; who had how much, and who waited how long
//! ```

use super::Lower;
use super::stmt::{Nest, OpenLoop};
use super::value::Ev;
use crate::ast::{ExprId, Share};
use crate::diag::{Code, Diagnostic};
use model::Value;
use model::plan::{Instr, Pc, Span};

impl Lower<'_> {
    /// `share`
    pub(super) fn share(&mut self, share: Share, span: Span) {
        let count = self.alike(share.count, "a number of indices", 0);
        let by = match share.by {
            Some(by) => self.alike(by, "a number of indices after `by`", 1),
            None => self.known(Value::Int(1)),
        };
        let end = self.ast.expr_span(share.by.unwrap_or(share.count)).end;
        let head = Span { start: span.start, end };
        self.collective("share", head);
        self.emit(Instr::Share { count: count.operand, by: by.operand }, head);
        let outer = (self.around.unsure, self.around.differs);
        self.around.unsure += 1;
        self.around.differs = Some(head);
        let dst = self.bind_variable(share.var, true);
        let off = matches!(self.constant(count), Some(Value::Int(0)));
        self.switched_off(off, |lower| {
            let claim = lower.emit(Instr::Claim { dst, exit: 0 }, head);
            lower.share_body(share, claim, span);
            lower.patch_here(claim);
        });
        (self.around.unsure, self.around.differs) = outer;
        self.frame().release(share.var.0, dst);
        self.emit(Instr::ShareEnd, head);
    }

    fn share_body(&mut self, share: Share, claim: Pc, span: Span) {
        self.around.loops.push(OpenLoop::default());
        self.nested(Nest::Share, share.body);
        let open = self.around.loops.pop().unwrap_or_default();
        open.continues.iter().for_each(|jump| self.patch(*jump, claim));
        self.emit(Instr::Jump { to: claim }, span);
        if !open.breaks.is_empty() {
            let place = self.plan.spans[open.breaks[0] as usize];
            self.left_share("break", place);
        }
    }

    /// `break` or `return` would leave a `share` while the other members go on.
    #[cold]
    pub(super) fn left_share(&mut self, word: &str, span: Span) {
        let message = format!("`{word}` cannot leave a `share`: the other members go on with it");
        let help = "continue goes on with the next index; let a condition leave the others out";
        self.reports.push(Diagnostic::new(Code::Misplaced, span, message).help(help));
    }

    /// A whole number, not below `least`, that has to be the same on all members.
    fn alike(&mut self, id: ExprId, what: &str, least: i64) -> Ev {
        let ev = self.integer(id, what);
        if ev.is_bad() || !self.is_alive() {
            return ev;
        }
        let span = self.ast.expr_span(id);
        let message = match self.constant(ev) {
            Some(Value::Int(n)) if *n < least => {
                format!("expected {what} from {least} on, found {n}")
            }
            None if ev.differs => {
                format!(
                    "expected {what} that is the same on all members, found one that may differ"
                )
            }
            _ => return ev,
        };
        let help = match ev.differs {
            true => "make them agree before: $n = gmax($n);",
            false => "write as in share $i 1000 by 8 { ... }",
        };
        self.reports.push(Diagnostic::new(Code::BadValue, span, message).help(help));
        Ev::BAD
    }
}

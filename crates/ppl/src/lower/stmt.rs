//! Statements.

use super::Lower;
use crate::ast::{List, Stmt, StmtId, Time};
use crate::diag::{Code, Diagnostic};
use model::plan::{Instr, Label, Pc, Span};

/// A statement that has to be left in order when a loop around it ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nest {
    Loop,
    Label,
    Group,
    With,
    /// The body of a `share`: a loop that must not be left.
    Share,
}

/// A loop being lowered.
#[derive(Default)]
pub(super) struct OpenLoop {
    /// Jumps to the instruction after it.
    pub(super) breaks: Vec<Pc>,
    /// Jumps to its next turn.
    pub(super) continues: Vec<Pc>,
}

/// Where execution goes after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// On to the next one.
    On,
    /// Never there.
    Away,
}

impl Lower<'_> {
    pub(super) fn statements(&mut self, list: List) -> Flow {
        let mut flow = Flow::On;
        let mut said = false;
        for id in self.ast.stmts_in(list) {
            if flow == Flow::Away && !said && self.does_something(id) {
                self.unreachable(id);
                said = true;
            }
            if self.statement(id) == Flow::Away {
                flow = Flow::Away;
            }
        }
        flow
    }

    fn does_something(&self, id: StmtId) -> bool {
        !matches!(
            self.ast.stmt(id),
            Stmt::Empty
                | Stmt::Error
                | Stmt::Proc(_)
                | Stmt::Groups(_)
                | Stmt::Pattern(_)
                | Stmt::Hints(..)
        )
    }

    #[cold]
    fn unreachable(&mut self, id: StmtId) {
        let message =
            "this statement is never executed, because what stands before it goes elsewhere";
        self.reports.push(Diagnostic::new(Code::Unreachable, self.ast.stmt_span(id), message));
    }

    /// A statement.
    pub(super) fn statement(&mut self, id: StmtId) -> Flow {
        let span = self.ast.stmt_span(id);
        self.frame().end_statement();
        if self.in_generator && self.refused_in_generator(id) {
            return Flow::On;
        }
        match self.ast.stmt(id) {
            Stmt::Op { op, args, .. } => self.op_statement(op, args, span),
            Stmt::Assign(name, value) => self.assign(name, value, span),
            Stmt::Global(name, value) => self.assign_global(name, value, span),
            Stmt::GlobalPush(args) => self.push_item(args, true, span),
            Stmt::Return(value) => return self.return_from(value, span),
            Stmt::SetItem(item, value) => self.set_item(item, value, false, span),
            Stmt::Repeat(number) => self.repeat(number, span),
            Stmt::Block(list) => return self.statements(list),
            Stmt::Time(number) => return self.time(self.ast.times[number as usize], span),
            Stmt::Group(name, body) => self.group(name, body, span),
            Stmt::Split(value, body) => self.split(value, body, span),
            Stmt::Master(body) => self.master(body, span),
            Stmt::Barrier(name) => self.barrier(name, span),
            Stmt::If(number) => return self.if_else(number, span),
            Stmt::While(cond, body) => return self.while_loop(cond, body, span),
            Stmt::Break => return self.leave_loop(span, |open, jump| open.breaks.push(jump)),
            Stmt::Continue => return self.leave_loop(span, |open, jump| open.continues.push(jump)),
            Stmt::With(options, body) => return self.with(options, body, span),
            Stmt::Include(_, list) => return self.statements(list),
            Stmt::Call { name, args } => self.call_statement(name, args, span),
            Stmt::Param(number) => self.param(number, span),
            Stmt::Mix(number) => return self.mix(self.ast.mixes[number as usize], span),
            Stmt::Share(number) => self.share(self.ast.shares[number as usize], span),
            Stmt::Later(number) => self.later_statement(number, span),
            Stmt::Pattern(number) => self.pattern_defined(number, span),
            Stmt::Proc(_) | Stmt::Groups(_) | Stmt::Hints(..) | Stmt::Empty | Stmt::Error => {}
        }
        Flow::On
    }

    /// A statement in a label, a group or a `with`.
    pub(super) fn nested(&mut self, nest: Nest, body: StmtId) -> Flow {
        self.around.nests.push(nest);
        let flow = self.statement(body);
        self.around.nests.pop();
        flow
    }

    /// `time`, `ctime`
    fn time(&mut self, time: Time, span: Span) -> Flow {
        let text = match time.label {
            Some(label) => self.expr(label).operand,
            None => {
                let line = self.reader.line(span.start);
                self.known_text(format!("line {line}").as_bytes()).operand
            }
        };
        if time.sync {
            let head = self.ast.stmt_span(time.body).start;
            self.collective(
                "time with sync",
                Span { start: span.start, end: head.max(span.start) },
            );
        }
        let label = self.label(Label { text, kind: time.kind, sync: time.sync, part: false });
        self.emit(Instr::LabelEnter { label }, span);
        let flow = self.nested(Nest::Label, time.body);
        self.emit(Instr::LabelLeave, span);
        flow
    }

    pub(super) fn label(&mut self, label: Label) -> u32 {
        self.plan.labels.push(label);
        self.plan.labels.len() as u32 - 1
    }

    /// `break`, `continue`: leaves what was entered since the loop began.
    fn leave_loop(&mut self, span: Span, note: impl FnOnce(&mut OpenLoop, Pc)) -> Flow {
        let is_loop = |nest: &Nest| matches!(nest, Nest::Loop | Nest::Share);
        let inner = self.around.nests.iter().rposition(is_loop);
        let Some(inner) = inner else { return Flow::On };
        for at in (inner + 1..self.around.nests.len()).rev() {
            let leave = match self.around.nests[at] {
                Nest::Label => Instr::LabelLeave,
                Nest::Group => Instr::GroupLeave,
                Nest::With => Instr::WithLeave,
                Nest::Loop | Nest::Share => continue,
            };
            self.emit(leave, span);
        }
        let jump = self.emit(Instr::Jump { to: 0 }, span);
        if let Some(open) = self.around.loops.last_mut() {
            note(open, jump);
        }
        Flow::Away
    }

    /// `if`
    fn if_else(&mut self, number: u32, span: Span) -> Flow {
        let branch = self.ast.ifs[number as usize];
        let cond = self.condition_value(branch.cond);
        let known = self.constant(cond).and_then(|value| value.as_condition().ok());
        let outer = (self.around.unsure, self.around.differs);
        self.around.unsure += 1;
        if cond.differs {
            self.around.differs = Some(self.ast.expr_span(branch.cond));
        }
        let jump = match known {
            Some(true) => None,
            Some(false) => Some(self.emit(Instr::Jump { to: 0 }, span)),
            None => {
                let jump = Instr::JumpIf { cond: cond.operand, when: false, to: 0 };
                Some(self.emit(jump, self.ast.expr_span(branch.cond)))
            }
        };
        let then = self.switched_off(known == Some(false), |lower| lower.statement(branch.then));
        let flow = self.else_branch(branch.otherwise, known, jump, then, span);
        (self.around.unsure, self.around.differs) = outer;
        flow
    }

    fn else_branch(
        &mut self,
        otherwise: Option<StmtId>,
        known: Option<bool>,
        jump: Option<Pc>,
        then: Flow,
        span: Span,
    ) -> Flow {
        let Some(otherwise) = otherwise else {
            if let Some(jump) = jump {
                self.patch_here(jump);
            }
            return Flow::On;
        };
        let over = (known != Some(false)).then(|| self.emit(Instr::Jump { to: 0 }, span));
        if let Some(jump) = jump {
            self.patch_here(jump);
        }
        let flow = self.switched_off(known == Some(true), |lower| lower.statement(otherwise));
        if let Some(over) = over {
            self.patch_here(over);
        }
        if then == Flow::Away { flow } else { Flow::On }
    }

    /// `define layout`
    fn later_statement(&mut self, number: u32, span: Span) {
        let later = self.ast.laters[number as usize];
        let word = later.what.split(' ').next().unwrap_or_default().len() as u32;
        let head = Span { start: span.start, end: span.start + word };
        self.later(head, &format!("`{}`", later.what), "leave it out");
    }
}

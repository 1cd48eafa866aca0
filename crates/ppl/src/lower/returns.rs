//! Values that procs give, and variables of the program that they set.
//!
//! ```text
//! define proc open_db($p, $mode = "r+") { global $opened = $opened + 1; $h = fopen($p, $mode); return $h; }
//! $h = open_db("x");
//! ```
//!
//! What a proc gives stands in one hidden variable of the program, from where the call takes it at once.

use super::Lower;
use super::stmt::{Flow, Nest};
use crate::ast::{Ast, Expr, ExprId, List, Name, Stmt, StmtId};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Kind, SymbolId};
use model::plan::{Instr, NO_SLOT, Operand, Slot, Span};

impl Lower<'_> {
    /// The hidden variable.
    fn returned(&mut self) -> Slot {
        match self.returned {
            Some(slot) => slot,
            None => *self.returned.insert(self.globals.fresh("")),
        }
    }

    /// A proc gives a value.
    fn gives_value(&self, number: u32) -> bool {
        has_value(self.ast, self.ast.procs[number as usize].body)
    }

    /// `$x = name(args);`
    pub(super) fn assign_call(
        &mut self,
        symbol: SymbolId,
        (called, args): (Name, List),
        span: Span,
    ) {
        let number = self.facts.find(Kind::Proc, self.ast.names.text(called));
        let number = number.map(|proc| self.facts.symbol(proc).number);
        let value = number.is_some_and(|number| self.gives_value(number));
        let differs = self.call_proc(called, args, span) || self.around.differs.is_some();
        if !value {
            let text = self.ast.names.text(called);
            let message = format!("expected a value, found the proc {text}, which gives none");
            let help = "it gives one with return value;";
            self.reports.push(Diagnostic::new(Code::WrongType, span, message).help(help));
        }
        self.warn_hidden(symbol, span);
        let dst = self.define(symbol, differs);
        let src = Operand::slot(self.returned());
        self.emit(Instr::Move { dst, src }, span);
    }

    /// `return;`, `return value;`
    pub(super) fn return_from(&mut self, value: Option<ExprId>, span: Span) -> Flow {
        let Some(number) = self.proc.as_ref().and_then(|proc| proc.number) else {
            let message = "`return` stands in no proc";
            let help = "a program ends with its last statement; a loop is left with break";
            self.reports.push(Diagnostic::new(Code::Misplaced, span, message).help(help));
            return Flow::On;
        };
        match value {
            Some(value) => {
                let ev = self.expr(value);
                let dst = self.returned();
                if !ev.is_bad() {
                    self.emit(Instr::Move { dst, src: ev.operand }, span);
                }
            }
            None if self.gives_value(number) => {
                let message = "expected a value after `return`: this proc gives one elsewhere";
                self.reports.push(Diagnostic::new(Code::Expected, span, message));
            }
            None => {}
        }
        for nest in self.around.nests.clone().into_iter().rev() {
            let leave = match nest {
                Nest::Label => Instr::LabelLeave,
                Nest::Group => Instr::GroupLeave,
                Nest::With => Instr::WithLeave,
                Nest::Loop => continue,
                Nest::Share => {
                    self.left_share("return", span);
                    return Flow::Away;
                }
            };
            self.emit(leave, span);
        }
        self.emit(Instr::Return, span);
        Flow::Away
    }

    /// The end of a proc that gives a value must not be reached.
    pub(super) fn check_end(&mut self, number: u32, flow: Flow) {
        if flow == Flow::Away || !self.gives_value(number) {
            return;
        }
        let (name, span) = self.ast.procs[number as usize].name;
        let text = self.ast.names.text(name);
        let message = format!("the proc {text} gives a value, but may end without one");
        let help = "write return value; as its last statement";
        self.reports.push(Diagnostic::new(Code::Expected, span, message).help(help));
    }

    /// `global $x = value;`, `global $list[at] = value;`
    pub(super) fn assign_global(&mut self, var: ExprId, value: ExprId, span: Span) {
        let Expr::Var(name) = self.ast.expr(var) else {
            return self.set_item(var, value, true, span);
        };
        let ev = self.expr(value);
        let place = self.ast.expr_span(var);
        if self.is_global_misplaced(name, place) {
            return;
        }
        let differs = ev.differs || self.around.differs.is_some();
        let Some(slot) = self.global_slot(place.start, differs) else { return };
        if !ev.is_bad() {
            self.emit(Instr::Move { dst: slot, src: ev.operand }, span);
        }
    }

    /// `global` stands in no proc, or before no variable of the program, which is reported.
    pub(super) fn is_global_misplaced(&mut self, name: Name, span: Span) -> bool {
        let text = self.ast.names.text(name);
        let diagnostic = if self.proc.as_ref().is_none_or(|proc| proc.number.is_none()) {
            let help = format!("here ${text} is a variable of the program: ${text} = ...;");
            Diagnostic::new(Code::Misplaced, span, "`global` stands only in procs").help(help)
        } else if self
            .visible(span.start)
            .is_none_or(|known| self.place(known.symbol).slot == NO_SLOT)
        {
            let message = format!("expected a variable of the program, found ${text}");
            let help = format!("set it before the definition of the proc: ${text} = ...;");
            Diagnostic::new(Code::UnknownVariable, span, message).help(help)
        } else {
            return false;
        };
        self.reports.push(diagnostic);
        true
    }

    /// A proc's own variable takes the name of one of the program that the proc has read.
    pub(super) fn warn_hidden(&mut self, symbol: SymbolId, span: Span) {
        let Some(proc) = &self.proc else { return };
        let written = |symbol| self.reader.sources.text(self.facts.symbol(symbol).span);
        let named = |symbol| written(symbol).trim_start_matches('$');
        let text = named(symbol);
        let is_new = !self.place(symbol).is_somewhere();
        if is_new && proc.read.iter().any(|read| named(*read) == text) {
            let message = format!(
                "this ${text} is the proc's own; that of the program, which the proc reads, stays as it is"
            );
            let help = format!("write global ${text} = ...; to set it, or take another name");
            self.reports.push(Diagnostic::new(Code::Hidden, span, message).help(help));
        }
    }

    /// The value of a parameter that a call leaves out.
    pub(super) fn left_out(&mut self, param: ExprId) -> Operand {
        let Expr::Named(_, default) = self.ast.expr(param) else { return Operand::ABSENT };
        let ev = self.expr(default);
        if ev.is_bad() || self.constant(ev).is_some() {
            return ev.operand;
        }
        let span = self.ast.expr_span(default);
        let message = "expected a default made of constants and parameters of the program";
        self.reports.push(Diagnostic::new(Code::BadValue, span, message));
        Operand::ABSENT
    }
}

/// `return value;` stands in a statement.
fn has_value(ast: &Ast, id: StmtId) -> bool {
    let inside = |id| has_value(ast, id);
    match ast.stmt(id) {
        Stmt::Return(value) => value.is_some(),
        Stmt::Block(list) => ast.stmts_in(list).any(inside),
        Stmt::Time(number) => inside(ast.times[number as usize].body),
        Stmt::Repeat(number) => inside(ast.repeats[number as usize].body),
        Stmt::Share(number) => inside(ast.shares[number as usize].body),
        Stmt::With(_, body)
        | Stmt::Group(_, body)
        | Stmt::Split(_, body)
        | Stmt::Master(body)
        | Stmt::While(_, body) => inside(body),
        Stmt::Mix(number) => ast.stmts_in(ast.mixes[number as usize].bodies).any(inside),
        Stmt::If(number) => {
            let branch = ast.ifs[number as usize];
            inside(branch.then) || branch.otherwise.is_some_and(inside)
        }
        _ => false,
    }
}

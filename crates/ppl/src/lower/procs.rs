//! Procs: their calls, their bodies behind the main program, the values they give, and the variables of
//! the program that they set.
//!
//! ```text
//! define proc open_db($p, $mode = "r+") { global $opened = $opened + 1; $h = fopen($p, $mode); return $h; }
//! $h = open_db("x");
//! ```
//!
//! The value of a proc is in one hidden variable of the program, from where the call takes it at once.

use super::expr::PUSH;
use super::notes::Inside;
use super::state::{Ev, Lower, Nest, OpenProc};
use super::stmt::Flow;
use crate::ast::{Expr, ExprId, List, Name};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Kind, Symbol, SymbolId};
use crate::foreign::words;
use crate::word::{nearest, statement_words};
use model::plan::{Instr, NO_SLOT, Operand, Proc, Slot, Span};
use model::types::Types;
use model::with::InForce;

impl Lower<'_> {
    /// `name(args);`, and in a pattern `extent(offset, length);`
    pub(crate) fn call_statement(&mut self, name: Name, args: List, span: Span) {
        let text = self.ast.names.text(name);
        let is_proc = self.facts.find(Kind::Proc, text).is_some();
        if text == PUSH && !is_proc {
            return self.push_item(args, false, span);
        }
        let is_extent = text == "extent" && !is_proc;
        match (self.in_generator, is_extent) {
            (true, true) => self.extent(args, span),
            (false, true) => {
                let message = "`extent` stands only in the body of a pattern";
                let help =
                    "write define pattern \"name\" level 0 { ... extent(offset, length); ... }";
                self.reports.push(Diagnostic::new(Code::Misplaced, span, message).help(help));
            }
            (true, false) => {
                let message = "a proc cannot be called in a pattern, which only computes extents";
                self.reports.push(Diagnostic::new(Code::Misplaced, span, message));
            }
            (false, false) => {
                self.call_proc(name, args, span);
            }
        }
    }

    /// Calls a proc; an argument differs between ranks.
    fn call_proc(&mut self, name: Name, args: List, span: Span) -> bool {
        let Some(symbol) = self.facts.find(Kind::Proc, self.ast.names.text(name)) else {
            self.unknown_proc(name, args, span);
            return false;
        };
        let Symbol { ordinal: id, number, .. } = *self.facts.symbol(symbol);
        let params = self.ast.procs[number as usize].params;
        let left_out = self.ast.exprs_in(params).skip(args.len as usize);
        let left_out: Vec<_> = left_out.collect();
        let needed = left_out.iter().any(|id| matches!(self.ast.expr(*id), Expr::Var(_)));
        if needed || args.len > params.len {
            self.wrong_count(name, params, args, span);
            return false;
        }
        for id in self.ast.exprs_in(args) {
            if let Some(text) = self.plain_string(id) {
                // The proc may use it as the name of a pattern.
                self.use_pattern(&text);
            }
        }
        let ids: Vec<ExprId> = self.ast.exprs_in(args).collect();
        let evs: Vec<_> = ids.into_iter().map(|id| self.taken_and_kept(id, span)).collect();
        let mut operands: Vec<Operand> = evs.iter().map(|ev| ev.operand).collect();
        operands.extend(left_out.into_iter().map(|id| self.left_out(id)));
        let args = self.push_args(operands);
        match self.is_alive() {
            true => drop(self.around.inside.calls.insert(id)),
            false => self.around.inside.is_dead = true,
        }
        self.emit(Instr::CallProc { proc: id, args }, span);
        evs.iter().any(|ev| ev.differs)
    }

    #[cold]
    fn wrong_count(&mut self, name: Name, params: List, args: List, span: Span) {
        let names: Vec<String> = self
            .ast
            .exprs_in(params)
            .filter_map(|id| self.ast.param_name(id))
            .map(|name| format!("${}", self.ast.names.text(name)))
            .collect();
        let text = self.ast.names.text(name);
        let message =
            format!("expected {text}({}), found {} arguments", names.join(", "), args.len);
        self.reports.push(Diagnostic::new(Code::Arguments, span, message));
    }

    #[cold]
    fn unknown_proc(&mut self, name: Name, args: List, span: Span) {
        let text = self.ast.names.text(name);
        let foreign = words::call(text);
        let near = nearest(text, self.facts.names(Kind::Proc))
            .or_else(|| nearest(text, statement_words()).filter(|_| foreign.is_none()));
        let help = match (near, foreign) {
            (Some(near), _) => format!("the nearest is {near}"),
            (None, Some(foreign)) => foreign.to_string(),
            (None, None) => format!("define it: define proc {text}(...) {{ ... }}"),
        };
        let message = format!("expected an operation or a proc, found `{text}`");
        let word = Span { start: span.start, end: span.start + text.len() as u32 };
        let mut found = Diagnostic::new(Code::UnknownName, word, message).help(help);
        found.fix = near.map(|near| (word, near.to_string()));
        self.reports.push(found);
        for id in self.ast.exprs_in(args) {
            if !matches!(self.ast.expr(id), Expr::Named(..) | Expr::Word(_)) {
                self.expr(id);
            }
        }
    }

    /// The code of all procs, in the order of their definitions.
    pub(crate) fn proc_bodies(&mut self) {
        self.around.active = None;
        self.around.in_force = InForce::default();
        for (id, symbol) in self.facts.symbols().filter(|(_, symbol)| symbol.kind == Kind::Proc) {
            self.proc_body(id, symbol.number);
        }
    }

    fn proc_body(&mut self, owner: SymbolId, number: u32) {
        let def = self.ast.procs[number as usize];
        self.proc = Some(OpenProc::new(Some(number), Some(owner)));
        let entry = self.here_pc();
        let mut params = Vec::new();
        for id in self.ast.exprs_in(def.params) {
            let Some(param) = self.ast.param_name(id) else { continue };
            self.proc_param(param, params.contains(&param), self.ast.expr_span(id));
            params.push(param);
        }
        self.around.inside = Inside::default();
        let flow = self.in_scope(|lower| lower.statement(def.body));
        self.notes.procs.push(std::mem::take(&mut self.around.inside));
        self.check_end(number, flow);
        let end = self.ast.stmt_span(def.body).end;
        self.emit(Instr::Return, Span { start: end.saturating_sub(1), end });
        let Some(open) = self.proc.take() else { return };
        let (params, locals) = (params.len() as u32, open.frame.names.len() as u32);
        let name = self.ast.names.text(def.name.0).to_string();
        self.plan.procs.push(Proc { name, entry, params, locals });
        self.plan.locals.push(open.frame.names);
    }

    fn proc_param(&mut self, name: Name, again: bool, span: Span) {
        let text = self.ast.names.text(name);
        if again {
            let message = format!("the parameter ${text} is there twice");
            self.reports.push(Diagnostic::new(Code::Duplicate, span, message));
        }
        // A slot of its own in any case: calls fill the first slots one by one. What is
        // passed may differ between ranks; only the call knows.
        self.bind_parameter(name, span);
    }

    /// A new slot for the parameter at a place.
    pub(crate) fn bind_parameter(&mut self, name: Name, span: Span) -> Slot {
        let text = self.ast.names.text(name);
        let slot = self.frame().fresh(text);
        if let Some(mention) = self.mentioned(span.start) {
            self.set_slot(mention.symbol, slot, false);
        }
        slot
    }

    /// The hidden variable.
    fn returned(&mut self) -> Slot {
        match self.returned {
            Some(slot) => slot,
            None => *self.returned.insert(self.globals.fresh("")),
        }
    }

    /// A proc gives a value.
    fn gives_value(&self, number: u32) -> bool {
        self.ast.procs[number as usize].gives_value
    }

    /// `$x = name(args);`
    pub(crate) fn assign_call(
        &mut self,
        symbol: SymbolId,
        (called, args): (Name, List),
        span: Span,
    ) {
        let (src, differs) = self.call_for_value(called, args, span);
        self.warn_hidden(symbol, span);
        let dst = self.define(symbol, differs);
        self.emit(Instr::Move { dst, src }, span);
    }

    /// Calls a proc: where the value is that it gives, until the next call, and whether ranks get another.
    fn call_for_value(&mut self, called: Name, args: List, span: Span) -> (Operand, bool) {
        let text = self.ast.names.text(called);
        let number = self.facts.find(Kind::Proc, text);
        let number = number.map(|proc| self.facts.symbol(proc).number);
        let value = number.is_some_and(|number| self.gives_value(number));
        let differs = self.call_proc(called, args, span) || self.around.differs.is_some();
        if !value {
            let message = format!("expected a value, found the proc {text}, which gives none");
            let help = "it gives one with return value;";
            self.reports.push(Diagnostic::new(Code::WrongType, span, message).help(help));
        }
        (Operand::slot(self.returned()), differs)
    }

    /// `1 + name(args)`
    pub(crate) fn proc_value(
        &mut self,
        called: Name,
        args: List,
        span: Span,
        dst: Option<Slot>,
    ) -> Ev {
        if self.is_refused_here("the call of a proc", span) {
            return Ev::BAD;
        }
        let (src, differs) = self.call_for_value(called, args, span);
        self.computed(dst, Types::ANY, differs, span, |dst| Instr::Move { dst, src })
    }

    /// `return;`, `return value;`
    pub(crate) fn return_from(&mut self, value: Option<ExprId>, span: Span) -> Flow {
        let Some(number) = self.proc.as_ref().and_then(|proc| proc.number) else {
            let message = "`return` is outside a proc";
            let help = "a program ends with its last statement; a loop is left with break";
            self.reports.push(Diagnostic::new(Code::Misplaced, span, message).help(help));
            return Flow::On;
        };
        match value {
            Some(value) => {
                let dst = self.returned();
                let ev = self.taken(value, Some(dst));
                if !ev.is_bad() && ev.operand != Operand::slot(dst) {
                    self.emit(Instr::Move { dst, src: ev.operand }, span);
                }
            }
            None if self.gives_value(number) => {
                let message = "expected a value after `return`: this proc gives one elsewhere";
                self.reports.push(Diagnostic::new(Code::Expected, span, message));
            }
            None => {}
        }
        if self.around.nests.contains(&Nest::Share) {
            self.left_share("return", span);
            return Flow::Away;
        }
        self.leave_nests(0, span);
        self.emit(Instr::Return, span);
        Flow::Away
    }

    /// The end of a proc that gives a value must not be reached.
    fn check_end(&mut self, number: u32, flow: Flow) {
        if flow == Flow::Away || !self.gives_value(number) {
            return;
        }
        let def = self.ast.procs[number as usize];
        let (name, span) = def.name;
        let body = self.ast.stmt_span(def.body);
        let end = Span { start: body.end.saturating_sub(1).max(body.start), end: body.end };
        let text = self.ast.names.text(name);
        let message = format!("the proc {text} gives a value, but may end without one");
        let help = "write return value; as its last statement";
        let found = Diagnostic::new(Code::Expected, span, message).help(help);
        self.reports.push(found.related(end, "it ends here"));
    }

    /// `global $x = value;`, `global $list[at] = value;`
    pub(crate) fn assign_global(&mut self, var: ExprId, value: ExprId, span: Span) {
        let Expr::Var(name) = self.ast.expr(var) else {
            return self.set_item(var, value, true, span);
        };
        let ev = self.taken(value, None);
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

    /// Reports `global` outside procs, or without a variable of the program behind it.
    pub(crate) fn is_global_misplaced(&mut self, name: Name, span: Span) -> bool {
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
    pub(crate) fn warn_hidden(&mut self, symbol: SymbolId, span: Span) {
        let Some(proc) = &self.proc else { return };
        let written = |symbol| self.sources.text(self.facts.symbol(symbol).span);
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
    pub(crate) fn left_out(&mut self, param: ExprId) -> Operand {
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

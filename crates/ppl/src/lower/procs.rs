//! Procs: their calls, and their bodies behind the main program.

use super::Lower;
use super::lists::PUSH;
use super::slots::Frame;
use crate::ast::{Expr, List, Name};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Kind, Symbol, SymbolId};
use crate::foreign::words;
use crate::suggest::nearest;
use crate::word::statement_words;
use model::plan::{Instr, Operand, Proc, Slot, Span};
use model::with::InForce;

/// The proc whose body is being lowered.
pub(super) struct OpenProc {
    pub(super) frame: Frame,
    /// Index into [`crate::ast::Ast::procs`]; `None`: the body of a pattern.
    pub(super) number: Option<u32>,
    /// The proc or pattern.
    pub(super) owner: Option<SymbolId>,
    /// Names that got a value in it so far.
    pub(super) assigned: Vec<Name>,
    /// Variables of the program that it has read so far.
    pub(super) read: Vec<SymbolId>,
}

impl OpenProc {
    /// One whose body comes next.
    pub(super) fn new(number: Option<u32>, owner: Option<SymbolId>) -> OpenProc {
        let (assigned, read) = (Vec::new(), Vec::new());
        OpenProc { frame: Frame::of_proc(), number, owner, assigned, read }
    }
}

impl Lower<'_> {
    /// `name(args);`, and in a pattern `extent(offset, length);`
    pub(super) fn call_statement(&mut self, name: Name, args: List, span: Span) {
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
    pub(super) fn call_proc(&mut self, name: Name, args: List, span: Span) -> bool {
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
        for (place, id) in self.ast.exprs_in(args).enumerate() {
            if let Some(text) = self.plain_string(id) {
                // The proc may use it as the name of a pattern.
                self.use_pattern(&text);
            }
            self.note_passed((number, place), id);
        }
        let evs: Vec<_> = self.ast.exprs_in(args).map(|id| self.expr(id)).collect();
        let mut operands: Vec<Operand> = evs.iter().map(|ev| ev.operand).collect();
        operands.extend(left_out.into_iter().map(|id| self.left_out(id)));
        let args = self.push_args(operands);
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
        let procs = self.facts.names(Kind::Proc);
        let help = match (nearest(text, procs), words::call(text), nearest(text, statement_words()))
        {
            (None, Some(help), _) => help.into(),
            (Some(name), ..) | (None, None, Some(name)) => format!("the nearest is {name}"),
            (None, None, None) => format!("define it: define proc {text}(...) {{ ... }}"),
        };
        let message = format!("expected an operation or a proc, found `{text}`");
        let word = Span { start: span.start, end: span.start + text.len() as u32 };
        self.reports.push(Diagnostic::new(Code::UnknownName, word, message).help(help));
        for id in self.ast.exprs_in(args) {
            if !matches!(self.ast.expr(id), Expr::Named(..) | Expr::Word(_)) {
                self.expr(id);
            }
        }
    }

    /// The code of all procs, in the order of their definitions.
    pub(super) fn proc_bodies(&mut self) {
        self.around.active = None;
        self.around.in_force = InForce::UNKNOWN;
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
        let flow = self.in_scope(|lower| lower.statement(def.body));
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

    /// A new slot for the parameter that stands at a place.
    pub(super) fn bind_parameter(&mut self, name: Name, span: Span) -> Slot {
        let text = self.ast.names.text(name);
        let slot = self.frame().fresh(text);
        if let Some(mention) = self.mentioned(span.start) {
            self.set_slot(mention.symbol, slot, false);
        }
        slot
    }
}

//! Procs: their calls, and their bodies behind the main program.

use super::Lower;
use super::slots::Frame;
use crate::ast::{Expr, List, Name, Names};
use crate::diag::{Code, Diagnostic};
use crate::foreign::words;
use crate::suggest::nearest;
use crate::word::statement_words;
use model::plan::{Instr, Operand, Proc, Span};

/// A proc of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcInfo {
    /// Index into [`model::Plan::procs`].
    pub(super) id: u32,
    /// Index into [`crate::ast::Ast::procs`].
    pub(super) number: u32,
    pub(super) used: bool,
}

/// The proc whose body is being lowered.
pub(super) struct OpenProc {
    pub(super) frame: Frame,
    /// It sees the globals that became visible before this time.
    pub(super) defined: u32,
    /// Names that have a place in it.
    pub(super) locals: Vec<Name>,
    /// Index into [`crate::ast::Ast::procs`]; `None`: the body of a pattern.
    pub(super) number: Option<u32>,
    /// Names that got a value in it so far.
    pub(super) assigned: Vec<Name>,
    /// Variables of the program that it has read so far.
    pub(super) read: Vec<Name>,
}

impl OpenProc {
    /// One whose body comes next.
    pub(super) fn new(defined: u32, number: Option<u32>) -> OpenProc {
        OpenProc {
            frame: Frame::of_proc(),
            defined,
            locals: Vec::new(),
            number,
            assigned: Vec::new(),
            read: Vec::new(),
        }
    }
}

impl Lower<'_> {
    /// `name(args);`, and in a pattern `extent(offset, length);`
    pub(super) fn call_statement(&mut self, name: Name, args: List, span: Span) {
        if self.ast.names.text(name) == super::lists::PUSH && !self.procs.contains_key(&name) {
            return self.push_item(args, span);
        }
        let is_extent = self.ast.names.text(name) == "extent" && !self.procs.contains_key(&name);
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
        let Some(info) = self.procs.get_mut(&name) else {
            self.unknown_proc(name, args, span);
            return false;
        };
        info.used = true;
        let ProcInfo { id, number, .. } = *info;
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
        let names: &Names = &self.ast.names;
        let text = names.text(name);
        let procs = self.procs.keys().map(|name| names.text(*name));
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

    /// The definition in the text: its body sees the globals of this moment.
    pub(super) fn proc_defined(&mut self, number: u32) {
        self.now += 1;
        self.proc_times.insert(number, self.now);
    }

    /// The code of all procs, in order of their ids.
    pub(super) fn proc_bodies(&mut self) {
        let mut procs: Vec<(Name, ProcInfo)> =
            self.procs.iter().map(|(name, info)| (*name, *info)).collect();
        procs.sort_unstable_by_key(|(_, info)| info.id);
        self.active = None;
        for (name, info) in procs {
            self.proc_body(name, info.number);
        }
    }

    fn proc_body(&mut self, name: Name, number: u32) {
        let def = self.ast.procs[number as usize];
        let defined = self.proc_times.get(&number).copied().unwrap_or(0);
        self.proc = Some(OpenProc::new(defined, Some(number)));
        let entry = self.here_pc();
        let mut params = 0;
        for id in self.ast.exprs_in(def.params) {
            let Some(param) = self.ast.param_name(id) else { continue };
            self.proc_param(param, self.ast.expr_span(id));
            params += 1;
        }
        let flow = self.statement(def.body);
        self.check_end(number, flow);
        let end = self.ast.stmt_span(def.body).end;
        self.emit(Instr::Return, Span { start: end.saturating_sub(1), end });
        let Some(open) = self.proc.take() else { return };
        self.forget_locals(&open.locals);
        let locals = open.frame.names.len() as u32;
        let name = self.ast.names.text(name).to_string();
        self.plan.procs.push(Proc { name, entry, params, locals });
        self.plan.locals.push(open.frame.names);
    }

    fn proc_param(&mut self, name: Name, span: Span) {
        let text = self.ast.names.text(name);
        if self.proc.as_ref().is_some_and(|proc| proc.locals.contains(&name)) {
            let message = format!("the parameter ${text} is there twice");
            self.reports.push(Diagnostic::new(Code::Duplicate, span, message));
        }
        // A slot of its own in any case: calls fill the first slots one by one. What is
        // passed may differ between ranks; only the call knows.
        let slot = self.frame().fresh(text);
        self.set_new(name, slot, false);
    }
}

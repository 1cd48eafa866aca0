//! Tree -> what its names mean ([`Facts`]). Never fails: what a name cannot mean is left open, and emission
//! of the code says so.
//!
//! Visible is what stands textually earlier at top level, or in the same body; bodies of procs and
//! patterns see globals that are set before their definition. Procs, groups, patterns and hints hold in
//! the whole program.

mod define;
mod expr;
mod scope;
mod types;

use crate::ast::{Ast, Expr, ExprId, List, Name, Stmt, StmtId};
use crate::diag::Diagnostic;
use crate::facts::{Facts, Kind, Mention, SymbolId};
use crate::lower::lists::PUSH;
use crate::lower::report::Reports;
use crate::source::{Reader, Sources};
use model::plan::Span;
use model::types::Types;
use scope::Scopes;

/// What the names of a program mean, and which of them are defined twice.
pub(crate) fn resolve(ast: &Ast, sources: &Sources) -> (Facts, Vec<Diagnostic>) {
    let mut resolver = Resolver {
        ast,
        reader: Reader::new(sources),
        facts: Facts::default(),
        reports: Reports::default(),
        scopes: Scopes::default(),
        now: 0,
    };
    resolver.definitions(ast.top);
    resolver.statements(ast.top);
    resolver.kind_bodies();
    resolver.finish()
}

struct Resolver<'a> {
    ast: &'a Ast,
    reader: Reader<'a>,
    facts: Facts,
    reports: Reports,
    scopes: Scopes,
    /// The number behind the last expression read: expressions are numbered in the order of the text.
    now: u32,
}

impl Resolver<'_> {
    fn finish(mut self) -> (Facts, Vec<Diagnostic>) {
        let by_place = |mention: &Mention| mention.span.start;
        if !self.facts.mentions.is_sorted_by_key(by_place) {
            self.facts.mentions.sort_by_key(by_place);
        }
        (self.facts, self.reports.finish())
    }

    fn statements(&mut self, list: List) {
        for id in self.ast.stmts_in(list) {
            self.statement(id);
        }
    }

    fn statement(&mut self, id: StmtId) {
        let span = self.ast.stmt_span(id);
        match self.ast.stmt(id) {
            Stmt::Error | Stmt::Empty | Stmt::Break | Stmt::Continue => {}
            Stmt::Block(list) | Stmt::Include(_, list) => self.statements(list),
            Stmt::Op { op, args, .. } => self.op_arguments(op, args),
            Stmt::Assign(name, value) => self.assign(name, value, span),
            Stmt::Global(var, value) => self.global(var, value),
            Stmt::GlobalPush(args) => self.push(args, true),
            Stmt::Return(value) => {
                if let Some(value) = value {
                    self.value(value);
                }
            }
            Stmt::SetItem(item, value) => self.set_item(item, value, false),
            Stmt::Call { name, args } => self.call_proc(name, args, span),
            Stmt::Repeat(number) => {
                let repeat = self.ast.repeats[number as usize];
                let until = repeat.until.map(|until| until.limit);
                let values = [Some(repeat.from), repeat.to, repeat.step, until];
                let types = if repeat.in_list { Types::ANY } else { Types::INT };
                let var = repeat.var.map(|(name, span)| (name, span, types));
                self.with_loop_variable(var, values.into_iter().flatten(), repeat.body);
            }
            Stmt::Time(number) => {
                let time = self.ast.times[number as usize];
                if let Some(label) = time.label {
                    self.label(label);
                }
                self.statement(time.body);
            }
            Stmt::Group(name, body) => {
                self.named(Kind::Group, name);
                self.statement(body);
            }
            Stmt::Split(value, body) => {
                self.value(value);
                self.statement(body);
            }
            Stmt::Master(body) => self.statement(body),
            Stmt::Barrier(name) => {
                if let Some(name) = name {
                    self.named(Kind::Group, name);
                }
            }
            Stmt::If(number) => {
                let branch = self.ast.ifs[number as usize];
                self.value(branch.cond);
                self.statement(branch.then);
                if let Some(otherwise) = branch.otherwise {
                    self.statement(otherwise);
                }
            }
            Stmt::While(cond, body) => {
                self.value(cond);
                self.statement(body);
            }
            Stmt::With(options, body) => {
                self.options(options);
                self.statement(body);
            }
            Stmt::Param(number) => self.param(number),
            Stmt::Groups(list) => self.group_sizes(list),
            Stmt::Pattern(number) => self.pattern(number),
            Stmt::Proc(number) => self.proc(number),
            Stmt::Hints(_, value) => self.value(value),
            Stmt::Mix(number) => {
                let mix = self.ast.mixes[number as usize];
                self.ast.exprs_in(mix.weights).for_each(|id| self.value(id));
                self.statements(mix.bodies);
            }
            Stmt::Share(number) => {
                let share = self.ast.shares[number as usize];
                let (name, span) = share.var;
                let values = [Some(share.count), share.by].into_iter().flatten();
                self.with_loop_variable(Some((name, span, Types::INT)), values, share.body);
            }
            Stmt::Later(number) => self.later(number),
        }
    }

    /// `$x = value;`: the value does not see the variable yet.
    fn assign(&mut self, name: Name, value: ExprId, span: Span) {
        let length = self.ast.names.text(name).len() as u32;
        let sign = u32::from(self.reader.text(span).starts_with('$'));
        let place = Span { start: span.start, end: span.start + sign + length };
        let mention = self.mention_later(place);
        self.value(value);
        let symbol = self.set(Kind::Variable, name, place, types::of(self.ast, value));
        self.facts.mentions[mention].symbol = symbol;
    }

    /// A loop whose variable lives in its body.
    fn with_loop_variable(
        &mut self,
        var: Option<(Name, Span, Types)>,
        values: impl Iterator<Item = ExprId>,
        body: StmtId,
    ) {
        let mention = var.map(|(_, span, _)| self.mention_later(span));
        values.for_each(|id| self.value(id));
        let Some(((name, span, types), mention)) = var.zip(mention) else {
            return self.statement(body);
        };
        let symbol = self.symbol(Kind::Loop, span, types, 0);
        self.facts.symbols[symbol.0 as usize].within = Some(body);
        self.facts.mentions[mention].symbol = symbol;
        let outer = self.scopes.replace(name, Some(symbol));
        self.statement(body);
        self.scopes.replace(name, outer);
    }

    /// `global $x = value;` in a proc
    fn global(&mut self, var: ExprId, value: ExprId) {
        if matches!(self.ast.expr(var), Expr::Index(..)) {
            return self.set_item(var, value, true);
        }
        if let Expr::Var(name) = self.ast.expr(var)
            && let Some(symbol) = self.scopes.global(name)
        {
            let known = &mut self.facts.symbols[symbol.0 as usize];
            known.types = known.types.or(types::of(self.ast, value));
            known.definitions += 1;
            self.mention(symbol, self.ast.expr_span(var), true);
        }
        self.value(value);
    }

    /// `$list[at][at] = value;`
    fn set_item(&mut self, item: ExprId, value: ExprId, global: bool) {
        self.changed(item, global);
        self.value(value);
    }

    /// `push($list, value);`, `push($list[at], value);`
    fn push(&mut self, args: List, global: bool) {
        let mut args = self.ast.exprs_in(args);
        if let Some(list) = args.next() {
            self.changed(list, global);
        }
        args.for_each(|id| self.named_or_value(Kind::Pattern, id));
    }

    /// A list that takes a value, or a list in it: its variable is no constant.
    fn changed(&mut self, list: ExprId, global: bool) {
        let (var, indices) = self.ast.element(list);
        let Expr::Var(name) = self.ast.expr(var) else { return self.value(list) };
        self.now = self.now.max(list.0 + 1);
        let known = if global { self.scopes.global(name) } else { self.scopes.visible(name) };
        if let Some(symbol) = known {
            self.facts.symbols[symbol.0 as usize].definitions += 1;
            self.mention(symbol, self.ast.expr_span(var), true);
        }
        indices.into_iter().for_each(|at| self.value(at));
    }

    /// `name(args);`
    pub(super) fn call_proc(&mut self, name: Name, args: List, span: Span) {
        let text = self.ast.names.text(name);
        if let Some(symbol) = self.facts.find(Kind::Proc, text) {
            let end = span.start + text.len() as u32;
            self.mention(symbol, Span { start: span.start, end }, false);
        }
        if text == PUSH && self.facts.find(Kind::Proc, text).is_none() {
            return self.push(args, false);
        }
        for id in self.ast.exprs_in(args) {
            // The proc may use a text as the name of a pattern.
            self.named_or_value(Kind::Pattern, id);
        }
    }

    /// `with (name=value, ...)`
    fn options(&mut self, options: List) {
        for id in self.ast.exprs_in(options) {
            match self.ast.expr(id) {
                Expr::Named(name, value) if self.ast.names.text(name) == "hints" => {
                    self.named_or_value(Kind::Hints, value);
                }
                _ => self.value(id),
            }
        }
    }

    fn later(&mut self, number: u32) {
        let later = self.ast.laters[number as usize];
        self.ast.exprs_in(later.exprs).for_each(|id| self.value(id));
        self.statements(later.body);
    }

    /// A place whose symbol is found out after what stands behind it: where it is in the list.
    fn mention_later(&mut self, span: Span) -> usize {
        self.mention(SymbolId(u32::MAX), span, true);
        self.facts.mentions.len() - 1
    }

    fn mention(&mut self, symbol: SymbolId, span: Span, defines: bool) {
        self.facts.mentions.push(Mention { span, symbol, defines });
    }
}

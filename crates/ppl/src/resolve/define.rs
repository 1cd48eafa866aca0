//! Definitions: of what the whole program sees, before anything else is read; their bodies in the order of
//! the text.

use super::{Resolver, types};
use crate::ast::{Expr, ExprId, GroupSize, List, Stmt};
use crate::diag::{Code, Diagnostic};
use crate::facts::Kind;
use model::plan::Span;
use model::types::Types;

impl Resolver<'_> {
    /// Takes in what holds in the whole program.
    pub(super) fn definitions(&mut self, list: List) {
        for id in self.ast.stmts_in(list) {
            match self.ast.stmt(id) {
                Stmt::Include(_, inner) => self.definitions(inner),
                Stmt::Groups(list) => {
                    for number in list.start..list.start + list.len {
                        let name = self.ast.groups[number as usize].name;
                        self.string_definition(Kind::Group, name, number);
                    }
                }
                Stmt::Pattern(number) => {
                    let name = self.ast.patterns[number as usize].name;
                    self.string_definition(Kind::Pattern, name, number);
                }
                Stmt::Hints(name, _) => self.string_definition(Kind::Hints, name, 0),
                Stmt::Proc(number) => {
                    let (name, span) = self.ast.procs[number as usize].name;
                    self.definition(Kind::Proc, self.ast.names.text(name), span, number);
                }
                _ => {}
            }
        }
    }

    fn string_definition(&mut self, kind: Kind, name: ExprId, number: u32) {
        if let Some(text) = self.name(kind, name) {
            self.definition(kind, &text, self.ast.expr_span(name), number);
        }
    }

    fn definition(&mut self, kind: Kind, name: &str, span: Span, number: u32) {
        let symbol = self.global_name(kind, name, span, number);
        self.mention(symbol, span, true);
        let first = self.facts.symbol(symbol).span;
        if first != span {
            let (what, are, they) = match kind {
                Kind::Proc => (format!("the proc {name}"), "is", "it is"),
                Kind::Hints => (format!("the hints \"{name}\""), "are", "they are"),
                _ => (format!("the {} \"{name}\"", kind.word()), "is", "it is"),
            };
            let message = format!("{what} {are} defined twice");
            let diagnostic = Diagnostic::new(Code::Duplicate, span, message);
            self.reports.push(diagnostic.related(first, format!("{they} defined here first")));
        }
    }

    /// The statement that defines a parameter: its variable is visible from here on.
    pub(super) fn param(&mut self, number: u32) {
        let param = self.ast.params[number as usize];
        let (name, span) = param.var;
        let mention = self.mention_later(span);
        self.value(param.default);
        // `define param` gives text.
        let text = if param.public.is_some() { Types::STR } else { Types::NONE };
        let types = types::of(self.ast, param.default).or(text);
        let symbol = self.set(Kind::Parameter, name, span, types);
        if self.facts.symbol(symbol).span == span {
            self.facts.symbols[symbol.0 as usize].number = number;
        }
        self.facts.mentions[mention].symbol = symbol;
    }

    pub(super) fn group_sizes(&mut self, list: List) {
        for number in list.start..list.start + list.len {
            let size = self.ast.groups[number as usize].size;
            if let Some(GroupSize::Ranks(id) | GroupSize::Percent(id)) = size {
                self.value(id);
            }
        }
    }

    /// The arguments of a pattern, or its body.
    pub(super) fn pattern(&mut self, number: u32) {
        let def = self.ast.patterns[number as usize];
        if let Some(level) = def.level {
            self.value(level);
        }
        for id in self.ast.exprs_in(def.values) {
            // Only a group is named by a text.
            match (def.kind, self.ast.expr(id)) {
                (None, Expr::Str) => self.named(Kind::Group, id),
                _ => self.value(id),
            }
        }
        if def.kind.is_none() {
            self.pattern_body(number);
        }
    }

    /// The bodies of kinds, which are no text of the program: what they name comes behind all else.
    pub(super) fn kind_bodies(&mut self) {
        for number in 0..self.ast.patterns.len() {
            if self.ast.patterns[number].kind.is_some() {
                self.pattern_body(number as u32);
            }
        }
    }

    fn pattern_body(&mut self, number: u32) {
        let def = self.ast.patterns[number as usize];
        let Some(body) = def.body else { return };
        let owner = self.find(Kind::Pattern, def.name);
        self.body(owner, |resolver| {
            resolver.arguments(def.params);
            resolver.statement(body);
        });
    }

    pub(super) fn proc(&mut self, number: u32) {
        let def = self.ast.procs[number as usize];
        let owner = self.facts.find(Kind::Proc, self.ast.names.text(def.name.0));
        // Defaults see what the program has set before.
        for id in self.ast.exprs_in(def.params) {
            if let Expr::Named(_, default) = self.ast.expr(id) {
                self.value(default);
            }
        }
        self.body(owner, |resolver| {
            resolver.arguments(def.params);
            resolver.statement(def.body);
        });
    }

    /// Parameters of a body become variables of it.
    fn arguments(&mut self, params: List) {
        for id in self.ast.exprs_in(params) {
            let Some(name) = self.ast.param_name(id) else { continue };
            self.now = self.now.max(id.0 + 1);
            let start = self.ast.expr_span(id).start;
            let end = start + 1 + self.ast.names.text(name).len() as u32;
            let span = Span { start, end };
            let symbol = self.symbol(Kind::Argument, span, Types::ANY, 0);
            self.scopes.replace(name, Some(symbol));
            self.mention(symbol, span, true);
        }
    }
}

//! Names in values and in strings.

use super::Resolver;
use crate::ast::{Expr, ExprId, List, Name};
use crate::facts::{Kind, SymbolId};
use crate::lower::op::required;
use crate::text;
use crate::word::{Word, classify};
use model::Op;
use model::function::{Accepts, FunctionRow};
use model::op::ParamKind;
use model::plan::Span;
use model::types::Types;

impl Resolver<'_> {
    /// An expression that is evaluated.
    pub(super) fn value(&mut self, id: ExprId) {
        self.now = self.now.max(id.0 + 1);
        let span = self.ast.expr_span(id);
        match self.ast.expr(id) {
            Expr::Error
            | Expr::Int(_)
            | Expr::Float(_)
            | Expr::Bool(_)
            | Expr::Duration(_)
            | Expr::Rate(_)
            | Expr::Internal(_)
            | Expr::Env(_)
            | Expr::Word(_) => {}
            Expr::Str => self.string(span),
            Expr::Var(name) => {
                if let Some(symbol) = self.scopes.visible(name) {
                    self.mention(symbol, span, false);
                }
            }
            Expr::Unary(_, a) | Expr::Paren(a) | Expr::Named(_, a) => self.value(a),
            Expr::Binary(_, a, b) | Expr::Index(a, b) => {
                self.value(a);
                self.value(b);
            }
            Expr::Call(name, args) => self.call(name, args, span),
            Expr::List(items) => self.values(items),
        }
    }

    pub(super) fn values(&mut self, list: List) {
        for id in self.ast.exprs_in(list) {
            self.value(id);
        }
    }

    /// `name(args)` in an expression: a function, or an operation that gives a handle.
    fn call(&mut self, name: Name, args: List, span: Span) {
        let text = self.ast.names.text(name);
        if let Word::Op(op) = classify(text).0 {
            return self.op_arguments(op, args);
        }
        if self.facts.find(Kind::Proc, text).is_some() {
            return self.call_proc(name, args, span);
        }
        let row = FunctionRow::find(text);
        for (at, id) in self.ast.exprs_in(args).enumerate() {
            match row.filter(|row| !row.params.is_empty()).map(|row| row.accepts(at)) {
                Some(Accepts::Pattern) => self.named_or_value(Kind::Pattern, id),
                _ => self.value(id),
            }
        }
    }

    /// Arguments of an operation; some name patterns or groups.
    pub(super) fn op_arguments(&mut self, op: Op, args: List) {
        let params = op.row().params;
        let exact = args.len as usize == op.row().required();
        for (at, id) in self.ast.exprs_in(args).enumerate() {
            let (param, value) = match self.ast.expr(id) {
                Expr::Named(name, value) => {
                    let name = self.ast.names.text(name);
                    (params.iter().find(|param| param.name == name), value)
                }
                _ if exact => (params.get(required(params, at)), id),
                _ => (params.get(at), id),
            };
            match param.map(|param| param.kind) {
                Some(ParamKind::Pattern) => self.named_or_value(Kind::Pattern, value),
                Some(ParamKind::Group) => self.named(Kind::Group, value),
                _ => self.value(value),
            }
        }
    }

    /// A string in which `$` begins variables.
    fn string(&mut self, span: Span) {
        let raw = self.reader.text(span);
        if !raw.as_bytes().contains(&b'$') {
            return;
        }
        for piece in text::pieces(raw, span.start) {
            match piece {
                text::Piece::Var { run, span } => self.run(run, span.start),
                text::Piece::Braced { name, span, .. } => {
                    if let Some(symbol) = self.visible_text(name) {
                        self.mention(symbol, span, false);
                    }
                }
                text::Piece::Text(_) | text::Piece::Internal { .. } | text::Piece::Env { .. } => {}
            }
        }
    }

    /// `$name...`: the longest run that is a visible variable; the rest is text.
    fn run(&mut self, run: &str, start: u32) {
        for length in (1..=run.len()).rev() {
            if let Some(symbol) = self.visible_text(&run[..length]) {
                let end = start + 1 + length as u32;
                return self.mention(symbol, Span { start, end }, false);
            }
        }
    }

    /// A string that names something, in which `$` means nothing. Without such a thing: nothing.
    pub(super) fn named(&mut self, kind: Kind, id: ExprId) {
        self.now = self.now.max(id.0 + 1);
        if let Some(symbol) = self.find(kind, id) {
            self.mention(symbol, self.ast.expr_span(id), false);
        }
    }

    /// The name of something if there is such a thing, or else a value.
    pub(super) fn named_or_value(&mut self, kind: Kind, id: ExprId) {
        match self.find(kind, id) {
            Some(symbol) => self.mention(symbol, self.ast.expr_span(id), false),
            None => self.value(id),
        }
    }

    /// What a string names.
    pub(super) fn find(&mut self, kind: Kind, id: ExprId) -> Option<SymbolId> {
        if self.facts.named[kind as usize].is_empty() {
            return None;
        }
        let name = self.name(kind, id)?;
        self.facts.find(kind, &name)
    }

    /// The name in a string; blanks around that of a group do not count.
    pub(super) fn name(&mut self, kind: Kind, id: ExprId) -> Option<String> {
        if self.ast.expr(id) != Expr::Str {
            return None;
        }
        let raw = self.reader.text(self.ast.expr_span(id));
        let name = String::from_utf8_lossy(&text::plain(raw)).into_owned();
        Some(if kind == Kind::Group { name.trim().into() } else { name })
    }

    /// The label of `time`; all of the same text are one.
    pub(super) fn label(&mut self, id: ExprId) {
        let span = self.ast.expr_span(id);
        if let Some(text) = self.name(Kind::Label, id) {
            let symbol = self.global_name(Kind::Label, &text, span, 0);
            self.mention(symbol, span, true);
        }
        self.value(id);
    }

    /// The thing of this name that the whole program sees; the first definition makes it.
    pub(super) fn global_name(
        &mut self,
        kind: Kind,
        name: &str,
        span: Span,
        number: u32,
    ) -> SymbolId {
        if let Some(known) = self.facts.find(kind, name) {
            self.facts.symbols[known.0 as usize].definitions += 1;
            return known;
        }
        let symbol = self.symbol(kind, span, Types::NONE, number);
        let table = &mut self.facts.named[kind as usize];
        let made = &mut self.facts.symbols[symbol.0 as usize];
        made.ordinal = table.len() as u32;
        (made.owner, made.since) = (None, 0);
        table.insert(name.into(), symbol);
        symbol
    }
}

//! E0316: a use of a file after its `fclose`, where every path leads from one to the other.
//!
//! ```text
//! $f = fopen("f", "w"); fclose($f); fwrite($f, 4k);      fails with EBADF
//! ```
//!
//! Followed are statements one after the other, also into blocks that are always executed once. What stands in
//! loops, conditions and groups of ranks is not judged, nor what is inside of `with (expect=...)`.

use crate::ast::{Ast, Expr, List, Stmt, StmtId};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Facts, SymbolId};
use crate::source::Sources;
use model::Op;
use model::op::{HandleEffect, ParamKind};
use model::plan::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// Finds uses of files that are surely closed.
pub(crate) fn find_uses_after_close(
    ast: &Ast,
    facts: &Facts,
    sources: &Sources,
) -> Vec<Diagnostic> {
    let closes = |stmt: &Stmt| matches!(stmt, Stmt::Op { op, .. } if is_close(*op));
    if !ast.stmts.iter().any(closes) {
        return Vec::new();
    }
    let (shared, closed) = (set_by_procs(ast, facts), FxHashMap::default());
    let (exits, found) = (exits(ast), Vec::new());
    let mut path = Path { ast, facts, sources, shared, exits, closed, found };
    let lists = ast.stmts.iter().filter_map(|stmt| match stmt {
        Stmt::Block(list) => Some(*list),
        _ => None,
    });
    for list in std::iter::once(ast.top).chain(lists) {
        path.closed.clear();
        path.follow(list);
    }
    let mut found = path.found;
    found.sort_by_key(|diagnostic| diagnostic.span);
    // A block inside of a block is followed from both.
    found.dedup_by_key(|diagnostic| diagnostic.span);
    found
}

fn is_close(op: Op) -> bool {
    op.row().handle == HandleEffect::Closes
}

/// Variables that `global $h = ...` sets: any call of a proc may open them again.
fn set_by_procs(ast: &Ast, facts: &Facts) -> FxHashSet<SymbolId> {
    let targets = ast.stmts.iter().filter_map(|stmt| match stmt {
        Stmt::Global(target, _) => facts.at(ast.expr_span(*target).start),
        _ => None,
    });
    targets.map(|mention| mention.symbol).collect()
}

/// Where the statements are that leave a loop or a proc, in order.
fn exits(ast: &Ast) -> Vec<u32> {
    let leaves = |stmt: &Stmt| matches!(stmt, Stmt::Break | Stmt::Continue | Stmt::Return(_));
    let statements = ast.stmts.iter().zip(&ast.stmt_spans);
    let mut places: Vec<u32> =
        statements.filter(|(stmt, _)| leaves(stmt)).map(|(_, span)| span.start).collect();
    places.sort_unstable();
    places
}

/// Statements that are executed one after the other.
struct Path<'a> {
    ast: &'a Ast,
    facts: &'a Facts,
    sources: &'a Sources,
    shared: FxHashSet<SymbolId>,
    exits: Vec<u32>,
    /// Closed files, each with its `fclose`.
    closed: FxHashMap<SymbolId, Span>,
    found: Vec<Diagnostic>,
}

impl Path<'_> {
    fn follow(&mut self, list: List) {
        let ast = self.ast;
        ast.stmts_in(list).for_each(|stmt| self.statement(stmt));
    }

    fn statement(&mut self, id: StmtId) {
        let span = self.ast.stmt_span(id);
        match self.ast.stmt(id) {
            Stmt::Op { op, args, .. } => self.operation(op, args, span),
            Stmt::Block(list) | Stmt::Include(_, list) => self.follow(list),
            Stmt::Time(number) => self.statement(self.ast.times[number as usize].body),
            Stmt::With(options, body) if !self.expects(options) => self.statement(body),
            Stmt::Break | Stmt::Continue | Stmt::Return(_) => self.closed.clear(),
            _ => self.pass_over(span),
        }
    }

    /// `with (expect="EBADF")`
    fn expects(&self, options: List) -> bool {
        let is_expect = |option| match self.ast.expr(option) {
            Expr::Named(name, _) => self.ast.names.text(name) == "expect",
            _ => false,
        };
        self.ast.exprs_in(options).any(is_expect)
    }

    /// A statement that may do something, or not: files that it may open are no longer known as closed.
    fn pass_over(&mut self, span: Span) {
        if self.closed.is_empty() {
            return;
        }
        let exit = self.exits.partition_point(|place| *place < span.start);
        if self.exits.get(exit).is_some_and(|place| *place < span.end) {
            self.closed.clear();
        }
        let mentions = &self.facts.mentions;
        let first = mentions.partition_point(|mention| mention.span.start < span.start);
        let inside = mentions[first..].iter().take_while(|mention| mention.span.start < span.end);
        for mention in inside.filter(|mention| mention.defines) {
            self.closed.remove(&mention.symbol);
        }
    }

    fn operation(&mut self, op: Op, args: List, span: Span) {
        let is_file = |kind| matches!(kind, ParamKind::Handle | ParamKind::MpiHandle);
        let params = op.row().params.iter();
        let files = self.ast.exprs_in(args).zip(params).filter(|(_, param)| is_file(param.kind));
        for (file, _) in files.collect::<Vec<_>>() {
            let place = self.ast.expr_span(file);
            let is_variable = matches!(self.ast.expr(file), Expr::Var(_));
            let Some(mention) = self.facts.at(place.start).filter(|_| is_variable) else {
                continue;
            };
            let symbol = mention.symbol;
            if let Some(close) = self.closed.get(&symbol) {
                self.found.push(used_after_close(op, place, *close, self.sources));
                // One mistake, one diagnostic.
                self.closed.remove(&symbol);
            } else if is_close(op) && !self.shared.contains(&symbol) {
                self.closed.insert(symbol, span);
            }
        }
    }
}

fn used_after_close(op: Op, place: Span, close: Span, sources: &Sources) -> Diagnostic {
    let file = sources.text(place);
    let message = format!("{op} uses {file}, which is closed");
    Diagnostic::new(Code::Closed, place, message)
        .related(close, format!("{file} is closed here"))
        .help(format!("close the file after its last use, or open it again: {file} = fopen(...);"))
}

//! Checks of the tree alone: precedence of `%`, endless recursion, MPI, and whether the program speaks of
//! ranks.

use crate::ast::{Ast, Expr, ExprId, Name, Stmt, StmtId};
use crate::diag::{Code, Diagnostic};
use crate::lower::notes::Reports;
use crate::source::Sources;
use crate::word::{Word, classify};
use model::Op;
use model::op::Needs;
use model::plan::{BinaryOp, Span};
use rustc_hash::FxHashMap;

/// Warns where `%` meets `*` or `/` without parentheses.
pub(crate) fn warn_of_precedence(ast: &Ast, sources: &Sources) -> Vec<Diagnostic> {
    let mut reports = Reports::default();
    for whole in ast.remainders.iter().copied() {
        if let Expr::Binary(_, a, b) = ast.expr(whole) {
            for side in [a, b] {
                if let Some(sign) = product(ast, side) {
                    reports.push(warning(ast, sources, whole, side, sign));
                }
            }
        }
    }
    reports.finish()
}

fn product(ast: &Ast, side: ExprId) -> Option<&'static str> {
    match ast.expr(side) {
        Expr::Binary(op @ (BinaryOp::Mul | BinaryOp::Div), ..) => Some(op.symbol()),
        _ => None,
    }
}

fn warning(ast: &Ast, sources: &Sources, whole: ExprId, side: ExprId, sign: &str) -> Diagnostic {
    let span = ast.expr_span(whole);
    let inner: Span = ast.expr_span(side);
    let text = sources.text(inner);
    let message =
        format!("`%` meets `{sign}` without parentheses; `{sign}` is computed first here");
    Diagnostic::new(Code::Precedence, span, message)
        .help(format!("write ({text}), or put the parentheses around the part with `%`"))
        .fix(inner, format!("({text})"))
}

/// Reports procs every execution of which calls them again.
pub(crate) fn check_recursion(ast: &Ast) -> Vec<Diagnostic> {
    let mut calls: FxHashMap<Name, Vec<Name>> = FxHashMap::default();
    for proc in &ast.procs {
        let mut certain = Vec::new();
        collect(ast, proc.body, &mut certain);
        calls.entry(proc.name.0).or_insert(certain);
    }
    let mut found = Vec::new();
    for proc in &ast.procs {
        let (name, span) = proc.name;
        let Some(way) = way_back(&calls, name) else { continue };
        let way: Vec<&str> = way.iter().map(|name| ast.names.text(*name)).collect();
        let message = format!("the proc {} calls itself without end: {}", way[0], way.join(" -> "));
        let help = "put the call under a condition that ends it, or use a loop";
        found.push(Diagnostic::new(Code::Recursion, span, message).help(help));
    }
    found
}

/// The calls that lead from a proc to itself.
fn way_back(calls: &FxHashMap<Name, Vec<Name>>, name: Name) -> Option<Vec<Name>> {
    let mut from: FxHashMap<Name, Name> = FxHashMap::default();
    let mut open = vec![name];
    while let Some(at) = open.pop() {
        for next in calls.get(&at).into_iter().flatten() {
            if *next == name {
                let mut way = vec![name, at];
                while let Some(before) = from.get(way.last()?).filter(|_| way.last() != Some(&name))
                {
                    way.push(*before);
                }
                way.reverse();
                if at == name {
                    way = vec![name, name];
                }
                return Some(way);
            }
            if !from.contains_key(next) {
                from.insert(*next, at);
                open.push(*next);
            }
        }
    }
    None
}

/// Procs that a statement calls in every execution; false: what follows it may not be reached.
fn collect(ast: &Ast, id: StmtId, calls: &mut Vec<Name>) -> bool {
    match ast.stmt(id) {
        Stmt::Call { name, .. } => calls.push(name),
        Stmt::Block(list) => return ast.stmts_in(list).all(|id| collect(ast, id, calls)),
        Stmt::Time(number) => return collect(ast, ast.times[number as usize].body, calls),
        Stmt::With(_, body) => return collect(ast, body, calls),
        Stmt::Repeat(number) => {
            let repeat = ast.repeats[number as usize];
            if matches!(ast.expr(repeat.from), Expr::Int(1..))
                && repeat.to.is_none()
                && !repeat.in_list
            {
                collect(ast, repeat.body, calls);
            }
        }
        Stmt::If(number) => {
            let branch = ast.ifs[number as usize];
            let Some(otherwise) = branch.otherwise else { return !leaves(ast, branch.then) };
            let (mut a, mut b) = (Vec::new(), Vec::new());
            let on = collect(ast, branch.then, &mut a) & collect(ast, otherwise, &mut b);
            calls.extend(a.into_iter().filter(|name| b.contains(name)));
            return on;
        }
        Stmt::Mix(number) => {
            let bodies = ast.mixes[number as usize].bodies;
            return ast.stmts_in(bodies).all(|id| !leaves(ast, id));
        }
        Stmt::Break | Stmt::Continue | Stmt::Return(_) => return false,
        _ => {}
    }
    true
}

/// The statement may hold a `return`, or a `break` or `continue` of a loop around it.
fn leaves(ast: &Ast, id: StmtId) -> bool {
    !collect(ast, id, &mut Vec::new())
}

/// Warns of the first statement in the text that needs MPI.
pub(crate) fn warn_of_mpi(ast: &Ast) -> Option<Diagnostic> {
    let statements = ast.stmts.iter().zip(&ast.stmt_spans);
    let ops = statements.filter_map(|(stmt, span)| op(ast, stmt, *span));
    let needing = ops.filter(|(op, _)| op.row().needs == Needs::Mpi);
    let (op, span) = needing.min_by_key(|(_, span)| span.start)?;
    let message = format!("{op} needs MPI at run time: a rank that gets here ends");
    Some(Diagnostic::new(Code::NeedsMpi, span, message))
}

/// The operation that a statement executes.
fn op(ast: &Ast, stmt: &Stmt, span: Span) -> Option<(Op, Span)> {
    match *stmt {
        Stmt::Op { op, .. } => Some((op, span)),
        Stmt::Assign(_, value) => match ast.expr(value) {
            Expr::Call(name, _) => match classify(ast.names.text(name)).0 {
                Word::Op(op) => Some((op, ast.expr_span(value))),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Internal variables and functions that only mean something among several ranks.
const WORDS: [&str; 13] = [
    "$$rank", "$$grank", "$$size", "$$gsize", "$$node", "$$crand", "$$group", "tested(", "gsum(",
    "gmin(", "gmax(", "gall(", "gany(",
];

/// The number of ranks that a program is for, by its own word: `assert($$size == 4);`, or `>= 4`, among
/// its statements, in no block.
pub(crate) fn asserted_ranks(ast: &Ast) -> Option<u32> {
    let asserted = |stmt| match ast.stmt(stmt) {
        Stmt::Op { op: Op::Assert, args, .. } => ast.exprs_in(args).next(),
        _ => None,
    };
    ast.stmts_in(ast.top).filter_map(asserted).find_map(|condition| number_of_ranks(ast, condition))
}

/// The number in `$$size == 4`, `$$size >= 4`.
fn number_of_ranks(ast: &Ast, condition: ExprId) -> Option<u32> {
    match ast.expr(condition) {
        Expr::Paren(inner) => number_of_ranks(ast, inner),
        Expr::Binary(BinaryOp::Eq | BinaryOp::Ge, a, b) => match (ast.expr(a), ast.expr(b)) {
            (Expr::Internal(name), Expr::Int(ranks)) if ast.names.text(name) == "size" => {
                u32::try_from(ranks).ok().filter(|ranks| *ranks > 0)
            }
            _ => None,
        },
        _ => None,
    }
}

/// A program in which nothing stands about ranks was written for one.
pub(crate) fn speaks_of_ranks(ast: &Ast, sources: &Sources, params: &[(String, String)]) -> bool {
    let has_word = |text: &str| WORDS.iter().any(|word| text.contains(word));
    ast.stmts.iter().any(is_about_ranks)
        || ast.times.iter().any(|time| time.sync)
        || sources.files().iter().any(|file| has_word(&file.text))
        || params.iter().any(|(_, text)| has_word(text))
}

fn is_about_ranks(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Group(..)
        | Stmt::Split(..)
        | Stmt::Share(_)
        | Stmt::Master(_)
        | Stmt::Barrier(_)
        | Stmt::Groups(_)
        | Stmt::Pattern(_) => true,
        Stmt::Op { op, .. } => matches!(op, Op::Signal | Op::Wait) || op.row().needs == Needs::Mpi,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{NoIncludes, Sources};

    fn messages(text: &str) -> Vec<String> {
        let mut sources = Sources::default();
        let (root, _) = sources.add("test.ppl", text.into());
        let (ast, _) = crate::parse(&mut sources, root, &mut NoIncludes);
        check_recursion(&ast).into_iter().map(|d| d.message).collect()
    }

    #[test]
    fn recursion_that_cannot_end() {
        for (text, ways) in [
            ("define proc p() { p(); }", vec!["p -> p"]),
            ("define proc p() { time[\"x\"] { sync; with (direct=true) p(); } }", vec!["p -> p"]),
            (
                "define proc p() { q(); } define proc q() { p(); }",
                vec!["p -> q -> p", "q -> p -> q"],
            ),
            ("define proc p() { q(); } define proc q() { q(); }", vec!["q -> q"]),
            ("define proc p($n) { if ($n > 0) p($n - 1); }", vec![]),
            ("define proc p($n) { if ($n > 0) p(1); else p(2); }", vec!["p -> p"]),
            ("define proc p($n) { if ($n > 0) p(1); else { } }", vec![]),
            ("define proc p($n) { repeat $n p(1); }", vec![]),
            ("define proc p($n) { repeat 2 p(1); }", vec!["p -> p"]),
            ("define proc p($n) { repeat 2 { if ($n > 0) break; p(1); } }", vec![]),
            ("define proc p($n) { repeat 2 { if ($n > 0) { } p(1); } }", vec!["p -> p"]),
            ("define proc p($n) { while ($n) p(1); }", vec![]),
        ] {
            let found = messages(text);
            assert_eq!(found.len(), ways.len(), "{text}: {found:?}");
            for (message, way) in found.iter().zip(ways) {
                assert!(message.ends_with(way), "{text}: {message}");
            }
        }
    }
}

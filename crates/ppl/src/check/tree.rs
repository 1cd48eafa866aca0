//! Checks of the tree alone: precedence of `%`, MPI, and whether the program speaks of ranks.

use crate::ast::{Ast, Expr, ExprId, Stmt};
use crate::diag::{Code, Diagnostic, Reports};
use crate::source::Sources;
use model::Op;
use model::op::Needs;
use model::plan::{BinaryOp, Span};

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

/// Internal variables and functions that only mean something among several ranks.
const WORDS: [&str; 16] = [
    "$$rank", "$$grank", "$$size", "$$gsize", "$$node", "$$crand", "$$group", "tested(", "gsum(",
    "gmin(", "gmax(", "gall(", "gany(", "gscan(", "gbcast(", "next(",
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
        | Stmt::Master { .. }
        | Stmt::Barrier(_)
        | Stmt::Groups(_)
        | Stmt::Pattern(_) => true,
        Stmt::Op { op, .. } => matches!(op, Op::Signal | Op::Wait) || op.row().needs == Needs::Mpi,
        _ => false,
    }
}

//! Does a program speak of ranks at all, and for how many is it?

use crate::ast::{Ast, Expr, ExprId, Stmt};
use crate::source::Sources;
use model::Op;
use model::op::Needs;
use model::plan::BinaryOp;

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

//! Does a program speak of ranks at all?

use crate::ast::{Ast, Stmt};
use crate::source::Sources;
use model::Op;
use model::op::Needs;

/// Internal variables that only mean something among several ranks.
const WORDS: [&str; 7] = ["$$rank", "$$grank", "$$size", "$$gsize", "$$node", "$$crand", "$$group"];

/// A program in which nothing stands about ranks was written for one.
pub(crate) fn speaks_of_ranks(ast: &Ast, sources: &Sources) -> bool {
    ast.stmts.iter().any(is_about_ranks)
        || ast.times.iter().any(|time| time.sync)
        || sources.files().iter().any(|file| WORDS.iter().any(|word| file.text.contains(word)))
}

fn is_about_ranks(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Group(..)
        | Stmt::Master(_)
        | Stmt::Barrier(_)
        | Stmt::Groups(_)
        | Stmt::Pattern(_) => true,
        Stmt::Op { op, .. } => matches!(op, Op::Signal | Op::Wait) || op.row().needs == Needs::Mpi,
        _ => false,
    }
}

//! Does a program speak of ranks at all?

use crate::ast::{Ast, Stmt};
use crate::source::Sources;
use model::Op;
use model::op::Needs;

/// Internal variables and functions that only mean something among several ranks.
const WORDS: [&str; 13] = [
    "$$rank", "$$grank", "$$size", "$$gsize", "$$node", "$$crand", "$$group", "tested(", "gsum(",
    "gmin(", "gmax(", "gall(", "gany(",
];

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

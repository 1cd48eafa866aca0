//! W0401: a program that needs MPI, where there is none.

use crate::ast::{Ast, Expr, Stmt};
use crate::diag::{Code, Diagnostic};
use crate::word::{Word, classify};
use model::Op;
use model::op::Needs;
use model::plan::Span;

/// Warns of the first statement in the text that needs MPI.
pub(crate) fn check(ast: &Ast) -> Option<Diagnostic> {
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

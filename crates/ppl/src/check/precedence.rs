//! W0202: `%` binds looser than `*` and `/`, unlike in C.

use crate::ast::{Ast, Expr, ExprId};
use crate::diag::{Code, Diagnostic};
use crate::lower::report::Reports;
use crate::source::Sources;
use model::plan::{BinaryOp, Span};

/// Warns where `%` meets `*` or `/` without parentheses.
pub(crate) fn check(ast: &Ast, sources: &Sources) -> Vec<Diagnostic> {
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

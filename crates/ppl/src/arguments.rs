//! Which parameter of an operation an argument belongs to.
//!
//! ```text
//! fallocate($h, 4k);             two are required: handle and n
//! fallocate($h, 0, 4k);          three: handle, off and n
//! fallocate($h, n=4k, off=0);    by name
//! ```

use crate::ast::{Ast, Expr, ExprId, List};
use crate::source::Sources;
use crate::text;
use model::Op;
use model::op::Param;

/// How the members of a communicator work together in one call.
pub(crate) const TOGETHER: [&str; 3] = ["all", "shared", "ordered"];

/// The number of the parameter of each argument; `None`: there is none.
pub fn parameters(op: Op, args: List, ast: &Ast, sources: &Sources) -> Vec<Option<usize>> {
    let params = op.row().params;
    let exact = args.len as usize == op.row().required();
    let place = |(at, id): (usize, ExprId)| match ast.expr(id) {
        Expr::Named(name, _) => {
            let text = ast.names.text(name);
            params.iter().position(|param| param.name == text)
        }
        Expr::Str => {
            let word = text::plain(sources.text(ast.expr_span(id)));
            let is_together = TOGETHER.iter().any(|known| known.as_bytes() == &*word);
            Some(unnamed(op, at, exact, is_together)).filter(|at| *at < params.len())
        }
        _ => Some(unnamed(op, at, exact, false)).filter(|at| *at < params.len()),
    };
    ast.exprs_in(args).enumerate().map(place).collect()
}

/// The number of the parameter that an argument without a name is for, `at` in the order of the arguments.
/// `exact`: there are as many as are required, and so these are meant, also where an optional one stands between
/// them. `is_together`: it is one of the words that say who makes a call together.
#[inline]
pub fn unnamed(op: Op, at: usize, exact: bool, is_together: bool) -> usize {
    match exact {
        true => required(op.row().params, at),
        false if at == 2 && places_together(op) && is_together => 3,
        false => at,
    }
}

/// The place of the required parameter with this number.
pub(crate) fn required(params: &[Param], number: usize) -> usize {
    let mut places = (0..params.len()).filter(|at| params[*at].default.is_none());
    places.nth(number).unwrap_or(params.len())
}

/// It says who calls together: by its last argument, or by the pattern.
pub(crate) fn places_together(op: Op) -> bool {
    matches!(op, Op::Pfwrite | Op::Pfread)
}

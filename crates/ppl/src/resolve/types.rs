//! The types of an expression as far as it tells by itself.

use crate::ast::{Ast, Expr, ExprId};
use crate::word::{Word, classify};
use model::Op;
use model::internal::InternalRow;
use model::plan::{BinaryOp, UnaryOp};
use model::types::Types;

/// The types that a value can have, whatever variables hold.
pub(super) fn of(ast: &Ast, id: ExprId) -> Types {
    match ast.expr(id) {
        Expr::Int(_) => Types::INT,
        Expr::Float(_) => Types::FLOAT,
        Expr::Bool(_) => Types::BOOL,
        Expr::Duration(_) => Types::DURATION,
        Expr::Str | Expr::Env(_) => Types::STR,
        Expr::List(_) => Types::LIST,
        Expr::Paren(inner) => of(ast, inner),
        Expr::Unary(UnaryOp::Not, _) => Types::BOOL,
        Expr::Unary(UnaryOp::Neg, _) => Types::NUMBER,
        Expr::Binary(BinaryOp::Add, a, b) => {
            let lists = of(ast, a).and(of(ast, b)).and(Types::LIST);
            of_binary(BinaryOp::Add).or(lists)
        }
        Expr::Binary(op, ..) => of_binary(op),
        Expr::Call(name, _) => of_call(ast.names.text(name)),
        Expr::Internal(name) => {
            InternalRow::find(ast.names.text(name)).map_or(Types::ANY, |row| row.types)
        }
        _ => Types::ANY,
    }
}

fn of_binary(op: BinaryOp) -> Types {
    use BinaryOp as B;
    match op {
        B::Add => Types::NUMBER.or(Types::STR),
        B::Sub | B::Rem | B::Mul | B::Div | B::Pow => Types::NUMBER,
        _ => Types::BOOL,
    }
}

fn of_call(name: &str) -> Types {
    match classify(name).0 {
        Word::Op(Op::Pfopen) => Types::MPI,
        Word::Op(Op::Readdir) => Types::LIST,
        Word::Op(op) if op.row().gives_handle => Types::HANDLE,
        Word::Op(_) => Types::OUTCOME,
        _ => Types::ANY,
    }
}

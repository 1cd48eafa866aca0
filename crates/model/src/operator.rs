//! The operators of expressions.

use serde::{Deserialize, Serialize};

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UnaryOp {
    /// `-a`
    Neg,
    /// `!a`
    Not,
}

/// Operators with two operands. `||` and `&&` are jumps in a plan; only
/// the syntax tree has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Add,
    Sub,
    Rem,
    Mul,
    Div,
    Pow,
}

impl BinaryOp {
    /// All operators as they are written, in order.
    pub const ALL: [(BinaryOp, &'static str); 14] = [
        (BinaryOp::Or, "||"),
        (BinaryOp::And, "&&"),
        (BinaryOp::Eq, "=="),
        (BinaryOp::Ne, "!="),
        (BinaryOp::Lt, "<"),
        (BinaryOp::Le, "<="),
        (BinaryOp::Gt, ">"),
        (BinaryOp::Ge, ">="),
        (BinaryOp::Add, "+"),
        (BinaryOp::Sub, "-"),
        (BinaryOp::Rem, "%"),
        (BinaryOp::Mul, "*"),
        (BinaryOp::Div, "/"),
        (BinaryOp::Pow, "^"),
    ];

    /// The operator as it is written.
    pub fn symbol(self) -> &'static str {
        BinaryOp::ALL[self as usize].1
    }
}

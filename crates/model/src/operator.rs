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
    /// The operator as it is written.
    pub fn symbol(self) -> &'static str {
        use BinaryOp as B;
        match self {
            B::Or => "||",
            B::And => "&&",
            B::Eq => "==",
            B::Ne => "!=",
            B::Lt => "<",
            B::Le => "<=",
            B::Gt => ">",
            B::Ge => ">=",
            B::Add => "+",
            B::Sub => "-",
            B::Rem => "%",
            B::Mul => "*",
            B::Div => "/",
            B::Pow => "^",
        }
    }
}

//! Functions of expressions that depend on their arguments alone.

use crate::plan::BinaryOp;
use crate::value::{self, Eval, EvalError, Value};

/// `min(a, b, ...)` (`wins` is `<`) and `max(a, b, ...)` (`>`).
///
/// # Errors
/// An argument is no number, or there is none.
pub fn extreme(values: &[Value], wins: BinaryOp) -> Eval<Value> {
    let (first, rest) = values.split_first().ok_or(EvalError::Unset)?;
    first.as_float()?;
    let mut best = first;
    for value in rest {
        if value::binary(wins, value, best)?.as_condition()? {
            best = value;
        }
    }
    Ok(best.clone())
}

/// `abs(a)`.
///
/// # Errors
/// The argument is no number, or the smallest integer, whose absolute value is none.
pub fn absolute(value: &Value) -> Eval<Value> {
    let absolute = match value {
        Value::Float(x) => Some(Value::Float(x.abs())),
        Value::Duration(ns) => ns.checked_abs().map(Value::Duration),
        value => value.as_int()?.checked_abs().map(Value::Int),
    };
    absolute.ok_or(EvalError::Overflow("the absolute value"))
}

/// `len(list or text)`.
///
/// # Errors
/// The argument is neither.
pub fn length(value: &Value) -> Eval<Value> {
    match value {
        Value::List(items) => Ok(Value::Int(items.len() as i64)),
        Value::Str(text) => Ok(Value::Int(text.len() as i64)),
        other => Err(EvalError::Type("a list or a string", other.describe())),
    }
}

//! Arguments that numbers can be drawn with: the checker asks for constants, each draw for values.

use super::Draw;
use crate::value::{self, Eval, EvalError, Value};

/// `rand(a, b)`
///
/// # Errors
/// The last is below the first.
pub fn uniform(a: i64, b: i64) -> Eval<()> {
    let what = "rand(a, b) needs a <= b";
    accepted(a <= b, what, || format!("rand({a}, {b})"))
}

/// `normal(mean, sd)`
///
/// # Errors
/// One is not finite, or the deviation is negative.
pub fn normal(mean: f64, sd: f64) -> Eval<()> {
    let what = "normal(mean, sd) needs finite arguments and sd >= 0";
    let is_right = mean.is_finite() && sd.is_finite() && sd >= 0.0;
    accepted(is_right, what, || format!("normal({mean}, {sd})"))
}

/// `exp(mean)`
///
/// # Errors
/// It is not finite, or negative.
pub fn exponential(mean: f64) -> Eval<()> {
    let what = "exp(mean) needs a finite mean >= 0";
    accepted(mean.is_finite() && mean >= 0.0, what, || format!("exp({mean})"))
}

/// `zipf(n, theta)`
///
/// # Errors
/// There is no number to draw, or the exponent is negative or not finite.
pub fn zipf(n: i64, theta: f64) -> Eval<()> {
    let what = "zipf(n, theta) needs n >= 1 and a finite theta >= 0";
    accepted(n >= 1 && theta.is_finite() && theta >= 0.0, what, || format!("zipf({n}, {theta})"))
}

fn accepted(is_right: bool, what: &'static str, found: impl FnOnce() -> String) -> Eval<()> {
    if is_right { Ok(()) } else { Err(EvalError::Range(what, found())) }
}

impl Draw {
    /// Numbers can be drawn with these arguments.
    ///
    /// # Errors
    /// Why not. Elements of lists are looked at when they are drawn.
    pub fn check(self, args: &[Value]) -> Eval<()> {
        if self == Draw::Empirical {
            return Ok(());
        }
        let first = value::number(args.first().ok_or(EvalError::Unset)?)?;
        let second = args.get(1).map_or(Ok(Value::Unset), value::number)?;
        let nanoseconds = |value: &Value| match value {
            Value::Duration(ns) => Ok(*ns),
            other => Err(EvalError::Type("a duration, as the first is", other.describe())),
        };
        match (self, &first) {
            (Draw::Uniform, Value::Duration(a)) => uniform(*a, nanoseconds(&second)?),
            (Draw::Normal, Value::Duration(ns)) => normal(*ns as f64, nanoseconds(&second)? as f64),
            (Draw::Exponential, Value::Duration(ns)) => exponential(*ns as f64),
            (Draw::Uniform, _) => uniform(first.as_int()?, second.as_int()?),
            (Draw::Normal, _) => normal(first.as_float()?, second.as_float()?),
            (Draw::Exponential, _) => exponential(first.as_float()?),
            (Draw::Zipf, _) => zipf(first.as_int()?, second.as_float()?),
            (Draw::Empirical, _) => Ok(()),
        }
    }
}

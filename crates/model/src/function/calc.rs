//! The functions that depend on their arguments alone.

use crate::permutation::{mix, perm};
use crate::value::{self, BinaryOp, Eval, EvalError, Outcome, Value};
use crate::{errno, limits};

/// The smallest (`wins` is `<`) or largest (`>`) number.
pub(crate) fn extreme(args: &[Value], wins: BinaryOp) -> Eval<Value> {
    let mut numbers = args.iter().map(value::number);
    let first = numbers.next().unwrap_or(Err(EvalError::Unset));
    numbers.try_fold(first?, |best, number| {
        let number = number?;
        let better = value::binary(wins, &number, &best)?.as_condition()?;
        Ok(if better { number } else { best })
    })
}

/// The sum of some numbers, one after the other.
pub(crate) fn total(all: &[Value]) -> Eval<Value> {
    let (first, others) = all.split_first().ok_or(EvalError::Unset)?;
    others.iter().try_fold(first.clone(), |sum, next| value::binary(BinaryOp::Add, &sum, next))
}

/// All conditions hold.
pub(crate) fn every(all: &[Value]) -> Eval<Value> {
    let hold = all.iter().try_fold(true, |hold, next| Ok(next.as_condition()? && hold));
    hold.map(Value::Bool)
}

/// One of the conditions holds at least.
pub(crate) fn any(all: &[Value]) -> Eval<Value> {
    let holds = all.iter().try_fold(false, |holds, next| Ok(next.as_condition()? || holds));
    holds.map(Value::Bool)
}

/// The smallest integer and duration have no absolute value.
pub(crate) fn absolute(value: &Value) -> Eval<Value> {
    let absolute = match value::number(value)? {
        Value::Float(x) => Some(Value::Float(x.abs())),
        Value::Duration(ns) => ns.checked_abs().map(Value::Duration),
        n => n.as_int()?.checked_abs().map(Value::Int),
    };
    absolute.ok_or(EvalError::Overflow("the absolute value"))
}

/// `int(a)`
pub(crate) fn integer(value: &Value) -> Eval<Value> {
    whole(value, f64::trunc)
}

/// `round(a)`
pub(crate) fn rounded(value: &Value) -> Eval<Value> {
    whole(value, f64::round)
}

fn whole(value: &Value, cut: fn(f64) -> f64) -> Eval<Value> {
    const END: f64 = 9_223_372_036_854_775_808.0;
    match value::number(value)? {
        Value::Float(x) if (-END..END).contains(&cut(x)) => Ok(Value::Int(cut(x) as i64)),
        Value::Float(_) => Err(EvalError::Overflow("the number")),
        n => n.as_int().map(Value::Int).map_err(|_| no_plain_number(&n)),
    }
}

/// `float(a)`
pub(crate) fn float(value: &Value) -> Eval<Value> {
    let number = value::number(value)?;
    number.as_float().map(Value::Float).map_err(|_| no_plain_number(&number))
}

/// A duration: the unit has to be said.
fn no_plain_number(value: &Value) -> EvalError {
    EvalError::Type("a number (a duration divided by 1ms is one)", value.describe())
}

/// `errno(result)`
pub(crate) fn error_name(value: &Value) -> Eval<Value> {
    match value {
        Value::Outcome(Outcome { errno: 0, .. }) | Value::Handle(_, 0) => Ok(Value::str("")),
        Value::Outcome(Outcome { errno, .. }) | Value::Handle(_, errno) => {
            Ok(Value::str(errno::name(*errno)))
        }
        Value::Unset => Err(EvalError::Unset),
        other => {
            Err(EvalError::Type("the result of an operation or a file handle", other.describe()))
        }
    }
}

/// `len(a)`
pub(crate) fn length(value: &Value) -> Eval<Value> {
    match value {
        Value::List(items) => Ok(Value::Int(items.len() as i64)),
        Value::Str(text) => Ok(Value::Int(text.len() as i64)),
        other => Err(EvalError::Type("a list or a string", other.describe())),
    }
}

/// `sort(list)`: all elements have one key, so that their order is one.
pub(crate) fn sorted(value: &Value) -> Eval<Value> {
    let Value::List(items) = value else {
        return Err(EvalError::Type("a list", value.describe()));
    };
    let mut items = items.to_vec();
    let all = |is: fn(&Value) -> bool| items.iter().all(is);
    if all(|item| matches!(item, Value::Str(_))) {
        items.sort_by(|a, b| text_of(a).cmp(text_of(b)));
    } else if all(|item| matches!(item, Value::Int(_))) || all(is_duration) {
        items.sort_by_key(ticks_of);
    } else if all(|item| matches!(item, Value::Int(_) | Value::Float(_))) {
        items.sort_by(|a, b| float_of(a).total_cmp(&float_of(b)));
    } else {
        let expected = "a list of strings, of numbers or of durations";
        return Err(EvalError::Type(expected, first_odd(&items).into()));
    }
    limits::list(items)
}

fn is_duration(value: &Value) -> bool {
    matches!(value, Value::Duration(_))
}

fn text_of(value: &Value) -> &[u8] {
    if let Value::Str(text) = value { text } else { &[] }
}

fn ticks_of(value: &Value) -> i64 {
    if let Value::Int(n) | Value::Duration(n) = value { *n } else { 0 }
}

fn float_of(value: &Value) -> f64 {
    value.as_float().unwrap_or(f64::NAN)
}

/// The type that does not go with that of the first element, in words.
fn first_odd(items: &[Value]) -> &'static str {
    match items.iter().find(|item| item.type_name() != items[0].type_name()) {
        Some(_) => "a list of different types",
        None => "a list of other values",
    }
}

/// `perm(i, n, salt)`; the order of salt 0 is that without salt.
pub(crate) fn permuted(args: &[Value], seed: u64) -> Eval<Value> {
    let salt = args.get(2).map_or(Ok(0), Value::as_int)?;
    let seed = seed ^ mix(salt as u64) ^ mix(0);
    perm(args[0].as_int()?, args[1].as_int()?, seed).map(Value::Int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_cut_or_rounded() {
        for (x, cut, nearest) in [(2.5, 2, 3), (-2.5, -2, -3), (0.49, 0, 0), (-0.5, 0, -1)] {
            let x = Value::Float(x);
            assert_eq!(integer(&x), Ok(Value::Int(cut)), "{x}");
            assert_eq!(rounded(&x), Ok(Value::Int(nearest)), "{x}");
        }
        for (text, n) in [("4k", 4096), (" 7 ", 7), ("-1.9", -1), ("1e3", 1000)] {
            assert_eq!(integer(&Value::str(text)), Ok(Value::Int(n)), "{text}");
        }
        for x in [f64::NAN, f64::INFINITY, 9.3e18, -9.3e18] {
            assert!(matches!(integer(&Value::Float(x)), Err(EvalError::Overflow(_))), "{x}");
        }
        for wrong in [Value::Duration(5), Value::str("ten"), Value::Bool(true)] {
            assert!(matches!(integer(&wrong), Err(EvalError::Type(..))), "{wrong}");
            assert!(matches!(float(&wrong), Err(EvalError::Type(..))), "{wrong}");
        }
        assert_eq!(float(&Value::str("4k")), Ok(Value::Float(4096.0)));
    }

    #[test]
    fn lists_are_sorted_by_one_key() {
        let sort = |items: &[Value]| sorted(&Value::List(items.to_vec().into()));
        let list = |items: &[Value]| Ok(Value::List(items.to_vec().into()));
        let (a, b, ten, nine) = (Value::str("a"), Value::str("b"), Value::Int(10), Value::Int(9));
        assert_eq!(sort(&[b.clone(), a.clone()]), list(&[a.clone(), b]));
        assert_eq!(sort(&[ten.clone(), nine.clone()]), list(&[nine.clone(), ten.clone()]));
        let half = Value::Float(9.5);
        assert_eq!(sort(&[ten.clone(), half.clone(), nine.clone()]), list(&[nine, half, ten]));
        let (short, long) = (Value::Duration(1), Value::Duration(2));
        assert_eq!(sort(&[long.clone(), short.clone()]), list(&[short.clone(), long]));
        assert_eq!(sort(&[]), list(&[]));
        for wrong in [vec![a, Value::Int(1)], vec![short, Value::Int(1)], vec![Value::Bool(true)]] {
            assert!(matches!(sort(&wrong), Err(EvalError::Type(..))), "{wrong:?}");
        }
    }

    #[test]
    fn every_salt_gives_another_order() {
        let order = |salt: &[i64]| -> Vec<i64> {
            let of = |i| {
                let args: Vec<Value> =
                    [i, 100].iter().chain(salt).copied().map(Value::Int).collect();
                permuted(&args, 42).and_then(|n| n.as_int()).unwrap()
            };
            (0..100).map(of).collect()
        };
        assert_eq!(order(&[]), order(&[0]));
        let orders = [order(&[0]), order(&[1]), order(&[2]), order(&[-1])];
        for (at, one) in orders.iter().enumerate() {
            assert!(orders[..at].iter().all(|other| other != one), "{at}");
            let mut all = one.clone();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..100), "{at}");
        }
    }
}

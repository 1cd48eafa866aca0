//! Operators on values, and what values stand for.

use super::*;
use BinaryOp as B;

fn int(n: i64) -> Value {
    Value::Int(n)
}

#[test]
fn integers_are_exact_or_an_error() {
    assert_eq!(binary(B::Pow, &int(2), &int(62)), Ok(int(1 << 62)));
    assert!(matches!(binary(B::Pow, &int(2), &int(63)), Err(EvalError::Overflow(_))));
    assert_eq!(binary(B::Pow, &int(1), &int(i64::MAX)), Ok(int(1)));
    assert_eq!(binary(B::Div, &int(-7), &int(2)), Ok(int(-3)));
    assert_eq!(binary(B::Rem, &int(-7), &int(3)), Ok(int(-1)));
    assert_eq!(binary(B::Rem, &int(i64::MIN), &int(-1)), Ok(int(0)));
    assert!(binary(B::Div, &int(i64::MIN), &int(-1)).is_err());
    assert_eq!(binary(B::Div, &int(1), &int(0)), Err(EvalError::DivisionByZero));
}

/// The short way of loops gives what the long one gives, or leaves it to that.
#[test]
fn integers_in_registers_are_the_same() {
    let edges = [i64::MIN, i64::MIN + 1, -7, -1, 0, 1, 3, 4096, 1 << 32, i64::MAX];
    let operators = [B::Add, B::Sub, B::Mul, B::Div, B::Rem, B::Pow, B::Eq, B::Lt, B::And];
    let mut short = 0;
    for op in operators {
        for (a, b) in edges.iter().flat_map(|a| edges.map(|b| (int(*a), int(b)))) {
            if let Some(n) = integer(op, &a, &b) {
                assert_eq!(binary(op, &a, &b), Ok(int(n)), "{op:?} {a:?} {b:?}");
                short += 1;
            }
        }
    }
    assert!(short > 300, "{short}");
    assert_eq!(integer(B::Add, &Value::str("1"), &int(1)), None);
}

#[test]
fn strings_that_hold_numbers_are_numbers() {
    assert_eq!(binary(B::Eq, &Value::str("10"), &int(10)), Ok(Value::Bool(true)));
    assert_eq!(binary(B::Mul, &Value::str("10"), &int(2)), Ok(int(20)));
    assert_eq!(binary(B::Mul, &int(2), &Value::str("64k")), Ok(int(131_072)));
    assert_eq!(binary(B::Eq, &Value::str("1k"), &int(1024)), Ok(Value::Bool(true)));
    assert_eq!(binary(B::Add, &Value::str("a"), &Value::str("b")), Ok(Value::str("ab")));
    assert!(binary(B::Mul, &Value::str("x"), &int(2)).is_err());
    let sum = binary(B::Add, &Value::str("10"), &Value::str("2.5")).unwrap_err().to_string();
    assert!(sum.contains("int($a) + int($b)") && sum.contains("\"10\" and \"2.5\""), "{sum}");
    assert!(matches!(Value::str("12x").as_int(), Err(EvalError::Type(..))));
}

#[test]
fn lists_are_joined() {
    let list = |items: &[i64]| Value::List(items.iter().map(|n| int(*n)).collect());
    assert_eq!(binary(B::Add, &list(&[1, 2]), &list(&[3])), Ok(list(&[1, 2, 3])));
    assert!(binary(B::Sub, &list(&[1]), &list(&[1])).is_err());
    assert!(binary(B::Add, &list(&[1]), &int(1)).is_err());
    let large = list(&vec![0; crate::limits::MAX_LIST_WEIGHT / 2 + 1]);
    assert!(binary(B::Add, &large, &large).unwrap_err().to_string().contains("at most 1 MiB"));
}

#[test]
fn durations_scale() {
    let second = Value::Duration(1_000_000_000);
    assert_eq!(binary(B::Mul, &second, &int(3)), Ok(Value::Duration(3_000_000_000)));
    assert_eq!(binary(B::Div, &second, &Value::Duration(1000)), Ok(int(1_000_000)));
    assert!(binary(B::Add, &second, &int(3)).is_err());
    assert_eq!(int(5).as_duration_ns(), Ok(5000));
}

#[test]
fn only_booleans_and_integers_are_conditions() {
    assert_eq!(int(0).as_condition(), Ok(false));
    assert!(Value::str("1").as_condition().is_err());
}

#[test]
fn results_are_conditions_and_numbers_of_bytes() {
    let done = Value::Outcome(Outcome { bytes: 4096, errno: 0 });
    let failed = Value::Outcome(Outcome { bytes: 0, errno: 17 });
    assert_eq!((done.as_condition(), failed.as_condition()), (Ok(true), Ok(false)));
    assert_eq!(unary(UnaryOp::Not, &failed), Ok(Value::Bool(true)));
    assert_eq!(binary(B::Add, &done, &int(4)), Ok(int(4100)));
    assert_eq!(binary(B::Eq, &done, &done), Ok(Value::Bool(true)));
    assert_eq!((done.as_size(), number(&failed)), (Ok(4096), Ok(int(0))));
    assert_eq!((done.to_string(), failed.to_string()), ("4096".into(), "EEXIST".into()));
    assert_eq!(Value::Handle(3, 2).as_condition(), Ok(false));
    assert!(binary(B::Add, &done, &Value::Duration(1)).is_err());
}

#[test]
fn lists_are_equal_if_their_elements_are() {
    let list = |values: &[Value]| Value::List(values.to_vec().into());
    let pair = |a, b| list(&[Value::Int(a), b]);
    for (a, b, equal) in [
        (list(&[]), list(&[]), true),
        (pair(1, Value::Int(2)), pair(1, Value::str("2")), true),
        (pair(1, Value::Int(2)), pair(1, Value::Int(3)), false),
        (pair(1, Value::Int(2)), list(&[Value::Int(1)]), false),
        (pair(1, pair(2, Value::Int(3))), pair(1, pair(2, Value::Float(3.0))), true),
        (pair(1, list(&[])), pair(1, Value::Int(0)), false),
    ] {
        assert_eq!(binary(B::Eq, &a, &b), Ok(Value::Bool(equal)), "{a:?} {b:?}");
        assert_eq!(binary(B::Ne, &a, &b), Ok(Value::Bool(!equal)), "{a:?} {b:?}");
    }
    assert!(binary(B::Lt, &list(&[]), &list(&[])).is_err());
}

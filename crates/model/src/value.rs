//! Values of PPL and what its operators do with them.
//!
//! Constant folding (crate `ppl`) and execution (crate `engine`) both call this,
//! so that a folded expression means what an executed one means. Rules:
//! language.md sections 2 and 3.
//!
//! Lists are copied on assignment; their elements can be set, they grow in constant time,
//! and so do the lists in them.
//!
//! ```text
//! $a = [1, 2]; $b = $a; push($b, 3); $b[0] = 9;      $a is still [1, 2]
//! $c = [$a, $a]; $c[1][0] = 9; push($c[0], 3);       and again
//! ```
//!
//! A copy shares the elements until one of the two is changed. Every list knows how heavy and how deep
//! it is, so that its limits cost nothing when it grows.

use crate::words::shortened;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Longest text that an expression makes, in bytes; file names end at 4,096.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

/// A value. Strings are bytes: file names are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum Value {
    /// No executed assignment has set the variable.
    #[default]
    Unset,
    /// 64-bit signed.
    Int(i64),
    /// Double precision.
    Float(f64),
    /// Truth value.
    Bool(bool),
    /// Nanoseconds.
    Duration(i64),
    /// Bytes, usually UTF-8.
    Str(Vec<u8>),
    /// Number of an open file in the rank's table, and the error of its open; 0: it is open.
    Handle(u64, u16),
    /// The outcome of an operation.
    Outcome(Outcome),
    /// A list.
    List(List),
}

/// The outcome of an operation: as a condition, whether it succeeded; as an integer, the bytes it moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Bytes moved, also by one that failed later.
    pub bytes: u64,
    /// Its error; 0: it succeeded.
    pub errno: u16,
}

/// Why an expression has no value. `Display` gives a sentence without place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// Division or remainder by zero.
    DivisionByZero,
    /// A result does not fit 64 bits.
    Overflow(&'static str),
    /// A variable that no executed assignment has set.
    Unset,
    /// A value of another type was expected: expected, found.
    Type(&'static str, String),
    /// An operator cannot join these types: operator, left, right.
    Operands(&'static str, &'static str, &'static str),
    /// A list has no such element: index, length.
    Index(i64, usize),
    /// A value is outside its range: what, found.
    Range(&'static str, String),
    /// A condition that `assert` states does not hold: its message.
    Asserted(String),
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::DivisionByZero => f.write_str("division by zero"),
            EvalError::Overflow(what) => write!(f, "{what} does not fit a 64-bit integer"),
            EvalError::Unset => f.write_str("the variable has no value yet"),
            EvalError::Type(expected, found) => write!(f, "expected {expected}, found {found}"),
            EvalError::Operands(op, a, b) => write!(f, "{op} cannot join {a} and {b}"),
            EvalError::Index(at, len) => write!(f, "index {at} is outside a list of {len}"),
            EvalError::Range(what, found) => write!(f, "{what}, found {found}"),
            EvalError::Asserted(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for EvalError {}

/// Result of an evaluation.
pub type Eval<T> = Result<T, EvalError>;

impl Value {
    /// A string value of these bytes.
    pub fn str(text: impl AsRef<[u8]>) -> Value {
        Value::Str(text.as_ref().to_vec())
    }

    /// The type's name for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Unset => "nothing",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Bool(_) => "a boolean",
            Value::Duration(_) => "a duration",
            Value::Str(_) => "a string",
            Value::Handle(..) => "a file handle",
            Value::Outcome(_) => "the result of an operation",
            Value::List(_) => "a list",
        }
    }

    /// The value in words for messages: `the string "abc"`.
    pub fn describe(&self) -> String {
        match self {
            Value::Unset => "a variable without a value".into(),
            Value::Str(_) => format!("the string \"{}\"", shortened(&self.to_string(), 100)),
            Value::Handle(..) | Value::List(_) => self.type_name().into(),
            _ => format!("{} ({self})", self.type_name()),
        }
    }

    /// The value as an integer: integers, and strings that hold one.
    #[inline(always)]
    pub fn as_int(&self) -> Eval<i64> {
        match self {
            Value::Int(n) => Ok(*n),
            _ => self.as_int_slow(),
        }
    }

    #[cold]
    fn as_int_slow(&self) -> Eval<i64> {
        match self {
            Value::Unset => Err(EvalError::Unset),
            Value::Outcome(outcome) => Ok(outcome.bytes as i64),
            Value::Str(text) => match crate::units::parse_integer_text(text) {
                Some(n) => Ok(n),
                None => Err(EvalError::Type("an integer", self.describe())),
            },
            _ => Err(EvalError::Type("an integer", self.describe())),
        }
    }

    /// The value as a number of bytes or a count: an integer that is not negative.
    #[inline(always)]
    pub fn as_size(&self) -> Eval<u64> {
        let n = self.as_int()?;
        u64::try_from(n)
            .map_err(|_| EvalError::Range("expected a number that is not negative", n.to_string()))
    }

    /// The value as a float: numbers and strings that hold one.
    pub fn as_float(&self) -> Eval<f64> {
        match self {
            Value::Float(x) => Ok(*x),
            Value::Int(n) => Ok(*n as f64),
            Value::Outcome(outcome) => Ok(outcome.bytes as f64),
            Value::Unset => Err(EvalError::Unset),
            Value::Str(text) => std::str::from_utf8(text)
                .ok()
                .and_then(|text| text.trim().parse().ok())
                .ok_or_else(|| EvalError::Type("a number", self.describe())),
            _ => Err(EvalError::Type("a number", self.describe())),
        }
    }

    /// The value as a condition: booleans, integers (0 is false), results of operations and handles
    /// (an error is false).
    #[inline(always)]
    pub fn as_condition(&self) -> Eval<bool> {
        match self {
            Value::Bool(b) => Ok(*b),
            Value::Int(n) => Ok(*n != 0),
            Value::Outcome(Outcome { errno, .. }) | Value::Handle(_, errno) => Ok(*errno == 0),
            Value::Unset => Err(EvalError::Unset),
            _ => Err(EvalError::Type("a condition (boolean or integer)", self.describe())),
        }
    }

    /// The value as nanoseconds: durations, and integers as microseconds.
    pub fn as_duration_ns(&self) -> Eval<u64> {
        let ns = match self {
            Value::Duration(ns) => *ns,
            _ => self
                .as_int()?
                .checked_mul(1000)
                .ok_or(EvalError::Overflow("the number of nanoseconds"))?,
        };
        u64::try_from(ns).map_err(|_| {
            EvalError::Range("expected a duration that is not negative", self.to_string())
        })
    }

    /// Appends the value as `print` and interpolation show it.
    pub fn render(&self, out: &mut Vec<u8>) -> Eval<()> {
        use std::io::Write;
        match self {
            Value::Unset => return Err(EvalError::Unset),
            Value::Str(text) => out.extend_from_slice(text),
            other => write!(out, "{other}").expect("writing to a vector cannot fail"),
        }
        Ok(())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unset => f.write_str("(unset)"),
            Value::Int(n) => write!(f, "{n}"),
            Value::Float(x) => write!(f, "{x:?}"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Duration(ns) => f.write_str(&crate::units::format_duration(*ns)),
            Value::Str(text) => f.write_str(&String::from_utf8_lossy(text)),
            Value::Handle(n, _) => write!(f, "(file handle {n})"),
            Value::Outcome(Outcome { bytes, errno: 0 }) => write!(f, "{bytes}"),
            Value::Outcome(Outcome { errno, .. }) => f.write_str(crate::errno::name(*errno)),
            Value::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
        }
    }
}

impl PartialEq for Value {
    /// Same type and same value (floats by bits); not the `==` of PPL.
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Unset, Value::Unset) => true,
            (Value::Int(a), Value::Int(b)) | (Value::Duration(a), Value::Duration(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Handle(a, of), Value::Handle(b, other)) => (a, of) == (b, other),
            (Value::Outcome(a), Value::Outcome(b)) => a == b,
            (Value::List(a), Value::List(b)) => a == b,
            _ => false,
        }
    }
}

/// Applies an operator with one operand.
pub fn unary(op: UnaryOp, a: &Value) -> Eval<Value> {
    match (op, a) {
        (UnaryOp::Not, a) => Ok(Value::Bool(!a.as_condition()?)),
        (UnaryOp::Neg, a) => match number(a)? {
            Value::Float(x) => Some(Value::Float(-x)),
            Value::Duration(ns) => ns.checked_neg().map(Value::Duration),
            n => n.as_int()?.checked_neg().map(Value::Int),
        }
        .ok_or(EvalError::Overflow("the result")),
    }
}

/// The number that a value is: integers, floats and durations as they are, a string that holds
/// an integer or a float as that.
///
/// # Errors
/// The value is no number.
pub fn number(value: &Value) -> Eval<Value> {
    match value {
        Value::Int(_) | Value::Float(_) | Value::Duration(_) => Ok(value.clone()),
        _ => match value.as_int() {
            Ok(n) => Ok(Value::Int(n)),
            Err(_) => value.as_float().map(Value::Float),
        },
    }
}

/// Applies an operator with two operands (`||` and `&&` without their shortcut).
#[inline(always)]
pub fn binary(op: BinaryOp, a: &Value, b: &Value) -> Eval<Value> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => integers(op, *a, *b),
        _ => binary_slow(op, a, b),
    }
}

/// The same where both operands and the result are integers, as loops have it; `None`: [`binary`] says what
/// it is. A number comes back in a register, a value through memory.
#[inline(always)]
pub fn integer(op: BinaryOp, a: &Value, b: &Value) -> Option<i64> {
    let (Value::Int(a), Value::Int(b)) = (a, b) else { return None };
    match integers(op, *a, *b) {
        Ok(Value::Int(n)) => Some(n),
        _ => None,
    }
}

#[inline(always)]
fn integers(op: BinaryOp, a: i64, b: i64) -> Eval<Value> {
    use BinaryOp as B;
    let checked = match op {
        B::Add => a.checked_add(b),
        B::Sub => a.checked_sub(b),
        B::Mul => a.checked_mul(b),
        B::Div | B::Rem if b == 0 => return Err(EvalError::DivisionByZero),
        B::Div => a.checked_div(b),
        // i64::MIN % -1 is 0, although the machine instruction traps.
        B::Rem => Some(a.wrapping_rem(b)),
        B::Pow => return power(a, b),
        B::Eq => return Ok(Value::Bool(a == b)),
        B::Ne => return Ok(Value::Bool(a != b)),
        B::Lt => return Ok(Value::Bool(a < b)),
        B::Le => return Ok(Value::Bool(a <= b)),
        B::Gt => return Ok(Value::Bool(a > b)),
        B::Ge => return Ok(Value::Bool(a >= b)),
        B::And => return Ok(Value::Bool(a != 0 && b != 0)),
        B::Or => return Ok(Value::Bool(a != 0 || b != 0)),
    };
    checked.map(Value::Int).ok_or(EvalError::Overflow("the result"))
}

fn power(base: i64, exponent: i64) -> Eval<Value> {
    let negative = "an integer power needs an exponent that is not negative";
    let power = match (base, exponent) {
        (_, ..=-1) => return Err(EvalError::Range(negative, exponent.to_string())),
        (0 | 1, 1..) => Some(base),
        (-1, 1..) => Some(if exponent % 2 == 0 { 1 } else { -1 }),
        _ => u32::try_from(exponent).ok().and_then(|exponent| base.checked_pow(exponent)),
    };
    power.map(Value::Int).ok_or(EvalError::Overflow("the power"))
}

#[cold]
fn binary_slow(op: BinaryOp, a: &Value, b: &Value) -> Eval<Value> {
    use BinaryOp as B;
    match op {
        B::Or => return Ok(Value::Bool(a.as_condition()? || b.as_condition()?)),
        B::And => return Ok(Value::Bool(a.as_condition()? && b.as_condition()?)),
        _ => {}
    }
    match (a, b) {
        (Value::Unset, _) | (_, Value::Unset) => Err(EvalError::Unset),
        (Value::Outcome(outcome), b) => binary(op, &Value::Int(outcome.bytes as i64), b),
        (a, Value::Outcome(outcome)) => binary(op, a, &Value::Int(outcome.bytes as i64)),
        (Value::Str(left), Value::Str(right)) => strings(op, a, b, [left, right]),
        (Value::Bool(a), Value::Bool(b)) if is_equality(op) => compare(op, a.partial_cmp(b)),
        (Value::List(a), Value::List(b)) if is_equality(op) => {
            Ok(Value::Bool(are_equal(a, b) == (op == B::Eq)))
        }
        (Value::List(a), Value::List(b)) if op == B::Add => {
            List::new([&**a, b].concat()).map(Value::List)
        }
        (Value::Duration(x), Value::Duration(y)) => durations(op, *x, *y, a, b),
        (Value::Duration(_), _) | (_, Value::Duration(_)) => scale_duration(op, a, b),
        (Value::Float(_), _) | (_, Value::Float(_)) => floats(op, a, b),
        (Value::Str(_), Value::Int(_)) | (Value::Int(_), Value::Str(_)) => {
            if is_number(a) && is_number(b) {
                numeric_strings(op, a, b)
            } else {
                text_and_integer(op, a, b)
            }
        }
        _ => Err(mismatch(op, a, b)),
    }
}

/// As many elements, each equal to that in its place; what cannot be compared is not equal.
fn are_equal(a: &[Value], b: &[Value]) -> bool {
    let equal = |(a, b)| matches!(binary(BinaryOp::Eq, a, b), Ok(Value::Bool(true)));
    a.len() == b.len() && a.iter().zip(b).all(equal)
}

fn is_equality(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Eq | BinaryOp::Ne)
}

fn is_number(a: &Value) -> bool {
    a.as_int().is_ok() || a.as_float().is_ok()
}

/// An operator that would mean one thing for numbers and another for texts: nobody shall have to guess.
fn ambiguous(op: BinaryOp, texts: [&[u8]; 2]) -> EvalError {
    let [a, b] = texts.map(|text| shortened(&String::from_utf8_lossy(text), 40).into_owned());
    let found =
        format!("`{}` between two strings that hold numbers, \"{a}\" and \"{b}\"", op.symbol());
    let expected = match op {
        BinaryOp::Add => "int($a) + int($b) for the sum, or \"$a$b\" for the text",
        _ => "int($a) and int($b), whose order is that of numbers",
    };
    EvalError::Type(expected, found)
}

fn mismatch(op: BinaryOp, a: &Value, b: &Value) -> EvalError {
    EvalError::Operands(op.symbol(), a.type_name(), b.type_name())
}

/// The result of a comparison; `None`: they have no order.
fn compare(op: BinaryOp, order: Option<Ordering>) -> Eval<Value> {
    Ok(Value::Bool(match op {
        BinaryOp::Eq => order.is_some_and(Ordering::is_eq),
        BinaryOp::Ne => !order.is_some_and(Ordering::is_eq),
        BinaryOp::Lt => order.is_some_and(Ordering::is_lt),
        BinaryOp::Le => order.is_some_and(Ordering::is_le),
        BinaryOp::Gt => order.is_some_and(Ordering::is_gt),
        _ => order.is_some_and(Ordering::is_ge),
    }))
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp as B;
    matches!(op, B::Eq | B::Ne | B::Lt | B::Le | B::Gt | B::Ge)
}

/// Two strings: `+` joins them unless both hold a number, comparisons go by bytes unless both hold a number, other
/// operators want numbers.
fn strings(op: BinaryOp, a: &Value, b: &Value, [left, right]: [&[u8]; 2]) -> Eval<Value> {
    let is_unclear = op == BinaryOp::Add || (is_comparison(op) && !is_equality(op));
    match op {
        op if is_unclear && is_number(a) && is_number(b) => Err(ambiguous(op, [left, right])),
        BinaryOp::Add => join_texts(left, right),
        op if is_comparison(op) => compare(op, Some(left.cmp(right))),
        op => numeric_strings(op, a, b),
    }
}

/// At least one string where a number is wanted.
fn numeric_strings(op: BinaryOp, a: &Value, b: &Value) -> Eval<Value> {
    match (a.as_int(), b.as_int()) {
        (Ok(a), Ok(b)) => integers(op, a, b),
        (Err(error), _) if a.as_float().is_err() => Err(error),
        (_, Err(error)) if b.as_float().is_err() => Err(error),
        _ => floats(op, a, b),
    }
}

/// A string that holds no number beside an integer.
fn text_and_integer(op: BinaryOp, a: &Value, b: &Value) -> Eval<Value> {
    match op {
        BinaryOp::Add => {
            let mut text = Vec::new();
            a.render(&mut text)?;
            b.render(&mut text)?;
            check_text(text.len())?;
            Ok(Value::Str(text))
        }
        op if is_equality(op) => Ok(Value::Bool(op == BinaryOp::Ne)),
        _ => Err(mismatch(op, a, b)),
    }
}

fn floats(op: BinaryOp, left: &Value, right: &Value) -> Eval<Value> {
    let (Ok(a), Ok(b)) = (left.as_float(), right.as_float()) else {
        return Err(mismatch(op, left, right));
    };
    Ok(Value::Float(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div | BinaryOp::Rem if b == 0.0 => return Err(EvalError::DivisionByZero),
        BinaryOp::Div => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::Pow => a.powf(b),
        _ => return compare(op, a.partial_cmp(&b)),
    }))
}

fn durations(op: BinaryOp, x: i64, y: i64, a: &Value, b: &Value) -> Eval<Value> {
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Rem => as_duration(integers(op, x, y)),
        BinaryOp::Div => integers(op, x, y),
        op if is_comparison(op) => integers(op, x, y),
        _ => Err(mismatch(op, a, b)),
    }
}

/// A result in nanoseconds.
fn as_duration(result: Eval<Value>) -> Eval<Value> {
    match result {
        Ok(Value::Int(ns)) => Ok(Value::Duration(ns)),
        Err(EvalError::Overflow(_)) => Err(EvalError::Overflow("the duration in nanoseconds")),
        other => other,
    }
}

/// A duration times or divided by a number.
fn scale_duration(op: BinaryOp, a: &Value, b: &Value) -> Eval<Value> {
    let (ns, factor) = match (op, a, b) {
        (BinaryOp::Mul | BinaryOp::Div, Value::Duration(ns), factor) => (*ns, factor),
        (BinaryOp::Mul, factor, Value::Duration(ns)) => (*ns, factor),
        _ => return Err(mismatch(op, a, b)),
    };
    let Value::Float(x) = factor else {
        return as_duration(integers(op, ns, factor.as_int()?));
    };
    let scaled = if op == BinaryOp::Mul { ns as f64 * x } else { ns as f64 / x };
    match scaled.is_finite() && scaled.abs() < i64::MAX as f64 {
        true => Ok(Value::Duration(scaled as i64)),
        false if *x == 0.0 => Err(EvalError::DivisionByZero),
        false => Err(EvalError::Overflow("the duration in nanoseconds")),
    }
}

/// A text of `len` bytes may be made.
///
/// # Errors
/// It is longer than [`MAX_TEXT_BYTES`].
#[inline(always)]
pub fn check_text(len: usize) -> Eval<()> {
    if len > MAX_TEXT_BYTES { Err(too_long(len)) } else { Ok(()) }
}

#[cold]
fn too_long(len: usize) -> EvalError {
    EvalError::Range("expected a text of at most 1 MiB", format!("{len} bytes"))
}

/// Two texts in a row.
fn join_texts(a: &[u8], b: &[u8]) -> Eval<Value> {
    check_text(a.len().saturating_add(b.len()))?;
    Ok(Value::Str([a, b].concat()))
}

/// The element of a list.
#[inline]
pub fn index<'l>(list: &'l Value, at: &Value) -> Eval<&'l Value> {
    let Value::List(items) = list else {
        return Err(EvalError::Type("a list", list.describe()));
    };
    let at = at.as_int()?;
    usize::try_from(at).ok().and_then(|at| items.get(at)).ok_or(EvalError::Index(at, items.len()))
}

/// `push($list, value);`, and with a path `push($list[at], value);`
pub fn push(list: &mut Value, path: &[i64], value: Value) -> Eval<()> {
    match list {
        Value::List(items) => items.push(path, value),
        other => Err(no_list(other)),
    }
}

/// `$list[at] = value;`, `$list[at][at] = value;`
pub fn set_item(list: &mut Value, path: &[i64], value: Value) -> Eval<()> {
    match list {
        Value::List(items) => items.set(path, value),
        other => Err(no_list(other)),
    }
}

#[cold]
pub(crate) fn no_list(value: &Value) -> EvalError {
    match value {
        Value::Unset => EvalError::Unset,
        other => EvalError::Type("a list", other.describe()),
    }
}

/// Most that a list holds with all lists in it: one for each value, and the bytes of its texts.
pub const MAX_LIST_WEIGHT: usize = 1 << 20;
/// Deepest nesting of lists in lists.
pub const MAX_LIST_DEPTH: usize = 32;

/// A list of values.
#[derive(Clone)]
pub struct List(Arc<Items>);

#[derive(Clone)]
struct Items {
    values: Vec<Value>,
    /// One for each value, and the bytes of texts; values of lists in it count each time.
    weight: usize,
    /// The most lists in lists that it ever had, itself included.
    depth: usize,
}

impl List {
    /// A list of these values.
    ///
    /// # Errors
    /// It is nested deeper than [`MAX_LIST_DEPTH`] or heavier than [`MAX_LIST_WEIGHT`].
    pub fn new(values: Vec<Value>) -> Eval<List> {
        let list = List::from(values);
        check(list.0.weight, list.0.depth)?;
        Ok(list)
    }

    /// Adds a value at the end of the list at a path: the indices that lead to it, outermost first.
    ///
    /// # Errors
    /// There is no list; see also [`List::new`]. Nothing has changed then.
    pub fn push(&mut self, path: &[i64], value: Value) -> Eval<()> {
        self.inner(path)?;
        let change = self.change(0, path.len(), &value)?;
        self.items(path, change)?.push(value);
        Ok(())
    }

    /// Sets the element at a path: the indices that lead to it, outermost first.
    ///
    /// # Errors
    /// There is no such element; see also [`List::new`]. Nothing has changed then.
    pub fn set(&mut self, path: &[i64], value: Value) -> Eval<()> {
        let Some((last, path)) = path.split_last() else {
            return Err(EvalError::Unset);
        };
        let inner = self.inner(path)?;
        let place = inner.place(*last)?;
        let change = self.change(weight(&inner[place]), path.len(), &value)?;
        self.items(path, change)?[place] = value;
        Ok(())
    }

    fn place(&self, at: i64) -> Eval<usize> {
        let place = usize::try_from(at).ok().filter(|at| *at < self.len());
        place.ok_or(EvalError::Index(at, self.len()))
    }

    fn inner(&self, path: &[i64]) -> Eval<&List> {
        path.iter().try_fold(self, |list, at| match &list[list.place(*at)?] {
            Value::List(inner) => Ok(inner),
            other => Err(no_list(other)),
        })
    }

    /// The change of weight and depth when a value replaces one of weight `removed`, `below` levels below this list.
    fn change(&self, removed: usize, below: usize, value: &Value) -> Eval<Change> {
        let (added, depth) = (weight(value), below + 1 + depth(value));
        let weight = self.0.weight.saturating_sub(removed).saturating_add(added);
        check(weight, self.0.depth.max(depth))?;
        Ok(Change { removed, added, depth })
    }

    /// The values of the list at a path, of which nobody else has a part; counted as changed on the way.
    fn items(&mut self, path: &[i64], change: Change) -> Eval<&mut Vec<Value>> {
        let first = path.first().map(|at| self.place(*at)).transpose()?;
        let items = Arc::make_mut(&mut self.0);
        items.weight = items.weight.saturating_sub(change.removed).saturating_add(change.added);
        items.depth = items.depth.max(change.depth);
        let Some(place) = first else { return Ok(&mut items.values) };
        let below = Change { depth: change.depth - 1, ..change };
        match &mut items.values[place] {
            Value::List(inner) => inner.items(&path[1..], below),
            other => Err(no_list(other)),
        }
    }
}

/// The change of weight and depth of a list around a value that is added or replaced.
#[derive(Clone, Copy)]
struct Change {
    removed: usize,
    added: usize,
    depth: usize,
}

fn check(weight: usize, depth: usize) -> Eval<()> {
    if depth > MAX_LIST_DEPTH {
        let what = "expected lists in lists of at most 32 levels";
        return Err(EvalError::Range(what, "more".into()));
    }
    if weight > MAX_LIST_WEIGHT {
        let what = "expected a list of at most 1 MiB with all that is in it";
        return Err(EvalError::Range(what, "more".into()));
    }
    Ok(())
}

fn weight(value: &Value) -> usize {
    match value {
        Value::Str(text) => text.len() + 1,
        Value::List(inner) => inner.0.weight.saturating_add(1),
        _ => 1,
    }
}

fn depth(value: &Value) -> usize {
    if let Value::List(inner) = value { inner.0.depth } else { 0 }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.values.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for List {
    /// Malformed bytes cannot nest lists beyond what the stack bears.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<List, D::Error> {
        thread_local!(static OUTER: Cell<usize> = const { Cell::new(0) });
        let outer = OUTER.get();
        if outer == MAX_LIST_DEPTH {
            return Err(D::Error::custom("lists are nested too deep"));
        }
        OUTER.set(outer + 1);
        let values = Vec::deserialize(deserializer);
        OUTER.set(outer);
        List::new(values?).map_err(D::Error::custom)
    }
}

impl Default for List {
    fn default() -> List {
        Vec::new().into()
    }
}

/// Without the limits: for values that are known to be few.
impl From<Vec<Value>> for List {
    fn from(values: Vec<Value>) -> List {
        let weight = values.iter().map(weight).fold(0, usize::saturating_add);
        let depth = values.iter().map(depth).max().unwrap_or(0) + 1;
        List(Arc::new(Items { values, weight, depth }))
    }
}

impl<const N: usize> From<[Value; N]> for List {
    fn from(values: [Value; N]) -> List {
        Vec::from(values).into()
    }
}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> List {
        Vec::from_iter(values).into()
    }
}

impl Deref for List {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0.values
    }
}

impl PartialEq for List {
    fn eq(&self, other: &List) -> bool {
        self[..] == other[..]
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

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

#[cfg(test)]
mod tests {
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
        let large = list(&vec![0; MAX_LIST_WEIGHT / 2 + 1]);
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

    fn list(items: &[i64]) -> List {
        items.iter().copied().map(Value::Int).collect()
    }

    #[test]
    fn a_changed_copy_leaves_the_list_alone() {
        let first = list(&[1, 2]);
        let mut second = first.clone();
        second.push(&[], Value::Int(3)).unwrap();
        second.set(&[0], Value::Int(9)).unwrap();
        assert_eq!((first, second.clone()), (list(&[1, 2]), list(&[9, 2, 3])));
        assert_eq!(second.set(&[3], Value::Unset), Err(EvalError::Index(3, 3)));
        assert_eq!(second.set(&[-1], Value::Unset), Err(EvalError::Index(-1, 3)));
    }

    #[test]
    fn a_list_that_nobody_shares_grows_in_place() {
        let mut grown = list(&[]);
        grown.0 = Arc::new(Items { values: Vec::with_capacity(1000), weight: 0, depth: 1 });
        let place = grown.as_ptr();
        (0..1000).for_each(|n| grown.push(&[], Value::Int(n)).unwrap());
        assert_eq!((grown.as_ptr(), grown.len()), (place, 1000));
    }

    #[test]
    fn lists_in_lists_change_where_they_are() {
        let row = Value::List(list(&[1, 2]));
        let first = List::from([row.clone(), row.clone()]);
        let mut second = first.clone();
        second.set(&[1, 0], Value::Int(9)).unwrap();
        second.push(&[0], Value::Int(3)).unwrap();
        assert_eq!(first, List::from([row.clone(), row]));
        let rows = [list(&[1, 2, 3]), list(&[9, 2])].map(Value::List);
        assert_eq!((second.clone(), second.0.weight), (List::from(rows), 7));
        assert_eq!(second.set(&[1, 2], Value::Unset), Err(EvalError::Index(2, 2)));
        let none = EvalError::Type("a list", "an integer (9)".into());
        assert_eq!(second.set(&[1, 0, 0], Value::Unset), Err(none.clone()));
        assert_eq!(second.push(&[1, 0], Value::Unset), Err(none));
        assert!(second.set(&[], Value::Unset).is_err());
    }

    #[test]
    fn a_list_in_a_list_that_nobody_shares_changes_in_place() {
        let mut rows = List::from([Value::List(list(&[1, 2]))]);
        let place = |rows: &List| rows.inner(&[0]).unwrap().as_ptr();
        let before = place(&rows);
        (0..1000).for_each(|n| rows.set(&[0, 1], Value::Int(n)).unwrap());
        assert_eq!(place(&rows), before);
    }

    #[test]
    fn what_grows_inside_counts_outside() {
        let mut rows = List::from([Value::List(list(&[])), Value::Int(0)]);
        let half = Value::str("x".repeat(MAX_LIST_WEIGHT / 2));
        rows.set(&[1], half.clone()).unwrap();
        let before = rows.clone();
        assert!(rows.push(&[0], half.clone()).unwrap_err().to_string().contains("at most 1 MiB"));
        assert_eq!((rows.0.weight, &rows), (before.0.weight, &before));
        rows.set(&[1], Value::Int(0)).unwrap();
        rows.push(&[0], half).unwrap();
        let mut deep = List::from([Value::List(List::default())]);
        let path = [0; MAX_LIST_DEPTH];
        for level in 1..MAX_LIST_DEPTH - 1 {
            deep.push(&path[..level], Value::List(List::default())).unwrap();
        }
        let below = deep.push(&path[..MAX_LIST_DEPTH - 1], Value::List(List::default()));
        assert!(below.unwrap_err().to_string().contains("32 levels"));
        deep.push(&path[..MAX_LIST_DEPTH - 1], Value::Int(1)).unwrap();
    }

    #[test]
    fn lists_that_grow_end_at_their_limits() {
        let mut list = list(&[]);
        let half = Value::str("x".repeat(MAX_LIST_WEIGHT / 2));
        list.push(&[], half.clone()).unwrap();
        assert!(list.push(&[], half.clone()).unwrap_err().to_string().contains("at most 1 MiB"));
        list.set(&[0], half.clone()).unwrap();
        list.set(&[0], Value::Int(1)).unwrap();
        list.push(&[], half).unwrap();
        let mut deep = List::default();
        let error = loop {
            let mut outer = self::list(&[]);
            match outer.push(&[], Value::List(deep)) {
                Ok(()) => deep = outer,
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("32 levels"), "{error}");
    }
}

//! Lists: values, copied on assignment, whose elements can be set and which grow in constant time.
//!
//! ```text
//! $a = [1, 2]; $b = $a; push($b, 3); $b[0] = 9;      $a is still [1, 2]
//! ```
//!
//! A copy shares the elements until one of the two is changed. Every list knows how heavy and how deep
//! it is, so that its limits cost nothing when it grows.

use crate::limits::{MAX_LIST_DEPTH, MAX_LIST_WEIGHT};
use crate::value::{Eval, EvalError, Value};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A list of values.
#[derive(Clone, Default)]
pub struct List(Arc<Items>);

#[derive(Clone, Default)]
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

    /// Adds a value at the end.
    ///
    /// # Errors
    /// See [`List::new`].
    pub fn push(&mut self, value: Value) -> Eval<()> {
        let weight = self.0.weight.saturating_add(weight(&value));
        let depth = self.0.depth.max(depth(&value) + 1);
        check(weight, depth)?;
        let items = Arc::make_mut(&mut self.0);
        items.values.push(value);
        (items.weight, items.depth) = (weight, depth);
        Ok(())
    }

    /// Sets an element.
    ///
    /// # Errors
    /// There is no such element; see also [`List::new`].
    pub fn set(&mut self, at: i64, value: Value) -> Eval<()> {
        let place = usize::try_from(at).ok().filter(|at| *at < self.len());
        let place = place.ok_or(EvalError::Index(at, self.len()))?;
        let left = self.0.weight.saturating_sub(weight(&self[place]));
        let weight = left.saturating_add(weight(&value));
        let depth = self.0.depth.max(depth(&value) + 1);
        check(weight, depth)?;
        let items = Arc::make_mut(&mut self.0);
        items.values[place] = value;
        (items.weight, items.depth) = (weight, depth);
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &[i64]) -> List {
        items.iter().copied().map(Value::Int).collect()
    }

    #[test]
    fn a_changed_copy_leaves_the_list_alone() {
        let first = list(&[1, 2]);
        let mut second = first.clone();
        second.push(Value::Int(3)).unwrap();
        second.set(0, Value::Int(9)).unwrap();
        assert_eq!((first, second.clone()), (list(&[1, 2]), list(&[9, 2, 3])));
        assert_eq!(second.set(3, Value::Unset), Err(EvalError::Index(3, 3)));
        assert_eq!(second.set(-1, Value::Unset), Err(EvalError::Index(-1, 3)));
    }

    #[test]
    fn a_list_that_nobody_shares_grows_in_place() {
        let mut grown = list(&[]);
        grown.0 = Arc::new(Items { values: Vec::with_capacity(1000), ..Items::default() });
        let place = grown.as_ptr();
        (0..1000).for_each(|n| grown.push(Value::Int(n)).unwrap());
        assert_eq!((grown.as_ptr(), grown.len()), (place, 1000));
    }

    #[test]
    fn lists_that_grow_end_at_their_limits() {
        let mut list = list(&[]);
        let half = Value::str("x".repeat(MAX_LIST_WEIGHT / 2));
        list.push(half.clone()).unwrap();
        assert!(list.push(half.clone()).unwrap_err().to_string().contains("at most 1 MiB"));
        list.set(0, half.clone()).unwrap();
        list.set(0, Value::Int(1)).unwrap();
        list.push(half).unwrap();
        let mut deep = List::default();
        let error = loop {
            let mut outer = self::list(&[]);
            match outer.push(Value::List(deep)) {
                Ok(()) => deep = outer,
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("32 levels"), "{error}");
    }
}

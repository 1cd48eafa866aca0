//! Lists: values, copied on assignment, whose elements can be set and which grow in constant time,
//! and so do the lists in them.
//!
//! ```text
//! $a = [1, 2]; $b = $a; push($b, 3); $b[0] = 9;      $a is still [1, 2]
//! $c = [$a, $a]; $c[1][0] = 9; push($c[0], 3);       and again
//! ```
//!
//! A copy shares the elements until one of the two is changed. Every list knows how heavy and how deep
//! it is, so that its limits cost nothing when it grows.

use crate::value::{self, Eval, EvalError, Value};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Most that a list holds with all lists in it: one for each value, and the bytes of its texts.
pub const MAX_LIST_WEIGHT: usize = 1 << 20;
/// Lists in lists.
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
            other => Err(value::no_list(other)),
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
            other => Err(value::no_list(other)),
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

/// An empty one.
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

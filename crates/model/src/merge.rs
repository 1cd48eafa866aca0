//! Figures of some ranks added to figures of others: one rule for each field, written once, beside the
//! field ([`merged!`](crate::merged)).
//!
//! Merging is associative and commutative, so any order and any tree over the ranks gives the same.

use crate::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Figures of some ranks, to which figures of other ranks can be added.
pub trait Merge {
    /// Adds the figures of other ranks. No rank may be in both.
    fn merge_from(&mut self, other: Self);
}

/// Defines a struct and how it merges: a rule follows the type of each field. `sum` adds (and merges
/// what is no number), `max` and `min` keep one of the two.
#[macro_export]
macro_rules! merged {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty => $rule:ident,)*
    }) => {
        $(#[$meta])*
        $vis struct $name { $($(#[$field_meta])* $field_vis $field: $type,)* }

        impl $crate::merge::Merge for $name {
            fn merge_from(&mut self, other: Self) {
                $($crate::merge::$rule(&mut self.$field, other.$field);)*
            }
        }
    };
}

/// Rule `sum` of [`merged!`](crate::merged).
pub fn sum<T: Merge>(mine: &mut T, other: T) {
    mine.merge_from(other);
}

/// Rule `max`: the larger one.
pub fn max<T: Ord>(mine: &mut T, other: T) {
    if other > *mine {
        *mine = other;
    }
}

/// Rule `min`: the smaller one.
pub fn min<T: Ord>(mine: &mut T, other: T) {
    if other < *mine {
        *mine = other;
    }
}

/// Rule `append` of [`merged!`](crate::merged).
pub fn append<T>(mine: &mut Vec<T>, other: Vec<T>) {
    mine.extend(other);
}

/// All of them added up, from the default on.
pub fn merge_all<T: Merge + Default>(parts: impl IntoIterator<Item = T>) -> T {
    parts.into_iter().fold(T::default(), |mut sum, part| {
        sum.merge_from(part);
        sum
    })
}

macro_rules! add_numbers {
    ($($number:ty),*) => { $(
        impl Merge for $number {
            fn merge_from(&mut self, other: $number) {
                *self = self.saturating_add(other);
            }
        }
    )* };
}
add_numbers!(u32, u64, u128);

impl Merge for Histogram {
    fn merge_from(&mut self, other: Histogram) {
        if *self == Histogram::default() {
            *self = other;
        } else {
            Histogram::merge(self, &other);
        }
    }
}

impl<T: Merge> Merge for Option<T> {
    fn merge_from(&mut self, other: Option<T>) {
        match (self, other) {
            (_, None) => {}
            (Some(mine), Some(other)) => mine.merge_from(other),
            (mine, other) => *mine = other,
        }
    }
}

/// Place by place.
impl<T: Merge> Merge for Vec<T> {
    fn merge_from(&mut self, other: Vec<T>) {
        let mut others = other.into_iter();
        self.iter_mut().zip(&mut others).for_each(|(mine, other)| mine.merge_from(other));
        self.extend(others);
    }
}

/// Place by place.
impl<T: Merge, const N: usize> Merge for [T; N] {
    fn merge_from(&mut self, other: [T; N]) {
        self.iter_mut().zip(other).for_each(|(mine, other)| mine.merge_from(other));
    }
}

/// Key by key.
impl<K: Ord, T: Merge> Merge for BTreeMap<K, T> {
    fn merge_from(&mut self, other: BTreeMap<K, T>) {
        for (key, value) in other {
            match self.entry(key) {
                Entry::Occupied(mut mine) => mine.get_mut().merge_from(value),
                Entry::Vacant(free) => drop(free.insert(value)),
            }
        }
    }
}

/// A bounded list: the `MAX` entries that come first by rank, then in the rank's own order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept<T, const MAX: usize> {
    entries: BTreeMap<(u32, u32), T>,
    /// Entries that were left out.
    pub beyond: u64,
}

impl<T, const MAX: usize> Default for Kept<T, MAX> {
    fn default() -> Kept<T, MAX> {
        Kept { entries: BTreeMap::new(), beyond: 0 }
    }
}

impl<T, const MAX: usize> Kept<T, MAX> {
    /// The entries of one rank, in its order.
    pub fn of_rank(rank: u32, entries: impl IntoIterator<Item = T>) -> Kept<T, MAX> {
        let mut kept = Kept::default();
        for (order, entry) in (0..).zip(entries) {
            kept.insert((rank, order), entry);
        }
        kept
    }

    /// Rank and entry, in order.
    pub fn into_entries(self) -> impl Iterator<Item = (u32, T)> {
        self.entries.into_iter().map(|((rank, _), entry)| (rank, entry))
    }

    /// The entries, in order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.entries.values()
    }

    /// Adds an entry with the number that it has in its rank's order.
    pub fn insert(&mut self, place: (u32, u32), entry: T) {
        self.entries.insert(place, entry);
        if self.entries.len() > MAX {
            self.entries.pop_last();
            self.beyond = self.beyond.saturating_add(1);
        }
    }
}

impl<T, const MAX: usize> Merge for Kept<T, MAX> {
    fn merge_from(&mut self, other: Kept<T, MAX>) {
        self.beyond = self.beyond.saturating_add(other.beyond);
        for (place, entry) in other.entries {
            self.insert(place, entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::merged! {
        #[derive(Clone, Debug, Default, PartialEq)]
        struct Figures {
            count: u64 => sum,
            first: u64 => min,
            last: u64 => max,
            by_name: BTreeMap<&'static str, Vec<u32>> => sum,
        }
    }

    #[test]
    fn every_field_follows_its_rule() {
        let one = |count, first, last, name, counts: &[u32]| Figures {
            count,
            first,
            last,
            by_name: BTreeMap::from([(name, counts.to_vec())]),
        };
        let (a, b) = (one(u64::MAX, 3, 4, "a", &[1]), one(2, 1, 9, "a", &[2, 3]));
        let c = one(0, 7, 1, "b", &[]);
        let mut sum = a.clone();
        sum.merge_from(b.clone());
        sum.merge_from(c.clone());
        let by_name = BTreeMap::from([("a", vec![3, 3]), ("b", vec![])]);
        assert_eq!(sum, Figures { count: u64::MAX, first: 1, last: 9, by_name });
        let mut other_way = c;
        other_way.merge_from(b);
        other_way.merge_from(a);
        assert_eq!(sum, other_way);
    }
}

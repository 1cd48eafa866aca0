//! Sets of ranks: those that are active in a group or a split.
//!
//! ```text
//! group "writers"         0..4                 a range
//! split ($$rank % 3)      0, 3, 6, 9           anything else: a list
//! ```
//!
//! Each set has one form, so that equal sets are equal.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// World ranks in ascending order, each once.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RankSet(Form);

#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Form {
    /// An empty set is `0..0`.
    Range(Range<u32>),
    List(Arc<[u32]>),
}

impl From<Range<u32>> for RankSet {
    fn from(ranks: Range<u32>) -> RankSet {
        RankSet(Form::Range(if ranks.is_empty() { 0..0 } else { ranks }))
    }
}

impl FromIterator<u32> for RankSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> RankSet {
        let mut list: Vec<u32> = ranks.into_iter().collect();
        debug_assert!(list.is_sorted());
        list.dedup();
        match (list.first(), list.last()) {
            (Some(first), Some(last)) if (last - first) as usize + 1 > list.len() => {
                RankSet(Form::List(list.into()))
            }
            (Some(first), Some(last)) => (*first..last + 1).into(),
            _ => RankSet::default(),
        }
    }
}

impl Default for RankSet {
    fn default() -> RankSet {
        RankSet(Form::Range(0..0))
    }
}

impl RankSet {
    /// Number of members.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Range(range) => range.len(),
            Form::List(list) => list.len(),
        }
    }

    /// Nobody is in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A rank is a member.
    #[inline]
    pub fn contains(&self, rank: u32) -> bool {
        self.position(rank).is_some()
    }

    /// The number of a member, from 0; `None`: the rank is not one.
    #[inline]
    pub fn position(&self, rank: u32) -> Option<u32> {
        match &self.0 {
            Form::Range(range) => range.contains(&rank).then(|| rank - range.start),
            Form::List(list) => list.binary_search(&rank).ok().map(|at| at as u32),
        }
    }

    /// The member of a number.
    pub fn nth(&self, at: u32) -> Option<u32> {
        match &self.0 {
            Form::Range(range) => range.clone().nth(at as usize),
            Form::List(list) => list.get(at as usize).copied(),
        }
    }

    /// The first member.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        self.nth(0)
    }

    /// All members in their order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len() as u32).filter_map(|at| self.nth(at))
    }

    /// The members as one range, if they are.
    pub fn as_range(&self) -> Option<Range<u32>> {
        match &self.0 {
            Form::Range(range) => Some(range.clone()),
            Form::List(_) => None,
        }
    }

    /// Ranks that are in both.
    pub fn intersection(&self, other: &RankSet) -> RankSet {
        if let (Some(a), Some(b)) = (self.as_range(), other.as_range()) {
            return RankSet::from(a.start.max(b.start)..a.end.min(b.end));
        }
        let (few, many) = if self.len() <= other.len() { (self, other) } else { (other, self) };
        few.iter().filter(|rank| many.contains(*rank)).collect()
    }

    /// Ranks that are in one of them.
    pub fn union(&self, other: &RankSet) -> RankSet {
        let all: std::collections::BTreeSet<u32> = self.iter().chain(other.iter()).collect();
        all.into_iter().collect()
    }

    /// Numbers that differ between sets, mostly: the first and the end of a range, the others 0.
    pub fn key(&self) -> [u32; 4] {
        match &self.0 {
            Form::Range(range) => [range.start, range.end, 0, 0],
            Form::List(list) => {
                let mixed = list.iter().fold(0u64, |sum, rank| {
                    (sum ^ u64::from(*rank)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
                });
                [mixed as u32, (mixed >> 32) as u32, list.len() as u32, u32::MAX]
            }
        }
    }

    /// Ranges of ranks that follow each other.
    fn ranges(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        let mut ranks = self.iter().peekable();
        std::iter::from_fn(move || {
            let start = ranks.next()?;
            let mut end = start + 1;
            while ranks.next_if_eq(&end).is_some() {
                end += 1;
            }
            Some(start..end)
        })
    }
}

/// In words: "rank 5", "ranks 0 to 3", "ranks 0, 3, 6 and 9".
impl fmt::Display for RankSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 4;
        let part = |range: Range<u32>| match range.len() {
            1 => range.start.to_string(),
            _ => format!("{} to {}", range.start, range.end - 1),
        };
        let mut ranges = self.ranges();
        let shown = ranges.by_ref().take(SHOWN).map(part).collect();
        let more: usize = ranges.map(|range| range.len()).sum();
        match self.len() {
            0 => f.write_str("no rank"),
            1 => write!(f, "rank {}", self.ranges().map(part).collect::<String>()),
            _ => write!(f, "ranks {}", crate::words::list_and_more(shown, more as u64)),
        }
    }
}

impl fmt::Debug for RankSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_range() {
            Some(range) => range.fmt(f),
            None => f.debug_list().entries(self.ranges()).finish(),
        }
    }
}

impl PartialEq<Range<u32>> for RankSet {
    fn eq(&self, other: &Range<u32>) -> bool {
        self.as_range().is_some_and(|range| range == *other || range.is_empty() && other.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn set(ranks: &[u32]) -> RankSet {
        ranks.iter().copied().collect()
    }

    #[test]
    fn ranks_in_words() {
        for (ranks, expected) in [
            (set(&[]), "no rank"),
            (set(&[5]), "rank 5"),
            (set(&[0, 1]), "ranks 0 to 1"),
            (set(&[0, 3, 6, 9]), "ranks 0, 3, 6 and 9"),
            (set(&[0, 1, 4, 5]), "ranks 0 to 1 and 4 to 5"),
            (set(&[1, 3, 5, 7, 9, 11]), "ranks 1, 3, 5, 7 and 2 more"),
        ] {
            assert_eq!(ranks.to_string(), expected);
        }
    }

    fn any_ranks() -> impl Strategy<Value = BTreeSet<u32>> {
        let regular = (1u32..5, 1u32..5, 0u32..5).prop_map(|(len, gap, first)| {
            (0..40).filter(|r| *r >= first && (r - first) % (len + gap) < len).collect()
        });
        let any = proptest::collection::btree_set(0u32..40, 0..20);
        let range = (0u32..40, 0u32..40).prop_map(|(a, b)| (a..b).collect());
        prop_oneof![regular, any, range]
    }

    proptest! {
        #[test]
        fn it_does_what_a_set_does(a in any_ranks(), b in any_ranks()) {
            let [x, y] = [&a, &b].map(|ranks| ranks.iter().copied().collect::<RankSet>());
            prop_assert_eq!(x.len(), a.len());
            prop_assert_eq!(x.iter().collect::<Vec<_>>(), a.iter().copied().collect::<Vec<_>>());
            for rank in 0..41 {
                let at = a.iter().position(|r| *r == rank).map(|at| at as u32);
                prop_assert_eq!(x.position(rank), at);
            }
            prop_assert_eq!(x.nth(a.len() as u32), None);
            let both: RankSet = a.intersection(&b).copied().collect();
            let either: RankSet = a.union(&b).copied().collect();
            prop_assert_eq!(x.intersection(&y), both);
            prop_assert_eq!(x.union(&y), either);
            prop_assert_eq!(x == y, a == b);
            prop_assert!(x.key() != y.key() || a == b);
        }
    }
}

//! Sets of ranks: those that are active in a group or a split.
//!
//! ```text
//! group "writers"         0..4                 one block
//! split ($$rank % 3)      0, 3, 6, 9           blocks of one rank, 3 apart
//! split ($$rank / 2 % 2)  0, 1, 4, 5, 8, 9     blocks of two ranks, 4 apart
//! split ([2, 7, 3][...])  0, 5, 6              anything else: a list
//! ```
//!
//! Blocks of one size at one distance take four numbers however many ranks there are, and the member of
//! a number and the number of a member are computed. Each set has one form, so that equal sets are equal.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// World ranks in ascending order, each once.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RankSet(Form);

#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Form {
    Blocks(Blocks),
    List(Arc<[u32]>),
}

/// Blocks of `len` ranks that begin `step` apart. One block has the step `len`, an empty set `0..0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Blocks {
    first: u32,
    len: u32,
    step: u32,
    blocks: u32,
}

impl Blocks {
    /// Number of a rank among the members.
    #[inline]
    fn position(self, rank: u32) -> Option<u32> {
        let ahead = rank.checked_sub(self.first)?;
        if self.blocks == 1 {
            return (ahead < self.len).then_some(ahead);
        }
        let (block, at) = (ahead / self.step, ahead % self.step);
        (block < self.blocks && at < self.len).then(|| block * self.len + at)
    }

    fn size(self) -> u32 {
        self.len * self.blocks
    }

    /// The member of a number below [`Blocks::size`].
    fn nth(self, at: u32) -> u32 {
        match self.blocks {
            1 => self.first + at,
            _ => self.first + at / self.len * self.step + at % self.len,
        }
    }

    /// It is the one form of its set, and lies in `0..ranks`.
    fn is_valid(self, ranks: u32) -> bool {
        let end = u64::from(self.blocks.saturating_sub(1)) * u64::from(self.step)
            + u64::from(self.first)
            + u64::from(self.len);
        match (self.len, self.blocks) {
            (0, _) => self == RankSet::EMPTY,
            (_, 0) => false,
            (_, 1) => self.step == self.len && end <= ranks.into(),
            _ => self.step > self.len && end <= ranks.into(),
        }
    }
}

impl From<Range<u32>> for RankSet {
    fn from(ranks: Range<u32>) -> RankSet {
        let len = ranks.end.saturating_sub(ranks.start);
        match len {
            0 => RankSet::default(),
            _ => RankSet(Form::Blocks(Blocks { first: ranks.start, len, step: len, blocks: 1 })),
        }
    }
}

/// Ranks in ascending order; one that is there already is left out.
impl FromIterator<u32> for RankSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> RankSet {
        let mut list: Vec<u32> = ranks.into_iter().collect();
        debug_assert!(list.is_sorted());
        list.dedup();
        match in_blocks(&list) {
            Some(blocks) => RankSet(Form::Blocks(blocks)),
            None => RankSet(Form::List(list.into())),
        }
    }
}

impl Default for RankSet {
    fn default() -> RankSet {
        RankSet(Form::Blocks(RankSet::EMPTY))
    }
}

impl RankSet {
    const EMPTY: Blocks = Blocks { first: 0, len: 0, step: 0, blocks: 1 };

    /// Number of members.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Blocks(blocks) => blocks.size() as usize,
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
            Form::Blocks(blocks) => blocks.position(rank),
            Form::List(list) => list.binary_search(&rank).ok().map(|at| at as u32),
        }
    }

    /// The member of a number.
    pub fn nth(&self, at: u32) -> Option<u32> {
        match &self.0 {
            Form::Blocks(blocks) => (at < blocks.size()).then(|| blocks.nth(at)),
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
            Form::Blocks(Blocks { first, len, blocks: 1, .. }) => Some(*first..*first + *len),
            _ => None,
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
        if other.is_empty() || self == other {
            return self.clone();
        }
        let mut all: Vec<u32> = self.iter().chain(other.iter()).collect();
        all.sort_unstable();
        all.into_iter().collect()
    }

    /// Four numbers that differ between sets of regular form, and mostly between others: the first and
    /// the end of a range are the first two, the others 0.
    pub fn key(&self) -> [u32; 4] {
        match &self.0 {
            Form::Blocks(Blocks { first, len, blocks: 1, .. }) => [*first, *first + *len, 0, 0],
            Form::Blocks(blocks) => [blocks.first, blocks.len, blocks.step, blocks.blocks],
            Form::List(list) => {
                let mixed = list.iter().fold(0u64, |sum, rank| {
                    (sum ^ u64::from(*rank)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
                });
                [mixed as u32, (mixed >> 32) as u32, list.len() as u32, u32::MAX]
            }
        }
    }

    /// Whether it holds ranks of `0..ranks` alone and is in order: for sets that come as bytes.
    pub fn is_valid(&self, ranks: u32) -> bool {
        match &self.0 {
            Form::Blocks(blocks) => blocks.is_valid(ranks),
            Form::List(list) => {
                list.is_sorted_by(|a, b| a < b)
                    && list.last().is_some_and(|last| *last < ranks)
                    && in_blocks(list).is_none()
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

/// The form in blocks of ranks that are in order.
fn in_blocks(ranks: &[u32]) -> Option<Blocks> {
    let Some(first) = ranks.first().copied() else { return Some(RankSet::EMPTY) };
    let len = 1 + ranks.windows(2).take_while(|pair| pair[1] == pair[0] + 1).count();
    let blocks = ranks.len() / len;
    let step = ranks.get(len).map_or(len as u32, |second| second - first);
    let form = Blocks { first, len: len as u32, step, blocks: blocks as u32 };
    let fits =
        ranks.len().is_multiple_of(len) && (0..).zip(ranks).all(|(at, rank)| form.nth(at) == *rank);
    fits.then_some(form)
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
    fn regular_sets_take_no_list() {
        let every_third = (0..1_000_000u32).filter(|rank| rank % 3 == 1).collect::<RankSet>();
        let blocks = (0..1_000_000u32).filter(|rank| rank / 4 % 5 == 2).collect::<RankSet>();
        for regular in [RankSet::from(5..999), every_third, blocks, set(&[]), set(&[7])] {
            assert!(matches!(regular.0, Form::Blocks(_)), "{regular}");
        }
        assert!(matches!(set(&[0, 1, 3]).0, Form::List(_)));
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

    #[test]
    fn sets_that_were_damaged_are_found() {
        let blocks =
            |first, len, step, blocks| RankSet(Form::Blocks(Blocks { first, len, step, blocks }));
        let damaged = [
            blocks(0, 4, 4, 2),
            blocks(0, 4, 3, 2),
            blocks(1, 0, 0, 1),
            blocks(0, 1, 2, 0),
            blocks(8, 1, 1, 1),
            blocks(0, 1, u32::MAX, u32::MAX),
            RankSet(Form::List([0, 3, 2].into())),
            RankSet(Form::List([0, 2, 4].into())),
            RankSet(Form::List([0, 1, 8].into())),
            RankSet(Form::List([].into())),
        ];
        for damaged in damaged {
            assert!(!damaged.is_valid(8));
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
            prop_assert!(x.is_valid(40) && y.is_valid(40));
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

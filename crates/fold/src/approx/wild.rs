//! Before loops are looked for: sizes that are nearly the same become one, and numbers that follow no
//! rule are marked, so that they break no loop.

use super::super::events::Events;
use super::super::log::{Log, Logged};
use super::super::names::Names;
use super::jumps;
use model::Op;
use model::event::NO_ID;
use std::collections::HashMap;

/// Numbers of a statement are looked at together in so many executions.
const TOGETHER: usize = 32;
/// Growth that comes again within so many executions is a rule.
const CYCLE_MAX: usize = 16;

/// What numbers of the operations of a log become.
#[derive(Debug, Default)]
pub struct Near {
    /// By operation and template of the name: up to which size which one stands.
    sizes: HashMap<(u8, u32), Vec<(u64, u64)>>,
    /// By rank and operation: the size, the place follow no rule.
    wild: Vec<Vec<(bool, bool)>>,
}

/// Operations of a kind on files of like names.
type Key = (u8, u32);

impl Near {
    /// Looks at a log. `bound`: how far sizes may be from what they are, as a share.
    pub fn of(log: &Log, names: &Names, bound: f64) -> Near {
        let mut all: HashMap<Key, HashMap<u64, u64>> = HashMap::new();
        for entry in log.ranks.iter().flatten() {
            if let Some(key) = key(&entry, names) {
                let times = all.entry(key).or_default();
                *times.entry(entry.event.requested_bytes).or_default() += 1;
            }
        }
        let sizes = all.into_iter().map(|(key, times)| (key, joined(times, bound))).collect();
        let mut near = Near { sizes, wild: Vec::new() };
        near.wild = log.ranks.iter().map(|rank| near.wild_in(rank, names)).collect();
        near
    }

    /// The size that stands for that of an operation.
    pub fn size(&self, entry: &Logged, names: &Names) -> u64 {
        let bytes = entry.event.requested_bytes;
        let sizes = key(entry, names).and_then(|key| self.sizes.get(&key));
        let at = |sizes: &Vec<(u64, u64)>| sizes.partition_point(|(last, _)| *last < bytes);
        sizes.and_then(|sizes| sizes.get(at(sizes))).map_or(bytes, |(_, one)| *one)
    }

    /// The size, the place of an operation follow no rule.
    pub fn is_wild(&self, rank: u32, at: usize) -> (bool, bool) {
        self.wild[rank as usize][at]
    }

    fn wild_in(&self, rank: &Events, names: &Names) -> Vec<(bool, bool)> {
        let mut by_key: HashMap<Key, Like> = HashMap::new();
        for (at, entry) in rank.iter().enumerate() {
            let Some(key) = key(&entry, names) else { continue };
            let like = by_key.entry(key).or_default();
            like.places.push(at);
            like.sizes.push(self.size(&entry, names));
            like.offsets.push(entry.event.offset_bytes);
        }
        let mut wild = vec![(false, false); rank.len()];
        for like in by_key.values() {
            let places = jumping(&like.offsets);
            let ruleless = ruleless(&like.sizes).zip(places);
            for (at, no_rule) in like.places.iter().zip(ruleless) {
                wild[*at] = no_rule;
            }
        }
        wild
    }
}

/// Operations of one rank with one key.
#[derive(Default)]
struct Like {
    places: Vec<usize>,
    sizes: Vec<u64>,
    offsets: Vec<u64>,
}

fn key(entry: &Logged, names: &Names) -> Option<Key> {
    let op = entry.op()?;
    let transfers = [Op::Fread, Op::Fwrite, Op::Readv, Op::Writev, Op::Read, Op::Write, Op::Append];
    let template = names.of.get(entry.event.path as usize).map_or(NO_ID, |name| name.0);
    let moves = transfers.contains(&op) && entry.event.errno == 0;
    moves.then_some((entry.event.op, template))
}

/// Sizes with how often they come -> up to which one which stands for them: the mean of those that are
/// within the bound of it.
fn joined(times: HashMap<u64, u64>, bound: f64) -> Vec<(u64, u64)> {
    let mut sizes: Vec<(u64, u64)> = times.into_iter().collect();
    sizes.sort_unstable();
    let mut all = Vec::new();
    let mut rest = &sizes[..];
    while let Some((first, _)) = rest.first() {
        // The mean lies between, so all are near it if the ends are near each other.
        let most = *first as f64 * (1.0 + bound);
        let (near, later) = rest.split_at(rest.partition_point(|(size, _)| *size as f64 <= most));
        let sum: u128 = near.iter().map(|(size, times)| u128::from(size * times)).sum();
        let count: u128 = near.iter().map(|(_, times)| u128::from(*times)).sum();
        all.push((near[near.len() - 1].0, ((sum + count / 2) / count) as u64));
        rest = later;
    }
    all
}

/// Which of the numbers follow no rule: growth that did not come before, in most of those around.
fn ruleless(numbers: &[u64]) -> impl Iterator<Item = bool> {
    let grown = |at: usize| numbers[at].wrapping_sub(numbers[at - 1]);
    let is_new = |at: usize| {
        at > 0 && !(1..=CYCLE_MAX.min(at.saturating_sub(1))).any(|p| grown(at) == grown(at - p))
    };
    in_most((0..numbers.len()).map(is_new).collect())
}

/// The same of places, which jump to and fro: a file that is written on and on with gaps of any size is
/// not accessed at random.
fn jumping(offsets: &[u64]) -> impl Iterator<Item = bool> {
    let often = offsets.chunks(TOGETHER);
    let often = often.flat_map(|chunk| std::iter::repeat_n(jumps(chunk), chunk.len()));
    ruleless(offsets).zip(often).map(|(new, often)| new && often)
}

/// For each of some numbers whether most of those around are new.
fn in_most(new: Vec<bool>) -> impl Iterator<Item = bool> {
    let mut all = Vec::with_capacity(new.len());
    for chunk in new.chunks(TOGETHER) {
        let many = chunk.iter().filter(|new| **new).count();
        let last = all.last().copied().unwrap_or(false);
        // A short rest is like what comes before it.
        let is_wild = if chunk.len() * 2 < TOGETHER && !all.is_empty() {
            last && many > 0
        } else {
            many * 2 > chunk.len() && chunk.len() >= TOGETHER / 2
        };
        all.resize(all.len() + chunk.len(), is_wild);
    }
    all.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_without_a_rule_are_marked() {
        let marked = |numbers: &[u64]| ruleless(numbers).filter(|wild| *wild).count();
        let random: Vec<u64> = (0..64u64).map(|at| at * at * 7919 % 1013).collect();
        assert_eq!(marked(&random), 64);
        let nested: Vec<u64> = (0..64).map(|at| at / 4 * 100 + at % 4 * 8).collect();
        assert_eq!(marked(&nested), 0);
        assert_eq!(marked(&random[..8]), 0);
        let jumps = |numbers: &[u64]| jumping(numbers).filter(|wild| *wild).count();
        let growing: Vec<u64> = (0..64u64).map(|at| at * 4096 + at * at * 7919 % 1013).collect();
        assert_eq!((jumps(&random), marked(&growing), jumps(&growing)), (64, 64, 0));
    }

    #[test]
    fn sizes_that_are_near_become_their_mean() {
        let times = HashMap::from([(1000, 3), (1010, 1), (4096, 2), (100, 1)]);
        assert_eq!(joined(times, 0.02), [(100, 100), (1010, 1003), (4096, 4096)]);
    }
}

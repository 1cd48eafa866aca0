//! Figures per label and operation.
//!
//! Block [`Kind::Stat`]: the words `S_`. Block [`Kind::Parts`]: stat id, then count,
//! sum, minimum and maximum of every [`Part`]. Block [`Kind::Service`]: stat id, then the same four of own
//! times, where operations were due at a time and their times count from there. Minima without values are `u64::MAX`.

use super::area::Area;
use super::histograms::{HistogramId, Histograms, Owner};
use super::index::{Index, spread};
use super::layout::{Kind, pair};
use model::event::NO_ID;
use model::{Op, Part};
use std::collections::HashMap;

/// Label id | operation << 32.
pub(super) const S_LABEL_OP: usize = 0;
/// Operations that did not fail, and their times: sum, minimum, maximum.
pub(super) const S_DONE: usize = 1;
pub(super) const S_SUM_NS: usize = 2;
pub(super) const S_MIN_NS: usize = 3;
pub(super) const S_MAX_NS: usize = 4;
/// Operations that failed unexpectedly.
pub(super) const S_FAILED: usize = 5;
/// Operations that failed as expected.
pub(super) const S_EXPECTED: usize = 6;
/// Operations that were short; they did not fail.
pub(super) const S_SHORT: usize = 7;
/// Bytes moved.
pub(super) const S_BYTES: usize = 8;
/// Earliest start and latest end of those that did not fail.
pub(super) const S_FIRST_NS: usize = 9;
pub(super) const S_LAST_NS: usize = 10;
/// Times of those that failed: sum, minimum, maximum.
pub(super) const S_FAILED_SUM_NS: usize = 11;
pub(super) const S_FAILED_MIN_NS: usize = 12;
pub(super) const S_FAILED_MAX_NS: usize = 13;
/// Of the sum of times, what is no time of this rank in such operations: counted more than once, because
/// they were under way together, or from when they were due to their start.
pub(super) const S_OVERLAP_NS: usize = 14;
/// Words of a stat.
pub(super) const STAT_WORDS: usize = 15;
/// Words of one part.
pub(super) const PART_WORDS: usize = 4;
/// Words of all parts and the stat id before them.
pub(super) const PARTS_WORDS: usize = 1 + PART_WORDS * Part::COUNT;
/// Words of a block of own times.
pub(super) const SERVICE_WORDS: usize = 1 + PART_WORDS;

/// A label and operation of one recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StatId(u32);

/// The times of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Clock before the first back-end call.
    pub start_ns: u64,
    /// Clock after the last back-end call.
    pub end_ns: u64,
    /// Sum of the back-end calls' times.
    pub busy_ns: u64,
}

#[derive(Debug, Default)]
pub(super) struct Stats {
    hot: Vec<Hot>,
    index: Index,
    keys: Vec<(u32, u32)>,
    pub(super) histograms: Histograms,
    /// Own times of stats: where they lie, and their histogram.
    services: HashMap<StatId, (u32, HistogramId)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Hot {
    /// Place of the stat.
    at: u32,
    /// Place of the first part; 0: the operation is simple.
    parts_at: u32,
    done: HistogramId,
    failed: HistogramId,
    /// The first of [`Part::COUNT`] histograms.
    parts: HistogramId,
}

impl Stats {
    /// Makes stat 0, which takes what finds no room of its own; `None` when there is no room.
    pub(super) fn create(area: &mut Area) -> Option<Stats> {
        let mut stats = Stats::default();
        stats.add(area, NO_ID, 0, false)?;
        Some(stats)
    }

    /// The stat of a label and operation.
    #[inline]
    pub(super) fn stat(&mut self, area: &mut Area, label: u32, op: Op) -> StatId {
        let key = (label, op as u32);
        let hash = spread(pair(key.0, key.1));
        let keys = &self.keys;
        if let Some(id) = self.index.find(hash, |id| keys[id as usize] == key) {
            return StatId(id);
        }
        let added = self.add(area, label, op as u32, op.is_compound());
        added.inspect(|id| self.index.insert(hash, id.0)).unwrap_or(StatId(0))
    }

    #[cold]
    fn add(&mut self, area: &mut Area, label: u32, op: u32, compound: bool) -> Option<StatId> {
        let id = self.hot.len() as u32;
        let at = area.append(Kind::Stat, STAT_WORDS, |stat| {
            stat[S_LABEL_OP] = pair(label, op);
            for minimum in [S_MIN_NS, S_FIRST_NS, S_FAILED_MIN_NS] {
                stat[minimum] = u64::MAX;
            }
        })?;
        let parts_at = if compound { self.add_parts(area, id) } else { None };
        let mut add = |which| self.histograms.add(Owner { id, which });
        let (done, failed) = (add(Owner::DONE), add(Owner::FAILED));
        let parts = self.histograms.len();
        if compound {
            (0..Part::COUNT as u8).for_each(|part| {
                self.histograms.add(Owner { id, which: Owner::PARTS + part });
            });
        }
        self.keys.push((label, op));
        self.hot.push(Hot { at, parts_at: parts_at.unwrap_or(0), done, failed, parts });
        Some(StatId(id))
    }

    fn add_parts(&mut self, area: &mut Area, id: u32) -> Option<u32> {
        let at = area.append(Kind::Parts, PARTS_WORDS, |words| {
            words[0] = u64::from(id);
            words[1..].chunks_mut(PART_WORDS).for_each(|part| part[2] = u64::MAX);
        })?;
        Some(at + 1)
    }

    /// Where a stat's figures lie.
    #[inline(always)]
    pub(super) fn hot(&self, stat: StatId) -> Hot {
        self.hot[stat.0 as usize]
    }

    #[inline(always)]
    pub(super) fn done(
        &mut self,
        area: &mut Area,
        hot: Hot,
        time: Timing,
        bytes: u64,
        short: bool,
    ) {
        self.count(area, hot.at + S_DONE as u32, hot.done, time.busy_ns);
        let words = area.array::<STAT_WORDS>(hot.at);
        words[S_SHORT] += u64::from(short);
        words[S_BYTES] = words[S_BYTES].saturating_add(bytes);
        words[S_FIRST_NS] = words[S_FIRST_NS].min(time.start_ns);
        words[S_LAST_NS] = words[S_LAST_NS].max(time.end_ns);
    }

    #[inline(always)]
    pub(super) fn part(&mut self, area: &mut Area, hot: Hot, part: Part, ns: u64) {
        if hot.parts_at != 0 {
            let at = hot.parts_at + part as u32 * PART_WORDS as u32;
            self.count(area, at, hot.parts + part as u32, ns);
        }
    }

    /// Counts the own time of an operation whose time counts from when it was due.
    #[cold]
    pub(super) fn service(&mut self, area: &mut Area, stat: StatId, ns: u64) {
        let place = self.services.get(&stat).copied().or_else(|| self.add_service(area, stat));
        if let Some((at, histogram)) = place {
            self.count(area, at, histogram, ns);
        }
    }

    fn add_service(&mut self, area: &mut Area, stat: StatId) -> Option<(u32, HistogramId)> {
        let at = area.append(Kind::Service, SERVICE_WORDS, |words| {
            (words[0], words[3]) = (u64::from(stat.0), u64::MAX);
        })?;
        let histogram = self.histograms.add(Owner { id: stat.0, which: Owner::SERVICE });
        self.services.insert(stat, (at + 1, histogram));
        Some((at + 1, histogram))
    }

    /// Counts a time in the words count, sum, minimum and maximum at `at`, and in a histogram.
    /// Not inlined: system calls drive code out of the processor's caches, and a compound
    /// operation comes here several times.
    #[inline(never)]
    fn count(&mut self, area: &mut Area, at: u32, histogram: HistogramId, ns: u64) {
        let [count, sum_ns, min_ns, max_ns] = area.array(at);
        *count += 1;
        *sum_ns = sum_ns.saturating_add(ns);
        *min_ns = ns.min(*min_ns);
        *max_ns = ns.max(*max_ns);
        self.histograms.count(area, histogram, ns);
    }

    #[inline]
    pub(super) fn overlapped(&mut self, area: &mut Area, stat: StatId, ns: u64) {
        let words = area.array::<STAT_WORDS>(self.hot[stat.0 as usize].at);
        words[S_OVERLAP_NS] = words[S_OVERLAP_NS].saturating_add(ns);
    }

    #[inline]
    pub(super) fn failed(&mut self, area: &mut Area, stat: StatId, busy_ns: u64, expected: bool) {
        let hot = self.hot[stat.0 as usize];
        let words = area.array::<STAT_WORDS>(hot.at);
        words[if expected { S_EXPECTED } else { S_FAILED }] += 1;
        words[S_FAILED_SUM_NS] = words[S_FAILED_SUM_NS].saturating_add(busy_ns);
        words[S_FAILED_MIN_NS] = words[S_FAILED_MIN_NS].min(busy_ns);
        words[S_FAILED_MAX_NS] = words[S_FAILED_MAX_NS].max(busy_ns);
        self.histograms.count(area, hot.failed, busy_ns);
    }
}

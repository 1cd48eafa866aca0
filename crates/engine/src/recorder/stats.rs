//! Figures per label and operation, and executions by place in the program.

use super::Recorder;
use super::area::{Area, At};
use super::layout::{Kind, Owner, SITES_PER_BLOCK, SiteCount, Sites, Stat, Summary};
use super::times::{HistogramId, Histograms};
use bytemuck::Zeroable;
use model::event::NO_ID;
use model::{Op, Part};
use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::mem::offset_of;

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
    /// By label and operation.
    ids: FxHashMap<(u32, u32), StatId>,
    pub(super) histograms: Histograms,
    /// Histograms of own times, where operations were due at a time.
    services: HashMap<StatId, HistogramId>,
}

/// Where the figures of a stat are counted.
#[derive(Clone, Copy, Debug)]
struct Hot {
    at: At<Stat>,
    done: HistogramId,
    failed: HistogramId,
    /// The first of [`Part::COUNT`] histograms; `None`: the operation is simple.
    parts: Option<HistogramId>,
}

impl Recorder {
    /// Where operations of one kind inside one label ([`NO_ID`]: inside none) are counted. Stays valid; keep
    /// it.
    #[inline]
    pub fn stat(&mut self, label: u32, op: Op) -> StatId {
        let key = (label, op as u32);
        if let Some(id) = self.stats.ids.get(&key) {
            return *id;
        }
        let added = self.stats.add(&mut self.area, label, op as u32, op.is_compound());
        let Some(id) = added else { return StatId(0) };
        self.stats.ids.insert(key, id);
        id
    }

    /// An operation was executed and did not fail. `short`: the file ended early.
    #[inline(always)]
    pub fn done(&mut self, stat: StatId, site: u32, time: Timing, bytes: u64, short: bool) {
        self.count_done(stat, time, bytes, short);
        self.executed(site, time.busy_ns);
    }

    /// The same of an operation that was due at a time, from which its time counts.
    #[cold]
    pub fn done_due(
        &mut self,
        stat: StatId,
        site: u32,
        (time, due_ns): (Timing, u64),
        bytes: u64,
        short: bool,
    ) {
        let since_due_ns = time.end_ns.saturating_sub(due_ns).max(time.busy_ns);
        self.count_done(stat, Timing { busy_ns: since_due_ns, ..time }, bytes, short);
        self.overlapped(stat, since_due_ns - time.busy_ns);
        let known = self.stats.services.get(&stat).copied();
        if let Some(own) = known.or_else(|| self.stats.add_service(&mut self.area, stat)) {
            self.stats.histograms.count(&mut self.area, own, time.busy_ns);
        }
        self.executed(site, time.busy_ns);
    }

    #[inline(always)]
    fn count_done(&mut self, stat: StatId, time: Timing, bytes: u64, short: bool) {
        let hot = self.stats.hot[stat.0 as usize];
        self.stats.histograms.count(&mut self.area, hot.done, time.busy_ns);
        let stat = self.area.get(hot.at);
        stat.short += u64::from(short);
        stat.bytes = stat.bytes.saturating_add(bytes);
        stat.first_ns = stat.first_ns.min(time.start_ns);
        stat.last_ns = stat.last_ns.max(time.end_ns);
    }

    /// A part of a compound operation was executed and did not fail.
    #[inline(always)]
    pub fn part(&mut self, stat: StatId, part: Part, ns: u64) {
        if let Some(first) = self.stats.hot[stat.0 as usize].parts {
            self.stats.histograms.count(&mut self.area, first + part as u32, ns);
        }
    }

    /// This part of the time of operations is counted twice, because they were under way at the same time.
    #[inline]
    pub fn overlapped(&mut self, stat: StatId, ns: u64) {
        let stat = self.area.get(self.stats.hot[stat.0 as usize].at);
        stat.overlap_ns = stat.overlap_ns.saturating_add(ns);
    }

    /// An operation failed. `expected`: with an errno that the program names.
    #[inline]
    pub fn failed(&mut self, stat: StatId, site: u32, busy_ns: u64, expected: bool) {
        let hot = self.stats.hot[stat.0 as usize];
        let stat = self.area.get(hot.at);
        *(if expected { &mut stat.expected } else { &mut stat.failed }) += 1;
        self.stats.histograms.count(&mut self.area, hot.failed, busy_ns);
        self.executed(site, busy_ns);
    }

    /// The time limit at `site` ended its loop.
    pub fn limit_reached(&mut self, site: u32) {
        self.executed(site, 0);
    }

    /// Counts an execution of a place in the program, unless there is no room for it.
    #[inline(always)]
    fn executed(&mut self, site: u32, busy_ns: u64) {
        let (block, within) = (site as usize / SITES_PER_BLOCK, site as usize % SITES_PER_BLOCK);
        let Some(known) = self.sites.get(block) else { return };
        let Some(first) = known.or_else(|| self.add_sites(block)) else { return };
        let site = self.area.get(first.nth(within as u64));
        site.count += 1;
        site.busy_ns = site.busy_ns.saturating_add(busy_ns);
    }

    #[cold]
    fn add_sites(&mut self, block: usize) -> Option<At<SiteCount>> {
        let sites = Sites { first: (block * SITES_PER_BLOCK) as u64, ..Sites::zeroed() };
        let at = self.area.append(Kind::Sites, &sites)?;
        self.sites[block] = Some(at.behind(offset_of!(Sites, sites)));
        self.sites[block]
    }
}

impl Stats {
    /// Makes stat 0, which takes what finds no room of its own; `None` when there is no room.
    pub(super) fn create(area: &mut Area) -> Option<Stats> {
        let mut stats = Stats::default();
        stats.add(area, NO_ID, 0, false)?;
        Some(stats)
    }

    #[cold]
    fn add(&mut self, area: &mut Area, label: u32, op: u32, compound: bool) -> Option<StatId> {
        let id = self.hot.len() as u32;
        let (done, failed_times) = (Summary::EMPTY, Summary::EMPTY);
        let stat = Stat { label, op, done, failed_times, first_ns: u64::MAX, ..Stat::zeroed() };
        let at = area.append(Kind::Stat, &stat)?;
        let mut add = |which, offset| self.histograms.add(Owner { id, which }, at.behind(offset));
        let done = add(Owner::DONE, offset_of!(Stat, done));
        let failed = add(Owner::FAILED, offset_of!(Stat, failed_times));
        let parts = if compound { self.add_parts(area, id) } else { None };
        self.hot.push(Hot { at, done, failed, parts });
        Some(StatId(id))
    }

    fn add_parts(&mut self, area: &mut Area, id: u32) -> Option<HistogramId> {
        let mut first = None;
        for part in 0..Part::COUNT as u32 {
            let owner = Owner { id, which: Owner::PARTS + part };
            let added = self.histograms.append(area, owner)?;
            first = first.or(Some(added));
        }
        first
    }

    fn add_service(&mut self, area: &mut Area, stat: StatId) -> Option<HistogramId> {
        let owner = Owner { id: stat.0, which: Owner::SERVICE };
        let histogram = self.histograms.append(area, owner)?;
        self.services.insert(stat, histogram);
        Some(histogram)
    }
}

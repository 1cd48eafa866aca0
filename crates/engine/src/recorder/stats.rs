//! Figures per label and operation, and executions by place in the program.

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
pub(super) struct Hot {
    at: At<Stat>,
    done: HistogramId,
    failed: HistogramId,
    /// The first of [`Part::COUNT`] histograms; `None`: the operation is simple.
    parts: Option<HistogramId>,
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
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        let added = self.add(area, label, op as u32, op.is_compound());
        let Some(id) = added else { return StatId(0) };
        self.ids.insert(key, id);
        id
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
        self.histograms.count(area, hot.done, time.busy_ns);
        let stat = area.get(hot.at);
        stat.short += u64::from(short);
        stat.bytes = stat.bytes.saturating_add(bytes);
        stat.first_ns = stat.first_ns.min(time.start_ns);
        stat.last_ns = stat.last_ns.max(time.end_ns);
    }

    #[inline(always)]
    pub(super) fn part(&mut self, area: &mut Area, hot: Hot, part: Part, ns: u64) {
        if let Some(first) = hot.parts {
            self.histograms.count(area, first + part as u32, ns);
        }
    }

    /// Counts the own time of an operation whose time counts from when it was due.
    #[cold]
    pub(super) fn service(&mut self, area: &mut Area, stat: StatId, ns: u64) {
        let known = self.services.get(&stat).copied();
        let Some(histogram) = known.or_else(|| self.add_service(area, stat)) else { return };
        self.histograms.count(area, histogram, ns);
    }

    fn add_service(&mut self, area: &mut Area, stat: StatId) -> Option<HistogramId> {
        let owner = Owner { id: stat.0, which: Owner::SERVICE };
        let histogram = self.histograms.append(area, owner)?;
        self.services.insert(stat, histogram);
        Some(histogram)
    }

    #[inline]
    pub(super) fn overlapped(&mut self, area: &mut Area, stat: StatId, ns: u64) {
        let stat = area.get(self.hot(stat).at);
        stat.overlap_ns = stat.overlap_ns.saturating_add(ns);
    }

    #[inline]
    pub(super) fn failed(&mut self, area: &mut Area, stat: StatId, busy_ns: u64, expected: bool) {
        let hot = self.hot(stat);
        let stat = area.get(hot.at);
        *(if expected { &mut stat.expected } else { &mut stat.failed }) += 1;
        self.histograms.count(area, hot.failed, busy_ns);
    }
}

/// Executions and their own times by place in the program. Only blocks that are needed exist.
#[derive(Debug)]
pub(super) struct Places {
    /// The first counter of every run of sites; `None`: not there yet.
    blocks: Vec<Option<At<SiteCount>>>,
}

impl Places {
    pub(super) fn new(sites: u32) -> Places {
        Places { blocks: vec![None; (sites as usize).div_ceil(SITES_PER_BLOCK)] }
    }

    /// A site's counters; `None`: there is no room for them.
    #[inline(always)]
    pub(super) fn find(&mut self, area: &mut Area, site: u32) -> Option<At<SiteCount>> {
        let (block, within) = (site as usize / SITES_PER_BLOCK, site as usize % SITES_PER_BLOCK);
        let first = match *self.blocks.get(block)? {
            Some(first) => first,
            None => self.add_block(area, block)?,
        };
        Some(first.nth(within as u64))
    }

    #[inline(always)]
    pub(super) fn count(&mut self, area: &mut Area, site: u32, busy_ns: u64) {
        if let Some(at) = self.find(area, site) {
            count_site(area, at, busy_ns);
        }
    }

    #[cold]
    fn add_block(&mut self, area: &mut Area, block: usize) -> Option<At<SiteCount>> {
        let sites = Sites { first: (block * SITES_PER_BLOCK) as u64, ..Sites::zeroed() };
        let at = area.append(Kind::Sites, &sites)?;
        self.blocks[block] = Some(at.behind(offset_of!(Sites, sites)));
        self.blocks[block]
    }
}

/// Counts an execution at the place that [`Places::find`] gave.
#[inline(always)]
pub(super) fn count_site(area: &mut Area, at: At<SiteCount>, busy_ns: u64) {
    let site = area.get(at);
    site.count += 1;
    site.busy_ns = site.busy_ns.saturating_add(busy_ns);
}

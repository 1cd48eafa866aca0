//! What some ranks measured, in a form that merges by addition.

use super::Collected;
use super::arrivals::ArrivalSums;
use super::busy::{Busy, Interval};
use super::evidence::Sums;
use super::failed::Failed;
use super::outline::{Appearance, Outline, appearances, slot};
use super::places::{self, SiteSums};
use super::reduce::Merge;
use super::shares::ShareSums;
use super::times::LabelTimes;
use super::traffic::Traffic;
use crate::record::{LabelRecord, RankRecord, StatRecord};
use model::op::Class;
use model::plan::{LabelKind, around_parts};
use model::run::{LabelEvidence, LabelRow};
use model::summary::Figures;
use model::{Op, Plan};
use serde::{Deserialize, Serialize};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// Rank and position: what appeared first stands first.
type First = (u32, u32);

/// Figures of some ranks. Its size depends on the program (labels, operations, sites), not on
/// the number of ranks and events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Partial {
    /// By number in the outline.
    labels: BTreeMap<u32, Label>,
    sites: SiteSums,
    failed: Failed,
    sums: Sums,
}

/// Bytes written and read by label: those of the parts of loops belong to the label around them, as
/// their traffic does ([`model::plan::PARTS`]).
fn moved_at_home(labels: &[(u32, Label)], outline: &Outline) -> HashMap<String, [u64; 2]> {
    let mut all: HashMap<String, [u64; 2]> = HashMap::new();
    for (id, label) in labels {
        let path = String::from_utf8_lossy(outline.path(*id));
        let sums = all.entry(around_parts(&path).to_string()).or_default();
        for (sum, more) in sums.iter_mut().zip(label.moved()) {
            *sum = sum.saturating_add(more);
        }
    }
    all
}

/// A label path; the path "" is what stands in no label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Label {
    first: First,
    /// Figures by number of the operation.
    ops: BTreeMap<u8, (First, Figures)>,
    /// Occurrences of its `time` and of its `ctime` statements.
    times: [Option<LabelTimes>; 2],
    /// When it was executed, by either statement.
    busy: Busy,
    /// By directory, in the order of the plan.
    traffic: Vec<Traffic>,
    /// Work that was shared, by site.
    shares: BTreeMap<u32, ShareSums>,
    /// Schedules of arrivals, by site.
    arrivals: BTreeMap<u32, ArrivalSums>,
}

impl Label {
    fn new(first: First) -> Label {
        Label {
            first,
            ops: BTreeMap::new(),
            times: [None, None],
            busy: Busy::default(),
            traffic: Vec::new(),
            shares: BTreeMap::new(),
            arrivals: BTreeMap::new(),
        }
    }
}

impl Partial {
    /// Adds what a rank measured. `outline`: that of all ranks of the run.
    pub fn add_rank(&mut self, record: &RankRecord, outline: &Outline) {
        self.add_labels(record, outline);
        places::add_sites(&mut self.sites, record);
        self.failed.add_rank(record);
        self.sums.add_rank(record);
    }

    fn add_labels(&mut self, record: &RankRecord, outline: &Outline) {
        for (position, appearance) in appearances(record) {
            let first = (record.rank, position);
            match appearance {
                Appearance::Label(id) => {
                    self.label(outline.id_of(record, id), first);
                }
                Appearance::Stat(stat) => {
                    self.label(outline.id_of(record, stat.label), first).add_stat(first, stat);
                }
            }
        }
        for traffic in &record.traffic {
            let first = (record.rank, traffic.position);
            let label = self.label(outline.id_of(record, traffic.label), first);
            label.traffic_in(traffic.directory as usize).add(&traffic.counts);
        }
        for share in &record.shares {
            let first = (record.rank, share.position);
            let label = self.label(outline.id_of(record, share.label), first);
            label.add_share(share.site, ShareSums::of(record.rank, share));
        }
        for arrivals in &record.arrivals {
            let first = (record.rank, arrivals.position);
            let label = self.label(outline.id_of(record, arrivals.label), first);
            label.add_arrivals(arrivals.site, ArrivalSums::of(arrivals));
        }
        let end_ns = record.end_ns();
        for label in &record.labels {
            let cut_off = cut_off(label, end_ns);
            if label.count == 0 && cut_off.is_none() {
                continue;
            }
            let id = outline.id(&label.path);
            if outline.path(id) != label.path {
                self.sums.add_label_beyond(label.count);
            }
            let max_count = outline.max_count(id, label.kind);
            let merged = self.label(id, (record.rank, label.position));
            let times = merged.times[slot(label.kind)].get_or_insert_default();
            times.add_rank(record.rank, label, max_count);
            let busy = std::mem::take(&mut merged.busy);
            merged.busy = busy.merge(Busy::of(label, cut_off));
        }
    }

    fn label(&mut self, id: u32, first: First) -> &mut Label {
        let label = self.labels.entry(id).or_insert_with(|| Label::new(first));
        label.first = label.first.min(first);
        label
    }

    /// The result, when all ranks are in it.
    pub fn finish(self, outline: &Outline, plan: &Plan) -> Collected {
        let places = places::Places::new(plan);
        let mut collected = Collected { sites: places.sites(&self.sites), ..Collected::default() };
        let mut labels: Vec<(u32, Label)> = self.labels.into_iter().collect();
        labels.sort_by_key(|(_, label)| label.first);
        let fetched_is_told = self.sums.fetched_is_told();
        let has_parts = plan.labels.iter().any(|label| label.part);
        let moved = has_parts.then(|| moved_at_home(&labels, outline));
        for (id, label) in labels {
            let path = String::from_utf8_lossy(outline.path(id));
            let moved = moved.as_ref().map_or_else(
                || label.moved(),
                |moved| moved.get(&*path).copied().unwrap_or_default(),
            );
            let evidence = label.evidence(&path, moved, fetched_is_told, plan);
            collected.evidence.labels.extend(evidence);
            let shares = label.shares.iter();
            let shares = shares.map(|(site, sums)| sums.clone().row(&path, *site, &places));
            collected.shares.extend(shares);
            let arrivals = label.arrivals.iter();
            let arrivals = arrivals.map(|(site, sums)| sums.row(&path, *site, &places));
            collected.arrivals.extend(arrivals);
            let occurrences = [LabelKind::Wall, LabelKind::Calls];
            let occurrences = occurrences.map(|kind| outline.max_count(id, kind)).iter().sum();
            label.finish(&path, occurrences, &mut collected);
        }
        self.sums.finish(&mut collected);
        self.failed.finish(&places, &mut collected);
        collected
    }
}

impl Label {
    fn add_stat(&mut self, first: First, stat: &StatRecord) {
        let (seen, figures) =
            self.ops.entry(stat.op as u8).or_insert_with(|| (first, Figures::default()));
        *seen = (*seen).min(first);
        figures.add_rank(first.0, &stat.figures);
    }

    fn add_share(&mut self, site: u32, sums: ShareSums) {
        match self.shares.entry(site) {
            Entry::Occupied(mut mine) => mine.get_mut().merge(sums),
            Entry::Vacant(free) => drop(free.insert(sums)),
        }
    }

    fn add_arrivals(&mut self, site: u32, sums: ArrivalSums) {
        match self.arrivals.entry(site) {
            Entry::Occupied(mut mine) => mine.get_mut().merge(&sums),
            Entry::Vacant(free) => drop(free.insert(sums)),
        }
    }

    /// Bytes that its operations have written and read.
    fn moved(&self) -> [u64; 2] {
        [Class::Write, Class::Read].map(|class| {
            let of_class = |op: &u8| Op::from_u8(*op).is_some_and(|op| op.row().class == class);
            let figures = self.ops.iter().filter(|(op, _)| of_class(op));
            figures.fold(0, |sum: u64, (_, (_, figures))| sum.saturating_add(figures.bytes()))
        })
    }

    /// Where the bytes that were `moved` came from and went to, if there were any.
    fn evidence(
        &self,
        path: &str,
        moved: [u64; 2],
        fetched_is_told: bool,
        plan: &Plan,
    ) -> Option<LabelEvidence> {
        let mut all = Traffic::default();
        self.traffic.iter().for_each(|one| all.add(&one.0));
        let evidence = all.evidence(path, moved, fetched_is_told)?;
        let names = std::iter::once("").chain(plan.directories.iter().map(|one| &*one.name));
        let names = names.filter(|_| !plan.directories.is_empty());
        let of_each = names.zip(&self.traffic).filter_map(|(name, one)| one.in_directory(name));
        Some(LabelEvidence { directories: of_each.collect(), ..evidence })
    }

    /// The traffic in a directory.
    fn traffic_in(&mut self, directory: usize) -> &mut Traffic {
        if self.traffic.len() <= directory {
            self.traffic.resize(directory + 1, Traffic::default());
        }
        &mut self.traffic[directory]
    }

    fn merge(&mut self, other: Label) {
        self.first = self.first.min(other.first);
        for (directory, theirs) in other.traffic.iter().enumerate() {
            self.traffic_in(directory).add(&theirs.0);
        }
        for (op, (first, figures)) in other.ops {
            let (seen, sum) = self.ops.entry(op).or_insert_with(|| (first, Figures::default()));
            *seen = (*seen).min(first);
            sum.merge(&figures);
        }
        for (site, sums) in other.shares {
            self.add_share(site, sums);
        }
        for (site, sums) in other.arrivals {
            self.add_arrivals(site, sums);
        }
        self.busy = std::mem::take(&mut self.busy).merge(other.busy);
        for (mine, theirs) in self.times.iter_mut().zip(other.times) {
            match (mine, theirs) {
                (_, None) => {}
                (Some(mine), Some(theirs)) => mine.merge(theirs),
                (mine, theirs) => *mine = theirs,
            }
        }
    }

    /// `occurrences`: the largest number of them on one rank.
    fn finish(self, path: &str, occurrences: u64, collected: &mut Collected) {
        for times in self.times.into_iter().flatten() {
            let merged = times.finish(path);
            collected.times.extend(merged.rows);
            collected.times_more.extend(merged.more);
        }
        let busy = self.busy.finish(occurrences);
        collected.labels.extend(busy.map(|busy| LabelRow {
            label: path.into(),
            occurrences,
            first_start_ns: busy.hull.0,
            last_end_ns: busy.hull.1,
            busy_ns: busy.busy_ns,
            busy_is_bound: busy.is_bound,
            ..LabelRow::default()
        }));
        let mut ops: Vec<(u8, (First, Figures))> = self.ops.into_iter().collect();
        ops.sort_by_key(|(_, (first, _))| *first);
        for (op, (_, figures)) in ops {
            let busy_ns = busy.map_or_else(|| figures.interval_ns(), |busy| busy.busy_ns);
            if let Some(op) = Op::from_u8(op) {
                figures.rows(path, op, busy_ns, &mut collected.rows);
            }
        }
    }
}

/// The occurrence that a rank did not leave, up to the rank's end.
fn cut_off(label: &LabelRecord, end_ns: u64) -> Option<Interval> {
    let entered_ns = label.entered_ns?;
    Some((entered_ns, end_ns.max(entered_ns)))
}

impl Merge for Partial {
    fn merge(mut self, other: Partial) -> Partial {
        for (id, label) in other.labels {
            match self.labels.entry(id) {
                Entry::Occupied(mut mine) => mine.get_mut().merge(label),
                Entry::Vacant(free) => drop(free.insert(label)),
            }
        }
        places::merge_sites(&mut self.sites, other.sites);
        self.failed.merge(other.failed);
        self.sums.merge(other.sums);
        self
    }
}

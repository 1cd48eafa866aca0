//! Merging: what all ranks must know before each can merge its record, what single ranks measured, what some
//! ranks measured together, and the result of all. Ranks without common memory send what they merged so far to one
//! another, log2(ranks) times one after the other, until rank 0 has it all.

use super::labels::{First, Label};
use super::result::{Collected, Failed, Places, SiteSums, Sums};
use crate::recorder::RankRecord;
use crate::recorder::layout::{MAX_LABELS, MORE_LABEL};
use model::merge::{Merge, merge_all};
use model::plan::{LabelKind, around_parts};
use model::{Plan, merged};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// The labels of some ranks by path; the path "" is that of operations in no label. Past 4,096 paths those
/// that sort first keep their names, the others are `(more)`: so the order of merging does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    labels: BTreeMap<Vec<u8>, Counts>,
    more: Counts,
}

merged! {
    /// Largest number of occurrences on one rank.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    struct Counts {
        /// Executions of `time`.
        wall: u64 => max,
        /// Executions of `ctime`.
        calls: u64 => max,
    }
}

/// Path of a rank's label; "" for none.
fn path(record: &RankRecord, id: u32) -> &[u8] {
    record.labels.get(id as usize).map_or(&[][..], |label| &label.path)
}

impl Outline {
    /// The labels of one rank.
    pub fn of_rank(record: &RankRecord) -> Outline {
        let mut outline = Outline::default();
        for stat in &record.stats {
            outline.add(path(record, stat.label), Counts::default());
        }
        for label in &record.labels {
            let counts = match label.kind {
                LabelKind::Wall => Counts { wall: label.count, calls: 0 },
                LabelKind::Calls => Counts { wall: 0, calls: label.count },
            };
            outline.add(&label.path, counts);
        }
        outline.cut();
        outline
    }

    /// The path under which a rank's label is merged.
    fn path<'p>(&self, record: &'p RankRecord, label: u32) -> &'p [u8] {
        let path = path(record, label);
        if path.is_empty() || self.labels.contains_key(path) { path } else { MORE_LABEL }
    }

    /// The largest number of occurrences of a label on one rank.
    fn max_count(&self, path: &[u8], kind: LabelKind) -> u64 {
        let counts = self.counts(path);
        if kind == LabelKind::Wall { counts.wall } else { counts.calls }
    }

    /// The same for both kinds together.
    fn occurrences(&self, path: &[u8]) -> u64 {
        let counts = self.counts(path);
        counts.wall.saturating_add(counts.calls)
    }

    fn counts(&self, path: &[u8]) -> Counts {
        let own = if path == MORE_LABEL { Some(&self.more) } else { self.labels.get(path) };
        own.copied().unwrap_or_default()
    }

    fn add(&mut self, path: &[u8], counts: Counts) {
        if path == MORE_LABEL {
            self.more.merge_from(counts);
        } else {
            self.labels.entry(path.to_vec()).or_default().merge_from(counts);
        }
    }

    fn cut(&mut self) {
        let max = MAX_LABELS + usize::from(self.labels.contains_key(&[][..]));
        while self.labels.len() > max {
            let beyond = self.labels.pop_last();
            self.more.merge_from(beyond.map(|(_, counts)| counts).unwrap_or_default());
        }
    }
}

impl Merge for Outline {
    fn merge_from(&mut self, other: Outline) {
        self.labels.merge_from(other.labels);
        self.more.merge_from(other.more);
        self.cut();
    }
}

merged! {
    /// Figures of some ranks. Its size depends on the program (labels, operations, sites), not on
    /// the number of ranks and events.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct Partial {
        labels: BTreeMap<Vec<u8>, Label> => sum,
        sites: SiteSums => sum,
        failed: Failed => sum,
        sums: Sums => sum,
    }
}

/// Merges records, which may lack ranks. `plan` gives the places of sites.
pub fn collect(ranks: &[RankRecord], plan: &Plan) -> Collected {
    let outline = merge_all(ranks.iter().map(Outline::of_rank));
    let parts = ranks.iter().map(|record| Partial::of_rank(record, &outline));
    merge_all(parts).finish(&outline, plan)
}

/// [`collect`] for ranks that each have their own record (`None`: it cannot be read); only rank 0 gets the
/// result. All ranks call it.
///
/// # Errors
/// The errors of [`reduce`].
pub fn collect_over(
    record: Option<&RankRecord>,
    plan: &Plan,
    link: &mut dyn Link,
) -> Result<Option<Collected>, String> {
    let outline = reduce(record.map(Outline::of_rank).unwrap_or_default(), link)?;
    let bytes = outline.map_or(Ok(Vec::new()), |outline| to_bytes(&outline))?;
    let outline: Outline = from_bytes(&link.broadcast(bytes)?)?;
    let own = record.map(|record| Partial::of_rank(record, &outline)).unwrap_or_default();
    Ok(reduce(own, link)?.map(|partial| partial.finish(&outline, plan)))
}

impl Partial {
    /// The figures of one rank. `outline`: of all ranks of the run.
    pub fn of_rank(record: &RankRecord, outline: &Outline) -> Partial {
        let sites = record.sites.iter().map(|site| (site.site, [site.count, site.busy_ns]));
        let mut partial = Partial {
            sites: merge_all(sites.map(|site| BTreeMap::from([site]))),
            failed: Failed::of_rank(record),
            ..Partial::default()
        };
        partial.add_figures(record, outline);
        let beyond = partial.add_occurrences(record, outline);
        partial.sums = Sums::of_rank(record, beyond);
        partial
    }

    fn add_figures(&mut self, record: &RankRecord, outline: &Outline) {
        let rank = record.rank;
        let path = |label| outline.path(record, label);
        // `(more)` exists from the start; it appears when something is counted under it.
        let labels = record.labels.iter().enumerate();
        for (id, label) in labels.filter(|(id, label)| *id > 0 || label.count > 0) {
            self.label(path(id as u32), (rank, label.position));
        }
        for stat in &record.stats {
            let first = (rank, stat.position);
            self.label(path(stat.label), first).add_stat(first, stat);
        }
        for traffic in &record.traffic {
            let label = self.label(path(traffic.label), (rank, traffic.position));
            label.add_traffic(traffic.place, &traffic.figures);
        }
        for claimed in &record.claimed {
            let label = self.label(path(claimed.label), (rank, claimed.position));
            label.add_claimed(claimed.place, rank, claimed.figures);
        }
        for arrivals in &record.arrivals {
            let label = self.label(path(arrivals.label), (rank, arrivals.position));
            label.add_arrivals(arrivals.place, arrivals.figures);
        }
        for (order, zeros) in (0..).zip(&record.zeros) {
            self.label(path(zeros.label), (rank, u32::MAX)).add_zeros((rank, order), zeros);
        }
    }

    /// Adds the occurrences of labels; the number of those whose path is one too many.
    fn add_occurrences(&mut self, record: &RankRecord, outline: &Outline) -> u64 {
        let (end_ns, mut beyond) = (record.end_ns(), 0);
        for (id, label) in (0..).zip(&record.labels) {
            // An occurrence that the rank did not leave lasts to its end.
            let cut_off = label.entered_ns.map(|start_ns| [start_ns, end_ns.max(start_ns)]);
            if label.count == 0 && cut_off.is_none() {
                continue;
            }
            let path = outline.path(record, id);
            if path != label.path {
                beyond += label.count;
            }
            let max_count = outline.max_count(path, label.kind);
            let merged = self.label(path, (record.rank, label.position));
            merged.add_occurrences(record.rank, label, cut_off, max_count);
        }
        beyond
    }

    fn label(&mut self, path: &[u8], first: First) -> &mut Label {
        if !self.labels.contains_key(path) {
            self.labels.insert(path.to_vec(), Label::new(first));
        }
        let label = self.labels.get_mut(path).expect("it is there");
        label.first = label.first.min(first);
        label
    }

    /// The result, when all ranks are in it.
    pub fn finish(self, outline: &Outline, plan: &Plan) -> Collected {
        let places = Places::new(plan);
        let mut collected = Collected { sites: places.sites(&self.sites), ..Collected::default() };
        let mut labels: Vec<(Vec<u8>, Label)> = self.labels.into_iter().collect();
        labels.sort_by_key(|(_, label)| label.first);
        let fetched_is_known = self.sums.fetched_is_known();
        let has_parts = plan.labels.iter().any(|label| label.part);
        let moved = has_parts.then(|| moved_at_home(&labels));
        for (path, label) in labels {
            let occurrences = outline.occurrences(&path);
            let path = String::from_utf8_lossy(&path);
            let moved = moved.as_ref().map_or_else(
                || label.moved(),
                |moved| moved.get(&*path).copied().unwrap_or_default(),
            );
            let evidence = label.evidence(&path, moved, fetched_is_known, plan);
            collected.evidence.labels.extend(evidence);
            label.finish(&path, occurrences, &places, &mut collected);
        }
        self.sums.finish(&mut collected);
        self.failed.finish(&places, &mut collected);
        collected
    }
}

/// Bytes written and read by label. Bytes of the parts of loops belong to the label around them, as their
/// traffic does ([`model::plan::PARTS`]).
fn moved_at_home(labels: &[(Vec<u8>, Label)]) -> HashMap<String, [u64; 2]> {
    let mut all: HashMap<String, [u64; 2]> = HashMap::new();
    for (path, label) in labels {
        let path = String::from_utf8_lossy(path);
        let sums = all.entry(around_parts(&path).to_string()).or_default();
        for (sum, more) in sums.iter_mut().zip(label.moved()) {
            *sum = sum.saturating_add(more);
        }
    }
    all
}

/// Messages between the ranks of a run. Errors are sentences; after one nothing more can
/// be sent.
pub trait Link {
    /// This rank.
    fn rank(&self) -> u32;

    /// Number of ranks.
    fn size(&self) -> u32;

    /// Sends bytes to another rank, which receives them.
    fn send(&mut self, to: u32, bytes: &[u8]) -> Result<(), String>;

    /// The next bytes that another rank sends.
    fn receive(&mut self, from: u32) -> Result<Vec<u8>, String>;

    /// Rank 0's bytes on every rank. All ranks call it.
    fn broadcast(&mut self, bytes: Vec<u8>) -> Result<Vec<u8>, String>;
}

/// Merges what all ranks have; only rank 0 gets the result. All ranks call it.
///
/// # Errors
/// The link's, and bytes that cannot be understood.
pub fn reduce<M>(own: M, link: &mut dyn Link) -> Result<Option<M>, String>
where
    M: Merge + Serialize + DeserializeOwned,
{
    let (rank, size) = (link.rank(), link.size());
    let mut merged = own;
    let mut step = 1;
    while step < size {
        if rank % (2 * step) != 0 {
            link.send(rank - step, &to_bytes(&merged)?)?;
            return Ok(None);
        }
        if rank + step < size {
            let theirs: M = from_bytes(&link.receive(rank + step)?)?;
            merged.merge_from(theirs);
        }
        step *= 2;
    }
    Ok(Some(merged))
}

fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
    postcard::to_stdvec(value).map_err(|error| format!("cannot pack what was measured: {error}"))
}

fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let wrong = |error| format!("another rank sent what is no part of a result: {error}");
    postcard::from_bytes(bytes).map_err(wrong)
}

//! Merging: what single ranks measured, what some ranks measured together, and the result of all.

use super::evidence::Sums;
use super::failed::Failed;
use super::labels::{First, Label};
use super::outline::Outline;
use super::reduce::{Link, from_bytes, reduce, to_bytes};
use super::result::{Collected, Places, SiteSums};
use crate::recorder::RankRecord;
use model::Plan;
use model::merge::merge_all;
use model::merged;
use model::plan::around_parts;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

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

//! Merges the records of all ranks into what a [`model::Run`] holds. Definitions:
//! docs/run-format.md. One pass over the ranks, linear in what they recorded.

mod places;
mod rows;
mod times;

use super::{RankRecord, State};
use model::plan::LabelKind;
use model::run::{Evidence, Failure, RankError, Row, Site, TimeRow, TimesMore};
use model::{Op, Plan};
use rows::Figures;
use std::collections::HashMap;
use times::LabelTimes;

/// What the ranks of a run measured, merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collected {
    /// Summary, in order of first appearance on rank 0, then on the others.
    pub rows: Vec<Row>,
    /// Label occurrences over ranks.
    pub times: Vec<TimeRow>,
    /// Occurrences that were not kept one by one.
    pub times_more: Vec<TimesMore>,
    /// Failed operations in full.
    pub failures: Vec<Failure>,
    /// Why ranks did not finish, as they said it themselves.
    pub rank_errors: Vec<RankError>,
    /// Operations by place in the program.
    pub sites: Vec<Site>,
    /// From the start of the run, the zero of all its times, to the latest end that is known.
    pub duration_wall_ns: u64,
    /// The evidence that the records hold; clock, confinement and the rest are the caller's.
    pub evidence: Evidence,
    /// Events that were kept.
    pub events: u64,
    /// Every rank reached the end of the program.
    pub finished: bool,
}

/// A label path over all ranks; the path "" is what stands in no label.
#[derive(Debug, Default)]
struct Label<'a> {
    path: Vec<u8>,
    /// Figures by operation in order of first appearance.
    ops: Vec<(Op, Figures)>,
    /// Occurrences of its `time` and of its `ctime` statements.
    times: [Option<LabelTimes<'a>>; 2],
}

/// Labels by path in order of first appearance.
#[derive(Debug, Default)]
struct Labels<'a> {
    all: Vec<Label<'a>>,
    by_path: HashMap<Vec<u8>, usize>,
    /// Occurrences whose path was one too many.
    beyond: u64,
}

/// Merges records, which may lack ranks. `plan` gives the places of sites.
pub fn collect(ranks: &[RankRecord], plan: &Plan) -> Collected {
    let mut in_order: Vec<&RankRecord> = ranks.iter().collect();
    in_order.sort_by_key(|record| record.rank);
    let mut labels = Labels::default();
    for record in &in_order {
        labels.add_rank(record);
    }
    let mut collected = Collected {
        duration_wall_ns: duration_ns(&in_order),
        events: in_order.iter().map(|record| record.event_count()).sum(),
        finished: in_order.iter().all(|record| record.state == State::Finished),
        failures: places::failures(&in_order, plan),
        rank_errors: places::rank_errors(&in_order, plan),
        sites: places::sites(&in_order, plan),
        ..Collected::default()
    };
    for label in labels.all {
        label.finish(&mut collected);
    }
    collected.evidence = evidence(&in_order, &collected.rows);
    collected.evidence.labels_beyond_limit += labels.beyond;
    collected
}

/// Something of a rank that brings a label into order.
enum Appearance<'a> {
    Label(u32),
    Stat(&'a super::StatRecord),
}

impl<'a> Labels<'a> {
    fn add_rank(&mut self, record: &'a RankRecord) {
        // Ids of this rank to ours, filled on first appearance.
        let mut ids: Vec<Option<usize>> = vec![None; record.labels.len()];
        let mut open = vec![None; record.labels.len()];
        for appearance in appearances(record) {
            match appearance {
                Appearance::Label(id) => {
                    self.id(record, &mut ids, id);
                }
                Appearance::Stat(stat) => {
                    let at = self.id(record, &mut ids, stat.label);
                    self.all[at].figures(stat.op).add_rank(stat);
                    if let Some(seen) = open.get_mut(stat.label as usize) {
                        times::widen(seen, stat.first_ns, stat.last_ns);
                    }
                }
            }
        }
        for ((label, at), open) in record.labels.iter().zip(ids).zip(open) {
            let Some(at) = at.filter(|_| label.count > 0 || open.is_some()) else { continue };
            let slot = usize::from(label.kind == LabelKind::Calls);
            if self.all[at].path != label.path {
                self.beyond = self.beyond.saturating_add(label.count);
            }
            let times = self.all[at].times[slot].get_or_insert_with(LabelTimes::default);
            times.add_rank(record.rank, label, open);
        }
    }

    /// Our number of a rank's label.
    fn id(&mut self, record: &RankRecord, ids: &mut [Option<usize>], id: u32) -> usize {
        if let Some(Some(at)) = ids.get(id as usize) {
            return *at;
        }
        let path = record.labels.get(id as usize).map_or(&[][..], |label| &label.path);
        let at = self.find_or_add(path);
        if let Some(slot) = ids.get_mut(id as usize) {
            *slot = Some(at);
        }
        at
    }

    /// Past the limit all paths are `(more)`, as they are on one rank.
    fn find_or_add(&mut self, path: &[u8]) -> usize {
        use super::layout::{MAX_LABELS, MORE_LABEL};
        if let Some(at) = self.by_path.get(path) {
            return *at;
        }
        let unnumbered = [&[][..], MORE_LABEL];
        let others = unnumbered.iter().filter(|path| self.by_path.contains_key(**path)).count();
        if self.all.len() >= MAX_LABELS + others && !unnumbered.contains(&path) {
            return self.find_or_add(MORE_LABEL);
        }
        self.all.push(Label { path: path.to_vec(), ..Label::default() });
        self.by_path.insert(path.to_vec(), self.all.len() - 1);
        self.all.len() - 1
    }
}

impl Label<'_> {
    fn figures(&mut self, op: Op) -> &mut Figures {
        let at = self.ops.iter().position(|entry| entry.0 == op).unwrap_or_else(|| {
            self.ops.push((op, Figures::default()));
            self.ops.len() - 1
        });
        &mut self.ops[at].1
    }

    fn finish(self, collected: &mut Collected) {
        let path = String::from_utf8_lossy(&self.path).into_owned();
        let mut interval_ns = 0u64;
        let mut timed = false;
        for times in self.times.into_iter().flatten() {
            let merged = times.finish(&path);
            interval_ns = interval_ns.saturating_add(merged.interval_ns);
            // What stands in no label has no occurrences, even beside a label without text.
            timed = !path.is_empty();
            collected.times.extend(merged.rows);
            collected.times_more.extend(merged.more);
        }
        for (op, figures) in self.ops {
            let interval_ns = if timed { interval_ns } else { figures.interval_ns() };
            figures.rows(&path, op, interval_ns, &mut collected.rows);
        }
    }
}

/// Labels and stats of a rank in the order in which they appeared.
fn appearances(record: &RankRecord) -> Vec<Appearance<'_>> {
    let labels = record.labels.iter().enumerate();
    // `(more)` exists from the start; it appears when something is counted under it.
    let labels = labels.filter(|(id, label)| *id > 0 || label.count > 0);
    let labels = labels.map(|(id, label)| (label.position, Appearance::Label(id as u32)));
    let stats = record.stats.iter().map(|stat| (stat.position, Appearance::Stat(stat)));
    let mut all: Vec<_> = labels.chain(stats).collect();
    all.sort_by_key(|entry| entry.0);
    all.into_iter().map(|entry| entry.1).collect()
}

/// A killed rank has told no end; its last operation stands for it.
fn duration_ns(ranks: &[&RankRecord]) -> u64 {
    let ends = ranks.iter().flat_map(|record| {
        let told = record.usage.map(|usage| usage.end_ns);
        told.into_iter().chain(record.stats.iter().map(|stat| stat.last_ns))
    });
    ends.max().unwrap_or(0)
}

fn evidence(ranks: &[&RankRecord], rows: &[Row]) -> Evidence {
    use model::op::Class;
    let sum = |figure: fn(&RankRecord) -> u64| {
        ranks.iter().fold(0u64, |sum, record| sum.saturating_add(figure(record)))
    };
    // Known only if every rank has told it.
    let told = |figure: fn(&super::Usage) -> Option<u64>| {
        let all: Option<Vec<u64>> =
            ranks.iter().map(|record| figure(record.usage.as_ref()?)).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.into_iter().fold(0, u64::saturating_add))
    };
    let bytes = |class: Class| {
        let of_class = |row: &&Row| {
            row.part_of.is_none() && Op::find(&row.op).is_some_and(|op| op.row().class == class)
        };
        rows.iter().filter(of_class).fold(0u64, |sum, row| sum.saturating_add(row.bytes))
    };
    let whole = || rows.iter().filter(|row| row.part_of.is_none());
    let (program_read_bytes, storage_read_bytes) = (bytes(Class::Read), told(|u| u.read_bytes));
    Evidence {
        failed: whole().map(|row| row.failed).sum(),
        short: whole().map(|row| row.short).sum(),
        program_read_bytes,
        program_write_bytes: bytes(Class::Write),
        storage_read_bytes,
        storage_write_bytes: told(|usage| usage.write_bytes),
        page_cache_share: cached_share(program_read_bytes, storage_read_bytes),
        cpu_ns: sum(|record| record.usage.map_or(0, |usage| usage.cpu_ns)),
        dropped_events: sum(|record| record.dropped_events),
        event_overhead_ns: sum(|record| record.event_overhead_ns),
        labels_beyond_limit: sum(|record| record.labels_beyond_limit),
        notes: notes(ranks),
        ..Evidence::default()
    }
}

/// Read-ahead can fetch more than the program reads: nothing came from the cache then.
fn cached_share(program_bytes: u64, storage_bytes: Option<u64>) -> Option<f64> {
    let storage = storage_bytes.filter(|_| program_bytes > 0)? as f64;
    Some((1.0 - storage / program_bytes as f64).max(0.0))
}

fn notes(ranks: &[&RankRecord]) -> Vec<String> {
    let lost: u64 = ranks.iter().fold(0, |sum, record| sum.saturating_add(record.lost));
    let full = (lost > 0).then(|| {
        format!("{lost} figures were lost because the ranks' files could not grow: a disk is full")
    });
    let damaged = ranks
        .iter()
        .filter_map(|record| Some(format!("rank {}: {}", record.rank, record.damage.as_ref()?)));
    full.into_iter().chain(damaged).collect()
}

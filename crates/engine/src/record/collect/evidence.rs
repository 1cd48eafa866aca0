//! Sums over ranks that are no rows: time, processor, storage, what was dropped.

use super::{Collected, cache_control, hints, verified};
use crate::record::{RankRecord, State, Usage};
use model::Op;
use model::op::Class;
use model::run::{Contention, Evidence, LabelEvidence, MpiFileFacts, Row};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Sums over some ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sums {
    /// Ranks in them.
    ranks: u64,
    /// Of those, ranks that reached the end of the program.
    finished: u64,
    end_ns: u64,
    events: u64,
    cpu_ns: u64,
    dropped_events: u64,
    event_overhead_ns: u64,
    labels_beyond_limit: u64,
    lost: u64,
    clock_backward: u64,
    waited: Told,
    /// The longest wait of a rank, and the rank; the lowest of those with the same.
    longest_wait: (u64, Reverse<u32>),
    preemptions: u64,
    faults: [u64; 2],
    storage_read: Told,
    storage_write: Told,
    /// MPI files by rank and order of opening: the first [`MPI_FILES_MAX`].
    mpi_files: BTreeMap<(u32, u32), MpiFileFacts>,
}

/// MPI files that a run tells of.
const MPI_FILES_MAX: usize = 64;

/// A figure that is known only if every rank has told it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    sum: u64,
    /// Ranks that told it.
    ranks: u64,
}

impl Told {
    fn add_rank(&mut self, figure: Option<u64>) {
        self.ranks += u64::from(figure.is_some());
        self.sum = self.sum.saturating_add(figure.unwrap_or(0));
    }

    fn merge(&mut self, other: &Told) {
        self.ranks += other.ranks;
        self.sum = self.sum.saturating_add(other.sum);
    }

    fn by_all(&self, ranks: u64) -> Option<u64> {
        (ranks > 0 && self.ranks == ranks).then_some(self.sum)
    }
}

impl Sums {
    pub(super) fn add_rank(&mut self, record: &RankRecord) {
        let usage = |figure: fn(&Usage) -> u64| record.usage.as_ref().map_or(0, figure);
        // A killed rank has told no end; its last operation stands for it.
        let last_ns = record.stats.iter().map(|stat| stat.figures.last_ns).max().unwrap_or(0);
        let one = Sums {
            ranks: 1,
            finished: u64::from(record.state == State::Finished),
            end_ns: last_ns.max(usage(|usage| usage.end_ns)),
            events: record.event_count(),
            cpu_ns: usage(|usage| usage.cpu_ns),
            dropped_events: record.dropped_events,
            event_overhead_ns: record.event_overhead_ns,
            labels_beyond_limit: record.labels_beyond_limit,
            lost: record.lost,
            clock_backward: record.clock_backward,
            longest_wait: (usage(|usage| usage.waited_ns.unwrap_or(0)), Reverse(record.rank)),
            preemptions: usage(|usage| usage.preemptions),
            faults: [0, 1].map(|kind| record.usage.as_ref().map_or(0, |usage| usage.faults[kind])),
            mpi_files: record
                .mpi_files
                .iter()
                .zip(0..)
                .map(|(file, order)| ((record.rank, order), file.clone()))
                .collect(),
            ..Sums::default()
        };
        self.merge(one);
        self.waited.add_rank(record.usage.and_then(|usage| usage.waited_ns));
        self.storage_read.add_rank(record.usage.and_then(|usage| usage.read_bytes));
        self.storage_write.add_rank(record.usage.and_then(|usage| usage.write_bytes));
    }

    /// Occurrences of a label whose path was one too many.
    pub(super) fn add_label_beyond(&mut self, count: u64) {
        self.labels_beyond_limit = self.labels_beyond_limit.saturating_add(count);
    }

    pub(super) fn merge(&mut self, other: Sums) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.ranks, other.ranks);
        add(&mut self.finished, other.finished);
        self.end_ns = self.end_ns.max(other.end_ns);
        add(&mut self.events, other.events);
        add(&mut self.cpu_ns, other.cpu_ns);
        add(&mut self.dropped_events, other.dropped_events);
        add(&mut self.event_overhead_ns, other.event_overhead_ns);
        add(&mut self.labels_beyond_limit, other.labels_beyond_limit);
        add(&mut self.lost, other.lost);
        add(&mut self.clock_backward, other.clock_backward);
        self.waited.merge(&other.waited);
        self.longest_wait = self.longest_wait.max(other.longest_wait);
        add(&mut self.preemptions, other.preemptions);
        self.faults.iter_mut().zip(other.faults).for_each(|(sum, more)| add(sum, more));
        self.storage_read.merge(&other.storage_read);
        self.storage_write.merge(&other.storage_write);
        self.mpi_files.extend(other.mpi_files);
        while self.mpi_files.len() > MPI_FILES_MAX {
            self.mpi_files.pop_last();
        }
    }

    /// Adds what the sums tell; the rows must be there.
    pub(super) fn finish(self, collected: &mut Collected) {
        collected.duration_wall_ns = self.end_ns;
        collected.events = self.events;
        collected.finished = self.finished == self.ranks;
        let labels = std::mem::take(&mut collected.evidence.labels);
        collected.evidence = self.evidence(&collected.rows, labels);
    }

    /// Every rank has told what it fetched from storage.
    pub(super) fn fetched_is_told(&self) -> bool {
        self.storage_read.by_all(self.ranks).is_some()
    }

    /// How long ranks waited for processors, as far as they know it.
    fn waits(&self) -> Option<Contention> {
        let waited_ns = self.waited.by_all(self.ranks)?;
        let (longest_wait_ns, Reverse(longest_wait_rank)) = self.longest_wait;
        let preemptions = self.preemptions;
        let waited_ns = Some(waited_ns);
        Some(Contention {
            waited_ns,
            longest_wait_rank,
            longest_wait_ns,
            preemptions,
            ..Contention::default()
        })
    }

    fn evidence(self, rows: &[Row], labels: Vec<LabelEvidence>) -> Evidence {
        let whole = || rows.iter().filter(|row| row.part_of.is_none());
        let bytes = |class: Class| {
            let of_class =
                whole().filter(|row| Op::find(&row.op).is_some_and(|op| op.row().class == class));
            of_class.fold(0u64, |sum, row| sum.saturating_add(row.bytes))
        };
        let program_read_bytes = bytes(Class::Read);
        let storage_read_bytes = self.storage_read.by_all(self.ranks);
        let ignored = hints::ignored(self.mpi_files.values());
        let rank_ns = self.end_ns.saturating_mul(self.ranks);
        let verified = verified::sentence(&labels, rank_ns);
        let controls: Vec<String> = cache_control::sentences(&labels).collect();
        Evidence {
            clock_backward: self.clock_backward,
            failed: whole().map(|row| row.failed).sum(),
            short: whole().map(|row| row.short).sum(),
            program_read_bytes,
            program_write_bytes: bytes(Class::Write),
            storage_read_bytes,
            storage_write_bytes: self.storage_write.by_all(self.ranks),
            page_cache_share: cached_share(&labels, storage_read_bytes, self.ranks),
            cached_at_open_share: cached_at_open(&labels),
            labels,
            cpu_ns: self.cpu_ns,
            page_faults: self.faults[0],
            storage_page_faults: self.faults[1],
            contention: self.waits(),
            dropped_events: self.dropped_events,
            event_overhead_ns: self.event_overhead_ns,
            labels_beyond_limit: self.labels_beyond_limit,
            mpi_io: self.mpi_files.into_values().collect(),
            notes: lost(self.lost)
                .into_iter()
                .chain(ignored)
                .chain(verified)
                .chain(controls)
                .collect(),
            ..Evidence::default()
        }
    }
}

/// So much may be fetched by a rank that is none of the data: directories, maps of blocks, pages of
/// the program itself.
const OTHER_BYTES: u64 = 1 << 20;

/// Read-ahead can fetch more than the program reads: nothing came from the cache then. But where
/// all that was fetched may be something else, nobody knows; nor where files have holes or are
/// compressed, because fewer bytes are fetched then than read.
fn cached_share(labels: &[LabelEvidence], storage_bytes: Option<u64>, ranks: u64) -> Option<f64> {
    let sum =
        |bytes: fn(&LabelEvidence) -> u64| labels.iter().map(bytes).fold(0, u64::saturating_add);
    let direct_bytes = sum(|label| label.direct_read_bytes);
    let read_bytes = sum(|label| label.read_bytes).saturating_sub(direct_bytes);
    let is_plain = sum(|label| label.hole_bytes) == 0 && sum(|label| label.encoded_bytes) == 0;
    let storage = storage_bytes.filter(|_| read_bytes > 0 && is_plain)?;
    let storage = storage.saturating_sub(direct_bytes);
    let little = storage <= OTHER_BYTES.saturating_mul(ranks);
    match read_bytes.checked_sub(storage) {
        None | Some(0) if little => None,
        more => Some(more.unwrap_or(0) as f64 / read_bytes as f64),
    }
}

fn cached_at_open(labels: &[LabelEvidence]) -> Option<f64> {
    let sum = |bytes: fn(&LabelEvidence) -> u64| labels.iter().map(bytes).sum::<u64>();
    let looked_bytes = sum(|label| label.looked_bytes);
    (looked_bytes > 0).then(|| sum(|label| label.cached_bytes) as f64 / looked_bytes as f64)
}

fn lost(figures: u64) -> Option<String> {
    (figures > 0).then(|| {
        format!(
            "{figures} figures were lost because the ranks' files could not grow: a disk is full"
        )
    })
}

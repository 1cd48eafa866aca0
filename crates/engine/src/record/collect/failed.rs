//! What went wrong: failed operations, why ranks ended early, damaged records. Lists are
//! bounded; those of the lowest ranks are kept, so the order of merging does not show.

use super::Collected;
use super::places::Places;
use crate::record::layout::MAX_FAILURES_PER_SITE;
use crate::record::{FailureRecord, RankRecord};
use model::plan::Pc;
use model::run::{Failure, RankError};
use model::{Op, errno};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Entries of each list over all ranks.
pub(super) const MAX_KEPT: usize = 4096;

/// What went wrong on some ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Failed {
    operations: Kept<Operation>,
    errors: Kept<(Option<Pc>, String)>,
    damage: Kept<String>,
}

/// The entries that come first by rank, then in the rank's own order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept<T> {
    entries: Vec<(u32, u32, T)>,
    /// Entries that found no place.
    beyond: u64,
}

/// A failed operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Operation {
    site: Pc,
    op: u8,
    path: Vec<u8>,
    offset_bytes: u64,
    errno: u16,
    detail: String,
    occurrences: u64,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { entries: Vec::new(), beyond: 0 }
    }
}

impl<T> Kept<T> {
    fn extend(&mut self, rank: u32, entries: impl Iterator<Item = T>) {
        let entries = entries.zip(0..).map(|(entry, order)| (rank, order, entry));
        self.entries.extend(entries);
        self.cut();
    }

    fn merge(&mut self, other: Kept<T>) {
        self.beyond = self.beyond.saturating_add(other.beyond);
        self.entries.extend(other.entries);
        self.cut();
    }

    fn cut(&mut self) {
        self.entries.sort_by_key(|entry| (entry.0, entry.1));
        let too_many = self.entries.len().saturating_sub(MAX_KEPT);
        self.beyond = self.beyond.saturating_add(too_many as u64);
        self.entries.truncate(MAX_KEPT);
    }

    fn note(&self, what: &str) -> Option<String> {
        (self.beyond > 0).then(|| {
            format!("{} more {what} are counted but not listed: the list is full", self.beyond)
        })
    }
}

impl Failed {
    pub(super) fn add_rank(&mut self, record: &RankRecord) {
        self.operations.extend(record.rank, operations(record));
        self.errors.extend(record.rank, record.errors.iter().cloned());
        self.damage.extend(record.rank, record.damage.iter().cloned());
    }

    pub(super) fn merge(&mut self, other: Failed) {
        self.operations.merge(other.operations);
        self.errors.merge(other.errors);
        self.damage.merge(other.damage);
    }

    pub(super) fn finish(self, places: &Places<'_>, collected: &mut Collected) {
        let damage = self.damage.entries.iter().map(|(rank, _, why)| format!("rank {rank}: {why}"));
        let beyond = [
            self.operations.note("failed operations"),
            self.errors.note("reasons of ranks that did not finish"),
            self.damage.note("damaged records"),
        ];
        collected.evidence.notes.extend(damage.chain(beyond.into_iter().flatten()));
        let failure = |(rank, _, operation): (u32, u32, Operation)| operation.told(rank, places);
        collected.failures = self.operations.entries.into_iter().map(failure).collect();
        let error = |(rank, _, (site, message)): (u32, u32, (Option<Pc>, String))| RankError {
            rank,
            place: site.map_or(String::new(), |site| places.text(site)),
            message,
            ..RankError::default()
        };
        collected.rank_errors = self.errors.entries.into_iter().map(error).collect();
    }
}

/// Failed operations of a rank in order.
fn operations(record: &RankRecord) -> impl Iterator<Item = Operation> {
    let counts: HashMap<Pc, u64> = record.failure_counts.iter().copied().collect();
    let mut seen = HashMap::<Pc, u64>::new();
    record.failures.iter().map(move |failure: &FailureRecord| {
        let kept = seen.entry(failure.site).or_default();
        *kept += 1;
        let is_last_kept = *kept == MAX_FAILURES_PER_SITE;
        let all = counts.get(&failure.site).copied().unwrap_or(1);
        Operation {
            site: failure.site,
            op: failure.op as u8,
            path: failure.path.clone(),
            offset_bytes: failure.offset_bytes,
            errno: failure.errno,
            detail: failure.detail.clone(),
            occurrences: if is_last_kept { all.saturating_sub(*kept - 1).max(1) } else { 1 },
        }
    })
}

impl Operation {
    fn message(&self) -> String {
        let plain = format!("{}: {}", errno::name(self.errno), errno::text(self.errno));
        if self.detail.is_empty() { plain } else { format!("{plain} ({})", self.detail) }
    }

    fn told(self, rank: u32, places: &Places<'_>) -> Failure {
        Failure {
            rank,
            place: places.text(self.site),
            op: Op::from_u8(self.op).map_or("", Op::name).into(),
            path: String::from_utf8_lossy(&self.path).into_owned(),
            offset_bytes: self.offset_bytes,
            errno: self.errno,
            message: self.message(),
            occurrences: self.occurrences,
            ..Failure::default()
        }
    }
}

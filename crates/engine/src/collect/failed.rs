//! Failures: failed operations, why ranks ended early, damaged records. The entries of the lowest ranks
//! are kept.

use super::result::{Collected, Places};
use crate::recorder::layout::MAX_FAILURES_PER_SITE;
use crate::recorder::{FailureRecord, RankRecord};
use model::errno;
use model::merge::Kept;
use model::merged;
use model::plan::Pc;
use model::run::{Failure, RankError};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Entries of each list over all ranks.
const MAX_KEPT: usize = 4096;

merged! {
    /// Failures on some ranks.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub(super) struct Failed {
        operations: Kept<Operation, MAX_KEPT> => sum,
        errors: Kept<(Option<Pc>, String), MAX_KEPT> => sum,
        damage: Kept<String, MAX_KEPT> => sum,
    }
}

/// A failed operation. The last one kept at a place counts for all that were not kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Operation {
    failure: FailureRecord,
    occurrences: u64,
}

impl Failed {
    pub(super) fn of_rank(record: &RankRecord) -> Failed {
        Failed {
            operations: Kept::of_rank(record.rank, operations(record)),
            errors: Kept::of_rank(record.rank, record.errors.iter().cloned()),
            damage: Kept::of_rank(record.rank, record.damage.iter().cloned()),
        }
    }

    pub(super) fn finish(self, places: &Places<'_>, collected: &mut Collected) {
        let beyond = [
            beyond(&self.operations, "failed operations"),
            beyond(&self.errors, "reasons of ranks that did not finish"),
            beyond(&self.damage, "damaged records"),
        ];
        let damage = self.damage.into_entries().map(|(rank, why)| format!("rank {rank}: {why}"));
        collected.evidence.notes.extend(damage.chain(beyond.into_iter().flatten()));
        let failures = self.operations.into_entries();
        collected.failures = failures.map(|(rank, one)| one.failure(rank, places)).collect();
        let errors = self.errors.into_entries().map(|(rank, (site, message))| RankError {
            rank,
            place: site.map_or(String::new(), |site| places.text(site)),
            message,
            ..RankError::default()
        });
        collected.rank_errors = errors.collect();
    }
}

fn beyond<T>(kept: &Kept<T, MAX_KEPT>, what: &str) -> Option<String> {
    let beyond = kept.beyond;
    (beyond > 0)
        .then(|| format!("{beyond} more {what} are counted but not listed: the list is full"))
}

/// Failed operations of a rank in order.
fn operations(record: &RankRecord) -> impl Iterator<Item = Operation> {
    let counts: HashMap<Pc, u64> = record.failure_counts.iter().copied().collect();
    let mut seen = HashMap::<Pc, u64>::new();
    record.failures.iter().map(move |failure| {
        let kept = seen.entry(failure.site).or_default();
        *kept += 1;
        let is_last_kept = *kept == MAX_FAILURES_PER_SITE;
        let all = counts.get(&failure.site).copied().unwrap_or(1);
        let occurrences = if is_last_kept { all.saturating_sub(*kept - 1).max(1) } else { 1 };
        Operation { failure: failure.clone(), occurrences }
    })
}

impl Operation {
    fn failure(self, rank: u32, places: &Places<'_>) -> Failure {
        let FailureRecord { site, op, path, offset_bytes, errno, detail } = self.failure;
        let plain = format!("{}: {}", errno::name(errno), errno::text(errno));
        Failure {
            rank,
            place: places.text(site),
            op: op.name().into(),
            path: String::from_utf8_lossy(&path).into_owned(),
            offset_bytes,
            errno,
            message: if detail.is_empty() { plain } else { format!("{plain} ({detail})") },
            occurrences: self.occurrences,
            ..Failure::default()
        }
    }
}

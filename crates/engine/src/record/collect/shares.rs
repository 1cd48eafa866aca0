//! Work that was shared, over some ranks.

use super::places::Places;
use crate::record::ShareRecord;
use model::run::{ShareRow, Sharer};
use serde::{Deserialize, Serialize};

/// Ranks whose parts are kept one by one.
const SHARERS: usize = 64;
const MILLI: f64 = 1e3;

/// What some ranks had of one `share`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ShareSums {
    ranks: u32,
    executions: u64,
    indices: u64,
    claims: u64,
    operations: u64,
    bytes: u64,
    whole_ns: u64,
    steady_ns: u64,
    steady_milli_indices: u64,
    steady_milli_operations: u64,
    steady_bytes: u64,
    idle_ns: u64,
    fewest: Sharer,
    most: Sharer,
    /// In order of ranks, the first [`SHARERS`].
    sharers: Vec<Sharer>,
}

impl ShareSums {
    /// What one rank had.
    pub(super) fn of(rank: u32, record: &ShareRecord) -> ShareSums {
        let own = record.figures;
        let sharer = Sharer { rank, indices: own.indices, idle_ns: own.idle_ns };
        ShareSums {
            ranks: 1,
            executions: own.executions,
            indices: own.indices,
            claims: own.claims,
            operations: own.operations,
            bytes: own.bytes,
            whole_ns: own.whole_ns,
            steady_ns: own.steady_ns,
            steady_milli_indices: own.steady_milli_indices,
            steady_milli_operations: own.steady_milli_operations,
            steady_bytes: own.steady_bytes,
            idle_ns: own.idle_ns,
            fewest: sharer,
            most: sharer,
            sharers: vec![sharer],
        }
    }

    /// Adds what other ranks had. Groups that share apart from each other do so at the same time: the
    /// longest counts.
    pub(super) fn merge(&mut self, other: ShareSums) {
        self.ranks += other.ranks;
        self.executions = self.executions.max(other.executions);
        self.whole_ns = self.whole_ns.max(other.whole_ns);
        self.steady_ns = self.steady_ns.max(other.steady_ns);
        for (sum, more) in [
            (&mut self.indices, other.indices),
            (&mut self.claims, other.claims),
            (&mut self.operations, other.operations),
            (&mut self.bytes, other.bytes),
            (&mut self.steady_milli_indices, other.steady_milli_indices),
            (&mut self.steady_milli_operations, other.steady_milli_operations),
            (&mut self.steady_bytes, other.steady_bytes),
            (&mut self.idle_ns, other.idle_ns),
        ] {
            *sum = sum.saturating_add(more);
        }
        // Of two ranks with as much the lower one counts, so that the order of merging does not matter.
        if (other.fewest.indices, other.fewest.rank) < (self.fewest.indices, self.fewest.rank) {
            self.fewest = other.fewest;
        }
        let most = |sharer: &Sharer| (sharer.indices, u32::MAX - sharer.rank);
        if most(&other.most) > most(&self.most) {
            self.most = other.most;
        }
        self.sharers.extend(other.sharers);
        self.sharers.sort_unstable_by_key(|sharer| sharer.rank);
        self.sharers.truncate(SHARERS);
    }

    pub(super) fn row(self, label: &str, site: u32, places: &Places<'_>) -> ShareRow {
        ShareRow {
            label: label.into(),
            cell: 0,
            repetition: 0,
            place: places.text(site),
            ranks: self.ranks,
            executions: self.executions,
            indices: self.indices,
            claims: self.claims,
            operations: self.operations,
            bytes: self.bytes,
            whole_ns: self.whole_ns,
            steady_ns: self.steady_ns,
            steady_indices: self.steady_milli_indices as f64 / MILLI,
            steady_operations: self.steady_milli_operations as f64 / MILLI,
            steady_bytes: self.steady_bytes,
            idle_ns: self.idle_ns,
            fewest: self.fewest,
            most: self.most,
            sharers: self.sharers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Shared;

    fn sums(rank: u32, indices: u64) -> ShareSums {
        let figures =
            Shared { executions: 1, indices, whole_ns: 100 + u64::from(rank), ..Shared::default() };
        ShareSums::of(rank, &ShareRecord { label: 0, site: 0, position: 0, figures })
    }

    #[test]
    fn ranks_merge_in_any_order() {
        let parts = || (0..100).map(|rank| sums(rank, u64::from(rank % 7)));
        let merged = |mut all: Vec<ShareSums>| {
            let mut sum = all.pop().unwrap();
            all.into_iter().for_each(|part| sum.merge(part));
            sum
        };
        let forward = merged(parts().collect());
        assert_eq!(forward, merged(parts().rev().collect()));
        assert_eq!((forward.fewest.rank, forward.most.rank), (0, 6));
        assert_eq!((forward.ranks, forward.sharers.len()), (100, SHARERS));
        assert_eq!((forward.executions, forward.whole_ns), (1, 199));
    }
}

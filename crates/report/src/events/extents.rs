//! Pieces of files that events refer to: `run.events.extents`.

use model::run::EventExtents;
use std::collections::HashMap;

/// Entries of the table at most; operations beyond that have none.
const MAX_ENTRIES: usize = 1 << 16;
/// Runs of all entries at most; beyond that entries are cut.
const MAX_RUNS: usize = 1 << 18;

/// Different extents of all ranks, each once.
#[derive(Debug, Default)]
pub(super) struct ExtentTable {
    ids: HashMap<EventExtents, i32>,
    runs: usize,
    pub list: Vec<EventExtents>,
}

impl ExtentTable {
    /// The number of these extents; -1 where the table is full.
    pub fn id(&mut self, extents: &EventExtents) -> i32 {
        if let Some(id) = self.ids.get(extents) {
            return *id;
        }
        if self.list.len() == MAX_ENTRIES || self.runs == MAX_RUNS {
            return -1;
        }
        let id = self.list.len() as i32;
        let mut kept = extents.clone();
        kept.runs.truncate(MAX_RUNS - self.runs);
        self.runs += kept.runs.len();
        self.list.push(kept);
        self.ids.insert(extents.clone(), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::pattern::Run;

    #[test]
    fn equal_extents_are_kept_once_and_a_full_table_says_so() {
        let mut table = ExtentTable::default();
        let extents = |first: u64, runs: usize| EventExtents {
            pieces: runs as u64,
            runs: vec![Run::single(first, 8); runs],
        };
        assert_eq!([0, 1, 0].map(|first| table.id(&extents(first, 3))), [0, 1, 0]);
        assert_eq!(table.id(&extents(9, MAX_RUNS)), 2);
        assert!(table.list[1].is_whole() && !table.list[2].is_whole());
        assert_eq!(table.id(&extents(2, 1)), -1);
        assert_eq!(table.list.len(), 3);
    }
}

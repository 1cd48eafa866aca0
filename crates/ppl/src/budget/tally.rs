//! Counts of operations.

use model::Op;
use model::plan::OpBudget;

/// What one rank does, by operation.
pub(super) struct Tally {
    ops: [OpBudget; Op::COUNT],
    /// Largest buffer, bytes.
    pub(super) buffer_bytes: u64,
    /// What is counted is all there is.
    pub(super) exact: bool,
    /// So are the figures about files.
    pub(super) files_exact: bool,
}

impl Default for Tally {
    fn default() -> Tally {
        let none = OpBudget { count: 0, bytes: 0, exact: true };
        Tally { ops: [none; Op::COUNT], buffer_bytes: 0, exact: true, files_exact: true }
    }
}

impl Tally {
    pub(super) fn count(&mut self, op: Op, count: u64) {
        let entry = &mut self.ops[op as usize];
        entry.count = entry.count.saturating_add(count);
    }

    /// So many bytes in all; `None`: not known.
    pub(super) fn bytes(&mut self, op: Op, bytes: Option<u64>) {
        let entry = &mut self.ops[op as usize];
        match bytes {
            Some(bytes) => entry.bytes = entry.bytes.saturating_add(bytes),
            None => {
                entry.exact = false;
                self.files_exact = false;
            }
        }
    }

    /// The operations that occur. Where code may or may not run, no count is exact.
    pub(super) fn ops(&self) -> Vec<(Op, OpBudget)> {
        let rows = model::op::OPS.iter().zip(&self.ops).filter(|(_, entry)| entry.count > 0);
        let exact = |entry: &OpBudget| OpBudget { exact: entry.exact && self.exact, ..*entry };
        rows.map(|(row, entry)| (row.op, exact(entry))).collect()
    }
}

//! The budget of a plan as figures to show: per rank and in all.

use model::op::{Class, Op};
use model::plan::{Budget, OpBudget};
use std::ops::Range;

/// What some ranks do, each or together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// By operation, only those that occur.
    pub ops: Vec<(Op, OpBudget)>,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Files made.
    pub files: u64,
    /// Directories made.
    pub directories: u64,
    /// Largest total size of files at any time, bytes.
    pub footprint_bytes: u64,
    /// Largest number of files and directories at any time.
    pub footprint_files: u64,
    /// Largest buffers, bytes.
    pub buffer_bytes: u64,
    /// Most handles open at one time.
    pub handles: u64,
    /// All figures are exact; otherwise they are what is known at least.
    pub exact: bool,
}

impl Figures {
    /// Those of one rank.
    pub fn of(budget: &Budget) -> Figures {
        let mut figures = Figures { exact: true, ..Figures::default() };
        figures.add(budget, 1);
        figures
    }

    /// Those of all ranks.
    pub fn of_all(budget: &[(Range<u32>, Budget)]) -> Figures {
        let mut figures = Figures { exact: true, ..Figures::default() };
        for (ranks, one) in budget {
            figures.add(one, u64::from(ranks.end.saturating_sub(ranks.start)));
        }
        figures
    }

    fn add(&mut self, budget: &Budget, ranks: u64) {
        for (op, each) in &budget.ops {
            self.add_op(*op, each, ranks);
        }
        let add = |sum: &mut u64, each: u64| *sum = sum.saturating_add(each.saturating_mul(ranks));
        add(&mut self.files, budget.files);
        add(&mut self.directories, budget.directories);
        add(&mut self.footprint_bytes, budget.footprint_bytes);
        add(&mut self.footprint_files, budget.footprint_files);
        add(&mut self.buffer_bytes, budget.buffer_bytes);
        add(&mut self.handles, budget.handles);
        self.exact &= budget.exact;
    }

    fn add_op(&mut self, op: Op, each: &OpBudget, ranks: u64) {
        let bytes = each.bytes.saturating_mul(ranks);
        match op.row().class {
            Class::Read => self.read_bytes = self.read_bytes.saturating_add(bytes),
            Class::Write => self.written_bytes = self.written_bytes.saturating_add(bytes),
            _ => {}
        }
        let at = self.ops.binary_search_by_key(&op, |entry| entry.0).unwrap_or_else(|at| {
            self.ops.insert(at, (op, OpBudget { exact: true, ..OpBudget::default() }));
            at
        });
        let sum = &mut self.ops[at].1;
        sum.count = sum.count.saturating_add(each.count.saturating_mul(ranks));
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.exact &= each.exact;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(op: Op, count: u64, bytes: u64) -> Budget {
        let ops = vec![(op, OpBudget { count, bytes, exact: true })];
        Budget { ops, files: 1, exact: true, ..Budget::default() }
    }

    #[test]
    fn figures_add_up_over_ranks() {
        let all = [(0..3, budget(Op::Write, 2, 10)), (3..5, budget(Op::Read, 1, 7))];
        let figures = Figures::of_all(&all);
        assert_eq!((figures.written_bytes, figures.read_bytes, figures.files), (30, 14, 5));
        let counts: Vec<(Op, u64)> = figures.ops.iter().map(|(op, sum)| (*op, sum.count)).collect();
        assert_eq!(counts, [(Op::Write, 6), (Op::Read, 2)]);
        assert!(figures.exact);
    }
}

//! What a rehearsal has found as figures to show: per rank and in all.

use model::op::{Class, Op};
use model::rehearsal::{OpFigures, Peak, RankFigures, Rehearsal};

/// What some ranks do, each or together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// By operation, only those that occur.
    pub ops: Vec<(Op, OpFigures)>,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Files made.
    pub files: u64,
    /// Directories made.
    pub directories: u64,
    /// Files at the fullest, in the run directory and in the further ones of the plan.
    pub footprints: Vec<Peak>,
    /// These are exact.
    pub footprint_exact: bool,
    /// Largest buffers, bytes.
    pub buffer_bytes: u64,
    /// Most handles open at one time.
    pub handles: u64,
    /// All figures are exact; otherwise they are about so many.
    pub exact: bool,
}

impl Figures {
    /// Those of one rank.
    pub fn of(rank: &RankFigures, rehearsal: &Rehearsal) -> Figures {
        let mut figures = Figures { exact: rehearsal.is_exact(), ..Figures::default() };
        figures.add(rank, 1);
        figures.footprints.clone_from(&rank.peaks);
        figures.footprint_exact = figures.exact;
        figures
    }

    /// The sum over directories: no less than what lies in all of them at any time.
    pub fn footprint(&self) -> Peak {
        Peak::all(&self.footprints)
    }

    /// Those of all ranks together.
    pub fn of_all(rehearsal: &Rehearsal) -> Figures {
        let mut figures = Figures { exact: rehearsal.is_exact(), ..Figures::default() };
        for (ranks, one) in &rehearsal.ranks {
            figures.add(one, u64::from(ranks.end.saturating_sub(ranks.start)));
        }
        figures.footprints.clone_from(&rehearsal.peaks);
        figures.footprint_exact = figures.exact && !rehearsal.peak_about;
        figures
    }

    fn add(&mut self, rank: &RankFigures, ranks: u64) {
        for (op, each) in &rank.ops {
            self.add_op(*op, each, ranks);
        }
        let add = |sum: &mut u64, each: u64| *sum = sum.saturating_add(each.saturating_mul(ranks));
        add(&mut self.files, rank.files);
        add(&mut self.directories, rank.directories);
        add(&mut self.buffer_bytes, rank.buffer_bytes);
        add(&mut self.handles, rank.handles);
    }

    fn add_op(&mut self, op: Op, each: &OpFigures, ranks: u64) {
        let bytes = each.bytes.saturating_mul(ranks);
        match op.row().class {
            Class::Read => self.read_bytes = self.read_bytes.saturating_add(bytes),
            Class::Write => self.written_bytes = self.written_bytes.saturating_add(bytes),
            _ => {}
        }
        let at = self.ops.binary_search_by_key(&op, |entry| entry.0).unwrap_or_else(|at| {
            self.ops.insert(at, (op, OpFigures::default()));
            at
        });
        let sum = &mut self.ops[at].1;
        sum.count = sum.count.saturating_add(each.count.saturating_mul(ranks));
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.about |= each.about;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(op: Op, count: u64, bytes: u64) -> RankFigures {
        let ops = vec![(op, OpFigures { count, bytes, about: false })];
        RankFigures { ops, files: 1, ..RankFigures::default() }
    }

    #[test]
    fn figures_add_up_over_ranks() {
        let ranks = vec![(0..3, rank(Op::Write, 2, 10)), (3..5, rank(Op::Read, 1, 7))];
        let peaks = vec![Peak { bytes: 9, files: 1 }];
        let rehearsal = Rehearsal { ranks, peaks, complete: true, ..Rehearsal::default() };
        let figures = Figures::of_all(&rehearsal);
        assert_eq!((figures.written_bytes, figures.read_bytes, figures.files), (30, 14, 5));
        let counts: Vec<(Op, u64)> = figures.ops.iter().map(|(op, sum)| (*op, sum.count)).collect();
        assert_eq!(counts, [(Op::Write, 6), (Op::Read, 2)]);
        assert_eq!((figures.footprint().bytes, figures.exact), (9, true));
    }
}

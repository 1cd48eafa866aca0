//! The numbers of a rehearsal as rows that can be added, subtracted and multiplied.
//!
//! ```text
//! write: calls bytes | read: calls bytes | files directories handles | run directory: bytes names | all: bytes names
//! ```

use model::plan::Instr;
use model::rehearsal::Peak;
use model::{Op, Plan};
use std::ops::Range;

/// Numbers in the order of a [`Layout`].
pub(super) type Row = Vec<i64>;

/// The place of each number in a row.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Operations of the plan, in order of [`Op`].
    pub(super) ops: Vec<Op>,
    /// By operation: its index in `ops`.
    places: Vec<usize>,
    /// The run directory and the further ones.
    pub(super) directories: usize,
}

impl Layout {
    pub(super) fn new(plan: &Plan) -> Layout {
        let op = |instr: &Instr| if let Instr::Op { op, .. } = instr { Some(*op) } else { None };
        let mut ops: Vec<Op> = plan.code.iter().filter_map(op).collect();
        ops.sort_unstable();
        ops.dedup();
        let mut places = vec![0; Op::COUNT];
        ops.iter().zip(0..).for_each(|(op, place)| places[*op as usize] = place);
        Layout { ops, places, directories: 1 + plan.directories.len() }
    }

    /// Executions of an operation; its bytes come behind.
    pub(super) fn op(&self, op: Op) -> usize {
        2 * self.places[op as usize]
    }

    /// Files made.
    pub(super) fn files(&self) -> usize {
        2 * self.ops.len()
    }

    /// Directories made.
    pub(super) fn folders(&self) -> usize {
        self.files() + 1
    }

    /// Handles that are open.
    pub(super) fn handles(&self) -> usize {
        self.files() + 2
    }

    /// Bytes and names by directory, and last in all of them together.
    pub(super) fn footprint(&self) -> Range<usize> {
        let start = self.files() + 3;
        start..start + 2 * (self.directories + 1)
    }

    pub(super) fn width(&self) -> usize {
        self.footprint().end
    }
}

/// A footprint and its spread as figures, one for each directory and one for all of them.
pub(super) fn peaks(footprint: &[i64], spread: &[f64]) -> Vec<Peak> {
    let positive = |number: i64| number.max(0) as u64;
    let spread = |at: usize| spread.get(at).map_or(0, |spread| spread.ceil() as u64);
    let peak = |at: usize| Peak {
        bytes: positive(footprint[at]),
        files: positive(footprint[at + 1]),
        spread_bytes: spread(at),
        spread_files: spread(at + 1),
    };
    (0..footprint.len()).step_by(2).map(peak).collect()
}

/// Adds a multiple of the differences between a row and an earlier one.
pub(super) fn add_scaled(to: &mut [i64], difference: &[i64], factor: i64) {
    for (to, difference) in to.iter_mut().zip(difference) {
        *to = to.saturating_add(difference.saturating_mul(factor));
    }
}

pub(super) fn subtract(now: &[i64], before: &[i64]) -> Row {
    now.iter().zip(before).map(|(now, before)| now.saturating_sub(*before)).collect()
}

/// Becomes the larger one at each place.
pub(super) fn raise(peak: &mut [i64], now: impl Iterator<Item = i64>) {
    peak.iter_mut().zip(now).for_each(|(peak, now)| *peak = (*peak).max(now));
}

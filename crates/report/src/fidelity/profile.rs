//! Times of one execution: in all, by phase, over time, and by operation.
//!
//! Fed operation by operation, rank after rank; its size does not grow with the operations.

use super::stream::Step;
use crate::stats::union_of;
use model::Op;
use model::histogram::Histogram;
use model::op::Class;
use std::collections::BTreeMap;

/// All of an execution, or a phase of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub operations: u64,
    pub bytes: u64,
    /// Sum of the operations' own times.
    pub io_ns: u64,
    /// Sum over ranks of the time between two operations.
    pub think_ns: u64,
    /// When at least one rank was inside.
    pub times: Intervals,
    /// Times by operation, whatever came of them.
    pub ops: BTreeMap<u8, Histogram>,
}

impl Scope {
    fn add(&mut self, step: &Step) {
        self.operations += 1;
        self.bytes += step.done;
        self.io_ns += step.busy_ns;
        self.ops.entry(step.op).or_default().record(step.busy_ns);
    }
}

/// Times of an execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profile {
    pub all: Scope,
    /// By label.
    pub phases: BTreeMap<u32, Scope>,
    /// Nanoseconds spent in operations.
    pub busy: Bins,
    /// Bytes read, bytes written.
    pub moved: [Bins; 2],
    /// The log of the execution lacks durations of some or all calls.
    pub lacks_durations: bool,
    rank: Option<Rank>,
}

/// Where the rank is that is being added.
#[derive(Clone, Copy, Debug)]
struct Rank {
    first_ns: u64,
    last_ns: u64,
    phase: u32,
    phase_ns: u64,
}

impl Profile {
    /// Adds an operation to a phase.
    pub fn add(&mut self, step: &Step, phase: u32) {
        let scope = self.phases.entry(phase).or_default();
        scope.add(step);
        self.all.add(step);
        let think_ns = match &mut self.rank {
            None => {
                let (first_ns, last_ns) = (step.start_ns, step.end_ns);
                self.rank = Some(Rank { first_ns, last_ns, phase, phase_ns: first_ns });
                0
            }
            Some(rank) => {
                let think_ns = step.start_ns.saturating_sub(rank.last_ns);
                if rank.phase == phase {
                    scope.think_ns += think_ns;
                } else {
                    let left = self.phases.entry(rank.phase).or_default();
                    left.times.add(rank.phase_ns, rank.last_ns);
                    (rank.phase, rank.phase_ns) = (phase, step.start_ns);
                }
                rank.last_ns = rank.last_ns.max(step.end_ns);
                think_ns
            }
        };
        self.all.think_ns += think_ns;
        let (start, end) = (step.start_ns, step.end_ns);
        self.busy.add(start, end, step.busy_ns as f64);
        let at = match Op::from_u8(step.op).map(|op| op.row().class) {
            Some(Class::Read) => 0,
            Some(Class::Write) => 1,
            _ => return,
        };
        self.moved[at].add(start, end, step.done as f64);
    }

    /// The rank is complete: the next operation belongs to another one.
    pub fn rank_over(&mut self) {
        let Some(rank) = self.rank.take() else { return };
        self.phases.entry(rank.phase).or_default().times.add(rank.phase_ns, rank.last_ns);
        self.all.times.add(rank.first_ns, rank.last_ns);
    }

    /// Leaves out operations whose duration the log lacks: their events have 0.
    pub fn forget_unknown(&mut self) {
        self.lacks_durations = true;
        for scope in self.phases.values_mut().chain([&mut self.all]) {
            scope.ops.retain(|_, times| times.min > 0);
        }
    }

    /// First start and last end of all operations.
    pub fn span(&self) -> (u64, u64) {
        self.all.times.span()
    }

    /// From the first start to the last end.
    pub fn elapsed_ns(&self) -> u64 {
        let (start, end) = self.span();
        end - start
    }
}

/// Columns at most.
const BINS: usize = 2048;

/// Amounts by time from 0 on.
#[derive(Clone, Debug)]
pub(crate) struct Bins {
    width_ns: u64,
    amounts: Vec<f64>,
}

impl Default for Bins {
    fn default() -> Bins {
        Bins { width_ns: 1, amounts: Vec::new() }
    }
}

impl Bins {
    /// Spreads an amount evenly from `start` to `end`.
    pub fn add(&mut self, start: u64, end: u64, amount: f64) {
        while end / self.width_ns >= BINS as u64 {
            self.widen();
        }
        let (first, last) = ((start / self.width_ns) as usize, (end / self.width_ns) as usize);
        if last >= self.amounts.len() {
            self.amounts.resize(last + 1, 0.0);
        }
        if first == last {
            self.amounts[first] += amount;
            return;
        }
        for at in first..=last {
            let (low, high) = (at as u64 * self.width_ns, (at as u64 + 1) * self.width_ns);
            let inside = end.min(high) - start.max(low);
            self.amounts[at] += amount * inside as f64 / (end - start) as f64;
        }
    }

    /// All amounts.
    pub fn total(&self) -> f64 {
        self.amounts.iter().sum()
    }

    fn widen(&mut self) {
        self.width_ns *= 2;
        self.amounts = self.amounts.chunks(2).map(|pair| pair.iter().sum()).collect();
    }

    /// Amounts per nanosecond in equal columns from `start` to `end`.
    pub fn rates(&self, start: u64, end: u64, columns: usize) -> Vec<f64> {
        let width = (end - start) as f64 / columns as f64;
        let edge = |at: usize| start as f64 + at as f64 * width;
        let rate = |at: usize| match width > 0.0 {
            true => (self.until(edge(at + 1)) - self.until(edge(at))) / width,
            false => 0.0,
        };
        (0..columns).map(rate).collect()
    }

    /// All up to a time.
    fn until(&self, ns: f64) -> f64 {
        let at = ns / self.width_ns as f64;
        let whole = (at as usize).min(self.amounts.len());
        let part = self.amounts.get(whole).map_or(0.0, |amount| amount * (at - whole as f64));
        self.amounts[..whole].iter().sum::<f64>() + part
    }
}

/// Intervals of ranks, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intervals(Vec<(u64, u64)>);

impl Intervals {
    /// Adds an interval.
    pub fn add(&mut self, start: u64, end: u64) {
        self.0.push((start, end.max(start)));
    }

    /// Their union, sorted and disjoint.
    pub fn all(&self) -> Vec<(u64, u64)> {
        union_of(self.0.clone(), 0)
    }

    /// Length of the union.
    pub fn length(&self) -> u64 {
        self.all().iter().map(|(start, end)| end - start).sum()
    }

    /// First start and last end; 0 without any.
    pub fn span(&self) -> (u64, u64) {
        let (first, last) =
            (self.0.iter().map(|one| one.0).min(), self.0.iter().map(|one| one.1).max());
        (first.unwrap_or(0), last.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_kept_however_wide_columns_become() {
        let mut bins = Bins::default();
        bins.add(0, 4_000, 40.0);
        assert!(bins.rates(0, 4_000, 4).iter().all(|rate| (rate - 0.01).abs() < 1e-9));
        bins.add(10_000_000_000, 10_000_000_000, 2.0);
        assert!(bins.amounts.len() <= BINS);
        assert!((bins.until(1e11) - 42.0).abs() < 1e-9);
        assert_eq!(bins.rates(5, 5, 2), [0.0; 2]);
    }

    #[test]
    fn unions_have_their_length() {
        let mut times = Intervals::default();
        for (start, end) in [(10, 20), (5, 12), (30, 40), (40, 41), (33, 35)] {
            times.add(start, end);
        }
        assert_eq!(times.all(), [(5, 20), (30, 41)]);
        assert_eq!((times.length(), times.span()), (26, (5, 41)));
        assert_eq!(Intervals::default().length(), 0);
    }
}

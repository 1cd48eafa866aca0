//! What one execution took: in all, by phase, over time, and by operation.
//!
//! Fed operation by operation, rank after rank; its size does not grow with the operations.

use super::bins::Bins;
use super::intervals::Intervals;
use super::stream::Step;
use model::Op;
use model::histogram::Histogram;
use model::op::Class;
use std::collections::BTreeMap;

/// All of an execution, or a phase of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
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

/// What an execution took.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    pub all: Scope,
    /// By label.
    pub phases: BTreeMap<u32, Scope>,
    /// Nanoseconds spent in operations.
    pub busy: Bins,
    /// Bytes read, bytes written.
    pub moved: [Bins; 2],
    /// The log of the execution does not tell how long some or all calls took.
    pub is_untold: bool,
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

    /// The rank is over: the next operation is of another one.
    pub fn rank_over(&mut self) {
        let Some(rank) = self.rank.take() else { return };
        self.phases.entry(rank.phase).or_default().times.add(rank.phase_ns, rank.last_ns);
        self.all.times.add(rank.first_ns, rank.last_ns);
    }

    /// Leaves out the times of operations of which the log does not tell how long they took: they
    /// stand in its events as 0.
    pub fn forget_untold(&mut self) {
        self.is_untold = true;
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

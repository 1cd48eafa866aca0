//! How far the ranks of a run are, for somebody who looks at it.

use serde::{Deserialize, Serialize};

/// What a supervisor tells whoever started the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The ranks are set up and wait for SIGUSR1; nothing is executed yet.
    Held,
    /// The run goes on.
    Alive,
    /// So far it is.
    At(Sample),
}

/// How far the ranks are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When it was taken, nanoseconds since the start.
    pub at_ns: u64,
    /// What all ranks have done.
    pub all: Standing,
    /// Ranks that have not ended.
    pub running: u32,
    /// Ranks that wait for others.
    pub waiting: u32,
    /// What those of each machine have done: its number, and the sums. Empty without MPI.
    pub nodes: Vec<(u32, Standing)>,
    /// Machines that have told nothing yet: `all` is without them.
    pub silent: u32,
}

/// What some ranks have done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// When it was, nanoseconds since the start; of several the latest. 0: as the sample says.
    pub at_ns: u64,
    /// Operations.
    pub operations: u64,
    /// Bytes that they have moved, if that is known.
    pub bytes: Option<u64>,
    /// The label in which most ranks are, and how many of them are in it.
    pub label: Option<(String, u32)>,
    /// The one that is furthest behind of those that have not ended.
    pub slowest: Option<Slowest>,
}

/// A rank, and how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slowest {
    /// World rank.
    pub rank: u32,
    /// Operations done.
    pub done: u64,
    /// Operations that it executes; 0: unknown.
    pub all: u64,
}

impl Slowest {
    /// What decides: the share of its operations, or their number.
    fn share(&self) -> f64 {
        self.done as f64 / self.all.max(1) as f64
    }

    /// Whichever of two is further behind; of equals the first.
    pub fn of(one: Option<Slowest>, other: Option<Slowest>) -> Option<Slowest> {
        match (one, other) {
            (Some(one), Some(other)) if other.share() < one.share() => Some(other),
            (one, other) => one.or(other),
        }
    }
}

impl Standing {
    /// Both together; the label is that of more ranks.
    pub fn and(self, other: &Standing) -> Standing {
        let label = match (self.label, &other.label) {
            (Some((one, ranks)), Some((other, more))) if one == *other => Some((one, ranks + more)),
            (Some(one), Some(other)) if other.1 > one.1 => Some(other.clone()),
            (one, other) => one.or_else(|| other.clone()),
        };
        Standing {
            at_ns: self.at_ns.max(other.at_ns),
            operations: self.operations.saturating_add(other.operations),
            bytes: self.bytes.zip(other.bytes).map(|(one, other)| one.saturating_add(other)),
            label,
            slowest: Slowest::of(self.slowest, other.slowest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standings_add_up() {
        let of = |label: &str, ranks, rank, done| Standing {
            at_ns: u64::from(rank),
            operations: 10,
            bytes: Some(100),
            label: Some((label.into(), ranks)),
            slowest: Some(Slowest { rank, done, all: 20 }),
        };
        let sum = of("write", 2, 0, 4).and(&of("write", 3, 7, 3));
        assert_eq!((sum.at_ns, sum.operations, sum.bytes), (7, 20, Some(200)));
        assert_eq!(sum.label, Some(("write".into(), 5)));
        assert_eq!(sum.slowest, Some(Slowest { rank: 7, done: 3, all: 20 }));
        let sum = sum.and(&Standing { bytes: None, ..of("read", 6, 9, 3) });
        assert_eq!((sum.bytes, sum.label), (None, Some(("read".into(), 6))));
        assert_eq!(sum.slowest.map(|slowest| slowest.rank), Some(7), "of equals the first");
    }
}

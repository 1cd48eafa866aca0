//! Words that all communicators share.

use model::plan::{Function, Pc, SetId};
use model::{Op, RankSet};
use serde::{Deserialize, Serialize};

/// Answer to a call that may have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// It is done.
    Ready,
    /// Ask again later with the same arguments.
    Pending,
    /// It can never be done: a rank is gone, the run was interrupted, or everybody waits.
    Released,
}

/// Whether a rank may go on with its next statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Yes.
    GoOn,
    /// Give control back; another simulated rank is behind in time.
    Yield,
    /// No: somebody asked the run to stop.
    Interrupted,
}

/// A set of ranks as a communicator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    /// Its number in the plan.
    pub set: SetId,
    /// World ranks.
    pub ranks: RankSet,
}

/// The number of the set of this rank alone, which is in no plan: MPI_COMM_SELF.
pub const ALONE: SetId = SetId::MAX;

impl Members {
    /// This rank alone.
    pub fn alone(rank: u32) -> Members {
        Members { set: ALONE, ranks: (rank..rank + 1).into() }
    }

    /// Made by [`Members::alone`].
    pub fn is_alone(&self) -> bool {
        self.set == ALONE
    }
}

/// A collective act of the members of a set, besides a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Joint {
    /// A call inside MPI.
    Op(Op),
    /// A collective function.
    Function(Function),
}

impl Joint {
    /// Its name in programs.
    pub fn name(self) -> &'static str {
        match self {
            Joint::Op(op) => op.name(),
            Joint::Function(function) => function.row().name,
        }
    }

    fn number(self) -> i64 {
        match self {
            Joint::Op(op) => i64::from(op as u8),
            Joint::Function(function) => 256 + function as i64,
        }
    }

    /// The wait of a member, in words that complete "rank 3 waits for ...".
    pub fn awaited(what: Option<Joint>) -> String {
        match what {
            Some(what) => format!("the other members of {}", what.name()),
            None => "a barrier".into(),
        }
    }

    /// The barrier or collective act, in words.
    pub fn met(what: Option<Joint>) -> &'static str {
        what.map_or("the barrier", Joint::name)
    }
}

/// A call that all members of a set make together, and in which nobody can be released (MPI-IO).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Together {
    /// The statement.
    pub what: Joint,
    /// On which file of the set: how many were opened before it. Alike on all members.
    pub file: u32,
    /// In which way: members that differ here would make different calls.
    pub way: u16,
}

impl Together {
    /// A positive number that only equal calls share.
    pub fn key(self) -> i64 {
        (self.what.number() + 1) << 48 | i64::from(self.way) << 32 | i64::from(self.file)
    }
}

/// Where a rank runs: `$$node` and `$$noderank`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodePlace {
    /// Number of its machine, from 0.
    pub node: u32,
    /// Number of this rank on its machine, from 0.
    pub node_rank: u32,
}

/// A waiting rank, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// World rank.
    pub rank: u32,
    /// Where it waits.
    pub site: Pc,
    /// The awaited thing: "a barrier", "the signal \"go\" (2 of 3)".
    pub what: String,
}

/// How a rank ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum End {
    /// It reached the end of the program.
    Finished,
    /// A failed evaluation, or a failed operation under `--on-error stop`.
    Failed,
    /// It was asked to stop.
    Interrupted,
    /// It waited for something that could not come any more.
    Released,
    /// The signal with this number killed its process.
    Killed(i32),
    /// Its process ended without a word.
    #[default]
    Lost,
}

impl End {
    /// In words that complete "rank 3 ...".
    pub fn describe(&self) -> String {
        match self {
            End::Finished => "has finished".into(),
            End::Failed => "has failed".into(),
            End::Interrupted => "was interrupted".into(),
            End::Released => "was released from a wait".into(),
            End::Killed(signal) => format!("was killed by signal {signal}"),
            End::Lost => "ended without a word".into(),
        }
    }
}

/// The rank to name when others need not wait any longer: the first that ended for a
/// reason of its own, else the first that was itself released.
pub fn blame(ended: impl Iterator<Item = (u32, End)>) -> Option<(u32, End)> {
    let mut released = None;
    for (rank, end) in ended {
        if end != End::Released {
            return Some((rank, end));
        }
        released.get_or_insert((rank, end));
    }
    released
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_that_failed_is_named_before_those_it_released() {
        let ended = [(0, End::Released), (1, End::Released), (2, End::Failed), (3, End::Finished)];
        assert_eq!(blame(ended.into_iter()), Some((2, End::Failed)));
        assert_eq!(blame([(4, End::Released)].into_iter()), Some((4, End::Released)));
        assert_eq!(blame(std::iter::empty()), None);
    }
}

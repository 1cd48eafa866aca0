//! How ranks talk to each other. Semantics: semantics.md section 4.
//!
//! | communicator | ranks are | a call that has to wait |
//! |---|---|---|
//! | [`Solo`] | this process, alone | is answered at once |
//! | [`Local`] | forked processes over a [`Region`] of shared memory | blocks |
//! | [`Sim`] | simulated in one thread, in virtual time | gives [`Poll::Pending`]: ask again later |
//! | `mpi::Comm` (crate mpi) | MPI processes | blocks |
//!
//! A barrier that a rank has left for good, and a wait that nobody can meet,
//! are [`Poll::Released`]: the rank ends, and the run ends in order.

mod claims;
mod futex;
mod given;
mod local;
mod region;
mod sample;
mod signals;
mod sim;
mod solo;
mod times;
mod world;

pub use claims::{Claim, MAX_NUMBERS};
pub use given::{Given, values};
pub use local::Local;
pub use region::{Activity, Region};
pub use sample::{Progress, Sample, Slowest, Standing};
pub use signals::key as signal_key;
pub use sim::{Observer, Sim};
pub use solo::Solo;
pub use world::World;

use model::plan::{Function, Pc, SetId};
use model::{Op, RankSet, Value};
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

/// What all members of a set do together, besides a barrier.
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

    /// What a member waits for, in words that complete "rank 3 waits for ...".
    pub fn awaited(what: Option<Joint>) -> String {
        match what {
            Some(what) => format!("the other members of {}", what.name()),
            None => "a barrier".into(),
        }
    }

    /// What cannot be met, in words.
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

/// Talks to the other ranks of a run.
pub trait Comm {
    /// Its name in the run: "solo", "local", "sim", "mpi".
    fn name(&self) -> &'static str;

    /// World rank.
    fn rank(&self) -> u32;

    /// Number of ranks in the world.
    fn size(&self) -> u32;

    /// Where this rank runs. Unless a communicator knows better, all ranks share a machine.
    fn place(&self) -> NodePlace {
        NodePlace { node: 0, node_rank: self.rank() }
    }

    /// Waits until all members have come. `site` is where this rank waits, for messages.
    fn barrier(&mut self, members: &Members, site: Pc) -> Poll;

    /// A barrier before a call that the members make together: it is met only if all came to
    /// the same one. Communicators without such calls do as for a barrier.
    fn meet(&mut self, members: &Members, site: Pc, call: Together) -> Poll {
        let _ = call;
        self.barrier(members, site)
    }

    /// Gives a value to a collective function, waits like a barrier until all members have, and
    /// gets the values of all, in order of the members. An error is a sentence: a member has come
    /// to another statement.
    fn gather(
        &mut self,
        members: &Members,
        site: Pc,
        given: (Function, Given),
        all: &mut Vec<Value>,
    ) -> Result<Poll, String>;

    /// Claims the next number of an execution of a `share`: each is given to one member, whichever
    /// asks first. `None`: ask again later. Claims until one gives `claim.numbers` or more, then no
    /// more.
    ///
    /// # Errors
    /// A sentence: why the counter cannot be reached.
    fn claim(&mut self, members: &Members, claim: Claim) -> Result<Option<u64>, String>;

    /// All members have met at the end of an execution; before they claim again they meet once more.
    ///
    /// # Errors
    /// A sentence: why the counter cannot be reached.
    fn claims_over(&mut self, _members: &Members, _claim: Claim) -> Result<(), String> {
        Ok(())
    }

    /// Adds 1 to the counter of a signal of a set, or of one member (world rank) of it.
    /// Never waits. An error is a sentence (table full).
    fn signal(&mut self, members: &Members, name: &[u8], to: Option<u32>) -> Result<(), String>;

    /// Waits until the counter that this rank sees (the set's plus its own) is at least `target`.
    fn wait(
        &mut self,
        members: &Members,
        name: &[u8],
        target: u64,
        site: Pc,
    ) -> Result<Poll, String>;

    /// How often any rank has given a lock of a file back, as far as this one is told.
    fn locks_given_back(&self) -> u64;

    /// This rank has given a lock of a file back, or may have: those that wait for one try again.
    fn gave_lock_back(&mut self);

    /// Waits, after a lock of the file at `path` was refused, until one was given back since `seen` was
    /// the number of those: then it is worth trying again.
    fn wait_for_lock(&mut self, path: &[u8], seen: u64, site: Pc) -> Poll;

    /// Whether a [`Comm::wait`] for it would be over at once. Never waits.
    fn tested(&mut self, members: &Members, name: &[u8], target: u64) -> Result<bool, String>;

    /// Why the last [`Poll::Released`]: half a sentence that completes "released: ...".
    fn release_reason(&self) -> String;

    /// Whether this rank may go on. Cheap: asked before every statement.
    fn check(&mut self) -> Check;

    /// This rank stops for good; others do not wait for it any longer.
    fn leave(&mut self, end: End);

    /// Tells the supervisor how far this rank is: operations done. Cheap: a store.
    fn progress(&mut self, operations: u64);

    /// In a rehearsal: an iteration of a `repeat` is over, with `left` more to come. Some are
    /// skipped by moving the numbers on.
    fn iterated(&mut self, _loop: u32, _left: u64, _numbers: &mut dyn Numbers) {}

    /// In a rehearsal: an iteration of a `repeat` with a time limit is over. False: it was the last.
    fn iterated_in_time(&mut self) -> bool {
        true
    }
}

/// The numbers that a rank counts with.
pub trait Numbers {
    /// All of them, in an order that stays while the rank is in the same loop.
    fn read(&self) -> Vec<i64>;
    /// Sets them.
    fn write(&mut self, numbers: &[i64]);
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

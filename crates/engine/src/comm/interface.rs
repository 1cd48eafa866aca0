//! The interface of a communicator. Semantics: semantics.md section 4.

use super::types::{Check, Claim, CollectiveCall, End, Given, Members, NodePlace, Poll};
use model::Value;
use model::plan::{Function, Pc};

/// Talks to the other ranks of a run.
pub trait Comm {
    /// World rank.
    fn rank(&self) -> u32;

    /// Where this rank runs. Unless a communicator knows better, all ranks share a machine.
    fn place(&self) -> NodePlace {
        NodePlace { node: 0, node_rank: self.rank() }
    }

    /// Waits until all members have come. `site` is where this rank waits, for messages. Before a call that the
    /// members make together it is met only if all came to the same one; communicators without such calls do
    /// as for a barrier.
    fn barrier(&mut self, members: &Members, site: Pc, call: Option<CollectiveCall>) -> Poll;

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

    /// Number of file locks that ranks have given back, as far as this rank knows.
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

    /// In a rehearsal: an iteration of a `repeat` has ended, with `left` more to come. Some are left
    /// out by moving the numbers on. `place`: that of the loop's variables, which no other running loop
    /// has.
    fn iterated(&mut self, _place: u32, _left: u64, _numbers: &mut dyn Numbers) {}

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

//! How ranks talk to each other. Semantics: semantics.md section 4.
//!
//! A call that has to wait returns [`Poll::Pending`] where ranks share a thread
//! (`Sim`: the machine gives control back and asks again with the same arguments),
//! and blocks where ranks are processes (`Local`).

use model::plan::{Pc, SetId};
use std::ops::Range;

/// Answer to a call that may have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// It is done.
    Ready,
    /// Ask again later with the same arguments.
    Pending,
    /// It can never be done: a rank failed, the run was interrupted, or everybody waits.
    Released,
}

/// A set of ranks as a communicator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    /// Its number in the plan.
    pub set: SetId,
    /// World ranks.
    pub ranks: Range<u32>,
}

/// Talks to the other ranks of a run.
pub trait Comm {
    /// Its name in the run: "solo", "local", "sim".
    fn name(&self) -> &'static str;

    /// World rank.
    fn rank(&self) -> u32;

    /// Number of ranks in the world.
    fn size(&self) -> u32;

    /// Waits until all members have come. `site` is where this rank waits, for messages.
    fn barrier(&mut self, members: &Members, site: Pc) -> Poll;

    /// Adds 1 to the counter of a signal of a set, or of one member (world rank) of it.
    /// Never waits. An error is a sentence (table full).
    fn signal(&mut self, members: &Members, name: &[u8], to: Option<u32>) -> Result<(), String>;

    /// Waits until the counter that this rank sees (the set's plus its own) is at least `target`.
    fn wait(&mut self, members: &Members, name: &[u8], target: u64, site: Pc) -> Poll;

    /// This rank stops for good; `failed`: others must not wait for it any longer.
    fn leave(&mut self, failed: bool);

    /// Somebody asked the run to stop (Ctrl-C). Cheap: one load.
    fn interrupted(&self) -> bool;

    /// Tells the supervisor how far this rank is: label depth and operations done. Cheap: stores.
    fn progress(&mut self, label_depth: u32, operations: u64);
}

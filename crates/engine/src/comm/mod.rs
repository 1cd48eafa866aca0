//! How ranks communicate. Read top to bottom:
//!
//! | file | holds |
//! |---|---|
//! | `interface` | the trait [`Comm`], and the types that communicators share |
//! | `local` | memory that forked ranks share, and their communicator |
//! | `sim` | simulated ranks: who runs next, who waits for whom; their communicator |
//!
//! | communicator | ranks are | a call that has to wait |
//! |---|---|---|
//! | [`Local`] | forked processes over a [`Region`] of shared memory | blocks |
//! | [`Sim`] | simulated in one thread, in virtual time | gives [`Poll::Pending`]: ask again later |
//! | `mpi::Comm` (crate mpi) | MPI processes | blocks |
//!
//! A barrier that a rank has left for good, and a wait that nobody can meet,
//! are [`Poll::Released`]: the rank ends, and the run ends in order.

mod interface;
mod local;
mod sim;

pub use interface::{
    ALONE, Activity, Check, Claim, Collective, CollectiveCall, Comm, End, Given, MAX_NUMBERS,
    Members, NodePlace, Numbers, Poll, Progress, Sample, awaited_lock, awaited_signal, blame,
    release_reason, signal_key, values,
};
pub use local::{Local, Region};
pub use sim::{Observer, Sim, WaitsFor, World};

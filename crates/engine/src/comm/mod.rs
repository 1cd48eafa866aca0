//! How ranks communicate. Read top to bottom:
//!
//! | file | holds |
//! |---|---|
//! | `types` | words that communicators share |
//! | `interface` | the trait [`Comm`] |
//! | `region`, `local` | memory that forked ranks share, and their communicator |
//! | `times`, `sim` | simulated ranks: who runs next, who waits for whom; their communicator |
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
mod region;
mod sim;
mod times;
mod types;

pub use interface::{Comm, Numbers};
pub use local::Local;
pub use region::Region;
pub use sim::{Observer, Sim, World};
pub use types::{
    ALONE, Activity, Check, Claim, Collective, CollectiveCall, End, Given, MAX_NUMBERS, Members,
    NodePlace, Poll, Progress, Sample, awaited_lock, awaited_signal, blame, release_reason,
    signal_key, values,
};

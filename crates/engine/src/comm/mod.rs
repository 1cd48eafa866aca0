//! How ranks communicate. Read top to bottom:
//!
//! | file | holds |
//! |---|---|
//! | `types`, `claims`, `given`, `signals`, `times` | words that communicators share, counters of `share`, values of collective functions, counters of signals |
//! | `interface` | the trait [`Comm`] |
//! | `sample` | how far ranks are |
//! | `region` | memory that forked ranks share |
//! | `world` | simulated ranks: who runs next, who waits for whom |
//! | `solo`, `local`, `sim` | the communicators |
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
mod given;
mod interface;
mod local;
mod region;
mod sample;
mod signals;
mod sim;
mod solo;
mod times;
mod types;
mod world;

pub use claims::{Claim, MAX_NUMBERS};
pub use given::{Given, values};
pub use interface::{Comm, Numbers};
pub use local::Local;
pub use region::Region;
pub use sample::{Progress, Sample};
pub use signals::key as signal_key;
pub use sim::{Observer, Sim};
pub use solo::Solo;
pub use types::{ALONE, Activity, Check, End, Joint, Members, NodePlace, Poll, Together, blame};
pub use world::World;

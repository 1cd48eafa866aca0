//! How MPI ranks communicate while a program runs: read top to bottom.
//!
//! | file | holds |
//! |---|---|
//! | `coordinator` | messages; the release of ranks that wait for what never comes: the second task of rank 0 |
//! | `claims` | counters of `share` in a window of one-sided memory |
//! | `communicator` | the communicator of one rank |

mod claims;
mod communicator;
mod coordinator;

pub use communicator::{Comm, Finish};

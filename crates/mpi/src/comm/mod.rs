//! How MPI ranks communicate while a program runs: read top to bottom.
//!
//! | file | holds |
//! |---|---|
//! | `message` | what ranks send each other |
//! | `coordinator` | releases ranks that wait in vain: the second task of rank 0 |
//! | `claims` | counters of `share` in a window of one-sided memory |
//! | `communicator` | the communicator of one rank |

mod claims;
mod communicator;
mod coordinator;
mod message;

pub use communicator::{Comm, Finish};

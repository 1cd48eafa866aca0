//! How MPI ranks communicate while a program runs: read top to bottom.
//!
//! | file | holds |
//! |---|---|
//! | `message` | what ranks send each other |
//! | `coordinator` | rank 0's second task: releasing ranks that wait in vain |
//! | `claims` | counters of `share` in a window of one-sided memory |
//! | `communicator` | the communicator of one rank |

mod claims;
mod communicator;
mod coordinator;
mod message;

pub use communicator::{Comm, Finish};

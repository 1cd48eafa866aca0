//! Finds the operations, bytes and files of a plan by rehearsing it: all ranks are simulated in virtual time, on files
//! in memory of which only names and sizes are kept.
//!
//! ```text
//! plan ─▶ Simulation on Rehearsed ─▶ Stage ─▶ Rehearsal
//!                                  │         └ steps, iterations, order between ranks
//!                                  └ files, operations
//! ```
//!
//! | file, in the order of their use | contents |
//! |---|---|
//! | `doubts` | mistakes that the rehearsal shows |
//! | `races` | results that depend on which rank is faster |
//! | `stage` | what was done so far, per rank and in total; files that must exist before |
//! | `sample` | which iterations of a long loop are executed, and how far the figures may be off |
//! | `backend` | calls, and what they change |
//! | `driver` | rehearses a plan within limits: steps and iterations of its ranks, figures of the whole |

mod backend;
mod doubts;
mod driver;
mod races;
mod sample;
mod stage;

pub use driver::{Limits, RANKS_MAX, expected, rehearse, rehearse_within};

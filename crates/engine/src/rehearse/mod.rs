//! Finds the operations, bytes and files of a plan by rehearsing it: all ranks are simulated in virtual time, on files
//! in memory of which only names and sizes are kept.
//!
//! ```text
//! plan ─▶ Simulation of Machine<Rehearsed> ─▶ Stage ─▶ Rehearsal
//!                                  │         └ steps, iterations, order between ranks
//!                                  └ files, operations
//! ```
//!
//! | file, in the order of their use | contents |
//! |---|---|
//! | `doubts` | mistakes that the rehearsal shows |
//! | `expects` | files that must be there before |
//! | `races` | results that depend on which rank is faster |
//! | `stage` | what was done so far, by rank and in all |
//! | `sample` | which iterations of a long loop are executed, and how far the figures may be off |
//! | `part` | steps and iterations of a rank |
//! | `backend` | calls, and what they change |
//! | `figures` | what was done, as figures |
//! | `driver` | rehearses a plan within limits |

mod backend;
mod doubts;
mod driver;
mod expects;
mod figures;
mod part;
mod races;
mod sample;
mod stage;

pub use driver::{Limits, RANKS_MAX, expected, rehearse, rehearse_within};

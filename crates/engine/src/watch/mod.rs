//! Executes a plan to be looked at, in virtual time on files in memory.
//!
//! | file | what it does |
//! |---|---|
//! | `record` | executes all of a plan, or as much as the limits allow: events, phases, waits ([`watch()`]) |
//! | `waits` | writes down who waits for whom |
//! | `step` | executes a plan up to a statement and shows the state of all ranks before it ([`step()`]) |
//!
//! Execution is deterministic, so the state before statement k is found by executing k statements from the start.

mod record;
mod step;
mod waits;

pub use record::{Limits, watch};
pub use step::{INSTRUCTIONS_MAX, step};

//! Runs all ranks of a plan and gathers what they recorded.
//!
//! | back-end | ranks | clock |
//! |---|---|---|
//! | posix, null | one forked process each, also a single one ([`run_local`]) | TSC or monotonic |
//! | posix, null | MPI processes (`mpi::run`, over [`Rank`]) | TSC or monotonic |
//! | mem | simulated in this thread ([`run_sim`]) | virtual |
//!
//! Not here: the run directory's life cycle, merging (`collect`), exit codes.

mod calls;
mod local;
mod outcome;
mod rank;
mod signals;
mod sim;
pub mod waiting;

pub use calls::{Calls, list_calls};
pub use local::run_local;
pub use outcome::{Outcome, StartError, Watch, sets};
pub use rank::{Ran, Rank, Storage, open_storage};
pub use signals::{is_stop_pending, without_signals};
pub(crate) use sim::{Simulation, simulate, simulate_in_steps};
pub use sim::{run_sim, run_sim_among, run_sim_on};

use crate::comm::Progress;
use crate::config::Config;
use model::Plan;
use model::rehearsal::Expected;

/// Runs a plan as its configuration says. `before`: files and directories that a simulation starts with.
pub fn run(
    plan: &Plan,
    config: &Config,
    before: &[Expected],
    on_progress: &mut dyn FnMut(&Progress),
) -> Result<Outcome, StartError> {
    match config.backend.is_simulated() {
        true => run_sim(plan, config, before, on_progress),
        false => run_local(plan, config, on_progress),
    }
}

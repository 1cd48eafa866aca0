//! `parabench run`: a program goes in, a run comes out. Read `flow` first.
//!
//! | file | holds |
//! |---|---|
//! | `args`, `sweep` | the options, the grid of a sweep, what is missing of one that is resumed |
//! | `directory`, `confinement` | the run directory and others: made, confined, removed |
//! | `header`, `only` | the run's header, before and after; labels of `--only` |
//! | `nodes`, `team`, `rank_checks` | the processes of an MPI job |
//! | `point`, `points` | one point of a sweep: bound, rehearsed, checked; all of them before anything happens |
//! | `progress`, `stream`, `interrupt` | what is shown, also to programs, and what stops a run meanwhile |
//! | `executions` | all executions of a sweep, measured, stored and printed |
//! | `after` | what `--html` and `--against-trace` add |
//! | `launch` | starts an MPI job, and puts in order what is left of one that was killed |
//! | `flow` | the main flow |

mod after;
mod args;
mod confinement;
mod directory;
mod executions;
mod flow;
mod header;
mod interrupt;
mod launch;
mod nodes;
mod only;
mod point;
mod points;
mod progress;
mod rank_checks;
mod stream;
mod sweep;
mod team;

pub use args::Run;
pub use directory::{for_mount, not_granted};
pub use rank_checks::check_words;

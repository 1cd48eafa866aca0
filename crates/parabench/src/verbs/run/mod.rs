//! `parabench run`: a program goes in, a run comes out. Read `flow` first.
//!
//! | file | holds |
//! |---|---|
//! | `args`, `sweep` | the options, the grid of a sweep, what is missing of one that is resumed |
//! | `place`, `further`, `directory` | the run directory and others: made, confined, removed |
//! | `header`, `only` | the run's header, before and after; labels of `--only` |
//! | `members`, `nodes`, `team`, `rank_checks`, `remains` | the processes of an MPI job |
//! | `point` | one point of a sweep: bound, rehearsed, checked |
//! | `points`, `foresee` | all points before anything happens; the same for a job that is to be queued |
//! | `progress`, `interrupt` | what is shown and what stops a run meanwhile |
//! | `measure` | one execution: the ranks run to their end, what they recorded is merged |
//! | `executions` | all executions of a sweep, stored and printed |
//! | `page`, `faithful` | what `--html` and `--against-trace` add |
//! | `launch` | starts an MPI job, and puts in order what is left of one that was killed |
//! | `flow` | the main flow |

mod args;
mod directory;
mod executions;
mod faithful;
mod flow;
mod foresee;
mod further;
mod header;
mod interrupt;
mod launch;
mod measure;
mod members;
mod nodes;
mod only;
mod page;
mod place;
mod point;
mod points;
mod progress;
mod rank_checks;
mod remains;
mod sweep;
mod team;

pub use args::Run;
pub use further::{for_mount, not_granted};
pub use rank_checks::check_words;

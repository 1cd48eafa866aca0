//! The command line from outside: every test starts the binary.
//!
//! One file per subcommand or topic. [`scene`] has the words that the tests are written in. Tests that
//! need root say so and pass where they cannot run.

#![allow(clippy::print_stdout, reason = "tests that cannot run here say so")]

mod essence;
mod figures;
mod fuse;
mod made_up;
mod scene;
mod schema;
mod tmpfs;

mod application_programs;
mod applications;
mod arrivals;
mod browser;
mod cache_control;
mod calls;
mod check;
mod clustered;
mod compare;
mod completions;
mod data_files;
mod death;
mod docs;
mod doubts;
mod engines;
mod events;
mod exit_codes;
mod fidelity;
mod fidelity_commands;
mod field_programs;
mod file_programs;
mod fmt;
mod fold;
mod fold_facts;
mod fold_kinds;
mod fold_lists;
mod fold_logs;
mod fold_options;
mod folded;
mod foreign;
mod golden;
mod hangs;
mod hostile;
mod html;
mod import;
mod job;
mod leave;
mod limits;
mod locks;
mod long_loops;
mod lsp;
mod marks;
mod mounts;
mod operations;
mod ops;
mod pattern;
mod pictures;
mod plan;
mod plan_calls;
mod prepare;
mod programs;
mod progress;
mod record;
mod recorder_losses;
mod recorders;
mod recording;
mod refused;
mod rehearsal;
mod replay;
mod results;
mod resume;
mod run;
mod same;
mod scores;
mod sentences;
mod shares;
mod statistics;
mod storage;
mod sweep;
mod traps;
mod verify;
mod versus;
mod views;

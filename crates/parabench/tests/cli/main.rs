//! The command line from outside: every test starts the binary.
//!
//! One file per subcommand, then what goes across them. [`scene`] has the words
//! that the tests are written in.

mod browser;
mod cache_control;
mod scene;
mod schema;
mod shares;
mod tmpfs;

mod application_programs;
mod applications;
mod arrivals;
mod calls;
mod check;
mod compare;
mod completions;
mod crash;
mod data_files;
mod docs;
mod doubts;
mod engines;
mod events;
mod exit_codes;
mod fidelity;
mod fidelity_commands;
mod file_programs;
mod fmt;
mod fold;
mod fold_kinds;
mod fold_options;
mod folded;
mod foreign;
mod golden;
mod hostile;
mod html;
mod import;
mod job;
mod limits;
mod locks;
mod marks;
mod mounts;
mod operations;
mod ops;
mod pattern;
mod plan;
mod prepare;
mod programs;
mod progress;
mod record;
mod recorders;
mod recording;
mod refused;
mod rehearsal;
mod replay;
mod results;
mod resume;
mod run;
mod sentences;
mod statistics;
mod storage;
mod sweep;
mod traps;
mod verify;
mod versus;
mod views;

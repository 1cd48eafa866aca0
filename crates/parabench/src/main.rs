//! `parabench`: the command line. It wires the other crates together and holds
//! what none of them may do: reading programs, drawing diagnostics, exit codes.
//!
//! One file per subcommand ([`verbs`]); each gives back an [`exit::Exit`] or an
//! [`error::Error`], and only `main` turns that into the end of the process.
#![warn(clippy::disallowed_methods)]

mod args;
mod compile;
mod console;
mod diagnostics;
mod error;
mod exit;
mod legacy;
mod library;
mod loader;
mod output;
mod pictures;
mod present;
mod program;
mod results;
mod verbs;

use engine::limits;
use mpi::launcher;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: engine::memory::Allocator = engine::memory::Allocator;

fn main() -> ExitCode {
    limits::ignore_file_size_signal();
    limits::with_stack(run).into()
}

fn run() -> exit::Exit {
    let words = legacy::with_verb(std::env::args_os().collect());
    // Of the processes of an MPI job the first one speaks for all. A terminal is none that a
    // launcher gives: the job is that of an inherited environment.
    let speaks = launcher::job().is_none_or(|job| job.rank == 0) || console::is_watched();
    match args::parse(words, speaks) {
        Ok(verb) if speaks || verb.is_for_all_ranks() => verb.execute().unwrap_or_else(|error| {
            if speaks {
                console::error(&error);
            }
            error.exit
        }),
        // A launcher may end the job, and the first process with it, when another one fails.
        Ok(_) => exit::Exit::Success,
        Err(_) if !speaks => exit::Exit::Success,
        Err(exit) => exit,
    }
}

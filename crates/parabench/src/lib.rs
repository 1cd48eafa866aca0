//! Parabench's command line as a library: the binary is [`run`] and an exit code. It wires the other
//! crates together and does what they may not do: reading programs, drawing diagnostics, storing
//! results.
//!
//! For other front ends: [`program`] reads a text, [`compile`] binds it, [`diagnostics`] shows its mistakes, [`results`]
//! reads stored runs, [`language`] is what editors need.
//!
//! ```
//! use parabench::compile::{Places, ProgramArgs, Ranks, Seed, compile};
//! use parabench::{diagnostics, program::Text};
//!
//! let text = Text { name: "x.ppl".into(), bytes: b"$size = 4k; write(\"f\", $siez);".to_vec() };
//! let (params, groups, include_dirs) = (Vec::new(), Vec::new(), Vec::new());
//! let (mounts, seed) = (Vec::new(), Seed::Given(42));
//! let args = ProgramArgs { program: "x.ppl".into(), params, groups, include_dirs, mounts, seed };
//! let ranks = Ranks { count: 4, assumed: false, machines: Vec::new() };
//! let compiled = compile(text, &args, ranks, Places::default(), true);
//! assert!(compiled.plan.is_none());
//! let drawn = diagnostics::draw(&compiled.diagnostics, &compiled.sources, 80);
//! assert!(drawn.contains("$siez"));
//! ```
//!
//! One file per subcommand (`verbs`); each gives back an [`error::Exit`] or an
//! [`error::Error`], and only `main` turns that into the end of the process.
#![warn(clippy::disallowed_methods)]

mod args;
pub mod compile;
mod console;
pub mod diagnostics;
pub mod error;
pub mod folding;
mod foreign_options;
pub mod language;
mod legacy;
mod library;
mod loader;
mod output;
mod prepare;
mod present;
pub mod program;
mod rehearse;
pub mod results;
mod verbs;

use error::Exit;
use mpi::launcher;
use std::time::Duration;

/// How long other ranks of an MPI job give rank 0 to say what is wrong with their command line.
const RANK_0_SPEAKS: Duration = Duration::from_secs(3);

/// Runs the subcommand that this process was started with. What is to be said has been printed.
pub fn run() -> Exit {
    let words = legacy::with_verb(std::env::args_os().collect());
    // Of the processes of an MPI job the first one speaks for all. A terminal is none that a
    // launcher gives: the job is that of an inherited environment.
    let speaks = launcher::job().is_none_or(|job| job.rank == 0) || console::is_watched();
    match args::parse(words) {
        Ok(verb) if speaks || verb.is_for_all_ranks() => verb.execute().unwrap_or_else(|error| {
            if speaks {
                console::error(&error);
            }
            error.exit
        }),
        Ok(_) => Exit::Success,
        // Help, which was asked for.
        Err(help) if !help.use_stderr() => {
            if speaks {
                let _ = help.print();
            }
            Exit::Success
        }
        Err(wrong) => {
            if !speaks {
                // If all have the same words, rank 0 ends the job meanwhile.
                std::thread::sleep(RANK_0_SPEAKS);
            }
            let _ = wrong.print();
            launcher::end_job(Exit::Input.code());
            Exit::Input
        }
    }
}

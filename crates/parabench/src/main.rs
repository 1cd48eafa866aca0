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
mod present;
mod program;
mod results;
mod verbs;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words = legacy::with_verb(std::env::args_os().collect());
    match args::parse(words) {
        Ok(verb) => verb.execute().unwrap_or_else(|error| {
            console::error(&error);
            error.exit
        }),
        Err(exit) => exit,
    }
    .into()
}

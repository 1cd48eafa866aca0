//! The binary `parabench`: its stack and its exit code; the rest is the library.
#![warn(clippy::disallowed_methods)]

use engine::limits;
use std::process::ExitCode;

fn main() -> ExitCode {
    limits::ignore_file_size_signal();
    limits::with_stack(parabench::run).into()
}

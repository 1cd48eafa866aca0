//! The command line from outside: every test starts the binary.
//!
//! One file per subcommand, then what goes across them. [`scene`] has the words
//! that the tests are written in.

mod scene;

mod completions;
mod fmt;
mod ops;
mod programs;

//! The hard cases, proved from outside: every test starts the binary.
//!
//! `tests/cli` shows what each subcommand and option does. Here stand the traps that other
//! tools fell into, deaths at bad moments, disks that fill up, paths that lead out, the
//! system calls themselves, and the same program on different communicators.
//! Tests that need root say so aloud and pass where they cannot run.

#![allow(clippy::print_stdout, reason = "tests that cannot run here say so")]

#[path = "../cli/scene.rs"]
#[allow(dead_code, reason = "the words of tests/cli; not all are needed here")]
mod scene;
#[path = "../cli/schema.rs"]
#[allow(dead_code, reason = "the words of tests/cli; not all are needed here")]
mod schema;
#[path = "../cli/tmpfs.rs"]
#[allow(dead_code, reason = "the words of tests/cli; not all are needed here")]
mod tmpfs;

mod essence;
mod figures;
mod made_up;

mod calls;
mod death;
mod leave;
mod same;
mod storage;
mod traps;

//! Compiles the library that is put before the C library. It is C because functions with variable
//! arguments, which open(2) and fcntl(2) are, cannot be defined in Rust, and because it lives in
//! programs of others: no runtime, no allocation, no destructors.
//!
//! `CC` names the compiler; without it that is `cc`, which links Rust programs, too.

use std::env;
use std::path::Path;
use std::process::Command;

const SOURCES: [&str; 7] =
    ["core.c", "descriptors.c", "lost.c", "mpi.c", "names.c", "processes.c", "streams.c"];
const OPTIONS: [&str; 11] = [
    "-std=gnu11",
    "-O2",
    "-g0",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-ftls-model=initial-exec",
    "-U_FORTIFY_SOURCE",
    "-Wall",
    "-Wno-nonnull-compare",
    "-Wl,-z,relro,-z,now,-s",
];

fn main() {
    println!("cargo::rerun-if-changed=preload");
    println!("cargo::rerun-if-env-changed=CC");
    let library = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("record.so");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut command = Command::new(&compiler);
    command.args(OPTIONS).arg("-o").arg(&library);
    command.args(SOURCES.map(|source| Path::new("preload").join(source))).arg("-ldl");
    let ended = command.status();
    assert!(
        ended.as_ref().is_ok_and(std::process::ExitStatus::success),
        "the recording library cannot be compiled with {compiler}: {ended:?}"
    );
}

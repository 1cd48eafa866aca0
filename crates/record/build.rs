//! Compiles the library that is put before the C library. It is C because functions with variable
//! arguments, which open(2) and fcntl(2) are, cannot be defined in Rust, and because it lives in
//! programs of others: no runtime, no allocation, no destructors.
//!
//! `CC` and `CC_TARGET` name the compiler, as for C in other crates; without them that is `cc`.

use std::env;
use std::path::Path;
use std::process::ExitStatus;

const SOURCES: [&str; 10] = [
    "async.c",
    "core.c",
    "descriptors.c",
    "lost.c",
    "mpi.c",
    "names.c",
    "processes.c",
    "raw.c",
    "rings.c",
    "streams.c",
];
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
    let library = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("record.so");
    let compiler = cc::Build::new().no_default_flags(true).get_compiler();
    let mut command = compiler.to_command();
    command.args(OPTIONS).arg("-o").arg(&library);
    command.args(SOURCES.map(|source| Path::new("preload").join(source))).arg("-ldl");
    let ended = command.status();
    assert!(
        ended.as_ref().is_ok_and(ExitStatus::success),
        "the recording library cannot be compiled with {}: {ended:?}",
        compiler.path().display()
    );
}

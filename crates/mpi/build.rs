//! Compiles the shim with the `mpicc` it finds (`MPICC` overrides), so that a
//! build on a machine with MPI works at once. Without any `mpicc` the build
//! succeeds all the same: `parabench mpi build` compiles the shim later.

use std::env;
use std::path::Path;
use std::process::Command;

#[path = "src/version.rs"]
mod version;

fn main() {
    println!("cargo::rerun-if-changed=shim.c");
    println!("cargo::rerun-if-env-changed=MPICC");
    let directory = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let library = Path::new(&directory).join("libparabench_mpi_shim.so");
    let compiler = env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
    let source = std::fs::read("shim.c").expect("the source of the shim");
    let built = Command::new(&compiler)
        .arg(format!("-DPB_SHIM_VERSION={}", version::of(&source)))
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .arg(&library)
        .arg("shim.c")
        .output()
        .is_ok_and(|output| output.status.success());
    let path = if built { library.display().to_string() } else { String::new() };
    println!("cargo::rustc-env=PARABENCH_MPI_SHIM_BUILT={path}");
}

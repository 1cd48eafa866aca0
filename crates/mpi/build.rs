//! Compiles the shim with the `mpicc` it finds (`MPICC` overrides), so that a
//! build on a machine with MPI works at once. Without any `mpicc` the build
//! succeeds all the same: `parabench mpi build` compiles the shim later.

use std::env;
use std::path::Path;

#[path = "src/source.rs"]
mod source;

fn main() {
    println!("cargo::rerun-if-changed=shim");
    println!("cargo::rerun-if-changed=src/source.rs");
    println!("cargo::rerun-if-env-changed=MPICC");
    let directory = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let library = Path::new(&directory).join("libparabench_mpi_shim.so");
    let compiler = env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
    let built = source::compile(&compiler, &library).is_ok();
    let path = if built { library.display().to_string() } else { String::new() };
    println!("cargo::rustc-env=PARABENCH_MPI_SHIM_BUILT={path}");
}

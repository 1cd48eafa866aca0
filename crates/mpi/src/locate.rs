//! Finds the shim, or compiles it.

use crate::error::MpiError;
use crate::shim::Shim;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Source of the shim, embedded in the binary.
pub const SHIM_SOURCE: &str = include_str!("../shim.c");

/// File name of the compiled shim.
pub const SHIM_FILE: &str = "libparabench_mpi_shim.so";

/// Where the shim is looked for, in this order, with the name of each place:
/// the variable PARABENCH_MPI_SHIM, beside the binary, the build output.
pub fn places() -> Vec<(String, PathBuf)> {
    let mut places = Vec::new();
    if let Some(path) = env::var_os("PARABENCH_MPI_SHIM") {
        places.push(("PARABENCH_MPI_SHIM".to_string(), PathBuf::from(path)));
    }
    if let Ok(binary) = env::current_exe() {
        places.push(("beside the binary".to_string(), binary.with_file_name(SHIM_FILE)));
    }
    let built = env!("PARABENCH_MPI_SHIM_BUILT");
    if !built.is_empty() {
        places.push(("build output".to_string(), PathBuf::from(built)));
    }
    places
}

/// Opens the first shim that works. A variable that is set is the only place tried:
/// who names a file does not want another.
pub fn open() -> Result<(PathBuf, Shim), MpiError> {
    let mut tried = Vec::new();
    for (name, path) in places() {
        match Shim::open(&path) {
            Ok(shim) => return Ok((path, shim)),
            Err(reason) => tried.push((format!("{name} ({})", path.display()), reason)),
        }
        if name == "PARABENCH_MPI_SHIM" {
            break;
        }
    }
    Err(MpiError::NoShim(tried))
}

/// Compiles the embedded source with `mpicc` into `output`.
pub fn build(mpicc: &str, output: &Path) -> Result<(), MpiError> {
    let directory = env::temp_dir().join(format!("parabench-shim-{}", std::process::id()));
    let result = compile(mpicc, &directory, output);
    let _ = std::fs::remove_dir_all(&directory);
    result
}

fn compile(mpicc: &str, directory: &Path, output: &Path) -> Result<(), MpiError> {
    let source = directory.join("shim.c");
    let command = format!("{mpicc} -shared -fPIC -O2 -o {} shim.c", output.display());
    let failed = |text: String| MpiError::Compile(command.clone(), text);
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&source, SHIM_SOURCE))
        .map_err(|error| failed(error.to_string()))?;
    let result = Command::new(mpicc)
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .arg(output)
        .arg(&source)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if result.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&result.stderr).into_owned()))
}

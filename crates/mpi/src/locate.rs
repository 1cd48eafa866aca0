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

/// A shim that can be used.
pub struct Found {
    /// Its file.
    pub path: PathBuf,
    /// Which of the [`places`] it is.
    pub place: &'static str,
    /// Its functions.
    pub shim: Shim,
}

/// A place where a shim could have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// Which of the [`places`].
    pub place: &'static str,
    /// The file that was looked for.
    pub path: PathBuf,
    /// Why it does not do.
    pub reason: String,
}

/// The variable that names a shim.
pub const VARIABLE: &str = "PARABENCH_MPI_SHIM";

/// Where the shim is looked for, in this order, with the name of each place. The variable is
/// the only place if it is set: who names a file does not want another.
pub fn places() -> Vec<(&'static str, PathBuf)> {
    if let Some(path) = env::var_os(VARIABLE) {
        return vec![("the variable PARABENCH_MPI_SHIM", PathBuf::from(path))];
    }
    let mut places = Vec::new();
    if let Ok(binary) = env::current_exe() {
        places.push(("beside the binary", binary.with_file_name(SHIM_FILE)));
        let library = binary.parent().and_then(Path::parent).map(|root| root.join("lib"));
        places.extend(library.map(|lib| ("in ../lib of the binary", lib.join(SHIM_FILE))));
    }
    let built = env!("PARABENCH_MPI_SHIM_BUILT");
    if !built.is_empty() {
        places.push(("where parabench was built", PathBuf::from(built)));
    }
    places
}

/// Opens the first shim that works.
///
/// # Errors
/// [`MpiError::NoShim`] with every place that was looked at, and why it does not do.
pub fn find() -> Result<Found, MpiError> {
    let mut looked = Vec::new();
    for (place, path) in places() {
        match Shim::open(&path) {
            Ok(shim) => return Ok(Found { path, place, shim }),
            Err(reason) => looked.push(Looked { place, path, reason }),
        }
    }
    Err(MpiError::NoShim(looked))
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
    let define = format!("-DPB_SHIM_VERSION={}", crate::version::of(SHIM_SOURCE.as_bytes()));
    let command = format!("{mpicc} {define} -shared -fPIC -O2 -o {} shim.c", output.display());
    let failed = |text: String| MpiError::Compile(command.clone(), text);
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&source, SHIM_SOURCE))
        .map_err(|error| failed(error.to_string()))?;
    let result = Command::new(mpicc)
        .arg(&define)
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

//! Finds the shim, or compiles it.

use crate::error::MpiError;
use crate::shim::{MISSING, Shim};
use crate::source;
use std::env;
use std::path::{Path, PathBuf};

/// File name of the compiled shim.
pub const SHIM_FILE: &str = "libparabench_mpi_shim.so";

/// A shim that can be used.
pub struct Found {
    /// Its file.
    pub path: PathBuf,
    /// Name of its place, one of the [`places`].
    pub place: &'static str,
    /// Its functions.
    pub shim: Shim,
}

/// A place where a shim could have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// Name of the place, one of the [`places`].
    pub place: &'static str,
    /// The file that was looked for.
    pub path: PathBuf,
    /// Why it does not do.
    pub reason: String,
}

impl Looked {
    /// There is nothing; otherwise something is wrong with what is there.
    pub fn is_missing(&self) -> bool {
        self.reason == MISSING
    }
}

/// The variable that names a shim.
pub const VARIABLE: &str = "PARABENCH_MPI_SHIM";

/// Where the shim is looked for, in this order, with the name of each place. The variable is
/// the only place if it is set: who names a file does not want another.
pub fn places() -> Vec<(&'static str, PathBuf)> {
    if let Some(path) = env::var_os(VARIABLE) {
        // A name without a slash would be looked for among the system's libraries.
        let path = std::path::absolute(&path).unwrap_or_else(|_| path.into());
        return vec![("the variable PARABENCH_MPI_SHIM", path)];
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

/// Opens the first shim that there is.
///
/// # Errors
/// [`MpiError::NoShim`] with every place that was looked at, and why it does not do. A file that cannot
/// be used ends the search: a later one may be for another MPI, and the job would end for a reason that
/// has nothing to do with this file.
pub fn find() -> Result<Found, MpiError> {
    find_in(places())
}

fn find_in(places: Vec<(&'static str, PathBuf)>) -> Result<Found, MpiError> {
    let mut looked: Vec<Looked> = Vec::new();
    for (place, path) in places {
        match Shim::open(&path) {
            Ok(shim) => return Ok(Found { path, place, shim }),
            Err(reason) => looked.push(Looked { place, path, reason }),
        }
        if looked.last().is_some_and(|last| !last.is_missing()) {
            break;
        }
    }
    Err(MpiError::NoShim(looked))
}

/// The compiler to take if none is named: `MPICC`; else the first `mpicc_abi` or `mpicc` beside the
/// binary, which may lie in an environment of Python with an MPI, and in `PATH`.
pub fn default_mpicc() -> String {
    let named = env::var("MPICC").ok().filter(|name| !name.is_empty());
    let beside = env::current_exe().ok().and_then(|binary| Some(binary.parent()?.to_path_buf()));
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places = beside.into_iter().chain(env::split_paths(&path));
    named.or_else(|| places.find_map(mpicc_in)).unwrap_or_else(|| "mpicc".into())
}

/// The compiler for the standard's ABI comes first: its shim goes with every MPI that has that.
fn mpicc_in(place: PathBuf) -> Option<String> {
    let found = ["mpicc_abi", "mpicc"].map(|name| place.join(name));
    let found = found.into_iter().find(|file| file.is_file())?;
    found.into_os_string().into_string().ok()
}

/// Where [`build`] should put the shim so that [`find`] finds it: beside the binary.
pub fn default_output() -> Option<PathBuf> {
    env::current_exe().ok().map(|binary| binary.with_file_name(SHIM_FILE))
}

/// Compiles the embedded source with `mpicc` into `output`, which is replaced at once when
/// the compiler has succeeded: processes that have it open keep the old one.
///
/// # Errors
/// [`MpiError::Compile`] with the command and what it said.
pub fn build(mpicc: &str, output: &Path) -> Result<(), MpiError> {
    let mut fresh = output.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    let fresh = PathBuf::from(fresh);
    let command = format!("{mpicc} {} {}", source::arguments().join(" "), output.display());
    let result = source::compile(mpicc, &fresh)
        .and_then(|()| std::fs::rename(&fresh, output).map_err(|error| error.to_string()));
    result.map_err(|text| {
        // What the compiler left half done is of no use.
        let _ = std::fs::remove_file(&fresh);
        MpiError::Compile(command, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_of_an_environment_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().to_path_buf();
        assert_eq!(mpicc_in(place.clone()), None);
        for name in ["mpicc", "mpicc_abi"] {
            std::fs::write(place.join(name), "").unwrap();
            assert_eq!(mpicc_in(place.clone()), Some(format!("{}/{name}", place.display())));
        }
    }

    #[test]
    fn what_cannot_compile_says_why_and_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let output = folder.path().join("shim.so");
        for (mpicc, reason) in [("no-such-compiler", "No such file"), ("false", "exit status: 1")] {
            let Err(MpiError::Compile(command, text)) = build(mpicc, &output) else {
                panic!("{mpicc} has compiled")
            };
            assert!(command.starts_with(mpicc) && command.ends_with("shim.so"), "{command}");
            assert!(text.contains(reason), "{text}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0);
    }

    #[test]
    fn a_file_that_is_no_shim_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = folder.path().join("text.so");
        std::fs::write(&text, "no library").expect("written");
        let reason = |path: &Path| Shim::open(path).err().expect("refused");
        assert_eq!(reason(&folder.path().join("missing")), "there is no such file");
        assert!(reason(&text).contains("is no MPI shim"), "{}", reason(&text));
        assert_eq!(reason(folder.path()), "it is not a file");
        assert_eq!(reason(Path::new("/dev/zero")), "it is not a file");
    }

    #[test]
    fn a_file_that_is_no_shim_ends_the_search() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = folder.path().join("text.so");
        std::fs::write(&text, "no library").expect("written");
        let places =
            vec![("first", folder.path().join("missing")), ("second", text), ("third", "x".into())];
        let Err(MpiError::NoShim(looked)) = find_in(places) else { panic!("found") };
        let looked: Vec<_> = looked.iter().map(|one| (one.place, one.is_missing())).collect();
        assert_eq!(looked, [("first", true), ("second", false)]);
    }
}

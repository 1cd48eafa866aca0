//! Errors of MPI, as data.

use crate::launcher::{Job, Launcher};
use std::fmt;
use std::path::PathBuf;

/// An MPI error, or the reason why there is no MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MpiError {
    /// No usable shim: every place that was tried, and why it did not do.
    NoShim(Vec<Looked>),
    /// Compiling the shim failed: command and its output.
    Compile(String, String),
    /// MPI does not know the other processes that the launcher started.
    Mismatch {
        /// The MPI library of the shim.
        library: String,
        /// Facts of the launcher.
        job: Job,
    },
    /// A call failed.
    Call {
        /// The MPI function.
        call: &'static str,
        /// Error class of the MPI standard, as a number of this library.
        class: i32,
        /// The library's text.
        text: String,
    },
}

/// A place where a shim could have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// Name of the place, one of the [`crate::shim::places`].
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

/// Why a place without a file does not do.
pub(crate) const MISSING: &str = "there is no such file";

impl fmt::Display for MpiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MpiError::NoShim(tried) => {
                f.write_str("no MPI shim could be used")?;
                for Looked { place, path, reason } in tried {
                    write!(f, "\n  {place} ({}): {reason}", path.display())?;
                }
                match tried.iter().find_map(|looked| library_missing(&looked.reason)) {
                    Some(library) => write!(
                        f,
                        "\nInstall the MPI library here, too, or copy it to the path that it has on the \
                         others: the shim is there, {library} is not"
                    ),
                    None => f.write_str(
                        "\nCompile one with: parabench mpi build [--mpicc MPICC] [-o FILE]",
                    ),
                }
            }
            MpiError::Compile(command, output) => {
                write!(f, "`{command}` could not compile the MPI shim:\n{}", output.trim_end())
            }
            MpiError::Mismatch { library, job } => {
                let (launcher, ranks) = (job.launcher.name(), job.ranks.unwrap_or(0));
                let started = model::words::count(ranks, "process");
                write!(
                    f,
                    "{launcher} started {started}, but in the MPI of the shim ({library}) \
                     each of them would be alone\n{}",
                    remedy(job.launcher)
                )
            }
            MpiError::Call { call, class, text } => {
                write!(f, "{call} failed: {text} (error class {class})")
            }
        }
    }
}

/// The library that a shim was compiled for, from what the linker says: "NAME: cannot open shared object file: ..."
fn library_missing(reason: &str) -> Option<&str> {
    let name = reason.split_once(": cannot open shared object file")?.0;
    Some(name.rsplit([' ', '/']).next().unwrap_or(name))
}

/// Slurm speaks one of several protocols, and not by itself the one of every MPI; other launchers
/// belong to one MPI.
fn remedy(launcher: Launcher) -> &'static str {
    match launcher {
        Launcher::Slurm => {
            "Name a protocol that this MPI speaks: srun --mpi=pmix (Open MPI, MPICH 4) or \
             srun --mpi=pmi2 (MPICH, Intel MPI); srun --mpi=list tells which there are. If none \
             helps, the shim is of another MPI: parabench mpi build --mpicc MPICC"
        }
        Launcher::OpenMpi | Launcher::Pmi => {
            "The shim was compiled for another MPI. Compile one with the mpicc that belongs to this \
             launcher: parabench mpi build --mpicc MPICC"
        }
    }
}

impl std::error::Error for MpiError {}

impl From<MpiError> for String {
    fn from(error: MpiError) -> String {
        error.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_missing_is_no_shim_that_is() {
        let message = |reason: &str| {
            let looked = Looked { place: "beside", path: "/x.so".into(), reason: reason.into() };
            MpiError::NoShim(vec![looked]).to_string()
        };
        let linker = "libmpi_abi.so.1: cannot open shared object file: No such file or directory";
        assert!(message(linker).contains("the shim is there, libmpi_abi.so.1 is not"));
        assert!(!message(linker).contains("mpi build"));
        assert!(message("there is no such file").contains("parabench mpi build"));
    }

    #[test]
    fn each_launcher_has_its_remedy() {
        for (launcher, remedy) in [
            (Launcher::Slurm, "srun --mpi=pmi2"),
            (Launcher::OpenMpi, "compiled for another MPI"),
            (Launcher::Pmi, "compiled for another MPI"),
        ] {
            let job = Job { launcher, rank: 0, ranks: Some(4) };
            let text = MpiError::Mismatch { library: "MPICH 4.0".into(), job }.to_string();
            assert!(text.contains(remedy) && text.contains("4 processes"), "{text}");
        }
    }
}

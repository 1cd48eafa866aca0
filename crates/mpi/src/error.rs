//! What can go wrong with MPI, as data.

use crate::launcher::Job;
use crate::locate::Looked;
use std::fmt;

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
        /// What the launcher says.
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

impl fmt::Display for MpiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MpiError::NoShim(tried) => {
                f.write_str("no MPI shim could be used")?;
                for Looked { place, path, reason } in tried {
                    write!(f, "\n  {place} ({}): {reason}", path.display())?;
                }
                f.write_str("\nCompile one with: parabench mpi build [--mpicc MPICC] [-o FILE]")
            }
            MpiError::Compile(command, output) => {
                write!(f, "`{command}` could not compile the MPI shim:\n{}", output.trim_end())
            }
            MpiError::Mismatch { library, job } => write!(
                f,
                "{} started {} processes, but the MPI shim was compiled for another MPI \
                 ({library}), in which each of them would be alone\nCompile a shim with the mpicc \
                 that belongs to this launcher: parabench mpi build --mpicc MPICC",
                job.launcher.name(),
                job.ranks.unwrap_or(0)
            ),
            MpiError::Call { call, class, text } => {
                write!(f, "{call} failed: {text} (error class {class})")
            }
        }
    }
}

impl std::error::Error for MpiError {}

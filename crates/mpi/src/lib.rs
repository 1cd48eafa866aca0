//! MPI without linking MPI.
//!
//! ```text
//! shim/*.c --mpicc--> libparabench_mpi_shim.so --dlopen--> Shim --> World --> Groups, Comm
//!                                                                   |
//!                                         run_rank: a plan as the rank that this process is
//! ```
//!
//! [`shim`] finds, compiles and opens the shim, [`World`] is MPI initialised,
//! [`Comm`] is how the ranks of a running program meet, [`run_rank`] runs one. Not here:
//! policy about programs, files and results.
#![warn(clippy::disallowed_methods)]
#![allow(unsafe_code)]

pub mod comm;
pub mod error;
pub mod facts;
pub mod file;
pub mod groups;
pub mod launcher;
pub mod run;
pub mod shim;
pub mod signals;
pub mod source;
pub mod world;

pub use comm::Comm;
pub use error::MpiError;
pub use file::Files;
pub use run::{RankOutcome, run_rank};
pub use shim::Shim;
pub use world::World;

//! MPI without linking MPI.
//!
//! ```text
//! shim.c --mpicc--> libparabench_mpi_shim.so --dlopen--> Shim --> World
//! ```
//!
//! [`locate`] finds or compiles the shim, [`shim`] opens it, [`world`] is the
//! communicator over it. Not here: policy about programs and results.
#![warn(clippy::disallowed_methods)]
#![allow(unsafe_code)]

pub mod error;
pub mod launcher;
pub mod locate;
pub mod mpiexec;
pub mod shim;
pub mod world;

pub use error::MpiError;
pub use shim::Shim;
pub use world::World;

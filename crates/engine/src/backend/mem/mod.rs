//! Files in memory with the behaviour of Linux and time that is only counted.
//!
//! For tests and simulation: any number of simulated ranks share one [`MemFs`], each
//! has its own [`Mem`] with its descriptors and its virtual clock, which every call
//! advances by its [`Cost`]. The same calls give the same replies and the same times.
//!
//! Names, links, sizes and errnos are those a superuser sees on ext4 or tmpfs.
//! Not here: what files hold, permissions (root ignores them), times, full disks, and `O_DIRECT` (accepted without
//! effect). What lies above the root is refused with `EXDEV`, as by [`super::Beneath`].

mod content;
mod files;
mod node;
mod rank;

pub use node::{MemFs, Used};
pub(crate) use rank::Planted;
pub use rank::{Cost, Mem};

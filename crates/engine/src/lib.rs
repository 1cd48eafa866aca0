//! Plan -> Run: executes plans on storage and measures. The hot code.
//!
//! ```text
//! Plan ─▶ machine ──Call──▶ backend (posix, null, mem)
//!           │  ▲
//!           │  └─Poll── comm (local, sim)
//!           └─times──▶ recorder ─▶ one file per rank ─▶ collect ─▶ Run
//! ```
//!
//! Never sees the language or the reports. `unsafe` stands only here (clock,
//! buffers, back-ends, local ranks), each block with its reason.
#![warn(clippy::disallowed_methods)]
#![allow(unsafe_code)]

pub mod backend;
pub mod buffer;
pub mod call;
pub mod clock;
pub mod collect;
pub mod comm;
pub mod config;
pub mod directory;
mod entries;
pub mod host;
pub mod limits;
pub mod machine;
mod memory;
pub mod own_folder;
pub mod preflight;
pub mod prepare;
pub mod recorder;
pub mod rehearse;
pub mod rng;
pub mod stop;
pub mod supervise;
pub mod verify;
pub mod watch;

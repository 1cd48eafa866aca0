//! Hostile and careless users: nobody gets out of the run directory, nothing measured is lost,
//! and everything ends by itself.
//!
//! Most attacks are data: a block of a text file, one file per family. `make attack` runs
//! them longer; CONTRIBUTING.md tells how to add one ([`table`] has the format).
//!
//! ```text
//! families/escapes.txt      paths, links and moves that lead out of the run directory
//! families/directories.txt  --dir, --force, --clean, markers, mounts
//! families/language.txt     programs that nobody should write
//! families/stored.txt       results and stored runs that are not what they seem
//! families/killed.txt       ranks and parents that are killed or interrupted
//! families/starved.txt      limits, full disks, failing system calls
//! ```
//!
//! [`random`], [`mutated`] and [`lost`] draw more, [`surface`] puts evil names on every way out. [`perform`]
//! runs one and compares what lies beside the run directory before and after. What is no data
//! stands in `limits.rs`, `links.rs` and `words.rs`.

#[path = "../cli/fuse.rs"]
mod fuse;
#[path = "../cli/scene.rs"]
#[allow(dead_code, reason = "the words of tests/cli; not all are needed here")]
mod scene;
#[path = "../cli/tmpfs.rs"]
#[allow(dead_code, reason = "images are for tests/cli")]
mod tmpfs;

mod outside;
mod perform;
mod process;
mod program;
mod stranger;
mod table;

mod families;
mod limits;
mod links;
mod lost;
mod mutated;
mod random;
mod surface;
mod words;

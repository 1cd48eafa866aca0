//! Verified data: `with (verify=true)` writes blocks that describe themselves, and checks what is read.
//!
//! | file | what it knows |
//! |---|---|
//! | `mark` | which bytes belong to a place, a writer and a generation, and back |
//! | `memory` | what this rank wrote where |
//! | `examine` | what is wrong with bytes that were read |
//!
//! What the rank itself wrote is expected exactly. Of other ranks and runs any data is right that says
//! it belongs where it lies. Who fills and checks, and when: `machine::verified`.

pub mod examine;
pub mod mark;
pub mod memory;

pub use examine::{Examiner, Findings, Kind};
pub use mark::{Mark, file_number};
pub use memory::{Memory, State};

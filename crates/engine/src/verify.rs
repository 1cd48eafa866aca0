//! Verified data: `with (verify=true)` writes blocks that describe themselves, and checks what is read.
//!
//! | file | what it knows |
//! |---|---|
//! | `mark` | which bytes belong to a place, a writer and a generation, and back |
//! | `memory` | what this rank wrote where |
//! | `examine` | what is wrong with bytes that were read |
//! | `backend` | the back-end around another one that fills, follows and checks |
//!
//! A rank's own writes are expected exactly. Data of other ranks and runs is right if its marks
//! name its place.

pub mod backend;
pub mod examine;
pub mod mark;
pub mod memory;

pub use backend::{Verified, verifies};
pub use examine::{Checked, Examiner, Findings, Kind, ZeroPlace};
pub use mark::{Mark, file_number};
pub use memory::{Memory, State};

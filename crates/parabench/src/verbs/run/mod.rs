//! `parabench run`: a program goes in, a run comes out.
//!
//! ```text
//! args -> compile -> directory -> preflight -> ranks -> collect -> Run -> report, store
//! ```

mod args;

pub use args::Run;

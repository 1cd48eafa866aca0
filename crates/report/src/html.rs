//! Reports as one HTML file for mail, archive and print.
//!
//! ```text
//! Run, Views ── head: what ran where, how it ended, marks ── blocks ── source with its times
//!            ── failures ── figures with their data ── environment
//! ```
//!
//! No scripts, nothing from elsewhere, and a policy in the file that forbids both: whatever a
//! label or a program says stays text ([`crate::markup`]). The tables equal the terminal's,
//! figure by figure.

mod figures;
mod head;
mod page;
mod run;
mod source;
#[cfg(test)]
mod tests;

pub use run::{render, report};

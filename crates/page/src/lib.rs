//! Run -> page and pictures.
//!
//! ```text
//! Event ─────── aggregate   counters of a fixed size
//! Run + counters ── views   the data of every picture (report::chart)
//! Chart ──────────── svg    drawn without script
//! Run + views ────── html   the page
//! Watched ────────── scene  a program in virtual time, for the studio
//! ```
//!
//! Figures and their words come from `report`; nothing is measured or corrected here.
#![warn(clippy::disallowed_methods)]

pub mod aggregate;
pub mod html;
pub mod scene;
pub mod svg;
pub mod views;

#[cfg(test)]
#[path = "../../report/src/tests/sample.rs"]
#[allow(dead_code)] // The tests of `report` use the others.
mod sample;

//! The report on a run, as tables and lists for the terminal, for Markdown and for pages.
//!
//! ```text
//! stress.ppl · 2 ranks · posix on ext4 (/dev/sda1 at /data) · 1.26 s · finished          facts
//!
//! operation   count      bytes       min       avg       p50       max      bytes/s        summary
//!                                                                             total
//! stress
//!   write     20000  19.53 MiB  16.00 µs  27.50 µs  25.70 µs  7.435 ms  15.62 MiB/s
//!     .open   20000          -  9.000 µs  15.00 µs  ...
//! ```
//!
//! Below it the labels over ranks (`times`), machines (`nodes`), distributed and scheduled work
//! (`work`), evidence, remarks and `failures`; of a sweep its grids (`sweep`). `report` puts them in
//! order. Nothing is computed here besides totals.

pub(crate) mod facts;
mod failures;
mod nodes;
mod report;
mod summary;
mod sweep;
mod times;
pub(crate) mod work;

pub use crate::text::Terminal;
pub(crate) use report::{failed, figures};

use model::run::Run;

/// The whole report of a run for the terminal.
pub fn render(run: &Run, terminal: Terminal) -> String {
    crate::document::text(&report::blocks(run), terminal)
}

/// The whole report of a run as Markdown.
pub fn markdown(run: &Run) -> String {
    crate::document::markdown(&report::blocks(run))
}

/// Failed operations, and ranks that did not finish, alone. "" if all went well.
pub fn failures(run: &Run, terminal: Terminal) -> String {
    crate::document::text(&failed(run), terminal)
}

#[cfg(test)]
mod tests;

//! Logs of any form, by a file of rules: regular expressions whose named groups are fields of an operation.
//!
//! ```text
//! 02:00:01.5 [io-3] READ vol1/7 +4096 @8192 120us
//!    │ [[rule]] match = '^(?<start>\S+) \[(?<thread>[^]]+)\] (?<operation>\w+) (?<path>\S+) \+(?<size>\d+) ...'
//!    ▼
//! start 02:00:01.5, thread io-3, operation READ, path vol1/7, size 4096 ──▶ Record ──▶ resolver
//! ```
//!
//! `field` names what a line can hold, `file` reads rules, `units` and `who` read numbers, times, threads and
//! descriptors, `meaning` makes a record of the fields, `scan` does so for each line of a log. Descriptors and
//! positions are followed by [`crate::resolve`], as for every format.

mod field;
mod file;
mod meaning;
mod scan;
mod units;
mod who;

pub use file::Rules;

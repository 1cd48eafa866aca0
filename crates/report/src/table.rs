//! The tables for the terminal.
//!
//! ```text
//! stress.ppl · 2 ranks · posix on ext4 (/dev/sda1 at /data) · 1.26 s · finished
//!
//! operation   count   bytes       min       avg       p50       p99       max   MiB/s   MiB/s
//!                       MiB        ms        ms        ms        ms        ms  1 rank     all
//! stress
//!   write     20000  19.531  0.016000  0.027500  0.025700  0.058300  7.435000   35.51   15.63
//!     .open   20000       -  0.009000  0.015000  ...
//! ```
//!
//! Times are milliseconds and rates MiB/s so that the table can be laid beside
//! the one of the founding paper (Op, Qty, avg/min/max in ms, MiB/s). What is
//! not here: any arithmetic on measurements besides counting totals.

pub(crate) mod arrivals;
pub(crate) mod grid;
mod limits;
mod nodes;
pub(crate) mod remarks;
mod shares;
mod summary;
mod sweep;
mod times;

use model::run::Run;

/// What the tables are drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Its width in characters. Below about 60 lines are longer than this rather than wrong.
    pub columns: usize,
    /// Mark headings, failures and headers with ANSI colours.
    pub color: bool,
}

impl Default for Terminal {
    /// 100 columns without colours: for files and pipes.
    fn default() -> Terminal {
        Terminal { columns: 100, color: false }
    }
}

/// The whole report of a run: summary, labels over ranks, evidence, notes, failures.
pub fn render(run: &Run, terminal: Terminal) -> String {
    let [figures, labels] = match run.run.sweep {
        Some(_) => [sweep::render(run, terminal), String::new()],
        None => [summary::render(run, terminal), times::render(run, terminal)],
    };
    let sections = [
        remarks::title(run, terminal),
        figures,
        labels,
        nodes::render(run, terminal),
        shares::render(run, terminal),
        arrivals::render(run, terminal),
        remarks::evidence(run, terminal),
        remarks::marks(run, terminal),
        remarks::failures(run, terminal),
        remarks::rank_errors(run, terminal),
    ];
    let mut out = sections.into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join("\n\n");
    out.push('\n');
    out
}

/// What has failed, alone: operations, and ranks that did not finish. "" if nothing has.
pub fn failures(run: &Run, terminal: Terminal) -> String {
    let sections = [remarks::failures(run, terminal), remarks::rank_errors(run, terminal)];
    sections.into_iter().filter(|s| !s.is_empty()).map(|s| s + "\n").collect()
}

/// A table before it is drawn, for other media than the terminal.
pub(crate) struct Sheet {
    /// What it is: "summary".
    pub name: &'static str,
    /// Columns and lines.
    pub grid: grid::Grid,
    /// What is to be known to read it, one sentence or more each.
    pub notes: Vec<String>,
}

/// The tables of a run that was executed once; none if nothing was executed.
pub(crate) fn sheets(run: &Run) -> Vec<Sheet> {
    [
        summary::sheet(run),
        times::sheet(run),
        nodes::sheet(run),
        shares::sheet(run),
        arrivals::sheet(run),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The table of machines side by side.
pub(crate) fn nodes_sheet(run: &Run) -> Option<Sheet> {
    nodes::sheet(run)
}

/// The tables of a sweep as text of up to `columns`; "" for a run without one.
pub(crate) fn sweep_text(run: &Run, columns: usize) -> String {
    sweep::render(run, Terminal { columns, color: false })
}

/// How a line is marked where colours are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paint {
    Plain,
    Heading,
    Faint,
    Bad,
}

/// `line` in colour if the terminal wants it (ECMA-48 select graphic rendition).
fn paint(line: &str, paint: Paint, terminal: Terminal) -> String {
    let code = match paint {
        _ if !terminal.color || line.is_empty() => return line.to_string(),
        Paint::Plain => return line.to_string(),
        Paint::Heading => "1",
        Paint::Faint => "2",
        Paint::Bad => "31",
    };
    format!("\x1b[{code}m{line}\x1b[0m")
}

/// Every line of `text` in colour.
fn paint_lines(text: &str, how: Paint, terminal: Terminal) -> String {
    text.lines().map(|line| paint(line, how, terminal)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;

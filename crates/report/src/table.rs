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
//! (`work`), scores (`scores`), tables after layouts of the program (`layouts`), layers of an imported log (`layers`), evidence (`facts`), remarks and failures; of a sweep its points
//! (`sweep`). Nothing is computed here besides totals.

pub mod answer;
mod directories;
pub mod facts;
pub mod layers;
mod layouts;
mod nodes;
mod points;
pub mod scores;
mod summary;
mod sweep;
mod times;
pub(crate) mod work;

pub use crate::text::{Detail, Terminal};

use crate::document::{Block, Item};
use crate::rows::{execution, grouped};
use crate::text::Paint;
use model::run::{Failure, RankError, Run};
use model::units::format_ns;
use model::{RankSet, errno, words};
use std::collections::{BTreeSet, HashSet};

/// The whole report of a run for the terminal.
pub fn render(run: &Run, terminal: Terminal, detail: Detail) -> String {
    crate::document::text(&report(run, detail), terminal)
}

/// The whole report of a run as Markdown.
pub fn markdown(run: &Run, detail: Detail) -> String {
    crate::document::markdown(&report(run, detail))
}

/// Failed operations, and ranks that did not finish, alone. "" if all went well.
pub fn failures(run: &Run, terminal: Terminal) -> String {
    crate::document::text(&failed(run), terminal)
}

fn report(run: &Run, detail: Detail) -> Vec<Block> {
    match detail {
        Detail::Short => answer::blocks(run),
        Detail::Full => blocks(run),
    }
}

/// Everything that a report says of a run.
fn blocks(run: &Run) -> Vec<Block> {
    let bad = run.run.exit_code != 0;
    let title = Block::Facts(if bad { Paint::Bad } else { Paint::Heading }, facts::title(run));
    let mut blocks = vec![title];
    blocks.extend(figures(run));
    blocks.extend(layers::sheets(run).into_iter().map(Block::Sheet));
    blocks.push(Block::Facts(Paint::Plain, facts::facts(run)));
    blocks.push(remarks(run));
    blocks.extend(failed(run));
    blocks
}

/// The tables of a run.
pub fn figures(run: &Run) -> Vec<Block> {
    let (figures, tables) = match &run.run.sweep {
        Some(sweep) => (sweep::blocks(run, sweep), Vec::new()),
        None if run.rows.is_empty() => {
            (vec![Block::Text("No I/O operation was executed.".into())], vec![times::sheet(run)])
        }
        None => (Vec::new(), vec![summary::sheet(run), times::sheet(run)]),
    };
    let further = [nodes::sheet(run), work::shares(run), work::arrivals(run), scores::sheet(run)];
    let tables =
        tables.into_iter().chain(further).flatten().chain(layouts::sheets(run, layouts::POINTS));
    let mut blocks: Vec<Block> = figures.into_iter().chain(tables.map(Block::Sheet)).collect();
    put_scores(run, &mut blocks);
    blocks
}

/// Puts the scores of a run directly below its first table.
fn put_scores(run: &Run, blocks: &mut Vec<Block>) {
    let first = blocks.iter_mut().find_map(|block| match block {
        Block::Sheet(sheet) => Some(sheet),
        _ => None,
    });
    match first {
        Some(sheet) => drop(sheet.notes.splice(0..0, scores::lines(run))),
        None => blocks.push(Block::List(scores::lines(run).into_iter().map(Item::new).collect())),
    }
}

/// Notes, then what the evidence says against the figures, and how to fix it.
pub fn remarks(run: &Run) -> Block {
    let evidence = &run.run.evidence;
    let notes = evidence.notes.iter().map(|note| Item::new(format!("note: {note}")));
    let marks = evidence.marks.iter().map(|mark| {
        let (word, paint) =
            if mark.counts { ("verdict", Paint::Bad) } else { ("remark", Paint::Plain) };
        let text = format!("{word} {}: {}", mark.code, mark.seen_in_executions());
        Item { paint, text, more: vec![format!("fix: {}", mark.advice)] }
    });
    Block::List(notes.chain(marks).collect())
}

/// Failed operations and ranks that did not finish; nothing if all went well.
pub fn failed(run: &Run) -> Vec<Block> {
    vec![Block::List(failures_by_kind(run, LISTED)), Block::List(rank_errors(run, LISTED))]
}

/// Kinds of failures that are listed; the rest is counted.
const LISTED: usize = 20;

/// Failed operations, one entry for each kind and place. Wrong bytes are of another kind in each file and on
/// each rank: every place has to be looked at.
fn failures_by_kind(run: &Run, listed: usize) -> Vec<Item> {
    let key = |failure: &'_ Failure| {
        let is_wrong = errno::name(failure.errno) == "EBADMSG";
        let place = is_wrong.then(|| (failure.path.clone(), failure.rank));
        (failure.place.clone(), failure.op.clone(), failure.errno, place)
    };
    let kinds = grouped(run.run.failures.iter().map(|failure| (key(failure), failure)));
    let more = more_kinds(kinds.len(), listed, "kind of failures");
    let listed = kinds.iter().take(listed).map(|(_, all)| {
        let count = all.iter().fold(0u64, |sum, one| sum.saturating_add(one.occurrences));
        Item::bad(failure(run, all[0], count))
    });
    listed.chain(more).collect()
}

/// `and 3 more kinds of failures`
fn more_kinds(all: usize, listed: usize, noun: &str) -> Option<Item> {
    let more = all.saturating_sub(listed) as u64;
    (more > 0).then(|| Item::bad(format!("and {more} more {}", words::plural(more, noun))))
}

/// Its message after the error's name.
fn reason(failure: &Failure) -> &str {
    let name = errno::name(failure.errno);
    let message = failure.message.strip_prefix(name).unwrap_or(&failure.message);
    let message = message.trim_start_matches([':', ' ']);
    if message.is_empty() { errno::text(failure.errno) } else { message }
}

/// `12 x write ENOSPC at p.ppl:9:27 (No space left on device), first: after 1.2 s, rank 0, f-0, offset 512`; of a sweep
/// `..., first: n=2, repetition 1, after 1.2 s, rank 0, ...`
fn failure(run: &Run, first: &Failure, count: u64) -> String {
    let at = match execution(run, first.cell, first.repetition) {
        one if one.is_empty() => one,
        one => one + ", ",
    };
    let Failure { op, place, rank, offset_bytes: offset, .. } = first;
    let when = match first.at_ns {
        0 => String::new(),
        at_ns => format!("after {}, ", format_ns(at_ns as f64)),
    };
    let (name, text) = (errno::name(first.errno), reason(first));
    let path = if first.path.is_empty() { "(no name)" } else { &first.path };
    format!(
        "{count} x {op} {name} at {place} ({text}), first: {at}{when}rank {rank}, {path}, offset {offset}"
    )
}

/// Ranks that did not finish, one entry for each reason.
fn rank_errors(run: &Run, listed: usize) -> Vec<Item> {
    let errors = run.run.rank_errors.iter();
    let mut kinds = grouped(errors.map(|error| ((&error.place, &error.message), error)));
    // A process that was ended from outside has no place: others ended because of it.
    kinds.sort_by_key(|kind| !kind.0.0.is_empty());
    let more = more_kinds(kinds.len(), listed, "way in which ranks ended");
    let lines = kinds.iter().take(listed).map(|((place, message), kind)| {
        let at = if place.is_empty() { "" } else { " at " };
        let all: BTreeSet<u32> = kind.iter().map(|error| error.rank).collect();
        let ranks: RankSet = all.into_iter().collect();
        Item::bad(format!("{}{ranks} ended{at}{place}: {message}", in_executions(run, kind)))
    });
    lines.chain(more).collect()
}

/// The executions of a sweep that they ended in: `at n=2, repetition 1: `, `in 3 executions, first at ...: `.
fn in_executions(run: &Run, errors: &[&RankError]) -> String {
    let Some(sweep) = &run.run.sweep else { return String::new() };
    let all: HashSet<(u32, u32)> =
        errors.iter().map(|error| (error.cell, error.repetition)).collect();
    let first = sweep.describe_execution(errors[0].cell, errors[0].repetition);
    match all.len() {
        1 => format!("at {first}: "),
        count => format!("in {count} executions, first at {first}: "),
    }
}

#[cfg(test)]
mod tests;

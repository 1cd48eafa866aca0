//! The rates of loops `repeat ... until T level`: up to the limit, with the iterations after it that
//! make all members equal ("wear-out", as IOR and IO500 have it), and over all of the label around it.

use crate::limited::{self, Limited};
use crate::text::escape;
use model::plan::PARTS;
use model::run::{LabelRow, Row, Run};
use model::units::{Measure, format_ns};

/// The labels that such a loop gives its parts (docs/language.md).
const UNTIL: &str = PARTS[0];
const WEAR_OUT: &str = PARTS[1];

/// Why no member had anything left to do.
const EITHER: &str =
    "the count ended before the limit, or all members had done as much when it came";

/// A sentence for each operation of each such loop.
pub(super) fn sentences(run: &Run) -> Vec<String> {
    let whole = limited::of(run);
    run.labels.iter().flat_map(|limited| of_loop(run, &whole, limited)).collect()
}

fn of_loop(run: &Run, whole: &[Limited], limited: &LabelRow) -> Vec<String> {
    let Some(outer) = limited.label.strip_suffix(UNTIL) else { return Vec::new() };
    let worn = format!("{outer}{WEAR_OUT}");
    let is_worn = |label: &&LabelRow| {
        (&label.label, label.cell, label.repetition) == (&worn, limited.cell, limited.repetition)
    };
    let Some(after) = run.labels.iter().find(is_worn) else { return Vec::new() };
    let both_ns = limited.busy_ns + after.busy_ns;
    let own = |row: &&Row| {
        row.part_of.is_none()
            && (&row.label, row.cell, row.repetition)
                == (&limited.label, limited.cell, limited.repetition)
    };
    let rows = run.rows.iter().filter(own);
    let with_whole = |(row, said): (&Row, String)| match over_all(run, whole, row, outer) {
        Some(over_all) => format!("{said} {over_all}"),
        None => said,
    };
    let wears = |row: &Row| {
        (&row.label, row.cell, row.repetition) == (&worn, limited.cell, limited.repetition)
    };
    if !run.rows.iter().any(wears) {
        let said = |row| Some((row, without_wear_out(run, row, outer, limited.busy_ns)?));
        return rows.filter_map(said).map(with_whole).collect();
    }
    let said = |row| Some((row, sentence(row, rest(run, row, &worn), outer, both_ns)?));
    rows.filter_map(said).map(with_whole).collect()
}

/// What IOR calls the bandwidth: everything that the label has done, with opening, fsync and closing
/// in its time.
fn over_all(run: &Run, whole: &[Limited], row: &Row, outer: &str) -> Option<String> {
    let label = outer.strip_suffix('/')?;
    let point = (row.cell, row.repetition);
    let one = whole.iter().find(|one| {
        (&*one.label, &*one.op, (one.cell, one.repetition)) == (label, &*row.op, point)
    })?;
    let is_own =
        |known: &&LabelRow| known.label == one.label && (known.cell, known.repetition) == point;
    let busy = run.labels.iter().find(is_own)?;
    let at_least = if busy.busy_is_bound { "at least " } else { "" };
    let rate = match (one.mib_s, one.ops_s) {
        (Some(mib_s), _) => Measure::ByteRate.format(mib_s, 3),
        (None, ops_s) => Measure::OpRate.format(ops_s?, 3),
    };
    let took = format_ns(busy.busy_ns as f64);
    Some(format!("All of {}, {took}: {at_least}{rate}.", escape(label)))
}

/// Nothing was left to do when the loop was over: the limit need not have come.
fn without_wear_out(run: &Run, row: &Row, outer: &str, took_ns: u64) -> Option<String> {
    let rate = match (row.mib_s, row.ops_s) {
        (Some(mib_s), _) => Measure::ByteRate.format(mib_s, 3),
        (None, ops_s) => Measure::OpRate.format(ops_s?, 3),
    };
    Some(format!(
        "{}: {rate} in {}: {}; there was no wear-out.",
        place(row, outer),
        format_ns(took_ns as f64),
        why_nothing_was_left(run, row, outer)
    ))
}

/// Whether the limit ended the loop stands in the evidence of the label around it; unless that is in a
/// loop with a limit of its own.
fn why_nothing_was_left(run: &Run, row: &Row, outer: &str) -> &'static str {
    let label = outer.trim_end_matches('/');
    let known = run.run.evidence.labels.iter().find(|known| {
        (&*known.label, known.cell, known.repetition) == (label, row.cell, row.repetition)
    });
    let is_in_another = run.run.sites.iter().any(|site| site.op == row.op && site.timed);
    match known.map(|known| known.timed) {
        Some(false) => "the count ended before the limit",
        Some(true) if !is_in_another => "all members had done as much when the limit came",
        _ => EITHER,
    }
}

/// `w, write`: the label around the loop and the operation.
fn place(row: &Row, outer: &str) -> String {
    match outer.trim_end_matches('/') {
        "" => escape(&row.op),
        label => format!("{}, {}", escape(label), escape(&row.op)),
    }
}

/// The same operation in the wear-out.
fn rest<'r>(run: &'r Run, row: &Row, worn: &str) -> Option<&'r Row> {
    let key = (&*row.op, row.cell, row.repetition);
    run.rows
        .iter()
        .find(|other| other.label == worn && key == (&*other.op, other.cell, other.repetition))
}

fn sentence(row: &Row, rest: Option<&Row>, outer: &str, both_ns: u64) -> Option<String> {
    let done = |row: &Row| row.count - row.failed.min(row.count) - row.expected.min(row.count);
    let (bytes, count) =
        (row.bytes + rest.map_or(0, |row| row.bytes), done(row) + rest.map_or(0, done));
    let seconds = both_ns as f64 / 1e9;
    let (early, whole) = match (row.mib_s, row.ops_s) {
        (Some(early), _) => {
            let whole = bytes as f64 / f64::from(1 << 20) / seconds;
            (Measure::ByteRate.format(early, 3), Measure::ByteRate.format(whole, 3))
        }
        (None, Some(early)) => {
            let whole = count as f64 / seconds;
            (Measure::OpRate.format(early, 3), Measure::OpRate.format(whole, 3))
        }
        (None, None) => return None,
    };
    let (place, both) = (place(row, outer), format_ns(both_ns as f64));
    Some(format!("{place}: {early} up to the limit; {whole} with the wear-out, {both} in all."))
}

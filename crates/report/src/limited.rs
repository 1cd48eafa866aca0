//! Labels around loops `repeat ... until T level`, as a whole: all bytes that an operation moved in the
//! label, in the part before the limit (`until`) and in the part that makes members equal (`wear-out`), by
//! the busy time of the label, which has opening, fsync and closing in it. IOR's and IO500's figure.
//!
//! ```text
//! write/until     fwrite  866 MiB   844 MiB/s     up to the limit
//! write/wear-out  fwrite   18 MiB   160 MiB/s
//! write                            637 MiB/s      = (866 + 18) MiB / busy time of write
//! ```
//!
//! Rows do not repeat what is in rows of inner labels: these figures are beside them.

use crate::rows::rate_text;
use model::plan::PARTS;
use model::run::{LabelRow, Row, Run};
use model::units::format_ns;
use serde::Serialize;
use std::collections::HashMap;

/// An operation of a label around such a loop, or of several in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limited {
    /// The label that the program names.
    pub label: String,
    /// The operation.
    pub op: String,
    /// Point of the sweep.
    pub cell: u32,
    /// Its repetition.
    pub repetition: u32,
    /// Bytes that it moved in the label and in its parts.
    pub bytes: u64,
    /// Operations that did not fail there.
    pub count: u64,
    /// Bytes up to the limit by the time up to the limit, MiB/s; null if the operation moves none.
    pub limit_mib_s: Option<f64>,
    /// The same of operations, 1/s.
    pub limit_ops_s: Option<f64>,
    /// All bytes by the busy time of the label, MiB/s; null if the operation moves none.
    pub mib_s: Option<f64>,
    /// The same of operations, 1/s.
    pub ops_s: Option<f64>,
}

/// The label around a part `which` of a loop; `None`: it is no such part, or no label is around it.
fn around(path: &str, which: usize) -> Option<&str> {
    path.rsplit_once('/').filter(|(_, last)| *last == PARTS[which]).map(|(outer, _)| outer)
}

/// The rest of a path after the label's own: `/until` is a part of a loop in it.
pub fn is_part(rest: &str) -> bool {
    (0..PARTS.len()).any(|which| around(rest, which) == Some(""))
}

/// Label path and point of a sweep.
type At<'r> = (&'r str, u32, u32);

/// The operations in loops of all labels around them, in order of appearance.
pub fn of(run: &Run) -> Vec<Limited> {
    let mut parts: HashMap<At<'_>, [bool; 2]> = HashMap::new();
    for label in &run.labels {
        for which in 0..PARTS.len() {
            if let Some(outer) = around(&label.label, which) {
                parts.entry((outer, label.cell, label.repetition)).or_default()[which] = true;
            }
        }
    }
    parts.retain(|_, has| *has == [true, true]);
    let mut rows: HashMap<At<'_>, Vec<&Row>> = HashMap::new();
    for row in run.rows.iter().filter(|row| !parts.is_empty() && row.part_of.is_none()) {
        for label in [Some(&*row.label), in_part(row)].into_iter().flatten() {
            let at = (label, row.cell, row.repetition);
            if parts.contains_key(&at) {
                rows.entry(at).or_default().push(row);
            }
        }
    }
    let of_label = |label: &LabelRow| {
        let rows = rows.get(&(&*label.label, label.cell, label.repetition));
        of_label(label, rows.map_or(&[], Vec::as_slice))
    };
    run.labels.iter().flat_map(of_label).collect()
}

/// The label around a row's part.
fn in_part(row: &Row) -> Option<&str> {
    (0..PARTS.len()).find_map(|which| around(&row.label, which))
}

/// `rows`: the rows of the label itself and of its parts.
fn of_label(label: &LabelRow, rows: &[&Row]) -> Vec<Limited> {
    let mut found: Vec<Limited> = Vec::new();
    for row in rows.iter().filter(|row| row.label != label.label) {
        if !found.iter().any(|known| known.op == row.op) {
            found.push(whole(label, row, rows.iter().copied().filter(|other| other.op == row.op)));
        }
    }
    found
}

/// `first`: the row of the part that comes first.
fn whole<'r>(label: &LabelRow, first: &Row, rows: impl Iterator<Item = &'r Row>) -> Limited {
    let (mut bytes, mut count, mut moves) = (0u64, 0u64, false);
    for row in rows {
        bytes = bytes.saturating_add(row.bytes);
        count = count.saturating_add(done(row));
        moves |= row.mib_s.is_some();
    }
    let seconds = label.busy_ns as f64 / 1e9;
    let rate = |amount: f64| (seconds > 0.0).then(|| amount / seconds);
    let before = around(&first.label, 0).map(|_| first);
    Limited {
        label: label.label.clone(),
        op: first.op.clone(),
        cell: label.cell,
        repetition: label.repetition,
        bytes,
        count,
        limit_mib_s: before.and_then(|row| row.mib_s),
        limit_ops_s: before.and_then(|row| row.ops_s),
        mib_s: rate(bytes as f64 / 1_048_576.0).filter(|_| moves),
        ops_s: rate(count as f64),
    }
}

/// The same as rows of the label around the loop, for statistics: rates alone.
pub fn rows(run: &Run) -> Vec<Row> {
    let row = |one: Limited| Row {
        label: one.label,
        op: one.op,
        cell: one.cell,
        repetition: one.repetition,
        bytes: one.bytes,
        count: one.count,
        mib_s: one.mib_s,
        ops_s: one.ops_s,
        ..Row::default()
    };
    of(run).into_iter().map(row).collect()
}

/// A sentence for each operation of each such loop: its rate up to the limit, with the iterations after
/// it that make all members equal ("wear-out", as IOR and IO500 have it), and over the label around it.
pub fn sentences(run: &Run) -> Vec<String> {
    let whole = of(run);
    let rows = run.rows.iter().filter(|row| row.part_of.is_none());
    rows.filter_map(|row| sentence(run, &whole, row)).collect()
}

fn sentence(run: &Run, whole: &[Limited], row: &Row) -> Option<String> {
    let outer = row.label.strip_suffix(PARTS[0])?;
    let label = outer.trim_end_matches('/');
    let point = (row.cell, row.repetition);
    let busy_ns = |name: &str| {
        let is_it = |one: &&LabelRow| one.label == name && (one.cell, one.repetition) == point;
        run.labels.iter().find(is_it).map(|label| label.busy_ns)
    };
    let worn = format!("{outer}{}", PARTS[1]);
    let (limited_ns, after_ns) = (busy_ns(&row.label)?, busy_ns(&worn)?);
    let rate = rate_text(row.mib_s, row.ops_s)?;
    let place = if label.is_empty() { row.op.clone() } else { format!("{label}, {}", row.op) };
    let mut text = format!("{place}: {rate} up to the limit ({})", format_ns(limited_ns as f64));
    let is_after = |other: &&Row| other.label == worn && (other.cell, other.repetition) == point;
    if run.rows.iter().any(|other| is_after(&other)) {
        let after = run.rows.iter().filter(is_after).filter(|other| other.op == row.op);
        let (bytes, count) = after.chain([row]).fold((0, 0), |(bytes, count), row| {
            (row.bytes.saturating_add(bytes), done(row).saturating_add(count))
        });
        let both_ns = (limited_ns + after_ns) as f64;
        let mib_s = row.mib_s.map(|_| bytes as f64 / 1_048_576.0 / (both_ns / 1e9));
        let rate = rate_text(mib_s, Some(count as f64 / (both_ns / 1e9)))?;
        text += &format!("; {rate} with the wear-out ({} in all)", format_ns(both_ns));
    } else {
        let labels = &run.run.evidence.labels;
        let own =
            labels.iter().find(|one| one.label == label && (one.cell, one.repetition) == point);
        text += match own.is_some_and(|own| !own.timed) {
            true => "; the count ended before the limit",
            false => "; no wear-out",
        };
    }
    let own = |one: &&Limited| {
        (&*one.label, &*one.op, one.cell, one.repetition) == (label, &*row.op, point.0, point.1)
    };
    if let (Some(own), Some(busy_ns)) = (whole.iter().find(own), busy_ns(label)) {
        let (rate, took) = (rate_text(own.mib_s, own.ops_s)?, format_ns(busy_ns as f64));
        text += &format!("; {rate} over all of {label} ({took})");
    }
    Some(text + ".")
}

/// Operations that did not fail.
fn done(row: &Row) -> u64 {
    row.count.saturating_sub(row.failed).saturating_sub(row.expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        let label =
            |label: &str, busy_ns| LabelRow { label: label.into(), busy_ns, ..LabelRow::default() };
        let row = |label: &str, op: &str, mib: u64, mib_s| Row {
            label: label.into(),
            op: op.into(),
            count: 8,
            bytes: mib << 20,
            mib_s,
            ops_s: Some(4.0),
            ..Row::default()
        };
        Run {
            labels: vec![
                label("write", 8_000_000_000),
                label("write/until", 2_000_000_000),
                label("write/wear-out", 1_000_000_000),
                label("until", 1),
            ],
            rows: vec![
                row("write", "fsync", 0, None),
                row("write/until", "fwrite", 60, Some(30.0)),
                row("write/wear-out", "fwrite", 20, Some(20.0)),
                row("write/wear-out", "stat", 0, None),
                row("until", "fwrite", 7, Some(1.0)),
            ],
            ..Run::default()
        }
    }

    #[test]
    fn the_whole_rate_is_all_bytes_by_the_time_of_the_label_around_the_loop() {
        let found = of(&run());
        let told: Vec<_> =
            found.iter().map(|one| (&*one.op, one.limit_mib_s, one.mib_s, one.ops_s)).collect();
        let write = ("fwrite", Some(30.0), Some(10.0), Some(2.0));
        assert_eq!(told, [write, ("stat", None, None, Some(1.0))]);
        assert!(found.iter().all(|one| one.label == "write"));
    }

    #[test]
    fn a_label_that_only_has_the_name_is_none() {
        let mut run = run();
        run.labels.retain(|label| label.label != "write/wear-out");
        assert_eq!(of(&run), []);
    }
}

//! The report as text for people and as JSON (docs/fidelity.schema.json).

use super::verdict::grouped;
use super::{Execution, Fidelity, Figure, First, Kind, Scope, ShownStep};
use crate::table::Terminal;
use crate::table::grid::{Cell, Column, Grid, Kind as Of, Line};
use crate::text::{escape, flow};
use model::units::{Measure, with_digits};
use std::fmt::Write as _;

/// The report for a terminal.
pub fn table(found: &Fidelity, terminal: Terminal) -> String {
    let mut out = String::new();
    let say = |out: &mut String, text: &str| {
        let _ = writeln!(out, "{}", flow(&escape(text), terminal.columns));
    };
    let mut parts = vec![executions(found, terminal)];
    if found.ops.iter().any(|op| op.original_count != op.replay_count) {
        parts.push(operations(found, terminal));
    }
    if found.scopes.iter().any(|scope| !scope.figures.is_empty()) {
        parts.push(figures(found, terminal));
    }
    parts.extend(latency(found, terminal));
    let _ = writeln!(out, "{}", parts.join("\n"));
    if let (n @ 1.., Some([ours, theirs])) = (found.renamed, &found.renamed_first) {
        let first = format!("the first one {ours}, which is {theirs} there");
        let names = if n == 1 { "name is another" } else { "names are others" };
        say(&mut out, &format!("note: {} {names} in the replay: {first}", grouped(n)));
    }
    if let Some(adopted @ 1..) = found.worst().map(|worst| worst.adopted) {
        let what = "give ranks what others had opened in the original: no differences";
        say(&mut out, &format!("note: {} more opens of the replay {what}", grouped(adopted)));
    }
    together(found).iter().for_each(|note| say(&mut out, &format!("note: {note}")));
    found.notes.iter().for_each(|note| say(&mut out, &format!("note: {note}")));
    let firsts = found.worst().and_then(|worst| worst.differences.as_ref());
    for first in firsts.iter().flat_map(|differences| &differences.firsts) {
        let _ = writeln!(out, "{}", example(first));
    }
    for gate in &found.gates {
        let (words, reasons) = (gate.verdict.words(), gate.reasons.join("; "));
        say(&mut out, &format!("gate {words}: {}: {reasons}", gate.gate));
    }
    say(&mut out, &format!("verdict: {}", found.verdict));
    out
}

/// The report as one JSON object.
pub fn json(found: &Fidelity) -> String {
    let text = serde_json::to_string(found).unwrap_or_default();
    model::escape::json(&text).into_owned() + "\n"
}

const EXECUTIONS: [Column; 11] = [
    Column::new("execution", "", Of::Label, 0),
    Column::new("operations", "", Of::Count, 0),
    Column::new("differ", "", Of::Count, 0),
    Column::new("missing", "", Of::Count, 0),
    Column::new("extra", "", Of::Count, 0),
    Column::new("order", "", Of::Count, 0),
    Column::new("names", "", Of::Count, 0),
    Column::new("offsets", "", Of::Count, 0),
    Column::new("bytes", "", Of::Count, 0),
    Column::new("results", "", Of::Count, 0),
    Column::new("flags", "", Of::Count, 0),
];

/// What differs, execution by execution.
fn executions(found: &Fidelity, terminal: Terminal) -> String {
    let named = |role: &str, one: &Execution| {
        let mut cells = vec![Cell::Text(format!("{role} {}", escape(&one.name)))];
        cells.push(Cell::Count(one.operations));
        match &one.differences {
            None => cells.extend((0..=Kind::COUNT).map(|_| Cell::None)),
            Some(differences) => {
                cells.push(Cell::Count(differences.operations));
                cells.extend(Kind::ALL.map(|kind| Cell::Count(differences.count(kind))));
            }
        }
        let bad = one.differences.as_ref().is_some_and(|differences| differences.operations > 0);
        Line::Cells { cells, bad }
    };
    let originals = found.originals.iter().map(|one| named("original", one));
    let replays = found.replays.iter().map(|one| named("replay", one));
    let lines = originals.chain(replays).collect();
    Grid { columns: EXECUTIONS.to_vec(), lines }.draw(terminal) + "\n"
}

const OPERATIONS: [Column; 5] = [
    Column::new("operation", "", Of::Word, 0),
    Column::new("count", "original", Of::Count, 0),
    Column::new("count", "replay", Of::Count, 0),
    Column::new("bytes", "original", Of::Count, 0),
    Column::new("bytes", "replay", Of::Count, 0),
];

/// Operations of which one side has more.
fn operations(found: &Fidelity, terminal: Terminal) -> String {
    let differing = found.ops.iter().filter(|op| op.original_count != op.replay_count);
    let line = |op: &super::OpCounts| Line::Cells {
        cells: vec![
            Cell::Text(op.op.into()),
            Cell::Count(op.original_count),
            Cell::Count(op.replay_count),
            Cell::Count(op.original_bytes),
            Cell::Count(op.replay_bytes),
        ],
        bad: true,
    };
    Grid { columns: OPERATIONS.to_vec(), lines: differing.map(line).collect() }.draw(terminal)
        + "\n"
}

const FIGURES: [Column; 6] = [
    Column::new("phase", "", Of::Label, 0),
    Column::new("figure", "", Of::Word, 0),
    Column::new("original", "", Of::Count, 0),
    Column::new("replay", "", Of::Count, 0),
    Column::new("error", "%", Of::Number { least: 1, most: 2 }, 0),
    Column::new("spread", "%", Of::Number { least: 1, most: 2 }, 0),
];

fn figures(found: &Fidelity, terminal: Terminal) -> String {
    let line = |(scope, figure): (&Scope, &Figure)| {
        let value = |value: Option<f64>| match value {
            None => Cell::None,
            Some(value) if figure.name == "concurrency" => Cell::Text(with_digits(value, 3)),
            Some(value) => Cell::Text(Measure::Time.format(value, 4)),
        };
        let cells = vec![
            Cell::Text(phase(scope)),
            Cell::Text(figure.name.into()),
            value(figure.original),
            value(figure.replay),
            Cell::number(figure.error_percent),
            Cell::number(figure.spread_percent),
        ];
        Line::Cells { cells, bad: false }
    };
    let all =
        found.scopes.iter().flat_map(|scope| scope.figures.iter().map(move |one| (scope, one)));
    let mut grid = Grid { columns: FIGURES.to_vec(), lines: all.map(line).collect() };
    let alone = found.originals.len() < 2;
    grid.retain(|at| at != 5 || !alone);
    grid.draw(terminal) + "\n"
}

fn phase(scope: &Scope) -> String {
    match scope.phase.as_deref() {
        None => "(all)".into(),
        Some("") => "(no label)".into(),
        Some(label) => escape(label),
    }
}

const LATENCY: [Column; 8] = [
    Column::new("operation", "", Of::Word, 0),
    Column::new("count", "original", Of::Count, 0),
    Column::new("count", "replay", Of::Count, 0),
    Column::new("mean", "original", Of::Count, 0),
    Column::new("mean", "replay", Of::Count, 0),
    Column::new("error", "%", Of::Number { least: 1, most: 2 }, 0),
    Column::new("ks", "%", Of::Number { least: 1, most: 2 }, 0),
    Column::new("wasserstein", "%", Of::Number { least: 1, most: 2 }, 0),
];

/// Times of single operations over all phases.
fn latency(found: &Fidelity, terminal: Terminal) -> Option<String> {
    let all = &found.scopes.first()?.latency;
    let line = |one: &super::Latency| Line::Cells {
        cells: vec![
            Cell::Text(one.op.into()),
            Cell::Count(one.original_count),
            Cell::Count(one.replay_count),
            Cell::Text(Measure::Time.format(one.original_mean_ns, 3)),
            Cell::Text(Measure::Time.format(one.replay_mean_ns, 3)),
            Cell::number(one.mean_error_percent),
            Cell::number(Some(one.ks_percent)),
            Cell::number(one.wasserstein_percent),
        ],
        bad: false,
    };
    let grid = Grid { columns: LATENCY.to_vec(), lines: all.iter().map(line).collect() };
    (!all.is_empty()).then(|| grid.draw(terminal) + "\n")
}

/// Of what single operations are counted and timed, where it is several executions.
fn together(found: &Fidelity) -> Option<String> {
    let [ours, theirs] = [&found.originals, &found.replays].map(|side| side.len());
    let is_shown = found.scopes.first().is_some_and(|scope| !scope.latency.is_empty());
    let runs = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    (is_shown && ours.max(theirs) > 1).then(|| {
        let (ours, theirs) = (runs(ours, "original"), runs(theirs, "replay"));
        format!("counts and times of single operations are of {ours} and {theirs} together")
    })
}

/// A difference with both contexts.
fn example(first: &First) -> String {
    let what = match first.kind {
        Kind::Missing => "the first operation that is missing",
        Kind::Extra => "the first operation that is extra",
        Kind::Order => "the first operation out of order",
        Kind::Names => "the first operation on another file",
        Kind::Offsets => "the first operation at another offset",
        Kind::Bytes => "the first operation of another size",
        Kind::Results => "the first operation with another result",
        Kind::OpenFlags => "the first operation with other open flags",
    };
    let mut out = format!("{what}, on rank {}:\n", first.rank);
    for (side, steps) in [("original", &first.original), ("replay", &first.replay)] {
        for step in steps {
            let _ = writeln!(out, "  {side:<8} {}", line(step));
        }
    }
    out
}

fn line(step: &ShownStep) -> String {
    let mark = if step.here { '>' } else { ' ' };
    let place = if step.place.is_empty() { String::new() } else { format!("   {}", step.place) };
    format!("{mark} {:>7}  {}", step.number, escape(&format!("{}{place}", step.text)))
}

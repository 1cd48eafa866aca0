//! A comparison as text for people, Markdown, JSON (docs/compare.schema.json) and JUnit.

use super::{Claim, Comparison, Difference, Row};
use crate::markdown::plain;
use crate::svg::xml;
use crate::table::Terminal;
use crate::table::grid::{Cell, Column, Grid, Kind, Line};
use crate::text::{escape, flow};
use std::fmt::Write as _;

const COLUMNS: [Column; 11] = [
    Column::new("label", "", Kind::Label, 0),
    Column::new("operation", "", Kind::Word, 0),
    Column::new("figure", "", Kind::Word, 0),
    Column::new("n", "A", Kind::Count, 2),
    Column::new("n", "B", Kind::Count, 2),
    Column::new("B faster", "times", Kind::Number { least: 2, most: 4 }, 0),
    Column::new("from", "95 %", Kind::Number { least: 2, most: 4 }, 0),
    Column::new("to", "95 %", Kind::Number { least: 2, most: 4 }, 0),
    Column::new("p", "alone", Kind::Number { least: 2, most: 5 }, 2),
    Column::new("p", "Holm", Kind::Number { least: 2, most: 5 }, 1),
    Column::new("delta", "Cliff", Kind::Number { least: 1, most: 2 }, 3),
];

/// The whole comparison for a terminal.
pub fn table(comparison: &Comparison, terminal: Terminal) -> String {
    let mut out = format!("A: {}\nB: {}\n", escape(&comparison.base), escape(&comparison.new));
    for difference in &comparison.differences {
        let _ = writeln!(
            out,
            "{}",
            flow(&format!("differs: {}", escape(&difference.sentence())), terminal.columns)
        );
    }
    out.push('\n');
    if comparison.rows.is_empty() {
        out.push_str("Both sides have no row in common.\n");
    } else {
        let lines = comparison.rows.iter().map(line).collect();
        let grid = Grid { columns: COLUMNS.to_vec(), lines };
        let _ = writeln!(out, "{}", grid.draw(terminal));
        let _ = writeln!(out, "{}\n", flow(&legend(comparison), terminal.columns));
    }
    for row in &comparison.rows {
        let _ = writeln!(out, "{}", flow(&escape(&row.sentence), terminal.columns));
    }
    for lacking in &comparison.unmatched {
        let (op, label) = (escape(&lacking.op), escape(&lacking.label));
        let _ = writeln!(
            out,
            "{}",
            flow(&format!("only {}: {op} of \"{label}\"", lacking.side), terminal.columns)
        );
    }
    for gate in &comparison.gates {
        let word = if gate.holds { "gate holds" } else { "gate fails" };
        let reasons = gate.reasons.join("; ");
        let text = format!("{word}: {}: {}", escape(&gate.gate), escape(&reasons));
        let _ = writeln!(out, "{}", flow(&text, terminal.columns));
    }
    out
}

/// What the columns are, and why a gate gives another ratio.
fn legend(comparison: &Comparison) -> String {
    let tested = comparison.rows.iter().filter(|row| row.p.is_some()).count();
    let mut text = format!(
        "B faster: Hodges-Lehmann estimate of the ratio, with its 95 % interval. p alone: of the \
         Mann-Whitney test; Holm: corrected for the {tested} rows tested, which a claim is made of."
    );
    if !comparison.gates.is_empty() {
        text.push_str(" Gates: the ratio of the medians of one figure, which differs a little.");
    }
    text
}

fn line(row: &Row) -> Line {
    let label = match row.cell {
        0 => escape(&row.label),
        cell => format!("{} (cell {cell})", escape(&row.label)),
    };
    let op = if row.op.is_empty() { "(label)".to_string() } else { escape(&row.op) };
    let cells = vec![
        Cell::Text(label),
        Cell::Text(op),
        Cell::Text(row.metric.name().into()),
        Cell::Count(row.base_n as u64),
        Cell::Count(row.new_n as u64),
        Cell::number(row.ratio),
        Cell::number(row.ci95_low),
        Cell::number(row.ci95_high),
        Cell::number(row.p),
        Cell::number(row.p_holm),
        Cell::number(row.cliffs_delta),
    ];
    Line::Cells { cells, bad: row.claim == Claim::Slower }
}

/// The comparison as one JSON object.
pub fn json(comparison: &Comparison) -> String {
    // Figures that are not finite become null, which the schema allows.
    let text = serde_json::to_string(comparison).unwrap_or_default();
    model::escape::json(&text).into_owned() + "\n"
}

/// Tables for an issue or a merge request.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = format!("### {} against {}\n\n", plain(&comparison.new), plain(&comparison.base));
    out.push_str(
        "| label | operation | figure | n | times faster | 95 % interval | p alone | p (Holm) | |\n",
    );
    out.push_str("|---|---|---|---:|---:|---:|---:|---:|---|\n");
    for row in &comparison.rows {
        let number =
            |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
        let interval = match (row.ci95_low, row.ci95_high) {
            (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
            _ => String::new(),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} / {} | {} | {interval} | {} | {} | {} |",
            plain(&row.label),
            plain(&row.op),
            plain(row.metric.name()),
            row.base_n,
            row.new_n,
            number(row.ratio),
            number(row.p),
            number(row.p_holm),
            plain(&row.sentence)
        );
    }
    out.push('\n');
    let difference =
        |difference: &Difference| format!("- differs: {}\n", plain(&difference.sentence()));
    out.extend(comparison.differences.iter().map(difference));
    for gate in &comparison.gates {
        let word = if gate.holds { "holds" } else { "**fails**" };
        let _ = writeln!(
            out,
            "- gate {} {word}: {}",
            plain(&gate.gate),
            plain(&gate.reasons.join("; "))
        );
    }
    out
}

/// The gates as a JUnit test suite (one case per gate), for pipelines.
pub fn junit(comparisons: &[Comparison]) -> String {
    let gates = || comparisons.iter().flat_map(|one| one.gates.iter().map(move |gate| (one, gate)));
    let failures = gates().filter(|(_, gate)| !gate.holds).count();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let (all, name) = (gates().count(), "parabench compare");
    let _ = writeln!(out, "<testsuite name=\"{name}\" tests=\"{all}\" failures=\"{failures}\">");
    for (one, gate) in gates() {
        let (class, name) = (xml(&one.new), xml(&gate.gate));
        let _ = write!(out, "  <testcase classname=\"{class}\" name=\"{name}\"");
        let reasons = xml(&gate.reasons.join("; "));
        if gate.holds {
            let _ = writeln!(out, "><system-out>{reasons}</system-out></testcase>");
        } else {
            let _ = writeln!(out, "><failure message=\"{reasons}\"/></testcase>");
        }
    }
    out.push_str("</testsuite>\n");
    out
}

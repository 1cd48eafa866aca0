//! A comparison as text for people, Markdown, JSON (docs/compare.schema.json) and JUnit.

use super::sentence;
use super::{Claim, Comparison, Design, GateResult, Options, Row, SideMark, Unmatched, Verdict};
use crate::markdown::plain;
use crate::markup::{Markup, element};
use crate::table::Terminal;
use crate::table::grid::{Cell, Column, Grid, Kind, Line};
use crate::text::{escape, flow};
use model::Run;
use std::fmt::Write as _;

const COLUMNS: [Column; 11] = [
    Column::new("operation", "", Kind::Word, 0),
    Column::new("figure", "", Kind::Word, 0),
    Column::new("n", "A", Kind::Count, 2),
    Column::new("n", "B", Kind::Count, 2),
    Column::new("median", "A", Kind::Count, 0),
    Column::new("median", "B", Kind::Count, 0),
    Column::new("B faster", "times", Kind::Number { least: 2, most: 4 }, 0),
    Column::new("from", "95 %", Kind::Number { least: 2, most: 4 }, 0),
    Column::new("to", "95 %", Kind::Number { least: 2, most: 4 }, 0),
    Column::new("p", "alone", Kind::Number { least: 2, most: 5 }, 1),
    Column::new("p", "Holm", Kind::Number { least: 2, most: 5 }, 0),
];

/// The whole comparison for a terminal.
pub fn table(comparison: &Comparison, terminal: Terminal) -> String {
    let mut out = sides(comparison);
    let say = |out: &mut String, text: String| {
        let _ = writeln!(out, "{}", flow(&text, terminal.columns));
    };
    remarks(comparison, escape).into_iter().for_each(|remark| say(&mut out, remark));
    out.push('\n');
    out.push_str(&figures(comparison, terminal));
    for gate in &comparison.gates {
        let (name, reasons) = (escape(&gate.gate), escape(&gate.reasons.join("; ")));
        say(&mut out, format!("gate {}: {name}: {reasons}", gate.verdict.words()));
    }
    out
}

fn sides(comparison: &Comparison) -> String {
    format!("A: {}\nB: {}\n", escape(&comparison.base), escape(&comparison.new))
}

/// The comparison inside of a run's own report, which has its marks and remarks: "" for a run that
/// is none.
pub(crate) fn within(run: &Run, terminal: Terminal) -> String {
    let Some(found) = super::within(run, &Options::default()) else { return String::new() };
    let mut out = sides(&found);
    for difference in &found.differences {
        let text = format!("differs: {}", escape(&difference.sentence()));
        let _ = writeln!(out, "{}", flow(&text, terminal.columns));
    }
    format!("{out}\n{}", figures(&found, terminal)).trim_end().to_string()
}

/// The rows, what their columns are, and a sentence for each.
fn figures(comparison: &Comparison, terminal: Terminal) -> String {
    let mut out = String::new();
    let say = |out: &mut String, text: String| {
        let _ = writeln!(out, "{}", flow(&text, terminal.columns));
    };
    if comparison.rows.is_empty() {
        out.push_str("Both sides have no row in common.\n");
    } else {
        let grid = Grid { columns: COLUMNS.to_vec(), lines: lines(&comparison.rows) };
        let _ = writeln!(out, "{}", grid.draw(terminal));
        say(&mut out, legend(comparison));
        out.push('\n');
    }
    sentences(comparison).iter().for_each(|sentence| say(&mut out, escape(sentence)));
    for lacking in &comparison.unmatched {
        say(&mut out, lacks(lacking, escape));
    }
    out
}

/// What differs, what is to be known, and the marks of either side.
fn remarks(comparison: &Comparison, safe: fn(&str) -> String) -> Vec<String> {
    let differs = comparison.differences.iter();
    let differs = differs.map(|difference| format!("differs: {}", safe(&difference.sentence())));
    let notes = comparison.notes.iter().map(|note| format!("note: {}", safe(note)));
    let mark = |mark: &SideMark| {
        let word = if mark.counts { "verdict" } else { "remark" };
        format!("{word} of {}: {}: {}", mark.side, safe(&mark.code), safe(&mark.seen))
    };
    differs.chain(notes).chain(comparison.marks.iter().map(mark)).collect()
}

/// A sentence for each row; rows of which so few repetitions claim nothing share one, which comes first.
fn sentences(comparison: &Comparison) -> Vec<String> {
    let rows = &comparison.rows;
    let (few, others): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.claim == Claim::TooFew);
    let mut reasons: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in few {
        let reason = sentence::too_few(row, rows.len(), comparison.design);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, of)) => of.push(row),
            None => reasons.push((reason, vec![row])),
        }
    }
    let told = |(reason, of): (String, Vec<&Row>)| match &of[..] {
        [row] => row.sentence.clone(),
        of if of.len() == rows.len() => reason,
        of => {
            let subjects: Vec<String> = of.iter().map(|row| sentence::subject(row)).collect();
            format!("{}: {reason}", subjects.join(", "))
        }
    };
    let others = others.into_iter().map(|row| row.sentence.clone());
    reasons.into_iter().map(told).chain(others).collect()
}

/// `only A: stat of "load" at block=4k`.
fn lacks(lacking: &Unmatched, safe: fn(&str) -> String) -> String {
    let Unmatched { side, label, op, point, .. } = lacking;
    format!("only {side}: {}", safe(&sentence::named(label, op, point)))
}

/// What the columns are.
fn legend(comparison: &Comparison) -> String {
    let tested = comparison.rows.iter().filter(|row| row.p.is_some()).count();
    let rows = if tested == 1 { "1 row".into() } else { format!("{tested} rows") };
    let (estimate, units) = match comparison.design {
        Design::Samples => ("ratios of B to A", "repetitions"),
        Design::Blocks => ("ratios within blocks", "blocks"),
    };
    if tested == 0 {
        return format!("B faster: Hodges-Lehmann estimate of the {estimate}; no row is tested.");
    }
    format!(
        "B faster: Hodges-Lehmann estimate of the {estimate}, with its 95 % interval, the inversion \
         of the test at {:.2} % per row. p: of the {} test over {units}, two-sided; alone: of the row \
         by itself; Holm: corrected for the {rows} tested. A claim needs p (Holm) below {}.",
        comparison.level * 100.0,
        comparison.test,
        super::SIGNIFICANCE
    )
}

/// The figure's name with its unit, and both medians in it.
fn medians(row: &Row) -> (String, [String; 2]) {
    let largest = row.base_median.max(row.new_median);
    let (unit, divisor) = row.metric.measure().unit(largest);
    let digits = |figure: f64| {
        let value = figure / divisor;
        let places = (3 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 6) as usize;
        format!("{value:.places$}")
    };
    (
        format!("{}, {unit}", row.metric.quantity()),
        [digits(row.base_median), digits(row.new_median)],
    )
}

fn label(row: &Row) -> String {
    let label = if row.label.is_empty() { "(in no label)" } else { &row.label };
    match row.point.as_str() {
        "" => label.to_string(),
        point => format!("{label} ({point})"),
    }
}

/// The operation; of the label's own time: what it is.
fn operation(row: &Row) -> &str {
    if row.op.is_empty() { "(label)" } else { &row.op }
}

/// Rows in their order, a heading wherever the label or the point of a sweep changes.
fn lines(rows: &[Row]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut previous = None;
    for row in rows {
        let label = label(row);
        if previous.as_ref() != Some(&label) {
            lines.push(Line::Heading(escape(&label)));
        }
        previous = Some(label);
        lines.push(line(row));
    }
    lines
}

fn line(row: &Row) -> Line {
    let (figure, [base, new]) = medians(row);
    let cells = vec![
        Cell::Text(format!("  {}", escape(operation(row)))),
        Cell::Text(figure),
        Cell::Count(row.base_n as u64),
        Cell::Count(row.new_n as u64),
        Cell::Text(base),
        Cell::Text(new),
        Cell::number(row.ratio),
        Cell::number(row.ci95_low),
        Cell::number(row.ci95_high),
        Cell::number(row.p),
        Cell::number(row.p_holm),
    ];
    Line::Cells { cells, bad: row.claim == Claim::Slower }
}

/// The comparison as one JSON object.
pub fn json(comparison: &Comparison) -> String {
    // Figures that are not finite become null, which the schema allows.
    let text = serde_json::to_string(comparison).unwrap_or_default();
    model::escape::json(&text).into_owned() + "\n"
}

/// A probability: a small one is none of 0.
fn p(p: Option<f64>) -> String {
    match p {
        None => String::new(),
        Some(p) if p < 0.001 => format!("{p:.1e}"),
        Some(p) => format!("{p:.3}"),
    }
}

/// Tables for an issue or a merge request.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = format!("### {} against {}\n\n", plain(&comparison.new), plain(&comparison.base));
    out.push_str(
        "| label | operation | figure | n | A | B | times faster | 95 % interval | p alone | p (Holm) | |\n",
    );
    out.push_str("|---|---|---|---:|---:|---:|---:|---:|---:|---:|---|\n");
    for row in &comparison.rows {
        let number =
            |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
        let interval = match (row.ci95_low, row.ci95_high) {
            (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
            _ => String::new(),
        };
        let (figure, [base, new]) = medians(row);
        let _ = writeln!(
            out,
            "| {} | {} | {figure} | {} / {} | {base} | {new} | {} | {interval} | {} | {} | {} |",
            plain(&label(row)),
            plain(operation(row)),
            row.base_n,
            row.new_n,
            number(row.ratio),
            p(row.p),
            p(row.p_holm),
            plain(&row.sentence)
        );
    }
    let lacking = comparison.unmatched.iter().map(|lacking| lacks(lacking, plain));
    let _ = writeln!(out, "\n{}\n", plain(&legend(comparison)));
    out.extend(lacking.map(|lacking| format!("- {lacking}\n")));
    out.extend(remarks(comparison, plain).iter().map(|remark| format!("- {remark}\n")));
    for gate in &comparison.gates {
        let word = match gate.verdict {
            Verdict::Pass => "passes",
            Verdict::Undecided => "**cannot be told**",
            Verdict::Fail => "**fails**",
        };
        let (name, reasons) = (plain(&gate.gate), plain(&gate.reasons.join("; ")));
        let _ = writeln!(out, "- gate {name} {word}: {reasons}");
    }
    out
}

/// The gates as a JUnit test suite (one case per gate), for pipelines.
/// `undecided_fails`: so does a gate that cannot be told; else it is skipped.
pub fn junit(comparisons: &[Comparison], undecided_fails: bool) -> String {
    let gates = || comparisons.iter().flat_map(|one| one.gates.iter().map(move |gate| (one, gate)));
    let fails = |gate: &GateResult| gate.verdict.fails(undecided_fails);
    let case = |(one, gate): (&Comparison, &GateResult)| {
        let reasons = format!("{}: {}", gate.verdict.words(), gate.reasons.join("; "));
        let outcome = match gate.verdict {
            _ if fails(gate) => element("failure").attr("message", reasons),
            Verdict::Undecided => element("skipped").attr("message", reasons),
            _ => element("system-out").text(reasons),
        };
        element("testcase").attr("classname", &one.new).attr("name", &gate.gate).with(outcome)
    };
    let suite = element("testsuite")
        .attr("name", "parabench compare")
        .attr("tests", gates().count())
        .attr("failures", gates().filter(|(_, gate)| fails(gate)).count())
        .all(gates().map(case));
    let suite = Markup::from(suite).into_string();
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{suite}")
}

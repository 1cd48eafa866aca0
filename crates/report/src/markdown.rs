//! `--format markdown`: the tables of a run for an issue, a wiki, a merge request
//! (GitHub Flavored Markdown, section 4.10 "Tables").

use crate::columns::{Media, ROWS, TIMES, Value, shown};
use crate::own_time::is_service;
use crate::table::grid::{self, Kind, Line};
use crate::table::{nodes_sheet, remarks};
use crate::text::{at_least, escape};
use model::run::{Host, LabelRow, Row, Run, TimeRow};
use model::units::Measure;
use std::fmt::Write as _;
use std::io::{self, Write};

const DUE: &str = "Where there is a row .service, times of the operation count from when it was due; those of the row \
                   .service are of its calls alone.\n\n";

/// Significant digits of the rates of machines.
const NODE_DIGITS: i32 = 3;

/// Writes the report of a run.
///
/// # Errors
/// Those of `out`.
pub fn write(run: &Run, out: &mut impl Write) -> io::Result<()> {
    out.write_all(render(run).as_bytes())
}

/// Text inside a cell or a paragraph that is shown as it is, on one line.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in escape(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '~' | '#' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// A table; the first column is text, the others are numbers. The head has the unit with it.
fn table(out: &mut String, head: &[String], lines: impl Iterator<Item = Vec<String>>) {
    let _ = writeln!(out, "| {} |", head.join(" | "));
    let _ = writeln!(out, "|---|{}", "---:|".repeat(head.len() - 1));
    for line in lines {
        let _ = writeln!(out, "| {} |", line.join(" | "));
    }
    out.push('\n');
}

/// The rows; columns that only some runs need stand in those.
fn rows(run: &Run, out: &mut String) {
    let columns = shown(ROWS, &run.rows, Media::Terminal);
    let heads = columns.iter().map(|(_, shown)| head(&shown.heading));
    let heads: Vec<String> = std::iter::once("operation".into()).chain(heads).collect();
    let line = |row: &Row| {
        let at_least = is_bound(run, row);
        let cells = columns.iter().map(|(column, shown)| {
            let text = cell((column.get)(row), shown.heading.kind);
            let bound = at_least && shown.heading.unit == "all" && !text.is_empty();
            if bound { format!("≥ {text}") } else { text }
        });
        std::iter::once(name(row)).chain(cells).collect()
    };
    table(out, &heads, run.rows.iter().map(line));
}

/// The occurrences of labels.
fn times(run: &Run, out: &mut String) {
    let columns = shown(TIMES, &run.times, Media::Terminal);
    let heads: Vec<String> = columns.iter().map(|(_, shown)| head(&shown.heading)).collect();
    let line = |time: &TimeRow| {
        columns.iter().map(|(column, shown)| cell((column.get)(time), shown.heading.kind)).collect()
    };
    table(out, &heads, run.times.iter().map(line));
}

/// The machines of a job side by side.
fn nodes(run: &Run, out: &mut String) {
    let Some(sheet) = nodes_sheet(run) else { return };
    let columns = &sheet.grid.columns;
    let texts = sheet.grid.texts(NODE_DIGITS);
    let mut row = 0;
    let mut lines: Vec<Vec<String>> = Vec::new();
    for line in &sheet.grid.lines {
        match line {
            Line::Heading(text) => {
                let empty = columns.iter().skip(1).map(|_| String::new());
                lines.push(std::iter::once(plain(text)).chain(empty).collect());
            }
            Line::Cells { .. } => {
                lines.push(texts.iter().map(|column| plain(column[row].trim())).collect());
                row += 1;
            }
        }
    }
    table(out, &columns.iter().map(head).collect::<Vec<_>>(), lines.into_iter());
}

fn head(heading: &grid::Column) -> String {
    let of = if heading.unit.is_empty() { "" } else { " of " };
    format!("{}{of}{}", heading.name, heading.unit)
}

/// A quantity of 0 bytes is none.
fn cell(value: Value<'_>, kind: Kind) -> String {
    match (value, kind) {
        (Value::Text(text), _) => plain(text),
        (Value::Whole(0), Kind::Quantity(Measure::Bytes)) => String::new(),
        (value, Kind::Quantity(measure)) => {
            value.number().map_or(String::new(), |value| measure.format(value, 3))
        }
        (value, _) => value.number().map_or(String::new(), |value| value.to_string()),
    }
}

fn is_bound(run: &Run, row: &Row) -> bool {
    let same = |label: &LabelRow| {
        (&label.label, label.cell, label.repetition) == (&row.label, row.cell, row.repetition)
    };
    run.labels.iter().any(|label| label.busy_is_bound && same(label))
}

/// Label and operation; a part stands after its operation.
fn name(row: &Row) -> String {
    match row.label.as_str() {
        "" => plain(&row.op),
        label => format!("{}: {}", plain(label), plain(&row.op)),
    }
}

fn render(run: &Run) -> String {
    let mut out = title(run);
    if run.rows.is_empty() {
        out.push_str("No I/O operation was executed.\n\n");
    } else {
        rows(run, &mut out);
    }
    if run.rows.iter().any(is_service) {
        out.push_str(DUE);
    }
    if !run.times.is_empty() {
        times(run, &mut out);
    }
    nodes(run, &mut out);
    evidence(run, &mut out);
    out
}

fn title(run: &Run) -> String {
    let header = &run.run;
    let mut facts = vec![
        format!("{} ranks", header.ranks),
        plain(&header.backend),
        plain(&file_systems(&header.host)),
        header.job.as_ref().map_or(plain(&header.host.name), |job| plain(&remarks::job(job))),
        remarks::elsewhere(run).map_or(String::new(), |text| plain(&text)),
        plain(&header.batch),
        remarks::duration(run).unwrap_or_default(),
        plain(&header.started),
        if header.trace.is_none() { format!("seed {}", header.seed) } else { String::new() },
        plain(&header.outcome),
    ];
    facts.retain(|fact| !fact.is_empty());
    format!("### {}\n\n{}\n\n", plain(&header.program.name), facts.join(" · "))
}

/// `ext4, fast: tmpfs`
fn file_systems(host: &Host) -> String {
    let further = host.directories.iter().filter(|one| !one.storage.file_system.is_empty());
    let further = further.map(|one| format!("{}: {}", one.name, one.storage.file_system));
    let own = Some(host.storage.file_system.clone()).filter(|own| !own.is_empty());
    own.into_iter().chain(further).collect::<Vec<_>>().join(", ")
}

/// Evidence, marks, notes, failures: one line each.
fn evidence(run: &Run, out: &mut String) {
    let evidence = &run.run.evidence;
    if let Some(share) = evidence.page_cache_share.filter(|share| *share > 0.0) {
        let _ = writeln!(out, "- page cache served {} of the bytes read", at_least(share));
    }
    for mark in &evidence.marks {
        let word = if mark.counts { "verdict" } else { "remark" };
        let seen = mark.seen_in_executions();
        let [code, seen, advice] = [&mark.code, &seen, &mark.advice].map(|text| plain(text));
        let _ = writeln!(out, "- **{word} {code}**: {seen}. To do: {advice}");
    }
    for note in &evidence.notes {
        let _ = writeln!(out, "- note: {}", plain(note));
    }
    for error in &run.run.rank_errors {
        let [place, message] = [&error.place, &error.message].map(|text| plain(text));
        let sweep = run.run.sweep.as_ref();
        let at = sweep.map(|sweep| sweep.describe_execution(error.cell, error.repetition));
        let at = at.map_or(String::new(), |at| format!("at {}: ", plain(&at)));
        let _ = writeln!(out, "- {at}rank {} ended {place}: {message}", error.rank);
    }
    for failure in &run.run.failures {
        let texts = [&failure.op, &failure.place, &failure.path, &failure.message];
        let [op, place, path, message] = texts.map(|text| plain(text));
        let _ = writeln!(out, "- rank {}: {op} at {place} of {path}: {message}", failure.rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample::{HARD_LABELS, aborted, any_run, labelled, listing1, on_machines};
    use proptest::prelude::*;

    /// Cells of a line as a reader of tables finds them.
    fn cells(line: &str) -> usize {
        let mut cells = 0;
        let mut escaped = false;
        for c in line.chars() {
            cells += usize::from(c == '|' && !escaped);
            escaped = c == '\\' && !escaped;
        }
        cells - 1
    }

    /// All lines of a table have as many cells as its head, and nothing breaks a line.
    fn check(text: &str) {
        let mut head = None;
        for line in text.lines() {
            if !line.starts_with('|') {
                head = None;
                continue;
            }
            assert_eq!(*head.get_or_insert(cells(line)), cells(line), "{line}");
        }
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    }

    #[test]
    fn listing_1_as_a_table() {
        let text = render(&listing1());
        check(&text);
        let head = text.lines().find(|line| line.starts_with("| operation")).unwrap();
        assert_eq!(
            head,
            "| operation | count | bytes | min | avg | p50 | p90 | p99 | p99.9 | max | bytes/s of all | ops/s of all |"
        );
        let write = text.lines().find(|line| line.starts_with("| stress: write |")).unwrap();
        assert_eq!(
            write,
            "| stress: write | 20000 | 19.5 MiB | 16.0 µs | 27.5 µs | 25.7 µs | 42.0 µs | 58.3 µs | 3.75 ms | 7.43 ms \
             | 15.6 MiB/s | 16.0 kop/s |"
        );
        assert!(text.contains("- **verdict cached-reads**: 100 % of the bytes"), "{text}");
    }

    #[test]
    fn hard_labels_and_runs_cut_short_keep_their_shape() {
        let long = "x|".repeat(150);
        for label in HARD_LABELS.iter().chain([&long.as_str()]) {
            check(&render(&labelled(label)));
        }
        check(&render(&aborted()));
        assert!(render(&Run::default()).contains("No I/O operation"));
    }

    proptest! {
        #[test]
        fn any_run_is_well_formed(run in any_run()) {
            check(&render(&run));
        }
    }

    #[test]
    fn a_job_names_its_library_and_all_machines() {
        let text = render(&on_machines());
        check(&text);
        let head = text.lines().nth(2).expect("a head");
        assert!(head.contains("MPICH 5.0.2, mpiexec, 2 nodes: n1 (rank 0), n2 (rank 1)"), "{head}");
        let slow = text.lines().find(|line| line.starts_with("| w: write")).expect("a line");
        assert!(slow.ends_with("| n2 |"), "{slow}");
    }
}

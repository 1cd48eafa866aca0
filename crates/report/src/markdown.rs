//! `--format markdown`: the tables of a run for an issue, a wiki, a merge request
//! (GitHub Flavored Markdown, section 4.10 "Tables").

use crate::text::{at_least, escape};
use model::run::{LabelRow, Row, Run, TimeRow};
use model::units::{Measure, format_ns};
use std::fmt::Write as _;
use std::io::{self, Write};

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
fn table(out: &mut String, head: &[&str], lines: impl Iterator<Item = Vec<String>>) {
    let _ = writeln!(out, "| {} |", head.join(" | "));
    let _ = writeln!(out, "|---|{}", "---:|".repeat(head.len() - 1));
    for line in lines {
        let _ = writeln!(out, "| {} |", line.join(" | "));
    }
    out.push('\n');
}

/// Columns that only some runs need stand in `wanted`.
struct Wanted {
    failed: bool,
    short: bool,
    expected: bool,
    points: bool,
}

impl Wanted {
    fn by(rows: &[Row]) -> Wanted {
        Wanted {
            failed: rows.iter().any(|row| row.failed > 0),
            short: rows.iter().any(|row| row.short > 0),
            expected: rows.iter().any(|row| row.expected > 0),
            points: rows.iter().any(|row| row.cell > 0 || row.repetition > 0),
        }
    }

    /// Keeps what is wanted of a full line.
    fn of<T>(&self, line: [T; 17]) -> Vec<T> {
        let keep = |at: usize| match at {
            1 | 2 => self.points,
            4 => self.failed,
            5 => self.short,
            6 => self.expected,
            _ => true,
        };
        line.into_iter().enumerate().filter(|(at, _)| keep(*at)).map(|(_, cell)| cell).collect()
    }
}

const HEAD: [&str; 17] = [
    "operation",
    "cell",
    "repetition",
    "count",
    "failed",
    "short",
    "expected",
    "bytes",
    "min",
    "avg",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "max",
    "bytes/s of all",
    "ops/s of all",
];

/// `at_least`: rates of the label are lower bounds.
fn row_line(row: &Row, at_least: bool) -> [String; 17] {
    let figure = |measure: Measure, value: Option<f64>| {
        let value = value.filter(|value| value.is_finite());
        value.map_or(String::new(), |value| measure.format(value, 3))
    };
    let time = |ns: Option<u64>| figure(Measure::Time, ns.map(|ns| ns as f64));
    let of_all = |rate: String| match at_least && !rate.is_empty() {
        true => format!("≥ {rate}"),
        false => rate,
    };
    let bytes = (row.bytes > 0).then_some(row.bytes as f64);
    [
        name(row),
        row.cell.to_string(),
        row.repetition.to_string(),
        row.count.to_string(),
        row.failed.to_string(),
        row.short.to_string(),
        row.expected.to_string(),
        figure(Measure::Bytes, bytes),
        time(row.min_ns),
        figure(Measure::Time, row.mean_ns),
        time(row.p50_ns),
        time(row.p90_ns),
        time(row.p99_ns),
        time(row.p999_ns),
        time(row.max_ns),
        of_all(figure(Measure::ByteRate, row.mib_s)),
        of_all(figure(Measure::OpRate, row.ops_s)),
    ]
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

fn time_line(time: &TimeRow) -> Vec<String> {
    let s = |ns: u64| Measure::Time.format(ns as f64, 3);
    vec![
        plain(&time.label),
        time.ranks.to_string(),
        s(time.first_start_ns),
        s(time.last_end_ns),
        s(time.max_ns),
        time.slowest_rank.to_string(),
    ]
}

fn render(run: &Run) -> String {
    let mut out = title(run);
    if run.rows.is_empty() {
        out.push_str("No I/O operation was executed.\n\n");
    } else {
        let wanted = Wanted::by(&run.rows);
        table(
            &mut out,
            &wanted.of(HEAD),
            run.rows.iter().map(|row| wanted.of(row_line(row, is_bound(run, row)))),
        );
    }
    if !run.times.is_empty() {
        let head = ["label", "ranks", "first start", "last end", "longest", "slowest rank"];
        table(&mut out, &head, run.times.iter().map(time_line));
    }
    remarks(run, &mut out);
    out
}

fn title(run: &Run) -> String {
    let header = &run.run;
    let mut facts = vec![
        format!("{} ranks", header.ranks),
        plain(&header.backend),
        plain(&header.host.file_system),
        plain(&header.host.name),
        format_ns(header.duration_wall_ns as f64),
        plain(&header.started),
        format!("seed {}", header.seed),
        plain(&header.outcome),
    ];
    facts.retain(|fact| !fact.is_empty());
    format!("### {}\n\n{}\n\n", plain(&header.program.name), facts.join(" · "))
}

/// Evidence, marks, notes, failures: one line each.
fn remarks(run: &Run, out: &mut String) {
    let evidence = &run.run.evidence;
    if let Some(share) = evidence.page_cache_share.filter(|share| share.is_finite()) {
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
        let _ = writeln!(out, "- rank {} ended {place}: {message}", error.rank);
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
    use crate::sample::{HARD_LABELS, aborted, any_run, labelled, listing1};
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
}

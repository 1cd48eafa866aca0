//! `--format markdown`: the tables of a run for an issue, a wiki, a merge request
//! (GitHub Flavored Markdown, section 4.10 "Tables").

use crate::text::{at_least, escape};
use model::run::{Row, Run, TimeRow};
use model::units::{format_ns, significant};
use std::fmt::Write as _;
use std::io::{self, Write};

const MIB: f64 = (1u64 << 20) as f64;

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
    fn of<T>(&self, line: [T; 14]) -> Vec<T> {
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

const HEAD: [&str; 14] = [
    "operation",
    "cell",
    "repetition",
    "count",
    "failed",
    "short",
    "expected",
    "MiB",
    "min ms",
    "avg ms",
    "p50 ms",
    "p99 ms",
    "max ms",
    "MiB/s of all",
];

fn row_line(row: &Row) -> [String; 14] {
    let ms = |ns: Option<f64>| ns.map_or(String::new(), |ns| three_digits(ns / 1e6));
    let whole = |ns: Option<u64>| ms(ns.map(|ns| ns as f64));
    let bytes = if row.bytes > 0 { significant(row.bytes as f64 / MIB) } else { String::new() };
    [
        name(row),
        row.cell.to_string(),
        row.repetition.to_string(),
        row.count.to_string(),
        row.failed.to_string(),
        row.short.to_string(),
        row.expected.to_string(),
        bytes,
        whole(row.min_ns),
        ms(row.mean_ns),
        whole(row.p50_ns),
        whole(row.p99_ns),
        whole(row.max_ns),
        row.mib_s.map_or(String::new(), significant),
    ]
}

/// Three significant digits, never fewer places than the integer has.
fn three_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".into();
    }
    let places = (2.0 - value.abs().log10().floor()).clamp(0.0, 9.0);
    format!("{value:.*}", places as usize)
}

/// Label and operation; a part stands after its operation.
fn name(row: &Row) -> String {
    match row.label.as_str() {
        "" => plain(&row.op),
        label => format!("{}: {}", plain(label), plain(&row.op)),
    }
}

fn time_line(time: &TimeRow) -> Vec<String> {
    let s = |ns: u64| significant(ns as f64 / 1e9);
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
        table(&mut out, &wanted.of(HEAD), run.rows.iter().map(|row| wanted.of(row_line(row))));
    }
    if !run.times.is_empty() {
        let head = ["label", "ranks", "first start s", "last end s", "longest s", "slowest rank"];
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
        let [code, seen, advice] = [&mark.code, &mark.seen, &mark.advice].map(|text| plain(text));
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
            "| operation | count | MiB | min ms | avg ms | p50 ms | p99 ms | max ms | MiB/s of all |"
        );
        let write = text.lines().find(|line| line.starts_with("| stress: write |")).unwrap();
        assert_eq!(
            write,
            "| stress: write | 20000 | 19.5 | 0.0160 | 0.0275 | 0.0257 | 0.0583 | 7.43 | 15.6 |"
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

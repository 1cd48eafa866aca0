//! `--format prometheus`: the text exposition format 0.0.4, for the node exporter's textfile
//! collector and push gateways. Base units (seconds, bytes) as Prometheus wants them.

use crate::columns::{OPERATIONS, ROWS, SECONDS};
use model::escape::{cell, is_harmful};
use model::run::{Host, NodeRow, Row, Run};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes the metrics of a run.
///
/// # Errors
/// Those of `out`.
pub fn write(run: &Run, out: &mut impl Write) -> io::Result<()> {
    out.write_all(render(run).as_bytes())
}

/// Names and values of a series, in order.
type Labels<'a> = Vec<(&'static str, String)>;

/// One metric: its lines stand together below its help and type.
struct Metric<'a> {
    out: &'a mut String,
    name: &'static str,
}

impl<'a> Metric<'a> {
    fn new(out: &'a mut String, name: &'static str, kind: &str, help: &str) -> Metric<'a> {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Metric { out, name }
    }

    fn line(&mut self, suffix: &str, labels: &Labels<'_>, value: f64) {
        let mut pairs = String::new();
        for (name, text) in labels {
            let comma = if pairs.is_empty() { "" } else { "," };
            let _ = write!(pairs, "{comma}{name}=\"{}\"", quoted(text));
        }
        let braces = if labels.is_empty() { String::new() } else { format!("{{{pairs}}}") };
        let _ = writeln!(self.out, "{}{suffix}{braces} {value}", self.name);
    }
}

/// Escapes of a label value: backslash, quote, line feed. Everything else would be UTF-8 as it is,
/// so what a terminal obeys is made harmless before.
fn quoted(text: &str) -> String {
    let is_obeyed = |c| is_harmful(c) && c != '\n';
    let text = match text.starts_with('\'') || text.contains(is_obeyed) {
        true => cell(text),
        false => text.into(),
    };
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn labels(row: &Row) -> Labels<'static> {
    let mut labels = vec![("label", row.label.clone()), ("op", row.op.clone())];
    if row.cell > 0 || row.repetition > 0 {
        labels.push(("cell", row.cell.to_string()));
        labels.push(("repetition", row.repetition.to_string()));
    }
    labels
}

fn with(mut labels: Labels<'static>, name: &'static str, text: &str) -> Labels<'static> {
    labels.push((name, text.into()));
    labels
}

fn render(run: &Run) -> String {
    let mut out = String::new();
    rows(run, &mut out);
    busy(run, &mut out);
    about(run, &mut out);
    out
}

/// The metrics of rows: name, type and help. Their series are those of [`ROWS`].
const METRICS: [(&str, &str, &str); 6] = [
    (
        OPERATIONS,
        "counter",
        "Executed operations by outcome; expected: failed as the program expects.",
    ),
    (
        "parabench_short_operations_total",
        "counter",
        "Operations that moved fewer bytes than asked because the file ended.",
    ),
    ("parabench_bytes_total", "counter", "Bytes moved."),
    (SECONDS, "summary", "Times of operations that did not fail."),
    (
        "parabench_bandwidth_bytes_per_second",
        "gauge",
        "Bytes per second of one rank (mean) and of all ranks together.",
    ),
    (
        "parabench_operations_per_second",
        "gauge",
        "Operations per second of one rank (mean) and of all ranks together.",
    ),
];

fn rows(run: &Run, out: &mut String) {
    for (name, kind, help) in METRICS {
        let mut metric = Metric::new(out, name, kind, help);
        for row in &run.rows {
            lines(&mut metric, row);
        }
    }
}

/// The series of a row in a metric.
fn lines(metric: &mut Metric<'_>, row: &Row) {
    let done = row.count.saturating_sub(row.failed).saturating_sub(row.expected) as f64;
    if metric.name == OPERATIONS {
        metric.line("", &with(labels(row), "outcome", "done"), done);
    }
    for column in ROWS {
        let series = column.series.filter(|series| series.metric == metric.name);
        if let (Some(series), Some(value)) = (series, (column.get)(row).number()) {
            let label = series.label.into_iter();
            let labels = label.fold(labels(row), |all, (name, text)| with(all, name, text));
            metric.line("", &labels, value / series.divisor);
        }
    }
    if metric.name == SECONDS {
        let mean_ns = row.mean_ns.filter(|mean| mean.is_finite());
        // Logs may tell no durations.
        if let Some(mean_ns) = mean_ns.or((done == 0.0).then_some(0.0)) {
            metric.line("_sum", &labels(row), mean_ns * done / 1e9);
        }
        metric.line("_count", &labels(row), done);
    }
}

fn busy(run: &Run, out: &mut String) {
    let help =
        "Time in which at least one rank was inside the label; at most, where bound is true.";
    let mut metric = Metric::new(out, "parabench_label_busy_seconds", "gauge", help);
    for label in &run.labels {
        let mut labels = vec![("label", label.label.clone())];
        if label.cell > 0 || label.repetition > 0 {
            labels.push(("cell", label.cell.to_string()));
            labels.push(("repetition", label.repetition.to_string()));
        }
        labels.push(("bound", label.busy_is_bound.to_string()));
        metric.line("", &labels, label.busy_ns as f64 / 1e9);
    }
}

/// The storage below the directories, the run directory first.
fn directories(host: &Host, out: &mut String) {
    let further = host.directories.iter().map(|one| (&*one.name, &one.storage));
    let known = std::iter::once(("", &host.storage)).chain(further);
    let known: Vec<_> = known.filter(|(_, storage)| !storage.file_system.is_empty()).collect();
    if known.is_empty() {
        return;
    }
    let name = "parabench_directory_info";
    let help = "Storage below each directory; \"\" is the run directory.";
    let mut metric = Metric::new(out, name, "gauge", help);
    for (name, storage) in known {
        let facts = vec![
            ("directory", name.to_string()),
            ("file_system", storage.file_system.clone()),
            ("device", storage.device.clone()),
            ("mount", storage.mount.clone()),
        ];
        metric.line("", &facts, 1.0);
    }
}

/// The MPI job and its machines, and the rates of each.
fn nodes(run: &Run, out: &mut String) {
    let Some(job) = &run.run.job else { return };
    let help = "The MPI job that executed the run.";
    let facts = [("mpi", &job.mpi), ("launcher", &job.launcher), ("batch", &job.batch)];
    let facts = facts.map(|(name, text)| (name, text.clone())).to_vec();
    Metric::new(out, "parabench_job_info", "gauge", help).line("", &facts, 1.0);
    let mut metric = Metric::new(out, "parabench_node_ranks", "gauge", "Ranks on each machine.");
    for (at, node) in job.nodes.iter().enumerate() {
        let facts = vec![("node", at.to_string()), ("host", node.host.clone())];
        metric.line("", &with(facts, "ranks", &node.spans()), f64::from(node.size()));
    }
    type Rate = fn(&NodeRow) -> Option<f64>;
    let rates: [(&str, &str, Rate); 2] = [
        ("parabench_node_bandwidth_bytes_per_second", "Bytes per second of a machine.", |row| {
            row.mib_s.map(|rate| rate * 1024.0 * 1024.0)
        }),
        ("parabench_node_operations_per_second", "Operations per second of a machine.", |row| {
            row.ops_s
        }),
    ];
    for (name, help, rate) in rates {
        let mut metric = Metric::new(out, name, "gauge", help);
        for (row, rate) in run.run.node_rows.iter().filter_map(|row| Some((row, rate(row)?))) {
            metric.line("", &of_node(run, row), rate);
        }
    }
}

fn of_node(run: &Run, row: &NodeRow) -> Labels<'static> {
    let nodes = run.run.nodes_of(row.cell, row.repetition);
    let host = nodes.get(row.node as usize).map_or(String::new(), |node| node.host.clone());
    let mut labels = vec![
        ("node", row.node.to_string()),
        ("host", host),
        ("label", row.label.clone()),
        ("op", row.op.clone()),
    ];
    if row.cell > 0 || row.repetition > 0 {
        labels.push(("cell", row.cell.to_string()));
        labels.push(("repetition", row.repetition.to_string()));
    }
    labels
}

fn about(run: &Run, out: &mut String) {
    let header = &run.run;
    let facts = vec![
        ("program", header.program.name.clone()),
        ("host", header.host.name.clone()),
        ("file_system", header.host.storage.file_system.clone()),
        ("backend", header.backend.clone()),
        ("comm", header.comm.clone()),
        ("outcome", header.outcome.clone()),
        ("seed", header.seed.to_string()),
        ("version", header.parabench.clone()),
        ("started", header.started.clone()),
    ];
    Metric::new(out, "parabench_run_info", "gauge", "What ran where.").line("", &facts, 1.0);
    nodes(run, out);
    directories(&header.host, out);
    let mut metric = Metric::new(out, "parabench_ranks", "gauge", "Ranks of the run.");
    metric.line("", &vec![], f64::from(header.ranks));
    let mut metric = Metric::new(out, "parabench_exit_code", "gauge", "Exit code of the run.");
    metric.line("", &vec![], f64::from(header.exit_code));
    let help = "Duration of the run.";
    let mut metric = Metric::new(out, "parabench_duration_seconds", "gauge", help);
    metric.line("", &vec![], header.duration_wall_ns as f64 / 1e9);
    let help = "What the evidence says against the figures; see docs/verdicts.md.";
    let mut metric = Metric::new(out, "parabench_mark", "gauge", help);
    for (at, mark) in header.evidence.marks.iter().enumerate() {
        // The number keeps series apart should two marks have one name.
        let labels = vec![
            ("code", mark.code.clone()),
            ("counts", mark.counts.to_string()),
            ("number", at.to_string()),
        ];
        metric.line("", &labels, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample::{HARD_LABELS, aborted, any_run, labelled, listing1, on_machines};
    use model::escape;
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};

    /// A series as a scraper reads it: name, labels, value.
    type Series = (String, Vec<(String, String)>, f64);

    /// Reads a line after the rules of the exposition format; panics where it breaks one.
    fn series(line: &str) -> Series {
        let name_end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap();
        let (name, mut rest) = line.split_at(name_end);
        let mut labels = Vec::new();
        if let Some(inside) = rest.strip_prefix('{') {
            rest = inside;
            loop {
                let (label, after) = rest.split_once("=\"").unwrap();
                let (value, after) = value(after);
                labels.push((label.trim_start_matches(',').to_string(), value));
                rest = after;
                if let Some(after) = rest.strip_prefix('}') {
                    rest = after;
                    break;
                }
            }
        }
        (name.into(), labels, rest.strip_prefix(' ').unwrap().parse().unwrap())
    }

    /// A label's value up to its closing quote, and what follows.
    fn value(text: &str) -> (String, &str) {
        let mut out = String::new();
        let mut chars = text.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => return (out, &text[at + 1..]),
                '\\' => out.push(match chars.next().unwrap().1 {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    c => panic!("no escape \\{c}"),
                }),
                c => out.push(c),
            }
        }
        panic!("an open quote in {text}")
    }

    fn check(text: &str) -> Vec<Series> {
        let mut types = HashMap::new();
        let (mut seen, mut all) = (HashSet::new(), Vec::new());
        for line in text.split_terminator('\n') {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(types.insert(name.to_string(), kind.to_string()).is_none(), "{name} twice");
            } else if !line.starts_with('#') {
                let found = series(line);
                assert!(found.2.is_finite(), "{line}");
                let base = found.0.trim_end_matches("_sum").trim_end_matches("_count");
                assert!(types.contains_key(base), "{line} has no type");
                assert!(seen.insert((found.0.clone(), found.1.clone())), "{line} twice");
                all.push(found);
            }
        }
        all
    }

    #[test]
    fn listing_1_can_be_scraped() {
        let all = check(&render(&listing1()));
        let get = |name: &str, op: &str, extra: &str| {
            let is = |series: &&Series| {
                series.0 == name
                    && (op.is_empty() || series.1.contains(&("op".into(), op.into())))
                    && (extra.is_empty() || series.1.iter().any(|(_, value)| value == extra))
            };
            all.iter().find(is).unwrap_or_else(|| panic!("no {name} {op} {extra}")).2
        };
        assert_eq!(get("parabench_operations_total", "write", "done"), 20000.0);
        assert_eq!(get("parabench_bytes_total", "write", ""), 20_480_000.0);
        assert_eq!(get("parabench_operation_seconds", "stat", "0.99"), 1.4e-6);
        assert_eq!(get("parabench_operation_seconds_count", "stat", ""), 20000.0);
        assert_eq!(get("parabench_bandwidth_bytes_per_second", "write", "all"), 16_384_000.0);
        assert_eq!(get("parabench_mark", "", "cached-reads"), 1.0);
    }

    #[test]
    fn hard_labels_come_back_as_they_were() {
        let long = "\"\\\n".repeat(100);
        for label in HARD_LABELS.iter().chain([&long.as_str()]) {
            let all = check(&render(&labelled(label)));
            assert!(all.iter().any(|series| {
                series.1.iter().any(|(name, text)| name == "label" && escape::value(text) == *label)
            }));
        }
        check(&render(&aborted()));
        check(&render(&Run::default()));
    }

    proptest! {
        #[test]
        fn any_run_can_be_scraped(run in any_run()) {
            let mut run = run;
            // The engine gives one row per label, operation and point of a sweep.
            let mut seen = HashSet::new();
            run.rows.retain(|row| seen.insert((row.label.clone(), row.op.clone(), row.cell, row.repetition)));
            check(&render(&run));
        }
    }

    #[test]
    fn a_job_names_its_library_and_all_machines() {
        let text = render(&on_machines());
        assert!(
            text.contains("parabench_job_info{mpi=\"MPICH 5.0.2\",launcher=\"mpiexec\""),
            "{text}"
        );
        for (node, rate) in [("n1", 80), ("n2", 20)] {
            let host = format!("host=\"{node}\",label=\"w\",op=\"write\"}} {}", rate << 20);
            assert!(text.contains(&host), "{host}: {text}");
        }
    }
}

//! How long operations took: from the rows and their histograms, no events needed.

use super::source::{colors, no_time, qualified, shown_label};
use model::histogram::Histogram;
use model::run::Row;
use model::units::format_ns;
use model::{Run, words};
use report::chart::View;
use report::curves::{LEAST_CALLS, chart, curve};
use report::rows::{OwnTimes, grouped, moves_bytes};

pub(crate) const CDF: &str = "latency-cdf";
/// Series in a picture's data: those with most time. Fewer are drawn.
const MAX_CALLS: usize = 200;
/// Series that are described in words.
const MAX_SENTENCES: usize = 4;

/// The times of one operation in one label at one point of a sweep: operations of other labels,
/// sizes or numbers of ranks are others.
struct Calls<'a> {
    /// One of its rows.
    row: &'a Row,
    histogram: Histogram,
    /// Sum of the calls' own times.
    own_ns: f64,
    is_due: bool,
}

/// All that did not fail, most time first.
fn all(run: &Run) -> Result<Vec<Calls<'_>>, String> {
    let own = OwnTimes::new(run);
    let rows = run.rows.iter().filter(|row| row.part_of.is_none() && row.histogram.is_some());
    let kinds = grouped(rows.map(|row| ((row.cell, &row.label, &row.op), row)));
    let mut all: Vec<Calls<'_>> = Vec::new();
    for (_, rows) in kinds {
        let mut histogram = Histogram::default();
        rows.iter().filter_map(|row| row.histogram.as_ref()).for_each(|own| histogram.merge(own));
        let own_ns = rows.iter().map(|row| own.sum_ns(row)).sum();
        let is_due = rows.iter().any(|row| own.service(row).is_some());
        all.push(Calls { row: rows[0], histogram, own_ns, is_due });
    }
    all.retain(|calls| calls.histogram.count > 0);
    if all.is_empty() {
        return Err(match run.rows.is_empty() {
            true => "nothing was executed".into(),
            false if lacks_durations(run) => no_time(run).into(),
            false => "no operation succeeded, or the run holds no histograms".into(),
        });
    }
    all.retain(|calls| calls.histogram.count >= LEAST_CALLS);
    if all.is_empty() {
        return Err(format!("no operation has {LEAST_CALLS} calls, which a distribution needs"));
    }
    all.sort_by(|a, b| b.own_ns.total_cmp(&a.own_ns));
    Ok(all)
}

/// Operations succeeded, and the log has no durations.
fn lacks_durations(run: &Run) -> bool {
    let succeeded = |row: &Row| row.count > row.failed.saturating_add(row.expected);
    run.run.trace.is_some() && run.rows.iter().any(|row| succeeded(row) && row.mean_ns.is_none())
}

/// "write: fwrite, block=4k", without what is the same in all.
fn names(run: &Run, all: &[Calls<'_>]) -> Vec<String> {
    let first = all[0].row;
    let several_labels = all.iter().any(|calls| calls.row.label != first.label);
    let several_points = all.iter().any(|calls| calls.row.cell != first.cell);
    let name = |Calls { row, is_due, .. }: &Calls<'_>| {
        let label = if several_labels { shown_label(&row.label) + ": " } else { String::new() };
        let since = if *is_due { " since due" } else { "" };
        let mut name = format!("{label}{}{since}", row.op);
        if let Some(sweep) = run.run.sweep.as_ref().filter(|_| several_points) {
            let point = report::text::escape(&sweep.describe(row.cell));
            name += &format!(", {}", report::text::fit(&point, 60));
        }
        name
    };
    all.iter().map(name).collect()
}

/// "write: p50 10 us, p99 20 us, longest 1 ms".
fn sentence((name, calls): (&String, &Calls<'_>)) -> String {
    let p99 = calls.histogram.percentile(0.99);
    let p99 = p99.map_or(String::new(), |ns| format!("p99 {}, ", format_ns(ns as f64)));
    let median = format_ns(calls.histogram.quantile(0.5).unwrap_or(0) as f64);
    let longest = format_ns(calls.histogram.max as f64);
    format!("{name}: p50 {median}, {p99}longest {longest}")
}

/// Share of the calls that were over by each time.
pub(crate) fn cdf(run: &Run) -> Result<View, String> {
    let mut all = all(run)?;
    let more = all.len().saturating_sub(MAX_CALLS);
    all.truncate(MAX_CALLS);
    let names = names(run, &all);
    let sentences: Vec<String> = names.iter().zip(&all).map(sentence).collect();
    let mut summary = format!("{}.", words::list_some(&sentences, MAX_SENTENCES));
    if more > 0 {
        summary += &format!(" {more} with less time are left out.");
    }
    if all.iter().any(|calls| moves_bytes(&calls.row.op)) {
        summary += " Calls of one operation and label are together, whatever their sizes.";
    }
    let is_repeated = run.rows.iter().any(|row| row.repetition != run.rows[0].repetition);
    let repeated = if is_repeated { "all repetitions together" } else { "" };
    let ops: Vec<&str> = all.iter().map(|calls| &*calls.row.op).collect();
    let histograms = all.iter().map(|calls| &calls.histogram);
    let series = names.into_iter().zip(colors(&ops)).zip(histograms);
    let series = series.map(|((name, color), times)| curve(name, color, times)).collect();
    Ok(View {
        name: CDF.into(),
        title: qualified("Latency".into(), &[repeated]),
        summary,
        chart: chart("share of the calls that took no longer", series),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use report::chart::Chart;

    /// Two labels in which the same operation takes 2.6 us and 922 us.
    fn two_labels() -> Run {
        let row = |label: &str, count: u64, ns: u64| Row {
            histogram: Some(sample::histogram(count, ns)),
            ..sample::row(label, "fwrite", count, 0, [ns; 5])
        };
        Run { rows: vec![row("small", 9000, 2_600), row("large", 1000, 922_000)], ..Run::default() }
    }

    #[test]
    fn labels_are_not_taken_together() {
        let run = two_labels();
        let view = cdf(&run).unwrap();
        assert!(view.summary.starts_with("large: fwrite: p50 92"), "{}", view.summary);
        let Chart::Lines { series, .. } = &view.chart else { panic!("lines") };
        let names: Vec<_> = series.iter().map(|series| (&*series.name, series.color)).collect();
        assert_eq!(names, [("large: fwrite", 1), ("small: fwrite", 2)]);
    }

    #[test]
    fn points_of_a_sweep_are_not_taken_together_and_repetitions_are_said() {
        let mut run = sample::sweep(3, 2);
        run.rows.iter_mut().for_each(|row| {
            row.histogram =
                Some(sample::histogram(row.count.max(30), 1000 * u64::from(row.cell + 1)));
        });
        let view = cdf(&run).unwrap();
        assert!(view.title.ends_with("(all repetitions together)"), "{}", view.title);
        let Chart::Lines { series, .. } = &view.chart else { panic!("lines") };
        assert_eq!(series.len(), 2 * 3);
        let write = |point: &str| series.iter().any(|s| s.name == format!("write, block={point}"));
        assert!(write("4k") && write("64k") && write("1m"));
    }

    #[test]
    fn few_calls_have_no_p99_and_fewer_no_picture() {
        for count in [29, 30, 99] {
            let row = Row {
                histogram: Some(sample::histogram(count, 800)),
                ..sample::row("", "stat", count, 0, [800; 5])
            };
            let run = Run { rows: vec![row], ..Run::default() };
            if count < LEAST_CALLS {
                assert!(cdf(&run).unwrap_err().contains("30 calls"));
                continue;
            }
            let summary = cdf(&run).unwrap().summary;
            assert!(summary.contains("p50 ") && !summary.contains("p99 "), "{summary}");
        }
    }

    #[test]
    fn times_from_when_operations_were_due_are_named_so() {
        let run = sample::open_loop();
        let view = cdf(&run).unwrap();
        assert!(view.summary.starts_with("fread since due: p50 20 ms"), "{}", view.summary);
        let Chart::Lines { series, .. } = &view.chart else { panic!("lines") };
        let names: Vec<&str> = series.iter().map(|series| &*series.name).collect();
        assert_eq!(names, ["fread since due", "stat"]);
    }
}

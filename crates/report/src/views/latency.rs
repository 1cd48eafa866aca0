//! How long operations took: from the rows and their histograms, no events needed.

use super::source::{Colors, axis, log_axis, no_time, qualified, shown_label};
use crate::chart::{Axis, Chart, Join, Point, Series, Unit, View};
use crate::rows::{OwnTimes, is_service, moves_bytes, once};
use crate::stats::Distance;
use model::histogram::{BUCKETS, Histogram, bucket_low};
use model::run::Row;
use model::units::format_ns;
use model::{Run, words};

pub(super) const CDF: &str = "latency-cdf";
/// Series in a picture's data: those with most time. Fewer are drawn.
const MAX_CALLS: usize = 200;
/// Series that are described in words.
const MAX_SENTENCES: usize = 4;
/// Buckets of the rows' histograms that are one step of a picture: 16 steps per power of two.
const STEP: usize = 4;

/// The times of one operation in one label at one point of a sweep: operations of other labels,
/// sizes or numbers of ranks are others.
struct Calls {
    op: String,
    /// "write: fwrite, block=4k", without what is the same in all.
    name: String,
    histogram: Histogram,
}

/// Measurements of one kind of calls.
struct Measured {
    histogram: Histogram,
    /// Sum of the calls' own times.
    own_ns: f64,
    is_due: bool,
}

/// All that did not fail, most time first.
struct All {
    calls: Vec<Calls>,
    /// Not among `calls`.
    more: usize,
    /// Repetitions of a point are taken together.
    repeated: bool,
}

fn all(run: &Run) -> Result<All, String> {
    let own = OwnTimes::new(run);
    let mut all: Vec<((u32, &str, &str), Measured)> = Vec::new();
    let rows = run.rows.iter().filter(|row| row.part_of.is_none());
    for (row, histogram) in rows.filter_map(|row| Some((row, row.histogram.as_ref()?))) {
        let key = (row.cell, &*row.label, &*row.op);
        let (own_ns, is_due) = (own.sum_ns(row), own.service(row).is_some());
        match all.iter_mut().find(|entry| entry.0 == key) {
            Some((_, known)) => {
                known.histogram.merge(histogram);
                known.own_ns += own_ns;
                known.is_due |= is_due;
            }
            None => all.push((key, Measured { histogram: histogram.clone(), own_ns, is_due })),
        }
    }
    all.retain(|entry| entry.1.histogram.count > 0);
    let Some(&((cell, label, _), _)) = all.first() else {
        return Err(match run.rows.is_empty() {
            true => "nothing was executed".into(),
            false if lacks_durations(run) => no_time(run).into(),
            false => "no operation succeeded, or the run holds no histograms".into(),
        });
    };
    let several =
        [all.iter().any(|entry| entry.0.0 != cell), all.iter().any(|entry| entry.0.1 != label)];
    all.sort_by(|a, b| b.1.own_ns.total_cmp(&a.1.own_ns));
    let more = all.len().saturating_sub(MAX_CALLS);
    all.truncate(MAX_CALLS);
    let calls = all.into_iter().map(|(key, measured)| Calls::new(run, key, several, measured));
    let repeated = run.rows.iter().any(|row| row.repetition != run.rows[0].repetition);
    Ok(All { calls: calls.collect(), more, repeated })
}

/// Operations succeeded, and the log has no durations.
fn lacks_durations(run: &Run) -> bool {
    let succeeded = |row: &Row| row.count > row.failed.saturating_add(row.expected);
    run.run.trace.is_some() && run.rows.iter().any(|row| succeeded(row) && row.mean_ns.is_none())
}

impl Calls {
    fn new(
        run: &Run,
        (cell, label, op): (u32, &str, &str),
        [several_points, several_labels]: [bool; 2],
        measured: Measured,
    ) -> Calls {
        let Measured { histogram, is_due, .. } = measured;
        let mut name = op.to_string();
        if is_due {
            name += " since due";
        }
        if several_labels {
            name = format!("{}: {name}", shown_label(label));
        }
        if let Some(sweep) = run.run.sweep.as_ref().filter(|_| several_points) {
            let point = crate::text::fit(&crate::text::escape(&sweep.describe(cell)), 60);
            name = format!("{name}, {point}");
        }
        Calls { op: op.into(), name, histogram }
    }

    /// "write: p50 10 us, p99 20 us, longest 1 ms".
    fn sentence(&self) -> String {
        let p99 = self.histogram.percentile(0.99);
        let p99 = p99.map_or(String::new(), |ns| format!("p99 {}, ", format_ns(ns as f64)));
        let median = format_ns(self.histogram.quantile(0.5).unwrap_or(0) as f64);
        let longest = format_ns(self.histogram.max as f64);
        format!("{}: p50 {median}, {p99}longest {longest}", self.name)
    }
}

impl All {
    fn summary(&self) -> String {
        let all: Vec<String> = self.calls.iter().map(Calls::sentence).collect();
        let mut text = format!("{}.", words::list_some(&all, MAX_SENTENCES));
        if self.more > 0 {
            text += &format!(" {} with less time are left out.", self.more);
        }
        if self.calls.iter().any(|calls| moves_bytes(&calls.op)) {
            text += " Calls of one operation and label are together, whatever their sizes.";
        }
        text
    }

    /// A series of each, in distinct colours.
    fn series(&self, colors: &Colors) -> Vec<Series> {
        let ops: Vec<&str> = self.calls.iter().map(|calls| &*calls.op).collect();
        let colors = colors.of_series(&ops);
        let series = |(calls, color): (&Calls, usize)| Series {
            name: calls.name.clone(),
            color,
            points: cumulated(&calls.histogram),
        };
        self.calls.iter().zip(colors).map(series).collect()
    }
}

/// Counts by steps of equal width on a logarithmic axis: number of the step and count.
fn coarse(histogram: &Histogram) -> Vec<(usize, u64)> {
    let mut steps: Vec<(usize, u64)> = Vec::new();
    for (bucket, count) in &histogram.buckets {
        let step = usize::from(*bucket) / STEP;
        match steps.last_mut() {
            Some(last) if last.0 == step => last.1 = last.1.saturating_add(*count),
            _ => steps.push((step, *count)),
        }
    }
    steps
}

/// Begin of a step, above 0 for logarithmic axes.
fn step_low(step: usize) -> f64 {
    match step * STEP {
        bucket if bucket >= BUCKETS => u64::MAX as f64,
        bucket => bucket_low(bucket).max(1) as f64,
    }
}

fn time_axis() -> Axis {
    log_axis("time of an operation", Unit::Nanoseconds)
}

/// Share of the calls that were over by each time.
pub(super) fn cdf(run: &Run, colors: &Colors) -> Result<View, String> {
    let all = all(run)?;
    Ok(View {
        name: CDF.into(),
        title: qualified(
            "Latency".into(),
            &[if all.repeated { "all repetitions together" } else { "" }],
        ),
        summary: all.summary(),
        chart: Chart::Lines {
            x: time_axis(),
            y: axis("share of the calls that took no longer", Unit::Share),
            join: Join::Line,
            series: all.series(colors),
        },
    })
}

/// The share of the calls that were over at the end of each step.
fn cumulated(histogram: &Histogram) -> Vec<Point> {
    let start = Point { x: histogram.min.max(1) as f64, y: 0.0, interval: None };
    let mut seen = 0;
    let points = coarse(histogram).into_iter().map(|(step, count)| {
        seen = count.saturating_add(seen);
        // All of a step is over at its end, and nothing comes after the maximum.
        let x = step_low(step + 1).min(histogram.max as f64).max(start.x);
        Point { x, y: seen as f64 / histogram.count as f64, interval: None }
    });
    std::iter::once(start).chain(points).collect()
}

/// Cumulated latencies of an operation on both sides of a comparison.
pub(crate) fn latencies_of_sides(
    name: String,
    of: &str,
    sides: [(&str, &Histogram); 2],
    distance: Distance,
) -> View {
    let series = |(color, (name, histogram)): (usize, (&str, &Histogram))| Series {
        name: name.into(),
        color,
        points: cumulated(histogram),
    };
    View {
        name,
        title: format!("Latency of {of}"),
        summary: format!(
            "The curves differ by at most {:.1} % (Kolmogorov-Smirnov), an operation by {} on average (Wasserstein).",
            distance.kolmogorov_smirnov * 100.0,
            format_ns(distance.wasserstein_ns)
        ),
        chart: Chart::Lines {
            x: time_axis(),
            y: axis("share of operations that took no longer", Unit::Share),
            join: Join::Line,
            series: sides.into_iter().enumerate().map(series).collect(),
        },
    }
}

pub(super) const TIME: &str = "time-by-kind";
/// Kinds with a bar of their own.
const MAX_KINDS: usize = 24;

/// Operations and the time in them, most first; those with least together.
fn kinds(run: &Run) -> Result<Vec<(&str, f64)>, String> {
    let own = OwnTimes::new(run);
    let mut kinds: Vec<(&str, f64)> = Vec::new();
    for row in once(run).filter(|row| row.count > 0) {
        match kinds.iter_mut().find(|(op, _)| *op == row.op) {
            Some((_, ns)) => *ns += own.sum_ns(row),
            None => kinds.push((&row.op, own.sum_ns(row))),
        }
    }
    if kinds.is_empty() {
        return Err("nothing was executed".into());
    }
    kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
    if kinds.len() > MAX_KINDS {
        let rest = kinds.split_off(MAX_KINDS - 1);
        kinds.push(("others", rest.iter().map(|kind| kind.1).sum()));
    }
    Ok(kinds)
}

/// How long all executions of each operation took that did not fail.
pub(super) fn by_kind(run: &Run) -> Result<View, String> {
    let kinds = kinds(run)?;
    let all: f64 = kinds.iter().map(|kind| kind.1).sum();
    if all <= 0.0 {
        return Err(no_time(run).into());
    }
    Ok(View {
        name: TIME.into(),
        title: "Time in calls by kind".into(),
        summary: format!(
            "Over all ranks, labels and executions calls took {}, of which {} {}.{}",
            format_ns(all),
            kinds[0].0,
            format_ns(kinds[0].1),
            match run.rows.iter().any(is_service) {
                true => " The wait from when operations were due to their start is not in it.",
                false => "",
            }
        ),
        chart: Chart::Bars {
            value: axis("sum of the calls' own times, all ranks", Unit::Nanoseconds),
            names: kinds.iter().map(|kind| kind.0.to_string()).collect(),
            series: vec![("time".into(), kinds.iter().map(|kind| kind.1).collect())],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;

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
        let colors = Colors::of(&run);
        let view = cdf(&run, &colors).unwrap();
        assert!(view.summary.starts_with("large: fwrite: p50 92"), "{}", view.summary);
        let Chart::Lines { series, .. } = &view.chart else { panic!("lines") };
        let names: Vec<_> = series.iter().map(|series| (&*series.name, series.color)).collect();
        assert_eq!(names, [("large: fwrite", 0), ("small: fwrite", 1)]);
    }

    #[test]
    fn points_of_a_sweep_are_not_taken_together_and_repetitions_are_said() {
        let mut run = sample::sweep(3, 2);
        run.rows.iter_mut().for_each(|row| {
            row.histogram = Some(sample::histogram(row.count, 1000 * u64::from(row.cell + 1)));
        });
        let view = cdf(&run, &Colors::of(&run)).unwrap();
        assert!(view.title.ends_with("(all repetitions together)"), "{}", view.title);
        let Chart::Lines { series, .. } = &view.chart else { panic!("lines") };
        assert_eq!(series.len(), 2 * 3);
        let write = |point: &str| series.iter().any(|s| s.name == format!("write, block={point}"));
        assert!(write("4k") && write("64k") && write("1m"));
    }

    #[test]
    fn few_calls_have_no_p99() {
        for count in [1, 20] {
            let row = Row {
                histogram: Some(sample::histogram(count, 800)),
                ..sample::row("", "stat", count, 0, [800; 5])
            };
            let run = Run { rows: vec![row], ..Run::default() };
            let summary = cdf(&run, &Colors::of(&run)).unwrap().summary;
            assert!(summary.contains("p50 ") && !summary.contains("p99 "), "{summary}");
        }
    }

    #[test]
    fn times_from_when_operations_were_due_are_named_so() {
        let run = sample::open_loop();
        let colors = Colors::of(&run);
        let view = cdf(&run, &colors).unwrap();
        assert!(view.summary.starts_with("fread since due: p50 20 ms"), "{}", view.summary);
        let Chart::Lines { series, .. } = &view.chart else { panic!("lines") };
        let names: Vec<&str> = series.iter().map(|series| &*series.name).collect();
        assert_eq!(names, ["fread since due", "stat"]);
    }

    #[test]
    fn calls_of_mpi_io_and_those_below_them_count_once() {
        let run = sample::recorded_mpi();
        let Chart::Bars { names, series, .. } = by_kind(&run).unwrap().chart else {
            panic!("bars")
        };
        let [most, least] = [0, 1].map(|at| series[0].1[at]);
        assert_eq!((&names[..], most / least), (&["fwrite".to_string(), "fread".into()][..], 3.0));
    }

    #[test]
    fn waits_for_a_start_are_no_time_of_calls() {
        let view = by_kind(&sample::open_loop()).unwrap();
        let Chart::Bars { series, .. } = view.chart else { panic!("bars") };
        assert_eq!(series[0].1, [7_500_000.0, 300_000.0]);
    }
}

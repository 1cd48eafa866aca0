//! What the counters of a log say: time by layer, and sizes of the accesses of each layer.

use model::run::{Run, SIZE_BINS, Trace, TraceModule};
use report::chart::{Axis, BarSeries, Chart, Unit, View};

pub(crate) const TIME: &str = "time-by-layer";

/// Pictures of the layers; none of a run without counters.
pub(crate) fn pictures(run: &Run) -> Vec<View> {
    let Some(trace) = run.run.trace.as_ref() else { return Vec::new() };
    time(trace).into_iter().chain(trace.modules.iter().filter_map(sizes)).collect()
}

/// Time of a process in reads, writes and metadata, layer by layer: the mean over processes.
fn time(trace: &Trace) -> Option<View> {
    let timed: Vec<&TraceModule> =
        trace.modules.iter().filter(|module| module.amounts.busy_ns() > 0).collect();
    let jobs = trace.logs.iter().filter_map(|log| log.job.as_ref());
    let processes = jobs.fold(0u64, |sum, job| sum.saturating_add(job.processes)).max(1) as f64;
    let series = |name: &str, color, figure: fn(&TraceModule) -> Option<u64>| BarSeries {
        name: name.into(),
        color,
        values: timed
            .iter()
            .map(|module| figure(module).map_or(f64::NAN, |ns| ns as f64 / processes))
            .collect(),
    };
    let all = [
        series("read", 0, |module| module.amounts.read_ns),
        series("write", 1, |module| module.amounts.write_ns),
        series("metadata", 8, |module| module.amounts.meta_ns),
    ];
    let series: Vec<BarSeries> = all.into_iter().filter(has_any).collect();
    (!series.is_empty()).then(|| View {
        name: TIME.into(),
        title: "Time by layer".into(),
        summary: "Counters of the log: mean over processes. Calls of MPI-IO, HDF5 and PnetCDF are also in POSIX.".into(),
        chart: Chart::Bars {
            x: Axis::new("time in calls of a process", Unit::Nanoseconds),
            groups: timed.iter().map(|module| module.name.clone()).collect(),
            series,
        },
    })
}

/// Reads and writes of a layer by size.
fn sizes(module: &TraceModule) -> Option<View> {
    let series = |name: &str, color, counts: &[u64]| BarSeries {
        name: name.into(),
        color,
        values: counts.iter().map(|count| *count as f64).collect(),
    };
    let all = [series("reads", 0, &module.read_sizes), series("writes", 1, &module.write_sizes)];
    let is_whole = |one: &BarSeries| one.values.len() == SIZE_BINS.len() && has_any(one);
    let series: Vec<BarSeries> = all.into_iter().filter(is_whole).collect();
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let partial = if module.is_partial { " The log has not all files of it." } else { "" };
    (!series.is_empty()).then(|| View {
        name: format!("access-sizes-{}", module.name.chars().map(safe).collect::<String>()),
        title: format!("Access sizes: {}", module.name),
        summary: format!("Counters of the log: calls by the bytes that they moved.{partial}"),
        chart: Chart::Bars {
            x: Axis::new("calls", Unit::Count),
            groups: SIZE_BINS.map(String::from).to_vec(),
            series,
        },
    })
}

fn has_any(series: &BarSeries) -> bool {
    series.values.iter().any(|value| *value > 0.0)
}

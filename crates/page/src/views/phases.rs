//! Bandwidth of each phase over its duration: what a run without events has as its main picture.

use super::source::shown_label;
use model::Run;
use model::run::LabelRow;
use report::chart::{Axis, BarSeries, Chart, Unit, View};
use report::table::answer::Rates;

pub(crate) const NAME: &str = "phases";
/// Phases that are drawn, those that took longest.
const PHASES: usize = 24;

/// Bytes read and written per second in each phase; operations per second where none moved.
pub(crate) fn phases(run: &Run) -> Result<View, String> {
    if run.run.sweep.is_some() {
        return Err("the run is a sweep: other pictures have its phases".into());
    }
    if run.run.trace.is_some() {
        return Err("labels of a log are kinds of calls, no phases".into());
    }
    let mut labels: Vec<&LabelRow> = run.labels.iter().filter(|one| one.busy_ns > 0).collect();
    let all = labels.len();
    let mut times: Vec<u64> = labels.iter().map(|label| label.busy_ns).collect();
    times.sort_unstable_by(|a, b| b.cmp(a));
    let least = times.get(PHASES - 1).copied().unwrap_or(0);
    labels.retain(|label| label.busy_ns >= least);
    labels.truncate(PHASES);
    let rates: Vec<Rates> = labels.iter().map(|label| Rates::of(run, label)).collect();
    let series = |name: &str, color, figure: fn(&Rates) -> Option<f64>| BarSeries {
        name: name.into(),
        color,
        values: rates.iter().map(|rates| figure(rates).unwrap_or(f64::NAN)).collect(),
    };
    let moved = [
        series("read", 0, |rates| rates.read_mib_s),
        series("write", 1, |rates| rates.write_mib_s),
    ];
    let moved: Vec<BarSeries> = moved.into_iter().filter(has_any).collect();
    let (x, series) = match moved.is_empty() {
        false => (Axis::new("bandwidth over the phase", Unit::MibPerSecond), moved),
        true => {
            let operations = series("operations", 2, |rates| rates.ops_s);
            (Axis::new("operations over the phase", Unit::PerSecond), vec![operations])
        }
    };
    if !series.iter().any(has_any) {
        return Err("no phase has a rate".into());
    }
    let left = match all - labels.len() {
        0 => String::new(),
        left => format!(" {left} shorter ones are left out."),
    };
    Ok(View {
        name: NAME.into(),
        title: "Phases".into(),
        summary: format!("All work of a phase over its duration, all ranks together.{left}"),
        chart: Chart::Bars {
            x,
            groups: labels.iter().map(|one| shown_label(&one.label)).collect(),
            series,
        },
    })
}

fn has_any(series: &BarSeries) -> bool {
    series.values.iter().any(|value| *value > 0.0)
}

//! Kinds of calls of the program, and their cost: figure 4 of the founding paper.

use super::source::{axis, no_time, qualified, total};
use crate::chart::{Chart, Unit, View};
use crate::rows::{OwnTimes, is_service, once};
use model::Run;
use model::units::format_ns;
use model::words;

pub(super) const COUNT: &str = "calls-by-kind";
pub(super) const TIME: &str = "time-by-kind";
/// Kinds with a bar of their own.
const MAX_KINDS: usize = 24;

/// All executions of an operation.
#[derive(Clone, Debug, Default)]
struct Kind {
    op: String,
    count: u64,
    failed: u64,
    busy_ns: f64,
}

/// Kinds by `size`, largest first; the smallest ones together.
fn kinds(run: &Run, size: fn(&Kind) -> f64) -> Result<Vec<Kind>, String> {
    let own = OwnTimes::new(run);
    let mut kinds: Vec<Kind> = Vec::new();
    for row in once(run) {
        let at = kinds.iter().position(|kind| kind.op == row.op).unwrap_or_else(|| {
            kinds.push(Kind { op: row.op.clone(), ..Kind::default() });
            kinds.len() - 1
        });
        let kind = &mut kinds[at];
        kind.count = kind.count.saturating_add(row.count);
        kind.failed = kind.failed.saturating_add(row.failed);
        kind.busy_ns += own.sum_ns(row);
    }
    kinds.retain(|kind| kind.count > 0);
    if kinds.is_empty() {
        return Err("nothing was executed".into());
    }
    kinds.sort_by(|a, b| size(b).total_cmp(&size(a)));
    if kinds.len() > MAX_KINDS {
        let mut rest = Kind { op: "others".into(), ..Kind::default() };
        for kind in kinds.split_off(MAX_KINDS - 1) {
            rest.count = rest.count.saturating_add(kind.count);
            rest.failed = rest.failed.saturating_add(kind.failed);
            rest.busy_ns += kind.busy_ns;
        }
        kinds.push(rest);
    }
    Ok(kinds)
}

/// Scope of the sums: "all labels and 12 executions together".
fn scope(run: &Run) -> String {
    let labels = run.rows.iter().any(|row| row.label != run.rows[0].label);
    let mut executions: Vec<_> = run.rows.iter().map(|row| (row.cell, row.repetition)).collect();
    executions.sort_unstable();
    executions.dedup();
    match (labels, executions.len()) {
        (false, 0 | 1) => String::new(),
        (true, 0 | 1) => "all labels together".into(),
        (false, many) => format!("all {many} executions together"),
        (true, many) => format!("all labels and {many} executions together"),
    }
}

fn names(kinds: &[Kind]) -> Vec<String> {
    kinds.iter().map(|kind| kind.op.clone()).collect()
}

/// How often each operation was executed.
pub(super) fn count(run: &Run) -> Result<View, String> {
    let kinds = kinds(run, |kind| kind.count as f64)?;
    let all = total(kinds.iter().map(|kind| kind.count));
    let failed = total(kinds.iter().map(|kind| kind.failed));
    let mut series =
        vec![("calls".to_string(), kinds.iter().map(|kind| kind.count as f64).collect())];
    if failed > 0 {
        let failed = kinds.iter().map(|kind| kind.failed as f64).collect();
        series.push(("of them failed".into(), failed));
    }
    let most = &kinds[0];
    Ok(View {
        name: COUNT.into(),
        title: qualified("Calls by kind".into(), &[&scope(run)]),
        summary: format!(
            "{} of {}: {} were {}, {failed} failed.",
            words::count(all, "call"),
            words::count(kinds.len() as u64, "kind"),
            most.count,
            most.op
        ),
        chart: Chart::Bars {
            value: axis("calls, all ranks", Unit::Count),
            names: names(&kinds),
            series,
        },
    })
}

/// How long all executions of each operation took that did not fail.
pub(super) fn time(run: &Run) -> Result<View, String> {
    let kinds = kinds(run, |kind| kind.busy_ns)?;
    let all: f64 = kinds.iter().map(|kind| kind.busy_ns).sum();
    if all <= 0.0 {
        return Err(no_time(run).into());
    }
    let most = &kinds[0];
    Ok(View {
        name: TIME.into(),
        title: qualified("Time in calls by kind".into(), &[&scope(run)]),
        summary: format!(
            "Over all ranks calls took {}, of which {} {}.{}",
            format_ns(all),
            most.op,
            format_ns(most.busy_ns),
            match run.rows.iter().any(is_service) {
                true => " The wait from when operations were due to their start is not in it.",
                false => "",
            }
        ),
        chart: Chart::Bars {
            value: axis("sum of the calls' own times, all ranks", Unit::Nanoseconds),
            names: names(&kinds),
            series: vec![("time".into(), kinds.iter().map(|kind| kind.busy_ns).collect())],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;

    #[test]
    fn calls_of_mpi_io_and_those_below_them_count_once() {
        let run = sample::recorded_mpi();
        let Chart::Bars { names, series, .. } = time(&run).unwrap().chart else { panic!("bars") };
        let [most, least] = [0, 1].map(|at| series[0].1[at]);
        assert_eq!((&names[..], most / least), (&["fwrite".to_string(), "fread".into()][..], 3.0));
        let summary = count(&run).unwrap().summary;
        assert!(summary.contains("8 calls") && summary.contains("6 "), "{summary}");
    }

    #[test]
    fn waits_for_a_start_are_no_time_of_calls() {
        let view = time(&sample::open_loop()).unwrap();
        let Chart::Bars { series, .. } = view.chart else { panic!("bars") };
        assert_eq!(series[0].1, [7_500_000.0, 300_000.0]);
    }
}

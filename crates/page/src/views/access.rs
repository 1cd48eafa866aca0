//! How files were accessed: sizes of accesses, and the time of each rank by kind.

use super::source::qualified;
use crate::aggregate::{Access, Aggregates, BINS, RankAccess};
use model::words;
use report::chart::{Axis, BarSeries, Chart, Unit, View};

pub(crate) const SIZES: &str = "access-sizes";
pub(crate) const RANKS: &str = "time-by-rank";
/// Ranks that have bars of their own.
const ROWS: usize = 64;

/// Reads and writes by the size that was asked for.
pub(crate) fn sizes(name: &str, access: &Access) -> Result<View, String> {
    let all = [("reads", 0, &access.reads), ("writes", 1, &access.writes)];
    let used = all.into_iter().filter(|(_, _, sizes)| sizes.bins.iter().any(|count| *count > 0));
    let series = used.map(|(name, color, sizes)| BarSeries {
        name: name.into(),
        color,
        values: sizes.bins.iter().map(|count| *count as f64).collect(),
    });
    let series: Vec<BarSeries> = series.collect();
    if series.is_empty() {
        return Err("no operation moved bytes".into());
    }
    let common = |(word, sizes): (&str, &crate::aggregate::Sizes)| {
        let (size, count) = sizes.common.first()?;
        Some(format!("{word}: {} ({} of them)", model::units::format_bytes(*size), count))
    };
    let commonest: Vec<String> = [("reads", &access.reads), ("writes", &access.writes)]
        .into_iter()
        .filter_map(common)
        .collect();
    Ok(View {
        name: SIZES.into(),
        title: qualified("Access sizes".into(), &[name]),
        summary: format!(
            "Bytes moved by a call. The commonest size of {}.",
            words::list(&commonest)
        ),
        chart: Chart::Bars {
            x: Axis::new("calls", Unit::Count),
            groups: BINS.map(String::from).to_vec(),
            series,
        },
    })
}

/// Time in reads, writes and metadata of each rank, or of neighbouring ones.
pub(crate) fn ranks(name: &str, access: &Access) -> Result<View, String> {
    if !access.has_times {
        return Err("the log has no durations of calls".into());
    }
    if access.ranks.iter().all(|rank| rank.busy_ns() == 0) {
        return Err("no operation on a file took time".into());
    }
    let together = access.ranks.len().div_ceil(ROWS).max(1);
    let groups: Vec<RankAccess> = access.ranks.chunks(together).map(joined).collect();
    let per_rank = |ns: u64, group: &RankAccess| ns as f64 / f64::from(group.ranks().max(1));
    let series = |name: &str, color, figure: fn(&RankAccess) -> u64| BarSeries {
        name: name.into(),
        color,
        values: groups.iter().map(|group| per_rank(figure(group), group)).collect(),
    };
    let all = [
        series("read", 0, |rank| rank.read_ns),
        series("write", 1, |rank| rank.write_ns),
        series("metadata", 8, |rank| rank.metadata_ns),
    ];
    let series =
        all.into_iter().filter(|one| one.values.iter().any(|value| *value > 0.0)).collect();
    let slowest = access.slowest.and_then(|at| access.ranks.get(at)).map(|rank| {
        let time = per_rank(rank.busy_ns(), rank);
        format!(" Most time: {}, {}.", named(rank), model::units::format_ns(time))
    });
    let slowest = slowest.filter(|_| access.ranks.len() > 1).unwrap_or_default();
    let mean = if together > 1 { " Neighbouring ranks are together: their mean." } else { "" };
    Ok(View {
        name: RANKS.into(),
        title: qualified("Time in calls by rank".into(), &[name]),
        summary: format!(
            "Calls that overlap count each for itself; opening and closing are metadata, also within read and write.{mean}{slowest}"
        ),
        chart: Chart::Bars {
            x: Axis::new("time in calls", Unit::Nanoseconds),
            groups: groups.iter().map(named).collect(),
            series,
        },
    })
}

fn joined(ranks: &[RankAccess]) -> RankAccess {
    let sum =
        |figure: fn(&RankAccess) -> u64| ranks.iter().map(figure).fold(0, u64::saturating_add);
    RankAccess {
        first: ranks[0].first,
        last: ranks[ranks.len() - 1].last,
        read_ns: sum(|rank| rank.read_ns),
        write_ns: sum(|rank| rank.write_ns),
        metadata_ns: sum(|rank| rank.metadata_ns),
        read_bytes: sum(|rank| rank.read_bytes),
        written_bytes: sum(|rank| rank.written_bytes),
    }
}

fn named(rank: &RankAccess) -> String {
    match rank.first == rank.last {
        true => format!("rank {}", rank.first),
        false => format!("ranks {}-{}", rank.first, rank.last),
    }
}

/// The accesses of each execution with its name.
pub(crate) fn of_executions(events: &Aggregates) -> impl Iterator<Item = (&str, &Access)> {
    events.executions.iter().map(|line| &*line.name).zip(&events.access)
}

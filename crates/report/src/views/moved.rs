//! Bytes over time of logs without single transfers: HEATMAP of Darshan.

use super::source::{axis, mib_s, rate_text, time_axis, total};
use super::{ranks, rates};
use crate::aggregate::TimeBins;
use crate::chart::{Chart, Join, Point, Series, Unit, View};
use model::Run;
use model::run::{MovedByRanks, TraceMoved};
use model::units::{format_bytes, format_ns};

/// Most columns of a picture; neighbouring bins are joined.
const MAX_COLUMNS: usize = 240;

/// Bytes over time in a log, if it has no single transfers.
pub(super) fn bins_of_log(run: &Run) -> Option<&[TraceMoved]> {
    let moved = &run.run.trace.as_ref()?.moved[..];
    let sound = moved.iter().all(|layer| layer.bin_ns > 0 && !layer.ranks.is_empty());
    let has_events = run.run.events.as_ref().is_some_and(|info| info.count > 0);
    (sound && !has_events && !moved.is_empty()).then_some(moved)
}

/// Bytes read and written per second, by layer.
pub(super) fn over_time(moved: &[TraceMoved]) -> Result<View, String> {
    let mut series = Vec::new();
    let mut sums = Vec::new();
    for layer in moved {
        let all = [
            ("reading", joined(layer, |ranks| &ranks.read_bytes)),
            ("writing", joined(layer, |ranks| &ranks.written_bytes)),
        ];
        for (verb, (time, bytes)) in all {
            let sum = total(bytes.iter().copied());
            if sum == 0 {
                continue;
            }
            let name = format!("{verb}, {}", shown(layer));
            let rates: Vec<f64> =
                bytes.iter().map(|bytes| mib_s(*bytes as f64, time.width_ns as f64)).collect();
            let average = mib_s(sum as f64, (time.width_ns * time.count as u64) as f64);
            sums.push(format!("{name} {} on average ({})", rate_text(average), format_bytes(sum)));
            series.push(rates::steps(&name, series.len(), &time, rates.into_iter()));
        }
    }
    if sums.is_empty() {
        return Err("no operation moved bytes".into());
    }
    Ok(View {
        name: rates::OVER_TIME.into(),
        title: "Bandwidth over time".into(),
        summary: format!("{}. {}", rates::capital(&sums.join("; ")), describe_bins(moved)),
        chart: Chart::Lines {
            x: time_axis(),
            y: axis("bandwidth of all ranks", Unit::MibPerSecond),
            join: Join::Step,
            series,
        },
    })
}

/// The mean over ranks, and the slowest and fastest group of them, of the layer that moved most.
pub(super) fn band(moved: &[TraceMoved]) -> Result<View, String> {
    let both = |ranks: &MovedByRanks| [sum(&ranks.read_bytes), sum(&ranks.written_bytes)];
    let all = |layer: &&TraceMoved| total(layer.ranks.iter().flat_map(both));
    let Some(layer) = moved.iter().max_by_key(all).filter(|layer| all(layer) > 0) else {
        return Err("no operation moved bytes".into());
    };
    if layer.ranks.len() < 2 {
        return Err("there is one rank".into());
    }
    let size =
        |ranks: &MovedByRanks| f64::from(ranks.last_rank.saturating_sub(ranks.first_rank)) + 1.0;
    let of_group = |ranks: &MovedByRanks| {
        let one = TraceMoved { ranks: vec![ranks.clone()], ..layer.clone() };
        let (time, read) = joined(&one, |ranks| &ranks.read_bytes);
        let (_, written) = joined(&one, |ranks| &ranks.written_bytes);
        let at = |bytes: &[u64], at: usize| bytes.get(at).copied().unwrap_or(0) as f64;
        let columns = 0..time.count.max(written.len());
        let rate = |column: usize| {
            mib_s(at(&read, column) + at(&written, column), time.width_ns as f64) / size(ranks)
        };
        columns.map(rate).collect::<Vec<f64>>()
    };
    let (time, _) = joined(layer, |ranks| &ranks.read_bytes);
    let rates: Vec<Vec<f64>> = layer.ranks.iter().map(of_group).collect();
    let all_ranks: f64 = layer.ranks.iter().map(size).sum();
    let (mut points, mut low, mut high) = (Vec::new(), Vec::new(), Vec::new());
    for column in 0..time.count {
        let of = |group: &Vec<f64>| group.get(column).copied().unwrap_or(0.0);
        let sum: f64 = rates.iter().zip(&layer.ranks).map(|(group, r)| of(group) * size(r)).sum();
        let x = time.edge_ns(column) as f64;
        points.push(Point { x, y: sum / all_ranks, interval: None });
        low.push(rates.iter().map(of).fold(f64::INFINITY, f64::min));
        high.push(rates.iter().map(of).fold(0.0, f64::max));
    }
    let peak = high.iter().copied().fold(0.0, f64::max);
    let groups = layer.ranks.len();
    Ok(View {
        name: ranks::BAND.into(),
        title: format!("Bandwidth per rank over time, {}", shown(layer)),
        summary: format!(
            "Up to {} per rank. The band holds the means of {groups} groups of neighbouring ranks, the line is the mean of all ranks. {}",
            rate_text(peak),
            describe_bins(moved)
        ),
        chart: Chart::Band {
            x: time_axis(),
            y: axis("bandwidth of a rank", Unit::MibPerSecond),
            line: Series { name: "mean of the ranks".into(), color: 0, points },
            low,
            high,
        },
    })
}

/// Columns of time, and what all groups moved in each.
fn joined<'a>(
    layer: &'a TraceMoved,
    bytes: impl Fn(&'a MovedByRanks) -> &'a Vec<u64>,
) -> (TimeBins, Vec<u64>) {
    let longest = |ranks: &MovedByRanks| ranks.read_bytes.len().max(ranks.written_bytes.len());
    let bins = layer.ranks.iter().map(longest).max().unwrap_or(0).max(1);
    let together = bins.div_ceil(MAX_COLUMNS);
    let count = bins.div_ceil(together);
    let mut columns = vec![0u64; count];
    for (at, bytes) in layer.ranks.iter().flat_map(|ranks| bytes(ranks).iter().enumerate()) {
        columns[at / together] = columns[at / together].saturating_add(*bytes);
    }
    let width_ns = layer.bin_ns.saturating_mul(together as u64);
    (TimeBins { start_ns: 0, width_ns, count }, columns)
}

fn sum(bytes: &[u64]) -> u64 {
    total(bytes.iter().copied())
}

/// The name of a layer is that of the log.
fn shown(layer: &TraceMoved) -> String {
    crate::text::fit(&crate::text::escape(&layer.layer), 20)
}

fn describe_bins(moved: &[TraceMoved]) -> String {
    format!("The log has bytes per {}, not single operations.", format_ns(moved[0].bin_ns as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::run::Trace;

    fn layer(ranks: u32, bins: usize) -> TraceMoved {
        let group = |rank| MovedByRanks {
            first_rank: rank,
            last_rank: rank,
            read_bytes: vec![0; bins],
            written_bytes: (0..bins as u64).map(|bin| (bin % 2) << (20 + rank)).collect(),
        };
        TraceMoved {
            layer: "POSIX".into(),
            bin_ns: 500_000_000,
            ranks: (0..ranks).map(group).collect(),
        }
    }

    #[test]
    fn bytes_of_bins_are_bandwidth_over_time() {
        let mut run = Run::default();
        assert_eq!(bins_of_log(&run), None);
        let moved = vec![layer(2, 4)];
        run.run.trace = Some(Trace { moved: moved.clone(), ..Trace::default() });
        assert_eq!(bins_of_log(&run), Some(&moved[..]));
        let view = over_time(&moved).expect("a view");
        let Chart::Lines { series, .. } = &view.chart else { panic!("lines") };
        let rates: Vec<f64> = series[0].points.iter().map(|point| point.y).collect();
        assert_eq!((series.len(), &rates[..]), (1, &[0.0, 6.0, 0.0, 6.0, 6.0][..]));
        let view = band(&moved).expect("a view");
        let Chart::Band { low, high, line, .. } = &view.chart else { panic!("a band") };
        assert_eq!((low[1], high[1], line.points[1].y), (2.0, 4.0, 3.0));
        let names: Vec<String> =
            crate::views::views(&run, None).views.into_iter().map(|view| view.name).collect();
        assert!(names.contains(&"bandwidth-over-time".into()), "{names:?}");
        assert!(names.contains(&"bandwidth-of-ranks-over-time".into()), "{names:?}");
    }

    #[test]
    fn many_bins_share_columns_and_nothing_is_no_picture() {
        let view = over_time(&[layer(1, 1000)]).expect("a view");
        let Chart::Lines { series, .. } = &view.chart else { panic!("lines") };
        assert_eq!(series[0].points.len(), 201);
        assert!(band(&[layer(1, 10)]).is_err() && over_time(&[layer(1, 1)]).is_err());
    }
}

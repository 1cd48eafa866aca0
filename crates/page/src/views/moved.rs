//! Bytes over time of logs without single transfers: HEATMAP of Darshan.

use super::source::{mib_s, rate_text, steps, steps_over_time, total};
use super::timeline::BANDWIDTH;
use crate::aggregate::TimeBins;
use model::Run;
use model::run::{MovedByRanks, TraceMoved};
use model::units::{format_bytes, format_ns};
use model::words;
use report::chart::{Axis, Bar, Chart, Series, Unit, View};

pub(crate) const ABOVE: &str = "bandwidth-above";
/// Beginning of the names of pictures of ranks.
pub(crate) const BY_RANK: &str = "ranks-of-";

/// Most columns of a picture; neighbouring bins are joined.
const MAX_COLUMNS: usize = 240;

/// Bytes over time in a log, if it has no single transfers.
pub(crate) fn bins_of_log(run: &Run) -> Option<&[TraceMoved]> {
    let moved = &run.run.trace.as_ref()?.moved[..];
    let sound = moved.iter().all(|layer| layer.bin_ns > 0 && !layer.ranks.is_empty());
    let has_events = run.run.events.as_ref().is_some_and(|info| info.count > 0);
    (sound && !has_events && !moved.is_empty()).then_some(moved)
}

/// The same of the layers above the calls that the log has one by one.
pub(crate) fn above(run: &Run) -> Option<View> {
    let moved = &run.run.trace.as_ref()?.moved[..];
    if moved.is_empty() || bins_of_log(run).is_some() {
        return None;
    }
    let (sums, series) = lines(moved);
    (!series.is_empty()).then(|| View {
        name: ABOVE.into(),
        title: format!("Bandwidth over time: {}", shown(&moved[0])),
        summary: format!(
            "{}. These calls are above those of the time line: waiting for other ranks is part of their time. Bins of {}.",
            words::capital(&sums.join("; ")),
            format_ns(moved[0].bin_ns as f64)
        ),
        chart: steps_over_time("bandwidth of all ranks", Unit::MibPerSecond, series),
    })
}

/// When the ranks of each layer moved bytes, rank 0 at the top; of a log with single transfers the layers above them.
pub(crate) fn by_rank(run: &Run) -> Vec<View> {
    let layers = run.run.trace.iter().flat_map(|trace| &trace.moved);
    let sound = layers.filter(|layer| layer.bin_ns > 0 && layer.ranks.len() > 1);
    sound.filter_map(ranks).collect()
}

fn ranks(layer: &TraceMoved) -> Option<View> {
    let time = columns(layer);
    let mut bars: Vec<Bar> = Vec::new();
    for (row, group) in (0u32..).zip(&layer.ranks) {
        let [read, written] = [&group.read_bytes, &group.written_bytes]
            .map(|bytes| joined(&time, layer, std::iter::once(bytes)));
        for (at, (read, written)) in read.iter().zip(&written).enumerate() {
            if read + written == 0 {
                continue;
            }
            let class = u32::from(written > read);
            let (start, end) = (time.edge_ns(at) as f64, time.edge_ns(at + 1) as f64);
            match bars.last_mut() {
                Some(last) if (last.row, last.class, last.end) == (row, class, start) => {
                    last.end = end;
                }
                _ => bars.push(Bar { row, class, start, end }),
            }
        }
    }
    let name = |group: &MovedByRanks| match group.first_rank == group.last_rank {
        true => format!("rank {}", group.first_rank),
        false => format!("ranks {}-{}", group.first_rank, group.last_rank),
    };
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    (!bars.is_empty()).then(|| View {
        name: format!("{BY_RANK}{}", shown(layer).chars().map(safe).collect::<String>()),
        title: format!("Ranks over time: {}", shown(layer)),
        summary: format!(
            "Columns of {} in which bytes moved, in the colour of what moved most.",
            format_ns(time.width_ns as f64)
        ),
        chart: Chart::Spans {
            x: Axis::new("time since start", Unit::Nanoseconds),
            rows: layer.ranks.iter().map(name).collect(),
            classes: ["read", "write"].map(String::from).to_vec(),
            bars,
        },
    })
}

/// Bytes read and written per second, by layer.
pub(crate) fn over_time(moved: &[TraceMoved]) -> Result<View, String> {
    let (sums, series) = lines(moved);
    if series.is_empty() {
        return Err("no operation moved bytes".into());
    }
    Ok(View {
        name: BANDWIDTH.into(),
        title: "Bandwidth over time".into(),
        summary: format!("{}. {}", words::capital(&sums.join("; ")), describe_bins(moved)),
        chart: steps_over_time("bandwidth of all ranks", Unit::MibPerSecond, series),
    })
}

/// A line for each layer and direction, and words on their means.
fn lines(moved: &[TraceMoved]) -> (Vec<String>, Vec<Series>) {
    type Bytes = fn(&MovedByRanks) -> &Vec<u64>;
    let both: [(&str, Bytes); 2] =
        [("reading", |ranks| &ranks.read_bytes), ("writing", |ranks| &ranks.written_bytes)];
    let (mut sums, mut series) = (Vec::new(), Vec::new());
    for (number, layer) in moved.iter().enumerate() {
        let time = columns(layer);
        for (kind, (verb, bytes)) in both.into_iter().enumerate() {
            let bytes = joined(&time, layer, layer.ranks.iter().map(bytes));
            let sum = total(bytes.iter().copied());
            if sum == 0 {
                continue;
            }
            let name = format!("{verb}, {}", shown(layer));
            let rate = |bytes: u64, columns: usize| {
                mib_s(bytes as f64, time.width_ns as f64 * columns as f64)
            };
            let average = rate_text(rate(sum, time.count));
            sums.push(format!("{name} {average} on average ({})", format_bytes(sum)));
            let rates = bytes.iter().map(|bytes| rate(*bytes, 1));
            series.push(steps(&name, 2 * number + kind, &time, rates));
        }
    }
    (sums, series)
}

/// Columns of time of a layer.
fn columns(layer: &TraceMoved) -> TimeBins {
    let longest = |ranks: &MovedByRanks| ranks.read_bytes.len().max(ranks.written_bytes.len());
    let bins = layer.ranks.iter().map(longest).max().unwrap_or(0).max(1);
    let joined = bins.div_ceil(MAX_COLUMNS);
    let width_ns = layer.bin_ns.saturating_mul(joined as u64);
    TimeBins { start_ns: 0, width_ns, count: bins.div_ceil(joined) }
}

/// The sum of several lists of bins in each column.
fn joined<'a>(
    time: &TimeBins,
    layer: &TraceMoved,
    lists: impl Iterator<Item = &'a Vec<u64>>,
) -> Vec<u64> {
    let mut columns = vec![0u64; time.count];
    for (bin, bytes) in lists.flat_map(|list| list.iter().enumerate()) {
        let column = &mut columns[time.of((bin as u64).saturating_mul(layer.bin_ns))];
        *column = column.saturating_add(*bytes);
    }
    columns
}

/// The name of a layer is that of the log.
fn shown(layer: &TraceMoved) -> String {
    report::text::fit(&report::text::escape(&layer.layer), 20)
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
        let names: Vec<String> =
            crate::views::views(&run, None).views.into_iter().map(|view| view.name).collect();
        assert!(names.contains(&"bandwidth-over-time".into()), "{names:?}");
    }

    #[test]
    fn ranks_have_bars_where_their_bytes_moved() {
        let mut two = layer(2, 4);
        two.ranks[1].read_bytes = vec![0, 1 << 30, 0, 0];
        let mut run = Run::default();
        run.run.trace = Some(Trace { moved: vec![two, layer(1, 4)], ..Trace::default() });
        // One rank is what the bandwidth shows.
        let views = by_rank(&run);
        assert_eq!((views.len(), &*views[0].name), (1, "ranks-of-posix"));
        let Chart::Spans { rows, bars, .. } = &views[0].chart else { panic!("spans") };
        assert_eq!(rows, &["rank 0", "rank 1"]);
        let found: Vec<(u32, u32, f64, f64)> =
            bars.iter().map(|bar| (bar.row, bar.class, bar.start / 5e8, bar.end / 5e8)).collect();
        assert_eq!(found, [(0, 1, 1.0, 2.0), (0, 1, 3.0, 4.0), (1, 0, 1.0, 2.0), (1, 1, 3.0, 4.0)]);
    }

    #[test]
    fn layers_above_single_transfers_have_their_own_picture() {
        let mut run = Run::default();
        run.run.trace = Some(Trace { moved: vec![layer(2, 4)], ..Trace::default() });
        assert!(above(&run).is_none());
        run.run.events = Some(model::run::EventsInfo { count: 3, ..Default::default() });
        assert_eq!(above(&run).expect("a view").name, ABOVE);
    }

    #[test]
    fn many_bins_share_columns_and_nothing_is_no_picture() {
        let view = over_time(&[layer(1, 1000)]).expect("a view");
        let Chart::Lines { series, .. } = &view.chart else { panic!("lines") };
        assert_eq!(series[0].points.len(), 201);
        assert!(over_time(&[layer(1, 1)]).is_err());
    }
}

//! Pictures of a time line: what its cells, latencies and positions show without script.

use super::source::{
    LEAST_CALLS, Source, axis_of, colors, mib_s, nothing, rate_text, steps, steps_over_time,
    time_axis, total,
};
use crate::aggregate::{Bands, Cell, Kind, TimeBins};
use crate::svg::SERIES;
use model::units::{format_bytes, format_ns};
use model::words;
use report::chart::{Axis, Bar, Chart, Join, Point, Series, Unit, View};
use report::text::grouped;
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(crate) const BANDWIDTH: &str = "bandwidth-over-time";
pub(crate) const CALLS: &str = "calls-over-time";
pub(crate) const LATENCY: &str = "latency-over-time";
pub(crate) const RANKS: &str = "ranks-over-time";
pub(crate) const OFFSETS: &str = "offset-over-time";

/// Columns of a picture at most: neighbours are joined.
const COLUMNS: u64 = 240;
/// The same where marks are many.
const FEW_COLUMNS: u64 = 120;
/// Rows of ranks at most.
const RANK_ROWS: usize = 32;
/// Rows of positions.
const OFFSET_ROWS: usize = 32;
/// Columns of positions at most; a power of two.
const OFFSET_COLUMNS: usize = 128;
/// Calls in a column that its 99 % needs.
const CALLS_OF_P99: u64 = 100;

/// Bytes read and written per second.
pub(crate) fn bandwidth(source: &Source<'_>) -> Result<View, String> {
    let line = source.line;
    let moves = |kind: Kind| {
        let is_own = move |cell: &&Cell| cell.bytes > 0 && line.kind(cell.stream) == kind;
        line.cells.iter().filter(is_own)
    };
    let both = [("reading", Kind::Read), ("writing", Kind::Write)];
    let calls = total(both.iter().flat_map(|(_, kind)| moves(*kind)).map(|cell| cell.calls));
    if calls == 0 {
        return Err("no operation moved bytes".into());
    }
    let time = source.columns(calls, COLUMNS)?;
    let (mut series, mut sums) = (Vec::new(), Vec::new());
    for (color, (name, kind)) in both.into_iter().enumerate() {
        let mut bytes = vec![0u64; time.count];
        for cell in moves(kind) {
            let (start_ns, end_ns) = source.span_ns(cell);
            time.spread(start_ns, end_ns, cell.bytes, |at, share| {
                bytes[at] = bytes[at].saturating_add(share);
            });
        }
        if bytes.iter().all(|bytes| *bytes == 0) {
            continue;
        }
        let rate = |bytes: &u64| mib_s(*bytes as f64 * source.scale, time.width_ns as f64);
        sums.push(describe_bytes(name, &bytes, &time, source.scale));
        series.push(steps(name, color, &time, bytes.iter().map(rate)));
    }
    Ok(View {
        name: BANDWIDTH.into(),
        title: source.titled("Bandwidth over time"),
        summary: format!(
            "{}: mean over the columns of {} in which bytes moved. The bytes of an operation are spread over its time.{}",
            words::capital(&sums.join("; ")),
            format_ns(time.width_ns as f64),
            source.note
        ),
        chart: steps_over_time("bandwidth of all ranks", Unit::MibPerSecond, series),
    })
}

/// "writing 40 MiB, 200 MiB/s": over the columns in which bytes moved, each as long as the others.
fn describe_bytes(name: &str, bytes: &[u64], time: &TimeBins, scale: f64) -> String {
    let moved = total(bytes.iter().copied()) as f64 * scale;
    let active = bytes.iter().filter(|bytes| **bytes > 0).count();
    let active_ns = active as f64 * time.width_ns as f64;
    format!("{name} {}, {}", format_bytes(moved as u64), rate_text(mib_s(moved, active_ns)))
}

/// Operations begun per second.
pub(crate) fn calls(source: &Source<'_>) -> Result<View, String> {
    let line = source.line;
    if line.events == 0 {
        return Err(nothing(source));
    }
    let time = source.columns(line.events, COLUMNS)?;
    let mut counts = vec![vec![0u64; time.count]; line.ops.len()];
    for cell in &line.cells {
        let op = usize::from(line.streams[cell.stream as usize].op);
        counts[op][time.of(line.time.edge_ns(cell.column as usize))] += cell.calls;
    }
    let mut used: Vec<(&str, Vec<u64>)> = line.ops.iter().map(|op| op.name()).zip(counts).collect();
    let sum = |counts: &[u64]| total(counts.iter().copied());
    used.sort_by_key(|entry| Reverse(sum(&entry.1)));
    let (busiest, most) = (used[0].0, sum(&used[0].1));
    // Those without a colour of their own are one line.
    let rest = used.split_off(used.len().min(SERIES));
    let names: Vec<&str> = used.iter().map(|entry| entry.0).collect();
    let per_second = |count: &u64| *count as f64 * source.scale / (time.width_ns as f64 / 1e9);
    let own = used.iter().zip(colors(&names));
    let own =
        own.map(|((name, counts), color)| steps(name, color, &time, counts.iter().map(per_second)));
    let mut series: Vec<Series> = own.collect();
    if !rest.is_empty() {
        let sum = |at: usize| total(rest.iter().map(|entry| entry.1[at]));
        let values = (0..time.count).map(|at| per_second(&sum(at)));
        series.push(steps("others", SERIES, &time, values));
    }
    let shown = |count: u64| grouped((count as f64 * source.scale) as u64);
    Ok(View {
        name: CALLS.into(),
        title: source.titled("Operations per second over time"),
        summary: format!(
            "{} {} in {}, {} of them {busiest}.{}",
            shown(line.events),
            words::plural(line.events, "operation"),
            format_ns((line.end_ns - line.start_ns) as f64),
            shown(most),
            source.note
        ),
        chart: steps_over_time("operations begun, all ranks", Unit::PerSecond, series),
    })
}

/// Median and 99 % of the operation with most time: others would be mixed with it.
pub(crate) fn latency(source: &Source<'_>) -> Result<View, String> {
    let line = source.line;
    if !line.has_times {
        return Err(source.no_time.into());
    }
    let mut busy_ns = vec![0u64; line.ops.len()];
    for cell in &line.cells {
        let op = usize::from(line.streams[cell.stream as usize].op);
        busy_ns[op] = busy_ns[op].saturating_add(cell.busy_ns);
    }
    let most = (0..busy_ns.len()).rev().max_by_key(|op| busy_ns[*op]);
    let op = most.ok_or_else(|| nothing(source))?;
    let own = || line.latencies().iter().filter(|one| one.op == op);
    let calls = total(own().map(|one| one.calls));
    if calls < LEAST_CALLS {
        return Err(format!("too few: {}", words::count(calls, "operation")));
    }
    let wanted = (calls / CALLS_OF_P99).clamp(1, FEW_COLUMNS) as usize;
    let count = (1 << wanted.ilog2()).min(line.latency_columns());
    let mut columns = vec![BTreeMap::<u64, u64>::new(); count];
    for one in own() {
        *columns[one.column * count / line.latency_columns()].entry(one.code).or_default() +=
            one.calls;
    }
    let time = line.columns(count);
    let figure = |name: &str, color: usize, share: f64, least: u64| {
        let point = |(at, codes): (usize, &BTreeMap<u64, u64>)| {
            let y = quantile(codes, share, least)?;
            let x = (time.edge_ns(at) as f64 + time.edge_ns(at + 1) as f64) / 2.0;
            Some(Point { x, y, interval: None })
        };
        Series {
            name: name.into(),
            color,
            points: columns.iter().enumerate().filter_map(point).collect(),
        }
    };
    let lines = [figure("median", 0, 0.5, LEAST_CALLS), figure("99 %", 1, 0.99, CALLS_OF_P99)];
    let series: Vec<Series> = lines.into_iter().filter(|one| !one.points.is_empty()).collect();
    if series.is_empty() {
        return Err(format!("fewer than {LEAST_CALLS} operations of a kind at any time"));
    }
    let y = axis_of(
        "time of a call",
        Unit::Nanoseconds,
        series.iter().flat_map(|one| &one.points).map(|p| p.y),
    );
    let name = line.ops[op].name();
    Ok(View {
        name: LATENCY.into(),
        title: source.titled(&format!("Latency of {name} over time")),
        summary: format!(
            "{name} has most time of all operations: {} in {} columns; the 99 % where a column has {CALLS_OF_P99} and \
             more. Known to 2 %.{}",
            words::count(calls, "call"),
            count,
            source.note
        ),
        chart: Chart::Lines { x: time_axis(), y, join: Join::Line, series },
    })
}

/// A quantile of times by code, nanoseconds; `None` for fewer than `least` calls.
fn quantile(codes: &BTreeMap<u64, u64>, share: f64, least: u64) -> Option<f64> {
    let calls = total(codes.values().copied());
    let rank = ((calls as f64 * share).ceil() as u64).max(1);
    let mut below = 0;
    let found = codes.iter().find(|(_, calls)| {
        below += *calls;
        below >= rank
    });
    let (code, _) = found.filter(|_| calls >= least)?;
    Some(if *code == 0 { 1.0 } else { ((*code as f64 - 0.5) / 16.0).exp2() })
}

/// On each rank the kind of operation with most time at each time.
pub(crate) fn ranks(source: &Source<'_>) -> Result<View, String> {
    let line = source.line;
    if line.events == 0 {
        return Err(nothing(source));
    }
    if !line.has_times || line.cells.iter().all(|cell| cell.busy_ns == 0) {
        return Err(source.no_time.into());
    }
    let time = source.columns(line.events, FEW_COLUMNS)?;
    let rows = Bands::over(line.bands.len() as u32, RANK_ROWS);
    let mut busy_ns = vec![[0u64; 4]; rows.count * time.count];
    for cell in &line.cells {
        let row = rows.of(line.streams[cell.stream as usize].band);
        let (start_ns, end_ns) = source.span_ns(cell);
        time.spread(start_ns, end_ns, cell.busy_ns, |at, share| {
            let sum = &mut busy_ns[row * time.count + at][line.kind(cell.stream) as usize];
            *sum = sum.saturating_add(share);
        });
    }
    let mut bars: Vec<Bar> = Vec::new();
    for (at, kinds) in busy_ns.iter().enumerate() {
        let most = kinds.iter().copied().max().unwrap_or(0);
        let Some(class) = kinds.iter().position(|ns| *ns == most && most > 0) else { continue };
        let (row, class, column) = ((at / time.count) as u32, class as u32, at % time.count);
        let (start, end) = (time.edge_ns(column) as f64, time.edge_ns(column + 1) as f64);
        match bars.last_mut() {
            Some(last) if (last.row, last.class, last.end) == (row, class, start) => last.end = end,
            _ => bars.push(Bar { row, class, start, end }),
        }
    }
    let name = |row: usize| {
        let (first, last) = (rows.first(row) as usize, rows.first(row + 1) as usize - 1);
        match (line.bands[first].0, line.bands[last].1) {
            (first, last) if first == last => format!("rank {first}"),
            (first, last) => format!("ranks {first}-{last}"),
        }
    };
    Ok(View {
        name: RANKS.into(),
        title: source.titled("Ranks over time"),
        summary: format!(
            "{} in columns of {}: each has the colour of what took most time there. Left out: what took less.{}",
            words::count(u64::from(line.ranks), "rank"),
            format_ns(time.width_ns as f64),
            source.note
        ),
        chart: Chart::Spans {
            x: time_axis(),
            rows: (0..rows.count).map(name).collect(),
            classes: Kind::ALL.iter().map(|kind| kind.name().into()).collect(),
            bars,
        },
    })
}

/// One mark per cell in which bytes moved, in the colour of what moved most there.
pub(crate) fn offsets(source: &Source<'_>) -> Result<View, String> {
    let line = source.line;
    let moves =
        |cell: &&Cell| cell.bytes > 0 && matches!(line.kind(cell.stream), Kind::Read | Kind::Write);
    let calls = total(line.cells.iter().filter(moves).map(|cell| cell.calls));
    let cells = line.offsets.cells();
    if cells.is_empty() {
        return Err("no operation moved bytes of a file".into());
    }
    if calls < LEAST_CALLS {
        return Err(format!("too few: {}", words::count(calls, "operation")));
    }
    let columns = OFFSET_COLUMNS.min(line.offsets.columns());
    let rows_joined = crate::aggregate::OFFSET_ROWS / OFFSET_ROWS;
    let mut sums = BTreeMap::<(usize, usize), [u64; 2]>::new();
    for cell in &cells {
        let column = cell.column * columns / line.offsets.columns();
        let sum = sums.entry((column, cell.row / rows_joined)).or_default();
        let sum = &mut sum[usize::from(cell.is_write)];
        *sum = sum.saturating_add(cell.bytes);
    }
    let time = line.columns(columns);
    let row_bytes = line.offsets.row_bytes as f64 * rows_joined as f64;
    let series = |name: &str, color: usize| Series { name: name.into(), color, points: Vec::new() };
    let mut series = [series("read", 0), series("written", 1)];
    for ((column, row), [read, written]) in &sums {
        let x = (time.edge_ns(*column) as f64 + time.edge_ns(column + 1) as f64) / 2.0;
        let y = (*row as f64 + 0.5) * row_bytes;
        series[usize::from(written > read)].points.push(Point { x, y, interval: None });
    }
    let mixed = sums.values().filter(|both| both.iter().all(|bytes| *bytes > 0)).count();
    let files = line.files.len() + line.more_files;
    let overlaid = if files > 1 { " of all files, one over the other" } else { "" };
    Ok(View {
        name: OFFSETS.into(),
        title: source.titled("File offset over time"),
        summary: format!(
            "{} of time and position{overlaid}, up to {}. Colour: what moved most bytes there; {mixed} have both.{}{}",
            words::count(sums.len() as u64, "cell"),
            format_bytes(line.offsets.end_bytes()),
            source.unplaced(),
            source.note
        ),
        chart: Chart::Lines {
            x: time_axis(),
            y: Axis::new("position in the file", Unit::Bytes),
            join: Join::Dots,
            series: series.into_iter().filter(|one| !one.points.is_empty()).collect(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bandwidth_is_the_mean_of_the_columns_with_bytes() {
        let time = TimeBins { start_ns: 0, width_ns: 500_000_000, count: 4 };
        let bytes = [1 << 20, 0, 3 << 20, 0];
        assert_eq!(describe_bytes("writing", &bytes, &time, 1.0), "writing 4 MiB, 4 MiB/s");
        assert_eq!(describe_bytes("reading", &bytes, &time, 2.0), "reading 8 MiB, 8 MiB/s");
    }
}

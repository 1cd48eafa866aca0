//! Ranks, and machines, against each other over time: who was slow, and when.

use super::source::{
    Source, axis, axis_of, mib_s, nothing, qualified, rate_text, shown_label, time_axis, total,
};
use crate::aggregate::{Bands, Cell, Grid, NodeGrid, TimeBins};
use crate::chart::{Chart, Join, Point, Series, Unit, View};
use crate::text::escape;
use model::units::{format_bytes, format_ns, significant};
use model::words;

pub(super) const BAND: &str = "bandwidth-of-ranks-over-time";
pub(super) const NODES: &str = "bandwidth-of-nodes-over-time";
pub(super) const BANDWIDTH: &str = "bandwidth-by-rank-and-time";
pub(super) const LATENCY: &str = "latency-by-rank-and-time";
/// Machines that have a line each.
const LINES: usize = 8;
/// Rows of a heat map.
const MAX_ROWS: usize = 32;
/// Columns of a heat map: with the rows a few thousand marks.
const MAX_COLUMNS: usize = 120;

/// The members of a band: ranks, or machines.
struct Members<'a> {
    /// Name of the picture.
    view: &'static str,
    /// "rank"
    noun: &'static str,
    bands: &'a Bands,
    grid: &'a Grid,
    name: &'a dyn Fn(usize) -> String,
}

/// The mean over ranks, and the slowest and fastest one, at each time.
pub(super) fn band(source: &Source<'_>) -> Result<View, String> {
    let bands = &source.events.bands;
    if bands.ranks < 2 {
        return Err("there is one rank".into());
    }
    let name = |band| bands.name(band);
    let grid = &source.events.grid;
    band_over(source, &Members { view: BAND, noun: "rank", bands, grid, name: &name })
}

/// The same over the machines of a job on several.
pub(super) fn band_of_nodes(source: &Source<'_>) -> Result<View, String> {
    let Some(NodeGrid { nodes, grid }) = &source.events.nodes else {
        return Err("the execution shown ran on one node".into());
    };
    let name = |band| escape(&nodes.name(band));
    let bands = &nodes.bands;
    let members = Members { view: NODES, noun: "node", bands, grid, name: &name };
    let view = band_over(source, &members)?;
    let chart = lines_of(source, &members);
    Ok(View { chart, ..view })
}

/// A line per machine; of many the slowest, the fastest, and the mean.
fn lines_of(source: &Source<'_>, members: &Members<'_>) -> Chart {
    let Members { bands, grid, .. } = members;
    let time = &source.events.time;
    let size = |band: usize| f64::from(bands.size(band));
    let moved = |band: usize| total(grid.band(band).iter().map(|cell| cell.bytes));
    let mut shown: Vec<usize> = (0..bands.count).collect();
    if bands.count > LINES {
        shown.sort_by(|a, b| {
            (moved(*a) as f64 / size(*a)).total_cmp(&(moved(*b) as f64 / size(*b)))
        });
        shown = vec![shown[0], shown[shown.len() - 1]];
    }
    let points = |members: &[usize]| -> Vec<Point> {
        let bytes = |at: usize| total(members.iter().map(|band| grid.band(*band)[at].bytes));
        let count: f64 = members.iter().map(|band| size(*band)).sum();
        let rate = |at| mib_s(bytes(at) as f64 * source.scale, time.width_ns as f64) / count;
        (0..time.count)
            .map(|at| Point { x: time.edge_ns(at) as f64, y: rate(at), interval: None })
            .collect()
    };
    let mut series: Vec<Series> = shown
        .iter()
        .enumerate()
        .map(|(color, band)| Series {
            name: (members.name)(*band),
            color,
            points: points(&[*band]),
        })
        .collect();
    if bands.count > LINES {
        let all: Vec<usize> = (0..bands.count).collect();
        let color = series.len();
        series.push(Series { name: "mean of the nodes".into(), color, points: points(&all) });
    }
    let y = axis("bandwidth of a node", Unit::MibPerSecond);
    Chart::Lines { x: time_axis(), y, join: Join::Line, series }
}

fn band_over(source: &Source<'_>, members: &Members<'_>) -> Result<View, String> {
    let Members { noun, bands, grid, .. } = members;
    let time = &source.events.time;
    if source.events.bytes == 0 {
        return Err("no operation moved bytes".into());
    }
    // Neighbours that share a band are averaged.
    let rate = |band: usize, bytes: u64, ns: f64| {
        mib_s(bytes as f64 * source.scale, ns) / f64::from(bands.size(band))
    };
    let active: Vec<usize> = (0..time.count)
        .filter(|at| (0..bands.count).any(|band| grid.band(band)[*at].bytes > 0))
        .collect();
    let active_ns = active.len() as f64 * time.width_ns as f64;
    let moved = |band: usize| total(grid.band(band).iter().map(|cell| cell.bytes));
    let means = (0..bands.count).map(|band| (band, rate(band, moved(band), active_ns)));
    let mut means: Vec<(usize, f64)> = means.collect();
    means.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (slow, fast) = (means[0], means[means.len() - 1]);
    let all = match bands.count == bands.ranks as usize {
        true => words::count(u64::from(bands.ranks), noun),
        false => format!("{} groups of neighbouring {noun}s", bands.count),
    };
    let extremes = match rate_text(slow.1) == rate_text(fast.1) {
        true => format!("Every {noun} moved {}", rate_text(slow.1)),
        false => format!(
            "Slowest: {} ({}), fastest: {} ({})",
            (members.name)(slow.0),
            rate_text(slow.1),
            (members.name)(fast.0),
            rate_text(fast.1)
        ),
    };
    Ok(View {
        name: members.view.into(),
        title: source.titled(format!("Bandwidth per {noun} over time")),
        summary: format!(
            "{extremes}, on average over the {} of {} columns of {} in which any {noun} moved bytes. Idle time counts. {}{}",
            active.len(),
            time.count,
            format_ns(time.width_ns as f64),
            drawn(members, &all),
            source.note
        ),
        chart: chart_over(time, members, rate),
    })
}

/// Meaning of the lines of the picture; `all`: number of members.
fn drawn(members: &Members<'_>, all: &str) -> String {
    let noun = members.noun;
    match (members.view == NODES, members.bands.count > LINES) {
        (true, false) => format!("Each of the {all} has a line."),
        (true, true) => format!(
            "Of the {all} the slowest and the fastest have a line, and the mean of the {noun}s."
        ),
        (false, _) => {
            format!("The band holds all {all} at each time, the line is the mean of the {noun}s.")
        }
    }
}

/// `rate`: of a band, from its bytes and nanoseconds.
fn chart_over(
    time: &TimeBins,
    members: &Members<'_>,
    rate: impl Fn(usize, u64, f64) -> f64,
) -> Chart {
    let Members { noun, bands, grid, .. } = members;
    let (mut points, mut low, mut high) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..time.count {
        let cells = (0..bands.count).map(|band| (band, grid.band(band)[at].bytes));
        let rates: Vec<f64> =
            cells.map(|(band, bytes)| rate(band, bytes, time.width_ns as f64)).collect();
        let sizes = (0..bands.count).map(|band| f64::from(bands.size(band)));
        let sum: f64 = rates.iter().zip(sizes).map(|(rate, size)| rate * size).sum();
        let y = sum / f64::from(bands.ranks);
        points.push(Point { x: time.edge_ns(at) as f64, y, interval: None });
        low.push(rates.iter().copied().fold(f64::INFINITY, f64::min));
        high.push(rates.iter().copied().fold(0.0, f64::max));
    }
    let line = Series { name: format!("mean of the {noun}s"), color: 0, points };
    let y = axis(&format!("bandwidth of a {noun}"), Unit::MibPerSecond);
    Chart::Band { x: time_axis(), y, line, low, high }
}

/// Bandwidth of each rank in each column of time: columns and rows of other widths can be compared.
pub(super) fn bandwidth(source: &Source<'_>) -> Result<View, String> {
    if source.events.bytes == 0 {
        return Err("no operation moved bytes".into());
    }
    let heat = Heat::of(source, |cell, ranks, ns| {
        (cell.bytes > 0).then(|| mib_s(cell.bytes as f64 * source.scale, ns) / ranks)
    });
    let (bands, grid) = (&source.events.bands, &source.events.grid);
    let moved = |band: usize| {
        let bytes = total(grid.band(band).iter().map(|cell| cell.bytes));
        bytes as f64 * source.scale / f64::from(bands.size(band))
    };
    let order = |a: &usize, b: &usize| moved(*a).total_cmp(&moved(*b));
    let least = (0..bands.count).min_by(order).unwrap_or(0);
    let most = (0..bands.count).rev().max_by(order).unwrap_or(0);
    let of_rank = |band: usize| format_bytes(moved(band) as u64);
    let title = source.titled("Bandwidth by rank and time".into());
    let who = match of_rank(least) == of_rank(most) {
        true => format!("Every rank moved {}.", of_rank(most)),
        false => format!(
            "Most: {} ({}), least: {} ({}).",
            bands.name(most),
            of_rank(most),
            bands.name(least),
            of_rank(least)
        ),
    };
    let summary =
        format!("{who} Columns are {} wide{}.{}", heat.width(), heat.ranks_per_row(), source.note);
    Ok(heat.view(BANDWIDTH, title, summary, "bandwidth of a rank", Unit::MibPerSecond))
}

/// Mean time of one operation in one label, by the ranks and the columns of time in which it began.
/// Others would be mixed with it in every cell.
pub(super) fn latency(source: &Source<'_>) -> Result<View, String> {
    let Some(busiest) = &source.events.busiest else {
        return Err(source.no_time.into());
    };
    let op = busiest.op;
    let heat = Heat::of(source, |cell, _, _| {
        (cell.count > 0).then(|| cell.busy_ns as f64 / cell.count as f64)
    });
    let (row, column, slowest) = heat.largest().ok_or_else(|| nothing(source))?;
    let (bands, grid) = (&source.events.bands, &source.events.grid);
    let mut all = Cell::default();
    for cell in (0..bands.count).flat_map(|band| grid.band(band)) {
        add(&mut all, cell);
    }
    let place = match source.several_labels {
        true => format!(" in {}", shown_label(&busiest.label)),
        false => String::new(),
    };
    let slowest = format_ns(slowest);
    let (from, not_due) = match busiest.is_due {
        true => (" from its start", " The wait from the due time to the start is not included."),
        false => ("", ""),
    };
    let title = format!("Latency of {op}{place} by rank and time");
    let others = match significant(100.0 * busiest.share).as_str() {
        "100" => String::new(),
        share => format!(" {share} % of the time in operations; others are left out."),
    };
    let summary = format!(
        "Mean {}{from}, slowest cell {slowest} ({}, from {} on).{not_due}{others} Columns are {} wide{}.{}",
        format_ns(all.busy_ns as f64 / all.count as f64),
        heat.rows.name(row),
        format_ns(heat.x_edges[column]),
        heat.width(),
        heat.ranks_per_row(),
        source.note
    );
    let title = qualified(title, &[&source.point]);
    let value = format!("mean time of {op}{from}");
    Ok(heat.view(LATENCY, title, summary, &value, Unit::Nanoseconds))
}

fn add(sum: &mut Cell, cell: &Cell) {
    sum.bytes = sum.bytes.saturating_add(cell.bytes);
    sum.count = sum.count.saturating_add(cell.count);
    sum.busy_ns = sum.busy_ns.saturating_add(cell.busy_ns);
}

/// Ranks by time.
struct Heat {
    rows: Bands,
    x_edges: Vec<f64>,
    y_edges: Vec<f64>,
    values: Vec<Vec<f64>>,
}

impl Heat {
    /// Adds up cells until they fit; `value` gives the value of a sum over a number of ranks and
    /// nanoseconds, if it has one.
    fn of(source: &Source<'_>, value: impl Fn(&Cell, f64, f64) -> Option<f64>) -> Heat {
        let (time, bands, grid) = (&source.events.time, &source.events.bands, &source.events.grid);
        let rows = Bands::over(bands.ranks, MAX_ROWS);
        let step = time.count.div_ceil(MAX_COLUMNS);
        let columns = time.count.div_ceil(step);
        let mut cells = vec![vec![Cell::default(); columns]; rows.count];
        for band in 0..bands.count {
            let row = &mut cells[rows.of(bands.first(band))];
            grid.band(band)
                .iter()
                .enumerate()
                .for_each(|(at, cell)| add(&mut row[at / step], cell));
        }
        let edge = |at: usize| time.edge_ns((at * step).min(time.count)) as f64;
        let x_edges: Vec<f64> = (0..=columns).map(edge).collect();
        let value = |row: usize, cells: &[Cell]| -> Vec<f64> {
            let ranks = f64::from(rows.size(row));
            let widths = x_edges.windows(2).map(|edges| edges[1] - edges[0]);
            let values = cells.iter().zip(widths).map(|(cell, ns)| value(cell, ranks, ns));
            values.map(|value| value.unwrap_or(f64::NAN)).collect()
        };
        Heat {
            values: cells.iter().enumerate().map(|(row, cells)| value(row, cells)).collect(),
            rows,
            y_edges: (0..=rows.count).map(|row| f64::from(rows.first(row))).collect(),
            x_edges,
        }
    }

    /// Width of a column.
    fn width(&self) -> String {
        format_ns(self.x_edges[1] - self.x_edges[0])
    }

    /// "; a row holds up to 4 ranks" where it is not one.
    fn ranks_per_row(&self) -> String {
        match self.rows.ranks.div_ceil(self.rows.count as u32) {
            0 | 1 => String::new(),
            most => format!("; a row holds up to {most} ranks"),
        }
    }

    /// Row, column and value of the largest cell.
    fn largest(&self) -> Option<(usize, usize, f64)> {
        let cells = self.values.iter().enumerate().flat_map(|(row, values)| {
            values.iter().enumerate().map(move |(column, value)| (row, column, *value))
        });
        cells.filter(|cell| cell.2.is_finite()).reduce(|a, b| if b.2 > a.2 { b } else { a })
    }

    fn view(self, name: &str, title: String, summary: String, value: &str, unit: Unit) -> View {
        let values = || self.values.iter().flatten().copied();
        // A cell without a shade would say that nothing happened in it.
        let value = match values().any(|value| value == 0.0) {
            true => axis(value, unit),
            false => axis_of(value, unit, values()),
        };
        let chart = Chart::Heat {
            x: time_axis(),
            y: axis("rank", Unit::Rank),
            value,
            x_edges: self.x_edges,
            y_edges: self.y_edges,
            values: self.values,
        };
        View { name: name.into(), title, summary, chart }
    }
}

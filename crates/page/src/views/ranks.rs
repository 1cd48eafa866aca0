//! Ranks against each other over time: who was slow, and when.

use super::source::{
    Source, axis_of, extremes, mib_s, nothing, qualified, shown_label, time_axis, total,
};
use crate::aggregate::{Bands, Cell};
use model::units::{format_bytes, format_ns, significant};
use report::chart::{Axis, Chart, Unit, View};

pub(crate) const BANDWIDTH: &str = "bandwidth-by-rank-and-time";
pub(crate) const LATENCY: &str = "latency-by-rank-and-time";
/// Rows of a heat map.
const MAX_ROWS: usize = 32;
/// Columns of a heat map: with the rows a few thousand marks.
const MAX_COLUMNS: usize = 120;

/// Bandwidth of each rank in each column of time: columns and rows of other widths can be compared.
pub(crate) fn bandwidth(source: &Source<'_>) -> Result<View, String> {
    if source.events.bytes == 0 {
        return Err("no operation moved bytes".into());
    }
    let (heat, _) = Heat::of(source, |cell, ranks, ns| {
        (cell.bytes > 0).then(|| mib_s(cell.bytes as f64 * source.scale, ns) / ranks)
    });
    let (bands, grid) = (&source.events.bands, &source.events.grid);
    let moved = |band: usize| {
        let bytes = total(grid.band(band).iter().map(|cell| cell.bytes));
        bytes as f64 * source.scale / f64::from(bands.size(band))
    };
    let name = |band| bands.name(band);
    let moved = extremes(bands.count, name, moved, |bytes| format_bytes(bytes as u64));
    let title = source.titled("Bandwidth by rank and time".into());
    let summary = format!("Bytes moved per rank: {moved}.{}", source.note);
    Ok(heat.view(BANDWIDTH, title, summary, "bandwidth of a rank", Unit::MibPerSecond))
}

/// Mean time of one operation in one label, by the ranks and the columns of time in which it began.
/// Others would be mixed with it in every cell.
pub(crate) fn latency(source: &Source<'_>) -> Result<View, String> {
    let Some(busiest) = &source.events.busiest else {
        return Err(source.no_time.into());
    };
    let op = busiest.op;
    let (heat, rows) = Heat::of(source, |cell, _, _| {
        (cell.count > 0).then(|| cell.busy_ns as f64 / cell.count as f64)
    });
    let (row, column, slowest) = heat.largest().ok_or_else(|| nothing(source))?;
    let (bands, grid) = (&source.events.bands, &source.events.grid);
    let cells = || (0..bands.count).flat_map(|band| grid.band(band));
    let (count, busy_ns) = (total(cells().map(|c| c.count)), total(cells().map(|c| c.busy_ns)));
    let place = match source.several_labels {
        true => format!(" in {}", shown_label(&busiest.label)),
        false => String::new(),
    };
    let from = if busiest.is_due { " from its start" } else { "" };
    let share = busiest.share.map_or_else(String::new, |share| {
        format!(" {} % of the time in operations.", significant(100.0 * share))
    });
    let summary = format!(
        "Mean {}{from}, slowest cell {} ({}, from {} on).{share}{}",
        format_ns(busy_ns as f64 / count as f64),
        format_ns(slowest),
        rows.name(row),
        format_ns(heat.x_edges[column]),
        source.note
    );
    let title = qualified(format!("Latency of {op}{place} by rank and time"), &[&source.point]);
    Ok(heat.view(LATENCY, title, summary, &format!("mean time of {op}{from}"), Unit::Nanoseconds))
}

/// Ranks by time. NaN is an empty cell.
pub(crate) struct Heat {
    pub x_edges: Vec<f64>,
    pub y_edges: Vec<f64>,
    pub values: Vec<Vec<f64>>,
}

impl Heat {
    /// Adds up cells until they fit; `value` gives the value of a sum over a number of ranks and
    /// nanoseconds, if it has one. Gives the rows, too.
    fn of(source: &Source<'_>, value: impl Fn(&Cell, f64, f64) -> Option<f64>) -> (Heat, Bands) {
        let (time, bands, grid) = (&source.events.time, &source.events.bands, &source.events.grid);
        let rows = Bands::over(bands.ranks, MAX_ROWS);
        let step = time.count.div_ceil(MAX_COLUMNS);
        let columns = time.count.div_ceil(step);
        let mut cells = vec![vec![Cell::default(); columns]; rows.count];
        for band in 0..bands.count {
            let row = &mut cells[rows.of(bands.first(band))];
            grid.band(band).iter().enumerate().for_each(|(at, cell)| row[at / step].add(cell));
        }
        let edge = |at: usize| time.edge_ns((at * step).min(time.count)) as f64;
        let x_edges: Vec<f64> = (0..=columns).map(edge).collect();
        let value = |row: usize, cells: &[Cell]| -> Vec<f64> {
            let ranks = f64::from(rows.size(row));
            let widths = x_edges.windows(2).map(|edges| edges[1] - edges[0]);
            let values = cells.iter().zip(widths).map(|(cell, ns)| value(cell, ranks, ns));
            values.map(|value| value.unwrap_or(f64::NAN)).collect()
        };
        let values = cells.iter().enumerate().map(|(row, cells)| value(row, cells)).collect();
        let y_edges = (0..=rows.count).map(|row| f64::from(rows.first(row))).collect();
        (Heat { values, y_edges, x_edges }, rows)
    }

    /// Row, column and value of the largest cell.
    fn largest(&self) -> Option<(usize, usize, f64)> {
        let cells = self.values.iter().enumerate().flat_map(|(row, values)| {
            values.iter().enumerate().map(move |(column, value)| (row, column, *value))
        });
        cells.filter(|cell| cell.2.is_finite()).reduce(|a, b| if b.2 > a.2 { b } else { a })
    }

    pub fn view(self, name: &str, title: String, summary: String, value: &str, unit: Unit) -> View {
        let values = || self.values.iter().flatten().copied();
        // A cell without a shade would say that nothing happened in it.
        let value = match values().any(|value| value == 0.0) {
            true => Axis::new(value, unit),
            false => axis_of(value, unit, values()),
        };
        let chart = Chart::Heat {
            x: time_axis(),
            y: Axis::new("rank", Unit::Rank),
            value,
            x_edges: self.x_edges,
            y_edges: self.y_edges,
            values: self.values,
        };
        View { name: name.into(), title, summary, chart }
    }
}

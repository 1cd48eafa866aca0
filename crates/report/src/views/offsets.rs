//! Positions in files against time: sequential, strided, random, and who.

use super::{Source, axis, time_axis};
use crate::chart::{Chart, Join, Point, Series, Unit, View};
use model::units::{format_bytes, format_ns};

pub(super) const NAME: &str = "offset-over-time";

/// One mark per cell in which bytes moved, in the colour of the ranks that moved most there.
pub(super) fn over_time(source: &Source<'_>) -> Result<View, String> {
    let grid = &source.events.offsets;
    if source.events.bytes == 0 {
        return Err("no operation moved bytes".into());
    }
    if grid.rows == 1 {
        return Err("all operations moved the same byte of their file".into());
    }
    let files = &source.events.files;
    let files = (files.files.len() + files.more) as u64;
    let series =
        |band: usize| Series { name: grid.bands.name(band), color: band, points: Vec::new() };
    let mut series: Vec<Series> = (0..grid.bands.count).map(series).collect();
    let (mut marks, mut mixed) = (0, 0);
    for column in 0..grid.time.count {
        for row in 0..grid.rows {
            let bytes = grid.cell(column, row);
            let most = bytes.iter().copied().max().unwrap_or(0);
            let Some(band) = bytes.iter().position(|bytes| *bytes == most && most > 0) else {
                continue;
            };
            let x = (grid.time.edge_ns(column) as f64 + grid.time.edge_ns(column + 1) as f64) / 2.0;
            let span = grid.span_bytes(row);
            let y = (span.start as f64 + span.end as f64) / 2.0;
            series[band].points.push(Point { x, y, interval: None });
            marks += 1;
            mixed += u64::from(bytes.iter().filter(|bytes| **bytes > 0).count() > 1);
        }
    }
    let reach = format_bytes(grid.end_bytes);
    Ok(View {
        name: NAME.into(),
        title: source.titled(match files {
            0 | 1 => format!("Which part of the file, up to {reach}, ranks touched when"),
            _ => format!("Which part of {files} files laid over one another, up to {reach}, ranks touched when"),
        }),
        summary: format!(
            "{marks} cells of {} by {} in which operations that moved bytes began; the colour of a cell is that of the ranks that moved most there, others moved bytes in {mixed} of them.{}{}",
            format_ns(grid.time.width_ns as f64),
            format_bytes(grid.row_bytes),
            source.unplaced(),
            source.note
        ),
        chart: Chart::Lines {
            x: time_axis(),
            y: axis("position in the file", Unit::Bytes),
            join: Join::Dots,
            series: series.into_iter().filter(|series| !series.points.is_empty()).collect(),
        },
    })
}

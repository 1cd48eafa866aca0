//! Cells of a grid coloured by a quantity.

use super::axis::Scale;
use super::axis::{Tick, Ticks, ticks};
use super::frame::Frame;
use super::frame::Legend;
use super::frame::Paper;
use super::frame::Width;
use super::palette::{Ink, SHADES};
use crate::chart::{Axis, Unit};
use std::ops::Range;

/// Cells of a picture at most; finer grids are averaged.
const CELLS: usize = 4800;
const HEIGHT: u32 = 280;

/// A row of cells that look the same, in the plot.
type Run = ([(f64, f64); 2], usize);

/// The heat map; `axes` are x, y and value.
pub fn heat(
    paper: &mut Paper,
    axes: [&Axis; 3],
    x_edges: &[f64],
    y_edges: &[f64],
    values: &[Vec<f64>],
) {
    let [x, y, value] = axes;
    let x_scale = Scale::over(x_edges.iter().copied(), x.log, false);
    let y_scale = Scale::over(y_edges.iter().copied(), y.log, false);
    let grid = Grid::new(x_edges, y_edges, values, paper.width);
    if let Some(note) = grid.note() {
        paper.note(note);
    }
    let cells = grid.cells();
    let finite = cells.iter().map(|(_, _, value)| *value);
    let colors = Scale::over(finite, value.log, true);
    let runs = runs(&cells, &grid, [&x_scale, &y_scale, &colors]);
    let wanted = if paper.width == Width::Wide { 7 } else { 4 };
    let legend = ticks(value, &colors, 3);
    let frame = Frame {
        x: axis(x, &x_scale, x_edges, wanted),
        y: axis(y, &y_scale, y_edges, 6),
        legend: Legend::Shades { title: legend.title, ticks: legend.ticks },
        height: HEIGHT,
        rows: true,
        empty: runs.is_empty(),
    };
    frame.draw(paper, |plot| {
        runs.into_iter().for_each(|(corners, shade)| plot.rect(corners, Ink::Shade(shade)));
    });
}

/// Ticks of an axis; a rank's number is in the middle of its row.
fn axis(axis: &Axis, scale: &Scale, edges: &[f64], wanted: usize) -> Ticks {
    let mut found = ticks(axis, scale, wanted);
    let centered = axis.unit == Unit::Rank && !axis.log;
    if !centered || edges.len() < 2 {
        return found;
    }
    let last = edges[edges.len() - 1];
    let middle = |value: f64| {
        let edge = edges.windows(2).find(|pair| (pair[0]..pair[1]).contains(&value))?;
        // Wider rows hold several ranks.
        scale.place(if edge[1] - edge[0] <= 1.0 { (edge[0] + edge[1]) / 2.0 } else { value })
    };
    found.ticks = found
        .ticks
        .into_iter()
        .filter_map(|tick| {
            let value = (scale.lo + tick.at * (scale.hi - scale.lo)).round();
            (value < last).then_some(())?;
            Some(Tick { at: middle(value)?, ..tick })
        })
        .collect();
    found
}

/// The grid, with how many rows and columns make a cell of the picture.
struct Grid<'a> {
    x_edges: &'a [f64],
    y_edges: &'a [f64],
    values: &'a [Vec<f64>],
    columns: usize,
    rows: usize,
    step: (usize, usize),
}

impl Grid<'_> {
    fn new<'a>(
        x_edges: &'a [f64],
        y_edges: &'a [f64],
        values: &'a [Vec<f64>],
        width: Width,
    ) -> Grid<'a> {
        let rows = values.len().min(y_edges.len().saturating_sub(1));
        let widest = values.iter().map(Vec::len).max().unwrap_or(0);
        let columns = widest.min(x_edges.len().saturating_sub(1));
        let most_columns = if width == Width::Wide { 120 } else { 60 };
        let mut step = (1, 1);
        while columns.div_ceil(step.0) * rows.div_ceil(step.1) > CELLS {
            if columns.div_ceil(step.0) > most_columns { step.0 += 1 } else { step.1 += 1 }
        }
        Grid { x_edges, y_edges, values, columns, rows, step }
    }

    fn note(&self) -> Option<String> {
        let (columns, rows) = self.step;
        (self.step != (1, 1)).then(|| {
            format!("A cell of the picture is the mean of {columns} x {rows} cells of the data.")
        })
    }

    /// Row, column and value of the cells that have one, in this order.
    fn cells(&self) -> Vec<(usize, usize, f64)> {
        let mut cells = Vec::new();
        for row in (0..self.rows).step_by(self.step.1) {
            for column in (0..self.columns).step_by(self.step.0) {
                let block = self.block(row, column);
                cells.extend(self.mean(block).map(|mean| (row, column, mean)));
            }
        }
        cells
    }

    fn block(&self, row: usize, column: usize) -> [Range<usize>; 2] {
        let rows = row..(row + self.step.1).min(self.rows);
        [rows, column..(column + self.step.0).min(self.columns)]
    }

    fn mean(&self, [rows, columns]: [Range<usize>; 2]) -> Option<f64> {
        let row = |row: usize| self.values[row].iter().skip(columns.start).take(columns.len());
        let values = rows.flat_map(row).copied().filter(|value| value.is_finite());
        let (count, sum) = values.fold((0u32, 0.0), |(n, sum), value| (n + 1, sum + value));
        (count > 0).then(|| sum / f64::from(count))
    }
}

/// Neighbours in a row with the same colour are one mark.
fn runs(cells: &[(usize, usize, f64)], grid: &Grid<'_>, [x, y, colors]: [&Scale; 3]) -> Vec<Run> {
    let shade = |value: f64| {
        let place = colors.place(value)?;
        Some(((place * SHADES as f64) as usize).min(SHADES - 1))
    };
    let neighbours = |a: &(usize, usize, f64), b: &(usize, usize, f64)| {
        a.0 == b.0 && a.1 + grid.step.0 == b.1 && shade(a.2) == shade(b.2)
    };
    let run = |cells: &[(usize, usize, f64)]| {
        let ((row, first, value), (_, last, _)) = (cells[0], cells[cells.len() - 1]);
        let [rows, _] = grid.block(row, first);
        let [_, columns] = grid.block(row, last);
        let corner = |column: usize, row: usize| {
            Some((x.place(grid.x_edges[column])?, y.place(grid.y_edges[row])?))
        };
        Some(([corner(first, rows.end)?, corner(columns.end, rows.start)?], shade(value)?))
    };
    cells.chunk_by(neighbours).filter_map(run).collect()
}

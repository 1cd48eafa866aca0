//! A table that fits the terminal: right-aligned numbers, quantities each with the unit that fits it;
//! gaps, digits and columns given up in a fixed order.

use super::{Paint, Terminal, paint};
use crate::text::{decimals, fit, fit_all, fixed, flow, width};
use comfy_table::{CellAlignment, ContentArrangement, Table};
use model::units::Measure;

/// What stands in a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Text, left-aligned, never cut.
    Word,
    /// Text, left-aligned, cut to what the other columns leave.
    Label,
    /// Whole numbers.
    Count,
    /// Numbers with `least` to `most` decimals.
    Number { least: usize, most: usize },
    /// Numbers with a unit each.
    Quantity(Measure),
}

/// One column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// First header line.
    pub name: &'static str,
    /// Second header line: the unit of every number in the column, or what it is per.
    pub unit: &'static str,
    /// What stands in it.
    pub kind: Kind,
    /// Columns with smaller numbers are given up first where space is short; 0: never.
    pub drop_order: u8,
}

impl Column {
    /// A column of the tables below.
    pub const fn new(name: &'static str, unit: &'static str, kind: Kind, drop_order: u8) -> Column {
        Column { name, unit, kind, drop_order }
    }

    /// The name where it stands alone: with what tells it from a neighbour of the same name.
    fn full_name(&self) -> String {
        format!("{} {}", self.name, self.unit).trim_end().to_string()
    }
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text, already escaped.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number; rounded to the column's decimals.
    Number(f64),
    /// A quantity that may be larger.
    AtLeast(f64),
    /// A quantity that may be smaller.
    AtMost(f64),
    /// There is no such figure: `-`.
    None,
}

impl Cell {
    /// The number, or none if there is none or it is not finite.
    pub fn number(value: Option<f64>) -> Cell {
        value.filter(|v| v.is_finite()).map_or(Cell::None, Cell::Number)
    }
}

/// One line.
#[derive(Clone, Debug)]
pub enum Line {
    /// Text across all columns, already escaped.
    Heading(String),
    /// One cell per column; `bad` marks failures.
    Cells { cells: Vec<Cell>, bad: bool },
}

/// Columns and lines.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// Columns from left to right.
    pub columns: Vec<Column>,
    /// Lines from top to bottom.
    pub lines: Vec<Line>,
}

/// How much room a drawing takes.
#[derive(Clone, Copy, Debug)]
struct Step {
    gap: usize,
    digits: i32,
    dropped: u8,
}

/// Steps before columns are given up, widest first.
const STEPS: [(usize, i32); 4] = [(2, 4), (2, 3), (1, 3), (1, 2)];

/// Two digits would hide differences of several per cent.
const LEAST_DIGITS: u32 = 3;

/// A cut label keeps at least this many characters.
const LABEL_COLUMNS: usize = 20;

impl Grid {
    /// Leaves out the columns for which `keep` is false, with their cells.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut at = 0;
        self.columns.retain(|_| (keep(at), at += 1).0);
        for line in &mut self.lines {
            if let Line::Cells { cells, .. } = line {
                let mut at = 0;
                cells.retain(|_| (keep(at), at += 1).0);
            }
        }
    }

    /// The drawing: the widest one that fits, without a line end after the last line.
    pub fn draw(&self, terminal: Terminal) -> String {
        let last = self.columns.iter().map(|column| column.drop_order).max().unwrap_or(0);
        let full = STEPS.into_iter().map(|(gap, digits)| Step { gap, digits, dropped: 0 });
        let (gap, digits) = STEPS[STEPS.len() - 1];
        let fewer = (1..=last).map(|dropped| Step { gap, digits, dropped });
        let mut steps: Vec<Step> = full.chain(fewer).collect();
        let narrowest = steps.pop().expect("there is a step");
        let found = steps.into_iter().find_map(|step| self.draw_at(step, terminal, false));
        found.or_else(|| self.draw_at(narrowest, terminal, true)).unwrap_or_default()
    }

    /// The drawing at one step; `None` if it is too wide and need not be drawn anyway.
    fn draw_at(&self, step: Step, terminal: Terminal, anyway: bool) -> Option<String> {
        let mut grid = self.clone();
        let dropped = |at: usize| (1..=step.dropped).contains(&self.columns[at].drop_order);
        grid.retain(|at| !dropped(at));
        let mut texts = grid.texts(step.digits);
        let taken = grid.cut_labels(&mut texts, step.gap, terminal.columns);
        if taken > terminal.columns && !anyway {
            return None;
        }
        let names = (0..self.columns.len()).filter(|at| dropped(*at));
        let names: Vec<String> = names.map(|at| self.columns[at].full_name()).collect();
        let mut drawing = grid.lay_out(&texts, step.gap, terminal);
        if !names.is_empty() {
            let note = format!("Not shown at this width: {}.", names.join(", "));
            let note = flow(&note, terminal.columns);
            drawing.push_str(&format!("\n{}", super::paint_lines(&note, Paint::Faint, terminal)));
        }
        Some(drawing)
    }

    fn cells(&self) -> impl Iterator<Item = &Vec<Cell>> {
        self.lines.iter().filter_map(|line| match line {
            Line::Cells { cells, .. } => Some(cells),
            Line::Heading(_) => None,
        })
    }

    /// Every cell as text, by column; numbers with so many digits that the smallest of the column
    /// has `digits`.
    pub fn texts(&self, digits: i32) -> Vec<Vec<String>> {
        let column = |at: usize| {
            let values = self.cells().filter_map(|cells| match cells[at] {
                Cell::Number(value) => Some(value),
                _ => None,
            });
            let places = match self.columns[at].kind {
                Kind::Number { least, most } => {
                    decimals(values, digits, least.min(digits as usize), most)
                }
                _ => 0,
            };
            let measure = match self.columns[at].kind {
                Kind::Quantity(measure) => Some(measure),
                _ => None,
            };
            let number = |value: f64| match measure {
                Some(measure) => measure.format(value, (digits as u32).max(LEAST_DIGITS)),
                None => fixed(value, places),
            };
            self.cells().map(|cells| text(&cells[at], number)).collect()
        };
        (0..self.columns.len()).map(column).collect()
    }

    /// Cuts the labels to what the other columns leave; the width that all take.
    fn cut_labels(&self, texts: &mut [Vec<String>], gap: usize, columns: usize) -> usize {
        let widths: Vec<usize> = (0..texts.len()).map(|at| self.width(at, &texts[at])).collect();
        let taken = widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1);
        let Some(at) = self.columns.iter().position(|column| column.kind == Kind::Label) else {
            return taken;
        };
        let room = columns.saturating_sub(taken - widths[at]).max(LABEL_COLUMNS);
        fit_all(&mut texts[at], room);
        taken - widths[at] + widths[at].min(room)
    }

    fn width(&self, at: usize, texts: &[String]) -> usize {
        let header = width(self.columns[at].name).max(width(self.columns[at].unit));
        texts.iter().map(|text| width(text)).max().unwrap_or(0).max(header)
    }

    /// Draws the texts and puts the headings between their lines.
    fn lay_out(&self, texts: &[Vec<String>], gap: usize, terminal: Terminal) -> String {
        let mut table = Table::new();
        table.load_preset(comfy_table::presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(self.columns.iter().map(|c| format!("{}\n{}", c.name, c.unit)));
        for row in 0..self.cells().count() {
            table.add_row(texts.iter().map(|column| column[row].as_str()));
        }
        for (at, column) in table.column_iter_mut().enumerate() {
            let left = matches!(self.columns[at].kind, Kind::Word | Kind::Label);
            column.set_cell_alignment(if left {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            });
            column.set_padding((if at == 0 { 0 } else { gap as u16 }, 0));
        }
        let mut drawn = table.lines().map(|line| line.trim_end().to_string());
        let header: Vec<String> = drawn.by_ref().take(2).collect();
        let mut out: Vec<String> =
            header.iter().map(|line| paint(line, Paint::Faint, terminal)).collect();
        for line in &self.lines {
            out.push(match line {
                Line::Heading(text) => {
                    paint(&fit(text, terminal.columns), Paint::Heading, terminal)
                }
                Line::Cells { bad, .. } => {
                    let how = if *bad { Paint::Bad } else { Paint::Plain };
                    paint(&drawn.next().unwrap_or_default(), how, terminal)
                }
            });
        }
        out.join("\n")
    }
}

fn text(cell: &Cell, number: impl Fn(f64) -> String) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Count(count) => count.to_string(),
        Cell::Number(value) => number(*value),
        Cell::AtLeast(value) => format!("≥ {}", number(*value)),
        Cell::AtMost(value) => format!("≤ {}", number(*value)),
        Cell::None => "-".to_string(),
    }
}

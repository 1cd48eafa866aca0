//! A table that fits the terminal: right-aligned numbers, quantities each with the unit that fits it;
//! gaps, digits and columns are given up in a fixed order. The same table becomes Markdown.

use crate::text::{Paint, Terminal, escape, fit, fixed, flow, plain, width};
use model::units::Measure;
use std::borrow::Cow;

/// The contents of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Text, left-aligned, never cut.
    Word,
    /// Text, left-aligned, cut to what the other columns leave.
    Label,
    /// Whole numbers, and texts that are aligned like numbers.
    Count,
    /// Numbers with this number of decimals.
    Number(usize),
    /// Numbers with a unit each.
    Quantity(Measure),
    /// The same out of a histogram, known to 1 %: three significant digits at most.
    Percentile(Measure),
}

/// One column.
#[derive(Clone, Debug)]
pub struct Column {
    /// First header line.
    pub name: Cow<'static, str>,
    /// Second header line: the unit of every number in the column, or what it is per.
    pub unit: &'static str,
    /// Its contents.
    pub kind: Kind,
    /// Columns with smaller numbers are given up first where space is short; 0: never.
    pub drop_order: u8,
}

impl Column {
    /// A column whose name is known beforehand.
    pub const fn new(name: &'static str, unit: &'static str, kind: Kind, drop_order: u8) -> Column {
        Column { name: Cow::Borrowed(name), unit, kind, drop_order }
    }

    /// A column named after a parameter or value; its cells are aligned like numbers.
    pub fn named(name: String) -> Column {
        Column { name: name.into(), unit: "", kind: Kind::Count, drop_order: 0 }
    }

    /// Its cells are text.
    pub fn is_word(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::Label)
    }

    /// The name with its unit, on one line.
    fn full_name(&self) -> String {
        format!("{} {}", self.name, self.unit).trim_end().to_string()
    }
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text; leading blanks indent it.
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
    /// The number; none if it is missing or not finite.
    pub fn number(value: Option<f64>) -> Cell {
        value.filter(|v| v.is_finite()).map_or(Cell::None, Cell::Number)
    }

    /// A number of executions, where they are several.
    pub fn times(count: u64) -> Cell {
        if count > 1 { Cell::Count(count) } else { Cell::Text(String::new()) }
    }

    /// No figure, or that nothing was counted.
    fn is_nothing(&self) -> bool {
        match self {
            Cell::Text(text) => text.is_empty(),
            Cell::Count(count) => *count == 0,
            Cell::None => true,
            Cell::Number(_) | Cell::AtLeast(_) | Cell::AtMost(_) => false,
        }
    }

    /// Nanoseconds or bytes.
    pub fn whole(value: u64) -> Cell {
        Cell::Number(value as f64)
    }
}

/// One line.
#[derive(Clone, Debug)]
pub enum Line {
    /// Text across all columns.
    Heading {
        /// Cut where space is short.
        name: String,
        /// Behind the name, never cut.
        figures: String,
    },
    /// One cell per column.
    Cells {
        /// Its cells.
        cells: Vec<Cell>,
        /// It is marked as a failure.
        bad: bool,
    },
}

impl Line {
    /// A line without a mark.
    pub fn plain(cells: Vec<Cell>) -> Line {
        Line::Cells { cells, bad: false }
    }
}

/// A column of a table of records: its heading, and its cell in the line of a record.
pub struct Field<R> {
    column: Column,
    cell: fn(&R) -> Cell,
    is_optional: bool,
}

/// A column that is always shown.
pub fn field<R>(
    name: &'static str,
    unit: &'static str,
    kind: Kind,
    drop_order: u8,
    cell: fn(&R) -> Cell,
) -> Field<R> {
    Field { column: Column::new(name, unit, kind, drop_order), cell, is_optional: false }
}

/// A column that is left out if it has nothing in any line.
pub fn optional<R>(
    name: &'static str,
    unit: &'static str,
    kind: Kind,
    drop_order: u8,
    cell: fn(&R) -> Cell,
) -> Field<R> {
    Field { is_optional: true, ..field(name, unit, kind, drop_order, cell) }
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
    digits: u32,
    dropped: u8,
}

/// Steps before columns are given up, widest first.
const STEPS: [(usize, u32); 3] = [(2, 4), (2, 3), (1, 3)];

/// Digits of numbers in Markdown.
const MARKDOWN_DIGITS: u32 = 3;

/// A cut label keeps at least this many characters.
const LABEL_COLUMNS: usize = 20;

impl Grid {
    /// A line per record; `is_bad` marks failures.
    pub fn of<R>(fields: Vec<Field<R>>, records: &[R], is_bad: fn(&R) -> bool) -> Grid {
        let has_any =
            |field: &Field<R>| records.iter().any(|record| !(field.cell)(record).is_nothing());
        let is_shown = |field: &Field<R>| !field.is_optional || has_any(field);
        let fields: Vec<Field<R>> = fields.into_iter().filter(is_shown).collect();
        let line = |record: &R| Line::Cells {
            cells: fields.iter().map(|field| (field.cell)(record)).collect(),
            bad: is_bad(record),
        };
        let lines = records.iter().map(line).collect();
        Grid { columns: fields.into_iter().map(|field| field.column).collect(), lines }
    }

    /// The same with headings wherever that of the records changes.
    pub fn with_headings<R>(self, records: &[R], heading: fn(&R) -> String) -> Grid {
        let mut lines = Vec::new();
        let mut last = None;
        for (record, line) in records.iter().zip(self.lines) {
            let heading = heading(record);
            if last.as_ref() != Some(&heading) {
                lines.push(Line::Heading { name: heading.clone(), figures: String::new() });
            }
            last = Some(heading);
            lines.push(line);
        }
        Grid { lines, ..self }
    }

    /// The same without columns that have nothing in any line.
    pub fn without_empty_columns(mut self) -> Grid {
        let is_empty =
            |at: usize| self.cells().all(|cells| cells.get(at).is_none_or(Cell::is_nothing));
        let keep: Vec<bool> = (0..self.columns.len()).map(|at| !is_empty(at)).collect();
        self.retain(|at| keep[at]);
        self
    }

    /// Leaves out the columns for which `keep` is false, with their cells.
    fn retain(&mut self, keep: impl Fn(usize) -> bool) {
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
        let steps: Vec<Step> = full.chain(fewer).collect();
        let fits = steps.iter().find_map(|step| self.draw_at(*step, terminal, false));
        // Lines longer than the terminal, rather than wrong ones.
        fits.or_else(|| self.draw_at(steps[steps.len() - 1], terminal, true)).unwrap_or_default()
    }

    /// The drawing at one step; `None` if it is too wide and `anyway` is false.
    fn draw_at(&self, step: Step, terminal: Terminal, anyway: bool) -> Option<String> {
        let mut grid = self.clone();
        let is_dropped = |at: usize| (1..=step.dropped).contains(&self.columns[at].drop_order);
        grid.retain(|at| !is_dropped(at));
        let mut rows = grid.texts(step.digits);
        let mut widths = grid.widths(&rows);
        let gaps = step.gap * widths.len().saturating_sub(1);
        if let Some(at) = grid.columns.iter().position(|column| column.kind == Kind::Label) {
            let others = widths.iter().sum::<usize>() + gaps - widths[at];
            let room = terminal.columns.saturating_sub(others).max(LABEL_COLUMNS);
            rows.iter_mut().for_each(|row| row[at] = fit(&row[at], room));
            widths[at] = widths[at].min(room);
        }
        if widths.iter().sum::<usize>() + gaps > terminal.columns && !anyway {
            return None;
        }
        let mut drawing = grid.lay_out(&rows, &widths, step.gap, terminal);
        let dropped = self.columns.iter().enumerate().filter(|(at, _)| is_dropped(*at));
        let dropped: Vec<String> = dropped.map(|(_, column)| column.full_name()).collect();
        if !dropped.is_empty() {
            let note = format!("Not shown at this width: {}.", dropped.join(", "));
            let note = Paint::Faint.lines(&flow(&note, terminal.columns), terminal);
            drawing.push_str(&format!("\n{note}"));
        }
        Some(drawing)
    }

    fn cells(&self) -> impl Iterator<Item = &Vec<Cell>> {
        self.lines.iter().filter_map(|line| match line {
            Line::Cells { cells, .. } => Some(cells),
            Line::Heading { .. } => None,
        })
    }

    /// The cells of every line as text; quantities with `digits` significant digits.
    pub fn texts(&self, digits: u32) -> Vec<Vec<String>> {
        let text = |at: usize, cell: &Cell| {
            let number = |value: f64| match self.columns[at].kind {
                Kind::Quantity(measure) => measure.format(value, digits),
                Kind::Percentile(measure) => measure.format(value, digits.min(3)),
                Kind::Number(decimals) => fixed(value, decimals),
                _ => value.to_string(),
            };
            match cell {
                Cell::Text(text) => escape(text),
                Cell::Count(count) => count.to_string(),
                Cell::Number(value) => number(*value),
                Cell::AtLeast(value) => format!("≥ {}", number(*value)),
                Cell::AtMost(value) => format!("≤ {}", number(*value)),
                Cell::None => "-".to_string(),
            }
        };
        let row =
            |cells: &Vec<Cell>| cells.iter().enumerate().map(|(at, cell)| text(at, cell)).collect();
        self.cells().map(row).collect()
    }

    fn widths(&self, rows: &[Vec<String>]) -> Vec<usize> {
        let widest = |(at, column): (usize, &Column)| {
            let header = width(&escape(&column.name)).max(width(column.unit));
            rows.iter().map(|row| width(&row[at])).max().unwrap_or(0).max(header)
        };
        self.columns.iter().enumerate().map(widest).collect()
    }

    /// Puts the headings between the lines of cells.
    fn lay_out(
        &self,
        rows: &[Vec<String>],
        widths: &[usize],
        gap: usize,
        terminal: Terminal,
    ) -> String {
        let line = |texts: &[String]| {
            let mut out = String::new();
            for ((text, column), wide) in texts.iter().zip(&self.columns).zip(widths) {
                let padding = " ".repeat(wide.saturating_sub(width(text)));
                let (before, after) = if column.is_word() {
                    (String::new(), padding)
                } else {
                    (padding, String::new())
                };
                let gap = if out.is_empty() && std::ptr::eq(text, &texts[0]) { 0 } else { gap };
                out += &format!("{}{before}{text}{after}", " ".repeat(gap));
            }
            out.trim_end().to_string()
        };
        let names: Vec<String> = self.columns.iter().map(|column| escape(&column.name)).collect();
        let units: Vec<String> = self.columns.iter().map(|column| column.unit.into()).collect();
        let header = [names, units].into_iter().map(|texts| line(&texts));
        let header = header.filter(|line| !line.is_empty());
        let mut out: Vec<String> = header.map(|line| Paint::Faint.lines(&line, terminal)).collect();
        let mut drawn = rows.iter().map(|row| line(row));
        for line in &self.lines {
            out.push(match line {
                Line::Heading { name, figures } => {
                    let room = terminal.columns.saturating_sub(width(figures)).max(LABEL_COLUMNS);
                    let text = format!("{}{figures}", fit(&escape(name), room));
                    Paint::Heading.lines(&text, terminal)
                }
                Line::Cells { bad, .. } => {
                    let paint = if *bad { Paint::Bad } else { Paint::Plain };
                    paint.lines(&drawn.next().unwrap_or_default(), terminal)
                }
            });
        }
        out.join("\n")
    }

    /// As a table of GitHub Flavored Markdown, headings in bold.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let align = |column: &Column| if column.is_word() { "---|" } else { "---:|" };
        let mut out = line(self.columns.iter().map(|column| plain(&column.full_name())).collect());
        out += &format!("|{}\n", self.columns.iter().map(align).collect::<String>());
        let mut rows = self.texts(MARKDOWN_DIGITS).into_iter();
        for one in &self.lines {
            out += &match one {
                Line::Heading { name, figures } => {
                    let mut cells = vec![String::new(); self.columns.len()];
                    cells[0] = format!("**{}**{}", plain(name), plain(figures));
                    line(cells)
                }
                Line::Cells { cells, .. } => {
                    let texts = rows.next().unwrap_or_default().into_iter().zip(cells);
                    line(
                        texts
                            .map(|(text, cell)| match cell {
                                Cell::None => String::new(),
                                _ => plain(text.trim()),
                            })
                            .collect(),
                    )
                }
            };
        }
        out
    }
}

//! The tables of the terminal as HTML: the same lines, the same figures.

use super::{note, scroll};
use crate::markup::{Element, Markup, element};
use crate::table::grid::{Cell, Column, Grid, Kind, Line};
use crate::table::{Sheet, nodes_sheet, sheets, sweep_text};
use model::Run;

/// Lines of a table at most.
const LINES: usize = 2000;
/// Significant digits of the smallest number of a column.
const DIGITS: i32 = 4;

/// Width of the tables of a sweep, in letters: they are as on a wide terminal.
const COLUMNS: usize = 130;

/// All tables with what is to be known to read them.
pub fn tables(run: &Run) -> Markup {
    if run.run.sweep.is_some() {
        let text = sweep_text(run, COLUMNS);
        let figures = scroll("sweep").with(element("pre").preformatted(text.trim_end()));
        let nodes: Markup = nodes_sheet(run).into_iter().map(sheet).collect();
        return [Markup::from(figures), nodes].into_iter().collect();
    }
    let tables: Markup = sheets(run).into_iter().map(sheet).collect();
    match tables.is_empty() {
        true => element("p").text("No I/O operation was executed.").into(),
        false => tables,
    }
}

fn sheet(sheet: Sheet) -> Element {
    let mut notes = sheet.notes;
    let grid = sheet.grid;
    if grid.lines.len() > LINES {
        notes.push(format!(
            "The first {LINES} of {} lines; parabench report --format csv writes all.",
            grid.lines.len()
        ));
    }
    let notes = notes.iter().map(|text| note(text));
    element("div").class("sheet").with(scroll(sheet.name).with(table(&grid))).all(notes)
}

fn table(grid: &Grid) -> Element {
    let texts = grid.texts(DIGITS);
    let mut row = 0;
    let mut body = element("tbody");
    for line in grid.lines.iter().take(LINES) {
        body = body.with(match line {
            Line::Heading(text) => {
                let cell = element("td").attr("colspan", grid.columns.len()).text(text);
                element("tr").class("group").with(cell)
            }
            Line::Cells { cells, bad } => {
                let line: Vec<&str> = texts.iter().map(|column| column[row].as_str()).collect();
                row += 1;
                line_of(&grid.columns, cells, &line, *bad)
            }
        });
    }
    let head = element("tr").all(grid.columns.iter().map(heading));
    element("table").with(element("thead").with(head)).with(body)
}

fn is_word(column: &Column) -> bool {
    matches!(column.kind, Kind::Word | Kind::Label)
}

fn heading(column: &Column) -> Element {
    let class = if is_word(column) { "word" } else { "" };
    let unit = (!column.unit.is_empty()).then(|| element("small").text(column.unit));
    element("th").attr("scope", "col").class(class).text(column.name).all(unit)
}

/// One line; a name that is indented on the terminal is indented here.
fn line_of(columns: &[Column], cells: &[Cell], texts: &[&str], bad: bool) -> Element {
    let mut row_class = if bad { "bad" } else { "" };
    let mut line = Vec::new();
    for ((column, cell), text) in columns.iter().zip(cells).zip(texts) {
        let indent = text.len() - text.trim_start_matches(' ').len();
        let class = match (is_word(column), indent) {
            (false, _) => "",
            (true, 0) => "word",
            (true, 1..=3) => "word in1",
            (true, _) => "word in2",
        };
        if indent > 3 && is_word(column) && !bad {
            row_class = "part";
        }
        let text = if *cell == Cell::None { "–" } else { text.trim_start() };
        line.push(element("td").class(class).text(text));
    }
    element("tr").class(row_class).all(line)
}

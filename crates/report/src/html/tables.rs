//! The tables of the terminal as HTML: the same lines, the same figures.

use super::escape;
use crate::table::grid::{Cell, Column, Grid, Kind, Line};
use crate::table::{Sheet, sheets, sweep_text};
use model::Run;

/// Lines of a table at most.
const LINES: usize = 2000;
/// Significant digits of the smallest number of a column.
const DIGITS: i32 = 4;

/// Width of the tables of a sweep, in letters: they are as on a wide terminal.
const COLUMNS: usize = 130;

/// All tables with what is to be known to read them.
pub fn tables(run: &Run) -> String {
    if run.run.sweep.is_some() {
        let text = sweep_text(run, COLUMNS);
        let lines = text.lines().map(escape).collect::<Vec<_>>().join("\n");
        return format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"sweep\"><pre>{lines}</pre></div>\n"
        );
    }
    let tables: String = sheets(run).into_iter().map(sheet).collect();
    if tables.is_empty() { "<p>No I/O operation was executed.</p>\n".into() } else { tables }
}

fn sheet(sheet: Sheet) -> String {
    let mut notes = sheet.notes;
    let grid = sheet.grid;
    if grid.lines.len() > LINES {
        notes.push(format!(
            "The first {LINES} of {} lines; parabench report --format csv writes all.",
            grid.lines.len()
        ));
    }
    let notes: String =
        notes.iter().map(|note| format!("<p class=\"note\">{}</p>\n", escape(note))).collect();
    format!("<div class=\"sheet\">\n{}{notes}</div>\n", table(&grid, sheet.name))
}

/// The table in a box that scrolls by itself where the page is narrow.
fn table(grid: &Grid, name: &str) -> String {
    let head: String = grid.columns.iter().map(heading).collect();
    let texts = grid.texts(DIGITS);
    let mut row = 0;
    let mut body = String::new();
    for line in grid.lines.iter().take(LINES) {
        match line {
            Line::Heading(text) => {
                let (columns, text) = (grid.columns.len(), escape(text));
                body +=
                    &format!("<tr class=\"group\"><td colspan=\"{columns}\">{text}</td></tr>\n");
            }
            Line::Cells { cells, bad } => {
                let line: Vec<&str> = texts.iter().map(|column| column[row].as_str()).collect();
                body += &line_of(&grid.columns, cells, &line, *bad);
                row += 1;
            }
        }
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">\n<table>\n\
         <thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>\n"
    )
}

fn is_word(column: &Column) -> bool {
    matches!(column.kind, Kind::Word | Kind::Label)
}

fn heading(column: &Column) -> String {
    let class = if is_word(column) { " class=\"word\"" } else { "" };
    let unit = match column.unit {
        "" => String::new(),
        unit => format!("<small>{}</small>", escape(unit)),
    };
    format!("<th scope=\"col\"{class}>{}{unit}</th>", escape(column.name))
}

/// One line; a name that is indented on the terminal is indented here.
fn line_of(columns: &[Column], cells: &[Cell], texts: &[&str], bad: bool) -> String {
    let mut row_class = if bad { "bad" } else { "" };
    let mut out = String::new();
    for ((column, cell), text) in columns.iter().zip(cells).zip(texts) {
        let indent = text.len() - text.trim_start_matches(' ').len();
        let class = match (is_word(column), indent) {
            (false, _) => "",
            (true, 0) => " class=\"word\"",
            (true, 1..=3) => " class=\"word in1\"",
            (true, _) => " class=\"word in2\"",
        };
        if indent > 3 && is_word(column) && !bad {
            row_class = "part";
        }
        let text = if *cell == Cell::None { "–".into() } else { escape(text.trim_start()) };
        out += &format!("<td{class}>{text}</td>");
    }
    format!("<tr class=\"{row_class}\">{out}</tr>\n")
}

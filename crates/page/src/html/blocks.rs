//! Blocks of a report as HTML: paragraphs, lists, tables.

use super::frame::{note, scroll};
use model::words;
use report::document::{Block, Item, Sheet};
use report::grid::{Cell, Column, Grid, Kind, Line};
use report::markup::{Element, Markup, element};
use report::text::{ON_REQUEST, Paint, fit};

/// Lines of a table at most.
const LINES: usize = 2000;
/// Significant digits of quantities.
const DIGITS: u32 = 4;
/// Letters of a path or label: longer ones push the figures out of sight.
const LABEL_LETTERS: usize = 44;

/// All parts in order.
pub fn blocks(blocks: &[Block]) -> Markup {
    blocks.iter().filter_map(block).collect()
}

fn block(block: &Block) -> Option<Element> {
    Some(match block {
        Block::Heading(text) => element("h2").text(text),
        Block::Text(text) => element("p").text(text),
        Block::Facts(_, facts) => element("p").text(facts.join(" · ")),
        Block::Sheet(one) => sheet(one),
        Block::List(items) if items.is_empty() => return None,
        Block::List(items) => element("ul").class("lines").all(items.iter().map(item)),
    })
}

fn item(item: &Item) -> Element {
    let class = if item.paint == Paint::Bad { "bad" } else { "" };
    let more = (!item.more.is_empty()).then(|| element("pre").preformatted(&item.more.join("\n")));
    element("li").class(class).text(&item.text).all(more)
}

fn sheet(one: &Sheet) -> Element {
    sheet_with(one, "sortable", &[])
}

/// A table whose element has a class, and whose lines have numbers.
pub fn sheet_with(
    Sheet { name, title, grid, notes }: &Sheet,
    class: &str,
    numbers: &[Option<usize>],
) -> Element {
    let more = (grid.lines.len() > LINES).then(|| {
        let all = grid.lines.len();
        format!(
            "The first {LINES} of {all_lines}; parabench report --format csv writes all.",
            all_lines = words::count(all, "line")
        )
    });
    let table = (!grid.lines.is_empty()).then(|| {
        scroll(if title.is_empty() { name } else { title }).with(table(grid, class, numbers))
    });
    let title = (!title.is_empty()).then(|| element("h3").text(title));
    let notes = notes.iter().chain(&more).map(|text| note(&text.replace(ON_REQUEST, ": below")));
    element("div").class("sheet").all(title).all(table).all(notes)
}

fn table(grid: &Grid, class: &str, numbers: &[Option<usize>]) -> Element {
    let mut rows = grid.texts(DIGITS).into_iter();
    let has_groups = grid.lines.iter().any(|line| matches!(line, Line::Heading { .. }));
    let line = |(at, line): (usize, &Line)| match line {
        Line::Heading { name, figures } => {
            let figures = element("span").class("figures").text(figures.trim());
            let cell = element("td").attr("colspan", grid.columns.len()).text(name).with(figures);
            element("tr").class("group").with(cell)
        }
        Line::Cells { cells, bad } => {
            let row = line_of(&grid.columns, cells, &rows.next().unwrap_or_default(), *bad);
            match numbers.get(at).copied().flatten() {
                Some(number) => row.attr("data-row", number),
                None => row,
            }
        }
    };
    let body = element("tbody").all(grid.lines.iter().enumerate().take(LINES).map(line));
    let head = element("tr").all(grid.columns.iter().map(heading));
    // Lines below headings stay in their order.
    let class = if has_groups && class == "sortable" { "" } else { class };
    element("table").class(class).with(element("thead").with(head)).with(body)
}

fn heading(column: &Column) -> Element {
    let class = if column.is_word() { "word" } else { "" };
    let unit = (!column.unit.is_empty()).then(|| element("small").text(column.unit));
    // A heading without words is none.
    if column.name.is_empty() && unit.is_none() {
        return element("td").class(class);
    }
    element("th").attr("scope", "col").class(class).text(&column.name).all(unit)
}

/// A path or label, cut in the middle; all of it shows where the pointer is.
fn shortened(cell: Element, text: &str) -> Element {
    match fit(text, LABEL_LETTERS) {
        short if short == text => cell.text(text),
        short => cell.attr("title", text).text(short),
    }
}

/// One line; a name that is indented on the terminal is indented here.
fn line_of(columns: &[Column], cells: &[Cell], texts: &[String], bad: bool) -> Element {
    let mut row_class = if bad { "bad" } else { "" };
    let mut line = Vec::new();
    for ((column, cell), text) in columns.iter().zip(cells).zip(texts) {
        let indent = text.len() - text.trim_start_matches(' ').len();
        let class = match (column.is_word(), indent) {
            (false, _) => "",
            (true, 0) => "word",
            (true, 1..=3) => "word in1",
            (true, _) => "word in2",
        };
        if indent > 3 && column.is_word() && !bad {
            row_class = "part";
        }
        let text = if *cell == Cell::None { "–" } else { text.trim_start() };
        let cell = element("td").class(class);
        line.push(match column.kind {
            Kind::Label => shortened(cell, text),
            _ => cell.text(text),
        });
    }
    element("tr").class(row_class).all(line)
}

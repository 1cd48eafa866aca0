//! The frame of a page, its blocks and its pictures.

use crate::svg::{self, draw};
use crate::views::Absent;
use model::words;
use report::chart::{View, lines};
use report::document::{Block, Item, Sheet};
use report::grid::{Cell, Column, Grid, Line};
use report::markup::{Element, Markup, element};
use report::text::Paint;

/// Content security policy: the page may load and do nothing.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The style sheet of the page. Its colours come from [`svg::style`].
const STYLE: &str = include_str!("style.css");

/// A whole page around `body`. Well-formed as XML too, so that other programs can take it apart.
pub fn page(title: &str, body: Markup) -> String {
    let meta =
        |name: &str, content: &str| element("meta").attr("name", name).attr("content", content);
    let head = element("head")
        .with(element("meta").attr("charset", "utf-8"))
        .with(element("meta").attr("http-equiv", "Content-Security-Policy").attr("content", POLICY))
        .with(meta("viewport", "width=device-width, initial-scale=1"))
        .with(meta("color-scheme", "light dark"))
        .with(meta("generator", concat!("Parabench ", env!("CARGO_PKG_VERSION"))))
        .with(element("title").text(title))
        .with(element("style").style_sheet(&svg::style()).style_sheet(STYLE));
    let body = element("body").with(element("main").with(body));
    let html = element("html").attr("lang", "en").with(head).with(body);
    format!("<!DOCTYPE html>\n{}", Markup::from(html).into_string())
}

/// A part of the page with its headline; nothing if there is nothing in it.
pub fn section(id: &str, headline: &str, body: Markup) -> Markup {
    if body.is_empty() {
        return body;
    }
    element("section").attr("id", id).with(element("h2").text(headline)).with(body).into()
}

/// A box that scrolls by itself where the page is narrow; `name` is for screen readers.
pub fn scroll(name: &str) -> Element {
    let scroll = element("div").class("scroll").attr("tabindex", 0).attr("role", "region");
    scroll.attr("aria-label", name)
}

/// A remark below a table.
pub fn note(text: &str) -> Element {
    element("p").class("note").text(text)
}

/// Lines of a table at most.
const LINES: usize = 2000;
/// Significant digits of quantities.
const DIGITS: u32 = 4;

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

fn sheet(Sheet { name, title, grid, notes }: &Sheet) -> Element {
    let more = (grid.lines.len() > LINES).then(|| {
        let all = grid.lines.len();
        format!(
            "The first {LINES} of {all_lines}; parabench report --format csv writes all.",
            all_lines = words::count(all, "line")
        )
    });
    let table = (!grid.lines.is_empty()).then(|| scroll(name).with(table(grid)));
    let title = (!title.is_empty()).then(|| element("h3").text(title));
    let notes = notes.iter().chain(&more).map(|text| note(text));
    element("div").class("sheet").all(title).all(table).all(notes)
}

fn table(grid: &Grid) -> Element {
    let mut rows = grid.texts(DIGITS).into_iter();
    let line = |line: &Line| match line {
        Line::Heading { name: text, .. } => {
            let cell = element("td").attr("colspan", grid.columns.len()).text(text);
            element("tr").class("group").with(cell)
        }
        Line::Cells { cells, bad } => {
            line_of(&grid.columns, cells, &rows.next().unwrap_or_default(), *bad)
        }
    };
    let body = element("tbody").all(grid.lines.iter().take(LINES).map(line));
    let head = element("tr").all(grid.columns.iter().map(heading));
    element("table").with(element("thead").with(head)).with(body)
}

fn heading(column: &Column) -> Element {
    let class = if column.is_word() { "word" } else { "" };
    let unit = (!column.unit.is_empty()).then(|| element("small").text(column.unit));
    element("th").attr("scope", "col").class(class).text(&column.name).all(unit)
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
        line.push(element("td").class(class).text(text));
    }
    element("tr").class(row_class).all(line)
}

/// Lines of data at most that a page shows.
const DATA_LINES: usize = 200;

/// All pictures, and the reasons why others are not there.
pub fn figures(views: &[View], absent: &[Absent]) -> Markup {
    let mut out: Markup = views.iter().map(figure).collect();
    if !absent.is_empty() {
        let entry =
            |absent: &Absent| element("li").text(format!("{}: {}", absent.name, absent.reason));
        let title = format!("Pictures without data: {}", absent.len());
        out.push(details(&title).with(element("ul").all(absent.iter().map(entry))));
    }
    out
}

/// A picture with its data.
pub fn figure(view: &View) -> Markup {
    element("figure")
        .attr("id", &view.name)
        .with(element("h3").text(&view.title))
        .with(element("figcaption").text(&view.summary))
        .with(scroll(&view.title).with(draw(view)))
        .with(data(view))
        .into()
}

/// A part that opens when its title is chosen.
fn details(title: &str) -> Element {
    element("details").with(element("summary").text(title))
}

/// The numbers of a picture, folded away.
fn data(view: &View) -> Markup {
    let mut lines = lines(&view.chart);
    if lines.len() < 2 {
        return Markup::default();
    }
    let count = lines.len() - 1;
    lines.truncate(DATA_LINES + 1);
    let table = element("table")
        .with(element("thead").with(row(&lines[0], "th")))
        .with(element("tbody").all(lines[1..].iter().map(|line| row(line, "td"))));
    let title = format!("Data: {}", words::count(count, "line"));
    let details = details(&title).with(scroll(&format!("data of {}", view.name)).with(table));
    let more = format!(
        "The first {DATA_LINES} of {count_lines}; parabench report --data writes all.",
        count_lines = words::count(count, "line")
    );
    details.all((count > DATA_LINES).then(|| note(&more))).into()
}

/// A line of data; what is no number is marked.
fn row(line: &[String], tag: &'static str) -> Element {
    let cell = |text: &String| {
        let class = if text.parse::<f64>().is_err() { "word" } else { "" };
        element(tag).class(class).text(text)
    };
    element("tr").all(line.iter().map(cell))
}

//! A report before it is written: paragraphs, tables and lists in order. What a run, a comparison or a
//! replay has to say is put into blocks once; this file writes them for the terminal and as Markdown,
//! the crate `page` as HTML.

use crate::grid::Grid;
use crate::text::{Paint, Terminal, escape, flow, plain, wrap};

/// A part of a report. Texts are not escaped yet.
#[derive(Clone, Debug)]
pub enum Block {
    /// A headline.
    Heading(String),
    /// Running text.
    Text(String),
    /// Facts of a few words each, in one paragraph.
    Facts(Paint, Vec<String>),
    /// A table.
    Sheet(Sheet),
    /// Lines below one another.
    List(Vec<Item>),
}

/// A table with what a reader has to know.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Short name: "summary".
    pub name: &'static str,
    /// Headline; "" for none.
    pub title: String,
    /// Columns and lines.
    pub grid: Grid,
    /// Legend, a paragraph each.
    pub notes: Vec<String>,
}

impl Sheet {
    /// A table; `None`: it has no lines.
    pub fn of(
        name: &'static str,
        title: &str,
        grid: Grid,
        notes: impl IntoIterator<Item = String>,
    ) -> Option<Sheet> {
        let (title, notes) = (title.into(), notes.into_iter().collect());
        (!grid.lines.is_empty()).then_some(Sheet { name, title, grid, notes })
    }
}

/// An entry of a list.
#[derive(Clone, Debug)]
pub struct Item {
    /// How it is marked on a terminal with colours.
    pub paint: Paint,
    /// The entry.
    pub text: String,
    /// Lines below it, indented.
    pub more: Vec<String>,
}

impl Item {
    /// An entry without a mark.
    pub fn new(text: String) -> Item {
        Item { paint: Paint::Plain, text, more: Vec::new() }
    }

    /// A bad entry.
    pub fn bad(text: String) -> Item {
        Item { paint: Paint::Bad, ..Item::new(text) }
    }
}

/// Longer lines of text are hard to read.
const TEXT_COLUMNS: usize = 100;

impl Block {
    fn is_empty(&self) -> bool {
        match self {
            Block::Heading(text) | Block::Text(text) => text.is_empty(),
            Block::Facts(_, facts) => facts.is_empty(),
            Block::Sheet(_) => false,
            Block::List(items) => items.is_empty(),
        }
    }

    fn text(&self, terminal: Terminal) -> String {
        let columns = terminal.columns.min(TEXT_COLUMNS);
        let flowed =
            |paint: Paint, text: &str| paint.lines(&flow(&escape(text), columns), terminal);
        let item = |item: &Item| {
            let more = item.more.iter().map(|line| flowed(Paint::Faint, &format!("  {line}")));
            let first = flowed(item.paint, &item.text);
            std::iter::once(first).chain(more).collect::<Vec<_>>().join("\n")
        };
        match self {
            Block::Heading(text) => flowed(Paint::Heading, text),
            Block::Text(text) => flowed(Paint::Plain, text),
            Block::Facts(paint, facts) => {
                let facts: Vec<String> = facts.iter().map(|fact| escape(fact)).collect();
                paint.lines(&wrap(&facts, " · ", columns), terminal)
            }
            Block::Sheet(sheet) => {
                let title = (!sheet.title.is_empty()).then(|| flowed(Paint::Heading, &sheet.title));
                let notes = sheet.notes.iter().map(|note| flowed(Paint::Faint, note));
                let grid = (!sheet.grid.lines.is_empty()).then(|| sheet.grid.draw(terminal));
                title.into_iter().chain(grid).chain(notes).collect::<Vec<_>>().join("\n")
            }
            Block::List(items) => items.iter().map(item).collect::<Vec<_>>().join("\n"),
        }
    }

    fn markdown(&self) -> String {
        let item = |item: &Item| {
            let more: String =
                item.more.iter().map(|line| format!("  {}\n", plain(line))).collect();
            format!("- {}\n{more}", plain(&item.text))
        };
        match self {
            Block::Heading(text) => format!("### {}\n", plain(text)),
            Block::Text(text) => format!("{}\n", plain(text)),
            Block::Facts(_, facts) => format!("{}\n", plain(&facts.join(" · "))),
            Block::Sheet(Sheet { title, grid, notes, .. }) => {
                let title =
                    if title.is_empty() { None } else { Some(format!("**{}**\n", plain(title))) };
                let grid = (!grid.lines.is_empty()).then(|| grid.markdown());
                let notes = notes.iter().map(|note| format!("{}\n", plain(note)));
                title.into_iter().chain(grid).chain(notes).collect::<Vec<_>>().join("\n")
            }
            Block::List(items) => items.iter().map(item).collect(),
        }
    }
}

/// The report for a terminal; "" if there is nothing to report.
pub fn text(blocks: &[Block], terminal: Terminal) -> String {
    let texts = blocks.iter().filter(|block| !block.is_empty()).map(|block| block.text(terminal));
    let text = texts.collect::<Vec<_>>().join("\n\n");
    if text.is_empty() { text } else { text + "\n" }
}

/// The report for an issue, a wiki or a merge request (GitHub Flavored Markdown, section 4.10 "Tables").
pub fn markdown(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter(|block| !block.is_empty()).map(Block::markdown);
    texts.collect::<Vec<_>>().join("\n")
}

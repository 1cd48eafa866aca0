//! Pictures, each with what one learns from it, its text alternative and its data.

use super::page::{note, scroll};
use crate::chart::View;
use crate::markup::{Element, Markup, element};
use crate::svg::{Width, draw};
use crate::views::{Absent, lines};

/// Lines of data at most that a page shows.
const LINES: usize = 200;

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

/// A picture in both widths with its data.
pub fn figure(view: &View) -> Markup {
    element("figure")
        .attr("id", &view.name)
        .with(element("h3").text(&view.title))
        .with(element("figcaption").text(&view.summary))
        .with(draw(view, Width::Wide, "wide"))
        .with(draw(view, Width::Narrow, "narrow"))
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
    lines.truncate(LINES + 1);
    let table = element("table")
        .with(element("thead").with(row(&lines[0], "th")))
        .with(element("tbody").all(lines[1..].iter().map(|line| row(line, "td"))));
    let title = format!("Data: {count} {}", if count == 1 { "line" } else { "lines" });
    let details = details(&title).with(scroll(&format!("data of {}", view.name)).with(table));
    let more = format!("The first {LINES} of {count} lines; parabench report --data writes all.");
    details.all((count > LINES).then(|| note(&more))).into()
}

/// A line of data; what is no number is marked.
fn row(line: &[String], tag: &'static str) -> Element {
    let cell = |text: &String| {
        let class = if text.parse::<f64>().is_err() { "word" } else { "" };
        element(tag).class(class).text(text)
    };
    element("tr").all(line.iter().map(cell))
}

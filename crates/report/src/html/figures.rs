//! Pictures, each with what one learns from it, its text alternative and its data.

use super::escape;
use crate::chart::View;
use crate::svg::{Width, draw};
use crate::views::{Absent, lines};

/// Lines of a picture's data in the page at most.
const LINES: usize = 200;

/// All pictures, and which are not there.
pub fn figures(views: &[View], absent: &[Absent]) -> String {
    let mut out: String = views.iter().map(figure).collect();
    if !absent.is_empty() {
        let entry = |absent: &Absent| {
            let (name, reason) = (escape(absent.name), escape(&absent.reason));
            format!("<li>{name}: {reason}</li>\n")
        };
        let list: String = absent.iter().map(entry).collect();
        out += &format!(
            "<details><summary>Pictures without data: {}</summary>\n<ul>\n{list}</ul></details>\n",
            absent.len()
        );
    }
    out
}

/// One picture as an element of a page: headline, sentence, drawings for wide and narrow
/// screens, data.
pub fn figure(view: &View) -> String {
    format!(
        "<figure id=\"{}\">\n<h3>{}</h3>\n<figcaption>{}</figcaption>\n{}{}{}</figure>\n",
        escape(&view.name),
        escape(&view.title),
        escape(&view.summary),
        draw(view, Width::Wide, "wide"),
        draw(view, Width::Narrow, "narrow"),
        data(view),
    )
}

/// The first lines of the picture's data, folded away.
fn data(view: &View) -> String {
    let mut lines = lines(&view.chart);
    if lines.len() < 2 {
        return String::new();
    }
    let count = lines.len() - 1;
    lines.truncate(LINES + 1);
    let cells = |line: &[String], tag: &str| {
        let cell = |text: &String| {
            let class = if text.parse::<f64>().is_err() { " class=\"word\"" } else { "" };
            format!("<{tag}{class}>{}</{tag}>", escape(text))
        };
        format!("<tr>{}</tr>\n", line.iter().map(cell).collect::<String>())
    };
    let body: String = lines[1..].iter().map(|line| cells(line, "td")).collect();
    let more = match count > LINES {
        true => format!(
            "<p class=\"note\">The first {LINES} of {count} lines; parabench report --data writes all.</p>\n"
        ),
        false => String::new(),
    };
    format!(
        "<details><summary>Data: {count} {}</summary>\n<div class=\"scroll\" tabindex=\"0\" \
         role=\"region\" aria-label=\"data of {}\"><table>\n<thead>{}</thead>\n<tbody>\n{body}</tbody></table></div>\n{more}</details>\n",
        if count == 1 { "line" } else { "lines" },
        escape(&view.name),
        cells(&lines[0], "th"),
    )
}

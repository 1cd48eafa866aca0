//! The report of a run as one HTML file for mail, archive and print.
//!
//! ```text
//! Run, Views ── head: what ran where, how it ended, marks ── tables ── source with its times
//!            ── failures ── pictures with their data ── environment
//! ```
//!
//! No scripts, nothing from elsewhere, and a policy in the file that forbids both: whatever a
//! label or a program says stays text ([`crate::markup`]). The tables are those of the terminal,
//! figure by figure.

mod environment;
mod figures;
mod head;
mod source;
mod style;
mod tables;
#[cfg(test)]
mod tests;

use crate::markup::{Element, Markup, element};
use crate::svg;
use crate::views::Views;
pub use figures::{figure, figures};
use model::Run;

/// What the page may load and do: nothing.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The report of a run with its pictures.
pub fn render(run: &Run, views: &Views) -> String {
    let sections = [
        head::head(run),
        head::marks(run),
        section("figures", "What was measured", tables::tables(run)),
        section("source", "Where the time went", source::source(run)),
        section("failures", "What failed", head::failures(run)),
        section("pictures", "Pictures", figures(&views.views, &views.absent)),
        section("environment", "Environment", environment::environment(run)),
    ];
    let title = format!("{} – Parabench", run.run.program.name);
    page(&title, sections.into_iter().collect())
}

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
        .with(element("style").style_sheet(&svg::style()).style_sheet(style::STYLE));
    let body = element("body").with(element("main").with(body));
    let html = element("html").attr("lang", "en").with(head).with(body);
    format!("<!DOCTYPE html>\n{}", Markup::from(html).into_string())
}

/// A part of the page with its headline; nothing if there is nothing in it.
fn section(id: &str, headline: &str, body: Markup) -> Markup {
    if body.is_empty() {
        return body;
    }
    element("section").attr("id", id).with(element("h2").text(headline)).with(body).into()
}

/// A box that scrolls by itself where the page is narrow; `name` is for those who do not see it.
fn scroll(name: &str) -> Element {
    let scroll = element("div").class("scroll").attr("tabindex", 0).attr("role", "region");
    scroll.attr("aria-label", name)
}

/// A remark below a table.
fn note(text: &str) -> Element {
    element("p").class("note").text(text)
}

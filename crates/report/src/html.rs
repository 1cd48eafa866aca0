//! The report of a run as one HTML file for mail, archive and print.
//!
//! ```text
//! Run, Views ── head: what ran where, how it ended, marks ── tables ── source with its times
//!            ── failures ── pictures with their data ── environment
//! ```
//!
//! No scripts, nothing from elsewhere, and a policy in the file that forbids both: whatever a
//! label or a program says stays text. The tables are those of the terminal, figure by figure.

mod environment;
mod figures;
mod head;
mod source;
mod style;
mod tables;
#[cfg(test)]
mod tests;

use crate::svg;
use crate::views::Views;
pub use figures::figure;
use model::Run;

/// Text for the inside of an element or a quoted attribute: markup and control characters are
/// shown, not obeyed.
pub fn escape(text: &str) -> String {
    svg::xml(text)
}

/// The report of a run with its pictures.
pub fn render(run: &Run, views: &Views) -> String {
    let sections = [
        head::head(run),
        head::marks(run),
        section("figures", "What was measured", &tables::tables(run)),
        section("source", "Where the time went", &source::source(run)),
        section("failures", "What failed", &head::failures(run)),
        section("pictures", "Pictures", &figures::figures(&views.views, &views.absent)),
        section("environment", "Environment", &environment::environment(run)),
    ];
    let title = format!("{} – Parabench", run.run.program.name);
    page(&title, &sections.concat())
}

/// A whole page around `body`, which is HTML; `title` is text. Well-formed as XML too, if the body
/// is, so that other programs can take it apart.
pub fn page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <meta name=\"generator\" content=\"Parabench {}\"/>\n\
         <title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        escape(title),
        svg::style(),
        style::STYLE,
    )
}

/// A part of the page with its headline; nothing if there is nothing in it.
fn section(id: &str, headline: &str, body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    format!("<section id=\"{id}\">\n<h2>{headline}</h2>\n{body}</section>\n")
}

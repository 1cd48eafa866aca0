//! Reports as one HTML file for mail, archive and print.
//!
//! ```text
//! Run, Views ── head: what ran where, how it ended, marks ── blocks ── source with its times
//!            ── failures ── figures with their data ── environment
//! ```
//!
//! No scripts, nothing from elsewhere, and a policy in the file that forbids both: whatever a
//! label or a program says stays text ([`crate::markup`]). The tables equal the terminal's,
//! figure by figure.

mod head;
mod page;
mod source;
#[cfg(test)]
mod tests;

use crate::document::Block;
use crate::markup::{Markup, element};
use crate::table;
use crate::views::Views;
use model::Run;
use page::{blocks, figures, page, section};

/// The report of a run with its pictures.
pub fn render(run: &Run, views: &Views) -> String {
    let sections = [
        head::head(run),
        section("marks", "Remarks", blocks(&[table::remarks(run)])),
        section("figures", "What was measured", blocks(&table::figures(run))),
        section("source", "Where the time went", source::source(run)),
        section("failures", "What failed", blocks(&table::failed(run))),
        section("pictures", "Pictures", figures(&views.views, &views.absent)),
        section("environment", "Environment", head::environment(run)),
    ];
    let title = format!("{} – Parabench", run.run.program.name);
    page(&title, sections.into_iter().collect())
}

/// A page of parts, each with its pictures.
pub fn report(title: &str, parts: impl Iterator<Item = (Vec<Block>, Views)>) -> String {
    let mut body = Markup::from(element("h1").text(title));
    for (part, views) in parts {
        let pictures = figures(&views.views, &views.absent);
        body.push(element("section").with(blocks(&part)).with(pictures));
    }
    page(&format!("{title} – Parabench"), body)
}

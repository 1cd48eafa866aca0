//! Reports as one HTML file for mail, archive and print.
//!
//! ```text
//! Run, Views ── head: what ran where, how it ended, marks ── blocks ── source with its times
//!            ── failures ── figures with their data ── environment
//! ```
//!
//! No scripts, nothing from elsewhere, and a policy in the file that forbids both: whatever a
//! label or a program says stays text ([`report::markup`]). The tables equal the terminal's,
//! figure by figure.

mod head;
mod page;
mod source;
#[cfg(test)]
mod tests;

use crate::views::Views;
use model::Run;
use page::{blocks, figures, page, section};
use report::compare::{self, Comparison, Side};
use report::document::Block;
use report::fidelity::{self, Fidelity};
use report::markup::{Markup, element};
use report::table;
use report::text::Detail;

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

/// All comparisons as one page.
pub fn comparisons(compared: &[(&Side, &Side, &Comparison)]) -> String {
    let part = |(base, new, comparison): &(&Side, &Side, &Comparison)| {
        let title = format!("{} against {}", comparison.new, comparison.base);
        let all = compare::show::blocks(comparison, Detail::Full);
        let views = compare::show::views(base, new, comparison);
        let blocks = std::iter::once(Block::Heading(title)).chain(all).collect();
        (blocks, Views { views, absent: Vec::new() })
    };
    report("Comparison", compared.iter().map(part))
}

/// How faithful a replay is, as a page.
pub fn fidelity(found: &Fidelity) -> String {
    let part = (fidelity::show::blocks_of_page(found), fidelity::show::views(found));
    report("Fidelity", std::iter::once(part))
}

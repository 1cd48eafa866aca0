//! The page of a run, and pages of other reports.

use super::page::blocks;
use super::page::{page, section};
use super::{head, source};
use crate::document::Block;
use crate::markup::{Markup, element};
use crate::table::{failed, figures};
use crate::views::Views;
use model::Run;

/// The report of a run with its pictures.
pub fn render(run: &Run, views: &Views) -> String {
    let sections = [
        head::head(run),
        head::marks(run),
        section("figures", "What was measured", blocks(&figures(run))),
        section("source", "Where the time went", source::source(run)),
        section("failures", "What failed", blocks(&failed(run))),
        section("pictures", "Pictures", super::figures::figures(&views.views, &views.absent)),
        section("environment", "Environment", head::environment(run)),
    ];
    let title = format!("{} – Parabench", run.run.program.name);
    page(&title, sections.into_iter().collect())
}

/// A page of parts, each with its pictures.
pub fn report(title: &str, parts: impl Iterator<Item = (Vec<Block>, Views)>) -> String {
    let mut body = Markup::from(element("h1").text(title));
    for (part, views) in parts {
        let pictures = super::figures::figures(&views.views, &views.absent);
        body.push(element("section").with(blocks(&part)).with(pictures));
    }
    page(&format!("{title} – Parabench"), body)
}

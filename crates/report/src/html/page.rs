//! The frame of a page: head, style, sections.

use crate::markup::{Element, Markup, element};
use crate::svg;

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

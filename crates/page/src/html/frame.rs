//! The frame of a page: head with policy, style and script; contents, parts, folded parts.

use crate::svg;
use report::markup::{Element, Markup, element};
use report::text::escape;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// The style sheet of the page. Its colours come from [`svg::style`].
const STYLE: &str = include_str!("style.css");
/// The same of what the script makes.
const SCRIPT_STYLE: &str = include_str!("../../../../web/dist/page.css");
/// The script, built by `make web`.
const SCRIPT: &str = include_str!("../../../../web/dist/page.js");

/// A part of a page.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its anchor.
    pub id: String,
    /// Its headline.
    pub title: String,
    /// Nothing: the part is left out.
    pub body: Markup,
}

impl Part {
    pub fn new(id: &str, title: &str, body: Markup) -> Part {
        Part { id: id.into(), title: title.into(), body }
    }
}

/// A whole page. Well-formed as XML too, so that other programs can take it apart.
pub fn page(title: &str, parts: &[Part]) -> String {
    let meta =
        |name: &str, content: &str| element("meta").attr("name", name).attr("content", content);
    let style = format!("{}{STYLE}{SCRIPT_STYLE}", svg::style());
    // Both HTML and XML read this as the script and nothing else.
    let script = format!("//<![CDATA[\n{SCRIPT}\n//]]>");
    let policy = policy(&script, &style);
    let head = element("head")
        .with(element("meta").attr("charset", "utf-8"))
        .with(element("meta").attr("http-equiv", "Content-Security-Policy").attr("content", policy))
        .with(meta("viewport", "width=device-width, initial-scale=1"))
        .with(meta("color-scheme", "light dark"))
        .with(meta("generator", concat!("Parabench ", env!("CARGO_PKG_VERSION"))))
        .with(element("title").text(format!("{title} – Parabench")))
        .with(element("style").style_sheet(&style));
    let parts: Vec<&Part> = parts.iter().filter(|part| !part.body.is_empty()).collect();
    let body = element("body")
        .with(contents(title, &parts))
        .with(element("main").all(parts.iter().enumerate().map(section)))
        .with(element("script").style_sheet(&script));
    let html = element("html").attr("lang", "en").with(head).with(body);
    format!("<!DOCTYPE html>\n{}", Markup::from(html).into_string())
}

/// Content security policy: nothing but this script and this style sheet does anything, and nothing is loaded.
fn policy(script: &str, style: &str) -> String {
    let hash = |text: &str| base64(&Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(script),
        hash(style)
    )
}

/// Base 64 (RFC 4648, section 4).
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
        let word = word << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * at)) as usize & 63] as char;
            out.push(if at <= chunk.len() { letter } else { '=' });
        }
    }
    out
}

fn contents(title: &str, parts: &[&Part]) -> Element {
    let link = |part: &&Part| {
        let href = format!("#{}", part.id);
        element("li").with(element("a").attr("href", href).text(&part.title))
    };
    element("nav")
        .class("contents")
        .attr("aria-label", "Contents")
        .with(element("p").text(title))
        .with(element("ul").all(parts.iter().map(link)))
}

/// The first part begins with its own headline.
fn section((at, part): (usize, &&Part)) -> Element {
    let headline = (at > 0).then(|| element("h2").text(&part.title));
    element("section").attr("id", &part.id).all(headline).with(part.body.clone())
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

/// A part that opens when its title is chosen.
pub fn details(title: &str) -> Element {
    element("details").with(element("summary").text(title))
}

/// Data for the script: JSON in which nothing is markup, and nothing that editors obey. Its texts are shown as those
/// of the page are.
pub fn json(attributes: impl FnOnce(Element) -> Element, text: &str) -> Element {
    let mut safe = String::with_capacity(text.len());
    for c in model::escape::json(&shown(text)).chars() {
        match c {
            '&' | '<' | '>' | '\u{fffe}' | '\u{ffff}' => safe += &format!("\\u{:04x}", c as u32),
            c => safe.push(c),
        }
    }
    attributes(element("script").attr("type", "application/json")).style_sheet(&safe)
}

/// JSON whose texts have what no reader should obey in words, as in tables: `\\u{202e}`.
fn shown(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(start) = rest.find('"') {
        let end = end_of_text(&rest[start..]) + start;
        out += &rest[..start];
        out += &shown_text(&rest[start..end]);
        rest = &rest[end..];
    }
    out + rest
}

/// Behind the quote that ends the text which the quote at the start begins.
fn end_of_text(json: &str) -> usize {
    let mut is_escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(json.len(), |at| at + 2)
}

/// A text with its quotes; most are plain.
fn shown_text(quoted: &str) -> Cow<'_, str> {
    if quoted.bytes().all(|byte| byte != b'\\' && (0x20..0x7f).contains(&byte)) {
        return Cow::Borrowed(quoted);
    }
    let text = serde_json::from_str::<String>(quoted).map(|text| escape(&text));
    let again = text.and_then(|text| serde_json::to_string(&text));
    again.map_or(Cow::Borrowed(quoted), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648, section 10.
    #[test]
    fn base_64_is_that_of_the_standard() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn data_is_no_markup() {
        let data = json(|it| it.class("d"), "{\"a\":\"</script><b>&amp;\u{9b}\u{202e}\"}");
        let text = Markup::from(data).into_string();
        assert_eq!(text.matches('<').count(), 2, "{text}");
        assert!(!text.contains(|c| model::escape::is_harmful(c) && c != '\n'), "{text:?}");
    }

    #[test]
    fn data_are_shown_as_tables_show_them() {
        for (given, expected) in [
            (r#"{"a":["b\"c",1.5,"d\\"],"e":"ü"}"#, r#"{"a":["b\"c",1.5,"d\\"],"e":"ü"}"#),
            ("[\"x\u{202e}y\",\"z\u{200b}\"]", r#"["x\\u{202e}y","z\\u{200b}"]"#),
            (r#"["\u001b[31m","a\nb"]"#, r#"["\\x1b[31m","a\\nb"]"#),
            (r#"[1,"cut \"#, r#"[1,"cut \"#),
        ] {
            assert_eq!(shown(given), expected);
        }
    }
}

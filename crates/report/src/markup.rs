//! HTML and SVG that are well-formed by construction: text enters escaped, elements close themselves.
//!
//! ```text
//! element("td").class("word").text("a < b")    <td class="word">a &lt; b</td>
//! ```
//!
//! The pages are well-formed XML too, so that other programs can take them apart.

use crate::text::escape;
use std::fmt::{Display, Write};

/// Elements without an end tag in HTML, and empty elements of SVG.
const EMPTY: [&str; 7] = ["meta", "rect", "line", "polyline", "polygon", "circle", "path"];

/// Elements after which no line feed stands, as it would be seen or only be in the way.
const INLINE: [&str; 7] = ["b", "i", "code", "small", "td", "th", "dt"];

/// Elements and text, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markup(String);

/// An element in the making.
#[derive(Clone, Debug)]
pub struct Element {
    name: &'static str,
    attributes: String,
    inside: Markup,
}

/// An element without attributes and content.
pub fn element(name: &'static str) -> Element {
    Element { name, attributes: String::new(), inside: Markup::default() }
}

impl Element {
    /// Adds an attribute.
    pub fn attr(mut self, name: &'static str, value: impl Display) -> Element {
        // Writing into memory cannot fail.
        let _ = write!(self.attributes, " {name}=\"{}\"", xml(&value.to_string()));
        self
    }

    /// Adds the attribute `class`; none for "".
    pub fn class(self, class: &str) -> Element {
        if class.is_empty() { self } else { self.attr("class", class) }
    }

    /// Adds text.
    pub fn text(mut self, text: impl AsRef<str>) -> Element {
        self.inside.0 += &xml(text.as_ref());
        self
    }

    /// Adds text whose tabs and line ends stay.
    pub fn preformatted(mut self, text: &str) -> Element {
        let stays = ['\t', '\n'];
        for part in text.split_inclusive(stays) {
            let words = part.trim_end_matches(stays);
            self.inside.0 += &xml(words);
            self.inside.0 += &part[words.len()..];
        }
        self
    }

    /// Adds an element, or several.
    pub fn with(mut self, inside: impl Into<Markup>) -> Element {
        self.inside.push(inside);
        self
    }

    /// Adds all of them.
    pub fn all<M: Into<Markup>>(mut self, all: impl IntoIterator<Item = M>) -> Element {
        all.into_iter().for_each(|one| self.inside.push(one));
        self
    }

    /// Adds a style sheet of our own as it is.
    pub fn style_sheet(mut self, text: &str) -> Element {
        self.inside.0 += text;
        self
    }
}

impl Markup {
    /// Appends an element, or several.
    pub fn push(&mut self, more: impl Into<Markup>) {
        self.0 += &more.into().0;
    }

    /// There is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As it is written into a file.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// A line feed follows, so that pages stay legible; see `INLINE`.
impl From<Element> for Markup {
    fn from(Element { name, attributes, inside: Markup(inside) }: Element) -> Markup {
        let end = if INLINE.contains(&name) { "" } else { "\n" };
        Markup(match EMPTY.contains(&name) {
            true => format!("<{name}{attributes}/>{end}"),
            false => format!("<{name}{attributes}>{inside}</{name}>{end}"),
        })
    }
}

impl<M: Into<Markup>> FromIterator<M> for Markup {
    fn from_iter<I: IntoIterator<Item = M>>(all: I) -> Markup {
        let mut out = Markup::default();
        all.into_iter().for_each(|one| out.push(one));
        out
    }
}

/// Text as XML 1.0 and HTML take it: no control characters, none that XML forbids, no markup.
pub(crate) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(permitted(c)),
        }
    }
    out
}

/// XML 1.0 has no U+FFFE and U+FFFF; HTML calls all noncharacters an error.
fn permitted(c: char) -> char {
    let code = c as u32;
    if code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code) { '\u{fffd}' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped_and_elements_closed() {
        let cell = element("td").class("").attr("title", "\"'").text("a < b").with(element("i"));
        let row = Markup::from(element("tr").with(cell).with(element("rect").attr("x", 1)));
        let expected = "<tr><td title=\"&quot;&#39;\">a &lt; b<i></i></td><rect x=\"1\"/>\n</tr>\n";
        assert_eq!(row.into_string(), expected);
    }
}

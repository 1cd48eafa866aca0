//! Diagnostics for people, drawn under the source line:
//!
//! ```text
//! error[E0202]: unknown word `writ`
//!  --> a.ppl:2:1
//!   |
//! 2 | writ("a", 1);
//!   | ^^^^ nearest is `write`
//! ```

use super::lines::{LineIndex, Lines};
use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Patch, Renderer, Snippet};
use model::escape::{self, is_harmful};
use model::plan::Span;
use ppl::{Diagnostic, Severity, Sources};
use std::ops::Range;

/// A line longer than this is named, not drawn, bytes.
const MAX_LINE_BYTES: usize = 400;
/// Lines that are drawn of a place over many lines.
const MAX_LINES: usize = 6;
/// Distance in lines up to which a related place is drawn with the first one.
const NEAR_LINES: usize = 4;

/// All diagnostics, drawn, with styles; the stream drops those nobody can see.
pub fn draw(diagnostics: &[Diagnostic], sources: &Sources, columns: usize) -> String {
    let renderer = Renderer::styled().term_width(columns);
    let shown: Vec<Diagnostic> = diagnostics.iter().map(harmless).collect();
    let mut index = LineIndex::new(sources);
    let mut text = String::new();
    for diagnostic in &shown {
        text.push_str(&renderer.render(&groups(diagnostic, &mut index)));
        text.push_str("\n\n");
    }
    // The renderer shows ASCII's control characters of the source as symbols; the colours are its own.
    let is_left = |c: char| is_harmful(c) && !matches!(c, '\n' | '\x1b');
    text.replace(is_left, "\u{fffd}")
}

/// The same with nothing in its words that a terminal obeys.
fn harmless(diagnostic: &Diagnostic) -> Diagnostic {
    let mut shown = diagnostic.clone();
    let texts = [&mut shown.message, &mut shown.label].into_iter().chain(&mut shown.help);
    let others = shown.related.iter_mut().chain(&mut shown.fix).map(|(_, text)| text);
    texts.chain(others).for_each(|text| *text = escape::lines(text));
    shown
}

fn groups<'a>(diagnostic: &'a Diagnostic, index: &mut LineIndex<'a>) -> Vec<Group<'a>> {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.as_str());
    let fix = diagnostic.fix.as_ref().and_then(|fix| Some((fix, patch(fix, index)?)));
    let mut main = title.elements(places(diagnostic, index));
    if let (Some(help), None) = (&diagnostic.help, &fix) {
        main = main.element(Level::HELP.message(help.as_str()));
    }
    let help = diagnostic.help.as_deref().unwrap_or("write this instead");
    let fix = fix.map(|(_, patch)| Level::HELP.secondary_title(help).element(patch));
    std::iter::once(main).chain(fix).collect()
}

/// Lines of a file that are drawn, with the places marked in them.
struct Window<'a> {
    name: &'a str,
    lines: Range<usize>,
    /// First byte of the lines in the file.
    start: usize,
    text: &'a str,
    /// Bytes of the file, and what is written below them.
    marks: Vec<(Range<usize>, AnnotationKind, &'a str)>,
}

impl<'a> Window<'a> {
    /// Some lines of a file; `None` if one of them is too long to be drawn.
    fn of_lines(file: &Lines<'a>, lines: Range<usize>) -> Option<Window<'a>> {
        let bytes = file.bytes(lines.start, lines.end - 1);
        let (start, text) = (bytes.start, &file.file.text[bytes]);
        let fits = text.split('\n').all(|line| line.len() <= MAX_LINE_BYTES);
        let name = &file.file.name;
        fits.then_some(Window { name, lines, start, text, marks: Vec::new() })
    }

    /// The lines of a place, the first ones if there are many.
    fn around(file: &Lines<'a>, bytes: &Range<usize>) -> Option<Window<'a>> {
        let first = file.line_of(bytes.start);
        let last = file.line_of(bytes.end).min(first + MAX_LINES - 1);
        Window::of_lines(file, first..last + 1)
    }

    fn is_near(&self, other: &Window<'_>) -> bool {
        self.name == other.name
            && other.lines.end + NEAR_LINES >= self.lines.start
            && other.lines.start <= self.lines.end + NEAR_LINES
    }

    /// Both windows and what lies between them.
    fn joined(&self, other: &Window<'_>, file: &Lines<'a>) -> Option<Window<'a>> {
        let start = self.lines.start.min(other.lines.start);
        let mut both = Window::of_lines(file, start..self.lines.end.max(other.lines.end))?;
        both.marks.clone_from(&self.marks);
        Some(both)
    }

    fn snippet(self) -> Element<'a> {
        let within = |byte: usize| (byte - self.start).min(self.text.len());
        let annotations = self.marks.into_iter().map(|(bytes, kind, label)| {
            let label = (!label.is_empty()).then_some(label);
            kind.span(within(bytes.start)..within(bytes.end)).label(label)
        });
        let snippet = Snippet::source(self.text)
            .line_start(self.lines.start + 1)
            .path(escape::line(self.name));
        snippet.annotations(annotations).into()
    }
}

/// The place of a diagnostic and those related to it.
fn places<'a>(diagnostic: &'a Diagnostic, index: &mut LineIndex<'a>) -> Vec<Element<'a>> {
    let first = (diagnostic.span, diagnostic.label.as_str(), AnnotationKind::Primary);
    let related = diagnostic.related.iter();
    let related = related.map(|(span, text)| (*span, text.as_str(), AnnotationKind::Context));
    let mut windows: Vec<Window<'a>> = Vec::new();
    let mut too_long = Vec::new();
    for (span, label, kind) in std::iter::once(first).chain(related) {
        let Some(file) = index.at(span) else { continue };
        let bytes = file.local(span);
        match Window::around(file, &bytes) {
            Some(window) => place(&mut windows, window, file).push((bytes, kind, label)),
            None => too_long.extend(named(file, &bytes, label)),
        }
    }
    windows.into_iter().map(Window::snippet).chain(too_long).collect()
}

/// Joins a window to one that is near, or adds it; gives the marks of the result.
fn place<'w, 'a>(
    windows: &'w mut Vec<Window<'a>>,
    new: Window<'a>,
    file: &Lines<'a>,
) -> &'w mut Vec<(Range<usize>, AnnotationKind, &'a str)> {
    let near = windows.iter().position(|window| window.is_near(&new));
    let joined = near.and_then(|at| Some((at, windows[at].joined(&new, file)?)));
    let at = match joined {
        Some((at, both)) => {
            windows[at] = both;
            at
        }
        None => {
            windows.push(new);
            windows.len() - 1
        }
    };
    &mut windows[at].marks
}

/// A place whose line is too long to be drawn.
fn named<'a>(lines: &Lines<'a>, bytes: &Range<usize>, label: &'a str) -> Vec<Element<'a>> {
    let place = lines.place(bytes.start);
    let origin =
        Origin::path(escape::line(&lines.file.name)).line(place.line).char_column(place.column);
    let note = (!label.is_empty()).then(|| Level::NOTE.message(label).into());
    std::iter::once(origin.into()).chain(note).collect()
}

/// The text as it is after a fix; `None` where it is too long to be drawn.
fn patch<'a>(fix: &'a (Span, String), index: &mut LineIndex<'a>) -> Option<Element<'a>> {
    let lines = index.at(fix.0)?;
    let bytes = lines.local(fix.0);
    let window = Window::around(lines, &bytes)?;
    if bytes.end > window.start + window.text.len() {
        return None;
    }
    let span = bytes.start - window.start..bytes.end - window.start;
    let snippet = Snippet::source(window.text).line_start(window.lines.start + 1);
    Some(snippet.path(escape::line(window.name)).patch(Patch::new(span, fix.1.as_str())).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppl::diag::Code;

    fn drawn(text: &str, make: impl Fn(&dyn Fn(&str) -> Span) -> Diagnostic) -> String {
        let mut sources = Sources::default();
        let _ = sources.add("a.ppl", text.as_bytes().to_vec());
        let span = |part: &str| {
            let start = text.find(part).unwrap() as u32;
            Span { start, end: start + part.len() as u32 }
        };
        let text = draw(&[make(&span)], &sources, 100);
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn the_place_is_marked_under_its_line() {
        let text = drawn(";\nwrit(\"a\", 1);\n", |span| {
            let message = "unknown word `writ`";
            Diagnostic::new(Code::UnknownWord, span("writ"), message)
                .label("nearest is `write`")
                .help("correct the spelling")
                .fix(span("writ"), "write")
        });
        let expected = [
            "error[E0202]: unknown word `writ`",
            " --> a.ppl:2:1",
            "  |",
            "2 | writ(\"a\", 1);",
            "  | ^^^^ nearest is `write`",
            "  |",
            "help: correct the spelling",
            "  |",
            "2 | write(\"a\", 1);",
            "  |     +",
        ];
        assert_eq!(text.trim_end().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn near_places_are_drawn_together_and_far_ones_apart() {
        let text = format!("$a = 1;\n$b = 2;\n{}$far = 3;\n", ";\n".repeat(50));
        let both = drawn(&text, |span| {
            Diagnostic::new(Code::Duplicate, span("$b"), "m")
                .related(span("$a"), "first here")
                .related(span("$far"), "and here")
        });
        for part in ["1 | $a = 1;", "first here", "2 | $b = 2;", "53 | $far = 3;", "and here"] {
            assert!(both.contains(part), "{part} in\n{both}");
        }
        assert_eq!(both.matches("a.ppl:").count(), 2, "{both}");
    }

    #[test]
    fn a_very_long_line_is_named_and_not_drawn() {
        let text = format!("{}$x = $y;", ";".repeat(1_000_000));
        let text = drawn(&text, |span| {
            Diagnostic::new(Code::UnknownVariable, span("$y"), "m")
                .label("not set")
                .fix(span("$y"), "1")
        });
        assert!(text.contains("a.ppl:1:1000006") && text.contains("not set"), "{text}");
        assert!(text.len() < 1000);
    }

    #[test]
    fn every_place_can_be_drawn() {
        let text = "é\r\n\tx\n";
        for start in 0..=text.len() as u32 + 3 {
            for end in start..=text.len() as u32 + 3 {
                let span = Span { start, end };
                drawn(text, |_| Diagnostic::new(Code::Expected, span, "m").fix(span, "y\nz"));
            }
        }
    }
}

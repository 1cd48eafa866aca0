//! Shows what is wrong with a program: as a JSON array for programs, and for people drawn under the source line:
//!
//! ```text
//! error[E0202]: unknown word `writ`
//!  --> a.ppl:2:1
//!   |
//! 2 | writ("a", 1);
//!   | ^^^^ nearest is `write`
//! ```

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Patch, Renderer, Snippet};
use model::escape::{self, is_harmful};
use model::plan::{SourceFile, Span};
use ppl::diag::Code;
use ppl::{Diagnostic, Severity, Sources};
use serde::Serialize;
use std::ops::Range;

/// A line longer than this is named, not drawn, bytes.
const MAX_LINE_BYTES: usize = 400;

/// `2 errors, 1 warning`; "" if there is nothing to say.
pub fn summary(diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics.iter().filter(|d| d.severity() == Severity::Error).count();
    let counts = [(errors, "error"), (diagnostics.len() - errors, "warning")];
    let counts = counts.iter().filter(|(n, _)| *n > 0);
    counts.map(|(n, word)| model::words::count(*n, word)).collect::<Vec<_>>().join(", ")
}

/// Options of `with` that nothing takes: `file:line:column: sentence`.
pub fn without_effect(diagnostics: &[Diagnostic], sources: &Sources) -> Vec<String> {
    let is_such = |found: &&Diagnostic| {
        matches!(found.code, Code::NoEffect | Code::NotForMpi | Code::NoRepeat)
    };
    let said = |found: &Diagnostic| {
        let (file, line, column) = sources.locate(found.span.start);
        format!("{}:{line}:{column}: {}", sources.file(file).name, found.message)
    };
    diagnostics.iter().filter(is_such).map(said).collect()
}

/// One diagnostic.
#[derive(Serialize)]
struct Entry<'a> {
    code: &'static str,
    severity: &'static str,
    file: &'a str,
    #[serde(flatten)]
    place: Place,
    message: &'a str,
    label: &'a str,
    help: Option<&'a str>,
    fix: Option<Fix<'a>>,
}

/// The text for a place that corrects it.
#[derive(Serialize)]
struct Fix<'a> {
    #[serde(flatten)]
    place: Place,
    replacement: &'a str,
}

/// Lines and columns count from 1, columns count characters; the end is the first place that is not marked.
#[derive(Serialize)]
struct Place {
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

/// The diagnostics as a JSON array, with a line end.
pub fn to_json(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let entries: Vec<Entry<'_>> = diagnostics.iter().map(|d| entry(d, sources)).collect();
    let text = serde_json::to_string_pretty(&entries).expect("strings and numbers only");
    escape::json(&text).into_owned() + "\n"
}

fn entry<'a>(diagnostic: &'a Diagnostic, sources: &'a Sources) -> Entry<'a> {
    let fix =
        |(span, text): &'a (Span, String)| Fix { place: place(*span, sources), replacement: text };
    Entry {
        code: diagnostic.code.as_str(),
        severity: match diagnostic.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        file: find(diagnostic.span, sources).map_or("", |(file, _)| &file.name),
        place: place(diagnostic.span, sources),
        message: &diagnostic.message,
        label: &diagnostic.label,
        help: diagnostic.help.as_deref(),
        fix: diagnostic.fix.as_ref().map(fix),
    }
}

fn place(span: Span, sources: &Sources) -> Place {
    let Some((file, bytes)) = find(span, sources) else {
        return Place { line: 1, column: 1, end_line: 1, end_column: 1 };
    };
    let (_, line, column) = sources.locate(file.start + bytes.start as u32);
    let (_, end_line, end_column) = sources.locate(file.start + bytes.end as u32);
    Place { line, column, end_line, end_column }
}

/// The file that holds a span, and the bytes of its text, on character boundaries; `None` for the command line and
/// where there is no file at all.
fn find(span: Span, sources: &Sources) -> Option<(&SourceFile, Range<usize>)> {
    if span == Span::COMMAND_LINE {
        return None;
    }
    let file = sources.files().get(sources.file_at(span.start).0 as usize)?;
    let at = |position: u32| {
        let at = (position.saturating_sub(file.start) as usize).min(file.text.len());
        (0..=at).rev().find(|at| file.text.is_char_boundary(*at)).unwrap_or(0)
    };
    let start = at(span.start);
    Some((file, start..at(span.end).max(start)))
}

/// All diagnostics, drawn, with styles; the stream drops those nobody can see.
pub fn draw(diagnostics: &[Diagnostic], sources: &Sources, columns: usize) -> String {
    let renderer = Renderer::styled().term_width(columns);
    let mut text = String::new();
    for diagnostic in diagnostics.iter().map(harmless) {
        text.push_str(&renderer.render(&groups(&diagnostic, sources)));
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

fn groups<'a>(diagnostic: &'a Diagnostic, sources: &'a Sources) -> Vec<Group<'a>> {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.as_str());
    let fix = diagnostic.fix.as_ref().and_then(|fix| patch(fix, sources));
    let mut main = title.elements(snippets(diagnostic, sources));
    if let (Some(help), None) = (&diagnostic.help, &fix) {
        main = main.element(Level::HELP.message(help.as_str()));
    }
    let help = diagnostic.help.as_deref().unwrap_or("write this instead");
    let fix = fix.map(|patch| Level::HELP.secondary_title(help).element(patch));
    std::iter::once(main).chain(fix).collect()
}

/// Bytes of a file, and what is written below them.
type Mark<'a> = (Range<usize>, AnnotationKind, &'a str);

/// The place of a diagnostic and those related to it, drawn together where they are in one file.
fn snippets<'a>(diagnostic: &'a Diagnostic, sources: &'a Sources) -> Vec<Element<'a>> {
    let first = (diagnostic.span, diagnostic.label.as_str(), AnnotationKind::Primary);
    let related = diagnostic.related.iter();
    let related = related.map(|(span, text)| (*span, text.as_str(), AnnotationKind::Context));
    let mut files: Vec<(&SourceFile, Vec<Mark<'_>>)> = Vec::new();
    for (span, label, kind) in std::iter::once(first).chain(related) {
        let Some((file, bytes)) = find(span, sources) else { continue };
        match files.iter_mut().find(|(known, _)| known.start == file.start) {
            Some((_, marks)) => marks.push((bytes, kind, label)),
            None => files.push((file, vec![(bytes, kind, label)])),
        }
    }
    let drawn = files
        .iter()
        .flat_map(|(file, marks)| draw_marks(file, marks).unwrap_or_else(|| name(file, marks)));
    drawn.collect()
}

/// The lines that hold these bytes: their first byte, the number of the first, and their text. `None` if one is too
/// long to be drawn.
fn lines_of(file: &SourceFile, bytes: Range<usize>) -> Option<(usize, usize, &str)> {
    let start = file.text[..bytes.start].rfind('\n').map_or(0, |at| at + 1);
    let end = file.text[bytes.end..].find('\n').map_or(file.text.len(), |at| bytes.end + at);
    let text = &file.text[start..end];
    let number = file.text[..start].bytes().filter(|byte| *byte == b'\n').count() + 1;
    text.split('\n').all(|line| line.len() <= MAX_LINE_BYTES).then_some((start, number, text))
}

fn draw_marks<'a>(file: &'a SourceFile, marks: &[Mark<'a>]) -> Option<Vec<Element<'a>>> {
    let first = marks.iter().map(|mark| mark.0.start).min()?;
    let last = marks.iter().map(|mark| mark.0.end).max()?;
    let (start, number, text) = lines_of(file, first..last)?;
    let annotations = marks.iter().map(|(bytes, kind, label)| {
        let label = (!label.is_empty()).then_some(*label);
        kind.span(bytes.start - start..bytes.end - start).label(label)
    });
    let snippet = Snippet::source(text).line_start(number).path(escape::line(&file.name));
    Some(vec![snippet.annotations(annotations).into()])
}

/// A place whose line is too long to be drawn.
fn name<'a>(file: &'a SourceFile, marks: &[Mark<'a>]) -> Vec<Element<'a>> {
    let Some((bytes, _, label)) = marks.first() else { return Vec::new() };
    let before = &file.text[..bytes.start];
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let origin = Origin::path(escape::line(&file.name)).line(line).char_column(column);
    let note = (!label.is_empty()).then(|| Level::NOTE.message(*label).into());
    std::iter::once(origin.into()).chain(note).collect()
}

/// The text as it is after a fix; `None` where it is too long to be drawn.
fn patch<'a>((span, text): &'a (Span, String), sources: &'a Sources) -> Option<Element<'a>> {
    let (file, bytes) = find(*span, sources)?;
    let (start, number, lines) = lines_of(file, bytes.clone())?;
    let snippet = Snippet::source(lines).line_start(number).path(escape::line(&file.name));
    let patch = Patch::new(bytes.start - start..bytes.end - start, text.as_str());
    Some(snippet.patch(patch).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_summary_counts() {
        let of = |codes: &[Code]| {
            let make = |code: &Code| Diagnostic::new(*code, Span::default(), "m");
            summary(&codes.iter().map(make).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), "");
        assert_eq!(of(&[Code::Expected]), "1 error");
        assert_eq!(of(&[Code::Expected, Code::Unused, Code::Include]), "2 errors, 1 warning");
    }

    #[test]
    fn an_entry_has_its_places_and_its_fix() {
        let mut sources = Sources::default();
        let _ = sources.add("a.ppl", b";\nwriet(\"a\", 1)\n".to_vec());
        let span = |start, end| Span { start, end };
        let diagnostics = [Diagnostic::new(Code::UnknownWord, span(2, 7), "unknown word writ\"et")
            .label("here")
            .help("write is near")
            .fix(span(2, 7), "write")];
        let value: serde_json::Value =
            serde_json::from_str(&to_json(&diagnostics, &sources)).unwrap();
        let expected = json!([{
            "code": "E0202", "severity": "error", "file": "a.ppl",
            "line": 2, "column": 1, "end_line": 2, "end_column": 6,
            "message": "unknown word writ\"et", "label": "here", "help": "write is near",
            "fix": {"line": 2, "column": 1, "end_line": 2, "end_column": 6, "replacement": "write"},
        }]);
        assert_eq!(value, expected);
    }

    #[test]
    fn nothing_wrong_is_an_empty_array() {
        assert_eq!(to_json(&[], &Sources::default()), "[]\n");
    }

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
    fn places_of_one_file_are_drawn_together() {
        let text = format!("$a = 1;\n$b = 2;\n{}$far = 3;\n", ";\n".repeat(50));
        let both = drawn(&text, |span| {
            Diagnostic::new(Code::Duplicate, span("$b"), "m")
                .related(span("$a"), "first here")
                .related(span("$far"), "and here")
        });
        for part in ["1 | $a = 1;", "first here", "2 | $b = 2;", "53 | $far = 3;", "and here"] {
            assert!(both.contains(part), "{part} in\n{both}");
        }
        assert_eq!(both.matches("a.ppl:").count(), 1, "{both}");
        assert!(both.lines().count() < 15, "{both}");
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

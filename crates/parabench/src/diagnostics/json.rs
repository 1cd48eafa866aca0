//! Diagnostics for programs: an array of flat objects.

use super::lines::{LineIndex, Position};
use model::plan::Span;
use ppl::{Diagnostic, Severity, Sources};
use serde::Serialize;

/// One diagnostic. Lines and columns count from 1, columns count characters;
/// the end is the first place that is not marked any more.
#[derive(Serialize)]
struct Entry<'a> {
    code: &'static str,
    severity: &'static str,
    file: &'a str,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    message: &'a str,
    label: &'a str,
    help: Option<&'a str>,
    fix: Option<Fix<'a>>,
}

/// Replacing this place by this text mends it.
#[derive(Serialize)]
struct Fix<'a> {
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    replacement: &'a str,
}

/// The diagnostics as a JSON array, with a line end.
pub fn to_json(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let mut index = LineIndex::new(sources);
    let entries: Vec<Entry<'_>> = diagnostics.iter().map(|d| entry(d, &mut index)).collect();
    let text = serde_json::to_string_pretty(&entries).expect("strings and numbers only");
    model::escape::json(&text).into_owned() + "\n"
}

fn entry<'a>(diagnostic: &'a Diagnostic, index: &mut LineIndex<'a>) -> Entry<'a> {
    let (file, start, end) = places(diagnostic.span, index);
    Entry {
        code: diagnostic.code.as_str(),
        severity: match diagnostic.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        file,
        line: start.line,
        column: start.column,
        end_line: end.line,
        end_column: end.column,
        message: &diagnostic.message,
        label: &diagnostic.label,
        help: diagnostic.help.as_deref(),
        fix: diagnostic.fix.as_ref().map(|(span, text)| fix(*span, text, index)),
    }
}

fn fix<'a>(span: Span, replacement: &'a str, index: &mut LineIndex<'a>) -> Fix<'a> {
    let (_, start, end) = places(span, index);
    Fix {
        line: start.line,
        column: start.column,
        end_line: end.line,
        end_column: end.column,
        replacement,
    }
}

fn places<'a>(span: Span, index: &mut LineIndex<'a>) -> (&'a str, Position, Position) {
    match index.at(span) {
        Some(lines) => {
            let local = lines.local(span);
            (&lines.file.name, lines.place(local.start), lines.place(local.end))
        }
        None => ("", Position { line: 1, column: 1 }, Position { line: 1, column: 1 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppl::diag::Code;
    use serde_json::json;

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
}

//! Shows what is wrong with a program: drawn under the source line for people,
//! as JSON for programs.

mod draw;
mod json;
mod lines;

pub use draw::draw;
pub use json::to_json;

use ppl::diag::Code;
use ppl::{Diagnostic, Severity, Sources};

/// `2 errors, 1 warning`; "" if there is nothing to say.
pub fn summary(diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics.iter().filter(|d| d.severity() == Severity::Error).count();
    let count = |n: usize, word: &str| match n {
        0 => None,
        1 => Some(format!("1 {word}")),
        n => Some(format!("{n} {word}s")),
    };
    let counts = [count(errors, "error"), count(diagnostics.len() - errors, "warning")];
    counts.into_iter().flatten().collect::<Vec<_>>().join(", ")
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::Span;

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
}

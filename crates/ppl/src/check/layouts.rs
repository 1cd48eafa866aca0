//! Layouts of the report's tables, which stand in comments: a mistake leaves the table out, so it is said.

use crate::diag::{Code, Diagnostic};
use crate::source::Sources;
use model::plan::{SourceFile, Span};
use model::table_layout::{Mistake, parse};

/// Warns of layouts that cannot be read.
pub(crate) fn warn_of_layouts(sources: &Sources) -> Vec<Diagnostic> {
    let of_file = |file: &SourceFile| {
        let mistakes = parse(&file.text).1;
        mistakes.into_iter().map(|mistake| warning(file.start, mistake)).collect::<Vec<_>>()
    };
    sources.files().iter().flat_map(of_file).collect()
}

fn warning(file_start: u32, mistake: Mistake) -> Diagnostic {
    let start = file_start + mistake.start as u32;
    let span = Span { start, end: start + mistake.length as u32 };
    Diagnostic::new(Code::Layout, span, mistake.what)
        .help("docs/language.md, \"Tables\"; the report leaves this table out")
}

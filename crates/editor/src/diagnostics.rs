//! Mistakes of a program as the protocol has them, and their fixes.

use crate::analysis::Analysis;
use crate::host::Host;
use crate::text::Text;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, Diagnostic, DiagnosticRelatedInformation,
    DiagnosticSeverity, DiagnosticTag, Location, NumberOrString, Range, TextEdit, Uri,
    WorkspaceEdit,
};
use ppl::diag::Code;
use std::collections::HashMap;

/// All diagnostics of a document.
pub(crate) fn list(
    analysis: &Analysis,
    more: &[ppl::Diagnostic],
    uri: &Uri,
    host: &dyn Host,
) -> Vec<Diagnostic> {
    let all = analysis.compiled.diagnostics.iter().chain(more);
    all.map(|found| diagnostic(analysis, found, uri, host)).collect()
}

fn diagnostic(
    analysis: &Analysis,
    found: &ppl::Diagnostic,
    uri: &Uri,
    host: &dyn Host,
) -> Diagnostic {
    let mut message = found.message.clone();
    if let Some(help) = &found.help {
        message.push_str(&format!("\nhelp: {help}"));
    }
    let related = found.related.iter().filter_map(|(span, text)| {
        let (name, range) = analysis.locate(*span)?;
        let uri = match name {
            None => uri.clone(),
            Some(name) => host.uri_of(&name).parse().ok()?,
        };
        Some(DiagnosticRelatedInformation {
            location: Location { uri, range },
            message: text.clone(),
        })
    });
    let related: Vec<_> = related.collect();
    let is_unused = matches!(found.code, Code::Unused | Code::Unreachable);
    Diagnostic {
        range: place(analysis, found),
        severity: Some(match found.severity() {
            ppl::Severity::Error => DiagnosticSeverity::ERROR,
            ppl::Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(found.code.as_str().into())),
        source: Some("parabench".into()),
        message,
        related_information: Some(related).filter(|related| !related.is_empty()),
        tags: is_unused.then(|| vec![DiagnosticTag::UNNECESSARY]),
        ..Diagnostic::default()
    }
}

/// The place of a mistake in the document: of one in a file that it includes, the start of the document.
fn place(analysis: &Analysis, found: &ppl::Diagnostic) -> Range {
    if analysis.is_own(found.span) {
        return analysis.text.range_of(found.span);
    }
    let included = found.related.iter().map(|(span, _)| *span).find(|span| analysis.is_own(*span));
    match included {
        Some(span) => analysis.text.range_of(span),
        None => analysis.text.range(0, 0),
    }
}

/// The fixes of mistakes that a range touches.
// `Uri` is compared and hashed by its text alone.
#[allow(clippy::mutable_key_type)]
pub(crate) fn actions(
    analysis: &Analysis,
    uri: &Uri,
    range: Range,
    host: &dyn Host,
) -> Vec<CodeActionOrCommand> {
    let text = &analysis.text;
    let touches = |one: Range| one.start <= range.end && range.start <= one.end;
    let fixable = analysis.compiled.diagnostics.iter().filter_map(|found| {
        let (span, new) = found.fix.as_ref().filter(|(span, _)| analysis.is_own(*span))?;
        let is_near = touches(text.range_of(*span)) || touches(place(analysis, found));
        is_near.then(|| {
            let edit = TextEdit { range: text.range_of(*span), new_text: new.clone() };
            CodeActionOrCommand::CodeAction(CodeAction {
                title: title(text, *span, new),
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(vec![diagnostic(analysis, found, uri, host)]),
                edit: Some(WorkspaceEdit::new(HashMap::from([(uri.clone(), vec![edit])]))),
                is_preferred: Some(true),
                ..CodeAction::default()
            })
        })
    });
    fixable.collect()
}

fn title(text: &Text, span: model::plan::Span, new: &str) -> String {
    let old = text.as_str().get(span.start as usize..span.end as usize).unwrap_or("");
    let short = |text: &str| model::words::shortened(text.trim(), 40).into_owned();
    match (old.trim().is_empty(), new.trim().is_empty()) {
        (true, _) => format!("Insert {}", short(new)),
        (_, true) => format!("Remove {}", short(old)),
        _ => format!("Replace {} by {}", short(old), short(new)),
    }
}

//! The outline as the protocol has it, and what can be folded.

use crate::analysis::Analysis;
use crate::outline::{Item, Kind, Outline};
use crate::text::Text;
use lsp_types::{DocumentSymbol, FoldingRange, FoldingRangeKind, SymbolKind};
use model::plan::Span;
use ppl::ast::Stmt;

/// Statements that structure a program: everything but commands.
pub(crate) fn list(text: &Text) -> Vec<DocumentSymbol> {
    symbols(&Outline::new(text.as_str()).items, text)
}

fn symbols(items: &[Item], text: &Text) -> Vec<DocumentSymbol> {
    items.iter().filter_map(|item| symbol(item, text)).collect()
}

fn symbol(item: &Item, text: &Text) -> Option<DocumentSymbol> {
    let kind = match item.kind {
        Kind::Param => SymbolKind::CONSTANT,
        Kind::Groups | Kind::Group => SymbolKind::CLASS,
        Kind::Pattern => SymbolKind::STRUCT,
        Kind::Hints => SymbolKind::PROPERTY,
        Kind::Proc => SymbolKind::FUNCTION,
        Kind::Include => SymbolKind::MODULE,
        Kind::Time => SymbolKind::EVENT,
        Kind::Repeat | Kind::While | Kind::Share => SymbolKind::ARRAY,
        _ if !item.children.is_empty() => SymbolKind::NAMESPACE,
        _ => return None,
    };
    #[allow(deprecated, reason = "the type has a field that is")]
    Some(DocumentSymbol {
        name: if item.title.trim().is_empty() { "?".into() } else { item.title.clone() },
        detail: Some(item.detail.clone()).filter(|detail| !detail.is_empty()),
        kind,
        tags: None,
        deprecated: None,
        range: text.range_of(item.span),
        selection_range: text.range_of(item.head),
        children: Some(symbols(&item.children, text)),
    })
}

/// Blocks and comments of several lines.
pub(crate) fn folds(analysis: &Analysis) -> Vec<FoldingRange> {
    let ast = &analysis.compiled.ast;
    let statements = ast.stmts.iter().zip(&ast.stmt_spans);
    let blocks = statements
        .filter(|(stmt, _)| matches!(stmt, Stmt::Block(_) | Stmt::Mix(_)))
        .filter(|(_, span)| analysis.is_own(**span))
        .filter_map(|(_, span)| fold(analysis, *span, 1, None));
    let comments = comment_runs(analysis).into_iter();
    let comments =
        comments.filter_map(|span| fold(analysis, span, 0, Some(FoldingRangeKind::Comment)));
    blocks.chain(comments).collect()
}

/// `last`: lines at the end that stay visible.
fn fold(
    analysis: &Analysis,
    span: Span,
    last: u32,
    kind: Option<FoldingRangeKind>,
) -> Option<FoldingRange> {
    let range = analysis.text.range_of(span);
    let (start_line, end_line) = (range.start.line, range.end.line.checked_sub(last)?);
    (end_line > start_line).then(|| FoldingRange {
        start_line,
        end_line,
        kind,
        ..FoldingRange::default()
    })
}

/// Comments on lines that follow each other.
fn comment_runs(analysis: &Analysis) -> Vec<Span> {
    let mut runs: Vec<Span> = Vec::new();
    for comment in analysis.compiled.ast.comments.iter().filter(|one| analysis.is_own(**one)) {
        if let Some(last) = runs.last_mut() {
            let between = analysis.slice(Span { start: last.end, end: comment.start });
            if between.trim().is_empty() && between.matches('\n').count() == 1 {
                last.end = comment.end;
                continue;
            }
        }
        runs.push(*comment);
    }
    runs
}

//! Names: where they are defined and used, and other names for them.

use crate::analysis::Analysis;
use lsp_types::{DocumentHighlight, DocumentHighlightKind, Range, TextEdit};
use model::plan::Span;
use ppl::facts::{Kind, Mention, SymbolId};
use ppl::lex::is_name_byte;

/// A place in the document, or in the file of this name.
pub(crate) type Place = (Option<String>, Range);

/// The name at a place of the document.
pub(crate) fn at(analysis: &Analysis, offset: usize) -> Option<Mention> {
    analysis.compiled.facts.at(offset as u32).filter(|mention| analysis.is_own(mention.span))
}

/// Where a name is defined.
pub(crate) fn definition(analysis: &Analysis, offset: usize) -> Option<Place> {
    let mention = at(analysis, offset)?;
    analysis.locate(analysis.compiled.facts.symbol(mention.symbol).span)
}

/// Where a name is used, its definitions included if asked for.
pub(crate) fn references(analysis: &Analysis, offset: usize, definitions: bool) -> Vec<Place> {
    let Some(mention) = at(analysis, offset) else { return Vec::new() };
    let all = analysis.compiled.facts.mentions(mention.symbol);
    let wanted = all.filter(|one| definitions || !one.defines);
    let mut places: Vec<Place> = wanted.filter_map(|one| analysis.locate(one.span)).collect();
    places.dedup();
    places
}

/// The uses of a name in the document.
pub(crate) fn highlights(analysis: &Analysis, offset: usize) -> Vec<DocumentHighlight> {
    let Some(mention) = at(analysis, offset) else { return Vec::new() };
    let all = analysis.compiled.facts.mentions(mention.symbol);
    let own = all.filter(|one| analysis.is_own(one.span));
    let highlight = |one: Mention| DocumentHighlight {
        range: analysis.text.range_of(one.span),
        kind: Some(match one.defines {
            true => DocumentHighlightKind::WRITE,
            false => DocumentHighlightKind::READ,
        }),
    };
    let mut found: Vec<DocumentHighlight> = own.map(highlight).collect();
    found.dedup();
    found
}

/// The part of a mention that is the name.
pub(crate) fn name_in(analysis: &Analysis, span: Span) -> Span {
    let raw = analysis.slice(span);
    let (skip, end) = match raw.as_bytes() {
        [b'"', ..] => (1, raw.len().saturating_sub(1)),
        [b'$', b'{', rest @ ..] => {
            (2, 2 + rest.iter().take_while(|byte| is_name_byte(**byte)).count())
        }
        [b'$', ..] => (1, raw.len()),
        _ => (0, raw.len()),
    };
    Span { start: span.start + skip, end: span.start + end.max(skip as usize) as u32 }
}

/// The edits that give a name another one.
///
/// # Errors
/// Why it cannot have that name.
pub(crate) fn rename(
    analysis: &Analysis,
    offset: usize,
    new: &str,
) -> Result<Vec<TextEdit>, String> {
    let mention = at(analysis, offset).ok_or("there is no name here")?;
    let compiled = &analysis.compiled;
    let facts = &compiled.facts;
    let kind = facts.symbol(mention.symbol).kind;
    let new = if kind.is_variable() { new.trim_start_matches('$') } else { new.trim_matches('"') };
    check_name(analysis, mention.symbol, new)?;
    let edits = facts.rename(mention.symbol, new, &compiled.sources);
    if edits.iter().any(|(span, _)| !analysis.is_own(*span)) {
        return Err("it is also named in a file that this one includes".into());
    }
    let edits = edits.into_iter();
    Ok(edits
        .map(|(span, new_text)| TextEdit { range: analysis.text.range_of(span), new_text })
        .collect())
}

fn check_name(analysis: &Analysis, symbol: SymbolId, new: &str) -> Result<(), String> {
    let facts = &analysis.compiled.facts;
    let kind = facts.symbol(symbol).kind;
    let is_word = !new.is_empty() && new.bytes().all(is_name_byte);
    let is_right = match kind {
        Kind::Proc => is_word && !new.as_bytes()[0].is_ascii_digit(),
        _ if kind.is_variable() => is_word,
        _ => !new.is_empty() && !new.contains(['"', '\\', '$', '\n', '\r']),
    };
    if !is_right {
        return Err(format!("{new:?} cannot be the name of a {}", kind.word()));
    }
    let is_command = ppl::word::statement_words().any(|word| word.eq_ignore_ascii_case(new))
        || ppl::word::is_function(new);
    if kind == Kind::Proc && is_command {
        return Err(format!("{new} is a word of the language"));
    }
    let sources = &analysis.compiled.sources;
    let same = |(id, one): (SymbolId, &ppl::facts::Symbol)| {
        let alike = one.kind == kind || (one.kind.is_variable() && kind.is_variable());
        id != symbol && alike && facts.name(id, sources) == new
    };
    // Names of labels may be shared: then they are one label.
    match kind != Kind::Label && facts.symbols().any(same) {
        true => Err(format!("there is a {} called {new} already", kind.word())),
        false => Ok(()),
    }
}

//! What the thing at a place is: the manual of a word, type and value of a name, the value of a number.

use crate::analysis::Analysis;
use crate::names;
use crate::palette;
use crate::tokens::{Around, slice};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use model::Value;
use model::function::FunctionRow;
use model::internal::InternalRow;
use model::op::{Needs, OpRow};
use model::plan::Span;
use model::with::OptionRow;
use model::{Op, units};
use ppl::ast::Stmt;
use ppl::facts::{Kind as Name, Mention};
use ppl::kinds::{KindRow, find_kind};
use ppl::lex::{Kind, Token};
use ppl::{Binding, source::NoIncludes};

/// The text of a hover.
pub(crate) fn at(analysis: &Analysis, offset: usize) -> Option<Hover> {
    let (span, value) = match names::at(analysis, offset) {
        Some(mention) => (mention.span, name(analysis, mention)),
        None => word(analysis, offset)?,
    };
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
    Some(Hover { contents, range: Some(analysis.text.range_of(span)) })
}

fn code(text: &str) -> String {
    format!("```ppl\n{text}\n```\n")
}

/// A name: its kind and types, its value, its documentation.
fn name(analysis: &Analysis, mention: Mention) -> String {
    let compiled = &analysis.compiled;
    let (facts, sources) = (&compiled.facts, &compiled.sources);
    let symbol = facts.symbol(mention.symbol);
    let mut text = format!("{}\n", facts.describe(mention.symbol, sources));
    if let Some(line) = definition(analysis, mention) {
        text.push_str(&format!("\n{}", code(&line)));
    }
    let value = match symbol.kind {
        Name::Parameter => bound(analysis, &facts.name(mention.symbol, sources)),
        _ => None,
    };
    let value = value.or_else(|| constant(&definition_value(analysis, mention)?));
    if let Some(value) = value {
        text.push_str(&format!("\nvalue: `{value}`\n"));
    }
    if let Some(doc) = facts.documentation(mention.symbol, &compiled.ast, sources) {
        text.push_str(&format!("\n{doc}\n"));
    }
    text
}

/// The value that a parameter is bound to.
fn bound(analysis: &Analysis, name: &str) -> Option<String> {
    let plan = analysis.compiled.plan.as_ref()?;
    let (_, value) = plan.params.iter().find(|(known, _)| known == name)?;
    Some(show(value))
}

fn show(value: &Value) -> String {
    match value {
        Value::Int(number) => with_size(*number),
        value => value.to_string(),
    }
}

/// `65536 (64 KiB)`
fn with_size(number: i64) -> String {
    let size = u64::try_from(number).ok().filter(|bytes| *bytes >= 1024);
    size.map_or(number.to_string(), |bytes| format!("{number} ({})", units::format_bytes(bytes)))
}

/// The first line of the statement that defines a name.
fn definition(analysis: &Analysis, mention: Mention) -> Option<String> {
    let compiled = &analysis.compiled;
    let span = compiled.facts.symbol(mention.symbol).span;
    let statement = innermost(analysis, span)?;
    let line = compiled.sources.text(statement).lines().next()?;
    Some(model::words::shortened(line.trim(), 100).into_owned())
}

/// The innermost statement around a place.
fn innermost(analysis: &Analysis, span: Span) -> Option<Span> {
    let spans = analysis.compiled.ast.stmt_spans.iter().copied();
    let around = spans.filter(|one| one.start <= span.start && span.end <= one.end);
    around.min_by_key(|one| one.end - one.start)
}

/// The text of the value of a variable that is set once.
fn definition_value(analysis: &Analysis, mention: Mention) -> Option<String> {
    let compiled = &analysis.compiled;
    let symbol = compiled.facts.symbol(mention.symbol);
    if symbol.definitions != 1 || !matches!(symbol.kind, Name::Variable | Name::Parameter) {
        return None;
    }
    let ast = &compiled.ast;
    let statements = ast.stmts.iter().zip(&ast.stmt_spans);
    let id = statements
        .filter(|(_, span)| span.start <= symbol.span.start && symbol.span.end <= span.end);
    let value = id.filter_map(|(stmt, _)| match stmt {
        Stmt::Assign(_, value) => Some(*value),
        Stmt::Param(number) => Some(ast.params[*number as usize].default),
        _ => None,
    });
    value.map(|id| compiled.sources.text(ast.expr_span(id)).to_string()).next()
}

/// Longest expression that is worked out, bytes.
const LONGEST: usize = 200;

/// The value of an expression without variables, if it says more than its text.
fn constant(text: &str) -> Option<String> {
    if text.len() > LONGEST || text.contains(['$', '\n']) {
        return None;
    }
    let program = format!("param $x = {text};");
    let binding = Binding::new(1);
    let made = ppl::compile("value", program.into_bytes(), &mut NoIncludes, &binding);
    let value = show(&made.plan?.params.first()?.1);
    (value != text.trim()).then_some(value)
}

/// A word of the language, or a number.
fn word(analysis: &Analysis, offset: usize) -> Option<(Span, String)> {
    let text = analysis.text.as_str();
    let around = Around::new(text, offset);
    if around.in_comment {
        return None;
    }
    let token = around.here.or_else(|| {
        // The place is at the start of the token.
        let next = crate::tokens::all(text, offset).next()?;
        (next.start as usize == offset).then_some(next)
    })?;
    let raw = slice(text, token);
    let found = match token.kind {
        Kind::Word => entry(raw, &around, next_is(text, token, Kind::Assign))?,
        Kind::Internal => internal(raw)?,
        Kind::Int | Kind::Float | Kind::Duration | Kind::Rate => format!("`{}`\n", constant(raw)?),
        _ => return None,
    };
    Some((token.span(), found))
}

fn next_is(text: &str, token: Token, kind: Kind) -> bool {
    crate::tokens::all(text, token.end as usize).next().is_some_and(|next| next.kind == kind)
}

/// The manual of a word. `is_named`: `=` comes behind it.
fn entry(word: &str, around: &Around, is_named: bool) -> Option<String> {
    let call = around.call().map_or("", |open| &open.word);
    if is_named && call == "with" {
        return OptionRow::find(word).map(option);
    }
    if is_named && let Some(kind) = find_kind(call) {
        let param = kind.param(word)?;
        return Some(format!(
            "{}\n{}\n",
            code(&format!("{word}={}", param.accepts.expected())),
            param.doc
        ));
    }
    if let Some(op) = Op::find(word) {
        return Some(operation(op.row()));
    }
    let in_text = word.to_lowercase();
    let keyword = palette::entries(&[]).into_iter();
    let mut keyword = keyword.filter(|entry| {
        !entry.section.starts_with("Operations")
            && entry.name.split(' ').any(|part| part == in_text)
    });
    if let Some(row) = FunctionRow::find(word).filter(|_| call.is_empty() || !is_named) {
        return Some(format!("{}\n{}\n", code(row.form), row.doc));
    }
    if let Some(entry) = keyword.next() {
        return Some(format!("{}\n{}\n", code(&entry.title), entry.doc));
    }
    find_kind(word).map(kind)
}

/// The manual of an operation.
pub(crate) fn operation(row: &OpRow) -> String {
    let mut text = format!("{}\n{}\n\n", code(&palette::signature(row)), row.doc);
    if row.op.is_io() {
        text.push_str(&format!("- time: {}\n", row.time));
    }
    if !row.parts.is_empty() {
        let parts: Vec<&str> = row.parts.iter().map(|part| part.name()).collect();
        text.push_str(&format!("- parts: {}\n", parts.join(", ")));
    }
    if row.needs == Needs::Mpi {
        text.push_str("- needs an MPI-IO back-end\n");
    }
    text.push_str(&format!("- example: `{}`\n", row.example));
    text
}

fn option(row: &OptionRow) -> String {
    let off = row.off.first().filter(|word| !word.is_empty());
    let off = off.map_or(String::new(), |word| format!("\ndefault: `{word}`\n"));
    format!("{}\n{}\n{off}", code(row.form), row.doc)
}

fn kind(row: &KindRow) -> String {
    format!(
        "{}\n{}\n\n{}\n\nexample: `{}`\n",
        code(&row.signature()),
        row.doc,
        row.formula,
        row.example
    )
}

fn internal(raw: &str) -> Option<String> {
    let row = InternalRow::find(raw.trim_start_matches('$'))?;
    Some(format!("{}\n{}\n", code(&format!("{raw}: {}", row.types.describe())), row.doc))
}

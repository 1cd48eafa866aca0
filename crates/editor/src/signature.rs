//! The parameters of the call around a place.

use crate::analysis::Analysis;
use crate::palette;
use crate::parameters::describe;
use crate::tokens::{Around, Open};
use lsp_types::{
    Documentation, ParameterInformation, ParameterLabel, SignatureHelp, SignatureInformation,
};
use model::Op;
use model::function::FunctionRow;
use model::with::OPTIONS;
use ppl::ast::Expr;
use ppl::facts::Kind;
use ppl::kinds::find_kind;
use ppl::lex::Kind as Token;

/// A parameter: how the form shows it, its name, its description.
type Parameter = (String, String, String);

/// The call around a place.
pub(crate) fn at(analysis: &Analysis, offset: usize) -> Option<SignatureHelp> {
    let around = Around::new(analysis.text.as_str(), offset);
    // Brackets of expressions have no word before them.
    let mut calls = around.open.iter().rev().take_while(|open| open.kind != Token::LBrace);
    let open = calls.find(|open| open.kind == Token::LParen && !open.word.is_empty())?;
    let (label, doc, parameters) = form(analysis, &open.word)?;
    let active = active(open, &parameters);
    let parameters = parameters.iter().map(|(shown, _, doc)| ParameterInformation {
        label: offsets(&label, shown),
        documentation: Some(Documentation::String(doc.clone())).filter(|_| !doc.is_empty()),
    });
    let information = SignatureInformation {
        parameters: Some(parameters.collect()),
        documentation: Some(Documentation::String(doc)),
        active_parameter: active,
        label,
    };
    Some(SignatureHelp {
        signatures: vec![information],
        active_signature: Some(0),
        active_parameter: active,
    })
}

/// Where a parameter is in the form; columns count UTF-16, and forms are ASCII.
fn offsets(label: &str, shown: &str) -> ParameterLabel {
    let open = label.find('(').map_or(0, |at| at + 1);
    match label[open..].find(shown) {
        Some(at) => {
            let start = label[..open + at].encode_utf16().count() as u32;
            ParameterLabel::LabelOffsets([start, start + shown.encode_utf16().count() as u32])
        }
        None => ParameterLabel::Simple(shown.into()),
    }
}

fn active(open: &Open, parameters: &[Parameter]) -> Option<u32> {
    let at = match &open.named {
        Some(name) => parameters.iter().position(|(_, known, _)| known == name),
        None => Some(open.commas),
    };
    at.filter(|at| *at < parameters.len()).map(|at| at as u32)
}

/// The form of what a word calls, its description, its parameters.
fn form(analysis: &Analysis, word: &str) -> Option<(String, String, Vec<Parameter>)> {
    if let Some(op) = Op::find(word) {
        let row = op.row();
        let one = |param: &model::op::Param| {
            let shown = match param.default {
                Some(default) => format!("{}={default}", param.name),
                None => param.name.to_string(),
            };
            (shown, param.name.to_string(), describe(param.kind).to_string())
        };
        return Some((
            palette::signature(row),
            row.doc.into(),
            row.params.iter().map(one).collect(),
        ));
    }
    if let Some(row) = FunctionRow::find(word) {
        let inner =
            row.form.split_once('(').map_or("", |(_, inner)| inner.trim_end_matches([')', ']']));
        let names = inner.split([',', '[']).map(str::trim).filter(|name| !name.is_empty());
        let one = |name: &str| (name.to_string(), name.to_string(), String::new());
        return Some((row.form.into(), row.doc.into(), names.map(one).collect()));
    }
    if let Some(row) = find_kind(word) {
        let one = |param: &ppl::kinds::Parameter| {
            (param.name.to_string(), param.name.to_string(), param.doc.to_string())
        };
        return Some((row.signature(), row.doc.into(), row.params.iter().map(one).collect()));
    }
    if word == "with" {
        let one = |row: &model::with::OptionRow| {
            (row.name.to_string(), row.name.to_string(), format!("{}\n{}", row.form, row.doc))
        };
        let names: Vec<&str> = OPTIONS.iter().map(|row| row.name).collect();
        let label = format!("with ({})", names.join(", "));
        return Some((
            label,
            "Options of the I/O inside.".into(),
            OPTIONS.iter().map(one).collect(),
        ));
    }
    proc(analysis, word)
}

fn proc(analysis: &Analysis, word: &str) -> Option<(String, String, Vec<Parameter>)> {
    let compiled = &analysis.compiled;
    let names = compiled.facts.names(Kind::Proc);
    let name = names.into_iter().find(|name| name.eq_ignore_ascii_case(word))?;
    let symbol = compiled.facts.find(Kind::Proc, name)?;
    let number = compiled.facts.symbol(symbol).number as usize;
    let ast = &compiled.ast;
    let proc = ast.procs.get(number)?;
    let one = |id| {
        let name = ast.param_name(id).map_or("", |name| ast.names.text(name));
        let default = match ast.expr(id) {
            Expr::Named(_, value) => format!(" = {}", compiled.sources.text(ast.expr_span(value))),
            _ => String::new(),
        };
        (format!("${name}{default}"), name.to_string(), String::new())
    };
    let parameters: Vec<Parameter> = ast.exprs_in(proc.params).map(one).collect();
    let shown: Vec<&str> = parameters.iter().map(|(shown, _, _)| &**shown).collect();
    let doc = compiled.facts.documentation(symbol, ast, &compiled.sources).unwrap_or_default();
    Some((format!("{name}({})", shown.join(", ")), doc, parameters))
}

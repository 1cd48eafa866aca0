//! The parameters of a program of the library, for readers: `NAME=DEFAULT` and the text behind it.

use crate::library::Embedded;
use crate::loader::Includes;
use ::report::flow;
use ppl::Binding;
use ppl::facts::{Kind, SymbolId};
use std::fmt::Write;

/// Before the text of a parameter.
const INDENT: &str = "    ";

/// All parameters, in their order.
pub fn list(program: &Embedded, columns: usize) -> String {
    let name = format!("@{}", program.name);
    let mut loader = Includes::new(&name, &[]);
    let bytes = program.text.as_bytes().to_vec();
    let compiled = ppl::compile(&name, bytes, &mut loader, &Binding::new(1));
    let is_param = |kind: Kind| kind == Kind::Parameter;
    let params = compiled.facts.symbols().filter(|(_, symbol)| is_param(symbol.kind));
    let mut text = String::new();
    for (id, _) in params {
        entry(&compiled, id, columns, &mut text);
    }
    match text.is_empty() {
        true => format!("{name} has no parameters\n"),
        false => text,
    }
}

/// `block=64k`, and its text on lines below.
fn entry(compiled: &ppl::Compiled, id: SymbolId, columns: usize, out: &mut String) {
    let ppl::Compiled { facts, ast, sources, .. } = compiled;
    let param = ast.params.get(facts.symbol(id).number as usize);
    let default = param.map_or("", |param| sources.text(ast.expr_span(param.default)));
    let default = default.split_whitespace().collect::<Vec<_>>().join(" ");
    let _ = writeln!(out, "{}={default}", facts.name(id, sources));
    let doc = facts.documentation(id, ast, sources).unwrap_or_default();
    for line in flow(&doc.replace('\n', " "), columns.saturating_sub(INDENT.len())).lines() {
        let _ = writeln!(out, "{INDENT}{}", line.trim());
    }
}

//! The parameters of a program, for readers and for shells: name, default, and the text behind it.

use crate::library::Embedded;
use crate::loader::Includes;
use crate::program::Text;
use ::report::flow;
use ppl::Binding;
use ppl::facts::{Kind, SymbolId};
use std::fmt::Write;

/// Before the text of a parameter.
const INDENT: &str = "    ";

/// A parameter of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, without `$`.
    pub name: String,
    /// Its default as the program writes it.
    pub default: String,
    /// Its `///` text on one line; empty without one.
    pub doc: String,
}

/// The parameters of a program in their order, as far as it can be understood.
pub fn read(text: Text) -> Vec<Parameter> {
    let mut loader = Includes::new(&text.name, &[]);
    let compiled = ppl::compile(&text.name, text.bytes, &mut loader, &Binding::new(1));
    let is_param = |kind: Kind| kind == Kind::Parameter;
    let params = compiled.facts.symbols().filter(|(_, symbol)| is_param(symbol.kind));
    params.map(|(id, _)| parameter(&compiled, id)).collect()
}

fn parameter(compiled: &ppl::Compiled, id: SymbolId) -> Parameter {
    let ppl::Compiled { facts, ast, sources, .. } = compiled;
    let param = ast.params.get(facts.symbol(id).number as usize);
    let default = param.map_or("", |param| sources.text(ast.expr_span(param.default)));
    let default = default.split_whitespace().collect::<Vec<_>>().join(" ");
    let doc = facts.documentation(id, ast, sources).unwrap_or_default().replace('\n', " ");
    Parameter { name: facts.name(id, sources).to_string(), default, doc }
}

/// All parameters of a program of the library: `block=64k`, and its text on lines below.
pub fn list(program: &Embedded, columns: usize) -> String {
    let name = format!("@{}", program.name);
    let params = read(Text { name: name.clone(), bytes: program.text.as_bytes().to_vec() });
    let mut text = String::new();
    for Parameter { name, default, doc } in params {
        let _ = writeln!(text, "{name}={default}");
        for line in flow(&doc, columns.saturating_sub(INDENT.len())).lines() {
            let _ = writeln!(text, "{INDENT}{}", line.trim());
        }
    }
    match text.is_empty() {
        true => format!("{name} has no parameters\n"),
        false => text,
    }
}

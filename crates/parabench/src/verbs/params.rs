//! The parameters of a program, for readers and for shells.
//!
//! ```text
//! block=64k   (size, as in 4k)
//!     bytes of a block
//! ```

use crate::library::Embedded;
use crate::loader::Includes;
use crate::program::{self, Text};
use ::report::flow;
use ppl::Binding;
use ppl::ast::{Ast, Expr, ExprId};
use ppl::facts::{Kind, SymbolId};
use ppl::source::Sources;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

/// Before the text of a parameter.
const INDENT: &str = "    ";

/// Subcommands that take a program and its parameters.
const VERBS: [&str; 6] = ["run", "check", "plan", "prepare", "job", "replay"];

/// A parameter of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, without `$`.
    pub name: String,
    /// Its default as the program writes it.
    pub default: String,
    /// The kind of value in words: `size, as in 4k`.
    pub unit: &'static str,
    /// Its `///` text on one line; empty without one.
    pub doc: String,
}

/// For `--help`: the parameters of the program that is named on the command line, if there is one.
pub fn help(words: &[OsString], columns: usize) -> Option<String> {
    let verb = words.get(1).and_then(|word| word.to_str())?;
    let is_program = |word: &&str| word.starts_with('@') || word.ends_with(".ppl");
    let program = words.iter().skip(2).filter_map(|word| word.to_str()).find(is_program)?;
    if !VERBS.contains(&verb) {
        return None;
    }
    Some(match program::read(Path::new(program)) {
        Ok(text) => format!("\nParameters of {program}:\n{}", list_of(text, columns)),
        Err(error) => format!("\n{}\n", error.message),
    })
}

/// All parameters of a program of the library, in their order.
pub fn list(program: &Embedded, columns: usize) -> String {
    list_of(Text { name: format!("@{}", program.name), bytes: program.text.into() }, columns)
}

fn list_of(text: Text, columns: usize) -> String {
    let name = text.name.clone();
    let params = read(text);
    if params.is_empty() {
        return format!("{name} has no parameters\n");
    }
    params.iter().map(|param| entry(param, columns)).collect()
}

/// The parameters of a program in their order, as far as it can be understood.
pub fn read(text: Text) -> Vec<Parameter> {
    let mut loader = Includes::new(&text.name, &[]);
    let compiled = ppl::compile(&text.name, text.bytes, &mut loader, &Binding::new(1));
    let is_param = |kind: Kind| kind == Kind::Parameter;
    let params = compiled.facts.symbols().filter(|(_, symbol)| is_param(symbol.kind));
    params.filter_map(|(id, _)| parameter(&compiled, id)).collect()
}

fn parameter(compiled: &ppl::Compiled, id: SymbolId) -> Option<Parameter> {
    let ppl::Compiled { facts, ast, sources, .. } = compiled;
    let param = ast.params.get(facts.symbol(id).number as usize)?;
    let default = sources.text(ast.expr_span(param.default));
    Some(Parameter {
        name: facts.name(id, sources).to_string(),
        default: default.split_whitespace().collect::<Vec<_>>().join(" "),
        unit: unit(param.default, ast, sources),
        doc: facts.documentation(id, ast, sources).unwrap_or_default().replace('\n', " "),
    })
}

/// The kind of value that replaces this default.
fn unit(default: ExprId, ast: &Ast, sources: &Sources) -> &'static str {
    let is_size =
        || sources.text(ast.expr_span(default)).ends_with(|c: char| c.is_ascii_alphabetic());
    match ast.expr(default) {
        Expr::Int(_) if is_size() => "size, as in 4k",
        Expr::Int(_) | Expr::Float(_) => "number",
        Expr::Bool(_) => "true or false",
        Expr::Duration(_) => "time, as in 5ms",
        Expr::Rate(_) => "rate, as in 10/s",
        Expr::Str => "text",
        Expr::List(_) => "list, with commas",
        _ => "value",
    }
}

/// `block=64k`, its unit, and its text on lines below.
fn entry(Parameter { name, default, unit, doc }: &Parameter, columns: usize) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{name}={default}   ({unit})");
    for line in flow(doc, columns.saturating_sub(INDENT.len())).lines() {
        let _ = writeln!(text, "{INDENT}{}", line.trim());
    }
    text
}

//! The whole way: text to plan.

use crate::ast::Ast;
use crate::diag::{self, Code, Diagnostic};
use crate::facts::Facts;
use crate::resolve::resolve;
use crate::source::Binding;
use crate::source::{Loader, Sources};
use crate::{check, lower, parse};
use model::Plan;

/// The result of compiling a program.
#[derive(Debug)]
pub struct Compiled {
    /// All files of the program.
    pub sources: Sources,
    /// Its tree.
    pub ast: Ast,
    /// The meaning of its names.
    pub facts: Facts,
    /// The plan; `None` if there are errors.
    pub plan: Option<Plan>,
    /// Everything that was found, in order of position.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses, checks and lowers a program. Never fails and never panics: mistakes are diagnostics, and
/// all of them are reported.
pub fn compile(name: &str, text: Vec<u8>, loader: &mut dyn Loader, binding: &Binding) -> Compiled {
    let mut sources = Sources::default();
    let (root, mut diagnostics) = sources.add(name, text);
    if diag::has_errors(&diagnostics) {
        let ast = Ast::default();
        let facts = Facts::default();
        return Compiled { sources, ast, facts, plan: None, diagnostics };
    }
    let (ast, found) = parse(&mut sources, root, loader);
    diagnostics.extend(found);
    if diagnostics.iter().any(|found| found.code == Code::Foreign) {
        let facts = Facts::default();
        return Compiled { sources, ast, facts, plan: None, diagnostics };
    }
    diagnostics.extend(check::tree::warn_of_precedence(&ast, &sources));
    let ast = parse::add_kinds(ast, &mut sources);
    let (mut facts, found) = resolve(&ast, &sources);
    diagnostics.extend(found);
    let (mut made, found) = lower::lower(&ast, &facts, &sources, binding);
    diagnostics.extend(found);
    facts.keep_before(sources.end_of_program());
    sources.remove_embedded();
    let mut plan = None;
    if !diag::has_errors(&diagnostics) {
        std::mem::take(&mut made.files).into_iter().for_each(|data| sources.keep(data));
        made.files = sources.files().to_vec();
        let found = check::plan::check_directories(&made);
        plan = (!diag::has_errors(&found)).then_some(made);
        diagnostics.extend(found);
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.span);
    Compiled { sources, ast, facts, plan, diagnostics }
}

//! The whole way: text to plan.

use crate::ast::Ast;
use crate::binding::Binding;
use crate::diag::{self, Diagnostic};
use crate::source::{Loader, Sources};
use crate::{budget, check, lower, parse};
use model::Plan;
use model::plan::Pc;

/// What became of a program.
#[derive(Debug)]
pub struct Compiled {
    /// All files of the program.
    pub sources: Sources,
    /// Its tree.
    pub ast: Ast,
    /// The plan; `None` if there are errors.
    pub plan: Option<Plan>,
    /// Everything that was found, in order of position.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses, checks and lowers a program and works out its budget. Never fails and
/// never panics: mistakes are diagnostics, and all of them are reported.
pub fn compile(name: &str, text: Vec<u8>, loader: &mut dyn Loader, binding: &Binding) -> Compiled {
    let (mut compiled, merges) = lowered(name, text, loader, binding);
    if let Some(plan) = &mut compiled.plan {
        let (figures, found) = budget::budget(plan, &merges, binding.directory.as_deref());
        plan.budget = figures;
        plan.files = compiled.sources.files().to_vec();
        compiled.diagnostics.extend(found);
        // Stable, so that what is found at one place stays in the order in which it was found.
        compiled.diagnostics.sort_by_key(|diagnostic| diagnostic.span);
    }
    compiled
}

/// The same without the budget and what it finds: parsed, checked, lowered.
pub fn compile_unbudgeted(
    name: &str,
    text: Vec<u8>,
    loader: &mut dyn Loader,
    binding: &Binding,
) -> Compiled {
    let (mut compiled, _) = lowered(name, text, loader, binding);
    if let Some(plan) = &mut compiled.plan {
        plan.files = compiled.sources.files().to_vec();
    }
    compiled
}

/// A program without budget and text, and where its branches meet again.
fn lowered(
    name: &str,
    text: Vec<u8>,
    loader: &mut dyn Loader,
    binding: &Binding,
) -> (Compiled, Vec<(Pc, Pc)>) {
    let mut sources = Sources::default();
    let (root, mut diagnostics) = sources.add(name, text);
    if diag::has_errors(&diagnostics) {
        let ast = Ast::default();
        return (Compiled { sources, ast, plan: None, diagnostics }, Vec::new());
    }
    let (ast, found) = parse(&mut sources, root, loader);
    diagnostics.extend(found);
    diagnostics.extend(check::precedence::check(&ast, &sources));
    diagnostics.extend(check::recursion::check(&ast));
    let (lowered, found) = lower::lower(&ast, &sources, binding);
    diagnostics.extend(found);
    let mut plan = None;
    if !diag::has_errors(&diagnostics) {
        let mut made = lowered.plan;
        check::proof::prove(&mut made, binding.directory.as_deref());
        plan = Some(made);
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.span);
    (Compiled { sources, ast, plan, diagnostics }, lowered.merges)
}

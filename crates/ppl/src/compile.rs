//! The whole way: text to plan.

use crate::ast::Ast;
use crate::diag::{self, Code, Diagnostic, OPENED_HERE, Severity};
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
    let open: Vec<u32> = found.iter().filter_map(|one| unclosed_line(one, &sources)).collect();
    diagnostics.extend(found);
    if diagnostics.iter().any(|found| found.code == Code::Foreign) {
        let facts = Facts::default();
        return Compiled { sources, ast, facts, plan: None, diagnostics };
    }
    let found = check::tree::warn_of_precedence(&ast, &sources);
    diagnostics.extend(found.into_iter().filter(|found| !is_consequence(found, &open)));
    diagnostics.extend(check::layouts::warn_of_layouts(&sources));
    let ast = parse::add_kinds(ast, &mut sources);
    let (mut facts, found) = resolve(&ast, &sources);
    diagnostics.extend(found.into_iter().filter(|found| !is_consequence(found, &open)));
    let (mut made, found) = lower::lower(&ast, &facts, &sources, binding);
    diagnostics.extend(found.into_iter().filter(|found| !is_consequence(found, &open)));
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

/// Where the line begins on which a string, comment, bracket or block was opened that is not closed.
fn unclosed_line(found: &Diagnostic, sources: &Sources) -> Option<u32> {
    let beginning = match found.code {
        Code::OpenString => found.span,
        Code::Expected if found.label == OPENED_HERE => found.span,
        // Of a bracket, or a definition inside of a block that is still open, the beginning is named besides.
        Code::Expected | Code::Misplaced => found.related.first()?.0,
        _ => return None,
    };
    let file = sources.file(sources.file_at(beginning.start));
    let before = file.text.get(..(beginning.start - file.start) as usize)?;
    Some(file.start + before.rfind('\n').map_or(0, |at| at as u32 + 1))
}

/// A string or bracket without its end swallows text: arguments, uses, definitions. No warning is certain then, and no error from
/// the line on where it was opened. `open`: where those lines begin.
fn is_consequence(found: &Diagnostic, open: &[u32]) -> bool {
    let ends = found.related.iter().map(|(span, _)| span.end);
    let end = ends.chain([found.span.end]).max().unwrap_or(0);
    let is_behind = |line: &u32| end > *line;
    let is_warning = found.severity() == Severity::Warning;
    open.iter().any(|line| is_behind(line) || is_warning)
}

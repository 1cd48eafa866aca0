//! What the program of a run says at places that events refer to.

use model::Op;
use model::plan::Span;
use model::run::Run;
use ppl::ast::{Ast, Expr, ExprId, List, Stmt};
use ppl::source::{FileId, NoIncludes, Sources};
use std::collections::HashMap;
use trace::fold::log::flags_of_text;

/// Flags of open(2) by site, where they stand in the text.
pub fn flags(run: &Run) -> HashMap<u32, u32> {
    let mut by_place = HashMap::new();
    for file in &run.run.program.files {
        let mut sources = Sources::default();
        let (root, _) = sources.add(&file.name, file.text.clone().into_bytes());
        let (ast, _) = ppl::parse(&mut sources, root, &mut NoIncludes);
        by_place.extend(opens(&ast, &sources, root).map(|(place, flags)| {
            let (_, line, column) = sources.locate(place);
            ((file.name.clone(), line as u32, column as u32), flags)
        }));
    }
    let opens = run.run.sites.iter().filter(|site| site.op == Op::Fopen.name());
    opens
        .filter_map(|site| {
            let place = (site.file.clone(), site.line, site.column);
            by_place.get(&place).map(|flags| (site.site, *flags))
        })
        .collect()
}

/// Places of all `fopen`, as statements and as calls, with their flags.
fn opens<'a>(
    ast: &'a Ast,
    sources: &'a Sources,
    root: FileId,
) -> impl Iterator<Item = (u32, u32)> + 'a {
    let is_here = move |span: Span| sources.file_at(span.start) == root;
    let calls = (0..ast.exprs.len() as u32).filter_map(move |number| {
        let id = ExprId(number);
        let Expr::Call(name, args) = ast.expr(id) else { return None };
        let opens = ast.names.text(name).eq_ignore_ascii_case("fopen");
        opens.then(|| Some((id, flags_in(ast, sources, args)?)))?
    });
    let calls: Vec<(ExprId, u32)> = calls.collect();
    let by_call: HashMap<u32, u32> = calls.iter().map(|(id, flags)| (id.0, *flags)).collect();
    let statements = ast.stmts.iter().zip(&ast.stmt_spans).filter_map(move |(stmt, span)| {
        let flags = match stmt {
            Stmt::Assign(_, value) | Stmt::Global(_, value) => by_call.get(&value.0).copied(),
            Stmt::Op { op: Op::Fopen, args, .. } => flags_in(ast, sources, *args),
            _ => None,
        };
        flags.map(|flags| (*span, flags))
    });
    let calls = calls.into_iter().map(|(id, flags)| (ast.expr_span(id), flags));
    calls.chain(statements).filter(move |(span, _)| is_here(*span)).map(|(s, f)| (s.start, f))
}

/// The second argument, if it is a text without variables.
fn flags_in(ast: &Ast, sources: &Sources, args: List) -> Option<u32> {
    let second = ast.exprs_in(args).nth(1)?;
    let Expr::Str = ast.expr(second) else { return None };
    flags_of_text(sources.text(ast.expr_span(second)).trim_matches('"'))
}

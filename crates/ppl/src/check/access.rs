//! W0314: reads of files that are opened for writing alone, and writes of files opened for reading alone.
//!
//! ```text
//! $h = fopen("f", "w"); fread($h, 4k);      fails with EBADF: "w+" and "r+" do both
//! ```
//!
//! Only where the text shows it: the variable holds nothing but files that are opened so.

use crate::ast::{Ast, Expr, List, Stmt};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Facts, SymbolId};
use crate::source::Sources;
use crate::text;
use crate::word::{Word, classify};
use model::Op;
use model::op::ByteEffect;
use model::open_flags::Access;
use model::plan::Span;
use rustc_hash::FxHashMap;

/// Warns of what fails with EBADF, unless the program takes the result or expects an error.
pub(crate) fn warn_of_access(ast: &Ast, facts: &Facts, sources: &Sources) -> Vec<Diagnostic> {
    let opened = opened(ast, facts, sources);
    let one_way = |symbol: SymbolId| {
        let opens = opened.get(&symbol).filter(|opens| opens.all.is_one_way())?;
        (opens.count == facts.symbol(symbol).definitions).then_some(opens)
    };
    if !opened.keys().any(|symbol| one_way(*symbol).is_some()) {
        return Vec::new();
    }
    let statements = ast.stmts.iter().zip(&ast.stmt_spans);
    let uses = statements.flat_map(|(stmt, span)| moved(ast, stmt).map(move |one| (one, *span)));
    let wrong = uses.filter_map(|(one, span)| {
        let opens = one_way(facts.at(one.handle.start)?.symbol)?;
        let allowed = if one.writes { opens.all.writes } else { opens.all.reads };
        (!allowed && !expects(ast, span)).then(|| warning(&one, span, opens, sources))
    });
    wrong.collect()
}

/// The statements that open what a variable holds.
struct Opens {
    /// The union of their access modes.
    all: Access,
    count: u32,
    /// The flags of the first.
    flags: Span,
}

fn opened(ast: &Ast, facts: &Facts, sources: &Sources) -> FxHashMap<SymbolId, Opens> {
    let mut opened: FxHashMap<SymbolId, Opens> = FxHashMap::default();
    for (stmt, span) in ast.stmts.iter().zip(&ast.stmt_spans) {
        let Some((access, flags)) = opens(ast, stmt, sources) else { continue };
        let Some(mention) = facts.at(span.start).filter(|mention| mention.defines) else {
            continue;
        };
        let first = Opens { all: Access::default(), count: 0, flags };
        let known = opened.entry(mention.symbol).or_insert(first);
        known.count += 1;
        known.all.reads |= access.reads;
        known.all.writes |= access.writes;
    }
    opened
}

/// `$h = fopen(path, "w")`: what the flags allow, and where they stand.
fn opens(ast: &Ast, stmt: &Stmt, sources: &Sources) -> Option<(Access, Span)> {
    let Stmt::Assign(_, value) = *stmt else { return None };
    let Expr::Call(name, args) = ast.expr(value) else { return None };
    let (Word::Op(op), _) = classify(ast.names.text(name)) else { return None };
    if op == Op::Fcreat {
        return Some((Access { reads: false, writes: true }, ast.expr_span(value)));
    }
    let flags = ast.exprs_in(args).nth(1).filter(|flags| ast.expr(*flags) == Expr::Str)?;
    let span = ast.expr_span(flags);
    let plain = text::plain(sources.text(span));
    let plain = std::str::from_utf8(&plain).ok().filter(|text| !text.contains('$'))?;
    let access = match op {
        Op::Fopen => Access::of_flags(plain),
        Op::Pfopen => Access::of_mpi_mode(plain),
        _ => return None,
    };
    Some((access, span))
}

/// An access to an open file.
struct Use {
    op: Op,
    writes: bool,
    /// The file's variable.
    handle: Span,
}

/// The files of which a statement moves bytes, or sets the size.
fn moved(ast: &Ast, stmt: &Stmt) -> impl Iterator<Item = Use> {
    let (op, args) = match *stmt {
        Stmt::Op { op, args, .. } => (op, args),
        _ => (Op::Print, List::default()),
    };
    let ways: &[bool] = match op.row().bytes {
        _ if !op.takes_handle() => &[],
        ByteEffect::Reads => &[false],
        ByteEffect::Writes | ByteEffect::Resizes | ByteEffect::Allocates => &[true],
        ByteEffect::Copies | ByteEffect::Shares => &[false, true],
        ByteEffect::Nothing => &[],
    };
    let uses = ast.exprs_in(args).zip(ways).filter_map(move |(arg, writes)| {
        let is_variable = matches!(ast.expr(arg), Expr::Var(_));
        is_variable.then(|| Use { op, writes: *writes, handle: ast.expr_span(arg) })
    });
    uses.collect::<Vec<_>>().into_iter()
}

/// The statement stands inside of `with (expect="EBADF")`.
fn expects(ast: &Ast, inside: Span) -> bool {
    let is_expect = |name: &str| name == "expect";
    ast.stmts.iter().zip(&ast.stmt_spans).any(|(stmt, span)| {
        let Stmt::With(options, _) = *stmt else { return false };
        let around = span.start <= inside.start && inside.end <= span.end;
        let mut options = ast.exprs_in(options).map(|option| ast.expr(option));
        let expects =
            |option| matches!(option, Expr::Named(name, _) if is_expect(ast.names.text(name)));
        around && options.any(expects)
    })
}

fn warning(
    Use { op, writes, .. }: &Use,
    span: Span,
    opens: &Opens,
    sources: &Sources,
) -> Diagnostic {
    let (verb, way) = if *writes { ("write", "reading") } else { ("read", "writing") };
    let mpi = op.is_mpi_io();
    let help = match (mpi, writes) {
        (true, _) => "open it with \"rw\" to do both",
        (false, true) => "open it with \"r+\" to do both, or with \"w\" to write it anew",
        (false, false) => "open it with \"r+\" to do both, or with \"w+\" to empty it first",
    };
    let flags = sources.text(opens.flags);
    let message = format!("{op} cannot {verb} what {flags} opens for {way} alone");
    Diagnostic::new(Code::OneWay, span, message)
        .related(opens.flags, "it is opened here")
        .help(help)
}

//! Facts in the text of a run's program that its events lack, by place.

use fold::{Facts, WAYS, flags_of_mpi_mode};
use model::Op;
use model::op::ParamKind;
use model::open_flags::flags_of_text;
use model::plan::Span;
use model::run::{ProgramFile, Run};
use ppl::ast::{Ast, Expr, ExprId, List, Stmt};
use ppl::source::{FileId, NoIncludes, Sources};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Facts about opens and MPI-IO operations, by site.
pub fn find_facts(run: &Run) -> HashMap<u32, Facts> {
    let mut by_place = HashMap::new();
    for file in programs(run) {
        let (sources, root, ast) = parsed(file);
        let text = Text { ast: &ast, sources: &sources, root };
        by_place.extend(text.all().into_iter().map(|(place, told)| {
            let (_, line, column) = sources.locate(place);
            ((file.name.clone(), line as u32, column as u32), told)
        }));
    }
    let sites = run.run.sites.iter().filter_map(|site| {
        let place = (site.file.clone(), site.line, site.column);
        by_place.get(&place).map(|told| (site.site, *told))
    });
    sites.collect()
}

/// Options of `with` in the program that its folded one lacks where events do not tell them.
pub fn unknown_options(run: &Run) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for file in programs(run) {
        let (_, _, ast) = parsed(file);
        let options = ast.stmts.iter().filter_map(|stmt| match stmt {
            Stmt::With(options, _) => Some(ast.exprs_in(*options)),
            _ => None,
        });
        all.extend(options.flatten().filter_map(|option| match ast.expr(option) {
            Expr::Named(name, _) => Some(ast.names.text(name).to_string()),
            _ => None,
        }));
    }
    all.retain(|name| !KNOWN_OPTIONS.contains(&name.as_str()));
    all
}

/// Options of `with` that operations or the text of the program tell.
const KNOWN_OPTIONS: [&str; 3] = ["comm", "dir", "expect"];

/// Files of the program, without data files.
fn programs(run: &Run) -> impl Iterator<Item = &ProgramFile> {
    let with_sites: HashSet<&str> = run.run.sites.iter().map(|site| site.file.as_str()).collect();
    run.run.program.files.iter().filter(move |file| with_sites.contains(file.name.as_str()))
}

fn parsed(file: &ProgramFile) -> (Sources, FileId, Ast) {
    let mut sources = Sources::default();
    let (root, _) = sources.add(&file.name, file.text.clone().into_bytes());
    let (ast, _) = ppl::parse(&mut sources, root, &mut NoIncludes);
    (sources, root, ast)
}

/// A file of the program.
struct Text<'a> {
    ast: &'a Ast,
    sources: &'a Sources,
    root: FileId,
}

impl Text<'_> {
    /// Places of operations with their facts.
    fn all(&self) -> Vec<(u32, Facts)> {
        let alone = self.alone();
        let levels = self.levels();
        let stmts = self.ast.stmts.iter().zip(&self.ast.stmt_spans);
        let stmts = stmts.filter_map(|(stmt, span)| {
            let (op, args) = match stmt {
                Stmt::Assign(_, value) | Stmt::Global(_, value) => self.call(*value)?,
                Stmt::Op { op, args, .. } => (*op, *args),
                _ => return None,
            };
            Some((*span, op, args))
        });
        let calls = (0..self.ast.exprs.len() as u32).filter_map(|number| {
            let (op, args) = self.call(ExprId(number))?;
            Some((self.ast.expr_span(ExprId(number)), op, args))
        });
        let here =
            stmts.chain(calls).filter(|(span, ..)| self.sources.file_at(span.start) == self.root);
        here.map(|(span, op, args)| {
            let mut told = self.facts(op, args, &levels);
            told.alone = alone.iter().any(|with| with.start <= span.start && span.end <= with.end);
            (span.start, told)
        })
        .collect()
    }

    /// The operation that a call in an expression is.
    fn call(&self, id: ExprId) -> Option<(Op, List)> {
        let Expr::Call(name, args) = self.ast.expr(id) else { return None };
        Some((Op::find(self.ast.names.text(name))?, args))
    }

    fn facts(&self, op: Op, args: List, levels: &HashMap<String, u8>) -> Facts {
        let texts: Vec<&str> = self.ast.exprs_in(args).filter_map(|id| self.text(id)).collect();
        let second = || self.ast.exprs_in(args).nth(1).and_then(|id| self.text(id));
        let mut told = Facts { arguments: self.ast.exprs_in(args).count(), ..Facts::default() };
        let words = op.row().params.iter().filter_map(|param| match param.kind {
            ParamKind::Word(words) => Some(words),
            _ => None,
        });
        for (told, words) in told.words.iter_mut().zip(words) {
            *told = words.iter().copied().find(|word| texts.contains(word));
        }
        match op {
            Op::Fopen => told.flags = second().and_then(flags_of_text),
            Op::Pfopen => told.flags = second().and_then(flags_of_mpi_mode),
            Op::Pfread | Op::Pfwrite | Op::Pread | Op::Pwrite => {
                told.way = WAYS.into_iter().find(|word| texts.last() == Some(word));
                told.level = texts.iter().find_map(|name| levels.get(*name)).copied();
                // A pattern in a variable: if all of them have one level, it is that.
                let mut all = levels.values();
                let first = all.next().filter(|level| all.all(|other| other == *level));
                told.level = told.level.or(first.copied());
            }
            _ => {}
        }
        told
    }

    /// A text without variables.
    fn text(&self, id: ExprId) -> Option<&str> {
        let is_text = self.ast.expr(id) == Expr::Str;
        is_text.then(|| self.sources.text(self.ast.expr_span(id)).trim_matches('"'))
    }

    /// Spans of `with (comm="self")`.
    fn alone(&self) -> Vec<Span> {
        let is_alone = |option: ExprId| match self.ast.expr(option) {
            Expr::Named(name, value) => {
                self.ast.names.text(name) == "comm" && self.text(value) == Some("self")
            }
            _ => false,
        };
        let stmts = self.ast.stmts.iter().zip(&self.ast.stmt_spans);
        let withs = stmts.filter_map(|(stmt, span)| match stmt {
            Stmt::With(options, _) => self.ast.exprs_in(*options).any(is_alone).then_some(*span),
            _ => None,
        });
        withs.collect()
    }

    /// Levels of patterns by name, where they are numbers.
    fn levels(&self) -> HashMap<String, u8> {
        let number = |id: ExprId| match self.ast.expr(id) {
            Expr::Int(number) => u8::try_from(number).ok(),
            _ => None,
        };
        let levels = self.ast.patterns.iter().filter_map(|def| {
            let last = || self.ast.exprs_in(def.values).filter_map(number).last();
            let level = match (def.level, def.kind.is_some() || def.body.is_some()) {
                (Some(level), _) => number(level),
                (None, true) => Some(0),
                (None, false) => last(),
            };
            Some((self.text(def.name)?.to_string(), level?))
        });
        levels.collect()
    }
}

//! The meaning of names: definitions, uses, visibility, types.
//!
//! ```text
//! param $n = 4;               a parameter: defined at 6..8, mentioned at 22..24 and 34..36
//! repeat $n write("f-$n", 1k);
//! ```
//!
//! Pure data, made from every program, also from one with mistakes. An editor answers from it: go to
//! definition ([`Facts::at`], [`Symbol::span`]), find uses ([`Facts::mentions`]), rename
//! ([`Facts::rename`]), complete ([`Facts::visible_at`]), show ([`Facts::describe`],
//! [`Facts::documentation`]). Emission of code reads the same facts. Not here: values.

use crate::ast::{Ast, StmtId};
use crate::lex::is_name_byte;
use crate::source::Sources;
use crate::text;
use model::plan::Span;
use model::types::Types;
use rustc_hash::FxHashMap;

/// Number of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SymbolId(pub u32);

/// The kind of thing that a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A variable of the program, or of the body that owns it.
    Variable,
    /// A parameter of the program.
    Parameter,
    /// A parameter of a proc.
    Argument,
    /// The variable of a loop, inside of the loop.
    Loop,
    /// A proc.
    Proc,
    /// A group of ranks.
    Group,
    /// A pattern.
    Pattern,
    /// MPI-IO hints.
    Hints,
    /// The label of `time` or `ctime`; all with the same text are one.
    Label,
}

impl Kind {
    const COUNT: usize = Kind::Label as usize + 1;

    /// It has a value and is written with `$`.
    pub fn is_variable(self) -> bool {
        matches!(self, Kind::Variable | Kind::Parameter | Kind::Argument | Kind::Loop)
    }

    /// The kind in words: "parameter".
    pub fn word(self) -> &'static str {
        match self {
            Kind::Variable => "variable",
            Kind::Parameter => "parameter",
            Kind::Argument => "parameter of a proc",
            Kind::Loop => "loop variable",
            Kind::Proc => "proc",
            Kind::Group => "group",
            Kind::Pattern => "pattern",
            Kind::Hints => "hints",
            Kind::Label => "label",
        }
    }
}

/// Something that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its kind.
    pub kind: Kind,
    /// Types of all its definitions; none for things without a value.
    pub types: Types,
    /// Its name where it is defined first: with `$`, or in quotes.
    pub span: Span,
    /// The first definition's number in [`Ast::params`], [`Ast::procs`], [`Ast::patterns`] or
    /// [`Ast::groups`]; of the others 0.
    pub number: u32,
    /// How many of its kind are defined before it.
    pub ordinal: u32,
    /// Number of statements that define or set it.
    pub definitions: u32,
    /// The proc or pattern whose body it lives in.
    pub owner: Option<SymbolId>,
    /// Expressions from this number on see it.
    pub(crate) since: u32,
    /// Only inside of this statement; `None`: wherever the owner's or the program's text goes on.
    pub(crate) within: Option<StmtId>,
}

/// A place where a symbol is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Place of the name as written: `$n`, `${n}`, `"g"`, `sweep`.
    pub span: Span,
    /// Its meaning.
    pub symbol: SymbolId,
    /// It is defined or set here.
    pub defines: bool,
}

/// The meaning of all names of a program.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub(crate) symbols: Vec<Symbol>,
    /// In the order of their places.
    pub(crate) mentions: Vec<Mention>,
    /// By [`Kind`]: what is visible in the whole program.
    pub(crate) named: [FxHashMap<Box<str>, SymbolId>; Kind::COUNT],
    /// By proc or pattern: globals that are visible from a later expression on are not in its body.
    pub(crate) bodies: FxHashMap<SymbolId, u32>,
}

impl Facts {
    /// A symbol.
    pub fn symbol(&self, id: SymbolId) -> &Symbol {
        &self.symbols[id.0 as usize]
    }

    /// Forgets names behind the end of the program, which come from bodies of kinds.
    pub(crate) fn keep_before(&mut self, end: u32) {
        let own = self.symbols.iter().rposition(|symbol| symbol.span.start < end);
        self.symbols.truncate(own.map_or(0, |last| last + 1));
        self.mentions.truncate(self.mentions.partition_point(|mention| mention.span.start < end));
    }

    /// All symbols, in the order of their first definitions.
    pub fn symbols(&self) -> impl ExactSizeIterator<Item = (SymbolId, &Symbol)> {
        self.symbols.iter().enumerate().map(|(at, symbol)| (SymbolId(at as u32), symbol))
    }

    /// The proc, group, pattern, hints or label of a name.
    pub fn find(&self, kind: Kind, name: &str) -> Option<SymbolId> {
        self.named[kind as usize].get(name).copied()
    }

    /// Names of all procs, groups, patterns, hints or labels.
    pub fn names(&self, kind: Kind) -> impl Iterator<Item = &str> {
        self.named[kind as usize].keys().map(|name| &**name)
    }

    /// The last expression before the body of a proc or pattern, or a number before it.
    pub(crate) fn body_start(&self, owner: SymbolId) -> u32 {
        self.bodies.get(&owner).copied().unwrap_or(0)
    }

    /// The name at a place of the joined text, its end included.
    pub fn at(&self, place: u32) -> Option<Mention> {
        let after = self.mentions.partition_point(|mention| mention.span.start <= place);
        // A label holds the names of variables: the innermost begins last.
        let around = self.mentions[..after].iter().rev().take(MOST_INSIDE);
        around.copied().find(|mention| place <= mention.span.end)
    }

    /// All places where a symbol is named.
    pub fn mentions(&self, symbol: SymbolId) -> impl Iterator<Item = Mention> {
        self.mentions.iter().copied().filter(move |mention| mention.symbol == symbol)
    }

    /// Something names it beside its definitions.
    pub fn is_used(&self, symbol: SymbolId) -> bool {
        self.mentions(symbol).any(|mention| !mention.defines)
    }

    /// The name of a symbol, without `$` and quotes.
    pub fn name(&self, id: SymbolId, sources: &Sources) -> String {
        let raw = sources.text(self.symbol(id).span);
        match raw.starts_with('"') {
            true => String::from_utf8_lossy(&text::plain(raw)).into_owned(),
            false => raw.trim_start_matches('$').into(),
        }
    }

    /// A symbol in words: "parameter $n: an integer".
    pub fn describe(&self, id: SymbolId, sources: &Sources) -> String {
        let symbol = self.symbol(id);
        let what = format!("{} {}", symbol.kind.word(), sources.text(symbol.span));
        match symbol.types.is_none() {
            true => what,
            false => format!("{what}: {}", symbol.types.describe()),
        }
    }

    /// The text of the `///` comments before the first definition of a symbol, or on its line.
    pub fn documentation(&self, id: SymbolId, ast: &Ast, sources: &Sources) -> Option<String> {
        let Symbol { kind, span, number, .. } = *self.symbol(id);
        // A default may take several lines: the comment is behind its end.
        let param = ast.params.get(number as usize).filter(|_| kind == Kind::Parameter);
        let behind = param.and_then(|one| doc_behind(ast.expr_span(one.default).end, ast, sources));
        let written = behind.or_else(|| doc_before(span.start, ast, sources))?;
        let lines = sources.text(written).lines().map(|line| line.trim().trim_start_matches('/'));
        Some(lines.map(str::trim).collect::<Vec<_>>().join("\n"))
    }

    /// Variables that an expression at this place could read, and all that the whole program sees.
    pub fn visible_at<'a>(
        &'a self,
        place: u32,
        ast: &'a Ast,
        sources: &Sources,
    ) -> impl Iterator<Item = (SymbolId, &'a Symbol)> {
        let (now, owner) = (expression_after(place, ast, sources), self.owner_at(place, ast));
        self.symbols().filter(move |(_, symbol)| {
            symbol.since <= now
                && symbol.within.is_none_or(|body| holds(ast.stmt_span(body), place))
                && (symbol.owner.is_none() || symbol.owner == owner)
        })
    }

    /// The proc or pattern in whose body a place lies.
    fn owner_at(&self, place: u32, ast: &Ast) -> Option<SymbolId> {
        let owner = self.symbols().find(|(_, symbol)| {
            let number = symbol.number as usize;
            match symbol.kind {
                Kind::Proc => holds(ast.stmt_span(ast.procs[number].body), place),
                Kind::Pattern => {
                    let body = ast.patterns[number].body;
                    body.is_some_and(|body| holds(ast.stmt_span(body), place))
                }
                _ => false,
            }
        });
        owner.map(|(id, _)| id)
    }

    /// The edits that give a symbol another name.
    pub fn rename(&self, id: SymbolId, new: &str, sources: &Sources) -> Vec<(Span, String)> {
        let renamed = |mention: Mention| (mention.span, self.renamed(mention.span, new, sources));
        let mut edits: Vec<(Span, String)> = self.mentions(id).map(renamed).collect();
        // `$x += 1` mentions its variable twice.
        edits.dedup();
        edits
    }

    fn renamed(&self, span: Span, new: &str, sources: &Sources) -> String {
        let raw = sources.text(span);
        let next = sources.text(Span { start: span.end, end: span.end + 1 });
        let goes_on = next.bytes().any(is_name_byte);
        match raw.as_bytes() {
            [b'"', ..] => format!("\"{new}\""),
            [b'$', b'{', rest @ ..] => {
                let name = rest.iter().take_while(|byte| is_name_byte(**byte)).count();
                format!("${{{new}{}", &raw[2 + name..])
            }
            // `"$name_1"` with the variable `$name`: the new name could be a part of a longer one.
            [b'$', ..] if goes_on => format!("${{{new}}}"),
            [b'$', ..] => format!("${new}"),
            _ => new.into(),
        }
    }
}

pub(crate) fn holds(span: Span, place: u32) -> bool {
    span.start <= place && place < span.end
}

/// Most names inside the text of another one that are searched.
const MOST_INSIDE: usize = 64;

/// The number that an expression at this place would have.
fn expression_after(place: u32, ast: &Ast, sources: &Sources) -> u32 {
    let file = sources.file_at(place);
    let mut here =
        (0..).zip(&ast.expr_spans).filter(|(_, span)| sources.file_at(span.start) == file);
    let first = here.next().map_or(0, |(number, span)| number + u32::from(span.end <= place));
    here.filter(|(_, span)| span.end <= place).last().map_or(first, |(number, _)| number + 1)
}

/// The `///` comment behind a place on its line.
fn doc_behind(place: u32, ast: &Ast, sources: &Sources) -> Option<Span> {
    let next = ast.comments.partition_point(|comment| comment.start < place);
    let comment = *ast.comments.get(next)?;
    let between = sources.text(Span { start: place, end: comment.start });
    let is_doc = !between.contains('\n') && sources.text(comment).starts_with("///");
    is_doc.then_some(comment)
}

/// The run of `///` comments whose last line ends above the line of a place.
fn doc_before(place: u32, ast: &Ast, sources: &Sources) -> Option<Span> {
    let file = sources.file(sources.file_at(place));
    let local = |at: u32| (at - file.start) as usize;
    let line_start = file.text[..local(place)].rfind('\n').map_or(0, |at| at + 1);
    let mut below = file.start + line_start as u32;
    let mut doc: Option<Span> = None;
    let before = ast.comments.partition_point(|comment| comment.start < below);
    let own = ast.comments[..before].iter().rev().take_while(|one| one.start >= file.start);
    for comment in own {
        let gap = file.text.get(local(comment.end)..local(below));
        let is_next = gap.is_some_and(|gap| gap.trim().is_empty());
        let on_line = file.text.get(..local(comment.start)).and_then(|t| t.rsplit('\n').next());
        let begins_line = on_line.is_some_and(|before| before.trim().is_empty());
        if !is_next || !begins_line || !sources.text(*comment).starts_with("///") {
            break;
        }
        doc = Some(Span { start: comment.start, end: doc.map_or(comment.end, |doc| doc.end) });
        below = comment.start;
    }
    doc
}

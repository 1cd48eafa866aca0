//! Parameters whose values have variables in them: they are read where they are used.
//!
//! ```text
//! parabench run p.ppl file='run-$$rank'       every rank writes a file of its own
//! param $file = "data"; write($file, 1m);
//! ```

use super::Lower;
use super::value::Ev;
use crate::ast::{Expr, ExprId};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Facts, SymbolId, holds};
use crate::source::Sources;
use crate::text::{self, Piece};
use model::internal::{InternalRow, Read};
use model::plan::Span;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Values that name each other, one in the other.
const DEPTH_MAX: u32 = 8;

/// A value with variables in it.
#[derive(Clone, Debug)]
pub(super) struct OpenText {
    /// As a string of the program, with its quotes.
    raw: Rc<str>,
    /// The parameter.
    span: Span,
}

/// The parameters of such values.
#[derive(Default)]
pub(super) struct Open<'a> {
    texts: FxHashMap<SymbolId, OpenText>,
    /// How many of them are being read, one in the other.
    depth: u32,
    /// The place in the program where they are read.
    place: u32,
    /// Variables by name, in the order of their definitions; made when first asked for.
    variables: FxHashMap<&'a str, Vec<SymbolId>>,
}

impl<'a> Open<'a> {
    /// Names are looked up at the place of use: they do not stand there themselves.
    pub(super) fn is_reading(&self) -> bool {
        self.depth > 0
    }

    fn list_variables(&mut self, facts: &Facts, sources: &'a Sources) {
        for (id, symbol) in facts.symbols().filter(|(_, symbol)| symbol.kind.is_variable()) {
            let written = sources.text(symbol.span);
            let name = written.strip_prefix('$').unwrap_or(written);
            self.variables.entry(name).or_default().push(id);
        }
    }
}

impl OpenText {
    /// Everything that is said about a piece is said of the parameter.
    fn placed<'a>(&self, piece: Piece<'a>) -> Piece<'a> {
        let span = self.span;
        match piece {
            Piece::Text(text) => Piece::Text(text),
            Piece::Var { run, .. } => Piece::Var { run, span },
            Piece::Braced { name, format, .. } => Piece::Braced { name, format, span },
            Piece::Internal { name, .. } => Piece::Internal { name, span },
            Piece::Env { name, .. } => Piece::Env { name, span },
        }
    }

    /// Its pieces.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        text::pieces(&self.raw, 0).map(|piece| self.placed(piece))
    }
}

impl Lower<'_> {
    /// A text from outside with a dollar sign is read like a string of the program. Without
    /// variables it is the text that is given back, else it is one that is read where it is used.
    pub(super) fn text_from_outside(
        &mut self,
        symbol: SymbolId,
        given: &str,
        from: &str,
        span: Span,
    ) -> String {
        if !given.contains('$') {
            return given.into();
        }
        let raw = format!("\"{given}\"");
        for problem in text::check(&raw, 0) {
            let message = format!("{from}: {}", problem.message);
            let diagnostic = Diagnostic::new(problem.code, span, message);
            self.reports.push(diagnostic.help(problem.help.unwrap_or_default()));
        }
        let mut plain = Vec::new();
        for piece in text::pieces(&raw, 0) {
            let Piece::Text(text) = piece else {
                self.open.texts.insert(symbol, OpenText { raw: raw.as_str().into(), span });
                return given.into();
            };
            plain.extend_from_slice(text);
        }
        String::from_utf8_lossy(&plain).into_owned()
    }

    /// A default with variables that have no value yet: its text between the quotes.
    pub(super) fn open_default(
        &mut self,
        symbol: SymbolId,
        id: ExprId,
        span: Span,
    ) -> Option<String> {
        if self.ast.expr(id) != Expr::Str {
            return None;
        }
        let place = self.ast.expr_span(id);
        let raw = self.reader.text(place);
        if !text::pieces(raw, place.start).any(|piece| self.is_open(piece)) {
            return None;
        }
        self.open.texts.insert(symbol, OpenText { raw: raw.into(), span });
        Some(text::inner(raw).into())
    }

    /// It has no value before the program runs.
    fn is_open(&mut self, piece: Piece<'_>) -> bool {
        match piece {
            Piece::Text(_) | Piece::Env { .. } => false,
            Piece::Var { span, .. } | Piece::Braced { span, .. } => {
                self.visible(span.start).is_none()
            }
            Piece::Internal { name, .. } => {
                let rows = (1..=name.len()).rev().filter_map(|end| InternalRow::find(&name[..end]));
                rows.map(|row| row.read).next().is_some_and(|read| matches!(read, Read::Running(_)))
            }
        }
    }

    /// A given value takes the place of a default.
    pub(super) fn close_default(&mut self, symbol: SymbolId) {
        self.open.texts.remove(&symbol);
    }

    /// The value of a parameter that is read where it is used. One that the program sets again
    /// is a variable like others, and read when it is defined.
    pub(super) fn open_text(&self, symbol: SymbolId) -> Option<OpenText> {
        if self.open.texts.is_empty() || !self.is_set_once(symbol) {
            return None;
        }
        self.open.texts.get(&symbol).cloned()
    }

    /// What the value of a parameter is here.
    pub(super) fn opened_text(&mut self, symbol: SymbolId, span: Span) -> Option<Ev> {
        let text = self.open.texts.get(&symbol).cloned()?;
        let mark = self.plan.text.len();
        self.begin_text(mark);
        let mut found = super::template::Filled::default();
        self.fill_open(&text, span, &mut found);
        Some(self.end_text(mark, found, span))
    }

    /// The pieces of such a value, which is used at a place, at the end of the text so far.
    pub(super) fn fill_open(
        &mut self,
        text: &OpenText,
        used: Span,
        found: &mut super::template::Filled,
    ) {
        if self.open.depth == DEPTH_MAX {
            let message = "the value of this parameter names itself";
            let help = "a dollar sign is written \\$";
            self.reports.push(Diagnostic::new(Code::BadValue, text.span, message).help(help));
            found.bad = true;
            return;
        }
        if self.open.depth == 0 {
            self.open.place = used.start;
        }
        self.open.depth += 1;
        for piece in text.pieces() {
            if !found.bad {
                self.piece(piece, found);
            }
        }
        self.open.depth -= 1;
    }

    /// The variable that the longest beginning of a name means at the place of use, and how many
    /// bytes stand behind it.
    pub(super) fn known_by_name(&mut self, run: &str) -> Option<(SymbolId, usize)> {
        let ends = (1..=run.len()).rev();
        ends.filter_map(|end| Some((self.variable_of(&run[..end])?, run.len() - end))).next()
    }

    /// What a name means at the place of use: a variable of the body around it, or a global one
    /// that is set before.
    fn variable_of(&mut self, name: &str) -> Option<SymbolId> {
        let (place, owner) = (self.open.place, self.proc.as_ref().and_then(|proc| proc.owner));
        let before = owner.map_or(u32::MAX, |owner| self.facts.body_start(owner));
        if self.open.variables.is_empty() {
            self.open.list_variables(self.facts, self.reader.sources);
        }
        let reaches = |id: &SymbolId| {
            let symbol = self.facts.symbol(*id);
            (symbol.owner == owner || symbol.owner.is_none() && symbol.since <= before)
                && symbol.within.is_none_or(|body| holds(self.ast.stmt_span(body), place))
                && self.place(*id).is_somewhere()
        };
        let reaching = self.open.variables.get(name)?.iter().copied().filter(reaches);
        reaching.max_by_key(|id| (self.facts.symbol(*id).owner, *id))
    }
}

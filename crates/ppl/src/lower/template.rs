//! Texts with variables in them: templates, and variables that hold such a text and are opened where they
//! are used.

use super::pass::Lower;
use super::values::Ev;
use crate::ast::{Expr, ExprId};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Facts, SymbolId, holds};
use crate::lex::is_name_byte;
use crate::source::Sources;
use crate::text::{self, Piece as Part};
use model::internal::{InternalRow, Read};
use model::plan::{BinaryOp, Format, Internal, Operand, Piece, Source, Span, Template};
use model::types::Types;
use model::{Value, limits};
use rustc_hash::FxHashMap;
use std::rc::Rc;

impl Lower<'_> {
    /// The value of a string: a constant, or a template.
    pub(super) fn string(&mut self, span: Span) -> Ev {
        let raw = self.reader.text(span);
        let inner = text::inner(raw).as_bytes();
        if !inner.iter().any(|byte| matches!(byte, b'$' | b'\\')) {
            return self.known_text(inner);
        }
        let mark = self.plan.text.len();
        match self.read_string(raw, span) {
            Some(found) => self.text_or_template(mark, found),
            None => Ev::BAD,
        }
    }

    /// Reads a string token into [`Lower::string`]; its literal text goes to the end of the
    /// plan's. `None`: it has no value, which is reported.
    pub(super) fn read_string(&mut self, raw: &str, span: Span) -> Option<Filled> {
        let mark = self.plan.text.len();
        self.begin_text(mark);
        let mut found = Filled::default();
        for piece in text::pieces(raw, span.start) {
            self.piece(piece, &mut found);
            if let Err(error) = limits::check_text(self.plan.text.len() - mark) {
                self.plan.text.truncate(mark);
                self.no_value(error, span);
                return None;
            }
        }
        if found.bad {
            self.plan.text.truncate(mark);
            return None;
        }
        self.close_text();
        Some(found)
    }

    /// The value of the string read last, whose text stands from `mark` on.
    pub(super) fn text_or_template(&mut self, mark: usize, found: Filled) -> Ev {
        let operand = match self.string.pieces[..] {
            [] | [Piece::Text { .. }] => {
                let text = self.plan.text.split_off(mark);
                return self.known_text(&text);
            }
            _ => self.template_of_pieces(mark),
        };
        Ev { operand, types: Types::STR, differs: found.differs }
    }

    /// `"a" + $b` is `"a$b"`.
    pub(super) fn text_in_row(&mut self, a: ExprId, b: ExprId, span: Span) -> Ev {
        let mut parts = Vec::new();
        self.parts_in_row(a, &mut parts);
        self.parts_in_row(b, &mut parts);
        let evs: Vec<Ev> = parts.into_iter().map(|part| self.expr(part)).collect();
        let mark = self.plan.text.len();
        self.begin_text(mark);
        let mut found = Filled::default();
        evs.into_iter().for_each(|ev| self.fill_in_row(ev, &mut found));
        self.end_text(mark, found, span)
    }

    /// The text that comes next is put together from `mark` on.
    fn begin_text(&mut self, mark: usize) {
        self.string.text_from = mark;
        self.string.pieces.clear();
    }

    /// The value of what was put together.
    fn end_text(&mut self, mark: usize, found: Filled, span: Span) -> Ev {
        if found.bad {
            self.plan.text.truncate(mark);
            return Ev::BAD;
        }
        if let Err(error) = limits::check_text(self.plan.text.len() - mark) {
            self.plan.text.truncate(mark);
            return self.no_value(error, span);
        }
        self.close_text();
        self.text_or_template(mark, found)
    }

    /// The values of a sum that makes text, as far as its `+` do.
    fn parts_in_row(&self, id: ExprId, parts: &mut Vec<ExprId>) {
        match self.ast.expr(id) {
            Expr::Paren(inner) => self.parts_in_row(inner, parts),
            Expr::Binary(BinaryOp::Add, a, b) if self.ast.is_text(a) || self.ast.is_text(b) => {
                self.parts_in_row(a, parts);
                self.parts_in_row(b, parts);
            }
            _ => parts.push(id),
        }
    }

    /// A value at the end of the text so far; a template is taken apart.
    fn fill_in_row(&mut self, ev: Ev, found: &mut Filled) {
        let Source::Template(index) = ev.operand.source() else { return self.fill(ev, found) };
        found.differs |= ev.differs;
        let Template { start, end } = self.plan.templates[index as usize];
        for at in start..end {
            match self.plan.pieces[at as usize] {
                Piece::Text { start, end } => {
                    self.plan.text.extend_from_within(start as usize..end as usize);
                }
                piece => self.value_piece(piece),
            }
        }
    }

    /// A template of the string read last.
    pub(super) fn template_of_pieces(&mut self, mark: usize) -> Operand {
        Operand::template(self.interner.template(&mut self.plan, &self.string.pieces, mark))
    }

    pub(super) fn piece(&mut self, piece: text::Piece<'_>, found: &mut Filled) {
        match piece {
            text::Piece::Text(bytes) => self.plan.text.extend_from_slice(bytes),
            text::Piece::Var { run, span } => self.named(run, span, found),
            text::Piece::Braced { name, format, span } => match format {
                Some(format) => self.formatted(name, format, span, found),
                None => self.named(name, span, found),
            },
            text::Piece::Internal { name, span } => self.filled_internal(name, span, found),
            text::Piece::Env { name, span } => match self.environment_text(name) {
                Some(text) => self.plan.text.extend_from_slice(text.as_bytes()),
                None => found.bad |= self.environment(name, span).is_bad(),
            },
        }
    }

    /// `$name...`, of which a shorter name may be meant: the rest is text. `${name}`
    fn named(&mut self, run: &str, span: Span, found: &mut Filled) {
        let Some((symbol, rest)) = self.named_variable(run, span) else {
            return self.missing(run, span, found);
        };
        self.fill_variable(symbol, span, found);
        self.plan.text.extend_from_slice(&run.as_bytes()[run.len() - rest..]);
    }

    /// The variable that is read for a name in a string, and how many bytes of the name are text.
    fn named_variable(&mut self, run: &str, span: Span) -> Option<(SymbolId, usize)> {
        if self.open.is_reading() {
            return self.known_by_name(run);
        }
        let mention = self.visible(span.start)?;
        Some((mention.symbol, (span.end - mention.span.end) as usize))
    }

    /// A variable's value at the end of the text so far; of a parameter from outside that has
    /// variables in it, what it is here.
    fn fill_variable(&mut self, symbol: SymbolId, span: Span, found: &mut Filled) {
        match self.open_text(symbol) {
            None => {
                let ev = self.value_of(symbol, Span::default());
                self.fill(ev, found);
            }
            Some(text) => self.fill_open(&text, span, found),
        }
    }

    /// `${name:06}`
    fn formatted(&mut self, name: &str, format: Format, span: Span, found: &mut Filled) {
        let Some((symbol, _)) = self.named_variable(name, span) else {
            return self.missing(name, span, found);
        };
        let ev = self.value_of(symbol, span);
        found.differs |= ev.differs;
        found.bad |= ev.is_bad();
        if ev.is_bad() {
            return;
        }
        if !ev.types.may(Types::AS_INT) && self.is_alive() {
            let message = format!("expected an integer in a format, found {}", ev.types.describe());
            found.bad |= self.wrong_type(span, message).is_bad();
            return;
        }
        let Some(value) = self.constant(ev).cloned() else {
            return self.value_piece(Piece::Formatted { value: ev.operand, format });
        };
        if let Err(error) = format.render(&value, &mut self.plan.text) {
            found.bad |= self.no_value(error, span).is_bad();
        }
    }

    fn missing(&mut self, run: &str, span: Span, found: &mut Filled) {
        found.bad = true;
        match self.ast.names.find(run) {
            Some(name) => self.not_visible(name, span),
            None => {
                let diagnostic = self.unknown_variable(run, span);
                let help = diagnostic.help.clone().unwrap_or_default();
                let help = format!("{help}; a dollar sign is written \\$");
                self.reports.push(diagnostic.help(help));
            }
        }
    }

    /// A value at the end of the text so far.
    fn fill(&mut self, ev: Ev, found: &mut Filled) {
        found.differs |= ev.differs;
        found.bad |= ev.is_bad();
        match self.constant(ev) {
            Some(value) => {
                let value: Value = value.clone();
                // Constants have a value, so that rendering them cannot fail.
                let _ = value.render(&mut self.plan.text);
            }
            None => self.value_piece(Piece::Value(ev.operand)),
        }
    }

    fn value_piece(&mut self, piece: Piece) {
        self.close_text();
        self.string.pieces.push(piece);
    }

    /// Makes a piece of the literal text since the last one.
    fn close_text(&mut self) {
        let (start, end) = (self.string.text_from, self.plan.text.len());
        if start < end {
            self.string.pieces.push(Piece::Text { start: start as u32, end: end as u32 });
        }
        self.string.text_from = end;
    }

    /// `$$name...`, shortened like `$name...`: `"$$grank_x"` is `$$grank` and `_x`.
    fn filled_internal(&mut self, run: &str, span: Span, found: &mut Filled) {
        debug_assert!(run.bytes().all(is_name_byte));
        for end in (1..=run.len()).rev() {
            match InternalRow::find(&run[..end]).map(|row| row.read) {
                Some(Read::Bound(bound)) => {
                    model::value::render_int(self.bound_value(bound), &mut self.plan.text);
                }
                Some(Read::Running(what)) => self.internal_piece(what, span, found),
                None => continue,
            }
            self.plan.text.extend_from_slice(&run.as_bytes()[end..]);
            return;
        }
        found.bad = true;
        self.unknown_internal(run, span);
    }

    fn internal_piece(&mut self, what: Internal, span: Span, found: &mut Filled) {
        self.note_internal(what, span);
        found.differs |= what.differs_between_ranks();
        self.value_piece(Piece::Internal(what));
    }
}

/// The string being read.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) pieces: Vec<Piece>,
    /// Start of its literal text that is no piece yet.
    text_from: usize,
}

/// The parts found in a string.
#[derive(Default)]
pub(super) struct Filled {
    /// A value in it differs between ranks.
    differs: bool,
    /// Something in it was reported.
    pub(super) bad: bool,
}

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
    /// Names are resolved at the place of use, where the text does not show them.
    fn is_reading(&self) -> bool {
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
    fn placed<'a>(&self, piece: Part<'a>) -> Part<'a> {
        let span = self.span;
        match piece {
            Part::Text(text) => Part::Text(text),
            Part::Var { run, .. } => Part::Var { run, span },
            Part::Braced { name, format, .. } => Part::Braced { name, format, span },
            Part::Internal { name, .. } => Part::Internal { name, span },
            Part::Env { name, .. } => Part::Env { name, span },
        }
    }

    /// Its pieces.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Part<'_>> {
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
            let Part::Text(text) = piece else {
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
    fn is_open(&mut self, piece: Part<'_>) -> bool {
        match piece {
            Part::Text(_) | Part::Env { .. } => false,
            Part::Var { span, .. } | Part::Braced { span, .. } => {
                self.visible(span.start).is_none()
            }
            Part::Internal { name, .. } => {
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

    /// The value of a parameter here.
    pub(super) fn opened_text(&mut self, symbol: SymbolId, span: Span) -> Option<Ev> {
        let text = self.open.texts.get(&symbol).cloned()?;
        let mark = self.plan.text.len();
        self.begin_text(mark);
        let mut found = Filled::default();
        self.fill_open(&text, span, &mut found);
        Some(self.end_text(mark, found, span))
    }

    /// The pieces of such a value, which is used at a place, at the end of the text so far.
    fn fill_open(&mut self, text: &OpenText, used: Span, found: &mut Filled) {
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
    fn known_by_name(&mut self, run: &str) -> Option<(SymbolId, usize)> {
        let ends = (1..=run.len()).rev();
        ends.filter_map(|end| Some((self.variable_of(&run[..end])?, run.len() - end))).next()
    }

    /// The meaning of a name at the place of use: a variable of the body around it, or a global one
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

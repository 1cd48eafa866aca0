//! Strings: literal text, constants folded into it, and what is filled in at run time.

use super::Lower;
use super::value::Ev;
use crate::ast::{Expr, ExprId};
use crate::facts::SymbolId;
use crate::lex::is_name_byte;
use crate::text;
use model::Value;
use model::internal::{InternalRow, Read};
use model::limits;
use model::plan::{BinaryOp, Format, Internal, Operand, Piece, Source, Span, Template};
use model::types::Types;

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
    pub(super) fn begin_text(&mut self, mark: usize) {
        self.string.text_from = mark;
        self.string.pieces.clear();
    }

    /// The value of what was put together.
    pub(super) fn end_text(&mut self, mark: usize, found: Filled, span: Span) -> Ev {
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
    pub(super) fn named_variable(&mut self, run: &str, span: Span) -> Option<(SymbolId, usize)> {
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

/// What was found in a string.
#[derive(Default)]
pub(super) struct Filled {
    /// A value in it differs between ranks.
    differs: bool,
    /// Something in it was reported.
    pub(super) bad: bool,
}

//! Parameters whose values have variables in them: they are read where they are used.
//!
//! ```text
//! parabench run p.ppl file='run-$$rank'       every rank writes a file of its own
//! param $file = "data"; write($file, 1m);
//! ```

use super::Lower;
use super::value::Ev;
use crate::ast::{Expr, ExprId, Name};
use crate::diag::{Code, Diagnostic};
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
pub(super) struct Open {
    texts: FxHashMap<Name, OpenText>,
    /// How many of them are being read, one in the other.
    depth: u32,
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
        name: Name,
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
                self.open.texts.insert(name, OpenText { raw: raw.as_str().into(), span });
                return given.into();
            };
            plain.extend_from_slice(text);
        }
        String::from_utf8_lossy(&plain).into_owned()
    }

    /// A default with variables that have no value yet: its text between the quotes.
    pub(super) fn open_default(&mut self, name: Name, id: ExprId, span: Span) -> Option<String> {
        if self.ast.expr(id) != Expr::Str {
            return None;
        }
        let raw = self.raw(self.ast.expr_span(id));
        if !text::pieces(raw, 0).any(|piece| self.is_open(piece)) {
            return None;
        }
        self.open.texts.insert(name, OpenText { raw: raw.into(), span });
        Some(text::inner(raw).into())
    }

    /// It has no value before the program runs.
    fn is_open(&mut self, piece: Piece<'_>) -> bool {
        match piece {
            Piece::Text(_) | Piece::Env { .. } => false,
            Piece::Braced { name, .. } => self.find_known(name).is_none(),
            Piece::Var { run, .. } => {
                (1..=run.len()).all(|end| self.find_known(&run[..end]).is_none())
            }
            Piece::Internal { name, .. } => {
                let rows = (1..=name.len()).rev().filter_map(|end| InternalRow::find(&name[..end]));
                rows.map(|row| row.read).next().is_some_and(|read| matches!(read, Read::Running(_)))
            }
        }
    }

    /// A given value takes the place of a default.
    pub(super) fn close_default(&mut self, name: Name) {
        self.open.texts.remove(&name);
    }

    /// The value of a parameter that is read where it is used. One that the program sets again
    /// is a variable like others, and read when it is defined.
    pub(super) fn open_text(&self, name: Name) -> Option<OpenText> {
        if self.open.texts.is_empty() || !self.is_set_once(name) {
            return None;
        }
        self.open.texts.get(&name).cloned()
    }

    /// What the value of a parameter is here.
    pub(super) fn opened_text(&mut self, name: Name, span: Span) -> Option<Ev> {
        let text = self.open.texts.get(&name).cloned()?;
        let mark = self.plan.text.len();
        self.begin_text(mark);
        let mut found = super::template::Filled::default();
        self.fill_open(&text, &mut found);
        Some(self.end_text(mark, found, span))
    }

    /// The pieces of such a value at the end of the text so far.
    pub(super) fn fill_open(&mut self, text: &OpenText, found: &mut super::template::Filled) {
        if self.open.depth == DEPTH_MAX {
            let message = "the value of this parameter names itself";
            let help = "a dollar sign is written \\$";
            self.reports.push(Diagnostic::new(Code::BadValue, text.span, message).help(help));
            found.bad = true;
            return;
        }
        self.open.depth += 1;
        for piece in text.pieces() {
            if !found.bad {
                self.piece(piece, found);
            }
        }
        self.open.depth -= 1;
    }
}

//! Texts with variables in them: templates, and variables that hold such a text and are opened where they
//! are used.

use super::state::{Ev, Lower, Open, OpenText};
use crate::ast::{Expr, ExprId};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Facts, SymbolId, holds};
use crate::source::Sources;
use crate::text::{self, Piece as Part};
use model::internal::{InternalRow, Read};
use model::limits;
use model::plan::{Format, Operand, Piece, Source, Span, Template};
use model::types::Types;

/// A text being put together.
struct Filled {
    /// Those that are text lie in `text`.
    pieces: Vec<Piece>,
    text: Vec<u8>,
    /// Up to here the text is in pieces.
    closed: usize,
    /// A value in it differs between ranks.
    differs: bool,
    /// Something in it was reported.
    bad: bool,
}

impl Filled {
    /// Without anything, but with place for most texts.
    fn new() -> Filled {
        let (pieces, text) = (Vec::with_capacity(8), Vec::with_capacity(64));
        Filled { pieces, text, closed: 0, differs: false, bad: false }
    }

    fn push(&mut self, piece: Piece) {
        self.close();
        self.pieces.push(piece);
    }

    /// Makes a piece of the literal text since the last one.
    fn close(&mut self) {
        let (start, end) = (self.closed as u32, self.text.len() as u32);
        if start < end {
            self.pieces.push(Piece::Text { start, end });
        }
        self.closed = self.text.len();
    }
}

impl Lower<'_> {
    /// The value of a string: a constant, or a template.
    pub(crate) fn string(&mut self, span: Span) -> Ev {
        let raw = self.sources.text(span);
        let inner = text::inner(raw).as_bytes();
        if !inner.iter().any(|byte| matches!(byte, b'$' | b'\\')) {
            return self.known_text(inner);
        }
        let mut found = Filled::new();
        for piece in text::pieces(raw, span.start) {
            self.piece(piece, &mut found);
        }
        self.finished_text(found, span)
    }

    /// Joins two parts to a text: `"a" + $b` is `"a$b"`.
    pub(crate) fn joined_text(&mut self, parts: [Ev; 2], span: Span) -> Ev {
        let mut found = Filled::new();
        parts.into_iter().for_each(|part| self.fill(part, &mut found));
        self.finished_text(found, span)
    }

    /// The value of what was put together.
    fn finished_text(&mut self, mut found: Filled, span: Span) -> Ev {
        if found.bad {
            return Ev::BAD;
        }
        if let Err(error) = limits::check_text(found.text.len()) {
            return self.no_value(error, span);
        }
        if found.pieces.is_empty() {
            return self.known_text(&found.text);
        }
        found.close();
        let (base, first) = (self.plan.text.len() as u32, self.plan.pieces.len() as u32);
        self.plan.text.extend_from_slice(&found.text);
        self.plan.pieces.extend(found.pieces.into_iter().map(|piece| match piece {
            Piece::Text { start, end } => Piece::Text { start: base + start, end: base + end },
            other => other,
        }));
        let end = self.plan.pieces.len() as u32;
        self.plan.templates.push(Template { start: first, end });
        let operand = Operand::template(self.plan.templates.len() as u32 - 1);
        Ev { operand, types: Types::STR, differs: found.differs }
    }

    /// Adds a piece of a string. Of a text that is too long the rest is left out.
    fn piece(&mut self, piece: text::Piece<'_>, found: &mut Filled) {
        if limits::check_text(found.text.len()).is_err() {
            return;
        }
        match piece {
            text::Piece::Text(bytes) => found.text.extend_from_slice(bytes),
            text::Piece::Var { run, span } => self.named(run, span, found),
            text::Piece::Braced { name, internal: true, format, span } => {
                let ev = self.internal_value(name, span, None);
                self.fill_formatted(ev, format, span, found);
            }
            text::Piece::Braced { name, format: Some(format), span, .. } => {
                self.formatted(name, format, span, found);
            }
            text::Piece::Braced { name, span, .. } => self.named(name, span, found),
            text::Piece::Internal { name, span } => self.filled_internal(name, span, found),
            text::Piece::Env { name, span } => {
                let ev = self.environment(name, span);
                self.fill(ev, found);
            }
        }
    }

    /// `$name...`, of which a shorter name may be meant: the rest is text. `${name}`
    fn named(&mut self, run: &str, span: Span, found: &mut Filled) {
        let Some((symbol, rest)) = self.named_variable(run, span) else {
            return self.missing(run, span, found);
        };
        match self.open_text(symbol) {
            None => {
                let ev = self.value_of(symbol, span);
                if ev.types == Types::LIST && rest == 0 {
                    self.warn_element(run, span);
                }
                self.fill(ev, found);
            }
            // Of a parameter from outside that has variables in it, what it is here.
            Some(text) => self.fill_open(&text, span, found),
        }
        found.text.extend_from_slice(&run.as_bytes()[run.len() - rest..]);
    }

    /// `"$list[0]"`: only the variable is replaced.
    fn warn_element(&mut self, run: &str, span: Span) {
        let behind = Span { start: span.end, end: span.end + 1 };
        let is_braced = self.sources.text(span).starts_with("${");
        if self.open.is_reading() || is_braced || self.sources.text(behind) != "[" {
            return;
        }
        let message = format!("`[` after ${run} is text here, and ${run} the whole list");
        let help = format!("take the element before: $x = ${run}[0]; \"$x\"; or write ${{{run}}}[");
        self.reports.push(Diagnostic::new(Code::ElementInText, span, message).help(help));
    }

    /// The variable that is read for a name in a string, and how many bytes of the name are text.
    fn named_variable(&mut self, run: &str, span: Span) -> Option<(SymbolId, usize)> {
        if self.open.is_reading() {
            return self.known_by_name(run);
        }
        let mention = self.visible(span.start)?;
        Some((mention.symbol, (span.end - mention.span.end) as usize))
    }

    /// `${name:06}`
    fn formatted(&mut self, name: &str, format: Format, span: Span, found: &mut Filled) {
        let Some((symbol, _)) = self.named_variable(name, span) else {
            return self.missing(name, span, found);
        };
        let ev = self.value_of(symbol, span);
        self.fill_formatted(ev, Some(format), span, found);
    }

    /// A value at the end of the text so far, in a format if there is one.
    fn fill_formatted(&mut self, ev: Ev, format: Option<Format>, span: Span, found: &mut Filled) {
        let Some(format) = format else { return self.fill(ev, found) };
        let ev = self.of_type(ev, Types::AS_INT, "an integer in a format", span);
        found.differs |= ev.differs;
        found.bad |= ev.is_bad();
        if ev.is_bad() {
            return;
        }
        let Some(value) = self.constant(ev) else {
            return found.push(Piece::Formatted { value: ev.operand, format });
        };
        if let Err(error) = format.render(value, &mut found.text) {
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
            // Constants have a value, so that rendering them cannot fail.
            Some(value) => drop(value.render(&mut found.text)),
            None => match ev.operand.source() {
                Source::Template(index) => self.fill_template(index, found),
                _ => found.push(Piece::Value(ev.operand)),
            },
        }
    }

    fn fill_template(&self, index: u32, found: &mut Filled) {
        let Template { start, end } = self.plan.templates[index as usize];
        for piece in &self.plan.pieces[start as usize..end as usize] {
            match *piece {
                Piece::Text { start, end } => {
                    found.text.extend_from_slice(&self.plan.text[start as usize..end as usize]);
                }
                piece => found.push(piece),
            }
        }
    }

    /// `$$name...`, shortened like `$name...`: `"$$grank_x"` is `$$grank` and `_x`.
    fn filled_internal(&mut self, run: &str, span: Span, found: &mut Filled) {
        let Some((row, end)) = longest_internal(run) else {
            found.bad = true;
            return self.unknown_internal(run, span);
        };
        match row.read {
            Read::Bound(bound) => {
                found.text.extend_from_slice(self.bound_value(bound).to_string().as_bytes());
            }
            Read::Running(what) if self.asked.is_some() => {
                let ev = self.internal_on_rank(what, span);
                self.fill(ev, found);
            }
            Read::Running(what) => {
                self.note_internal(what, span);
                found.differs |= what.differs_between_ranks();
                found.push(Piece::Internal(what));
            }
        }
        found.text.extend_from_slice(&run.as_bytes()[end..]);
    }
}

/// The internal variable that the longest beginning of a name means, and where it ends.
fn longest_internal(run: &str) -> Option<(&'static InternalRow, usize)> {
    let ends = (1..=run.len()).rev();
    ends.filter_map(|end| Some((InternalRow::find(&run[..end])?, end))).next()
}

/// Values that name each other, one in the other.
const DEPTH_MAX: u32 = 8;

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
            Part::Braced { name, internal, format, .. } => {
                Part::Braced { name, internal, format, span }
            }
            Part::Internal { name, .. } => Part::Internal { name, span },
            Part::Env { name, .. } => Part::Env { name, span },
        }
    }

    /// Its pieces.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Part<'_>> {
        text::pieces(&self.raw, 0).map(|piece| self.placed(piece))
    }
}

impl Lower<'_> {
    /// A text from outside with a dollar sign is read like a string of the program. Without
    /// variables it is the text that is given back, else it is one that is read where it is used.
    pub(crate) fn text_from_outside(
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
    pub(crate) fn open_default(
        &mut self,
        symbol: SymbolId,
        id: ExprId,
        span: Span,
    ) -> Option<String> {
        if self.ast.expr(id) != Expr::Str {
            return None;
        }
        let place = self.ast.expr_span(id);
        let raw = self.sources.text(place);
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
            Part::Var { span, .. } | Part::Braced { internal: false, span, .. } => {
                self.visible(span.start).is_none()
            }
            Part::Internal { name, .. } | Part::Braced { name, .. } => {
                longest_internal(name).is_some_and(|(row, _)| matches!(row.read, Read::Running(_)))
            }
        }
    }

    /// A given value takes the place of a default.
    pub(crate) fn close_default(&mut self, symbol: SymbolId) {
        self.open.texts.remove(&symbol);
    }

    /// The value of a parameter that is read where it is used. One that the program sets again
    /// is a variable like others, and read when it is defined.
    pub(crate) fn open_text(&self, symbol: SymbolId) -> Option<OpenText> {
        if self.open.texts.is_empty() || !self.is_set_once(symbol) {
            return None;
        }
        self.open.texts.get(&symbol).cloned()
    }

    /// The value of a parameter here.
    pub(crate) fn opened_text(&mut self, symbol: SymbolId, span: Span) -> Option<Ev> {
        let text = self.open.texts.get(&symbol).cloned()?;
        let mut found = Filled::new();
        self.fill_open(&text, span, &mut found);
        Some(self.finished_text(found, span))
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
            self.open.list_variables(self.facts, self.sources);
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

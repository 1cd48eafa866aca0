//! Variables: where the value of a symbol is, and what is known about it. What a name means is in
//! [`crate::facts`]. A variable that the whole program sets once, and certainly, to a constant is that
//! constant.

use super::Lower;
use super::value::Ev;
use crate::ast::Name;
use crate::diag::{Code, Diagnostic};
use crate::facts::{Facts, Mention, Symbol, SymbolId};
use crate::suggest::nearest;
use model::Value;
use model::plan::{NO_SLOT, Operand, Slot, Span};
use model::types::Types;
use rustc_hash::FxHashSet;

/// No constant.
const NONE: u32 = u32::MAX;

/// Where a symbol's value is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Its slot, or [`NO_SLOT`].
    pub(super) slot: Slot,
    /// The constant it always is, or [`NONE`].
    konst: u32,
    /// Its value differs between ranks.
    pub(super) differs: bool,
}

impl Place {
    const NOWHERE: Place = Place { slot: NO_SLOT, konst: NONE, differs: false };

    pub(super) fn is_somewhere(self) -> bool {
        self.slot != NO_SLOT || self.konst != NONE
    }
}

/// The values of all symbols.
pub(super) struct Variables {
    /// By [`SymbolId`].
    places: Vec<Place>,
    /// The mention that probably comes next.
    next: usize,
    /// Names of which it was reported that they are not visible.
    unknown: FxHashSet<Name>,
}

impl Variables {
    pub(super) fn new(facts: &Facts) -> Variables {
        let places = vec![Place::NOWHERE; facts.symbols().len()];
        Variables { places, next: 0, unknown: FxHashSet::default() }
    }
}

impl<'a> Lower<'a> {
    /// The name that stands at a place. Names are mostly asked for in the order of the text.
    #[inline]
    pub(super) fn mentioned(&mut self, place: u32) -> Option<Mention> {
        let mentions = &self.facts.mentions;
        let mut at = self.variables.next;
        if mentions.get(at).is_none_or(|mention| mention.span.start != place) {
            at = mentions.partition_point(|mention| mention.span.start < place);
        }
        self.variables.next = at + 1;
        mentions.get(at).copied().filter(|mention| mention.span.start == place)
    }

    /// The symbol named at a place, if it has a value there.
    pub(super) fn visible(&mut self, place: u32) -> Option<Mention> {
        let mention = self.mentioned(place)?;
        self.place(mention.symbol).is_somewhere().then_some(mention)
    }

    /// Where the value of a symbol is.
    pub(super) fn place(&self, symbol: SymbolId) -> Place {
        self.variables.places[symbol.0 as usize]
    }

    fn set_place(&mut self, symbol: SymbolId, place: Place) {
        self.variables.places[symbol.0 as usize] = place;
    }

    /// The value of a variable.
    pub(super) fn variable(&mut self, name: Name, span: Span) -> Ev {
        match self.visible(span.start) {
            Some(mention) => self.value_of(mention.symbol, span),
            None => {
                self.not_visible(name, span);
                Ev::BAD
            }
        }
    }

    /// The value of a symbol that has one.
    pub(super) fn value_of(&mut self, symbol: SymbolId, span: Span) -> Ev {
        if self.open_text(symbol).is_some() {
            return self.opened_text(symbol, span).unwrap_or(Ev::BAD);
        }
        self.note_read(symbol);
        let Place { slot, konst, differs } = self.place(symbol);
        if konst != NONE {
            let types = Types::of(&self.plan.consts[konst as usize]);
            return Ev { operand: Operand::constant(konst), types, differs: false };
        }
        if self.in_generator && slot.0 & Slot::LOCAL == 0 {
            self.global_in_generator(symbol, span);
            return Ev::BAD;
        }
        Ev { operand: Operand::slot(slot), types: self.facts.symbol(symbol).types, differs }
    }

    /// The constant that a symbol always is.
    pub(super) fn constant_of(&self, symbol: SymbolId) -> Option<&Value> {
        self.plan.consts.get(self.place(symbol).konst as usize)
    }

    /// Lets a symbol be taken for the same on all ranks, or not; what it was taken for before.
    pub(super) fn set_differs(&mut self, symbol: SymbolId, differs: bool) -> bool {
        let before = self.place(symbol);
        self.set_place(symbol, Place { differs, ..before });
        before.differs
    }

    /// Remembers which variables of the program a proc reads.
    fn note_read(&mut self, symbol: SymbolId) {
        let Some(proc) = &mut self.proc else { return };
        if self.facts.symbol(symbol).owner.is_none() && !proc.read.contains(&symbol) {
            proc.read.push(symbol);
        }
    }

    /// The slot of the variable of the program that is named at a place.
    pub(super) fn global_slot(&mut self, place: u32, differs: bool) -> Option<Slot> {
        let symbol = self.visible(place)?.symbol;
        let there = self.place(symbol);
        self.set_place(symbol, Place { differs: there.differs || differs, ..there });
        (there.slot != NO_SLOT).then_some(there.slot)
    }

    /// Reports an undefined variable, each once.
    #[cold]
    pub(super) fn not_visible(&mut self, name: Name, span: Span) {
        if !self.variables.unknown.insert(name) {
            return;
        }
        if self.reports.is_full() {
            self.reports.push(Diagnostic::new(Code::UnknownVariable, span, ""));
            return;
        }
        let diagnostic = self.unknown_variable(self.ast.names.text(name), span);
        self.reports.push(diagnostic);
    }

    pub(super) fn unknown_variable(&self, text: &str, span: Span) -> Diagnostic {
        let message = format!("expected a variable that is set before this place, found ${text}");
        let diagnostic = Diagnostic::new(Code::UnknownVariable, span, message);
        diagnostic.help(self.variable_help(text, span.start))
    }

    fn variable_help(&self, text: &str, place: u32) -> String {
        let named = |symbol: SymbolId| {
            let written = self.reader.sources.text(self.facts.symbol(symbol).span);
            written.strip_prefix('$').unwrap_or(written)
        };
        let end = self.reader.sources.end_of_program();
        let own = |symbol: &Symbol| symbol.kind.is_variable() && symbol.span.start < end;
        let mut all = self.facts.symbols().filter(|(_, symbol)| own(symbol));
        if all.any(|(id, _)| named(id) == text) {
            return match self.proc {
                Some(_) => format!(
                    "${text} is set elsewhere; a proc sees its parameters, its own variables and \
                     the globals that are set before its definition"
                ),
                None => format!(
                    "${text} is set only later, in a proc, or by a repeat, whose variable lives in \
                     its loop; set it before: ${text} = ..."
                ),
            };
        }
        let visible = self.facts.visible_at(place, self.ast, self.reader.sources);
        let variables = visible.filter(|(_, symbol)| symbol.kind.is_variable());
        match nearest(text, variables.map(|(id, _)| named(id))) {
            Some(name) => format!("the nearest is ${name}"),
            None => format!("set it before: ${text} = ..."),
        }
    }

    /// Gives a symbol a slot if it has none. `differs`: its value.
    pub(super) fn define(&mut self, symbol: SymbolId, differs: bool) -> Slot {
        let here = self.place(symbol);
        if here.slot != NO_SLOT {
            let differs = here.differs || differs;
            self.set_place(symbol, Place { differs, ..here });
            return here.slot;
        }
        let text = self.reader.text(self.facts.symbol(symbol).span);
        let slot = self.frame().fresh(text.strip_prefix('$').unwrap_or(text));
        self.set_slot(symbol, slot, differs);
        slot
    }

    /// Lets a symbol's value be in a slot that is there already.
    pub(super) fn set_slot(&mut self, symbol: SymbolId, slot: Slot, differs: bool) {
        self.set_place(symbol, Place { slot, konst: NONE, differs });
    }

    /// Lets a symbol be a constant.
    pub(super) fn define_constant(&mut self, symbol: SymbolId, konst: u32) {
        self.set_place(symbol, Place { slot: NO_SLOT, konst, differs: false });
    }

    /// Takes a symbol's value away: its definition is still to come.
    pub(super) fn hide(&mut self, symbol: SymbolId) {
        self.set_place(symbol, Place::NOWHERE);
    }

    /// Nothing in the program but one definition sets the symbol.
    pub(super) fn is_set_once(&self, symbol: SymbolId) -> bool {
        self.facts.symbol(symbol).definitions == 1
    }
}

//! Values while code is made: constants and texts, of which the plan has equal neighbours once, and where the value of
//! each symbol is.
//!
//! The meaning of names is in [`crate::facts`]. A variable that the whole program sets once, and certainly,
//! to a constant is that constant.

use super::state::{Ev, Lower, NO_CONSTANT, Place, hash_value};
use crate::ast::Name;
use crate::diag::{Code, Diagnostic};
use crate::facts::{Mention, Symbol, SymbolId};
use crate::word::nearest;
use model::Value;
use model::plan::{NO_SLOT, Operand, Slot, Source, Span};
use model::types::Types;
use std::hash::Hash;

impl Lower<'_> {
    /// A constant as a value.
    pub(crate) fn known(&mut self, value: Value) -> Ev {
        let types = Types::of_value(&value);
        let (consts, hash) = (&mut self.plan.consts, |hasher: &mut _| hash_value(&value, hasher));
        let (index, is_new) = self.interner.find(consts, hash, |known| *known == value);
        if is_new {
            consts.push(value);
        }
        Ev { operand: Operand::constant(index), types, differs: false }
    }

    /// A constant text as a value; it is copied only if it is new.
    pub(crate) fn known_text(&mut self, text: &[u8]) -> Ev {
        let (consts, hash) = (&mut self.plan.consts, |hasher: &mut _| text.hash(hasher));
        let is_same = |known: &Value| matches!(known, Value::Str(known) if known == text);
        let (index, is_new) = self.interner.find(consts, hash, is_same);
        if is_new {
            consts.push(Value::Str(text.to_vec()));
        }
        Ev { operand: Operand::constant(index), types: Types::STR, differs: false }
    }

    /// The constant that a value is.
    pub(crate) fn constant(&self, ev: Ev) -> Option<&Value> {
        self.constant_of(ev.operand)
    }

    pub(crate) fn constant_of(&self, operand: Operand) -> Option<&Value> {
        match operand.source() {
            Source::Const(index) => self.plan.consts.get(index as usize),
            _ => None,
        }
    }
}

impl<'a> Lower<'a> {
    /// The name at a place. Names are mostly asked for in the order of the text.
    pub(crate) fn mentioned(&self, place: u32) -> Option<Mention> {
        let mentions = &self.facts.mentions;
        let mut at = self.variables.next.get();
        if mentions.get(at).is_none_or(|mention| mention.span.start != place) {
            at = mentions.partition_point(|mention| mention.span.start < place);
        }
        self.variables.next.set(at + 1);
        mentions.get(at).copied().filter(|mention| mention.span.start == place)
    }

    /// The symbol named at a place, if it has a value there.
    pub(crate) fn visible(&self, place: u32) -> Option<Mention> {
        let mention = self.mentioned(place)?;
        self.place(mention.symbol).is_somewhere().then_some(mention)
    }

    /// Where the value of a symbol is.
    pub(crate) fn place(&self, symbol: SymbolId) -> Place {
        self.variables.places[symbol.0 as usize]
    }

    fn set_place(&mut self, symbol: SymbolId, place: Place) {
        self.variables.places[symbol.0 as usize] = place;
    }

    /// The value of a variable.
    pub(crate) fn variable(&mut self, name: Name, span: Span) -> Ev {
        match self.visible(span.start) {
            Some(mention) => self.value_of(mention.symbol, span),
            None => {
                self.not_visible(name, span);
                Ev::BAD
            }
        }
    }

    /// The value of a symbol that has one.
    pub(crate) fn value_of(&mut self, symbol: SymbolId, span: Span) -> Ev {
        if self.open_text(symbol).is_some() {
            return self.opened_text(symbol, span).unwrap_or(Ev::BAD);
        }
        self.note_read(symbol);
        let Place { slot, konst, differs } = self.place(symbol);
        if konst != NO_CONSTANT {
            let types = Types::of_value(&self.plan.consts[konst as usize]);
            return Ev { operand: Operand::constant(konst), types, differs: false };
        }
        if self.asked.is_some() {
            return self.variable_on_rank(symbol, span);
        }
        if self.in_generator && slot.0 & Slot::LOCAL == 0 {
            self.global_in_generator(symbol, span);
            return Ev::BAD;
        }
        Ev { operand: Operand::slot(slot), types: self.facts.symbol(symbol).types, differs }
    }

    /// Lets a symbol be taken for the same on all ranks, or not; what it was taken for before.
    pub(crate) fn set_differs(&mut self, symbol: SymbolId, differs: bool) -> bool {
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
    pub(crate) fn global_slot(&mut self, place: u32, differs: bool) -> Option<Slot> {
        let symbol = self.visible(place)?.symbol;
        let there = self.place(symbol);
        self.set_place(symbol, Place { differs: there.differs || differs, ..there });
        (there.slot != NO_SLOT).then_some(there.slot)
    }

    /// Reports an undefined variable, each once.
    #[cold]
    pub(crate) fn not_visible(&mut self, name: Name, span: Span) {
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

    pub(crate) fn unknown_variable(&self, text: &str, span: Span) -> Diagnostic {
        let message = format!("expected a variable that is set before this place, found ${text}");
        let diagnostic = Diagnostic::new(Code::UnknownVariable, span, message);
        diagnostic.help(self.variable_help(text, span.start))
    }

    fn variable_help(&self, text: &str, place: u32) -> String {
        let named = |symbol: SymbolId| {
            let written = self.sources.text(self.facts.symbol(symbol).span);
            written.strip_prefix('$').unwrap_or(written)
        };
        let end = self.sources.end_of_program();
        let own = |symbol: &Symbol| symbol.kind.is_variable() && symbol.span.start < end;
        let mut all = self.facts.symbols().filter(|(_, symbol)| own(symbol));
        if all.any(|(id, _)| named(id) == text) {
            return format!(
                "${text} is set elsewhere, and is visible from there on: in its loop or proc, or, if the \
                 program sets it, also in procs that are defined later"
            );
        }
        let visible = self.facts.visible_at(place, self.ast, self.sources);
        let variables = visible.filter(|(_, symbol)| symbol.kind.is_variable());
        match nearest(text, variables.map(|(id, _)| named(id))) {
            Some(name) => format!("the nearest is ${name}"),
            None => format!("set it before: ${text} = ..."),
        }
    }

    /// Gives a symbol a slot if it has none. `differs`: its value.
    pub(crate) fn define(&mut self, symbol: SymbolId, differs: bool) -> Slot {
        let here = self.place(symbol);
        if here.slot != NO_SLOT {
            let differs = here.differs || differs;
            self.set_place(symbol, Place { differs, ..here });
            return here.slot;
        }
        let text = self.sources.text(self.facts.symbol(symbol).span);
        let slot = self.frame().fresh(text.strip_prefix('$').unwrap_or(text));
        self.set_slot(symbol, slot, differs);
        slot
    }

    /// Lets a symbol's value be in a slot that is there already.
    pub(crate) fn set_slot(&mut self, symbol: SymbolId, slot: Slot, differs: bool) {
        self.set_place(symbol, Place { slot, konst: NO_CONSTANT, differs });
    }

    /// Lets a symbol be a constant.
    pub(crate) fn define_constant(&mut self, symbol: SymbolId, konst: u32) {
        self.set_place(symbol, Place { slot: NO_SLOT, konst, differs: false });
    }

    /// Takes a symbol's value away: its definition is still to come.
    pub(crate) fn hide(&mut self, symbol: SymbolId) {
        self.set_place(symbol, Place::NOWHERE);
    }

    /// Nothing in the program but one definition sets the symbol.
    pub(crate) fn is_set_once(&self, symbol: SymbolId) -> bool {
        self.facts.symbol(symbol).definitions == 1
    }
}

//! What is known about a value while code is made: where it is, its types, whether
//! it is a constant.

use super::Lower;
use model::Value;
use model::plan::{Operand, Source};
use model::types::Types;

/// An evaluated expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ev {
    /// Where the value is.
    pub(super) operand: Operand,
    /// What it can be; none: it was reported that there is no value.
    pub(super) types: Types,
    /// It differs between ranks.
    pub(super) differs: bool,
}

impl Ev {
    /// It was reported that there is no value; nothing more is said about it.
    pub(super) const BAD: Ev = Ev { operand: Operand::ABSENT, types: Types::NONE, differs: false };

    pub(super) fn is_bad(self) -> bool {
        self.types.is_none()
    }
}

impl Lower<'_> {
    /// A constant as a value.
    pub(super) fn known(&mut self, value: Value) -> Ev {
        let types = Types::of(&value);
        let index = match value {
            Value::Int(n) => self.interner.integer(&mut self.plan, n),
            value => self.interner.constant(&mut self.plan, value),
        };
        Ev { operand: Operand::constant(index), types, differs: false }
    }

    /// A constant text as a value.
    pub(super) fn known_text(&mut self, text: &[u8]) -> Ev {
        let index = self.interner.text(&mut self.plan, text);
        Ev { operand: Operand::constant(index), types: Types::STR, differs: false }
    }

    /// The constant that a value is.
    pub(super) fn constant(&self, ev: Ev) -> Option<&Value> {
        match ev.operand.source() {
            Source::Const(index) => self.plan.consts.get(index as usize),
            _ => None,
        }
    }
}

//! What is known about a value before the program runs.

use super::key::Key;
use model::Value;
use model::plan::{BinaryOp, UnaryOp};
use model::value;
use std::rc::Rc;

/// Why a value is not known, the better reason first: what a closer look could
/// tell comes before what nobody can know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// It follows from the rank, and several ranks are looked at together.
    Rank,
    /// It changes from turn to turn of this loop, which is looked at as a whole.
    Turn(u32),
    /// It is random, comes from the file system, or from code that may not run.
    Never,
}

/// The variable of a loop that is looked at as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// Value in the first turn.
    pub(super) from: i64,
    /// Added in every further turn.
    pub(super) step: i64,
    pub(super) turns: u64,
    /// Number of the loop among those around it.
    pub(super) level: u32,
}

impl Turn {
    /// Value in the last turn.
    pub(super) fn last(self) -> Option<i64> {
        let turns = i64::try_from(self.turns.saturating_sub(1)).ok()?;
        self.from.checked_add(self.step.checked_mul(turns)?)
    }

    /// So many bytes further on in every turn.
    pub(super) fn moved(self, bytes: u64) -> Option<Turn> {
        let from = self.from.checked_add_unsigned(bytes)?;
        let moved = Turn { from, ..self };
        moved.last().map(|_| moved)
    }
}

/// What is known about a value.
#[derive(Clone, Debug)]
pub(super) enum Abs {
    Known(Value),
    Turn(Turn),
    /// The rank minus this: a number that is different on every rank looked at.
    Member(u32),
    /// A text with such numbers in it.
    Text(Rc<Key>),
    /// A file handle: its number in the walker's table.
    Handle(u32),
    Unknown(Why),
}

impl Abs {
    /// Why it is not one known value.
    pub(super) fn why(&self) -> Why {
        match self {
            Abs::Member(_) => Why::Rank,
            Abs::Turn(turn) => Why::Turn(turn.level),
            Abs::Unknown(why) => *why,
            Abs::Text(key) => key.why(),
            Abs::Known(_) | Abs::Handle(_) => Why::Never,
        }
    }

    /// The value as an integer.
    pub(super) fn int(&self) -> Result<i64, Why> {
        match self {
            Abs::Known(value) => value.as_int().map_err(|_| Why::Never),
            other => Err(other.why()),
        }
    }

    /// The value as a condition.
    pub(super) fn condition(&self) -> Result<bool, Why> {
        match self {
            Abs::Known(value) => value.as_condition().map_err(|_| Why::Never),
            other => Err(other.why()),
        }
    }
}

pub(super) fn unary(op: UnaryOp, a: &Abs) -> Abs {
    match a {
        Abs::Known(value) => known(value::unary(op, value)),
        other => Abs::Unknown(other.why()),
    }
}

/// Linear arithmetic on a loop variable stays one; all else is known or not.
pub(super) fn binary(op: BinaryOp, a: &Abs, b: &Abs) -> Abs {
    match (a, b) {
        (Abs::Known(x), Abs::Known(y)) => known(value::binary(op, x, y)),
        (Abs::Turn(turn), Abs::Known(Value::Int(n))) => linear(op, *turn, *n, false),
        (Abs::Known(Value::Int(n)), Abs::Turn(turn)) => linear(op, *turn, *n, true),
        (Abs::Known(_), other) | (other, Abs::Known(_)) => Abs::Unknown(other.why()),
        (a, b) => Abs::Unknown(a.why().max(b.why())),
    }
}

fn linear(op: BinaryOp, turn: Turn, n: i64, swapped: bool) -> Abs {
    let (from, step) = match op {
        BinaryOp::Add => (turn.from.checked_add(n), Some(turn.step)),
        BinaryOp::Sub if !swapped => (turn.from.checked_sub(n), Some(turn.step)),
        BinaryOp::Sub => (n.checked_sub(turn.from), turn.step.checked_neg()),
        BinaryOp::Mul => (turn.from.checked_mul(n), turn.step.checked_mul(n)),
        _ => (None, None),
    };
    match (from, step) {
        (Some(from), Some(step)) => {
            let moved = Turn { from, step, ..turn };
            moved.last().map_or(Abs::Unknown(Why::Turn(turn.level)), |_| Abs::Turn(moved))
        }
        _ => Abs::Unknown(Why::Turn(turn.level)),
    }
}

pub(super) fn known(value: value::Eval<Value>) -> Abs {
    value.map_or(Abs::Unknown(Why::Never), Abs::Known)
}

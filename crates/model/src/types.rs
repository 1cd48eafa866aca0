//! Static types: the set of types a value can have, as far as the text tells.

use crate::Value;
use crate::value::{self, BinaryOp, Outcome, UnaryOp};
use std::sync::LazyLock;

/// A set of types. [`Types::NONE`] is the value of what was reported already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types(u16);

/// How many types there are.
const COUNT: usize = 9;

impl Types {
    /// No type: the value of what was reported already.
    pub const NONE: Types = Types(0);
    /// An integer.
    pub const INT: Types = Types(1);
    /// A float.
    pub const FLOAT: Types = Types(2);
    /// A boolean.
    pub const BOOL: Types = Types(4);
    /// A duration.
    pub const DURATION: Types = Types(8);
    /// A string.
    pub const STR: Types = Types(16);
    /// A file handle of POSIX.
    pub const HANDLE: Types = Types(32);
    /// A file handle of MPI-IO.
    pub const MPI: Types = Types(64);
    /// A list.
    pub const LIST: Types = Types(128);
    /// Outcomes of operations.
    pub const OUTCOME: Types = Types(256);
    /// Every type: nothing is known.
    pub const ANY: Types = Types(511);
    /// Types that are accepted as integers.
    pub const AS_INT: Types = Types(1 | 16 | 256);
    /// Types that can be a condition.
    pub const CONDITION: Types = Types(1 | 4 | 32 | 64 | 256);
    /// Types that arithmetic can give.
    pub const NUMBER: Types = Types(1 | 2 | 8);

    const EACH: [(Types, &'static str); COUNT] = [
        (Types::INT, "an integer"),
        (Types::FLOAT, "a float"),
        (Types::BOOL, "a boolean"),
        (Types::DURATION, "a duration"),
        (Types::STR, "a string"),
        (Types::HANDLE, "a file handle"),
        (Types::MPI, "an MPI file handle"),
        (Types::LIST, "a list"),
        (Types::OUTCOME, "the result of an operation"),
    ];

    /// The types of both sets.
    pub const fn or(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    /// The types in both sets.
    pub fn and(self, other: Types) -> Types {
        Types(self.0 & other.0)
    }

    /// There is no type in it.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Any type where none is left (in code that is never reached).
    pub fn or_any(self) -> Types {
        if self.is_none() { Types::ANY } else { self }
    }

    /// The value can be of one of these types.
    pub fn may(self, other: Types) -> bool {
        self.0 & other.0 != 0
    }

    /// Types of values taken as numbers ([`value::number`]).
    pub fn number(self) -> Types {
        let text = if self.may(Types::STR) { Types::INT.or(Types::FLOAT) } else { Types::NONE };
        let bytes = if self.may(Types::OUTCOME) { Types::INT } else { Types::NONE };
        self.and(Types::NUMBER).or(text).or(bytes)
    }

    /// The types in words: "an integer or a string".
    pub fn describe(self) -> String {
        let names: Vec<&str> =
            Types::EACH.iter().filter(|(t, _)| self.may(*t)).map(|(_, name)| *name).collect();
        names.join(" or ")
    }

    /// The type of a value; handles count as POSIX handles.
    pub fn of_value(value: &Value) -> Types {
        match value {
            Value::Unset => Types::NONE,
            Value::Int(_) => Types::INT,
            Value::Float(_) => Types::FLOAT,
            Value::Bool(_) => Types::BOOL,
            Value::Duration(_) => Types::DURATION,
            Value::Str(_) => Types::STR,
            Value::Handle(..) => Types::HANDLE,
            Value::Outcome(_) => Types::OUTCOME,
            Value::List(_) => Types::LIST,
        }
    }
}

/// Types of the result of an operator with one operand; none: it cannot be applied.
pub fn unary(op: UnaryOp, a: Types) -> Types {
    match op {
        UnaryOp::Not if a.may(Types::CONDITION) => Types::BOOL,
        UnaryOp::Not => Types::NONE,
        UnaryOp::Neg => a.number(),
    }
}

/// Types of the result of an operator with two operands; none: it cannot join these types.
pub fn binary(op: BinaryOp, a: Types, b: Types) -> Types {
    let table = &PAIRS[op as usize];
    if a.0.is_power_of_two() && b.0.is_power_of_two() {
        return table[a.0.trailing_zeros() as usize][b.0.trailing_zeros() as usize];
    }
    let bits = |types: Types| (0..COUNT).filter(move |bit| types.0 >> bit & 1 != 0);
    let pairs = bits(a).flat_map(|a| bits(b).map(move |b| table[a][b]));
    pairs.fold(Types::NONE, Types::or)
}

/// Results of operators, by operator and the bit numbers of the two types.
static PAIRS: LazyLock<Vec<[[Types; COUNT]; COUNT]>> = LazyLock::new(|| {
    let row = |op, a| Types::EACH.map(|(b, _)| pair(op, a, b));
    BinaryOp::ALL.iter().map(|(op, _)| Types::EACH.map(|(a, _)| row(*op, a))).collect()
});

/// One type on each side: asks the operators themselves with samples, so that there
/// is one truth. Strings are sampled with and without a number in them.
fn pair(op: BinaryOp, a: Types, b: Types) -> Types {
    let mut result = Types::NONE;
    for left in samples(a) {
        for right in samples(b) {
            if let Ok(value) = value::binary(op, &left, &right) {
                result = result.or(Types::of_value(&value));
            }
        }
    }
    result
}

fn samples(types: Types) -> Vec<Value> {
    match types {
        Types::INT => vec![Value::Int(1)],
        Types::FLOAT => vec![Value::Float(1.0)],
        Types::BOOL => vec![Value::Bool(true)],
        Types::DURATION => vec![Value::Duration(1)],
        Types::STR => vec![Value::str("1"), Value::str("1.5"), Value::str("a")],
        Types::LIST => vec![Value::List([].into())],
        Types::OUTCOME => vec![Value::Outcome(Outcome::default())],
        _ => vec![Value::Handle(0, 0)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BinaryOp as B;

    #[test]
    fn operators_join_types_as_they_join_values() {
        let (int, text) = (Types::INT, Types::STR);
        for (op, a, b, result) in [
            (B::Add, int, int, int),
            (B::Lt, int, int, Types::BOOL),
            (B::Add, text, text, text),
            (B::Add, text, int, text.or(int).or(Types::FLOAT)),
            (B::Mul, text, int, int.or(Types::FLOAT)),
            (B::Mul, Types::DURATION, int, Types::DURATION),
            (B::Add, Types::DURATION, int, Types::NONE),
            (B::Add, Types::LIST, int, Types::NONE),
            (B::Add, Types::LIST, Types::LIST, Types::LIST),
            (B::Sub, Types::LIST, Types::LIST, Types::NONE),
            (B::Add, Types::HANDLE, int, Types::NONE),
            (B::And, Types::BOOL, int, Types::BOOL),
            (B::And, text, int, Types::NONE),
        ] {
            assert_eq!(binary(op, a, b), result, "{op:?} {a:?} {b:?}");
        }
        assert!(binary(B::Add, Types::ANY, int).may(Types::DURATION.or(int)));
    }

    #[test]
    fn the_operators_are_in_order() {
        assert!(BinaryOp::ALL.iter().enumerate().all(|(at, (op, _))| *op as usize == at));
    }

    #[test]
    fn signs_need_numbers() {
        assert_eq!(unary(UnaryOp::Neg, Types::LIST), Types::NONE);
        assert_eq!(unary(UnaryOp::Neg, Types::STR), Types::INT.or(Types::FLOAT));
        assert_eq!(unary(UnaryOp::Not, Types::STR), Types::NONE);
        assert_eq!(Types::INT.or(Types::STR).describe(), "an integer or a string");
    }
}

//! Collective functions: what each member gives, in words that every communicator can carry.

use super::types::Members;
use model::Value;
use model::plan::Function;

/// The value of a member for a collective function, with the function and the kind of value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given(pub [i64; 2]);

const INT: i64 = 1;
const FLOAT: i64 = 2;
const DURATION: i64 = 3;
const BOOL: i64 = 4;

impl Given {
    /// `None`: the value is no number and no boolean.
    pub fn new(function: Function, value: &Value) -> Option<Given> {
        let (kind, bits) = match *value {
            Value::Int(n) => (INT, n),
            Value::Float(x) => (FLOAT, x.to_bits() as i64),
            Value::Duration(ns) => (DURATION, ns),
            Value::Bool(is) => (BOOL, i64::from(is)),
            _ => return None,
        };
        Some(Given([(function as i64) << 8 | kind, bits]))
    }

    /// The value; `None`: it was given to something else.
    fn value(self, function: Function) -> Option<Value> {
        let [what, bits] = self.0;
        if what >> 8 != function as i64 {
            return None;
        }
        match what & 0xff {
            INT => Some(Value::Int(bits)),
            FLOAT => Some(Value::Float(f64::from_bits(bits as u64))),
            DURATION => Some(Value::Duration(bits)),
            BOOL => Some(Value::Bool(bits != 0)),
            _ => None,
        }
    }
}

/// The values of all members, in their order.
///
/// # Errors
/// A member has come to another statement: a sentence that names it.
pub fn values(
    function: Function,
    members: &Members,
    given: impl IntoIterator<Item = Given>,
    all: &mut Vec<Value>,
) -> Result<(), String> {
    all.clear();
    for (rank, given) in members.ranks.iter().zip(given) {
        let value = given.value(function).ok_or_else(|| {
            format!("rank {rank} has come to another statement than {}", function.row().name)
        })?;
        all.push(value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_arrives_at_the_same_function_only() {
        let members = Members { set: 0, ranks: (4..6).into() };
        let mut all = Vec::new();
        for value in [Value::Int(-3), Value::Float(0.5), Value::Duration(7), Value::Bool(true)] {
            let given = Given::new(Function::Gmax, &value).unwrap();
            values(Function::Gmax, &members, [given, given], &mut all).unwrap();
            assert_eq!(all, [value.clone(), value]);
            let apart = values(Function::Gmin, &members, [given], &mut all);
            assert_eq!(apart, Err("rank 4 has come to another statement than gmin".into()));
        }
        let nothing = values(Function::Gmax, &members, [Given::default()], &mut all);
        assert!(nothing.is_err());
        assert_eq!(Given::new(Function::Gmax, &Value::str("1")), None);
    }
}

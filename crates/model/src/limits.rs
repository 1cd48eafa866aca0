//! How large values and calls can grow. Programs come from strangers: one that doubles a text, or puts
//! a list into itself, in a short loop must end with a sentence, not with the machine's memory.

use crate::value::{Eval, List, Value};
pub use crate::value::{MAX_LIST_DEPTH, MAX_LIST_WEIGHT};
pub use crate::value::{MAX_TEXT_BYTES, check_text};

/// The most that a call moves, unless `with (transfer=...)` says otherwise: larger requests are
/// split, so that the buffers of a rank stay small.
pub const CALL_BYTES: u64 = 256 << 20;

/// Random data that a rank keeps ready: further apart than this no bytes repeat in what it writes.
pub const POOL_BYTES: u64 = 16 << 20;

/// A list of these values.
///
/// # Errors
/// It is nested deeper than [`MAX_LIST_DEPTH`] or heavier than [`MAX_LIST_WEIGHT`].
pub fn list(items: Vec<Value>) -> Eval<Value> {
    List::new(items).map(Value::List)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::BinaryOp;
    use crate::value::binary;

    #[test]
    fn texts_end_at_their_limit() {
        let half = Value::Str(vec![b'x'; MAX_TEXT_BYTES / 2]);
        let add = |a: &Value, b: &Value| binary(BinaryOp::Add, a, b);
        let whole = add(&half, &half).unwrap();
        let error = add(&whole, &half).unwrap_err().to_string();
        assert_eq!(error, "expected a text of at most 1 MiB, found 1572864 bytes");
    }

    #[test]
    fn lists_end_at_their_depth() {
        let mut value = Value::Int(1);
        for _ in 0..MAX_LIST_DEPTH {
            value = list(vec![value]).unwrap();
        }
        assert!(list(vec![value]).unwrap_err().to_string().contains("32 levels"));
    }

    #[test]
    fn lists_that_share_their_parts_end_at_their_weight() {
        let mut value = Value::str("four");
        let mut turns = 0;
        let error = loop {
            match list(vec![value.clone(), value]) {
                Ok(next) => value = next,
                Err(error) => break error,
            }
            turns += 1;
        };
        assert!((16..20).contains(&turns), "{turns}");
        assert!(error.to_string().contains("at most 1 MiB"));
    }
}

//! How large values and calls can grow. Programs come from strangers: one that doubles a text, or puts
//! a list into itself, in a short loop must end with a sentence, not with the machine's memory.

use crate::list::List;
use crate::value::{Eval, EvalError, Value};

/// The most that a call moves, unless `with (transfer=...)` says otherwise: larger requests are
/// split, so that the buffers of a rank stay small.
pub const CALL_BYTES: u64 = 256 << 20;

/// Random data that a rank keeps ready: further apart than this no bytes repeat in what it writes.
pub const POOL_BYTES: u64 = 16 << 20;

/// Longest text that an expression makes, in bytes; file names end at 4,096.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
/// Most that a list holds with all lists in it: one for each value, and the bytes of its texts.
pub const MAX_LIST_WEIGHT: usize = 1 << 20;
/// Lists in lists.
pub const MAX_LIST_DEPTH: usize = 32;

/// A text of `len` bytes may be made.
///
/// # Errors
/// It is longer than [`MAX_TEXT_BYTES`].
#[inline(always)]
pub fn check_text(len: usize) -> Eval<()> {
    if len > MAX_TEXT_BYTES { Err(too_long(len)) } else { Ok(()) }
}

#[cold]
fn too_long(len: usize) -> EvalError {
    EvalError::Range("expected a text of at most 1 MiB", format!("{len} bytes"))
}

/// Two texts in a row.
///
/// # Errors
/// The result is longer than [`MAX_TEXT_BYTES`].
pub fn joined(a: &[u8], b: &[u8]) -> Eval<Value> {
    check_text(a.len().saturating_add(b.len()))?;
    Ok(Value::Str([a, b].concat()))
}

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

    #[test]
    fn texts_end_at_their_limit() {
        let half = vec![b'x'; MAX_TEXT_BYTES / 2];
        assert!(joined(&half, &half).is_ok());
        let error = joined(&half, &vec![b'x'; MAX_TEXT_BYTES]).unwrap_err();
        let told = error.to_string();
        assert_eq!(told, "expected a text of at most 1 MiB, found 1572864 bytes");
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

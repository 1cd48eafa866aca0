//! A path in a buffer that is used again for every operation.

use model::value::{Eval, EvalError};
use std::ffi::CStr;

/// A path that ends with its only NUL.
#[derive(Debug)]
pub(super) struct PathText {
    bytes: Vec<u8>,
}

impl PathText {
    pub(super) fn new() -> PathText {
        PathText { bytes: vec![0] }
    }

    /// Replaces the path by what `render` appends. A NUL in it is an error, because
    /// the kernel would take the path to end there.
    #[inline(always)]
    pub(super) fn fill(&mut self, render: impl FnOnce(&mut Vec<u8>) -> Eval<()>) -> Eval<()> {
        self.bytes.clear();
        let rendered = render(&mut self.bytes);
        let whole = !has_nul(&self.bytes);
        if rendered.is_err() || !whole {
            self.bytes.clear();
        }
        self.bytes.push(0);
        rendered?;
        if whole { Ok(()) } else { Err(contains_nul()) }
    }

    #[inline(always)]
    pub(super) fn as_c_str(&self) -> &CStr {
        // SAFETY: `new` and `fill` leave exactly one NUL, at the end.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.bytes) }
    }

    /// Without the NUL.
    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - 1]
    }
}

/// Eight bytes at a time: paths are too short for a call of memchr to pay.
#[inline(always)]
fn has_nul(bytes: &[u8]) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let words = bytes.chunks_exact(8);
    let rest = words.remainder();
    let word = |chunk: &[u8]| chunk.try_into().map_or(0, u64::from_ne_bytes);
    // The borrow of `word - LOW` reaches the top bit of a byte first where it is 0.
    let zero = |word: u64| word.wrapping_sub(LOW) & !word & (LOW << 7);
    let found = words.fold(0, |found, chunk| found | zero(word(chunk)));
    found != 0 || rest.contains(&0)
}

#[cold]
fn contains_nul() -> EvalError {
    EvalError::Type("a path", "a text with a zero byte in it".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_is_found_at_every_place() {
        for len in 0..40 {
            let mut bytes = vec![0x80; len];
            assert!(!has_nul(&bytes));
            for at in 0..len {
                bytes[at] = 0;
                assert!(has_nul(&bytes), "{at} of {len}");
                bytes[at] = 1;
            }
        }
    }

    #[test]
    fn a_path_ends_with_its_only_nul() {
        let mut path = PathText::new();
        let render = |text: &'static [u8]| {
            move |out: &mut Vec<u8>| {
                out.extend_from_slice(text);
                Ok(())
            }
        };
        path.fill(render(b"a/b")).unwrap();
        assert_eq!((path.as_c_str(), path.bytes()), (c"a/b", &b"a/b"[..]));
        assert!(path.fill(render(b"a\0b")).is_err());
        assert_eq!(path.as_c_str(), c"");
        assert!(path.fill(|_| Err(EvalError::Unset)).is_err());
        assert_eq!(path.as_c_str(), c"");
    }
}

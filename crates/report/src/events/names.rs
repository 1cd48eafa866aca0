//! Paths as text, reversibly: file names are bytes, Parquet strings are UTF-8.

use std::borrow::Cow;

/// `bytes` as text: a backslash becomes `\\`, a byte that is not UTF-8 `\xHH`.
pub(super) fn encode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\\') => return Cow::Borrowed(text),
        _ => {}
    }
    let mut out = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        out.push_str(&chunk.valid().replace('\\', "\\\\"));
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02X}")));
    }
    Cow::Owned(out)
}

/// The bytes that [`encode`] was given; `None` if it cannot have made this text.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.extend_from_slice(before.as_bytes());
        rest = if let Some(after) = after.strip_prefix('\\') {
            out.push(b'\\');
            after
        } else {
            let digits = after.strip_prefix('x')?.get(..2)?;
            out.push(u8::from_str_radix(digits, 16).ok()?);
            &after[3..]
        };
    }
    out.extend_from_slice(rest.as_bytes());
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_names_stay_as_they_are() {
        assert_eq!(encode("dir/ü-1".as_bytes()), "dir/ü-1");
        assert_eq!(encode(b"a\\b\xff"), "a\\\\b\\xFF");
        for text in ["\\", "\\y", "\\x1", "\\xü"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_name_comes_back(bytes in prop::collection::vec(prop::num::u8::ANY, 0..40)) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn no_text_makes_decoding_panic(text in any::<String>(), slashes in "[\\\\x0-9ü]{0,12}") {
            for text in [text, slashes] {
                if let Some(bytes) = decode(&text) {
                    prop_assert!(bytes.len() <= text.len());
                }
            }
        }
    }
}

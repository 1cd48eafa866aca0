//! Appending short texts and numbers to a buffer: half of what rendering a path
//! costs would be calls of memcpy for a few bytes, so these copy in registers.

/// Texts up to this length are copied in registers.
const SHORT: usize = 16;

/// Appends bytes.
#[inline(always)]
pub(super) fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = bytes.len();
    if len > SHORT {
        return out.extend_from_slice(bytes);
    }
    out.reserve(SHORT);
    // SAFETY: there is room for SHORT bytes after the buffer's end; reads and writes
    // stay within the first `len` of source and room; both have no alignment to keep.
    unsafe {
        let (from, to) = (bytes.as_ptr(), out.as_mut_ptr().add(out.len()));
        if len >= 8 {
            let tail = len - 8;
            let first = from.cast::<u64>().read_unaligned();
            let last = from.add(tail).cast::<u64>().read_unaligned();
            to.cast::<u64>().write_unaligned(first);
            to.add(tail).cast::<u64>().write_unaligned(last);
        } else if len >= 4 {
            let tail = len - 4;
            let first = from.cast::<u32>().read_unaligned();
            let last = from.add(tail).cast::<u32>().read_unaligned();
            to.cast::<u32>().write_unaligned(first);
            to.add(tail).cast::<u32>().write_unaligned(last);
        } else if len > 0 {
            *to = *from;
            *to.add(len / 2) = *from.add(len / 2);
            *to.add(len - 1) = *from.add(len - 1);
        }
        out.set_len(out.len() + len);
    }
}

/// Appends an integer in decimal.
#[inline(always)]
pub(super) fn push_int(out: &mut Vec<u8>, n: i64) {
    push_bytes(out, itoa::Buffer::new().format(n).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_of_every_length_are_appended() {
        let text: Vec<u8> = (1..=40).collect();
        for len in 0..=text.len() {
            let mut out = b"before".to_vec();
            push_bytes(&mut out, &text[..len]);
            assert_eq!(out, [b"before", &text[..len]].concat());
        }
    }

    proptest! {
        #[test]
        fn integers_are_appended_in_decimal(n in any::<i64>(), shift in 0u32..64) {
            for n in [n, n >> shift, i64::MIN, i64::MAX, 0, -1] {
                let mut out = vec![b'x'];
                push_int(&mut out, n);
                prop_assert_eq!(String::from_utf8(out).unwrap(), format!("x{n}"));
            }
        }
    }
}

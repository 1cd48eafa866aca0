//! Appending short texts and numbers to a buffer: half of what rendering a path
//! costs would be calls of memcpy for a few bytes, so these copy in registers.

/// Texts up to this length are copied in registers.
const SHORT: usize = 16;
/// Digits of `u64::MAX`, and a sign.
const DIGITS_MAX: usize = 21;
static PAIRS: [u8; 200] = pairs();

/// "00" to "99".
const fn pairs() -> [u8; 200] {
    let mut pairs = [0; 200];
    let mut n = 0;
    while n < 100 {
        pairs[2 * n] = b'0' + (n / 10) as u8;
        pairs[2 * n + 1] = b'0' + (n % 10) as u8;
        n += 1;
    }
    pairs
}

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

/// Appends an integer in decimal. The digits are written where they stay: writing
/// them elsewhere in pairs and reading them back in words costs a failed store forwarding.
#[inline(always)]
pub(super) fn push_int(out: &mut Vec<u8>, n: i64) {
    let mut rest = n.unsigned_abs();
    let sign = usize::from(n < 0);
    let len = sign + digits(rest);
    out.reserve(DIGITS_MAX);
    // SAFETY: there is room for DIGITS_MAX bytes after the buffer's end, at least `len`;
    // `digits` says how many bytes the loops write before the sign, from the end to the start.
    unsafe {
        let to = out.as_mut_ptr().add(out.len());
        let mut at = to.add(len);
        while rest >= 10 {
            let pair = PAIRS.as_ptr().add(2 * (rest % 100) as usize);
            rest /= 100;
            at = at.sub(2);
            at.cast::<u16>().write_unaligned(pair.cast::<u16>().read_unaligned());
        }
        if at > to.add(sign) {
            *at.sub(1) = b'0' + rest as u8;
        }
        if sign == 1 {
            *to = b'-';
        }
        out.set_len(out.len() + len);
    }
}

/// Decimal digits of a number; 1 for 0.
#[inline(always)]
fn digits(n: u64) -> usize {
    n.checked_ilog10().map_or(1, |log| log as usize + 1)
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

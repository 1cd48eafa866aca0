//! Time lines as few bytes: numbers in LEB128, times and sizes as codes of a logarithm, zlib, base64.
//!
//! ```text
//! cells      sections, each after its length as u32: cells per stream, gaps, calls, bytes,
//!            codes of the times (high bytes, low bytes), codes of the longest (high, low)
//! latencies  per operation: columns; per column: gap, codes; per code: gap, calls
//! offsets    per file and class: file, class, cells; per cell: gap of column * rows + row, code of the bytes
//! ```
//!
//! A gap is the number itself for the first one and then the distance to the one before, less one.

use super::cells::Cell;
use super::offsets::{OffsetCell, ROWS};
use super::timeline::Latency;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;

/// Codes of a time in a cell for each doubling: known to 0.6 %.
const TIME_CODES: u32 = 64;
/// The same of bytes at a position.
const BYTE_CODES: u32 = 4;
/// The largest whole number that every reader of JSON and JavaScript has.
const LARGEST: u64 = 1 << 53;

/// 0 for 0, else 1 + floor(codes * log2(value)).
#[inline]
pub(crate) fn code(value: u64, codes: u32) -> u64 {
    match value {
        0 => 0,
        value => 1 + (f64::from(codes) * (value as f64).log2()).floor() as u64,
    }
}

/// LEB128: seven bits a byte, the lowest first.
fn put(out: &mut Vec<u8>, value: u64) {
    let mut rest = value.min(LARGEST);
    while rest >= 128 {
        out.push(rest as u8 | 128);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Puts numbers that rise as gaps.
#[derive(Default)]
struct Gaps(Option<u64>);

impl Gaps {
    fn put(&mut self, out: &mut Vec<u8>, value: u64) {
        put(out, self.0.map_or(value, |last| value - last - 1));
        self.0 = Some(value);
    }
}

/// Cells in the order of streams and columns.
pub(crate) fn cells(streams: usize, cells: &[Cell]) -> Vec<u8> {
    let mut sections: [Vec<u8>; 8] = [const { Vec::new() }; 8];
    let [counts, gaps, calls, bytes, busy_high, busy_low, longest_high, longest_low] =
        &mut sections;
    let mut rest = cells;
    for stream in 0..streams as u32 {
        let own = rest.partition_point(|cell| cell.stream <= stream);
        put(counts, own as u64);
        let mut gap = Gaps::default();
        for cell in &rest[..own] {
            gap.put(gaps, u64::from(cell.column));
            put(calls, cell.calls);
            put(bytes, cell.bytes);
            let [high, low] = (code(cell.busy_ns, TIME_CODES) as u16).to_be_bytes();
            busy_high.push(high);
            busy_low.push(low);
            if cell.calls > 1 {
                let [high, low] = (code(cell.longest_ns, TIME_CODES) as u16).to_be_bytes();
                longest_high.push(high);
                longest_low.push(low);
            }
        }
        rest = &rest[own..];
    }
    let length = |section: &Vec<u8>| (section.len() as u32).to_le_bytes();
    sections.iter().flat_map(|section| [&length(section)[..], section].concat()).collect()
}

/// Calls by operation, column and code.
pub(crate) fn latencies(ops: usize, all: &[Latency]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = all;
    for op in 0..ops {
        let own = rest.partition_point(|one| one.op <= op);
        let columns = || rest[..own].chunk_by(|a, b| a.column == b.column);
        put(&mut out, columns().count() as u64);
        let mut column_gap = Gaps::default();
        for column in columns() {
            column_gap.put(&mut out, column[0].column as u64);
            put(&mut out, column.len() as u64);
            let mut gap = Gaps::default();
            for one in column {
                gap.put(&mut out, one.code);
                put(&mut out, one.calls);
            }
        }
        rest = &rest[own..];
    }
    out
}

/// Bytes by file, class, column and row.
pub(crate) fn offsets(all: &[OffsetCell]) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in all.chunk_by(|a, b| (a.file, a.is_write) == (b.file, b.is_write)) {
        put(&mut out, entry[0].file as u64);
        put(&mut out, u64::from(entry[0].is_write));
        put(&mut out, entry.len() as u64);
        let mut gap = Gaps::default();
        for cell in entry {
            gap.put(&mut out, (cell.column * ROWS + cell.row) as u64);
            put(&mut out, code(cell.bytes, BYTE_CODES));
        }
    }
    out
}

/// Compressed, as text.
pub(crate) fn packed(bytes: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // A vector takes everything.
    let _ = encoder.write_all(bytes);
    base64(&encoder.finish().unwrap_or_default())
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            out.push(if digit > three.len() { '=' } else { char::from(DIGITS[value as usize]) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let coded = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        assert_eq!(texts.map(|text| base64(text.as_bytes())), coded);
    }

    #[test]
    fn codes_are_near_their_values_and_fit() {
        for value in [1u64, 2, 3, 1000, 123_456_789, u64::MAX] {
            let code = code(value, TIME_CODES);
            let decoded = ((code as f64 - 1.0 + 0.5) / 64.0).exp2();
            assert!((decoded / value as f64 - 1.0).abs() < 0.006, "{value} {decoded}");
            assert!(code <= u64::from(u16::MAX));
        }
        assert_eq!([code(0, 64), code(1, 64), code(2, 16), code(u64::MAX, 16)], [0, 1, 17, 1025]);
    }
}

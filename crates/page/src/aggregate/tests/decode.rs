//! What a reader of a page makes of the time line, written from the description of its format.

use flate2::read::ZlibDecoder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;

/// Calls, bytes, busy time and longest call of a cell.
pub type Sums = (u64, u64, f64, f64);

/// An execution.
pub struct Decoded {
    pub json: Value,
    /// By number of the stream and column.
    pub cells: BTreeMap<(usize, u64), Sums>,
    /// By number of the operation, column and code.
    pub latencies: BTreeMap<(usize, u64, u64), u64>,
    /// Code by file, class and column * rows + row.
    pub offsets: BTreeMap<(u64, u64, u64), u64>,
}

impl Decoded {
    pub fn of(json: &Value) -> Decoded {
        let bytes = |text: &Value| unpack(text.as_str().expect("a text"));
        let ops = json["ops"].as_array().unwrap().len();
        Decoded {
            cells: cells(&bytes(&json["cells"])),
            latencies: latencies(ops, &mut Numbers::of(&bytes(&json["latency"]["data"]))),
            offsets: offsets(&mut Numbers::of(&bytes(&json["offsets"]["data"]))),
            json: json.clone(),
        }
    }

    pub fn number(&self, name: &str) -> u64 {
        self.json[name].as_u64().unwrap_or_else(|| panic!("{name}: {}", self.json[name]))
    }
}

fn unpack(text: &str) -> Vec<u8> {
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    for four in text.as_bytes().chunks(4) {
        let value = |byte: u8| digits.find(char::from(byte)).unwrap_or(0) as u32;
        let bits = four.iter().fold(0, |bits, byte| bits << 6 | value(*byte));
        let padding = four.iter().filter(|byte| **byte == b'=').count();
        bytes.extend(&bits.to_be_bytes()[1..4 - padding]);
    }
    let mut out = Vec::new();
    ZlibDecoder::new(&bytes[..]).read_to_end(&mut out).expect("zlib");
    out
}

/// Numbers in LEB128.
struct Numbers(std::vec::IntoIter<u64>);

impl Numbers {
    fn of(bytes: &[u8]) -> Numbers {
        let (mut all, mut value, mut shift) = (Vec::new(), 0u64, 0);
        for byte in bytes {
            value += u64::from(byte & 127) << shift;
            shift += 7;
            if byte & 128 == 0 {
                all.push(std::mem::take(&mut value));
                shift = 0;
            }
        }
        Numbers(all.into_iter())
    }

    fn next(&mut self) -> u64 {
        self.0.next().expect("a number")
    }

    /// The number behind `last`.
    fn behind(&mut self, last: &mut Option<u64>) -> u64 {
        let value = last.map_or(0, |last| last + 1) + self.next();
        *last = Some(value);
        value
    }

    fn is_at_end(&self) -> bool {
        self.0.len() == 0
    }
}

/// Nanoseconds of a code of 64 for each octave.
fn time(code: u16) -> f64 {
    if code == 0 { 0.0 } else { ((f64::from(code) - 0.5) / 64.0).exp2() }
}

fn cells(mut bytes: &[u8]) -> BTreeMap<(usize, u64), Sums> {
    let mut sections = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let (section, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        sections.push(section);
        bytes = rest;
    }
    assert!(bytes.is_empty() && sections.len() == 8);
    let mut counts = Numbers::of(sections[0]);
    let [mut gaps, mut calls, mut moved] = [1, 2, 3].map(|at: usize| Numbers::of(sections[at]));
    let codes = |high: usize| {
        let both = sections[high].iter().zip(sections[high + 1]);
        let codes: Vec<u16> = both.map(|(high, low)| u16::from_be_bytes([*high, *low])).collect();
        codes.into_iter()
    };
    let (mut busy, mut longest) = (codes(4), codes(6));
    let mut found = BTreeMap::new();
    let mut stream = 0;
    while !counts.is_at_end() {
        let mut last = None;
        for _ in 0..counts.next() {
            let (column, calls) = (gaps.behind(&mut last), calls.next());
            let own = time(busy.next().unwrap());
            let most = if calls > 1 { time(longest.next().unwrap()) } else { own };
            found.insert((stream, column), (calls, moved.next(), own, most));
        }
        stream += 1;
    }
    assert!(gaps.is_at_end() && calls.is_at_end() && moved.is_at_end());
    assert!(busy.len() == 0 && longest.len() == 0);
    found
}

fn latencies(ops: usize, numbers: &mut Numbers) -> BTreeMap<(usize, u64, u64), u64> {
    let mut found = BTreeMap::new();
    for op in 0..ops {
        let mut last_column = None;
        for _ in 0..numbers.next() {
            let column = numbers.behind(&mut last_column);
            let mut last = None;
            for _ in 0..numbers.next() {
                let code = numbers.behind(&mut last);
                found.insert((op, column, code), numbers.next());
            }
        }
    }
    assert!(numbers.is_at_end());
    found
}

fn offsets(numbers: &mut Numbers) -> BTreeMap<(u64, u64, u64), u64> {
    let mut found = BTreeMap::new();
    while !numbers.is_at_end() {
        let (file, class) = (numbers.next(), numbers.next());
        let mut last = None;
        for _ in 0..numbers.next() {
            let place = numbers.behind(&mut last);
            found.insert((file, class, place), numbers.next());
        }
    }
    found
}

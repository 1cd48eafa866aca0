//! Names with their numbers cut out: `out/file-17.dat` is the template `out/file-#.dat` and 17.
//!
//! A number that is padded with zeros keeps its width in the template, so that `step-0009` and
//! `step-0010` are the same template.

use model::escape::is_harmful;
use std::collections::HashMap;

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Bytes as they are.
    Text(Vec<u8>),
    /// A number; `width` digits at least, padded with zeros (0: not padded).
    Number {
        /// Smallest number of digits.
        width: usize,
    },
}

/// Names of a log, by their number there.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// A part of a template.
    pub templates: Vec<Vec<Part>>,
    /// Template and numbers of each name.
    pub of: Vec<(u32, Vec<i64>)>,
}

/// Longest run of digits that is a number; longer ones are text.
const DIGITS_MAX: usize = 18;

impl Names {
    /// Takes names apart.
    pub fn new<'a>(names: impl Iterator<Item = &'a [u8]> + Clone) -> Names {
        let mut widths = HashMap::new();
        for name in names.clone() {
            learn(name, &mut widths);
        }
        let mut known: HashMap<Vec<Part>, u32> = HashMap::new();
        let mut made = Names::default();
        for name in names {
            let (parts, numbers) = split_name(name, &widths);
            let next = known.len() as u32;
            let template = *known.entry(parts).or_insert_with_key(|parts| {
                made.templates.push(parts.clone());
                next
            });
            made.of.push((template, numbers));
        }
        made
    }
}

/// How the numbers at one place of names that are alike are written.
#[derive(Clone, Copy, Debug, Default)]
struct Widths {
    /// Shortest run of digits.
    shortest: usize,
    /// Longest run that begins with a zero; 0: none does.
    padded: usize,
    /// Shortest one of those.
    padded_shortest: usize,
}

/// Text and runs of digits in turn, beginning with a text that may be empty.
fn runs(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    name.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit())
}

fn is_number(run: &[u8]) -> bool {
    run[0].is_ascii_digit() && run.len() <= DIGITS_MAX
}

/// The name without its numbers: names that are alike have the same.
fn skeleton(name: &[u8]) -> Vec<u8> {
    let mut skeleton = Vec::with_capacity(name.len());
    for run in runs(name) {
        skeleton.extend_from_slice(if is_number(run) { b"\0" } else { run });
    }
    skeleton
}

fn learn(name: &[u8], widths: &mut HashMap<Vec<u8>, Vec<Widths>>) {
    let known = widths.entry(skeleton(name)).or_default();
    for (at, run) in runs(name).filter(|run| is_number(run)).enumerate() {
        if at == known.len() {
            known.push(Widths { shortest: run.len(), ..Widths::default() });
        }
        let seen = &mut known[at];
        seen.shortest = seen.shortest.min(run.len());
        if run.len() > 1 && run[0] == b'0' {
            let shortest = if seen.padded == 0 { run.len() } else { seen.padded_shortest };
            seen.padded_shortest = shortest.min(run.len());
            seen.padded = seen.padded.max(run.len());
        }
    }
}

fn split_name(name: &[u8], widths: &HashMap<Vec<u8>, Vec<Widths>>) -> (Vec<Part>, Vec<i64>) {
    let known = widths.get(&skeleton(name)).map_or(&[][..], Vec::as_slice);
    let (mut parts, mut numbers) = (Vec::new(), Vec::new());
    let mut at = 0;
    for run in runs(name) {
        let seen = known.get(at).copied().unwrap_or_default();
        at += usize::from(is_number(run));
        match width(run, seen).zip(parse(run)) {
            Some((width, number)) => {
                parts.push(Part::Number { width });
                numbers.push(number);
            }
            None => push_text(&mut parts, run),
        }
    }
    (parts, numbers)
}

/// How the number in these digits is written; `None`: they stay text.
fn width(run: &[u8], seen: Widths) -> Option<usize> {
    if !is_number(run) {
        return None;
    }
    match seen.padded {
        0 => Some(0),
        padded if padded == seen.padded_shortest && seen.shortest >= padded => Some(padded),
        // Padded to several widths: the digits themselves are the name.
        _ => None,
    }
}

fn parse(run: &[u8]) -> Option<i64> {
    std::str::from_utf8(run).ok()?.parse().ok()
}

fn push_text(parts: &mut Vec<Part>, text: &[u8]) {
    match parts.last_mut() {
        Some(Part::Text(last)) => last.extend_from_slice(text),
        _ => parts.push(Part::Text(text.to_vec())),
    }
}

/// Bytes as they stand between quotes.
pub fn quoted(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' | '$' => text.extend(['\\', c]),
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                c if is_harmful(c) => {
                    let mut buffer = [0; 4];
                    let bytes = c.encode_utf8(&mut buffer).bytes();
                    bytes.for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
                }
                c => text.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(names: &[&str]) -> Vec<String> {
        let made = Names::new(names.iter().map(|name| name.as_bytes()));
        let show = |(template, numbers): &(u32, Vec<i64>)| {
            let text: String = made.templates[*template as usize]
                .iter()
                .map(|part| match part {
                    Part::Text(text) => String::from_utf8_lossy(text).into_owned(),
                    Part::Number { width } => format!("<{width}>"),
                })
                .collect();
            format!("{text} {numbers:?}")
        };
        made.of.iter().map(show).collect()
    }

    #[test]
    fn numbers_are_cut_out_with_the_width_they_are_padded_to() {
        for (names, expected) in [
            (&["a-9.dat", "a-10.dat"][..], &["a-<0>.dat [9]", "a-<0>.dat [10]"][..]),
            (
                &["s0009", "s0010", "s1000", "s12345"],
                &["s<4> [9]", "s<4> [10]", "s<4> [1000]", "s<4> [12345]"],
            ),
            (&["x01", "x001"], &["x01 []", "x001 []"]),
            (&["x01", "x7"], &["x01 []", "x7 []"]),
            (&["0", "7/8"], &["<0> [0]", "<0>/<0> [7, 8]"]),
            (&["n1234567890123456789"], &["n1234567890123456789 []"]),
            (&["plain", ""], &["plain []", " []"]),
        ] {
            assert_eq!(show(names), expected, "{names:?}");
        }
    }

    #[test]
    fn quoted_bytes_are_read_back() {
        assert_eq!(quoted(b"a\"$b\\\n\xff\x1b"), "a\\\"\\$b\\\\\\n\\xff\\x1b");
    }
}

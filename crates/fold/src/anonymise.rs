//! Names that tell nothing: every word of every name is replaced, the same word by the same one.
//!
//! ```text
//! patients/smith-0017.csv    -> a/b-0017.c
//! ```
//!
//! Numbers stay, because loops run over them; of words that look like hashes nothing stays. In labels the
//! words stay that Parabench itself gives phases: `write`, `files`.

use super::log::Log;
use model::directory::prefixed;
use model::{Op, escape};
use std::collections::{BTreeMap, HashSet};

/// First line of a map of words.
pub const MAP_HEAD: &str =
    "# Words that parabench fold --anonymise replaced: the new one, a tab, the old one.";

/// The map as text. What would end a line or a word in it, and what is no UTF-8, is escaped: `\\`, `\t`,
/// `\n`, `\xff`.
pub fn map(words: &BTreeMap<Vec<u8>, String>) -> String {
    let escaped = |word: &[u8]| {
        let parts: Vec<String> = word.split(|byte| *byte == b'\\').map(escape::bytes).collect();
        parts.join("\\\\")
    };
    let lines = words.iter().map(|(old, new)| format!("{new}\t{}\n", escaped(old)));
    format!("{MAP_HEAD}\n{}", lines.collect::<String>())
}

/// Words of phases beside the names of operations.
const OWN: [&str; 6] = ["and", "files", "list", "open", "other", "read"];
/// Shortest word of hexadecimal digits that looks like a hash.
const HEX_DIGITS: usize = 8;
/// Fewest numbers of an address or a date.
const ADDRESS_NUMBERS: usize = 3;
/// Longest number that stays.
const NUMBER_DIGITS: usize = 5;

/// Replaces the names of files and labels; gives original and new words, in order.
pub fn anonymise(log: &mut Log) -> BTreeMap<Vec<u8>, String> {
    let mut words = Words::default();
    let known = log.paths.iter().map(Vec::as_slice).chain(log.labels.iter().map(|l| l.as_bytes()));
    for name in known.clone() {
        words.reserved.extend(runs(name).map(lower));
    }
    let paths = log.paths.iter().map(|path| words.path(path, &log.directories)).collect();
    words.is_label = true;
    let labels = log.labels.iter().map(|label| words.name(label.as_bytes()));
    let labels: Vec<String> =
        labels.map(|label| String::from_utf8_lossy(&label).into_owned()).collect();
    words.is_label = false;
    (log.paths, log.labels) = (paths, labels);
    for name in &mut log.directories {
        *name = String::from_utf8_lossy(&words.part(name.as_bytes())).into_owned();
    }
    words.given
}

#[derive(Default)]
struct Words {
    /// New words by old ones.
    given: BTreeMap<Vec<u8>, String>,
    /// Words of the log, which no new word is.
    reserved: HashSet<String>,
    next: usize,
    /// Own words stay.
    is_label: bool,
}

impl Words {
    /// A name; that of a further directory stays apart from what lies in it.
    fn path(&mut self, path: &[u8], directories: &[String]) -> Vec<u8> {
        let known = |name: &[u8]| directories.iter().any(|known| known.as_bytes() == name);
        match prefixed(path).filter(|(name, _)| known(name)) {
            Some((name, rest)) => [self.part(name), b":".to_vec(), self.name(rest)].concat(),
            None => self.name(path),
        }
    }

    fn name(&mut self, name: &[u8]) -> Vec<u8> {
        let parts: Vec<Vec<u8>> = name.split(|byte| *byte == b'/').map(|p| self.part(p)).collect();
        parts.join(&b'/')
    }

    fn part(&mut self, part: &[u8]) -> Vec<u8> {
        if looks_like_hash(part) {
            return self.word(part).into_bytes();
        }
        if let Some((before, rest)) = beside_address(part) {
            let address = &part[before.len()..part.len() - rest.len()];
            let before = self.part(before);
            return [before, self.word(address).into_bytes(), self.part(rest)].concat();
        }
        let is_word = |byte: u8| byte.is_ascii_digit() || is_letter(byte);
        let mut new = Vec::new();
        for word in part.chunk_by(|a, b| is_word(*a) == is_word(*b)) {
            match word[0] {
                byte if !is_word(byte) => new.extend_from_slice(word),
                _ if is_random(word) => new.extend(self.word(word).into_bytes()),
                _ => runs(word).for_each(|run| new.extend(self.run(run))),
            }
        }
        new
    }

    /// A number, or what letters become.
    fn run(&mut self, run: &[u8]) -> Vec<u8> {
        match run[0].is_ascii_digit() || (self.is_label && is_own(run)) {
            true => run.to_vec(),
            false => self.word(run).into_bytes(),
        }
    }

    fn word(&mut self, word: &[u8]) -> String {
        if let Some(new) = self.given.get(word) {
            return new.clone();
        }
        let new = loop {
            let new = letters(self.next);
            self.next += 1;
            if !self.reserved.contains(&new) {
                break new;
            }
        };
        self.given.insert(word.to_vec(), new.clone());
        new
    }
}

/// Bytes of words: everything that is neither a digit nor ASCII punctuation.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || !byte.is_ascii() || byte.is_ascii_control()
}

/// Words, numbers and what stands between them.
fn runs(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let kind = |byte: &u8| (byte.is_ascii_digit(), is_letter(*byte));
    name.chunk_by(move |a, b| kind(a) == kind(b))
}

fn lower(word: &[u8]) -> String {
    String::from_utf8_lossy(word).to_lowercase()
}

/// Numbers and words alternate often, or a number is long.
fn looks_like_hash(part: &[u8]) -> bool {
    let mixed = runs(part).filter(|run| run[0].is_ascii_alphanumeric()).count();
    runs(part).any(|run| run[0].is_ascii_digit() && run.len() > NUMBER_DIGITS) || mixed > 6
}

/// Separators in names of three or more numbers with too many digits together for counters:
/// `192.168.1.77`, `2026-11-23`, `555-12-3456`.
fn beside_address(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_in = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    let mut at = 0;
    for run in part.chunk_by(|a, b| is_in(a) == is_in(b)) {
        let digits = |byte: &&u8| byte.is_ascii_digit();
        let numbers = run.split(|byte| !byte.is_ascii_digit()).filter(|number| !number.is_empty());
        if numbers.count() >= ADDRESS_NUMBERS && run.iter().filter(digits).count() > NUMBER_DIGITS {
            let first = run.iter().position(u8::is_ascii_digit)?;
            let last = run.iter().rposition(u8::is_ascii_digit)?;
            return Some((&part[..at + first], &part[at + last + 1..]));
        }
        at += run.len();
    }
    None
}

/// A word of letters and digits that nobody counts by: a digit stands before a letter (`7b`, `9tzLmM`), or
/// all of a long one are hexadecimal digits (`deadbeefcafe1234`).
fn is_random(word: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| word.iter().any(is);
    let begins = word[0].is_ascii_digit() && has(u8::is_ascii_alphabetic);
    let is_hex = word.len() >= HEX_DIGITS && word.iter().all(u8::is_ascii_hexdigit);
    begins || (is_hex && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic))
}

/// Parabench calls phases so.
fn is_own(word: &[u8]) -> bool {
    let word = String::from_utf8_lossy(word);
    OWN.contains(&&*word) || Op::find(&word).is_some()
}

/// a, b, ..., z, ba, bb, ...
fn letters(mut number: usize) -> String {
    let mut word = Vec::new();
    loop {
        word.push(b'a' + (number % 26) as u8);
        number /= 26;
        if number == 0 {
            break;
        }
    }
    word.iter().rev().map(|byte| char::from(*byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_can_be_read_back() {
        let old =
            [&b"plain"[..], b"tab\tand\nend", b"back\\slash", b"caf\xe9", "caf\u{e9}".as_bytes()];
        let words =
            old.into_iter().map(<[u8]>::to_vec).zip(["a", "b", "c", "d", "e"].map(String::from));
        let text = map(&words.collect());
        let mut lines: Vec<&str> = text.lines().skip(1).collect();
        lines.sort_unstable();
        let expected =
            ["a\tplain", "b\ttab\\tand\\nend", "c\tback\\\\slash", "d\tcaf\\xe9", "e\tcaf\u{e9}"];
        assert_eq!(lines, expected);
    }

    #[test]
    fn of_words_that_look_like_hashes_nothing_is_left() {
        let names = ["x/deadbeefcafe1234.h5", "7b/0f", "tmp_obj_9tzLmM", "step10-rank3.dat2"];
        let mut log = Log {
            paths: names.iter().map(|name| name.as_bytes().to_vec()).collect(),
            labels: ["write files", "read *.dat and delete step", "python3"]
                .map(String::from)
                .into(),
            ..Log::default()
        };
        anonymise(&mut log);
        let paths: Vec<String> =
            log.paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        assert_eq!(paths, ["a/c.d5", "e/g", "i_j_k", "l10-m3.n2"]);
        assert_eq!(log.labels, ["write files", "read *.n and delete l", "o3"]);
    }

    #[test]
    fn addresses_and_dates_are_no_counters() {
        let names = ["192.168.1.77", "log.2026-11-23.txt", "id-555-12-3456", "c/0.12.3", "a-1-2-3"];
        let paths = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        let mut log = Log { paths, ..Log::default() };
        anonymise(&mut log);
        let paths: Vec<String> =
            log.paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        assert_eq!(paths, ["b", "d.e.f", "g-h", "i/0.12.3", "j-1-2-3"]);
    }

    #[test]
    fn nothing_of_the_names_is_left_but_short_numbers() {
        let names = [
            "patients/smith-0017.csv",
            "patients/Jos\u{e9}/b",
            "x/84894e8e-755b-43b1",
            "x/2026112309",
            "lab-1:84894e8e-755b-43b1",
        ];
        let mut log = Log {
            paths: names.iter().map(|name| name.as_bytes().to_vec()).collect(),
            labels: vec!["clinic/load".into()],
            directories: vec!["lab-1".into()],
            ..Log::default()
        };
        let map = anonymise(&mut log);
        let paths: Vec<String> =
            log.paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        assert_eq!(paths, ["a/c-0017.d", "a/f/g", "h/i", "h/j", "k-1:i"]);
        assert_eq!(log.labels, ["l/m"]);
        assert_eq!(log.directories, ["k-1"]);
        assert_eq!(map[&b"patients"[..]], "a");
        let left = paths.join(" ") + &log.labels.join(" ");
        let words = map.keys().map(|word| String::from_utf8_lossy(word).into_owned());
        assert!(words.filter(|word| word.len() > 1).all(|word| !left.contains(&word)));
    }
}

//! Names of files before the program runs.
//!
//! What differs between ranks or turns stands in a name as a mark, so that one key is a
//! family of files: `"f-$i"` in `repeat $i 10` is ten files, in another loop over the same
//! range the same ten. The *skeleton* of a key is what is left of it without
//! numbers and marks: keys with different skeletons are different files.

use super::abs::{Abs, Turn, Why};
use model::Value;
use model::limits::MAX_TEXT_BYTES;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Begins a mark: no path has this byte.
const MARK: u8 = 0;

/// A name, perhaps with marks in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) text: Vec<u8>,
    /// Bit n: it is another name in every turn of loop n.
    pub(super) turns: u64,
    /// It has a rank in it, minus this.
    pub(super) member: Option<u32>,
    /// Something in it is not known.
    pub(super) vague: Option<Why>,
}

impl Key {
    /// It is one file for certain.
    pub(super) fn is_concrete(&self) -> bool {
        self.turns == 0 && self.member.is_none() && !self.text.contains(&MARK)
    }

    /// Why the text is not known.
    pub(super) fn why(&self) -> Why {
        let turn = self.turns.checked_ilog2().map_or(Why::Rank, Why::Turn);
        self.vague.map_or(turn, |why| why.max(turn))
    }

    /// Appends literal text.
    pub(super) fn push_text(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }

    /// Appends a value as interpolation shows it.
    pub(super) fn push(&mut self, value: &Abs) {
        if self.text.len() > MAX_TEXT_BYTES {
            // The rank that gets here ends; until then texts that double must not fill the memory.
            self.text.clear();
            return self.push_vague(Why::Never);
        }
        match value {
            Abs::Known(value) => self.push_value(value),
            Abs::Turn(turn) => self.push_turn(*turn),
            Abs::Member(start) => self.push_member(*start),
            Abs::Text(key) => self.push_key(key),
            Abs::Handle(_) => self.push_vague(Why::Never),
            Abs::Unknown(why) => self.push_vague(*why),
        }
    }

    fn push_value(&mut self, value: &Value) {
        if value.render(&mut self.text).is_err() {
            self.push_vague(Why::Never);
        }
    }

    fn push_turn(&mut self, turn: Turn) {
        if turn.level >= u64::BITS || self.ends_in_number() {
            return self.push_vague(Why::Turn(turn.level));
        }
        self.turns |= 1 << turn.level;
        self.text.extend([MARK, b'r']);
        for number in [turn.from, turn.step, turn.turns as i64] {
            model::value::render_int(number, &mut self.text);
            self.text.push(b':');
        }
    }

    fn push_member(&mut self, start: u32) {
        if self.member.is_some() || self.ends_in_number() {
            return self.push_vague(Why::Rank);
        }
        self.member = Some(start);
        self.text.extend([MARK, b'm']);
    }

    fn push_vague(&mut self, why: Why) {
        self.vague = Some(self.vague.map_or(why, |old| old.max(why)));
        self.text.extend([MARK, b'?']);
    }

    fn push_key(&mut self, key: &Key) {
        if self.member.is_some() && key.member.is_some() {
            self.push_vague(Why::Rank);
        }
        self.text.extend_from_slice(&key.text);
        self.turns |= key.turns;
        self.member = self.member.or(key.member);
        if let Some(why) = key.vague {
            self.vague = Some(self.vague.map_or(why, |old| old.max(why)));
        }
    }

    /// "1" and "11" could be "11" and "1": numbers side by side do not tell files apart.
    fn ends_in_number(&self) -> bool {
        match self.text.as_slice() {
            [.., MARK, b'm' | b'?'] => true,
            [.., last] => last.is_ascii_digit() || *last == b':' && self.text.contains(&MARK),
            [] => false,
        }
    }

    /// Without `.` components, double slashes and the run directory in front. Digits right behind
    /// a mark make it vague.
    pub(super) fn normalise(&mut self, directory: Option<&str>) {
        if number_follows_mark(&self.text) {
            self.vague = Some(Why::Never);
        }
        let text = std::mem::take(&mut self.text);
        let directory = directory.map(|path| path.trim_end_matches('/').as_bytes());
        let inside = directory.and_then(|directory| text.strip_prefix(directory));
        let rest = inside.filter(|rest| rest.first() == Some(&b'/')).unwrap_or(&text);
        if !rest.starts_with(b".") && !rest.starts_with(b"/") && !doubtful(rest) {
            self.text = if rest.len() == text.len() { text } else { rest.to_vec() };
            return;
        }
        for part in rest.split(|byte| *byte == b'/') {
            if !part.is_empty() && part != b"." {
                if !self.text.is_empty() {
                    self.text.push(b'/');
                }
                self.text.extend_from_slice(part);
            }
        }
    }

    pub(super) fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write(&self.text);
        hasher.finish()
    }

    /// Hash of the text with every run of numbers and marks made one sign.
    pub(super) fn skeleton(&self) -> u32 {
        let mut hash = 0u64;
        let mut at = 0;
        let mut in_number = false;
        while at < self.text.len() {
            let byte = self.text[at];
            let number = byte.is_ascii_digit() || byte == b'-' || byte == MARK;
            if byte == MARK {
                at = mark_end(&self.text, at);
            } else {
                at += 1;
            }
            if !(number && in_number) {
                let sign = if number { b'#' } else { byte };
                hash = (hash.rotate_left(5) ^ u64::from(sign)).wrapping_mul(0x517c_c1b7_2722_0a95);
            }
            in_number = number;
        }
        (hash >> 32) as u32
    }

    /// For people: the rank's mark becomes its variable, other marks `*`.
    pub(super) fn shown(&self) -> String {
        let mut text = Vec::new();
        let mut at = 0;
        while at < self.text.len() {
            if self.text[at] == MARK {
                let is_member = self.text.get(at + 1) == Some(&b'm');
                text.extend_from_slice(match self.member.filter(|_| is_member) {
                    Some(0) => b"$$rank",
                    Some(_) => b"$$grank",
                    None => b"*",
                });
                at = mark_end(&self.text, at);
            } else {
                text.push(self.text[at]);
                at += 1;
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// One past a mark that begins at `at`.
fn mark_end(text: &[u8], at: usize) -> usize {
    if text.get(at + 1) != Some(&b'r') {
        return (at + 2).min(text.len());
    }
    let colons = text[at..].iter().enumerate().filter(|(_, byte)| **byte == b':');
    colons.map(|(offset, _)| at + offset + 1).nth(2).unwrap_or(text.len())
}

fn number_follows_mark(text: &[u8]) -> bool {
    let mut at = 0;
    while at < text.len() {
        if text[at] != MARK {
            at += 1;
            continue;
        }
        at = mark_end(text, at);
        if text.get(at).is_some_and(u8::is_ascii_digit) {
            return true;
        }
    }
    false
}

fn doubtful(text: &[u8]) -> bool {
    text.windows(2).any(|pair| pair == b"//" || pair == b"/.") || text.ends_with(b"/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parts: &[Abs]) -> Key {
        let mut key = Key::default();
        parts.iter().for_each(|part| key.push(part));
        key.normalise(Some("/run/dir"));
        key
    }

    fn text(text: &str) -> Abs {
        Abs::Known(Value::str(text))
    }

    fn turn(level: u32) -> Abs {
        Abs::Turn(Turn { from: 0, step: 1, turns: 10, level })
    }

    #[test]
    fn one_range_is_one_family_in_every_loop() {
        let (a, b) = (key(&[text("f-"), turn(0)]), key(&[text("./f-"), turn(3)]));
        assert_eq!((a.hash(), a.turns, b.turns), (b.hash(), 1, 8));
        assert!(!a.is_concrete());
        assert_eq!(a.shown(), "f-*");
    }

    #[test]
    fn names_that_mean_the_same_have_one_key() {
        for name in ["a/b", "./a/b", "a//b", "a/./b", "/run/dir/a/b", "a/b/"] {
            assert_eq!(key(&[text(name)]).text, b"a/b", "{name}");
        }
        assert_eq!(key(&[text("/run/dirx")]).text, b"run/dirx");
    }

    #[test]
    fn skeletons_forget_numbers() {
        let skeleton = |parts: &[Abs]| key(parts).skeleton();
        let family = skeleton(&[text("f-"), turn(0), text(".d")]);
        assert_eq!(family, skeleton(&[text("f-17.d")]));
        assert_eq!(family, skeleton(&[text("f-"), Abs::Member(2), text(".d")]));
        assert_ne!(family, skeleton(&[text("g-17.d")]));
        assert_ne!(family, skeleton(&[text("fx.d")]));
    }

    #[test]
    fn numbers_side_by_side_are_vague() {
        assert!(key(&[Abs::Member(0), turn(0)]).vague.is_some());
        assert!(key(&[text("f1"), turn(0)]).vague.is_some());
        assert!(key(&[turn(0), text("1")]).vague.is_some());
        assert!(key(&[turn(0), text("-"), turn(1)]).vague.is_none());
        assert!(key(&[Abs::Unknown(Why::Never)]).vague.is_some());
    }
}

//! Keywords and operations by their spelling: one table, made once, because a
//! program of a million statements asks a million times.

use model::Op;
use std::sync::LazyLock;

macro_rules! keywords {
    ($( $name:ident $text:literal; )*) => {
        /// A word that starts a statement and is not an operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Keyword { $( #[doc = $text] $name, )* }

        /// All keywords that start statements, with their spelling.
        pub const KEYWORDS: &[(&str, Keyword)] = &[ $( ($text, Keyword::$name), )* ];
    };
}

keywords! {
    Barrier "barrier";
    Break "break";
    Continue "continue";
    Ctime "ctime";
    Define "define";
    Else "else";
    Group "group";
    If "if";
    Include "include";
    Master "master";
    Mix "mix";
    Param "param";
    Repeat "repeat";
    Share "share";
    Time "time";
    While "while";
    With "with";
}

/// Functions of expressions. `repeat $n min(a, b) body` needs to know them, because
/// any other word there begins the body.
pub const FUNCTIONS: &[&str] =
    &["min", "max", "abs", "len", "size", "rand", "normal", "zipf", "exp", "perm"];

/// What a word means at the start of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A keyword.
    Keyword(Keyword),
    /// An operation.
    Op(Op),
    /// Neither: the name of a proc or a function, or a mistake.
    Other,
}

const SLOTS: usize = 256;

struct Table([(&'static str, Word); SLOTS]);

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table([("", Word::Other); SLOTS]);
    for (text, keyword) in KEYWORDS {
        table.insert(text, Word::Keyword(*keyword));
    }
    for row in model::op::OPS {
        table.insert(row.name, Word::Op(row.op));
        row.aliases.iter().for_each(|alias| table.insert(alias, Word::Op(row.op)));
    }
    table
});

impl Table {
    fn insert(&mut self, text: &'static str, word: Word) {
        let mut at = slot(text.as_bytes());
        while !self.0[at].0.is_empty() {
            at = (at + 1) % SLOTS;
        }
        self.0[at] = (text, word);
    }
}

/// Length and three letters, whose case bit is masked away.
#[inline]
fn slot(word: &[u8]) -> usize {
    let (Some(first), Some(last)) = (word.first(), word.last()) else { return 0 };
    let letter = |byte: &u8| usize::from(byte & 0x1f);
    let middle = letter(&word[word.len() / 2]);
    (letter(first) * 7 + letter(last) * 31 + middle * 67 + word.len() * 13) % SLOTS
}

/// What a word means, and whether it is written in lower case.
#[inline]
pub fn classify(word: &str) -> (Word, bool) {
    let table = &TABLE.0;
    let mut at = slot(word.as_bytes());
    loop {
        let (text, meaning) = table[at];
        if text == word {
            return (meaning, true);
        }
        if text.is_empty() {
            return (Word::Other, true);
        }
        if text.eq_ignore_ascii_case(word) {
            return (meaning, false);
        }
        at = (at + 1) % SLOTS;
    }
}

/// All words that can start a statement, for suggestions.
pub fn statement_words() -> impl Iterator<Item = &'static str> {
    let ops = model::op::OPS.iter().flat_map(|row| row.aliases.iter().chain([&row.name]).copied());
    KEYWORDS.iter().map(|(text, _)| *text).chain(ops)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_in_either_case() {
        for (text, keyword) in KEYWORDS {
            assert_eq!(classify(text), (Word::Keyword(*keyword), true));
            assert_eq!(classify(&text.to_uppercase()), (Word::Keyword(*keyword), false));
        }
        for row in model::op::OPS {
            for name in row.aliases.iter().chain([&row.name]) {
                assert_eq!(classify(name), (Word::Op(row.op), true));
            }
        }
        for word in ["", "repea", "repeatt", "min", "@[`"] {
            assert_eq!(classify(word).0, Word::Other, "{word}");
        }
    }

    #[test]
    fn the_table_has_room() {
        assert!(statement_words().count() < SLOTS / 2);
    }

    #[test]
    fn keywords_are_not_operations_and_functions_neither() {
        for name in KEYWORDS.iter().map(|(text, _)| text).chain(FUNCTIONS) {
            assert_eq!(Op::find(name), None, "{name}");
        }
    }
}

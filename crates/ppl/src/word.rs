//! Words of the language, and the nearest known word.

use model::Op;
use model::function::FUNCTIONS;
use rustc_hash::FxHashMap;
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
    Global "global";
    Group "group";
    If "if";
    Include "include";
    Master "master";
    Mix "mix";
    Param "param";
    Repeat "repeat";
    Return "return";
    Share "share";
    Split "split";
    Time "time";
    While "while";
    With "with";
}

/// A function of expressions, in lower case. `repeat $n min(a, b) body` needs to know them,
/// because any other word there begins the body.
pub fn is_function(word: &str) -> bool {
    FUNCTIONS.iter().any(|row| row.name == word)
}

/// The meaning of a word at the start of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A keyword.
    Keyword(Keyword),
    /// An operation.
    Op(Op),
    /// Neither: the name of a proc or a function, or a mistake.
    Other,
}

/// Keywords and operations by their spelling in lower case.
static WORDS: LazyLock<FxHashMap<&str, Word>> = LazyLock::new(|| {
    let keywords = KEYWORDS.iter().map(|(text, keyword)| (*text, Word::Keyword(*keyword)));
    let ops = model::op::OPS.iter().flat_map(|row| {
        row.aliases.iter().chain([&row.name]).map(|name| (*name, Word::Op(row.op)))
    });
    keywords.chain(ops).collect()
});

/// The meaning of a word, and whether it is written in lower case.
pub fn classify(word: &str) -> (Word, bool) {
    if let Some(known) = WORDS.get(word) {
        return (*known, true);
    }
    let has_capitals = word.bytes().any(|byte| byte.is_ascii_uppercase());
    let lower = has_capitals.then(|| word.to_ascii_lowercase());
    match lower.and_then(|lower| WORDS.get(&*lower)) {
        Some(known) => (*known, false),
        None => (Word::Other, true),
    }
}

/// All words that can start a statement, for suggestions.
pub fn statement_words() -> impl Iterator<Item = &'static str> {
    let ops = model::op::OPS.iter().flat_map(|row| row.aliases.iter().chain([&row.name]).copied());
    KEYWORDS.iter().map(|(text, _)| *text).chain(ops)
}

/// Longest word that is compared; longer ones are nobody's typing slip.
const LONGEST_COMPARED: usize = 64;

/// The candidate that differs least from `word`, if few enough letters differ:
/// one in a word of up to five, a third of a longer one. Case does not count. A single
/// letter is near to nothing.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if !(2..=LONGEST_COMPARED).contains(&length) {
        return None;
    }
    let limit = (length / 3).max(1);
    candidates
        .into_iter()
        .filter(|name| name.chars().count().abs_diff(length) <= limit)
        .map(|name| (distance(word, name), name))
        .filter(|(distance, name)| *distance <= limit && *distance < name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// A hint at the nearest candidate, if one is near.
pub fn suggest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|name| format!("the nearest is {name}"))
}

/// Optimal string alignment distance: insertions, deletions, replacements and
/// exchanges of neighbours (Damerau 1964, restricted), without case.
pub fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().map(|c| c.to_ascii_lowercase()).collect();
    let b: Vec<char> = b.chars().map(|c| c.to_ascii_lowercase()).collect();
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
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
        for word in ["", "repea", "repeatt", "min", "a_b", "ABCDEFGHIJKLMNOPQRST"] {
            assert_eq!(classify(word).0, Word::Other, "{word}");
        }
    }

    #[test]
    fn keywords_are_not_operations_and_functions_neither() {
        let functions = FUNCTIONS.iter().map(|row| row.name);
        for name in KEYWORDS.iter().map(|(text, _)| *text).chain(functions) {
            assert_eq!(Op::find(name), None, "{name}");
        }
    }

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let names = ["repeat", "write", "append", "barrier", "if"];
        for (word, name) in [
            ("repaet", Some("repeat")),
            ("REPET", Some("repeat")),
            ("wirte", Some("write")),
            ("barier", Some("barrier")),
            ("of", Some("if")),
            ("x", None),
            ("checkpoint", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), name, "{word}");
        }
    }

    #[test]
    fn the_distance_counts_single_changes() {
        for (a, b, n) in [("", "abc", 3), ("ab", "ba", 1), ("größe", "grosse", 3), ("a", "a", 0)]
        {
            assert_eq!(distance(a, b), n);
            assert_eq!(distance(b, a), n);
        }
    }
}

//! What a variable is called whose file has this name.

use super::super::anonymise::looks_like_hash;
use super::super::procs::stem as letters_of;
use super::super::tables::Role;

/// What other variables of a program are called.
const RESERVED: [&str; 19] = [
    "at", "block", "buffer", "bytes", "count", "dir", "files", "header", "name", "names", "page",
    "pauses", "rank", "record", "size", "file", "time", "group", "node",
];

/// Longest name, in bytes.
const LENGTH_MAX: usize = 24;

/// What open files of any name are called.
pub const ANY: &str = "file";

/// Other variables have this name, with or without a number.
fn is_reserved(stem: &str) -> bool {
    RESERVED.contains(&stem) || Role::NAMES.contains(&stem)
}

/// `content_db` of `data/ix0/content.db`; `None`: nothing in it is a word.
pub fn stem(path: &[u8]) -> Option<String> {
    // Names in further directories are `NAME:path`.
    let path = path.rsplit(|byte| *byte == b':').next().unwrap_or(path);
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    if looks_like_hash(last) {
        return None;
    }
    let letters = letters_of(path);
    let mut stem = String::new();
    for word in letters.split('_').filter(|word| word.len() > 1) {
        if stem.len() + word.len() >= LENGTH_MAX {
            break;
        }
        if !stem.is_empty() {
            stem.push('_');
        }
        stem.push_str(word);
    }
    (!stem.is_empty() && !is_reserved(&stem)).then_some(stem)
}

/// The words that all of them begin with, or else end with.
pub fn common<'a>(mut stems: impl Iterator<Item = &'a str>) -> String {
    let words = |stem: &'a str| -> Vec<&'a str> { stem.split('_').collect() };
    let Some(first) = stems.next().map(words) else { return ANY.into() };
    let (mut head, mut tail) = (first.len(), first.len());
    for other in stems.map(words) {
        let same = |a: (&&str, &&str)| a.0 == a.1;
        head = head.min(first.iter().zip(&other).take_while(|pair| same(*pair)).count());
        let back = first.iter().rev().zip(other.iter().rev());
        tail = tail.min(back.take_while(|pair| same(*pair)).count());
    }
    let shared = if head > 0 { &first[..head] } else { &first[first.len() - tail..] };
    match shared.join("_") {
        none if none.is_empty() || is_reserved(&none) => ANY.into(),
        stem => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_called_as_their_files() {
        for (path, expected) in [
            ("data/ix0/content.db", Some("content_db")),
            ("content.db.wal", Some("content_db_wal")),
            ("f-17", None),
            ("dir/size", None),
            ("objects/7", Some("objects")),
            ("fast:g", None),
            ("x/84894e8e-755b-43b1", None),
            ("an-extraordinarily-long-name", Some("an_extraordinarily_long")),
        ] {
            assert_eq!(stem(path.as_bytes()).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn several_files_share_what_their_names_have_in_common() {
        for (stems, expected) in [
            (&["main_db", "temp_db"][..], "db"),
            (&["state_new", "state"], "state"),
            (&["main", "util"], "file"),
            (&["log"], "log"),
            (&[], "file"),
        ] {
            assert_eq!(common(stems.iter().copied()), expected, "{stems:?}");
        }
    }
}

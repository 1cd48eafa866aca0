//! Names of files that are alike: `out/checkpoint-0017.dat` is `checkpoint-*.dat`.

use hashbrown::HashMap;
use model::event::NO_ID;
use rustc_hash::FxBuildHasher;

/// Most different patterns.
const PATTERNS_MAX: usize = 1 << 16;
/// Shortest run of hexadecimal digits that is a hash.
const HASH_MIN: usize = 8;
/// Letters and digits that the C library makes up for a temporary file.
const MADE_UP: usize = 6;
/// Characters of a pattern.
const CHARS_MAX: usize = 40;
/// The pattern of files in no other.
pub const FILES: u32 = 0;

/// The pattern of each path.
pub struct Patterns {
    of: Vec<u32>,
    texts: Vec<String>,
}

impl Patterns {
    /// Those of all paths.
    pub fn of(paths: &[Vec<u8>]) -> Patterns {
        let mut known: HashMap<String, u32, FxBuildHasher> = HashMap::default();
        let mut texts = vec!["files".to_string()];
        let mut number = |path: &Vec<u8>| {
            let text = pattern(path);
            if let Some(number) = known.get(&text) {
                return *number;
            }
            if text == "*" || texts.len() >= PATTERNS_MAX {
                return FILES;
            }
            texts.push(text.clone());
            known.insert(text, texts.len() as u32 - 1);
            texts.len() as u32 - 1
        };
        Patterns { of: paths.iter().map(&mut number).collect(), texts }
    }

    /// That of a path by its number.
    pub fn of_path(&self, path: u32) -> u32 {
        if path == NO_ID { FILES } else { self.of.get(path as usize).copied().unwrap_or(FILES) }
    }

    /// As a text.
    pub fn text(&self, pattern: u32) -> &str {
        &self.texts[pattern as usize]
    }

    /// `*.dat` of `checkpoint-*.dat`; `files` without an ending.
    pub fn ending(&self, pattern: u32) -> String {
        match self.text(pattern).rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() && !ending.contains('*') => {
                format!("*.{ending}")
            }
            _ => self.texts[FILES as usize].clone(),
        }
    }
}

fn pattern(path: &[u8]) -> String {
    let name = path.rsplit(|byte| *byte == b'/').find(|part| !part.is_empty()).unwrap_or(b"files");
    let name = String::from_utf8_lossy(name);
    let (stem, ending) = split_ending(&name);
    let mut text = String::new();
    for run in stem.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let (word, sign) = match run.chars().last() {
            Some(last) if !last.is_ascii_alphanumeric() => {
                run.split_at(run.len() - last.len_utf8())
            }
            _ => (run, ""),
        };
        put_word(word, &mut text);
        text.extend(sign.chars().map(|c| if c.is_control() { '?' } else { c }));
    }
    text += ending;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => text[..end].to_string() + "...",
        None => text,
    }
}

/// `.h5` is the kind of a file, `.17` is not.
fn split_ending(name: &str) -> (&str, &str) {
    let at = name.rfind('.').filter(|at| *at > 0).unwrap_or(name.len());
    let ending = &name.as_bytes()[at..];
    let is_kind = (2..=5).contains(&ending.len())
        && ending[1].is_ascii_alphabetic()
        && ending[1..].iter().all(u8::is_ascii_alphanumeric);
    name.split_at(if is_kind { at } else { name.len() })
}

/// A word without its numbers.
fn put_word(word: &str, text: &mut String) {
    let is_hex = word.len() >= HASH_MIN && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex && word.bytes().any(|byte| byte.is_ascii_digit()) {
        text.push('*');
        return;
    }
    if let Some(before) = before_made_up(word) {
        text.push_str(before);
        text.push('*');
        return;
    }
    for run in word.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
        match run[0].is_ascii_digit() {
            true => text.push('*'),
            false => text.extend(run.iter().map(|byte| char::from(*byte))),
        }
    }
}

/// The text before letters and digits that `mkstemp` chose: `tmp` of `tmpgoY4jt`, `cc` of the compiler's
/// `ccyKQT9g`. Elsewhere all kinds of them come, and a digit stands before a letter.
fn before_made_up(word: &str) -> Option<&str> {
    let (before, tail) = word.split_at(word.len().checked_sub(MADE_UP)?);
    let tail = tail.as_bytes();
    let has = |is: fn(&u8) -> bool| tail.iter().any(is);
    let mut pairs = tail.windows(2);
    let counts = !pairs.any(|pair| pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic());
    let is_temporary = before == "cc" || before.ends_with("tmp");
    let is_made_up = match is_temporary {
        true => !counts || tail[1..].iter().any(u8::is_ascii_uppercase),
        false => !counts && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase),
    };
    let is_word = before.bytes().all(|byte| byte.is_ascii_lowercase());
    is_made_up.then_some(if is_word { before } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_hashes_are_stars() {
        for (path, expected) in [
            ("out/checkpoint-0017.dat", "checkpoint-*.dat"),
            ("a/b/", "b"),
            ("objects/4f/3c9a77e0b1d2", "*"),
            ("x.3c9a77e0b1d2.tmp", "x.*.tmp"),
            ("feedface", "feedface"),
            ("core.1234", "core.*"),
            ("tmpgoY4jt", "tmp*"),
            ("mpich_shar_tmppuaLJp", "mpich_shar_tmp*"),
            ("ccyKQT9g.s", "cc*.s"),
            ("ccdQqu4j.res", "cc*.res"),
            ("sorta8XkQ2", "sort*"),
            ("x.Tf0aB2cD3e", "x.*"),
            ("tmpbuffer", "tmpbuffer"),
            ("tmpBuffer2", "tmpBuffer*"),
            ("parseXML.c", "parseXML.c"),
            ("FileSystem2", "FileSystem*"),
            (".h5", ".h*"),
            ("part-00001-of-00512.h5", "part-*-of-*.h5"),
            ("", "files"),
        ] {
            assert_eq!(pattern(path.as_bytes()), expected, "{path}");
        }
        let patterns = Patterns::of(&["17".into(), "a1.h5".into(), "b".into(), "a2.h5".into()]);
        assert_eq!([0, 1, 2, 3, NO_ID].map(|path| patterns.of_path(path)), [FILES, 1, 2, 1, FILES]);
        assert_eq!([1, 2, FILES].map(|at| patterns.ending(at)), ["*.h5", "files", "files"]);
    }
}

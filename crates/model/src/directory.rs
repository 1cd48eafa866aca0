//! Directories that a program uses besides the run directory: their names, and which paths lie in them.
//!
//! ```text
//! with (dir="fast") { write("f", 1m); }      f in the directory fast
//! copy("fast:f", "g");                       from there into the run directory
//! ```
//!
//! Not here: who grants them (`--mount fast=/burst`), and how a path is found in them.

use serde::{Deserialize, Serialize};

/// Most of them: each costs every rank a descriptor.
pub const DIRECTORIES_MAX: usize = 7;

/// A directory that a program uses besides the run directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// What programs call it.
    pub name: String,
    /// Its absolute path; `/NAME` while nobody has granted it, which holds for files in memory.
    pub path: String,
    /// Somebody has said which directory it is.
    pub granted: bool,
}

impl Directory {
    /// One that nobody has granted.
    pub fn asked(name: &str) -> Directory {
        Directory { name: name.into(), path: format!("/{name}"), granted: false }
    }

    /// One with this absolute path.
    pub fn granted(name: &str, path: &str) -> Directory {
        Directory { name: name.into(), path: path.into(), granted: true }
    }
}

/// Letters, digits, `_` and `-`, a letter first.
pub fn is_name(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphabetic)
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte))
}

/// Takes `NAME:rest` apart; `None`: no name stands before a path.
pub fn prefixed(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = path.iter().position(|byte| *byte == b':')?;
    let (name, rest) = (&path[..colon], &path[colon + 1..]);
    is_name(name).then_some((name, rest))
}

/// The first component is `..`: the path leaves the directory that it starts in.
pub fn starts_above(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
    parts.find(|part| *part != b".") == Some(b"..")
}

/// What of an absolute path comes after that of a directory in which it lies: nothing, or text that
/// begins with a slash.
pub fn below<'a>(path: &'a [u8], directory: &[u8]) -> Option<&'a [u8]> {
    let trailing = directory.iter().rev().take_while(|byte| **byte == b'/').count();
    let rest = path.strip_prefix(&directory[..directory.len() - trailing])?;
    (rest.is_empty() || rest[0] == b'/').then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_before_a_colon() {
        let taken = |path: &'static str| prefixed(path.as_bytes());
        assert_eq!(taken("B:f/g"), Some((&b"B"[..], &b"f/g"[..])));
        assert_eq!(taken("burst-1:"), Some((&b"burst-1"[..], &b""[..])));
        for path in ["f", "./B:f", "12:30", "a/b:c", ":f", "", "B f:x"] {
            assert_eq!(taken(path), None, "{path}");
        }
    }

    #[test]
    fn paths_below_a_directory_end_its_name() {
        for (path, directory, rest) in [
            ("/burst/f", "/burst", Some("/f")),
            ("/burst", "/burst/", Some("")),
            ("/burst2", "/burst", None),
            ("/x", "/burst", None),
        ] {
            let found = below(path.as_bytes(), directory.as_bytes());
            assert_eq!(found, rest.map(str::as_bytes), "{path}");
        }
        assert!(starts_above(b"../x") && starts_above(b"/./..") && !starts_above(b"..a/.."));
    }
}

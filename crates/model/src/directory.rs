//! Directories that a program uses besides the run directory: their names, and which paths lie in them.
//!
//! ```text
//! with (dir="fast") { write("f", 1m); }      f in the directory fast
//! copy("fast:f", "g");                       from there into the run directory
//! ```
//!
//! Not here: who grants them (`--mount fast=/burst`), and how a path is found in them.
//!
//! Also here: symbolic links, the text that a link holds, and the path that it leads to.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Most of them: each costs every rank a descriptor.
pub const DIRECTORIES_MAX: usize = 7;

/// A directory that a program uses besides the run directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// Name in programs.
    pub name: String,
    /// Its absolute path; `/NAME` while nobody has granted it, which holds for files in memory.
    pub path: String,
    /// Somebody has said which directory it is.
    pub granted: bool,
}

impl Directory {
    /// One that nobody has granted.
    pub fn requested(name: &str) -> Directory {
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
    components(path).next() == Some(b"..")
}

/// A symbolic link that holds this text leads to something beneath the directory that holds the link, wherever
/// that is moved to: it is relative and never goes up. SMB takes a backslash for a slash.
pub fn leads_down(target: &[u8]) -> bool {
    !target.starts_with(b"/")
        && !target.iter().any(|byte| matches!(byte, 0 | b'\\'))
        && !target.split(|byte| *byte == b'/').any(|part| part == b"..")
}

/// A symbolic link at `path` that holds `target` leads out of the directory that both are relative to,
/// counting components only. How deep an absolute path lies is not known: `..` may lead out of it. An
/// absolute target is not judged here.
pub fn link_leaves(target: &[u8], path: &[u8]) -> bool {
    let is_absolute = |text: &[u8]| text.first() == Some(&b'/');
    if is_absolute(target) || is_absolute(path) {
        return !is_absolute(target) && components(target).any(|part| part == b"..");
    }
    let mut depth = components(path).count() as i64 - 1;
    components(target).any(|part| {
        depth += if part == b".." { -1 } else { 1 };
        depth < 0
    })
}

/// The names in a path, without empty ones and `.`.
pub fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".")
}

/// The rest of an absolute path behind a directory that it is in: empty, or text that begins with a slash.
pub fn below<'a>(path: &'a [u8], directory: &[u8]) -> Option<&'a [u8]> {
    let trailing = directory.iter().rev().take_while(|byte| **byte == b'/').count();
    let rest = path.strip_prefix(&directory[..directory.len() - trailing])?;
    (rest.is_empty() || rest[0] == b'/').then_some(rest)
}

/// The absolute path of `NAME:path`; any other path as it is.
pub fn absolute<'p>(directories: &[Directory], path: &'p [u8]) -> Cow<'p, [u8]> {
    let found = prefixed(path).and_then(|(name, rest)| {
        let found = directories.iter().find(|directory| directory.name.as_bytes() == name)?;
        Some([found.path.as_bytes(), b"/", rest].concat())
    });
    found.map_or(Cow::Borrowed(path), Cow::Owned)
}

/// `NAME:` and nothing behind it: one of these directories itself.
pub fn is_whole(names: &[String], path: &[u8]) -> bool {
    prefixed(path).is_some_and(|(name, rest)| {
        let here = |part: &[u8]| part.is_empty() || part == b".";
        names.iter().any(|known| known.as_bytes() == name)
            && rest.split(|byte| *byte == b'/').all(here)
    })
}

/// An absolute path in one of these directories as `NAME:path`; any other path as it is. `directories`:
/// their names and paths.
pub fn named<'p>(
    mut directories: impl Iterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
    path: &'p [u8],
) -> Cow<'p, [u8]> {
    if path.first() != Some(&b'/') {
        return Cow::Borrowed(path);
    }
    let found = directories.find_map(|(name, directory)| {
        let rest = below(path, directory.as_ref().as_bytes())?;
        let slashes = rest.iter().take_while(|byte| **byte == b'/').count();
        Some([name.as_ref().as_bytes(), b":", &rest[slashes..]].concat())
    });
    found.map_or(Cow::Borrowed(path), Cow::Owned)
}

/// The same with every path in a text that begins after a blank, a quote or a bracket.
pub fn named_in(
    directories: impl Iterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
    text: &str,
) -> String {
    let mut out = text.to_string();
    for (name, directory) in directories {
        let directory = directory.as_ref().trim_end_matches('/');
        let mut from = 0;
        while let Some(at) = out[from..].find(directory).map(|at| from + at) {
            let (before, rest) = (&out[..at], &out[at + directory.len()..]);
            let begins = before.chars().next_back().is_none_or(|c| " \t\n\"'`([".contains(c));
            from = at + directory.len();
            if directory.is_empty() || !begins || !ends_name(rest) {
                continue;
            }
            let new = format!("{before}{}:", name.as_ref());
            from = new.len();
            out = new + rest.trim_start_matches('/');
        }
    }
    out
}

/// The name of a directory is not longer than what stands before this text.
fn ends_name(rest: &str) -> bool {
    rest.chars().next().is_none_or(|c| !c.is_alphanumeric() && !"_-.".contains(c))
}

/// The text of a link that leads from its own directory to a path, both as seen from one directory:
/// `../lib/b` of `bin/a` to `lib/b`.
pub fn text_of_link(link: &[u8], target: &[u8]) -> Vec<u8> {
    let parts = |path: &[u8]| -> Vec<Vec<u8>> {
        let parts = path.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
        parts.map(<[u8]>::to_vec).collect()
    };
    let (mut above, target) = (parts(link), parts(target));
    above.pop();
    let common = above.iter().zip(&target).take_while(|(a, b)| a == b).count();
    let up = above[common..].iter().map(|_| b"..".to_vec());
    let text = up.chain(target[common..].iter().cloned()).collect::<Vec<_>>().join(&b'/');
    if text.is_empty() { b".".to_vec() } else { text }
}

/// The path that a link with this text leads to; the reverse of [`text_of_link`].
pub fn target_of_link(link: &[u8], text: &[u8]) -> Vec<u8> {
    let above = &link[..link.iter().rposition(|byte| *byte == b'/').unwrap_or(0)];
    let mut path: Vec<&[u8]> = Vec::new();
    for part in [above, text].into_iter().flat_map(|path| path.split(|byte| *byte == b'/')) {
        match part {
            b"" | b"." => {}
            b".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    if path.is_empty() { b".".to_vec() } else { path.join(&b'/') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_get_the_name_of_their_directory() {
        let both = || [("fast", "/burst"), ("slow", "/data/me/")].into_iter();
        for (path, expected) in [
            ("/burst/a/b", "fast:a/b"),
            ("/burst", "fast:"),
            ("/data/me//f", "slow:f"),
            ("/burst2/f", "/burst2/f"),
            ("burst/f", "burst/f"),
            ("", ""),
        ] {
            assert_eq!(named(both(), path.as_bytes()), expected.as_bytes(), "{path}");
        }
        let names = ["fast".to_string()];
        for (path, whole) in [("fast:", true), ("fast:./", true), ("fast:f", false), ("b:", false)]
        {
            assert_eq!(is_whole(&names, path.as_bytes()), whole, "{path}");
        }
        let granted = [Directory::granted("fast", "/burst")];
        assert_eq!(*absolute(&granted, b"fast:a"), *b"/burst/a");
        assert_eq!(*absolute(&granted, b"slow:a"), *b"slow:a");
        for (text, expected) in [
            ("read \"/burst/f\" failed", "read \"fast:f\" failed"),
            ("waits for (/burst/f), holds /data/me/g", "waits for (fast:f), holds slow:g"),
            ("/burst /burst2 x/burst", "fast: /burst2 x/burst"),
            ("/burst.old/f", "/burst.old/f"),
        ] {
            assert_eq!(named_in(both(), text), expected);
        }
    }

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
    fn links_lead_down_if_no_part_of_their_text_goes_up() {
        for (target, down) in [
            ("a", true),
            ("./a//b/", true),
            (".", true),
            ("..a/b..", true),
            ("...", true),
            ("", true),
            ("..", false),
            ("a/../b", false),
            ("a/..", false),
            ("/run/dir/a", false),
            ("a\\..\\..\\b", false),
            ("a\0", false),
        ] {
            assert_eq!(leads_down(target.as_bytes()), down, "{target:?}");
        }
    }

    #[test]
    fn links_leave_where_they_go_up_too_far() {
        for (target, path, leaves) in [
            ("a", "b", false),
            ("../a", "d/b", false),
            ("../a", "b", true),
            ("../../a", "d/b", true),
            ("x/../../../a", "d/b", true),
            ("..", "d/./b", false),
            ("..", "d/e/b", false),
        ] {
            assert_eq!(link_leaves(target.as_bytes(), path.as_bytes()), leaves, "{target} {path}");
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

    #[test]
    fn texts_of_links_lead_to_their_targets() {
        for (link, target, text) in [
            ("l", "f", "f"),
            ("d/l", "d/f", "f"),
            ("bin/a", "lib/b", "../lib/b"),
            ("a/b/l", "a/c/f", "../c/f"),
            ("a/b/l", "a", ".."),
            ("a/b/l", "a/b", "."),
            ("l", ".", "."),
            ("a/l", "a/b/l", "b/l"),
        ] {
            let (link, target) = (link.as_bytes(), target.as_bytes());
            assert_eq!(text_of_link(link, target), text.as_bytes());
            assert_eq!(target_of_link(link, text.as_bytes()), target);
        }
    }
}

//! Paths of a log as paths of a program: below the directory that all absolute ones share, and never out of it.

use model::directory::prefixed;
use std::collections::BTreeSet;

/// The paths in the program. A file that is a directory of others has another name.
pub fn in_program<'a>(paths: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let mut root: Option<Vec<&str>> = None;
    for path in paths.clone().filter(|path| path.starts_with('/')) {
        let above = above(path);
        let root = root.get_or_insert_with(|| above.clone());
        let same = root.iter().zip(&above).take_while(|(a, b)| a == b).count();
        root.truncate(same);
    }
    let depth = root.map_or(0, |root| root.len());
    let below = |path: &'a str| {
        let skipped = if path.starts_with('/') { depth } else { 0 };
        let parts: Vec<&str> = components(path).skip(skipped).collect();
        if parts.is_empty() { "file".to_string() } else { parts.join("/") }
    };
    let all: Vec<String> = paths.map(below).collect();
    let directories: BTreeSet<&str> = all.iter().flat_map(|path| directories(path)).collect();
    all.iter().map(|path| named(path, &directories)).collect()
}

fn components(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.map(|part| if part == ".." { "up" } else { part })
}

fn above(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = components(path).collect();
    parts.pop();
    parts
}

fn directories(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// Not the name of a directory, nor of a file in a further one; without the zero byte, which no path has.
fn named(path: &str, directories: &BTreeSet<&str>) -> String {
    let mut name = path.replace('\0', "\u{fffd}");
    while directories.contains(name.as_str()) {
        name.push_str(".file");
    }
    if prefixed(name.as_bytes()).is_some() { format!("./{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_below_what_they_share() {
        for (paths, expected) in [
            (&["/s/a/f", "/s/b/g"][..], &["a/f", "b/g"][..]),
            (&["/s/a/f", "<STDOUT>"], &["f", "<STDOUT>"]),
            (&["/s/d", "/s/d/f"], &["d.file", "d/f"]),
            (&["/a/../b", "/", ""], &["a/up/b", "file", "file"]),
            (&["x:y", "./a//b"], &["./x:y", "a/b"]),
            (&["/s/a\0b", "/s/a/c"], &["a\u{fffd}b", "a/c"]),
        ] {
            assert_eq!(in_program(paths.iter().copied()), expected, "{paths:?}");
        }
    }
}

//! Which directory most writes of a recording (of one that writes nothing: most operations) lie below, where the run holds others, too: settings and
//! caches of the user, libraries of interpreters.

use std::collections::BTreeMap;

/// What the note begins with.
pub const MOSTLY: &str = "most of it is below ";
/// Most: so many of a hundred.
const PERCENT: u64 = 60;

/// A note, if the run reaches above `here` and one directory has most of them. `counts`: how many each
/// path below `root` has, or 0.
pub fn note(root: &str, here: &str, counts: &[(&[u8], u64)]) -> Option<String> {
    let below = here.strip_prefix(root.trim_end_matches('/'))?;
    if below.trim_matches('/').is_empty() || !(below.starts_with('/') || root == "/") {
        return None;
    }
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let mut directories: BTreeMap<&[u8], u64> = BTreeMap::new();
    for (path, count) in counts {
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            *directories.entry(&path[..at]).or_default() += count;
        }
    }
    let most = |count: u64| count.saturating_mul(100) >= total.saturating_mul(PERCENT);
    let is_below = |path: &[u8], above: &[u8]| {
        path.strip_prefix(above).is_some_and(|rest| rest.starts_with(b"/"))
    };
    let leaves_some = |above: &[u8]| counts.iter().any(|(path, _)| !is_below(path, above));
    let found = directories.iter().filter(|(path, count)| most(**count) && leaves_some(path));
    let found = found.max_by_key(|(path, _)| path.len());
    let path = format!("{}/{}", root.trim_end_matches('/'), String::from_utf8_lossy(found?.0));
    Some(format!("{MOSTLY}{path}: --under {path} keeps only that"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_most_operations_is_named_where_others_are_far_away() {
        let counts: &[(&[u8], u64)] =
            &[(b"work/app/d/f", 50), (b"work/app/d/g", 45), (b".cache/x", 5)];
        let found = note("/home/u", "/home/u/work/app", counts).expect("a note");
        assert_eq!(
            found,
            "most of it is below /home/u/work/app/d: --under /home/u/work/app/d keeps only that"
        );
        assert_eq!(note("/home/u", "/home/u", counts), None);
        assert_eq!(note("/home/u", "/home/user", counts), None);
        assert_eq!(note("/home/u", "/home/u/work", &[(b"a/f", 50), (b"b/f", 50)]), None);
        assert_eq!(note("/home/u", "/home/u/work", &[(b"f", 50)]), None);
        let written = note("/", "/app", &[(b"app/out/f", 50), (b"lib/m.py", 0)]).expect("a note");
        assert!(written.contains("below /app/out:"), "{written}");
        assert!(
            note("/", "/data", &[(b"data/f", 9), (b"tmp/f", 1)])
                .expect("a note")
                .contains("below /data:")
        );
    }
}

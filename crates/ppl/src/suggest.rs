//! The nearest name to a misspelled one.

/// Longest word that is compared; longer ones are nobody's typing slip.
const LONGEST: usize = 64;

/// The candidate that differs least from `word`, if few enough letters differ:
/// one in a word of up to five, a third of a longer one. Case does not count. A single
/// letter is near to nothing.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if !(2..=LONGEST).contains(&length) {
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

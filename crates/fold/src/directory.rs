//! A long directory that many names are below stands once, at the head.
//!
//! ```text
//! $dir = "projects/2026/climate/run-17";
//! stat("$dir/input");
//! ```

use std::collections::BTreeMap;

/// Shortest directory that is worth a name, in bytes.
const LENGTH_MIN: usize = 12;
/// Fewest names below it.
const NAMES_MIN: usize = 4;
/// Fewest bytes that it makes the text shorter.
const GAIN_MIN: usize = 60;

/// The directory whose name shortens the text most, as written there; `None` if none is worth it.
pub fn worth_a_name<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts {
        for constant in beginnings(text) {
            let slashes = constant.match_indices('/').map(|(at, _)| at);
            let long = slashes.filter(|at| *at >= LENGTH_MIN);
            long.for_each(|at| *names.entry(&constant[..at]).or_default() += 1);
        }
    }
    let gain = |(name, times): &(&str, usize)| {
        let used = (name.len() - "$dir".len()) * times;
        used.saturating_sub(name.len() + "$dir = \"\";\n".len())
    };
    // One of several that differ in numbers alone says less than what they have in common.
    let without_digits = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
    let mut alike: BTreeMap<String, usize> = BTreeMap::new();
    names.keys().for_each(|name| *alike.entry(without_digits(name)).or_default() += 1);
    let is_alone = |name: &str| alike[&without_digits(name)] == 1;
    let many = names.into_iter().filter(|(name, times)| *times >= NAMES_MIN && is_alone(name));
    let best = many.max_by_key(|found| (gain(found), std::cmp::Reverse(found.0.len())))?;
    (gain(&best) >= GAIN_MIN).then(|| best.0.to_string())
}

/// The part of each string before its first variable or escape.
fn beginnings(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let string = &text[text.find('"')? + 1..];
        let mut escaped = false;
        let end = string.find(|c| match (escaped, c) {
            (false, '"') => true,
            (before, c) => {
                escaped = !before && c == '\\';
                false
            }
        })?;
        text = &string[end + 1..];
        let constant = string[..end].find(['$', '\\']).unwrap_or(end);
        Some(&string[..constant])
    })
}

/// The text with the variable in the place of the directory.
pub fn shortened(text: &str, directory: &str) -> String {
    let below = text.replace(&format!("\"{directory}/"), "\"$dir/");
    below.replace(&format!("\"{directory}\""), "$dir")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_most_names_stands_once() {
        let deep = "projects/2026/climate";
        let line = |name: &str| format!("stat(\"{deep}/{name}\");\n");
        let text: String = ["a/x", "a/y", "b$i", "c", "d", "e", "f"].map(line).concat();
        let found = worth_a_name([text.as_str()].into_iter());
        assert_eq!(found.as_deref(), Some(deep));
        let short = shortened(&(text + "stat(\"projects/2026/climate\");"), deep);
        assert!(short.contains("stat(\"$dir/b$i\");") && short.ends_with("stat($dir);"), "{short}");
        let strings: Vec<&str> = beginnings(r#"f("a\"b", 1 / 2, "c/$d", "")"#).collect();
        assert_eq!(strings, ["a", "c/", ""]);
        let siblings = [1, 2].map(|run| format!("\"projects/run-{run}/a\"").repeat(20)).concat();
        assert_eq!(worth_a_name([siblings.as_str()].into_iter()), None);
        // Few names, short names, and what runs into a variable stay.
        for text in [line("a"), "\"data/a\"".repeat(50), "\"projects/2026-$i/a\"".repeat(9)] {
            assert_eq!(worth_a_name([text.as_str()].into_iter()), None, "{text}");
        }
    }
}

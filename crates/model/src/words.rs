//! Counts, plurals and lists in messages: the one place where they are made. Lists of ranks:
//! [`RankSet`](crate::RankSet), as it is displayed.

use std::borrow::Cow;
use std::fmt::Display;

/// A count with its noun: "1 rank", "2 ranks", "3 operations that failed". Only the first word takes the plural.
pub fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{number} {}", plural(number, noun))
}

/// A noun for a number of things: "rank" for 1, else "ranks".
pub fn plural(number: u64, noun: &str) -> Cow<'_, str> {
    if number == 1 {
        return noun.into();
    }
    let (word, rest) = noun.split_at(noun.find(' ').unwrap_or(noun.len()));
    let takes_es = ["s", "x", "ch", "sh"].iter().any(|end| word.ends_with(end));
    match word.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies{rest}").into(),
        _ if takes_es => format!("{word}es{rest}").into(),
        _ => format!("{word}s{rest}").into(),
    }
}

/// "once", "2 times".
pub fn times(number: u64) -> String {
    if number == 1 { "once".into() } else { format!("{number} times") }
}

/// "a", "a and b", "a, b and c".
pub fn list(items: impl IntoIterator<Item = impl Display>) -> String {
    list_some(items, usize::MAX)
}

/// The first `max` items, and the number of the others: "a, b and 3 more".
pub fn list_some(items: impl IntoIterator<Item = impl Display>, max: usize) -> String {
    let mut items = items.into_iter();
    let named = items.by_ref().take(max).map(|item| item.to_string()).collect();
    list_and_more(named, items.count() as u64)
}

/// Items, and the number of others.
pub fn list_and_more(mut named: Vec<String>, more: u64) -> String {
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let last = named.pop().unwrap_or_default();
    if named.is_empty() { last } else { format!("{} and {last}", named.join(", ")) }
}

/// A text of others for a message, cut to this number of characters.
pub fn shortened(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}...", &text[..at]).into(),
        None => text.into(),
    }
}

/// The text with a capital letter at the beginning.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_with_their_nouns() {
        for (number, noun, expected) in [
            (0u64, "rank", "0 ranks"),
            (1, "directory", "1 directory"),
            (2, "directory", "2 directories"),
            (2, "day", "2 days"),
            (3, "pass", "3 passes"),
            (2, "operation that failed", "2 operations that failed"),
        ] {
            assert_eq!(count(number, noun), expected);
        }
        assert_eq!(count([0; 3].len(), "list"), "3 lists");
        assert_eq!((times(1), times(2)), ("once".into(), "2 times".into()));
    }

    #[test]
    fn lists_name_some_and_count_the_others() {
        assert_eq!(list([""; 0]), "");
        assert_eq!(list(["a"]), "a");
        assert_eq!(list(["a", "b", "c"]), "a, b and c");
        assert_eq!(list_some(["a", "b", "c"], 3), "a, b and c");
        assert_eq!(list_some(["a", "b", "c", "d"], 2), "a, b and 2 more");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöüß", 3), "äöü...");
        assert_eq!(shortened("", 0), "");
    }
}

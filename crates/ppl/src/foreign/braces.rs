//! `file{1..4}`, `file{a,b}`: names as a shell expands them.

/// Most names of one word.
const MOST: usize = 64;

/// The names that a word stands for; a word without braces, or with too many names, is one.
pub(super) fn expand(word: &str) -> Vec<String> {
    expanded(word).filter(|names| names.len() <= MOST).unwrap_or_else(|| vec![word.to_string()])
}

fn expanded(word: &str) -> Option<Vec<String>> {
    let open = word.find('{')?;
    let close = open + word[open..].find('}')?;
    let choices = choices(&word[open + 1..close])?;
    let rests = expanded(&word[close + 1..]).unwrap_or_else(|| vec![word[close + 1..].to_string()]);
    let start = &word[..open];
    let of_choice = |choice: &String| {
        let names = rests.iter().map(|rest| format!("{start}{choice}{rest}"));
        names.collect::<Vec<String>>()
    };
    Some(choices.iter().take(MOST + 1).flat_map(of_choice).take(MOST + 1).collect())
}

/// `1..4`, `01..04`, `a,b`.
fn choices(inside: &str) -> Option<Vec<String>> {
    let Some((first, last)) = inside.split_once("..") else {
        let words = inside.split(',').map(str::to_string).collect::<Vec<String>>();
        return (words.len() > 1).then_some(words);
    };
    let (from, to): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
    let width = if first.starts_with('0') { first.len() } else { 0 };
    let numbers = (from..=to).take(MOST + 1).map(|number| format!("{number:0width$}"));
    (from <= to).then(|| numbers.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_expanded_as_a_shell_does() {
        for (word, names) in [
            ("/mnt/f{1..3}", "/mnt/f1 /mnt/f2 /mnt/f3"),
            ("f{a,bc}.x", "fa.x fbc.x"),
            ("d{1..2}/f{08..10}", "d1/f08 d1/f09 d1/f10 d2/f08 d2/f09 d2/f10"),
            ("plain", "plain"),
            ("f{x}", "f{x}"),
            ("f{3..1}", "f{3..1}"),
            ("f{1..4", "f{1..4"),
            ("f{1..4000000000}", "f{1..4000000000}"),
            ("f{1..9}{1..9}", "f{1..9}{1..9}"),
        ] {
            assert_eq!(expand(word).join(" "), names, "{word}");
        }
    }
}

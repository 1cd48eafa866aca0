//! Variables of a shell script, as far as the script itself sets them.
//!
//! ```text
//! BLOCK=${2:-64m}
//! for T in 64k 1m; do             the first value is taken, and the others are told
//!   ior -t $T -b $BLOCK   ──▶       ior -t 64k -b 64m
//! ```
//!
//! No shell: what commands print, arithmetic and conditions stay as they are written.

use std::collections::HashMap;

/// A script with the values of its variables.
pub(crate) struct Expanded {
    pub(crate) text: String,
    /// Loops of which one value is taken.
    pub(crate) loops: Vec<String>,
}

/// Puts values in the place of variables.
pub(crate) fn expand(text: &str) -> Expanded {
    let mut values: HashMap<String, String> = HashMap::new();
    let (mut lines, mut loops) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let line = with_values(line, &values);
        let bare = line.trim().strip_prefix("export ").unwrap_or(line.trim());
        if let Some((name, all)) = for_loop(bare) {
            if all.len() > 1 {
                loops.push(format!("for {name} in {} (the first is taken)", all.join(" ")));
            }
            values.extend(all.first().map(|first| (name.to_string(), first.to_string())));
        } else if let Some((name, value)) = assignment(bare) {
            values.insert(name.to_string(), value.to_string());
        }
        lines.push(line);
    }
    Expanded { text: lines.join("\n"), loops }
}

/// Names of variables that are still in a text.
pub(crate) fn variables(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('$') {
        let rest = &text[at + 1..];
        let name = name_of(rest.strip_prefix('{').unwrap_or(rest));
        if !name.is_empty() && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// `NAME=VALUE`, where the value is one word.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim_end_matches(';').split_once('=')?;
    let value = unquoted(value.split(" #").next().unwrap_or(value).trim());
    let is_word = !value.is_empty() && !value.contains([' ', '`', '(', ';', '&', '|']);
    (name_of(name) == name && !name.is_empty() && is_word).then_some((name, value))
}

/// `for NAME in a b c; do`.
fn for_loop(line: &str) -> Option<(&str, Vec<&str>)> {
    let (name, rest) = line.strip_prefix("for ")?.split_once(" in ")?;
    let values = rest.split(';').next().unwrap_or(rest).split_whitespace();
    let values: Vec<&str> = values.filter(|word| *word != "do").map(unquoted).collect();
    let is_plain = values.iter().all(|value| !value.contains(['$', '`', '(', '*', '{']));
    (name_of(name.trim()) == name.trim() && is_plain).then_some((name.trim(), values))
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\''])
}

/// The name that a text begins with.
fn name_of(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let name = &text[..end];
    if name.starts_with(|c: char| c.is_ascii_digit()) { "" } else { name }
}

/// A line with what is known of its variables.
fn with_values(line: &str, values: &HashMap<String, String>) -> String {
    let (mut shown, mut rest) = (String::new(), line);
    while let Some(at) = rest.find('$') {
        shown.push_str(&rest[..at]);
        let (length, value) = reference(&rest[at..], values);
        shown.push_str(value.unwrap_or(&rest[at..at + length]));
        rest = &rest[at + length..];
    }
    shown + rest
}

/// Bytes of a reference at the start of a text, and its value.
fn reference<'t>(text: &'t str, values: &'t HashMap<String, String>) -> (usize, Option<&'t str>) {
    let braced = text[1..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
    let Some((inner, _)) = braced else {
        let name = name_of(&text[1..]);
        return (1 + name.len(), values.get(name).map(String::as_str));
    };
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    (inner.len() + 3, values.get(name).map(String::as_str).or(default))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_the_values_that_the_script_sets() {
        let script = "T=1m # a size\nB=${2:-64m}\nexport OUT=\"$SCRATCH/x\"\nN=$(nproc)\n\
                      for S in 1 2; do\nfor F in *; do\nior -t $T -b ${B} -s $S -o $OUT/f $N $F $1 $\n";
        let expanded = expand(script);
        let last = expanded.text.lines().last().expect("a line");
        assert_eq!(last, "ior -t 1m -b 64m -s 1 -o $SCRATCH/x/f $N $F $1 $");
        assert_eq!(expanded.loops, ["for S in 1 2 (the first is taken)"]);
        assert_eq!(variables(last), ["SCRATCH", "N", "F"]);
    }

    #[test]
    fn what_is_no_shell_stays() {
        for text in ["", "$", "${", "${x", "$é", "a=b c", "for in", "for x in ", "=1", "ü=1\n$ü"]
        {
            assert_eq!(expand(text).text, text, "{text}");
        }
    }
}

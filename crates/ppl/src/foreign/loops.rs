//! Heads of counting loops of C, Python and shells, as a `repeat` of PPL.
//!
//! ```text
//! for (int i = 0; i < 10; i++)        repeat $i 10
//! for i in range(2, 20, 2):           repeat $i 2..20 step 2
//! for i in {1..10}; do                repeat $i 1..11
//! ```

/// The `repeat` that counts as the loop at the start of a line does; `None`: it does not count,
/// or in a way that `repeat` does not.
pub(crate) fn repeat(line: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix("for")?;
    let head = rest.trim_start();
    if let Some(inner) = head.strip_prefix("((").or_else(|| head.strip_prefix('(')) {
        return of_c(inner.split(')').next()?);
    }
    if !rest.starts_with(char::is_whitespace) {
        return None;
    }
    let (name, values) = head.split_once(" in ")?;
    let (name, values) = (variable(name.trim())?, values.trim_start());
    match values.strip_prefix("range(") {
        Some(inner) => of_python(&name, inner.split(')').next()?),
        None => of_shell(&name, values),
    }
}

/// `int i = 0; i < n; i++`
fn of_c(head: &str) -> Option<String> {
    let parts: Vec<&str> = head.split(';').map(str::trim).collect();
    let [init, condition, step] = parts[..] else { return None };
    let (declared, from) = init.split_once('=')?;
    let name = variable(declared.split_whitespace().last()?)?;
    let (bound, included) = match condition.split_once("<=") {
        Some((_, bound)) => (bound, true),
        None => (condition.split_once('<')?.1, false),
    };
    counted(&name, value(from)?, end(&value(bound)?, included), step_of_c(step)?)
}

/// `i++`, `i += 4096`
fn step_of_c(step: &str) -> Option<String> {
    if step.contains("++") {
        return Some("1".into());
    }
    value(step.split_once("+=")?.1)
}

/// `10`, `0, 10`, `0, 10, 2`
fn of_python(name: &str, inner: &str) -> Option<String> {
    let values: Option<Vec<String>> = inner.split(',').map(value).collect();
    match &values?[..] {
        [to] => counted(name, "0".into(), to.clone(), "1".into()),
        [from, to] => counted(name, from.clone(), to.clone(), "1".into()),
        [from, to, step] => counted(name, from.clone(), to.clone(), step.clone()),
        _ => None,
    }
}

/// `$(seq 1 10)`, `{1..10}`, both with their end.
fn of_shell(name: &str, values: &str) -> Option<String> {
    if let Some(inner) = values.strip_prefix('{') {
        let (from, to) = inner.split('}').next()?.split_once("..")?;
        return counted(name, value(from)?, end(&value(to)?, true), "1".into());
    }
    let inner = values.strip_prefix("$(seq ")?.split(')').next()?;
    let numbers: Option<Vec<String>> = inner.split_whitespace().map(value).collect();
    match &numbers?[..] {
        [to] => counted(name, "1".into(), end(to, true), "1".into()),
        [from, to] => counted(name, from.clone(), end(to, true), "1".into()),
        [from, step, to] => counted(name, from.clone(), end(to, true), step.clone()),
        _ => None,
    }
}

/// An offset of integers, `+`, `*` and the variable that `head` counts, `i * 4096`, in PPL;
/// `None`: it says more than that.
pub(crate) fn offset(text: &str, head: &str) -> Option<String> {
    let counter = head.split_whitespace().nth(1);
    let spaced = text.replace('*', " * ").replace('+', " + ");
    let words: Option<Vec<String>> = spaced
        .split_whitespace()
        .map(|word| match word {
            "*" | "+" => Some(word.to_string()),
            _ => value(word).filter(|word| !word.starts_with('$') || counter == Some(word)),
        })
        .collect();
    let words = words?;
    let alternate =
        words.iter().enumerate().all(|(at, word)| (at % 2 == 1) == "*+".contains(&**word));
    (alternate && words.len() % 2 == 1).then(|| words.join(" "))
}

fn counted(name: &str, from: String, to: String, step: String) -> Option<String> {
    Some(match (from.as_str(), step.as_str()) {
        ("0", "1") => format!("repeat {name} {to}"),
        (_, "1") => format!("repeat {name} {from}..{to}"),
        _ => format!("repeat {name} {from}..{to} step {step}"),
    })
}

/// The first number that does not belong to the range.
fn end(bound: &str, included: bool) -> String {
    match (included, bound.parse::<i64>()) {
        (false, _) => bound.into(),
        (true, Ok(bound)) => bound.saturating_add(1).to_string(),
        (true, Err(_)) => format!("{bound} + 1"),
    }
}

/// A number, or a variable.
fn value(text: &str) -> Option<String> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.len() < 18 && text.bytes().all(|b| b.is_ascii_digit());
    // A leading zero is octal elsewhere and an error in PPL.
    if is_number && (text == "0" || !text.starts_with('0')) {
        return Some(text.into());
    }
    variable(text)
}

/// `$name` of a name with or without `$`.
fn variable(text: &str) -> Option<String> {
    let name = text.strip_prefix('$').unwrap_or(text);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| format!("${name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_those_of_the_counter_and_of_nothing_else() {
        for (text, expected) in [
            ("i*4096", Some("$i * 4096")),
            ("i * 4096 + 512", Some("$i * 4096 + 512")),
            ("8192", Some("8192")),
            ("i", Some("$i")),
            ("n * 4096", None),
            ("i * sizeof(x", None),
            ("i * ", None),
            ("i 4096", None),
            ("off[i]", None),
            ("", None),
        ] {
            assert_eq!(offset(text, "repeat $i 8 ").as_deref(), expected, "{text}");
        }
        assert_eq!(offset("i * 8", ""), None);
    }

    #[test]
    fn counting_loops_become_repeats() {
        for (line, expected) in [
            ("for (int i = 0; i < 10; i++) {", Some("repeat $i 10")),
            ("  for(i=0;i<n;++i)", Some("repeat $i $n")),
            ("for (off_t off = 0; off <= 100; off += 4096)", Some("repeat $off 0..101 step 4096")),
            ("for i in range(10):", Some("repeat $i 10")),
            ("for i in range(2, 20, 2):", Some("repeat $i 2..20 step 2")),
            ("for i in {1..10}; do", Some("repeat $i 1..11")),
            ("for i in $(seq 5); do", Some("repeat $i 1..6")),
            ("for ((i=0; i<5; i++)); do", Some("repeat $i 5")),
            ("for (i = 10; i > 0; i--)", None),
            ("for name in names:", None),
            ("for (;;)", None),
            ("for (i = 0644; i < 9; i++)", None),
            ("format(x)", None),
            ("for", None),
        ] {
            assert_eq!(repeat(line).as_deref(), expected, "{line}");
        }
    }
}

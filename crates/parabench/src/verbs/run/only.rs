//! `--only LABEL`: a label that the program cannot enter is a slip of the user's, and a
//! run that measures nothing because of it must say so.

use crate::error::{Error, Result};
use model::{Plan, Run};

/// Refuses labels that no `time` of the program can have.
///
/// # Errors
/// The label, and those that there are.
pub fn check(only: &[String], plan: &Plan) -> Result<()> {
    let known: Option<Vec<&[u8]>> =
        plan.labels.iter().map(|label| plan.literal(label.text)).collect();
    // Labels with values in them are known only while the program runs; a program without
    // labels is executed whole.
    let Some(known) = known.filter(|known| !known.is_empty()) else { return Ok(()) };
    let can_be = |only: &str| known.iter().any(|text| is_end(only.as_bytes(), text));
    match only.iter().find(|only| !can_be(only)) {
        Some(unknown) => Err(refused(unknown, &known)),
        None => Ok(()),
    }
}

/// The label's own text, or the last part of a path of labels.
fn is_end(only: &[u8], text: &[u8]) -> bool {
    match only.strip_suffix(text) {
        Some(outer) => outer.is_empty() || outer.ends_with(b"/"),
        None => false,
    }
}

fn refused(unknown: &str, known: &[&[u8]]) -> Error {
    let error = Error::input(format!("--only {unknown}: the program has no label of this name"));
    let mut names: Vec<_> = known.iter().map(|text| String::from_utf8_lossy(text)).collect();
    names.sort();
    names.dedup();
    names.truncate(20);
    error.help(format!("its labels: {}", names.join(", ")))
}

/// Requested labels that the program never entered, in sentences.
pub fn missed<'a>(only: &'a [String], run: &'a Run) -> impl Iterator<Item = String> + 'a {
    let entered = |only: &str| run.times.iter().any(|time| holds(&time.label, only));
    let missed = only.iter().filter(move |only| !entered(only));
    missed.map(|only| format!("--only {only}: the program entered no label of this name"))
}

/// `only` is the path, or some labels of it in a row.
fn holds(path: &str, only: &str) -> bool {
    format!("/{path}/").contains(&format!("/{only}/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_found_by_its_text_and_by_its_path() {
        assert!(holds("a/b", "a") && holds("a/b", "b") && holds("a/b", "a/b"));
        assert!(!holds("ab", "a") && !holds("a/b", "ab"));
        assert!(is_end(b"a/b", b"b") && is_end(b"b", b"b") && !is_end(b"ab", b"b"));
    }
}

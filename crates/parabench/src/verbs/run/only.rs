//! `--only LABEL`: a label that the program cannot enter is a slip of the user's, and a
//! run that measures nothing because of it must say so.

use crate::error::{Error, Result};
use model::plan::{Instr, Operand, Piece, Source, Template};
use model::{Op, Plan, Run};

/// Refuses labels that no `time` of the program can have.
///
/// # Errors
/// The label, and those that there are.
pub fn check(only: &[String], plan: &Plan) -> Result<()> {
    let known: Vec<Vec<Part>> = plan.labels.iter().map(|label| parts(plan, label.text)).collect();
    // A program without labels is executed whole.
    let can_be = |only: &str| known.iter().any(|parts| is_end(only.as_bytes(), parts));
    match only.iter().find(|only| !known.is_empty() && !can_be(only)) {
        Some(unknown) => Err(refused(unknown, &known)),
        None => Ok(()),
    }
}

/// A part of a label's text; `None`: a value that is known while the program runs.
type Part = Option<Vec<u8>>;

fn parts(plan: &Plan, text: Operand) -> Vec<Part> {
    if let Some(text) = plan.literal(text) {
        return vec![Some(text.to_vec())];
    }
    let Source::Template(index) = text.source() else { return vec![None] };
    let Template { start, end } = plan.templates[index as usize];
    let pieces = &plan.pieces[start as usize..end as usize];
    let part = |piece: &Piece| match piece {
        Piece::Text { start, end } => Some(plan.text[*start as usize..*end as usize].to_vec()),
        _ => None,
    };
    pieces.iter().map(part).collect()
}

/// The label's own text, or the last part of a path of labels.
fn is_end(only: &[u8], parts: &[Part]) -> bool {
    let mut starts = (0..only.len()).filter(|at| *at == 0 || only[at - 1] == b'/');
    starts.any(|at| is_made_of(&only[at..], parts))
}

/// The text can be these parts, with some values.
fn is_made_of(text: &[u8], parts: &[Part]) -> bool {
    // Where the parts so far can end, in ascending order.
    let mut ends = vec![0];
    for part in parts {
        ends = match part {
            None => ends.first().map_or(Vec::new(), |first| (*first..=text.len()).collect()),
            Some(literal) => {
                let fits = ends.into_iter().filter(|at| text[*at..].starts_with(literal));
                fits.map(|at| at + literal.len()).collect()
            }
        };
    }
    ends.last() == Some(&text.len())
}

/// A label as it is listed: "level ...".
fn listed(parts: &[Part]) -> String {
    let shown = parts.iter().map(|part| match part {
        Some(text) => String::from_utf8_lossy(text),
        None => "...".into(),
    });
    shown.collect()
}

fn refused(unknown: &str, known: &[Vec<Part>]) -> Error {
    let error = Error::input(format!("--only {unknown}: the program has no label of this name"));
    let mut names: Vec<String> = known.iter().map(|parts| listed(parts)).collect();
    names.sort();
    names.dedup();
    names.truncate(20);
    error.help(format!("its labels: {}", names.join(", ")))
}

/// A note that `--only` stores no scores.
pub fn about_scores(only: &[String], plan: &Plan) -> Option<&'static str> {
    let is_score = |instr: &Instr| matches!(instr, Instr::Op { op: Op::Score, .. });
    let is_missed = !only.is_empty() && plan.code.iter().any(is_score);
    is_missed.then_some("--only stores no scores: they need the whole program")
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
        let b = [Some(b"b".to_vec())];
        assert!(is_end(b"a/b", &b) && is_end(b"b", &b) && !is_end(b"ab", &b));
    }

    #[test]
    fn labels_with_values_in_them_are_matched_by_their_text() {
        let literal = |text: &str| Some(text.as_bytes().to_vec());
        let parts = [literal("level "), None, literal(" of "), None];
        for (only, can_be) in [
            ("level 1 of 2", true),
            ("all/level 1/2 of 3", true),
            ("level  of ", true),
            ("level 1", false),
            ("a level 1 of 2", false),
            ("", false),
        ] {
            assert_eq!(is_end(only.as_bytes(), &parts), can_be, "{only}");
        }
        assert_eq!(listed(&parts), "level ... of ...");
    }
}

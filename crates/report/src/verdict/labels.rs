//! What the evidence says of single labels, and how marks name them.

use model::run::{LabelEvidence, Run};

/// Labels that a mark names; the others are counted.
const NAMED: usize = 3;

/// `label "read" and 2 more`, each with what is said of it: `say` gives nothing for labels against
/// which nothing speaks.
pub(super) fn named(run: &Run, say: impl Fn(&LabelEvidence) -> Option<String>) -> Option<String> {
    let found: Vec<String> = run.run.evidence.labels.iter().filter_map(say).collect();
    let more = found.len().saturating_sub(NAMED);
    let mut text = found.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
    if more > 0 {
        text.push_str(&format!("; and so in {more} more labels"));
    }
    (!found.is_empty()).then_some(text)
}

/// `in label "read"`
pub(super) fn inside(label: &LabelEvidence) -> String {
    match &*label.label {
        "" => "outside of labels".to_string(),
        label => format!("in label \"{label}\""),
    }
}

/// A part of a whole; 0 of nothing.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64).min(1.0) }
}

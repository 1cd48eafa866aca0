//! What the evidence says of single labels, and how marks name them.

use super::{has_storage, in_memory, memory_of};
use model::run::{DirectoryEvidence, LabelEvidence, Run};

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

/// What `tell` says of a label's evidence: `in label "read", directory fast: ...` of each directory
/// where there are several. What main memory keeps anyway is not judged.
pub(super) fn told(
    run: &Run,
    label: &LabelEvidence,
    tell: impl Fn(&LabelEvidence) -> Option<String>,
) -> Option<String> {
    let whole = || Some(format!("{} {}", inside(label), tell(label)?));
    if !has_storage(run) {
        return None;
    }
    if label.directories.is_empty() {
        return whole().filter(|_| in_memory(run).is_none());
    }
    let on_storage = label.directories.iter().filter(|part| is_on_storage(run, part));
    let of_part = |part: &DirectoryEvidence| {
        let name = match &*part.directory {
            "" => "the run directory",
            name => name,
        };
        Some(format!("{}, {name}: {}", inside(label), tell(&part_of(label, part))?))
    };
    let said: Vec<String> = on_storage.filter_map(of_part).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

fn is_on_storage(run: &Run, part: &DirectoryEvidence) -> bool {
    let further = run.run.host.directories.iter().find(|known| known.name == part.directory);
    memory_of(further.map_or(&run.run.host.storage, |known| &known.storage)).is_none()
}

/// The evidence of a label in one directory. What was fetched is known of all of them together: an
/// upper bound.
fn part_of(label: &LabelEvidence, part: &DirectoryEvidence) -> LabelEvidence {
    LabelEvidence {
        written_bytes: part.written_bytes,
        unstable_bytes: part.unstable_bytes,
        read_bytes: part.read_bytes,
        direct_read_bytes: part.direct_read_bytes,
        looked_bytes: part.looked_bytes,
        cached_bytes: part.cached_bytes,
        mapped_bytes: part.mapped_bytes,
        hole_bytes: part.hole_bytes,
        encoded_bytes: part.encoded_bytes,
        looked_names: part.looked_names,
        cached_names: part.cached_names,
        directories: Vec::new(),
        ..label.clone()
    }
}

/// A part of a whole; 0 of nothing.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64).min(1.0) }
}

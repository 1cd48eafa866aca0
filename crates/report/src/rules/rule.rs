//! A rule: a code, a severity, a condition on a finished run with its sentence, and the fix. Questions that rules
//! ask a run: its clock, its storage, and the evidence of its labels.

use model::run::{DirectoryEvidence, LabelEvidence, Mark, Run, Storage};
use model::words;

/// Severity of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// A figure means something else than it seems to: exit code 3 with `--strict`.
    Verdict,
    /// A reader should know it; it needs a fix only where it was not meant.
    Remark,
    /// A fact about the run.
    Note,
}

/// The condition and sentence of a rule.
type Seen = fn(&Run) -> Option<String>;

/// One rule. A code may have several, with different severities.
pub struct Rule {
    /// Stable short name: "cached-reads". docs/verdicts.md lists all that are not notes.
    pub code: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// The sentence with the numbers; `None` where the run gives no reason.
    pub seen: Seen,
    /// The advice; "" for notes.
    pub fix: &'static str,
    /// The advice where it depends on the run.
    pub fix_of: Option<fn(&Run) -> &'static str>,
}

/// A verdict.
pub const fn verdict(code: &'static str, seen: Seen, fix: &'static str) -> Rule {
    Rule { code, severity: Severity::Verdict, seen, fix, fix_of: None }
}

/// A remark.
pub const fn remark(code: &'static str, seen: Seen, fix: &'static str) -> Rule {
    Rule { code, severity: Severity::Remark, seen, fix, fix_of: None }
}

/// A note.
pub const fn note(code: &'static str, seen: Seen) -> Rule {
    Rule { code, severity: Severity::Note, seen, fix: "", fix_of: None }
}

impl Rule {
    /// The advice is chosen by the run.
    pub const fn with_fix_of(self, fix_of: fn(&Run) -> &'static str) -> Rule {
        Rule { fix_of: Some(fix_of), ..self }
    }

    /// The mark of a run, if the rule is not a note and the run gives a reason.
    pub fn mark(&self, run: &Run) -> Option<Mark> {
        if self.severity == Severity::Note {
            return None;
        }
        let seen = (self.seen)(run)?;
        let counts = self.severity == Severity::Verdict;
        let advice = self.fix_of.map_or(self.fix, |fix_of| fix_of(run)).into();
        Some(Mark { code: self.code.into(), counts, seen, advice, executions: None })
    }

    /// The sentence of a note.
    pub fn note(&self, run: &Run) -> Option<String> {
        (self.severity == Severity::Note).then(|| (self.seen)(run)).flatten()
    }
}

/// Labels that a mark names; the others are counted.
const NAMED: usize = 3;

/// Virtual time costs nothing and measures nothing: no rule about time applies.
pub fn is_virtual(run: &Run) -> bool {
    run.run.evidence.clock == "virtual"
}

/// The run used real storage: neither the memory of a simulation nor nothing at all.
pub fn has_storage(run: &Run) -> bool {
    !matches!(run.run.backend.as_str(), "mem" | "null")
}

/// The file system or ram disk that keeps the files in memory, if one does.
pub fn in_memory(run: &Run) -> Option<&str> {
    memory_of(&run.run.host.storage)
}

/// The same of a file system and the devices below it.
pub fn memory_of(storage: &Storage) -> Option<&str> {
    let Storage { file_system, devices, .. } = storage;
    let is_memory = matches!(&**file_system, "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs");
    let device = devices.iter().find(|device| device.kind == "memory");
    is_memory.then_some(&**file_system).or(device.map(|device| &*device.name))
}

/// Rank time: the run's duration once for every rank, nanoseconds.
pub fn rank_time_ns(run: &Run) -> f64 {
    run.run.duration_wall_ns as f64 * f64::from(run.run.ranks.max(1))
}

/// A part of a whole; 0 of nothing.
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64).min(1.0) }
}

/// A sum over the labels.
pub fn sum(run: &Run, figure: fn(&LabelEvidence) -> u64) -> u64 {
    run.run.evidence.labels.iter().map(figure).fold(0, u64::saturating_add)
}

/// The findings of the phases of a program: its labels, or all of it where it has none.
pub fn each_phase(run: &Run, find: impl Fn(&LabelEvidence) -> Option<String>) -> Option<String> {
    each_label(run, |label| find(label).filter(|_| !is_setup(run, label)))
}

/// The finding outside of the labels of a program that has some: on files that it prepares.
pub fn in_setup(run: &Run, find: impl Fn(&LabelEvidence) -> Option<String>) -> Option<String> {
    each_label(run, |label| find(label).filter(|_| is_setup(run, label)))
}

fn is_setup(run: &Run, label: &LabelEvidence) -> bool {
    label.label.is_empty() && !run.labels.is_empty()
}

/// The findings of all labels that have one: `in label "a" ...; in label "b" ...; and 2 more labels`.
pub fn each_label(run: &Run, find: impl Fn(&LabelEvidence) -> Option<String>) -> Option<String> {
    let found: Vec<String> = run.run.evidence.labels.iter().filter_map(find).collect();
    let more = found.len().saturating_sub(NAMED);
    let mut text = found.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
    if more > 0 {
        text.push_str(&format!("; and {more} more {}", words::plural(more as u64, "label")));
    }
    (!found.is_empty()).then_some(text)
}

/// `in label "read"`
pub fn inside(label: &LabelEvidence) -> String {
    match &*label.label {
        "" => "outside of labels".to_string(),
        label => format!("in label \"{label}\""),
    }
}

/// The finding of a label; where it used several directories, of each: `in label "read", directory fast:
/// ...`. Directories in memory are not judged.
pub fn each_directory(
    run: &Run,
    label: &LabelEvidence,
    find: impl Fn(&LabelEvidence) -> Option<String>,
) -> Option<String> {
    if !has_storage(run) {
        return None;
    }
    if label.directories.is_empty() {
        let found = find(label).filter(|_| in_memory(run).is_none())?;
        return Some(format!("{} {found}", inside(label)));
    }
    let on_storage = label.directories.iter().filter(|part| is_on_storage(run, part));
    let of_part = |part: &DirectoryEvidence| {
        let name = if part.directory.is_empty() { "the run directory" } else { &part.directory };
        Some(format!("{}, {name}: {}", inside(label), find(&part_of(label, part))?))
    };
    let found: Vec<String> = on_storage.filter_map(of_part).collect();
    (!found.is_empty()).then(|| found.join("; "))
}

fn is_on_storage(run: &Run, part: &DirectoryEvidence) -> bool {
    let further = run.run.host.directories.iter().find(|known| known.name == part.directory);
    memory_of(further.map_or(&run.run.host.storage, |known| &known.storage)).is_none()
}

/// The evidence of a label in one directory. Fetched bytes are known for all directories together: an
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

//! Judgement of a finished run: one list of rules.
//!
//! A rule (`rule::Rule`) looks at the run alone, so that a run made by anybody (an imported trace too) is
//! judged alike. Verdicts and remarks become marks, notes become sentences. Topics: `measuring` (the run
//! and its clock), `data` (bytes of labels), `machines` (CPUs, storage), `mpi`, `sweeps`. The list for users
//! is docs/verdicts.md.

mod data;
mod machines;
mod measuring;
mod mpi;
mod rule;
mod sweeps;
mod warnings;

use model::run::{Mark, Run};
use rule::Rule;
pub(crate) use rule::in_memory;
pub use warnings::{FAILED, Warning, warnings};

/// The rules of a run in the order of reports.
fn rules() -> impl Iterator<Item = &'static Rule> {
    let topics: [&[Rule]; 7] = [
        measuring::RULES,
        machines::STORAGE,
        data::RULES,
        mpi::RULES,
        machines::COMPETITION,
        machines::LOAD,
        data::NOTES,
    ];
    topics.into_iter().flatten()
}

/// Verdicts and remarks on a run.
pub fn marks(run: &Run) -> Vec<Mark> {
    rules().filter_map(|rule| rule.mark(run)).collect()
}

/// Marks and notes on one execution: adds them to its evidence.
pub fn judge(run: &mut Run) {
    run.run.evidence.marks = marks(run);
    let notes: Vec<String> = rules().filter_map(|rule| rule.note(run)).collect();
    run.run.evidence.notes.extend(notes);
}

/// Remarks on a sweep as a whole.
pub fn sweep_marks(run: &Run) -> Vec<Mark> {
    sweeps::REMARKS.iter().filter_map(|rule| rule.mark(run)).collect()
}

/// Notes on a sweep as a whole, whose executions have been judged one by one.
pub fn sweep_notes(run: &Run) -> Vec<String> {
    sweeps::RULES.iter().filter_map(|rule| rule.note(run)).collect()
}

#[cfg(test)]
mod tests;

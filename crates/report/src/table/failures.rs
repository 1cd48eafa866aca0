//! Failed operations, and ranks that did not finish.

use crate::document::Item;
use crate::rows::execution;
use model::run::{Failure, RankError, Run};
use model::{RankSet, errno};
use std::collections::{BTreeSet, HashSet};

/// Kinds of failures that are listed; the rest is counted.
const LISTED: usize = 20;
/// Files with wrong bytes that are named; there may be more.
const FILES_NAMED: usize = 5;
/// Ranks besides the first that are named with what was wrong.
const RANKS_NAMED: usize = 3;

/// Failed operations, one entry for each kind and place.
pub fn failures(run: &Run) -> Vec<Item> {
    let mut kinds: Vec<FailureKind<'_>> = Vec::new();
    for failure in &run.run.failures {
        let same = |kind: &&mut FailureKind<'_>| {
            let first = kind.first;
            (&first.place, &first.op, first.errno) == (&failure.place, &failure.op, failure.errno)
        };
        match kinds.iter_mut().find(same) {
            Some(kind) => kind.add(failure),
            None => kinds.push(FailureKind::new(failure)),
        }
    }
    let listed = kinds.iter().take(LISTED);
    let mut items: Vec<Item> = listed.map(|kind| Item::bad(kind.describe(run))).collect();
    if kinds.len() > LISTED {
        items.push(Item::bad(format!("and {} more kinds of failures", kinds.len() - LISTED)));
    }
    items
}

/// Failures of one error at one place.
struct FailureKind<'r> {
    first: &'r Failure,
    count: u64,
    /// Files, those whose bytes were wrong: each has to be looked at.
    files: BTreeSet<&'r str>,
    /// Ranks that saw other wrong bytes of the first one's file: the first failure of each.
    others: Vec<&'r Failure>,
}

impl<'r> FailureKind<'r> {
    fn new(first: &'r Failure) -> FailureKind<'r> {
        FailureKind { first, count: first.occurrences, files: BTreeSet::new(), others: Vec::new() }
    }

    fn add(&mut self, failure: &'r Failure) {
        self.count = self.count.saturating_add(failure.occurrences);
        let is_wrong = errno::name(failure.errno) == "EBADMSG";
        if is_wrong && failure.path != self.first.path {
            self.files.insert(&failure.path);
        } else if is_wrong && self.is_of_another_rank(failure) {
            self.others.push(failure);
        }
    }

    fn is_of_another_rank(&self, failure: &Failure) -> bool {
        let mut known = std::iter::once(self.first).chain(self.others.iter().copied());
        known.all(|known| known.rank != failure.rank)
    }

    /// `; so on rank 2 (corrupted at offset 10000 (1 byte)), and on 3 more ranks`
    fn of_other_ranks(&self) -> String {
        let named = self.others.iter().take(RANKS_NAMED);
        let named = named.map(|one| format!("rank {} ({})", one.rank, reason(one)));
        let named: Vec<String> = named.collect();
        let more = match self.others.len().saturating_sub(RANKS_NAMED) {
            0 => String::new(),
            1 => ", and on 1 more rank".into(),
            more => format!(", and on {more} more ranks"),
        };
        if named.is_empty() { String::new() } else { format!("; so on {}{more}", named.join(", ")) }
    }

    /// `...; also in f-1, f-2, f-3, f-4 and others`
    fn describe(&self, run: &Run) -> String {
        let more = if self.files.len() >= FILES_NAMED { " and others" } else { "" };
        let files: Vec<&str> = self.files.iter().take(FILES_NAMED - 1).copied().collect();
        let also = match files.is_empty() {
            true => String::new(),
            false => format!("; also in {}{more}", files.join(", ")),
        };
        format!("{}{}{also}", failure(run, self.first, self.count), self.of_other_ranks())
    }
}

/// Its message after the error's name.
fn reason(failure: &Failure) -> &str {
    let name = errno::name(failure.errno);
    let message = failure.message.strip_prefix(name).unwrap_or(&failure.message);
    let message = message.trim_start_matches([':', ' ']);
    if message.is_empty() { errno::text(failure.errno) } else { message }
}

/// `12 x write ENOSPC at p.ppl:9:27 (No space left on device), first: rank 0, f-0, offset 512`; of a sweep
/// `..., first: n=2, repetition 1, rank 0, ...`
fn failure(run: &Run, first: &Failure, count: u64) -> String {
    let at = match execution(run, first.cell, first.repetition) {
        one if one.is_empty() => one,
        one => one + ", ",
    };
    let Failure { op, place, rank, offset_bytes: offset, .. } = first;
    let (name, text) = (errno::name(first.errno), reason(first));
    let path = if first.path.is_empty() { "(no name)" } else { &first.path };
    format!(
        "{count} x {op} {name} at {place} ({text}), first: {at}rank {rank}, {path}, offset {offset}"
    )
}

/// Ranks that did not finish, one entry for each reason.
pub fn rank_errors(run: &Run) -> Vec<Item> {
    let mut kinds: Vec<Vec<&RankError>> = Vec::new();
    for error in &run.run.rank_errors {
        let same = |kind: &&mut Vec<&RankError>| {
            (&kind[0].place, &kind[0].message) == (&error.place, &error.message)
        };
        match kinds.iter_mut().find(same) {
            Some(kind) => kind.push(error),
            None => kinds.push(vec![error]),
        }
    }
    // A process that was ended from outside has no place: others ended because of it.
    kinds.sort_by_key(|kind| !kind[0].place.is_empty());
    let lines = kinds.iter().map(|kind| {
        let RankError { place, message, .. } = kind[0];
        let at = if place.is_empty() { "" } else { " at " };
        let all: BTreeSet<u32> = kind.iter().map(|error| error.rank).collect();
        let ranks: RankSet = all.into_iter().collect();
        Item::bad(format!("{}{ranks} ended{at}{place}: {message}", in_executions(run, kind)))
    });
    lines.collect()
}

/// The executions of a sweep that they ended in: `at n=2, repetition 1: `, `in 3 executions, first at ...: `.
fn in_executions(run: &Run, errors: &[&RankError]) -> String {
    let Some(sweep) = &run.run.sweep else { return String::new() };
    let all: HashSet<(u32, u32)> =
        errors.iter().map(|error| (error.cell, error.repetition)).collect();
    let first = sweep.describe_execution(errors[0].cell, errors[0].repetition);
    match all.len() {
        1 => format!("at {first}: "),
        count => format!("in {count} executions, first at {first}: "),
    }
}

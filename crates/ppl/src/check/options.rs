//! W0403: options of `with` that nothing inside takes.
//!
//! ```text
//! with (depth=32) write("a", 1m);          depth=32 has no effect: write does not take it
//! ```
//!
//! Options hold for called procs too, so this runs on what lowering noted of all code. The operations that
//! take an option are in [`model::with`]. Reported is only what is certain.

use crate::diag::{Code, Diagnostic};
use crate::lower::notes::{Asked, Inside, Notes};
use crate::source::Sources;
use model::Op;
use model::op::Needs;
use model::plan::{Plan, Source};
use model::with::WithOption;

/// Most operations named in a message.
const NAMED: usize = 4;

/// Warns of options without effect.
pub(crate) fn warn_of_no_effect(plan: &Plan, notes: &Notes, sources: &Sources) -> Vec<Diagnostic> {
    let mut asked = notes.withs.iter().flat_map(|with| &with.asked);
    let queues = asked.any(|asked| {
        let word = option_text(plan, asked);
        asked.row.option == WithOption::Engine && word.is_none_or(|word| word.starts_with("uring"))
    });
    let mut found = Vec::new();
    for with in &notes.withs {
        let all = with.inside.with_called(&notes.procs);
        for asked in &with.asked {
            let word = option_text(plan, asked);
            let why = why_no_effect(asked, word.as_deref(), (&with.inside, &all), queues);
            found.extend(why.map(|why| {
                let message = format!("{} {why}", sources.text(asked.span));
                Diagnostic::new(Code::NoEffect, asked.span, message).help(asked.row.help)
            }));
        }
    }
    found
}

/// Why an option has no effect on what stands directly inside of a `with` and on all that is called.
fn why_no_effect(
    asked: &Asked,
    word: Option<&str>,
    (own, all): (&Inside, &Inside),
    queues: bool,
) -> Option<String> {
    use WithOption::{Batch, Depth, Dir, Direct, Iopoll, Sqpoll};
    let (row, option) = (asked.row, asked.row.option);
    if word.is_some_and(|word| row.off.contains(&word)) {
        return None;
    }
    // `with (dir="fast") {}` tells that `fast:f` names a file of a directory.
    if option == Dir && (all.asks || *own == Inside::default()) {
        return None;
    }
    let is_queue = matches!(option, Depth | Batch | Sqpoll | Iopoll);
    let has_queue = |op: &Op| !is_queue || queues || op.row().needs == Needs::Mpi;
    let (takers, others): (Vec<Op>, Vec<Op>) =
        all.ops.iter().copied().partition(|op| row.takes(*op, word) && has_queue(op));
    let seems = |op: &Op| row.seeming.contains(op) || option == Depth && row.takes(*op, word);
    let seeming: Vec<Op> = others.iter().copied().filter(seems).collect();
    // W0402 says more about direct=true around MPI-IO.
    let is_said = option == Direct
        && own.ops.iter().any(|op| matches!(op, Op::Pfopen | Op::Pwrite | Op::Pread));
    match (takers.is_empty(), seeming.is_empty()) {
        (false, false) => Some(format!("has no effect on {}", names(&seeming))),
        (false, true) => None,
        _ if is_said || others.is_empty() && all.is_dead => None,
        _ if others.is_empty() => Some("has no effect: no I/O stands inside".into()),
        _ => Some(format!("has no effect: nothing inside takes it (found {})", names(&others))),
    }
}

/// The value of an option, if it is known.
fn option_text(plan: &Plan, asked: &Asked) -> Option<String> {
    match asked.value.source() {
        Source::Const(index) => Some(plan.consts[index as usize].to_string()),
        _ => None,
    }
}

/// `write, fread, ...`
fn names(ops: &[Op]) -> String {
    let mut names: Vec<&str> = ops.iter().take(NAMED).map(|op| op.name()).collect();
    if ops.len() > NAMED {
        names.push("...");
    }
    names.join(", ")
}

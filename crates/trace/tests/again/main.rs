//! A run printed as text of strace and imported again is the same run.
//!
//! ```text
//! steps ──world──▶ calls and the operations that they are ──writer──▶ log ──import──▶ operations
//! ```
//!
//! `world` knows files, descriptors and processes by itself and shares nothing with the resolver.

mod files;
mod world;
mod writer;

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::PathBuf;
use trace::import::from_inputs;
use trace::{Facts, Imported, Options, Selection, input};
use world::{Operation, Run, Step};
use writer::Form;

/// What also a log that is complete leaves open: times that it does not hold, calls without operation.
const ALLOWED: &[&str] = &[
    "no-times",
    "whole-seconds",
    "no-durations",
    "duplicates",
    "copies",
    "no-files",
    "mapped",
    "no-operation",
    "opaque",
    "restarted",
    "unplaced",
    "unknown-parents",
];

fn import(logs: Vec<(String, Vec<u8>)>) -> Imported {
    let inputs = logs.into_iter().map(|(name, text)| {
        (PathBuf::from(name), input::decompressed(Box::new(Cursor::new(text))).unwrap())
    });
    from_inputs(inputs.collect(), &Options { format: None, which: Selection::All }).unwrap()
}

/// The program of a label. The phase behind it is what the import finds out, not what the log tells.
fn program(label: Option<&Vec<u8>>) -> Vec<u8> {
    let program = label.and_then(|label| label.split(|byte| *byte == b'/').next());
    program.unwrap_or_default().to_vec()
}

/// By thread the first one of its rank: those that work in turns have one.
fn first_of_rank(facts: &Facts) -> BTreeMap<u64, u64> {
    let ranked = || facts.threads.iter().filter_map(|thread| Some((thread.rank?, thread.thread)));
    let firsts: BTreeMap<u32, u64> = ranked().rev().collect();
    ranked().map(|(rank, thread)| (named(thread), named(firsts[&rank]))).collect()
}

/// The number of a thread. A log may name none: then all lines are of the first one.
fn named(thread: u64) -> u64 {
    if thread == 0 { world::FIRST } else { thread }
}

/// Operations by the first threads of their ranks, in order of time.
fn by_rank(mut run: Vec<Operation>, first: &BTreeMap<u64, u64>) -> Vec<Operation> {
    for operation in &mut run {
        operation.thread = first.get(&operation.thread).copied().unwrap_or(operation.thread);
    }
    run.sort_by_key(|operation| (operation.thread, operation.start_ns));
    run
}

/// The operations of a run that was imported, by threads.
fn read(imported: Imported) -> Vec<Operation> {
    let facts = imported.facts;
    let ranked =
        facts.threads.iter().filter_map(|thread| Some((thread.rank?.into(), thread.thread)));
    let threads: BTreeMap<u64, u64> = ranked.collect();
    let path_of = |path: &[u8]| match path {
        b"" => Vec::new(),
        b"." => facts.root.clone(),
        path => {
            [&facts.root[..], if facts.root.ends_with(b"/") { b"" } else { b"/" }, path].concat()
        }
    };
    let path = |id: u32| path_of(facts.paths.get(id as usize).map_or(&b""[..], |path| path));
    let mut all: Vec<(u64, Operation)> = Vec::new();
    for traced in imported.events {
        let (event, details, rank) = traced.map(|t| (t.event, t.details, t.rank)).unwrap();
        let operation = Operation {
            thread: named(threads[&rank]),
            op: model::Op::from_u8(event.op).unwrap().name().into(),
            call: String::from_utf8(facts.calls[details.call as usize].clone()).unwrap(),
            label: program(facts.labels.get(event.label as usize)),
            path: match event.op == model::Op::Symlink as u8 {
                // What links hold is a text, which leads from there.
                true => path_of(&model::directory::target_of_link(
                    &facts.paths[event.path2 as usize],
                    &facts.paths[event.path as usize],
                )),
                false => path(event.path),
            },
            path2: path(event.path2),
            instance: details.instance,
            instance2: details.instance2,
            file: details.file,
            open_flags: details.open_flags,
            offset: event.offset_bytes,
            from: event.from_bytes,
            requested: event.requested_bytes,
            done: event.done_bytes,
            errno: event.errno,
            flags: event.flags,
            start_ns: event.start_ns,
            elapsed_ns: event.end_ns - event.start_ns,
            busy_ns: event.busy_ns,
        };
        all.push((details.line, operation));
    }
    all.sort_by_key(|(line, operation)| (operation.thread, *line));
    all.into_iter().map(|(_, operation)| operation).collect()
}

/// Numbers of instances and files in the order in which they appear: which ones they are is free.
fn renumbered(mut run: Vec<Operation>) -> Vec<Operation> {
    let (mut instances, mut files) = (BTreeMap::new(), BTreeMap::new());
    let renumber = |known: &mut BTreeMap<u32, u32>, number: &mut u32| {
        if *number != u32::MAX {
            let next = known.len() as u32;
            *number = *known.entry(*number).or_insert(next);
        }
    };
    for operation in &mut run {
        renumber(&mut instances, &mut operation.instance);
        renumber(&mut instances, &mut operation.instance2);
        renumber(&mut files, &mut operation.file);
    }
    run
}

/// Prints, imports and compares; gives the number of operations.
fn again(run: &Run, form: &Form) -> Result<usize, TestCaseError> {
    let written = writer::write(run, form);
    let text =
        || written.logs.iter().map(|(_, text)| String::from_utf8_lossy(text)).collect::<String>();
    let imported = import(written.logs.clone());
    for gap in &imported.facts.gaps {
        let is_allowed = ALLOWED.contains(&gap.code.as_str());
        prop_assert!(is_allowed, "{} {:?} {form:?}\n{}", gap.says, gap.examples, text());
    }
    let first = first_of_rank(&imported.facts);
    let expected = renumbered(by_rank(written.operations.clone(), &first));
    let found = renumbered(by_rank(read(imported), &first));
    for (expected, found) in expected.iter().zip(&found) {
        prop_assert_eq!(found, expected, "{:?}\n{}", form, text());
    }
    prop_assert_eq!(found.len(), expected.len(), "{:?}\n{}", form, text());
    Ok(found.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_run_printed_and_imported_is_the_same(
        steps in prop::collection::vec(any::<Step>(), 1..90),
        threads in prop::collection::vec(any::<u8>(), 0..4),
        form in any::<[u8; 7]>(),
    ) {
        let form = Form::new(form, threads.len());
        again(&world::run(&steps, &threads, form.overlaps()), &form)?;
    }
}

/// The property means something: over some seeds every operation and every call is printed.
#[test]
fn every_operation_that_strace_can_tell_is_printed() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), seed);
    let steps = prop::collection::vec(any::<Step>(), 60..90);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..300 {
        let steps = steps.new_tree(&mut runner).unwrap().current();
        let run = world::run(&steps, &[1], true);
        seen.extend(run.operations.iter().map(|timed| timed.operation.call.clone()));
    }
    let missing: Vec<_> = world::calls().into_iter().filter(|call| !seen.contains(*call)).collect();
    assert!(missing.is_empty(), "never printed: {missing:?}");
}

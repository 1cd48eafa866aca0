//! The budget against what is really done: counts by the trace of the plan interpreter,
//! files by a small simulation of the operations in it.

use crate::disk::Disk;
use crate::file_programs::file_program;
use crate::{generate, plan};
use model::plan::Budget;
use model::{Op, Plan};
use ppl::source::NoIncludes;
use ppl::{Binding, compile};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn planned(text: &str, ranks: u32) -> Option<Plan> {
    compile("test.ppl", text.into(), &mut NoIncludes, &Binding::new(ranks)).plan
}

fn budget(plan: &Plan, rank: u32) -> &Budget {
    let entry = plan.budget.iter().find(|(ranks, _)| ranks.contains(&rank));
    &entry.expect("every rank has a budget").1
}

/// Operations by name, and bytes written as the trace says.
fn counted(trace: &[String]) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for line in trace {
        let name = line.split(' ').next().unwrap_or("");
        if Op::find(name).is_some_and(Op::is_io) {
            *counts.entry(name).or_default() += 1;
        }
    }
    counts
}

/// Counts: exact where they say so, never too large.
fn check_counts(text: &str, ranks: u32) {
    let Some(made) = planned(text, ranks).filter(|_| !text.contains("rand(")) else { return };
    for rank in 0..ranks {
        let trace = plan::trace(&made, rank);
        if trace.last().is_none_or(|last| last != "end") {
            continue;
        }
        let (budget, counts) = (budget(&made, rank), counted(&trace));
        for (op, known) in &budget.ops {
            let found = counts.get(op.name()).copied().unwrap_or(0);
            let right = if known.exact { known.count == found } else { known.count <= found };
            assert!(right, "{op}: {known:?}, really {found}, rank {rank} of\n{text}");
        }
        if budget.exact {
            assert_eq!(budget.ops.len(), counts.len(), "{budget:?} {counts:?}\n{text}");
        }
    }
}

/// Files of every rank: never more than there would be if it were alone.
fn check_files(text: &str, ranks: u32) {
    let Some(made) = planned(text, ranks) else { return };
    for rank in 0..ranks {
        let trace = plan::trace(&made, rank);
        if trace.last().is_some_and(|last| last == "end") {
            let (disk, found) = (Disk::of(&trace), budget(&made, rank));
            let (bytes, files) = (found.footprint_bytes, found.footprint_files);
            assert!(bytes <= disk.peak, "{bytes} bytes > {} of {rank}\n{text}", disk.peak);
            assert!(files <= disk.peak_files, "{files} > {} of {rank}\n{text}", disk.peak_files);
        }
    }
}

#[test]
fn figures_of_programs() {
    for (text, files, bytes, handles, exact) in [
        ("write(\"a\", 10);", 1, 10, 0, true),
        ("repeat $i 1000000 write(\"f-$i\", 1m);", 1_000_000, 1_000_000 << 20, 0, true),
        ("repeat 1000000 write(\"f\", 1m);", 1, 1 << 20, 0, true),
        (
            "repeat $i 1000000 { write(\"f-$i\", 1m); delete(\"f-$i\"); }",
            1_000_000,
            1 << 20,
            0,
            true,
        ),
        ("repeat 1000 append(\"f\", 1k);", 1, 1000 << 10, 0, true),
        (
            "create(\"b\"); write(\"a\", 9); \
             repeat 4 { rename(\"a\", \"b\"); append(\"b\", 10); write(\"a\", 9); }",
            6,
            19,
            0,
            false,
        ),
        (
            "write(\"a\", 9); repeat 2 { rename(\"a\", \"b\"); create(\"a\"); } write(\"a\", 5);",
            3,
            9,
            0,
            true,
        ),
        (
            "repeat $i 3 write(\"a-$i\", 9); repeat $i 3 rename(\"a-$i\", \"b-$i\"); write(\"c\", 5);",
            4,
            32,
            0,
            true,
        ),
        (
            "$h = fopen(\"a\", \"w\"); repeat 3 { create(\"a\"); fwrite($h, 4); \
             truncate(\"a\", 9); fwrite($h, 8); } write(\"b\", 10);",
            2,
            12,
            1,
            true,
        ),
        (
            "$h = fopen(\"a\", \"w\"); fwrite($h, 10); fwrite($h, 10, 10); \
             repeat $i 2 { write(\"a\", 10); fwrite($h, 10); fseek($h, $i); } fwrite($h, 10); \
             write(\"b\", 10);",
            2,
            20,
            1,
            false,
        ),
        (
            "repeat $i 3 { $h = fopen(\"f-1\", \"w\"); truncate(\"f-$i\", 10); } fwrite($h, 1, 25); \
             append(\"f-1\", 10); truncate(\"f-1\", 10); append(\"f-1\", 10);",
            1,
            10,
            3,
            false,
        ),
        (
            "repeat 5 { $h = fopen(\"a\", \"w\"); fwrite($h, 9); fclose($h); } write(\"b\", 9);",
            2,
            18,
            1,
            true,
        ),
        ("repeat $i 10 { repeat $j 20 write(\"$i-$j\", 3); }", 200, 600, 0, true),
        ("repeat 10 { repeat $j 20 append(\"f-$j\", 3); }", 20, 600, 0, true),
        ("$h = fopen(\"a\", \"w\"); repeat 100 fwrite($h, 10); fclose($h);", 1, 1000, 1, true),
        (
            "$h = fopen(\"a\", \"w\"); repeat $i 100 fwrite($h, 10, $i * 10); fclose($h);",
            1,
            1000,
            1,
            true,
        ),
        (
            "$h = fopen(\"a\", \"w\"); repeat $i 100 { fseek($h, $i * 10); fwrite($h, 10); }",
            1,
            1000,
            1,
            true,
        ),
        (
            "$h = fopen(\"a\", \"w\"); repeat 10 { fseek($h, rand(1, 5)); fwrite($h, 4); }",
            1,
            0,
            1,
            false,
        ),
        (
            "repeat $i 5 { $h = fopen(\"f-$i\", \"w\"); repeat 4 fwrite($h, 10); fclose($h); }",
            5,
            200,
            1,
            true,
        ),
        ("repeat $i 5 { $h = fopen(\"f-$i\", \"w\"); fwrite($h, 1); }", 5, 5, 5, true),
        ("repeat $i 9 write(\"f\", $i * 10);", 1, 80, 0, true),
        ("write(\"a\", 10); write(\"a\", 4); write(\"b\", 5);", 2, 10, 0, true),
        ("write(\"a\", 10); truncate(\"a\", 2); write(\"b\", 5);", 2, 10, 0, true),
        ("write(\"a\", 10); rename(\"a\", \"b\"); write(\"a\", 10);", 2, 20, 0, true),
        (
            "$h = fopen(\"a\", \"w\"); rename(\"a\", \"b\"); create(\"a\"); fwrite($h, 1, 10); \
             append(\"b\", 10); $h = fopen(\"b\", \"r+\"); fwrite($h, 10, 10);",
            2,
            10,
            2,
            true,
        ),
        ("write(\"a\", rand(1, 5)); write(\"b\", 7);", 2, 7, 0, false),
        ("if (rand(1, 2) == 1) write(\"a\", 5); write(\"b\", 7);", 1, 7, 0, false),
        (
            "define proc p($f, $n) { repeat $n append($f, 2); } p(\"a\", 3); p(\"b\", 4);",
            2,
            14,
            0,
            true,
        ),
        ("write(\"a\", 1, 1000);", 1, 1, 0, true),
        ("$x = 0; while ($x < 5) { write(\"f-$x\", 2); $x = $x + 1; }", 5, 10, 0, true),
        ("repeat $i 100 { if ($i == 3) break; write(\"f-$i\", 2); }", 3, 6, 0, true),
        (
            "$o = 0; $h = fopen(\"a\", \"w\"); repeat 9 { fwrite($h, 4, $o); $o = $o + 4; }",
            1,
            36,
            1,
            true,
        ),
    ] {
        let made = planned(text, 1).unwrap_or_else(|| panic!("{text} has errors"));
        let found = budget(&made, 0);
        let figures = (found.files, found.footprint_bytes, found.handles, found.exact);
        assert_eq!(figures, (files, bytes, handles, exact), "{text}\n{found:?}");
        check_counts(text, 1);
    }
}

#[test]
fn what_a_jump_may_skip_does_not_count() {
    for text in [
        "$i = 0; while ($i < 3) { $i = $i + 1; if ($$rand % 2 == 0) continue; write(\"f\", 3); }",
        "$i = 0; while ($i < 3) { $i = $i + 1; if ($$rand % 2 == 0) break; } if ($i == 3) write(\"f\", 3);",
        "$a = 1; repeat 3 { if ($a == 1) continue; $a = 2; } if ($a == 2) write(\"f\", 3);",
        "$a = 1; repeat $i 3 { if ($a == 1 || $$rand > 7) continue; $a = 2; write(\"f-$i\", 3); }",
        "repeat $i 3 { if ($$rand % 2 == 0) break; write(\"f-$i\", 3); }",
        "repeat 2 { $i = 0; while ($i < 3) { $i = $i + 1; if ($$rand % 2 == 0) continue; \
         while ($i < 2) { $i = $i + 1; if ($$rand % 2 == 0) break; } write(\"f\", 3); } }",
    ] {
        let made = planned(text, 1).unwrap_or_else(|| panic!("errors in {text}"));
        let found = budget(&made, 0);
        assert_eq!(found.footprint_bytes, 0, "{text}");
        assert!(found.ops.iter().all(|(op, known)| *op != Op::Write || known.count == 0), "{text}");
    }
    let after =
        "$i = 0; while ($i < 3) { $i = $i + 1; if ($$rand % 2 == 0) continue; } write(\"f\", 3);";
    assert_eq!(budget(&planned(after, 1).expect("no errors"), 0).footprint_bytes, 3);
}

#[test]
fn files_that_are_gone_take_no_room() {
    for (text, made, at_once) in [
        ("repeat $i 1000 { create(\"f-$i\"); delete(\"f-$i\"); }", 1000, 1),
        ("repeat $i 1000 { mkdir(\"d-$i\"); rmdir(\"d-$i\"); }", 1000, 1),
        ("repeat $i 9 create(\"f-$i\"); repeat $i 9 delete(\"f-$i\"); create(\"g\");", 10, 9),
        ("repeat 3 { repeat $i 9 create(\"f-$i\"); repeat $i 9 delete(\"f-$i\"); }", 27, 9),
        ("repeat $i 3 { mkdir(\"d-$i\"); repeat $j 4 create(\"d-$i/$j\"); }", 15, 15),
        (
            "repeat $i 3 create(\"a-$i\"); repeat $i 3 rename(\"a-$i\", \"b-$i\"); create(\"c\");",
            4,
            4,
        ),
        ("create(\"a\"); create(\"b\"); rename(\"a\", \"b\"); create(\"a\");", 3, 2),
        ("create(\"a\"); repeat 5 { delete(\"a\"); create(\"a\"); }", 6, 1),
        ("repeat 5 { create(\"a\"); delete(\"a\"); create(\"a\"); }", 6, 1),
        (
            "repeat $i 4 { create(\"f-$i\"); repeat 3 { delete(\"f-$i\"); create(\"f-$i\"); } }",
            16,
            4,
        ),
        ("repeat 5 { create(\"a\"); delete(\"a\"); create(\"a\"); delete(\"a\"); }", 10, 1),
        ("create(\"a\"); repeat $i 3 { rename(\"a\", \"b-$i\"); create(\"a\"); }", 4, 1),
    ] {
        let made_up = planned(text, 1).expect("no errors");
        let found = budget(&made_up, 0);
        assert_eq!(
            (found.files + found.directories, found.footprint_files),
            (made, at_once),
            "{text}"
        );
    }
}

#[test]
fn ranks_have_their_own_figures() {
    for (text, expected) in [
        ("write(\"f-$$rank\", 10);", vec![(0..4, 10)]),
        ("write(\"f\", 10);", vec![(0..1, 10), (1..4, 0)]),
        (
            "repeat $$rank append(\"f-$$rank\", 10);",
            vec![(0..1, 0), (1..2, 10), (2..3, 20), (3..4, 30)],
        ),
        (
            "if ($$rank % 2) write(\"f-$$rank\", 10);",
            vec![(0..1, 0), (1..2, 10), (2..3, 0), (3..4, 10)],
        ),
        (
            "define groups {\"a\":D, \"b\":D}; group \"a\" write(\"f-$$grank\", 10); group \"b\" write(\"g-$$grank\", 5);",
            vec![(0..2, 10), (2..4, 5)],
        ),
        (
            "define groups {\"a\":D, \"b\":D}; group \"a\" write(\"f-$$grank\", 10); group \"b\" write(\"f-$$grank\", 10);",
            vec![(0..2, 10), (2..4, 0)],
        ),
        ("master write(\"a\", 8);", vec![(0..1, 8), (1..4, 0)]),
        (
            "define groups {\"a\":D, \"b\":D}; $n = 1; group \"b\" repeat 3 { master append(\"a\", 8); \
             $n = $n; group \"b\" { if ($n > 1) continue; group \"b\" $n = 1; } }",
            vec![(0..2, 0), (2..3, 24), (3..4, 0)],
        ),
        (
            "define groups {\"a\":D, \"b\":D}; group \"b\" master write(\"a\", 8);",
            vec![(0..2, 0), (2..3, 8), (3..4, 0)],
        ),
    ] {
        let made = planned(text, 4).unwrap_or_else(|| panic!("{text} has errors"));
        let found: Vec<_> = made
            .budget
            .iter()
            .map(|(ranks, budget)| (ranks.clone(), budget.footprint_bytes))
            .collect();
        assert_eq!(found, expected, "{text}");
        check_counts(text, 4);
    }
}

/// Files that all members write are there once, with the bytes of all.
#[test]
fn files_of_mpi_io_are_counted_once() {
    const P: &str = "define pattern \"p\" level 1 = strided(block=1k, count=16);";
    for (text, files, bytes, handles) in [
        ("$h = pfopen(\"f\", \"crw\"); pfwrite($h, \"p\"); pfclose($h);", 1, 64 << 10, 4),
        ("pwrite(\"f\", \"p\"); pread(\"f\", \"p\");", 1, 64 << 10, 0),
        ("repeat $i 3 pwrite(\"f-$i\", \"p\");", 3, 3 * (64 << 10), 0),
        ("pwrite(\"f\", \"p\"); barrier; pdelete(\"f\"); pwrite(\"g\", \"p\");", 2, 64 << 10, 0),
        ("$h = pfopen(\"f\", \"crw\"); pfwrite($h, 4k, $$rank * 4k, \"all\");", 1, 16 << 10, 4),
        ("$h = pfopen(\"f\", \"cw\"); pfwrite($h, 4k); pfwrite($h, 4k);", 1, 8 << 10, 4),
        ("$h = pfopen(\"f\", \"cw\"); repeat $i 8 pfwrite($h, 4k, $i * 4k);", 1, 32 << 10, 4),
        ("$h = pfopen(\"f\", \"cw\"); pfpreallocate($h, 1m); pfwrite($h, 4k);", 1, 1 << 20, 4),
        // What was there before is not known, nor what lies at the shared file pointer.
        ("$h = pfopen(\"f\", \"rw\"); pfwrite($h, 4k, $$rank * 4k);", 0, 0, 4),
        ("$h = pfopen(\"f\", \"cw\"); pfwrite($h, 4k, \"ordered\");", 1, 0, 4),
        // Never more than there will be.
        (
            "$h = pfopen(\"f\", \"cw\"); pfwrite($h, 4k, $$rank * 4k); pfsetsize($h, 1k);",
            1,
            4 << 10,
            4,
        ),
        ("$h = pfopen(\"f\", \"cw\"); pfwrite($h, 4k, (3 - $$rank) * 4k);", 1, 4 << 10, 4),
    ] {
        let text = format!("{P} {text}");
        let made = planned(&text, 4).unwrap_or_else(|| panic!("{text} has errors"));
        let sum = |figure: fn(&Budget) -> u64| {
            let each =
                made.budget.iter().map(|(ranks, budget)| ranks.len() as u64 * figure(budget));
            each.sum::<u64>()
        };
        let found = (sum(|b| b.files), sum(|b| b.footprint_bytes), sum(|b| b.handles));
        assert_eq!(found, (files, bytes, handles), "{text}\n{:?}", made.budget);
    }
}

#[test]
fn many_ranks_are_bounded_work() {
    let text = "repeat $i $$rank { write(\"f-$$rank-$i\", 10); if ($i == 5) append(\"x\", 1); }";
    let made = planned(text, 10_000).expect("no errors");
    assert_eq!(made.budget.first().map(|(ranks, _)| ranks.start), Some(0));
    assert_eq!(made.budget.last().map(|(ranks, _)| ranks.end), Some(10_000));
    assert!(made.budget.windows(2).all(|pair| pair[0].0.end == pair[1].0.start));
    let same = planned("repeat $i 10 write(\"f-$$rank-$i\", 10);", 10_000).expect("no errors");
    assert_eq!(same.budget.len(), 1);
    assert_eq!(same.budget[0].1.footprint_bytes, 100);
}

proptest! {
    #![proptest_config(crate::cases())]

    #[test]
    fn counts_are_never_too_large(tape in prop::collection::vec(any::<u8>(), 0..200)) {
        check_counts(&generate::program(&tape), 4);
    }

    #[test]
    fn files_are_never_overestimated(tape in prop::collection::vec(any::<u8>(), 0..80)) {
        let text = file_program(&tape).replace("rand(1, 2) > 5", "$$rank > 5");
        check_files(&text, 1);
        check_counts(&text, 1);
    }

    #[test]
    fn files_of_several_ranks_are_never_overestimated(
        tape in prop::collection::vec(any::<u8>(), 0..80),
        own in any::<u8>(),
    ) {
        let mut text = file_program(&tape).replace("rand(1, 2) > 5", "$$rank > 1");
        // Some names are of one rank, some of all.
        for (bit, (shared, of_rank)) in
            [("a\"", "a-$$rank\""), ("f-", "f-$$rank-"), ("\"b", "\"b$$rank-"), ("\"z", "\"$$rank/z")]
                .into_iter()
                .enumerate()
        {
            if own >> bit & 1 != 0 {
                text = text.replace(shared, of_rank);
            }
        }
        check_files(&text, 3);
        check_counts(&text, 3);
    }
}

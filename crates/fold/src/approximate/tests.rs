//! Programs of counters: totals, text, and that any counters give one.

use super::*;
use model::run::{TraceAmounts, TraceSize};
use proptest::prelude::*;

/// Counters of a file: reads, their bytes, writes, their bytes.
fn file(module: &str, path: &str, ranks: u64, moved: [u64; 4]) -> TraceFile {
    let [reads, read_bytes, writes, written_bytes] = moved.map(Some);
    TraceFile {
        path: path.into(),
        module: module.into(),
        ranks,
        opens: Some(ranks),
        reads,
        writes,
        amounts: TraceAmounts { read_bytes, written_bytes, ..TraceAmounts::default() },
        ..TraceFile::default()
    }
}

/// A log of these files, with sums that are theirs.
fn trace(files: Vec<TraceFile>) -> Trace {
    let mut modules: Vec<TraceModule> = Vec::new();
    for file in &files {
        let at = modules.iter().position(|module| module.name == file.module);
        let at = at.unwrap_or_else(|| {
            modules.push(TraceModule { name: file.module.clone(), ..TraceModule::default() });
            modules.len() - 1
        });
        let module = &mut modules[at];
        module.files += 1;
        module.amounts.add(&file.amounts);
        let counts = [("opens", file.opens), ("reads", file.reads), ("writes", file.writes)];
        for (name, count) in counts {
            let sum = module.counts.entry(name.into()).or_default();
            *sum = sum.saturating_add(count.unwrap_or(0));
        }
    }
    Trace { files, modules, ..Trace::default() }
}

/// The program, which compiles.
fn program(trace: &Trace, ranks: u32) -> String {
    let made = approximate(trace, ranks, &Options::default()).expect("a program");
    let binding = ppl::Binding::new(ranks);
    let text = made.text.clone().into_bytes();
    let compiled = ppl::compile("x.ppl", text, &mut ppl::source::NoIncludes, &binding);
    let wrong: Vec<_> = compiled.diagnostics.iter().map(|it| it.message.clone()).collect();
    assert!(compiled.plan.is_some(), "{wrong:?}\n{}", made.text);
    made.text
}

#[test]
fn totals_are_those_of_the_log_and_statements_are_plain() {
    let sizes = |sizes: &[(u64, u64)]| -> Vec<TraceSize> {
        sizes.iter().map(|(bytes, count)| TraceSize { bytes: *bytes, count: *count }).collect()
    };
    let shared = file("POSIX", "/s/data", 4, [0, 0, 64, 64 << 20]);
    let uneven = file("POSIX", "/s/data", 4, [0, 0, 63, 63 << 20]);
    let input = TraceFile {
        size_bytes: Some(1 << 20),
        rank: Some(2),
        ..file("POSIX", "/s/in", 1, [512, 2 << 20, 0, 0])
    };
    let strided = TraceFile {
        size_bytes: Some(1 << 20),
        sequential: Some(31),
        consecutive: Some(0),
        ..file("POSIX", "/s/in", 1, [32, 32 << 10, 0, 0])
    };
    let random = TraceFile { sequential: Some(9), ..strided.clone() };
    let headed = TraceFile {
        common_sizes: sizes(&[(1 << 20, 10), (512, 2)]),
        ..file("POSIX", "/s/out", 1, [0, 0, 12, (10 << 20) + 1024])
    };
    let together =
        TraceFile { collective: Some(64), ..file("MPI-IO", "/s/data", 4, [0, 0, 64, 64 << 20]) };
    let mostly = TraceFile {
        collective: Some(64),
        common_sizes: sizes(&[(1 << 20, 64), (512, 2)]),
        ..file("MPI-IO", "/s/data", 4, [0, 0, 66, (64 << 20) + 1024])
    };
    let reopened = TraceFile {
        opens: Some(5),
        size_bytes: Some(8192),
        ..file("STDIO", "/s/in", 1, [10, 40960, 0, 0])
    };
    for (what, file, lines) in [
        (
            "shared",
            &shared,
            &["repeat $i $writes fwrite($file, $size, ($$rank * $writes + $i) * $size);"][..],
        ),
        (
            "uneven",
            &uneven,
            &["repeat $i ($$rank * $writes / $$size)..(($$rank + 1) * $writes / $$size)"],
        ),
        ("again", &input, &["if ($$rank == 2 % $$size)", "($i % 256) * $size"]),
        ("strided", &strided, &["$i * ($size + 31k)"]),
        ("random", &random, &["perm($i % 1024, 1024) * $size"]),
        (
            "sizes",
            &headed,
            &["repeat $writes fwrite($file, $size);", "repeat 2 fwrite($file, 512);"],
        ),
        ("collective", &together, &["$size, ($$rank * $writes + $i) * $size, \"all\");"]),
        (
            "mostly collective",
            &mostly,
            &[
                "$size, ($$rank * $writes + $i) * $size, \"all\");",
                "repeat $i ($$rank * 2 / $$size)..(($$rank + 1) * 2 / $$size)",
            ],
        ),
        ("opens", &reopened, &["repeat $k 5 {", "repeat $i 2 fread($file, $size, $i * $size);"]),
    ] {
        let text = program(&trace(vec![file.clone()]), 4);
        for line in lines {
            assert!(text.contains(line), "{what}: {line}\n{text}");
        }
        assert!(text.contains("# APPROXIMATE") && !text.contains("But:"), "{what}:\n{text}");
    }
}

/// The log of MPI-IO has the calls of POSIX, too, that it became.
#[test]
fn files_of_mpi_io_are_not_worked_on_twice() {
    let log = trace(vec![
        file("MPI-IO", "/s/data", 4, [0, 0, 64, 64 << 20]),
        file("POSIX", "/s/data", 4, [0, 0, 16, 64 << 20]),
        file("POSIX", "/s/log", 1, [0, 0, 3, 300]),
        file("MPI-IO", "/s/other", 4, [0, 0, 0, 0]),
        file("POSIX", "/s/other", 4, [0, 0, 4, 400]),
    ]);
    let text = program(&log, 4);
    assert!(
        text.contains("what POSIX did to 1 file for MPI-IO") && !text.contains("But:"),
        "{text}"
    );
    assert_eq!(text.matches("fwrite($file").count(), 3, "{text}");
}

/// A program for a thousand files is short, and its totals are the log's.
#[test]
fn a_thousand_files_are_some_loops() {
    let name = |at: u64| format!("/s/step-{:04}/part-{:04}", at / 10, at * 7 % 1000);
    let files: Vec<TraceFile> = (0..1000)
        .map(|at| {
            file("POSIX", &name(at), 1, [1 + at % 3, at * 10, 5 + at % 4, 4096 * at + at % 7])
        })
        .collect();
    let mut log = trace(files);
    let more = TraceAmounts { read_bytes: Some(1001), ..TraceAmounts::default() };
    log.files_more.push(TraceFilesMore { module: "POSIX".into(), files: 50, amounts: more });
    let module = &mut log.modules[0];
    module.files += 50;
    module.amounts.add(&more);
    for (name, more) in [("opens", 50), ("reads", 101)] {
        *module.counts.entry(name.into()).or_default() += more;
    }
    let options = Options { data: Some("x.data".into()), ..Options::default() };
    let made = approximate(&log, 16, &options).expect("a program");
    assert!(made.text.lines().count() < 300, "{}", made.text);
    assert!(made.data.is_some() && made.text.contains("1050 files"));
    assert!(!made.text.contains("But:"), "{}", made.text);
    program(&log, 16);
}

fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), 0..100u64, 0..1_000_000u64, any::<u64>(), Just(u64::MAX)]
}

fn any_file() -> impl Strategy<Value = TraceFile> {
    let module = prop_oneof![Just("POSIX"), Just("STDIO"), Just("MPI-IO"), Just("H5D")];
    let path = prop_oneof!["[a-c/.$\"]{0,6}", "/d/f[0-9]{1,3}", any::<String>()];
    let known = || prop::option::of(any_number());
    let counts = prop::array::uniform9(prop::option::of(any_number()));
    let sizes = prop::collection::vec((any_number(), any_number()), 0..5);
    (module, path, any_number(), known(), counts, sizes).prop_map(
        |(module, path, ranks, rank, counts, sizes)| {
            let [opens, reads, writes, read, written, size, sequential, consecutive, collective] =
                counts;
            TraceFile {
                path,
                module: module.into(),
                ranks,
                rank: rank.map(|rank| rank as u32),
                amounts: TraceAmounts {
                    read_bytes: read,
                    written_bytes: written,
                    ..TraceAmounts::default()
                },
                opens,
                reads,
                writes,
                size_bytes: size,
                sequential,
                consecutive,
                collective,
                common_sizes: sizes
                    .into_iter()
                    .map(|(bytes, count)| TraceSize { bytes, count })
                    .collect(),
                ..TraceFile::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever the counters are, there is a program of bounded length that compiles.
    #[test]
    fn any_counters_give_a_program(
        files in prop::collection::vec(any_file(), 0..60),
        more in prop::collection::vec((any_number(), any_number()), 0..2),
        ranks in prop_oneof![Just(1u32), 1..9u32, Just(u32::MAX)],
    ) {
        let mut log = trace(files);
        log.files_more.extend(more.into_iter().map(|(files, bytes)| TraceFilesMore {
            module: "POSIX".into(),
            files,
            amounts: TraceAmounts { read_bytes: Some(bytes), ..TraceAmounts::default() },
        }));
        if approximate(&log, ranks, &Options::default()).is_some() {
            let text = program(&log, ranks.min(8));
            prop_assert!(text.lines().count() < 1500, "{}", text);
        }
    }
}

//! Runs for the tests: one that went well, one that was cut short, arbitrary ones.

use model::histogram::{Histogram, bucket};
use model::run::*;
use model::sweep::{Cell, Dimension, Execution, Sweep};
use proptest::prelude::*;

/// Labels that break careless writers.
pub const HARD_LABELS: [&str; 8] = [
    "say \"hi\"",
    "a,b;c\td",
    "line\nbreak\r\nagain",
    "=1+1",
    "\x1b[31mred\x1b[0m",
    "日本語 ü \u{202e}",
    "</script>{}[]\\",
    " ",
];

/// A histogram of `count` equal values.
pub fn histogram(count: u64, value: u64) -> Histogram {
    let mut histogram = Histogram::default();
    histogram.add_bucket(bucket(value), count);
    histogram.add_summary(count, value * count, value, value);
    histogram
}

/// 3,000 reads that were due at times, 20 ms late on the average and over in 2.5 us, and 100 calls of
/// stat that were due at no time.
pub fn open_loop() -> Run {
    let times = |row: Row, ns: u64| Row { histogram: Some(histogram(row.count, ns)), ..row };
    let rows = vec![
        times(row("load", "fread", 3_000, 3_000 << 12, [20_002_500; 5]), 20_002_500),
        times(row("load", "fread.service", 3_000, 0, [2_500; 5]), 2_500),
        times(row("load", "stat", 100, 0, [3_000; 5]), 3_000),
    ];
    let arrival = ArrivalRow { label: "load".into(), operations: 3_000, ..ArrivalRow::default() };
    let run = Header { arrivals: vec![arrival], ranks: 1, ..Header::default() };
    Run { rows, run, ..Run::default() }
}

/// A recording of a program that writes 3 MiB by MPI-IO, in two calls of POSIX each.
pub fn recorded_mpi() -> Run {
    let rows = vec![
        row("app/write shared", "fwrite", 6, 3 << 20, [1_000_000; 5]),
        row("app/write shared", "fread", 2, 1 << 20, [1_000_000; 5]),
        row("app/mpi-io", "pfopen", 1, 0, [4_000_000; 5]),
        row("app/mpi-io", "pfwrite", 3, 3 << 20, [2_000_000; 5]),
    ];
    let trace = Trace { format: "preload".into(), ..Trace::default() };
    let run = Header { trace: Some(trace), ranks: 1, ..Header::default() };
    Run { rows, run, ..Run::default() }
}

/// Two machines of a job, of which the second is slow.
pub fn on_machines() -> Run {
    let mut run = listing1();
    let node =
        |at: u32, host: &str| Node { host: host.into(), ranks: vec![[at, at]], ..Node::default() };
    run.run.job = Some(Job {
        mpi: "MPICH 5.0.2".into(),
        launcher: "mpiexec".into(),
        nodes: vec![node(0, "n1"), node(1, "n2")],
        ..Job::default()
    });
    let row = |node, rate| NodeRow {
        node,
        label: "w".into(),
        op: "write".into(),
        bytes: 1,
        mib_s: Some(rate),
        ..NodeRow::default()
    };
    run.run.node_rows = vec![row(0, 80.0), row(1, 20.0)];
    run
}

/// A row: `times_ns` are minimum, mean, median, 99th percentile, maximum.
pub fn row(label: &str, op: &str, count: u64, bytes: u64, times_ns: [u64; 5]) -> Row {
    let [min, mean, p50, p99, max] = times_ns;
    Row {
        label: label.into(),
        op: op.into(),
        part_of: op.split_once('.').map(|(whole, _)| whole.to_string()),
        count,
        bytes,
        min_ns: Some(min),
        mean_ns: Some(mean as f64),
        p50_ns: Some(p50),
        p90_ns: (count >= 10).then_some(p50.midpoint(p99)),
        p99_ns: (count >= 100).then_some(p99),
        p999_ns: (count >= 1000).then_some(p99.midpoint(max)),
        max_ns: Some(max),
        ..Row::default()
    }
}

fn with_rates(row: Row, rank_mib_s: f64, mib_s: f64) -> Row {
    Row { rank_mib_s: Some(rank_mib_s), mib_s: Some(mib_s), ..row }
}

fn time(
    label: &str,
    index: u64,
    first_start_ns: u64,
    last_end_ns: u64,
    slowest_rank: u32,
) -> TimeRow {
    TimeRow {
        label: label.into(),
        index,
        ranks: 2,
        first_start_ns,
        last_end_ns,
        slowest_rank,
        max_ns: last_end_ns - first_start_ns - 1200,
        ..TimeRow::default()
    }
}

/// Labels as their occurrences give them, which follow each other, and the rates of operations.
fn with_labels(mut run: Run) -> Run {
    run.labels.clear();
    for time in &run.times {
        let took_ns = time.last_end_ns - time.first_start_ns;
        let same = |label: &&mut LabelRow| {
            (&label.label, label.cell, label.repetition)
                == (&time.label, time.cell, time.repetition)
        };
        match run.labels.iter_mut().find(same) {
            Some(label) => {
                label.occurrences = time.index + 1;
                label.last_end_ns = time.last_end_ns;
                label.busy_ns += took_ns;
            }
            None => run.labels.push(LabelRow {
                label: time.label.clone(),
                cell: time.cell,
                repetition: time.repetition,
                occurrences: 1,
                first_start_ns: time.first_start_ns,
                last_end_ns: time.last_end_ns,
                busy_ns: took_ns,
                busy_is_bound: false,
            }),
        }
    }
    for row in run.rows.iter_mut().filter(|row| row.part_of.is_none()) {
        let Some(mean_ns) = row.mean_ns else { continue };
        let done = (row.count - row.failed - row.expected) as f64;
        let label = run.labels.iter().find(|label| {
            (&label.label, label.cell, label.repetition) == (&row.label, row.cell, row.repetition)
        });
        row.ops_s = label.map(|label| done / label.busy_ns as f64 * 1e9);
        row.rank_ops_s = Some(1e9 / mean_ns);
    }
    run
}

/// A program like listing 1 of the paper: two ranks, 20,000 files of 1 KiB.
pub fn listing1() -> Run {
    let mut write = with_rates(
        row("stress", "write", 20000, 20_480_000, [16_000, 27_500, 25_700, 58_300, 7_435_000]),
        9.765625 / 0.275,
        15.625,
    );
    write.histogram = Some(histogram(20000, 27_500));
    with_labels(Run {
        version: VERSION,
        rows: vec![
            write,
            row("stress", "write.open", 20000, 0, [9_000, 15_000, 14_400, 31_200, 7_401_000]),
            row("stress", "write.data", 20000, 20_480_000, [5_000, 10_000, 9_800, 22_000, 812_000]),
            row("stress", "write.close", 20000, 0, [400, 2_500, 1_500, 5_100, 95_000]),
            with_rates(
                row("stress", "read", 20000, 20_480_000, [1_100, 2_000, 1_900, 4_400, 120_000]),
                488.28125,
                15.625,
            ),
            row("stress", "stat", 20000, 0, [612, 812, 790, 1_400, 45_000]),
            row("", "mkdir", 2, 0, [3_870, 5_000, 3_870, 6_130, 6_130]),
        ],
        labels: Vec::new(),
        times: vec![time("stress", 0, 1_200, 1_250_002_400, 1)],
        run: header(),
    })
}

fn header() -> Header {
    Header {
        program: Program {
            name: "stress.ppl".into(),
            files: vec![ProgramFile {
                name: "stress.ppl".into(),
                text: "time[\"stress\"] {\n  repeat $i 10000 write(\"f-$$rank-$i\", 1k);\n}\n"
                    .into(),
            }],
        },
        command: ["parabench", "run", "my stress.ppl", "num=10000", "-n", "2"]
            .map(String::from)
            .to_vec(),
        params: vec![Param { name: "num".into(), value: "10000".into() }],
        ranks: 2,
        seed: 42,
        outcome: "finished".into(),
        backend: "posix".into(),
        comm: "local".into(),
        parabench: "0.1.0".into(),
        started: "2026-11-21T10:43:00Z".into(),
        duration_wall_ns: 1_260_000_000,
        host: Host {
            name: "node1".into(),
            kernel: "6.1.0".into(),
            cpu: "Example CPU".into(),
            cpus: 2,
            memory_bytes: 24 << 30,
            directory: "/data/scratch".into(),
            storage: Storage {
                mount: "/data".into(),
                device: "/dev/sda1".into(),
                file_system: "ext4".into(),
                mount_options: "rw,relatime".into(),
                layout: Vec::new(),
                devices: Vec::new(),
            },
            directories: Vec::new(),
        },
        evidence: Evidence {
            clock: "tsc".into(),
            clock_read_ns: 17.5,
            program_read_bytes: 20_480_000,
            program_write_bytes: 20_480_000,
            storage_read_bytes: Some(0),
            storage_write_bytes: Some(81_920_000),
            page_cache_share: Some(1.0),
            cpu_ns: 2_000_000_000,
            confinement: "checked".into(),
            marks: vec![Mark {
                code: "cached-reads".into(),
                counts: true,
                seen: "100 % of the bytes read came from the page cache: read rates are those of main memory"
                    .into(),
                advice: "put `dropcaches;` before the reads".into(),
                executions: None,
            }],
            notes: vec!["the ranks were started by hand".into()],
            ..Evidence::default()
        },
        sites: vec![Site {
            site: 1,
            op: "write".into(),
            file: "stress.ppl".into(),
            line: 2,
            column: 20,
            count: 20000,
            busy_ns: 550_000_000,
            timed: false,
        }],
        ..Header::default()
    }
}

/// A run that ended badly: operations failed and were short, ranks stopped, a label ran a
/// million times, nothing of one operation succeeded.
pub fn aborted() -> Run {
    let mut run = listing1();
    let write = &mut run.rows[0];
    (write.failed, write.short) = (12, 3);
    let mkdir = run.rows.last_mut().unwrap();
    *mkdir = Row { op: "mkdir".into(), count: 2, failed: 1, expected: 1, ..Row::default() };
    mkdir.failed_histogram = Some(histogram(2, 1_500));
    run.times = (0..500)
        .chain(999_500..1_000_000)
        .map(|i| time("turn", i, i * 5_000, i * 5_000 + 3_200 + i % 7, 0))
        .collect();
    run.times.push(time("stress", 0, 1_200, 1_250_002_400, 1));
    let header = &mut run.run;
    header.exit_code = 1;
    header.outcome = "failed".into();
    header.times_more = vec![TimesMore {
        label: "turn".into(),
        count: 2 * 999_000,
        max_rank_sum_ns: 999_000 * 2_400,
        histogram: histogram(2 * 999_000, 2_400),
        ..TimesMore::default()
    }];
    header.failures = (0..10).map(failure).collect();
    header.rank_errors = (0..2)
        .map(|rank| RankError {
            rank,
            place: "stress.ppl:3:1".into(),
            message: "assert failed: $n > 0".into(),
            ..RankError::default()
        })
        .collect();
    let evidence = &mut header.evidence;
    (evidence.failed, evidence.short, evidence.dropped_events) = (13, 3, 7);
    evidence.page_cache_share = None;
    evidence.storage_read_bytes = None;
    header.events = Some(EventsInfo {
        file: "events.parquet".into(),
        count: 20_000,
        dropped: 7,
        sample_every: 1,
        left_out: 0,
        extents: Vec::new(),
    });
    let mut run = with_labels(run);
    // Most of its occurrences are not kept apart.
    (run.labels[0].busy_ns, run.labels[0].busy_is_bound) = (3_400_000_000, true);
    run
}

fn failure(at: u64) -> Failure {
    Failure {
        rank: 0,
        place: "stress.ppl:2:20".into(),
        op: "write".into(),
        path: format!("f-0-{at}"),
        offset_bytes: 512,
        errno: 28,
        message: "ENOSPC: No space left on device".into(),
        occurrences: if at == 9 { 3 } else { 1 },
        ..Failure::default()
    }
}

/// A sweep over block sizes: label "io" with a write and a stat. Cell c writes with about
/// 100 (c + 1) MiB/s; rate and time of the label rise with every repetition.
pub fn sweep(cells: u32, reps: u32) -> Run {
    let mut run = listing1();
    (run.rows, run.times) = (Vec::new(), Vec::new());
    let values = ["4k", "64k", "1m", "16m"].map(str::to_string);
    let mut grid = Sweep {
        dimensions: vec![Dimension {
            name: "block".into(),
            values: values[..cells as usize].to_vec(),
            ..Dimension::default()
        }],
        reps,
        settle_ns: 2_000_000_000,
        ..Sweep::default()
    };
    for (cell, value) in (0..cells).zip(&values) {
        let params = vec![Param { name: "block".into(), value: value.clone() }];
        grid.cells.push(Cell { cell, params, ranks: 2, ..Cell::default() });
    }
    for (repetition, cell) in
        (0..reps).flat_map(|rep| (0..cells).rev().map(move |cell| (rep, cell)))
    {
        let rate = 100.0 * f64::from(cell + 1) + f64::from(repetition);
        let time_ns = 1_000_000_000 / u64::from(cell + 1) + 1_000_000 * u64::from(repetition);
        let write = row("io", "write", 100, 100 << 20, [5_000, 10_000, 9_800, 22_000, 812_000]);
        let stat = row("io", "stat", 10, 0, [1_000; 5]);
        for row in [with_rates(write, rate / 2.0, rate), stat] {
            run.rows.push(Row { cell, repetition, ..row });
        }
        let label = time("io", 0, 1_200, 1_200 + time_ns, 1);
        run.times.push(TimeRow { cell, repetition, ..label });
        let outcome = "finished".to_string();
        grid.order.push(Execution {
            cell,
            repetition,
            outcome,
            duration_wall_ns: time_ns,
            machines: None,
        });
    }
    run.run.sweep = Some(grid);
    with_labels(run)
}

/// A small run whose label is `label` everywhere.
pub fn labelled(label: &str) -> Run {
    let mut run = listing1();
    run.rows.truncate(4);
    run.rows.iter_mut().for_each(|row| row.label = label.into());
    run.times[0].label = label.into();
    with_labels(run)
}

/// Any figure, such that JSON can hold it.
fn figure() -> impl Strategy<Value = Option<f64>> {
    prop::option::of(0.0f64..1e15)
}

fn any_row() -> impl Strategy<Value = Row> {
    let identity = (".{0,20}", prop::option::of("[a-z]{1,9}"), any::<u32>(), any::<u32>());
    let counts = any::<[u64; 5]>();
    let times = (any::<[Option<u64>; 6]>(), prop::array::uniform5(figure()));
    let histogram = prop::option::of((1u64..1000, 1u64..1 << 40));
    (identity, counts, times, histogram).prop_map(|(identity, counts, times, kept)| {
        let (label, part_of, cell, repetition) = identity;
        let [count, failed, short, expected, bytes] = counts;
        let ([min_ns, p50_ns, p90_ns, p99_ns, p999_ns, max_ns], rates) = times;
        let [mean_ns, rank_mib_s, mib_s, rank_ops_s, ops_s] = rates;
        let op = part_of.as_ref().map_or("write".to_string(), |whole| format!("{whole}.data"));
        Row {
            label,
            op,
            part_of,
            cell,
            repetition,
            count,
            failed,
            short,
            expected,
            bytes,
            min_ns,
            mean_ns,
            p50_ns,
            p90_ns,
            p99_ns,
            p999_ns,
            max_ns,
            rank_mib_s,
            mib_s,
            rank_ops_s,
            ops_s,
            histogram: kept.map(|(count, value)| self::histogram(count, value)),
            failed_histogram: None,
            balance: None,
        }
    })
}

fn any_time() -> impl Strategy<Value = TimeRow> {
    (".{0,20}", any::<[u32; 4]>(), any::<[u64; 4]>()).prop_map(|(label, small, large)| {
        let [cell, repetition, ranks, slowest_rank] = small;
        let [index, first_start_ns, last_end_ns, max_ns] = large;
        TimeRow {
            label,
            cell,
            repetition,
            index,
            ranks,
            first_start_ns,
            last_end_ns,
            slowest_rank,
            max_ns,
        }
    })
}

/// Any run, figures, texts and lists of every kind in it.
pub fn any_run() -> impl Strategy<Value = Run> {
    let lists = (prop::collection::vec(any_row(), 0..6), prop::collection::vec(any_time(), 0..6));
    (lists, ".{0,30}", any::<[u64; 4]>(), prop::option::of(0.0f64..=1.0), any::<bool>()).prop_map(
        |((rows, times), text, numbers, share, bad)| {
            let mut run = if bad { aborted() } else { listing1() };
            (run.rows, run.times) = (rows, times);
            let header = &mut run.run;
            header.program.name = text.clone();
            header.program.files[0].text = text.clone();
            header.params.push(Param { name: text.clone(), value: text.clone() });
            header.host.directory = text.clone();
            header.evidence.marks.push(Mark {
                code: text.clone(),
                counts: share.is_some(),
                seen: text.clone(),
                advice: text.clone(),
                executions: share.map(|_| 3),
            });
            header.evidence.notes.push(text);
            header.evidence.page_cache_share = share;
            [
                header.seed,
                header.duration_wall_ns,
                header.evidence.cpu_ns,
                header.evidence.dropped_events,
            ] = numbers;
            run
        },
    )
}

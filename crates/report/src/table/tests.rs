//! Golden tables, and what holds for the table of any run.

use super::*;
use crate::tests::sample;
use crate::text::width;
use expect_test::expect;
use model::run::{Balance, Failure, LabelEvidence, LabelRow, RankError, Row};
use proptest::prelude::*;

fn plain(run: &Run, columns: usize) -> String {
    render(run, Terminal { columns, color: false }, Detail::Full)
}

/// The same without the breaks of lines.
fn sentences(run: &Run, columns: usize) -> String {
    plain(run, columns).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn totals_hold_bytes_of_mpi_io_once() {
    let table = plain(&sample::recorded_mpi(), 120);
    let total = |class: &str| {
        let line = table.lines().find(|line| line.trim_start().starts_with(class));
        let words = line.unwrap_or_else(|| panic!("{class}: {table}")).split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(total("writing"), "writing 6 3.000 MiB");
    assert_eq!(total("reading"), "reading 2 1.000 MiB");
    assert!(!table.contains("  opening"), "{table}");
    assert!(table.contains("pfwrite") && table.contains("Rows of MPI-IO"), "{table}");
}

#[test]
fn listing_1_at_160_columns() {
    expect![[r#"
        stress.ppl · 2 ranks · posix on ext4 (/dev/sda1 at /data) · 1.26 s · finished

        operation   count      bytes       min       avg      p50      p90      p99    p99.9       max      bytes/s      bytes/s        ops/s        ops/s
                                                                                                           per rank        total     per rank        total
        stress
          write     20000  19.53 MiB  16.00 µs  27.50 µs  25.7 µs  42.0 µs  58.3 µs  3.75 ms  7.435 ms  35.51 MiB/s  15.62 MiB/s  36.36 kop/s  16.00 kop/s
            .open   20000          -  9.000 µs  15.00 µs  14.4 µs  22.8 µs  31.2 µs  3.72 ms  7.401 ms            -            -            -            -
            .data   20000  19.53 MiB  5.000 µs  10.00 µs  9.80 µs  15.9 µs  22.0 µs   417 µs  812.0 µs            -            -            -            -
            .close  20000          -    400 ns  2.500 µs  1.50 µs  3.30 µs  5.10 µs  50.0 µs  95.00 µs            -            -            -            -
          read      20000  19.53 MiB  1.100 µs  2.000 µs  1.90 µs  3.15 µs  4.40 µs  62.2 µs  120.0 µs  488.3 MiB/s  15.62 MiB/s  500.0 kop/s  16.00 kop/s
          stat      20000          -    612 ns    812 ns   790 ns  1.09 µs  1.40 µs  23.2 µs  45.00 µs            -            -  1.232 Mop/s  16.00 kop/s
        (in no label)
          mkdir         2          -  3.870 µs  5.000 µs  3.87 µs        -        -        -  6.130 µs            -            -  200.0 kop/s            -
        all labels, by class
          reading   20000  19.53 MiB
          writing   20000  19.53 MiB
          metadata  20002          -
        Times are per successful operation. Rate per rank = bytes / time spent in this operation (mean of
          ranks). Total rate = bytes / duration of the phase, other operations included.

        label   ranks     start      end     busy  longest  slowest
                                                               rank
        stress      2  1.200 µs  1.250 s  1.250 s  1.250 s        1
        start, end: first rank in, last rank out. busy: from start to end. longest: the slowest rank.

        clock tsc, 17.5 ns per reading · page cache served 100 % of the bytes read · failed 0 · short 0
          seed 42 · confinement: checked · CPU 79.4 % per rank

        note: the ranks were started by hand
        verdict cached-reads: 100 % of the bytes read came from the page cache: read rates are those of main
          memory
          fix: put `dropcaches;` before the reads
    "#]].assert_eq(&plain(&sample::listing1(), 160));
}

#[test]
fn listing_1_at_100_columns() {
    expect![[r#"
        stress.ppl · 2 ranks · posix on ext4 (/dev/sda1 at /data) · 1.26 s · finished

        operation  count    bytes     min     avg     p50     p99     max    bytes/s    bytes/s      ops/s
                                                                            per rank      total      total
        stress
          write    20000 19.5 MiB 16.0 µs 27.5 µs 25.7 µs 58.3 µs 7.43 ms 35.5 MiB/s 15.6 MiB/s 16.0 kop/s
            .open  20000        - 9.00 µs 15.0 µs 14.4 µs 31.2 µs 7.40 ms          -          -          -
            .data  20000 19.5 MiB 5.00 µs 10.0 µs 9.80 µs 22.0 µs  812 µs          -          -          -
            .close 20000        -  400 ns 2.50 µs 1.50 µs 5.10 µs 95.0 µs          -          -          -
          read     20000 19.5 MiB 1.10 µs 2.00 µs 1.90 µs 4.40 µs  120 µs  488 MiB/s 15.6 MiB/s 16.0 kop/s
          stat     20000        -  612 ns  812 ns  790 ns 1.40 µs 45.0 µs          -          - 16.0 kop/s
        (in no label)
          mkdir        2        - 3.87 µs 5.00 µs 3.87 µs       - 6.13 µs          -          -          -
        all labels, by class
          reading  20000 19.5 MiB
          writing  20000 19.5 MiB
          metadata 20002        -
        Not shown at this width: p90, p99.9, ops/s per rank.
        Times are per successful operation. Rate per rank = bytes / time spent in this operation (mean of
          ranks). Total rate = bytes / duration of the phase, other operations included.

        label   ranks     start      end     busy  longest  slowest
                                                               rank
        stress      2  1.200 µs  1.250 s  1.250 s  1.250 s        1
        start, end: first rank in, last rank out. busy: from start to end. longest: the slowest rank.

        clock tsc, 17.5 ns per reading · page cache served 100 % of the bytes read · failed 0 · short 0
          seed 42 · confinement: checked · CPU 79.4 % per rank

        note: the ranks were started by hand
        verdict cached-reads: 100 % of the bytes read came from the page cache: read rates are those of main
          memory
          fix: put `dropcaches;` before the reads
    "#]].assert_eq(&plain(&sample::listing1(), 100));
}

#[test]
fn listing_1_at_80_columns() {
    expect![[r#"
        stress.ppl · 2 ranks · posix on ext4 (/dev/sda1 at /data) · 1.26 s · finished

        operation  count     min     avg     p50     p99     max    bytes/s      ops/s
                                                                      total      total
        stress
          write    20000 16.0 µs 27.5 µs 25.7 µs 58.3 µs 7.43 ms 15.6 MiB/s 16.0 kop/s
            .open  20000 9.00 µs 15.0 µs 14.4 µs 31.2 µs 7.40 ms          -          -
            .data  20000 5.00 µs 10.0 µs 9.80 µs 22.0 µs  812 µs          -          -
            .close 20000  400 ns 2.50 µs 1.50 µs 5.10 µs 95.0 µs          -          -
          read     20000 1.10 µs 2.00 µs 1.90 µs 4.40 µs  120 µs 15.6 MiB/s 16.0 kop/s
          stat     20000  612 ns  812 ns  790 ns 1.40 µs 45.0 µs          - 16.0 kop/s
        (in no label)
          mkdir        2 3.87 µs 5.00 µs 3.87 µs       - 6.13 µs          -          -
        all labels, by class
          reading  20000
          writing  20000
          metadata 20002
        Not shown at this width: bytes, p90, p99.9, bytes/s per rank, ops/s per rank.
        Times are per successful operation. Rate per rank = bytes / time spent in this
          operation (mean of ranks). Total rate = bytes / duration of the phase, other
          operations included.

        label   ranks     start      end     busy  longest  slowest
                                                               rank
        stress      2  1.200 µs  1.250 s  1.250 s  1.250 s        1
        start, end: first rank in, last rank out. busy: from start to end. longest: the
          slowest rank.

        clock tsc, 17.5 ns per reading · page cache served 100 % of the bytes read
          failed 0 · short 0 · seed 42 · confinement: checked · CPU 79.4 % per rank

        note: the ranks were started by hand
        verdict cached-reads: 100 % of the bytes read came from the page cache: read
          rates are those of main memory
          fix: put `dropcaches;` before the reads
    "#]]
    .assert_eq(&plain(&sample::listing1(), 80));
}

#[test]
fn an_aborted_run_at_100_columns() {
    expect![[r#"
        stress.ppl · 2 ranks · posix on ext4 (/dev/sda1 at /data) · 1.26 s · failed · exit code 1

        operation  count failed short expected     min     avg     p50     p99     max    bytes/s      ops/s
                                                                                            total      total
        stress
          write    20000     12     3        0 16.0 µs 27.5 µs 25.7 µs 58.3 µs 7.43 ms 15.6 MiB/s 16.0 kop/s
            .open  20000      0     0        0 9.00 µs 15.0 µs 14.4 µs 31.2 µs 7.40 ms          -          -
            .data  20000      0     0        0 5.00 µs 10.0 µs 9.80 µs 22.0 µs  812 µs          -          -
            .close 20000      0     0        0  400 ns 2.50 µs 1.50 µs 5.10 µs 95.0 µs          -          -
          read     20000      0     0        0 1.10 µs 2.00 µs 1.90 µs 4.40 µs  120 µs 15.6 MiB/s 16.0 kop/s
          stat     20000      0     0        0  612 ns  812 ns  790 ns 1.40 µs 45.0 µs          - 16.0 kop/s
        (in no label)
          mkdir        2      1     0        1       -       -       -       -       -          -          -
        all labels, by class
          reading  20000      0     0        0
          writing  20000     12     3        0
          metadata 20002      1     0        1
        Not shown at this width: bytes, p90, p99.9, bytes/s per rank, ops/s per rank.
        Times are per successful operation. Rate per rank = bytes / time spent in this operation (mean of
          ranks). Total rate = bytes / duration of the phase, other operations included.

        label     times  ranks     start      end       busy       min    median   longest  slowest
                                                                                               rank
        turn    1000000      2      0 ns  5.000 s  ≤ 3.400 s  2.000 µs  2.003 µs  2.400 µs        -
        stress               2  1.200 µs  1.250 s    1.250 s                       1.250 s        1
        start, end: first rank in, last rank out. busy: at least one rank was inside. min, median, longest:
          over the occurrences, each that of its slowest rank.
        turn: 1000 of 1000000 times are kept one by one, the others in a histogram; min and median are over
          the kept ones, longest is over all.

        clock tsc, 17.5 ns per reading · failed 13 · short 3 · seed 42 · confinement: checked
          CPU 79.4 % per rank · 7 events not kept

        note: the ranks were started by hand
        verdict cached-reads: 100 % of the bytes read came from the page cache: read rates are those of main
          memory
          fix: put `dropcaches;` before the reads

        12 x write ENOSPC at stress.ppl:2:20 (No space left on device), first: rank 0, f-0-0, offset 512

        ranks 0 to 1 ended at stress.ppl:3:1: assert failed: $n > 0
    "#]].assert_eq(&plain(&sample::aborted(), 100));
}

#[test]
fn an_aborted_run_at_80_columns() {
    expect![[r#"
        stress.ppl · 2 ranks · posix on ext4 (/dev/sda1 at /data) · 1.26 s · failed
          exit code 1

        operation  count failed short expected     avg     max    bytes/s      ops/s
                                                                    total      total
        stress
          write    20000     12     3        0 27.5 µs 7.43 ms 15.6 MiB/s 16.0 kop/s
            .open  20000      0     0        0 15.0 µs 7.40 ms          -          -
            .data  20000      0     0        0 10.0 µs  812 µs          -          -
            .close 20000      0     0        0 2.50 µs 95.0 µs          -          -
          read     20000      0     0        0 2.00 µs  120 µs 15.6 MiB/s 16.0 kop/s
          stat     20000      0     0        0  812 ns 45.0 µs          - 16.0 kop/s
        (in no label)
          mkdir        2      1     0        1       -       -          -          -
        all labels, by class
          reading  20000      0     0        0
          writing  20000     12     3        0
          metadata 20002      1     0        1
        Not shown at this width: bytes, min, p50, p90, p99, p99.9, bytes/s per rank,
          ops/s per rank.
        Times are per successful operation. Rate per rank = bytes / time spent in this
          operation (mean of ranks). Total rate = bytes / duration of the phase, other
          operations included.

        label    times ranks   start    end     busy     min  median longest slowest
                                                                                rank
        turn   1000000     2    0 ns 5.00 s ≤ 3.40 s 2.00 µs 2.00 µs 2.40 µs       -
        stress             2 1.20 µs 1.25 s   1.25 s                  1.25 s       1
        start, end: first rank in, last rank out. busy: at least one rank was inside.
          min, median, longest: over the occurrences, each that of its slowest rank.
        turn: 1000 of 1000000 times are kept one by one, the others in a histogram; min
          and median are over the kept ones, longest is over all.

        clock tsc, 17.5 ns per reading · failed 13 · short 3 · seed 42
          confinement: checked · CPU 79.4 % per rank · 7 events not kept

        note: the ranks were started by hand
        verdict cached-reads: 100 % of the bytes read came from the page cache: read
          rates are those of main memory
          fix: put `dropcaches;` before the reads

        12 x write ENOSPC at stress.ppl:2:20 (No space left on device), first: rank 0,
          f-0-0, offset 512

        ranks 0 to 1 ended at stress.ppl:3:1: assert failed: $n > 0
    "#]]
    .assert_eq(&plain(&sample::aborted(), 80));
}

#[test]
fn a_loop_with_wear_out_has_both_rates() {
    let mut run = Run::default();
    let label =
        |label: &str, busy_ns| LabelRow { label: label.into(), busy_ns, ..LabelRow::default() };
    let row = |label: &str, bytes: u64, mib_s| Row {
        mib_s: Some(mib_s),
        ..sample::row(label, "write", 10, bytes, [1; 5])
    };
    run.labels = vec![label("w", 5_000_000_000), label("w/until", 2_000_000_000)];
    run.rows = vec![row("w/until", 400 << 20, 200.0)];
    assert!(!sentences(&run, 100).contains("wear-out"));
    run.labels.push(label("w/wear-out", 3_000_000_000));
    let text = sentences(&run, 400);
    assert!(text.contains("w, write: 200 MiB/s up to the limit (2 s); no wear-out"), "{text}");
    // The evidence says whether the limit ended the loop.
    let label = "w".into();
    run.run.evidence.labels =
        vec![LabelEvidence { label, timed: false, ..LabelEvidence::default() }];
    let text = sentences(&run, 400);
    assert!(text.contains("up to the limit (2 s); the count ended before the limit"), "{text}");
    run.rows.push(row("w/wear-out", 100 << 20, 33.3));
    let text = sentences(&run, 400);
    assert!(
        text.contains("200 MiB/s up to the limit (2 s); 100 MiB/s with the wear-out (5 s in all)"),
        "{text}"
    );
    run.labels[0].busy_ns = 8_000_000_000;
    let text = sentences(&run, 400);
    assert!(text.contains("(5 s in all); 62.5 MiB/s over all of w (8 s)."), "{text}");
}

#[test]
fn nothing_executed() {
    expect![[r#"
        0 ranks · 0 ns

        No I/O operation was executed.

        clock unknown · nothing read · failed 0 · short 0 · seed 0 · confinement:
    "#]]
    .assert_eq(&plain(&Run { version: 1, ..Run::default() }, 80));
}

/// Lines without the ones that hold one unbreakable word.
fn longest_line(text: &str) -> usize {
    text.lines().filter(|line| line.trim().contains(' ')).map(width).max().unwrap_or(0)
}

#[test]
fn tables_fit_from_70_columns_up() {
    for run in [sample::listing1(), sample::aborted()] {
        for columns in 70..200 {
            let text = plain(&run, columns);
            assert!(longest_line(&text) <= columns, "{columns}\n{text}");
        }
    }
}

#[test]
fn failures_are_shown_at_every_width() {
    let run = sample::aborted();
    for columns in [1, 20, 40, 60, 80, 120, 300] {
        let text = plain(&run, columns);
        for word in ["failed", "short", "expected", "ENOSPC", "max", "all"] {
            assert!(text.contains(word), "{word} at {columns}\n{text}");
        }
    }
}

/// Whoever looks for lost data has to know every place.
#[test]
fn wrong_bytes_are_listed_by_file_and_rank() {
    let mut run = sample::aborted();
    let wrong = errno::number("EBADMSG").expect("an error");
    let failure = |(file, rank): (u32, u32)| Failure {
        rank,
        place: "p.ppl:1:1".into(),
        op: "pread".into(),
        path: format!("f-{file}"),
        errno: wrong,
        message: format!("EBADMSG: corrupted at offset {} (1 byte)", rank * 10_000),
        occurrences: 1,
        ..Failure::default()
    };
    run.run.failures = [(0, 0), (0, 1), (1, 0), (0, 0)].map(failure).to_vec();
    let text = plain(&run, 300);
    for (count, offset, rank, file) in [(2, 0, 0, 0), (1, 10_000, 1, 0), (1, 0, 0, 1)] {
        let line = format!(
            "{count} x pread EBADMSG at p.ppl:1:1 (corrupted at offset {offset} (1 byte)), first: rank {rank}, f-{file}"
        );
        assert!(text.contains(&line), "{line}\n{text}");
    }
    run.run.failures = (0..30).map(|file| failure((file, 0))).collect();
    assert!(plain(&run, 300).contains("and 10 more kinds of failures"));
}

#[test]
fn colours_only_when_asked() {
    let run = sample::aborted();
    assert!(!plain(&run, 100).contains('\x1b'));
    let colored = render(&run, Terminal { columns: 100, color: true }, Detail::Full);
    assert!(colored.contains("\x1b[31m  write "), "failed rows are red");
    assert!(colored.contains("\x1b[1mstress\x1b[0m"), "labels are bold");
    let stripped = ["\x1b[31m", "\x1b[1m", "\x1b[2m", "\x1b[0m"]
        .iter()
        .fold(colored, |text, code| text.replace(code, ""));
    assert_eq!(stripped, plain(&run, 100));
}

#[test]
fn trap_31_hard_labels_cannot_hurt_the_terminal() {
    for label in sample::HARD_LABELS.iter().map(|l| l.to_string()).chain(["x".repeat(300)]) {
        let text = plain(&sample::labelled(&label), 80);
        let harmful = text.chars().filter(|c| *c != '\n' && c.is_control()).count();
        assert_eq!(harmful, 0, "{text}");
        assert_eq!(text.lines().count(), plain(&sample::labelled("a"), 80).lines().count());
    }
}

#[test]
fn what_is_no_number_is_a_dash() {
    let mut run = sample::labelled("a");
    run.rows[0].mean_ns = Some(f64::NAN);
    run.rows[0].mib_s = Some(f64::INFINITY);
    run.run.evidence.page_cache_share = Some(f64::NAN);
    let text = plain(&run, 100);
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
}

#[test]
fn failures_of_a_sweep_say_in_which_execution_they_were() {
    let mut run = sample::sweep(2, 3);
    let error = |cell, repetition, rank, message: &str| RankError {
        rank,
        cell,
        repetition,
        place: "x.ppl:1:69".into(),
        message: message.into(),
    };
    run.run.rank_errors = vec![
        error(1, 2, 3, "one"),
        error(0, 1, 2, "two"),
        error(1, 0, 2, "two"),
        error(1, 0, 0, "two"),
    ];
    let failure = Failure { op: "write".into(), cell: 1, repetition: 2, ..Failure::default() };
    run.run.failures = vec![failure];
    let text = plain(&run, 400);
    for said in [
        "at block=64k, repetition 2: rank 3 ended at x.ppl:1:69: one",
        "in 2 executions, first at block=4k, repetition 1: ranks 0 and 2 ended at x.ppl:1:69: two",
        "first: block=64k, repetition 2, rank 0, ",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_run_can_be_shown(run in sample::any_run(), columns in 0usize..200, color: bool) {
        let text = render(&run, Terminal { columns, color }, Detail::Full);
        prop_assert!(text.ends_with('\n'));
        prop_assert!(run.rows.iter().all(|row| text.contains(&row.count.to_string())));
    }
}

#[test]
fn a_note_says_what_times_and_rates_of_operations_that_were_due_go_by() {
    let mut run = sample::open_loop();
    run.rows[0].rank_mib_s = Some(1_208.0);
    let text = sentences(&run, 400);
    assert!(text.contains("per rank go by the row .service"), "{text}");
    run.rows.remove(1);
    assert!(!sentences(&run, 400).contains("row .service, the time"));
}

/// Cells of a line of Markdown: bars that are not escaped.
fn cells(line: &str) -> usize {
    line.replace("\\|", "").matches('|').count()
}

#[test]
fn markdown_tables_are_whole_whatever_the_names() {
    let hard = sample::HARD_LABELS.iter().map(|label| sample::labelled(label));
    let runs = [sample::listing1(), sample::aborted(), sample::on_machines(), sample::sweep(2, 5)];
    for run in hard.chain(runs) {
        let text = markdown(&run, Detail::Full);
        let control = text.chars().any(|c| c.is_control() && c != '\n');
        assert!(!control && !text.contains("<script"), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        for table in lines.split(|line| !line.starts_with('|')).filter(|lines| !lines.is_empty()) {
            assert!(
                table.len() > 2 && table.iter().all(|line| cells(line) == cells(table[0])),
                "{text}"
            );
        }
        assert!(
            run.rows
                .iter()
                .all(|row| text.contains(&row.count.to_string()) || run.run.sweep.is_some())
        );
    }
}

fn short(run: &Run) -> String {
    render(run, Terminal::default(), Detail::Short)
}

#[test]
fn the_short_report_of_listing_1() {
    let mut run = sample::listing1();
    for row in run.rows.iter_mut().filter(|row| row.part_of.is_none()) {
        let busy_ns = (row.mean_ns.unwrap_or(0.0) * row.count as f64) as u64;
        row.balance = Some(Balance { ranks: 2, busy_ns, ..Balance::default() });
    }
    expect![[r#"
        stress.ppl   2 ranks   ext4 /dev/sda1   1.26 s   ok
        ! memory speed, not disk: 100 % of reads cached   fix: direct=true

        phase / operation   count    rate/rank  bandwidth/rank       p50       p99       max   time
        stress   1.25 s   read 15.6 MiB/s   write 15.6 MiB/s
          write            20,000  36.36 kop/s     35.51 MiB/s  25.70 µs  58.30 µs  7.435 ms   22 %
          read             20,000  500.0 kop/s     488.3 MiB/s  1.900 µs  4.400 µs  120.0 µs  1.6 %
          stat             20,000  1.232 Mop/s               -    790 ns  1.400 µs  45.00 µs  0.6 %
        rate/rank, bandwidth/rank: while in the operation, mean of ranks; phase: over its duration; outside
          of phases: 2 mkdir
        more: -v   page: --html page.html   1 more remark
    "#]]
    .assert_eq(&short(&run));
}

#[test]
fn the_short_report_of_a_sweep() {
    expect![[r#"
        stress.ppl   2 ranks, sweep of 3 points, 15 executions   ext4 /dev/sda1   1.26 s   ok
        ! memory speed, not disk: reads cached in 1 of 15 executions   fix: direct=true
        note: the ranks were started by hand

        io: write
        block  reps      time        rate  bandwidth      ±       p50       p99
           4k     5   1.002 s  99.80 op/s  102 MiB/s    2 %  9.800 µs  22.00 µs
          64k     5  502.0 ms  199.2 op/s  202 MiB/s    1 %  9.800 µs  22.00 µs
           1m     5  335.3 ms  298.2 op/s  302 MiB/s  0.7 %  9.800 µs  22.00 µs  best
        Rate and bandwidth: over the time of the phase. Medians of the repetitions; ±: 95 % confidence
          interval.
        more: -v   page: --html page.html
    "#]]
    .assert_eq(&short(&sample::sweep(3, 5)));
}

#[test]
fn the_short_report_of_repetitions() {
    let mut run = sample::sweep(1, 6);
    run.run.sweep.as_mut().unwrap().dimensions.clear();
    expect![[r#"
        stress.ppl   2 ranks, 6 executions   ext4 /dev/sda1   1.26 s   ok
        ! memory speed, not disk: reads cached in 1 of 6 executions   fix: direct=true
        note: the ranks were started by hand

        phase  operation  reps     time        rate    bandwidth    ±       p50       p99
        io     write         6  1.002 s  99.75 op/s  102.5 MiB/s  2 %  9.800 µs  22.00 µs
        Rate and bandwidth: over the time of the phase. Medians of the repetitions; ±: 95 % confidence
          interval.
        more: -v   page: --html page.html
    "#]]
    .assert_eq(&short(&run));
}

#[test]
fn the_short_report_of_a_run_that_failed() {
    expect![[r#"
        stress.ppl   2 ranks   ext4 /dev/sda1   1.26 s   failed, exit code 1
        ! memory speed, not disk: reads cached   fix: direct=true
        note: the ranks were started by hand
        12 x write ENOSPC at stress.ppl:2:20 (No space left on device), first: rank 0, f-0-0, offset 512
        ranks 0 to 1 ended at stress.ppl:3:1: assert failed: $n > 0

        phase / operation  count failed short expected  rate/rank bandwidth/rank     p50     p99   time
        stress   1.25 s   read 15.6 MiB/s   write 15.6 MiB/s
          write           20,000     12     3          36.4 kop/s     35.5 MiB/s 25.7 µs 58.3 µs   22 %
          read            20,000                        500 kop/s      488 MiB/s 1.90 µs 4.40 µs  1.6 %
          stat            20,000                       1.23 Mop/s              -  790 ns 1.40 µs  0.6 %
        (outside of phases)
          mkdir                2      1              1          -              -       -       - <0.1 %
        Not shown at this width: max.
        rate/rank, bandwidth/rank: while in the operation, mean of ranks; phase: over its duration
        more: -v   page: --html page.html
    "#]].assert_eq(&short(&sample::aborted()));
}

#[test]
fn a_phase_shows_the_operations_that_took_most_time() {
    let mut run = sample::labelled("work");
    let row = run.rows[0].clone();
    run.rows = (0..20)
        .map(|at| Row {
            op: format!("op{at}"),
            balance: Some(Balance { ranks: 1, busy_ns: 1000 + at, ..Balance::default() }),
            ..row.clone()
        })
        .collect();
    let text = short(&run);
    assert!(
        text.contains("  8 more ") && !text.contains("op7 ") && text.contains("op8 "),
        "{text}"
    );
}

#[test]
fn programs_of_many_phases_have_a_line_for_each() {
    let mut run = sample::labelled("work");
    let (row, label) = (run.rows[0].clone(), run.labels[0].clone());
    let name = |at: u64| format!("phase {at}");
    run.rows = (0..30).map(|at| Row { label: name(at), ..row.clone() }).collect();
    run.labels = (0..30).map(|at| LabelRow { label: name(at), ..label.clone() }).collect();
    let text = short(&run);
    assert_eq!(text.lines().filter(|line| line.starts_with("phase ")).count(), 31, "{text}");
    assert!(!text.contains("  write "), "{text}");
}

#[test]
fn set_up_outside_of_phases_is_one_line_unless_it_took_long_or_failed() {
    let mut run = sample::listing1();
    let words = short(&run).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("; outside of phases: 2 mkdir"), "{words}");
    let mkdir = run.rows.iter_mut().find(|row| row.label.is_empty()).expect("mkdir");
    mkdir.failed = 1;
    assert!(short(&run).contains("(outside of phases)"), "{}", short(&run));
}

proptest! {
    #[test]
    fn the_short_report_of_any_run_is_made(run in sample::any_run()) {
        prop_assert!(!short(&run).is_empty());
        prop_assert!(!markdown(&run, Detail::Short).is_empty());
    }
}

/// A log whose counters know the time of single reads, and of opens and stats only together.
#[test]
fn unknown_times_are_no_part_of_any_share() {
    use model::run::{Trace, TraceTimes};
    let row = |op: &str, count, mean_ns| Row {
        label: "app".into(),
        op: op.into(),
        count,
        bytes: if op == "fread" { 1 << 20 } else { 0 },
        mean_ns,
        ..Row::default()
    };
    let mut run =
        Run { rows: vec![row("fread", 10, Some(1e6)), row("stat", 50, None)], ..Run::default() };
    run.run.trace = Some(Trace { format: "darshan".into(), ..Trace::default() });
    run.run.ranks = 2;
    let unknown = short(&run);
    assert!(!unknown.contains('%'), "{unknown}");
    // 10 ms of reads in 1 s.
    let times =
        TraceTimes { label: "app".into(), read_ns: 10_000_000, write_ns: 0, meta_ns: 990_000_000 };
    run.run.trace.as_mut().unwrap().times = vec![times];
    let known = short(&run);
    assert!(known.contains(": 1 s (metadata 99 %, read 1 %, write 0 %)"), "{known}");
    let read = known.lines().find(|line| line.contains("fread")).unwrap();
    assert!(read.ends_with("1 %"), "{known}");
    run.rows[1].mean_ns = Some(1e6);
    run.run.trace.as_mut().unwrap().times.clear();
    let all = short(&run);
    assert!(all.lines().any(|line| line.contains("fread") && line.ends_with("16.7 %")), "{all}");
}

#[test]
fn a_cache_that_is_judged_is_not_called_unknown() {
    let mut run = sample::listing1();
    run.run.evidence.page_cache_share = None;
    run.run.evidence.labels.clear();
    let unknown =
        |run: &Run| facts::facts(run).iter().any(|fact| fact.contains("page cache share unknown"));
    assert!(!unknown(&run), "it has the mark cached-reads");
    run.run.evidence.marks.clear();
    assert!(unknown(&run));
}

#[test]
fn the_first_line_has_the_time_of_the_command() {
    let mut run = sample::sweep(3, 5);
    assert_eq!(
        facts::duration(&run),
        Some("1.26 s".into()),
        "of the ranks, if nothing else is known"
    );
    run.run.command_ns = Some(37_500_000_000);
    assert!(short(&run).lines().next().unwrap().contains("37.5 s"), "{}", short(&run));
}

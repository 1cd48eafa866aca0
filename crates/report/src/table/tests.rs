//! Golden tables, and what holds for the table of any run.

use super::*;
use crate::sample;
use crate::text::width;
use expect_test::expect;
use proptest::prelude::*;

fn plain(run: &Run, columns: usize) -> String {
    render(run, Terminal { columns, color: false })
}

#[test]
fn listing_1_at_160_columns() {
    expect![[r#"
        stress.ppl · 2 ranks · posix on ext4 (/dev/sda1 at /data) · 1.26 s · finished

        operation   count  bytes       min       avg       p50       p99       max   MiB/s  MiB/s
                             MiB        ms        ms        ms        ms        ms  1 rank    all
        stress
          write     20000  19.53  0.016000  0.027500  0.025700  0.058300  7.435000   35.51  15.62
            .open   20000      -  0.009000  0.015000  0.014400  0.031200  7.401000       -      -
            .data   20000  19.53  0.005000  0.010000  0.009800  0.022000  0.812000       -      -
            .close  20000      -  0.000400  0.002500  0.001500  0.005100  0.095000       -      -
          read      20000  19.53  0.001100  0.002000  0.001900  0.004400  0.120000  488.28  15.62
          stat      20000      -  0.000612  0.000812  0.000790  0.001400  0.045000       -      -
        (in no label)
          mkdir         2      -  0.003870  0.005000  0.003870  0.006130  0.006130       -      -
        all labels, by class
          reading   20000  19.53
          writing   20000  19.53
          metadata  20002      -
        Times: one operation that did not fail. MiB/s of 1 rank: bytes by the time it spent in the operation; of all: bytes of all ranks by the label's time.

        label   ranks     start    end   longest  slowest
                              s      s        ms     rank
        stress      2  0.000001  1.250  1250.000        1
        start: of the first rank; end: of the last; longest: of the slowest rank.

        clock tsc, 17.5 ns a reading · page cache served 100 % of the bytes read · failed 0 · short 0 · seed 42 · confinement: proved · processor 79.4 % a rank
        note: the ranks were started by hand

        verdict cached-reads: 100 % of the bytes read came from the page cache: read rates are those of main memory
          to do: put `dropcaches;` before the reads
    "#]].assert_eq(&plain(&sample::listing1(), 160));
}

#[test]
fn listing_1_at_100_columns() {
    expect![[r#"
        stress.ppl · 2 ranks · posix on ext4 (/dev/sda1 at /data) · 1.26 s · finished

        operation   count  bytes       min       avg       p50       p99       max   MiB/s  MiB/s
                             MiB        ms        ms        ms        ms        ms  1 rank    all
        stress
          write     20000  19.53  0.016000  0.027500  0.025700  0.058300  7.435000   35.51  15.62
            .open   20000      -  0.009000  0.015000  0.014400  0.031200  7.401000       -      -
            .data   20000  19.53  0.005000  0.010000  0.009800  0.022000  0.812000       -      -
            .close  20000      -  0.000400  0.002500  0.001500  0.005100  0.095000       -      -
          read      20000  19.53  0.001100  0.002000  0.001900  0.004400  0.120000  488.28  15.62
          stat      20000      -  0.000612  0.000812  0.000790  0.001400  0.045000       -      -
        (in no label)
          mkdir         2      -  0.003870  0.005000  0.003870  0.006130  0.006130       -      -
        all labels, by class
          reading   20000  19.53
          writing   20000  19.53
          metadata  20002      -
        Times: one operation that did not fail. MiB/s of 1 rank: bytes by the time it spent in the
          operation; of all: bytes of all ranks by the label's time.

        label   ranks     start    end   longest  slowest
                              s      s        ms     rank
        stress      2  0.000001  1.250  1250.000        1
        start: of the first rank; end: of the last; longest: of the slowest rank.

        clock tsc, 17.5 ns a reading · page cache served 100 % of the bytes read · failed 0 · short 0
          seed 42 · confinement: proved · processor 79.4 % a rank
        note: the ranks were started by hand

        verdict cached-reads: 100 % of the bytes read came from the page cache: read rates are those of main
          memory
          to do: put `dropcaches;` before the reads
    "#]].assert_eq(&plain(&sample::listing1(), 100));
}

#[test]
fn listing_1_at_80_columns() {
    expect![[r#"
        stress.ppl · 2 ranks · posix on ext4 (/dev/sda1 at /data) · 1.26 s · finished

        operation  count bytes      min      avg      p50     p99     max  MiB/s MiB/s
                           MiB       ms       ms       ms      ms      ms 1 rank   all
        stress
          write    20000  19.5 0.016000 0.027500 0.025700 0.05830 7.43500   35.5  15.6
            .open  20000     - 0.009000 0.015000 0.014400 0.03120 7.40100      -     -
            .data  20000  19.5 0.005000 0.010000 0.009800 0.02200 0.81200      -     -
            .close 20000     - 0.000400 0.002500 0.001500 0.00510 0.09500      -     -
          read     20000  19.5 0.001100 0.002000 0.001900 0.00440 0.12000  488.3  15.6
          stat     20000     - 0.000612 0.000812 0.000790 0.00140 0.04500      -     -
        (in no label)
          mkdir        2     - 0.003870 0.005000 0.003870 0.00613 0.00613      -     -
        all labels, by class
          reading  20000  19.5
          writing  20000  19.5
          metadata 20002     -
        Times: one operation that did not fail. MiB/s of 1 rank: bytes by the time it
          spent in the operation; of all: bytes of all ranks by the label's time.

        label   ranks     start    end   longest  slowest
                              s      s        ms     rank
        stress      2  0.000001  1.250  1250.000        1
        start: of the first rank; end: of the last; longest: of the slowest rank.

        clock tsc, 17.5 ns a reading · page cache served 100 % of the bytes read
          failed 0 · short 0 · seed 42 · confinement: proved · processor 79.4 % a rank
        note: the ranks were started by hand

        verdict cached-reads: 100 % of the bytes read came from the page cache: read
          rates are those of main memory
          to do: put `dropcaches;` before the reads
    "#]]
    .assert_eq(&plain(&sample::listing1(), 80));
}

#[test]
fn an_aborted_run_at_100_columns() {
    expect![[r#"
        stress.ppl · 2 ranks · posix on ext4 (/dev/sda1 at /data) · 1.26 s · failed · exit code 1

        operation  count failed short expected bytes      min      avg      p50     p99    max  MiB/s MiB/s
                                                 MiB       ms       ms       ms      ms     ms 1 rank   all
        stress
          write    20000     12     3        0  19.5 0.016000 0.027500 0.025700 0.05830 7.4350   35.5  15.6
            .open  20000      0     0        0     - 0.009000 0.015000 0.014400 0.03120 7.4010      -     -
            .data  20000      0     0        0  19.5 0.005000 0.010000 0.009800 0.02200 0.8120      -     -
            .close 20000      0     0        0     - 0.000400 0.002500 0.001500 0.00510 0.0950      -     -
          read     20000      0     0        0  19.5 0.001100 0.002000 0.001900 0.00440 0.1200  488.3  15.6
          stat     20000      0     0        0     - 0.000612 0.000812 0.000790 0.00140 0.0450      -     -
        (in no label)
          mkdir        2      1     0        1     -        -        -        -       -      -      -     -
        all labels, by class
          reading  20000      0     0        0  19.5
          writing  20000     12     3        0  19.5
          metadata 20002      1     0        1     -
        Times: one operation that did not fail. MiB/s of 1 rank: bytes by the time it spent in the
          operation; of all: bytes of all ranks by the label's time.

        label     times  ranks     start    end          min       median      longest  slowest  slowest
                                       s      s           ms           ms           ms     rank   time #
        turn    1000000      2  0.000000  5.000     0.002000     0.002003     0.002400        -        -
        stress        1      2  0.000001  1.250  1250.000000  1250.000000  1250.000000        1        0
        start: of the first rank, first time; end: of the last; min, median, longest: over the times, each
          that of its slowest rank.
        turn: 1000 of 1000000 times are kept one by one, the others in a histogram; min and median are over
          those kept, longest is over all.

        clock tsc, 17.5 ns a reading · page cache share cannot be told · failed 13 · short 3 · seed 42
          confinement: proved · processor 79.4 % a rank · 7 events not kept
        note: the ranks were started by hand

        verdict cached-reads: 100 % of the bytes read came from the page cache: read rates are those of main
          memory
          to do: put `dropcaches;` before the reads

        12 x write ENOSPC at stress.ppl:2:20 (No space left on device), first: rank 0, f-0-0, offset 512

        ranks 0-1 ended at stress.ppl:3:1: assert failed: $n > 0
    "#]].assert_eq(&plain(&sample::aborted(), 100));
}

#[test]
fn an_aborted_run_at_80_columns() {
    expect![[r#"
        stress.ppl · 2 ranks · posix on ext4 (/dev/sda1 at /data) · 1.26 s · failed
          exit code 1

        operation  count failed short expected     min     avg    p99   max MiB/s
                                                    ms      ms     ms    ms   all
        stress
          write    20000     12     3        0 0.01600 0.02750 0.0583 7.435  15.6
            .open  20000      0     0        0 0.00900 0.01500 0.0312 7.401     -
            .data  20000      0     0        0 0.00500 0.01000 0.0220 0.812     -
            .close 20000      0     0        0 0.00040 0.00250 0.0051 0.095     -
          read     20000      0     0        0 0.00110 0.00200 0.0044 0.120  15.6
          stat     20000      0     0        0 0.00061 0.00081 0.0014 0.045     -
        (in no label)
          mkdir        2      1     0        1       -       -      -     -     -
        all labels, by class
          reading  20000      0     0        0
          writing  20000     12     3        0
          metadata 20002      1     0        1
        Not shown at this width: bytes MiB, p50 ms, MiB/s 1 rank.
        Times: one operation that did not fail. MiB/s of 1 rank: bytes by the time it
          spent in the operation; of all: bytes of all ranks by the label's time.

        label    times ranks    start  end       min    median   longest slowest slowest
                                    s    s        ms        ms        ms    rank  time #
        turn   1000000     2 0.000000 5.00    0.0020    0.0020    0.0024       -       -
        stress       1     2 0.000001 1.25 1250.0000 1250.0000 1250.0000       1       0
        start: of the first rank, first time; end: of the last; min, median, longest:
          over the times, each that of its slowest rank.
        turn: 1000 of 1000000 times are kept one by one, the others in a histogram; min
          and median are over those kept, longest is over all.

        clock tsc, 17.5 ns a reading · page cache share cannot be told · failed 13
          short 3 · seed 42 · confinement: proved · processor 79.4 % a rank
          7 events not kept
        note: the ranks were started by hand

        verdict cached-reads: 100 % of the bytes read came from the page cache: read
          rates are those of main memory
          to do: put `dropcaches;` before the reads

        12 x write ENOSPC at stress.ppl:2:20 (No space left on device), first: rank 0,
          f-0-0, offset 512

        ranks 0-1 ended at stress.ppl:3:1: assert failed: $n > 0
    "#]]
    .assert_eq(&plain(&sample::aborted(), 80));
}

#[test]
fn nothing_executed() {
    expect![[r#"
        0 ranks · 0 ns

        No I/O operation was executed.

        clock not told · nothing read · failed 0 · short 0 · seed 0 · confinement: 
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

#[test]
fn colours_only_when_asked() {
    let run = sample::aborted();
    assert!(!plain(&run, 100).contains('\x1b'));
    let colored = render(&run, Terminal { columns: 100, color: true });
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
fn points_of_a_sweep_are_told_apart() {
    let mut run = sample::labelled("a");
    let mut again = run.rows.clone();
    again.iter_mut().for_each(|row| (row.cell, row.repetition) = (1, 2));
    run.rows.extend(again);
    let mut time = run.times[0].clone();
    (time.cell, time.repetition) = (1, 2);
    run.times.push(time);
    let text = plain(&run, 100);
    assert_eq!(text.matches("a (cell 1, repetition 2)").count(), 2, "{text}");
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_run_can_be_shown(run in sample::any_run(), columns in 0usize..200, color: bool) {
        let text = render(&run, Terminal { columns, color });
        prop_assert!(text.ends_with('\n'));
        prop_assert!(run.rows.iter().all(|row| text.contains(&row.count.to_string())));
    }
}

//! What single statements do: one simulated rank, files in memory, virtual time.

mod common;

use common::simulated::{calls, config, error, rows, run, run_with};
use common::{Build, P};
use engine::comm::End;
use engine::config::Config;
use engine::machine::note;
use engine::recorder::EventsConfig;
use engine::supervise::list_calls;
use model::plan::*;
use model::{Op, Value};

#[test]
fn operations_have_the_times_of_their_calls() {
    let plan = Build::plan(1, |b| {
        let i = b.global("i");
        let count = b.int(10);
        let size = b.int(4000);
        let path = b.text(&[P::T("f-"), P::I(Internal::Rank), P::T("-"), P::V(i)]);
        let label = b.str("phase");
        b.time(label, false, |b| {
            b.repeat(i, count, |b| {
                b.op(Op::Write, &[path, size]);
                b.op(Op::Stat, &[path]);
            });
        });
        b.repeat(i, count, |b| {
            b.op(Op::Read, &[path]);
            b.op(Op::Delete, &[path]);
        });
    });
    let (outcome, collected) = run(&plan);
    assert!(outcome.finished());
    // open 2000, data 1000 + 4000 bytes / 2 per ns, close 500; stat and unlink 1000;
    // reading to the end takes a second call that finds it.
    assert_eq!(
        rows(&collected),
        [
            "\"phase\" write 10 0 0 40000 5500",
            "\"phase\" write.open 10 0 0 0 2000",
            "\"phase\" write.data 10 0 0 40000 3000",
            "\"phase\" write.close 10 0 0 0 500",
            "\"phase\" stat 10 0 0 0 1000",
            "\"\" read 10 0 0 40000 6500",
            "\"\" read.open 10 0 0 0 2000",
            "\"\" read.data 10 0 0 40000 4000",
            "\"\" read.close 10 0 0 0 500",
            "\"\" delete 10 0 0 0 1000",
        ]
    );
    assert_eq!(collected.times.len(), 1);
    let time = &collected.times[0];
    assert_eq!((time.first_start_ns, time.last_end_ns, time.max_ns), (0, 65_000, 65_000));
}

#[test]
fn a_plan_lists_its_calls() {
    let plan = Build::plan(1, |b| {
        let h = b.global("h");
        let path = b.str("a \"b\"");
        let (flags, append) = (b.str("w+"), b.str("a"));
        let (four, ten, big) = (b.int(4), b.int(10), b.int(600 << 20));
        b.op(Op::Create, &[path]);
        b.op_to(h, Op::Fopen, &[path, flags]);
        b.op(Op::Fwrite, &[Operand::slot(h), four]);
        b.op(Op::Fwrite, &[Operand::slot(h), four]);
        b.op(Op::Fwrite, &[Operand::slot(h), four, ten]);
        b.op(Op::Fseek, &[Operand::slot(h), ten]);
        b.op(Op::Fread, &[Operand::slot(h), four]);
        b.op(Op::Fread, &[Operand::slot(h)]);
        b.op(Op::Fclose, &[Operand::slot(h)]);
        b.op(Op::Append, &[path, four]);
        b.op_to(h, Op::Fopen, &[path, append]);
        b.op(Op::Fwrite, &[Operand::slot(h), four, ten]);
        b.op(Op::Fclose, &[Operand::slot(h)]);
        b.op(Op::Write, &[path, big]);
        b.op(Op::Mkdir, &[ten]);
        b.op(Op::Delete, &[ten]);
        b.op(Op::Readdir, &[ten]);
    });
    assert_eq!(
        calls(&plan),
        [
            "openat(\"a \\\"b\\\"\", O_WRONLY|O_CREAT|O_TRUNC, 0666)",
            "close(3)",
            "openat(\"a \\\"b\\\"\", O_RDWR|O_CREAT|O_TRUNC, 0666)",
            "pwrite64(3, 4, 0)",
            "pwrite64(3, 4, 4)",
            "pwrite64(3, 4, 10)",
            "lseek(3, 10, SEEK_SET)",
            "pread64(3, 4, 10)",
            "pread64(3, 1048576, 14)",
            "close(3)",
            "openat(\"a \\\"b\\\"\", O_WRONLY|O_CREAT|O_APPEND, 0666)",
            "write(3, 4)",
            "close(3)",
            "openat(\"a \\\"b\\\"\", O_WRONLY|O_CREAT|O_APPEND, 0666)",
            "write(3, 4)",
            "close(3)",
            "openat(\"a \\\"b\\\"\", O_WRONLY|O_CREAT|O_TRUNC, 0666)",
            "pwrite64(3, 268435456, 0)",
            "pwrite64(3, 268435456, 268435456)",
            "pwrite64(3, 92274688, 536870912)",
            "close(3)",
            "mkdir(\"10\", 0777)",
            "unlink(\"10\")",
            "rmdir(\"10\")",
            "openat(\"10\", O_RDONLY|O_DIRECTORY)",
        ]
    );
}

#[test]
fn options_change_the_calls() {
    let plan = Build::plan(1, |b| {
        let h = b.global("h");
        let (path, flags) = (b.str("a"), b.str("O_RDWR|O_CREAT"));
        let (size, four) = (b.int(10), b.int(4));
        let (close, op, zero) = (b.str("close"), b.str("op"), b.str("zero"));
        let yes = b.value(Value::Bool(true));
        b.with(Options { fsync: Some(close), transfer: Some(four), ..Options::default() }, |b| {
            b.op(Op::Write, &[path, size]);
            b.op(Op::Read, &[path]);
            b.op_to(h, Op::Fopen, &[path, flags]);
            b.with(Options { fsync: Some(op), data: Some(zero), ..Options::default() }, |b| {
                b.op(Op::Fwrite, &[Operand::slot(h), size]);
            });
            b.op(Op::Fclose, &[Operand::slot(h)]);
        });
        b.with(Options { direct: Some(yes), ..Options::default() }, |b| {
            b.op(Op::Write, &[path, size]);
        });
        b.op(Op::Write, &[path, size]);
    });
    assert_eq!(
        calls(&plan),
        [
            "openat(\"a\", O_WRONLY|O_CREAT|O_TRUNC, 0666)",
            "pwrite64(3, 4, 0)",
            "pwrite64(3, 4, 4)",
            "pwrite64(3, 2, 8)",
            "fsync(3)",
            "close(3)",
            "openat(\"a\", O_RDONLY)",
            "pread64(3, 4, 0)",
            "pread64(3, 4, 4)",
            "pread64(3, 4, 8)",
            "pread64(3, 4, 10)",
            "close(3)",
            "openat(\"a\", O_RDWR|O_CREAT, 0666)",
            "pwrite64(3, 4, 0)",
            "pwrite64(3, 4, 4)",
            "pwrite64(3, 2, 8)",
            "fsync(3)",
            "fsync(3)",
            "close(3)",
            // 10 bytes cannot go with O_DIRECT: refused before the call, the file is closed.
            "openat(\"a\", O_WRONLY|O_CREAT|O_TRUNC|O_DIRECT, 0666)",
            "close(3)",
            "openat(\"a\", O_WRONLY|O_CREAT|O_TRUNC, 0666)",
            "pwrite64(3, 10, 0)",
            "close(3)",
        ]
    );
    let (outcome, collected) = run(&plan);
    assert_eq!(outcome.notes, note::DIRECT_MISALIGNED);
    let ext4 = note::Named { name: "", file_system: "ext4" };
    assert!(note::sentences(outcome.notes, &[ext4])[0].contains("multiples"));
    assert_eq!(collected.failures[0].errno, libc::EINVAL as u16);
}

#[test]
fn sync_is_a_part() {
    let plan = Build::plan(1, |b| {
        let (path, size, close) = (b.str("a"), b.int(2000), b.str("close"));
        b.with(Options { fsync: Some(close), ..Options::default() }, |b| {
            b.op(Op::Write, &[path, size]);
            b.op(Op::Create, &[path]);
        });
    });
    let (_, collected) = run(&plan);
    assert_eq!(
        rows(&collected),
        [
            "\"\" write 1 0 0 2000 1004500",
            "\"\" write.open 1 0 0 0 2000",
            "\"\" write.data 1 0 0 2000 2000",
            "\"\" write.sync 1 0 0 0 1000000",
            "\"\" write.close 1 0 0 0 500",
            "\"\" create 1 0 0 0 2500",
            "\"\" create.open 1 0 0 0 2000",
            "\"\" create.close 1 0 0 0 500",
        ]
    );
}

#[test]
fn failures_are_counted_and_the_rank_goes_on() {
    let plan = Build::plan(1, |b| {
        let (h, i) = (b.global("h"), b.global("i"));
        let (none, flags, n) = (b.str("none/x"), b.str("r"), b.int(4));
        let (expect, twelve) = (b.str("EEXIST, ENOENT"), b.int(12));
        b.repeat(i, twelve, |b| b.op(Op::Stat, &[none]));
        b.op_to(h, Op::Fopen, &[none, flags]);
        b.op(Op::Fread, &[Operand::slot(h), n]);
        b.op(Op::Fclose, &[Operand::slot(h)]);
        b.op(Op::Fread, &[Operand::slot(h), n]);
        b.with(Options { expect: Some(expect), ..Options::default() }, |b| {
            b.op(Op::Lookup, &[none]);
            b.op(Op::Rmdir, &[none]);
        });
        b.op(Op::Write, &[none, n]);
    });
    let (outcome, collected) = run(&plan);
    assert!(outcome.finished());
    assert_eq!(
        rows(&collected),
        [
            "\"\" stat 12 12 0 0 -1",
            "\"\" fopen 1 1 0 0 -1",
            "\"\" fread 2 2 0 0 -1",
            "\"\" fclose 1 1 0 0 -1",
            "\"\" lookup 1 0 0 0 -1",
            "\"\" rmdir 1 0 0 0 -1",
            "\"\" write 1 1 0 0 -1",
        ]
    );
    assert_eq!(collected.rows[4].expected, 1);
    let kept: Vec<(String, u16)> =
        collected.failures.iter().map(|f| (format!("{} {}", f.op, f.path), f.errno)).collect();
    assert_eq!(kept.len(), 10 + 5);
    assert_eq!(kept[10], ("fopen none/x".into(), libc::ENOENT as u16));
    assert_eq!(kept[11], ("fread none/x".into(), libc::EBADF as u16));
    assert_eq!(kept[12], ("fclose none/x".into(), libc::EBADF as u16));
    assert_eq!(kept[14], ("write none/x".into(), libc::ENOENT as u16));
}

#[test]
fn an_early_end_of_the_file_is_short() {
    let plan = Build::plan(1, |b| {
        let h = b.global("h");
        let (path, flags) = (b.str("a"), b.str("r"));
        let (ten, four) = (b.int(10), b.int(4));
        b.op(Op::Write, &[path, ten]);
        b.op(Op::Read, &[path, four]);
        b.op(Op::Read, &[path, ten, four]);
        b.op_to(h, Op::Fopen, &[path, flags]);
        b.op(Op::Fread, &[Operand::slot(h), ten]);
        b.op(Op::Fread, &[Operand::slot(h), four]);
    });
    let (_, collected) = run(&plan);
    let rows: Vec<String> = rows(&collected);
    assert!(rows[4].starts_with("\"\" read 2 0 1 10 "), "{rows:?}");
    assert!(rows.last().unwrap().starts_with("\"\" fread 2 0 1 10 "), "{rows:?}");
}

#[test]
fn on_error_stop_ends_the_rank() {
    let plan = Build::plan(1, |b| {
        let none = b.str("none");
        b.op(Op::Stat, &[none]);
        b.op(Op::Mkdir, &[none]);
    });
    let mut config = config();
    config.settings.stop_on_error = true;
    let (outcome, collected) = run_with(&plan, &config);
    assert_eq!(outcome.ends, [End::Failed]);
    assert_eq!(rows(&collected), ["\"\" stat 1 1 0 0 -1"]);
    assert!(collected.rank_errors[0].message.contains("ENOENT"));
}

#[test]
fn labels_nest_and_sum() {
    let plan = Build::plan(1, |b| {
        let i = b.global("i");
        let (three, us) = (b.int(3), b.int(1));
        let outer = b.str("outer");
        let inner = b.text(&[P::T("in \""), P::V(i), P::T("\"")]);
        let path = b.str(".");
        b.label(Label { text: outer, kind: LabelKind::Calls, sync: false, part: false }, |b| {
            b.op(Op::Stat, &[path]);
            b.repeat(i, three, |b| {
                b.time(inner, false, |b| {
                    b.op(Op::Stat, &[path]);
                    b.op(Op::Compute, &[us]);
                });
            });
        });
    });
    let (_, collected) = run(&plan);
    let times: Vec<(String, u64)> =
        collected.times.iter().map(|time| (time.label.clone(), time.max_ns)).collect();
    assert_eq!(
        times,
        [
            ("outer".into(), 4000),
            ("outer/in \"0\"".into(), 2000),
            ("outer/in \"1\"".into(), 2000),
            ("outer/in \"2\"".into(), 2000),
        ]
    );
}

#[test]
fn only_leaves_out_the_io_of_other_labels() {
    let plan = Build::plan(1, |b| {
        let h = b.global("h");
        let (one, two, path) = (b.str("one"), b.str("two"), b.str("f"));
        let (flags, n) = (b.str("w"), b.int(1));
        b.op(Op::Mkdir, &[n]);
        b.time(one, false, |b| {
            b.op_to(h, Op::Fopen, &[path, flags]);
            b.time(two, false, |b| b.op(Op::Write, &[path, n]));
        });
        b.time(two, false, |b| b.op(Op::Stat, &[path]));
        b.op(Op::Fwrite, &[Operand::slot(h), n]);
    });
    let mut config = config();
    config.settings.only = vec!["two".into()];
    let (_, collected) = run_with(&plan, &config);
    let seen: Vec<String> = collected
        .rows
        .iter()
        .map(|row| format!("{} {} {}", row.label, row.op, row.count))
        .collect();
    assert_eq!(seen[0], " mkdir 1");
    assert!(seen.contains(&"one/two write 1".into()) && seen.contains(&"two stat 1".into()));
    assert!(!seen.iter().any(|row| row.contains("fopen")), "{seen:?}");
    assert_eq!(collected.failures[0].errno, libc::EBADF as u16);
    config.settings.only = vec!["one/two".into()];
    let (_, collected) = run_with(&plan, &config);
    assert!(!collected.rows.iter().any(|row| row.op == "stat"));
}

#[test]
fn variables_loops_and_procs() {
    let plan = Build::plan(1, |b| {
        let (i, s, n) = (b.global("i"), b.global("s"), b.global("n"));
        let (x, one) = (b.str("x"), b.int(1));
        let grown = b.text(&[P::V(s), P::V(i)]);
        b.set(s, x);
        b.set(n, one);
        let (from, to, step) = (b.int(10), b.int(0), b.int(-3));
        b.range(i, [from, to, step], false, |b| {
            b.set(s, grown);
            b.call(0, &[Operand::slot(s), Operand::slot(i)]);
        });
        b.op(Op::Mkdir, &[Operand::slot(s)]);
        b.halt();
        b.proc("double", 2, 3, |b| {
            let local = b.text(&[P::V(Slot::local(0)), P::T("+"), P::V(Slot::local(1))]);
            b.set(Slot::local(2), local);
            b.op(Op::Lookup, &[Operand::slot(Slot::local(2))]);
        });
    });
    assert_eq!(
        calls(&plan),
        [
            "access(\"x10+10\", F_OK)",
            "access(\"x107+7\", F_OK)",
            "access(\"x1074+4\", F_OK)",
            "access(\"x10741+1\", F_OK)",
            "mkdir(\"x10741\", 0777)",
        ]
    );
}

#[test]
fn what_cannot_be_executed_ends_the_rank_with_its_place() {
    let unset = Build::plan(1, |b| {
        let x = b.global("x");
        let path = b.text(&[P::T("a-"), P::V(x)]);
        b.op(Op::Stat, &[path]);
    });
    assert_eq!(error(&unset), "test.ppl:1:1: the variable has no value yet");
    let negative = Build::plan(1, |b| {
        let count = b.int(-3);
        b.repeat(NO_SLOT, count, |_| {});
    });
    assert!(error(&negative).contains("not negative, found -3"));
    let mpi = Build::plan(1, |b| {
        let path = b.str("a");
        b.op(Op::Mkdir, &[path]);
        b.op(Op::Pdelete, &[path]);
    });
    assert!(error(&mpi).starts_with("test.ppl:2:1: pdelete needs MPI, and this run has none"));
    let handle = Build::plan(1, |b| {
        let three = b.int(3);
        b.op(Op::Fclose, &[three]);
    });
    assert!(error(&handle).contains("expected a file handle"));
    let zero = Build::plan(1, |b| {
        let x = b.global("x");
        let (one, nil) = (b.int(1), b.int(0));
        b.binary(x, one, BinaryOp::Div, nil);
    });
    assert_eq!(error(&zero), "test.ppl:1:1: division by zero");
    let nul = Build::plan(1, |b| {
        let path = b.str("a\0b");
        b.op(Op::Stat, &[path]);
    });
    assert!(error(&nul).contains("zero byte"));
    let claim = Build::plan(1, |b| {
        let (no, why) = (b.value(Value::Bool(false)), b.str("n is 0"));
        b.op(Op::Assert, &[no, why]);
    });
    assert!(error(&claim).ends_with("assertion failed: n is 0"));
    let endless = Build::plan(1, |b| {
        b.call(0, &[]);
        b.halt();
        b.proc("again", 0, 1, |b| b.call(0, &[]));
    });
    assert!(error(&endless).contains("proc again calls itself without end"));
}

#[test]
fn functions_compute() {
    let plan = Build::plan(1, |b| {
        let (x, l) = (b.global("x"), b.global("l"));
        let (two, seven, minus, path) = (b.int(2), b.int(7), b.int(-9), b.str("f"));
        let (missing, below) = (b.str("missing"), b.str("f/below"));
        b.op(Op::Write, &[path, seven]);
        for (function, operands) in [
            (Function::Min, vec![seven, minus, two]),
            (Function::Max, vec![two, seven, minus]),
            (Function::Abs, vec![minus]),
            (Function::Size, vec![path]),
            (Function::Size, vec![missing]),
            (Function::Size, vec![below]),
            (Function::Exists, vec![path]),
            (Function::Exists, vec![missing]),
        ] {
            let args = b.args(&operands);
            b.push(Instr::Function { function, dst: x, args });
            b.op(Op::Lookup, &[Operand::slot(x)]);
        }
        let items = b.args(&[two, path]);
        b.push(Instr::List { dst: l, args: items });
        let args = b.args(&[Operand::slot(l)]);
        b.push(Instr::Function { function: Function::Len, dst: x, args });
        b.op(Op::Lookup, &[Operand::slot(x)]);
        let one = b.int(1);
        b.push(Instr::Index { dst: x, list: Operand::slot(l), index: one });
        b.op(Op::Lookup, &[Operand::slot(x)]);
        b.push(Instr::Unary { op: UnaryOp::Neg, dst: x, a: seven });
        b.op(Op::Lookup, &[Operand::slot(x)]);
    });
    // `size` and `exists` ask between the operations: a stat, an access that are not counted.
    let (_, collected) = run(&plan);
    let lookups = collected.rows.iter().filter(|row| row.op == "lookup").map(|row| row.count);
    assert_eq!(lookups.sum::<u64>(), 11);
    assert!(!collected.rows.iter().any(|row| row.op == "stat"));
    let names: Vec<String> = calls(&plan)
        .iter()
        .filter_map(|line| line.strip_prefix("access(\"")?.split('"').next().map(String::from))
        .collect();
    let asked = ["-9", "7", "9", "7", "-1", "-1", "f", "true", "missing", "false", "2", "f", "-7"];
    assert_eq!(names, asked);
}

#[test]
fn events_follow_the_order_of_start() {
    let plan = Build::plan(2, |b| {
        let (path, size, label) = (b.str("f"), b.int(2000), b.str("l"));
        b.time(label, false, |b| b.op(Op::Write, &[path, size]));
        b.op(Op::Rename, &[path, label]);
    });
    let events = Some(EventsConfig { max_bytes: 1 << 20, expected: 0, sample_every: 1 });
    let (outcome, _) = run_with(&plan, &Config { events, ..config() });
    let events: Vec<model::Event> = outcome.records[0].events().collect();
    assert_eq!(events.len(), 2);
    assert_eq!((events[0].seq, events[1].seq), (0, 1));
    assert_eq!(events[0].parts_ns, [2000, 0, 2000, 0, 500]);
    assert_eq!((events[0].start_ns, events[0].end_ns, events[0].busy_ns), (0, 4500, 4500));
    assert_eq!((events[0].requested_bytes, events[0].done_bytes), (2000, 2000));
    assert_eq!((events[1].start_ns, events[1].op), (4500, Op::Rename as u8));
    assert_ne!(events[1].path2, model::event::NO_ID);
}

#[test]
fn an_endless_loop_without_calls_is_given_up() {
    let plan = Build::plan(1, |b| {
        let path = b.str("a");
        b.op(Op::Mkdir, &[path]);
        let here = b.here();
        b.push(Instr::Jump { to: here });
    });
    let listed = list_calls(&plan, &config(), 0..1, 1).unwrap();
    assert_eq!(listed.ranks[0].1, ["mkdir(\"a\", 0777)"]);
}

#[test]
fn statements_count_the_same_with_and_without_events() {
    let plan = Build::plan(1, |b| {
        let (path, none, zero) = (b.str("f"), b.str("d/none"), b.int(0));
        let size = b.int(3000);
        b.op(Op::Create, &[path]);
        b.op(Op::Write, &[path, size]);
        b.op(Op::Write, &[path, zero]);
        b.op(Op::Append, &[path, size]);
        b.op(Op::Read, &[path]);
        b.op(Op::Write, &[none, size]);
        b.op(Op::Stat, &[path]);
    });
    let (_, without) = run(&plan);
    let events = Some(EventsConfig { max_bytes: 1 << 20, expected: 0, sample_every: 1 });
    let (_, with) = run_with(&plan, &Config { events, ..config() });
    assert_eq!(rows(&without), rows(&with));
    assert_eq!(without.rows, with.rows);
    assert!(
        rows(&with).contains(&"\"\" append.data 1 0 0 3000 2500".to_string()),
        "{:#?}",
        rows(&with)
    );
}

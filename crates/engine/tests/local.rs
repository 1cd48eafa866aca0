//! Local ranks. A program of one thread instead of the usual harness, because
//! forking a process with threads is unsafe: the cases run one after the other.

#![allow(unsafe_code)] // fork, kill, wait
#![allow(clippy::print_stdout)] // it is its own harness

mod common;

use common::{Build, P, plans};
use engine::collect::{Collected, collect};
use engine::comm::{End, Progress, Sample};
use engine::config::{BackendKind, Config, Confinement, Records};
use engine::recorder::{State, read_path};
use engine::supervise::{Outcome, StartError, run_local};
use model::plan::*;
use model::{Op, Plan, Value};
use std::fs;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

fn main() {
    let cases: &[(&str, fn())] = &[
        ("ranks write files", ranks_write_files),
        ("one rank is solo", one_rank_is_solo),
        ("barriers keep the order", barriers_keep_the_order),
        ("many ranks on few processors", many_ranks_on_few_processors),
        ("signals reach their ranks", signals_reach_their_ranks),
        ("collective functions meet", collective_functions_meet),
        ("a collective function that some never call is named", alone_in_a_collective_function),
        ("a failing rank releases the others", a_failing_rank_releases_the_others),
        ("a killed rank releases the others", a_killed_rank_releases_the_others),
        ("a deadlock ends with a list", a_deadlock_ends_with_a_list),
        ("an interrupt stops endless loops and sleeps", an_interrupt_stops_everybody),
        ("an interrupt before the start", an_interrupt_before_the_start),
        ("a second interrupt kills", a_second_interrupt_kills),
        ("the start waits for a signal", the_start_waits_for_a_signal),
        ("records outlive the supervisor", records_outlive_the_supervisor),
        ("a missing directory is told", a_missing_directory_is_told),
        ("confined ranks stay inside", confined_ranks_stay_inside),
        ("lines of prints are whole", lines_of_prints_are_whole),
        ("files of failed programs are closed", no_descriptor_is_left),
        ("progress is told if somebody looks", progress_is_told_if_somebody_looks),
        ("the null back-end needs no directory", null_needs_no_directory),
    ];
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for (name, case) in cases {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())) {
            println!("local: {name}");
            case();
        }
    }
}

struct Place {
    directory: TempDir,
    config: Config,
}

fn place() -> Place {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = Config { directory: directory.path().to_path_buf(), ..Config::default() };
    Place { directory, config }
}

impl Place {
    fn run(&self, plan: &Plan) -> (Outcome, Collected) {
        let outcome = run_local(plan, &self.config, &mut |_| {}).expect("it starts");
        let collected = collect(&outcome.records, plan);
        (outcome, collected)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).expect("readable");
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }
}

/// Runs `body` in a second process, which ends without a word.
fn meanwhile(body: impl FnOnce()) -> libc::pid_t {
    // SAFETY: this program has one thread.
    match unsafe { libc::fork() } {
        0 => {
            body();
            // SAFETY: ends this process.
            unsafe { libc::_exit(0) }
        }
        pid => pid,
    }
}

fn reap(pid: libc::pid_t) {
    // SAFETY: a child of this process.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

fn pause_ms(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

fn kill(pid: libc::pid_t, signal: i32) {
    // SAFETY: sends a signal to a process of this test.
    unsafe { libc::kill(pid, signal) };
}

fn my_pid() -> libc::pid_t {
    // SAFETY: no pointers.
    unsafe { libc::getpid() }
}

/// Waits until a file exists.
fn wait_for(path: &Path) {
    while !path.exists() {
        pause_ms(2);
    }
}

/// The children of a process, from the kernel's list.
fn children(pid: libc::pid_t) -> Vec<libc::pid_t> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn forever(b: &mut Build) {
    let here = b.here();
    b.push(Instr::Jump { to: here });
}

fn ranks_write_files() {
    let plan = plans::files();
    let place = place();
    let (outcome, collected) = place.run(&plan);
    assert!(outcome.finished() && collected.finished);
    assert_eq!((outcome.comm, outcome.backend), ("local", "posix"));
    assert_eq!(place.names().len(), 12);
    let figures: Vec<(String, u64, u64, u64)> = collected
        .rows
        .iter()
        .filter(|row| row.part_of.is_none())
        .map(|row| (row.op.clone(), row.count, row.failed, row.bytes))
        .collect();
    assert_eq!(figures, [("write".into(), 12, 0, 12_000), ("read".into(), 12, 0, 12_000)]);
    let data = fs::read(place.directory.path().join("f-0-0")).unwrap();
    assert!(data.iter().filter(|byte| **byte == 0).count() < 30, "the data are not zeros");
}

fn one_rank_is_solo() {
    let plan = Build::plan(1, |b| {
        let (path, go) = (b.str("d"), b.str("go"));
        b.barrier();
        b.op(Op::Signal, &[go]);
        b.op(Op::Wait, &[go]);
        b.op(Op::Mkdir, &[path]);
        b.op(Op::Wait, &[go]);
    });
    let place = place();
    let (outcome, collected) = place.run(&plan);
    assert_eq!(outcome.comm, "solo");
    assert_eq!(outcome.ends, [End::Released]);
    assert!(collected.rank_errors[0].message.contains("every rank that is left waits"));
    assert!(outcome.deadlock[0].what.contains("(1 of 2)"));
    assert_eq!(place.names(), ["d"]);
}

fn barriers_keep_the_order() {
    let plan = plans::neighbours();
    let place = place();
    let (outcome, collected) = place.run(&plan);
    assert!(outcome.finished());
    assert_eq!(collected.rows.iter().map(|row| row.failed).sum::<u64>(), 0);
    assert!(place.names().is_empty());
}

fn many_ranks_on_few_processors() {
    let plan = plans::barriers(64, 100);
    assert!(place().run(&plan).0.finished());
}

fn signals_reach_their_ranks() {
    let plan = plans::signals();
    let (outcome, _) = place().run(&plan);
    assert!(outcome.finished(), "{:?}", outcome.deadlock_message(&plan));
}

fn collective_functions_meet() {
    let plan = plans::collective();
    let (outcome, collected) = place().run(&plan);
    assert!(outcome.finished(), "{:?}", collected.rank_errors);
}

fn alone_in_a_collective_function() {
    let plan = plans::alone();
    let (outcome, _) = place().run(&plan);
    assert_eq!(outcome.ends, [End::Released, End::Released, End::Released]);
    let message = outcome.deadlock_message(&plan).unwrap_or_default();
    assert!(message.contains("rank 0 waits for the other members of gsum at"), "{message}");
}

fn a_failing_rank_releases_the_others() {
    let plan = plans::failing();
    let (outcome, collected) = place().run(&plan);
    assert_eq!(outcome.ends, [End::Released, End::Released, End::Released, End::Failed]);
    assert_eq!(collected.rows[0].count, 4);
    let messages: Vec<&str> =
        collected.rank_errors.iter().map(|error| error.message.as_str()).collect();
    assert!(messages.contains(&"the barrier cannot be met: rank 3 has failed"), "{messages:?}");
    assert!(messages.contains(&"assertion failed"), "{messages:?}");
}

fn a_killed_rank_releases_the_others() {
    let plan = Build::plan(3, |b| {
        for name in ["first-", "here-"] {
            let path = b.text(&[P::T(name), P::I(Internal::Rank)]);
            b.op(Op::Mkdir, &[path]);
        }
        b.on_rank(1, forever);
        b.barrier();
    });
    let place = place();
    let (supervisor, here) = (my_pid(), place.directory.path().join("here-1"));
    let killer = meanwhile(|| {
        wait_for(&here);
        // Ranks are forked in order, after this process.
        let ranks: Vec<_> =
            children(supervisor).into_iter().filter(|pid| *pid != my_pid()).collect();
        kill(ranks[1], libc::SIGKILL);
    });
    let (outcome, collected) = place.run(&plan);
    reap(killer);
    assert_eq!(outcome.ends, [End::Released, End::Killed(libc::SIGKILL), End::Released]);
    assert_eq!(outcome.errors, [(1, "its process was killed by signal 9".to_string())]);
    // The killer sees the second directory before its rank has noted it: that was in flight.
    let count = collected.rows[0].count;
    assert!((5..=6).contains(&count), "what the killed rank measured is kept: {count}");
    assert_eq!(outcome.records[1].state, State::Running);
    assert_eq!(
        collected.rank_errors[0].message,
        "the barrier cannot be met: rank 1 was killed by signal 9"
    );
}

fn a_deadlock_ends_with_a_list() {
    let plan = plans::deadlock();
    let (outcome, _) = place().run(&plan);
    assert_eq!(outcome.ends, [End::Finished, End::Released, End::Released]);
    let message = outcome.deadlock_message(&plan).expect("there was one");
    assert!(message.contains("rank 1 waits for the signal \"go\" (1 of 2) at test.ppl"));
    assert!(message.contains("rank 2 waits for the signal \"2\" (0 of 1) at test.ppl"));
}

fn an_interrupt_stops_everybody() {
    let plan = Build::plan(4, |b| {
        let path = b.text(&[P::T("here-"), P::I(Internal::Rank)]);
        let (hour, go) = (b.value(Value::Duration(3_600_000_000_000)), b.str("go"));
        b.op(Op::Mkdir, &[path]);
        b.on_rank(0, forever);
        b.on_rank(1, |b| b.op(Op::Sleep, &[hour]));
        b.on_rank(2, |b| b.op(Op::Compute, &[hour]));
        b.op(Op::Wait, &[go]);
    });
    let place = place();
    let (supervisor, root) = (my_pid(), place.directory.path().to_path_buf());
    let stopper = meanwhile(|| {
        (0..4).for_each(|rank| wait_for(&root.join(format!("here-{rank}"))));
        pause_ms(20);
        kill(supervisor, libc::SIGINT);
    });
    let (outcome, collected) = place.run(&plan);
    reap(stopper);
    assert!(outcome.interrupted);
    assert_eq!(outcome.ends, [const { End::Interrupted }; 4]);
    assert_eq!(collected.rows[0].count, 4);
    assert!(collected.rank_errors.is_empty());
}

fn an_interrupt_before_the_start() {
    let plan = Build::plan(2, |b| b.barrier());
    let mut place = place();
    place.config.wait_for_signal = true;
    let supervisor = my_pid();
    let stopper = meanwhile(|| {
        pause_ms(50);
        kill(supervisor, libc::SIGTERM);
    });
    let (outcome, _) = place.run(&plan);
    reap(stopper);
    assert!(outcome.interrupted);
    assert_eq!(outcome.ends, [End::Interrupted, End::Interrupted]);
}

/// A rank that is stopped (SIGSTOP) cannot end by itself.
fn a_second_interrupt_kills() {
    let plan = Build::plan(1, |b| {
        let path = b.str("here");
        b.op(Op::Mkdir, &[path]);
        forever(b);
    });
    let place = place();
    let (supervisor, here) = (my_pid(), place.directory.path().join("here"));
    let stopper = meanwhile(|| {
        wait_for(&here);
        let rank = children(supervisor).into_iter().find(|pid| *pid != my_pid()).unwrap();
        kill(rank, libc::SIGSTOP);
        kill(supervisor, libc::SIGINT);
        pause_ms(100);
        kill(supervisor, libc::SIGINT);
    });
    let (outcome, collected) = place.run(&plan);
    reap(stopper);
    assert_eq!(outcome.ends, [End::Killed(libc::SIGKILL)]);
    assert_eq!(collected.rows[0].count, 1);
}

fn the_start_waits_for_a_signal() {
    let plan = Build::plan(2, |b| {
        let path = b.text(&[P::T("here-"), P::I(Internal::Rank)]);
        b.op(Op::Mkdir, &[path]);
    });
    let mut place = place();
    place.config.wait_for_signal = true;
    let (supervisor, root) = (my_pid(), place.directory.path().to_path_buf());
    let starter = meanwhile(|| {
        pause_ms(100);
        assert!(!root.join("here-0").exists());
        fs::write(root.join("seen"), "").unwrap();
        kill(supervisor, libc::SIGUSR1);
    });
    let (outcome, _) = place.run(&plan);
    reap(starter);
    assert!(outcome.finished());
    assert_eq!(place.names(), ["here-0", "here-1", "seen"]);
}

fn records_outlive_the_supervisor() {
    let plan = Build::plan(2, |b| {
        let path = b.text(&[P::T("here-"), P::I(Internal::Rank)]);
        b.op(Op::Mkdir, &[path]);
        forever(b);
    });
    let mut place = place();
    let records = tempfile::tempdir().unwrap();
    place.config.records = Records::Directory(records.path().to_path_buf());
    let supervisor = meanwhile(|| drop(place.run(&plan)));
    (0..2).for_each(|rank| wait_for(&place.directory.path().join(format!("here-{rank}"))));
    let ranks = children(supervisor);
    assert_eq!(ranks.len(), 2);
    pause_ms(20);
    kill(supervisor, libc::SIGKILL);
    reap(supervisor);
    // The kernel ends the ranks: their processes become somebody else's children and go.
    for rank in ranks {
        while fs::read_to_string(format!("/proc/{rank}/stat"))
            .is_ok_and(|stat| !stat.contains(") Z "))
        {
            pause_ms(2);
        }
    }
    let read: Vec<_> = (0..2)
        .map(|rank| read_path(&place.config.records.path(rank).unwrap()).expect("readable"))
        .collect();
    let collected = collect(&read, &plan);
    assert_eq!(collected.rows[0].count, 2);
    assert!(!collected.finished);
}

fn a_missing_directory_is_told() {
    let plan = Build::plan(2, |b| b.barrier());
    let mut place = place();
    place.config.directory = place.directory.path().join("missing");
    let error = run_local(&plan, &place.config, &mut |_| {}).expect_err("there is no such place");
    assert!(matches!(error, StartError::Rank { .. }));
    assert!(error.to_string().contains("cannot enter"), "{error}");
}

fn confined_ranks_stay_inside() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("x");
    let plan = Build::plan(1, |b| {
        let (out, inside, n) =
            (b.value(Value::str(target.to_str().unwrap())), b.str("in"), b.int(10));
        b.op(Op::Write, &[out, n]);
        b.op(Op::Write, &[inside, n]);
    });
    for confinement in [Confinement::Checked, Confinement::Beneath { across_mounts: false }] {
        let mut place = place();
        place.config.confinement = confinement;
        let (outcome, collected) = place.run(&plan);
        assert!(outcome.finished());
        assert_eq!((collected.rows[0].count, collected.rows[0].failed), (2, 1));
        assert_eq!(place.names(), ["in"]);
        assert!(!target.exists());
    }
    let mut place = place();
    place.config.confinement = Confinement::Trusted;
    place.run(&plan);
    assert!(target.exists());
}

fn lines_of_prints_are_whole() {
    let plan = Build::plan(3, |b| {
        let (i, n, word) = (b.global("i"), b.int(100), b.str("a longer text to be printed"));
        b.repeat(i, n, |b| b.print(&[Operand::slot(i), word]));
    });
    let mut place = place();
    let mut output = tempfile::tempfile().unwrap();
    place.config.settings.print_fd = Some(output.as_raw_fd());
    assert!(place.run(&plan).0.finished());
    use std::io::Seek;
    output.rewind().unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 300);
    assert!(lines.contains(&"[2] 99 a longer text to be printed"));
}

/// The supervisor itself leaks nothing, run after run.
fn no_descriptor_is_left() {
    let open = || fs::read_dir("/proc/self/fd").unwrap().count();
    let plan = Build::plan(2, |b| {
        let (h, path, flags) = (b.global("h"), b.text(&[P::I(Internal::Rank)]), b.str("w"));
        b.op_to(h, Op::Fopen, &[path, flags]);
        b.op(Op::Fclose, &[path]);
    });
    let place = place();
    let before = open();
    for _ in 0..3 {
        assert_eq!(place.run(&plan).0.ends, [End::Failed, End::Failed]);
    }
    assert_eq!(open(), before);
}

fn progress_is_told_if_somebody_looks() {
    let told = |watch: Option<Duration>| {
        let plan = Build::plan(2, |b| {
            let (label, long) = (b.str("l"), b.value(Value::Duration(600_000_000)));
            let (path, size) = (b.text(&[P::I(Internal::Rank)]), b.int(4096));
            b.time(label, false, |b: &mut Build| {
                b.op(Op::Write, &[path, size]);
                b.op(Op::Sleep, &[long]);
            });
        });
        let (mut told, mut alive) = (Vec::new(), 0);
        let mut place = place();
        place.config.watch = watch;
        let mut note = |progress: &Progress| match progress {
            Progress::At(sample) => told.push(sample.clone()),
            Progress::Alive => alive += 1,
            Progress::Held => panic!("it does not wait"),
        };
        run_local(&plan, &place.config, &mut note).unwrap();
        (told, alive)
    };
    let (samples, _) = told(Some(Duration::from_millis(50)));
    let inside = |sample: &&Sample| sample.label == Some("l".into()) && sample.operations == 2;
    let inside = samples.iter().find(inside).expect("it was told at least once");
    assert_eq!((inside.bytes, inside.ranks), (Some(8192), 2));
    assert!(samples.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns));
    let (samples, alive) = told(None);
    assert_eq!(samples, []);
    assert!(alive > 0, "signs of life are needed for signals");
}

fn null_needs_no_directory() {
    let plan = Build::plan(2, |b| {
        let (path, size) = (b.str("/nowhere/at/all"), b.int(1 << 33));
        b.op(Op::Write, &[path, size]);
    });
    let mut place = place();
    place.config.directory = "/nonexistent".into();
    place.config.backend = BackendKind::Null;
    let (outcome, collected) = place.run(&plan);
    assert!(outcome.finished());
    assert_eq!(collected.rows[0].bytes, 2 << 33);
}

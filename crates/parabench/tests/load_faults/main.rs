//! Faults by seed across everything that shapes load: loops with time limits, shared work, arrivals, mixes,
//! verified data, engines, MPI-IO, on several simulated ranks. Whatever partial transfers, interruptions, errors
//! and delays a seed brings, and whichever rank fails, nobody hangs, figures add up, and nothing is said
//! that is not so. A seed that fails is printed, with its program: `PARABENCH_FAULT_SEED=N` repeats it.
#![allow(clippy::print_stderr)]

mod executed;
#[path = "../../../engine/tests/doubles/faults.rs"]
mod faults;
#[path = "../../../engine/tests/doubles/mpi_files.rs"]
mod mpi_files;
mod oracle;
mod program;

use executed::{Executed, execute};
use oracle::judge;
use program::program;
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::sync::mpsc;
use std::time::Duration;

const SEEDS: u64 = 1_000;
/// A program that is not over after this has hung: they take some milliseconds.
const HUNG: Duration = Duration::from_secs(120);

/// What all programs together came to, so that the test cannot pass without testing.
#[derive(Debug, Default)]
struct Seen {
    failed: u64,
    shared_ranks: u64,
    ended_early: u64,
    worn_out: u64,
    arrivals: u64,
    checked_bytes: u64,
    operations: BTreeMap<String, u64>,
}

impl Seen {
    fn add(&mut self, executed: &Executed) {
        let collected = &executed.collected;
        self.failed += collected.evidence.failed;
        self.shared_ranks +=
            collected.shares.iter().filter(|row| row.fewest.indices > 0 && row.ranks > 1).count()
                as u64;
        self.ended_early += u64::from(!executed.outcome.finished());
        let worn = |label: &str| label.ends_with("/wear-out");
        self.worn_out += executed.events().filter(|done| worn(&done.label)).count() as u64;
        self.arrivals += collected.arrivals.iter().map(|row| row.operations).sum::<u64>();
        let verified = collected.evidence.labels.iter().filter_map(|label| label.verified.as_ref());
        self.checked_bytes += verified.map(|data| data.checked_bytes).sum::<u64>();
        for row in &collected.rows {
            *self.operations.entry(row.op.clone()).or_default() += row.count;
        }
    }

    fn is_enough(&self) -> bool {
        let often = |op: &str| self.operations.get(op).is_some_and(|count| *count > 100);
        let all = [
            "write",
            "read",
            "append",
            "fwrite",
            "fread",
            "readv",
            "writev",
            "fsync",
            "copy",
            "pfopen",
            "pfwrite",
            "pfread",
            "pfsync",
            "pfsetsize",
            "pwrite",
            "pread",
            "pfclose",
        ];
        let counts =
            [self.failed, self.shared_ranks, self.ended_early, self.worn_out, self.arrivals];
        counts.iter().all(|count| *count > 50)
            && self.checked_bytes > 10_000_000
            && all.into_iter().all(often)
    }
}

/// Executes the program of a seed and judges it.
fn check(seed: u64, seen: &mut Seen) {
    let program = program(seed);
    let judged = catch_unwind(|| {
        let executed = execute(&program, seed);
        judge(&program, &executed);
        executed
    });
    match judged {
        Ok(executed) => seen.add(&executed),
        Err(cause) => {
            eprintln!("PARABENCH_FAULT_SEED={seed}: {program:?}\n{}", program.text);
            std::panic::resume_unwind(cause);
        }
    }
}

/// Executes these seeds one after the other; one that hangs is named, too.
fn check_all(seeds: std::ops::Range<u64>) -> Seen {
    let (begun, told) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        let mut seen = Seen::default();
        for seed in seeds {
            let _ = begun.send(seed);
            check(seed, &mut seen);
        }
        seen
    });
    let mut last = 0;
    loop {
        match told.recv_timeout(HUNG) {
            Ok(seed) => last = seed,
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                panic!("PARABENCH_FAULT_SEED={last} hangs:\n{}", program(last).text)
            }
        }
    }
    worker.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))
}

#[test]
fn whatever_goes_wrong_nobody_hangs_and_figures_add_up() {
    if let Ok(seed) = std::env::var("PARABENCH_FAULT_SEED") {
        let seed: u64 = seed.parse().expect("a number");
        check_all(seed..seed + 1);
        return;
    }
    let seen = check_all(0..SEEDS);
    assert!(seen.is_enough(), "{seen:#?}");
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let figures = |seed| {
        let executed = execute(&program(seed), seed);
        let events: Vec<String> = executed.events().map(|done| format!("{done:?}")).collect();
        (events, format!("{:?}", executed.collected))
    };
    for seed in 0..20 {
        assert_eq!(figures(seed), figures(seed), "seed {seed}");
    }
    assert_ne!(figures(7), figures(8));
}

//! Statements of MPI-IO under every MPI: PPL programs compiled here and run by real ranks.
//!
//! The test starts itself under mpiexec ([`testing::harness`]).
#![allow(clippy::print_stdout)] // it is its own harness

mod contents;
mod ends;
mod errors;
mod large;
mod listing2;
mod statements;
#[path = "../../../mpi/testing/mod.rs"]
mod testing;
mod verify;

use engine::comm::End;
use engine::config::Config;
use engine::machine::Settings;
use engine::recorder::{FailureRecord, RankRecord};
use model::{Op, Plan, errno};
use mpi::{RankOutcome, World, run_rank, shim};
use ppl::source::NoIncludes;
use ppl::{Binding, compile};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;
use testing::PLACE;

/// Runs of this process so far: as many on every rank.
static RUNS: AtomicU16 = AtomicU16::new(0);

/// Members that wait in vain are released after this.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A case of this test.
type Case = testing::Case<fn(&Stage<'_>)>;

const CASES: &[&[Case]] = &[
    contents::CASES,
    statements::CASES,
    errors::CASES,
    ends::CASES,
    large::CASES,
    listing2::CASES,
    verify::CASES,
];

fn main() {
    testing::harness(&CASES.concat(), be_rank, |_, _| ());
}

/// Where a rank of a case runs.
pub struct Stage<'w> {
    /// MPI.
    pub world: &'w World,
    /// An empty directory.
    pub directory: PathBuf,
}

/// What one rank did.
pub struct Ran {
    /// How it ended, and why not well.
    pub outcome: RankOutcome,
    /// What it measured.
    pub record: RankRecord,
    /// What it executed.
    pub plan: Plan,
}

fn be_rank(case: fn(&Stage<'_>)) {
    let found = shim::find_shim().expect("a shim");
    let world = World::init(found.shim).expect("MPI starts");
    let directory = PathBuf::from(std::env::var_os(PLACE).expect("a place"));
    case(&Stage { world: &world, directory });
    world.finalize().expect("MPI ends");
}

impl Stage<'_> {
    /// Compiles and runs a program, which must be right.
    pub fn run(&self, text: &str) -> Ran {
        self.run_bound(text, |_| {})
    }

    /// The same with parameters, groups and so on.
    pub fn run_bound(&self, text: &str, bind: impl FnOnce(&mut Binding)) -> Ran {
        let mut binding = Binding::new(self.world.size);
        bind(&mut binding);
        let compiled = compile("test.ppl", text.into(), &mut NoIncludes, &binding);
        let plan = compiled.plan.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
        // Each run of a case tells its verified data from that of the others.
        let run_mark = RUNS.fetch_add(1, Ordering::Relaxed);
        let settings = Settings { run_mark, ..Settings::default() };
        let config = Config {
            directory: self.directory.clone(),
            settings,
            timeout: Some(TIMEOUT),
            ..Config::default()
        };
        let mut outcome = run_rank(self.world, &plan, &config, &mut |_| {}).expect("it starts");
        let record = std::mem::replace(&mut outcome.record, Err(String::new()));
        Ran { outcome, record: record.expect("a record"), plan }
    }

    /// World rank.
    pub fn rank(&self) -> u32 {
        self.world.rank
    }

    /// The bytes of a file.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.directory.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl Ran {
    /// The same, if the rank reached the end of the program.
    pub fn finished(self) -> Ran {
        assert_eq!(self.outcome.end, End::Finished, "{:?}", self.record.errors);
        self
    }

    /// The same, if no operation failed or was short either.
    pub fn good(self) -> Ran {
        let ran = self.finished();
        assert_eq!(ran.failures(), Vec::<String>::new());
        assert_eq!(ran.record.stats.iter().map(|stat| stat.figures.short).sum::<u64>(), 0);
        ran
    }

    /// `operation errno`, one for each kept failure.
    pub fn failures(&self) -> Vec<String> {
        let told = |failure: &FailureRecord| {
            let (name, detail) = (errno::name(failure.errno), &failure.detail);
            println!("{} {name}: {detail}", failure.op);
            format!("{} {name}", failure.op)
        };
        self.record.failures.iter().map(told).collect()
    }

    /// Executions and bytes of an operation that did not fail.
    pub fn done(&self, op: Op) -> (u64, u64) {
        let stats = self.record.stats.iter().filter(|stat| stat.op == op);
        stats
            .fold((0, 0), |sum, stat| (sum.0 + stat.figures.done.count, sum.1 + stat.figures.bytes))
    }
}

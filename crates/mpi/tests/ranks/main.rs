//! Communicators and ranks under every MPI: the behaviour that local ranks have
//! (`crates/engine/tests/local.rs`), and what only MPI ranks do.
//!
//! The test starts itself under mpiexec; the variable [`CASE`] tells the ranks which case they
//! are. A rank that finds something wrong panics, which ends the job.
#![allow(unsafe_code)] // signals
#![allow(clippy::print_stdout)] // it is its own harness

#[path = "../../../engine/tests/common/mod.rs"]
mod common;
mod endings;
mod meetings;
#[path = "../../testing/mod.rs"]
mod testing;
mod worlds;

use engine::config::{BackendKind, Config, Records};
use model::Plan;
use mpi::{RankOutcome, World, locate, run_rank};
use std::path::{Path, PathBuf};
use testing::LIMIT;

/// Tells a rank its case.
const CASE: &str = "PARABENCH_TEST_CASE";
/// The empty directory in which it runs.
const PLACE: &str = "PARABENCH_TEST_PLACE";

/// A case: its name, its number of ranks and what they do.
type Case = (&'static str, u32, fn(&Place<'_>));

const CASES: &[&[Case]] = &[worlds::CASES, meetings::CASES, endings::CASES];

fn main() {
    let cases: Vec<Case> = CASES.concat();
    match std::env::var(CASE) {
        Ok(name) => be_rank(cases.iter().find(|case| case.0 == name).expect("a case")),
        Err(_) => launch_all(&cases),
    }
}

fn launch_all(cases: &[Case]) {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let me = std::env::current_exe().expect("this test");
    for mpi in testing::all() {
        for (name, ranks, _) in cases {
            if !wanted.is_empty() && !wanted.iter().any(|word| name.contains(word.as_str())) {
                continue;
            }
            println!("{}: {name}", mpi.name);
            let place = tempfile::tempdir().expect("a temporary directory");
            let launch = match ranks {
                0 => mpi.command(&me),
                ranks => mpi.launch(*ranks, &me),
            };
            let ended = launch.env(CASE, name).env(PLACE, place.path()).run(LIMIT);
            assert!(ended.success(), "{name}: {ended}");
        }
        if wanted.is_empty() {
            worlds::launched_by_another_mpi(&mpi, &me);
            endings::a_killed_rank_ends_the_job(&mpi, &me);
        }
    }
}

/// Where a rank of a case runs.
pub struct Place<'w> {
    /// MPI.
    pub world: &'w World,
    /// An empty directory.
    pub directory: PathBuf,
    /// Runs in that directory.
    pub config: Config,
}

fn be_rank(case: &Case) {
    let found = locate::find().expect("a shim");
    let world = World::init(found.shim).expect("MPI starts");
    let directory = PathBuf::from(std::env::var_os(PLACE).expect("a place"));
    let config = Config { directory: directory.clone(), ..Config::default() };
    (case.2)(&Place { world: &world, directory, config });
    world.finalize().expect("MPI ends");
}

impl Place<'_> {
    fn run(&self, plan: &Plan) -> RankOutcome {
        self.run_with(plan, &self.config)
    }

    fn run_with(&self, plan: &Plan, config: &Config) -> RankOutcome {
        run_rank(self.world, plan, config, &mut |_| {}).expect("it starts")
    }

    /// Without storage: only what ranks tell each other.
    fn run_dry(&self, plan: &Plan) -> RankOutcome {
        self.run_with(plan, &Config { backend: BackendKind::Null, ..self.config.clone() })
    }

    /// A configuration whose records outlive the ranks.
    fn recorded(&self) -> Config {
        let records = self.directory.join("records");
        std::fs::create_dir_all(&records).expect("made");
        Config { records: Records::Directory(records), ..self.config.clone() }
    }

    fn rank(&self) -> u32 {
        self.world.rank
    }
}

/// Entries of a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("readable");
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// Waits until a file exists.
fn wait_for(path: &Path) {
    while !path.exists() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

//! Communicators and ranks under every MPI: the behaviour that local ranks have
//! (`crates/engine/tests/local.rs`), and what only MPI ranks do.
//!
//! The test starts itself under mpiexec ([`testing::harness`]).
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
use mpi::{RankOutcome, World, run_rank, shim};
use std::path::{Path, PathBuf};
use std::time::Duration;
use testing::PLACE;

/// A case of this test.
type Case = testing::Case<fn(&Stage<'_>)>;

const CASES: &[&[Case]] = &[worlds::CASES, meetings::CASES, endings::CASES];

fn main() {
    testing::harness(&CASES.concat(), be_rank, |mpi, me| {
        worlds::launched_by_another_mpi(mpi, me);
        endings::a_killed_rank_ends_the_job(mpi, me);
    });
}

/// Where a rank of a case runs.
pub struct Stage<'w> {
    /// MPI.
    pub world: &'w World,
    /// An empty directory.
    pub directory: PathBuf,
    /// Runs in that directory.
    pub config: Config,
}

fn be_rank(case: fn(&Stage<'_>)) {
    let found = shim::find_shim().expect("a shim");
    let world = World::init(found.shim).expect("MPI starts");
    let directory = PathBuf::from(std::env::var_os(PLACE).expect("a place"));
    let config = Config { directory: directory.clone(), ..Config::default() };
    case(&Stage { world: &world, directory, config });
    world.finalize().expect("MPI ends");
}

impl Stage<'_> {
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

    /// The same with a short timeout for ranks that wait in vain.
    fn run_impatiently(&self, plan: &Plan) -> RankOutcome {
        let timeout = Some(Duration::from_millis(500));
        let config = Config { backend: BackendKind::Null, timeout, ..self.config.clone() };
        self.run_with(plan, &config)
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
        std::thread::sleep(Duration::from_millis(2));
    }
}

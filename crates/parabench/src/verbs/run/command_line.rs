//! The command line of a run as it was given, which repeats it. How a launcher was called nobody tells its
//! processes: before their own words stands the shortest way to start as many.
//!
//! ```text
//! parabench run x.ppl num=5 --dir /data --clean
//! mpiexec -n 4 parabench run x.ppl
//! parabench run --mpi -n 4 x.ppl
//! ```

use super::args::Run;
use super::remains::Remains;
use crate::legacy;
use mpi::launcher::{self, Launcher};

/// Its words; none if they are not text.
pub fn of(run: &Run) -> Vec<String> {
    if let Some(remains) = Remains::wanted() {
        return remains.command();
    }
    let own = own();
    match launcher::job().filter(|_| !run.is_simulated() && !own.is_empty()) {
        Some(job) => started(job.launcher, run.ranks).into_iter().chain(own).collect(),
        None => own,
    }
}

/// Those of this process, with the verb; the path of Parabench is another one elsewhere.
pub fn own() -> Vec<String> {
    let mut words = legacy::with_verb(std::env::args_os().collect());
    if let Some(first) = words.first_mut() {
        *first = "parabench".into();
    }
    let words = words.into_iter().map(|word| word.into_string().ok());
    words.collect::<Option<_>>().unwrap_or_default()
}

fn started(launcher: Launcher, ranks: u32) -> [String; 3] {
    let command = match launcher {
        Launcher::Slurm => "srun",
        Launcher::OpenMpi | Launcher::Pmi => "mpiexec",
    };
    [command.into(), "-n".into(), ranks.to_string()]
}

//! Ranks under MPI, tested from outside: every test starts the binary under each of the
//! MPIs that `make setup` brings, with a time limit.

#[path = "../cli/essence.rs"]
mod essence;
#[path = "../cli/figures.rs"]
#[allow(dead_code, reason = "the words of tests/cli; not all are needed here")]
mod figures;
#[path = "../cli/made_up.rs"]
mod made_up;
#[path = "../cli/scene.rs"]
#[allow(dead_code, reason = "the words of tests/cli; not all are needed here")]
mod scene;
#[path = "../cli/schema.rs"]
#[allow(dead_code, reason = "the words of tests/cli; not all are needed here")]
mod schema;
#[path = "../../../mpi/testing/mod.rs"]
mod testing;

mod barriers;
mod clusters;
mod death;
mod fold;
mod interfaces;
mod launch;
mod mounts;
mod nodes;
mod options;
mod progress;
mod record;
mod refused;
mod remarks;
mod same;
mod slurm;
mod sweeps;
mod together;
mod traps;

use scene::{Call, Done, PARABENCH, Scene};
use testing::Mpi;

/// `mpiexec -n RANKS parabench LINE` in a scene.
fn under(mpi: &Mpi, ranks: u32, scene: &Scene, line: &str) -> Call {
    scene.command(mpi.launch(ranks, PARABENCH).args(line.split_whitespace()).command)
}

/// The same for processes that end without MPI. MPICH's mpiexec, on a busy machine, now and then
/// speaks to one that is gone and dies of SIGPIPE without a word: then it is started again.
fn briefly(mpi: &Mpi, ranks: u32, scene: &Scene, line: &str) -> Done {
    let mut tries = (0..5).map(|_| under(mpi, ranks, scene, line).run());
    tries.find(|done| done.code.is_some()).expect("mpiexec ends by itself once in five times")
}

/// `parabench LINE`, which can start this MPI.
fn with(mpi: &Mpi, scene: &Scene, line: &str) -> Call {
    scene.command(mpi.command(PARABENCH).args(line.split_whitespace()).command)
}

/// The same call with functions of the C library replaced by those of a source text.
fn preload(scene: &Scene, call: Call, source: &str) -> Call {
    let library = testing::library(&scene.path("."), source);
    call.env("LD_PRELOAD", library.to_str().expect("text"))
}

//! Before anything else the processes of an MPI job find out whether all of them were started with the
//! same words: what others than rank 0 ask for would have no effect. Those whose words need no MPI, or
//! cannot be read, take part for that: the others would wait for them in MPI_Init for ever.
//!
//! ```text
//! mpiexec -n 1 parabench run x.ppl : -n 1 parabench run x.ppl --backend mem
//! mpiexec -n 1 parabench run x.ppl : -n 1 parabench run x.ppl --nonsense
//! mpiexec -n 1 parabench run x.ppl : -n 1 parabench check x.ppl
//! ```

use super::command::Command;
use super::team::{broken, of_all};
use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use engine::host;
use mpi::{World, launcher};

/// Between the name of a machine and the words of a process there.
const PARTING: u8 = b'\n';

/// Whether all processes were started with the same words. All of them call it, first of all.
///
/// # Errors
/// MPI fails. The inner ones are on all of them; rank 0's says who was started with which words.
pub fn agree(world: &World) -> Result<Result<()>> {
    let own = Command::own();
    let numbers = of_all(world, own.number()).map_err(broken)?;
    let mut others = (0u32..).zip(&numbers).filter(|(_, number)| **number != numbers[0]);
    let Some((rank, _)) = others.next() else { return Ok(Ok(())) };
    let more = others.count();
    if world.rank == rank {
        let mut told = host::machine().name.into_bytes();
        told.push(PARTING);
        told.extend(own.to_bytes());
        world.send(0, &told).map_err(broken)?;
    }
    if world.rank > 0 {
        return Ok(Err(Error::input("the processes were started with different words")));
    }
    let told = world.receive(rank).map_err(broken)?;
    let mut parts = told.splitn(2, |byte| *byte == PARTING);
    let host = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let other = Command::from_bytes(parts.next().unwrap_or_default());
    Ok(Err(own.unlike(&other, rank, &host, more)))
}

/// The same for a process that has no other use for MPI. Where MPI cannot be used, nobody waits in it.
///
/// # Errors
/// The words differ, which rank 0 has told.
pub fn roll_call() -> std::result::Result<(), Exit> {
    // A terminal is none that a launcher gives, and one process waits for nobody.
    let is_alone = launcher::job().is_none_or(|job| job.ranks == Some(1)) || console::is_watched();
    let found = if is_alone { None } else { mpi::locate::find().ok() };
    let Some(world) = found.and_then(|found| World::init(found.shim).ok()) else { return Ok(()) };
    let agreed = agree(&world).and_then(|agreed| agreed);
    let told = agreed.map_err(|error| {
        if world.rank == 0 {
            console::error(&error);
        }
        error.exit
    });
    // What was measured, if anything, does not depend on it.
    let _ = world.finalize();
    told
}

/// One process is enough for the subcommand: the launcher has started more.
pub fn note_needless_ranks() {
    if let Some(job) = launcher::job()
        && let Some(ranks) = job.ranks.filter(|ranks| *ranks > 1)
    {
        let launcher = job.launcher.name();
        console::note(&format!(
            "{launcher} has started {ranks} processes, of which rank 0 alone does this: the subcommand needs no \
             {launcher}"
        ));
    }
}

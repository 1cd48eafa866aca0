//! Before anything else the processes of an MPI job find out whether all of them were started with the
//! same words: what others than rank 0 ask for would have no effect. Those whose words need no MPI, or
//! cannot be read, take part for that: the others would wait for them in MPI_Init for ever.
//!
//! ```text
//! mpiexec -n 1 parabench run x.ppl : -n 1 parabench run x.ppl --backend mem
//! mpiexec -n 1 parabench run x.ppl : -n 1 parabench run x.ppl --nonsense
//! mpiexec -n 1 parabench run x.ppl : -n 1 parabench check x.ppl
//! ```
//!
//! Some may never come, such as a script of which no command joins the job. Then those that wait end it when the
//! time is over ([`mpi::limit`]).

use super::command::Command;
use super::team::{broken, of_all};
use super::trouble::give_up;
use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use engine::host;
use mpi::limit::Limit;
use mpi::{MpiError, Shim, World, kin, launcher};
use std::time::Duration;

/// Between the name of a machine and the words of a process there.
const PARTING: u8 = b'\n';

/// How long the processes of a job have to meet, unless [`VARIABLE`] says another time: 256 ranks on two busy
/// processors took 84 s.
const LIMIT_S: u32 = 300;
/// More for every rank: launchers start them one after the other.
const LIMIT_OF_RANK_S: u32 = 1;
/// The time, in seconds, for jobs that start more slowly, or are to fail sooner.
const VARIABLE: &str = "PARABENCH_MPI_WAIT";

/// Time between the first and the last process of a machine whose time is over.
const AT_ONCE: Duration = Duration::from_millis(300);

/// Starts MPI and finds out whether all processes were started with the same words ([`agree`]), in a limited time.
///
/// # Errors
/// MPI does not start.
pub fn meet(shim: Shim) -> std::result::Result<(World, Result<Result<()>>), MpiError> {
    let limit_s = launcher::job().map(|job| limit_s(job.ranks.unwrap_or_default()));
    let limit = limit_s.map(|limit_s| {
        Limit::start(limit_s, &["parabench", "mpi", "missing", &limit_s.to_string()])
    });
    let world = World::init(shim)?;
    let agreed = agree(&world);
    drop(limit);
    Ok((world, agreed))
}

fn limit_s(ranks: u32) -> u32 {
    let asked = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok());
    let asked = asked.filter(|limit_s| *limit_s > 0);
    asked.unwrap_or_else(|| LIMIT_S.saturating_add(LIMIT_OF_RANK_S.saturating_mul(ranks)))
}

/// What a process does that has waited for the others for `limit_s`: says who is there, and ends the job.
pub fn end_unmet(limit_s: u32) -> Exit {
    // The others come to this point at nearly the same time.
    std::thread::sleep(AT_ONCE);
    let (job, here) = (launcher::job(), kin::ranks_here());
    let rank = job.map_or(0, |job| job.rank);
    let all = job.and_then(|job| job.ranks).map_or("all".into(), |ranks| format!("the {ranks}"));
    let ranks: Vec<String> = here.iter().map(u32::to_string).collect();
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    let error = Error::input(format!(
        "{all} processes of this job have not met within {limit_s} s; on this machine {noun} {} waited for the \
         others",
        ranks.join(", ")
    ));
    let help = format!(
        "all processes of a job have to join it, with the same words: let a script call `parabench run` on all \
         ranks, or on none; {VARIABLE}=SECONDS gives a job more time to start"
    );
    give_up(rank, here.first() == Some(&rank), error.help(help))
}

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
    let Some((world, agreed)) = found.and_then(|found| meet(found.shim).ok()) else {
        return Ok(());
    };
    let told = agreed.and_then(|agreed| agreed).map_err(|error| {
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

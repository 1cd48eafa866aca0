//! A process that cannot become a rank of its MPI job says so, once on each machine where it can be done,
//! and ends the job: the others would wait for it in MPI_Init.
//!
//! ```text
//! error: rank 3 on node-b: no MPI shim could be used
//! ```
//!
//! The first process of a machine speaks for it. One that has a trouble which the first has not speaks for itself;
//! of several such the first to take a name does. The names are those of abstract sockets, which go with
//! the process.

use crate::console;
use crate::error::Error;
use crate::exit::Exit;
use engine::host;
use mpi::{kin, launcher};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// How long the others leave it to rank 0 to say why there is no MPI.
const FIRST_WORDS: Duration = Duration::from_secs(1);

/// How often one that is not the first of its machine looks whether that one has the same trouble.
const LOOK: Duration = Duration::from_millis(50);

/// What a process has said reaches the launcher's terminal in this time; when the job ends, no more.
const FORWARDED: Duration = Duration::from_millis(300);

/// This process cannot join its job. `speaks`: it is the one that does so for its machine.
pub fn give_up(rank: u32, speaks: bool, error: Error) -> Exit {
    let message = format!("rank {rank} on {}: {}", host::machine().name, error.message);
    let error = Error { message, ..error };
    let speaks = speaks || rank == 0;
    let kin = kin::launcher_process().unwrap_or_default();
    // Held until the process ends.
    let own = take(kin, speaks);
    // A launcher may end rank 0 as soon as another process is gone: it speaks first.
    let looks = if rank > 0 { FIRST_WORDS.as_millis() / LOOK.as_millis() } else { 0 };
    let mut first_speaks = false;
    for _ in 0..looks {
        first_speaks |= is_taken(kin, true);
        std::thread::sleep(LOOK);
    }
    if speaks || (own.is_some() && !first_speaks) {
        console::error(&error);
    }
    // Those that say nothing, too: they would end the job while others' words are on their way.
    std::thread::sleep(FORWARDED);
    launcher::end_job(error.exit.code());
    error.exit
}

/// The name that the processes of a launcher's process share.
fn name(kin: u32, speaks: bool) -> Option<SocketAddr> {
    let who = if speaks { "first" } else { "other" };
    SocketAddr::from_abstract_name(format!("parabench-trouble-{kin}-{who}")).ok()
}

/// `None`: another process has it.
fn take(kin: u32, speaks: bool) -> Option<UnixDatagram> {
    UnixDatagram::bind_addr(&name(kin, speaks)?).ok()
}

fn is_taken(kin: u32, speaks: bool) -> bool {
    let connect = |name| UnixDatagram::unbound().and_then(|own| own.connect_addr(&name));
    name(kin, speaks).is_some_and(|name| connect(name).is_ok())
}

/// The launcher says that this is the first process of its machine. Machines differ in what is
/// installed; the processes of one mostly do not.
pub fn is_first_of_machine() -> bool {
    const LOCAL_RANKS: [&str; 3] =
        ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"];
    LOCAL_RANKS.iter().any(|name| std::env::var(name).is_ok_and(|rank| rank == "0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_speaks() {
        let kin = std::process::id();
        let first = take(kin, false);
        assert!(first.is_some() && take(kin, false).is_none());
        assert!(is_taken(kin, false) && !is_taken(kin, true));
        drop(first);
        assert!(!is_taken(kin, false));
    }
}

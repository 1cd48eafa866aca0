//! Checks of all ranks of an MPI job before they start: they have the same command line, the same plan,
//! the directories. If one rank differs, none starts, and rank 0 prints which rank and machine.
//!
//! ```text
//! mpiexec -n 1 parabench run x.ppl n=1 : -n 1 parabench run x.ppl n=2
//! rank 1 on node-b was started with `run x.ppl n=2`, rank 0 with `run x.ppl n=1`
//! ```

use super::team::{broken, gather_numbers};
use crate::error::{Error, Result};
use engine::backend::MARKER;
use engine::config::{BackendKind, Config};
use engine::directory::{Identity, find_same};
use engine::host;
use model::{Plan, escape};
use mpi::World;
use mpi::world::Reduce;
use rustix::fs::Access;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Between the name of a machine and what is wrong there.
const PARTING: char = '\n';
/// Machines that are named in a sentence.
const NAMED: usize = 8;
/// The way a fault begins that is none of sight.
const UNWRITABLE: &str = "it cannot be written";

/// All ranks were started with the words of rank 0, which decide what is executed.
///
/// # Errors
/// MPI fails. The inner error is there on all ranks; only that of rank 0 is to be printed.
pub fn check_words(world: &World) -> Result<Result<()>> {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let own = escape::line(&words.join(" ")).to_string();
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    let hashes = gather_numbers(world, hasher.finish() as i64).map_err(broken)?;
    let Some(rank) = hashes.iter().position(|hash| *hash != hashes[0]) else { return Ok(Ok(())) };
    if world.rank == rank as u32 {
        let message = format!("rank {rank} on {} was started with `{own}`", host::machine().name);
        world.send(0, message.as_bytes()).map_err(broken)?;
    }
    if world.rank > 0 {
        return Ok(Err(Error::input("the processes were started with different words")));
    }
    let other = world.receive(rank as u32).map_err(broken)?;
    let message = format!("{}, rank 0 with `{own}`", String::from_utf8_lossy(&other));
    Ok(Err(Error::input(message).help(
        "start all processes of the job with the same words: in the program, $$rank and $$node distinguish \
         ranks that do different things",
    )))
}

/// All ranks have the plan of rank 0, or none starts.
pub(super) fn check_plan<'p>(world: &World, plan: Option<&'p Plan>) -> Result<&'p Plan> {
    let own = if plan.is_some() { i64::MAX } else { i64::from(world.rank) };
    match (world.reduce(world.all, [own], Reduce::Min).map_err(broken)?[0], plan) {
        (i64::MAX, Some(plan)) => Ok(plan),
        (rank, _) => {
            Err(Error::input(format!("rank {rank} cannot read the plan that rank 0 has made"))
                .help("start the same version of parabench on all machines"))
        }
    }
}

/// All ranks see the directories that rank 0 has marked, or none starts.
pub(super) fn check_directories(world: &World, config: &Config) -> Result<()> {
    if config.backend != BackendKind::Posix {
        return Ok(());
    }
    let run = std::iter::once((&*config.directory, config.identity.as_ref(), "--dir"));
    let further = config.directories.iter();
    let further = further.map(|(path, identity)| (&**path, Some(identity), "--mount"));
    run.chain(further).try_for_each(|(path, identity, option)| {
        let fault = fault(path, identity, world.nodes > 1);
        check_directory(world, path, option, fault)
    })
}

/// `own`: what is wrong with it, seen from this rank.
fn check_directory(world: &World, path: &Path, option: &str, own: Option<String>) -> Result<()> {
    let mut firsts = vec![i64::MAX; world.nodes as usize];
    if own.is_some() {
        firsts[world.node as usize] = world.rank.into();
    }
    world.reduce_all(world.all, &mut firsts, Reduce::Min).map_err(broken)?;
    let ranks = firsts.iter().filter(|rank| **rank < i64::MAX).map(|rank| *rank as u32);
    let Some(first) = ranks.clone().min() else { return Ok(()) };
    let own = format!("{}{PARTING}{}", host::machine().name, own.unwrap_or_default());
    let mut told = Vec::new();
    for rank in ranks {
        match (world.rank, rank) {
            (0, 0) => told.push(own.clone()),
            (0, _) => {
                let bytes = world.receive(rank).map_err(broken)?;
                told.push(String::from_utf8_lossy(&bytes).into_owned());
            }
            (this, _) if this == rank => world.send(0, own.as_bytes()).map_err(broken)?,
            _ => {}
        }
    }
    let path = path.display();
    let cannot = match told.iter().all(|one| one.contains(UNWRITABLE)) {
        true => "cannot write to",
        false => "does not see",
    };
    let faults = faults(&told);
    Err(Error::input(format!(
        "rank {first} {cannot} the run directory {path} that rank 0 uses: {faults}"
    ))
    .help(format!("choose a directory that all machines share with {option}")))
}

/// The problem with the directory on this machine, if any.
fn fault(path: &Path, identity: Option<&Identity>, far: bool) -> Option<String> {
    let found = match identity {
        Some(identity) => find_same(path, identity, far).map(|found| found.is_some()),
        None => path.join(MARKER).metadata().map(|facts| facts.is_file()),
    };
    match found {
        Ok(true) => {
            let access = rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK);
            access.err().map(|errno| format!("{UNWRITABLE} ({})", io::Error::from(errno)))
        }
        Ok(false) => {
            let file_system = host::storage(path).file_system;
            Some(format!("it is another directory ({file_system})"))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Some("it is missing".into()),
        Err(error) => Some(format!("it cannot be entered ({error})")),
    }
}

/// "it is missing on a and b; it is another directory (tmpfs) on c"
fn faults(told: &[String]) -> String {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for (host, fault) in told.iter().filter_map(|one| one.split_once(PARTING)) {
        match all.iter_mut().find(|(known, _)| *known == fault) {
            Some((_, hosts)) => hosts.push(host),
            None => all.push((fault, vec![host])),
        }
    }
    let all: Vec<String> =
        all.iter().map(|(fault, hosts)| format!("{fault} on {}", list(hosts))).collect();
    all.join("; ")
}

/// The first of them, and how many more there are.
pub(super) fn list(hosts: &[&str]) -> String {
    model::words::list_some(hosts, NAMED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_with_the_same_fault_are_named_together() {
        let told = ["a\nit is missing", "b\nit is another directory (tmpfs)", "c\nit is missing"];
        let expected = "it is missing on a and c; it is another directory (tmpfs) on b";
        assert_eq!(faults(&told.map(String::from)), expected);
        assert_eq!(list(&["n"; 10]), "n, n, n, n, n, n, n, n and 2 more");
    }

    #[test]
    fn another_directory_is_none_that_is_missing() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap();
        let fault = |path: &Path, marker: &str| {
            let identity = Identity { marker: marker.into(), ..Identity::default() };
            fault(path, Some(&identity), true)
        };
        assert_eq!(fault(&path.join("none"), "x").as_deref(), Some("it is missing"));
        let other = fault(&path, "x").unwrap();
        assert!(other.starts_with("it is another directory ("), "{other}");
        let text = r#"{"tool":"parabench","version":"0","created":"","forced":false,"id":"x"}"#;
        std::fs::write(path.join(MARKER), text).unwrap();
        assert_eq!(fault(&path, "x"), None);
        assert_eq!(fault(&path, "y"), Some(other), "the marker is that of another run");
    }
}

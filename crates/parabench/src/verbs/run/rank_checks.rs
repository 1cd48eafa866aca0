//! Checks of all ranks of an MPI job before they start: they have the same command line, the same plan,
//! the directories. If one rank differs, none starts, and rank 0 prints which rank and machine.
//!
//! ```text
//! mpiexec -n 1 parabench run x.ppl n=1 : -n 1 parabench run x.ppl n=2
//! rank 1 on node-b was started with `run x.ppl n=2`, rank 0 with `run x.ppl n=1`
//! ```

use crate::error::{Error, Result};
use engine::backend::MARKER;
use engine::config::{BackendKind, Config};
use engine::directory::{Identity, find_same};
use engine::host;
use model::{Plan, escape};
use mpi::World;
use mpi::world::Reduce;
use rustix::fs::Access;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The start of a fault of a directory that the rank sees.
const UNWRITABLE: &str = "it cannot be written";

/// The first rank with a fault; on rank 0 with the rank's words. `own`: the fault of this rank. All ranks call it.
pub fn find_fault(world: &World, own: Option<&str>) -> Result<Option<(u32, String)>> {
    let rank = own.map_or(i64::MAX, |_| i64::from(world.rank));
    let first = world.reduce(world.all, [rank], Reduce::Min)?[0];
    let Ok(first) = u32::try_from(first) else { return Ok(None) };
    let mut words = own.unwrap_or_default().to_string();
    if world.rank == 0 && first > 0 {
        let bytes = world.receive(first)?;
        words = String::from_utf8_lossy(&bytes).into_owned();
    } else if world.rank == first && first > 0 {
        world.send(0, words.as_bytes())?;
    }
    Ok(Some((first, words)))
}

/// All ranks were started with the words of rank 0, which decide what is executed.
///
/// # Errors
/// MPI fails. The inner error is there on all ranks; only that of rank 0 is to be printed.
pub fn check_words(world: &World) -> Result<Result<()>> {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let own = words.join("\0");
    let mut first = own.clone().into_bytes();
    world.broadcast(&mut first)?;
    let shown = |words: &str| escape::line(&words.replace('\0', " "));
    let fault = format!("on {} was started with `{}`", host::machine().name, shown(&own));
    let is_other = own.as_bytes() != first;
    Ok(match find_fault(world, is_other.then_some(&fault))? {
        None => Ok(()),
        Some((rank, fault)) => {
            let message = format!("rank {rank} {fault}, rank 0 with `{}`", shown(&own));
            Err(Error::input(message).help(
                "start all processes of the job with the same words: in the program, $$rank and $$node \
                 distinguish ranks that do different things",
            ))
        }
    })
}

/// All ranks have the plan of rank 0, or none starts.
pub fn check_plan<'p>(world: &World, plan: Option<&'p Plan>) -> Result<&'p Plan> {
    match (find_fault(world, plan.map_or(Some(""), |_| None))?, plan) {
        (None, Some(plan)) => Ok(plan),
        (fault, _) => {
            let rank = fault.map_or(world.rank, |(rank, _)| rank);
            Err(Error::input(format!("rank {rank} cannot read the plan that rank 0 has made"))
                .help("start the same version of parabench on all machines"))
        }
    }
}

/// All ranks see the directories that rank 0 has marked, or none starts.
pub fn check_directories(world: &World, config: &Config) -> Result<()> {
    if config.backend != BackendKind::Posix {
        return Ok(());
    }
    let run = std::iter::once((&*config.directory, config.identity.as_ref(), "--dir"));
    let further = config.directories.iter();
    let further = further.map(|(path, identity)| (&**path, Some(identity), "--mount"));
    for (path, identity, option) in run.chain(further) {
        let own = fault(path, identity, world.nodes > 1);
        let own = own.map(|fault| format!("{fault} on {}", host::machine().name));
        if let Some((rank, fault)) = find_fault(world, own.as_deref())? {
            let cannot =
                if fault.starts_with(UNWRITABLE) { "cannot write to" } else { "does not see" };
            let path = path.display();
            return Err(Error::input(format!(
                "rank {rank} {cannot} the run directory {path} that rank 0 uses: {fault}"
            ))
            .help(format!("choose a directory that all machines share with {option}")));
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

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

//! The MPI job of a run, as the run stores it.

use crate::error::MpiError;
use crate::launcher;
use crate::world::{Reduce, World};
use engine::{clock, host};
use model::run::{Job, Node, spans};
use std::ffi::OsString;

/// Variables with the number of a batch system's job.
const BATCH: &[(&str, &str)] = &[
    ("slurm", "SLURM_JOB_ID"),
    ("pbs", "PBS_JOBID"),
    ("lsf", "LSB_JOBID"),
    ("flux", "FLUX_JOB_ID"),
    ("sge", "JOB_ID"),
];

/// Beginnings of variables that change what the library does to files, or how it was started.
const SETTINGS: &[&str] = &[
    "OMPI_MCA_io",
    "OMPI_MCA_fbtl_",
    "OMPI_MCA_fcoll",
    "OMPI_MCA_fs_",
    "ROMIO_",
    "MPIR_CVAR_ROMIO_",
    "MPICH_MPIIO_",
    "SLURM_MPI_TYPE",
];

/// The job with its machines; `Some` on rank 0. Collective over the world.
pub fn job(world: &World) -> Result<Option<Job>, MpiError> {
    let own = i64::from(host::cpus());
    let [fewest, most] = world.reduce(world.node_comm, [-own, own], Reduce::Max)?;
    if world.rank > 0 {
        if world.node_rank == 0 {
            world
                .send(0, &postcard::to_stdvec(&node(world, [-fewest, most])).unwrap_or_default())?;
        }
        return Ok(None);
    }
    let mut all = Vec::with_capacity(world.nodes as usize);
    for number in 0..world.nodes {
        let on_it = (0u32..).zip(&world.machines).filter(|(_, machine)| **machine == number);
        let ranks = spans(on_it.map(|(rank, _)| rank));
        let told = match (number, ranks.first()) {
            (0, _) | (_, None) => node(world, [-fewest, most]),
            (_, Some([first, _])) => {
                postcard::from_bytes(&world.receive(*first)?).unwrap_or_default()
            }
        };
        all.push(Node { ranks, ..told });
    }
    Ok(Some(named(world, all)))
}

/// This machine, without its ranks.
fn node(world: &World, rank_cpus: [i64; 2]) -> Node {
    let here = host::machine();
    Node {
        host: here.name,
        kernel: here.kernel,
        cpu: here.cpu,
        cpus: world.node_cpus,
        rank_cpus: rank_cpus.map(|cpus| cpus as u32),
        cpu_numbers: world.node_cpu_numbers.clone(),
        memory_bytes: here.memory_bytes,
        clock: clock::best().name().into(),
        ranks: Vec::new(),
    }
}

fn named(world: &World, nodes: Vec<Node>) -> Job {
    let (major, minor) = world.shim().standard_version();
    Job {
        mpi: world.library(),
        standard: format!("{major}.{minor}"),
        launcher: launcher::job().map_or("", |job| job.launcher.name()).into(),
        batch: batch(),
        settings: settings(std::env::vars_os()),
        nodes,
    }
}

/// The variables among these that concern MPI-IO, in order.
fn settings(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<String> {
    let concerns = |name: &str| SETTINGS.iter().any(|start| name.starts_with(start));
    let told = variables.filter_map(|(name, value)| {
        let name = name.to_str().filter(|name| concerns(name))?.to_string();
        Some(format!("{name}={}", value.to_string_lossy()))
    });
    let mut told: Vec<String> = told.collect();
    told.sort_unstable();
    told
}

/// The batch system and its number for the job that this process runs in, `slurm 4711`; "" outside of one.
pub fn batch() -> String {
    batch_of(|name| std::env::var(name).ok())
}

fn batch_of(variable: impl Fn(&str) -> Option<String>) -> String {
    let told = BATCH.iter().find_map(|(system, name)| Some((system, variable(name)?)));
    told.map_or(String::new(), |(system, number)| format!("{system} {number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_batch_system_tells_its_number() {
        let of = |set: &[(&str, &str)]| {
            batch_of(|name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into())
            })
        };
        assert_eq!(of(&[("SLURM_JOB_ID", "4711"), ("JOB_ID", "1")]), "slurm 4711");
        assert_eq!(of(&[("PBS_JOBID", "12.server")]), "pbs 12.server");
        assert_eq!(of(&[]), "");
    }

    #[test]
    fn variables_that_concern_files_are_kept() {
        let all = [
            ("ROMIO_HINTS", "/h"),
            ("HOME", "/root"),
            ("OMPI_MCA_io", "^ompio"),
            ("OMPI_MCA_pml", "ob1"),
        ];
        let all = all.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        assert_eq!(settings(all.into_iter()), ["OMPI_MCA_io=^ompio", "ROMIO_HINTS=/h"]);
    }
}

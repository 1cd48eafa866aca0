//! Facts about the MPI of this machine (`parabench mpi info`), and the MPI job of a run as the run stores it.

use crate::error::MpiError;
use crate::launcher;
use crate::shim::c_text;
use crate::world::{Reduce, World};
use engine::{clock, host};
use model::run::{Job, Node, spans};
use std::ffi::CString;
use std::ffi::OsString;
use std::path::Path;

/// An MPI library, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Name and version, one line.
    pub library: String,
    /// Everything it says about itself.
    pub library_text: String,
    /// Version of the MPI standard.
    pub standard: (i32, i32),
    /// Thread level: "single", "funneled", "serialized" or "multiple".
    pub thread_level: &'static str,
    /// Its MPI-IO: "ROMIO", "OMPIO", or why it is unknown.
    pub mpi_io: String,
    /// Ranks and machines of this start.
    pub ranks: u32,
    /// Machines.
    pub nodes: u32,
}

/// Asks the library. A file is made below `scratch` and removed.
pub fn facts(world: &World, scratch: &Path) -> Facts {
    let levels = ["single", "funneled", "serialized", "multiple"];
    let shim = world.shim();
    Facts {
        library: shim.library_name(),
        library_text: shim.library_version(),
        standard: shim.standard_version(),
        thread_level: usize::try_from(world.thread_level)
            .ok()
            .and_then(|level| levels.get(level).copied())
            .unwrap_or("unknown"),
        mpi_io: mpi_io(world, scratch),
        ranks: world.size,
        nodes: world.nodes,
    }
}

fn mpi_io(world: &World, scratch: &Path) -> String {
    let file = scratch.join(format!(".parabench-mpi-io-{}-{}", std::process::id(), world.rank));
    let text = hint_names(world, &file);
    let _ = std::fs::remove_file(&file);
    match text {
        Ok(names) => implementation(&names, &world.library()).into(),
        Err(reason) => format!("unknown: {reason}"),
    }
}

fn hint_names(world: &World, file: &Path) -> Result<String, String> {
    use std::os::unix::ffi::OsStrExt;
    let path = CString::new(file.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    let mut text = vec![0u8; 16 << 10];
    let (start, size) = (text.as_mut_ptr().cast(), text.len() as i32);
    // SAFETY: a C string and a buffer with its size, which the shim ends with 0.
    let code = unsafe { (world.shim().hint_names)(path.as_ptr(), start, size) };
    world.check("MPI_File_open", code).map_err(|error| error.to_string())?;
    Ok(c_text(&text))
}

/// ROMIO names its hints; OMPIO is Open MPI's own.
fn implementation(hint_names: &str, library: &str) -> &'static str {
    let romio = |name: &str| name.starts_with("romio_") || name.starts_with("ind_rd_buffer");
    if hint_names.lines().any(romio) {
        "ROMIO"
    } else if library.starts_with("Open MPI") {
        "OMPIO"
    } else {
        "unknown"
    }
}

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
        let known = match (number, ranks.first()) {
            (0, _) | (_, None) => node(world, [-fewest, most]),
            (_, Some([first, _])) => {
                postcard::from_bytes(&world.receive(*first)?).unwrap_or_default()
            }
        };
        all.push(Node { ranks, ..known });
    }
    Ok(Some(describe_job(world, all)))
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

fn describe_job(world: &World, nodes: Vec<Node>) -> Job {
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
    let settings = variables.filter_map(|(name, value)| {
        let name = name.to_str().filter(|name| concerns(name))?.to_string();
        Some(format!("{name}={}", value.to_string_lossy()))
    });
    let mut settings: Vec<String> = settings.collect();
    settings.sort_unstable();
    settings
}

/// The batch system and its number for the job that this process runs in, `slurm 4711`; "" outside of one.
pub fn batch() -> String {
    batch_in(|name| std::env::var(name).ok())
}

fn batch_in(variable: impl Fn(&str) -> Option<String>) -> String {
    let found = BATCH.iter().find_map(|(system, name)| Some((system, variable(name)?)));
    found.map_or(String::new(), |(system, number)| format!("{system} {number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_tell_the_implementation() {
        for (names, library, expected) in [
            ("cb_nodes\nromio_cb_read\n", "MPICH 4.0", "ROMIO"),
            ("cb_nodes\nromio_cb_read\n", "Open MPI v4.1.4", "ROMIO"),
            ("cb_nodes\n", "Open MPI v4.1.4", "OMPIO"),
            ("", "Some MPI", "unknown"),
        ] {
            assert_eq!(implementation(names, library), expected);
        }
    }

    #[test]
    fn the_batch_system_tells_its_number() {
        let of = |set: &[(&str, &str)]| {
            batch_in(|name| {
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

//! The launcher that started this process, detected by the environment that it sets.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

/// A launcher of MPI processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Open MPI's mpiexec (or PRRTE).
    OpenMpi,
    /// MPICH and its relatives: Hydra and other process managers that speak PMI.
    Pmi,
    /// Slurm's srun.
    Slurm,
}

impl Launcher {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Launcher::OpenMpi => "mpiexec of Open MPI",
            Launcher::Pmi => "mpiexec",
            Launcher::Slurm => "srun",
        }
    }
}

/// Facts that a launcher passes to a process before MPI is initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The launcher.
    pub launcher: Launcher,
    /// Its world rank.
    pub rank: u32,
    /// Number of processes; `None` if the launcher does not tell.
    pub ranks: Option<u32>,
}

/// Launchers with the variables of world rank and number of processes, and those that must be set besides; the most
/// telling first. Hydra starts its proxies by srun within an allocation, whose ranks then have Slurm's variables
/// of the proxy. Slurm sets PMI variables too, and its allocation variables stand in every job script: only
/// `SLURM_STEP_ID` together with `SLURM_PROCID` means "started by srun".
const SIGNS: &[(Launcher, &str, &str, &[&str])] = &[
    (Launcher::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", &["OMPI_COMM_WORLD_SIZE"]),
    (Launcher::Pmi, "PMI_RANK", "PMI_SIZE", &["MPI_LOCALRANKID", "PMI_SIZE"]),
    (Launcher::Slurm, "SLURM_PROCID", "SLURM_NTASKS", &["SLURM_STEP_ID", "SLURM_NTASKS"]),
    (Launcher::Pmi, "PMI_RANK", "PMI_SIZE", &["PMI_SIZE"]),
    (Launcher::Pmi, "PMIX_RANK", "PMI_SIZE", &["PMIX_NAMESPACE"]),
];

/// Variables with the way to the launcher: the connection of PMI, the server of PMIx.
const CONNECTIONS: &[&str] = &["PMI_FD", "PMI_PORT", "PMI_CONTROL_FD", "PMIX_NAMESPACE"];

/// The job this process is part of; `None` for a process started by hand. Found once, before
/// MPI closes what the launcher has left open.
pub fn job() -> Option<Job> {
    static JOB: OnceLock<Option<Job>> = OnceLock::new();
    let find = || {
        let is_open = |fd: &str| Path::new("/proc/self/fd").join(fd).symlink_metadata().is_ok();
        job_in(variable, is_open)
    };
    *JOB.get_or_init(find)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The same from given variables. Variables that a shell has inherited from a job that is gone
/// make no job: a rank that there cannot be, no connection to the launcher or a closed one.
pub fn job_in(
    variable: impl Fn(&str) -> Option<String>,
    is_open: impl Fn(&str) -> bool,
) -> Option<Job> {
    let job = job_of_variables(&variable)?;
    let is_left_over =
        job.launcher == Launcher::Pmi && variable("PMI_FD").is_some_and(|fd| !is_open(&fd));
    (is_connected(job, &variable) && !is_left_over).then_some(job)
}

/// The job according to the variables, whether it is true or not.
fn job_of_variables(variable: &impl Fn(&str) -> Option<String>) -> Option<Job> {
    let is_set = |name: &str| variable(name).is_some();
    let (launcher, rank, ranks, _) = SIGNS
        .iter()
        .find(|(_, rank, _, others)| is_set(rank) && others.iter().all(|name| is_set(name)))?;
    let number = |name: &str| variable(name)?.parse().ok();
    let job = Job { launcher: *launcher, rank: number(rank)?, ranks: number(ranks) };
    job.ranks.is_none_or(|ranks| job.rank < ranks).then_some(job)
}

fn is_connected(job: Job, variable: &impl Fn(&str) -> Option<String>) -> bool {
    job.launcher == Launcher::Slurm || CONNECTIONS.iter().any(|name| variable(name).is_some())
}

/// Open MPI can reach this launcher, by the names of the environment's variables: by PMIx; or by the PMI-2 of
/// srun, for which some builds of Open MPI 4 are made. Without, it ends the process with a page of text.
pub(crate) fn serves_open_mpi(
    launcher: Launcher,
    mut variables: impl Iterator<Item = String>,
) -> bool {
    variables.any(|name| {
        let by_pmix = ["PMIX_RANK", "PMIX_NAMESPACE", "PMIX_SERVER_URI"];
        by_pmix.iter().any(|start| name.starts_with(start))
            || name.starts_with("OMPI_COMM_WORLD_")
            || (launcher == Launcher::Slurm && name == "PMI_FD")
    })
}

/// The connection to a launcher that speaks PMI-1, MPICH's wire protocol.
pub(crate) fn pmi_connection() -> Option<i32> {
    job().filter(|job| job.launcher == Launcher::Pmi)?;
    variable("PMI_FD")?.parse().ok()
}

/// A launcher passes on in this time what a process has printed; when the job has ended, it passes on no more.
const FORWARDED: Duration = Duration::from_millis(300);

/// The PMI-1 command that ends a job.
pub(crate) fn abort_command(exit_code: u8) -> String {
    format!("cmd=abort exitcode={exit_code}\n")
}

/// Asks the launcher to end the job, because this process cannot become a rank of it: the others would
/// wait for it in MPI_Init. Launchers that do not speak PMI-1 end a job when one of its processes fails.
/// What was printed before is passed on first.
pub fn end_job(exit_code: u8) {
    if job().is_none() {
        return;
    }
    std::thread::sleep(FORWARDED);
    let Some(connection) = pmi_connection() else { return };
    let command = abort_command(exit_code);
    // SAFETY: the pointer and the length belong to the text.
    unsafe { libc::send(connection, command.as_ptr().cast(), command.len(), libc::MSG_NOSIGNAL) };
}

/// The launcher says that this is the first process of its machine.
pub fn is_first_of_machine() -> bool {
    const LOCAL_RANKS: [&str; 3] =
        ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"];
    LOCAL_RANKS.iter().any(|name| variable(name).is_some_and(|rank| rank == "0"))
}

/// Variables, as `NAME=VALUE`, that make this process part of a job although nothing tells how to
/// reach its launcher: they are inherited, or the launcher is one that is not known. Empty: none.
pub fn inherited() -> Vec<String> {
    inherited_in(variable)
}

fn inherited_in(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let Some(job) = job_of_variables(&variable).filter(|job| !is_connected(*job, &variable)) else {
        return Vec::new();
    };
    let own = SIGNS.iter().filter(|sign| sign.0 == job.launcher);
    let mut names: Vec<&str> = own.flat_map(|(_, rank, ranks, _)| [*rank, *ranks]).collect();
    names.sort_unstable();
    names.dedup();
    let set = names.into_iter().filter_map(|name| Some(format!("{name}={}", variable(name)?)));
    set.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_tells_rank_and_size() {
        let job = |set: &[(&str, &str)]| {
            let value = |name: &str| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
            };
            job_in(value, |fd| fd == "5")
        };
        let of = |launcher, rank, ranks| Some(Job { launcher, rank, ranks });
        let open_mpi = |server| {
            [("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "4"), (server, "job")]
        };
        assert_eq!(job(&open_mpi("PMIX_NAMESPACE")), of(Launcher::OpenMpi, 3, Some(4)));
        assert_eq!(job(&open_mpi("OTHER")), None);
        let pmix = [("PMIX_RANK", "1"), ("PMIX_NAMESPACE", "job")];
        assert_eq!(job(&pmix), of(Launcher::Pmi, 1, None));
        let pmi = [("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("PMI_PORT", "host:1")];
        assert_eq!(job(&pmi), of(Launcher::Pmi, 0, Some(2)));
        assert_eq!(job(&pmi[..2]), None);
        assert_eq!(job(&[("PMI_RANK", "x"), ("PMI_SIZE", "2")]), None);
        assert_eq!(job(&[("PMI_RANK", "2"), ("PMI_SIZE", "2")]), None);
        let hydra = |fd| [("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("PMI_FD", fd)];
        assert_eq!(job(&hydra("5")), of(Launcher::Pmi, 1, Some(2)));
        assert_eq!(job(&hydra("6")), None);
        assert_eq!(job(&[]), None);
    }

    #[test]
    fn open_mpi_needs_a_server_of_pmix() {
        for (launcher, name, serves) in [
            (Launcher::Slurm, "SLURM_PROCID", false),
            (Launcher::Slurm, "PMIX_SERVER_URI2", true),
            (Launcher::Slurm, "PMI_FD", true),
            (Launcher::Pmi, "PMI_FD", false),
            (Launcher::Pmi, "PMIX_NAMESPACE", true),
        ] {
            assert_eq!(serves_open_mpi(launcher, [name.to_string()].into_iter()), serves, "{name}");
        }
    }

    #[test]
    fn variables_without_a_launcher_are_named() {
        let inherited = |set: &[(&str, &str)]| {
            inherited_in(|name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
            })
        };
        let pmi = [("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("PMI_FD", "5")];
        assert_eq!(inherited(&pmi[..2]), ["PMI_RANK=1", "PMI_SIZE=2"]);
        assert!(inherited(&pmi).is_empty() && inherited(&pmi[..1]).is_empty());
    }

    #[test]
    fn the_environment_tells_the_launcher() {
        for (set, launcher) in [
            (
                vec!["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMIX_NAMESPACE"],
                Some(Launcher::OpenMpi),
            ),
            (vec!["PMI_RANK", "PMI_SIZE"], Some(Launcher::Pmi)),
            (
                vec!["SLURM_STEP_ID", "SLURM_PROCID", "SLURM_NTASKS", "PMI_RANK", "PMI_SIZE"],
                Some(Launcher::Slurm),
            ),
            (
                vec![
                    "SLURM_STEP_ID",
                    "SLURM_PROCID",
                    "SLURM_NTASKS",
                    "MPI_LOCALRANKID",
                    "PMI_RANK",
                    "PMI_SIZE",
                ],
                Some(Launcher::Pmi),
            ),
            (vec!["SLURM_PROCID", "SLURM_NTASKS"], None),
            (vec![], None),
        ] {
            let value = |name: &str| {
                let is_size = name.ends_with("SIZE") || name.ends_with("NTASKS");
                set.contains(&name).then(|| if is_size { "2" } else { "1" }.to_string())
            };
            assert_eq!(job_of_variables(&value).map(|job| job.launcher), launcher, "{set:?}");
        }
    }
}

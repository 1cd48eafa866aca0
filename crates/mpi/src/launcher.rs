//! Which launcher started this process, told by the environment it sets.

use std::path::Path;
use std::sync::OnceLock;

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

/// What a launcher has told a process before MPI is initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Who started it.
    pub launcher: Launcher,
    /// Its world rank.
    pub rank: u32,
    /// Number of processes; `None` if the launcher does not tell.
    pub ranks: Option<u32>,
}

/// Variables with world rank and number of processes.
const FIGURES: &[(Launcher, &str, &str)] = &[
    (Launcher::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    (Launcher::Slurm, "SLURM_PROCID", "SLURM_NTASKS"),
    (Launcher::Pmi, "PMI_RANK", "PMI_SIZE"),
    (Launcher::Pmi, "PMIX_RANK", "PMI_SIZE"),
];

/// The job this process is part of; `None` for a process started by hand. Found once, before
/// MPI closes what the launcher has left open.
pub fn job() -> Option<Job> {
    static JOB: OnceLock<Option<Job>> = OnceLock::new();
    let find = || {
        let is_open = |fd: &str| Path::new("/proc/self/fd").join(fd).symlink_metadata().is_ok();
        job_in(|name| std::env::var(name).ok(), is_open)
    };
    *JOB.get_or_init(find)
}

/// The same from given variables. Variables that a shell has inherited from a job that is gone
/// make no job: a rank that there cannot be, a connection to the launcher that is closed.
pub fn job_in(
    variable: impl Fn(&str) -> Option<String>,
    is_open: impl Fn(&str) -> bool,
) -> Option<Job> {
    let launcher = detect(|name| variable(name).is_some())?;
    let number = |name: &str| variable(name)?.parse().ok();
    let mut figures = FIGURES.iter().filter(|figures| figures.0 == launcher);
    let job = figures.find_map(|(launcher, rank, ranks)| {
        Some(Job { launcher: *launcher, rank: number(rank)?, ranks: number(ranks) })
    })?;
    let is_left_over =
        launcher == Launcher::Pmi && variable("PMI_FD").is_some_and(|fd| !is_open(&fd));
    (job.ranks.is_none_or(|ranks| job.rank < ranks) && !is_left_over).then_some(job)
}

/// Variables, the launcher they tell, most telling first. Slurm sets PMI variables
/// too, and its allocation variables stand in every job script: only
/// `SLURM_STEP_ID` together with `SLURM_PROCID` means "started by srun".
const SIGNS: &[(&[&str], Launcher)] = &[
    (&["OMPI_COMM_WORLD_SIZE"], Launcher::OpenMpi),
    (&["SLURM_STEP_ID", "SLURM_PROCID", "SLURM_NTASKS"], Launcher::Slurm),
    (&["PMI_RANK", "PMI_SIZE"], Launcher::Pmi),
    (&["PMIX_RANK", "PMIX_NAMESPACE"], Launcher::Pmi),
];

/// The launcher that started this process; `None` for a process started by hand.
pub fn detect(is_set: impl Fn(&str) -> bool) -> Option<Launcher> {
    SIGNS.iter().find(|(names, _)| names.iter().all(|name| is_set(name))).map(|sign| sign.1)
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
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "4")];
        assert_eq!(job(&open_mpi), of(Launcher::OpenMpi, 3, Some(4)));
        let pmix = [("PMIX_RANK", "1"), ("PMIX_NAMESPACE", "job")];
        assert_eq!(job(&pmix), of(Launcher::Pmi, 1, None));
        let pmi = [("PMI_RANK", "0"), ("PMI_SIZE", "2")];
        assert_eq!(job(&pmi), of(Launcher::Pmi, 0, Some(2)));
        assert_eq!(job(&[("PMI_RANK", "x"), ("PMI_SIZE", "2")]), None);
        assert_eq!(job(&[("PMI_RANK", "2"), ("PMI_SIZE", "2")]), None);
        let hydra = |fd| [("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("PMI_FD", fd)];
        assert_eq!(job(&hydra("5")), of(Launcher::Pmi, 1, Some(2)));
        assert_eq!(job(&hydra("6")), None);
        assert_eq!(job(&[]), None);
    }

    #[test]
    fn the_environment_tells_the_launcher() {
        for (set, launcher) in [
            (vec!["OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMIX_NAMESPACE"], Some(Launcher::OpenMpi)),
            (vec!["PMI_RANK", "PMI_SIZE"], Some(Launcher::Pmi)),
            (
                vec!["SLURM_STEP_ID", "SLURM_PROCID", "SLURM_NTASKS", "PMI_RANK", "PMI_SIZE"],
                Some(Launcher::Slurm),
            ),
            (vec!["SLURM_PROCID", "SLURM_NTASKS"], None),
            (vec![], None),
        ] {
            assert_eq!(detect(|name| set.contains(&name)), launcher, "{set:?}");
        }
    }
}

//! Which launcher started this process, told by the environment it sets.

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

//! Batch systems: how a script asks each for nodes, and starts ranks on them.
//!
//! Sources: sbatch(1) and srun(1) of Slurm, qsub(1B) of PBS Professional, bsub(1) of LSF,
//! flux-batch(1) and flux-run(1) of Flux.

use clap::ValueEnum;
use jiff::SignedDuration;

/// A batch system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Scheduler {
    /// Slurm: sbatch, srun
    Slurm,
    /// PBS Professional and OpenPBS: qsub, mpiexec
    Pbs,
    /// IBM Spectrum LSF: bsub, mpiexec
    Lsf,
    /// Flux: flux batch, flux run
    Flux,
}

/// What a script asks for.
pub(super) struct Request {
    /// Letters, digits and underscores.
    pub(super) name: String,
    pub(super) nodes: u32,
    pub(super) ranks_per_node: u32,
    pub(super) time: SignedDuration,
}

impl Request {
    fn ranks(&self) -> u32 {
        self.nodes * self.ranks_per_node
    }

    /// `HH:MM:SS`
    fn clock(&self) -> String {
        let seconds = self.time.as_secs();
        format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }

    /// `H:MM`, not shorter.
    fn minutes(&self) -> String {
        let minutes = self.time.as_secs().unsigned_abs().div_ceil(60);
        format!("{}:{:02}", minutes / 60, minutes % 60)
    }
}

impl Scheduler {
    /// The command that takes a script.
    pub(super) fn submit(self) -> &'static str {
        match self {
            Scheduler::Slurm => "sbatch",
            Scheduler::Pbs => "qsub",
            Scheduler::Lsf => "bsub <",
            Scheduler::Flux => "flux batch",
        }
    }

    /// The lines that the batch system reads, and that say when SIGTERM comes.
    pub(super) fn directives(self, ask: &Request) -> Vec<String> {
        let Request { name, nodes, ranks_per_node, .. } = ask;
        match self {
            Scheduler::Slurm => vec![
                format!("#SBATCH --job-name={name}"),
                format!("#SBATCH --nodes={nodes}"),
                format!("#SBATCH --ntasks-per-node={ranks_per_node}"),
                format!("#SBATCH --time={}", ask.clock()),
                "# A minute before the limit the ranks get SIGTERM.".into(),
                "#SBATCH --signal=TERM@60".into(),
            ],
            Scheduler::Pbs => vec![
                format!("#PBS -N {name}"),
                format!("#PBS -l select={nodes}:ncpus={ranks_per_node}:mpiprocs={ranks_per_node}"),
                format!("#PBS -l walltime={}", ask.clock()),
                "#PBS -j oe".into(),
                "# At the limit the ranks get SIGTERM, and SIGKILL after the site's kill_delay."
                    .into(),
            ],
            Scheduler::Lsf => vec![
                format!("#BSUB -J {name}"),
                format!("#BSUB -n {}", ask.ranks()),
                format!("#BSUB -R \"span[ptile={ranks_per_node}]\""),
                format!("#BSUB -W {}", ask.minutes()),
                "# A minute before the limit the ranks get SIGTERM.".into(),
                "#BSUB -wt 1 -wa TERM".into(),
            ],
            Scheduler::Flux => vec![
                format!("#flux: --job-name={name}"),
                format!("#flux: --nodes={nodes}"),
                format!("#flux: --nslots={}", ask.ranks()),
                format!("#flux: --time-limit={}s", ask.time.as_secs()),
            ],
        }
    }

    /// Where the script was submitted; it begins elsewhere, or the line says so again.
    pub(super) fn submitted_in(self) -> &'static str {
        match self {
            Scheduler::Slurm => "${SLURM_SUBMIT_DIR:-.}",
            Scheduler::Pbs => "${PBS_O_WORKDIR:-.}",
            Scheduler::Lsf => "${LS_SUBCWD:-.}",
            Scheduler::Flux => ".",
        }
    }

    /// The number of the job, as a word of the shell.
    pub(super) fn number(self) -> &'static str {
        match self {
            Scheduler::Slurm => "${SLURM_JOB_ID:-0}",
            Scheduler::Pbs => "${PBS_JOBID:-0}",
            Scheduler::Lsf => "${LSB_JOBID:-0}",
            Scheduler::Flux => "${FLUX_JOB_ID:-$(flux getattr jobid)}",
        }
    }

    /// What starts the ranks.
    pub(super) fn launcher(self, ask: &Request) -> String {
        let (nodes, ranks) = (ask.nodes, ask.ranks());
        match self {
            Scheduler::Slurm => "srun".into(),
            Scheduler::Pbs | Scheduler::Lsf => format!("mpiexec -n {ranks}"),
            // A minute before the limit the ranks get SIGTERM.
            Scheduler::Flux => {
                format!("flux run --nodes={nodes} --ntasks={ranks} --signal=SIGTERM@60s")
            }
        }
    }

    /// What to look at where the ranks do not find each other.
    pub(super) fn remark(self) -> &'static str {
        match self {
            Scheduler::Slurm => {
                "If every rank says that it is alone: srun --mpi=pmix, or another of srun --mpi=list."
            }
            Scheduler::Flux => {
                "If every rank says that it is alone: flux run -o pmi=pmix, or what the site documents."
            }
            Scheduler::Pbs | Scheduler::Lsf => "The mpiexec has to be the one of the module.",
        }
    }
}

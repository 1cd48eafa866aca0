//! Batch systems: how a script asks each for nodes, and starts ranks on them.
//!
//! Sources: sbatch(1) and srun(1) of Slurm, qsub(1B) of PBS Professional, bsub(1) of LSF,
//! flux-batch(1) and flux-run(1) of Flux.

use clap::ValueEnum;
use jiff::SignedDuration;

/// The signal that ends a run in order comes so long before the limit, a tenth of it at most.
const MOST_MARGIN_S: i64 = 60;
/// Ranks and rank 0 need some time to end.
const LEAST_MARGIN_S: i64 = 5;
/// Jobs with less time are short ones: a minute matters.
const SHORT_S: i64 = 180;

/// A batch system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scheduler {
    /// Slurm: sbatch, srun
    Slurm,
    /// PBS Professional and OpenPBS: qsub, mpiexec
    Pbs,
    /// IBM Spectrum LSF: bsub, mpiexec
    Lsf,
    /// Flux: flux batch, flux run
    Flux,
}

/// Resources that a script requests.
pub(crate) struct Request {
    /// Letters, digits and underscores.
    pub(crate) name: String,
    pub(crate) nodes: u32,
    pub(crate) ranks_per_node: u32,
    pub(crate) time: SignedDuration,
}

impl Request {
    fn ranks(&self) -> u32 {
        self.nodes * self.ranks_per_node
    }

    /// Seconds before the limit at which SIGTERM comes, where the batch system takes seconds.
    fn margin(&self) -> i64 {
        (self.time.as_secs() / 10).clamp(LEAST_MARGIN_S, MOST_MARGIN_S)
    }

    /// Those resources in the words of the batch system.
    fn warned(&self) -> String {
        format!("# {} s before the limit the ranks get SIGTERM.", self.margin())
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
    pub(crate) fn submit(self) -> &'static str {
        match self {
            Scheduler::Slurm => "sbatch",
            Scheduler::Pbs => "qsub",
            Scheduler::Lsf => "bsub <",
            Scheduler::Flux => "flux batch",
        }
    }

    /// The lines that the batch system reads, and that say when SIGTERM comes.
    pub(crate) fn directives(self, ask: &Request) -> Vec<String> {
        let Request { name, nodes, ranks_per_node, .. } = ask;
        match self {
            Scheduler::Slurm => vec![
                format!("#SBATCH --job-name={name}"),
                format!("#SBATCH --nodes={nodes}"),
                format!("#SBATCH --ntasks-per-node={ranks_per_node}"),
                format!("#SBATCH --time={}", ask.clock()),
                ask.warned() + " Slurm may send it a minute earlier.",
                format!("#SBATCH --signal=TERM@{}", ask.margin()),
            ],
            Scheduler::Pbs => vec![
                format!("#PBS -N {name}"),
                format!("#PBS -l select={nodes}:ncpus={ranks_per_node}:mpiprocs={ranks_per_node}"),
                // Otherwise two parts of the job may share a node.
                "#PBS -l place=scatter".into(),
                format!("#PBS -l walltime={}", ask.clock()),
                "#PBS -j oe".into(),
                // qsub passes no variables on by itself.
                "# PATH of the shell that submits it, in which parabench is, and its other variables."
                    .into(),
                "#PBS -V".into(),
                "# At the limit the ranks get SIGTERM, and SIGKILL after the site's kill_delay."
                    .into(),
            ],
            Scheduler::Lsf => {
                let first = [
                    format!("#BSUB -J {name}"),
                    format!("#BSUB -n {}", ask.ranks()),
                    format!("#BSUB -R \"span[ptile={ranks_per_node}]\""),
                    format!("#BSUB -W {}", ask.minutes()),
                ];
                let warned = match ask.time.as_secs() {
                    // LSF counts in minutes: one is too much of a short job.
                    ..SHORT_S => ["# At the limit the ranks get SIGINT, SIGTERM and SIGKILL.", ""],
                    _ => [
                        "# A minute before the limit the ranks get SIGTERM.",
                        "#BSUB -wt 1 -wa TERM",
                    ],
                };
                let warned = warned.into_iter().filter(|line| !line.is_empty());
                first.into_iter().chain(warned.map(String::from)).collect()
            }
            Scheduler::Flux => vec![
                format!("#flux: --job-name={name}"),
                format!("#flux: --nodes={nodes}"),
                format!("#flux: --nslots={}", ask.ranks()),
                format!("#flux: --time-limit={}s", ask.time.as_secs()),
            ],
        }
    }

    /// A limit so short that the signal may come when the job has hardly begun.
    pub(crate) fn warning(self, time: SignedDuration) -> Option<&'static str> {
        (self == Scheduler::Slurm && time.as_secs() < SHORT_S).then_some(
            "Slurm may send SIGTERM up to a minute earlier than it is asked to: a job of less than 3 \
             minutes may end when it has hardly begun; give it more --time",
        )
    }

    /// Where the script was submitted; it begins elsewhere, or the line says so again.
    pub(crate) fn submitted_in(self) -> &'static str {
        match self {
            Scheduler::Slurm => "${SLURM_SUBMIT_DIR:-.}",
            Scheduler::Pbs => "${PBS_O_WORKDIR:-.}",
            Scheduler::Lsf => "${LS_SUBCWD:-.}",
            Scheduler::Flux => ".",
        }
    }

    /// The number of the job, as a word of the shell.
    pub(crate) fn number(self) -> &'static str {
        match self {
            Scheduler::Slurm => "${SLURM_JOB_ID:-0}",
            Scheduler::Pbs => "${PBS_JOBID:-0}",
            Scheduler::Lsf => "${LSB_JOBID:-0}",
            Scheduler::Flux => "${FLUX_JOB_ID:-$(flux getattr jobid)}",
        }
    }

    /// The launcher of the ranks.
    pub(crate) fn launcher(self, ask: &Request) -> String {
        let (nodes, ranks) = (ask.nodes, ask.ranks());
        match self {
            Scheduler::Slurm => "srun".into(),
            Scheduler::Pbs | Scheduler::Lsf => format!("mpiexec -n {ranks}"),
            Scheduler::Flux => {
                let margin = ask.margin();
                format!("flux run --nodes={nodes} --ntasks={ranks} --signal=SIGTERM@{margin}s")
            }
        }
    }

    /// Advice if the ranks do not find each other.
    pub(crate) fn remark(self) -> &'static str {
        match self {
            Scheduler::Slurm => {
                "If MPI cannot reach srun (\"each of them would be alone\"): srun --mpi=pmix, or another of srun --mpi=list."
            }
            Scheduler::Flux => {
                "If MPI cannot reach flux: flux run -o pmi=pmix, or what the site documents."
            }
            Scheduler::Pbs | Scheduler::Lsf => "The mpiexec has to be the one of the module.",
        }
    }
}

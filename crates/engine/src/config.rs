//! How a plan is executed: everything that is not in the plan.

use crate::clock::monotonic_raw_ns;
use crate::directory::Identity;
use crate::machine::Settings;
use crate::recorder::EventsConfig;
use model::rehearsal::Forecast;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

macro_rules! backends {
    ($( $(#[$default:meta])? $kind:ident $name:literal simulated $simulated:literal $doc:literal; )*) => {
        /// The storage a run uses.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum BackendKind {
            $( $(#[$default])? #[doc = $doc] $kind, )*
        }

        impl BackendKind {
            /// All of them: name, and what it is.
            pub const ALL: &[(BackendKind, &str, &str)] =
                &[ $( (BackendKind::$kind, $name, $doc), )* ];

            /// Its name in the run.
            pub fn name(self) -> &'static str {
                match self { $( BackendKind::$kind => $name, )* }
            }

            /// One process simulates all ranks, in virtual time.
            pub fn is_simulated(self) -> bool {
                match self { $( BackendKind::$kind => $simulated, )* }
            }
        }
    };
}

backends! {
    #[default]
    Posix "posix" simulated false "System calls on files";
    Null "null" simulated false "Nothing: every call returns at once";
    Mem "mem" simulated true "Files in memory, simulated ranks and time: the same result every time";
}

/// Confinement: how a program is kept inside its directories (posix only).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confinement {
    /// The lexical rule looks at every name. Enough where only this user can write and no symbolic link
    /// leads up.
    #[default]
    Checked,
    /// Every name is also resolved beneath the directories.
    Beneath {
        /// File systems mounted below them belong to them (`--force`).
        across_mounts: bool,
    },
    /// Nothing: the program is trusted.
    Trusted,
}

/// Where ranks keep what they measure while they run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Records {
    /// In memory that is gone with the supervisor.
    #[default]
    Memory,
    /// In files `rank-N` of this existing directory, which outlive everybody.
    Directory(PathBuf),
}

impl Records {
    /// The file of a rank.
    pub fn path(&self, rank: u32) -> Option<PathBuf> {
        match self {
            Records::Memory => None,
            Records::Directory(directory) => Some(directory.join(format!("rank-{rank}"))),
        }
    }
}

/// Default time after which MPI ranks stop waiting for what cannot come.
pub const TIMEOUT: Duration = Duration::from_secs(600);

/// How a plan is executed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// The run directory: absolute, existing (posix only).
    pub directory: PathBuf,
    /// The storage.
    pub backend: BackendKind,
    /// Number of this execution in a sweep; each writes other random data.
    pub execution: u32,
    /// Only that directory, whatever has its path meanwhile.
    pub identity: Option<Identity>,
    /// Further directories of the program: absolute path, and which one it has to be (posix only).
    pub directories: Vec<(PathBuf, Identity)>,
    /// How the program is kept inside its directories.
    pub confinement: Confinement,
    /// Keep an event table.
    pub events: Option<EventsConfig>,
    /// Where ranks keep what they measure.
    pub records: Records,
    /// Start only when SIGUSR1 arrives: at the supervisor of local ranks, at rank 0 under MPI.
    pub wait_for_signal: bool,
    /// Time between two progress reports: by the supervisor of local or simulated ranks, by rank 0 under MPI.
    /// `None`: no reports.
    pub watch: Option<Duration>,
    /// Under MPI: ranks that wait are released when all others wait or have ended and nothing has changed for
    /// this time ([`TIMEOUT`] if `None`). Local ranks need no limit: they see at once that nobody can continue.
    pub timeout: Option<Duration>,
    /// When the run stops by itself, as if interrupted, nanoseconds of [`crate::clock::monotonic_raw_ns`].
    pub deadline_ns: Option<u64>,
    /// Sleeping, failures, chosen labels and output of the program.
    pub settings: Settings,
    /// Machine of each rank in a rehearsal; empty: all share one.
    pub machines: Vec<u32>,
    /// Figures of a rehearsal by which ranks prepare buffers and tables before they start.
    pub forecasts: Vec<(Range<u32>, Forecast)>,
}

impl Config {
    /// The run has a deadline, and it has passed.
    pub fn is_time_up(&self) -> bool {
        self.deadline_ns.is_some_and(|deadline_ns| monotonic_raw_ns() >= deadline_ns)
    }

    /// Figures by which a rank prepares its buffers and tables; zeros where they are unknown.
    pub fn forecast(&self, rank: u32) -> Forecast {
        let known = self.forecasts.iter().find(|(ranks, _)| ranks.contains(&rank));
        known.map_or_else(Forecast::default, |(_, forecast)| *forecast)
    }

    /// Operations that some ranks execute together; `None` if it is unknown of one.
    pub fn expected_operations(&self, ranks: impl IntoIterator<Item = u32>) -> Option<u64> {
        let known =
            |rank| Some(self.forecast(rank).operations).filter(|operations| *operations > 0);
        ranks.into_iter().try_fold(0, |sum: u64, rank| Some(sum.saturating_add(known(rank)?)))
    }
}

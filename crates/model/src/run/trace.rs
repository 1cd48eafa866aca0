//! Facts of a run of imported logs, besides its figures.

use super::modules::{TraceFile, TraceFilesMore, TraceJob, TraceModule};
use serde::{Deserialize, Serialize};

/// Where an imported run comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trace {
    /// Format of the logs, as `import --as` calls it: "strace", "fio-iolog".
    pub format: String,
    /// The logs, in the order of the event table's column `log`.
    pub logs: Vec<TraceLog>,
    /// Directory that the paths of events are below; "" where the log names none.
    pub root: String,
    /// The command that `parabench record` executed; absent for logs from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
    /// Processes and threads that did I/O or started others that did, by rank.
    pub threads: Vec<TraceThread>,
    /// How files lie on storage, as far as the log tells: Darshan's module LUSTRE.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layouts: Vec<TraceLayout>,
    /// Facts of the log about files as they were found, besides its operations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<TraceFound>,
    /// Where all ranks of an MPI job waited for each other, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barriers: Vec<TraceBarrier>,
    /// Bytes over time of logs that do not tell single transfers: Darshan's module HEATMAP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<TraceMoved>,
    /// Times of calls of logs that know them for kinds of calls together: counters of Darshan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<TraceTimes>,
    /// Counters of each layer: modules of Darshan, in the order of its list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<TraceModule>,
    /// Counters of each file in each layer; per layer at most 1,000: those with most bytes, then most time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TraceFile>,
    /// Sums of the files that are not in `files`, by layer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_more: Vec<TraceFilesMore>,
    /// Gaps: facts that the logs lack, or that were left out.
    pub gaps: Vec<TraceGap>,
}

/// Time that all ranks together spent in calls, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceTimes {
    /// Label of the calls.
    pub label: String,
    /// Reads, nanoseconds.
    pub read_ns: u64,
    /// Writes, nanoseconds.
    pub write_ns: u64,
    /// Opens, closes, stats, seeks and syncs, nanoseconds.
    pub meta_ns: u64,
}

/// Facts of a log about a file, besides its operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceFound {
    /// Its path, as events have it.
    pub path: String,
    /// Bytes that it had when it was removed or shared as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// It is a symbolic link that was there before: the path that it leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// A place where all ranks of an MPI job waited for each other; by rank, on the clock of the events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceBarrier {
    /// When each rank came.
    pub came_ns: Vec<u64>,
    /// When it went on.
    pub left_ns: Vec<u64>,
    /// Its pause before, since its last operation or barrier, as far as the log shows it.
    pub waited_us: Vec<u64>,
}

/// How a file lies on storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceLayout {
    /// Its path in the log.
    pub path: String,
    /// Bytes of a stripe.
    pub stripe_bytes: u64,
    /// Number of the target (OST) of each stripe.
    pub targets: Vec<u64>,
}

/// Bytes that one layer of an application moved, over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceMoved {
    /// "POSIX", "MPIIO", "STDIO".
    pub layer: String,
    /// Width of a bin.
    pub bin_ns: u64,
    /// Groups of neighbouring ranks.
    pub ranks: Vec<MovedByRanks>,
}

/// Bytes that a group of ranks moved in each bin since the job began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MovedByRanks {
    /// First rank of the group.
    pub first_rank: u32,
    /// Last one.
    pub last_rank: u32,
    /// Bytes read.
    pub read_bytes: Vec<u64>,
    /// Bytes written.
    pub written_bytes: Vec<u64>,
}

/// A command that Parabench has recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recorded {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Options that decide what is kept, as they were given: `--under`, `DIR`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The recording program: "strace 6.1 --seccomp-bpf".
    pub by: String,
    /// Its exit code; 128 and the number of the signal that ended it.
    pub exit_code: u32,
    /// Processors that it could use; 0: not known.
    #[serde(default)]
    pub cpus: u32,
    /// Cost of recording for each call, nanoseconds; 0: not known.
    #[serde(default)]
    pub call_ns: u32,
}

/// One imported log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceLog {
    /// Its name.
    pub name: String,
    /// Lines or records in it.
    pub lines: u64,
    /// The job in a Darshan log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<TraceJob>,
}

/// The process behind a rank of an imported run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceThread {
    /// Rank in this run; null for one that did no I/O that was kept.
    pub rank: Option<u32>,
    /// The log's number of the process.
    pub process: u64,
    /// The log's number of the thread.
    pub thread: u64,
    /// The thread that started it; null where the log does not tell.
    pub parent: Option<u64>,
    /// Program that the process executed last; "" where the log does not tell.
    pub command: String,
    /// When the log shows it first, on the clock of the events; absent where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_ns: Option<u64>,
    /// When it ended, as far as the log shows; absent where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_ns: Option<u64>,
}

/// Something that a log does not tell, or that was left out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceGap {
    /// Stable short name: "unparsed-lines". docs/traces.md lists all.
    pub code: String,
    /// How often.
    pub count: u64,
    /// Bytes concerned; 0 where there are none to count.
    pub bytes: u64,
    /// One sentence, with the number.
    pub says: String,
    /// The first ten: `log:line: text`.
    pub examples: Vec<String>,
    /// Names of the calls with their numbers, most frequent first; empty where they have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<GapName>,
}

/// Calls of one name in a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapName {
    /// The call, as the log writes it.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// Codes of gaps in which operations on files are missing that happened and that nobody wanted left out.
const LOSSES: [&str; 10] = [
    "dropped",
    "unseen-programs",
    "streams",
    "running",
    "cut-logs",
    "opaque",
    "partial",
    "untraced",
    "partial-modules",
    "later-modules",
];

/// Codes of gaps whose calls on files happened, were seen, and are in no event.
const LEFT_OUT: [&str; 2] = ["no-operation", "unknown-descriptors"];

impl Trace {
    /// Gaps that count calls on files that are left out of the run.
    pub fn left_out(&self) -> impl Iterator<Item = &TraceGap> {
        self.gaps.iter().filter(|gap| LEFT_OUT.contains(&gap.code.as_str()))
    }

    /// Gaps in which operations are missing that happened: the run is incomplete.
    pub fn losses(&self) -> impl Iterator<Item = &TraceGap> {
        self.gaps.iter().filter(|gap| LOSSES.contains(&gap.code.as_str()))
    }
}

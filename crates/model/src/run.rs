//! The run: what was measured, where, when and by what program.
//!
//! Stored as `run.json` and printed by `--format json`: one schema
//! (docs/run.schema.json). Units stand last in the names. Rows, times and events
//! are defined in docs/run-format.md; a trace is a run too.

pub(crate) mod host;
mod label;
mod modules;
mod trace;

use crate::histogram::Histogram;
use crate::pattern::Run as Pieces;
use crate::sweep::{DimensionKind, Sweep};
use serde::{Deserialize, Serialize};

pub use host::{
    Device, Directory, Host, Job, Layout, Node, NodeRow, NodeStorage, NodeUse, Param, Storage,
    spans,
};
pub use label::{
    ArrivalRow, CacheControl, DirectoryEvidence, LabelEvidence, PatternWrites, ShareRow, Sharer,
    VerifiedData, ZeroPlace,
};
pub use modules::{
    SIZE_BINS, TraceAmounts, TraceFile, TraceFilesMore, TraceJob, TraceJobModule, TraceModule,
    TraceMount, TraceRank, TraceShared, TraceSize, add_known,
};
pub use trace::{
    GapName, MovedByRanks, Recorded, Trace, TraceBarrier, TraceFound, TraceGap, TraceLayout,
    TraceLog, TraceMoved, TraceThread, TraceTimes,
};

/// Version of the format that this code writes, and the newest it reads.
pub const VERSION: u32 = 2;
/// Most ranks of a run, and of all machines of a job.
pub const RANKS_MAX: u32 = 1 << 20;

/// A whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Format version: [`VERSION`].
    pub version: u32,
    /// Summary: one row per label path and operation, then its parts.
    pub rows: Vec<Row>,
    /// Labels: how long each was executed, which is what rates divide by.
    pub labels: Vec<LabelRow>,
    /// Labels over ranks, one entry per kept occurrence.
    pub times: Vec<TimeRow>,
    /// What, where, when.
    pub run: Header,
}

/// One row of the summary. Sums over rows without `part_of` count everything once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// Label path, `outer/inner`; "" for operations in no label.
    pub label: String,
    /// Operation, or `operation.part`.
    pub op: String,
    /// The compound operation a part belongs to.
    pub part_of: Option<String>,
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// Executions, failed ones included.
    pub count: u64,
    /// Executions that failed with an error the program did not expect.
    pub failed: u64,
    /// Executions that moved fewer bytes than asked because the file ended.
    pub short: u64,
    /// Executions that failed with an error the program expects.
    pub expected: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Shortest time of those that did not fail; null without any.
    pub min_ns: Option<u64>,
    /// Mean time.
    pub mean_ns: Option<f64>,
    /// Median, within 1 %.
    pub p50_ns: Option<u64>,
    /// 90th percentile, within 1 %; null with fewer than 10 times.
    pub p90_ns: Option<u64>,
    /// 99th percentile, within 1 %; null with fewer than 100 times.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile, within 1 %; null with fewer than 1,000 times.
    pub p999_ns: Option<u64>,
    /// Longest time.
    pub max_ns: Option<u64>,
    /// Mean over ranks of bytes / time in which that rank had such an operation under way; null without
    /// bytes.
    pub rank_mib_s: Option<f64>,
    /// All bytes / `busy_ns` of the label; null without bytes. In no label: from the operation's first
    /// start to its last end over ranks.
    pub mib_s: Option<f64>,
    /// As `rank_mib_s`, of operations that did not fail, 1/s; null for parts.
    pub rank_ops_s: Option<f64>,
    /// As `mib_s`, of operations that did not fail, 1/s; null for parts.
    pub ops_s: Option<f64>,
    /// How the work was spread over ranks; absent for parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balance: Option<Balance>,
    /// Times of those that did not fail. Only in stored runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
    /// Times of those that failed, expected or not. Only in stored runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_histogram: Option<Histogram>,
}

/// How evenly an operation was spread over the ranks that executed it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Balance {
    /// Ranks that executed it.
    pub ranks: u32,
    /// Sum over ranks of the time in which a rank had at least one under way that did not fail, nanoseconds.
    pub busy_ns: u64,
    /// The rank that spent most time in it.
    pub slowest_rank: u32,
    /// Its time.
    pub slowest_busy_ns: u64,
    /// The rank that moved most bytes.
    pub largest_rank: u32,
    /// Its bytes.
    pub largest_bytes: u64,
}

/// Something in the evidence that says what the figures are not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mark {
    /// Stable short name: "cached-reads". docs/verdicts.md lists all.
    pub code: String,
    /// A figure means something else than it seems to: exit code 3 with `--strict`. Else a remark.
    pub counts: bool,
    /// The observation with its numbers, one sentence.
    pub seen: String,
    /// The change to make in the program or the run.
    pub advice: String,
    /// Executions of a sweep that it was seen in, `seen` being of the first; null without a sweep.
    #[serde(default)]
    pub executions: Option<u32>,
}

impl Mark {
    /// The observation, and the number of executions that have it.
    pub fn seen_in_executions(&self) -> String {
        match self.executions {
            None | Some(1) => self.seen.clone(),
            Some(n) => format!("{} (seen in {n} executions)", self.seen),
        }
    }
}

/// A label over all its occurrences and ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabelRow {
    /// Label path.
    pub label: String,
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// Largest number of occurrences on one rank.
    pub occurrences: u64,
    /// Earliest start, nanoseconds since the start of the run.
    pub first_start_ns: u64,
    /// Latest end.
    pub last_end_ns: u64,
    /// How long at least one rank was inside: the union of all occurrences. Of a single occurrence the
    /// time from the first start to the last end.
    pub busy_ns: u64,
    /// `busy_ns` is an upper bound, rates over it lower ones: there were more occurrences than are kept
    /// apart, so that gaps between them count as busy.
    pub busy_is_bound: bool,
}

/// One occurrence of a label over all ranks that executed it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeRow {
    /// Label path.
    pub label: String,
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// Number of the occurrence on each rank, from 0.
    pub index: u64,
    /// Ranks that executed it.
    pub ranks: u32,
    /// Earliest start, nanoseconds since the start of the run.
    pub first_start_ns: u64,
    /// Latest end.
    pub last_end_ns: u64,
    /// The rank that took longest.
    pub slowest_rank: u32,
    /// Its time: wall clock for `time`, sum of the operations' times for `ctime`.
    pub max_ns: u64,
}

/// Everything about a run that is not a measured row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// Tells the run from all others: its records in memory have the same. Absent where nothing was executed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The program.
    pub program: Program,
    /// Words of the command line, `parabench` first; under a launcher `mpiexec -n N` or `srun -n N` before
    /// them. Absent where they are not text, and of imported logs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Parameters and their values; in a sweep those that all cells share.
    pub params: Vec<Param>,
    /// Number of ranks; the largest one of a sweep.
    pub ranks: u32,
    /// Seed of all random numbers.
    pub seed: u64,
    /// How the run ended; see semantics.md section 2.
    pub exit_code: u8,
    /// How the run ended, in a word: "finished", "failed", "interrupted", "time limit" (that of
    /// `--time-limit`), "cut off".
    pub outcome: String,
    /// The program's end, why and where, for every rank that did not finish.
    pub rank_errors: Vec<RankError>,
    /// Failed operations in full, at most 10 per site and rank.
    pub failures: Vec<Failure>,
    /// Back-end: "posix", "null", "mem".
    pub backend: String,
    /// Communicator: "solo", "local", "sim".
    pub comm: String,
    /// Version of Parabench that made the run.
    pub parabench: String,
    /// Wall-clock start, RFC 3339 in UTC.
    pub started: String,
    /// Duration from the first barrier to the end of the last rank, nanoseconds; of a sweep the sum over its
    /// executions.
    pub duration_wall_ns: u64,
    /// Wall time of the command, from its start to the storing of its results: with checks, pauses and making and
    /// removing files. Nanoseconds. Absent in virtual time, of imports, of runs that were cut off, and of sweeps
    /// that several commands executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_ns: Option<u64>,
    /// Where it ran; of an MPI job the machine of rank 0.
    pub host: Host,
    /// The MPI job; absent without MPI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Job>,
    /// Facts that support or contradict the figures.
    pub evidence: Evidence,
    /// Labels whose occurrences were not all kept: path, occurrences, sum of times and histogram of those not kept.
    pub times_more: Vec<TimesMore>,
    /// Work that went to whichever rank asked first (`share`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<ShareRow>,
    /// Rows of each machine, in a job on several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_rows: Vec<NodeRow>,
    /// Load and network of each machine meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_use: Vec<NodeUse>,
    /// Operations that were due at times of a schedule (`with (rate=...)`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<ArrivalRow>,
    /// Figures that the program computed, in the order in which they were first given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<Score>,
    /// Operations by place in the program text.
    pub sites: Vec<Site>,
    /// Event table, if one was kept.
    pub events: Option<EventsInfo>,
    /// Batch system and number of the job that a run without MPI ran in, "slurm 4711"; "" outside
    /// of one. MPI jobs have it in [`Job::batch`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub batch: String,
    /// The grid, if the program was executed more than once.
    #[serde(default)]
    pub sweep: Option<Sweep>,
    /// Where the run is recorded as long as it has not ended; `None`: it has, and this is all of it.
    #[serde(default)]
    pub recording: Option<Recording>,
    /// An imported log, and its gaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

impl Header {
    /// Name of the machine of a rank.
    pub fn host_of(&self, rank: u32) -> &str {
        let nodes = self.job.iter().flat_map(|job| &job.nodes);
        nodes
            .filter(|node| node.has(rank))
            .map(|node| &*node.host)
            .next()
            .unwrap_or(&self.host.name)
    }

    /// The machines that executed a cell of a sweep, with the ranks as they are numbered there;
    /// without a sweep, the machines of the job. Empty outside of MPI.
    pub fn nodes_at(&self, cell: u32) -> Vec<Node> {
        let Some(job) = &self.job else { return Vec::new() };
        let Some(sweep) = &self.sweep else { return job.nodes.clone() };
        let machines = sweep.dimensions.iter().zip(sweep.values_at(cell));
        let mut machines = machines.filter(|(one, _)| one.kind == DimensionKind::Nodes);
        let members: Vec<u32> = match machines.next() {
            Some((_, count)) => {
                let first = &job.nodes[..count.parse().unwrap_or(0).min(job.nodes.len())];
                let all = 0..job.nodes.iter().map(Node::size).sum();
                all.filter(|rank| first.iter().any(|node| node.has(*rank))).collect()
            }
            None => (0..sweep.cells.get(cell as usize).map_or(0, |cell| cell.ranks)).collect(),
        };
        job.part(&members).nodes
    }

    /// The machines that took part in an execution, as [`NodeRow::node`] counts them: as in
    /// [`Header::nodes_at`], or others if the sweep was resumed elsewhere.
    pub fn nodes_of(&self, cell: u32, repetition: u32) -> Vec<Node> {
        let elsewhere = self.sweep.as_ref().and_then(|sweep| sweep.machines_of(cell, repetition));
        elsewhere.map_or_else(|| self.nodes_at(cell), |machines| machines.nodes.clone())
    }

    /// Processors that the ranks may use on all machines together; 0 if that is not known.
    pub fn cpus(&self) -> u32 {
        let Host { cpus, .. } = self.host;
        self.job.as_ref().map_or(cpus, |job| job.nodes.iter().map(|node| node.cpus).sum())
    }
}

impl Header {
    /// Puts the names of further directories for their paths, which may be others in the next run,
    /// into what failed.
    pub fn name_directories(&mut self) {
        let host = &self.host;
        for failure in &mut self.failures {
            let path = host.named(failure.path.as_bytes());
            failure.path = String::from_utf8_lossy(&path).into_owned();
            failure.message = host.named_in(&failure.message);
        }
        let verified = self.evidence.labels.iter_mut().filter_map(|label| label.verified.as_mut());
        for zeros in verified.flat_map(|data| &mut data.zeros) {
            let path = host.named(zeros.path.as_bytes());
            zeros.path = String::from_utf8_lossy(&path).into_owned();
        }
        for error in &mut self.rank_errors {
            error.message = host.named_in(&error.message);
        }
    }
}

/// Where the records of a run lie that has not ended, or was cut off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recording {
    /// The machine's name.
    pub host: String,
    /// Number of the machine's start: what lies in memory is gone with the next one.
    pub boot: String,
    /// Folder in memory with what each rank has measured so far; `None`: nothing outlives the
    /// process that supervises the ranks.
    pub memory: Option<String>,
    /// Folder of a sweep beside run.json, with the executions that have begun.
    pub executions: Option<String>,
}

/// The program of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Program {
    /// Name as given on the command line.
    pub name: String,
    /// All files; the program first, then what it includes, then files beside it that hold lists.
    pub files: Vec<ProgramFile>,
}

/// One file of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramFile {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Why a rank did not finish.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankError {
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// The rank.
    pub rank: u32,
    /// `file:line:column`, or "" if the place is not known.
    pub place: String,
    /// The error.
    pub message: String,
}

/// One failed operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// The rank.
    pub rank: u32,
    /// `file:line:column`.
    pub place: String,
    /// Operation.
    pub op: String,
    /// Path, as far as it is known; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Position in the file, bytes.
    pub offset_bytes: u64,
    /// Linux errno.
    pub errno: u16,
    /// When the operation ended, nanoseconds from the run's start.
    #[serde(default)]
    pub at_ns: u64,
    /// Its name and text.
    pub message: String,
    /// Failures of the same rank at the same site, this one included, if this is the last one kept; else 1.
    pub occurrences: u64,
}

/// A figure that the program computed (`score`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Score {
    /// Its name.
    pub name: String,
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// The value on rank 0.
    pub value: f64,
    /// Unit of the value; "" without one.
    pub unit: String,
}

/// An operation's place in the program text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Site {
    /// Number used by events.
    pub site: u32,
    /// Operation.
    pub op: String,
    /// File name.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// Executions over all ranks.
    pub count: u64,
    /// Sum of their own times.
    pub busy_ns: u64,
    /// It is in a loop that its time limit (`until`) ended: the number of executions depends on time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed: bool,
}

/// Facts that support or contradict the figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Clock: "tsc", "monotonic_raw", "monotonic" or "virtual".
    pub clock: String,
    /// Median cost of one reading.
    pub clock_read_ns: f64,
    /// Largest difference between two clocks of ranks at start and end.
    pub clock_skew_ns: u64,
    /// How much faster the clock ran than the kernel's raw clock, parts per million, on the machine
    /// where it differed most; `None` where it is the raw clock, or the run was too short to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_drift_ppm: Option<f64>,
    /// Times between two readings of the clock of which the second showed less: they are stored as 0.
    #[serde(default, skip_serializing_if = "label::is_zero")]
    pub clock_backward: u64,
    /// Time that a machine slept while ranks ran.
    #[serde(default, skip_serializing_if = "label::is_zero")]
    pub suspended_ns: u64,
    /// Failed operations over all rows.
    pub failed: u64,
    /// Short operations over all rows.
    pub short: u64,
    /// Bytes the program read.
    pub program_read_bytes: u64,
    /// Bytes the program wrote.
    pub program_write_bytes: u64,
    /// Bytes the ranks fetched from storage (`read_bytes` of /proc/self/io); null where it is unknown.
    pub storage_read_bytes: Option<u64>,
    /// Bytes the ranks caused to be sent to storage (`write_bytes`); null where it is unknown.
    pub storage_write_bytes: Option<u64>,
    /// Smallest share of the bytes read without O_DIRECT that came from the page cache,
    /// 0 to 1: what the ranks fetched besides data (directories, pages of the program) counts
    /// against it. Null where it is unknown.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub page_cache_share: Option<f64>,
    /// Share of bytes that the page cache held already of sampled files when a rank opened them for reading
    /// (cachestat(2), a sample); null where it is unknown.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub cached_at_open_share: Option<f64>,
    /// Where the bytes of each label came from and went to; labels without any are missing.
    #[serde(default)]
    pub labels: Vec<LabelEvidence>,
    /// On a machine of an MPI run there were more ranks than processors they may use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub crowded: bool,
    /// Processor time of all ranks, user and system.
    pub cpu_ns: u64,
    /// Page faults of all ranks that needed no storage ("minor"): a page of a mapped file that the
    /// page cache held, and all memory that was touched for the first time.
    #[serde(default, skip_serializing_if = "label::is_zero")]
    pub page_faults: u64,
    /// Page faults of all ranks that fetched from storage ("major").
    #[serde(default, skip_serializing_if = "label::is_zero")]
    pub storage_page_faults: u64,
    /// How others competed with the ranks for processors; absent in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<Contention>,
    /// "checked": every name is checked by its text. "confined": it is also resolved beneath its directory.
    /// "none": the program was trusted.
    pub confinement: String,
    /// Events that were not kept.
    pub dropped_events: u64,
    /// Time spent outside operations to keep events.
    pub event_overhead_ns: u64,
    /// Run-time labels that went to `(more)`.
    pub labels_beyond_limit: u64,
    /// Options of `with` that nothing takes, as the checker says it: `file:line:column: sentence`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options_without_effect: Vec<String>,
    /// Doubts that the evidence raises about the figures.
    #[serde(default)]
    pub marks: Vec<Mark>,
    /// MPI files as they were opened: the first 64 of each member 0 with different names or hints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mpi_io: Vec<MpiFileFacts>,
    /// Patterns that statements of MPI-IO write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mpi_writes: Vec<PatternWrites>,
    /// Remarks in plain sentences.
    pub notes: Vec<String>,
    /// While executions of a sweep are put together: which of the remarks are of executions.
    #[serde(skip)]
    pub noted: Vec<Noted>,
}

/// A remark on executions of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noted {
    /// Its place among the remarks.
    pub place: usize,
    /// As the first of the executions made it.
    pub text: String,
    /// Name of the first one.
    pub first: String,
    /// How many made it.
    pub executions: usize,
    /// All made it with the same figures.
    pub is_same: bool,
}

/// How others competed with the ranks for processors. `None`: the kernel does not report it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contention {
    /// Sum over ranks of the time in which a rank could have run, but had no processor
    /// (run-queue wait of /proc/self/schedstat), nanoseconds.
    pub waited_ns: Option<u64>,
    /// The rank that waited longest.
    pub longest_wait_rank: u32,
    /// Its wait.
    pub longest_wait_ns: u64,
    /// How often ranks lost their processor although they could have run on.
    pub preemptions: u64,
    /// Mean number of tasks that ran or waited in the minute before the run, on the machine of
    /// rank 0, as all that follows.
    pub load_before: Option<f64>,
    /// The same in the minute before its end.
    pub load_after: Option<f64>,
    /// Time in which some task of the machine lacked a processor (pressure stall information,
    /// "some"), nanoseconds.
    pub pressure_cpu_ns: Option<u64>,
    /// The same for tasks that waited for I/O; the ranks are among them.
    pub pressure_io_ns: Option<u64>,
    /// The same for tasks that waited for memory.
    pub pressure_memory_ns: Option<u64>,
    /// Time in which the machine's processors had work, summed over them.
    pub busy_ns: Option<u64>,
    /// CPU time taken by the hypervisor ("steal").
    pub stolen_ns: Option<u64>,
    /// Time in which the limit of a control group kept its tasks from running.
    pub throttled_ns: Option<u64>,
}

/// An MPI file as it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MpiFileFacts {
    /// Absolute path; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Ranks that opened it together.
    pub ranks: u32,
    /// Hints that the program asked for, `key=value;key=value`.
    pub requested_hints: String,
    /// Hints in effect after opening (MPI_File_get_info), in the same form. What was asked for
    /// and is not here was ignored by the MPI library.
    pub effective_hints: String,
    /// File system type; "" where it is unknown.
    pub file_system: String,
    /// Output of `lfs getstripe` in one line; "" where there is no Lustre.
    pub layout: String,
}

/// Occurrences of a label that were not kept one by one, over all ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimesMore {
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// Label path.
    pub label: String,
    /// Occurrences not kept, over all ranks.
    pub count: u64,
    /// Largest sum over one rank of their times.
    pub max_rank_sum_ns: u64,
    /// Their times.
    pub histogram: Histogram,
}

/// Where the event table is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventsInfo {
    /// File name beside run.json.
    pub file: String,
    /// Rows in it.
    pub count: u64,
    /// Events for which there was no memory.
    pub dropped: u64,
    /// One event of this number was kept, chosen at random; 1: all.
    pub sample_every: u64,
    /// Events left out by choice: those that `sample_every` did not choose. Operations are
    /// `count + dropped + left_out`.
    pub left_out: u64,
    /// Pieces of files that events of patterns refer to by their number here.
    pub extents: Vec<EventExtents>,
}

/// Extents of a file that one operation moved: the part of one rank in a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventExtents {
    /// Number of pieces.
    pub pieces: u64,
    /// The pieces in the order of access, equal ones at equal distances together. Fewer than
    /// `pieces` if there was no memory for all.
    pub runs: Vec<Pieces>,
}

impl EventExtents {
    /// All pieces are there.
    pub fn is_whole(&self) -> bool {
        self.runs.iter().fold(0, |all: u64, run| all.saturating_add(run.count)) >= self.pieces
    }
}

//! The machines of a run: a machine and the storage that it used, the MPI job that executed the run on several, and
//! the parameters that the program got.

use crate::directory;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The machine and the storage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// CPUs that the ranks of this machine may use; under MPI, that rank 0 may use.
    pub cpus: u32,
    /// Main memory, bytes.
    pub memory_bytes: u64,
    /// Run directory.
    pub directory: String,
    /// The storage below it.
    #[serde(flatten)]
    pub storage: Storage,
    /// Directories that the program could use besides the run directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<Directory>,
}

/// A directory besides the run directory, and the storage below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Directory {
    /// Name in the program.
    pub name: String,
    /// Its path.
    pub directory: String,
    /// A scratch directory, because nobody granted another one.
    pub scratch: bool,
    /// The storage below it.
    #[serde(flatten)]
    pub storage: Storage,
}

/// The storage below a directory; of files in memory nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Storage {
    /// Mount point that the directory lies on.
    pub mount: String,
    /// Mounted device or source.
    pub device: String,
    /// File system type.
    pub file_system: String,
    /// Mount options.
    pub mount_options: String,
    /// How the file system spreads or copies the data of this directory, in its own words, as far as a client can
    /// ask: name of the attribute or command, and its answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layout: Vec<Layout>,
    /// Block devices below the file system, from the mounted one down; empty where there are none
    /// or they cannot be seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Device>,
}

impl Storage {
    /// Another machine has the same below the same path, mounted in the same way. Block devices may
    /// bear other names there.
    pub fn is_mounted_like(&self, other: &Storage) -> bool {
        let facts = |of: &Storage| [&of.mount, &of.device, &of.file_system].map(Clone::clone);
        facts(self) == facts(other)
            && self.options_beyond(other).is_empty()
            && other.options_beyond(self).is_empty()
    }

    /// Mount options that another machine's mount has not; without the address of the machine itself.
    pub fn options_beyond<'a>(&'a self, other: &Storage) -> Vec<&'a str> {
        let options = self.mount_options.split(',').filter(|option| !option.is_empty());
        let theirs: Vec<&str> = other.mount_options.split(',').collect();
        let is_own = |option: &&str| option.starts_with("clientaddr=") || theirs.contains(option);
        options.filter(|option| !is_own(option)).collect()
    }
}

impl Host {
    /// Names and paths of the further directories.
    fn further(&self) -> impl Iterator<Item = (&str, &str)> {
        self.directories.iter().map(|one| (&*one.name, &*one.directory))
    }

    /// A path as users read it: `NAME:path` if it lies in a further directory, whose own place may be
    /// another one in each run.
    pub fn named<'p>(&self, path: &'p [u8]) -> Cow<'p, [u8]> {
        directory::named(self.further(), path)
    }

    /// The same for the paths in a message.
    pub fn named_in(&self, text: &str) -> String {
        directory::named_in(self.further(), text)
    }
}

/// The layout of a directory, as its file system gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Layout {
    /// Source: an extended attribute ("ceph.file.layout"), or a command ("mfsgetgoal").
    pub source: String,
    /// The answer, one line.
    pub text: String,
}

/// A block device below the file system, or what lies below a loop device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Device {
    /// Name in the kernel: "sda", "loop3"; of a file system in memory its type.
    pub name: String,
    /// "loop", "memory" (ram disk, zram, file system in memory), "rotating", or "disk".
    pub kind: String,
    /// File behind a loop device; "" for others.
    pub file: String,
}

/// An MPI job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Job {
    /// MPI library, name and version, one line.
    pub mpi: String,
    /// Version of the MPI standard that it implements, "3.1".
    pub standard: String,
    /// The launcher of the ranks: "mpiexec of Open MPI", "mpiexec", "srun"; "" if it is not known.
    pub launcher: String,
    /// Batch system and the job's number in it, "slurm 4711"; "" outside of one.
    pub batch: String,
    /// Variables of rank 0 that concern MPI-IO, `NAME=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Machines, in the order of their first ranks.
    pub nodes: Vec<Node>,
}

/// A machine of an MPI job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Node {
    /// Host name.
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Processors that its ranks may use, all together.
    pub cpus: u32,
    /// Processors that each rank may use: the fewest and the most. Fewer than `cpus`: ranks are bound.
    pub rank_cpus: [u32; 2],
    /// Their numbers: spans of processors that follow each other, first and last. Empty: not recorded.
    #[serde(default)]
    pub cpu_numbers: Vec<[u32; 2]>,
    /// Main memory, bytes.
    pub memory_bytes: u64,
    /// Its clock: "tsc", "monotonic_raw" or "monotonic".
    pub clock: String,
    /// Its ranks: spans of ranks that follow each other, first and last.
    pub ranks: Vec<[u32; 2]>,
}

/// The part of one machine in a row, in a job on several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeRow {
    /// The machine: its place in [`Job::nodes`]; in a sweep, among the machines that took part.
    pub node: u32,
    /// Label path.
    pub label: String,
    /// Operation.
    pub op: String,
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// Executions, failed ones included.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Mean time; null without any that did not fail.
    pub mean_ns: Option<f64>,
    /// Bytes of the machine / the time in which its ranks were in the label; null without bytes.
    pub mib_s: Option<f64>,
    /// The same of operations that did not fail, 1/s.
    pub ops_s: Option<f64>,
}

/// Load, network and storage of a machine while its ranks ran, in a job on several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeUse {
    /// The machine, as in [`NodeRow::node`].
    pub node: u32,
    /// Parameter point of a sweep; 0 without one.
    pub cell: u32,
    /// Repetition within a sweep; 0 without one.
    pub repetition: u32,
    /// Load of the last minute (getloadavg(3)) before and after; null where it is unknown.
    pub load_before: Option<f64>,
    /// The same after.
    pub load_after: Option<f64>,
    /// Bytes that its network interfaces without the loopback received meanwhile, whoever they were for;
    /// null where that is unknown.
    pub received_bytes: Option<u64>,
    /// Bytes that they sent.
    pub sent_bytes: Option<u64>,
    /// Directories of the run below which it has other storage than the machine of `Header::host`, or
    /// the same mounted in another way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<NodeStorage>,
}

/// The storage of a machine below a directory of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeStorage {
    /// Name of the directory in the program; "": the run directory.
    pub name: String,
    /// The storage below it.
    #[serde(flatten)]
    pub storage: Storage,
}

impl Node {
    /// The rank runs here.
    pub fn has(&self, rank: u32) -> bool {
        self.ranks.iter().any(|[first, last]| (*first..=*last).contains(&rank))
    }

    /// Number of its ranks.
    pub fn size(&self) -> u32 {
        self.ranks.iter().map(|[first, last]| last - first + 1).sum()
    }

    /// Its ranks as text, "0-3,8".
    pub fn spans(&self) -> String {
        show_spans(&self.ranks)
    }

    /// Its ranks may use fewer processors than all of them together.
    pub fn is_bound(&self) -> bool {
        self.rank_cpus[1] > 0 && self.rank_cpus[0] < self.cpus
    }

    /// `ranks bound to 1 processor each of 0-3`, `ranks free on the processors 0-3`; `None`: not recorded.
    pub fn binding(&self) -> Option<String> {
        let numbers = show_spans(&self.cpu_numbers);
        let [fewest, most] = self.rank_cpus;
        if numbers.is_empty() {
            return None;
        }
        let count = match (fewest == most, most) {
            (true, 1) => "1 CPU".into(),
            (true, _) => format!("{most} CPUs"),
            (false, _) => format!("{fewest} to {most} CPUs"),
        };
        Some(match self.is_bound() {
            true => format!("ranks bound to {count} each of {numbers}"),
            false if most == 1 => format!("all ranks on processor {numbers}"),
            false => format!("each rank free on the processors {numbers}"),
        })
    }
}

impl Job {
    /// The job as if it had these ranks only, in ascending order, which are then counted from 0.
    pub fn part(&self, members: &[u32]) -> Job {
        let own = |node: &Node| {
            let ranks = (0u32..).zip(members).filter(|(_, rank)| node.has(**rank));
            Node { ranks: spans(ranks.map(|(at, _)| at)), ..node.clone() }
        };
        let nodes = self.nodes.iter().map(own).filter(|node| !node.ranks.is_empty()).collect();
        Job { nodes, ..self.clone() }
    }
}

/// Ranks in ascending order as spans of those that follow each other.
pub fn spans(ranks: impl IntoIterator<Item = u32>) -> Vec<[u32; 2]> {
    let mut spans: Vec<[u32; 2]> = Vec::new();
    for rank in ranks {
        match spans.last_mut() {
            Some([_, last]) if *last + 1 == rank => *last = rank,
            _ => spans.push([rank, rank]),
        }
    }
    spans
}

/// `0-3,8`
fn show_spans(spans: &[[u32; 2]]) -> String {
    let span = |[first, last]: &[u32; 2]| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    spans.iter().map(span).collect::<Vec<_>>().join(",")
}

/// A parameter's value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Param {
    /// Name.
    pub name: String,
    /// Value as text.
    pub value: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Header;
    use crate::sweep::{Cell, Dimension, DimensionKind, Sweep};

    #[test]
    fn mounts_are_compared_without_the_address_of_the_machine() {
        let nfs = |options: &str| Storage {
            mount: "/data".into(),
            device: "srv:/x".into(),
            file_system: "nfs4".into(),
            mount_options: options.into(),
            ..Storage::default()
        };
        let first = nfs("rw,wsize=1048576,clientaddr=10.0.0.1");
        assert!(nfs("wsize=1048576,rw,clientaddr=10.0.0.2").is_mounted_like(&first));
        let other = nfs("rw,wsize=65536,sync,clientaddr=10.0.0.2");
        assert!(!other.is_mounted_like(&first));
        assert_eq!(other.options_beyond(&first), ["wsize=65536", "sync"]);
        assert_eq!(first.options_beyond(&other), ["wsize=1048576"]);
        assert!(!Storage { device: "srv2:/x".into(), ..first.clone() }.is_mounted_like(&first));
    }

    #[test]
    fn a_point_of_a_sweep_has_the_machines_that_executed_it() {
        let node = |host: &str, ranks: &[u32]| Node {
            host: host.into(),
            ranks: spans(ranks.iter().copied()),
            ..Node::default()
        };
        let nodes = vec![node("a", &[0, 2, 4]), node("b", &[1, 3]), node("c", &[5])];
        let job = Some(Job { nodes, ..Job::default() });
        let sweep = |kind, values: &[&str], ranks: &[u32]| {
            let values = values.iter().map(ToString::to_string).collect();
            let dimensions = vec![Dimension { kind, values, ..Dimension::default() }];
            let cells = ranks.iter().map(|ranks| Cell { ranks: *ranks, ..Cell::default() });
            Sweep { dimensions, cells: cells.collect(), ..Sweep::default() }
        };
        let describe_nodes = |sweep: Option<Sweep>, cell| {
            let header = Header { job: job.clone(), sweep, ..Header::default() };
            let nodes = header.nodes_at(cell);
            let nodes = nodes.iter().map(|node| format!("{} {}", node.host, node.spans()));
            nodes.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(describe_nodes(None, 0), "a 0,2,4; b 1,3; c 5");
        let nodes = || Some(sweep(DimensionKind::Nodes, &["1", "2"], &[3, 5]));
        assert_eq!(
            [describe_nodes(nodes(), 0), describe_nodes(nodes(), 1)],
            ["a 0-2", "a 0,2,4; b 1,3"]
        );
        let ranks = || Some(sweep(DimensionKind::Ranks, &["1", "3"], &[1, 3]));
        assert_eq!([describe_nodes(ranks(), 0), describe_nodes(ranks(), 1)], ["a 0", "a 0,2; b 1"]);
        assert_eq!(Header::default().nodes_at(0), []);
    }

    #[test]
    fn every_rank_has_the_host_of_its_node() {
        let node = |host: &str, cpus, ranks: &[u32]| Node {
            host: host.into(),
            cpus,
            ranks: spans(ranks.iter().copied()),
            ..Node::default()
        };
        let nodes = vec![node("a", 4, &[0, 1, 2, 5]), node("b", 8, &[3, 4])];
        assert_eq!((nodes[0].spans().as_str(), nodes[0].size()), ("0-2,5", 4));
        let job = Job { nodes: nodes.clone(), ..Job::default() };
        let part = job.part(&[0, 3, 5]).nodes;
        let spans: Vec<String> = part.iter().map(Node::spans).collect();
        assert_eq!(spans, ["0,2", "1"]);
        assert_eq!(job.part(&[0, 1]).nodes.len(), 1);
        let host = Host { name: "a".into(), cpus: 2, ..Host::default() };
        let mut header = Header { host, ..Header::default() };
        assert_eq!((header.host_of(3), header.cpus()), ("a", 2));
        header.job = Some(Job { nodes, ..Job::default() });
        assert_eq!([0, 2, 3, 4, 5].map(|rank| header.host_of(rank)), ["a", "a", "b", "b", "a"]);
        assert_eq!((header.host_of(6), header.cpus()), ("a", 12));
    }

    #[test]
    fn a_machine_says_which_processors_its_ranks_may_use() {
        let node = |cpus, rank_cpus, cpu_numbers: &[[u32; 2]]| Node {
            cpus,
            rank_cpus,
            cpu_numbers: cpu_numbers.to_vec(),
            ..Node::default()
        };
        let said = |node: Node| node.binding().unwrap_or_default();
        assert_eq!(said(node(2, [1, 1], &[[0, 1]])), "ranks bound to 1 CPU each of 0-1");
        assert_eq!(
            said(node(5, [1, 2], &[[0, 3], [8, 8]])),
            "ranks bound to 1 to 2 CPUs each of 0-3,8"
        );
        assert_eq!(said(node(2, [2, 2], &[[0, 1]])), "each rank free on the processors 0-1");
        assert_eq!(said(node(1, [1, 1], &[[3, 3]])), "all ranks on processor 3");
        assert_eq!(node(2, [1, 1], &[]).binding(), None, "an older run does not tell");
    }
}

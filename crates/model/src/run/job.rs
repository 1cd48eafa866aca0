//! The MPI job that executed a run: what ran where.

use super::{Header, Host, Storage};
use crate::sweep::DimensionKind;
use serde::{Deserialize, Serialize};

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
    /// Directories of the run below which it has other storage than the machine of [`Header::host`], or
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
        shown(&self.ranks)
    }

    /// Its ranks may use fewer processors than all of them together.
    pub fn is_bound(&self) -> bool {
        self.rank_cpus[1] > 0 && self.rank_cpus[0] < self.cpus
    }

    /// `ranks bound to 1 processor each of 0-3`, `ranks free on the processors 0-3`; `None`: not recorded.
    pub fn binding(&self) -> Option<String> {
        let numbers = shown(&self.cpu_numbers);
        let [fewest, most] = self.rank_cpus;
        if numbers.is_empty() {
            return None;
        }
        let count = match (fewest == most, most) {
            (true, 1) => "1 processor".into(),
            (true, _) => format!("{most} processors"),
            (false, _) => format!("{fewest} to {most} processors"),
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

    /// The machines that executed a cell of a sweep, with the ranks as they are numbered there; without a
    /// sweep those of the job. Empty for a run outside of MPI.
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
fn shown(spans: &[[u32; 2]]) -> String {
    let span = |[first, last]: &[u32; 2]| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    spans.iter().map(span).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{Cell, Dimension, Sweep};

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
        let told = |sweep: Option<Sweep>, cell| {
            let header = Header { job: job.clone(), sweep, ..Header::default() };
            let nodes = header.nodes_at(cell);
            let told = nodes.iter().map(|node| format!("{} {}", node.host, node.spans()));
            told.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(told(None, 0), "a 0,2,4; b 1,3; c 5");
        let nodes = || Some(sweep(DimensionKind::Nodes, &["1", "2"], &[3, 5]));
        assert_eq!([told(nodes(), 0), told(nodes(), 1)], ["a 0-2", "a 0,2,4; b 1,3"]);
        let ranks = || Some(sweep(DimensionKind::Ranks, &["1", "3"], &[1, 3]));
        assert_eq!([told(ranks(), 0), told(ranks(), 1)], ["a 0", "a 0,2; b 1"]);
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
        assert_eq!(said(node(2, [1, 1], &[[0, 1]])), "ranks bound to 1 processor each of 0-1");
        assert_eq!(
            said(node(5, [1, 2], &[[0, 3], [8, 8]])),
            "ranks bound to 1 to 2 processors each of 0-3,8"
        );
        assert_eq!(said(node(2, [2, 2], &[[0, 1]])), "each rank free on the processors 0-1");
        assert_eq!(said(node(1, [1, 1], &[[3, 3]])), "all ranks on processor 3");
        assert_eq!(node(2, [1, 1], &[]).binding(), None, "an older run does not tell");
    }
}

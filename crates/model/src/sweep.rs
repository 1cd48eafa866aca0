//! A sweep: one program executed at several points of a grid, several times each.
//!
//! ```text
//! --sweep block=4k,64k --sweep-ranks 1,2 --reps 3
//!
//! dimensions   block: 4k 64k · ranks: 1 2
//! cells        0: 4k, 1 rank · 1: 4k, 2 ranks · 2: 64k, 1 rank · 3: 64k, 2 ranks
//! order        3.0 1.0 0.0 2.0 · 1.1 2.1 3.1 0.1 · 2.2 0.2 3.2 1.2      (cell.repetition)
//! ```
//!
//! Rows, times, failures and events of a run tell their cell and repetition.

use crate::run::host::{Host, Node, Param};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The grid of a sweep, and what was executed of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sweep {
    /// Varied dimensions. Empty if the program was only repeated.
    pub dimensions: Vec<Dimension>,
    /// Every combination of values, the last dimension fastest; `cells[i].cell` is `i`.
    pub cells: Vec<Cell>,
    /// Executions in order, without warm-up.
    pub order: Vec<Execution>,
    /// Repetitions of each cell that were asked for: the largest number with `until_ci`.
    pub reps: u32,
    /// Executions of each cell before the first that was recorded.
    pub warm_up: u32,
    /// Pause before each execution, nanoseconds.
    pub settle_ns: u64,
    /// Cells were repeated until the 95 % confidence interval was no wider than this to either
    /// side, as a share of the figure: the number of repetitions depends on the results.
    pub until_ci: Option<f64>,
    /// The run is a comparison: the last dimension has two values, A and B, and every repetition
    /// is a block in which they follow one another. Cell 2 k is A and cell 2 k + 1 is B.
    #[serde(default)]
    pub versus: bool,
    /// A's and B's directory are on one device. Absent: they are on two, or A and B share a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_device: Option<SharedDevice>,
    /// As long as executions are missing and can be made up for: how. `None`: all are there, or
    /// the sweep is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// When the sweep was resumed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumed>,
    /// Machines that executions ran on before the sweep was resumed on others; the header has the last ones.
    /// Empty: all ran on them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<Machines>,
}

/// Treatment of two directories on one device, whose own state (age, place on the device) is no difference of the
/// storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SharedDevice {
    /// A and B swap directories with every block: in odd blocks, warm-up included, each works in the other's.
    Swapped,
    /// Each stays in its own: the directories have different attributes, or a program or file system in which
    /// that cannot be excluded.
    Kept,
}

/// Where some executions of a sweep ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machines {
    /// The machine of rank 0.
    pub host: Host,
    /// The machines of the MPI job that took part, with their ranks as they were numbered then.
    pub nodes: Vec<Node>,
}

/// Facts for resuming a sweep. Stored before the first execution. Which executions are missing, and
/// their order, follows from the seed, the cells and the repetitions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rest {
    /// Folder beside run.json with the executions so far.
    pub executions: String,
    /// Words of the command line; empty if they are not text.
    pub command: Vec<String>,
    /// The current directory it was given in.
    pub folder: String,
    /// Options that decide what is executed: names and values.
    pub options: Vec<Param>,
}

/// A sweep was resumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resumed {
    /// When, in UTC.
    pub started: String,
    /// On which machine.
    pub host: String,
    /// Number of executions that were there.
    pub executions: u32,
}

/// One thing that varies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dimension {
    /// Parameter, option of the command line, or program.
    pub kind: DimensionKind,
    /// The parameter's name, "ranks", "nodes", "program" or "directory".
    pub name: String,
    /// Its values in order, as they were given.
    pub values: Vec<String>,
}

/// Kinds of dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DimensionKind {
    /// A parameter of the program.
    #[default]
    Param,
    /// The number of ranks.
    Ranks,
    /// The number of machines of an MPI job, with all their ranks.
    Nodes,
    /// The program, which is compared with another.
    Program,
    /// The run directory, which is compared with another.
    Directory,
}

/// One point of the grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// Its number.
    pub cell: u32,
    /// Parameters that are not the same in all cells; the others are in the header.
    pub params: Vec<Param>,
    /// Number of ranks.
    pub ranks: u32,
    /// A number that changes with the plan, in hexadecimal digits; "" if the sweep is not stored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan: String,
    /// Where it ran, if that is not where the header says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
}

/// One execution of the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Execution {
    /// Where in the grid.
    pub cell: u32,
    /// Number of the repetition, from 0.
    pub repetition: u32,
    /// How it ended: "finished", "failed", "interrupted", "cut off". Only those that finished
    /// enter statistics.
    pub outcome: String,
    /// From its first barrier to the end of its last rank, nanoseconds.
    pub duration_wall_ns: u64,
    /// Where it ran, if not on the machines of the header: a place in [`Sweep::machines`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<u32>,
}

impl Machines {
    /// The same machines, with the same ranks.
    pub fn is_like(&self, other: &Machines) -> bool {
        let nodes = |of: &Machines| -> Vec<(String, Vec<[u32; 2]>)> {
            of.nodes.iter().map(|node| (node.host.clone(), node.ranks.clone())).collect()
        };
        self.host.name == other.host.name && nodes(self) == nodes(other)
    }

    /// Their names.
    pub fn hosts(&self) -> Vec<&str> {
        match self.nodes.is_empty() {
            true => vec![&self.host.name],
            false => self.nodes.iter().map(|node| &*node.host).collect(),
        }
    }
}

impl Sweep {
    /// The value of each dimension at a cell, by the dimensions' order; empty for a cell outside
    /// of the grid.
    pub fn values_at(&self, cell: u32) -> Vec<&str> {
        let mut rest = cell as usize;
        let mut values = Vec::with_capacity(self.dimensions.len());
        for dimension in self.dimensions.iter().rev() {
            let Some(count) = std::num::NonZeroUsize::new(dimension.values.len()) else {
                return Vec::new();
            };
            values.push(dimension.values[rest % count].as_str());
            rest /= count;
        }
        values.reverse();
        if rest == 0 { values } else { Vec::new() }
    }

    /// The point of a cell: what varies, and its value there. Empty if nothing varies.
    pub fn point(&self, cell: u32) -> BTreeMap<String, String> {
        let names = self.dimensions.iter().map(|dimension| dimension.name.clone());
        names.zip(self.values_at(cell).into_iter().map(String::from)).collect()
    }

    /// The dimension of A and B, if the run is a comparison.
    pub fn pair(&self) -> Option<&Dimension> {
        self.dimensions.last().filter(|pair| self.versus && pair.values.len() == 2)
    }

    /// A cell in words: `block=4k, ranks=2`; `all` if nothing varies.
    pub fn describe(&self, cell: u32) -> String {
        let values = self.values_at(cell);
        let pairs = self.dimensions.iter().zip(values);
        let pairs: Vec<String> =
            pairs.map(|(dimension, value)| format!("{}={value}", dimension.name)).collect();
        if pairs.is_empty() { "all".into() } else { pairs.join(", ") }
    }

    /// An execution in words: `block=4k, repetition 3`.
    pub fn describe_execution(&self, cell: u32, repetition: u32) -> String {
        match self.dimensions.is_empty() {
            true => format!("repetition {repetition}"),
            false => format!("{}, repetition {repetition}", self.describe(cell)),
        }
    }

    /// Where an execution ran; `None`: on the machines of the header.
    pub fn machines_of(&self, cell: u32, repetition: u32) -> Option<&Machines> {
        if self.machines.is_empty() {
            return None;
        }
        let is_it = |one: &&Execution| (one.cell, one.repetition) == (cell, repetition);
        self.machines.get(self.order.iter().find(is_it)?.machines? as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_dimension_is_the_fastest() {
        let dimension = |name: &str, values: &[&str]| Dimension {
            name: name.into(),
            values: values.iter().map(|value| value.to_string()).collect(),
            ..Dimension::default()
        };
        let dimensions = vec![dimension("a", &["1", "2"]), dimension("b", &["x", "y", "z"])];
        let sweep = Sweep { dimensions, ..Sweep::default() };
        let all: Vec<String> = (0..6).map(|cell| sweep.values_at(cell).join("")).collect();
        assert_eq!(all, ["1x", "1y", "1z", "2x", "2y", "2z"]);
        assert_eq!(sweep.describe(4), "a=2, b=y");
        assert!(sweep.values_at(6).is_empty());
        assert_eq!(Sweep::default().describe(0), "all");
    }
}

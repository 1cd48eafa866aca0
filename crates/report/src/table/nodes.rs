//! Machines of a job side by side: the band of their rates, and which of them is the slowest.

use crate::document::Sheet;
use crate::grid::{Cell, Grid, Kind, field, optional};
use crate::machines::kernels;
use crate::rows::{grouped, point};
use crate::stats::median;
use model::run::{Job, Node, NodeRow, NodeUse, Run};
use model::units::{Measure, format_bytes};
use std::collections::{BTreeMap, BTreeSet, HashMap};

const BYTES: Kind = Kind::Quantity(Measure::ByteRate);
const OPERATIONS: Kind = Kind::Quantity(Measure::OpRate);

const LEGEND: &str =
    "Over nodes: rate of each node = bytes / time in which its ranks were in the label.";
const MEDIANS: &str = "Over nodes: rate of each node = bytes / time in which its ranks were in the label, median of \
                       its executions at a point.";

/// Lines of a sweep's table; run.json has all of them.
const LINES: usize = 60;

/// Machines whose load and network are shown; run.json has all of them.
const NODES: usize = 8;

/// The table; none for a run on one machine, and for a comparison of A and B, whose own tables are
/// about differences.
pub fn sheet(run: &Run) -> Option<Sheet> {
    let (job, header) = (run.run.job.as_ref()?, &run.run);
    if header.sweep.as_ref().is_some_and(|sweep| sweep.versus) {
        return None;
    }
    let mut groups = groups(run);
    if groups.is_empty() {
        return None;
    }
    let left_out = groups.len().saturating_sub(LINES);
    groups.truncate(LINES);
    let grid = Grid::of(
        vec![
            field("over nodes", "", Kind::Label, 0, |group: &Group<'_>| {
                Cell::Text(group.name.clone())
            }),
            field("nodes", "", Kind::Count, 1, |group| {
                Cell::Count(
                    group.rows.iter().map(|row| &row.1).collect::<BTreeSet<_>>().len() as u64
                )
            }),
            optional("slowest", "", BYTES, 0, |group| group.bytes_at(0.0)),
            optional("median", "", BYTES, 0, |group| group.bytes_at(0.5)),
            optional("fastest", "", BYTES, 0, |group| group.bytes_at(1.0)),
            field("slowest", "op/s", OPERATIONS, 2, |group| group.operations_at(0.0)),
            field("median", "op/s", OPERATIONS, 2, |group| group.operations_at(0.5)),
            field("fastest", "op/s", OPERATIONS, 2, |group| group.operations_at(1.0)),
            field("slowest", "node", Kind::Word, 0, Group::slowest),
        ],
        &groups,
        |_| false,
    );
    let legend = if header.sweep.is_some() { MEDIANS } else { LEGEND };
    let more = (left_out > 0).then(|| format!("{left_out} more lines: node_rows in run.json."));
    // Too much to read for many executions.
    let uses = header.node_use.iter().filter(|_| header.sweep.is_none());
    let uses = uses.filter_map(|entry| used(entry, job)).take(NODES);
    let notes = std::iter::once(legend.to_string()).chain(more);
    let notes = notes.chain(kernels(job)).chain(uses).collect();
    Some(Sheet { name: "nodes", title: String::new(), grid, notes })
}

/// "node cn07: load 0.1 before, 8.2 after, network 1.2 GiB in, 3 MiB out".
fn used(used: &NodeUse, job: &Job) -> Option<String> {
    let mut parts = Vec::new();
    if let (Some(before), Some(after)) = (used.load_before, used.load_after) {
        parts.push(format!("load {before} before, {after} after"));
    }
    if let (Some(received), Some(sent)) = (used.received_bytes, used.sent_bytes) {
        parts.push(format!("network {} in, {} out", format_bytes(received), format_bytes(sent)));
    }
    let host = &job.nodes.get(used.node as usize)?.host;
    (!parts.is_empty()).then(|| format!("{host}: {}", parts.join(", ")))
}

/// A machine: its name, and a number, because several machines may have one name.
type Machine = (String, usize);

/// Rows of one label and operation at one point, each with its machine.
struct Group<'r> {
    name: String,
    rows: Vec<(&'r NodeRow, Machine)>,
}

/// The rows, point by point. Executions before a sweep was resumed elsewhere have other machines. A point with
/// one machine has no slowest one.
fn groups(run: &Run) -> Vec<Group<'_>> {
    let header = &run.run;
    let mut of_execution: HashMap<(u32, u32), Vec<Node>> = HashMap::new();
    let mut rows = Vec::new();
    for row in &header.node_rows {
        if header.sweep.is_none() || header.nodes_at(row.cell).len() > 1 {
            let nodes = of_execution
                .entry((row.cell, row.repetition))
                .or_insert_with(|| header.nodes_of(row.cell, row.repetition));
            rows.push(((row.cell, name(run, row)), (row, machine(nodes, row.node))));
        }
    }
    rows.sort_by_key(|row| row.0.0);
    grouped(rows).into_iter().map(|((_, name), rows)| Group { name, rows }).collect()
}

/// `write: fwrite (block=4k)`
fn name(run: &Run, row: &NodeRow) -> String {
    let name = match row.label.as_str() {
        "" => row.op.clone(),
        label => format!("{label}: {}", row.op),
    };
    match point(run, row.cell) {
        point if point.is_empty() => name,
        point => format!("{name} ({point})"),
    }
}

fn machine(nodes: &[Node], node: u32) -> Machine {
    let Some(own) = nodes.get(node as usize) else { return (String::new(), node as usize) };
    let before = nodes[..node as usize].iter().filter(|other| other.host == own.host);
    (own.host.clone(), before.count())
}

impl Group<'_> {
    /// The rate of each machine, the median of its executions; lowest first.
    fn rates(&self, rate: fn(&NodeRow) -> Option<f64>) -> Vec<(f64, &Machine)> {
        let mut all: BTreeMap<&Machine, Vec<f64>> = BTreeMap::new();
        for (row, machine) in &self.rows {
            all.entry(machine).or_default().extend(rate(row));
        }
        let medians = all.into_iter().filter_map(|(machine, all)| Some((median(&all)?, machine)));
        let mut medians: Vec<(f64, &Machine)> = medians.collect();
        medians.sort_by(|a, b| a.0.total_cmp(&b.0));
        medians
    }

    fn bytes_at(&self, share: f64) -> Cell {
        at(&self.rates(|row| row.mib_s), share)
    }

    fn operations_at(&self, share: f64) -> Cell {
        at(&self.rates(|row| row.ops_s), share)
    }

    fn slowest(&self) -> Cell {
        let rates = match self.rates(|row| row.mib_s) {
            none if none.is_empty() => self.rates(|row| row.ops_s),
            rates => rates,
        };
        rates.first().map_or(Cell::None, |(_, slowest)| Cell::Text(slowest.0.clone()))
    }
}

/// The lowest (0), the median (0.5) or the highest (1) of rates.
fn at(rates: &[(f64, &Machine)], share: f64) -> Cell {
    let rates: Vec<f64> = rates.iter().map(|rate| rate.0).collect();
    Cell::number(match share {
        0.0 => rates.first().copied(),
        1.0 => rates.last().copied(),
        _ => median(&rates),
    })
}

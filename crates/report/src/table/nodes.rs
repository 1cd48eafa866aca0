//! Machines of a job side by side: the band of their rates, and which of them is the slowest.

use crate::document::Sheet;
use crate::grid::{Cell, Column, Grid, Kind, Line};
use crate::machines::kernels;
use crate::stats::median;
use model::run::{Job, Node, NodeRow, NodeUse, Run};
use model::units::{Measure, format_bytes};
use std::collections::{BTreeSet, HashMap};

const BYTES: Kind = Kind::Quantity(Measure::ByteRate);
const OPERATIONS: Kind = Kind::Quantity(Measure::OpRate);

const COLUMNS: [Column; 9] = [
    Column::new("over nodes", "", Kind::Label, 0),
    Column::new("nodes", "", Kind::Count, 1),
    Column::new("slowest", "", BYTES, 0),
    Column::new("median", "", BYTES, 0),
    Column::new("fastest", "", BYTES, 0),
    Column::new("slowest", "op/s", OPERATIONS, 2),
    Column::new("median", "op/s", OPERATIONS, 2),
    Column::new("fastest", "op/s", OPERATIONS, 2),
    Column::new("slowest", "node", Kind::Word, 0),
];
const BYTE_RATES: std::ops::Range<usize> = 2..5;

const LEGEND: &str =
    "Over nodes: rate of each node = bytes / time in which its ranks were in the label.";
const MEDIANS: &str = "Over nodes: rate of each node = bytes / time in which its ranks were in the label, median of \
                       its executions at a point.";

const PARTLY: &str = "(3 of 5): the slowest node took part in 3 of 5 executions at this point.";

/// Lines of a sweep's table; run.json has all of them.
const LINES: usize = 60;

/// Machines whose load and network are shown; run.json has all of them.
const NODES: usize = 8;

/// The table; none for a run on one machine, and for a comparison of A and B, whose own tables are
/// about differences.
pub fn sheet(run: &Run) -> Option<Sheet> {
    let job = run.run.job.as_ref()?;
    let header = &run.run;
    if header.sweep.as_ref().is_some_and(|sweep| sweep.versus) {
        return None;
    }
    let (lines, left_out) = lines(run);
    if lines.is_empty() {
        return None;
    }
    let mut grid = Grid::new(&COLUMNS, lines);
    let moves_bytes = header.node_rows.iter().any(|row| row.bytes > 0);
    grid.retain(|at| !BYTE_RATES.contains(&at) || moves_bytes);
    let legend = if header.sweep.is_some() { MEDIANS } else { LEGEND };
    let partly = header.sweep.as_ref().filter(|sweep| !sweep.machines.is_empty());
    let partly = partly.map(|_| PARTLY.to_string());
    let more = (left_out > 0).then(|| format!("{left_out} more lines: node_rows in run.json."));
    // Too much to read for many executions.
    let uses = header.node_use.iter().filter(|_| header.sweep.is_none());
    let uses = uses.filter_map(|entry| used(entry, job)).take(NODES);
    let notes = std::iter::once(legend.to_string())
        .chain(partly)
        .chain(more)
        .chain(kernels(job))
        .chain(uses);
    Some(Sheet { name: "nodes", title: String::new(), grid, notes: notes.collect() })
}

/// The lines below the point of their sweep, and how many are left out. A point with one machine has no
/// slowest one.
fn lines(run: &Run) -> (Vec<Line>, usize) {
    let header = &run.run;
    let (mut lines, mut left_out) = (Vec::new(), 0);
    let mut cells_there: Vec<u32> = header.node_rows.iter().map(|row| row.cell).collect();
    cells_there.sort_unstable();
    cells_there.dedup();
    for cell in cells_there {
        if header.sweep.is_some() && header.nodes_at(cell).len() < 2 {
            continue;
        }
        let rows = named(run, cell);
        let groups = groups(&rows);
        let point = header.sweep.as_ref().filter(|sweep| !sweep.dimensions.is_empty());
        if lines.len() + groups.len() > LINES && header.sweep.is_some() && !lines.is_empty() {
            left_out += groups.len();
            continue;
        }
        lines.extend(point.map(|sweep| Line::Heading(sweep.describe(cell))));
        lines.extend(groups.iter().map(|group| Line::plain(cells(group))));
    }
    (lines, left_out)
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

/// A row with its machine: the name, and a number, because several machines may have one name.
struct Named<'r> {
    row: &'r NodeRow,
    machine: (String, usize),
}

/// The rows of a cell. Executions before a sweep was resumed elsewhere have other machines.
fn named(run: &Run, cell: u32) -> Vec<Named<'_>> {
    let mut of_execution: HashMap<u32, Vec<Node>> = HashMap::new();
    let rows = run.run.node_rows.iter().filter(|row| row.cell == cell);
    rows.map(|row| {
        let nodes = of_execution
            .entry(row.repetition)
            .or_insert_with(|| run.run.nodes_of(cell, row.repetition));
        Named { row, machine: machine(nodes, row.node) }
    })
    .collect()
}

fn machine(nodes: &[Node], node: u32) -> (String, usize) {
    let Some(own) = nodes.get(node as usize) else { return (String::new(), node as usize) };
    let before = nodes[..node as usize].iter().filter(|other| other.host == own.host);
    (own.host.clone(), before.count())
}

/// Rows of the same label and operation, in order of their first appearance.
fn groups<'r, 'n>(rows: &'n [Named<'r>]) -> Vec<Vec<&'n Named<'r>>> {
    let mut groups: Vec<Vec<&Named<'_>>> = Vec::new();
    for named in rows {
        let same = |group: &&mut Vec<&Named<'_>>| {
            let first = group[0].row;
            first.op == named.row.op && first.label == named.row.label
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(named),
            None => groups.push(vec![named]),
        }
    }
    groups
}

fn cells(group: &[&Named<'_>]) -> Vec<Cell> {
    let first = group[0].row;
    let name = match first.label.as_str() {
        "" => first.op.clone(),
        label => format!("{label}: {}", first.op),
    };
    let (bytes, operations) = (rates(group, |row| row.mib_s), rates(group, |row| row.ops_s));
    let by = if bytes.is_empty() { &operations } else { &bytes };
    let slowest = by.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let there: BTreeSet<&(String, usize)> = group.iter().map(|named| &named.machine).collect();
    let mut cells = vec![Cell::Text(name), Cell::Count(there.len() as u64)];
    cells.extend(band(&bytes));
    cells.extend(band(&operations));
    cells.push(slowest.map_or(Cell::None, |(machine, _)| Cell::Text(name_machine(group, machine))));
    cells
}

/// "cn07", or "cn07 (3 of 5)" if it took part in 3 of 5 executions.
fn name_machine(group: &[&Named<'_>], machine: &(String, usize)) -> String {
    let all: BTreeSet<u32> = group.iter().map(|named| named.row.repetition).collect();
    let own = group.iter().filter(|named| named.machine == *machine);
    let own: BTreeSet<u32> = own.map(|named| named.row.repetition).collect();
    let host = &machine.0;
    match own.len() == all.len() {
        true => host.to_string(),
        false => format!("{host} ({} of {})", own.len(), all.len()),
    }
}

type Rated<'n> = (&'n (String, usize), f64);

/// The rate of each machine: the median of its executions.
fn rates<'n>(group: &[&'n Named<'_>], rate: fn(&NodeRow) -> Option<f64>) -> Vec<Rated<'n>> {
    let mut by_machine: Vec<(&(String, usize), Vec<f64>)> = Vec::new();
    for (machine, rate) in group.iter().filter_map(|one| Some((&one.machine, rate(one.row)?))) {
        match by_machine.iter_mut().find(|(known, _)| *known == machine) {
            Some((_, all)) => all.push(rate),
            None => by_machine.push((machine, vec![rate])),
        }
    }
    by_machine.into_iter().filter_map(|(machine, all)| Some((machine, median(&all)?))).collect()
}

/// Smallest, median, largest.
fn band(rates: &[Rated<'_>]) -> [Cell; 3] {
    let rates = crate::stats::sorted(&rates.iter().map(|(_, rate)| *rate).collect::<Vec<f64>>());
    let (Some(least), Some(median), Some(most)) = (rates.first(), median(&rates), rates.last())
    else {
        return [Cell::None, Cell::None, Cell::None];
    };
    [Cell::Number(*least), Cell::Number(median), Cell::Number(*most)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Terminal;
    use model::run::Header;
    use model::sweep::{Cell, Dimension, Execution, Machines, Sweep};

    fn show(run: &Run) -> String {
        let sheet = sheet(run).expect("a table");
        crate::document::text(&[crate::document::Block::Sheet(sheet)], Terminal::default())
    }

    #[test]
    fn machines_stand_side_by_side_and_the_slowest_is_named() {
        let row = |node: u32, op: &str, mib_s: Option<f64>, ops_s: f64| NodeRow {
            node,
            label: "work".into(),
            op: op.into(),
            bytes: u64::from(mib_s.is_some()),
            mib_s,
            ops_s: Some(ops_s),
            ..NodeRow::default()
        };
        let node_rows = vec![
            row(0, "write", Some(80.0), 8.0),
            row(0, "stat", None, 300.0),
            row(1, "write", Some(20.0), 2.0),
            row(1, "stat", None, 100.0),
            row(2, "write", Some(60.0), 6.0),
            row(2, "stat", None, 200.0),
        ];
        let node = |host: &str| Node { host: host.into(), ..Node::default() };
        let job = Job { nodes: ["a", "b", "c"].map(node).to_vec(), ..Job::default() };
        let header = Header { job: Some(job), node_rows, ..Header::default() };
        let text = show(&Run { run: header, ..Run::default() });
        let words: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        let of = |op: &str| words.iter().find(|line| line.contains(&op)).expect("a line").join(" ");
        assert!(of("write").starts_with("work: write 3 20 MiB/s 60 MiB/s 80 MiB/s"), "{text}");
        assert!(of("write").ends_with(" b") && of("stat").ends_with(" b"), "{text}");
        assert!(sheet(&Run::default()).is_none());
    }

    /// Two points, three times: at the first `b` is slow, at the second `a`, but for one execution.
    #[test]
    fn a_sweep_names_the_slowest_machine_of_each_point() {
        let row = |cell: u32, node: u32, repetition: u32, rate: f64| NodeRow {
            node,
            label: "work".into(),
            op: "write".into(),
            cell,
            repetition,
            bytes: 1,
            mib_s: Some(rate),
            ..NodeRow::default()
        };
        let rates = [[[80.0, 90.0, 70.0], [20.0, 200.0, 30.0]], [[5.0, 6.0, 7.0], [9.0, 1.0, 9.0]]];
        let mut node_rows = Vec::new();
        for (cell, nodes) in (0..).zip(rates) {
            for (node, all) in (0..).zip(nodes) {
                let rows = (0..).zip(all).map(|(at, rate)| row(cell, node, at, rate));
                node_rows.extend(rows);
            }
        }
        let node = |host: &str, rank| Node {
            host: host.into(),
            ranks: vec![[rank, rank]],
            ..Node::default()
        };
        let job = Job { nodes: vec![node("a", 0), node("b", 1)], ..Job::default() };
        let dimension = Dimension {
            name: "n".into(),
            values: vec!["1".into(), "2".into()],
            ..Dimension::default()
        };
        let cell = |cell| Cell { cell, ranks: 2, ..Cell::default() };
        let sweep = Sweep {
            dimensions: vec![dimension],
            cells: vec![cell(0), cell(1)],
            ..Sweep::default()
        };
        let header = Header { job: Some(job), node_rows, sweep: Some(sweep), ..Header::default() };
        let mut run = Run { run: header, ..Run::default() };
        let text = show(&run);
        let of = |text: &str, at: usize| {
            let lines =
                text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
            lines.filter(|line| line.starts_with("work: write")).nth(at).expect("a line")
        };
        assert!(text.contains("n=1\n") && text.contains("n=2\n"), "{text}");
        assert!(of(&text, 0).starts_with("work: write 2 30 MiB/s 55 MiB/s 80 MiB/s"), "{text}");
        assert!(of(&text, 0).ends_with(" b") && of(&text, 1).ends_with(" a"), "{text}");
        // At the second point the first two executions ran before the sweep was resumed on c and d.
        let before = run.clone();
        let sweep = run.run.sweep.as_mut().expect("it is one");
        sweep.machines =
            vec![Machines { nodes: vec![node("c", 0), node("d", 1)], ..Machines::default() }];
        sweep.order = (0..2)
            .map(|repetition| Execution {
                cell: 1,
                repetition,
                machines: Some(0),
                ..Execution::default()
            })
            .collect();
        let text = show(&run);
        assert!(of(&text, 0).ends_with(" b"), "{text}");
        // c had 5 and 6, d 9 and 1; a had 7 and b 9, once.
        let line = of(&text, 1);
        assert!(line.starts_with("work: write 4 5 MiB/s 6.250 MiB/s 9 MiB/s"), "{text}");
        assert!(line.ends_with(" d (2 of 3)") && text.contains("took part in"), "{text}");
        run = before;
        // Many points: the lines are bounded, and it says so.
        let rows = run.run.node_rows.clone();
        if let Some(sweep) = &mut run.run.sweep {
            sweep.cells = (0..200).map(cell).collect();
            sweep.dimensions[0].values = (0..200).map(|n| n.to_string()).collect();
        }
        run.run.node_rows = (0..200)
            .flat_map(|cell| rows[..6].iter().map(move |row| NodeRow { cell, ..row.clone() }))
            .collect();
        let text = show(&run);
        assert!(text.lines().count() < LINES + 10, "{text}");
        assert!(text.contains("more lines: node_rows in run.json"), "{text}");
    }
}

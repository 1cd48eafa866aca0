//! Machines of a job side by side: the band of their rates, and which of them is the slowest.

use super::grid::{Cell, Column, Grid, Kind, Line};
use super::{Paint, Sheet, Terminal, paint_lines};
use crate::nodes::kernels;
use crate::text::{escape, flow};
use model::run::{Job, NodeRow, NodeUse, Run};
use model::units::{Measure, format_bytes};

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
    "Over nodes: the rate of each, by the time in which its ranks were in the label.";

/// Machines whose load and network are told; run.json has all of them.
const NODES: usize = 8;

/// The table; "" for a run on one machine, and for a sweep.
pub fn render(run: &Run, terminal: Terminal) -> String {
    let Some(sheet) = sheet(run) else { return String::new() };
    let notes: Vec<String> = sheet.notes.iter().map(|note| flow(note, terminal.columns)).collect();
    let notes = paint_lines(&notes.join("\n"), Paint::Faint, terminal);
    format!("{}\n{notes}", sheet.grid.draw(terminal))
}

/// The table; none for a run on one machine, and for a sweep.
pub fn sheet(run: &Run) -> Option<Sheet> {
    let job = run.run.job.as_ref().filter(|_| run.run.sweep.is_none())?;
    let lines: Vec<Line> = groups(&run.run.node_rows)
        .iter()
        .map(|group| Line::Cells { cells: cells(group, job), bad: false })
        .collect();
    if lines.is_empty() {
        return None;
    }
    let mut grid = Grid { columns: COLUMNS.to_vec(), lines };
    let moves_bytes = run.run.node_rows.iter().any(|row| row.bytes > 0);
    grid.retain(|at| !BYTE_RATES.contains(&at) || moves_bytes);
    let told = run.run.node_use.iter().filter_map(|entry| used(entry, job)).take(NODES);
    let notes = std::iter::once(LEGEND.to_string()).chain(kernels(job)).chain(told).collect();
    Some(Sheet { name: "nodes", grid, notes })
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
    (!parts.is_empty()).then(|| format!("{}: {}", escape(host), parts.join(", ")))
}

/// Rows of the same label and operation, in order of their first appearance.
fn groups(rows: &[NodeRow]) -> Vec<Vec<&NodeRow>> {
    let mut groups: Vec<Vec<&NodeRow>> = Vec::new();
    for row in rows {
        let same =
            |group: &&mut Vec<&NodeRow>| group[0].op == row.op && group[0].label == row.label;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

fn cells(group: &[&NodeRow], job: &Job) -> Vec<Cell> {
    let first = group[0];
    let name = match first.label.as_str() {
        "" => first.op.clone(),
        label => format!("{label}: {}", first.op),
    };
    let by_bytes = group.iter().any(|row| row.mib_s.is_some());
    let rate = |row: &NodeRow| if by_bytes { row.mib_s } else { row.ops_s };
    let slowest = group.iter().filter(|row| rate(row).is_some());
    let slowest = slowest.min_by(|a, b| rate(a).unwrap_or(0.0).total_cmp(&rate(b).unwrap_or(0.0)));
    let host = slowest.and_then(|row| job.nodes.get(row.node as usize));
    let mut cells = vec![Cell::Text(escape(&name).to_string()), Cell::Count(group.len() as u64)];
    cells.extend(band(group.iter().filter_map(|row| row.mib_s).collect()));
    cells.extend(band(group.iter().filter_map(|row| row.ops_s).collect()));
    cells.push(host.map_or(Cell::None, |node| Cell::Text(escape(&node.host).to_string())));
    cells
}

/// Smallest, median, largest.
fn band(mut rates: Vec<f64>) -> [Cell; 3] {
    rates.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (rates.first(), rates.last()) else {
        return [Cell::None, Cell::None, Cell::None];
    };
    let middle = rates.len() / 2;
    let median = match rates.len() % 2 {
        0 => (rates[middle - 1] + rates[middle]) / 2.0,
        _ => rates[middle],
    };
    [Cell::Number(*least), Cell::Number(median), Cell::Number(*most)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::run::{Header, Node};

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
        let text = render(&Run { run: header, ..Run::default() }, Terminal::default());
        let words: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        let of = |op: &str| words.iter().find(|line| line.contains(&op)).expect("a line").join(" ");
        assert!(of("write").starts_with("work: write 3 20 MiB/s 60 MiB/s 80 MiB/s"), "{text}");
        assert!(of("write").ends_with(" b") && of("stat").ends_with(" b"), "{text}");
        assert_eq!(render(&Run::default(), Terminal::default()), "");
    }
}

//! What each machine of a job did: its ranks merge what they recorded among themselves, and the first
//! of them tells rank 0. Rows without parts; all machines do it at the same time.

use super::team::Line;
use engine::record::{RankRecord, collect_over};
use model::Plan;
use model::run::{NodeRow, Row};
use mpi::World;

/// The rows of all machines on rank 0, machine by machine; none on one machine. All ranks of the
/// world call it.
pub fn rows(
    world: &World,
    record: Option<&RankRecord>,
    plan: &Plan,
) -> Result<Vec<NodeRow>, String> {
    if world.nodes < 2 {
        return Ok(Vec::new());
    }
    let told = |error: mpi::MpiError| error.to_string();
    let machine = world.machine().map_err(told)?;
    let Some(merged) = collect_over(record, plan, &mut Line(&machine))? else {
        return Ok(Vec::new());
    };
    let whole = merged.rows.iter().filter(|row| row.part_of.is_none());
    let own: Vec<NodeRow> = whole.map(|row| of(row, world.node)).collect();
    if world.rank > 0 {
        let bytes = postcard::to_stdvec(&own).map_err(|error| error.to_string())?;
        world.send(0, &bytes).map_err(told)?;
        return Ok(own);
    }
    let mut all = own;
    for node in 1..world.nodes {
        let first = world.machines.iter().position(|machine| *machine == node).unwrap_or(0);
        let bytes = world.receive(first as u32).map_err(told)?;
        let rows: Vec<NodeRow> = postcard::from_bytes(&bytes).map_err(|error| error.to_string())?;
        all.extend(rows);
    }
    Ok(all)
}

fn of(row: &Row, node: u32) -> NodeRow {
    NodeRow {
        node,
        label: row.label.clone(),
        op: row.op.clone(),
        cell: row.cell,
        repetition: row.repetition,
        count: row.count,
        bytes: row.bytes,
        mean_ns: row.mean_ns,
        mib_s: row.mib_s,
        ops_s: row.ops_s,
    }
}

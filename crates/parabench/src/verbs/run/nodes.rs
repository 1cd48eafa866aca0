//! What each machine of a job did: its ranks merge what they recorded among themselves, and the first
//! of them tells rank 0, with its load and network. Rows without parts; all machines do it at the same
//! time.

use super::team::Line;
use engine::record::collect_over;
use model::Plan;
use model::run::{NodeRow, NodeUse, Row};
use mpi::{RankOutcome, World};

/// What is known of the machines of an execution, machine by machine; nothing on one machine.
#[derive(Default)]
pub struct Nodes {
    /// What the ranks of each did.
    pub rows: Vec<NodeRow>,
    /// What was seen on each meanwhile.
    pub uses: Vec<NodeUse>,
}

/// The machines' words, on rank 0. All ranks of the world call it.
pub fn gather(world: &World, ran: &RankOutcome, plan: &Plan) -> Result<Nodes, String> {
    if world.nodes < 2 {
        return Ok(Nodes::default());
    }
    let told = |error: mpi::MpiError| error.to_string();
    let machine = world.machine().map_err(told)?;
    let Some(merged) = collect_over(ran.record.as_ref().ok(), plan, &mut Line(&machine))? else {
        return Ok(Nodes::default());
    };
    let whole = merged.rows.iter().filter(|row| row.part_of.is_none());
    let rows: Vec<NodeRow> = whole.map(|row| of(row, world.node)).collect();
    let own = (rows, used(ran, world.node));
    if world.rank > 0 {
        let bytes = postcard::to_stdvec(&own).map_err(|error| error.to_string())?;
        world.send(0, &bytes).map_err(told)?;
        return Ok(Nodes::default());
    }
    let mut all = Nodes { rows: own.0, uses: vec![own.1] };
    for node in 1..world.nodes {
        let first = world.machines.iter().position(|machine| *machine == node).unwrap_or(0);
        let bytes = world.receive(first as u32).map_err(told)?;
        let (rows, used): (Vec<NodeRow>, NodeUse) =
            postcard::from_bytes(&bytes).map_err(|error| error.to_string())?;
        all.rows.extend(rows);
        all.uses.push(used);
    }
    Ok(all)
}

fn used(ran: &RankOutcome, node: u32) -> NodeUse {
    let [received_bytes, sent_bytes] = match ran.network {
        Some(bytes) => bytes.map(Some),
        None => [None; 2],
    };
    let load =
        |of: fn(&model::run::Contention) -> Option<f64>| ran.contention.as_ref().and_then(of);
    NodeUse {
        node,
        load_before: load(|machine| machine.load_before),
        load_after: load(|machine| machine.load_after),
        received_bytes,
        sent_bytes,
        ..NodeUse::default()
    }
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

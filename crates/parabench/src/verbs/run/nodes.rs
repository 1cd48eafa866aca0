//! What each machine of a job did: its ranks merge what they recorded among themselves, and the first
//! of them tells rank 0, with its load, network and storage. Rows without parts; all machines do it at the
//! same time.

use super::team::Line;
use engine::config::{BackendKind, Config};
use engine::host;
use engine::record::collect_over;
use model::Plan;
use model::run::{NodeRow, NodeStorage, NodeUse, Row};
use mpi::{RankOutcome, World};
use serde::{Deserialize, Serialize};

/// What is known of the machines of an execution, machine by machine; nothing on one machine.
#[derive(Default)]
pub struct Nodes {
    /// What the ranks of each did.
    pub rows: Vec<NodeRow>,
    /// What was seen on each meanwhile.
    pub uses: Vec<NodeUse>,
}

/// What one machine tells rank 0.
#[derive(Deserialize, Serialize)]
struct Told {
    rows: Vec<NodeRow>,
    used: NodeUse,
}

/// The machines' words, on rank 0. All ranks of the world call it.
pub fn gather(
    world: &World,
    ran: &RankOutcome,
    plan: &Plan,
    config: &Config,
) -> Result<Nodes, String> {
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
    let own = Told { rows, used: used(ran, world.node, storage(plan, config)) };
    if world.rank > 0 {
        // Some of its fields are left out where there is nothing to tell.
        let bytes = serde_json::to_vec(&own).map_err(|error| error.to_string())?;
        world.send(0, &bytes).map_err(told)?;
        return Ok(Nodes::default());
    }
    let mut all = Nodes { rows: own.rows, uses: vec![own.used] };
    for node in 1..world.nodes {
        let first = world.machines.iter().position(|machine| *machine == node).unwrap_or(0);
        let bytes = world.receive(first as u32).map_err(told)?;
        let Told { rows, used } =
            serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        all.rows.extend(rows);
        all.uses.push(used);
    }
    keep_what_differs(&mut all.uses);
    Ok(all)
}

/// What lies below the directories of the run here.
fn storage(plan: &Plan, config: &Config) -> Vec<NodeStorage> {
    if config.backend != BackendKind::Posix {
        return Vec::new();
    }
    let names = plan.directories.iter().map(|directory| &*directory.name);
    let further = names.zip(config.directories.iter().map(|(path, _)| path));
    let all = std::iter::once(("", &config.directory)).chain(further);
    all.map(|(name, path)| NodeStorage { name: name.into(), storage: host::storage(path) })
        .collect()
}

/// The storage of the first machine stands in the run's header; of the others only what is unlike it.
fn keep_what_differs(uses: &mut [NodeUse]) {
    let Some((first, others)) = uses.split_first_mut() else { return };
    let first = std::mem::take(&mut first.storage);
    for used in others {
        let is_like = |(own, known): (&NodeStorage, &NodeStorage)| {
            own.storage.is_mounted_like(&known.storage)
        };
        let like: Vec<bool> = used.storage.iter().zip(&first).map(is_like).collect();
        let mut like = like.into_iter();
        used.storage.retain(|_| like.next() != Some(true));
    }
}

fn used(ran: &RankOutcome, node: u32, storage: Vec<NodeStorage>) -> NodeUse {
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
        storage,
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::run::Storage;

    #[test]
    fn storage_like_that_of_the_first_machine_is_told_once() {
        let below = |name: &str, file_system: &str| NodeStorage {
            name: name.into(),
            storage: Storage { file_system: file_system.into(), ..Storage::default() },
        };
        let used =
            |storage: &[NodeStorage]| NodeUse { storage: storage.to_vec(), ..NodeUse::default() };
        let mut uses = [
            used(&[below("", "nfs4"), below("fast", "xfs")]),
            used(&[below("", "nfs4"), below("fast", "tmpfs")]),
            used(&[below("", "nfs4"), below("fast", "xfs")]),
        ];
        keep_what_differs(&mut uses);
        let left = uses.map(|used| used.storage);
        assert_eq!(left, [vec![], vec![below("fast", "tmpfs")], vec![]]);
    }
}

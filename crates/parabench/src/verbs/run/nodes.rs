//! The machines of a job after an execution: what each of them did, the records of their ranks for the event
//! table, and whether readers had files in the page cache of their machine.
//!
//! The ranks of each machine merge their records among themselves, and the first
//! of them tells rank 0, with its load, network and storage. Rows without parts; all machines do it at the
//! same time.

use engine::collect::{Link, collect_over};
use engine::config::{BackendKind, Config};
use engine::host;
use engine::own_folder::OwnFolder;
use engine::recorder::RankRecord;
use model::Plan;
use model::run::{NodeRow, NodeStorage, NodeUse, Row};
use mpi::world::Reduce;
use mpi::{MpiError, RankOutcome, World};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Messages of the merging over MPI.
pub struct Line<'a>(pub &'a World);

impl Link for Line<'_> {
    fn rank(&self) -> u32 {
        self.0.rank
    }

    fn size(&self) -> u32 {
        self.0.size
    }

    fn send(&mut self, to: u32, bytes: &[u8]) -> Result<(), String> {
        self.0.send(to, bytes).map_err(|error| error.to_string())
    }

    fn receive(&mut self, from: u32) -> Result<Vec<u8>, String> {
        self.0.receive(from).map_err(|error| error.to_string())
    }

    fn broadcast(&mut self, mut bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        self.0.broadcast(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }
}

/// Figures of the machines of an execution; empty on one machine.
#[derive(Default, Deserialize, Serialize)]
pub struct Nodes {
    /// Rows of the ranks of each machine.
    pub rows: Vec<NodeRow>,
    /// Load, network and storage of each machine meanwhile.
    pub uses: Vec<NodeUse>,
}

/// The machines' words, on rank 0. All ranks of the world call it.
pub fn gather_nodes(
    world: &World,
    ran: &RankOutcome,
    plan: &Plan,
    config: &Config,
) -> Result<Nodes, String> {
    if world.nodes < 2 {
        return Ok(Nodes::default());
    }
    let told = |error: MpiError| error.to_string();
    let machine = world.machine().map_err(told)?;
    let Some(merged) = collect_over(ran.record.as_ref().ok(), plan, &mut Line(&machine))? else {
        return Ok(Nodes::default());
    };
    let whole = merged.rows.iter().filter(|row| row.part_of.is_none());
    let rows: Vec<NodeRow> = whole.map(|row| node_row(row, world.node)).collect();
    let mut all = Nodes { rows, uses: vec![used(ran, world.node, storage(plan, config))] };
    if world.rank > 0 {
        // Some of its fields are left out where there is nothing to tell.
        let bytes = serde_json::to_vec(&all).map_err(|error| error.to_string())?;
        world.send(0, &bytes).map_err(told)?;
        return Ok(Nodes::default());
    }
    for node in 1..world.nodes {
        let first = world.machines.iter().position(|machine| *machine == node).unwrap_or(0);
        let bytes = world.receive(first as u32).map_err(told)?;
        let other: Nodes = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        all.rows.extend(other.rows);
        all.uses.extend(other.uses);
    }
    keep_what_differs(&mut all.uses);
    Ok(all)
}

/// The storage below the directories of the run on this machine.
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

/// The storage of the first machine is in the run's header; of the others only differences are kept.
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
        |of: fn(&model::run::Contention) -> Option<f64>| ran.all.contention.as_ref().and_then(of);
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

fn node_row(row: &Row, node: u32) -> NodeRow {
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

/// Bytes of a record that travel at one time.
const PIECE_BYTES: usize = 16 << 20;

/// Brings the records that are in no file on rank 0's machine into a folder there, below `results`,
/// one after the other: no machine may have memory for all. `None`: there are no such. All ranks
/// call it; `record`: the caller's own; `is_hidden`: it is one of those.
pub fn gather_records(
    world: &World,
    record: Option<&RankRecord>,
    is_hidden: bool,
    results: Option<&Path>,
) -> Result<Option<OwnFolder>, MpiError> {
    let mut hidden = vec![0; world.size as usize];
    hidden[world.rank as usize] = i64::from(is_hidden && record.is_some());
    world.reduce_all(world.all, &mut hidden, Reduce::Sum)?;
    let is_needed = world.rank == 0 && hidden.contains(&1);
    // Without it the events are missing, and the run says so.
    let folder = results.filter(|_| is_needed).and_then(|to| OwnFolder::fresh(to, "records-").ok());
    let to = folder.as_ref().map(OwnFolder::path);
    let bytes = record.map_or(&[][..], RankRecord::as_bytes);
    for (rank, _) in (0..).zip(&hidden).filter(|(_, hidden)| **hidden > 0) {
        match world.rank {
            0 if rank == 0 => Copy::open(to, 0).write(bytes),
            0 => receive(world, rank, to)?,
            own if own == rank => send(world, bytes)?,
            _ => {}
        }
    }
    Ok(folder)
}

/// A message without bytes is the end.
fn send(world: &World, bytes: &[u8]) -> Result<(), MpiError> {
    bytes.chunks(PIECE_BYTES).try_for_each(|piece| world.send(0, piece))?;
    world.send(0, &[])
}

/// Whatever becomes of the file, all pieces are taken: the other rank waits for that.
fn receive(world: &World, from: u32, to: Option<&Path>) -> Result<(), MpiError> {
    let mut copy = Copy::open(to, from);
    loop {
        let piece = world.receive(from)?;
        if piece.is_empty() {
            return Ok(());
        }
        copy.write(&piece);
    }
}

/// The copy of a rank's file on rank 0's machine: whole, or not there. Then its events are missing, which the run says.
struct Copy {
    path: PathBuf,
    file: Option<File>,
}

impl Copy {
    fn open(to: Option<&Path>, rank: u32) -> Copy {
        let path = to.unwrap_or(Path::new("")).join(format!("rank-{rank}"));
        let file = to.and_then(|_| File::create_new(&path).ok());
        Copy { path, file }
    }

    fn write(&mut self, bytes: &[u8]) {
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes));
        if written.is_err() {
            self.file = None;
            let _ = fs::remove_file(&self.path);
        }
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

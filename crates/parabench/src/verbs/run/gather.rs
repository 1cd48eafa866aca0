//! What ranks on other machines have recorded, brought to rank 0 after the run, so that all events
//! come into one table. Until then each machine keeps in its memory what its ranks record.

use engine::own_folder::OwnFolder;
use engine::record::RankRecord;
use mpi::world::Reduce;
use mpi::{MpiError, World};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Bytes of a record that travel at one time.
const PIECE_BYTES: usize = 16 << 20;

/// Brings the records that are in no file on rank 0's machine into a folder there, below `results`,
/// one after the other: no machine may have memory for all. `None`: there are no such. All ranks
/// call it; `record`: the caller's own; `is_hidden`: it is one of those.
pub fn gather(
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
            0 if rank == 0 => write(open(to, 0).as_mut(), bytes),
            0 => receive(world, rank, to)?,
            own if own == rank => send(world, bytes)?,
            _ => {}
        }
    }
    Ok(folder)
}

/// What comes without bytes is the end.
fn send(world: &World, bytes: &[u8]) -> Result<(), MpiError> {
    bytes.chunks(PIECE_BYTES).try_for_each(|piece| world.send(0, piece))?;
    world.send(0, &[])
}

/// Whatever becomes of the file, all pieces are taken: the other rank waits for that.
fn receive(world: &World, from: u32, to: Option<&Path>) -> Result<(), MpiError> {
    let mut file = open(to, from);
    loop {
        let piece = world.receive(from)?;
        if piece.is_empty() {
            return Ok(());
        }
        write(file.as_mut(), &piece);
    }
}

fn open(to: Option<&Path>, rank: u32) -> Option<File> {
    File::create_new(to?.join(format!("rank-{rank}"))).ok()
}

/// A file that is not whole is read as far as it goes, and its reader says so.
fn write(file: Option<&mut File>, bytes: &[u8]) {
    let _ = file.map(|file| file.write_all(bytes));
}

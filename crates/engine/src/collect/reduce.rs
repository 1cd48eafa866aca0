//! Merging along a tree: ranks without common memory send what they merged so far to
//! one another, log2(ranks) times one after the other, until rank 0 has it all.

use model::merge::Merge;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Messages between the ranks of a run. Errors are sentences; after one nothing more can
/// be sent.
pub trait Link {
    /// This rank.
    fn rank(&self) -> u32;

    /// Number of ranks.
    fn size(&self) -> u32;

    /// Sends bytes to another rank, which receives them.
    fn send(&mut self, to: u32, bytes: &[u8]) -> Result<(), String>;

    /// The next bytes that another rank sends.
    fn receive(&mut self, from: u32) -> Result<Vec<u8>, String>;

    /// Rank 0's bytes on every rank. All ranks call it.
    fn broadcast(&mut self, bytes: Vec<u8>) -> Result<Vec<u8>, String>;
}

/// Merges what all ranks have; only rank 0 gets the result. All ranks call it.
///
/// # Errors
/// The link's, and bytes that cannot be understood.
pub fn reduce<M>(own: M, link: &mut dyn Link) -> Result<Option<M>, String>
where
    M: Merge + Serialize + DeserializeOwned,
{
    let (rank, size) = (link.rank(), link.size());
    let mut merged = own;
    let mut step = 1;
    while step < size {
        if rank % (2 * step) != 0 {
            link.send(rank - step, &to_bytes(&merged)?)?;
            return Ok(None);
        }
        if rank + step < size {
            let theirs: M = from_bytes(&link.receive(rank + step)?)?;
            merged.merge_from(theirs);
        }
        step *= 2;
    }
    Ok(Some(merged))
}

pub(super) fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
    postcard::to_stdvec(value).map_err(|error| format!("cannot pack what was measured: {error}"))
}

pub(super) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let wrong = |error| format!("another rank sent what is no part of a result: {error}");
    postcard::from_bytes(bytes).map_err(wrong)
}

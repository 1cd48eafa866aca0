//! Merging along a tree: ranks without common memory send what they merged so far to
//! one another, log2(ranks) times one after the other, until rank 0 has it all.

use super::{Collected, Outline, Partial};
use crate::record::RankRecord;
use model::Plan;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Figures of some ranks that can be added to those of others. Associative and commutative;
/// the default is neutral.
pub trait Merge: Default {
    /// Both together. A rank must stand in one of the two only.
    fn merge(self, other: Self) -> Self;
}

/// Messages between the ranks of a run. Errors are sentences; after one nothing more can
/// be sent.
pub trait Link {
    /// This rank.
    fn rank(&self) -> u32;

    /// Number of ranks.
    fn size(&self) -> u32;

    /// Sends bytes to another rank, which receives them.
    fn send(&mut self, to: u32, bytes: &[u8]) -> Result<(), String>;

    /// What another rank sends.
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
            let theirs = from_bytes(&link.receive(rank + step)?)?;
            merged = merged.merge(theirs);
        }
        step *= 2;
    }
    Ok(Some(merged))
}

/// What [`super::collect`] gives, for ranks that each have their own record (`None`: it cannot
/// be read); only rank 0 gets the result. All ranks call it.
///
/// # Errors
/// As for [`reduce`].
pub fn collect_over(
    record: Option<&RankRecord>,
    plan: &Plan,
    link: &mut dyn Link,
) -> Result<Option<Collected>, String> {
    let outline = reduce(record.map(Outline::of).unwrap_or_default(), link)?;
    let bytes = outline.map_or(Ok(Vec::new()), |outline| to_bytes(&outline))?;
    let outline: Outline = from_bytes(&link.broadcast(bytes)?)?;
    let mut partial = Partial::default();
    if let Some(record) = record {
        partial.add_rank(record, &outline);
    }
    Ok(reduce(partial, link)?.map(|partial| partial.finish(&outline, plan)))
}

fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
    postcard::to_stdvec(value).map_err(|error| format!("cannot pack what was measured: {error}"))
}

fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let wrong = |error| format!("another rank sent what is no part of a result: {error}");
    postcard::from_bytes(bytes).map_err(wrong)
}

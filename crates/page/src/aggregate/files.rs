//! The ranks that touched each part of a file.

use super::extents::end_bytes;
use super::scope::{Chosen, Scope};
use model::pattern::Run;
use parquet::errors::Result;
use report::events::Table;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Parts of a file; their width doubles until the file fits.
const PARTS: usize = 128;

/// The owner of a part of a file: the rank that moved its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// Nobody.
    #[default]
    Nobody,
    /// One rank alone.
    Rank(u32),
    /// Several ranks.
    Several,
    /// Several ranks, and bytes of it more than one.
    Shared,
}

impl Owner {
    fn or(self, other: Owner) -> Owner {
        match (self, other) {
            (Owner::Nobody, other) => other,
            (own, Owner::Nobody) => own,
            (own, other) if own == other => own,
            (Owner::Shared, _) | (_, Owner::Shared) => Owner::Shared,
            _ => Owner::Several,
        }
    }
}

/// Parts of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileParts {
    /// Its path, as in the event table.
    pub path: String,
    /// Bytes moved to or from it.
    pub bytes: u64,
    /// Width of a part, a power of two.
    pub part_bytes: u64,
    /// Its parts from the start of the file.
    pub owners: Vec<Owner>,
    /// All bytes were compared: parts of several ranks that are not [`Owner::Shared`] hold other
    /// bytes of each.
    pub is_compared: bool,
}

impl FileParts {
    /// Ranks moved the same bytes.
    pub fn is_shared(&self) -> bool {
        self.owners.contains(&Owner::Shared)
    }

    /// Several ranks moved bytes of one part, and nobody knows whether the same ones.
    pub fn is_open(&self) -> bool {
        !self.is_compared && self.owners.contains(&Owner::Several)
    }
}

/// The files with most bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileMap {
    /// Largest first.
    pub files: Vec<FileParts>,
    /// Files with bytes that are not among `files`.
    pub more: usize,
}

/// Parts of a file while it is counted.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    shift: u32,
    owners: Vec<Owner>,
    touches: Touches,
}

impl Parts {
    fn new() -> Parts {
        Parts { shift: 0, owners: vec![Owner::Nobody; PARTS], touches: Touches::default() }
    }

    /// Adds a run of extents that a rank moved.
    pub fn add(&mut self, rank: u32, run: &Run) {
        self.own(rank, run);
        self.touches.add(rank, *run);
    }

    /// Doubles the width of the parts until it is `1 << shift`.
    fn widen(&mut self, shift: u32) {
        while self.shift < shift {
            for at in 0..PARTS {
                let old = |at: usize| self.owners.get(at).copied().unwrap_or_default();
                self.owners[at] = old(2 * at).or(old(2 * at + 1));
            }
            self.shift += 1;
        }
    }

    fn own(&mut self, rank: u32, run: &Run) {
        let last_byte = end_bytes(run).saturating_sub(1);
        let needed = (u64::BITS - last_byte.leading_zeros()).saturating_sub(PARTS.ilog2());
        self.widen(needed);
        let rank = Owner::Rank(rank);
        if run.count == 1 || run.stride_bytes >> self.shift == 0 {
            // No part lies between two extents.
            return self.mark(run.offset_bytes..last_byte.saturating_add(1), rank);
        }
        for i in 0..run.count {
            let start = run.offset_bytes.saturating_add(i.saturating_mul(run.stride_bytes));
            self.mark(start..start.saturating_add(run.length_bytes), rank);
        }
    }

    /// Marks the parts in which a range lies.
    fn mark(&mut self, range: Range<u64>, as_what: Owner) {
        let part = |byte: u64| ((byte >> self.shift) as usize).min(PARTS - 1);
        let parts = part(range.start)..=part(range.end.saturating_sub(1).max(range.start));
        for owner in &mut self.owners[parts] {
            *owner = owner.or(as_what);
        }
    }

    /// Marks the parts with bytes that several ranks moved; false: they cannot be compared.
    fn compare(&mut self) -> bool {
        if !self.owners.contains(&Owner::Several) {
            return true;
        }
        let shared = self.touches.shared();
        shared.iter().flatten().for_each(|range| self.mark(range.clone(), Owner::Shared));
        shared.is_some()
    }
}

/// Files while they are counted.
#[derive(Debug)]
pub(crate) struct Files {
    chosen: Vec<Chosen>,
    parts: HashMap<i32, Parts>,
    more: usize,
}

impl Files {
    pub fn new(scope: &Scope) -> Files {
        let parts = scope.files.iter().map(|file| (file.id, Parts::new())).collect();
        Files { chosen: scope.files.clone(), parts, more: scope.more_files }
    }

    /// The parts of a file, if they are counted.
    pub fn parts(&mut self, path_id: i32) -> Option<&mut Parts> {
        self.parts.get_mut(&path_id)
    }

    pub fn finish(mut self, table: &Table) -> Result<FileMap> {
        let names = self.names(table)?;
        let file = |file: Chosen| {
            let mut parts = self.parts.remove(&file.id)?;
            let is_compared = parts.compare();
            let used = parts.owners.iter().rposition(|owner| *owner != Owner::Nobody);
            parts.owners.truncate(used.map_or(0, |last| last + 1));
            Some(FileParts {
                path: names.get(&file.id).cloned().unwrap_or_default(),
                bytes: file.bytes,
                part_bytes: 1 << parts.shift,
                owners: parts.owners,
                is_compared,
            })
        };
        Ok(FileMap { files: self.chosen.into_iter().filter_map(file).collect(), more: self.more })
    }

    /// Paths of the files, out of the row groups that name them first.
    fn names(&self, table: &Table) -> Result<HashMap<i32, String>> {
        let mut names = HashMap::new();
        for file in &self.chosen {
            if names.contains_key(&file.id) {
                continue;
            }
            let ids = table.numbers(file.group, "path_id")?;
            for (id, text) in ids.into_iter().zip(table.texts(file.group, "path")?) {
                let (id, Some(text)) = (id as i32, text) else { continue };
                if self.parts.contains_key(&id) && !names.contains_key(&id) {
                    names.insert(id, text.as_utf8()?.to_string());
                }
            }
        }
        Ok(names)
    }
}

/// Extents of a file that are compared.
const MAX_EXTENTS: u64 = 1 << 20;

/// Runs that are kept of one file.
const MAX_RUNS: usize = 1 << 16;

/// The bytes of one file that each rank moved, while they are collected.
#[derive(Clone, Debug, Default)]
struct Touches {
    runs: HashSet<(u32, Run)>,
    /// A run that may continue with the next operation.
    open: Option<(u32, Run)>,
    /// There were more different runs than are kept.
    overflow: bool,
}

impl Touches {
    fn add(&mut self, rank: u32, run: Run) {
        if self.overflow {
            return;
        }
        if let Some((last_rank, last)) = &mut self.open
            && *last_rank == rank
            && let Some(joined) = joined(last, &run)
        {
            *last = joined;
            return;
        }
        self.runs.extend(self.open.replace((rank, run)));
        if self.runs.len() > MAX_RUNS {
            self.overflow = true;
            self.runs = HashSet::new();
        }
    }

    /// The ranges that several ranks moved, in ascending order of their starts; `None`: there is too
    /// much to compare.
    fn shared(&self) -> Option<Vec<Range<u64>>> {
        let runs = || self.runs.iter().chain(&self.open).copied();
        let extents = runs().map(|(_, run)| run.count).fold(0, u64::saturating_add);
        if self.overflow || extents > MAX_EXTENTS {
            return None;
        }
        let mut extents: Vec<(u64, u64, u32)> = runs().flat_map(extents_of).collect();
        extents.sort_unstable();
        Some(overlaps(&extents))
    }
}

/// Start, end and rank of each extent.
fn extents_of((rank, run): (u32, Run)) -> impl Iterator<Item = (u64, u64, u32)> {
    (0..run.count).map(move |i| {
        let start = run.offset_bytes.saturating_add(i.saturating_mul(run.stride_bytes));
        (start, start.saturating_add(run.length_bytes), rank)
    })
}

/// Both as one run.
fn joined(a: &Run, b: &Run) -> Option<Run> {
    if b.count != 1 {
        return None;
    }
    let distance = b.offset_bytes.checked_sub(a.offset_bytes)?;
    if a.count == 1 && distance == a.length_bytes {
        return Some(Run::single(a.offset_bytes, a.length_bytes.saturating_add(b.length_bytes)));
    }
    let goes_on = match a.count {
        1 => distance > a.length_bytes,
        count => distance == a.stride_bytes.saturating_mul(count),
    };
    (goes_on && a.length_bytes == b.length_bytes).then(|| Run {
        stride_bytes: if a.count == 1 { distance } else { a.stride_bytes },
        count: a.count + 1,
        ..*a
    })
}

/// Where extents of different ranks overlap. The two farthest ends of different ranks tell it.
fn overlaps(extents: &[(u64, u64, u32)]) -> Vec<Range<u64>> {
    let mut found = Vec::new();
    let (mut farthest, mut second): ((u64, u32), (u64, u32)) = ((0, u32::MAX), (0, u32::MAX));
    for &(start, end, rank) in extents {
        let other_end = if farthest.1 == rank { second.0 } else { farthest.0 };
        if start < other_end.min(end) {
            found.push(start..other_end.min(end));
        }
        if rank == farthest.1 {
            farthest.0 = farthest.0.max(end);
        } else if end > farthest.0 {
            (farthest, second) = ((end, rank), farthest);
        } else if end > second.0 {
            second = (end, rank);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn touches(accesses: &[(u32, u64, u64)]) -> Touches {
        let mut touches = Touches::default();
        for (rank, offset, len) in accesses {
            touches.add(*rank, Run::single(*offset, *len));
        }
        touches
    }

    proptest! {
        #[test]
        fn shared_bytes_are_found_one_by_one(
            accesses in prop::collection::vec((0..3u32, 0..40u64, 1..6u64), 0..20),
        ) {
            let holders = |byte: u64| {
                let of = |a: &&(u32, u64, u64)| (a.1..a.1 + a.2).contains(&byte);
                accesses.iter().filter(of).map(|a| a.0).collect::<HashSet<u32>>().len()
            };
            let ranges = touches(&accesses).shared().unwrap();
            for byte in 0..50 {
                let is_shared = ranges.iter().any(|range| range.contains(&byte));
                prop_assert_eq!(is_shared, holders(byte) > 1, "byte {}", byte);
            }
        }
    }

    #[test]
    fn loops_become_runs() {
        let strided: Vec<_> = (0..5000).map(|i| (0, i * 8192, 4096)).collect();
        let contiguous: Vec<_> = (0..5000).map(|i| (1, 9 + i * 100, 100)).collect();
        let touches = touches(&[strided, contiguous].concat());
        let runs = touches.runs.len() + usize::from(touches.open.is_some());
        assert_eq!(runs, 2, "{touches:?}");
        assert!(!touches.shared().unwrap().is_empty());
    }

    #[test]
    fn too_much_is_not_compared() {
        let scattered: Vec<_> = (0..3 * MAX_RUNS as u64).map(|i| (0, i * i * 10, 5)).collect();
        assert_eq!(touches(&scattered).shared(), None);
        let mut many = Touches::default();
        let run = Run { offset_bytes: 0, length_bytes: 1, stride_bytes: 2, count: MAX_EXTENTS + 1 };
        many.add(0, run);
        assert_eq!(many.shared(), None);
    }
}

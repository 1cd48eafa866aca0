//! The ranks that touched each part of a file.

use super::extents::end_bytes;
use super::scan::{Row, path_texts};
use crate::events::Table;
use model::pattern::Run;
use parquet::errors::Result;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// Files whose parts are kept; of more than these, those with most bytes.
pub(super) const MAX_TRACKED: usize = 2048;
/// Parts of a file; their width doubles until the file fits.
const PARTS: usize = 128;
/// Files that are given names and handed on.
const MAX_SHOWN: usize = 24;

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
    /// Least number of files with bytes that are not among `files`.
    pub more: usize,
}

/// Bytes by number of the path. Numbers need not be dense, and a damaged file may hold any.
#[derive(Debug, Default)]
pub(super) struct Totals {
    bytes: HashMap<i32, u64>,
}

impl Totals {
    #[inline]
    pub fn add(&mut self, path_id: i32, bytes: u64) {
        if path_id >= 0 && bytes > 0 {
            let total = self.bytes.entry(path_id).or_default();
            *total = total.saturating_add(bytes);
        }
    }

    pub fn merge(mut self, other: Totals) -> Totals {
        other.bytes.into_iter().for_each(|(path, bytes)| self.add(path, bytes));
        self
    }

    /// The paths with most bytes in ascending order of their numbers.
    pub fn largest(self) -> Vec<i32> {
        let mut all: Vec<(i32, u64)> = self.bytes.into_iter().collect();
        // Of equal ones the first.
        let order = |a: &(i32, u64), b: &(i32, u64)| b.1.cmp(&a.1).then(a.0.cmp(&b.0));
        if all.len() > MAX_TRACKED {
            all.select_nth_unstable_by(MAX_TRACKED, order);
            all.truncate(MAX_TRACKED);
        }
        let mut paths: Vec<i32> = all.into_iter().map(|entry| entry.0).collect();
        paths.sort_unstable();
        paths
    }
}

/// Parts of a file while it is counted.
#[derive(Clone, Debug)]
struct Parts {
    bytes: u64,
    shift: u32,
    owners: Vec<Owner>,
    /// First row group that names it.
    group: usize,
    touches: Touches,
}

impl Parts {
    fn new(group: usize, max_runs: usize) -> Parts {
        let (owners, touches) = (vec![Owner::Nobody; PARTS], Touches::new(max_runs));
        Parts { bytes: 0, shift: 0, owners, group, touches }
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

    fn add(&mut self, rank: u32, run: &Run) {
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

    fn merge(&mut self, mut other: Parts) {
        let shift = self.shift.max(other.shift);
        self.widen(shift);
        other.widen(shift);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.group = self.group.min(other.group);
        for (owner, other) in self.owners.iter_mut().zip(other.owners) {
            *owner = owner.or(other);
        }
        self.touches.merge(other.touches);
    }
}

/// Files while they are counted.
#[derive(Debug)]
pub(super) struct Files {
    /// Runs that are kept of each file to compare ranks.
    max_runs: usize,
    parts: Vec<(i32, Parts)>,
    by_path: HashMap<i32, usize>,
    latest: Option<(i32, usize)>,
}

/// Runs that are kept of all files together.
const MAX_RUNS: usize = 1 << 20;
/// The fewest and the most of one file.
const FILE_RUNS: (usize, usize) = (512, 1 << 17);

impl Files {
    pub fn new(paths: usize) -> Files {
        let max_runs = (MAX_RUNS / paths.max(1)).clamp(FILE_RUNS.0, FILE_RUNS.1);
        Files { max_runs, parts: Vec::new(), by_path: HashMap::new(), latest: None }
    }

    /// Counts an operation that moved bytes.
    #[inline]
    pub fn count(&mut self, group: usize, row: &Row) {
        let parts = self.of(group, row);
        parts.bytes = parts.bytes.saturating_add(row.done_bytes);
    }

    /// Adds a run of extents that the row moved.
    #[inline]
    pub fn add(&mut self, group: usize, row: &Row, run: &Run) {
        let parts = self.of(group, row);
        parts.add(row.rank, run);
        parts.touches.add(row.rank, group, *run);
    }

    #[inline]
    fn of(&mut self, group: usize, row: &Row) -> &mut Parts {
        let at = match self.latest {
            Some((path, at)) if path == row.path_id => at,
            _ => self.find_or_add(row.path_id, group),
        };
        self.latest = Some((row.path_id, at));
        let parts = &mut self.parts[at].1;
        parts.group = parts.group.min(group);
        parts
    }

    fn find_or_add(&mut self, path: i32, group: usize) -> usize {
        *self.by_path.entry(path).or_insert_with(|| {
            self.parts.push((path, Parts::new(group, self.max_runs)));
            self.parts.len() - 1
        })
    }

    pub fn merge(&mut self, other: Files) {
        for (path, parts) in other.parts {
            let at = self.find_or_add(path, parts.group);
            self.parts[at].1.merge(parts);
        }
    }

    /// The files with most bytes, largest first, of equal ones the first.
    fn shown(&self) -> Vec<&(i32, Parts)> {
        let mut all: Vec<_> = self.parts.iter().filter(|file| file.1.bytes > 0).collect();
        all.sort_by(|a, b| b.1.bytes.cmp(&a.1.bytes).then(a.0.cmp(&b.0)));
        all.truncate(MAX_SHOWN);
        all
    }

    /// Paths of the files that are shown, out of the row groups that name them first.
    pub fn names(&self, table: &Table) -> Result<Vec<(i32, String)>> {
        let mut by_group: BTreeMap<usize, Vec<i32>> = BTreeMap::new();
        for (path, parts) in self.shown() {
            by_group.entry(parts.group).or_default().push(*path);
        }
        let mut names = Vec::new();
        for (group, mut missing) in by_group {
            let found = path_texts(table, group, |id| {
                let at = missing.iter().position(|path| *path == id);
                at.map(|at| missing.swap_remove(at)).is_some()
            })?;
            names.extend(found);
        }
        Ok(names)
    }

    pub fn finish(mut self, names: Vec<(i32, String)>) -> FileMap {
        let names: HashMap<i32, String> = names.into_iter().collect();
        let paths: HashMap<i32, bool> = {
            let shown: Vec<i32> = self.shown().iter().map(|file| file.0).collect();
            let shown = self.parts.iter_mut().filter(|file| shown.contains(&file.0));
            shown.map(|(path, parts)| (*path, parts.compare())).collect()
        };
        let file = |(path, parts): &(i32, Parts)| {
            let used = parts.owners.iter().rposition(|owner| *owner != Owner::Nobody);
            FileParts {
                path: names.get(path).cloned().unwrap_or_else(|| format!("(path {path})")),
                bytes: parts.bytes,
                part_bytes: 1 << parts.shift,
                owners: parts.owners[..used.map_or(0, |last| last + 1)].to_vec(),
                is_compared: paths.get(path).copied().unwrap_or(false),
            }
        };
        let files: Vec<FileParts> = self.shown().into_iter().map(file).collect();
        FileMap { more: self.parts.len() - files.len(), files }
    }
}

/// Extents of a file that are compared.
const MAX_EXTENTS: u64 = 1 << 20;

/// The bytes of one file that each rank moved, while they are collected.
#[derive(Clone, Debug)]
pub(super) struct Touches {
    runs: HashSet<(u32, Run)>,
    /// A run that may continue with the next operation, and its row group.
    open: Option<(u32, usize, Run)>,
    max_runs: usize,
    /// There were more different runs.
    overflow: bool,
}

impl Touches {
    /// Limits the number of runs.
    pub fn new(max_runs: usize) -> Touches {
        Touches { runs: HashSet::new(), open: None, max_runs, overflow: false }
    }

    /// Adds a run. Runs of one row group only are put together, so that what comes out does not
    /// depend on which thread took which group.
    pub fn add(&mut self, rank: u32, group: usize, run: Run) {
        if self.overflow {
            return;
        }
        if let Some((last_rank, last_group, last)) = &mut self.open
            && (*last_rank, *last_group) == (rank, group)
            && let Some(joined) = joined(last, &run)
        {
            *last = joined;
            return;
        }
        self.close();
        self.open = Some((rank, group, run));
    }

    fn close(&mut self) {
        if let Some((rank, _, run)) = self.open.take() {
            self.runs.insert((rank, run));
            self.limit();
        }
    }

    fn limit(&mut self) {
        if self.runs.len() > self.max_runs {
            self.overflow = true;
            self.runs = HashSet::new();
        }
    }

    pub fn merge(&mut self, mut other: Touches) {
        self.close();
        other.close();
        self.overflow |= other.overflow;
        self.runs.extend(other.runs);
        self.limit();
    }

    /// The ranges that several ranks moved, in ascending order of their starts; `None`: there is too
    /// much to compare.
    pub fn shared(&self) -> Option<Vec<Range<u64>>> {
        let open = self.open.iter().map(|(rank, _, run)| (*rank, *run));
        let runs = || self.runs.iter().copied().chain(open.clone());
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
        let mut touches = Touches::new(1000);
        for (rank, offset, len) in accesses {
            touches.add(*rank, 0, Run::single(*offset, *len));
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
    fn too_much_is_not_compared_in_any_order() {
        let scattered =
            |rank: u32| -> Vec<_> { (0..1600).map(|i| (rank, i * i * 10, 5)).collect() };
        let mut both = touches(&scattered(0));
        both.merge(touches(&scattered(1)));
        assert_eq!(both.shared(), None);
        let mut many = Touches::new(10);
        let run = Run { offset_bytes: 0, length_bytes: 1, stride_bytes: 2, count: MAX_EXTENTS + 1 };
        many.add(0, 0, run);
        assert_eq!(many.shared(), None);
    }
}

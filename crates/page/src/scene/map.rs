//! Which rank touched which bytes of a file, where ranks overlap, and what nobody touched.
//!
//! ```text
//! rank 0  ##  ##          pieces (0, 0, 2, 4, 2)
//! rank 1    ##  ##        pieces (1, 2, 2, 4, 2)
//! rank 2       ##   #     overlap 5..7, gap 8..11
//! ```

use crate::aggregate::watched::Rows;
use model::op::Class;
use model::pattern::Run;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Files with a map.
const FILES: usize = 24;
/// Runs of equal pieces of a layer.
const PIECES: usize = 4_000;
/// Pieces of all layers that are compared with each other.
const COMPARED: u64 = 400_000;
/// Overlaps, and gaps, that are listed.
const LISTED: usize = 500;

/// A file.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct FileMap {
    path: String,
    end_bytes: u64,
    layers: Vec<Layer>,
}

/// Reads or writes of a file.
#[derive(Debug, PartialEq, Serialize)]
struct Layer {
    access: &'static str,
    pieces: Vec<(u32, u64, u64, u64, u64)>,
    ranks: usize,
    moved_bytes: u64,
    touched_bytes: u64,
    overlaps: Vec<(u64, u64, u32)>,
    overlap_bytes: u64,
    gaps: Vec<(u64, u64)>,
    gap_bytes: u64,
    exact: bool,
}

/// Numbers of the layers and their names: writes first, because what is read was written.
const LAYERS: [(usize, &str); 2] = [(1, "write"), (0, "read")];

/// Runs by rank, in the order of access.
type ByRank = BTreeMap<u32, Vec<Run>>;

/// Reads and writes of a file, and their bytes.
#[derive(Default)]
struct Moved {
    layers: [ByRank; 2],
    bytes: [u64; 2],
}

/// The files with most bytes, most first, and the number of the others.
pub(super) fn maps(rows: &Rows) -> (Vec<FileMap>, usize) {
    let mut files: HashMap<i32, Moved> = HashMap::new();
    for row in rows.rows.iter().filter(|row| !row.failed && row.done_bytes > 0) {
        let layer = match row.op.row().class {
            Class::Read => 0,
            Class::Write => 1,
            _ => continue,
        };
        if row.path_id < 0 {
            continue;
        }
        let file = files.entry(row.path_id).or_default();
        file.bytes[layer] = file.bytes[layer].saturating_add(row.done_bytes);
        let runs = file.layers[layer].entry(row.rank).or_default();
        rows.extents.moved(row, |run| append(runs, run));
    }
    let mut files: Vec<(i32, Moved)> = files.into_iter().collect();
    // Files of several ranks first: there a map says more than a list.
    files.sort_by_key(|(id, file)| {
        let ranks = file.layers.iter().map(BTreeMap::len).max().unwrap_or(0).min(2);
        (Reverse(ranks), Reverse(file.bytes[0].saturating_add(file.bytes[1])), *id)
    });
    let more = files.len().saturating_sub(FILES);
    let mut left = COMPARED;
    let map = |(id, file): (i32, Moved)| {
        let path = rows.paths.get(id as usize).cloned().unwrap_or_default();
        map(path, file, &mut left)
    };
    (files.into_iter().take(FILES).map(map).collect(), more)
}

/// Adds a run; one that follows the last is joined with it.
fn append(runs: &mut Vec<Run>, run: Run) {
    let Some(last) = runs.last_mut().filter(|_| run.count == 1) else { return runs.push(run) };
    let end = last.offset_bytes.saturating_add(last.length_bytes);
    if last.count == 1 && run.offset_bytes == end {
        last.length_bytes += run.length_bytes;
        last.stride_bytes = last.length_bytes;
    } else if last.length_bytes == run.length_bytes && follows(last, run.offset_bytes) {
        last.stride_bytes = (run.offset_bytes - last.offset_bytes) / last.count;
        last.count += 1;
    } else {
        runs.push(run);
    }
}

/// A piece at this position is at the run's distance from its last one; of one piece any distance will do.
fn follows(run: &Run, offset: u64) -> bool {
    let Some(distance) = offset.checked_sub(run.offset_bytes) else { return false };
    match run.count {
        1 => distance > run.length_bytes,
        count => count.checked_mul(run.stride_bytes) == Some(distance),
    }
}

fn map(path: String, file: Moved, left: &mut u64) -> FileMap {
    let ends = file.layers.iter().flat_map(BTreeMap::values).flatten().map(Run::end_bytes);
    let end_bytes = ends.max().unwrap_or(0);
    let layers = LAYERS.into_iter().filter(|(at, _)| !file.layers[*at].is_empty());
    let layers = layers.map(|(at, name)| layer(name, &file.layers[at], file.bytes[at], left));
    FileMap { path, end_bytes, layers: layers.collect() }
}

fn layer(access: &'static str, ranks: &ByRank, moved_bytes: u64, left: &mut u64) -> Layer {
    let all = ranks.iter().flat_map(|(rank, runs)| runs.iter().map(|run| (*rank, *run)));
    let piece = |(rank, run): (u32, Run)| {
        (rank, run.offset_bytes, run.length_bytes, run.stride_bytes, run.count)
    };
    let runs = ranks.values().flatten();
    let count = runs.map(|run| run.count).fold(0, u64::saturating_add);
    let is_compared = count <= *left;
    *left -= count.min(*left);
    let found = if is_compared { compare(ranks) } else { Compared::default() };
    Layer {
        access,
        // Of each rank as many, so that none is missing.
        pieces: match ranks.values().map(Vec::len).sum::<usize>() <= PIECES {
            true => all.map(piece).collect(),
            false => {
                let share = (PIECES / ranks.len()).max(1);
                let first = |(rank, runs): (&u32, &Vec<Run>)| {
                    let rank = *rank;
                    let runs: Vec<Run> = runs.iter().take(share).copied().collect();
                    runs.into_iter().map(move |run| (rank, run))
                };
                ranks.iter().flat_map(first).map(piece).collect()
            }
        },
        ranks: ranks.len(),
        moved_bytes,
        touched_bytes: found.touched_bytes,
        overlaps: found.overlaps,
        overlap_bytes: found.overlap_bytes,
        gaps: found.gaps,
        gap_bytes: found.gap_bytes,
        exact: is_compared && ranks.values().map(Vec::len).sum::<usize>() <= PIECES,
    }
}

#[derive(Default)]
struct Compared {
    touched_bytes: u64,
    overlaps: Vec<(u64, u64, u32)>,
    overlap_bytes: u64,
    gaps: Vec<(u64, u64)>,
    gap_bytes: u64,
}

/// Compares all pieces of all ranks: a walk over their ends.
fn compare(ranks: &ByRank) -> Compared {
    let mut ends: Vec<(u64, i32)> = Vec::new();
    for runs in ranks.values() {
        for (start, end) in union(runs) {
            ends.extend([(start, 1), (end, -1)]);
        }
    }
    ends.sort_unstable();
    let mut found = Compared::default();
    let (mut position, mut depth) = (0, 0);
    for (at, change) in ends {
        if at > position {
            found.add(position, at, depth as u32);
            position = at;
        }
        depth += change;
    }
    found
}

/// Bytes that a rank touched, as intervals that do not meet.
fn union(runs: &[Run]) -> Vec<(u64, u64)> {
    let pieces = runs.iter().flat_map(|run| (0..run.count).filter_map(|at| run.extent(at)));
    let mut all: Vec<(u64, u64)> = pieces
        .map(|one| (one.offset_bytes, one.offset_bytes.saturating_add(one.length_bytes)))
        .collect();
    all.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (start, end) in all {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

impl Compared {
    /// `ranks` ranks touched these bytes.
    fn add(&mut self, from: u64, to: u64, ranks: u32) {
        let bytes = to - from;
        if ranks == 0 {
            self.gap_bytes += bytes;
            return if self.gaps.len() < LISTED {
                self.gaps.push((from, to))
            };
        }
        self.touched_bytes += bytes;
        if ranks == 1 {
            return;
        }
        self.overlap_bytes += bytes;
        let count = self.overlaps.len();
        match self.overlaps.last_mut() {
            Some(last) if last.1 == from && last.2 == ranks => last.1 = to,
            _ if count < LISTED => self.overlaps.push((from, to, ranks)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranks(all: &[(u32, u64, u64)]) -> ByRank {
        let mut ranks = ByRank::new();
        for (rank, offset, length) in all {
            append(ranks.entry(*rank).or_default(), Run::single(*offset, *length));
        }
        ranks
    }

    #[test]
    fn pieces_in_a_row_and_at_equal_distances_are_one_run() {
        let found = ranks(&[(0, 0, 4), (0, 4, 4), (1, 8, 2), (1, 16, 2), (1, 24, 2), (1, 40, 2)]);
        assert_eq!(found[&0], [Run::single(0, 8)]);
        let strided = Run { offset_bytes: 8, length_bytes: 2, stride_bytes: 8, count: 3 };
        assert_eq!(found[&1], [strided, Run::single(40, 2)]);
    }

    #[test]
    fn overlaps_and_gaps_are_found() {
        let mut left = COMPARED;
        let found = layer("write", &ranks(&[(0, 0, 4), (1, 2, 4), (2, 10, 5)]), 13, &mut left);
        assert_eq!((found.overlaps, found.overlap_bytes), (vec![(2, 4, 2)], 2));
        assert_eq!((found.gaps, found.gap_bytes), (vec![(6, 10)], 4));
        assert_eq!((found.touched_bytes, found.exact), (11, true));
    }

    #[test]
    fn too_many_pieces_are_not_compared() {
        let found = layer("read", &ranks(&[(0, 0, 4), (1, 0, 4)]), 8, &mut 1);
        assert_eq!((found.overlaps.len(), found.exact), (0, false));
    }

    proptest! {
        #[test]
        fn figures_are_those_of_the_bytes_one_by_one(
            all in prop::collection::vec((0..4u32, 0..60u64, 1..12u64), 1..20)
        ) {
            let found = compare(&ranks(&all));
            let end = all.iter().map(|(_, offset, length)| offset + length).max().unwrap();
            let holders = |byte: u64| {
                let holds = |(_, offset, length): &&(u32, u64, u64)| {
                    *offset <= byte && byte < offset + length
                };
                let mut ranks: Vec<u32> = all.iter().filter(holds).map(|one| one.0).collect();
                ranks.sort_unstable();
                ranks.dedup();
                ranks.len()
            };
            let count = |wanted: fn(usize) -> bool| {
                (0..end).filter(|byte| wanted(holders(*byte))).count() as u64
            };
            prop_assert_eq!(found.touched_bytes, count(|ranks| ranks > 0));
            prop_assert_eq!(found.overlap_bytes, count(|ranks| ranks > 1));
            prop_assert_eq!(found.gap_bytes, count(|ranks| ranks == 0));
        }
    }
}

//! What ranks write where: whether their parts of a file lie apart.

use model::{Event, Op};
use std::collections::HashMap;

/// Bytes that were written, by file and rank.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    files: HashMap<Vec<u8>, Vec<Written>>,
}

/// Bytes from one place to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Written {
    from: u64,
    to: u64,
    rank: u32,
}

/// Two ranks that write the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Of this file.
    pub file: Vec<u8>,
    /// From this byte on.
    pub at: u64,
    /// Which ranks.
    pub ranks: (u32, u32),
}

impl Writes {
    /// An operation of a rank on a file. Those by patterns are not looked at.
    pub fn add(&mut self, rank: u32, event: &Event, file: &[u8]) {
        use Op::*;
        let writes = |op| matches!(op, Fwrite | Writev | Write | Append | Pfwrite | Pwrite);
        if event.done_bytes == 0 || event.pieces > 0 || !Op::from_u8(event.op).is_some_and(writes) {
            return;
        }
        let (from, to) = (event.offset_bytes, event.offset_bytes.saturating_add(event.done_bytes));
        let all = match self.files.get_mut(file) {
            Some(all) => all,
            None => self.files.entry(file.to_vec()).or_default(),
        };
        match all.last_mut().filter(|last| last.rank == rank && last.to == from) {
            Some(last) => last.to = to,
            None => all.push(Written { from, to, rank }),
        }
    }

    /// The first bytes that several ranks write and that only one wrote before the program was changed.
    pub fn new_overlap(self, before: Writes) -> Option<Overlap> {
        let before: HashMap<Vec<u8>, bool> =
            before.files.into_iter().map(|(file, all)| (file, overlap(all).is_some())).collect();
        // Files that are new are like those that were there.
        let any = before.values().any(|overlaps| *overlaps);
        let mut files: Vec<_> = self.files.into_iter().collect();
        files.sort();
        files
            .into_iter()
            .filter(|(file, _)| !before.get(file).copied().unwrap_or(any))
            .find_map(|(file, all)| overlap(all).map(|(at, ranks)| Overlap { file, at, ranks }))
    }
}

/// Where two ranks write the same bytes of a file.
fn overlap(mut all: Vec<Written>) -> Option<(u64, (u32, u32))> {
    all.sort_unstable();
    // What reaches furthest so far, and what does so of the other ranks.
    let mut furthest: [Option<Written>; 2] = [None, None];
    for written in all {
        let other = furthest.iter().flatten().find(|other| other.rank != written.rank);
        if let Some(other) = other.filter(|other| other.to > written.from) {
            return Some((written.from, (other.rank, written.rank)));
        }
        match furthest {
            [Some(first), _] if first.to >= written.to && first.rank == written.rank => {}
            [Some(first), _] if first.rank == written.rank => furthest[0] = Some(written),
            [first, _] => furthest = [Some(written), first],
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rank, first byte, last byte.
    fn written(all: &[(u32, u64, u64)]) -> Writes {
        let all = all.iter().map(|(rank, from, to)| Written { rank: *rank, from: *from, to: *to });
        Writes { files: HashMap::from([(b"f".to_vec(), all.collect())]) }
    }

    #[test]
    fn parts_of_ranks_that_overlap_are_found() {
        for (all, expected) in [
            (&[(0, 0, 4), (1, 4, 8), (0, 8, 12)][..], None),
            (&[(0, 0, 4), (0, 2, 6), (1, 6, 8)], None),
            (&[(0, 0, 4), (1, 4, 9), (0, 8, 12)], Some((8, (1, 0)))),
            (&[(0, 0, 20), (0, 4, 6), (1, 8, 9)], Some((8, (0, 1)))),
            (&[(2, 0, 1), (0, 0, 1)], Some((0, (0, 2)))),
            (&[(0, 0, 9), (1, 9, 10), (0, 10, 11), (1, 11, 30), (0, 12, 13)], Some((12, (1, 0)))),
        ] {
            let found = written(all).new_overlap(written(&[]));
            assert_eq!(found.map(|found| (found.at, found.ranks)), expected, "{all:?}");
        }
        let both = || written(&[(0, 0, 4), (1, 2, 6)]);
        assert_eq!(both().new_overlap(both()), None);
    }
}

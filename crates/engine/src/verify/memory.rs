//! A rank's memory of its own writes: the generation of each extent. It is bounded; data beyond it
//! is checked by its own marks.

use super::mark::GENERATION_MAX;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;

/// Extents and files that a rank remembers.
const REMEMBERED: usize = 1 << 16;

/// State of an extent of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// This rank wrote it, in this generation.
    Written(u32),
    /// A write failed here, or so: any generation, or none.
    Unsure,
    /// Data that does not describe itself.
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    end: u64,
    state: State,
}

/// One file.
#[derive(Debug)]
struct File {
    /// By their start; they do not overlap.
    pieces: BTreeMap<u64, Piece>,
    /// New generations are above it wherever they are written.
    floor: u32,
    highest: u32,
    /// All that this rank has written is known.
    complete: bool,
    /// Some of it does not describe itself.
    plain: bool,
}

/// All files of a rank, by number.
#[derive(Debug, Default)]
pub struct Memory {
    files: FxHashMap<u64, File>,
    pieces: usize,
    /// Files may have several names, and so be written by others than the one they are read by.
    pub has_other_names: bool,
    /// Generations of files that were forgotten.
    forgotten_floor: u32,
    /// Some of what was written to them does not describe itself.
    forgotten_plain: bool,
}

impl File {
    /// Removes a range; what lies across its borders is cut.
    fn remove(&mut self, range: &Range<u64>) {
        for at in [range.start, range.end] {
            self.split(at);
        }
        let inside: Vec<u64> = self.pieces.range(range.clone()).map(|piece| *piece.0).collect();
        for start in inside {
            self.pieces.remove(&start);
        }
    }

    fn split(&mut self, at: u64) {
        if let Some((_, piece)) = self.pieces.range_mut(..at).next_back()
            && piece.end > at
        {
            let rest = *piece;
            piece.end = at;
            self.pieces.insert(at, rest);
        }
    }

    fn put(&mut self, mut range: Range<u64>, state: State) {
        self.remove(&range);
        if let Some((start, before)) = self.pieces.range(..range.start).next_back()
            && before.end == range.start
            && before.state == state
        {
            range.start = *start;
        }
        if let Some(after) = self.pieces.get(&range.end).copied().filter(|one| one.state == state) {
            self.pieces.remove(&range.end);
            range.end = after.end;
        }
        self.pieces.insert(range.start, Piece { end: range.end, state });
    }

    /// A write may have come here or not: what does not describe itself may still be there.
    fn doubt(&mut self, range: Range<u64>) {
        self.floor = self.highest;
        let is_plain = self.overlapping(&range).any(|(_, piece)| piece.state == State::Other);
        self.put(range, if is_plain { State::Other } else { State::Unsure });
    }

    fn overlapping(&self, range: &Range<u64>) -> impl Iterator<Item = (u64, Piece)> + '_ {
        let before = self.pieces.range(..range.start).next_back();
        let before = before.filter(|(_, piece)| piece.end > range.start);
        let inside = self.pieces.range(range.clone());
        before.into_iter().chain(inside).map(|(start, piece)| (*start, *piece))
    }
}

impl Memory {
    /// Nothing is written yet.
    pub fn new(has_other_names: bool) -> Memory {
        Memory { has_other_names, ..Memory::default() }
    }

    fn file(&mut self, number: u64) -> &mut File {
        let (floor, plain) = (self.forgotten_floor, self.forgotten_plain);
        self.files.entry(number).or_insert_with(|| File {
            pieces: BTreeMap::new(),
            floor,
            highest: floor,
            complete: floor == 0,
            plain,
        })
    }

    /// The generation of a write to these bytes.
    pub fn next_generation(&mut self, number: u64, range: Range<u64>) -> u32 {
        let file = self.file(number);
        let written = file.overlapping(&range).filter_map(|(_, piece)| match piece.state {
            State::Written(generation) => Some(generation),
            _ => None,
        });
        let next = written.fold(file.floor, u32::max).saturating_add(1).min(GENERATION_MAX);
        file.highest = file.highest.max(next);
        next
    }

    /// These bytes are so from now on.
    pub fn put(&mut self, number: u64, range: Range<u64>, state: State) {
        if range.is_empty() {
            return;
        }
        self.change(number, |file| match state {
            State::Unsure => file.doubt(range),
            state => {
                file.plain |= state == State::Other;
                file.put(range, state);
            }
        });
    }

    /// Nothing lies there any more.
    pub fn clear(&mut self, number: u64, range: Range<u64>) {
        self.change(number, |file| {
            file.floor = file.highest;
            file.remove(&range);
        });
    }

    fn change(&mut self, number: u64, change: impl FnOnce(&mut File)) {
        let file = self.file(number);
        let before = file.pieces.len();
        change(file);
        let after = file.pieces.len();
        self.pieces = self.pieces + after - before;
        if self.pieces + self.files.len() > REMEMBERED {
            self.forget_all();
        }
    }

    /// Forgets this rank's writes to a file.
    pub fn forget(&mut self, number: u64) {
        let file = self.file(number);
        let pieces = file.pieces.len();
        file.pieces.clear();
        (file.floor, file.complete) = (file.highest, false);
        self.pieces -= pieces;
    }

    /// The same for all files.
    pub fn forget_all(&mut self) {
        let highest = self.files.values().map(|file| file.highest).max().unwrap_or(0);
        // Not 0, which says that nothing was ever forgotten.
        self.forgotten_floor = self.forgotten_floor.max(highest).max(1);
        self.forgotten_plain |= self.files.values().any(|file| file.plain);
        self.files.clear();
        self.pieces = 0;
    }

    /// This rank knows all that it wrote to a file.
    pub fn is_complete(&self, number: u64) -> bool {
        let forgotten = self.forgotten_floor > 0;
        !self.has_other_names && self.files.get(&number).map_or(!forgotten, |file| file.complete)
    }

    /// Data that does not describe itself may lie anywhere in a file. `exact`: what is remembered is
    /// what is there.
    pub fn may_be_plain(&self, number: u64, exact: bool) -> bool {
        match self.files.get(&number) {
            Some(file) => file.plain && !(exact && self.is_complete(number)),
            None if self.has_other_names => self.files.values().any(|file| file.plain),
            None => self.forgotten_plain,
        }
    }

    /// The parts of a range, one after the other, and what lies there; `None`: this rank wrote
    /// nothing there.
    pub fn parts(&self, number: u64, range: Range<u64>) -> Vec<(Range<u64>, Option<State>)> {
        let mut parts = Vec::new();
        let mut at = range.start;
        let pieces = self.files.get(&number).map(|file| file.overlapping(&range));
        for (start, piece) in pieces.into_iter().flatten() {
            let (start, end) = (start.max(range.start), piece.end.min(range.end));
            if start > at {
                parts.push((at..start, None));
            }
            parts.push((start..end, Some(piece.state)));
            at = end;
        }
        if at < range.end {
            parts.push((at..range.end, None));
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{Other, Unsure, Written};
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn sequential_writes_are_one_extent() {
        let mut memory = Memory::default();
        for at in 0..1000 {
            let range = at * 10..at * 10 + 10;
            assert_eq!(memory.next_generation(1, range.clone()), 1);
            memory.put(1, range, Written(1));
        }
        assert_eq!(memory.parts(1, 0..20_000).len(), 2);
        assert_eq!(memory.pieces, 1);
    }

    #[test]
    fn any_order_of_changes_is_remembered_byte_by_byte() {
        for seed in 0..300 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let (mut memory, mut bytes) = (Memory::default(), vec![None; 300]);
            for _ in 0..60 {
                let start = random.random_range(0..290);
                let range = start..random.random_range(start..300);
                let wide = start as u64..range.end as u64;
                match random.random_range(0..10) {
                    0..6 => {
                        let generation = memory.next_generation(1, wide.clone());
                        let older = |one: &Option<State>| match one {
                            Some(Written(one)) => *one < generation,
                            _ => true,
                        };
                        assert!(bytes[range.clone()].iter().all(older), "seed {seed}");
                        memory.put(1, wide, Written(generation));
                        bytes[range].fill(Some(Written(generation)));
                    }
                    6 => {
                        memory.put(1, wide, Unsure);
                        let is_plain = bytes[range.clone()].contains(&Some(Other));
                        bytes[range].fill(Some(if is_plain { Other } else { Unsure }));
                    }
                    7 => {
                        memory.put(1, wide, Other);
                        bytes[range].fill(Some(Other));
                    }
                    _ => {
                        memory.clear(1, start as u64..u64::MAX);
                        bytes[start..].fill(None);
                    }
                }
                let parts = memory.parts(1, 0..300);
                let told = parts.iter().flat_map(|(range, state)| {
                    std::iter::repeat_n(*state, (range.end - range.start) as usize)
                });
                assert_eq!(told.collect::<Vec<_>>(), bytes, "seed {seed}");
            }
        }
    }

    #[test]
    fn too_many_extents_are_forgotten_and_generations_are_not() {
        let mut memory = Memory::default();
        for at in 0..REMEMBERED as u64 {
            memory.put(1, at * 3..at * 3 + 1, Written(1));
        }
        memory.next_generation(1, 0..1);
        assert!(!memory.is_complete(1));
        let range = 0..10;
        let next = memory.next_generation(1, range.clone());
        memory.forget_all();
        assert!(memory.next_generation(1, range) > next && !memory.is_complete(2));
    }
}

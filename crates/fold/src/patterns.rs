//! Extents that operations by patterns move -> definitions of patterns.
//!
//! ```text
//! rank 0: 0+4k 16k+4k 32k+4k   rank 1: 4k+4k 20k+4k ...
//!     -> define pattern "extents" level 0 { repeat $i 3 extent($i * 16k + $$grank * 4k, 4k); }
//! ```
//!
//! The first pattern that a rank uses is the first one that the others use, and so on. Extents are
//! folded as operations are.

use super::irregular::finish;
use super::log::Log;
use super::logged::Logged;
use super::loops::Folder;
use super::names::Names;
use super::ranks::{Item, unify};
use super::statement::{Alike, Interner, Shape};
use super::tree::Node;
use model::run::EventExtents;
use std::collections::HashMap;

/// Longest list of extents that becomes a pattern.
const PIECES_MAX: u64 = 1 << 17;
/// Patterns of a program.
const PATTERNS_MAX: usize = 256;

/// Patterns of a log.
#[derive(Debug, Default)]
pub struct Patterns {
    all: Vec<Pattern>,
    /// By rank: the pattern that an entry of the run's table is, and its level, is.
    numbers: Vec<HashMap<Key, usize>>,
}

/// An entry of the run's table, and the level at which MPI-IO moves it.
type Key = (u32, Option<u8>);

/// A pattern of the program.
#[derive(Debug, Default)]
struct Pattern {
    /// Rank, and its entry in the run's table.
    entries: Vec<(u32, u32)>,
    /// Some operation begins elsewhere than its entry.
    shifted: bool,
    /// Level of MPI-IO.
    level: Option<u8>,
    /// All ranks move the same.
    same: bool,
    /// Statements of a generator of the extents of all ranks.
    body: Vec<Item>,
}

impl Patterns {
    /// Those that operations use.
    pub fn find(log: &Log, shapes: &mut Interner<Shape>) -> Patterns {
        let mut patterns = Patterns { all: Vec::new(), numbers: Vec::new() };
        for (rank, entries) in (0..).zip(&log.ranks) {
            let mut numbers: HashMap<Key, usize> = HashMap::new();
            for entry in entries.iter().filter(|entry| entry.event.pieces > 0) {
                let Some(extents) = known(log, &entry) else { continue };
                let next = numbers.len();
                let level = log.level(&entry);
                let number = *numbers.entry((entry.event.extents, level)).or_insert(next);
                if number == patterns.all.len() {
                    patterns.all.push(Pattern { level, ..Pattern::default() });
                }
                let pattern = &mut patterns.all[number];
                if number == next {
                    pattern.entries.push((rank, entry.event.extents));
                }
                pattern.shifted |= entry.event.offset_bytes != extents.runs[0].offset_bytes;
            }
            patterns.numbers.push(numbers);
        }
        patterns.all.truncate(PATTERNS_MAX);
        for pattern in &mut patterns.all {
            pattern.body = pattern.body(log, shapes);
            let first = pattern.entries[0].1;
            pattern.same = pattern.entries.iter().all(|(_, entry)| *entry == first)
                && pattern.entries.len() == log.ranks.len();
        }
        patterns
    }

    /// The pattern of an operation, and how much further on it begins than the pattern, if some do.
    pub fn used(&self, log: &Log, rank: u32, entry: &Logged) -> Option<(u32, Option<i64>)> {
        let level = log.level(entry);
        let number = *self.numbers[rank as usize].get(&(entry.event.extents, level))?;
        let pattern = self.all.get(number)?;
        // Who is alone is member 0 of 1; and what is a level's cannot be another's.
        if pattern.level != level || (log.facts(entry).alone && !pattern.same) {
            return None;
        }
        let first = known(log, entry)?.runs[0].offset_bytes;
        let further = i64::try_from(entry.event.offset_bytes.checked_sub(first)?).ok()?;
        Some((number as u32, pattern.shifted.then_some(further)))
    }

    /// Their levels and statements, over all ranks.
    pub fn levels(&self) -> impl Iterator<Item = (Option<u8>, &[Item])> {
        self.all.iter().map(|pattern| (pattern.level, &pattern.body[..]))
    }

    /// Their names, and which entries of the run's table they are, by rank.
    pub fn named(&self) -> Vec<(String, Vec<(u32, u32)>)> {
        let named = |(number, pattern): (u32, &Pattern)| (name(number), pattern.entries.clone());
        (0..).zip(&self.all).map(named).collect()
    }
}

impl Pattern {
    fn body(&self, log: &Log, shapes: &mut Interner<Shape>) -> Vec<Item> {
        let mut trees = vec![Vec::new(); log.ranks.len()];
        for (rank, entry) in &self.entries {
            trees[*rank as usize] = tree(&log.extents[*entry as usize - 1], shapes);
        }
        unify(&trees, &|_| Vec::new())
    }
}

/// Name of a pattern: `extents`, `extents2`
pub fn name(number: u32) -> String {
    super::lists::numbered("extents", number as usize)
}

/// The extents of an operation, if they can be written.
fn known<'a>(log: &'a Log, entry: &Logged) -> Option<&'a EventExtents> {
    log.extents_of(&entry.event).filter(|extents| extents.pieces <= PIECES_MAX)
}

fn tree(extents: &EventExtents, shapes: &mut Interner<Shape>) -> Vec<Node> {
    let shape = shapes.number(Shape::Extent);
    let mut nodes = Vec::new();
    for run in &extents.runs {
        let offset = |at: u64| run.offset_bytes.wrapping_add(at.wrapping_mul(run.stride_bytes));
        let node = |at| Node::leaf(shape, &[offset(at) as i64, run.length_bytes as i64], 0);
        nodes.extend((0..run.count).map(node));
    }
    let mut folder = Folder::default();
    nodes.into_iter().for_each(|node| folder.push(node));
    finish(folder, &mut Alike { names: &Names::default(), shapes, known: &HashMap::new() })
}

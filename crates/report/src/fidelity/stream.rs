//! The operations of one execution in order: rank by rank, each by its start, a few ahead in memory.

use crate::StoreError;
use crate::events::EventReader;
use model::Run;
use model::event::{FLAG_UNPLACED, NO_ID};
use model::pattern::{Extent, Extents};
use model::run::EventExtents;
use std::cell::RefCell;
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::rc::Rc;

/// An operation, as far as it is compared or shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    pub rank: u32,
    pub seq: u64,
    pub op: u8,
    pub errno: u16,
    /// Nobody knows which bytes of the file it moved, or it moved none because it failed.
    pub unplaced: bool,
    /// Numbers of texts; [`NO_ID`] for none.
    pub label: u32,
    pub name: u32,
    pub name2: u32,
    pub offset: u64,
    /// Where a copy reads.
    pub from: u64,
    pub asked: u64,
    pub done: u64,
    /// Hash of its extents, if they are several; else 0.
    pub extents: u64,
    /// Open instance; [`NO_ID`] where nobody tells.
    pub instance: u32,
    /// Flags of open(2); [`NO_ID`] where nobody tells.
    pub open_flags: u32,
    pub start_ns: u64,
    pub end_ns: u64,
    pub busy_ns: u64,
    /// Where it stands: of the program, or of the log.
    pub site: u32,
    pub log: u32,
    pub log_line: u64,
}

/// Paths and labels of all runs, each once.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    ids: HashMap<Box<[u8]>, u32>,
    texts: Vec<Box<[u8]>>,
}

impl Texts {
    /// The number of a text.
    pub fn id(&mut self, text: &[u8]) -> u32 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = self.texts.len() as u32;
        self.texts.push(text.into());
        self.ids.insert(text.into(), id);
        id
    }

    /// The text with a number, harmless for a terminal.
    pub fn shown(&self, id: u32) -> String {
        self.texts.get(id as usize).map_or_else(String::new, |text| model::escape::bytes(text))
    }
}

/// A name below the directory `prefix`.
pub(crate) fn stripped<'a>(name: &'a [u8], prefix: &[u8]) -> &'a [u8] {
    name.strip_prefix(prefix).unwrap_or(name)
}

/// Operations as they come.
pub(crate) type Steps = Box<dyn Iterator<Item = Result<Step, StoreError>>>;

/// The operations of one execution of a stored run.
pub(crate) fn steps(
    folder: &Path,
    run: &Run,
    (cell, repetition): (u32, u32),
    prefix: &[u8],
    texts: &Rc<RefCell<Texts>>,
) -> Result<Steps, StoreError> {
    let mut reader = EventReader::open(folder)?;
    let extents: Vec<u64> =
        run.run.events.iter().flat_map(|info| &info.extents).map(places).collect();
    let (texts, prefix) = (Rc::clone(texts), prefix.to_vec());
    let (mut labels, mut paths): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    Ok(Box::new(std::iter::from_fn(move || {
        loop {
            let row = match reader.next()? {
                Ok(row) if (row.cell, row.repetition) == (cell, repetition) => row,
                Ok(_) => continue,
                Err(error) => return Some(Err(error)),
            };
            let mut texts = texts.borrow_mut();
            let new = &reader.labels()[labels.len()..];
            labels.extend(new.iter().map(|label| texts.id(label.as_bytes())));
            let new = &reader.paths()[paths.len()..];
            paths.extend(new.iter().map(|path| texts.id(stripped(path, &prefix))));
            let text = |table: &[u32], id: u32| table.get(id as usize).copied().unwrap_or(NO_ID);
            let (event, details) = (&row.event, &row.details);
            let list = (event.extents as usize).checked_sub(1);
            return Some(Ok(Step {
                rank: row.rank,
                seq: event.seq,
                op: event.op,
                errno: event.errno,
                // One that failed has moved nothing anywhere.
                unplaced: event.flags & FLAG_UNPLACED != 0 || event.errno != 0,
                label: text(&labels, event.label),
                name: text(&paths, event.path),
                name2: text(&paths, event.path2),
                offset: event.offset_bytes,
                from: event.from_bytes,
                asked: event.requested_bytes,
                done: event.done_bytes,
                extents: list.and_then(|at| extents.get(at)).copied().unwrap_or(0),
                instance: details.instance,
                open_flags: details.open_flags,
                start_ns: event.start_ns,
                end_ns: event.end_ns.max(event.start_ns),
                busy_ns: event.busy_ns,
                site: event.site,
                log: details.log,
                log_line: details.line,
            }));
        }
    })))
}

/// Most pieces that are looked at one by one.
const PIECES_MAX: u64 = 1 << 20;

/// A number for extents: the same for the same ones, whatever pattern gave them.
fn places(extents: &EventExtents) -> u64 {
    if extents.pieces > PIECES_MAX {
        return hash(extents);
    }
    let all: Vec<Extent> = Extents::new(Box::new(extents.runs.iter().copied())).collect();
    hash(&(extents.pieces, all))
}

/// A number for a value: equal for equal values.
pub(crate) fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    // Its keys are constants.
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Operations before and behind the one that is looked at.
const CONTEXT: usize = 2;

/// Operations with those that come next in memory.
pub(crate) struct Ahead {
    steps: Steps,
    next: VecDeque<Step>,
    past: VecDeque<Step>,
    ended: bool,
}

impl Ahead {
    pub fn of(steps: Steps) -> Ahead {
        Ahead { steps, next: VecDeque::new(), past: VecDeque::new(), ended: false }
    }

    /// Reads until `count` are in memory, or none is left.
    pub fn fill(&mut self, count: usize) -> Result<(), StoreError> {
        while self.next.len() < count && !self.ended {
            match self.steps.next() {
                Some(step) => self.next.push_back(step?),
                None => self.ended = true,
            }
        }
        Ok(())
    }

    /// The rank of the next one.
    pub fn rank(&mut self) -> Result<Option<u32>, StoreError> {
        self.fill(1)?;
        Ok(self.next.front().map(|step| step.rank))
    }

    /// The next one of a rank.
    pub fn front(&mut self, rank: u32) -> Result<Option<Step>, StoreError> {
        self.fill(1 + CONTEXT)?;
        Ok(self.next.front().filter(|step| step.rank == rank).copied())
    }

    /// Those in memory that are of a rank; false: more may follow.
    pub fn window(&mut self, rank: u32, most: usize) -> Result<(&[Step], bool), StoreError> {
        self.fill(most)?;
        let next = self.next.make_contiguous();
        let count = next.partition_point(|step| step.rank == rank).min(most);
        let whole = count < next.len() || self.ended;
        Ok((&next[..count], whole))
    }

    /// Goes on by one.
    pub fn pass(&mut self) -> Option<Step> {
        let step = self.next.pop_front()?;
        if self.past.len() > CONTEXT {
            self.past.pop_front();
        }
        self.past.push_back(step);
        Some(step)
    }

    /// Those of a rank around the place that is reached: the ones before with the one that was passed
    /// last, and the ones to come.
    pub fn near(&self, rank: u32) -> Near {
        let here = |steps: &VecDeque<Step>| -> Vec<Step> {
            steps.iter().filter(|step| step.rank == rank).take(CONTEXT + 1).copied().collect()
        };
        let mut next = here(&self.next);
        next.truncate(CONTEXT);
        Near { past: here(&self.past), next }
    }
}

/// Operations around a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Near {
    /// The last one was passed last.
    pub past: Vec<Step>,
    pub next: Vec<Step>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::pattern::Run as Pieces;

    #[test]
    fn extents_are_the_same_however_they_are_told() {
        let told = |runs: Vec<Pieces>| places(&EventExtents { pieces: 3, runs });
        let run = Pieces { offset_bytes: 8, length_bytes: 4, stride_bytes: 16, count: 3 };
        let single = |at| Pieces::single(at, 4);
        assert_eq!(told(vec![run]), told([8, 24, 40].map(single).to_vec()));
        assert_ne!(told(vec![run]), told([8, 24, 41].map(single).to_vec()));
    }
}

//! Open files (instances) over all ranks: how they were opened, and who uses them.

use super::before::before;
use super::log::{Log, O_RDWR, O_WRONLY, needs_writing, takes_handle};
use crate::strace::{O_CREAT, O_EXCL, O_TRUNC};
use model::Op;
use model::event::NO_ID;
use model::rehearsal::Thing;
use std::collections::{HashMap, HashSet};

/// What is known of an open file over all ranks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Instance {
    /// Flags it was opened with; `None`: before the log began.
    pub flags: Option<u32>,
    reads: bool,
    writes: bool,
    rank: Option<u32>,
    /// Several ranks use it.
    pub shared: bool,
}

impl Instance {
    /// Flags for a rank that opens it once more. `there`: the file holds data from before.
    pub fn adopting(self, there: bool) -> u32 {
        let makes = if there { 0 } else { O_CREAT };
        match (self.flags, self.reads, self.writes) {
            (Some(flags), ..) => flags & !(O_CREAT | O_EXCL | O_TRUNC),
            (None, true, true) => O_RDWR | makes,
            (None, false, true) => O_WRONLY | makes,
            _ => 0,
        }
    }
}

/// Those of a log, by number.
pub fn instances(log: &Log) -> HashMap<u32, Instance> {
    let mut all: HashMap<u32, Instance> = HashMap::new();
    for (rank, entries) in (0..).zip(&log.ranks) {
        let parts = entries.iter().flat_map(|entry| entry.parts());
        for entry in parts.filter(|entry| entry.details.instance != NO_ID) {
            let Some(op) = entry.op() else { continue };
            let instance = all.entry(entry.details.instance).or_default();
            if op.row().gives_handle {
                let flags = entry.details.open_flags;
                instance.flags = Some(if flags == NO_ID { 0 } else { flags });
            } else if !takes_handle(op) {
                continue;
            }
            instance.shared |= instance.rank.is_some_and(|other| other != rank);
            instance.rank = Some(rank);
            instance.reads |= matches!(op, Op::Fread | Op::Readv | Op::Pfread);
            instance.writes |= needs_writing(op);
        }
    }
    all
}

/// Names of files that hold data from before.
pub fn filled(log: &Log) -> HashSet<u32> {
    let ids: HashMap<&[u8], u32> = log.paths.iter().map(Vec::as_slice).zip(0..).collect();
    let has_data =
        |thing: &Thing| matches!(thing, Thing::File { size_bytes, .. } if *size_bytes > 0);
    let before = before(log).into_iter().filter(|expected| has_data(&expected.what));
    before.filter_map(|expected| ids.get(&expected.path[..]).copied()).collect()
}

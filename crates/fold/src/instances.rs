//! Open files, as all ranks use them.

use super::before::before;
use super::log::Log;
use super::logged::{Logged, needs_writing, takes_handle};
use model::Op;
use model::event::{Event, FLAG_AT_POSITION, FLAG_UNPLACED, NO_ID};
use model::open_flags::{O_APPEND, O_CREAT, O_EXCL, O_RDWR, O_TRUNC, O_WRONLY};
use model::rehearsal::Thing;
use std::collections::{HashMap, HashSet};

/// State of an open file over all ranks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Instance {
    /// Flags it was opened with; `None`: before the log began.
    flags: Option<u32>,
    reads: bool,
    writes: bool,
    rank: Option<u32>,
    /// Several ranks use it.
    shared: bool,
    /// Where the one of the program would be: what is appended does not move it.
    position: u64,
    /// Some transfer at the position took place elsewhere.
    strays: bool,
}

impl Instance {
    fn appends(self) -> bool {
        self.flags.is_some_and(|flags| flags & O_APPEND != 0)
    }

    /// Writes append; the place of a read behind them may be unknown.
    fn puts_at_end(self, entry: &Logged) -> bool {
        let reads = matches!(entry.op(), Some(Op::Fread | Op::Readv));
        self.appends() && (!reads || entry.event.flags & FLAG_UNPLACED != 0)
    }

    /// The position of the program is not the one at which the operation worked.
    pub fn is_elsewhere(self, entry: &Logged) -> bool {
        (self.shared || self.strays) && !self.puts_at_end(entry)
    }

    /// Follows the position.
    fn moves(&mut self, op: Op, event: &Event) {
        let is_here = match op {
            Op::Fseek => false,
            Op::Fread | Op::Readv if self.appends() && event.flags & FLAG_UNPLACED != 0 => return,
            Op::Fwrite | Op::Writev if self.appends() => return,
            Op::Fread | Op::Readv | Op::Fwrite | Op::Writev => event.flags & FLAG_AT_POSITION != 0,
            _ => return,
        };
        if event.errno != 0 || !(is_here || op == Op::Fseek) {
            return;
        }
        self.strays |= is_here && event.offset_bytes != self.position;
        self.position = event.offset_bytes.saturating_add(event.done_bytes);
    }

    /// Nobody knows how it was opened.
    pub fn has_unknown_flags(self) -> bool {
        self.flags.is_none()
    }

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

/// Names of files that hold data from before.
pub fn filled(log: &Log) -> HashSet<u32> {
    let ids: HashMap<&[u8], u32> = log.paths.iter().map(Vec::as_slice).zip(0..).collect();
    let has_data =
        |thing: &Thing| matches!(thing, Thing::File { size_bytes, .. } if *size_bytes > 0);
    let before = before(log).into_iter().filter(|expected| has_data(&expected.what));
    before.filter_map(|expected| ids.get(&expected.path[..]).copied()).collect()
}

/// Follows all open files.
pub fn instances(log: &Log) -> HashMap<u32, Instance> {
    let mut all: HashMap<u32, Instance> = HashMap::new();
    for (rank, entries) in (0..).zip(&log.ranks) {
        let parts = entries.iter().flat_map(|entry| entry.parts());
        for entry in parts.filter(|entry| entry.details.instance != NO_ID) {
            let Some(op) = entry.op() else { continue };
            let instance = all.entry(entry.details.instance).or_default();
            if op.row().gives_handle() {
                let flags = entry.details.open_flags;
                instance.flags = Some(if flags == NO_ID { 0 } else { flags });
            } else if !takes_handle(op) {
                continue;
            }
            instance.moves(op, &entry.event);
            instance.shared |= instance.rank.is_some_and(|other| other != rank);
            instance.rank = Some(rank);
            instance.reads |= matches!(op, Op::Fread | Op::Readv | Op::Pfread);
            instance.writes |= needs_writing(op);
        }
    }
    all
}

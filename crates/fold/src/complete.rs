//! The open file of every operation, where it was opened for what, and where transfers took place, as far as
//! the run does not report them.

use super::events::Events;
use super::facts::Facts;
use super::log::Log;
use super::logged::{Logged, needs_writing, takes_handle};
use super::positions;
use model::Op;
use model::event::{Event, FLAG_AT_POSITION, FLAG_FROM_POSITION, FLAG_UNPLACED, NO_ID};
use model::open_flags::{O_APPEND, O_CREAT, O_RDWR, O_TRUNC, O_WRONLY};
use std::collections::HashMap;

impl Log {
    /// Tells the open file of every operation, and the flags it was opened with, where the run does
    /// not, as in runs of Parabench.
    pub fn complete(&mut self) {
        if self.imported {
            self.name_instances();
            self.guess_flags();
            positions::follow(self);
        } else {
            let mut next = 0;
            for rank in &mut self.ranks {
                Handles { open: HashMap::new(), next: &mut next, sites: &self.sites }.follow(rank);
            }
        }
        self.contended = positions::find_contended_appends(self);
    }
}

impl Log {
    /// Logs without opens tell names only: a rank has each file open once.
    fn name_instances(&mut self) {
        let known = |entry: Logged| Some(entry.details.instance).filter(|i| *i != NO_ID);
        let mut next = self.ranks.iter().flatten().filter_map(known).max().map_or(0, |i| i + 1);
        for rank in &mut self.ranks {
            let mut by_name: HashMap<u32, u32> = HashMap::new();
            rank.change(|entry| {
                if entry.details.instance == NO_ID && entry.op().is_some_and(takes_handle) {
                    entry.details.instance =
                        *by_name.entry(entry.event.path).or_insert_with(|| {
                            next += 1;
                            next - 1
                        });
                }
            });
        }
    }
}

impl Log {
    /// Logs that tell no flags of opening: as the open file is used, so it was opened.
    fn guess_flags(&mut self) {
        let mut used: HashMap<u32, (bool, bool)> = HashMap::new();
        for entry in self.ranks.iter().flatten().flat_map(|entry| entry.parts()) {
            let Some(op) = entry.op() else { continue };
            let (reads, writes) = used.entry(entry.details.instance).or_default();
            *reads |= matches!(op, Op::Fread | Op::Readv);
            *writes |= needs_writing(op);
        }
        let has_unknown_flags = |entry: &Logged| {
            entry.details.open_flags == NO_ID && entry.op() == Some(Op::Fopen) && entry.is_ok()
        };
        for rank in &mut self.ranks {
            if !rank.iter().any(|entry| has_unknown_flags(&entry)) {
                continue;
            }
            rank.change(|entry| {
                if has_unknown_flags(entry) {
                    entry.details.open_flags = match used.get(&entry.details.instance) {
                        Some((true, true)) => O_RDWR | O_CREAT,
                        Some((false, true)) => O_WRONLY | O_CREAT,
                        _ => 0,
                    };
                }
            });
        }
    }
}

/// Open files of one rank. Two with the same name differ in their access.
struct Handles<'a> {
    /// By name.
    open: HashMap<u32, Vec<Open>>,
    next: &'a mut u32,
    sites: &'a HashMap<u32, Facts>,
}

#[derive(Clone, Copy)]
struct Open {
    instance: u32,
    flags: u32,
    known: bool,
    /// It is a file of MPI.
    mpi: bool,
    position: u64,
    /// All transfers so far were where the last one ended.
    sequential: bool,
}

impl Handles<'_> {
    fn follow(&mut self, rank: &mut Events) {
        let mut all: Vec<Open> = Vec::new();
        rank.change(|entry| match entry.op() {
            Some(op) if op.row().gives_handle() => self.opens(entry, op),
            Some(op) if op.is_between_files() => {
                let used = entry.parts().map(|mut part| {
                    part.op().into_iter().for_each(|op| self.uses(&mut part, op, &mut all));
                    part.details.instance
                });
                let used: Vec<u32> = used.collect();
                (entry.details.instance2, entry.details.instance) = (used[0], used[1]);
            }
            Some(op) if takes_handle(op) => self.uses(entry, op, &mut all),
            _ => {}
        });
        all.extend(self.open.values().flatten());
        let by_number: HashMap<u32, Open> = all.iter().map(|open| (open.instance, *open)).collect();
        let goes_on = |open: &Open| open.sequential || (!open.mpi && open.flags & O_APPEND != 0);
        rank.change(|entry| {
            if by_number.get(&entry.details.instance2).is_some_and(goes_on) {
                entry.event.flags |= FLAG_FROM_POSITION;
            }
            let Some(open) = by_number.get(&entry.details.instance) else { return };
            if entry.op().is_some_and(|op| op.row().gives_handle()) {
                entry.details.open_flags = open.flags;
            }
            if goes_on(open) {
                entry.event.flags |= FLAG_AT_POSITION;
            }
        });
    }

    fn opens(&mut self, entry: &mut Logged, op: Op) {
        let known = self.sites.get(&entry.event.site).and_then(|told| told.flags);
        let flags = match op {
            Op::Fcreat => O_WRONLY | O_CREAT | O_TRUNC,
            _ => known.unwrap_or(0),
        };
        entry.details.open_flags = flags;
        if entry.event.errno != 0 {
            return;
        }
        let instance = *self.next;
        *self.next += 1;
        entry.details.instance = instance;
        let known = known.is_some() || !matches!(op, Op::Fopen | Op::Pfopen);
        let mpi = op.is_mpi_io();
        let open = Open { instance, flags, known, mpi, position: 0, sequential: true };
        self.open.entry(entry.event.path).or_default().push(open);
    }

    fn uses(&mut self, entry: &mut Logged, op: Op, closed: &mut Vec<Open>) {
        let Some(same) = self.open.get_mut(&entry.event.path) else { return };
        let fits = |open: &Open| match op {
            Op::Fwrite | Op::Writev | Op::Pfwrite => !open.known || open.flags & 3 != 0,
            Op::Fread | Op::Readv | Op::Pfread => !open.known || open.flags & 3 != O_WRONLY,
            _ => true,
        };
        let same_kind = |open: &Open| open.mpi == op.is_mpi_io() && fits(open);
        let Some(place) = same.iter().rposition(same_kind) else { return };
        let open = &mut same[place];
        entry.details.instance = open.instance;
        open.learn(op, &entry.event);
        if matches!(op, Op::Fclose | Op::Pfclose) {
            closed.push(same.remove(place));
        }
    }
}

impl Open {
    /// Learns from an operation how the file must have been opened, and its position.
    fn learn(&mut self, op: Op, event: &Event) {
        if !self.known && needs_writing(op) {
            self.flags = if self.flags & 3 == O_RDWR { O_RDWR } else { O_WRONLY } | O_CREAT;
        }
        match op {
            _ if event.pieces > 0 || event.flags & FLAG_UNPLACED != 0 => {}
            Op::Fwrite | Op::Writev | Op::Fread | Op::Readv | Op::Pfwrite | Op::Pfread => {
                self.sequential &= event.offset_bytes == self.position;
                self.position = event.offset_bytes.saturating_add(event.done_bytes);
            }
            Op::Fseek | Op::Pfseek => self.position = event.offset_bytes,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::event::Details;

    #[test]
    fn opens_without_flags_are_as_the_file_is_used() {
        let entry = |op: Op, instance: u32| {
            let mut entry = Logged::default();
            entry.event.op = op as u8;
            (entry.details.instance, entry.details.open_flags) = (instance, NO_ID);
            entry
        };
        let rank =
            [(Op::Fopen, 0), (Op::Fopen, 1), (Op::Fopen, 2), (Op::Fread, 0), (Op::Fwrite, 1)];
        let mut rank: Vec<Logged> = rank.into_iter().map(|(op, at)| entry(op, at)).collect();
        rank.extend([entry(Op::Fread, 2), entry(Op::Fallocate, 2)]);
        rank[0].details.open_flags = 7;
        let ranks = vec![rank.into_iter().collect()];
        let mut log = Log { ranks, imported: true, ..Log::default() };
        log.complete();
        let flags: Vec<u32> = log.ranks[0].iter().map(|entry| entry.details.open_flags).collect();
        assert_eq!(flags[..3], [7, O_WRONLY | O_CREAT, O_RDWR | O_CREAT]);
    }

    fn entry(op: Op, path: u32, offset_bytes: u64, bytes: u64) -> Logged {
        let event = Event {
            op: op as u8,
            path,
            offset_bytes,
            requested_bytes: bytes,
            done_bytes: bytes,
            ..Event::default()
        };
        Logged { event, details: Details::default() }
    }

    #[test]
    fn copies_of_our_own_runs_are_of_two_open_files() {
        let copy = |offset_bytes: u64, from_bytes: u64| {
            let mut entry = entry(Op::Fcopy, 1, offset_bytes, 8);
            (entry.event.path2, entry.event.from_bytes) = (0, from_bytes);
            entry
        };
        let opens = [entry(Op::Fopen, 0, 0, 0), entry(Op::Fopen, 1, 0, 0)];
        for (copies, flags) in [
            ([copy(0, 0), copy(8, 8)], FLAG_AT_POSITION | FLAG_FROM_POSITION),
            ([copy(0, 0), copy(8, 16)], FLAG_AT_POSITION),
            ([copy(0, 0), copy(16, 8)], FLAG_FROM_POSITION),
        ] {
            let ranks = vec![opens.into_iter().chain(copies).collect()];
            let mut log = Log { ranks, ..Log::default() };
            log.complete();
            for copy in log.ranks[0].from(2) {
                let Details { instance, instance2, .. } = copy.details;
                assert_eq!((instance, instance2, copy.event.flags), (1, 0, flags));
                let parts: Vec<Logged> = copy.parts().collect();
                assert_eq!(parts[0].op(), Some(Op::Fread));
                assert_eq!((parts[0].event.path, parts[0].details.instance), (0, 0));
                assert_eq!(parts[0].event.offset_bytes, copy.event.from_bytes);
                assert_eq!((parts[1].op(), parts[1].event.path2), (Some(Op::Fwrite), NO_ID));
                assert_eq!(parts[1].event.path, 1);
            }
        }
    }

    #[test]
    fn open_files_of_our_own_runs_are_followed_by_name() {
        let rank = vec![
            entry(Op::Fopen, 0, 0, 0),
            entry(Op::Fopen, 1, 0, 0),
            entry(Op::Fwrite, 0, 0, 8),
            entry(Op::Fwrite, 1, 64, 8),
            entry(Op::Fwrite, 0, 8, 8),
            entry(Op::Fclose, 0, 0, 0),
            entry(Op::Fopen, 0, 0, 0),
            entry(Op::Fread, 0, 0, 4),
        ];
        let ranks = vec![rank.into_iter().collect()];
        let mut log = Log { ranks, ..Log::default() };
        log.complete();
        let instances: Vec<u32> = log.ranks[0].iter().map(|e| e.details.instance).collect();
        assert_eq!(instances, [0, 1, 0, 1, 0, 0, 2, 2]);
        let flags: Vec<u32> = log.ranks[0].iter().map(|e| e.details.open_flags).collect();
        assert_eq!((flags[0], flags[1], flags[6]), (O_WRONLY | O_CREAT, O_WRONLY | O_CREAT, 0));
        let positions: Vec<u8> = log.ranks[0].iter().map(|e| e.event.flags).collect();
        assert_eq!(positions, [16, 0, 16, 0, 16, 16, 16, 16]);
    }
}

//! Open files: which one each operation is about, how it was opened, and where transfers took place, as far as the run
//! does not report them; and how all ranks use each.

use super::events::Events;
use super::log::{Facts, Log, Merged};
use super::logged::{Logged, needs_writing};
use model::Op;
use model::event::{Event, FLAG_AT_POSITION, FLAG_FROM_POSITION, FLAG_UNPLACED, NO_ID};
use model::op::{ByteEffect, HandleEffect};
use model::open_flags::{O_APPEND, O_CREAT, O_EXCL, O_RDWR, O_TRUNC, O_WRONLY};
use std::collections::{HashMap, HashSet, VecDeque};

impl Log {
    /// Finds the open file of every operation, and the flags it was opened with, where the run does
    /// not report them, as runs of Parabench.
    pub fn complete(&mut self) {
        if self.imported {
            self.name_instances();
            self.guess_flags();
            self.follow_positions();
        } else {
            let mut next = 0;
            for rank in &mut self.ranks {
                Handles { open: HashMap::new(), next: &mut next, sites: &self.sites }.follow(rank);
            }
        }
        self.contended = find_contended_appends(self);
    }

    /// Logs without opens have names only: a rank has each file open once.
    fn name_instances(&mut self) {
        let known = |entry: Logged| Some(entry.details.instance).filter(|i| *i != NO_ID);
        let mut next = self.ranks.iter().flatten().filter_map(known).max().map_or(0, |i| i + 1);
        for rank in &mut self.ranks {
            let mut by_name: HashMap<u32, u32> = HashMap::new();
            rank.change(|entry| {
                if entry.details.instance == NO_ID && entry.op().is_some_and(Op::takes_handle) {
                    entry.details.instance =
                        *by_name.entry(entry.event.path).or_insert_with(|| {
                            next += 1;
                            next - 1
                        });
                }
            });
        }
    }

    /// Logs without flags of opening: as the open file is used, so it was opened.
    fn guess_flags(&mut self) {
        let has_unknown_flags = |entry: &Logged| {
            entry.details.open_flags == NO_ID && entry.op() == Some(Op::Fopen) && entry.is_ok()
        };
        if !self.ranks.iter().flatten().any(|entry| has_unknown_flags(&entry)) {
            return;
        }
        let used = instances(self);
        for rank in &mut self.ranks {
            rank.change(|entry| {
                if has_unknown_flags(entry) {
                    let used = used.get(&entry.details.instance);
                    entry.details.open_flags = used.map_or(0, |used| used.needed_flags(O_CREAT));
                }
            });
        }
    }

    /// Transfers whose positions a log does not report follow each other, from where their open file was at first, as
    /// after `app < file`. That place is taken for the beginning; they stay marked as those that nobody knows.
    fn follow_positions(&mut self) {
        if !self.ranks.iter().flatten().any(|entry| is_relative(&entry)) {
            return;
        }
        let mut positions = Positions::default();
        let mut places = vec![VecDeque::new(); self.ranks.len()];
        for ((rank, _), entry) in Merged::new(self) {
            let followed = positions.follow(entry);
            if is_relative(&entry) {
                places[rank as usize].push_back(followed);
            }
        }
        for (rank, mut places) in self.ranks.iter_mut().zip(places) {
            rank.change(|entry| {
                let followed = if is_relative(entry) { places.pop_front() } else { None };
                *entry = followed.unwrap_or(*entry);
            });
        }
    }
}

/// It began where its open file was, wherever that is.
fn is_relative(entry: &Logged) -> bool {
    let flags = FLAG_UNPLACED | FLAG_AT_POSITION;
    entry.is_ok() && entry.parts().any(|part| part.event.flags & flags == flags)
}

/// It moves bytes of an open file.
fn is_transfer(op: Op) -> bool {
    matches!(op.row().bytes, ByteEffect::Reads | ByteEffect::Writes) && op.takes_handle()
}

fn reads(op: Op) -> bool {
    op.row().bytes == ByteEffect::Reads && op.takes_handle()
}

fn writes(op: Op) -> bool {
    op.row().bytes == ByteEffect::Writes && op.takes_handle()
}

/// Positions of open files; `None`: somewhere at the end.
#[derive(Default)]
struct Positions {
    now: HashMap<u32, Option<u64>>,
    appending: HashMap<u32, bool>,
}

impl Positions {
    /// The operation at the place where it began, as far as one is known.
    fn follow(&mut self, mut entry: Logged) -> Logged {
        let flags = entry.details.open_flags;
        if entry.op().is_some_and(|op| op.row().gives_handle()) && flags != NO_ID {
            self.appending.insert(entry.details.instance, flags & O_APPEND != 0);
        }
        if !entry.is_ok() {
            return entry;
        }
        let copies = entry.op() == Some(Op::Fcopy);
        for part in entry.parts() {
            let Some(at) = self.part(&part) else { continue };
            match copies && part.op() == Some(Op::Fread) {
                true => entry.event.from_bytes = at,
                false => entry.event.offset_bytes = at,
            }
        }
        entry
    }

    /// Where a transfer began that goes on from its open file's position.
    fn part(&mut self, part: &Logged) -> Option<u64> {
        let (instance, event, op) = (part.details.instance, &part.event, part.op()?);
        if op == Op::Fseek {
            self.now.insert(instance, Some(event.offset_bytes));
        }
        if !is_transfer(op) || op.is_mpi_io() || event.flags & FLAG_AT_POSITION == 0 {
            return None;
        }
        let position = self.now.entry(instance).or_insert(Some(0));
        let at = match event.flags & FLAG_UNPLACED != 0 {
            true if writes(op) && self.appending.get(&instance) == Some(&true) => None,
            true => *position,
            false => Some(event.offset_bytes),
        };
        *position = at.map(|at| at.saturating_add(event.done_bytes));
        at
    }
}

/// Instances opened with `O_APPEND` whose file other ranks write, too: the order of their writes is
/// not the same twice.
fn find_contended_appends(log: &Log) -> HashSet<u32> {
    let opens = |entry: &Logged| {
        entry.op() == Some(Op::Fopen) && entry.open_flags() & O_APPEND != 0 && entry.is_ok()
    };
    let appending = log.ranks.iter().flatten().filter(opens).map(|entry| entry.details.instance);
    let appending: HashSet<u32> = appending.filter(|instance| *instance != NO_ID).collect();
    if appending.is_empty() {
        return appending;
    }
    // By file: the only rank that writes it.
    let mut writers: HashMap<u32, Option<u32>> = HashMap::new();
    let mut used: HashSet<(u32, u32)> = HashSet::new();
    for (rank, events) in (0..).zip(&log.ranks) {
        let writes = |entry: &Logged| {
            entry.op().is_some_and(|op| writes(op) && !op.is_mpi_io()) && entry.event.done_bytes > 0
        };
        for entry in events.iter().flat_map(|entry| entry.parts()).filter(writes) {
            let writer = writers.entry(entry.event.path).or_insert(Some(rank));
            *writer = writer.filter(|known| *known == rank);
            if appending.contains(&entry.details.instance) {
                used.insert((entry.details.instance, entry.event.path));
            }
        }
    }
    let shared = used.into_iter().filter(|(_, path)| writers[path].is_none());
    shared.map(|(instance, _)| instance).collect()
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
            Some(op) if op.takes_handle() => self.uses(entry, op, &mut all),
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
        let fits = |open: &Open| match op.row().bytes {
            ByteEffect::Writes => !open.known || open.flags & 3 != 0,
            ByteEffect::Reads => !open.known || open.flags & 3 != O_WRONLY,
            _ => true,
        };
        let same_kind = |open: &Open| open.mpi == op.is_mpi_io() && fits(open);
        let Some(place) = same.iter().rposition(same_kind) else { return };
        let open = &mut same[place];
        entry.details.instance = open.instance;
        open.learn(op, &entry.event);
        if op.row().handle == HandleEffect::Closes {
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
        if event.pieces > 0 || event.flags & FLAG_UNPLACED != 0 {
            return;
        }
        if is_transfer(op) {
            self.sequential &= event.offset_bytes == self.position;
            self.position = event.offset_bytes.saturating_add(event.done_bytes);
        } else if op.row().handle == HandleEffect::Moves {
            self.position = event.offset_bytes;
        }
    }
}

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
        let reads = entry.op().is_some_and(reads);
        self.appends() && (!reads || entry.event.flags & FLAG_UNPLACED != 0)
    }

    /// The position of the program is not the one at which the operation worked.
    pub fn is_elsewhere(self, entry: &Logged) -> bool {
        (self.shared || self.strays) && !self.puts_at_end(entry)
    }

    /// Follows the position.
    fn moves(&mut self, op: Op, event: &Event) {
        let unplaced = event.flags & FLAG_UNPLACED != 0;
        let is_here = is_transfer(op) && event.flags & FLAG_AT_POSITION != 0;
        let stays = self.appends() && is_transfer(op) && (unplaced || writes(op));
        if stays || op.is_mpi_io() || event.errno != 0 || !(is_here || op == Op::Fseek) {
            return;
        }
        self.strays |= is_here && event.offset_bytes != self.position;
        self.position = event.offset_bytes.saturating_add(event.done_bytes);
    }

    /// Flags for a rank that opens it once more. `there`: the file holds data from before.
    pub fn adopting(self, there: bool) -> u32 {
        match self.flags {
            Some(flags) => flags & !(O_CREAT | O_EXCL | O_TRUNC),
            None => self.needed_flags(if there { 0 } else { O_CREAT }),
        }
    }

    /// Flags that what is done with it needs; where it is written, `makes`, too.
    fn needed_flags(self, makes: u32) -> u32 {
        match (self.reads, self.writes) {
            (true, true) => O_RDWR | makes,
            (false, true) => O_WRONLY | makes,
            _ => 0,
        }
    }
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
                instance.flags = Some(entry.open_flags());
            } else if !op.takes_handle() {
                continue;
            }
            instance.moves(op, &entry.event);
            instance.shared |= instance.rank.is_some_and(|other| other != rank);
            instance.rank = Some(rank);
            instance.reads |= reads(op);
            instance.writes |= needs_writing(op);
        }
    }
    all
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

    fn unplaced(op: Op, start_ns: u64, instance: u32, bytes: u64) -> Logged {
        let mut entry = Logged::default();
        entry.event.op = op as u8;
        (entry.event.start_ns, entry.event.done_bytes) = (start_ns, bytes);
        entry.event.flags = FLAG_UNPLACED | FLAG_AT_POSITION;
        entry.details.instance = instance;
        entry
    }

    /// Two ranks read on from one position, copies from it, too, until somebody says where it is.
    #[test]
    fn transfers_at_unknown_positions_follow_each_other() {
        let mut seek = unplaced(Op::Fseek, 3, 7, 0);
        (seek.event.offset_bytes, seek.event.flags) = (4000, 0);
        let mut copy = unplaced(Op::Fcopy, 2, 8, 50);
        (copy.details.instance2, copy.event.path2) = (7, 1);
        copy.event.flags |= FLAG_FROM_POSITION;
        let mut failed = unplaced(Op::Fread, 5, 7, 9);
        failed.event.errno = 5;
        let ranks = vec![
            [unplaced(Op::Fread, 0, 7, 100), copy, unplaced(Op::Fread, 4, 7, 1)]
                .into_iter()
                .collect(),
            [unplaced(Op::Fread, 1, 7, 10), seek, failed, unplaced(Op::Fread, 6, 7, 2)]
                .into_iter()
                .collect(),
        ];
        let mut log = Log { ranks, imported: true, ..Log::default() };
        log.follow_positions();
        let places = |rank: usize| -> Vec<(u64, u64)> {
            let all = log.ranks[rank].iter();
            all.map(|entry| (entry.event.offset_bytes, entry.event.from_bytes)).collect()
        };
        assert_eq!(places(0), [(0, 0), (0, 110), (4000, 0)]);
        assert_eq!(places(1), [(100, 0), (4000, 0), (0, 0), (4001, 0)]);
    }

    #[test]
    fn behind_what_was_appended_nobody_knows_the_position() {
        let mut open = unplaced(Op::Fopen, 0, 7, 0);
        (open.details.open_flags, open.event.flags) = (O_APPEND, 0);
        let rank = [open, unplaced(Op::Fwrite, 1, 7, 10), unplaced(Op::Fread, 2, 7, 5)];
        let ranks = vec![rank.into_iter().collect()];
        let mut log = Log { ranks, imported: true, ..Log::default() };
        log.follow_positions();
        assert!(log.ranks[0].iter().all(|entry| entry.event.offset_bytes == 0));
    }

    #[test]
    fn files_that_one_rank_appends_to_are_not_contended() {
        let entry = |op: Op, path: u32, instance: u32, open_flags: u32| {
            let mut entry = Logged::default();
            (entry.event.op, entry.event.path, entry.event.done_bytes) = (op as u8, path, 10);
            (entry.details.instance, entry.details.open_flags) = (instance, open_flags);
            entry
        };
        let rank = |own: u32| {
            let (log, common, plain) = (3 * own, 3 * own + 1, 3 * own + 2);
            Events::from_iter([
                entry(Op::Fopen, own, log, O_APPEND),
                entry(Op::Fwrite, own, log, NO_ID),
                entry(Op::Fopen, 7, common, O_APPEND | 1),
                entry(Op::Fwrite, 7, common, NO_ID),
                entry(Op::Fopen, 7, plain, 1),
                entry(Op::Fwrite, 7, plain, NO_ID),
            ])
        };
        let mut log = Log { ranks: vec![rank(0), rank(1)], imported: true, ..Log::default() };
        log.complete();
        assert_eq!(log.contended, HashSet::from([1, 4]));
        let free: Vec<bool> = log.ranks[1].iter().map(|entry| log.lies_anywhere(&entry)).collect();
        assert_eq!(free, [false, false, false, true, false, false]);
    }
}

//! Where transfers took place whose positions a log does not tell: of an open file they follow each other,
//! from where it was at first, as after `app < file`. That place is taken for the beginning.

use super::log::Log;
use super::logged::Logged;
use super::merged::Merged;
use model::Op;
use model::event::{FLAG_AT_POSITION, FLAG_UNPLACED, NO_ID};
use model::open_flags::O_APPEND;
use std::collections::{HashMap, HashSet, VecDeque};

/// Gives such transfers places relative to the first one. They stay marked as those that nobody knows.
pub fn follow(log: &mut Log) {
    if !log.ranks.iter().flatten().any(|entry| is_relative(&entry)) {
        return;
    }
    let mut positions = Positions::default();
    let mut places = vec![VecDeque::new(); log.ranks.len()];
    for ((rank, _), entry) in Merged::new(log, |entry| entry.event.start_ns) {
        let followed = positions.follow(entry);
        if is_relative(&entry) {
            places[rank as usize].push_back(followed);
        }
    }
    for (rank, mut places) in log.ranks.iter_mut().zip(places) {
        rank.change(|entry| {
            if is_relative(entry)
                && let Some(Logged { event, .. }) = places.pop_front()
            {
                (entry.event.offset_bytes, entry.event.from_bytes) =
                    (event.offset_bytes, event.from_bytes);
            }
        });
    }
}

/// It began where its open file was, wherever that is.
fn is_relative(entry: &Logged) -> bool {
    let is_here = |part: Logged| {
        part.event.flags & FLAG_UNPLACED != 0 && part.event.flags & FLAG_AT_POSITION != 0
    };
    entry.is_ok() && entry.parts().any(is_here)
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
        let (instance, event) = (part.details.instance, &part.event);
        match part.op()? {
            Op::Fseek => {
                self.now.insert(instance, Some(event.offset_bytes));
                return None;
            }
            Op::Fread | Op::Readv | Op::Fwrite | Op::Writev => {}
            _ => return None,
        }
        if event.flags & FLAG_AT_POSITION == 0 {
            return None;
        }
        let position = self.now.entry(instance).or_insert(Some(0));
        let writes = matches!(part.op(), Some(Op::Fwrite | Op::Writev));
        let at = match event.flags & FLAG_UNPLACED != 0 {
            true if writes && self.appending.get(&instance) == Some(&true) => None,
            true => *position,
            false => Some(event.offset_bytes),
        };
        *position = at.map(|at| at.saturating_add(event.done_bytes));
        at
    }
}

/// Instances opened with `O_APPEND` whose file other ranks write, too: the order of their writes is
/// not the same twice.
pub fn find_contended_appends(log: &Log) -> HashSet<u32> {
    let opens = |entry: &Logged| {
        let flags = entry.details.open_flags;
        entry.op() == Some(Op::Fopen) && flags != NO_ID && flags & O_APPEND != 0 && entry.is_ok()
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
            matches!(entry.op(), Some(Op::Fwrite | Op::Writev)) && entry.event.done_bytes > 0
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

#[cfg(test)]
mod tests {
    use super::super::events::Events;
    use super::*;
    use model::event::FLAG_FROM_POSITION;

    fn entry(op: Op, start_ns: u64, instance: u32, bytes: u64) -> Logged {
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
        let mut seek = entry(Op::Fseek, 3, 7, 0);
        (seek.event.offset_bytes, seek.event.flags) = (4000, 0);
        let mut copy = entry(Op::Fcopy, 2, 8, 50);
        (copy.details.instance2, copy.event.path2) = (7, 1);
        copy.event.flags |= FLAG_FROM_POSITION;
        let mut failed = entry(Op::Fread, 5, 7, 9);
        failed.event.errno = 5;
        let ranks = vec![
            [entry(Op::Fread, 0, 7, 100), copy, entry(Op::Fread, 4, 7, 1)].into_iter().collect(),
            [entry(Op::Fread, 1, 7, 10), seek, failed, entry(Op::Fread, 6, 7, 2)]
                .into_iter()
                .collect(),
        ];
        let mut log = Log { ranks, imported: true, ..Log::default() };
        follow(&mut log);
        let places = |rank: usize| -> Vec<(u64, u64)> {
            let all = log.ranks[rank].iter();
            all.map(|entry| (entry.event.offset_bytes, entry.event.from_bytes)).collect()
        };
        assert_eq!(places(0), [(0, 0), (0, 110), (4000, 0)]);
        assert_eq!(places(1), [(100, 0), (4000, 0), (0, 0), (4001, 0)]);
    }

    #[test]
    fn behind_what_was_appended_nobody_knows_the_position() {
        let mut open = entry(Op::Fopen, 0, 7, 0);
        (open.details.open_flags, open.event.flags) = (O_APPEND, 0);
        let rank = [open, entry(Op::Fwrite, 1, 7, 10), entry(Op::Fread, 2, 7, 5)];
        let ranks = vec![rank.into_iter().collect()];
        let mut log = Log { ranks, imported: true, ..Log::default() };
        follow(&mut log);
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

//! Files that several ranks append to: which of them comes first is not the same twice.

use super::log::{Log, Logged};
use model::Op;
use model::event::NO_ID;
use model::open_flags::O_APPEND;
use std::collections::{HashMap, HashSet};

/// Open files with `O_APPEND` whose file other ranks write, too.
pub fn contended(log: &Log) -> HashSet<u32> {
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

//! The operations of all ranks in one order of time.

use super::events::Iter;
use super::log::Log;
use super::logged::Logged;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Place of an operation: rank and number.
pub type Place = (u32, usize);

/// Iterates over the operations of a log by time, then by rank.
pub struct Merged<'a> {
    ranks: Vec<Iter<'a>>,
    next: BinaryHeap<Reverse<Next>>,
    when: fn(&Logged) -> u64,
    /// The last one that was given has waited already.
    has_waited: bool,
}

/// An operation that comes next on its rank, or whose time is later than its start.
struct Next {
    key: (u64, u32, usize),
    entry: Logged,
    waits: bool,
}

impl<'a> Merged<'a> {
    /// Those of a log. `when`: the time of an operation, its start or later.
    pub fn new(log: &'a Log, when: fn(&Logged) -> u64) -> Merged<'a> {
        let ranks = log.ranks.iter().map(|rank| rank.iter()).collect();
        let mut merged = Merged { ranks, next: BinaryHeap::new(), when, has_waited: false };
        (0..log.ranks.len() as u32).for_each(|rank| merged.fetch(rank, 0));
        merged
    }

    /// The operation that was just given comes again at its end; false: it has waited already.
    pub fn postpone(&mut self, (rank, at): Place, entry: &Logged) -> bool {
        let end_ns = entry.event.end_ns;
        if self.has_waited || end_ns <= entry.event.start_ns {
            return false;
        }
        let key = (end_ns, rank, at);
        self.next.push(Reverse(Next { key, entry: *entry, waits: true }));
        true
    }

    fn fetch(&mut self, rank: u32, at: usize) {
        if let Some(entry) = self.ranks[rank as usize].next() {
            let key = (entry.event.start_ns, rank, at);
            self.next.push(Reverse(Next { key, entry, waits: false }));
        }
    }
}

impl Iterator for Merged<'_> {
    type Item = (Place, Logged);

    fn next(&mut self) -> Option<(Place, Logged)> {
        loop {
            let Reverse(Next { key: (ns, rank, at), entry, waits }) = self.next.pop()?;
            if !waits {
                self.fetch(rank, at + 1);
                let when = (self.when)(&entry);
                if when > ns {
                    let key = (when, rank, at);
                    self.next.push(Reverse(Next { key, entry, waits: true }));
                    continue;
                }
            }
            self.has_waited = waits;
            return Some(((rank, at), entry));
        }
    }
}

impl PartialEq for Next {
    fn eq(&self, other: &Next) -> bool {
        self.key == other.key
    }
}

impl Eq for Next {}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Next) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Next {
    fn cmp(&self, other: &Next) -> Ordering {
        self.key.cmp(&other.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_by_their_times() {
        let entry = |start_ns: u64, end_ns: u64, errno: u16| {
            let mut entry = Logged::default();
            (entry.event.start_ns, entry.event.end_ns, entry.event.errno) =
                (start_ns, end_ns, errno);
            entry
        };
        let ranks = [
            vec![entry(0, 1, 0), entry(5, 9, 1), entry(9, 10, 0)],
            vec![],
            vec![entry(0, 4, 0), entry(5, 6, 0), entry(8, 8, 0)],
        ];
        let ranks = ranks.into_iter().map(|rank| rank.into_iter().collect()).collect();
        let log = Log { ranks, ..Log::default() };
        let places = |when| Merged::new(&log, when).map(|(place, _)| place).collect::<Vec<_>>();
        let by_start = [(0, 0), (2, 0), (0, 1), (2, 1), (2, 2), (0, 2)];
        assert_eq!(places(|entry| entry.event.start_ns), by_start);
        let failures_late = |entry: &Logged| match entry.event.errno {
            0 => entry.event.start_ns,
            _ => entry.event.end_ns,
        };
        assert_eq!(places(failures_late), [(0, 0), (2, 0), (2, 1), (2, 2), (0, 1), (0, 2)]);
    }
}

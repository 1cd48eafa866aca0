//! How much room a file takes: its size without the holes.

use std::ops::Range;

/// Ranges that are kept apart; beyond that every second gap is closed.
const RANGES: usize = 1 << 14;

/// Ranges of a file that were written or allocated.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// Ascending, none touches the next.
    ranges: Vec<Range<u64>>,
    /// Sum of their lengths.
    bytes: u64,
    /// Bytes whose places are unknown.
    loose_bytes: u64,
    /// It may be less than [`Room::bytes`].
    is_rough: bool,
}

impl Room {
    /// Bytes that a file of this size takes; never less than it really does.
    pub(super) fn bytes(&self, size: u64) -> u64 {
        // Room may have been taken beyond the end of the file.
        let end = self.ranges.last().map_or(0, |last| last.end);
        self.bytes.saturating_add(self.loose_bytes).min(size.max(end))
    }

    /// A range takes room.
    pub(super) fn add(&mut self, start: u64, end: u64) {
        if let Some(last) = self.ranges.last_mut().filter(|last| last.end == start) {
            self.bytes += end - last.end;
            last.end = end;
        } else if start < end {
            self.insert(start, end);
        }
    }

    /// More bytes take room somewhere.
    pub(super) fn add_loose(&mut self, bytes: u64) {
        self.loose_bytes = self.loose_bytes.saturating_add(bytes);
        self.is_rough = true;
    }

    /// Where bytes lie is not known of all of them: some may count twice.
    pub(super) fn is_rough(&self) -> bool {
        self.is_rough
    }

    /// The file is cut off at `size`.
    pub(super) fn cut(&mut self, size: u64) {
        self.ranges.retain_mut(|range| {
            range.end = range.end.min(size);
            range.start < range.end
        });
        self.loose_bytes = if size == 0 { 0 } else { self.loose_bytes.min(size) };
        self.count();
    }

    /// A range takes no room any longer.
    pub(super) fn remove(&mut self, start: u64, end: u64) {
        self.split_at(start);
        self.split_at(end);
        self.ranges.retain(|range| range.start < start || range.end > end);
        self.join_to_limit();
    }

    /// Moves ranges from `from` on to `to`; the space between both must be free.
    pub(super) fn shift(&mut self, from: u64, to: u64) {
        self.split_at(from);
        for range in self.ranges.iter_mut().filter(|range| range.start >= from) {
            let moved = |at: u64| (at - from).saturating_add(to);
            *range = moved(range.start)..moved(range.end);
        }
        let ranges = std::mem::take(&mut self.ranges);
        for range in ranges {
            match self.ranges.last_mut().filter(|last| last.end == range.start) {
                Some(last) => last.end = range.end,
                None => self.ranges.push(range),
            }
        }
        self.join_to_limit();
    }

    /// No range has `at` inside it.
    fn split_at(&mut self, at: u64) {
        let inside = |range: &Range<u64>| range.start < at && at < range.end;
        if let Some(index) = self.ranges.iter().position(inside) {
            let end = std::mem::replace(&mut self.ranges[index].end, at);
            self.ranges.insert(index + 1, at..end);
        }
    }

    fn join_to_limit(&mut self) {
        if self.ranges.len() > RANGES {
            let pairs = self.ranges.chunks(2);
            self.ranges = pairs.map(|pair| pair[0].start..pair[pair.len() - 1].end).collect();
            self.is_rough = true;
        }
        self.count();
    }

    fn insert(&mut self, start: u64, end: u64) {
        let from = self.ranges.partition_point(|range| range.end < start);
        let to = self.ranges.partition_point(|range| range.start <= end);
        let joined = match self.ranges.get(from..to) {
            Some([first, .., last]) => first.start.min(start)..last.end.max(end),
            Some([one]) => one.start.min(start)..one.end.max(end),
            _ => start..end,
        };
        self.bytes += joined.end - joined.start;
        let replaced = self.ranges.splice(from..to, [joined]);
        self.bytes -= replaced.map(|range| range.end - range.start).sum::<u64>();
        if self.ranges.len() > RANGES {
            self.join_to_limit();
        }
    }

    fn count(&mut self) {
        self.bytes = self.ranges.iter().map(|range| range.end - range.start).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_take_no_room_and_what_is_written_twice_takes_it_once() {
        let mut room = Room::default();
        for (start, end, bytes) in [(0, 4, 4), (4, 8, 8), (2, 6, 8), (100, 104, 12), (8, 100, 104)]
        {
            room.add(start, end);
            assert_eq!(room.bytes(1000), bytes, "{start}..{end}");
        }
        room.cut(50);
        assert_eq!(room.bytes(50), 50);
        room.add_loose(7);
        assert_eq!(room.bytes(1000), 57);
        room.cut(0);
        assert_eq!(room.bytes(1000), 0);
    }

    #[test]
    fn holes_are_punched_and_ranges_move() {
        let mut room = Room::default();
        room.add(0, 100);
        room.remove(20, 30);
        assert_eq!((room.bytes(100), room.ranges.len()), (90, 2));
        room.shift(30, 20);
        assert_eq!((room.bytes(90), room.ranges.len()), (90, 1));
        room.shift(40, 50);
        assert_eq!((room.bytes(100), room.ranges.clone()), (90, vec![0..40, 50..100]));
        room.remove(0, 1000);
        assert_eq!(room.bytes(100), 0);
        // Beyond the end of the file.
        room.add(100, 200);
        assert_eq!(room.bytes(0), 100);
    }

    #[test]
    fn many_ranges_are_joined_and_never_count_too_little() {
        let mut room = Room::default();
        let many = RANGES as u64;
        (0..many).for_each(|i| room.add(i * 10, i * 10 + 1));
        assert_eq!((room.bytes(u64::MAX), room.is_rough()), (many, false));
        (many..many + 9).for_each(|i| room.add(i * 10, i * 10 + 1));
        assert!(room.ranges.len() <= RANGES && room.is_rough());
        assert!(room.bytes(u64::MAX) >= many + 9 && room.bytes(u64::MAX) <= 10 * (many + 9));
    }
}

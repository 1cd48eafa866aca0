//! The content of a file in memory: its size, and where it takes room. Bytes are not kept.

use model::pattern::Run;
use std::ops::Range;

/// Largest size of a file, as on tmpfs.
pub(crate) const SIZE_MAX: u64 = i64::MAX as u64;
/// Unit of calls that move or share parts of a file.
pub(crate) const PAGE: u64 = 4096;
/// Extents of one access whose places are kept.
const PIECES_MAX: u64 = 1024;
/// Ranges that are kept apart; beyond that every second gap is closed.
const RANGES: usize = 1 << 14;

/// A file without its bytes.
#[derive(Debug, Default)]
pub(crate) struct Content {
    size: u64,
    /// Extents that were written or allocated, in ascending order, with gaps between them.
    ranges: Vec<Range<u64>>,
    /// Sum of their lengths.
    range_bytes: u64,
    /// Bytes that take room somewhere.
    loose_bytes: u64,
    /// It may take less room than [`Content::room_bytes`]: some bytes may count twice.
    pub(crate) is_rough: bool,
    /// It was there before: nobody knows how much it holds, and reads find what they ask for.
    pub(crate) found: bool,
}

impl Content {
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of storage that it takes, its size without holes; never less than it really does.
    pub(crate) fn room_bytes(&self) -> u64 {
        // Room may have been taken beyond the end of the file.
        let end = self.ranges.last().map_or(0, |last| last.end);
        self.range_bytes.saturating_add(self.loose_bytes).min(self.size.max(end))
    }

    /// Bytes of a run that can be read.
    pub(crate) fn readable_bytes(&self, run: &Run) -> u64 {
        let all = run.length_bytes.saturating_mul(run.count);
        if self.found { all } else { run.bytes_within(self.size).min(all) }
    }

    /// Is at least as large.
    pub(crate) fn extend(&mut self, size: u64) {
        self.size = self.size.max(size);
    }

    /// Equal pieces are written.
    pub(crate) fn put(&mut self, run: &Run) {
        let end = run.end_bytes().min(SIZE_MAX);
        if run.count == 1 || run.stride_bytes == run.length_bytes {
            self.allocate(run.offset_bytes.min(end), end);
        } else if run.count <= PIECES_MAX {
            for piece in 0..run.count {
                let start = run.offset_bytes.saturating_add(piece.saturating_mul(run.stride_bytes));
                self.allocate(start.min(end), start.saturating_add(run.length_bytes).min(end));
            }
        } else {
            self.add_loose(run.length_bytes.saturating_mul(run.count));
        }
        self.extend(end);
    }

    /// Becomes longer and takes more room, somewhere.
    pub(crate) fn grow(&mut self, size_bytes: u64, room_bytes: u64) {
        self.size = self.size.saturating_add(size_bytes).min(SIZE_MAX);
        self.add_loose(room_bytes);
    }

    fn add_loose(&mut self, bytes: u64) {
        self.loose_bytes = self.loose_bytes.saturating_add(bytes);
        self.is_rough = true;
    }

    /// Cuts off or adds a hole.
    pub(crate) fn resize(&mut self, size: u64) {
        if size < self.size {
            self.punch(size, u64::MAX);
            self.loose_bytes = self.loose_bytes.min(size);
        }
        self.found &= size > 0;
        self.size = size;
    }

    /// Takes a range of whole pages out: what follows moves to its start.
    pub(crate) fn collapse(&mut self, start: u64, end: u64) {
        self.punch(start, end);
        self.shift(end, start);
        self.size -= end - start;
    }

    /// Puts a hole of whole pages in: what begins at `start` moves to its end.
    pub(crate) fn insert(&mut self, start: u64, end: u64) {
        self.shift(start, end);
        self.size += end - start;
    }

    /// A range takes room.
    pub(crate) fn allocate(&mut self, start: u64, end: u64) {
        if let Some(last) = self.ranges.last_mut().filter(|last| last.end == start) {
            self.range_bytes += end - last.end;
            last.end = end;
        } else if start < end {
            self.add_range(start, end);
        }
    }

    fn add_range(&mut self, start: u64, end: u64) {
        let from = self.ranges.partition_point(|range| range.end < start);
        let to = self.ranges.partition_point(|range| range.start <= end);
        let joined = match self.ranges.get(from..to) {
            Some([first, .., last]) => first.start.min(start)..last.end.max(end),
            Some([one]) => one.start.min(start)..one.end.max(end),
            _ => start..end,
        };
        self.range_bytes += joined.end - joined.start;
        let replaced = self.ranges.splice(from..to, [joined]);
        self.range_bytes -= replaced.map(|range| range.end - range.start).sum::<u64>();
        if self.ranges.len() > RANGES {
            self.recount();
        }
    }

    /// A range takes no room of its own.
    pub(crate) fn punch(&mut self, start: u64, end: u64) {
        self.split_at(start);
        self.split_at(end);
        self.ranges.retain(|range| range.start < start || range.end > end);
        self.recount();
    }

    /// Moves ranges from `from` on to `to`; the space between both must be free.
    fn shift(&mut self, from: u64, to: u64) {
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
        self.recount();
    }

    /// No range has `at` inside it.
    fn split_at(&mut self, at: u64) {
        let inside = |range: &Range<u64>| range.start < at && at < range.end;
        if let Some(index) = self.ranges.iter().position(inside) {
            let end = std::mem::replace(&mut self.ranges[index].end, at);
            self.ranges.insert(index + 1, at..end);
        }
    }

    /// Ranges have changed; there may be too many.
    fn recount(&mut self) {
        if self.ranges.len() > RANGES {
            let pairs = self.ranges.chunks(2);
            self.ranges = pairs.map(|pair| pair[0].start..pair[pair.len() - 1].end).collect();
            self.is_rough = true;
        }
        self.range_bytes = self.ranges.iter().map(|range| range.end - range.start).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of this size without room.
    fn hole(size: u64) -> Content {
        Content { size, ..Content::default() }
    }

    #[test]
    fn holes_take_no_room_and_what_is_written_twice_takes_it_once() {
        let mut file = hole(1000);
        for (start, end, bytes) in [(0, 4, 4), (4, 8, 8), (2, 6, 8), (100, 104, 12), (8, 100, 104)]
        {
            file.allocate(start, end);
            assert_eq!(file.room_bytes(), bytes, "{start}..{end}");
        }
        file.resize(50);
        assert_eq!(file.room_bytes(), 50);
        file.resize(1000);
        file.add_loose(7);
        assert_eq!(file.room_bytes(), 57);
        file.resize(0);
        assert_eq!(file.room_bytes(), 0);
    }

    #[test]
    fn holes_are_punched_and_ranges_move() {
        let mut file = hole(100);
        file.allocate(0, 100);
        file.punch(20, 30);
        assert_eq!((file.room_bytes(), file.ranges.len()), (90, 2));
        file.shift(30, 20);
        assert_eq!((file.room_bytes(), file.ranges.len()), (90, 1));
        file.shift(40, 50);
        assert_eq!((file.room_bytes(), file.ranges.clone()), (90, vec![0..40, 50..100]));
        file.punch(0, 1000);
        assert_eq!(file.room_bytes(), 0);
        // Beyond the end of the file.
        file.resize(0);
        file.allocate(100, 200);
        assert_eq!(file.room_bytes(), 100);
    }

    #[test]
    fn many_ranges_are_joined_and_never_count_too_little() {
        let mut file = hole(u64::MAX);
        let many = RANGES as u64;
        (0..many).for_each(|i| file.allocate(i * 10, i * 10 + 1));
        assert_eq!((file.room_bytes(), file.is_rough), (many, false));
        (many..many + 9).for_each(|i| file.allocate(i * 10, i * 10 + 1));
        assert!(file.ranges.len() <= RANGES && file.is_rough);
        assert!(file.room_bytes() >= many + 9 && file.room_bytes() <= 10 * (many + 9));
    }
}

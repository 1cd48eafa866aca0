//! The content of a file in memory: a size, and pages where something was written.

use super::room::Room;
use model::pattern::Run;
use std::collections::BTreeMap;

/// Largest size of a file, as on tmpfs.
pub(super) const SIZE_MAX: u64 = i64::MAX as u64;
pub(super) const PAGE: usize = 4096;
/// Extents of one access whose places are kept.
const PIECES_MAX: u64 = 1024;

type Pages = BTreeMap<u64, Box<[u8; PAGE]>>;

/// The bytes of a file. Holes read as zeros.
#[derive(Debug, Default)]
pub(super) struct Content {
    size: u64,
    /// `None`: only the size is kept.
    pages: Option<Box<Pages>>,
    room: Room,
    /// It was there before: nobody knows how much it holds, and reads find what they ask for.
    pub(super) found: bool,
}

impl Content {
    /// An empty file.
    pub(super) fn new(keeps_data: bool) -> Content {
        let pages = keeps_data.then(Box::default);
        Content { size: 0, pages, room: Room::default(), found: false }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of storage that it takes: its size without holes.
    pub(super) fn room_bytes(&self) -> u64 {
        self.room.bytes(self.size)
    }

    /// [`Content::room_bytes`] may be too much.
    pub(super) fn is_rough(&self) -> bool {
        self.room.is_rough()
    }

    /// Takes room for a range.
    pub(super) fn allocate(&mut self, start: u64, end: u64) {
        self.room.add(start, end);
    }

    /// Is at least as large.
    pub(super) fn extend(&mut self, size: u64) {
        self.size = self.size.max(size);
    }

    /// A range becomes a hole.
    pub(super) fn punch(&mut self, start: u64, end: u64) {
        self.clear(start, end);
        self.room.remove(start, end);
    }

    /// A range reads as zeros.
    pub(super) fn clear(&mut self, start: u64, end: u64) {
        let Some(pages) = &mut self.pages else { return };
        let (first, last) = (start / PAGE as u64, end / PAGE as u64);
        for (page, bytes) in pages.range_mut(first..=last) {
            let within = |at: u64| at.saturating_sub(page * PAGE as u64).min(PAGE as u64) as usize;
            bytes[within(start)..within(end)].fill(0);
        }
    }

    /// Takes a range of whole pages out: what follows moves to its start.
    pub(super) fn collapse(&mut self, start: u64, end: u64) {
        self.punch(start, end);
        self.shift(end, start);
        self.size -= end - start;
    }

    /// A range takes no room of its own, until it is written again.
    pub(super) fn share(&mut self, start: u64, end: u64) {
        self.room.remove(start, end);
    }

    /// Puts a hole of whole pages in: what begins at `start` moves to its end.
    pub(super) fn insert(&mut self, start: u64, end: u64) {
        self.shift(start, end);
        self.size += end - start;
    }

    fn shift(&mut self, from: u64, to: u64) {
        self.room.shift(from, to);
        let Some(pages) = &mut self.pages else { return };
        let (first, to) = (from / PAGE as u64, to / PAGE as u64);
        let moved = pages.split_off(&first);
        // Where pages move down, those that were cleared there go.
        drop(pages.split_off(&first.min(to)));
        pages.extend(moved.into_iter().map(|(page, bytes)| (page - first + to, bytes)));
    }

    /// Becomes longer and takes more room, somewhere.
    pub(super) fn grow(&mut self, size_bytes: u64, room_bytes: u64) {
        self.size = self.size.saturating_add(size_bytes).min(SIZE_MAX);
        self.room.add_loose(room_bytes);
    }

    /// Equal pieces are written; pages are not kept.
    pub(super) fn put(&mut self, run: &Run) {
        let end = run.end_bytes().min(SIZE_MAX);
        if run.count == 1 || run.stride_bytes == run.length_bytes {
            self.room.add(run.offset_bytes.min(end), end);
        } else if run.count <= PIECES_MAX {
            for piece in 0..run.count {
                let start = run.offset_bytes.saturating_add(piece.saturating_mul(run.stride_bytes));
                self.room.add(start.min(end), start.saturating_add(run.length_bytes).min(end));
            }
        } else {
            self.room.add_loose(run.length_bytes.saturating_mul(run.count));
        }
        self.size = self.size.max(end);
    }

    /// Cuts off or adds a hole.
    pub(super) fn resize(&mut self, size: u64) {
        if let Some(pages) = self.pages.as_mut().filter(|_| size < self.size) {
            drop(pages.split_off(&size.div_ceil(PAGE as u64)));
            if let Some(page) = pages.get_mut(&(size / PAGE as u64)) {
                page[(size % PAGE as u64) as usize..].fill(0);
            }
        }
        if size < self.size {
            self.room.cut(size);
        }
        self.found &= size > 0;
        self.size = size;
    }

    /// Copies the bytes at `offset` to `buf`; returns their number. The buffer is
    /// left alone where only sizes are kept.
    pub(super) fn read(&self, buf: &mut [u8], offset: u64) -> usize {
        let there = self.size.saturating_sub(offset).min(buf.len() as u64) as usize;
        let there = if self.found { buf.len() } else { there };
        let Some(pages) = &self.pages else { return there };
        for (page, within, range) in pieces(offset, there) {
            match pages.get(&page) {
                Some(bytes) => buf[range.clone()].copy_from_slice(&bytes[within..][..range.len()]),
                None => buf[range].fill(0),
            }
        }
        there
    }

    /// Writes; the end must not lie beyond [`SIZE_MAX`].
    pub(super) fn write(&mut self, buf: &[u8], offset: u64) {
        if let Some(pages) = &mut self.pages {
            for (page, within, range) in pieces(offset, buf.len()) {
                let bytes = pages.entry(page).or_insert_with(|| Box::new([0; PAGE]));
                bytes[within..][..range.len()].copy_from_slice(&buf[range]);
            }
        }
        let end = offset + buf.len() as u64;
        self.room.add(offset, end);
        self.size = self.size.max(end);
    }
}

/// A range of a file by pages: page, first byte within it, range of the buffer.
fn pieces(
    offset: u64,
    length: usize,
) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let within = (at % PAGE as u64) as usize;
        let piece = (PAGE - within).min(length - done);
        let range = done..done + piece;
        done += piece;
        (piece > 0).then_some((at / PAGE as u64, within, range))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_and_cut_tails_read_as_zeros() {
        let mut content = Content::new(true);
        content.write(b"abc", 4095);
        content.resize(4096);
        content.resize(5000);
        let mut buf = [9; 8];
        assert_eq!(content.read(&mut buf, 4094), 8);
        assert_eq!(&buf, b"\0a\0\0\0\0\0\0");
        assert_eq!(content.read(&mut buf, 4996), 4);
        assert_eq!(content.read(&mut buf, 5001), 0);
    }

    #[test]
    fn sizes_alone_are_kept_without_data() {
        let mut content = Content::new(false);
        content.write(&[1; 100], 1 << 40);
        assert_eq!(content.size(), (1 << 40) + 100);
        let mut buf = [9; 4];
        assert_eq!((content.read(&mut buf, 0), buf), (4, [9; 4]));
    }
}

//! Calls by stream and column of time: what the ranks of a run did when.
//!
//! A stream is what calls have in common: band of ranks, label, operation, program line, file. The number of cells is
//! bounded: pairs of columns become one until they fit, and streams are joined before the columns are too wide.

use super::axis::{Bands, TimeBins};
use super::quick::QuickMap;

/// Columns are not halved below this number while streams can be joined instead.
const FEW_COLUMNS: usize = 256;
/// The same of bands of ranks.
const FEW_BANDS: usize = 8;

/// What the calls of a stream have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stream {
    /// Number of the band of ranks.
    pub band: u32,
    /// Number of the label.
    pub label: u32,
    /// The operation: in a finished time line its number there.
    pub op: u8,
    /// Number of the program line; -1 where it is unknown or was given up.
    pub line: i32,
    /// Number of the file; -1 for others and for none.
    pub file: i32,
}

/// Calls of a stream that began in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Number of the stream.
    pub stream: u32,
    /// Number of the column.
    pub column: u32,
    /// Calls.
    pub calls: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Sum of their own times.
    pub busy_ns: u64,
    /// The longest own time.
    pub longest_ns: u64,
}

impl Cell {
    fn merge(&mut self, other: &Cell) {
        self.calls += other.calls;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

/// Collects cells.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    most: usize,
    /// Columns that [`Cells::add`] is given; a power of two.
    columns: usize,
    /// Pairs of them were joined so often.
    pub shift: u32,
    /// Bands that it is given.
    bands: usize,
    pub band_shift: u32,
    pub has_files: bool,
    pub has_lines: bool,
    streams: Vec<Stream>,
    ids: QuickMap<Stream, u32>,
    /// Of each band the last stream: calls often follow calls of their kind.
    last: Vec<Option<(Stream, u32)>>,
    /// Of each stream column and number of its last cell.
    latest: Vec<(u32, u32)>,
    cells: Vec<Cell>,
    places: QuickMap<u64, u32>,
}

impl Cells {
    /// At most `most` cells.
    pub fn new(time: &TimeBins, bands: &Bands, most: usize) -> Cells {
        Cells {
            most,
            columns: time.count,
            shift: 0,
            bands: bands.count,
            band_shift: 0,
            has_files: true,
            has_lines: true,
            streams: Vec::new(),
            ids: QuickMap::default(),
            last: vec![None; bands.count],
            latest: Vec::new(),
            cells: Vec::new(),
            places: QuickMap::default(),
        }
    }

    /// Adds calls; stream and column of `cell` are what this finds.
    pub fn add(&mut self, stream: Stream, column: usize, cell: Cell) {
        let stream = self.stream(self.joined(stream));
        let column = column as u32 >> self.shift;
        self.put(Cell { stream, column, ..cell });
        while self.cells.len() > self.most && self.coarsen() {}
    }

    fn put(&mut self, cell: Cell) {
        let latest = &mut self.latest[cell.stream as usize];
        if latest.0 != cell.column {
            let key = u64::from(cell.stream) << 32 | u64::from(cell.column);
            let next = self.cells.len() as u32;
            *latest = (cell.column, *self.places.entry(key).or_insert(next));
            if latest.1 == next {
                self.cells.push(cell);
                return;
            }
        }
        self.cells[latest.1 as usize].merge(&cell);
    }

    /// The stream after everything that was given up.
    fn joined(&self, stream: Stream) -> Stream {
        Stream {
            band: stream.band >> self.band_shift,
            line: if self.has_lines { stream.line } else { -1 },
            file: if self.has_files { stream.file } else { -1 },
            ..stream
        }
    }

    fn stream(&mut self, stream: Stream) -> u32 {
        let last = &mut self.last[stream.band as usize];
        if let Some((same, id)) = last
            && *same == stream
        {
            return *id;
        }
        let next = self.streams.len() as u32;
        let id = *self.ids.entry(stream).or_insert(next);
        if id == next {
            self.streams.push(stream);
            self.latest.push((u32::MAX, 0));
        }
        *last = Some((stream, id));
        id
    }

    /// Makes fewer cells of them; false: there is nothing left to join.
    fn coarsen(&mut self) -> bool {
        let (columns, bands) =
            (self.columns >> self.shift, self.bands.div_ceil(1 << self.band_shift));
        let mut halves_columns = 0;
        match () {
            () if columns > FEW_COLUMNS => halves_columns = 1,
            () if bands > FEW_BANDS => self.band_shift += 1,
            () if self.has_files => self.has_files = false,
            () if self.has_lines => self.has_lines = false,
            () if bands > 1 => self.band_shift += 1,
            () if columns > 1 => halves_columns = 1,
            () => return false,
        }
        let joins_bands = u32::from(self.bands.div_ceil(1 << self.band_shift) < bands);
        self.shift += halves_columns;
        let (streams, cells) = (std::mem::take(&mut self.streams), std::mem::take(&mut self.cells));
        (self.ids, self.places) = (QuickMap::default(), QuickMap::default());
        self.last.fill(None);
        self.latest.clear();
        for cell in cells {
            let old = streams[cell.stream as usize];
            let joined = Stream {
                band: old.band >> joins_bands,
                line: if self.has_lines { old.line } else { -1 },
                file: if self.has_files { old.file } else { -1 },
                ..old
            };
            let stream = self.stream(joined);
            self.put(Cell { stream, column: cell.column >> halves_columns, ..cell });
        }
        true
    }

    /// Streams in ascending order, and their cells in the order of streams and columns.
    pub fn sorted(self) -> (Vec<Stream>, Vec<Cell>) {
        let mut order: Vec<u32> = (0..self.streams.len() as u32).collect();
        order.sort_unstable_by_key(|id| self.streams[*id as usize]);
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, id)| places[*id as usize] = place as u32);
        let moved = |cell: Cell| Cell { stream: places[cell.stream as usize], ..cell };
        let mut cells: Vec<Cell> = self.cells.into_iter().map(moved).collect();
        cells.sort_unstable_by_key(|cell| (cell.stream, cell.column));
        (order.iter().map(|id| self.streams[*id as usize]).collect(), cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(bytes: u64, busy_ns: u64) -> Cell {
        Cell { stream: 0, column: 0, calls: 1, bytes, busy_ns, longest_ns: busy_ns }
    }

    #[test]
    fn cells_are_bounded_and_keep_their_sums() {
        let time = TimeBins::in_powers(0, 1 << 20, 1024);
        let mut cells = Cells::new(&time, &Bands::over(64, 64), 300);
        for at in 0..100_000u64 {
            let number = |count: u64| (at * 7919 / 13 % count) as u32;
            let stream = Stream {
                band: number(64),
                label: number(3),
                op: number(5) as u8,
                line: number(9) as i32,
                file: number(4) as i32 - 1,
            };
            cells.add(stream, (at * 104_729 % 1024) as usize, one(at, at % 1000));
        }
        assert!(!cells.has_files && !cells.has_lines && cells.band_shift > 0);
        let (streams, cells) = cells.sorted();
        assert!(cells.len() <= 300, "{}", cells.len());
        assert!(streams.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(cells.iter().all(|cell| (cell.stream as usize) < streams.len()));
        assert_eq!(cells.iter().map(|cell| cell.calls).sum::<u64>(), 100_000);
        assert_eq!(cells.iter().map(|cell| cell.bytes).sum::<u64>(), (0..100_000).sum::<u64>());
        assert_eq!(cells.iter().map(|cell| cell.longest_ns).max(), Some(999));
    }

    #[test]
    fn sums_do_not_overflow() {
        let time = TimeBins::in_powers(0, 0, 16);
        let mut cells = Cells::new(&time, &Bands::over(1, 1), 10);
        let stream = Stream { band: 0, label: 0, op: 0, line: -1, file: -1 };
        (0..3).for_each(|_| cells.add(stream, 0, one(u64::MAX, u64::MAX)));
        assert_eq!(cells.sorted().1, [Cell { calls: 3, ..one(u64::MAX, u64::MAX) }]);
    }
}

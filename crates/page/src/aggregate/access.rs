//! How files were accessed: sizes, patterns, files and ranks, as the counters of Darshan tell it.
//!
//! Operations that failed are not here. Making data stable (fsync) is write time; opening, closing, seeking and names
//! are metadata time, also as parts of an operation that moves bytes.

use super::axis::{Bands, Execution};
use super::extents::{Extents, Row};
use super::quick::QuickMap;
use super::scope::Span;
use super::timeline::Kind;
use model::Op;
use model::op::{Class, Part};
use std::cmp::Reverse;

/// Names of the bins of sizes, whose upper ends are `BIN_ENDS`.
pub const BINS: [&str; 10] = [
    "0-100", "101-1K", "1K-10K", "10K-100K", "100K-1M", "1M-4M", "4M-10M", "10M-100M", "100M-1G",
    "1G+",
];
/// The largest size of each bin but the last.
const BIN_ENDS: [u64; 9] =
    [100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30];
/// Different sizes that are counted apart.
const SIZES: usize = 65_536;
/// Common sizes that are named.
const COMMON: usize = 4;
/// Bands of ranks: one each up to here.
const BANDS: usize = 1024;

/// Accesses of an execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Which one.
    pub execution: Execution,
    /// The log has times of calls: else all times are 0 and mean nothing.
    pub has_times: bool,
    /// Sizes of reads.
    pub reads: Sizes,
    /// Sizes of writes.
    pub writes: Sizes,
    /// Files with most bytes, then most time: at most 1,000.
    pub files: Vec<FileAccess>,
    /// Other files.
    pub more_files: usize,
    /// Their sum; its ranks and orders of accesses are not counted.
    pub others: FileAccess,
    /// By rank, or by band of neighbouring ranks.
    pub ranks: Vec<RankAccess>,
    /// The one of them with most time per rank; `None`: no time is known, or there is one rank.
    pub slowest: Option<usize>,
}

/// How large accesses were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sizes {
    /// Accesses by size ([`BINS`]).
    pub bins: [u64; 10],
    /// The commonest sizes with their numbers of accesses, the commonest first.
    pub common: Vec<(u64, u64)>,
    /// Accesses of sizes that were not compared with them: there were too many different ones.
    pub uncounted: u64,
    counts: QuickMap<u64, u64>,
}

/// Reads or writes of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Accesses.
    pub calls: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time of the transfers.
    pub busy_ns: u64,
    /// Accesses that follow one of the same rank and direction in the file, both at known positions.
    pub following: u64,
    /// Of these, those that begin at the end of the one before or behind it.
    pub sequential: u64,
    /// Of these, those that begin at its end.
    pub consecutive: u64,
}

impl Moves {
    /// Share of sequential accesses; `None`: no access follows another one.
    pub fn sequential_share(&self) -> Option<f64> {
        (self.following > 0).then(|| self.sequential as f64 / self.following as f64)
    }

    /// Share of consecutive accesses.
    pub fn consecutive_share(&self) -> Option<f64> {
        (self.following > 0).then(|| self.consecutive as f64 / self.following as f64)
    }
}

/// Operations on a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileAccess {
    /// Its path as the event table writes it.
    pub path: String,
    /// Reads.
    pub read: Moves,
    /// Writes.
    pub write: Moves,
    /// Operations that open it.
    pub opens: u64,
    /// Time of all that moves no bytes.
    pub metadata_ns: u64,
    /// Ranks with operations on it.
    pub ranks: u32,
}

impl FileAccess {
    /// Bytes moved.
    pub fn bytes(&self) -> u64 {
        self.read.bytes.saturating_add(self.write.bytes)
    }
}

/// Operations of a rank, or of neighbouring ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankAccess {
    /// First rank.
    pub first: u32,
    /// Last rank.
    pub last: u32,
    /// Time of reading, sum over the ranks as all that follows.
    pub read_ns: u64,
    /// Time of writing.
    pub write_ns: u64,
    /// Time of all else on files.
    pub metadata_ns: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl RankAccess {
    /// Ranks.
    pub fn ranks(&self) -> u32 {
        self.last - self.first + 1
    }

    /// Time on files, sum over the ranks.
    pub fn busy_ns(&self) -> u64 {
        self.read_ns.saturating_add(self.write_ns).saturating_add(self.metadata_ns)
    }
}

/// Where the last accesses of a rank in a file ended, of reads and of writes.
type Ends = [Option<u64>; 2];

/// Collects accesses. Rows come rank by rank.
pub(crate) struct Accesses {
    found: Access,
    bands: Bands,
    /// The rank whose accesses `ends` has.
    rank: Option<u32>,
    ends: Vec<Option<Ends>>,
}

impl Accesses {
    pub fn new(span: &Span, has_times: bool) -> Accesses {
        let bands = Bands::over(span.ranks, BANDS);
        let rank = |band: usize| RankAccess {
            first: bands.first(band),
            last: bands.first(band + 1) - 1,
            ..RankAccess::default()
        };
        let found = Access {
            execution: span.execution,
            has_times,
            reads: Sizes::default(),
            writes: Sizes::default(),
            files: vec![FileAccess::default(); span.files.len()],
            more_files: span.more_files,
            others: FileAccess::default(),
            ranks: (0..bands.count).map(rank).collect(),
            slowest: None,
        };
        Accesses { found, bands, rank: None, ends: vec![None; span.files.len()] }
    }

    /// Adds an operation on the chosen file of this number.
    pub fn add(&mut self, extents: &Extents, row: &Row, file: Option<usize>) {
        let kind = Kind::of(row.op);
        if row.failed || kind == Kind::Other {
            return;
        }
        let times = Times::of(row, kind, self.found.has_times);
        self.add_sizes(row);
        self.found.ranks[self.bands.of(row.rank)].add(row, &times);
        if self.rank != Some(row.rank) {
            self.rank = Some(row.rank);
            self.ends.fill(None);
        }
        match file {
            Some(file) => self.add_to_file(extents, row, &times, file),
            None if row.path_id >= 0 => self.found.others.add(row, &times),
            None => {}
        }
    }

    fn add_sizes(&mut self, row: &Row) {
        match row.op.row().class {
            Class::Read => self.found.reads.add(row.done_bytes),
            Class::Write => self.found.writes.add(row.done_bytes),
            _ => {}
        }
    }

    fn add_to_file(&mut self, extents: &Extents, row: &Row, times: &Times, file: usize) {
        let access = &mut self.found.files[file];
        access.add(row, times);
        let ends = self.ends[file].get_or_insert_with(|| {
            access.ranks += 1;
            Ends::default()
        });
        let (moves, end) = match row.op.row().class {
            Class::Read => (&mut access.read, &mut ends[0]),
            Class::Write => (&mut access.write, &mut ends[1]),
            _ => return,
        };
        let new_end = extents.end_bytes(row);
        if let (Some(old), Some(_)) = (*end, new_end) {
            moves.following += 1;
            moves.sequential += u64::from(row.offset_bytes >= old);
            moves.consecutive += u64::from(row.offset_bytes == old);
        }
        *end = new_end;
    }

    /// The accesses; `paths` are those of the chosen files.
    pub fn finish(mut self, paths: &[String]) -> Access {
        for (file, path) in self.found.files.iter_mut().zip(paths) {
            file.path.clone_from(path);
        }
        self.found.reads.finish();
        self.found.writes.finish();
        let per_rank = |at: &usize| {
            let rank = &self.found.ranks[*at];
            rank.busy_ns() as f64 / f64::from(rank.ranks())
        };
        let all = 0..self.found.ranks.len();
        let slowest = all.rev().max_by(|a, b| per_rank(a).total_cmp(&per_rank(b)));
        let is_one = |at: &usize| self.found.ranks.len() > 1 && per_rank(at) > 0.0;
        self.found.slowest = slowest.filter(is_one);
        self.found
    }
}

/// Times of an operation: by what was done.
struct Times {
    read_ns: u64,
    write_ns: u64,
    metadata_ns: u64,
}

impl Times {
    fn of(row: &Row, kind: Kind, has_times: bool) -> Times {
        let busy_ns = if has_times { row.busy_ns } else { 0 };
        let around_ns = row.around_ns.min(busy_ns);
        let [read_ns, write_ns, metadata_ns] = match kind {
            Kind::Read => [busy_ns - around_ns, 0, around_ns],
            Kind::Write => [0, busy_ns - around_ns, around_ns],
            _ => [0, 0, busy_ns],
        };
        Times { read_ns, write_ns, metadata_ns }
    }
}

fn add(sum: &mut u64, amount: u64) {
    *sum = sum.saturating_add(amount);
}

impl RankAccess {
    fn add(&mut self, row: &Row, times: &Times) {
        add(&mut self.read_ns, times.read_ns);
        add(&mut self.write_ns, times.write_ns);
        add(&mut self.metadata_ns, times.metadata_ns);
        match row.op.row().class {
            Class::Read => add(&mut self.read_bytes, row.done_bytes),
            Class::Write => add(&mut self.written_bytes, row.done_bytes),
            _ => {}
        }
    }
}

impl FileAccess {
    fn add(&mut self, row: &Row, times: &Times) {
        let class = row.op.row().class;
        for (moves, own) in [(&mut self.read, Class::Read), (&mut self.write, Class::Write)] {
            if class == own {
                moves.calls += 1;
                add(&mut moves.bytes, row.done_bytes);
            }
        }
        add(&mut self.read.busy_ns, times.read_ns);
        add(&mut self.write.busy_ns, times.write_ns);
        add(&mut self.metadata_ns, times.metadata_ns);
        self.opens += u64::from(opens(row.op));
    }
}

/// It opens a file.
fn opens(op: Op) -> bool {
    op.row().class == Class::Open || op.row().parts.contains(&Part::Open)
}

impl Sizes {
    fn add(&mut self, bytes: u64) {
        self.bins[BIN_ENDS.iter().position(|end| bytes <= *end).unwrap_or(BIN_ENDS.len())] += 1;
        if self.counts.len() < SIZES {
            *self.counts.entry(bytes).or_default() += 1;
            return;
        }
        match self.counts.get_mut(&bytes) {
            Some(count) => *count += 1,
            None => self.uncounted += 1,
        }
    }

    fn finish(&mut self) {
        let counts = std::mem::take(&mut self.counts);
        self.common = counts.into_iter().collect();
        self.common.sort_unstable_by_key(|(size, count)| (Reverse(*count), *size));
        self.common.truncate(COMMON);
    }

    /// Accesses.
    pub fn total(&self) -> u64 {
        self.bins.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_bins_and_the_commonest_are_named() {
        let mut sizes = Sizes::default();
        for size in [0, 100, 101, 1024, 1025, 1 << 20, (1 << 20) + 1, 1 << 30, (1 << 30) + 1, 101] {
            sizes.add(size);
        }
        sizes.finish();
        assert_eq!(sizes.bins, [2, 3, 1, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(sizes.common, [(101, 2), (0, 1), (100, 1), (1024, 1)]);
    }

    #[test]
    fn many_sizes_are_bounded_and_said() {
        let mut sizes = Sizes::default();
        (0..70_000).chain(0..5).for_each(|size| sizes.add(size));
        assert_eq!((sizes.total(), sizes.uncounted), (70_005, 70_000 - SIZES as u64));
        sizes.finish();
        assert_eq!(sizes.common, [(0, 2), (1, 2), (2, 2), (3, 2)]);
    }
}

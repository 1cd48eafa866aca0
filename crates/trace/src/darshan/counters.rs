//! Counters of Darshan's modules: the place of each in a record, and its operation.
//!
//! ```text
//! record: id of the file, rank (-1: all ranks together), counters (i64), then times (f64, seconds)
//! ```
//!
//! Layouts are facts of darshan-posix-log-format.h, darshan-mpiio-log-format.h and
//! darshan-stdio-log-format.h. A counter below 0 was not kept.

use super::segment::nanoseconds;
use crate::sums::Sum;
use model::Op;

/// Where the times of an operation stand: all together, the longest, first start, last end.
type Times = (usize, Option<usize>, usize, usize);

/// Places of the times of reads, writes and metadata calls.
type Kinds = [usize; 3];
const TRANSFERS: Kinds = [8, 9, 10];
const STREAMS: Kinds = [2, 1, 0];

/// Indices of an operation's counters in a record: `plus` are added; `minus` count other operations.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// The operation.
    pub op: Op,
    plus: &'static [usize],
    minus: &'static [usize],
    bytes: Option<usize>,
    times: Option<Times>,
}

/// Records of a module in one version.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Number of counters.
    counters: usize,
    /// Number of times.
    times: usize,
    /// Times behind the first three that this version does not have.
    missing: usize,
    /// The operations and their counters.
    pub counts: &'static [Count],
    kinds: Kinds,
}

const fn calls(op: Op, plus: &'static [usize]) -> Count {
    Count { op, plus, minus: &[], bytes: None, times: None }
}

const fn moved(op: Op, plus: &'static [usize], bytes: usize, times: Times) -> Count {
    Count { op, plus, minus: &[], bytes: Some(bytes), times: Some(times) }
}

/// Times of POSIX and MPI-IO from version 3 on.
const READ: Times = (8, Some(11), 1, 5);
const WRITE: Times = (9, Some(12), 2, 6);
const STDIO_READ: Times = (2, None, 6, 10);
const STDIO_WRITE: Times = (1, None, 5, 9);

const POSIX_4: &[Count] = &[
    // Opens include fileno and dup.
    Count { op: Op::Fopen, plus: &[0], minus: &[1, 2], bytes: None, times: None },
    moved(Op::Fread, &[3], 14, READ),
    moved(Op::Fwrite, &[4], 15, WRITE),
    calls(Op::Fseek, &[5]),
    calls(Op::Stat, &[6]),
    calls(Op::Fsync, &[8]),
    calls(Op::Fdatasync, &[9]),
    calls(Op::Rename, &[10]),
];

const POSIX: &[Count] = &[
    calls(Op::Fopen, &[0]),
    moved(Op::Fread, &[1], 9, READ),
    moved(Op::Fwrite, &[2], 10, WRITE),
    calls(Op::Fseek, &[3]),
    calls(Op::Stat, &[4]),
    calls(Op::Fsync, &[6]),
    calls(Op::Fdatasync, &[7]),
];

const MPI_IO: &[Count] = &[
    calls(Op::Pfopen, &[0, 1]),
    moved(Op::Pfread, &[2, 4, 6, 8], 14, READ),
    moved(Op::Pfwrite, &[3, 5, 7, 9], 15, WRITE),
    calls(Op::Pfsync, &[10]),
];

const STDIO_2: &[Count] = &[
    Count { op: Op::Fopen, plus: &[0], minus: &[1], bytes: None, times: None },
    moved(Op::Fread, &[2], 7, STDIO_READ),
    moved(Op::Fwrite, &[3], 6, STDIO_WRITE),
    calls(Op::Fseek, &[4]),
];

const STDIO_1: &[Count] = &[
    calls(Op::Fopen, &[0]),
    moved(Op::Fread, &[1], 6, STDIO_READ),
    moved(Op::Fwrite, &[2], 5, STDIO_WRITE),
    calls(Op::Fseek, &[3]),
];

/// The layout of a module's records; `None`: the version is not known.
pub fn layout(module: &str, version: u32) -> Option<Layout> {
    let (counters, times, missing, counts) = match (module, version) {
        ("POSIX", 4) => (69, 17, 0, POSIX_4),
        ("POSIX", 3) => (64, 17, 0, POSIX),
        ("POSIX", 2) => (64, 15, 2, POSIX),
        ("MPI-IO", 3) => (51, 17, 0, MPI_IO),
        ("MPI-IO", 1 | 2) => (51, 15, 2, MPI_IO),
        ("STDIO", 2) => (14, 15, 0, STDIO_2),
        ("STDIO", 1) => (13, 15, 0, STDIO_1),
        _ => return None,
    };
    let kinds = if module == "STDIO" { STREAMS } else { TRANSFERS };
    Some(Layout { counters, times, missing, counts, kinds })
}

impl Layout {
    /// Bytes of a record.
    pub fn bytes(&self) -> usize {
        16 + 8 * (self.counters + self.times)
    }

    /// The time at a place of a record, seconds.
    fn seconds(&self, at: usize, word: impl Fn(usize) -> u64) -> f64 {
        let at = if at > 2 { at - self.missing } else { at };
        f64::from_bits(word(16 + 8 * (self.counters + at)))
    }

    /// Time in reads, writes and metadata calls, nanoseconds.
    pub fn kind_times(&self, word: impl Fn(usize) -> u64) -> [u64; 3] {
        self.kinds.map(|at| nanoseconds(self.seconds(at, &word)))
    }
}

impl Count {
    /// The sum that a record tells. `word`: the 64 bits at a place in the record.
    pub fn sum(&self, layout: &Layout, word: impl Fn(usize) -> u64) -> Sum {
        let counter = |at: usize| u64::try_from(word(16 + 8 * at) as i64).unwrap_or(0);
        let sum = |counters: &[usize]| {
            counters.iter().fold(0u64, |sum, at| sum.saturating_add(counter(*at)))
        };
        let ns = |at: usize| nanoseconds(layout.seconds(at, &word));
        let count = sum(self.plus).saturating_sub(sum(self.minus));
        let has_times = count > 0;
        let times = self.times.filter(|_| has_times);
        Sum {
            count,
            bytes: self.bytes.map_or(0, counter),
            busy_ns: times.map(|(busy, ..)| ns(busy)),
            max_ns: times.and_then(|(_, max, ..)| max).map(ns),
            span_ns: times.map(|(_, _, start, end)| (ns(start), ns(end))),
        }
    }
}

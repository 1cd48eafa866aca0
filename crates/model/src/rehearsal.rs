//! Results of a rehearsal: operations, bytes, files and buffers of a plan.
//!
//! ```text
//! write   about 10000 (± 30)   about 10240000 bytes (± 30720)
//! ```
//!
//! Figures are exact, or marked "about" with their spread. Not here: how a plan is rehearsed (crate
//! `engine`).

use crate::limits::POOL_BYTES;
use crate::op::{Class, Op};
use crate::plan::Pc;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// Operations of one kind that a rank executes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpFigures {
    /// Executions.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// The figures are estimates.
    pub about: bool,
    /// How far `count` may be off; 0 where that is unknown.
    pub spread_count: u64,
    /// How far `bytes` may be off; 0 where that is unknown.
    pub spread_bytes: u64,
}

/// Work of one instruction of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteFigures {
    /// The instruction.
    pub site: Pc,
    /// Executions.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Files and directories made.
    pub files: u64,
    /// The figures are estimates.
    pub about: bool,
}

/// Work of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankFigures {
    /// By operation, in order of [`Op`], only those that occur.
    pub ops: Vec<(Op, OpFigures)>,
    /// Files made.
    pub files: u64,
    /// Directories made.
    pub directories: u64,
    /// How far `files` may be off.
    pub spread_files: u64,
    /// How far `directories` may be off.
    pub spread_directories: u64,
    /// Largest amount that it adds to files and makes: in the run directory, then in the plan's further
    /// ones.
    pub peaks: Vec<Peak>,
    /// Largest buffer, bytes.
    pub buffer_bytes: u64,
    /// Memory for the data of its calls.
    pub memory: BufferBytes,
    /// Most handles open at one time between operations.
    pub handles: u64,
    /// By instruction, in order, only those that are executed. Empty unless they are asked for.
    pub sites: Vec<SiteFigures>,
}

/// Contents of a directory when it is at its fullest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Total size of the files, bytes.
    pub bytes: u64,
    /// Files and directories.
    pub files: u64,
    /// How far `bytes` may be off.
    pub spread_bytes: u64,
    /// How far `files` may be off.
    pub spread_files: u64,
}

impl Peak {
    /// The sums over directories: no less than what lies in all of them at any time.
    pub fn all(peaks: &[Peak]) -> Peak {
        let sum = |number: fn(&Peak) -> u64| peaks.iter().map(number).fold(0, u64::saturating_add);
        Peak {
            bytes: sum(|peak| peak.bytes),
            files: sum(|peak| peak.files),
            spread_bytes: sum(|peak| peak.spread_bytes),
            spread_files: sum(|peak| peak.spread_files),
        }
    }
}

/// Something that a program uses and that nobody has made: it must be there before it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Its name below the run directory, or `NAME:path` in a further one.
    pub path: Vec<u8>,
    /// Kind of the thing that is expected.
    pub what: Thing,
}

/// A file, directory or link that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A directory.
    Directory,
    /// A file.
    File {
        /// Least size that reads of known length need, bytes.
        size_bytes: u64,
        /// It is also read to its end, wherever that is.
        whole: bool,
    },
    /// A symbolic link with this text, which leads to a name in the same directory tree.
    Link(Vec<u8>),
}

/// Work of the ranks of a plan, each rank's and the sum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rehearsal {
    /// By rank, one entry for each run of ranks with the same figures.
    pub ranks: Vec<(Range<u32>, RankFigures)>,
    /// Largest total size of the files of all ranks at any time, bytes.
    pub peak_bytes: u64,
    /// Largest number of files and directories of all ranks at any time.
    pub peak_files: u64,
    /// Both by directory: the run directory, then the plan's further ones. Empty where nothing is known.
    pub peaks: Vec<Peak>,
    /// The same before loops with time limits: how far those come depends on the speed of storage.
    pub sure_peaks: Vec<Peak>,
    /// The program has such loops, and all figures are from a rehearsal that went as far as it liked.
    pub timed: bool,
    /// How often things are done depends on how long they take: the program has such loops, or reads the time.
    pub by_time: bool,
    /// These are estimates: also where several ranks remove what they or others made, because
    /// which of them is faster decides what is there at one time.
    pub peak_about: bool,
    /// All ranks came to the end of the program; otherwise the figures are those up to where
    /// they came.
    pub complete: bool,
    /// Why ranks ended before the end of the program, if it is not that it does too much.
    pub failure: Option<String>,
    /// Some figures are estimates: iterations were multiplied out, or files from before are used.
    pub about: bool,
    /// Operations that cannot succeed, in order of place.
    pub doubts: Vec<Doubt>,
    /// Things that must exist before, directories before their contents. Names of iterations that were
    /// multiplied out are missing.
    pub expected: Vec<Expected>,
    /// The first statement whose names the lexical rule of confinement does not cover.
    pub exception: Option<Exception>,
    /// Measured: paths of labels, each with the names of the operations in it and with "" for
    /// itself; operations in no label with "".
    pub measured: BTreeSet<(String, String)>,
}

/// A statement that the lexical rule of confinement does not cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// The instruction.
    pub site: Pc,
    /// Why, in words that complete "the program ...".
    pub reason: &'static str,
}

/// A kind of doubtful place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoubtKind {
    /// Several ranks make the same name; all but one fail.
    Collision,
    /// Ranks read a file that only other ranks make.
    NotWritten,
    /// More is read than was written.
    BeyondEnd,
    /// An MPI file is opened to be written that nobody makes.
    NotMade,
    /// A wait for other ranks never ends.
    NeverMet,
    /// A signal is for a member that its group does not have.
    NotMember,
}

/// A place of the program that does what nobody can want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Its kind.
    pub kind: DoubtKind,
    /// The instruction.
    pub site: Pc,
    /// The mistake as a sentence.
    pub message: String,
}

/// Memory that a rank needs for the data of its calls, bytes. It is made before the rank starts, so that no
/// label's time holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferBytes {
    /// Largest read, or all reads under way at one time.
    pub read_bytes: u64,
    /// Largest write of random data.
    pub write_bytes: u64,
    /// Random data that is there at one time, at least.
    pub pool_bytes: u64,
    /// Largest write of zeros, or of data that is verified.
    pub zero_bytes: u64,
    /// Largest write of data that depends on its place in the file.
    pub placed_bytes: u64,
    /// Operations of a queue (io_uring), which have memory of their own.
    pub queue_bytes: u64,
}

impl BufferBytes {
    /// Buffers that both need, one after the other.
    pub fn max(self, other: BufferBytes) -> BufferBytes {
        BufferBytes {
            read_bytes: self.read_bytes.max(other.read_bytes),
            write_bytes: self.write_bytes.max(other.write_bytes),
            pool_bytes: self.pool_bytes.max(other.pool_bytes),
            zero_bytes: self.zero_bytes.max(other.zero_bytes),
            placed_bytes: self.placed_bytes.max(other.placed_bytes),
            queue_bytes: self.queue_bytes.max(other.queue_bytes),
        }
    }
}

/// Figures by which a rank prepares its buffers and tables before it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forecast {
    /// Operations that it executes, for its events; 0 where that is unknown.
    pub operations: u64,
    /// Memory for the data of its calls; `pool_bytes` is all of its random data.
    pub memory: BufferBytes,
}

/// Unit of memory that holds the bytes of one call.
const PAGE_BYTES: u64 = 4096;

impl RankFigures {
    /// Random data that the rank keeps ready for its writes, bytes: [`POOL_BYTES`] or the largest
    /// call, but no more than it writes. Each call begins at a page of its own.
    pub fn pool_bytes(&self) -> u64 {
        if self.memory.write_bytes == 0 {
            return self.memory.pool_bytes;
        }
        let writes = self.ops.iter().filter(|(op, _)| op.row().class == Class::Write);
        let needed = writes.map(|(_, op)| match op.about {
            false => op.count.saturating_mul(PAGE_BYTES).saturating_add(op.bytes),
            true => u64::MAX,
        });
        let most = POOL_BYTES.max(self.memory.write_bytes);
        needed.fold(0, u64::saturating_add).min(most).max(self.memory.pool_bytes)
    }

    /// Memory that the rank has before it starts, bytes.
    pub fn memory_bytes(&self) -> u64 {
        let BufferBytes { read_bytes, zero_bytes, placed_bytes, queue_bytes, .. } = self.memory;
        let all = [self.pool_bytes(), read_bytes, zero_bytes, placed_bytes, queue_bytes];
        all.into_iter().fold(0, u64::saturating_add)
    }

    /// Operations of all kinds.
    pub fn operations(&self) -> u64 {
        self.ops.iter().map(|(_, op)| op.count).fold(0, u64::saturating_add)
    }
}

impl Rehearsal {
    /// All figures are exact.
    pub fn is_exact(&self) -> bool {
        self.complete && !self.about
    }

    /// Operations of the rank that executes most; 0 where that is unknown.
    pub fn most_operations(&self) -> u64 {
        let ranks = self.ranks.iter().filter(|_| self.complete);
        ranks.map(|(_, figures)| figures.operations()).max().unwrap_or(0)
    }

    /// The forecast of each rank, by rank.
    pub fn forecasts(&self) -> Vec<(Range<u32>, Forecast)> {
        let forecast = |figures: &RankFigures| Forecast {
            operations: if self.complete && !self.by_time { figures.operations() } else { 0 },
            memory: BufferBytes { pool_bytes: figures.pool_bytes(), ..figures.memory },
        };
        self.ranks.iter().map(|(ranks, figures)| (ranks.clone(), forecast(figures))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_kept_ready_for_what_is_written_and_no_more() {
        let op = |count, bytes, about| {
            (Op::Write, OpFigures { count, bytes, about, ..OpFigures::default() })
        };
        let memory = BufferBytes { write_bytes: 50, ..BufferBytes::default() };
        let small = RankFigures { ops: vec![op(2, 100, false)], memory, ..RankFigures::default() };
        assert_eq!(small.pool_bytes(), 2 * PAGE_BYTES + 100);
        let unknown = RankFigures { ops: vec![op(2, 100, true)], ..small.clone() };
        assert_eq!(unknown.pool_bytes(), POOL_BYTES);
        let memory = BufferBytes { write_bytes: 2 * POOL_BYTES, ..memory };
        let large = RankFigures { memory, ..unknown };
        assert_eq!(large.pool_bytes(), 2 * POOL_BYTES);
        let zeros = RankFigures { memory: BufferBytes::default(), ..small };
        assert_eq!(zeros.pool_bytes(), 0);
    }
}

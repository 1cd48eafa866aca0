//! Transfers of a rank and a file, however the log stores them.

use crate::gaps::{Gap, Gaps};
use crate::record::{Act, Call, Introduction, Outcome, Record};
use hashbrown::HashSet;
use model::Op;
use rustc_hash::{FxBuildHasher, FxHasher};
use std::hash::{Hash, Hasher};

/// A transfer.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// The layer of MPI-IO recorded it, not that of POSIX.
    pub is_mpi: bool,
    /// It writes.
    pub writes: bool,
    /// Where; negative: unknown.
    pub offset: i64,
    /// Bytes moved.
    pub bytes: u64,
    /// Start and end since the job began, nanoseconds.
    pub span_ns: (u64, u64),
}

/// Whose transfers follow.
#[derive(Clone, Debug, Default)]
pub struct Owner {
    /// Program of the job.
    pub command: Vec<u8>,
    /// Ranks of the job.
    pub ranks: u32,
    /// When it began: nanoseconds since 1970.
    pub start_ns: u64,
    /// The file.
    pub path: Vec<u8>,
    /// The rank.
    pub rank: u64,
    /// Its machine.
    pub host: Vec<u8>,
    /// Files with transfers of POSIX, by hash of their paths.
    posix: HashSet<u64, FxBuildHasher>,
    /// All files with transfers.
    files: HashSet<u64, FxBuildHasher>,
}

impl Owner {
    /// Transfers of this file follow: counts the facts that Darshan leaves out.
    pub fn file(&mut self, is_mpi: bool, gaps: &mut Gaps) {
        let hash = self.path_hash();
        if !is_mpi {
            self.posix.insert(hash);
        }
        if self.files.insert(hash) {
            gaps.add(Gap::NoMetadata);
        }
    }

    /// Only the transfers of POSIX that these became are taken.
    pub fn is_covered(&self) -> bool {
        self.posix.contains(&self.path_hash())
    }

    fn path_hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.path.hash(&mut hasher);
        hasher.finish()
    }

    /// The record that says who the rank is.
    pub fn introduction(&self, line: u64) -> Record<'_> {
        let (host, command, ranks) = (&self.host[..], &self.command[..], Some(self.ranks));
        let who = Introduction { host, command, ranks, ..Introduction::default() };
        Record { call: Call::new(Act::Introduce(who)), ..self.bare(line) }
    }

    /// The record of a transfer.
    pub fn record(&self, line: u64, segment: &Segment) -> Record<'_> {
        let is_mpi = segment.is_mpi;
        let op = match (segment.writes, is_mpi) {
            (false, false) => Op::Fread,
            (true, false) => Op::Fwrite,
            (false, true) => Op::Pfread,
            (true, true) => Op::Pfwrite,
        };
        let (offset, bytes) = (u64::try_from(segment.offset).ok(), segment.bytes);
        let (start_ns, end_ns) = segment.span_ns;
        Record {
            start_ns: self.start_ns.saturating_add(start_ns),
            elapsed_ns: Some(end_ns.saturating_sub(start_ns)),
            name: if is_mpi { b"X_MPIIO" } else { b"X_POSIX" },
            call: Call { offset, ..Call::whole(Act::Whole(op), &self.path, bytes) },
            outcome: Outcome { value: i64::try_from(bytes).ok(), ..Outcome::default() },
            ..self.bare(line)
        }
    }

    fn bare(&self, line: u64) -> Record<'_> {
        Record { elapsed_ns: Some(0), ..Record::at(line, self.rank, self.start_ns) }
    }
}

/// Seconds as nanoseconds; what is no time is 0.
pub fn nanoseconds(seconds: f64) -> u64 {
    // A cast saturates. `round` would be a call of the C library for each time of a log.
    let ns = seconds * 1e9;
    let whole = ns as u64;
    whole.saturating_add(u64::from(ns - whole as f64 >= 0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_rounded_to_the_nearest_nanosecond() {
        let odd = [-1.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 4.5e6 + 0.3e-9];
        let even = (0..10_000).map(|number| f64::from(number) * 1.7e-10);
        for seconds in odd.into_iter().chain(even) {
            assert_eq!(nanoseconds(seconds), (seconds * 1e9).round() as u64, "{seconds}");
        }
    }
}

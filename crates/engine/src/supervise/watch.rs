//! How far the ranks of this machine are, read now and then from the records that they keep in memory
//! anyway. If nobody wants to see it, nothing is read.

use crate::comm::Sample;
use crate::config::Config;
use crate::recorder::Live;
use std::fs::File;

/// Reads the records of some ranks once in a period.
pub struct Watch {
    period_ns: u64,
    next_ns: u64,
    expected: Option<u64>,
    ranks: Vec<(u32, Live)>,
}

impl Watch {
    /// `None` if the configuration asks for no progress.
    pub fn new(ranks: impl IntoIterator<Item = u32>, config: &Config) -> Option<Watch> {
        let period_ns = config.watch?.as_nanos().try_into().unwrap_or(u64::MAX);
        let ranks: Vec<(u32, Live)> =
            ranks.into_iter().map(|rank| (rank, Live::default())).collect();
        let expected = config.expected_operations(ranks.iter().map(|(rank, _)| *rank));
        Some(Watch { period_ns, next_ns: period_ns, expected, ranks })
    }

    /// How far the ranks are at `now_ns`, if it is time to read; `record` opens the record of a rank. A rank
    /// whose record cannot be read counts for nothing, and bytes are then unknown.
    pub fn look(&mut self, now_ns: u64, record: impl Fn(u32) -> Option<File>) -> Option<Sample> {
        if now_ns < self.next_ns {
            return None;
        }
        self.next_ns = now_ns.saturating_add(self.period_ns);
        let ranks = self.ranks.len() as u32;
        let (at_ns, expected) = (now_ns, self.expected);
        let mut sample = Sample { at_ns, ranks, expected, bytes: Some(0), ..Sample::default() };
        for (rank, live) in &mut self.ranks {
            let seen = record(*rank).and_then(|record| live.look(&record).ok());
            let seen = seen.unwrap_or_default();
            let (operations, bytes) = seen.sums.unzip();
            sample.operations = sample.operations.saturating_add(operations.unwrap_or(0));
            sample.bytes = sample.bytes.zip(bytes).map(|(sum, more)| sum.saturating_add(more));
            let label = seen.label.filter(|_| seen.runs && sample.label.is_none());
            sample.label =
                label.map(|path| String::from_utf8_lossy(&path).into_owned()).or(sample.label);
        }
        Some(sample)
    }
}

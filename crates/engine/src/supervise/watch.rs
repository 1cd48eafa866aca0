//! How far ranks of this machine are, for somebody who looks at the run: read from what they keep in
//! memory anyway, now and then. Nobody looks: nothing is read.

use crate::comm::{Region, Sample, Slowest, Standing};
use crate::config::Config;
use crate::record::{Live, Seen};
use std::fs::File;
use std::time::Duration;

/// Local ranks whose records are read. With more of them bytes are not told, and labels are those of
/// the first ones.
const RANKS: u32 = 256;

/// Ranks whose records are read together.
pub struct Crew {
    /// World rank, and the operations that it executes; 0: unknown.
    ranks: Vec<(u32, u64, Live)>,
}

impl Crew {
    /// Of some ranks.
    pub fn new(ranks: impl IntoIterator<Item = u32>, config: &Config) -> Crew {
        let of = |rank| (rank, config.forecast(rank).operations, Live::default());
        Crew { ranks: ranks.into_iter().map(of).collect() }
    }

    /// How far they are; `area` gives the record of a rank. One that cannot be read counts for nothing,
    /// and bytes are then unknown.
    pub fn look(&mut self, area: impl Fn(u32) -> Option<File>) -> Standing {
        let mut sum = Standing { bytes: Some(0), ..Standing::default() };
        let mut labels: Vec<(Vec<u8>, u32)> = Vec::new();
        for (rank, all, live) in &mut self.ranks {
            let seen = area(*rank).and_then(|area| live.look(&area).ok());
            let Seen { sums, label, runs } = seen.unwrap_or_default();
            let own =
                sums.filter(|_| runs).map(|(done, _)| Slowest { rank: *rank, done, all: *all });
            sum.slowest = Slowest::of(sum.slowest, own);
            sum.operations = sum.operations.saturating_add(sums.map_or(0, |sums| sums.0));
            sum.bytes = sum.bytes.zip(sums).map(|(sum, (_, bytes))| sum.saturating_add(bytes));
            let Some(label) = label.filter(|_| runs) else { continue };
            match labels.iter_mut().find(|entry| entry.0 == label) {
                Some(entry) => entry.1 += 1,
                None => labels.push((label, 1)),
            }
        }
        // Of equally many the one of the first rank.
        let most = labels.iter().rev().max_by_key(|entry| entry.1);
        sum.label = most.map(|(path, ranks)| (String::from_utf8_lossy(path).into(), *ranks));
        sum
    }
}

/// Looks at local ranks once in a period.
pub(super) struct Watch {
    period_ns: u64,
    next_ns: u64,
    crew: Crew,
    ranks: u32,
}

impl Watch {
    pub(super) fn new(period: Duration, ranks: u32, config: &Config) -> Watch {
        let period_ns = period.as_nanos().try_into().unwrap_or(u64::MAX);
        let crew = Crew::new(0..ranks.min(RANKS), config);
        Watch { period_ns, next_ns: period_ns, crew, ranks }
    }

    /// How far the ranks are at `now_ns`, if it is time to look; `area` gives the record of a rank.
    pub(super) fn look(
        &mut self,
        now_ns: u64,
        region: &Region,
        area: impl Fn(u32) -> Option<File>,
    ) -> Option<Sample> {
        if now_ns < self.next_ns {
            return None;
        }
        self.next_ns = now_ns.saturating_add(self.period_ns);
        let sample = region.sample();
        let read = self.crew.look(area);
        let bytes = read.bytes.filter(|_| self.ranks <= RANKS);
        let slowest = read.slowest.filter(|_| self.ranks <= RANKS);
        let all = Standing { operations: sample.all.operations, bytes, slowest, ..read };
        Some(Sample { at_ns: now_ns, all, ..sample })
    }
}

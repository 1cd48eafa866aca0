//! How far local ranks are, for somebody who looks at the run. The supervisor reads what the ranks
//! keep in memory anyway, now and then; nobody looks: it reads nothing.

use crate::comm::{Region, Sample};
use crate::record::Live;
use std::fs::File;
use std::time::Duration;

/// Ranks whose records are read. With more of them bytes are not told, and labels are those of the
/// first ones.
const RANKS: usize = 256;

/// Looks at the ranks once in a period.
pub(super) struct Watch {
    period_ns: u64,
    next_ns: u64,
    ranks: Vec<Live>,
}

impl Watch {
    pub(super) fn new(period: Duration, ranks: u32) -> Watch {
        let period_ns = period.as_nanos().try_into().unwrap_or(u64::MAX);
        let count = (ranks as usize).min(RANKS);
        let ranks = (0..count).map(|_| Live::default()).collect();
        Watch { period_ns, next_ns: period_ns, ranks }
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
        let mut sample = Sample { at_ns: now_ns, ..region.sample() };
        let all_read = self.ranks.len() == region.ranks() as usize;
        sample.bytes = all_read.then_some(0);
        let mut labels: Vec<(&[u8], u32)> = Vec::new();
        for (rank, live) in (0..).zip(&mut self.ranks) {
            let bytes = area(rank).and_then(|area| live.bytes(&area).ok()?);
            sample.bytes = sample.bytes.zip(bytes).map(|(sum, bytes)| sum.saturating_add(bytes));
            let Some(label) = region.label(rank).and_then(|id| live.label(id)) else { continue };
            match labels.iter_mut().find(|entry| entry.0 == label) {
                Some(entry) => entry.1 += 1,
                None => labels.push((label, 1)),
            }
        }
        // Of equally many the one of the first rank.
        let most = labels.iter().rev().max_by_key(|entry| entry.1);
        sample.label = most.map(|(path, ranks)| (String::from_utf8_lossy(path).into(), *ranks));
        Some(sample)
    }
}

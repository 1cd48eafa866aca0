//! Where the bytes of a label came from and went to, over some ranks.

use crate::record::Count;
use model::run::{CacheControl, DirectoryEvidence, LabelEvidence, VerifiedData};
use serde::{Deserialize, Serialize};

/// Sums over some ranks, by [`Count`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Traffic(pub(super) Vec<u64>);

impl Traffic {
    pub(super) fn add(&mut self, counts: &[u64]) {
        self.0.resize(Count::COUNT, 0);
        for (sum, count) in self.0.iter_mut().zip(counts) {
            *sum = sum.saturating_add(*count);
        }
    }

    fn of(&self, count: Count) -> u64 {
        self.0.get(count as usize).copied().unwrap_or(0)
    }

    /// The same of one of several directories, if bytes were moved or names looked up there.
    pub(super) fn in_directory(&self, name: &str) -> Option<DirectoryEvidence> {
        let [written_bytes, read_bytes] = [Count::Written, Count::Read].map(|count| self.of(count));
        let looked_names = self.of(Count::LookedNames);
        (written_bytes > 0 || read_bytes > 0 || looked_names > 0).then(|| DirectoryEvidence {
            directory: name.into(),
            written_bytes,
            unstable_bytes: self.of(Count::Unstable).min(written_bytes),
            read_bytes,
            direct_read_bytes: self.of(Count::DirectRead).min(read_bytes),
            looked_bytes: self.of(Count::Looked),
            cached_bytes: self.of(Count::Cached),
            mapped_bytes: self.of(Count::Mapped),
            hole_bytes: self.of(Count::Holes),
            encoded_bytes: self.of(Count::Encoded),
            looked_names,
            cached_names: self.of(Count::CachedNames),
        })
    }

    /// The evidence of a label that has moved bytes, looked up names or met a time limit; `fetched_is_told`: by all
    /// ranks.
    pub(super) fn evidence(
        &self,
        label: &str,
        [written_bytes, read_bytes]: [u64; 2],
        fetched_is_told: bool,
    ) -> Option<LabelEvidence> {
        let written_bytes = written_bytes.saturating_sub(self.of(Count::NullWritten));
        let read_bytes = read_bytes.saturating_sub(self.of(Count::NullRead));
        let null_operations = self.of(Count::Nulled);
        let looked_names = self.of(Count::LookedNames);
        let verified = self.verified();
        let moved = written_bytes > 0 || read_bytes > 0 || null_operations > 0;
        let moved = moved || verified.is_some() || self.cache_control().is_some();
        let timed = self.of(Count::Timed) > 0;
        (moved || looked_names > 0 || timed).then(|| LabelEvidence {
            label: label.into(),
            written_bytes,
            // A write that failed half-way has no bytes in the rows.
            unstable_bytes: self.of(Count::Unstable).min(written_bytes),
            read_bytes,
            direct_read_bytes: self.of(Count::DirectRead).min(read_bytes),
            fetched_bytes: fetched_is_told.then(|| self.of(Count::Fetched)),
            looked_bytes: self.of(Count::Looked),
            cached_bytes: self.of(Count::Cached),
            mapped_bytes: self.of(Count::Mapped),
            hole_bytes: self.of(Count::Holes),
            encoded_bytes: self.of(Count::Encoded),
            looked_names,
            cached_names: self.of(Count::CachedNames),
            queued_calls: self.of(Count::Queued),
            queued_at_once: self.of(Count::AtOnce),
            handed_over: self.of(Count::HandedOver),
            null_operations,
            fill_ns: self.fill_ns(written_bytes),
            cache_control: self.cache_control(),
            verified,
            timed,
            ..LabelEvidence::default()
        })
    }

    /// About the time it took to fill what was written and not verified; `None`: it was not measured.
    fn fill_ns(&self, written_bytes: u64) -> Option<u64> {
        let [sample, ns] = [Count::MadeSample, Count::MadeSampleNs].map(|count| self.of(count));
        let made = written_bytes.saturating_sub(self.of(Count::Filled));
        (sample > 0 && made > 0).then(|| {
            let ns = u128::from(ns) * u128::from(made) / u128::from(sample);
            u64::try_from(ns).unwrap_or(u64::MAX)
        })
    }

    fn cache_control(&self) -> Option<CacheControl> {
        let control = CacheControl {
            drops: self.of(Count::Drops),
            drops_refused: self.of(Count::DropsRefused),
            drop_looked_bytes: self.of(Count::DropLooked),
            drop_kept_bytes: self.of(Count::DropKept),
            advised: self.of(Count::Advised),
            advice_looked_bytes: self.of(Count::AdviceLooked),
            advice_kept_bytes: self.of(Count::AdviceKept),
        };
        (control != CacheControl::default()).then_some(control)
    }

    fn verified(&self) -> Option<VerifiedData> {
        let data = VerifiedData {
            filled_bytes: self.of(Count::Filled),
            fill_ns: self.of(Count::FillNs),
            checked_bytes: self.of(Count::Checked),
            check_ns: self.of(Count::CheckNs),
            zero_bytes: self.of(Count::Zeros),
            zero_places: self.of(Count::ZeroPlaces),
            zeros: Vec::new(),
            lost: self.of(Count::Lost),
            stale: self.of(Count::Stale),
            torn: self.of(Count::Torn),
            foreign: self.of(Count::Foreign),
            corrupted: self.of(Count::Corrupted),
        };
        (data != VerifiedData::default()).then_some(data)
    }
}

//! Labels and operations of which a run has figures: as many rows has a comparison of two runs.

use super::stage::Tally;
use crate::recorder::RankRecord;
use model::Op;
use model::event::NO_ID;
use std::collections::BTreeSet;

/// Of all ranks. Most ranks measure what the one before them did, which is seen without a search.
pub(super) fn of(records: &[RankRecord], tallies: &[Tally]) -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    let mut before: Option<(&RankRecord, &Tally)> = None;
    for (record, tally) in records.iter().zip(tallies) {
        let is_same = |(known, its): (&RankRecord, &Tally)| {
            labels(record).eq(labels(known)) && tally.measured == its.measured
        };
        if !before.is_some_and(is_same) {
            all.extend(keys(record, tally));
        }
        before = Some((record, tally));
    }
    all
}

fn labels(record: &RankRecord) -> impl Iterator<Item = (bool, &[u8])> {
    record.labels.iter().map(|label| (label.count > 0, &*label.path))
}

fn keys(record: &RankRecord, tally: &Tally) -> impl Iterator<Item = (String, String)> {
    let lossy = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    let entered = labels(record).filter(|label| label.0);
    let entered = entered.map(move |(_, path)| (lossy(path), String::new()));
    let done = tally.measured.iter().filter_map(move |(label, op)| {
        let path = record.labels.get(*label as usize);
        let label = if *label == NO_ID { String::new() } else { lossy(&path?.path) };
        Some((label, Op::from_u8(*op)?.row().name.to_string()))
    });
    entered.chain(done)
}

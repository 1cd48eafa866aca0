//! Turns the tallies of ranks into figures of a [`model::rehearsal::Rehearsal`].

use super::stage::{State, Tally};
use crate::recorder::RankRecord;
use model::Op;
use model::event::NO_ID;
use model::rehearsal::{OpFigures, Peak, RankFigures};
use std::collections::BTreeSet;
use std::ops::Range;

/// The largest footprint by directory, and that of all of them.
pub(super) fn peaks(state: &State, footprint: &[i64]) -> (Vec<Peak>, Peak) {
    let places = state.layout.footprint();
    let sum = |at: usize| state.ranks.iter().map(|tally| tally.spread[at]).sum();
    let spread: Vec<f64> = places.map(sum).collect();
    let mut peaks = peaks_of(footprint, &spread);
    let all = peaks.pop().unwrap_or_default();
    (peaks, all)
}

/// A footprint and its spread as figures, one for each directory and one for all of them.
fn peaks_of(footprint: &[i64], spread: &[f64]) -> Vec<Peak> {
    let positive = |number: i64| number.max(0) as u64;
    let spread = |at: usize| spread.get(at).map_or(0, |spread| spread.ceil() as u64);
    let peak = |at: usize| Peak {
        bytes: positive(footprint[at]),
        files: positive(footprint[at + 1]),
        spread_bytes: spread(at),
        spread_files: spread(at + 1),
    };
    (0..footprint.len()).step_by(2).map(peak).collect()
}

/// Ranks side by side with the same figures are one entry. `all_about`: no figure is exact.
pub(super) fn by_rank(state: &State, all_about: bool) -> Vec<(Range<u32>, RankFigures)> {
    let mut ranks: Vec<(Range<u32>, RankFigures)> = Vec::new();
    for (rank, tally) in (0..).zip(&state.ranks) {
        let figures = of_rank(state, tally, all_about);
        match ranks.last_mut() {
            Some((last, known)) if *known == figures => last.end = rank + 1,
            _ => ranks.push((rank..rank + 1, figures)),
        }
    }
    ranks
}

fn of_rank(state: &State, tally: &Tally, all_about: bool) -> RankFigures {
    let layout = &state.layout;
    let amount = |at: usize| tally.amounts[at].max(0) as u64;
    let spread = |at: usize| tally.spread[at].ceil() as u64;
    let op = |op: &Op| {
        let at = layout.op(*op);
        let figures = OpFigures {
            count: amount(at),
            bytes: amount(at + 1),
            about: all_about || tally.about[at / 2] || spread(at) > 0,
            spread_count: spread(at),
            spread_bytes: spread(at + 1),
        };
        (*op, figures)
    };
    let mut peaks = peaks_of(&tally.peak, &tally.spread[layout.footprint()]);
    peaks.truncate(layout.directories);
    RankFigures {
        ops: layout.ops.iter().map(op).filter(|(_, figures)| figures.count > 0).collect(),
        files: amount(layout.files()),
        directories: amount(layout.folders()),
        spread_files: spread(layout.files()),
        spread_directories: spread(layout.folders()),
        peaks,
        buffer_bytes: tally.buffer_bytes,
        handles: tally.handles.max(0) as u64,
    }
}

/// Labels, and operations in them, of which a run has figures: a comparison of two runs has a row for
/// each.
pub(super) fn measured(records: &[RankRecord], tallies: &[Tally]) -> BTreeSet<(String, String)> {
    records.iter().zip(tallies).flat_map(|(record, tally)| keys(record, tally)).collect()
}

fn keys(record: &RankRecord, tally: &Tally) -> impl Iterator<Item = (String, String)> {
    let lossy = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    let entered = record.labels.iter().filter(|label| label.count > 0);
    let entered = entered.map(move |label| (lossy(&label.path), String::new()));
    let done = tally.measured.iter().filter_map(move |(label, op)| {
        let path = record.labels.get(*label as usize);
        let label = if *label == NO_ID { String::new() } else { lossy(&path?.path) };
        Some((label, Op::from_u8(*op)?.row().name.to_string()))
    });
    entered.chain(done)
}

//! The union against one that is worked out the long way.

use super::*;
use crate::recorder::BusyRecord;
use crate::recorder::{LabelRecord, Occurrence};
use model::Histogram;
use model::plan::LabelKind;
use proptest::prelude::*;

fn label(spans: &[Interval]) -> LabelRecord {
    let kept = spans.iter().zip(0..).map(|([start_ns, end_ns], index)| Occurrence {
        index,
        start_ns: *start_ns,
        end_ns: *end_ns,
        own_ns: 0,
    });
    LabelRecord {
        path: b"l".to_vec(),
        kind: LabelKind::Wall,
        position: 0,
        count: spans.len() as u64,
        entered_ns: None,
        kept: kept.collect(),
        more: Histogram::default(),
        busy: BusyRecord::default(),
    }
}

/// Occurrences that follow each other, from gaps and lengths.
fn following(steps: &[(u64, u64)]) -> Vec<Interval> {
    let mut now = 0;
    let step = |(gap, length): &(u64, u64)| {
        let start = now + gap;
        now = start + length;
        [start, now]
    };
    steps.iter().map(step).collect()
}

fn merged(ranks: &[Vec<Interval>]) -> Busy {
    model::merge::merge_all(ranks.iter().map(|rank| Busy::of(&label(rank), None)))
}

#[test]
fn ranks_that_drift_apart_are_not_counted_twice() {
    // Two ranks, one a second late, fifty labels of a millisecond.
    let rank = |late: u64| (0..50).map(|at| [late + at * 1000, late + at * 1000 + 1000]).collect();
    let busy = merged(&[rank(0), rank(1_000_000)]).finish(2).unwrap();
    assert_eq!((busy.busy_ns, busy.is_bound, busy.hull), (100_000, false, [0, 1_050_000]));
}

#[test]
fn a_single_occurrence_lasts_from_the_first_start_to_the_last_end() {
    let busy = merged(&[vec![[10, 20]], vec![[50, 60]]]);
    assert_eq!(busy.finish(1).unwrap().busy_ns, 50);
    assert_eq!(Busy::default().finish(1), None);
}

#[test]
fn one_that_was_cut_off_counts_too() {
    let cut_off = Busy::of(&label(&[[0, 10]]), Some([20, 40])).finish(2).unwrap();
    assert_eq!((cut_off.busy_ns, cut_off.is_bound), (30, false));
}

#[test]
fn too_many_intervals_make_a_bound_and_say_so() {
    let apart = |from: u64| -> Vec<Interval> {
        (0..2 * MAX_INTERVALS as u64).map(|at| [from + at * 100, from + at * 100 + 10]).collect()
    };
    let true_ns = 40 * MAX_INTERVALS as u64;
    let one = merged(&[apart(0)]).finish(2).unwrap();
    assert_eq!((one.busy_ns, one.is_bound), (true_ns / 2, false), "one rank is known exactly");
    let two = merged(&[apart(0), apart(50)]).finish(2).unwrap();
    assert_eq!(two.busy_ns, true_ns, "the sum over ranks bounds it too");
    assert!(two.is_bound);
}

proptest! {
    #[test]
    fn the_union_is_that_of_every_instant(
        ranks in prop::collection::vec(prop::collection::vec((0u64..5, 0u64..5), 0..20), 1..5),
    ) {
        let ranks: Vec<_> = ranks.iter().map(|steps| following(steps)).collect();
        let inside = |instant: u64| {
            ranks.iter().flatten().any(|[start, end]| (*start..*end).contains(&instant))
        };
        let expected = (0..200).filter(|instant| inside(*instant)).count() as u64;
        let busy = merged(&ranks).finish(2).unwrap_or_default();
        prop_assert_eq!(busy.busy_ns, expected);
        prop_assert!(!busy.is_bound);
        prop_assert!(busy.busy_ns <= busy.hull[1] - busy.hull[0]);
    }
}

//! Merging along trees gives what merging one by one gives.

use super::*;
use crate::recorder::tests::{Step, step, take};
use proptest::prelude::*;
use std::sync::mpsc::{Receiver, Sender, channel};

fn recorded(rank: u32, ranks: u32, steps: &[Step]) -> RankRecord {
    let mut recorder = heap(rank, ranks);
    for step in steps {
        take(&mut recorder, step);
    }
    recorder.into_record().expect("a sound record")
}

/// Merges neighbours that `order` picks until one is left.
fn in_a_tree<M: Merge + Default>(mut parts: Vec<M>, order: &[usize]) -> M {
    let mut order = order.iter().cycle();
    while parts.len() > 1 {
        let mut left = parts.remove(order.next().unwrap_or(&0) % parts.len());
        let right = parts.remove(order.next().unwrap_or(&0) % parts.len());
        left.merge_from(right);
        parts.push(left);
    }
    parts.pop().unwrap_or_default()
}

/// A rank's line over channels between threads.
struct Channels {
    rank: u32,
    inbox: Vec<Receiver<Vec<u8>>>,
    outbox: Vec<Sender<Vec<u8>>>,
}

impl Link for Channels {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.outbox.len() as u32
    }

    fn send(&mut self, to: u32, bytes: &[u8]) -> Result<(), String> {
        self.outbox[to as usize].send(bytes.to_vec()).map_err(|error| error.to_string())
    }

    fn receive(&mut self, from: u32) -> Result<Vec<u8>, String> {
        self.inbox[from as usize].recv().map_err(|error| error.to_string())
    }

    fn broadcast(&mut self, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        if self.rank > 0 {
            return self.receive(0);
        }
        for to in 1..self.size() {
            self.send(to, &bytes)?;
        }
        Ok(bytes)
    }
}

/// One line for each of `ranks`.
fn channels(ranks: u32) -> Vec<Channels> {
    let mut lines: Vec<Channels> =
        (0..ranks).map(|rank| Channels { rank, inbox: Vec::new(), outbox: Vec::new() }).collect();
    for from in 0..ranks as usize {
        for to in 0..ranks as usize {
            let (sender, receiver) = channel();
            lines[from].outbox.push(sender);
            lines[to].inbox.push(receiver);
        }
    }
    lines
}

fn over_channels(records: Vec<RankRecord>, plan: &Plan) -> Collected {
    let lines = channels(records.len() as u32);
    std::thread::scope(|scope| {
        let ranks = lines.into_iter().zip(records).map(|(mut line, record)| {
            scope.spawn(move || collect_over(Some(&record), plan, &mut line))
        });
        let ranks: Vec<_> = ranks.collect();
        let mut results = ranks.into_iter().map(|rank| rank.join().expect("no panic"));
        let first = results.next().expect("rank 0").expect("rank 0 merges");
        assert!(results.all(|other| other == Ok(None)), "only rank 0 has the result");
        first.expect("rank 0 has the result")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_tree_gives_the_same(
        ranks in prop::collection::vec(prop::collection::vec(step(1000), 0..12), 1..9),
        order in prop::collection::vec(any::<usize>(), 1..20),
    ) {
        let size = ranks.len() as u32;
        let records: Vec<_> =
            (0..).zip(&ranks).map(|(rank, steps)| recorded(rank, size, steps)).collect();
        let plan = Plan::default();
        let expected = collect(&records, &plan);

        let outline = in_a_tree(records.iter().map(Outline::of_rank).collect(), &order);
        let parts = records.iter().map(|record| Partial::of_rank(record, &outline));
        let merged = in_a_tree(parts.collect(), &order).finish(&outline, &plan);
        prop_assert_eq!(&merged, &expected);
        prop_assert_eq!(&over_channels(records, &plan), &expected);
    }

    #[test]
    fn too_many_labels_are_the_same_in_any_tree(
        counts in prop::collection::vec(0u32..3000, 2..6),
        order in prop::collection::vec(any::<usize>(), 1..20),
    ) {
        let size = counts.len() as u32;
        let records: Vec<_> = (0..size).zip(&counts).map(|(rank, count)| {
            let mut recorder = heap(rank, size);
            for k in 0..*count {
                let name = format!("{} of {}", k, rank % 3);
                let label = recorder.label(NO_ID, name.as_bytes(), LabelKind::Wall);
                recorder.occurrence(label, 0, 1, 0);
            }
            recorder.into_record().expect("a sound record")
        }).collect();
        let expected = collect(&records, &Plan::default());
        let executed: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        let told: u64 = expected.times.iter().map(|time| u64::from(time.ranks)).sum();
        prop_assert_eq!(told, executed);

        let outline = in_a_tree(records.iter().map(Outline::of_rank).collect(), &order);
        let parts = records.iter().map(|record| Partial::of_rank(record, &outline));
        let merged = in_a_tree(parts.collect(), &order).finish(&outline, &Plan::default());
        prop_assert_eq!(merged, expected);
    }
}

#[test]
fn lists_are_bounded_and_say_so() {
    let record = |rank| {
        let mut recorder = heap(rank, 1000);
        for site in 0..10 {
            (0..10).for_each(|_| recorder.failure(site, Op::Stat, b"p", (0, 2), ""));
        }
        recorder.into_record().expect("a sound record")
    };
    let collected = collect(&(0..1000).map(record).collect::<Vec<_>>(), &Plan::default());
    assert_eq!(collected.failures.len(), 4096);
    assert_eq!(collected.failures.last().map(|failure| failure.rank), Some(40));
    let note = "95904 more failed operations are counted but not listed: the list is full";
    assert_eq!(collected.evidence.notes, [note]);
}

#[test]
fn a_part_does_not_grow_with_the_ranks() {
    let size = |ranks: u32| {
        let records: Vec<_> = (0..ranks).map(|rank| recorded(rank, ranks, &steps())).collect();
        let outline = Outline::of_rank(&records[0]);
        let part = merge_all(records.iter().map(|record| Partial::of_rank(record, &outline)));
        postcard::to_stdvec(&part).expect("a part can be packed").len()
    };
    let (few, many) = (size(2), size(512));
    assert!(many < few + few / 2, "{few} bytes of 2 ranks, {many} of 512");
}

fn steps() -> Vec<Step> {
    let one = |label| Step::Done { label, op: 0, start_ns: 100, busy_ns: 300, bytes: 4096 };
    let all = |label| Step::Occurrences { label, count: 300, start_ns: 5, long_ns: 9 };
    (1..6).map(one).chain((1..6).map(all)).collect()
}

#[test]
fn a_rank_without_a_record_does_not_hold_up_the_others() {
    let plan = Plan::default();
    let mut lines = channels(2).into_iter();
    let (mut first, mut second) = (lines.next().expect("two"), lines.next().expect("two"));
    let record = recorded(0, 2, &steps());
    let expected = collect(&[recorded(0, 2, &steps())], &plan);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| collect_over(None, &Plan::default(), &mut second));
        assert_eq!(collect_over(Some(&record), &plan, &mut first), Ok(Some(expected)));
        assert_eq!(other.join().expect("no panic"), Ok(None));
    });
}

#[test]
fn what_is_no_part_is_refused() {
    let mut lines = channels(2).into_iter();
    let (mut first, mut second) = (lines.next().expect("two"), lines.next().expect("two"));
    second.send(0, &[0xff; 3]).expect("the line is open");
    let refused = reduce(Outline::default(), &mut first).expect_err("not an outline");
    assert!(refused.contains("no part of a result"), "{refused}");
}

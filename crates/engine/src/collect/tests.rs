//! Every formula of `collect` against numbers made by hand, and merging along trees, which gives what merging one by
//! one gives.

use super::*;
use crate::recorder::tests::{Step, at, heap, step, take};
use crate::recorder::{Count, RankRecord, Recorder, State, Usage, layout};
use model::event::NO_ID;
use model::merge::{Merge, merge_all};
use model::plan::{Instr, LabelKind, Operand, Slot, SourceFile, Span};
use model::run::Row;
use model::{Op, Part, Plan};
use proptest::prelude::*;
use std::sync::mpsc::{Receiver, Sender, channel};

const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;

fn merge(ranks: Vec<Recorder>) -> Collected {
    let records: Vec<RankRecord> = ranks.into_iter().map(|r| r.into_record().unwrap()).collect();
    assert!(records.iter().all(|record| record.damage.is_none()));
    collect(&records, &Plan::default())
}

fn row<'a>(collected: &'a Collected, label: &str, op: &str) -> &'a Row {
    let found = collected.rows.iter().find(|row| row.label == label && row.op == op);
    found.unwrap_or_else(|| panic!("no row {label} {op}: {:?}", collected.rows))
}

/// Two ranks write inside a label; rank 1 starts later and ends later.
fn two_writers() -> Vec<Recorder> {
    let (mut a, mut b) = (heap(0, 2), heap(1, 2));
    for rank in [&mut a, &mut b] {
        assert_eq!(rank.label(NO_ID, b"w", LabelKind::Wall), 1);
    }
    let stat = a.stat(1, Op::Fwrite);
    a.done(stat, 0, at(10 * MS, 10 * MS), MIB, false);
    a.done(stat, 0, at(30 * MS, 30 * MS), MIB, true);
    a.occurrence(1, 0, 100 * MS, 40 * MS);
    let stat = b.stat(1, Op::Fwrite);
    b.done(stat, 0, at(60 * MS, 20 * MS), 3 * MIB, false);
    b.failed(stat, 0, 7 * MS, false);
    b.failed(stat, 0, 9 * MS, true);
    b.occurrence(1, 50 * MS, 150 * MS, 20 * MS);
    vec![a, b]
}

#[test]
fn rates_follow_their_definitions() {
    let collected = merge(two_writers());
    let row = row(&collected, "w", "fwrite");
    // Rank 0: 2 MiB in 40 ms of its own time; rank 1: 3 MiB in 20 ms.
    let rank_mib_s = (2.0 / 0.040 + 3.0 / 0.020) / 2.0;
    assert!((row.rank_mib_s.unwrap() - rank_mib_s).abs() < 1e-9);
    // 5 MiB between the first start of the label and its last end: 150 ms.
    assert!((row.mib_s.unwrap() - 5.0 / 0.150).abs() < 1e-9);
}

#[test]
fn counts_include_failures_and_times_do_not() {
    let collected = merge(two_writers());
    let row = row(&collected, "w", "fwrite");
    assert_eq!((row.count, row.failed, row.expected, row.short), (5, 1, 1, 1));
    assert_eq!((row.bytes, row.min_ns, row.max_ns), (5 * MIB, Some(10 * MS), Some(30 * MS)));
    assert_eq!(row.mean_ns, Some(20.0 * MS as f64));
    let p50_ns = row.p50_ns.unwrap() as f64;
    assert!((p50_ns / (20 * MS) as f64 - 1.0).abs() < 0.01, "{p50_ns}");
    assert_eq!(row.histogram.as_ref().map(|times| times.count), Some(3));
    let failed = row.failed_histogram.as_ref().unwrap();
    assert_eq!((failed.count, failed.min, failed.max), (2, 7 * MS, 9 * MS));
}

#[test]
fn times_merge_by_index_over_ranks() {
    let mut ranks = two_writers();
    ranks[0].occurrence(1, 200 * MS, 230 * MS, 0);
    let collected = merge(ranks);
    let figures: Vec<_> = collected
        .times
        .iter()
        .map(|t| (t.index, t.ranks, t.first_start_ns, t.last_end_ns, t.slowest_rank, t.max_ns))
        .collect();
    assert_eq!(figures, [(0, 2, 0, 150 * MS, 0, 100 * MS), (1, 1, 200 * MS, 230 * MS, 0, 30 * MS)]);
    // The interval is the sum over occurrences: 150 ms + 30 ms.
    let mib_s = row(&collected, "w", "fwrite").mib_s.unwrap();
    assert!((mib_s - 5.0 / 0.180).abs() < 1e-9);
}

#[test]
fn ctime_tells_the_sum_of_the_operations() {
    let (mut a, mut b) = (heap(0, 2), heap(1, 2));
    for (rank, own_ns) in [(&mut a, 5), (&mut b, 9)] {
        let label = rank.label(NO_ID, b"c", LabelKind::Calls);
        rank.occurrence(label, 100, 200, own_ns);
    }
    let times = merge(vec![a, b]).times;
    assert_eq!((times[0].max_ns, times[0].slowest_rank), (9, 1));
    assert_eq!((times[0].first_start_ns, times[0].last_end_ns), (100, 200));
}

#[test]
fn outside_labels_the_interval_is_that_of_the_operation() {
    let (mut a, mut b) = (heap(0, 2), heap(1, 2));
    let stat = a.stat(NO_ID, Op::Fread);
    a.done(stat, 0, at(10 * MS, MS), MIB, false);
    let stat = b.stat(NO_ID, Op::Fread);
    b.done(stat, 0, at(17 * MS, 3 * MS), MIB, false);
    let other = b.stat(NO_ID, Op::Stat);
    b.done(other, 1, at(90 * MS, MS), 0, false);
    let collected = merge(vec![a, b]);
    let read = row(&collected, "", "fread");
    assert!((read.mib_s.unwrap() - 2.0 / 0.010).abs() < 1e-9);
    let stat = row(&collected, "", "stat");
    assert_eq!((stat.mib_s, stat.rank_mib_s, stat.mean_ns), (None, None, Some(MS as f64)));
    assert!(collected.times.is_empty());
}

#[test]
fn rows_stand_in_order_of_first_appearance_with_parts_behind() {
    let (mut a, mut b) = (heap(0, 2), heap(1, 2));
    let only_b = b.label(NO_ID, b"only b", LabelKind::Wall);
    let stat = b.stat(only_b, Op::Stat);
    b.done(stat, 0, at(0, 1), 0, false);
    let z = a.label(NO_ID, b"z", LabelKind::Wall);
    let z_a = a.label(z, b"a", LabelKind::Wall);
    for (label, op) in [(z_a, Op::Mkdir), (NO_ID, Op::Delete), (z, Op::Write), (z_a, Op::Delete)] {
        let stat = a.stat(label, op);
        a.done(stat, 0, at(0, 1), 0, false);
    }
    // Never executed: no row.
    a.stat(z, Op::Rename);
    let write = a.stat(z, Op::Write);
    a.part(write, Part::Close, 4);
    a.part(write, Part::Open, 3);
    let collected = merge(vec![b, a]);
    let rows: Vec<_> =
        collected.rows.iter().map(|r| (&r.label[..], &r.op[..], r.part_of.as_deref())).collect();
    assert_eq!(
        rows,
        [
            ("z", "write", None),
            ("z", "write.open", Some("write")),
            ("z", "write.close", Some("write")),
            ("z/a", "mkdir", None),
            ("z/a", "delete", None),
            ("", "delete", None),
            ("only b", "stat", None),
        ]
    );
}

#[test]
fn parts_have_times_and_the_data_part_has_the_bytes() {
    let mut rank = heap(0, 1);
    let stat = rank.stat(NO_ID, Op::Write);
    rank.part(stat, Part::Open, MS);
    rank.part(stat, Part::Data, 2 * MS);
    rank.done(stat, 0, at(0, 3 * MS), MIB, false);
    let collected = merge(vec![rank]);
    let data = row(&collected, "", "write.data");
    assert_eq!((data.count, data.bytes, data.max_ns), (1, MIB, Some(2 * MS)));
    assert!((data.rank_mib_s.unwrap() - 1.0 / 0.002).abs() < 1e-9);
    let open = row(&collected, "", "write.open");
    assert_eq!((open.count, open.bytes, open.rank_mib_s, open.mib_s), (1, 0, None, None));
    // Sums over rows that are not parts count everything once.
    assert_eq!(collected.evidence.program_write_bytes, MIB);
}

#[test]
fn occurrences_that_were_not_kept_add_the_largest_sum_of_one_rank() {
    let mut ranks: Vec<Recorder> = (0..2).map(|rank| heap(rank, 2)).collect();
    for (rank, recorder) in ranks.iter_mut().enumerate() {
        let label = recorder.label(NO_ID, b"l", LabelKind::Wall);
        // Rank 1 takes twice as long; 1,200 occurrences leave 200 not kept.
        let long_ns = if rank == 0 { MS } else { 2 * MS };
        for index in 0..1200 {
            recorder.occurrence(label, index * 10 * MS, index * 10 * MS + long_ns, 0);
        }
        let stat = recorder.stat(label, Op::Fwrite);
        recorder.done(stat, 0, at(0, MS), 12 * MIB, false);
    }
    let collected = merge(ranks);
    assert_eq!(collected.times.len(), 1000);
    assert_eq!((collected.times[499].index, collected.times[500].index), (499, 700));
    let more = &collected.times_more[0];
    assert_eq!((more.count, more.max_rank_sum_ns), (400, 200 * 2 * MS));
    assert_eq!((more.histogram.min, more.histogram.max), (MS, 2 * MS));
    // 1,000 kept ones of 2 ms each, and 200 of 2 ms on the slowest rank.
    let mib_s = row(&collected, "l", "fwrite").mib_s.unwrap();
    assert!((mib_s - 24.0 / 2.4).abs() < 1e-9, "{mib_s}");
}

#[test]
fn ranks_with_different_numbers_of_occurrences_keep_a_thousand() {
    let mut ranks: Vec<Recorder> = (0..2).map(|rank| heap(rank, 2)).collect();
    for (recorder, count) in ranks.iter_mut().zip([1500, 3000]) {
        let label = recorder.label(NO_ID, b"l", LabelKind::Wall);
        (0..count).for_each(|index| recorder.occurrence(label, index, index + 1, 0));
    }
    let collected = merge(ranks);
    assert_eq!(collected.times.len(), 1000);
    assert_eq!(collected.times[500].index, 2500);
    let kept: u64 = collected.times.iter().map(|time| u64::from(time.ranks)).sum();
    assert_eq!(kept + collected.times_more[0].count, 4500);
}

#[test]
fn an_occurrence_that_was_cut_off_counts_in_the_interval() {
    let mut rank = heap(0, 1);
    let label = rank.label(NO_ID, b"w", LabelKind::Wall);
    let stat = rank.stat(label, Op::Fwrite);
    rank.done(stat, 0, at(0, 10 * MS), MIB, false);
    rank.occurrence(label, 0, 10 * MS, 10 * MS);
    // A second occurrence begins at 20 ms and never ends; the last operation in it does at 50 ms.
    rank.entered(label, 20 * MS);
    rank.done(stat, 0, at(30 * MS, 20 * MS), MIB, false);
    let collected = merge(vec![rank]);
    assert!((row(&collected, "w", "fwrite").mib_s.unwrap() - 2.0 / 0.040).abs() < 1e-9);
    assert!(!collected.labels[0].busy_is_bound);
    assert!(!collected.finished);
}

/// The figures up to the end belong to the time up to it, also where nothing was done at last.
#[test]
fn a_label_that_a_rank_did_not_leave_lasts_to_the_end_of_the_rank() {
    let mut rank = heap(0, 1);
    let outer = rank.label(NO_ID, b"outer", LabelKind::Wall);
    rank.entered(outer, 5 * MS);
    let label = rank.label(outer, b"w", LabelKind::Wall);
    rank.entered(label, 10 * MS);
    let stat = rank.stat(label, Op::Fwrite);
    rank.done(stat, 0, at(1010 * MS, MS), MIB, false);
    rank.finish(State::Failed, &Usage { end_ns: 2010 * MS, ..Usage::default() });
    let collected = merge(vec![rank]);
    let busy = collected.labels.iter().map(|label| (&*label.label, label.busy_ns / MS));
    assert_eq!(busy.collect::<Vec<_>>(), [("outer", 2005), ("outer/w", 2000)]);
    assert!((row(&collected, "outer/w", "fwrite").mib_s.unwrap() - 0.5).abs() < 1e-9);
}

#[test]
fn a_rank_that_was_cut_off_does_not_lengthen_what_the_others_did_meanwhile() {
    let (mut killed, mut other) = (heap(0, 2), heap(1, 2));
    for (rank, busy_ns) in [(&mut killed, 20 * MS), (&mut other, 40 * MS)] {
        let label = rank.label(NO_ID, b"w", LabelKind::Wall);
        rank.entered(label, 0);
        let stat = rank.stat(label, Op::Fwrite);
        rank.done(stat, 0, at(10 * MS, busy_ns), MIB, false);
    }
    other.occurrence(1, 0, 60 * MS, 40 * MS);
    let collected = merge(vec![killed, other]);
    assert!((row(&collected, "w", "fwrite").mib_s.unwrap() - 2.0 / 0.060).abs() < 1e-9);
    assert_eq!(collected.times[0].ranks, 1);
}

/// Trap 3: sync and metadata latencies survive merging.
#[test]
fn latencies_survive_merging_over_many_ranks() {
    const RANKS: u32 = 10_000;
    let ranks = (0..RANKS).map(|rank| {
        let mut recorder = heap(rank, RANKS);
        let label = recorder.label(NO_ID, b"phase", LabelKind::Wall);
        for op in [Op::Fsync, Op::Stat, Op::Write] {
            let stat = recorder.stat(label, op);
            (0..10)
                .for_each(|k| recorder.done(stat, 0, at(0, 1000 + u64::from(rank) + k), 1, false));
        }
        recorder.occurrence(label, 0, 1000, 0);
        recorder
    });
    let collected = merge(ranks.collect());
    for op in ["fsync", "stat", "write"] {
        let row = row(&collected, "phase", op);
        assert_eq!((row.count, row.min_ns, row.max_ns), (100_000, Some(1000), Some(11_008)));
        let p99_ns = row.p99_ns.unwrap() as f64;
        assert!((p99_ns / 10_904.0 - 1.0).abs() < 0.01, "{p99_ns}");
    }
    assert_eq!(collected.times[0].ranks, RANKS);
}

#[test]
fn labels_of_all_ranks_together_are_bounded_too() {
    const RANKS: u32 = 5_000;
    let ranks = (0..RANKS).map(|rank| {
        let mut recorder = heap(rank, RANKS);
        let label = recorder.label(NO_ID, format!("rank {rank}").as_bytes(), LabelKind::Wall);
        let stat = recorder.stat(label, Op::Stat);
        recorder.done(stat, 0, at(0, 1), 0, false);
        recorder.occurrence(label, 0, 1, 0);
        recorder
    });
    let collected = merge(ranks.collect());
    let beyond = row(&collected, "(more)", "stat").count;
    assert_eq!(collected.rows.len() as u64 - 1 + beyond, u64::from(RANKS));
    assert!(collected.rows.len() <= layout::MAX_LABELS + 2);
    assert_eq!(collected.evidence.labels_beyond_limit, beyond);
}

fn placed_plan() -> Plan {
    let text = "stat(\"a\");\n  stat(\"ü\"); delete(\"b\");\n";
    let span = |start: u32| Span { start, end: start + 1 };
    let op = |op| Instr::Op { op, dst: Slot(0), args: Operand::ABSENT.0 };
    Plan {
        code: vec![op(Op::Stat), op(Op::Stat), op(Op::Delete)],
        spans: vec![span(100), span(113), span(125)],
        files: vec![SourceFile { name: "p.ppl".into(), start: 100, text: text.to_owned().into() }],
        ..Plan::default()
    }
}

#[test]
fn places_are_found_as_the_plan_finds_them() {
    let plan = placed_plan();
    let mut recorder = heap(0, 1);
    let stat = recorder.stat(NO_ID, Op::Stat);
    (0..3).rev().for_each(|site| recorder.done(stat, site, at(0, 5), 0, false));
    recorder.rank_error(Some(1), "division by zero");
    let collected = collect(&[recorder.into_record().unwrap()], &plan);
    for site in &collected.sites {
        let place = (&site.file[..], site.line as usize, site.column as usize);
        assert_eq!(Some(place), plan.locate_site(site.site));
        assert_eq!((site.count, site.busy_ns), (1, 5));
    }
    assert_eq!(
        collected.sites.iter().map(|s| &s.op[..]).collect::<Vec<_>>(),
        ["stat", "stat", "delete"]
    );
    assert_eq!(collected.rank_errors[0].place, "p.ppl:2:3");
}

#[test]
fn ten_failures_are_kept_per_site_and_all_are_counted() {
    let mut recorder = heap(4, 5);
    for k in 0..25 {
        recorder.failure(2, Op::Delete, format!("file-{k}").as_bytes(), (k, 2, 0), "");
    }
    recorder.failure(0, Op::Stat, b"\xff", (0, 13, 0), "");
    let collected = collect(&[recorder.into_record().unwrap()], &placed_plan());
    let of_site: Vec<_> = collected.failures.iter().filter(|f| f.op == "delete").collect();
    assert_eq!(of_site.len(), 10);
    assert_eq!(of_site.iter().map(|failure| failure.occurrences).sum::<u64>(), 25);
    assert_eq!((of_site[9].occurrences, of_site[9].offset_bytes), (16, 9));
    assert_eq!((of_site[0].rank, &of_site[0].path[..]), (4, "file-0"));
    assert_eq!(of_site[0].message, "ENOENT: No such file or directory");
    assert_eq!(of_site[0].place, "p.ppl:2:14");
    assert_eq!(collected.failures.last().map(|f| &f.path[..]), Some("\u{fffd}"));
}

#[test]
fn evidence_is_summed_and_missing_figures_stay_missing() {
    let usage = |read_bytes| Usage {
        start_ns: 10,
        end_ns: 500,
        cpu_ns: 7,
        read_bytes,
        write_bytes: Some(100),
        ..Usage::default()
    };
    let run = |read: [Option<u64>; 2]| {
        let ranks = (0..2).zip(read).map(|(rank, read_bytes)| {
            let mut recorder = heap(rank, 2);
            let stat = recorder.stat(NO_ID, Op::Fread);
            recorder.done(stat, 0, at(0, 10), 1000, false);
            recorder.finish(State::Finished, &usage(read_bytes));
            recorder
        });
        merge(ranks.collect())
    };
    let finished = run([Some(200), Some(300)]);
    assert!(finished.finished);
    assert_eq!(finished.duration_wall_ns, 500);
    let evidence = finished.evidence;
    assert_eq!((evidence.program_read_bytes, evidence.storage_read_bytes), (2000, Some(500)));
    assert_eq!((evidence.storage_write_bytes, evidence.cpu_ns), (Some(200), 14));
    assert_eq!(evidence.page_cache_share, Some(0.75));
    let unfinished = run([Some(200), None]).evidence;
    assert_eq!((unfinished.storage_read_bytes, unfinished.page_cache_share), (None, None));
    // 2 MiB of two ranks may all be directories; more is not.
    assert_eq!(run([Some(9000), Some(0)]).evidence.page_cache_share, None);
    assert_eq!(run([Some(3 << 20), Some(0)]).evidence.page_cache_share, Some(0.0));
    assert_eq!(
        collect(&[], &Plan::default()),
        Collected { finished: true, ..Collected::default() }
    );
}

#[test]
fn traffic_is_summed_by_label_and_fetched_bytes_are_those_of_all_ranks_or_none() {
    let run = |read_bytes: Option<u64>| {
        let ranks = (0..2).map(|rank| {
            let mut recorder = heap(rank, 2);
            let label = recorder.label(NO_ID, b"w", LabelKind::Wall);
            for (op, bytes) in [(Op::Fwrite, 100), (Op::Fread, 50)] {
                let stat = recorder.stat(label, op);
                recorder.done(stat, 0, at(0, 10), bytes, false);
            }
            let block = recorder.traffic(label, 0);
            assert_eq!(recorder.traffic(label, 0), block);
            recorder.count(block, Count::Unstable, 100);
            recorder.uncount(block, Count::Unstable, 30);
            recorder.count(block, Count::Fetched, 7);
            recorder.count(block, Count::CachedNames, 3);
            let outside = recorder.traffic(NO_ID, 0);
            recorder.count(outside, Count::Unstable, 9);
            let read_bytes = if rank == 1 { read_bytes } else { Some(1) };
            recorder.finish(State::Finished, &Usage { read_bytes, ..Usage::default() });
            recorder
        });
        merge(ranks.collect()).evidence.labels
    };
    let [label] = &run(Some(7))[..] else { panic!("one label has moved bytes") };
    assert_eq!((&*label.label, label.written_bytes, label.read_bytes), ("w", 200, 100));
    assert_eq!((label.unstable_bytes, label.fetched_bytes), (140, Some(14)));
    assert_eq!(label.cached_names, 6);
    assert_eq!(run(None)[0].fetched_bytes, None);
}

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
        let counted: u64 = expected.times.iter().map(|time| u64::from(time.ranks)).sum();
        prop_assert_eq!(counted, executed);

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
            (0..10).for_each(|_| recorder.failure(site, Op::Stat, b"p", (0, 2, 0), ""));
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

use super::*;
use crate::collect::collect;
use model::event::NO_ID;
use model::plan::LabelKind;
use model::{Event, Op, Part, Plan};
use proptest::prelude::*;

pub(crate) const META: Meta = Meta { rank: 0, ranks: 1, sites: 100, events: None };

pub(crate) fn heap(rank: u32, ranks: u32) -> Recorder {
    Recorder::create(Medium::Heap, &Meta { rank, ranks, ..META }).expect("a heap recorder")
}

/// From `start_ns`, for `busy_ns`, nothing between the calls.
pub(crate) fn at(start_ns: u64, busy_ns: u64) -> Timing {
    Timing { start_ns, end_ns: start_ns + busy_ns, busy_ns }
}

#[test]
fn what_is_recorded_is_read_back() {
    let events = Some(EventsConfig { max_bytes: 1 << 20, expected: 10, sample_every: 1 });
    let mut recorder = Recorder::create(Medium::Heap, &Meta { rank: 3, ranks: 5, events, ..META })
        .expect("a heap recorder");
    let outer = recorder.label(NO_ID, b"outer", LabelKind::Wall);
    let inner = recorder.label(outer, b"in\xff", LabelKind::Calls);
    let write = recorder.stat(inner, Op::Write);
    recorder.part(write, Part::Open, 10);
    recorder.part(write, Part::Data, 20);
    recorder.done(write, 7, at(100, 30), 4096, false);
    recorder.failed(write, 7, 5, false);
    recorder.failure(7, Op::Write, b"dir/file", (12, 28), "");
    recorder.occurrence(inner, 90, 140, 35);
    recorder.occurrence(outer, 80, 150, 35);
    let path = recorder.path(b"dir/file");
    assert_eq!(recorder.path(b"dir/file"), path);
    assert_ne!(recorder.path(b"dir/fil"), path);
    let event = Event { seq: 1, site: 7, path, label: inner, ..Event::default() };
    recorder.event(&event);
    recorder.rank_error(Some(9), "division by zero");
    recorder.rank_error(None, "lost");
    let usage = Usage { start_ns: 1, end_ns: 2, read_bytes: Some(0), ..Usage::default() };
    recorder.finish(State::Failed, &usage);

    let record = recorder.into_record().expect("a sound record");
    assert_eq!((record.rank, record.ranks, record.state), (3, 5, State::Failed));
    assert_eq!((record.damage.as_deref(), record.header.lost), (None, 0));
    assert_eq!(record.usage, Some(usage));
    let labels: Vec<_> = record.labels.iter().map(|l| (&l.path[..], l.kind, l.count)).collect();
    assert_eq!(
        labels,
        [
            (&b"(more)"[..], LabelKind::Wall, 0),
            (b"outer", LabelKind::Wall, 1),
            (b"outer/in\xff", LabelKind::Calls, 1),
        ]
    );
    let kept = Occurrence { index: 0, start_ns: 90, end_ns: 140, own_ns: 35 };
    assert_eq!(record.labels[2].kept, [kept]);
    let [stat] = &record.stats[..] else { panic!("{:?}", record.stats) };
    assert_eq!((stat.label, stat.op), (2, Op::Write));
    let stat = &stat.figures;
    assert_eq!((stat.bytes, stat.short), (4096, 0));
    assert_eq!((stat.done.count, stat.done.sum, stat.failed, stat.expected), (1, 30, 1, 0));
    assert_eq!((stat.failed_times.count, stat.failed_times.max), (1, 5));
    assert_eq!((stat.first_ns, stat.last_ns), (100, 130));
    let parts = stat.parts.as_ref().expect("write is compound");
    assert_eq!(
        parts.each_ref().map(|part| (part.count, part.sum)),
        [(1, 10), (0, 0), (1, 20), (0, 0), (0, 0)]
    );
    assert_eq!(record.sites, [SiteRecord { site: 7, count: 2, busy_ns: 35 }]);
    assert_eq!(record.failure_counts, [(7, 1)]);
    assert_eq!(record.failures[0].path, b"dir/file");
    assert_eq!(
        record.errors,
        [(Some(9), "division by zero".to_string()), (None, "lost".to_string())]
    );
    assert_eq!(record.events().collect::<Vec<_>>(), [event]);
    assert_eq!(record.path(path), Some(&b"dir/file"[..]));
    assert_eq!(collect(&[record], &Plan::default()).rows.len(), 3);
}

#[test]
fn times_are_read_back_on_the_clock_of_rank_0() {
    use crate::clock::align::{Alignment, Offset};
    let events = Some(EventsConfig { max_bytes: 1 << 20, expected: 1, sample_every: 1 });
    let mut recorder = Recorder::create(Medium::Heap, &Meta { rank: 1, ranks: 2, events, ..META })
        .expect("a heap recorder");
    let at_start = Offset { at_ns: 1_000, ahead_ns: 1_000, round_trip_ns: 4 };
    recorder.clock(&Alignment { start: at_start, end: None });
    let label = recorder.label(NO_ID, b"l", LabelKind::Wall);
    let stat = recorder.stat(label, Op::Stat);
    recorder.done(stat, 0, at(2_000, 100), 0, false);
    recorder.occurrence(label, 1_500, 2_500, 100);
    let event = Event { start_ns: 2_000, end_ns: 2_100, ..Event::default() };
    recorder.event(&Event { intended_start_ns: 1_500, ..event });
    // This clock runs twice as fast: 2,000 ahead at its 3,000.
    let at_end = Offset { at_ns: 3_000, ahead_ns: 2_000, round_trip_ns: 4 };
    recorder.clock(&Alignment { start: at_start, end: Some(at_end) });
    recorder.finish(State::Finished, &Usage { start_ns: 1_000, end_ns: 3_000, ..Usage::default() });
    let record = recorder.into_record().expect("a sound record");
    assert_eq!((record.stats[0].figures.first_ns, record.stats[0].figures.last_ns), (500, 550));
    assert_eq!(record.labels[1].kept[0].start_ns, 250);
    assert_eq!(record.labels[1].kept[0].own_ns, 100, "durations stay as they were measured");
    assert_eq!(
        record
            .events()
            .map(|event| (event.intended_start_ns, event.start_ns, event.end_ns))
            .collect::<Vec<_>>(),
        [(250, 500, 550)]
    );
    assert_eq!(record.usage.map(|usage| (usage.start_ns, usage.end_ns)), Some((0, 1_000)));
    assert_eq!(record.clock.and_then(|clock| clock.end), Some(at_end));
}

/// Calls of the recorder.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Done { label: u8, op: u8, start_ns: u64, busy_ns: u64, bytes: u64 },
    Failed { label: u8, op: u8, site: u32 },
    Occurrences { label: u8, count: u64, start_ns: u64, long_ns: u64 },
    Event(u64),
    Error(String),
    Finish(Option<u64>),
}

/// Times are below `max_ns`: if it is small, they collide.
pub(crate) fn step(max_ns: u64) -> impl Strategy<Value = Step> {
    let (label, op) = (0u8..6, 0u8..4);
    prop_oneof![
        4 => (label.clone(), op.clone(), 0..max_ns, 0..max_ns, 0u64..1 << 40).prop_map(
            |(label, op, start_ns, busy_ns, bytes)| Step::Done { label, op, start_ns, busy_ns, bytes }
        ),
        1 => (label.clone(), op, 0u32..3).prop_map(|(label, op, site)| Step::Failed { label, op, site }),
        2 => (label, prop_oneof![0u64..4, 900u64..1100], 0..max_ns, 0..max_ns).prop_map(
            |(label, count, start_ns, long_ns)| Step::Occurrences { label, count, start_ns, long_ns }
        ),
        1 => any::<u64>().prop_map(Step::Event),
        1 => "[a-z]{0,8}".prop_map(Step::Error),
        1 => proptest::option::of(0u64..1 << 40).prop_map(Step::Finish),
    ]
}

const OPS: [Op; 4] = [Op::Write, Op::Fread, Op::Stat, Op::Fsync];

/// Label 0 is none; the others are walls and, for the same paths, sums of calls.
fn enter(recorder: &mut Recorder, label: u8) -> u32 {
    let kind = if label.is_multiple_of(2) { LabelKind::Calls } else { LabelKind::Wall };
    match label {
        0 => NO_ID,
        _ => recorder.label(NO_ID, format!("label {}", label / 2).as_bytes(), kind),
    }
}

pub(crate) fn take(recorder: &mut Recorder, step: &Step) {
    match step {
        Step::Done { label, op, start_ns, busy_ns, bytes } => {
            let label = enter(recorder, *label);
            let stat = recorder.stat(label, OPS[usize::from(*op)]);
            recorder.part(stat, Part::Data, busy_ns / 2);
            recorder.done(stat, u32::from(*op), at(*start_ns, *busy_ns), *bytes, bytes % 2 == 0);
            let block = recorder.traffic(label, 0);
            recorder.count(block, Count::Unstable, *bytes);
        }
        Step::Failed { label, op, site } => {
            let label = enter(recorder, *label);
            let stat = recorder.stat(label, OPS[usize::from(*op)]);
            recorder.failed(stat, *site, 7, false);
            recorder.failure(*site, OPS[usize::from(*op)], b"path", (3, 28), "");
        }
        Step::Occurrences { label, count, start_ns, long_ns } => {
            let label = enter(recorder, (*label).max(1));
            for index in 0..*count {
                let start_ns = start_ns + index;
                recorder.occurrence(label, start_ns, start_ns + long_ns, index);
            }
        }
        Step::Event(seq) => {
            let path = recorder.path(&seq.to_le_bytes()[..*seq as usize % 9]);
            recorder.event(&Event { seq: *seq, path, ..Event::default() });
        }
        Step::Error(text) => recorder.rank_error(Some(1), text),
        Step::Finish(read_bytes) => {
            let usage = Usage { end_ns: 5000, read_bytes: *read_bytes, ..Usage::default() };
            recorder.finish(State::Finished, &usage);
        }
    }
}

mod killed;
mod limits;

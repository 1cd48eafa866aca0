//! What is recorded is read back: after a rank died at any instruction, from a file that is cut off or corrupt, and
//! at the limits, which say what they left out.

use super::layout::*;
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
    recorder.failure(7, Op::Write, b"dir/file", (12, 28, 5), "");
    recorder.occurrence(inner, 90, 140, 35);
    recorder.occurrence(outer, 80, 150, 35);
    let path = recorder.path(b"dir/file");
    assert_eq!(recorder.path(b"dir/file"), path);
    assert_ne!(recorder.path(b"dir/fil"), path);
    let event = Event { seq: 1, site: 7, path, label: inner, ..Event::default() };
    recorder.event(&event);
    recorder.publish_event();
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
    use crate::clock::{Alignment, Offset};
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
    recorder.publish_event();
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
            recorder.failure(*site, OPS[usize::from(*op)], b"path", (3, 28, 5), "");
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
            recorder.publish_event();
        }
        Step::Error(text) => recorder.rank_error(Some(1), text),
        Step::Finish(read_bytes) => {
            let usage = Usage { end_ns: 5000, read_bytes: *read_bytes, ..Usage::default() };
            recorder.finish(State::Finished, &usage);
        }
    }
}

fn with_events() -> Recorder {
    let events = Some(EventsConfig { max_bytes: 1 << 20, expected: 0, sample_every: 1 });
    Recorder::create(Medium::Heap, &Meta { events, ..META }).unwrap()
}

#[test]
fn an_operation_and_its_event_are_seen_together() {
    for (written, seen) in [(1, 1), (64, 64), (65, 65), (200, 200)] {
        let mut recorder = with_events();
        let stat = recorder.stat(NO_ID, Op::Stat);
        let seen_now = |recorder: &Recorder| {
            let (operations, _, events) = totals(&read(recorder.used_area()).unwrap());
            assert_eq!(operations, events);
            events
        };
        for seq in 0..written {
            recorder.event(&Event { seq, start_ns: 10, ..Event::default() });
            assert_eq!(seen_now(&recorder), seq);
            recorder.done(stat, 1, at(10, 5), 0, false);
            assert_eq!(seen_now(&recorder), seq + 1);
            recorder.publish_event();
            assert_eq!(seen_now(&recorder), seq + 1);
        }
        assert_eq!(seen_now(&recorder), seen);
    }
}

/// What a reader sees of a record: number of operations, occurrences and events.
fn totals(record: &RankRecord) -> (u64, u64, u64) {
    let operations = record.stats.iter().map(|stat| stat.figures.executions()).sum();
    let occurrences = record.labels.iter().map(|label| label.count).sum();
    (operations, occurrences, record.event_count())
}

fn expected(steps: &[Step]) -> (u64, u64, u64) {
    steps.iter().fold((0, 0, 0), |(operations, occurrences, events), step| match step {
        Step::Done { .. } | Step::Failed { .. } => (operations + 1, occurrences, events),
        Step::Occurrences { count, .. } => (operations, occurrences + count, events),
        Step::Event(_) => (operations, occurrences, events + 1),
        Step::Error(_) | Step::Finish(_) => (operations, occurrences, events),
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(1 << 60), 0..60)
}

proptest! {
    /// Between any two calls the area holds exactly what was recorded.
    #[test]
    fn every_moment_between_calls_is_whole(steps in steps()) {
        let mut recorder = with_events();
        for (done, step) in steps.iter().enumerate() {
            take(&mut recorder, step);
            let record = read(recorder.used_area()).unwrap();
            prop_assert_eq!(record.damage.as_deref(), None);
            prop_assert_eq!(totals(&record), expected(&steps[..=done]));
        }
    }

    /// What lies before a cut is read; nothing is invented.
    #[test]
    fn a_cut_off_file_gives_what_is_left(steps in steps(), share in 0.0f64..1.0) {
        let mut recorder = with_events();
        steps.iter().for_each(|step| take(&mut recorder, step));
        let whole = recorder.used_area().to_vec();
        let cut = (whole.len() as f64 * share) as usize;
        match read(&whole[..cut]) {
            Err(_) => prop_assert!(cut < 8 * HEADER_WORDS),
            Ok(record) => {
                prop_assert!(record.damage.is_some());
                let (found, all) = (totals(&record), expected(&steps));
                prop_assert!(found.0 <= all.0 && found.1 <= all.1 && found.2 <= all.2);
                collect(&[record], &Plan::default());
            }
        }
    }

    /// Corrupt words give an error, damage or other figures, but no panic.
    #[test]
    fn corrupt_files_do_not_panic(steps in steps(),
                                  hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), 0u32..64), 1..20)) {
        let mut recorder = with_events();
        steps.iter().for_each(|step| take(&mut recorder, step));
        let mut bytes = recorder.used_area().to_vec();
        for (at, value, shift) in hits {
            let at = at.index(bytes.len() / 8) * 8;
            bytes[at..at + 8].copy_from_slice(&(value >> shift).to_ne_bytes());
        }
        if let Ok(record) = read(&bytes) {
            record.events().count();
            record.paths().count();
            collect(&[record], &Plan::default());
        }
    }

    #[test]
    fn foreign_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..5000)) {
        prop_assert!(read(&bytes).is_err());
    }
}

#[test]
fn foreign_files_are_refused_with_a_reason() {
    let whole = with_events().used_area().to_vec();
    let with = |word: usize, value: u64| {
        let mut bytes = whole.clone();
        bytes[8 * word..8 * word + 8].copy_from_slice(&value.to_ne_bytes());
        read(&bytes).err()
    };
    for (word, value, reason) in [
        (0, 0, "not a rank file"),
        (1, BYTE_ORDER.swap_bytes(), "byte order"),
        (2, 99, "another version"),
    ] {
        let found = with(word, value).unwrap();
        assert!(found.contains(reason), "{found}");
    }
    assert!(read(b"").is_err_and(|reason| reason.contains("too short")));
}

/// Copies the area while a rank writes into it, as a killed rank would leave it.
#[test]
fn a_copy_at_any_moment_can_be_read() {
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::{AtomicBool, Ordering};
    const CALLS: u64 = 300_000;
    let file = memory_file().unwrap();
    let medium = Medium::Memory(file.try_clone().unwrap().into());
    let events = Some(EventsConfig { max_bytes: 4 << 20, expected: 0, sample_every: 1 });
    let mut recorder = Recorder::create(medium, &Meta { events, ..META }).unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut last = (0, 0, 0);
            while !ended.load(Ordering::Acquire) {
                let mut header = vec![0; 8 * HEADER_WORDS];
                file.read_exact_at(&mut header, 0).unwrap();
                let used = bytemuck::pod_read_unaligned::<Header>(&header).used as usize;
                let mut bytes = vec![0; 8 * used];
                file.read_exact_at(&mut bytes, 0).unwrap();
                // The rank went on between the two: blocks behind the cut are not ours.
                bytes[..header.len()].copy_from_slice(&header);
                let record = read(&bytes).unwrap();
                assert_eq!(record.damage, None);
                let now = totals(&record);
                assert!(now.0 >= last.0 && now.1 >= last.1 && now.2 >= last.2);
                collect(&[record], &Plan::default());
                last = now;
            }
        });
        for k in 0..CALLS {
            let done = Step::Done { label: k as u8 % 6, op: 1, start_ns: k, busy_ns: k, bytes: 1 };
            let occurrence = Step::Occurrences { label: 1, count: 1, start_ns: k, long_ns: 1 };
            let step = [done, occurrence, Step::Event(k)];
            take(&mut recorder, &step[k as usize % 3]);
        }
        ended.store(true, Ordering::Release);
        reader.join().unwrap();
    });
    let record = read_file(&file).unwrap();
    assert_eq!(record.state, State::Running);
    let (operations, occurrences, events) = totals(&record);
    assert_eq!((operations, occurrences), (CALLS / 3, CALLS / 3));
    assert_eq!(events + record.header.dropped_events, CALLS / 3);
}

/// Trap 32.
#[test]
fn ten_million_occurrences_fit_into_bounded_memory() {
    const COUNT: u64 = 10_000_000;
    let mut recorder = heap(0, 1);
    let label = recorder.label(NO_ID, b"loop", LabelKind::Wall);
    (0..COUNT).for_each(|i| recorder.occurrence(label, 10 * i, 10 * i + i % 7, 0));
    assert!(recorder.used_area().len() < 48 << 10, "{}", recorder.used_area().len());
    let record = recorder.into_record().unwrap();
    let label = &record.labels[1];
    assert_eq!((label.count, label.kept.len()), (COUNT, 1000));
    assert_eq!(label.more.count, COUNT - 1000);
    let indices: Vec<u64> = label.kept.iter().map(|kept| kept.index).collect();
    assert!(indices.into_iter().eq((0..500).chain(COUNT - 500..COUNT)));
    let is_right = |kept: &Occurrence| {
        (kept.start_ns, kept.end_ns) == (10 * kept.index, 10 * kept.index + kept.index % 7)
    };
    assert!(label.kept.iter().all(is_right));
}

#[test]
fn every_number_of_occurrences_is_kept_right() {
    for count in [0, 1, 3, 4, 5, 499, 500, 501, 999, 1000, 1001, 1002, 1501, 2503] {
        let mut recorder = heap(0, 1);
        let label = recorder.label(NO_ID, b"l", LabelKind::Wall);
        (0..count).for_each(|i| recorder.occurrence(label, i, i + 1, 2));
        let record = recorder.into_record().unwrap();
        let label = &record.labels[1];
        let expected = (0..count).filter(|i| *i < 500 || i + 500 >= count);
        assert!(label.kept.iter().map(|kept| kept.start_ns).eq(expected), "{count}");
        assert_eq!(label.more.count, count.saturating_sub(1000));
    }
}

#[test]
fn labels_past_the_limit_go_to_more() {
    let mut recorder = heap(0, 1);
    let ids: Vec<u32> = (0..5000)
        .map(|k| recorder.label(NO_ID, format!("label {k}").as_bytes(), LabelKind::Wall))
        .collect();
    assert_eq!(ids[4095], 4096);
    assert!(ids[4096..].iter().all(|id| *id == 0));
    assert_eq!(recorder.label(0, b"inside", LabelKind::Wall), 0);
    assert_eq!(recorder.label(NO_ID, b"label 7", LabelKind::Wall), ids[7]);
    let stat = recorder.stat(0, Op::Stat);
    recorder.done(stat, 0, at(5, 1), 0, false);
    let record = recorder.into_record().unwrap();
    assert_eq!(record.labels.len(), 4097);
    assert_eq!(record.header.labels_beyond_limit, 905);
    let collected = collect(&[record], &Plan::default());
    assert_eq!(collected.rows[0].label, "(more)");
    assert_eq!(collected.evidence.labels_beyond_limit, 905);
}

/// Trap 31.
#[test]
fn labels_are_bytes() {
    let long = "x".repeat(300);
    let odd: [&[u8]; 6] = [b"", b"a\"b", b"line\nbreak", b"\xff\xfe", long.as_bytes(), b"a,b\0c"];
    let mut recorder = heap(0, 1);
    let ids = odd.map(|text| recorder.label(NO_ID, text, LabelKind::Wall));
    let nested = recorder.label(ids[4], long.as_bytes(), LabelKind::Wall);
    assert_eq!(odd.map(|text| recorder.label(NO_ID, text, LabelKind::Wall)), ids);
    // The same path is the same label, however it came about.
    let inner = recorder.label(ids[1], b"c", LabelKind::Wall);
    assert_eq!(recorder.label(NO_ID, b"a\"b/c", LabelKind::Wall), inner);
    assert_ne!(recorder.label(ids[1], b"c", LabelKind::Calls), inner);
    assert_eq!(recorder.label(NO_ID, &[b'y'; 5000], LabelKind::Wall), 0);
    let record = recorder.into_record().unwrap();
    for (id, text) in ids.into_iter().zip(odd) {
        assert_eq!(record.labels[id as usize].path, text);
    }
    assert_eq!(record.labels[nested as usize].path, format!("{long}/{long}").as_bytes());
}

#[test]
fn events_stop_at_their_limit_and_are_counted() {
    let events = Some(EventsConfig { max_bytes: 100_000, expected: 0, sample_every: 1 });
    let mut recorder = Recorder::create(Medium::Heap, &Meta { events, ..META }).unwrap();
    let before = recorder.used_area().len();
    for seq in 0..2000 {
        let path = recorder.path(format!("file-{}", seq % 10).as_bytes());
        recorder.event(&Event { seq, path, ..Event::default() });
        recorder.publish_event();
    }
    assert!(recorder.used_area().len() - before <= 100_000);
    let record = recorder.into_record().unwrap();
    assert!(record.event_count() > 650);
    assert_eq!(record.event_count() + record.header.dropped_events, 2000);
    assert!(record.events().map(|event| event.seq).eq(0..record.event_count()));
    assert_eq!(record.paths().len(), 10);
    assert_eq!(record.path(9), Some(&b"file-9"[..]));
    assert_eq!(record.path(NO_ID), None);
}

#[test]
fn room_for_expected_events_leaves_room_for_their_paths() {
    let events = Some(EventsConfig { max_bytes: 100_000, expected: 1 << 40, sample_every: 1 });
    let medium = Medium::Memory(memory_file().unwrap().into());
    let mut recorder = Recorder::create(medium, &Meta { events, ..META }).unwrap();
    assert!((0..100).all(|k| recorder.path(format!("path {k}").as_bytes()) != NO_ID));
    (0..700).for_each(|seq| {
        recorder.event(&Event { seq, ..Event::default() });
        recorder.publish_event();
    });
    let record = recorder.into_record().unwrap();
    assert!(record.event_count() >= 600, "{}", record.event_count());
    assert_eq!(record.event_count() + record.header.dropped_events, 700);
}

#[test]
fn without_an_event_table_nothing_is_kept_and_nothing_dropped() {
    let mut recorder = heap(0, 1);
    assert!(!recorder.keeps_events());
    assert_eq!(recorder.path(b"a"), NO_ID);
    recorder.event(&Event::default());
    recorder.publish_event();
    let record = recorder.into_record().unwrap();
    assert_eq!((record.event_count(), record.header.dropped_events), (0, 0));
}

/// A sealed memory file grows no more, as a file on a full disk.
fn seal(file: &std::fs::File) {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open; the call takes an integer.
    let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_GROW) };
    assert_eq!(sealed, 0);
}

/// Trap 15: a full disk loses events first, statistics last, and says so.
#[test]
fn a_full_disk_is_no_reason_to_crash() {
    let file = memory_file().unwrap();
    let medium = Medium::Memory(file.try_clone().unwrap().into());
    let events = Some(EventsConfig { max_bytes: 1 << 30, expected: 0, sample_every: 1 });
    let mut recorder = Recorder::create(medium, &Meta { events, ..META }).unwrap();
    seal(&file);
    (0..10_000).for_each(|seq| {
        recorder.event(&Event { seq, ..Event::default() });
        recorder.publish_event();
    });
    let kept = read_file(&file).unwrap();
    assert!(kept.header.dropped_events > 0 && kept.header.lost == 0);
    assert_eq!(kept.event_count() + kept.header.dropped_events, 10_000);

    // The reserve still holds statistics.
    let label = recorder.label(NO_ID, b"l", LabelKind::Wall);
    let stat = recorder.stat(label, Op::Write);
    (0..500).for_each(|k| recorder.done(stat, 3, at(k, 1 << (k % 40)), 1, false));
    let kept = read_file(&file).unwrap();
    assert_eq!((kept.stats[0].figures.done.count, kept.header.lost), (500, 0));

    // Past the reserve nothing new is kept, and what is there stays.
    for k in 0..20_000u32 {
        let label = recorder.label(NO_ID, &k.to_le_bytes().repeat(20), LabelKind::Wall);
        let stat = recorder.stat(label, Op::Stat);
        recorder.done(stat, k, at(0, 1 << (k % 60)), 0, false);
        recorder.occurrence(label, 0, 1, 0);
        recorder.failure(k, Op::Stat, &[b'p'; 100], (0, 2, 5), "");
        recorder.rank_error(Some(k), "full");
    }
    recorder.finish(State::Finished, &Usage::default());
    let kept = read_file(&file).unwrap();
    assert_eq!((kept.damage.as_deref(), kept.state), (None, State::Finished));
    assert_eq!((kept.stats[0].figures.done.count, kept.stats[0].figures.bytes), (500, 500));
    assert!(kept.header.lost > 0);
    let notes = collect(&[kept], &Plan::default()).evidence.notes;
    assert!(notes[0].contains("disk is full"), "{notes:?}");
}

#[test]
fn files_and_memory_hold_the_same_as_the_heap() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rank-0");
    let memory = memory_file().unwrap();
    let fill = |medium: Medium| {
        let events = Some(EventsConfig { max_bytes: 1 << 24, expected: 0, sample_every: 1 });
        let mut recorder = Recorder::create(medium, &Meta { events, ..META }).unwrap();
        for k in 0..3000u64 {
            let label = recorder.label(NO_ID, format!("{}", k % 50).as_bytes(), LabelKind::Wall);
            let stat = recorder.stat(label, Op::Write);
            recorder.part(stat, Part::Data, k);
            recorder.done(stat, k as u32 % 100, at(k, k * k), k, k % 2 == 0);
            recorder.occurrence(label, k, 2 * k, 0);
            recorder.event(&Event { seq: k, ..Event::default() });
            recorder.publish_event();
        }
        recorder.finish(State::Finished, &Usage::default());
        recorder.into_record().unwrap()
    };
    let heap = fill(Medium::Heap);
    let others = [
        fill(Medium::File(path.clone())),
        fill(Medium::Memory(memory.try_clone().unwrap().into())),
        read_path(&path).unwrap(),
        read_file(&memory).unwrap(),
    ];
    for other in others {
        assert_eq!((&heap.labels, &heap.sites), (&other.labels, &other.sites));
        assert_eq!(heap.stats, other.stats);
        assert!(heap.events().eq(other.events()));
        assert_eq!((other.state, other.damage.as_deref()), (State::Finished, None));
    }
    assert!(read_path(&directory.path().join("missing")).unwrap_err().contains("missing"));
}

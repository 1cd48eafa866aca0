//! What is bounded stays bounded, and says what it left out.

use super::*;

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
    (0..700).for_each(|seq| recorder.event(&Event { seq, ..Event::default() }));
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
    (0..10_000).for_each(|seq| recorder.event(&Event { seq, ..Event::default() }));
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
        recorder.failure(k, Op::Stat, &[b'p'; 100], (0, 2), "");
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

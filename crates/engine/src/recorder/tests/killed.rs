//! A rank can die at any instruction, a file can be cut off or corrupt.

use super::*;
use crate::recorder::layout::*;

fn with_events() -> Recorder {
    let events = Some(EventsConfig { max_bytes: 1 << 20, expected: 0, sample_every: 1 });
    Recorder::create(Medium::Heap, &Meta { events, ..META }).unwrap()
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

//! The recorder allocates nothing once labels, operations and sites have been seen:
//! invariant 3 of ARCHITECTURE.md for its part.
#![allow(unsafe_code)]

use engine::buffer::{Buffers, Content};
use engine::recorder::{EventsConfig, Medium, Meta, Recorder, Timing, memory_file};
use engine::rng::{RankRng, common_rand, perm};
use model::event::NO_ID;
use model::plan::LabelKind;
use model::{Event, Op, Part};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts the allocations of every thread apart.
struct Counting;

// SAFETY: all work is the system allocator's.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: as for the trait.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: as for the trait.
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// One turn of a loop as the machine makes it.
fn turn(recorder: &mut Recorder, k: u64) {
    let outer = recorder.label(NO_ID, b"outer", LabelKind::Wall);
    let label = recorder.label(outer, b"inner", LabelKind::Calls);
    let (stat, write) = (recorder.stat(label, Op::Stat), recorder.stat(label, Op::Write));
    let time = Timing { start_ns: k, end_ns: k + 900, busy_ns: 800 + k % 300 };
    recorder.done(stat, 3, time, 0, false);
    recorder.part(write, Part::Open, 100 + k % 50);
    recorder.part(write, Part::Data, 200);
    recorder.done(write, 4, time, 4096, k.is_multiple_of(2));
    recorder.failed(write, 4, 30, true);
    recorder.failure(5, Op::Stat, b"file", (0, 2, 0), "");
    let path = recorder.path([&b"dir/a"[..], b"dir/b"][k as usize % 2]);
    recorder.event(&Event { seq: k, path, ..Event::default() });
    recorder.publish_event();
    recorder.occurrence(label, k, k + 900 + k % 100, 5);
    recorder.occurrence(outer, k, k + 900 + k % 100, 5);
}

#[test]
fn the_hot_path_allocates_nothing() {
    let events = Some(EventsConfig { max_bytes: 64 << 20, expected: 1000, sample_every: 1 });
    let meta = Meta { rank: 0, ranks: 1, sites: 100, events };
    let medium = Medium::Memory(memory_file().expect("a memory file").into());
    let mut recorder = Recorder::create(medium, &meta).expect("a recorder");
    let mut buffers = Buffers::new(42, 0);
    let mut rng = RankRng::new(42, 0);
    let mut io = |recorder: &mut Recorder, k: u64| {
        turn(recorder, k);
        for content in [Content::Random, Content::Zero, Content::Offset] {
            assert_eq!(buffers.source(content, 4096, k).expect("memory").len(), 4096);
        }
        buffers.target(4096).expect("memory").fill(1);
        let drawn = [rng.uniform(0, 9), rng.zipf(100, 0.9), perm(3, 10, 1)];
        assert!(drawn.iter().all(Result::is_ok));
        std::hint::black_box((rng.bits(), common_rand(1, &(0..4).into(), 2, k)));
    };
    (0..2000).for_each(|k| io(&mut recorder, k));
    let before = ALLOCATIONS.get();
    (2000..20_000).for_each(|k| io(&mut recorder, k));
    assert_eq!(ALLOCATIONS.get() - before, 0);
    let record = recorder.into_record().expect("a sound record");
    assert_eq!(record.event_count() + record.header.dropped_events, 20_000);
    assert!(ALLOCATIONS.get() > before, "the counter works");
}

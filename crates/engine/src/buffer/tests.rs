//! What buffers hold.

use super::*;
use crate::call::Memory;
use model::pattern::Extent;
use proptest::prelude::*;
use std::collections::HashSet;

fn filled(offset_bytes: u64, len: usize, seed: u64) -> Vec<u8> {
    let mut buf = vec![0; len];
    fill_offset(&mut buf, offset_bytes, seed);
    buf
}

proptest! {
    /// Trap 12: any two writers of a range write the same bytes.
    #[test]
    fn content_does_not_depend_on_request_sizes(start in 0u64..1 << 60,
                                                sizes in prop::collection::vec(0usize..90, 0..20),
                                                seed in any::<u64>()) {
        let whole = filled(start, sizes.iter().sum(), seed);
        let mut at = start;
        let mut pieces = Vec::new();
        for size in sizes {
            pieces.extend(filled(at, size, seed));
            at += size as u64;
        }
        prop_assert_eq!(whole, pieces);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    assert_eq!(filled(0, 8, 42), GOLDEN);
    assert_ne!(filled(0, 8, 42), filled(8, 8, 42));
    assert_ne!(filled(0, 8, 42), filled(0, 8, 43));
}

const GOLDEN: [u8; 8] = [69, 234, 247, 75, 234, 237, 19, 35];

/// Trap 28. Entropy of bytes in bits: 8 cannot be compressed.
#[test]
fn content_cannot_be_compressed() {
    let mut buffers = Buffers::new(42, 0);
    let bytes = buffers.source(Content::Random, 1 << 20, 0).unwrap();
    let mut counts = [0u32; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let share = |count: u32| f64::from(count) / bytes.len() as f64;
    let entropy: f64 = counts.iter().map(|count| -share(*count) * share(*count).log2()).sum();
    assert!(entropy > 7.999, "{entropy}");
    let mut blocks: Vec<&[u8]> = bytes.chunks(64).collect();
    blocks.sort_unstable();
    blocks.dedup();
    assert_eq!(blocks.len(), (1 << 20) / 64);
}

#[test]
fn buffers_are_aligned_at_any_size() {
    let mut buffers = Buffers::new(1, 2);
    for len in [100, 5000, 1 << 20, 3 << 20, 20 << 20] {
        let source = buffers.source(Content::Random, len, 0).unwrap();
        assert_eq!((source.len(), source.as_ptr() as usize % ALIGNMENT_BYTES), (len, 0));
        assert_ne!(source[len - 8..], [0; 8]);
        let target = buffers.target(len).unwrap();
        target.fill(7);
        assert_eq!((target.len(), target.as_ptr() as usize % ALIGNMENT_BYTES), (len, 0));
        assert!(buffers.source(Content::Zero, len, 0).unwrap().iter().all(|byte| *byte == 0));
    }
    assert_eq!(buffers.source(Content::Random, 0, 0).unwrap(), [0u8; 0]);
}

/// Number of blocks of a file, and of different ones among them.
fn blocks(file: &[u8]) -> (usize, usize) {
    let different: HashSet<&[u8]> = file.chunks(4096).collect();
    (file.chunks(4096).len(), different.len())
}

/// What a file holds after calls of `len` bytes, each `stride` bytes behind the one before.
fn written(content: Content, len: usize, stride: usize, calls: usize) -> Vec<u8> {
    let mut buffers = Buffers::new(42, 0);
    let mut file = vec![0; stride * (calls - 1) + len];
    for at in (0..calls).map(|call| call * stride) {
        let bytes = buffers.source(content, len, at as u64).unwrap();
        file[at..at + len].copy_from_slice(bytes);
    }
    file
}

/// Trap 34, whatever the size of the calls, also when the pool is used again.
#[test]
fn no_block_is_written_twice() {
    for (len, stride, calls) in [
        (4096, 4096, 10_000),
        (512, 512, 40_000),
        (512, 4096, 10_000),
        (1, 4096, 300),
        (47_008, 47_008, 500),
        (2000, 6000, 10_000),
        (9 << 20, 9 << 20, 4),
        (17 << 20, 17 << 20, 2),
    ] {
        let file = written(Content::Random, len, stride, calls);
        let (all, different) = blocks(&file);
        // One byte has no more than 256 values.
        let expected = if len == 1 { 150 } else { all };
        assert!(different >= expected, "{different} of {all}, {calls} calls of {len} bytes");
    }
}

#[test]
fn blocks_of_pieces_and_of_transfers_under_way_are_different_too() {
    let mut buffers = Buffers::new(42, 0);
    let places = || (0..5_000u64).map(|i| (i * 4096 + 100, 700));
    let mut file = Vec::new();
    for _ in 0..10 {
        buffers.gather(Content::Random, 700 * 5000, places()).unwrap();
        let bytes = buffers.gathered(0..700 * 5000);
        let padded = bytes.chunks(700).map(|piece| [piece, &[0; 4096 - 700]].concat());
        file.extend(padded.flatten());
    }
    let mut slots = buffers.slots(Some(Content::Random), 4096, 3).unwrap();
    for round in 0..10_000 {
        let piece = Extent { offset_bytes: round * 4096, length_bytes: 4096 };
        let (tag, lent) = slots.lend(piece).expect("all were given back");
        let (address, len, write) = lent.parts();
        assert!(write);
        // SAFETY: the slot is not lent again before this is over.
        file.extend_from_slice(unsafe { std::slice::from_raw_parts(address, len) });
        slots.give_back(tag);
    }
    let (all, different) = blocks(&file);
    assert_eq!(all, different);
}

#[test]
fn a_slot_is_lent_again_only_after_it_was_given_back() {
    let mut buffers = Buffers::new(1, 0);
    let piece = Extent { offset_bytes: 0, length_bytes: 100 };
    for content in [None, Some(Content::Zero), Some(Content::Offset)] {
        let mut slots = buffers.slots(content, 100, 3).unwrap();
        let tags = [0; 3].map(|_| slots.lend(piece).unwrap().0.0);
        assert_eq!(tags, [0, 1, 2]);
        assert!(slots.lend(piece).is_none());
        slots.give_back(Tag(1));
        assert_eq!(slots.lend(piece).unwrap().0.0, 1);
    }
}

fn shaped(compress: f64, dedup: f64) -> Content {
    let ratio = |ratio| Ratio::new(ratio).unwrap();
    Content::random(Shape { compress: ratio(compress), dedup: ratio(dedup) })
}

#[test]
fn blocks_compress_and_repeat_as_asked() {
    assert_eq!(shaped(1.0, 1.0), Content::Random);
    for (len, calls) in [(4096, 5_000), (64 << 10, 300), (17 << 20, 1)] {
        let file = written(shaped(1.0, 4.0), len, len, calls);
        let (all, different) = blocks(&file);
        assert_eq!(all.div_ceil(4), different, "calls of {len} bytes");
        let file = written(shaped(2.5, 1.0), len, len, calls);
        let (all, different) = blocks(&file);
        let zeros = file.iter().filter(|byte| **byte == 0).count() as f64 / file.len() as f64;
        assert!((0.59..0.61).contains(&zeros), "{zeros}");
        assert_eq!(all, different);
    }
    let unaligned = written(shaped(4.0, 1.0), 5000, 5000, 10_000);
    let zeros = unaligned.iter().filter(|byte| **byte == 0).count() as f64;
    assert!(zeros > 0.5 * unaligned.len() as f64, "stamps do not pile up");
    assert!([0.9, 101.0, f64::NAN].map(Ratio::new).iter().all(Option::is_none));
}

/// Whatever its size, each write compresses as asked, and so do whole blocks that come after parts of them.
#[test]
fn small_writes_compress_as_asked() {
    for len in [512, 1024, 2000, 3000, 5000, 6144, 70_000] {
        for (ratio, random) in [(2.0, 0.5), (4.0, 0.25)] {
            let (content, mut buffers) = (shaped(ratio, 1.0), Buffers::new(42, 0));
            let (mut seen, mut all) = (HashSet::new(), 0);
            for call in 0..(64 << 20) / len.max(4096) as u64 {
                let len = if call % 7 == 6 { 4096 } else { len };
                let bytes = buffers.source(content, len, call * 8192).unwrap();
                let zeros = bytes.iter().filter(|byte| **byte == 0).count();
                let found = 1.0 - zeros as f64 / len as f64;
                assert!(
                    (found - random).abs() < 0.04,
                    "call {call} of {len} bytes: {found} random"
                );
                (all, _) = (all + 1, seen.insert(bytes[..512].to_vec()));
            }
            assert_eq!(seen.len(), all, "{len} bytes");
        }
    }
}

#[test]
fn a_shape_that_comes_again_brings_other_blocks() {
    let mut buffers = Buffers::new(1, 0);
    let turns = [shaped(2.0, 1.0), shaped(3.0, 1.0), shaped(2.0, 1.0)];
    let blocks = turns.map(|content| buffers.source(content, 4096, 0).unwrap().to_vec());
    assert_ne!(blocks[0], blocks[2]);
}

#[test]
fn samples_go_by_place_and_begin_anew() {
    let sample = Sample { name: "s".into(), bytes: Arc::new((0..10).collect()) };
    let mut buffers = Buffers::new(1, 0).with_samples(&[sample]);
    let content = Content::Sample(0);
    assert_eq!(buffers.source(content, 5, 3).unwrap(), [3, 4, 5, 6, 7]);
    assert_eq!(buffers.source(content, 4, 28).unwrap(), [8, 9, 0, 1]);
    let long = buffers.source(content, 1003, 17).unwrap();
    assert!((17u64..).zip(long).all(|(at, byte)| u64::from(*byte) == at % 10));
    buffers.gather(content, 7, [(9, 2), (100, 5)].into_iter()).unwrap();
    assert_eq!(buffers.gathered(0..7), [9, 0, 0, 1, 2, 3, 4]);
    let mut slots = buffers.slots(Some(content), 8, 2).unwrap();
    let mut memory = slots.lend(Extent { offset_bytes: 19, length_bytes: 3 }).unwrap().1;
    assert!(matches!(memory.memory(), Memory::Write([9, 0, 1])));
}

#[test]
fn what_was_written_is_told_once() {
    let mut buffers = Buffers::new(1, 0);
    for content in [Content::Random, Content::Zero, Content::Offset, shaped(2.0, 1.0)] {
        buffers.source(content, 10, 0).unwrap();
    }
    let all = Wrote { zeros: true, by_offset: true, shaped: true };
    assert_eq!(buffers.take_wrote(), all);
    assert_eq!(buffers.take_wrote(), Wrote::default());
}

#[test]
fn ranks_write_different_bytes_unless_content_goes_by_offset() {
    let (mut a, mut b) = (Buffers::new(1, 0), Buffers::new(1, 1));
    let of = |buffers: &mut Buffers, content| buffers.source(content, 64, 4096).unwrap().to_vec();
    assert_ne!(of(&mut a, Content::Random), of(&mut b, Content::Random));
    assert_eq!(of(&mut a, Content::Offset), of(&mut b, Content::Offset));
    assert_eq!(of(&mut a, Content::Offset), filled(4096, 64, 1));
    let (mut again, mut later) = (Buffers::new(1, 0), Buffers::of_execution(1, 0, 1));
    let first = of(&mut again, Content::Random);
    assert_eq!(first, of(&mut Buffers::new(1, 0), Content::Random), "the same seed");
    assert_ne!(first, of(&mut later, Content::Random), "another execution of a sweep");
    assert_eq!(of(&mut again, Content::Offset), of(&mut later, Content::Offset));
}

#[test]
fn gathered_bytes_are_those_of_their_places() {
    let mut buffers = Buffers::new(1, 0);
    buffers.gather(Content::Offset, 30, [(100, 10), (7, 20)].into_iter()).unwrap();
    assert_eq!(buffers.gathered(0..10), filled(100, 10, 1));
    assert_eq!(buffers.gathered(10..30), filled(7, 20, 1));
    assert_eq!(buffers.gathered(20..1 << 40), [0u8; 0]);
}

#[test]
fn what_memory_cannot_hold_is_an_error() {
    let mut buffers = Buffers::new(1, 0);
    for len in [1 << 46, usize::MAX - 1] {
        let error = buffers.source(Content::Random, len, 0).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOMEM));
        assert!(buffers.target(len).is_err());
    }
    assert!(buffers.source(Content::Random, 10, 0).is_ok());
}

/// A member of a collective transfer that has no memory makes its calls without bytes.
#[test]
fn slots_without_bytes_are_lent_like_others() {
    for content in [None, Some(Content::Zero)] {
        let mut buffers = Buffers::new(1, 0);
        assert!(buffers.slots(content, 1 << 46, 4).is_err());
        let mut slots = buffers.slots(content, 0, 4).unwrap();
        let tags: Vec<u32> =
            std::iter::from_fn(|| slots.lend(Extent::default())).map(|(tag, _)| tag.0).collect();
        assert_eq!(tags, [0, 1, 2, 3]);
    }
}

#[test]
fn simulated_buffers_need_address_space_only() {
    let mut buffers = Buffers::unfilled();
    let len = MAX_CALL_BYTES;
    assert_eq!(buffers.source(Content::Random, len, 0).unwrap().len(), len);
    assert_eq!(buffers.source(Content::Offset, len, 77).unwrap()[len - 1], 0);
    assert_eq!(buffers.target(len).unwrap().len(), len);
}

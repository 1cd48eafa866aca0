use super::super::mark::Mark;
use super::*;

const NUMBER: u64 = 0xabc_0000_1234;
const RUN: u16 = 5;

fn mark(writer: u32, generation: u32) -> Mark {
    Mark { file: NUMBER as u32, writer, run: RUN, generation }
}

fn examiner(memory: &Memory, ranks: u32) -> Examiner<'_> {
    Examiner { memory, number: NUMBER, writer: 0, run: RUN, ranks, keeps_names: true, exact: true }
}

/// A file of 64 KiB that rank 0 has written, with a second generation in its middle.
fn written() -> (Memory, Vec<u8>) {
    let (mut memory, mut bytes) = (Memory::default(), vec![0; 65_536]);
    write(&mut memory, &mut bytes, 0, 65_536);
    write(&mut memory, &mut bytes, 10_000, 30_001);
    (memory, bytes)
}

fn write(memory: &mut Memory, bytes: &mut [u8], start: usize, end: usize) {
    let range = start as u64..end as u64;
    let generation = memory.next_generation(NUMBER, range.clone());
    mark(0, generation).fill(&mut bytes[start..end], start as u64);
    memory.put(NUMBER, range, State::Written(generation));
}

#[test]
fn what_was_written_is_right_wherever_a_read_begins_and_ends() {
    let (memory, bytes) = written();
    for (start, end) in [(0, 65_536), (9_999, 10_001), (1, 2), (29_990, 30_010), (512, 40_000)] {
        let found = examiner(&memory, 1).examine(&bytes[start..end], start as u64);
        assert!(found.first.is_none(), "{start}..{end}: {:?}", found.first);
        assert_eq!((found.checked_bytes, found.zero_bytes), ((end - start) as u64, 0));
        // Another rank, and another run, know only what the data says.
        let nothing = Memory::default();
        let other = Examiner { writer: 1, memory: &nothing, ..examiner(&memory, 2) };
        let later = Examiner { run: 77, memory: &nothing, ..examiner(&memory, 1) };
        for reader in [other, later] {
            if end - start > 30 {
                let found = reader.examine(&bytes[start..end], start as u64);
                assert!(found.first.is_none(), "{start}..{end}: {:?}", found.first);
            }
        }
    }
}

#[test]
fn wrong_bytes_are_zeros_older_or_other() {
    type Damage = fn(&mut [u8]);
    let rows: [(Damage, Kind, &str); 9] = [
        (|b| b[20_481] ^= 4, Kind::Other, "verify: other data at offset 20481 (1 byte)"),
        (|b| b[8_192..12_288].fill(0), Kind::Zeros, "zeros at offset 8192 (4096 bytes)"),
        (|b| b[20_480..21_504].fill(0), Kind::Zeros, "zeros at offset 20480 (1024 bytes)"),
        (
            |b| mark(0, 1).fill(&mut b[16_384..24_576], 16_384),
            Kind::Older,
            "older data at offset 16384 (8192 bytes)",
        ),
        (
            |b| mark(0, 1).fill(&mut b[17_408..20_480], 17_408),
            Kind::Older,
            "older data at offset 17408 (3072 bytes)",
        ),
        (
            |b| b.copy_within(40_960..45_056, 16_384),
            Kind::Other,
            "other data at offset 16384 (4096 bytes)",
        ),
        (
            |b| Mark { file: 9, ..mark(0, 2) }.fill(&mut b[0..512], 0),
            Kind::Other,
            "other data at offset 0 (512 bytes)",
        ),
        (
            |b| Mark { run: 6, ..mark(0, 2) }.fill(&mut b[0..4_096], 0),
            Kind::Older,
            "older data at offset 0 (4096 bytes)",
        ),
        (|b| b[100..200].fill(0x55), Kind::Other, "other data at offset 100 (100 bytes)"),
    ];
    for (damage, kind, words) in rows {
        let (memory, mut bytes) = written();
        damage(&mut bytes);
        let found = examiner(&memory, 1).examine(&bytes, 0);
        let text = found.text().unwrap_or_default();
        let mut counts = [0; 3];
        counts[kind as usize] = 1;
        assert_eq!(found.counts, counts, "{kind:?}: {text}");
        assert!(text.contains(words), "{kind:?}: {text}");
    }
}

#[test]
fn a_single_bit_is_found_everywhere_by_everybody() {
    let (memory, bytes) = written();
    let nothing = Memory::default();
    for at in (0..65_536).step_by(97) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        for (reader, who) in [(&memory, 0), (&nothing, 1)] {
            let reader = Examiner { writer: who, ..examiner(reader, 1 + who) };
            let start = at.saturating_sub(700);
            let found = reader.examine(&damaged[start..(at + 700).min(65_536)], start as u64);
            assert_eq!(found.counts.iter().sum::<u64>(), 1, "byte {at} by {who}: {found:?}");
        }
    }
}

#[test]
fn a_rank_that_wrote_nothing_takes_zeros_and_data_of_others() {
    let (memory, mut bytes) = written();
    bytes[30_100..50_000].fill(0);
    let nothing = Memory::default();
    let reader = Examiner { writer: 1, memory: &nothing, ..examiner(&memory, 2) };
    let found = reader.examine(&bytes, 0);
    assert!(found.first.is_none(), "{:?}", found.first);
    assert_eq!(found.zero_bytes, 19_900);
}

#[test]
fn own_data_where_nothing_should_be_is_stale() {
    let (mut memory, bytes) = written();
    memory.clear(NUMBER, 40_000..u64::MAX);
    let found = examiner(&memory, 1).examine(&bytes, 0);
    assert!(found.text().unwrap_or_default().contains("older data at offset 40000"), "{found:?}");
    assert!(examiner(&memory, 1).examine_end(40_000..50_000).first.is_none());
    let end = examiner(&memory, 1).examine_end(39_000..50_000);
    assert!(
        end.text().unwrap_or_default().contains("the file ends before offset 39000"),
        "{end:?}"
    );
}

#[test]
fn while_writes_are_under_way_every_generation_is_right() {
    let (memory, mut bytes) = written();
    mark(0, 1).fill(&mut bytes[16_384..24_576], 16_384);
    let reader = Examiner { exact: false, ..examiner(&memory, 1) };
    assert!(reader.examine(&bytes, 0).first.is_none());
    // Fewer wrong bytes can be those of a short write that is under way.
    bytes[20_000..20_100].fill(0x55);
    assert!(reader.examine(&bytes, 0).first.is_some());
}

/// Blocks of another file by the same rank share words with those that belong there, and hold zeros by
/// chance: each is one place, and holds none.
#[test]
fn a_block_of_another_file_is_one_place_without_zeros() {
    const RANGES: [(usize, usize); 4] = [(4096, 8192), (0, 512), (5_008, 9_008), (0, 65_536)];
    let (known, right) = written();
    let nothing = Memory::default();
    for (file, (start, end)) in (1..200).flat_map(|file| RANGES.map(|range| (file, range))) {
        let mut bytes = right.clone();
        // The middle of the file is of generation 2.
        mark(0, 1).fill(&mut bytes, 0);
        Mark { file, ..mark(0, 1) }.fill(&mut bytes[start..end], start as u64);
        let later = Examiner { run: 77, memory: &nothing, ..examiner(&known, 1) };
        let found = later.examine(&bytes, 0);
        let text = found.text().unwrap_or_default();
        assert_eq!(found.counts, [0, 0, 1], "{file} {start}..{end}: {text}");
        assert_eq!(found.zero_bytes, 0, "{file} {start}..{end}: {text}");
        let expected = format!("other data at offset {start} ({} bytes)", end - start);
        assert!(text.contains(&expected), "{text}");
    }
}

/// A rank alone knows every byte that it wrote; others accept a short write of somebody else.
#[test]
fn short_damage_is_found_where_no_other_rank_writes() {
    let (memory, mut bytes) = written();
    bytes[40_000..40_020].fill(0x55);
    let alone = examiner(&memory, 1).examine(&bytes, 0);
    assert!(alone.text().unwrap_or_default().contains("offset 40000 (20 bytes)"), "{alone:?}");
    assert!(examiner(&memory, 2).examine(&bytes, 0).first.is_none());
}

/// Whatever nobody wrote has zeros by chance, at the edges of units too.
#[test]
fn zeros_in_wrong_bytes_are_no_holes() {
    let nothing = Memory::default();
    let reader = Examiner { memory: &nothing, ..examiner(&nothing, 1) };
    let mut bytes = vec![0; 1 << 20];
    let mut word = 1;
    for chunk in bytes.chunks_exact_mut(8) {
        word = crate::rng::mix(word);
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    let found = reader.examine(&bytes, 0);
    assert_eq!((found.counts, found.zero_bytes), ([0, 0, 1], 0));
}

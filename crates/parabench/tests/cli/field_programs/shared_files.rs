//! Programs after the parallel I/O of ORNL and after mpiio: counts, bytes and places, from their definitions.

use super::{Case, Expected, Places, hold, moved};
use crate::figures::{counts, events};
use crate::scene::Scene;
use model::Op;
use std::fs;

/// Create and resize by 1, 2, 4, ... ranks: a file of all and one of each, `files` times.
fn management(words: &'static str, ranks: u64, files: u64) -> Case {
    let numbers: Vec<u64> =
        (0..20).map(|k| 1 << k).take_while(|processes| *processes <= ranks).collect();
    let mut expected = Vec::new();
    for processes in &numbers {
        let name =
            |phase: &str| -> &'static str { format!("{processes} processes/{phase}").leak() };
        for phase in ["create shared", "create subfiles"] {
            expected.push((name(phase), "fopen", files * processes, 0));
            expected.push((name(phase), "fclose", files * processes, 0));
        }
        expected.push((name("resize all"), "ftruncate", files * processes, 0));
        expected.push((name("resize one"), "ftruncate", files, 0));
    }
    let all: u64 = numbers.iter().sum();
    expected.push(("", "fopen", 2 * files * all, 0));
    expected.push(("", "fclose", 2 * files * all, 0));
    // Of the first repetition there is nothing to remove.
    expected.push(("", "delete", (files - 1) * (2 * numbers.len() as u64 + all), 0));
    Case { words, ranks, expected, places: None }
}

/// A segment of each rank: written, read, written and read again, block by block.
fn collective(words: &'static str, ranks: u64, segment: u64, transfer: u64) -> Case {
    let (calls, bytes) = (ranks * segment / transfer, ranks * segment);
    let expected = vec![
        ("", "fopen", 4 * ranks, 0),
        ("", "fclose", 4 * ranks, 0),
        ("new/write", "fwrite", calls, bytes),
        ("new/read", "fread", calls, bytes),
        ("existing/write", "fwrite", calls, bytes),
        ("existing/read", "fread", calls, bytes),
    ];
    let block = |i: u64| (i * transfer / segment, "shared".into(), i * transfer, transfer);
    let mut places: Places = (0..calls).flat_map(|i| vec![block(i); 4]).collect();
    places.sort();
    Case { words, ranks, expected, places: Some(places) }
}

/// Hierarchical striping: `width` subfiles, `units` stripe units of `unit` bytes in each before the next.
#[derive(Clone, Copy)]
struct Striping {
    width: u64,
    units: u64,
    unit: u64,
}

impl Striping {
    /// Subfile of a byte of the file, and its place there: stripe unit by stripe unit.
    fn place(self, at: u64) -> (u64, u64) {
        let number = at / self.unit;
        let round = number / (self.units * self.width);
        let subfile = number / self.units % self.width;
        (subfile, (number % self.units + round * self.units) * self.unit + at % self.unit)
    }

    /// Extents of the segment of a rank, cut by transfers and where a subfile ends: subfile, place, length.
    fn extents(self, rank: u64, segment: u64, transfer: u64) -> Vec<(u64, u64, u64)> {
        let (mut extents, end) = (Vec::<(u64, u64, u64)>::new(), (rank + 1) * segment);
        for at in rank * segment..end {
            let (subfile, place) = self.place(at);
            match extents.last_mut() {
                Some((same, from, length))
                    if *same == subfile
                        && *from + *length == place
                        && *length < transfer
                        && at % (self.units * self.unit) != 0 =>
                {
                    *length += 1;
                }
                _ => extents.push((subfile, place, 1)),
            }
        }
        extents
    }
}

fn split(words: &'static str, ranks: u64, segment: u64, transfer: u64, striping: Striping) -> Case {
    let (mut places, mut opens, bytes) = (Places::new(), 0, ranks * segment);
    let own: u64 = segment.div_ceil(transfer);
    for rank in 0..ranks {
        let extents = striping.extents(rank, segment, transfer);
        opens += 1 + extents.windows(2).filter(|pair| pair[0].0 != pair[1].0).count() as u64;
        for (subfile, place, length) in extents {
            places.extend(vec![(rank, format!("shared.{subfile}"), place, length); 2]);
        }
    }
    let moves = places.len() as u64 / 2;
    for (rank, i) in (0..ranks).flat_map(|rank| (0..own).map(move |i| (rank, i))) {
        let at = i * transfer;
        let length = transfer.min(segment - at);
        places.push((rank, "shared".into(), rank * segment + at, length));
    }
    places.sort();
    let stretches = bytes.div_ceil(striping.units * striping.unit);
    let expected: Expected = vec![
        ("create", "create", striping.width + 1, 0),
        ("resize", "truncate", 1, 0),
        ("write", "fopen", opens, 0),
        ("write", "fwrite", moves, bytes),
        ("write", "fclose", opens, 0),
        ("read", "fopen", opens, 0),
        ("read", "fread", moves, bytes),
        ("read", "fclose", opens, 0),
        ("close", "create", 1, 0),
        ("close", "truncate", 1, 0),
        ("close", "fopen", 2 * striping.width + 1, 0),
        ("close", "fcopy", stretches, bytes),
        ("close", "fclose", 2 * striping.width + 1, 0),
        ("close", "delete", striping.width + 1, 0),
        ("close", "fsync", 1, 0),
        ("existing/read", "fopen", ranks, 0),
        ("existing/read", "fread", ranks * own, bytes),
        ("existing/read", "fclose", ranks, 0),
    ];
    Case { words, ranks, expected, places: Some(places) }
}

/// Rows of mpiio: chunks of blocks, of which each is written and read once, in a file of each rank.
fn shares(ranks: u64, chunks: u64, chunk: u64, block: u64) -> Expected {
    let (blocks, bytes) = (chunks * chunk.div_ceil(block), chunks * chunk);
    vec![
        ("write", "fopen", ranks, 0),
        ("write", "fwrite", blocks, bytes),
        ("write", "fclose", ranks, 0),
        ("read", "fopen", chunks, 0),
        ("read", "fread", blocks, bytes),
        ("read", "fclose", chunks, 0),
    ]
}

/// The blocks of the first chunks of the file of a rank, as offset and length.
fn blocks(chunks: u64, chunk: u64, block: u64) -> Vec<(u64, u64)> {
    let of_chunk = |c: u64| {
        let starts = (0..chunk).step_by(block as usize);
        starts.map(move |at| (c * chunk + at, block.min(chunk - at)))
    };
    (0..chunks).flat_map(of_chunk).collect()
}

/// Fixed shares: `bytes` by ranks, the first of which have one chunk more if need be.
fn fixed(words: &'static str, ranks: u64, chunks: u64, chunk: u64, block: u64) -> Case {
    let mut places = Places::new();
    for rank in 0..ranks {
        let own = chunks / ranks + u64::from(rank < chunks % ranks);
        for (at, length) in blocks(own, chunk, block) {
            places.extend(vec![(rank, format!("testmpiio.{rank:05}"), at, length); 2]);
        }
    }
    places.sort();
    Case { words, ranks, expected: shares(ranks, chunks, chunk, block), places: Some(places) }
}

/// A team: how many chunks a rank takes is up to the machine. Each rank fills its own file from its start, and each
/// block is read once.
#[track_caller]
fn hold_team(words: &str, ranks: u64, chunks: u64, chunk: u64, block: u64) {
    let words_of = |(label, op, count, bytes): (&str, &str, u64, u64)| {
        ((label.to_string(), op.to_string()), [count, 0, 0, 0, bytes])
    };
    let expected = shares(ranks, chunks, chunk, block).into_iter().map(words_of).collect();
    for backend in ["posix", "mem"] {
        let line = format!("run @team {words} -n {ranks} --backend {backend} --events --out o");
        let scene = Scene::new();
        let found = counts(&scene.parabench(&format!("{line} --format json")).exits(0).json());
        assert_eq!(found, expected, "{words} -n {ranks} {backend}");
        let (writes, reads): (Vec<_>, Vec<_>) = events(&scene, "o")
            .into_iter()
            .filter(|event| matches!(event.op, Op::Fwrite | Op::Fread))
            .partition(|event| event.op == Op::Fwrite);
        let (writes, reads) = (moved(&writes), moved(&reads));
        let taken = |rank: u64| {
            writes.iter().filter(|place| place.0 == rank).map(|place| place.3).sum::<u64>() / chunk
        };
        let mut expected = Places::new();
        for rank in 0..ranks {
            let file = format!("testmpiio.{rank:05}");
            let place = |(at, length)| (rank, file.clone(), at, length);
            expected.extend(blocks(taken(rank), chunk, block).into_iter().map(place));
        }
        assert_eq!(writes, expected, "{words} -n {ranks} {backend}");
        let without_rank = |places: Places| {
            let mut places: Vec<_> = places.into_iter().map(|(_, f, at, n)| (f, at, n)).collect();
            places.sort();
            places
        };
        assert_eq!(without_rank(reads), without_rank(expected), "{words} -n {ranks} {backend}");
    }
}

/// How long a label takes in virtual time, in nanoseconds.
fn virtual_ns(words: &str, ranks: u64, label: &str) -> f64 {
    let line = format!("run {words} -n {ranks} --backend mem --format json");
    let run = Scene::new().parabench(&line).exits(0).json();
    let labels = run["labels"].as_array().expect("labels");
    let found = labels.iter().find(|row| row["label"] == label).expect("the label");
    found["busy_ns"].as_f64().expect("a number")
}

#[test]
fn management_creates_and_resizes_by_doubling_numbers_of_ranks() {
    for ranks in [1, 2, 3, 4] {
        hold(&management("@management", ranks, 10));
    }
    hold(&management("@management files=2 bytes=4k", 4, 2));
}

#[test]
fn collective_segments_lie_behind_each_other() {
    for ranks in [1, 2, 4] {
        hold(&collective("@collective", ranks, 8 << 20, 1 << 20));
    }
    hold(&collective("@collective segment=96k transfer=32k", 4, 96 << 10, 32 << 10));
}

#[test]
fn split_writing_stripes_over_subfiles() {
    let striping = Striping { width: 4, units: 16, unit: 64 << 10 };
    for ranks in [1, 2, 4] {
        hold(&split("@split layout=split", ranks, 4 << 20, 256 << 10, striping));
    }
    let words = "@split layout=split segment=7000 transfer=900 width=3 units=2 unit=500";
    hold(&split(words, 4, 7000, 900, Striping { width: 3, units: 2, unit: 500 }));
}

/// Subfiles that are joined are the file that plain writing makes, byte for byte.
#[test]
fn the_joined_file_is_the_plain_one() {
    for (ranks, words) in [
        (1, ""),
        (2, "segment=1m transfer=64k width=5 units=3"),
        (4, "segment=768k transfer=64k width=3 units=1"),
        (3, "segment=200k transfer=4k width=2 units=1 unit=12k"),
    ] {
        let scene = Scene::new();
        let made = ["plain", "split"].map(|layout| {
            let line = format!("run @split -n {ranks} --dir {layout} layout={layout} {words}");
            scene.parabench(&line).exits(0);
            let names = scene.names(layout);
            assert_eq!(names, [".parabench", "shared"], "{layout} {words}");
            fs::read(scene.path(&format!("{layout}/shared"))).expect("a file")
        });
        assert_eq!(made[0].len() % ranks, 0, "{words}");
        assert!(!made[0].is_empty() && made[0] == made[1], "{words}: {} bytes", made[0].len());
    }
}

#[test]
fn layouts_are_compared_side_by_side() {
    let scene = Scene::new();
    let words = "@split -n 2 segment=64k transfer=16k --backend mem --versus layout=plain,split";
    let done = scene.parabench(&format!("run {words} --reps 5")).exits(0);
    done.out_has("A: layout=plain   B: layout=split").out_has("existing/read");
}

#[test]
fn fixed_shares_are_divided_before_the_run() {
    for ranks in [1, 2, 4] {
        hold(&fixed("@static", ranks, 16, 4 << 20, 1 << 20));
        let words = "@static bytes=700000 chunk=100k block=30k";
        hold(&fixed(words, ranks, 6, 100 << 10, 30 << 10));
    }
}

#[test]
fn a_team_writes_and_reads_every_chunk_once() {
    for ranks in [1, 2, 4] {
        hold_team("", ranks, 16, 4 << 20, 1 << 20);
        hold_team("bytes=700000 chunk=100k block=30k outstanding=1", ranks, 6, 100 << 10, 30 << 10);
    }
    // The suffixes of the original: k is 1000 there and kB here, K is 1024.
    hold_team("bytes=64kB chunk=8kB block=4k", 2, 8, 8000, 4096);
}

/// With one rank slowed five times, virtual time of a team is close to that of all ranks at work until the end;
/// with fixed shares all wait.
#[test]
fn a_slow_rank_holds_up_fixed_shares_and_no_team() {
    let words = "bytes=256m chunk=1m outstanding=1";
    for label in ["write", "read"] {
        let alone = |slow: &str| virtual_ns(&format!("@static {words} {slow}"), 1, label);
        let (fast, slow) = (alone(""), alone("slow_rank=0"));
        assert!(slow > 4.0 * fast, "{slow} {fast}");
        let ideal = 1.0 / (3.0 / fast + 1.0 / slow);
        let took = |program: &str| virtual_ns(&format!("{program} {words} slow_rank=1"), 4, label);
        let (team, fixed) = (took("@team") / ideal, took("@static") / ideal);
        assert!((1.0..=1.1).contains(&team), "{label}: {team}");
        assert!(fixed > 3.0, "{label}: {fixed}");
    }
}

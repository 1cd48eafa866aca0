//! Programs after applications: each is executed here a second time, by counters instead of files.

use super::{Case, Expected, Places, hold, moved};
use crate::figures::events;
use crate::scene::Scene;
use std::collections::{BTreeMap, BTreeSet};

/// What an application does: how often and with how many bytes, by label and operation, and where.
#[derive(Default)]
struct Script {
    sums: BTreeMap<(&'static str, &'static str), (u64, u64)>,
    places: Places,
}

impl Script {
    /// `count` operations of `bytes` in all.
    fn add(&mut self, label: &'static str, op: &'static str, count: u64, bytes: u64) {
        if count > 0 {
            let sum = self.sums.entry((label, op)).or_default();
            *sum = (sum.0 + count, sum.1 + bytes);
        }
    }

    fn once(&mut self, label: &'static str, op: &'static str) {
        self.add(label, op, 1, 0);
    }

    /// A read or write by a handle: rank, file, offset, length.
    fn at(&mut self, label: &'static str, op: &'static str, place: (u64, &str, u64, u64)) {
        let (rank, file, offset, bytes) = place;
        self.add(label, op, 1, bytes);
        self.places.push((rank, file.to_string(), offset, bytes));
    }

    /// As a case, with or without the places.
    fn case(self, words: String, ranks: u64, with_places: bool) -> Case {
        let expected: Expected = self
            .sums
            .into_iter()
            .map(|((label, op), (count, bytes))| (label, op, count, bytes))
            .collect();
        let mut places = self.places;
        places.sort();
        Case { words: words.leak(), ranks, expected, places: with_places.then_some(places) }
    }
}

/// Samples: files, samples of each, bytes of one, samples of a batch.
#[derive(Clone, Copy)]
struct Samples {
    files: u64,
    per_file: u64,
    record: u64,
    batch: u64,
}

impl Samples {
    /// Batches of a rank in an epoch.
    fn steps(self, ranks: u64) -> u64 {
        self.files / ranks * self.per_file / self.batch
    }

    /// Files that a rank opens in an epoch whose order is that of files: a batch opens its own.
    fn opens(self, ranks: u64) -> u64 {
        let of_batch = |step: u64| {
            let samples = step * self.batch..(step + 1) * self.batch;
            samples.map(|i| i / self.per_file).collect::<BTreeSet<_>>().len() as u64
        };
        (0..self.steps(ranks)).map(of_batch).sum()
    }
}

/// DLIO: what is generated, read in each epoch, and saved after every second one.
fn dlio(words: &str, ranks: u64, samples: Samples, epochs: u64, model: u64) -> Case {
    let mut script = Script::default();
    let Samples { files, per_file, record, batch } = samples;
    let reads = epochs * ranks * samples.steps(ranks) * batch;
    let opens = epochs * ranks * samples.opens(ranks);
    script.once("", "mkdir");
    script.add("generate", "write", files, files * per_file * record);
    script.add("train", "fopen", opens, 0);
    script.add("train", "fread", reads, reads * record);
    script.add("train", "fclose", opens, 0);
    script.add("checkpoint", "write", epochs / 2, epochs / 2 * model);
    script.case(format!("@dlio {words}"), ranks, false)
}

/// Kafka: figures of a log.
#[derive(Clone, Copy)]
struct Log {
    batches: u64,
    batch: u64,
    segment: u64,
    keep: u64,
}

/// Kafka: a log of each rank, its indexes, two consumers that follow and one that reads all.
fn kafka(words: &str, ranks: u64, log: Log) -> Case {
    let mut script = Script::default();
    let per = log.segment / log.batch;
    let segments = log.batches.div_ceil(per);
    let name = |rank: u64, segment: u64| format!("topic-{rank}/{:020}", segment * per * 100);
    for rank in 0..ranks {
        script.once("", "mkdir");
        for b in 0..log.batches {
            let (file, inside) = (name(rank, b / per), b % per);
            let place = (rank, format!("{file}.log"), inside * log.batch, log.batch);
            let place = (place.0, place.1.as_str(), place.2, place.3);
            script.at("produce", "fwrite", place);
            (0..2).for_each(|_| script.at("produce", "fread", place));
            if inside > 0 {
                let n = inside - 1;
                script.at("produce", "fwrite", (rank, &format!("{file}.index"), n * 8, 8));
                script.at("produce", "fwrite", (rank, &format!("{file}.timeindex"), n * 12, 12));
            }
        }
        script.add("produce", "fopen", 3 * segments, 0);
        script.add("produce", "fclose", 3 * segments, 0);
        script.add("produce", "ftruncate", 4 * segments, 0);
        for segment in 0..segments {
            let bytes = log.batch * per.min(log.batches - segment * per);
            script.once("read all", "fopen");
            script.at(
                "read all",
                "fread",
                (rank, &format!("{}.log", name(rank, segment)), 0, bytes),
            );
            script.once("read all", "fclose");
        }
        for op in ["rename", "delete"] {
            script.add("retention", op, 3 * segments.saturating_sub(log.keep), 0);
        }
    }
    script.case(format!("@kafka {words}"), ranks, true)
}

/// PostgreSQL: a server with its log.
struct Server<'a> {
    script: &'a mut Script,
    rank: u64,
    segment_size: u64,
    end: u64,
    segment: u64,
    /// Segments that exist, counted from the first.
    existing: u64,
    recycled: u64,
}

const PAGE: u64 = 8192;

impl Server<'_> {
    fn wal(&self, segment: u64) -> String {
        format!("pg-{}/pg_wal/00000001000000{segment:010x}", self.rank)
    }

    /// A new segment is filled with zeros, page by page in one operation.
    fn open(&mut self, label: &'static str, segment: u64) {
        self.script.once(label, "fopen");
        if segment >= self.existing {
            let name = self.wal(segment);
            self.script.at(label, "fwrite", (self.rank, &name, 0, self.segment_size));
            self.script.once(label, "fsync");
            self.existing = segment + 1;
        }
    }

    fn flush(&mut self, label: &'static str, bytes: u64) {
        let mut page = self.end / PAGE;
        self.end += bytes;
        let pages_of_segment = self.segment_size / PAGE;
        while page < self.end.div_ceil(PAGE) {
            let segment = page / pages_of_segment;
            if segment != self.segment {
                self.script.once(label, "fclose");
                self.open(label, segment);
                self.segment = segment;
            }
            let to = self.end.div_ceil(PAGE).min((segment + 1) * pages_of_segment);
            let place = (page - segment * pages_of_segment) * PAGE;
            let name = self.wal(segment);
            self.script.at(label, "fwrite", (self.rank, &name, place, (to - page) * PAGE));
            self.script.once(label, "fdatasync");
            page = to;
        }
    }

    fn checkpoint(&mut self, dirty: &BTreeSet<u64>) {
        let label = "transactions/checkpoint";
        let table = format!("pg-{}/table", self.rank);
        for page in dirty {
            self.script.at(label, "fwrite", (self.rank, &table, page * PAGE, PAGE));
        }
        self.script.once(label, "fsync");
        let label = "transactions";
        self.flush(label, 100);
        self.script.once(label, "fopen");
        let control = format!("pg-{}/pg_control", self.rank);
        self.script.at(label, "fwrite", (self.rank, &control, 0, PAGE));
        self.script.once(label, "fsync");
        self.script.once(label, "fclose");
        let free = self.segment - self.recycled;
        self.script.add(label, "rename", free, 0);
        self.existing += free;
        self.recycled = self.segment;
    }
}

fn postgres(words: &str, ranks: u64, pages: u64, counts: [u64; 2], segment_size: u64) -> Case {
    let [transactions, interval] = counts;
    let mut script = Script::default();
    for rank in 0..ranks {
        let table = format!("pg-{rank}/table");
        script.add("", "mkdir", 2, 0);
        ["fopen", "fsync", "fclose"].into_iter().for_each(|op| script.once("initialise", op));
        (0..pages).for_each(|p| script.at("initialise", "fwrite", (rank, &table, p * PAGE, PAGE)));
        ["fopen", "fclose"].into_iter().for_each(|op| script.once("", op));
        let [end, segment, existing, recycled] = [0; 4];
        let script = &mut script;
        let mut server = Server { script, rank, segment_size, end, segment, existing, recycled };
        server.open("transactions", 0);
        let (mut buffers, mut dirty) = (BTreeSet::new(), BTreeSet::new());
        for t in 0..transactions {
            let mut bytes = 50;
            for change in 3 * t..3 * t + 3 {
                let p = change * 7919 % pages;
                if buffers.insert(p) {
                    server.script.at("transactions", "fread", (rank, &table, p * PAGE, PAGE));
                }
                bytes += 200 + if dirty.insert(p) { PAGE } else { 0 };
            }
            server.flush("transactions", bytes);
            if (t + 1) % interval == 0 {
                server.checkpoint(&dirty);
                dirty.clear();
            }
        }
        script_close(server.script);
    }
    script.case(format!("@postgres {words}"), ranks, true)
}

/// The segment that is open at the end.
fn script_close(script: &mut Script) {
    script.once("transactions", "fclose");
}

/// SQLite: four pages of each transaction, and page 1 with its change counter.
fn sqlite_journal(words: &str, ranks: u64, pages: u64, transactions: u64) -> Case {
    let (mut script, label, size) = (Script::default(), "transactions", 4096);
    for rank in 0..ranks {
        let (db, journal) = (format!("db-{rank}.sqlite"), format!("db-{rank}.sqlite-journal"));
        script.add("create", "write", 1, pages * size);
        script.add(label, "fopen", 1 + transactions, 0);
        for t in 0..transactions {
            let changed = (4 * t..4 * t + 4).map(|change| 1 + change * 7919 % (pages - 1));
            changed.clone().for_each(|p| script.at(label, "fread", (rank, &db, p * size, size)));
            script.at(label, "fwrite", (rank, &journal, 0, 512));
            script.at(label, "fwrite", (rank, &journal, 0, 12));
            for entry in 0..5 {
                let at = 512 + entry * (size + 8);
                for (place, length) in [(at, 4), (at + 4, size), (at + 4 + size, 4)] {
                    script.at(label, "fwrite", (rank, &journal, place, length));
                }
            }
            for p in changed.chain([0]) {
                script.at(label, "fwrite", (rank, &db, p * size, size));
            }
        }
        script.add(label, "fsync", 3 * transactions, 0);
        script.add(label, "fclose", 1 + transactions, 0);
        script.add(label, "delete", transactions, 0);
    }
    script.case(format!("@sqlite {words}"), ranks, true)
}

/// SQLite with a log: frames of 24 bytes and a page; a checkpoint takes the newest frame of each page.
fn sqlite_wal(words: &str, ranks: u64, pages: u64, transactions: u64, limit: u64) -> Case {
    let (mut script, label, size) = (Script::default(), "transactions", 4096);
    for rank in 0..ranks {
        let (db, log) = (format!("db-{rank}.sqlite"), format!("db-{rank}.sqlite-wal"));
        script.add("create", "write", 1, pages * size);
        ["fopen", "fclose"].into_iter().for_each(|op| script.add(label, op, 2, 0));
        script.once(label, "delete");
        let (mut frames, mut newest) = (0, BTreeMap::new());
        for t in 0..transactions {
            if frames == 0 {
                script.at(label, "fwrite", (rank, &log, 0, 32));
            }
            for change in 4 * t..4 * t + 4 {
                let (p, at) = (1 + change * 7919 % (pages - 1), 32 + frames * (24 + size));
                script.at(label, "fread", (rank, &db, p * size, size));
                script.at(label, "fwrite", (rank, &log, at, 24));
                script.at(label, "fwrite", (rank, &log, at + 24, size));
                newest.insert(p, at + 24);
                frames += 1;
            }
            script.once(label, "fsync");
            if frames >= limit || t + 1 == transactions {
                // One that ends the last transaction is followed by one that finds nothing.
                let last = t + 1 == transactions && frames >= limit;
                script.add(label, "fsync", if last { 4 } else { 2 }, 0);
                for (p, at) in std::mem::take(&mut newest) {
                    script.at(label, "fread", (rank, &log, at, size));
                    script.at(label, "fwrite", (rank, &db, p * size, size));
                }
                frames = 0;
            }
        }
    }
    script.case(format!("@sqlite journal_mode=wal {words}"), ranks, true)
}

/// Maildir: messages are delivered by turns; half of the messages of a box are deleted, of a hundred the first.
fn maildir(words: &str, ranks: u64, messages: u64, link: bool) -> Case {
    let mut script = Script::default();
    let sizes = [2048, 4096, 4096, 8192, 76800];
    let bytes = |i: u64| sizes[i as usize % sizes.len()];
    for rank in 0..ranks {
        script.add("", "mkdir", 4, 0);
        script.add("deliver", "write", messages, (0..messages).map(bytes).sum());
        let ops: &[&str] = if link { &["link", "delete"] } else { &["rename"] };
        ops.iter().for_each(|op| script.add("deliver", op, messages, 0));
        let into = |from: u64| (0..messages).filter(move |i| (from + i) % ranks == rank);
        let own: Vec<u64> = (0..ranks).flat_map(into).collect();
        ["list", "read", "delete"].into_iter().for_each(|label| script.once(label, "readdir"));
        let count = own.len() as u64;
        script.add("list", "rename", count, 0);
        script.add("read", "read", count, own.into_iter().map(bytes).sum());
        script.add("delete", "delete", (0..count).filter(|i| i % 100 < 50).count() as u64, 0);
    }
    script.case(format!("@maildir {words}"), ranks, false)
}

/// Zarr: chunks of an array, of which a slice reads those of a plane.
fn zarr(words: &str, ranks: u64, shape: [u64; 3], chunks: [u64; 3], slices: u64) -> Case {
    let mut script = Script::default();
    let [a, b, c] = [0, 1, 2].map(|d| shape[d].div_ceil(chunks[d]));
    let bytes = chunks.iter().product::<u64>() * 8 / 2;
    script.once("", "mkdir");
    script.add("", "write", 1, 400);
    script.add("write", "write", a * b * c, a * b * c * bytes);
    script.add("write", "rename", a * b * c, 0);
    for (label, plane) in [
        ("slices of dimension 0", b * c),
        ("slices of dimension 1", a * c),
        ("slices of dimension 2", a * b),
    ] {
        let reads = ranks * slices;
        script.add(label, "read", reads * (1 + plane), reads * (400 + plane * bytes));
    }
    script.case(format!("@zarr {words}"), ranks, false)
}

/// Git: files, objects of half their bytes, directories and a commit of 100 bytes.
fn git(words: &str, ranks: u64, dirs: u64, per_dir: u64) -> Case {
    let mut script = Script::default();
    let (files, bytes) = (dirs * per_dir, 8192);
    let (trees, index) = (dirs + 2, 32 + 72 * files);
    let all = files + trees;
    let objects = files * bytes / 2 + trees * 100;
    let first_bytes = |range: std::ops::Range<u64>| -> BTreeSet<u64> {
        range.map(|n| (n * 97 + 13) % 256).collect()
    };
    let (of_files, of_all) = (first_bytes(0..files).len() as u64, first_bytes(0..all).len() as u64);
    let pack_index = 1072 + 28 * all;
    for _ in 0..ranks {
        script.add("", "mkdir", 4, 0);
        script.add("edit", "mkdir", dirs, 0);
        script.add("edit", "write", files, files * bytes);
        script.add("add", "read", files, files * bytes);
        script.add("add", "mkdir", of_files, 0);
        script.add("add", "write", files + 1, files * bytes / 2 + index);
        script.add("add", "rename", files + 1, 0);
        script.add("commit", "read", 1, index);
        script.add("commit", "mkdir", of_all - of_files, 0);
        script.add("commit", "write", trees + 1, trees * 100 + 41);
        script.add("commit", "rename", trees + 1, 0);
        script.add("status", "read", 1, index);
        script.add("status", "lstat", files, 0);
        script.add("status", "readdir", dirs, 0);
        script.add("gc", "read", all, objects);
        script.add("gc", "fwrite", all + 2, 12 + objects + 20);
        ["fopen", "fsync", "fclose"].into_iter().for_each(|op| script.once("gc", op));
        script.add("gc", "write", 1, pack_index);
        script.add("gc", "rename", 2, 0);
        script.add("gc", "delete", all, 0);
        script.add("gc", "rmdir", of_all, 0);
        script.add("checkout", "read", 1, pack_index);
        script.add("checkout", "fread", all, objects);
        ["fopen", "fclose", "rename"].into_iter().for_each(|op| script.once("checkout", op));
        script.add("checkout", "delete", files, 0);
        script.add("checkout", "write", files + 1, files * bytes + index);
    }
    script.case(format!("@git {words}"), ranks, false)
}

/// Disk images: the base is read, of the own image blocks are read and written at random.
fn vmimage(words: &str, ranks: u64, size: u64, kernel: u64, operations: u64) -> Case {
    let mut script = Script::default();
    let sizes = [4, 4, 16, 32, 64, 128].map(|kib: u64| kib * 1024);
    script.add("install", "write", 1 + ranks, (1 + ranks) * size);
    ["fopen", "fclose"].into_iter().for_each(|op| script.add("", op, 2 * ranks, 0));
    let boot = kernel + (0..400).map(|i| sizes[i % 6]).sum::<u64>();
    script.add("boot", "fread", ranks * (kernel.div_ceil(256 << 10) + 400), ranks * boot);
    script.add("boot", "fwrite", ranks * 50, ranks * 50 * 4096);
    let writes = (0..operations).filter(|i| i * 37 % 100 < 70).count() as u64;
    let reads = operations - writes;
    script.add("work", "fwrite", ranks * writes, ranks * writes * 4096);
    script.add("work", "fread", ranks * reads, ranks * reads * 4096);
    script.add("work", "fdatasync", ranks * (writes / 64), 0);
    script.case(format!("@vmimage {words}"), ranks, false)
}

/// The places of reads and writes that a run makes.
fn places_of(words: &str) -> Places {
    let scene = Scene::new();
    scene.parabench(&format!("run {words} --backend mem --events --out o")).exits(0);
    moved(&events(&scene, "o"))
}

#[test]
fn a_loader_reads_the_samples_of_its_model() {
    let model = 499_153_191 / 128;
    for ranks in [1, 2, 4] {
        let unet = Samples { files: 84, per_file: 1, record: 146_600_628 / 128, batch: 7 };
        hold(&dlio("", ranks, unet, 3, model));
        let resnet = Samples { files: 8, per_file: 1251, record: 114_660 / 128, batch: 400 };
        hold(&dlio("model=resnet50 num_files_train=8 epochs=1", ranks, resnet, 1, model));
        let cosmo = Samples { files: 84, per_file: 1, record: 2_828_486 / 128, batch: 1 };
        hold(&dlio("model=cosmoflow", ranks, cosmo, 3, model));
    }
}

/// In an epoch every sample is read once, whatever the order; orders differ between epochs.
#[test]
fn an_epoch_reads_every_sample_once() {
    let words =
        "@dlio -n 2 scale=1000 num_files_train=8 num_samples_per_file=6 batch_size=4 epochs=2";
    let record = 146_600_628 / 1000;
    for shuffle in ["file", "sample", "off"] {
        let places = places_of(&format!("{words} shuffle={shuffle}"));
        let mut found: Vec<_> = places.into_iter().map(|(_, f, at, n)| (f, at, n)).collect();
        found.sort();
        let mut expected = Vec::new();
        for (file, sample) in (0..8).flat_map(|file| (0..6).map(move |sample| (file, sample))) {
            expected.extend(vec![(format!("train/{file}"), sample * record, record); 2]);
        }
        assert_eq!(found, expected, "{shuffle}");
    }
}

/// Accelerator utilisation is computing time by training time, in percent; reads that take no time leave the loss
/// of the first batch alone.
#[test]
fn utilisation_is_the_share_of_computing() {
    let words = "@dlio -n 2 --backend mem scale=1 record_length=4k computation_time=100000 batch_size=2 \
                 num_files_train=40 epochs=2 model_size=4k --format json";
    let run = Scene::new().parabench(&format!("run {words}")).exits(0).json();
    let scores = run["scores"].as_array().or(run["run"]["scores"].as_array()).expect("scores");
    let value = scores[0]["value"].as_f64().expect("a number");
    let labels = run["labels"].as_array().expect("labels");
    let train = labels.iter().find(|row| row["label"] == "train").expect("the label");
    let seconds = train["busy_ns"].as_f64().expect("a number") / 1e9;
    // 2 epochs of 10 batches of 0.1 s.
    assert!((value - 100.0 * 2.0 / seconds).abs() < 1e-6, "{value} {seconds}");
    assert!((99.0..=100.0).contains(&value), "{value}");
}

#[test]
fn a_log_is_appended_followed_and_cut() {
    let log = Log { batches: 1000, batch: 16 << 10, segment: 1 << 20, keep: 8 };
    for ranks in [1, 2, 4] {
        hold(&kafka("", ranks, log));
    }
    let words = "batches=37 batch_size=10k segment_bytes=45k retention_segments=3";
    let log = Log { batches: 37, batch: 10 << 10, segment: 45 << 10, keep: 3 };
    hold(&kafka(words, 2, log));
}

#[test]
fn commits_write_the_log_and_checkpoints_the_pages() {
    for ranks in [1, 2, 4] {
        hold(&postgres("", ranks, 512, [200, 100], 1 << 20));
        let words = "pages=40 transactions=50 checkpoint=7 wal_segment_size=64k";
        hold(&postgres(words, ranks, 40, [50, 7], 64 << 10));
    }
}

#[test]
fn transactions_go_through_a_journal_or_a_log() {
    for ranks in [1, 2, 4] {
        hold(&sqlite_journal("", ranks, 1000, 50));
        hold(&sqlite_wal("", ranks, 1000, 50, 100));
        hold(&sqlite_wal("pages=9 transactions=13 wal_autocheckpoint=10", ranks, 9, 13, 10));
    }
}

#[test]
fn mail_is_delivered_listed_read_and_deleted() {
    for ranks in [1, 2, 4] {
        hold(&maildir("", ranks, 100, false));
        hold(&maildir("messages=7 link=true", ranks, 7, true));
    }
}

#[test]
fn slices_read_whole_chunks() {
    for ranks in [1, 2, 4] {
        hold(&zarr("", ranks, [64; 3], [16; 3], 8));
        let words = "shape=10,20,30 chunks=4,5,6 slices=3";
        hold(&zarr(words, ranks, [10, 20, 30], [4, 5, 6], 3));
    }
}

#[test]
fn a_repository_is_filled_looked_at_and_packed() {
    for ranks in [1, 2, 4] {
        hold(&git("", ranks, 10, 40));
        hold(&git("dirs=2 files=5", ranks, 2, 5));
    }
}

#[test]
fn images_are_booted_from_a_base_and_written_in_blocks() {
    for ranks in [1, 2, 4] {
        hold(&vmimage("", ranks, 16 << 20, 4 << 20, 2000));
    }
}

/// Work at random: no block twice as long as there are others, all in the machine's own image.
#[test]
fn random_blocks_lie_in_the_own_image() {
    let places = places_of("@vmimage -n 2 size=1m kernel=256k operations=256 boot_writes=0");
    let (base, own): (Vec<_>, Vec<_>) = places.iter().partition(|place| place.1 == "base.img");
    assert!(base.iter().all(|(_, _, at, length)| at + length <= 1 << 20));
    for rank in 0..2 {
        let image = format!("vm-{rank}.img");
        let blocks: Vec<u64> = own.iter().filter(|at| at.0 == rank).map(|at| at.2).collect();
        assert!(own.iter().filter(|at| at.0 == rank).all(|at| at.1 == image && at.3 == 4096));
        assert_eq!(blocks, (0..256).map(|block| block * 4096).collect::<Vec<_>>(), "{image}");
    }
}

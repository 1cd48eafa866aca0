//! IOR, mdtest, IO500 and the benchmarks beside them: each call of each rank, with label, file, offset and length,
//! computed here from the benchmark's definition and not from the program.

use crate::figures::events;
use crate::scene::Scene;
use model::Op;
use serde_json::Value;
use std::collections::BTreeMap;

/// Rank, operation, file, offset, bytes.
type Call = (u64, String, String, u64, u64);

/// What a program has to do under these words.
struct Model {
    words: String,
    ranks: u64,
    label: String,
    calls: Vec<Call>,
    /// Count and bytes of a label and operation.
    counts: BTreeMap<(String, String), (u64, u64)>,
}

impl Model {
    fn new(words: impl Into<String>, ranks: u64) -> Model {
        let (label, calls, counts) = (String::new(), Vec::new(), BTreeMap::new());
        Model { words: words.into(), ranks, label, calls, counts }
    }

    /// Calls that follow are in this label.
    fn label(&mut self, label: impl Into<String>) {
        self.label = label.into();
    }

    /// A call that moves bytes.
    fn moves(&mut self, rank: u64, op: &str, path: impl Into<String>, offset: u64, bytes: u64) {
        let count = self.counts.entry((self.label.clone(), op.to_string())).or_default();
        *count = (count.0 + 1, count.1 + bytes);
        self.calls.push((rank, op.to_string(), path.into(), offset, bytes));
    }

    /// A call that moves none.
    fn calls(&mut self, rank: u64, op: &str, path: impl Into<String>) {
        self.moves(rank, op, path, 0, 0);
    }

    /// Runs the program on disk and in memory: counts, and each call of each rank.
    fn hold(mut self) {
        self.calls.sort();
        for backend in ["posix", "mem"] {
            let scene = Scene::new();
            let (words, ranks) = (&self.words, self.ranks);
            let line = format!(
                "run {words} -n {ranks} --backend {backend} --events --out results --format json"
            );
            let done = scene.parabench(&line).exits(0);
            assert_eq!(counted(&done.json()), self.counts, "{words} -n {ranks} {backend}");
            same_calls(&happened(&scene), &self.calls, &format!("{words} -n {ranks} {backend}"));
        }
    }
}

/// Count and bytes of each row that is no part of another; nothing failed, was short or expected to fail.
fn counted(run: &Value) -> BTreeMap<(String, String), (u64, u64)> {
    let rows = run["rows"].as_array().expect("rows");
    let whole = rows.iter().filter(|row| row["part_of"].is_null());
    let of_row = |row: &Value| {
        let number = |field: &str| row[field].as_u64().expect(field);
        let text = |field: &str| row[field].as_str().expect(field).to_string();
        let wrong = ["failed", "short", "expected"].map(number);
        assert_eq!(wrong, [0; 3], "{row}");
        ((text("label"), text("op")), (number("count"), number("bytes")))
    };
    whole.map(of_row).collect()
}

/// The stored events, sorted.
fn happened(scene: &Scene) -> Vec<Call> {
    let call = |event: crate::figures::Happened| {
        let path = event.path.unwrap_or_default();
        // Where a shared log ends depends on who comes first.
        let moves = event.done_bytes > 0 && event.op != Op::Append;
        let offset = if moves { event.offset_bytes } else { 0 };
        (u64::from(event.rank), op_name(event.op), path, offset, event.done_bytes)
    };
    let mut calls: Vec<Call> = events(scene, "results").into_iter().map(call).collect();
    calls.sort();
    calls
}

/// The name of an operation in PPL.
fn op_name(op: Op) -> String {
    op.name().to_string()
}

/// Names the first difference instead of printing thousands of calls.
#[track_caller]
fn same_calls(found: &[Call], expected: &[Call], what: &str) {
    let first = found.iter().zip(expected).find(|(one, other)| one != other);
    assert_eq!(first, None, "{what}: found, expected");
    assert_eq!(found.len(), expected.len(), "{what}");
}

/// IOR's settings.
#[derive(Clone, Copy)]
struct Ior {
    block: u64,
    transfer: u64,
    segments: u64,
    own_files: bool,
    shift: u64,
    fsync: bool,
}

impl Ior {
    /// All transfers of a rank, in the file and with the offsets that IOR's manual gives.
    fn transfers(&self, rank: u64, ranks: u64) -> (String, Vec<u64>) {
        let Ior { block, transfer, segments, own_files, .. } = *self;
        let (file, base, segment) = match own_files {
            true => (format!("testFile.{rank:08}"), 0, block),
            false => ("testFile".to_string(), rank * block, ranks * block),
        };
        let offsets = (0..segments)
            .flat_map(|i| (0..block / transfer).map(move |j| base + i * segment + j * transfer));
        (file, offsets.collect())
    }

    fn hold(&self, words: &str, ranks: u64, write_label: &str) {
        let mut model = Model::new(words, ranks);
        for rank in 0..ranks {
            let (file, offsets) = self.transfers(rank, ranks);
            model.label("write");
            model.calls(rank, "fopen", &file);
            model.label(write_label);
            offsets.iter().for_each(|at| model.moves(rank, "fwrite", &file, *at, self.transfer));
            model.label("write");
            if self.fsync {
                model.calls(rank, "fsync", &file);
            }
            model.calls(rank, "fclose", &file);
            model.label("read");
            let (file, offsets) = self.transfers((rank + self.shift) % ranks, ranks);
            model.calls(rank, "fopen", &file);
            offsets.iter().for_each(|at| model.moves(rank, "fread", &file, *at, self.transfer));
            model.calls(rank, "fclose", &file);
        }
        model.hold();
    }
}

#[test]
fn ior_moves_the_transfers_of_its_segments_and_blocks() {
    let ior = Ior {
        block: 1 << 20,
        transfer: 1 << 18,
        segments: 2,
        own_files: false,
        shift: 0,
        fsync: false,
    };
    for ranks in [1, 2, 4] {
        ior.hold("@ior", ranks, "write");
        let easy = Ior { segments: 1, own_files: true, shift: 1, fsync: true, ..ior };
        easy.hold("@ior s=1 F=true C=true e=true", ranks, "write");
        let hard = Ior { block: 2 * 47008, transfer: 47008, segments: 5, shift: 2, ..ior };
        hard.hold("@ior t=47008 b=94016 s=5 C=true Q=2 R=true", ranks, "write");
        // Another order, the same places; each rank is done before the limit.
        ior.hold("@ior z=true", ranks, "write");
        ior.hold("@ior D=60", ranks, "write/until");
    }
}

/// mdtest's settings.
#[derive(Clone, Copy)]
struct Mdtest {
    items: u64,
    branches: u64,
    depth: u32,
    leaves_only: bool,
    own_trees: bool,
    stride: u64,
    written: u64,
    read: u64,
}

impl Mdtest {
    /// All directories of a tree: each level below its parents, from left to right.
    fn tree(&self, owner: u64) -> Vec<String> {
        let mut all = vec![format!("mdtest_tree.{owner}.0")];
        let mut level = all.clone();
        for _ in 0..self.depth {
            let mut next = Vec::new();
            for parent in &level {
                for _ in 0..self.branches {
                    let number = all.len() + next.len();
                    next.push(format!("{parent}/mdtest_tree.{owner}.{number}"));
                }
            }
            all.extend(next.clone());
            level = next;
        }
        all
    }

    /// The items that `rank` works on in the phase that is `steps` strides further on.
    fn items(&self, kind: &str, rank: u64, steps: u64, ranks: u64) -> Vec<String> {
        let owner = (rank + steps * self.stride) % ranks;
        let home = if self.own_trees { (owner + self.stride) % ranks } else { 0 };
        let mut tree = self.tree(home);
        if self.leaves_only {
            tree.drain(..tree.len() - self.branches.pow(self.depth) as usize);
        }
        let each = self.items / tree.len() as u64;
        let names = tree.iter().enumerate().flat_map(|(d, folder)| {
            let first = d as u64 * each;
            (first..first + each).map(move |k| format!("{folder}/{kind}.mdtest.{owner}.{k}"))
        });
        names.collect()
    }

    fn hold(&self, words: &str, ranks: u64) {
        let mut model = Model::new(words, ranks);
        for rank in 0..ranks {
            if self.own_trees || rank == 0 {
                let tree = self.tree(rank);
                model.label("tree/create");
                tree.iter().for_each(|path| model.calls(rank, "mkdir", path));
                model.label("tree/remove");
                tree.iter().for_each(|path| model.calls(rank, "rmdir", path));
            }
            let make = if self.written == 0 { "create" } else { "write" };
            for (kind, what, steps, op, bytes) in [
                ("dir", "create", 0, "mkdir", 0),
                ("dir", "stat", 1, "stat", 0),
                ("dir", "remove", 3, "rmdir", 0),
                ("file", "create", 0, make, self.written),
                ("file", "stat", 1, "stat", 0),
                ("file", "read", 2, "read", self.read),
                ("file", "remove", 3, "delete", 0),
            ] {
                model.label(format!("{kind}/{what}"));
                for path in self.items(kind, rank, steps, ranks) {
                    model.moves(rank, op, path, 0, bytes);
                }
            }
        }
        model.hold();
    }
}

#[test]
fn mdtest_treats_the_items_of_its_trees() {
    let flat = Mdtest {
        items: 20,
        branches: 1,
        depth: 0,
        leaves_only: false,
        own_trees: false,
        stride: 0,
        written: 0,
        read: 0,
    };
    for ranks in [1, 2, 4] {
        flat.hold("@mdtest n=20", ranks);
        let tree = Mdtest { branches: 2, depth: 2, stride: 1, written: 3901, read: 3901, ..flat };
        tree.hold("@mdtest n=20 b=2 z=2 N=1 w=3901 e=3901", ranks);
        let own = Mdtest { branches: 3, depth: 1, own_trees: true, stride: 1, written: 9, ..flat };
        own.hold("@mdtest n=20 b=3 z=1 u=true N=1 w=9 y=true", ranks);
        let leaves = Mdtest { branches: 2, depth: 3, leaves_only: true, own_trees: true, ..flat };
        leaves.hold("@mdtest n=20 b=2 z=3 L=true u=true", ranks);
    }
}

/// The files and transfers of IO500: easy ones and hard ones.
struct Io500 {
    ranks: u64,
    transfers: u64,
    segments: u64,
    files: u64,
}

impl Io500 {
    const TRANSFER: u64 = 1 << 14;
    const RECORD: u64 = 47008;

    fn transfers(&self, model: &mut Model, rank: u64, mode: &str, op: &str, owner: u64) {
        let easy = mode == "easy";
        let file = match easy {
            true => format!("ior-easy/ior_file_easy.{owner:08}"),
            false => "ior-hard/IOR_file".to_string(),
        };
        model.calls(rank, "fopen", &file);
        for k in 0..if easy { self.transfers } else { self.segments } {
            match easy {
                true => model.moves(rank, op, &file, k * Self::TRANSFER, Self::TRANSFER),
                false => {
                    let at = (k * self.ranks + owner) * Self::RECORD;
                    model.moves(rank, op, &file, at, Self::RECORD);
                }
            }
        }
        if op == "fwrite" {
            model.calls(rank, "fsync", &file);
        }
        model.calls(rank, "fclose", &file);
    }

    /// The files that `owner` has made.
    fn files(&self, mode: &str, owner: u64) -> impl Iterator<Item = String> {
        let folder = match mode {
            "easy" => format!("mdtest-easy/mdtest_tree.{}.0", (owner + 1) % self.ranks),
            _ => "mdtest-hard".to_string(),
        };
        (0..self.files).map(move |k| format!("{folder}/file.mdtest.{owner}.{k}"))
    }

    fn each(&self, model: &mut Model, rank: u64, mode: &str, op: &str, steps: u64, bytes: u64) {
        for path in self.files(mode, (rank + steps) % self.ranks) {
            model.moves(rank, op, path, 0, bytes);
        }
    }

    fn find(&self, model: &mut Model, rank: u64) {
        let next = (rank + 1) % self.ranks;
        model.label("find");
        model.calls(rank, "readdir", format!("mdtest-easy/mdtest_tree.{next}.0"));
        if rank == 0 {
            model.calls(rank, "readdir", "mdtest-hard");
        }
        // What is in the directory of the next rank is what this rank has made there.
        self.each(model, rank, "easy", "stat", 0, 0);
        self.each(model, rank, "hard", "stat", 1, 0);
    }

    fn rank(&self, model: &mut Model, rank: u64) {
        let next = (rank + 1) % self.ranks;
        model.label("");
        if rank == 0 {
            let folders = ["ior-easy", "ior-hard", "mdtest-easy", "mdtest-hard"];
            folders.iter().for_each(|folder| model.calls(0, "mkdir", *folder));
        }
        model.calls(rank, "mkdir", format!("mdtest-easy/mdtest_tree.{rank}.0"));
        for mode in ["easy", "hard"] {
            model.label(format!("ior-{mode}-write"));
            self.transfers(model, rank, mode, "fwrite", rank);
            model.label(format!("ior-{mode}-read"));
            self.transfers(model, rank, mode, "fread", next);
            model.label(format!("mdtest-{mode}-stat"));
            self.each(model, rank, mode, "stat", 1, 0);
            model.label(format!("mdtest-{mode}-delete"));
            self.each(model, rank, mode, "delete", 3, 0);
        }
        model.label("mdtest-easy-write");
        self.each(model, rank, "easy", "create", 0, 0);
        model.label("mdtest-hard-write");
        self.each(model, rank, "hard", "write", 0, 3901);
        model.label("mdtest-hard-read");
        self.each(model, rank, "hard", "read", 2, 3901);
        self.find(model, rank);
    }
}

#[test]
fn io500_has_twelve_phases_of_ior_and_mdtest() {
    for ranks in [1, 2, 4] {
        let words = "@io500 easy_block=64k easy_transfer=16k hard_segments=7 easy_n=9 hard_n=9";
        let mut model = Model::new(words, ranks);
        let io500 = Io500 { ranks, transfers: 4, segments: 7, files: 9 };
        (0..ranks).for_each(|rank| io500.rank(&mut model, rank));
        model.hold();
    }
}

/// md-workbench: objects wander from the rank before to the rank after.
fn mdworkbench(ranks: u64, [sets, made, per_round, rounds]: [u64; 4]) -> Model {
    let words = format!("@mdworkbench D={sets} P={made} I={per_round} R={rounds} S=100");
    let mut model = Model::new(words, ranks);
    let object = |rank, d, k| format!("{rank}_{d}/file-{k}");
    for (rank, d) in (0..ranks).flat_map(|rank| (0..sets).map(move |d| (rank, d))) {
        model.label("precreate");
        model.calls(rank, "mkdir", format!("{rank}_{d}"));
        (0..made).for_each(|k| model.moves(rank, "write", object(rank, d, k), 0, 100));
        let steps = (d + 1) % ranks;
        let (before, after) = ((rank + ranks - steps) % ranks, (rank + steps) % ranks);
        for k in 0..rounds * per_round {
            model.label(format!("benchmark/round {}", k / per_round));
            model.calls(rank, "stat", object(before, d, k));
            model.moves(rank, "read", object(before, d, k), 0, 100);
            model.calls(rank, "delete", object(before, d, k));
            model.moves(rank, "write", object(after, d, made + k), 0, 100);
        }
        model.label("cleanup");
        let left = rounds * per_round..rounds * per_round + made;
        left.for_each(|k| model.calls(rank, "delete", object(rank, d, k)));
        model.calls(rank, "rmdir", format!("{rank}_{d}"));
    }
    model
}

#[test]
fn mdworkbench_moves_on_through_the_sets_of_other_ranks() {
    for ranks in [1, 2, 4] {
        mdworkbench(ranks, [3, 5, 2, 3]).hold();
        mdworkbench(ranks, [5, 4, 4, 2]).hold();
    }
}

/// b_eff_io: chunk, chunks of a call, calls of each pattern of a type.
fn beffio_patterns(kind: u64, mb: u64, part: u64) -> Vec<(u64, u64, u64)> {
    let (k32, k1) = (mb / 32, mb / 1024);
    match kind {
        0 => vec![
            (mb, 1, 1),
            (part, 1, 4),
            (mb, 2, 4),
            (mb, 1, 4),
            (k32, 32, 2),
            (k1, 1024, 2),
            (k32 + 8, 32, 2),
            (k1 + 8, 1024, 2),
            (mb + 8, 1, 2),
        ],
        _ => {
            let largest = if kind == 1 { 4 } else { 2 };
            let chunks = [mb, part, mb, k32, k1, k32 + 8, k1 + 8, mb + 8];
            let calls = [1, largest, 2, 1, 1, 1, 1, 2];
            chunks.into_iter().zip(calls).map(|(chunk, calls)| (chunk, 1, calls)).collect()
        }
    }
}

/// Offset and length of all chunks of a rank.
fn beffio_chunks(kind: u64, rank: u64, ranks: u64, mb: u64, part: u64) -> Vec<(u64, u64)> {
    let patterns = beffio_patterns(kind, mb, part);
    let own: u64 = patterns.iter().map(|(chunk, n, calls)| chunk * n * calls).sum();
    let (alternate, mut base) = (kind < 2, if kind > 2 { rank * own } else { 0 });
    let mut chunks = Vec::new();
    for (chunk, n, calls) in patterns {
        let share = if alternate { ranks } else { 1 };
        let first = if alternate { rank } else { 0 };
        chunks.extend((0..n * calls).map(|i| (base + (i * share + first) * chunk, chunk)));
        base += n * calls * chunk * share;
    }
    chunks
}

fn beffio(ranks: u64) -> Model {
    let mut model = Model::new("@beffio MB=2k MPART=6k", ranks);
    for (rank, kind) in (0..ranks).flat_map(|rank| (0..5).map(move |kind| (rank, kind))) {
        let file = if kind == 2 { format!("beff-2.{rank}") } else { format!("beff-{kind}") };
        for (method, op) in [("write", "fwrite"), ("rewrite", "fwrite"), ("read", "fread")] {
            model.label(format!("{method}/type {kind}"));
            model.calls(rank, "fopen", &file);
            for (at, bytes) in beffio_chunks(kind, rank, ranks, 2048, 6144) {
                model.moves(rank, op, &file, at, bytes);
            }
            if op == "fwrite" {
                model.calls(rank, "fsync", &file);
            }
            model.calls(rank, "fclose", &file);
        }
    }
    model
}

#[test]
fn beffio_has_the_chunks_of_its_table() {
    [1, 2, 4].into_iter().for_each(|ranks| beffio(ranks).hold());
}

/// MADbench2's matrices.
struct Madbench {
    size: u64,
    bins: u64,
    gangs: u64,
    block: u64,
    multiple: u64,
    shared: bool,
}

impl Madbench {
    /// Bytes of what position (row, column) of q*q ranks has of a matrix, counted element by element.
    fn part(&self, at: u64, q: u64) -> u64 {
        let of = |k| (0..self.size).filter(|i| i / self.block % q == k).count() as u64;
        8 * of(at / q) * of(at % q)
    }

    fn model(&self, words: &str, ranks: u64) -> Model {
        let (q, mut model) = (ranks.isqrt(), Model::new(words, ranks));
        let active = q * q;
        let of_gang = (q / self.gangs.isqrt()).max(1);
        let members = of_gang * of_gang;
        let largest = |q: u64| (0..q * q).map(|at| self.part(at, q)).max().expect("one");
        let slot = largest(q).max(largest(of_gang).div_ceil(self.gangs));
        let slot = slot.next_multiple_of(self.multiple);
        for rank in 0..active {
            let (file, base) = match self.shared {
                true => ("data".to_string(), rank * self.bins * slot),
                false => (format!("data_{rank}"), 0),
            };
            let (whole, gang) = (self.part(rank, q), self.part(rank % members, of_gang));
            model.label("");
            model.calls(rank, "fopen", &file);
            model.calls(rank, "fclose", &file);
            for (label, op) in [("S", "fwrite"), ("W", "fread")] {
                model.label(label);
                (0..self.bins).for_each(|b| model.moves(rank, op, &file, base + b * slot, whole));
            }
            for (label, op) in [("W", "fwrite"), ("C", "fread")] {
                model.label(label);
                let bins = (0..self.bins).step_by(self.gangs as usize);
                bins.for_each(|b| model.moves(rank, op, &file, base + b * slot, gang));
            }
        }
        model
    }
}

#[test]
fn madbench2_moves_the_shares_of_its_matrices() {
    let plain = Madbench { size: 256, bins: 8, gangs: 1, block: 8, multiple: 64, shared: false };
    for ranks in [1, 2, 4, 9] {
        plain.model("@madbench2", ranks).hold();
        let odd = Madbench { size: 53, bins: 3, block: 5, multiple: 512, shared: true, ..plain };
        let words = "@madbench2 npix=53 nbin=3 sblock=5 fblock=512 filetype=shared";
        odd.model(words, ranks).hold();
    }
    let gangs = Madbench { size: 60, gangs: 4, block: 8, shared: true, ..plain };
    gangs.model("@madbench2 npix=60 ngang=4 filetype=shared", 4).hold();
    plain.model("@madbench2 rmod=2 wmod=4", 4).hold();
}

/// The kinds of noncontig: operations, and offset and length of each call of a rank.
fn noncontig(ranks: u64, words: &str, [len, count, bytes, displs, loops]: [u64; 5]) -> Model {
    let mut model = Model::new(words, ranks);
    let own = len.div_ceil(ranks);
    for rank in 0..ranks {
        for kind in ["ncmem_ncfile", "ncmem_cfile", "cmem_ncfile", "cmem_cfile"] {
            let file = format!("noncontig.{kind}");
            let [write, read] = match kind {
                "ncmem_cfile" => ["writev", "readv"],
                _ => ["fwrite", "fread"],
            };
            let mut places: Vec<(u64, u64)> = Vec::new();
            for v in 0..count {
                match kind {
                    "ncmem_cfile" | "cmem_cfile" => {
                        let at = displs + (rank * count + v) * own * bytes;
                        places.push((at, own * bytes));
                    }
                    _ => {
                        places.extend((0..own).map(|i| {
                            (displs + (v * own * ranks + i * ranks + rank) * bytes, bytes)
                        }))
                    }
                }
            }
            model.label("");
            model.calls(rank, "fopen", &file);
            model.calls(rank, "fclose", &file);
            for (what, op) in [("write", write), ("read", read)] {
                model.label(format!("{kind}/{what}"));
                for (at, bytes) in (0..loops).flat_map(|_| &places) {
                    model.moves(rank, op, &file, *at, *bytes);
                }
            }
            model.label(format!("{kind}/write"));
            model.calls(rank, "fsync", &file);
        }
    }
    model
}

#[test]
fn noncontig_deals_out_the_elements_of_vectors() {
    for ranks in [1, 2, 4] {
        noncontig(ranks, "@noncontig", [12, 100, 64, 0, 1]).hold();
        let words = "@noncontig veclen=10 veccount=7 elmtcount=3 displs=100 offset=2 loops=2";
        noncontig(ranks, words, [10, 7, 12, 100 + 24, 2]).hold();
    }
}

/// HPIO: regions of all ranks in turn, or those of a rank behind each other.
fn hpio(ranks: u64, words: &str, [size, count, spacing, header]: [u64; 4]) -> Model {
    let mut model = Model::new(words, ranks);
    let kinds = [("c-c", 0), ("nc-c", 1), ("c-nc", 2), ("nc-nc", 2)];
    for (rank, (kind, form)) in (0..ranks).flat_map(|rank| kinds.map(|kind| (rank, kind))) {
        let file = format!("hpio.{kind}");
        let own = header + rank * count * size;
        let places: Vec<(u64, u64)> = match form {
            0 => vec![(own, count * size)],
            1 => (0..count)
                .step_by(1024)
                .map(|i| (own + i * size, (count - i).min(1024) * size))
                .collect(),
            _ => {
                (0..count).map(|i| (header + (i * ranks + rank) * (size + spacing), size)).collect()
            }
        };
        let ops = if form == 1 { ["writev", "readv"] } else { ["fwrite", "fread"] };
        model.label("");
        model.calls(rank, "fopen", &file);
        model.calls(rank, "fclose", &file);
        for (what, op) in ["write", "read"].into_iter().zip(ops) {
            model.label(format!("{kind}/{what}"));
            places.iter().for_each(|(at, bytes)| model.moves(rank, op, &file, *at, *bytes));
        }
    }
    model
}

#[test]
fn hpio_has_regions_apart_and_together() {
    for ranks in [1, 2, 4] {
        hpio(ranks, "@hpio", [64, 1000, 128, 0]).hold();
        let words = "@hpio region_size=9 region_count=1500 region_spacing=7 header=5";
        hpio(ranks, words, [9, 1500, 7, 5]).hold();
    }
}

/// The rows of a rank's block in all arrays of S3D, point by point joined.
fn s3d_rows(rank: u64, [nx, ny, nz]: [u64; 3], [px, py, pz]: [u64; 3]) -> Vec<(u64, u64)> {
    let range = |n: u64, k: u64, p: u64| n * k / p..n * (k + 1) / p;
    let x = range(nx, rank % px, px);
    let (y, z) = (range(ny, rank / px % py, py), range(nz, rank / px / py, pz));
    let cubes = 0..11 + 1 + 1 + 3;
    let lines = cubes.flat_map(|v| z.clone().map(move |k| (v, k)));
    let lines = lines.flat_map(|(v, k)| y.clone().map(move |j| (v * nz + k) * ny + j));
    lines.map(|line| (1024 + 8 * (line * nx + x.start), 8 * (x.end - x.start))).collect()
}

fn s3d(ranks: u64, words: &str, grid: [u64; 3], parts: [u64; 3]) -> Model {
    let mut model = Model::new(words, ranks);
    for rank in 0..parts.iter().product() {
        let rows = s3d_rows(rank, grid, parts);
        for (label, op, number) in
            [("checkpoint", "fwrite", 0), ("checkpoint", "fwrite", 1), ("restart", "fread", 1)]
        {
            let file = format!("pressure_wave_test.{number:03}.field");
            model.label(label);
            model.calls(rank, "fopen", &file);
            if rank == 0 {
                model.moves(0, op, &file, 0, 1024);
            }
            rows.iter().for_each(|(at, bytes)| model.moves(rank, op, &file, *at, *bytes));
            model.calls(rank, "fclose", &file);
        }
    }
    model
}

#[test]
fn s3d_writes_the_rows_of_blocks() {
    for ranks in [1, 2, 4] {
        s3d(ranks, "@s3d nx_g=6 ny_g=7 nz_g=8", [6, 7, 8], [1, 1, ranks]).hold();
    }
    s3d(4, "@s3d nx_g=5 ny_g=4 nz_g=3 npx=2 npy=2 npz=1", [5, 4, 3], [2, 2, 1]).hold();
    // The rank beyond the blocks has nothing to do.
    s3d(3, "@s3d nx_g=5 ny_g=4 nz_g=3 npx=2", [5, 4, 3], [2, 1, 1]).hold();
}

/// IOzone: each test goes through the records of a rank's file once.
fn iozone(ranks: u64, words: &str, record: u64, n: u64) -> Model {
    let mut model = Model::new(words, ranks);
    for (test, op) in [
        ("write", "fwrite"),
        ("rewrite", "fwrite"),
        ("read", "fread"),
        ("reread", "fread"),
        ("random read", "fread"),
        ("random write", "fwrite"),
        ("backward read", "fread"),
        ("record rewrite", "fwrite"),
        ("stride read", "fread"),
    ] {
        model.label(test);
        for rank in 0..ranks {
            let file = format!("iozone.DUMMY.{rank}");
            model.calls(rank, "fopen", &file);
            for i in 0..n {
                let at = if test == "record rewrite" { n / 2 } else { i };
                model.moves(rank, op, &file, at * record, record);
            }
            model.calls(rank, "fclose", &file);
        }
    }
    model
}

#[test]
fn iozone_goes_through_its_records_in_nine_ways() {
    for ranks in [1, 2, 4] {
        iozone(ranks, "@iozone", 4096, 256).hold();
        iozone(ranks, "@iozone file_size=43000 record=1000", 1000, 43).hold();
        iozone(ranks, "@iozone file_size=3k record=1k", 1024, 3).hold();
    }
}

/// The numbers that PostMark and Filebench draw.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = (self.0 * 1103515245 + 12345) % (1 << 31);
        (self.0 >> 8) % n
    }
}

/// The files of a rank of PostMark: path and size.
struct Mail {
    rank: u64,
    draws: Draws,
    made: u64,
    files: Vec<(String, u64)>,
    folders: u64,
    sizes: (u64, u64),
}

impl Mail {
    fn create(&mut self, model: &mut Model) {
        let (low, high) = self.sizes;
        let bytes = low + self.draws.below(high - low + 1);
        let folder = match self.folders {
            0 => String::new(),
            folders => format!("s{}/", self.made % folders),
        };
        let path = format!("pm-{}/{folder}{}", self.rank, self.made);
        model.moves(self.rank, "write", &path, 0, bytes);
        self.files.push((path, bytes));
        self.made += 1;
    }

    fn any(&mut self) -> usize {
        self.draws.below(self.files.len() as u64) as usize
    }

    fn delete(&mut self, model: &mut Model, i: usize) {
        let (path, _) = self.files.swap_remove(i);
        model.calls(self.rank, "delete", path);
    }

    fn transaction(&mut self, model: &mut Model, [reads, creates]: [u64; 2]) {
        if !self.files.is_empty() {
            let is_read = self.draws.below(10) < reads;
            let i = self.any();
            let (path, bytes) = self.files[i].clone();
            if is_read {
                model.moves(self.rank, "read", path, 0, bytes);
            } else if bytes < self.sizes.1 {
                let more = 1 + self.draws.below(self.sizes.1 - bytes);
                model.moves(self.rank, "append", path, 0, more);
                self.files[i].1 += more;
            }
        }
        if self.draws.below(10) < creates {
            self.create(model);
        } else if !self.files.is_empty() {
            let i = self.any();
            self.delete(model, i);
        }
    }
}

fn postmark(
    ranks: u64,
    words: &str,
    [number, transactions, folders]: [u64; 3],
    bias: [u64; 2],
) -> Model {
    let mut model = Model::new(words, ranks);
    for rank in 0..ranks {
        let (draws, files, sizes) = (Draws(42 + rank), Vec::new(), (500, 9770));
        let mut mail = Mail { rank, draws, made: 0, files, folders, sizes };
        model.label("");
        model.calls(rank, "mkdir", format!("pm-{rank}"));
        (0..folders).for_each(|s| model.calls(rank, "mkdir", format!("pm-{rank}/s{s}")));
        model.label("create");
        (0..number).for_each(|_| mail.create(&mut model));
        model.label("transactions");
        (0..transactions).for_each(|_| mail.transaction(&mut model, bias));
        model.label("delete");
        while let Some(last) = mail.files.len().checked_sub(1) {
            mail.delete(&mut model, last);
        }
    }
    model
}

#[test]
fn postmark_reads_appends_creates_and_deletes_by_its_biases() {
    for ranks in [1, 2, 4] {
        postmark(ranks, "@postmark", [100, 200, 0], [5, 5]).hold();
        let words =
            "@postmark number=10 transactions=60 subdirectories=3 bias_read=2 bias_create=3";
        postmark(ranks, words, [10, 60, 3], [2, 3]).hold();
    }
}

/// The files of a rank of Filebench: path and size.
struct Bench<'a> {
    rank: u64,
    personality: &'a str,
    mean: u64,
    draws: Draws,
    made: u64,
    files: Vec<(String, u64)>,
}

impl Bench<'_> {
    const WIDTH: u64 = 20;
    const APPEND: u64 = 16 << 10;

    fn any(&mut self) -> usize {
        self.draws.below(self.files.len() as u64) as usize
    }

    /// A size as it is drawn; databases and videos have one size.
    fn size(&mut self) -> u64 {
        let drawn = self.draws.below(self.mean);
        match self.personality {
            "oltp" | "videoserver" => self.mean,
            _ => self.mean / 2 + drawn,
        }
    }

    fn name(&mut self, i: usize) -> String {
        self.made += 1;
        format!("set-{}/d{}/f{}", self.rank, i as u64 / Self::WIDTH, self.made - 1)
    }

    fn prepare(&mut self, model: &mut Model, count: u64) {
        model.label("");
        model.calls(self.rank, "mkdir", format!("set-{}", self.rank));
        for d in 0..count.div_ceil(Self::WIDTH) {
            model.calls(self.rank, "mkdir", format!("set-{}/d{d}", self.rank));
        }
        for i in 0..count as usize {
            let (bytes, path) = (self.size(), self.name(i));
            model.moves(self.rank, "write", &path, 0, bytes);
            self.files.push((path, bytes));
        }
    }

    fn read(&mut self, model: &mut Model) {
        let i = self.any();
        model.moves(self.rank, "read", &self.files[i].0, 0, self.files[i].1);
    }

    fn replace(&mut self, model: &mut Model, bytes: u64) -> usize {
        let i = self.any();
        model.calls(self.rank, "delete", &self.files[i].0);
        self.files[i] = (self.name(i), bytes);
        i
    }

    fn append(&mut self, model: &mut Model, i: usize, reads: bool) {
        let more = 1 + self.draws.below(Self::APPEND);
        let (path, bytes) = self.files[i].clone();
        model.calls(self.rank, "fopen", &path);
        if reads {
            model.moves(self.rank, "fread", &path, 0, bytes);
        }
        model.moves(self.rank, "fwrite", &path, bytes, more);
        if self.personality == "varmail" {
            model.calls(self.rank, "fsync", &path);
        }
        model.calls(self.rank, "fclose", &path);
        self.files[i].1 += more;
    }

    fn log(&mut self, model: &mut Model) {
        let more = 1 + self.draws.below(Self::APPEND);
        model.moves(self.rank, "append", "log", 0, more);
    }

    fn fileserver(&mut self, model: &mut Model) {
        let bytes = self.size();
        let i = self.replace(model, bytes);
        model.moves(self.rank, "write", &self.files[i].0, 0, bytes);
        let i = self.any();
        self.append(model, i, false);
        self.read(model);
        let i = self.any();
        model.calls(self.rank, "stat", &self.files[i].0);
    }

    fn oltp(&mut self, model: &mut Model, number: u64) {
        let path = self.files[number as usize % self.files.len()].0.clone();
        model.calls(self.rank, "fopen", &path);
        for k in 0..110 {
            let at = self.draws.below(self.mean / 2048) * 2048;
            let op = if k < 100 { "fread" } else { "fwrite" };
            model.moves(self.rank, op, &path, at, 2048);
        }
        model.calls(self.rank, "fclose", &path);
        model.moves(self.rank, "append", "log", 0, 8192);
    }

    fn turn(&mut self, model: &mut Model, number: u64) {
        match self.personality {
            "fileserver" => self.fileserver(model),
            "webserver" => {
                (0..10).for_each(|_| self.read(model));
                self.log(model);
            }
            "varmail" => {
                let i = self.replace(model, 0);
                self.append(model, i, false);
                let i = self.any();
                self.append(model, i, true);
                self.read(model);
            }
            "webproxy" => {
                let i = self.replace(model, 0);
                self.append(model, i, false);
                (0..5).for_each(|_| self.read(model));
                self.log(model);
            }
            "oltp" => self.oltp(model, number),
            _ => {
                let (path, bytes) = &self.files[number as usize % self.files.len()];
                model.moves(self.rank, "read", path, 0, *bytes);
                if self.rank == 0 {
                    model.moves(0, "write", "new-video", 0, self.mean);
                }
            }
        }
    }
}

fn filebench(ranks: u64, personality: &str, mean: u64) -> Model {
    let words = format!("@filebench personality={personality} filesize={mean} nfiles=23 loops=7");
    let mut model = Model::new(words, ranks);
    for rank in 0..ranks {
        let (draws, files) = (Draws(42 + rank), Vec::new());
        let mut bench = Bench { rank, personality, mean, draws, made: 0, files };
        bench.prepare(&mut model, 23);
        model.label(personality);
        (0..7).for_each(|number| bench.turn(&mut model, number));
    }
    model
}

#[test]
fn filebench_has_the_loops_of_its_personalities() {
    let all = ["fileserver", "webserver", "varmail", "webproxy", "oltp", "videoserver"];
    for (ranks, personality) in [1, 2, 4].into_iter().flat_map(|ranks| all.map(|one| (ranks, one)))
    {
        filebench(ranks, personality, 20000).hold();
    }
}

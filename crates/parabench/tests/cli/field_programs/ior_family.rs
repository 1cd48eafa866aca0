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
        let moves = event.done_bytes > 0;
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

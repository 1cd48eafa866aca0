//! Programs of the library that can do their transfers by MPI-IO: under every MPI they leave the same
//! files, byte for byte, as by POSIX calls. What they write is made to say its place in the file.

use crate::figures::number;
use crate::scene::{Scene, root};
use crate::schema::run_object;
use crate::{testing, under};
use std::collections::BTreeMap;
use std::fs;

const RANKS: u32 = 4;

/// A statement of a program, and the same with data whose every byte depends on its offset.
type Data = (&'static str, &'static str);

/// A program by both interfaces, and what its MPI-IO must have been.
struct Twin {
    program: &'static str,
    data: Data,
    /// What both runs are given.
    line: &'static str,
    /// What the run by MPI-IO is given besides.
    mpi: &'static str,
    /// Label, operation and count of calls of all ranks.
    calls: &'static [(&'static str, &'static str, u64)],
}

impl Twin {
    /// A scene with the program.
    fn scene(&self) -> Scene {
        let path = root().join(format!("programs/{}.ppl", self.program));
        let text = fs::read_to_string(path).expect("a program");
        let (from, to) = self.data;
        assert!(text.contains(from), "{}: {from}", self.program);
        Scene::new().file("x.ppl", text.replace(from, to))
    }
}

/// What the run left in the directory: names and bytes.
fn files(scene: &Scene) -> BTreeMap<String, Vec<u8>> {
    let names = scene.names("d").into_iter().filter(|name| name != ".parabench");
    let files: BTreeMap<_, _> = names
        .map(|name| (name.clone(), fs::read(scene.path(&format!("d/{name}"))).expect("a file")))
        .collect();
    assert!(files.values().any(|bytes| bytes.iter().any(|byte| *byte != 0)), "nothing is written");
    files
}

#[track_caller]
fn assert_same_files(twins: &[Twin]) {
    for twin in twins {
        let local = twin.scene();
        local.parabench(&format!("run x.ppl {} -n {RANKS} --dir d --keep", twin.line)).exits(0);
        let expected = files(&local);
        for mpi in testing::all() {
            let what = format!("{} {} {} under {}", twin.program, twin.line, twin.mpi, mpi.name);
            let scene = twin.scene();
            let line = format!("run x.ppl {} {} --dir d --keep --format json", twin.line, twin.mpi);
            let done = under(&mpi, RANKS, &scene, &line).run();
            assert_eq!(done.code, Some(0), "{what}: {done:#?}");
            let run = run_object(&done);
            for (label, op, count) in twin.calls {
                assert_eq!(number(&run, label, op, "count"), *count, "{what}: {label} {op}");
            }
            let found = files(&scene);
            assert!(found.keys().eq(expected.keys()), "{what}: {:?}", found.keys());
            for (name, bytes) in &expected {
                assert!(found[name] == *bytes, "{what}: {name} has other bytes");
            }
        }
    }
}

/// One call for a tile; of four ranks one has none, and calls with the others if the call is collective.
#[test]
fn tiles_are_the_same_by_mpi_io() {
    const CALLS: &[(&str, &str, u64)] = &[
        ("write/data", "pfwrite", 4),
        ("write/data", "pfsync", 4),
        ("write/close", "pfclose", 4),
        ("read/data", "pfread", 4),
    ];
    let overlapping = "nr_tiles_x=2 nr_tiles_y=2 sz_tile_x=32 sz_tile_y=16 overlap_x=3 overlap_y=2";
    let three = "nr_tiles_x=3 sz_tile_x=10 sz_tile_y=10 sz_element=8";
    let data = ("data=\"offset\"", "data=\"offset\"");
    let twin = |line, mpi| Twin { program: "tile", data, line, mpi, calls: CALLS };
    assert_same_files(&[
        twin(overlapping, "collective=true"),
        twin(three, "collective=true"),
        twin(three, "mpi=true"),
    ]);
}

/// Full: one collective call for each dump. Simple: one for each of the 72 rows that a rank has in a dump.
#[test]
fn dumps_of_btio_are_the_same_by_mpi_io() {
    let full = &[("dumps", "pfwrite", 4 * 3), ("verification", "pfread", 4 * 3)];
    let simple = &[("dumps", "pfwrite", 4 * 3 * 72), ("verification", "pfread", 4 * 3 * 72)];
    let data = ("with (verify=$verify)", "with (data=\"offset\")");
    let twin = |line, calls| Twin { program: "btio", data, line, mpi: "mpi=true", calls };
    assert_same_files(&[twin("dumps=3", full), twin("dumps=3 mode=simple", simple)]);
}

/// Each rank checks what it reads, and no byte is wrong.
#[test]
fn dumps_of_btio_by_mpi_io_are_verified() {
    for mpi in testing::all() {
        for line in ["dumps=3", "dumps=3 mode=simple", "dumps=2 mode=epio"] {
            let scene = Scene::new();
            let line = format!("run @btio mpi=true {line} --format json");
            let done = under(&mpi, RANKS, &scene, &line).run();
            assert_eq!(done.code, Some(0), "{line} under {}: {done:#?}", mpi.name);
            let run = run_object(&done);
            let checked = &run["run"]["evidence"]["notes"].to_string();
            assert!(checked.contains("verify=true"), "{line} under {}: {checked}", mpi.name);
        }
    }
}

/// A call for each of the six arrays of the tree and of the variables, by all ranks; the header by rank 0.
#[test]
fn outputs_of_flash_are_the_same_by_mpi_io() {
    let calls = &[
        ("checkpoint/tree", "pfwrite", 4 * 6 + 1),
        ("checkpoint/unknowns", "pfwrite", 4 * 24),
        ("centred/unknowns", "pfwrite", 4 * 4),
        ("corners/unknowns", "pfwrite", 4 * 4),
        ("corners/close", "pfclose", 4),
    ];
    let data = ("\noutput(", "\nwith (data=\"offset\") output(");
    let (line, mpi) = ("blocks=1 zones=4", "collective=true");
    assert_same_files(&[Twin { program: "flash", data, line, mpi, calls }]);
}

#[test]
fn files_of_ior_are_the_same_by_mpi_io() {
    let calls = &[("write", "pfwrite", 32), ("read", "pfread", 32), ("write", "pfclose", 4)];
    let data = ("with (verify=$R)", "with (data=\"offset\")");
    let twin = |line, mpi| Twin { program: "ior", data, line, mpi, calls };
    assert_same_files(&[
        twin("b=64k t=16k C=true", "a=MPIIO"),
        twin("b=64k t=16k C=true e=true", "a=MPIIO c=true"),
        twin("b=64k t=16k F=true C=true", "a=MPIIO"),
    ]);
}

/// A collective call for each block of the segments: `new` and `existing` have the same bytes.
#[test]
fn segments_of_collective_are_the_same_by_mpi_io() {
    let calls = &[("new/write", "pfwrite", 4), ("existing/read", "pfread", 4)];
    let data = ("\nwrite_segments(", "\nwith (data=\"offset\") write_segments(");
    let (line, mpi) = ("segment=64k transfer=16k", "collective=true");
    assert_same_files(&[Twin { program: "collective", data, line, mpi, calls }]);
}

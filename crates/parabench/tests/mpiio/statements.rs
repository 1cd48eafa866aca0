//! Single statements: positions, sizes, shared pointers, modes, hints.

use crate::{Case, Stage};
use model::Op;
use std::fs;
use std::os::unix::fs::MetadataExt;

pub const CASES: &[Case] = &[
    ("sizes and positions", 2, sizes_and_positions),
    ("shared file pointers", 3, shared_pointers),
    ("parts of a pattern statement", 2, parts),
    ("trap 14: files that exist keep their layout", 2, trap_14_layout_is_kept),
    ("trap 24: hints asked for and in effect", 2, trap_24_hints),
    ("files left open", 2, left_open),
    ("a file per process", 3, a_file_of_each),
];

fn sizes_and_positions(place: &Stage<'_>) {
    let ran = place.run(
        r#"$h = pfopen("f", "crw");
        pfsetsize($h, 100k); pfsync($h);
        pfseek($h, -4k, SEEK_END); barrier; pfseek($h, 104k + $$rank * 8k, SEEK_CUR);
        pfwrite($h, 4k); pfwrite($h, 4k);
        pfclose($h); barrier;
        assert(size("f") == 216k);
        $h = pfopen("f", "rwa");
        pfwrite($h, 1k); pfsync($h);
        pfclose($h); barrier;
        assert(size("f") == 217k);
        $h = pfopen("g", "cw");
        pfpreallocate($h, 64k);
        pfclose($h); barrier;
        assert(size("g") == 64k);
        with (atomic=true, fsync="close") { $h = pfopen("g", "rw"); pfwrite($h, 4k, 0, "all"); pfclose($h); }
        with (fsync="op") { $h = pfopen("g", "rw"); pfwrite($h, 4k, 0, "all"); pfclose($h); }
        pdelete("g"); barrier;
        with (expect="ENOENT") lookup("g");"#,
    );
    let ran = ran.good();
    assert_eq!(ran.done(Op::Pfseek), (2, 0));
    assert_eq!(ran.done(Op::Pdelete).0, u64::from(place.rank() == 0));
}

fn shared_pointers(place: &Stage<'_>) {
    let ran = place.run(
        r#"$h = pfopen("shared", "crw");
        repeat 5 pfwrite($h, 100, "shared");
        pfclose($h);
        $h = pfopen("ordered", "crw");
        repeat 5 pfwrite($h, 100 * ($$rank + 1), "ordered");
        pfclose($h);
        barrier;
        $h = pfopen("ordered", "r");
        repeat 5 pfread($h, 100 * ($$rank + 1), "ordered");
        pfread($h, 100, "shared");
        pfclose($h);
        barrier;
        assert(size("shared") == 1500); assert(size("ordered") == 3000);"#,
    );
    let ran = ran.finished();
    assert_eq!(ran.failures(), Vec::<String>::new());
    let short: u64 = ran.record.stats.iter().map(|stat| stat.figures.short).sum();
    assert_eq!(short, 1);
}

fn parts(place: &Stage<'_>) {
    let ran = place.run(
        r#"define pattern {"l3", 4, 1k, 3}; define pattern {"l0", 4, 1k, 0};
        with (fsync="close") pwrite("f", "l3");
        barrier; pread("f", "l0");"#,
    );
    let ran = ran.good();
    let executed = |op: Op| {
        let stat = ran.record.stats.iter().find(|stat| stat.op == op).expect("a row");
        let parts = stat.figures.parts.as_ref().expect("parts");
        let sums: u128 = parts.iter().map(|part| u128::from(part.sum)).sum();
        assert_eq!(sums, u128::from(stat.figures.done.sum), "the parts are the whole of {op}");
        parts.iter().map(|part| part.count).collect::<Vec<u64>>()
    };
    // open, view, data, sync, close: no view without one, no sync of what is read.
    assert_eq!(executed(Op::Pwrite), [1, 1, 1, 1, 1]);
    assert_eq!(executed(Op::Pread), [1, 0, 1, 0, 1]);
}

/// Nothing of MPI-IO truncates or makes anew: a file that was made beforehand, striped as
/// its owner wanted, stays the same one.
fn trap_14_layout_is_kept(place: &Stage<'_>) {
    let path = place.directory.join("striped");
    if place.rank() == 0 {
        fs::write(&path, vec![7; 100_000]).expect("written");
    }
    let inode = |path| fs::metadata(path).expect("it is there").ino();
    let wait = place.run("barrier;");
    wait.good();
    let before = inode(&path);
    let ran = place.run(
        r#"define pattern {"p", 4, 1k, 3};
        pwrite("striped", "p");
        $h = pfopen("striped", "rw"); pfwrite($h, "p"); pfclose($h);
        $h = pfopen("striped", "crw"); pfwrite($h, 4k, 0, "all"); pfclose($h);
        barrier;"#,
    );
    ran.good();
    assert_eq!(inode(&path), before);
    assert_eq!(fs::metadata(&path).expect("it is there").len(), 100_000);
}

fn trap_24_hints(place: &Stage<'_>) {
    let ran = place.run(
        r#"define hints "wide" = "cb_nodes=1;cb_buffer_size=1048576";
        define pattern {"p", 4, 1k, 3};
        with (hints="wide") pwrite("a", "p");
        with (hints="no_such_hint=7") { $h = pfopen("b", "crw"); pfclose($h); }
        repeat 3 pwrite("a", "p");"#,
    );
    let ran = ran.good();
    let files = &ran.record.mpi_files;
    if place.rank() > 0 {
        return assert!(files.is_empty());
    }
    let requested: Vec<&str> = files.iter().map(|file| file.requested_hints.as_str()).collect();
    assert_eq!(requested, ["cb_nodes=1;cb_buffer_size=1048576", "no_such_hint=7", ""]);
    for file in files {
        println!("{file:?}");
        assert_eq!(file.ranks, 2);
        assert!(file.path.starts_with('/') && !file.file_system.is_empty(), "{file:?}");
        // Open MPI's OMPIO tells back what it was asked for and nothing else.
        let ompio = place.world.shim().library_name().starts_with("Open MPI");
        assert!(!file.effective_hints.is_empty() || ompio, "{file:?}");
    }
    let run = engine::collect::collect(std::slice::from_ref(&ran.record), &ran.plan);
    assert_eq!(&run.evidence.mpi_io, files);
}

fn left_open(place: &Stage<'_>) {
    let ran = place.run(r#"$h = pfopen("f", "crw"); pfwrite($h, 4k, "all");"#);
    assert_eq!(ran.good().done(Op::Pfwrite), (1, 4096));
}

/// Each rank opens, writes by pattern and by number, reads and deletes a file of its own, and need
/// not do it when others do.
fn a_file_of_each(place: &Stage<'_>) {
    let ran = place.run(
        r#"define pattern "own" level 3 = segmented(block=4k, count=3);
        with (comm="self") {
            $h = pfopen("s-$$rank", "crw");
            pwrite("p-$$rank", "own");
            if ($$rank == 1) { $x = pfopen("only", "crw"); pfwrite($x, 1k, 0, "all"); pfclose($x); }
        }
        pfwrite($h, "own");
        repeat $i $$rank + 1 pfwrite($h, 1k, 12k + $i * 1k, "all");
        pfsync($h);
        pfclose($h);
        barrier;
        repeat $i $$size { assert(size("s-$i") == 13k + $i * 1k); assert(size("p-$i") == 12k); }
        assert(size("only") == 1k);
        barrier;
        with (comm="self") { pread("p-$$rank", "own"); pdelete("s-$$rank"); }"#,
    );
    let ran = ran.good();
    assert_eq!(ran.done(Op::Pfopen), (1 + u64::from(place.rank() == 1), 0));
    assert_eq!(ran.done(Op::Pdelete), (1, 0));
}

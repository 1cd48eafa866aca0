//! The same bytes, whatever calls write them.

use crate::{Case, Stage};
use engine::buffer::fill_offset;
use model::Op;

pub const CASES: &[Case] = &[
    ("levels and POSIX write the same file", 4, levels_and_posix),
    ("a pattern begins where the statement says", 4, displaced),
    ("what is written is what is read", 3, reading_back),
    ("every kind of pattern writes the same file", 4, every_kind),
    ("windows of transfers write the same file", 3, windows),
    ("groups have their own geometry", 5, groups),
    ("ranks of the same value have a file", 5, divided),
];

/// The bytes that `data="offset"` puts into a file of this size.
pub fn expected(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    fill_offset(&mut bytes, 0, 42);
    bytes
}

fn levels_and_posix(place: &Stage<'_>) {
    let ran = place.run(
        r#"define pattern {"l0", 7, 1001, 0};
        define pattern {"l1", 7, 1001, 1};
        define pattern {"l2", 7, 1001, 2};
        define pattern {"l3", 7, 1001, 3};
        define pattern {"array", 2, 7, 1001, 3};
        with (data="offset") {
            pwrite("pwrite-0", "l0"); pwrite("pwrite-1", "l1"); pwrite("pwrite-2", "l2");
            pwrite("pwrite-3", "l3"); pwrite("array", "array");
            $h = pfopen("handle", "crw");
            pfwrite($h, "l2"); pfwrite($h, "l0"); pfwrite($h, "l3"); pfwrite($h, "l1");
            pfclose($h);
            with (transfer=300) {
                pwrite("cut-0", "l0"); pwrite("cut-1", "l1"); pwrite("cut-2", "l2"); pwrite("cut-3", "l3");
            }
            $h = pfopen("numbers", "cw");
            repeat $i 7 pfwrite($h, 1001, ($i * $$size + $$rank) * 1001);
            pfclose($h);
            $h = pfopen("together", "cw");
            repeat $i 7 pfwrite($h, 1001, ($i * $$size + $$rank) * 1001, "all");
            pfclose($h);
            $h = fopen("posix", "O_CREAT|O_WRONLY");
            repeat $i 7 fwrite($h, 1001, ($i * $$size + $$rank) * 1001);
            fclose($h);
        }
        barrier;"#,
    );
    let ran = ran.good();
    assert_eq!(ran.done(Op::Pwrite), (9, 9 * 7007));
    assert_eq!(ran.done(Op::Pfwrite), (4 + 14, 6 * 7007));
    let expected = expected(4 * 7007);
    let names = [
        "pwrite-0", "pwrite-1", "pwrite-2", "pwrite-3", "array", "handle", "cut-0", "cut-1",
        "cut-2", "cut-3", "numbers", "together", "posix",
    ];
    for name in names {
        assert!(place.bytes(name) == expected, "{name}");
    }
}

/// The same pattern three times, one behind the other, at every level; what is verified has its place.
fn displaced(place: &Stage<'_>) {
    let mut program = String::from("$all = 7007 * $$size;\n");
    for level in 0..4 {
        program += &format!(
            "define pattern {{\"l{level}\", 7, 1001, {level}}};\n\
             with (data=\"offset\") {{\n\
             $h = pfopen(\"at-{level}\", \"crw\"); repeat $i 3 pfwrite($h, \"l{level}\", $i * $all);\n\
             repeat $i 3 pfread($h, \"l{level}\", $i * $all); pfclose($h);\n\
             }}\n\
             with (verify=true) {{\n\
             $h = pfopen(\"v-{level}\", \"crw\"); repeat $i 3 pfwrite($h, \"l{level}\", $i * $all);\n\
             pfsync($h); barrier; repeat $i 3 pfread($h, \"l{level}\", $i * $all); pfclose($h);\n\
             }}\n"
        );
    }
    let ran = place.run(&(program + "barrier;")).good();
    assert_eq!(ran.done(Op::Pfwrite), (4 * 6, 4 * 6 * 7007));
    assert_eq!(ran.done(Op::Pfread), (4 * 6, 4 * 6 * 7007));
    for level in 0..4 {
        assert!(place.bytes(&format!("at-{level}")) == expected(3 * 4 * 7007), "level {level}");
    }
}

/// Kinds of patterns that do not write a byte twice.
const KINDS: &[&str] = &[
    "segmented(block=1000, count=5)",
    "sequential(block=1000, count=5)",
    "strided(block=1000, count=5, header=77)",
    "nested(block=64, counts=[4, 3], strides=[256, 2048])",
    "random(min=10, max=900, count=20)",
    "tiled(nx=2, ny=2, sx=9, sy=7, elem=32, header=5)",
    "subarray(sizes=[8, 12], grid=[2, 2], elem=16)",
    "blockcyclic(sizes=[16, 16], blocks=[2, 4], grid=[2, 2], elem=8)",
    "multipartition(n=8, elem=40)",
    "flash(blocks=3, nxb=4, nyb=4, nzb=4, vars=3)",
    "mesh(vertices=100, values=3, partition=\"random\")",
];

/// All levels, and pwrite of POSIX, by all kinds and by a generator whose offsets descend.
fn every_kind(place: &Stage<'_>) {
    let generator = "{ repeat $i 10 extent(((9 - $i) * $$gsize + $$grank) * 333, 333); }";
    let kinds = KINDS.iter().map(|kind| format!("= {kind};")).chain([generator.to_string()]);
    for (k, kind) in kinds.enumerate() {
        // MPI leaves open what holes of a new file hold, so there are none.
        let mut program = String::new();
        for name in ["0", "1", "2", "3", "h", "d", "posix"] {
            program += &format!(
                "master {{ $p = fopen(\"{k}-{name}\", \"w\"); ftruncate($p, 64k); fclose($p); }}\n"
            );
        }
        program += "barrier;\n";
        for level in 0..4 {
            program += &format!("define pattern \"l{level}\" level {level} {kind}\n");
        }
        program += "with (data=\"offset\") {\n";
        for level in 0..4 {
            program += &format!("pwrite(\"{k}-{level}\", \"l{level}\");\n");
        }
        program += &format!(
            "$h = pfopen(\"{k}-h\", \"cw\"); pfwrite($h, \"l3\"); pfwrite($h, \"l2\"); pfclose($h);\n\
             with (depth=3) pwrite(\"{k}-d\", \"l1\");\n\
             $p = fopen(\"{k}-posix\", \"O_CREAT|O_WRONLY\"); fwrite($p, \"l0\"); fclose($p); }}\n\
             barrier; repeat 2 {{ pread(\"{k}-0\", \"l3\"); pread(\"{k}-3\", \"l0\"); }} barrier;"
        );
        place.run(&program).good();
        let posix = place.bytes(&format!("{k}-posix"));
        assert!(posix.iter().any(|byte| *byte != 0));
        for calls in ["0", "1", "2", "3", "h", "d"] {
            assert!(place.bytes(&format!("{k}-{calls}")) == posix, "{kind}: {calls}");
        }
    }
}

/// Reads move the bytes that were asked for; beyond the end they are short.
fn reading_back(place: &Stage<'_>) {
    let ran = place.run(
        r#"define pattern {"l0", 5, 4k, 0}; define pattern {"l1", 5, 4k, 1};
        define pattern {"l2", 5, 4k, 2}; define pattern {"l3", 5, 4k, 3};
        define pattern {"more", 6, 4k, 1};
        pwrite("f", "l3"); barrier;
        pread("f", "l0"); pread("f", "l1"); pread("f", "l2"); pread("f", "l3");
        $h = pfopen("f", "r");
        pfread($h, "l3"); pfread($h, "l2"); with (depth=3) { pfread($h, "l0"); pfread($h, "l1"); }
        pfread($h, "more");
        pfread($h, 4k, 100k);
        pfclose($h);"#,
    );
    let ran = ran.finished();
    assert_eq!(ran.failures(), Vec::<String>::new());
    assert_eq!(ran.done(Op::Pread), (4, 4 * 20480));
    assert_eq!(ran.done(Op::Pfread), (6, 5 * 20480));
    let short: u64 = ran.record.stats.iter().map(|stat| stat.figures.short).sum();
    assert_eq!(short, 2);
}

/// Non-blocking calls, several at a time: independent, collective, and of uneven numbers.
fn windows(place: &Stage<'_>) {
    let ran = place.run(
        r#"define pattern {"l0", 9, 777, 0}; define pattern {"l1", 9, 777, 1};
        with (data="offset", depth=4) {
            pwrite("zero", "l0"); pwrite("one", "l1");
            with (transfer=100) { pwrite("zero-cut", "l0"); pwrite("one-cut", "l1"); }
            $h = pfopen("number", "cw");
            with (transfer=500) pfwrite($h, 6993, $$rank * 6993);
            pfclose($h);
            $h = pfopen("uneven", "cw");
            with (transfer=500) pfwrite($h, 6993 * ($$rank % 2), "all");
            pfclose($h);
        }
        barrier;"#,
    );
    ran.good();
    let expected = expected(3 * 6993);
    for name in ["zero", "one", "zero-cut", "one-cut", "number"] {
        assert!(place.bytes(name) == expected, "{name}");
    }
    assert!(place.bytes("uneven") == expected[..6993]);
}

/// A file of the ranks with the same value: its communicator is theirs alone.
fn divided(place: &Stage<'_>) {
    let ran = place.run(
        r#"define pattern {"p", 4, 1k, 3};
        $odd = $$rank % 2;
        with (data="offset") split ($odd) {
            pwrite("odd-$odd", "p");
            $h = pfopen("ordered-$odd", "cw"); pfwrite($h, 1k, $$grank * 1k, "all"); pfclose($h);
        }
        barrier;"#,
    );
    assert_eq!(ran.good().done(Op::Pwrite), (1, 4096));
    for (odd, members) in [(0, 3), (1, 2)] {
        assert!(place.bytes(&format!("odd-{odd}")) == expected(members * 4096), "{odd}");
        assert!(place.bytes(&format!("ordered-{odd}")) == expected(members * 1024), "{odd}");
    }
}

/// Member and number of members are those of the active group, or of the group that is named.
fn groups(place: &Stage<'_>) {
    let ran = place.run(
        r#"define groups {"a":D = 2, "b":D = 3};
        define pattern {"p", 4, 1k, 3}; define pattern {"q", 4, 1k, 0}; define pattern {"of-b", 4, 1k, 3, "b"};
        with (data="offset") {
            group "a" pwrite("a", "p");
            group "b" { pwrite("b", "p"); $h = pfopen("h", "cw"); pfwrite($h, "q"); pfclose($h); }
            pwrite("named", "p", "b");
            pwrite("own", "of-b");
        }
        barrier;"#,
    );
    let ran = ran.good();
    let of_b = place.rank() >= 2;
    // Who is not a member calls too, without bytes, unless the call itself is the group's.
    assert_eq!(ran.done(Op::Pwrite), if of_b { (3, 3 * 4096) } else { (2, 4096) });
    for (name, members) in [("a", 2), ("b", 3), ("h", 3), ("named", 3), ("own", 3)] {
        assert!(place.bytes(name) == expected(members * 4096), "{name}");
    }
}

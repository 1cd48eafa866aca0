//! `with (verify=true)` and MPI-IO: every level and way writes what every other one checks.

use crate::{Case, Stage};
use engine::collect::collect;
use std::fs;

pub const CASES: &[Case] = &[
    ("what any level writes any level verifies", 3, levels),
    ("every transfer under way is checked", 2, all_checked),
    ("wrong bytes are found at every level", 3, wrong),
    ("what a rank wrote and the file no longer has is lost", 2, lost),
    ("data without a place is not verified", 2, no_place),
];

const PATTERNS: &str = r#"
    define pattern {"l0", 7, 1001, 0};
    define pattern {"l1", 7, 1001, 1};
    define pattern {"l2", 7, 1001, 2};
    define pattern {"l3", 7, 1001, 3};
    define pattern {"array", 2, 7, 1001, 3};
"#;

fn levels(place: &Stage<'_>) {
    let text = r#"
        with (verify=true) {
            repeat 3 {
                pwrite("f", "l0"); barrier; pread("f", "l3"); barrier;
                pwrite("f", "l1"); barrier; pread("f", "l2"); barrier;
                pwrite("f", "l2"); barrier; pread("f", "l1"); barrier;
                pwrite("f", "l3"); barrier; pread("f", "l0"); barrier;
                pwrite("a", "array"); barrier; pread("a", "array"); barrier;
            }
            with (transfer=300) { pwrite("f", "l2"); barrier; pread("f", "l3"); barrier; }
            with (transfer=300, depth=4) { pwrite("f", "l0"); barrier; pread("f", "l0"); barrier; }
            $h = pfopen("f", "crw");
            pfwrite($h, "l2"); barrier;
            pfread($h, 2000, (($$rank + 1) % $$size) * 2000); barrier;
            pfwrite($h, 2000, $$rank * 2000); barrier;
            pfread($h, 2000, (($$rank + 1) % $$size) * 2000, "all");
            pfwrite($h, 2000, $$rank * 1500, "all"); pfsync($h); barrier;
            pfread($h, 2000, (($$rank + 1) % $$size) * 1000, "all");
            pfclose($h);
            read("f");
        }
        barrier;"#;
    place.run(&format!("{PATTERNS}{text}")).good();
}

/// Several transfers end one after the other: none is left out, in any order of reading.
fn all_checked(place: &Stage<'_>) {
    const BYTES: u64 = 40 * 1000;
    let text = "with (verify=true, transfer=1000, depth=4) {
        $h = pfopen(\"f\", \"crw\");
        repeat 3 { pfwrite($h, 40000, $$rank * 40000); pfread($h, 40000, $$rank * 40000); }
        pfclose($h); }";
    let ran = place.run(text).good();
    let checked: u64 = collect(&[ran.record], &ran.plan)
        .evidence
        .labels
        .iter()
        .filter_map(|label| Some(label.verified.as_ref()?.checked_bytes))
        .sum();
    assert_eq!(checked, 3 * BYTES);
}

fn wrong(place: &Stage<'_>) {
    place.run(&format!("{PATTERNS} with (verify=true) pwrite(\"f\", \"l3\"); barrier;")).good();
    if place.rank() == 0 {
        let path = place.directory.join("f");
        let mut bytes = fs::read(&path).expect("the file");
        // The fourth piece is rank 0's.
        bytes[3 * 1001 + 500] ^= 1;
        fs::write(path, bytes).expect("a change");
    }
    for level in 0..4 {
        let ran = place.run(&format!(
            "{PATTERNS} barrier; with (verify=true) pread(\"f\", \"l{level}\"); barrier;"
        ));
        let ran = ran.finished();
        let failures = ran.failures();
        if place.rank() == 0 {
            assert_eq!(failures, ["pread EBADMSG"]);
            let detail = &ran.record.failures[0].detail;
            assert!(detail.contains("other data at offset 3503 (1 byte)"), "{detail}");
        } else {
            assert_eq!(failures, Vec::<String>::new());
        }
    }
}

/// Rank 0 cuts the file, so it knows that its bytes are gone; rank 1 wrote behind the cut, too.
fn lost(place: &Stage<'_>) {
    let read = |op: &str, statement: &str| {
        let ran = place.run(&format!(
            "{PATTERNS} $h = pfopen(\"f\", \"crw\"); with (verify=true) {{ pfwrite($h, \"l0\"); barrier;
             if ($$rank == 0) truncate(\"f\", 5000); barrier; {statement} barrier; }} pfclose($h); barrier;"
        ));
        let ran = ran.finished();
        match place.rank() {
            0 => assert_eq!(ran.failures(), Vec::<String>::new(), "{statement}"),
            _ => {
                assert_eq!(ran.failures(), [format!("{op} EBADMSG")], "{statement}");
                let detail = &ran.record.failures[0].detail;
                assert!(
                    detail.contains("the file ends before offset 5005 "),
                    "{statement}: {detail}"
                );
            }
        }
    };
    for level in 0..4 {
        read("pread", &format!("pread(\"f\", \"l{level}\");"));
        read("pfread", &format!("pfread($h, \"l{level}\");"));
    }
    for options in ["depth=1", "depth=3", "transfer=1001, depth=3"] {
        read("pfread", &format!("with ({options}) pfread($h, \"l0\");"));
        read("pfread", &format!("with ({options}) pfread($h, 14014, 0);"));
        read("pfread", &format!("with ({options}) pfread($h, 14014, 0, \"all\");"));
    }
}

fn no_place(place: &Stage<'_>) {
    let text = "$h = pfopen(\"s\", \"crw\"); with (verify=true) pfwrite($h, 100, \"shared\"); pfclose($h);";
    let ran = place.run(text);
    assert!(ran.record.errors.iter().any(|error| error.1.contains("verify=true needs places")));
}

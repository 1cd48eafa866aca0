//! Reads that ask for more than the file has are short, whatever the library says.

use crate::{Case, Stage};
use model::Op;

pub const CASES: &[Case] = &[
    ("reads beyond the end of a file are short", 2, beyond_the_end),
    ("a file that was cut or grew is looked at again", 2, cut_and_grown),
    ("a file that others have cut does not hang what is under way", 2, cut_elsewhere),
];

/// Bytes and number of short reads of an operation.
fn read(place: &Stage<'_>, op: Op, statements: &str) -> (u64, u64) {
    let head = r#"define pattern "a" level 0 = strided(block=1k, count=4);
        define pattern "b" level 1 = strided(block=1k, count=4);
        define pattern "c" level 2 = strided(block=1k, count=4);
        define pattern "d" level 3 = strided(block=1k, count=4);
        $h = pfopen("file", "crw");
        pfsetsize($h, 0); barrier;
        pfwrite($h, 1k + 256, $$rank * 1280, "all"); barrier;"#;
    let ran = place.run(&format!("{head} {statements} pfclose($h); barrier;")).finished();
    assert_eq!(ran.failures(), Vec::<String>::new());
    let short =
        ran.record.stats.iter().filter(|stat| stat.op == op).map(|stat| stat.figures.short).sum();
    (ran.done(op).1, short)
}

/// 2.5 KiB: a pattern of both ranks' pieces by turns has 1.5 KiB of rank 0 in it, 1 KiB of rank 1.
fn beyond_the_end(place: &Stage<'_>) {
    let own = if place.rank() == 0 { 1536 } else { 1024 };
    for pattern in ["a", "b", "c", "d"] {
        let found = read(place, Op::Pfread, &format!("pfread($h, \"{pattern}\");"));
        assert_eq!(found, (own, 1), "pfread of {pattern}");
        let found = read(place, Op::Pfread, &format!("with (depth=3) pfread($h, \"{pattern}\");"));
        assert_eq!(found, (own, 1), "pfread of {pattern}, several at a time");
        let found = read(place, Op::Pread, &format!("pread(\"file\", \"{pattern}\");"));
        assert_eq!(found, (own, 1), "pread of {pattern}");
    }
    for (call, bytes, short) in [
        ("pfread($h, 1m, 0, \"all\");", 2560, 1),
        ("pfread($h, 1m, 1k);", 1536, 1),
        ("pfread($h, 1m, 1m, \"all\");", 0, 1),
        ("with (transfer=1k, depth=2) pfread($h, 8k, 0, \"all\");", 2560, 1),
        ("with (transfer=1k, depth=2) pfread($h, 8k, 0);", 2560, 1),
        ("pfread($h, 2560, 0, \"all\");", 2560, 0),
        ("pfseek($h, 2k); pfread($h, 1k); pfread($h, 1k);", 512, 2),
    ] {
        assert_eq!(read(place, Op::Pfread, call), (bytes, short), "{call}");
    }
}

fn cut_and_grown(place: &Stage<'_>) {
    let text = "pfread($h, 2560, 0, \"all\"); pfsetsize($h, 1k); pfread($h, 2560, 0, \"all\"); \
                pfwrite($h, 1k, (1 + $$rank) * 1k, \"all\"); barrier; pfread($h, 2560, 0, \"all\");";
    assert_eq!(read(place, Op::Pfread, text), (2560 + 1024 + 2560, 1));
}

/// Through another handle, and by its name.
fn cut_elsewhere(place: &Stage<'_>) {
    for cut in [
        "$g = pfopen(\"file\", \"rw\"); pfsetsize($g, 1k); pfclose($g);",
        "if ($$rank == 0) truncate(\"file\", 1k);",
    ] {
        let text = format!(
            "pfread($h, 2560, 0, \"all\"); barrier; {cut} barrier; \
             with (transfer=256, depth=4) pfread($h, 2560, 0);"
        );
        assert_eq!(read(place, Op::Pfread, &text), (2560 + 1024, 1), "{cut}");
    }
}

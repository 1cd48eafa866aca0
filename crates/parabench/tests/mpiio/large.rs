//! Trap 26: byte counts beyond 2^31 in one call.

use crate::{Case, Stage};
use model::Op;
use std::fs;

pub const CASES: &[Case] = &[
    ("trap 26: more than 2^31 bytes in one call", 1, trap_26_large_counts),
    ("trap 26: more than 2^31 bytes by one of two members", 2, trap_26_uneven),
];

const LARGE: u64 = (1 << 31) + 4096;

fn trap_26_large_counts(place: &Stage<'_>) {
    let ran = place.run(
        r#"define pattern {"p", 1, (2 * 1024 ^ 3 + 4096), 3};
        $h = pfopen("f", "crw");
        with (data="zero") pfwrite($h, 2 * 1024 ^ 3 + 4096, 4096);
        pfread($h, 2 * 1024 ^ 3 + 4096, 4096);
        pfclose($h);
        pread("f", "p");"#,
    );
    let ran = ran.good();
    assert_eq!(ran.done(Op::Pfwrite), (1, LARGE));
    assert_eq!(ran.done(Op::Pfread), (1, LARGE));
    assert_eq!(ran.done(Op::Pread), (1, LARGE));
    assert_eq!(fs::metadata(place.directory.join("f")).expect("made").len(), LARGE + 4096);
}

/// The member with less to write makes as many calls as the other one.
fn trap_26_uneven(place: &Stage<'_>) {
    let ran = place.run(
        r#"$h = pfopen("f", "crw");
        $n = 4096;
        if ($$rank == 0) $n = 2 * 1024 ^ 3 + 4096;
        with (data="zero") pfwrite($h, $n, $$rank * (2 * 1024 ^ 3 + 4096), "all");
        pfclose($h); barrier;"#,
    );
    let bytes = if place.rank() == 0 { LARGE } else { 4096 };
    assert_eq!(ran.good().done(Op::Pfwrite), (1, bytes));
    assert_eq!(fs::metadata(place.directory.join("f")).expect("made").len(), LARGE + 4096);
}

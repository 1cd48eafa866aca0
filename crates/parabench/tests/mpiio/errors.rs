//! Trap 27: MPI errors are failed operations with class, text, rank and line; they enter no rate.

use crate::{Case, Place};
use engine::comm::End;
use model::Op;

pub const CASES: &[Case] = &[
    ("trap 27: errors of MPI are failures", 2, trap_27_errors_are_failures),
    ("members that do not open the same file", 3, different_paths),
    ("a rank that fails releases the others from MPI-IO", 3, released),
    ("what cannot be opened", 2, cannot_open),
    ("the marker cannot be touched", 2, marker),
];

fn trap_27_errors_are_failures(place: &Place<'_>) {
    let ran = place.run(
        r#"define pattern {"p", 4, 1k, 3};
        pread("missing", "p");
        $h = pfopen("missing", "r");
        pfread($h, "p"); pfread($h, 4k, 0); pfsync($h); pfsetsize($h, 1); pfseek($h, 0);
        pfclose($h);
        $h = pfopen("exists", "cw"); pfwrite($h, 4k, $$rank * 4k); pfclose($h);
        $h = pfopen("exists", "cxw");
        pfclose($h);
        $h = pfopen("exists", "r");
        pfwrite($h, 4k, 0); pfwrite($h, "p");
        pfclose($h);
        pdelete("missing");
        with (expect="ENOENT") pread("missing", "p");
        barrier;"#,
    );
    let ran = ran.finished();
    let failures = ran.failures();
    let bad = |op: &str| format!("{op} EBADF");
    let mut expected = vec!["pread ENOENT".to_string(), "pfopen ENOENT".to_string()];
    expected.extend(["pfread", "pfread", "pfsync", "pfsetsize", "pfseek", "pfclose"].map(bad));
    expected.extend(["pfopen EEXIST".to_string(), bad("pfclose")]);
    assert_eq!(failures[..expected.len()], expected);
    // What a library says about writing to a file open for reading is its own.
    let rest = &failures[expected.len()..];
    assert!(rest[0].starts_with("pfwrite E") && rest[1].starts_with("pfwrite E"), "{rest:?}");
    let deleted = if place.rank() == 0 { &["pdelete ENOENT".to_string()][..] } else { &[] };
    assert_eq!(&rest[2..], deleted);
    let of = |op: Op| ran.record.failures.iter().find(|failure| failure.op == op).expect("one");
    let pread = of(Op::Pread);
    assert!(pread.detail.starts_with("MPI_File_open: MPI_ERR_NO_SUCH_FILE: "), "{}", pread.detail);
    assert_eq!(pread.path, b"missing");
    assert_eq!(ran.done(Op::Pread), (0, 0));
    assert_eq!(ran.done(Op::Pfwrite), (1, 4096));
    let expected: u64 = ran.record.stats.iter().map(|stat| stat.expected).sum();
    assert_eq!(expected, 1);
    let run = engine::record::collect(std::slice::from_ref(&ran.record), &ran.plan);
    let failure = &run.failures[0];
    assert!(
        failure.message.starts_with("ENOENT: ") && failure.message.contains("MPI_ERR_NO_SUCH_FILE")
    );
    assert_eq!((failure.rank, failure.place.as_str()), (place.rank(), "test.ppl:2:9"));
}

fn different_paths(place: &Place<'_>) {
    let ran = place.run(
        r#"$h = pfopen("file-$$rank", "crw");
        pfwrite($h, 4k, "all");
        pfclose($h);
        barrier;"#,
    );
    let ran = ran.finished();
    assert_eq!(ran.failures(), ["pfopen EINVAL", "pfwrite EBADF", "pfclose EBADF"]);
    assert!(ran.record.failures[0].detail.contains("different paths"));
    assert_eq!(std::fs::read_dir(&place.directory).expect("readable").count(), 0);
}

/// Rank 1 never comes; nobody waits for it inside MPI.
fn released(place: &Place<'_>) {
    let ran = place.run(
        r#"define pattern {"p", 4, 1k, 3};
        $h = pfopen("f", "crw");
        assert($$rank != 1, "this rank gives up");
        pfwrite($h, "p");
        pfclose($h);"#,
    );
    let end = if place.rank() == 1 { End::Failed } else { End::Released };
    assert_eq!(ran.outcome.end, end, "{:?}", ran.record.errors);
    let (_, message) = ran.record.errors.first().expect("a reason");
    let told = if place.rank() == 1 { "this rank gives up" } else { "rank 1 has failed" };
    assert!(message.contains(told), "{message}");
}

/// What cannot be opened fails on all members, and so does what is done with the handle.
fn cannot_open(place: &Place<'_>) {
    if place.rank() == 0 {
        std::fs::create_dir(place.directory.join("directory")).expect("made");
    }
    let ran = place.run(
        r#"barrier; $h = pfopen("directory", "crw"); pfwrite($h, 1); pfclose($h);
        $h = pfopen("none/file", "crw"); pfclose($h);"#,
    );
    let failures = ran.finished().failures();
    assert_eq!(failures.len(), 5, "{failures:?}");
    assert!(failures[0].starts_with("pfopen E") && failures[3].starts_with("pfopen E"));
    assert_eq!(failures[1..3], ["pfwrite EBADF", "pfclose EBADF"]);
}

fn marker(place: &Place<'_>) {
    let ran = place.run(
        r#"define pattern {"p", 4, 1k, 3};
        pwrite(".parabench", "p"); pdelete(".parabench");"#,
    );
    let failures = ran.finished().failures();
    assert_eq!(failures[0], "pwrite EPERM");
    assert_eq!(failures.len(), if place.rank() == 0 { 2 } else { 1 });
    assert!(!place.directory.join(".parabench").exists());
}

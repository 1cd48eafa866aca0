//! Trap 27: MPI errors are failed operations with class, text, rank and line; they enter no rate.

use crate::{Case, Stage};
use engine::comm::End;
use model::Op;

pub const CASES: &[Case] = &[
    ("trap 27: errors of MPI are failures", 2, trap_27_errors_are_failures),
    ("members that do not open the same file", 3, different_paths),
    ("members that give different sizes", 3, different_sizes),
    ("hints that would end the library", 2, hints),
    ("a rank that fails releases the others from MPI-IO", 3, released),
    ("a smaller group than opened the file", 4, smaller_group),
    ("members at different calls", 3, different_calls),
    ("members that finish or wait elsewhere", 3, never_come),
    ("what cannot be opened", 2, cannot_open),
    ("the marker cannot be touched", 2, marker),
];

fn trap_27_errors_are_failures(place: &Stage<'_>) {
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
    let expected: u64 = ran.record.stats.iter().map(|stat| stat.figures.expected).sum();
    assert_eq!(expected, 1);
    let run = engine::collect::collect(std::slice::from_ref(&ran.record), &ran.plan);
    let failure = &run.failures[0];
    assert!(
        failure.message.starts_with("ENOENT: ") && failure.message.contains("MPI_ERR_NO_SUCH_FILE")
    );
    assert_eq!((failure.rank, failure.place.as_str()), (place.rank(), "test.ppl:2:9"));
}

fn different_paths(place: &Stage<'_>) {
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

fn different_sizes(place: &Stage<'_>) {
    let ran = place.run(
        r#"$h = pfopen("f", "crw");
        pfsetsize($h, 4k);
        pfsetsize($h, $$rank * 100 + 5);
        pfpreallocate($h, 8k + $$rank);
        pfpreallocate($h, 8k);
        pfclose($h);
        barrier; assert(size("f") == 8k);"#,
    );
    let ran = ran.finished();
    assert_eq!(ran.failures(), ["pfsetsize EINVAL", "pfpreallocate EINVAL"]);
    let told = &ran.record.failures[0].detail;
    assert!(told.contains("different sizes, from 5 to 205"), "{told}");
}

/// Open MPI divides by such a number, MPICH waits for ever; the checker cannot see this one.
fn hints(place: &Stage<'_>) {
    for (hints, told) in [
        ("cb_nodes=$n", "\"cb_nodes=0\" needs a whole number from 1"),
        ("romio_ds_write=enable;ind_wr_buffer_size=$n", "\"ind_wr_buffer_size=0\" needs"),
        ("cb_buffer_size=-$n", "\"cb_buffer_size=-0\" needs"),
    ] {
        let ran = place.run(&format!(
            r#"define pattern "p" level 2 = strided(block=1k, count=3);
            $n = $$rank - $$rank;
            with (hints="{hints}") pwrite("f", "p");"#
        ));
        assert_eq!(ran.outcome.end, End::Failed, "{hints}");
        let (_, message) = ran.record.errors.first().expect("a reason");
        assert!(message.contains("these hints cannot be used: "), "{message}");
        assert!(message.contains(told), "{message}");
    }
}

/// Rank 1 never comes; nobody waits for it inside MPI.
fn released(place: &Stage<'_>) {
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

/// The pattern is written by two of the four that opened the file. (`$k` hides it from the checker.)
fn smaller_group(place: &Stage<'_>) {
    let ran = place.run(
        r#"define pattern "p" level 1 = strided(block=1k, count=3);
        define groups {"io" = 2, "rest":D};
        $h = pfopen("f", "crw");
        $k = $h;
        group "io" pfwrite($k, "p");
        pfclose($h);"#,
    );
    assert_eq!(ran.outcome.end, End::Released, "{:?}", ran.record.errors);
    assert_eq!(ran.done(Op::Pfopen), (1, 0), "what was measured is kept");
    let (_, message) = ran.record.errors.first().expect("a reason");
    let op = if place.rank() < 2 { "pfwrite" } else { "pfclose" };
    assert_eq!(
        *message,
        format!("{op} cannot be met: other members of the group have come to another statement")
    );
    if place.rank() == 0 {
        assert_eq!(ran.outcome.all.ends, [const { End::Released }; 4]);
    }
}

/// Each of them would hang inside MPI, or meet a barrier instead.
fn different_calls(place: &Stage<'_>) {
    const HEAD: &str = r#"define pattern "one" level 1 = strided(block=1k, count=3);
        define pattern "three" level 3 = strided(block=1k, count=3);
        $h = pfopen("f", "crw"); $g = pfopen("g", "crw"); $r = $$rank;"#;
    for (both, stuck) in [
        (r#"if ($r == 0) pfwrite($h, 4k, 0, "all"); else barrier;"#, ["pfwrite", ""]),
        (r#"if ($r == 0) pfwrite($h, "one"); else pfwrite($h, "three");"#, ["pfwrite"; 2]),
        (r#"if ($r == 0) pfwrite($h, "one"); else pfread($h, "one");"#, ["pfwrite", "pfread"]),
        (r#"if ($r == 0) pfsync($g); else pfsync($h);"#, ["pfsync"; 2]),
        (
            r#"if ($r == 0) pfwrite($h, 4k, "all"); else pfwrite($h, 4k, "ordered");"#,
            ["pfwrite"; 2],
        ),
        (r#"if ($r == 0) with (fsync="close") pfclose($h); else pfclose($h);"#, ["pfclose"; 2]),
        (r#"if ($r == 0) pwrite("x", "one"); else pread("x", "one");"#, ["pwrite", "pread"]),
        (r#"time["t", sync] if ($r == 0) pfsetsize($h, 1k);"#, ["pfsetsize", ""]),
    ] {
        let ran = place.run(&format!("{HEAD} {both} pfclose($h);"));
        assert_eq!(ran.outcome.end, End::Released, "{both}: {:?}", ran.record.errors);
        // Each member names its own statement.
        let op = stuck[usize::from(place.rank() > 0)];
        let (_, message) = ran.record.errors.first().expect("a reason");
        assert!(message.contains(if op.is_empty() { "barrier" } else { op }), "{both}: {message}");
    }
}

/// Members that have finished, or wait for what this call stands before.
fn never_come(place: &Stage<'_>) {
    let ran = place.run(
        r#"$h = pfopen("f", "crw"); $r = $$rank;
        if ($r == 0) pfwrite($h, 4k, 0, "all");"#,
    );
    let (end, reason) = match place.rank() {
        0 => (End::Released, Some("pfwrite cannot be met: rank 1 has finished")),
        _ => (End::Finished, None),
    };
    assert_eq!(ran.outcome.end, end);
    assert_eq!(ran.record.errors.first().map(|error| error.1.as_str()), reason);
    let ran = place.run(
        r#"$h = pfopen("g", "crw"); $r = $$rank;
        if ($r == 2) wait("go");
        pfwrite($h, 4k, 0, "all"); signal("go"); pfclose($h);"#,
    );
    assert_eq!(ran.outcome.end, End::Released);
    if place.rank() == 0 {
        let told: Vec<&str> =
            ran.outcome.all.deadlock.iter().map(|stuck| stuck.what.as_str()).collect();
        let pfwrite = "the other members of pfwrite";
        assert_eq!(told, [pfwrite, pfwrite, "the signal \"go\" (0 of 1)"]);
    }
}

/// What cannot be opened fails on all members, and so does what is done with the handle.
fn cannot_open(place: &Stage<'_>) {
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

fn marker(place: &Stage<'_>) {
    let ran = place.run(
        r#"define pattern {"p", 4, 1k, 3};
        pwrite(".parabench", "p"); pdelete(".parabench");"#,
    );
    let failures = ran.finished().failures();
    assert_eq!(failures[0], "pwrite EPERM");
    assert_eq!(failures.len(), if place.rank() == 0 { 2 } else { 1 });
    assert!(!place.directory.join(".parabench").exists());
}

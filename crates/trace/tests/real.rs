//! Logs of real applications, with counts that were found by other means.

use model::event::{FLAG_EXPECTED, FLAG_UNPLACED, NO_ID};
use model::{Op, run::TraceGap};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use trace::sort::Traced;
use trace::{Options, Told, Which, import};

fn log(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real").join(name)
}

fn events(name: &str) -> (Vec<Traced>, Told) {
    let imported = import(&[log(name)], &Options { format: None, which: Which::Data }).unwrap();
    (imported.events.map(Result::unwrap).collect(), imported.told)
}

fn counts(events: &[Traced]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for traced in events {
        *counts.entry(Op::from_u8(traced.event.op).unwrap().name()).or_default() += 1;
    }
    counts
}

fn bytes(events: &[Traced], op: Op) -> u64 {
    let of_op = events.iter().filter(|traced| traced.event.op == op as u8);
    of_op.map(|traced| traced.event.done_bytes).sum()
}

fn gap<'a>(told: &'a Told, code: &str) -> Option<&'a TraceGap> {
    told.gaps.iter().find(|gap| gap.code == code)
}

/// Of the log without lines that name /sys, /dev or /proc:
/// `grep -cE ' (write|pwrite64)\([0-9]+</data'` 2056, `' pread64\('` 144, `' fdatasync\('` 104,
/// `' fstat\('` 1272 and `AT_EMPTY_PATH` 8, `' openat\('` 136, `' unlink\('` 40, `' rename\('` 8,
/// `' mkdir\('` 8, `' rmdir\('` 8, `' ftruncate\('` 16, `' readlink\('` 352, `getdents64.* 0$` 8.
/// Bytes written: `awk` adds what writes to /data gave back, on one line or on two.
#[test]
fn duckdb_has_the_calls_that_grep_finds() {
    let (events, told) = events("duckdb-olap.strace.xz");
    let counts = counts(&events);
    for (op, count) in [
        ("fwrite", 2056),
        ("fread", 144),
        ("fdatasync", 104),
        ("fstat", 1280),
        ("fopen", 136),
        ("delete", 40),
        ("rename", 8),
        ("mkdir", 8),
        ("rmdir", 8),
        ("ftruncate", 16),
        ("readlink", 352),
        ("readdir", 8),
    ] {
        assert_eq!(counts[op], count, "{op}");
    }
    assert_eq!(gap(&told, "no-operation").unwrap().says.rsplit(": ").next(), Some("fcntl 56"));
    assert_eq!(gap(&told, "unparsed-lines"), None);
}

/// Every transfer has its place: the write-ahead logs are appended to from their creation on, and
/// `fstat` shows how long they are; what is read of a file was written before.
#[test]
fn duckdb_tells_where_every_byte_went() {
    let (events, told) = events("duckdb-olap.strace.xz");
    let transfers = |op: Op| events.iter().filter(move |traced| traced.event.op == op as u8);
    assert!(transfers(Op::Fwrite).all(|traced| traced.event.flags & FLAG_UNPLACED == 0));
    assert!(transfers(Op::Fwrite).all(|traced| traced.details.instance != NO_ID));
    let wal = |traced: &&Traced| told.paths[traced.event.path as usize].ends_with(b".wal");
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    let mut appended: Vec<&Traced> = transfers(Op::Fwrite).filter(wal).collect();
    appended.sort_by_key(|traced| traced.event.start_ns);
    for traced in appended {
        let end = ends.entry(traced.details.file).or_default();
        assert_eq!(traced.event.offset_bytes, *end, "line {}", traced.details.line);
        *end += traced.event.done_bytes;
    }
    assert!(ends.len() >= 8, "{ends:?}");
    let written: BTreeSet<u32> = transfers(Op::Fwrite).map(|traced| traced.details.file).collect();
    assert!(transfers(Op::Fread).all(|traced| written.contains(&traced.details.file)));
    let expected = events.iter().filter(|traced| traced.event.flags & FLAG_EXPECTED != 0).count();
    assert_eq!(expected, 486 + 32);
    assert_eq!(bytes(&events, Op::Fwrite), 137_478_284);
}

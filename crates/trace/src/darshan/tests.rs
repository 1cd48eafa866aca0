//! The same job in every format, byte order and compression is the same run.

use super::testing::{Form, Module, log};
use crate::import::from_inputs;
use crate::selection::Selection;
use crate::{Options, input};
use model::Op;
use proptest::prelude::*;
use std::io::Cursor;

const FILE: u64 = 7;
const RANK: u64 = 1;

/// A record of counters and times; those that are not named are 0.
fn record(sizes: (usize, usize), counters: &[(usize, u64)], times: &[(usize, f64)]) -> Vec<u64> {
    let mut words = vec![0; 2 + sizes.0 + sizes.1];
    (words[0], words[1]) = (FILE, RANK);
    counters.iter().for_each(|(at, count)| words[2 + at] = *count);
    times.iter().for_each(|(at, s)| words[2 + sizes.0 + at] = s.to_bits());
    words
}

/// Writes and reads of a file: offset and length of each.
fn transfers(form: Form, writes: &[(u64, u64)], reads: &[(u64, u64)]) -> Vec<u64> {
    let mut words = vec![FILE, RANK, 0, form.text("node1")];
    words.resize(3 + 8, 0);
    words.extend([writes.len() as u64, reads.len() as u64]);
    for (at, (offset, length)) in writes.iter().chain(reads).enumerate() {
        let start_s = at as f64 + 0.5;
        words.extend([*offset, *length, start_s.to_bits(), (start_s + 0.25).to_bits()]);
    }
    words
}

/// Times of reads, writes and metadata calls, in seconds.
const KIND_TIMES: [(usize, f64); 3] = [(8, 0.25), (9, 0.5), (10, 99.25)];

/// Three opens, two stats, one fsync, a rename where it is counted: places by darshan-posix-log-format.h.
fn posix(version: u32) -> Module {
    let words = match version {
        // Without two of the times that later versions have.
        2 => record((64, 15), &[(0, 3), (4, 2), (6, 1)], &[(6, 0.25), (7, 0.5), (8, 99.25)]),
        3 => record((64, 17), &[(0, 3), (4, 2), (6, 1)], &KIND_TIMES),
        // Five opens with a fileno and a dup.
        _ => record((69, 17), &[(0, 5), (1, 1), (2, 1), (6, 2), (8, 1)], &KIND_TIMES),
    };
    Module { name: "POSIX", version, words }
}

/// Four writes of 1000 bytes together in 2 s.
fn stdio(version: u32) -> Module {
    let times = [(1, 2.0), (5, 0.5), (9, 3.0)];
    let words = match version {
        1 => record((13, 15), &[(0, 1), (2, 4), (5, 1000)], &times),
        _ => record((14, 15), &[(0, 2), (1, 1), (3, 4), (6, 1000)], &times),
    };
    Module { name: "STDIO", version, words }
}

/// Two collective opens and an independent one.
fn mpi_io(version: u32) -> Module {
    let times = if version == 3 { 17 } else { 15 };
    Module { name: "MPI-IO", version, words: record((51, times), &[(0, 1), (1, 2)], &[]) }
}

fn job(form: Form, [posix_version, mpi_version, stdio_version]: [u32; 3]) -> Vec<u8> {
    let writes = [(0, 4096), (1 << 40, 10)];
    let modules = [
        posix(posix_version),
        mpi_io(mpi_version),
        stdio(stdio_version),
        Module { name: "DXT_POSIX", version: 1, words: transfers(form, &writes, &[(8, 16)]) },
        Module { name: "DXT_MPIIO", version: 1, words: transfers(form, &[(0, 4096)], &[]) },
    ];
    log(form, 4, &[(9, "/d/other"), (FILE, "/d/out file")], &modules)
}

/// Everything that such a log tells.
fn read(log: Vec<u8>) -> String {
    let input = input::decompressed(Box::new(Cursor::new(log))).expect("a log");
    let options = Options { format: None, which: Selection::All };
    let imported = from_inputs(vec![("log".into(), input)], &options).expect("imported");
    let facts = imported.facts;
    let mut text = format!("{} {:?} {:?}\n", facts.ranks, facts.hosts, facts.started_ns);
    for traced in imported.events {
        let (rank, event) = traced.map(|traced| (traced.rank, traced.event)).expect("an event");
        let path = String::from_utf8_lossy(&facts.paths[event.path as usize]);
        let (op, offset, bytes) =
            (Op::from_u8(event.op).map_or("", Op::name), event.offset_bytes, event.done_bytes);
        let (start, end) = (event.start_ns / 1_000_000, event.end_ns / 1_000_000);
        text += &format!("{rank} {op} {path} @{offset} {bytes} {start}..{end}ms\n");
    }
    for row in &facts.rows {
        let (label, op, count, bytes) = (&row.label, &row.op, row.count, row.bytes);
        text += &format!("{label} {op} {count} {bytes} {:?}\n", row.mean_ns);
    }
    for times in &facts.times {
        let ms = [times.read_ns, times.write_ns, times.meta_ns].map(|ns| ns / 1_000_000);
        text += &format!("{} took {ms:?} ms in reads, writes, metadata\n", times.label);
    }
    for layer in &facts.modules {
        let calls = ["reads", "writes", "stats", "syncs"].map(|name| layer.count(name));
        text += &format!("layer {} of {} file: {calls:?}\n", layer.name, layer.files);
    }
    for file in &facts.files {
        let ms = [file.amounts.read_ns, file.amounts.write_ns, file.amounts.meta_ns];
        let ms = ms.map(|ns| ns.unwrap_or(0) / 1_000_000);
        let bytes = file.amounts.bytes();
        text += &format!("{} in {}: {bytes} bytes, {ms:?} ms\n", file.path, file.module);
    }
    for layer in &facts.moved {
        let bins = |group: &model::run::MovedByRanks| {
            let busy = group.written_bytes.iter().enumerate().filter(|(_, bytes)| **bytes > 0);
            let at = |at: usize| at as u64 * layer.bin_ns / 1_000_000;
            let first = busy.clone().next()?.0;
            let bytes: u64 = busy.map(|(_, bytes)| bytes).sum();
            Some(format!("rank {}: {bytes} from {}ms", group.first_rank, at(first)))
        };
        let bins: Vec<String> = layer.ranks.iter().filter_map(bins).collect();
        text += &format!("{} over time: {bins:?}\n", layer.layer);
    }
    let job = imported.logs[0].job.as_ref().expect("a job");
    text += &format!("{} processes of user {}: {}\n", job.processes, job.uid, job.command);
    for gap in facts.gaps.iter().filter(|gap| gap.code == "layers" || gap.code == "aggregated") {
        text += &format!("{}\n", gap.says);
    }
    text
}

#[test]
fn every_format_byte_order_and_compression_tells_the_same() {
    let expected = read(job(Form::newest(false), [4, 3, 2]));
    expect_test::expect![[r#"
        4 {1: "node1"} Some(1795253061000000000)
        1 fwrite out file @0 4096 500..750ms
        1 fwrite out file @1099511627776 10 1500..1750ms
        1 fread out file @8 16 2500..2750ms
        app fopen 3 0 None
        app fsync 1 0 None
        app stat 2 0 None
        app pfopen 3 0 None
        app/stdio fopen 1 0 None
        app/stdio fwrite 4 1000 Some(500000000.0)
        app took [250, 500, 99250] ms in reads, writes, metadata
        app/stdio took [0, 2000, 0] ms in reads, writes, metadata
        layer POSIX of 1 file: [Some(0), Some(0), Some(2), Some(1)]
        layer MPI-IO of 1 file: [Some(0), Some(0), None, Some(0)]
        layer STDIO of 1 file: [Some(0), Some(4), None, Some(0)]
        /d/out file in POSIX: 0 bytes, [250, 500, 99250] ms
        /d/out file in MPI-IO: 0 bytes, [0, 0, 0] ms
        /d/out file in STDIO: 1000 bytes, [0, 2000, 0] ms
        MPI-IO over time: ["rank 1: 4096 from 458ms"]
        4 processes of user 7: /bin/app -x
        1 transfer of MPI-IO (4096 bytes) was left out: the log has the ones of POSIX that they became
    "#]]
    .assert_eq(&expected);
    for (format, versions) in [
        ((3, 0), [2, 1, 1]),
        ((3, 0), [3, 2, 1]),
        ((3, 10), [3, 2, 1]),
        ((3, 20), [4, 2, 2]),
        ((3, 21), [4, 3, 2]),
        ((3, 41), [4, 3, 2]),
    ] {
        for (big_endian, compression) in
            [(false, 0), (false, 1), (false, 2), (true, 0), (true, 1), (true, 2)]
        {
            let form = Form { format, big_endian, compression };
            assert_eq!(read(job(form, versions)), expected, "{form:?} {versions:?}");
        }
    }
}

fn gaps(log: Vec<u8>) -> Vec<(String, String)> {
    let input = input::decompressed(Box::new(Cursor::new(log))).expect("a log");
    let options = Options { format: None, which: Selection::All };
    let imported = from_inputs(vec![("log".into(), input)], &options).expect("imported");
    imported.facts.gaps.into_iter().map(|gap| (gap.code, gap.says)).collect()
}

fn says(gaps: &[(String, String)], code: &str) -> Option<String> {
    gaps.iter().find(|gap| gap.0 == code).map(|gap| gap.1.clone())
}

#[test]
fn every_module_of_every_format_has_its_name() {
    for (format, last) in [((3, 20), "HEATMAP"), ((3, 21), "HEATMAP"), ((3, 41), "DAOS")] {
        let form = Form { format, ..Form::newest(false) };
        let modules = [stdio(2), Module { name: last, version: 9, words: vec![1, 2] }];
        let says = says(&gaps(log(form, 4, &[(FILE, "/d/f")], &modules)), "aggregated");
        let says = says.expect("a module that is left out");
        assert!(says.ends_with(&format!("left out: {last} 1")), "{format:?}: {says}");
    }
    // What Darshan 3.4.0 writes.
    let heatmap = [8, 0, 0.5f64.to_bits(), 2, 0, 0, 1000, 2000, 0, 0];
    let modules = [stdio(2), Module { name: "HEATMAP", version: 1, words: heatmap.into() }];
    let form = Form { format: (3, 21), ..Form::newest(false) };
    let log = log(form, 4, &[(FILE, "/d/f"), (8, "heatmap:STDIO")], &modules);
    let input = input::decompressed(Box::new(Cursor::new(log))).expect("a log");
    let options = Options { format: None, which: Selection::All };
    let moved = from_inputs(vec![("log".into(), input)], &options).expect("imported").facts.moved;
    assert_eq!(moved[0].ranks[0].written_bytes, [1000, 2000]);
}

/// The header has a bit per module that ran out of memory.
#[test]
fn modules_that_were_short_of_memory_are_named() {
    for (format, flags_at, place) in [((3, 21), 20, 8), ((3, 41), 24, 9)] {
        let form = Form { format, ..Form::newest(false) };
        let mut log = log(form, 4, &[(FILE, "/d/f")], &[stdio(2)]);
        assert_eq!(says(&gaps(log.clone()), "partial-modules"), None);
        log[flags_at + place / 8] |= 1 << (place % 8);
        let says = says(&gaps(log), "partial-modules").expect("it is said");
        assert_eq!(says, "1 module was short of memory and lacks records of files: STDIO 1");
    }
}

/// Counters know all transfers, the trace those for which there was memory.
#[test]
fn transfers_that_only_the_counters_have_are_counted() {
    // 1000 reads of 100,000 bytes and two writes of 30 bytes.
    let counters = [(3, 1000), (4, 2), (14, 100_000), (15, 30)];
    let counters = record((69, 17), &counters, &KIND_TIMES);
    let form = Form::newest(false);
    let traced = |writes: &[(u64, u64)], reads: &[(u64, u64)], version| {
        let trace = Module { name: "DXT_POSIX", version, words: transfers(form, writes, reads) };
        let posix = Module { name: "POSIX", version: 4, words: counters.clone() };
        gaps(log(form, 4, &[(FILE, "/d/f")], &[posix, trace]))
    };
    let reads: Vec<(u64, u64)> = (0..10).map(|at| (at * 100, 100)).collect();
    let found = traced(&[(0, 10), (10, 20)], &reads, 1);
    let expected = "990 transfers (99000 bytes) are in the log's counters but not in its trace";
    assert_eq!(says(&found, "untraced").as_deref(), Some(expected));
    let all: Vec<(u64, u64)> = (0..1000).map(|at| (at * 100, 100)).collect();
    assert_eq!(says(&traced(&[(0, 10), (10, 20)], &all, 1), "untraced"), None);
    // A later form of the trace: the counters are taken.
    let found = traced(&[(0, 10)], &reads, 2);
    let expected = "1 module has transfers in a form that is not read, but counters: \
                    DXT_POSIX (version 2) 1";
    assert_eq!(says(&found, "later-modules").as_deref(), Some(expected));
    assert_eq!(says(&found, "untraced"), None);
    // Records of MPI-IO are one version further.
    for (version, expected) in [(1, 0), (2, 0), (3, 1)] {
        let words = transfers(form, &[(0, 10)], &[]);
        let trace = Module { name: "DXT_MPIIO", version, words };
        let found = gaps(log(form, 4, &[(FILE, "/d/f")], &[stdio(2), trace]));
        let later = found.iter().filter(|gap| gap.0 == "later-modules").count();
        assert_eq!(later, expected, "{version}");
    }
}

#[test]
fn other_formats_and_compressions_are_refused() {
    for (at, byte) in [(0, b'4'), (8, 0), (16, 3)] {
        let mut log = job(Form::newest(false), [4, 3, 2]);
        log[at] = byte;
        let binary = super::Binary::new(Box::new(Cursor::new(log)));
        assert!(binary.is_err(), "{at}");
    }
}

/// Of a stranger's log: counters of any value are added up without wrapping, and none below 0 is one.
#[test]
fn counters_at_their_limits_are_added_up() {
    let largest = i64::MAX as u64;
    let counters =
        [(3, largest), (4, u64::MAX), (14, largest), (29, largest), (57, 8), (61, largest)];
    let words = record((69, 17), &counters, &[(8, f64::INFINITY), (9, -1.0), (10, f64::NAN)]);
    let module = Module { name: "POSIX", version: 4, words: words.repeat(4) };
    let log = log(Form::newest(false), 4, &[(FILE, "/d/f")], &[module]);
    let input = input::decompressed(Box::new(Cursor::new(log))).expect("a log");
    let options = Options { format: None, which: Selection::All };
    let facts = from_inputs(vec![("log".into(), input)], &options).expect("imported").facts;
    let posix = &facts.modules[0];
    assert_eq!((posix.count("reads"), posix.count("writes")), (Some(u64::MAX), None));
    assert_eq!((posix.amounts.read_bytes, posix.amounts.read_ns), (Some(u64::MAX), Some(u64::MAX)));
    assert_eq!((posix.amounts.write_ns, posix.amounts.meta_ns), (Some(0), Some(0)));
    assert_eq!((posix.read_sizes[0], posix.common_sizes[0].count), (u64::MAX, u64::MAX));
    let file = &facts.files[0];
    assert_eq!((posix.files, facts.files.len(), file.ranks, file.rank), (1, 1, 4, None));
    assert_eq!((file.common_sizes[0].count, file.collective), (u64::MAX, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_words_are_counters_or_an_error(
        module in prop::sample::select(vec!["POSIX", "MPI-IO", "STDIO", "H5F", "H5D", "PNETCDF_FILE", "PNETCDF_VAR"]),
        version in 0u32..6,
        words in prop::collection::vec(prop_oneof![0u64..9, any::<u64>(), Just(u64::MAX)], 0..600),
        names in any::<bool>(),
    ) {
        let known: &[(u64, &str)] = if names { &[(3, "/d/f")] } else { &[] };
        let log = log(Form::newest(false), 4, known, &[Module { name: module, version, words }]);
        let input = input::decompressed(Box::new(Cursor::new(log))).expect("a log");
        let options = Options { format: None, which: Selection::All };
        if let Ok(imported) = from_inputs(vec![("log".into(), input)], &options) {
            prop_assert!(imported.facts.modules.len() <= 1);
        }
    }
}

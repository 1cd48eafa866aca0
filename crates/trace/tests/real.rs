//! Logs of real applications, with counts that were found by other means.

use model::Op;
use model::event::{FLAG_EXPECTED, FLAG_UNPLACED, NO_ID};
use model::run::{TraceFile, TraceGap, TraceLayout, TraceModule};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use trace::sort::Traced;
use trace::{Facts, Imported, Options, Selection, import};

fn log(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real").join(name)
}

fn events(name: &str) -> (Vec<Traced>, Facts) {
    let imported = import(&[log(name)], &Options { format: None, which: Selection::Data }).unwrap();
    (imported.events.map(Result::unwrap).collect(), imported.facts)
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

fn gap<'a>(facts: &'a Facts, code: &str) -> Option<&'a TraceGap> {
    facts.gaps.iter().find(|gap| gap.code == code)
}

/// Of the log without lines that name /sys, /dev or /proc:
/// `grep -cE ' (write|pwrite64)\([0-9]+</data'` 2056, `' pread64\('` 144, `' fdatasync\('` 104,
/// `' fstat\('` 1272 and `AT_EMPTY_PATH` 8, `' openat\('` 136, `' unlink\('` 40, `' rename\('` 8,
/// `' mkdir\('` 8, `' rmdir\('` 8, `' ftruncate\('` 16, `' readlink\('` 352, `getdents64.* 0$` 8.
/// Bytes written: `awk` adds what writes to /data gave back, on one line or on two.
#[test]
fn duckdb_has_the_calls_that_grep_finds() {
    let (events, facts) = events("duckdb-olap.strace.xz");
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
    assert_eq!(gap(&facts, "no-operation").unwrap().says.rsplit(": ").next(), Some("fcntl 56"));
    assert_eq!(gap(&facts, "unparsed-lines"), None);
}

/// Every transfer has its place: the write-ahead logs are appended to from their creation on, and
/// `fstat` shows how long they are; what is read of a file was written before.
#[test]
fn duckdb_tells_where_every_byte_went() {
    let (events, facts) = events("duckdb-olap.strace.xz");
    let transfers = |op: Op| events.iter().filter(move |traced| traced.event.op == op as u8);
    assert!(transfers(Op::Fwrite).all(|traced| traced.event.flags & FLAG_UNPLACED == 0));
    assert!(transfers(Op::Fwrite).all(|traced| traced.details.instance != NO_ID));
    let wal = |traced: &&Traced| facts.paths[traced.event.path as usize].ends_with(b".wal");
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

/// `awk '/^ X_/{n[$1" "$3]++; b[$1" "$3]+=$6}'` over the text of darshan-dxt-parser, which the Darshan
/// project's own program made of the binary logs: transfers and bytes of POSIX.
const DXT: &[(&str, u64, u64, u64, u64)] = &[
    ("dxt-simple", 2, 4040, 0, 0),
    ("dxt", 1497, 13_021_781, 6126, 22_517_726),
    ("hdf5-diagonal", 35, 12_925, 400, 2_627_610),
    ("mpi-io-test", 192, 2_147_486_208, 128, 2_147_483_648),
];

fn of_op(events: &[Traced], op: Op) -> (u64, u64) {
    let count = events.iter().filter(|traced| traced.event.op == op as u8).count();
    (count as u64, bytes(events, op))
}

#[test]
fn transfers_of_darshan_are_those_that_awk_adds() {
    for (name, writes, written, reads, read) in DXT {
        for ending in ["dxt.txt.xz", "darshan"] {
            let options = Options { format: None, which: Selection::All };
            let imported = import(&[log(&format!("{name}.{ending}"))], &options).unwrap();
            let facts = imported.facts;
            let events: Vec<Traced> = imported.events.map(Result::unwrap).collect();
            assert_eq!(of_op(&events, Op::Fwrite), (*writes, *written), "{name}.{ending}");
            assert_eq!(of_op(&events, Op::Fread), (*reads, *read), "{name}.{ending}");
            assert_eq!(events.len() as u64, writes + reads);
            assert_eq!(gap(&facts, "unparsed-lines"), None);
        }
    }
}

/// The text rounds times to 0.1 ms; all else is the same.
#[test]
fn binary_logs_of_darshan_say_what_their_text_says() {
    for (name, ..) in DXT {
        let [(text, text_facts), (binary, facts)] =
            ["dxt.txt.xz", "darshan"].map(|ending| events(&format!("{name}.{ending}")));
        let said = |events: &[Traced], facts: &Facts| {
            let mut said: Vec<_> = events
                .iter()
                .map(|traced| {
                    let event = &traced.event;
                    let path = facts.paths[event.path as usize].clone();
                    let start = (event.start_ns + 50_000) / 100_000;
                    (traced.rank, path, event.op, event.offset_bytes, event.done_bytes, start)
                })
                .collect();
            said.sort();
            said
        };
        let (text, binary) = (said(&text, &text_facts), said(&binary, &facts));
        assert_eq!(text.len(), binary.len(), "{name}");
        let pairs = text.iter().zip(&binary);
        let same = pairs.filter(|(text, binary)| {
            (text.0, &text.1, text.2, text.3, text.4)
                == (binary.0, &binary.1, binary.2, binary.3, binary.4)
        });
        assert_eq!(same.count(), text.len(), "{name}");
        assert_eq!((facts.ranks, &facts.root), (text_facts.ranks, &text_facts.root));
        // One of the texts does not name the program. Its rounded times part phases elsewhere.
        let is_program = |label: &&Vec<u8>| !label.contains(&b' ');
        let [text_programs, programs] = [&text_facts, &facts]
            .map(|facts| facts.labels.iter().filter(is_program).collect::<Vec<_>>());
        assert!(text_programs.is_empty() || programs == text_programs, "{name}");
        assert_eq!((&facts.hosts, facts.started_ns), (&text_facts.hosts, text_facts.started_ns));
    }
}

/// `grep -c '^ X_MPIIO'` gives 256, of a file that `X_POSIX` has, too.
#[test]
fn transfers_of_mpi_io_are_not_counted_twice() {
    let (_, facts) = events("mpi-io-test.darshan");
    let layers = gap(&facts, "layers").unwrap();
    assert_eq!((layers.count, layers.bytes), (256, 2 * 2_147_483_648));
    assert_eq!(facts.ranks, 32);
}

/// By label and operation: count and bytes.
type Counts = &'static [(&'static str, &'static str, u64, u64)];

/// PyDarshan 3.5.0 (darshan-util's own reader): `report.records[MODULE].to_df()`, its columns added up:
/// POSIX_OPENS, SEEKS, STATS, RENAME_SOURCES, MPIIO_INDEP_OPENS + COLL_OPENS, STDIO_OPENS, READS, WRITES,
/// BYTES_READ, BYTES_WRITTEN. Transfers of POSIX and MPI-IO are in DXT.
const COUNTERS: &[(&str, Counts)] = &[
    ("dxt-simple", &[("", "fopen", 64, 0), ("", "pfopen", 16, 0)]),
    (
        "dxt",
        &[
            ("", "fopen", 264, 0),
            ("", "fseek", 5597, 0),
            ("", "rename", 8, 0),
            ("", "stat", 1379, 0),
            ("stdio", "fopen", 1, 0),
            ("stdio", "fread", 39, 1876),
        ],
    ),
    ("hdf5-diagonal", &[("", "fopen", 220, 0), ("", "fseek", 400, 0), ("", "stat", 1070, 0)]),
    (
        "mpi-io-test",
        &[
            ("", "fopen", 256, 0),
            ("", "pfopen", 64, 0),
            ("stdio", "fopen", 32, 0),
            ("stdio", "fwrite", 38, 1625),
        ],
    ),
];

#[test]
fn counters_of_darshan_are_those_that_its_own_reader_adds() {
    for (name, expected) in COUNTERS {
        let options = Options { format: None, which: Selection::All };
        let facts = import(&[log(&format!("{name}.darshan"))], &options).unwrap().facts;
        let mut found: Vec<(&str, &str, u64, u64)> = facts
            .rows
            .iter()
            .map(|row| {
                let layer = if row.label.ends_with("stdio") { "stdio" } else { "" };
                (layer, row.op.as_str(), row.count, row.bytes)
            })
            .collect();
        found.sort();
        assert_eq!(&found[..], *expected, "{name}");
        assert!(gap(&facts, "sums").is_some(), "{name}");
    }
}

/// The same reader's STDIO_F_WRITE_TIME of mpi-io-test: 0.000932 s over 38 writes; its counters are each
/// rank's own.
#[test]
fn sums_have_the_times_that_darshan_adds_up() {
    let options = Options { format: None, which: Selection::All };
    let facts = import(&[log("mpi-io-test.darshan")], &options).unwrap().facts;
    let row = facts.rows.iter().find(|row| row.op == "fwrite").unwrap();
    let total_s = row.mean_ns.unwrap() * 38.0 / 1e9;
    assert!((total_s - 0.000_932).abs() < 1e-6, "{total_s}");
    assert!(row.rank_mib_s.is_some() && row.p50_ns.is_none() && row.histogram.is_none());
}

fn busy_ns(events: &[Traced], op: Op) -> u64 {
    let of_op = events.iter().filter(|traced| traced.event.op == op as u8);
    of_op.map(|traced| traced.event.busy_ns).sum()
}

/// `awk 'NR>1{n[$3]++; b[$3]+=$5}'` over the iolog; `awk -F, '{n[$3]++; b[$3]+=$4; t[$3]+=$2}'` over the
/// latencies.
#[test]
fn logs_of_fio_have_what_awk_adds() {
    let (iolog, facts) = events("fio.iolog");
    assert_eq!(of_op(&iolog, Op::Fread), (28, 114_688));
    assert_eq!(of_op(&iolog, Op::Fwrite), (36, 147_456));
    let counts = counts(&iolog);
    assert_eq!([counts["fopen"], counts["fclose"], counts["fdatasync"]], [2, 2, 7]);
    assert_eq!(gap(&facts, "unparsed-lines"), None);
    let (latencies, _) = events("fio_clat.1.log");
    assert_eq!(
        (of_op(&latencies, Op::Fread), of_op(&latencies, Op::Fwrite)),
        ((28, 114_688), (36, 147_456))
    );
    assert_eq!(
        (busy_ns(&latencies, Op::Fread), busy_ns(&latencies, Op::Fwrite)),
        (17_024_894, 235_277)
    );
    // The same operations at the same places.
    let places = |events: &[Traced]| {
        let transfers = events.iter().filter(|traced| traced.event.requested_bytes > 0);
        let mut places: Vec<_> =
            transfers.map(|traced| (traced.event.op, traced.event.offset_bytes)).collect();
        places.sort_unstable();
        places
    };
    assert_eq!(places(&iolog), places(&latencies));
    let (bandwidths, _) = events("fio_bw.1.log");
    assert_eq!(places(&iolog), places(&bandwidths));
}

/// `zcat | grep -o '"name":"\(p\|\)\(read\|write\)[64]*".*"ret":[0-9]*'`, added by awk: calls and bytes.
#[test]
fn dftracer_has_what_awk_adds() {
    let (events, facts) = events("dftracer.pfw.gz");
    assert_eq!(of_op(&events, Op::Fread), (1 + 31, 20 + 30_050));
    assert_eq!(of_op(&events, Op::Fwrite), (5 + 61, 20_480 + 60_100));
    let counts = counts(&events);
    for (op, count) in [
        ("fopen", 6),
        ("fclose", 5),
        ("fseek", 2),
        ("fsync", 1),
        ("mkdir", 1),
        ("readdir", 1),
        ("rename", 1),
        ("delete", 2),
        ("rmdir", 1),
    ] {
        assert_eq!(counts[op], count, "{op}");
    }
    // Three threads, each with its own open file; the first one, which waits for them, is a rank with one of them.
    assert_eq!(
        (facts.ranks, &facts.root[..], &facts.labels[0][..]),
        (3, &b"/scratch/data"[..], &b"app"[..])
    );
    let shared = events.iter().filter(|traced| facts.paths[traced.event.path as usize] == b"t");
    let mut instances: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
    for traced in shared {
        instances.entry(traced.rank).or_default().insert(traced.details.instance);
    }
    assert!(instances.len() == 3 && instances.values().all(|own| own.len() == 1), "{instances:?}");
    assert_eq!(gap(&facts, "unparsed-lines"), None);
}

/// `DarshanReport(log).records["LUSTRE"].to_df()` of PyDarshan 3.5.0: 48 files of one stripe, on as many
/// targets as there are different numbers in LUSTRE_OST_IDS; one shared file of 24.
#[test]
fn files_lie_on_the_targets_that_pydarshan_names() {
    let (_, facts) = events("lustre-own.darshan");
    assert_eq!(facts.layouts.len(), 48);
    let one = |layout: &TraceLayout| layout.stripe_bytes == 1 << 20 && layout.targets.len() == 1;
    assert!(facts.layouts.iter().all(one), "{:?}", facts.layouts);
    assert_eq!(
        (&facts.layouts[0].targets[..], &facts.layouts[1].targets[..]),
        (&[7][..], &[4][..])
    );
    let (_, facts) = events("lustre-shared.darshan");
    let [layout] = &facts.layouts[..] else { panic!("one file: {:?}", facts.layouts) };
    let targets =
        [7, 9, 23, 21, 1, 19, 20, 8, 18, 12, 6, 2, 10, 16, 4, 0, 22, 14, 13, 17, 5, 15, 11, 3];
    assert_eq!((layout.stripe_bytes, &layout.targets[..]), (1 << 20, &targets[..]));
    assert!(gap(&facts, "aggregated").is_none());
}

/// Layers of a log: files (only read, only written, both), opens, reads, writes, bytes read and written, time of
/// reads, writes and metadata in ms, sequential and consecutive accesses; as PyDarshan 3.5.0 adds them up.
const LAYERS: &str = "\
dxt POSIX: 214 files (33, 70, 65), 264 6126 1497 calls, 22517726 13021781 bytes, 431 20 11217796 ms, 6059 4522
dxt STDIO: 1 files (1, 0, 0), 1 39 0 calls, 1876 0 bytes, 0 0 0 ms, 0 0
dxt-simple POSIX: 18 files (0, 2, 0), 64 0 2 calls, 0 4040 bytes, 0 0 170 ms, 0 0
dxt-simple MPI-IO: 1 files (0, 1, 0), 16 0 1 calls, 0 4000 bytes, 0 1 617 ms, 0 0
hdf5-diagonal POSIX: 74 files (20, 10, 0), 220 400 35 calls, 2627610 12925 bytes, 1 0 259 ms, 205 200
hdf5-diagonal H5F: 10 files (-, -, -), 10 - - calls, - - bytes, - - 38 ms, 0 0
hdf5-diagonal H5D: 5 files (0, 5, 0), 5 0 5 calls, 0 5 bytes, 0 0 0 ms, 0 0
lustre-own POSIX: 48 files (0, 48, 0), 48 0 6144 calls, 0 51539607552 bytes, 0 132168 230 ms, 6096 6096
lustre-own STDIO: 2 files (0, 1, 0), 2 0 95 calls, 0 1584 bytes, 0 3 0 ms, 0 0
lustre-shared POSIX: 1 files (0, 1, 0), 2049 0 16402 calls, 0 2199023259968 bytes, 0 100397600 11300 ms, 16384 0
lustre-shared MPI-IO: 1 files (0, 1, 0), 2048 0 16402 calls, 0 2199023259968 bytes, 0 100397897 49021 ms, 0 0
lustre-shared STDIO: 2 files (0, 2, 0), 129 0 74 calls, 0 3309 bytes, 0 0 0 ms, 0 0
mpi-io-test POSIX: 34 files (0, 32, 1), 256 128 192 calls, 2147483648 2147486208 bytes, 55439 1035 1016 ms, 254 0
mpi-io-test MPI-IO: 1 files (0, 0, 1), 64 128 128 calls, 2147483648 2147483648 bytes, 55703 171980 2433 ms, 0 0
mpi-io-test STDIO: 1 files (0, 1, 0), 32 0 38 calls, 0 1625 bytes, 0 0 0 ms, 0 0
";

fn layers_of(name: &str) -> Imported {
    let options = Options { format: None, which: Selection::All };
    import(&[log(&format!("{name}.darshan"))], &options).unwrap()
}

fn layer_line(log: &str, module: &TraceModule) -> String {
    let known = |figure: Option<u64>| figure.map_or("-".to_string(), |figure| figure.to_string());
    let ms = |ns: Option<u64>| known(ns.map(|ns| ns / 1_000_000));
    let count = |name: &str| known(module.count(name));
    let both = |name: &str| {
        let of = |kind: &str| module.count(&format!("{name}_{kind}")).unwrap_or(0);
        of("reads") + of("writes")
    };
    let (kinds, amounts) =
        ([module.read_only, module.write_only, module.read_write], &module.amounts);
    format!(
        "{log} {}: {} files ({}), {} {} {} calls, {} {} bytes, {} {} {} ms, {} {}\n",
        module.name,
        module.files,
        kinds.map(known).join(", "),
        count("opens"),
        count("reads"),
        count("writes"),
        known(amounts.read_bytes),
        known(amounts.written_bytes),
        ms(amounts.read_ns),
        ms(amounts.write_ns),
        ms(amounts.meta_ns),
        both("sequential"),
        both("consecutive"),
    )
}

#[test]
fn layers_of_darshan_are_those_that_pydarshan_adds() {
    let mut lines = String::new();
    for name in ["dxt", "dxt-simple", "hdf5-diagonal", "lustre-own", "lustre-shared", "mpi-io-test"]
    {
        for module in &layers_of(name).facts.modules {
            lines += &layer_line(name, module);
        }
    }
    assert_eq!(lines, LAYERS);
}

#[test]
fn access_sizes_ranks_and_files_of_darshan_are_those_of_pydarshan() {
    let facts = layers_of("dxt").facts;
    let posix = &facts.modules[0];
    assert_eq!(posix.read_sizes, [2289, 1193, 2470, 173, 1, 0, 0, 0, 0, 0]);
    assert_eq!(posix.write_sizes, [160, 12, 1325, 0, 0, 0, 0, 0, 0, 0]);
    let common: Vec<_> = posix.common_sizes.iter().map(|size| (size.bytes, size.count)).collect();
    assert_eq!(common, [(10240, 2046), (30, 597), (8192, 539), (5, 192)]);
    for (name, count) in [("switches", 70), ("memory_unaligned", 17), ("file_unaligned", 6909)] {
        assert_eq!(posix.count(name), Some(count), "{name}");
    }
    assert_eq!((facts.files.len(), facts.files_more.len()), (215, 0));
    let facts = layers_of("mpi-io-test").facts;
    let (posix, mpi_io) = (&facts.modules[0], &facts.modules[1]);
    assert_eq!((posix.by_rank.len(), posix.shared), (32, None));
    let of_files = |module: &str| {
        let files = facts.files.iter().filter(|file| file.module == module);
        files.map(|file| file.amounts.bytes()).collect::<Vec<_>>()
    };
    assert_eq!(of_files("MPI-IO"), [mpi_io.amounts.bytes()]);
    assert_eq!(of_files("POSIX").iter().sum::<u64>(), posix.amounts.bytes());
    assert_eq!(facts.files[0].ranks, 32);
    let of_one = |file: &TraceFile| file.ranks == 1;
    assert!(facts.files.iter().all(|file| file.rank.is_some() == of_one(file)));
    let own = facts.files.iter().find(|file| file.module == "MPI-IO").expect("a file");
    let collective = ["collective_reads", "collective_writes"].map(|name| mpi_io.count(name));
    assert_eq!(own.collective, Some(collective.into_iter().flatten().sum()));
    assert_eq!((own.rank, own.common_sizes.first()), (None, mpi_io.common_sizes.first()));
    let shared = layers_of("lustre-shared").facts;
    assert_eq!(shared.modules[0].shared.map(|shared| shared.files), Some(1));
    assert_eq!((shared.files[0].ranks, shared.modules[0].by_rank.len()), (2048, 0));
}

#[test]
fn the_job_of_a_darshan_log_is_kept() {
    let logs = layers_of("mpi-io-test").logs;
    let job = logs[0].job.as_ref().unwrap();
    assert_eq!((job.job, job.uid, job.processes), (4_373_053, 28_751, 32));
    assert_eq!((&job.command[..16], job.mounts.len()), ("mpi-io-test -i 4", 39));
    assert_eq!((&job.format[..], job.run_ns), ("3.21", 14_000_000_000));
    let modules: Vec<&str> = job.modules.iter().map(|module| &module.name[..]).collect();
    assert_eq!(modules, ["POSIX", "MPI-IO", "STDIO", "DXT_POSIX", "DXT_MPIIO"]);
}

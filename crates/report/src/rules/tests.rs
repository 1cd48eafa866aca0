//! Every rule: runs in which it fires, and near ones in which it does not.

use super::*;
use crate::stats::SplitMix64;
use crate::tests::sample::{self, listing1};
use model::run::{
    ArrivalRow, Balance, CacheControl, Contention, Device, Directory, DirectoryEvidence,
    EventsInfo, Job, LabelEvidence, MpiFileFacts, Node, NodeStorage, NodeUse, PatternWrites,
    RankError, Row, Site, Storage, VerifiedData,
};
use model::sweep::{SharedDevice, Sweep};

/// A run on a disk against which nothing can be said.
fn sound() -> Run {
    let mut run = listing1();
    let evidence = &mut run.run.evidence;
    evidence.labels = vec![LabelEvidence { label: "wait".into(), ..MOVED }, stress()];
    evidence.cpu_ns = 400_000_000;
    evidence.marks.clear();
    run
}

/// 64 MiB written, made stable and read from storage.
const MOVED: LabelEvidence = LabelEvidence {
    label: String::new(),
    cell: 0,
    repetition: 0,
    written_bytes: 64 << 20,
    unstable_bytes: 0,
    read_bytes: 64 << 20,
    direct_read_bytes: 0,
    fetched_bytes: Some(64 << 20),
    looked_bytes: 64 << 20,
    cached_bytes: 1 << 20,
    mapped_bytes: 64 << 20,
    hole_bytes: 0,
    encoded_bytes: 0,
    looked_names: 16,
    cached_names: 2,
    queued_calls: 320,
    directories: Vec::new(),
    queued_at_once: 100,
    handed_over: 20,
    null_operations: 0,
    fill_ns: None,
    memory_ns: 0,
    cache_control: None,
    verified: None,
    timed: false,
};

fn stress() -> LabelEvidence {
    LabelEvidence { label: "stress".into(), ..MOVED }
}

fn read_zeros(zero_bytes: u64) -> VerifiedData {
    VerifiedData { checked_bytes: 1 << 20, zero_bytes, ..VerifiedData::default() }
}

/// The second of two labels.
fn label(run: &mut Run) -> &mut LabelEvidence {
    &mut run.run.evidence.labels[1]
}

fn codes(run: &Run) -> Vec<String> {
    marks(run).into_iter().map(|mark| mark.code).collect()
}

fn balance(run: &mut Run, balance: Balance) {
    run.rows[0].balance = Some(balance);
}

/// 20,000 operations of 27.5 us on two ranks: 0.55 s.
const EVEN: Balance = Balance {
    ranks: 2,
    busy_ns: 550_000_000,
    slowest_rank: 1,
    slowest_busy_ns: 290_000_000,
    largest_rank: 0,
    largest_bytes: 10_240_000,
};

#[test]
fn files_that_a_program_prepares_are_a_remark_beside_its_phases() {
    let unstable = |run: &Run| -> Vec<bool> {
        let all = marks(run).into_iter().filter(|mark| mark.code == "unstable-writes");
        all.map(|mark| mark.counts).collect()
    };
    let mut run = sound();
    let setup = LabelEvidence { unstable_bytes: 64 << 20, ..MOVED };
    run.run.evidence.labels.push(setup);
    assert_eq!(unstable(&run), [false]);
    label(&mut run).unstable_bytes = 64 << 20;
    assert_eq!(unstable(&run), [true, false]);
    // Without labels all is one phase.
    run.labels.clear();
    run.run.evidence.labels.retain(|label| label.label.is_empty());
    assert_eq!(unstable(&run), [true]);
}

#[test]
fn nothing_is_said_against_a_sound_run() {
    let mut run = sound();
    balance(&mut run, EVEN);
    assert_eq!(codes(&run), Vec::<String>::new(), "{:#?}", marks(&run));
    // Nor against one in virtual time, however short and unequal it is.
    run.run.evidence.clock = "virtual".into();
    run.run.backend = "mem".into();
    label(&mut run).unstable_bytes = 64 << 20;
    label(&mut run).queued_at_once = label(&mut run).queued_calls;
    run.run.duration_wall_ns = 10;
    assert_eq!(codes(&run), Vec::<String>::new());
}

fn device(name: &str, kind: &str, file: &str) -> Device {
    Device { name: name.into(), kind: kind.into(), file: file.into() }
}

/// Two ranks that ran side by side with others for 1.26 s.
fn contention(run: &mut Run) -> &mut Contention {
    run.run.evidence.contention.insert(Contention {
        waited_ns: Some(80_000_000),
        longest_wait_rank: 1,
        longest_wait_ns: 20_000_000,
        busy_ns: Some(2_000_000_000),
        stolen_ns: Some(10_000_000),
        throttled_ns: Some(0),
        ..Contention::default()
    })
}

/// What makes a sound run one with this mark, and what is nearly so.
type Change = fn(&mut Run);

const CASES: &[(&str, &str, Change, Change)] = &[
    (
        "failed-operations",
        "3 of 60002",
        |run| run.run.evidence.failed = 3,
        |run| run.rows[0].expected = 3,
    ),
    (
        "short-operations",
        "7 operations",
        |run| run.run.evidence.short = 7,
        |run| run.run.evidence.short = 0,
    ),
    (
        "dropped-events",
        "12 events",
        |run| {
            run.run.evidence.dropped_events = 12;
            run.run.events = Some(EventsInfo::default());
        },
        |run| run.run.evidence.dropped_events = 12,
    ),
    (
        "option-without-effect",
        "x.ppl:1:7: depth=32 has no effect, and 1 more",
        |run| {
            run.run.evidence.options_without_effect =
                vec!["x.ppl:1:7: depth=32 has no effect".into(), "x.ppl:2:7: so".into()];
        },
        |run| run.run.evidence.options_without_effect.clear(),
    ),
    (
        "too-short",
        "9 ms",
        |run| run.labels[0].busy_ns = 9_000_000,
        |run| run.labels[0].busy_ns = 10_000_000,
    ),
    (
        "making-data",
        "in label \"stress\" making data took 1 % of the time",
        |run| (label(run).fill_ns, label(run).memory_ns) = (Some(20_000_000), 6_000_000),
        |run| (label(run).fill_ns, label(run).memory_ns) = (Some(19_000_000), 6_000_000),
    ),
    (
        "making-data",
        "making and checking data took",
        |run| {
            let data = VerifiedData { fill_ns: 20_000_000, check_ns: 9_000_000, ..read_zeros(0) };
            label(run).verified = Some(data);
        },
        |run| label(run).verified = Some(VerifiedData { fill_ns: 20_000_000, ..read_zeros(0) }),
    ),
    (
        "clock-cost",
        "60 ns",
        |run| run.rows[5].mean_ns = Some(60.0),
        |run| run.rows[5].mean_ns = Some(70.0),
    ),
    (
        "clock-skew",
        "12.6 ms",
        |run| run.run.evidence.clock_skew_ns = 12_600_000,
        |run| run.run.evidence.clock_skew_ns = 12_500_000,
    ),
    (
        "clock-backward",
        "2 times",
        |run| run.run.evidence.clock_backward = 2,
        |run| run.run.evidence.clock_backward = 0,
    ),
    (
        "clock-drift",
        "101 ppm",
        |run| run.run.evidence.clock_drift_ppm = Some(-101.0),
        |run| run.run.evidence.clock_drift_ppm = Some(-99.0),
    ),
    (
        "suspended",
        "5 s",
        |run| run.run.evidence.suspended_ns = 5_000_000_000,
        |run| run.run.evidence.suspended_ns = 0,
    ),
    (
        "cached-reads",
        "at least 50 % of the bytes",
        |run| label(run).fetched_bytes = Some(32 << 20),
        |run| label(run).fetched_bytes = Some(33 << 20),
    ),
    (
        "cached-reads",
        "75 % of the files",
        |run| (label(run).fetched_bytes, label(run).cached_bytes) = (None, 48 << 20),
        // Bytes that were fetched say more than what lay in memory before.
        |run| label(run).cached_bytes = 48 << 20,
    ),
    (
        "cached-reads",
        "80 % of the files",
        // So little can be directories and pages of the program.
        |run| {
            let few =
                LabelEvidence { read_bytes: 2 << 20, fetched_bytes: Some(2 << 20), ..stress() };
            *label(run) = LabelEvidence { looked_bytes: 100, cached_bytes: 80, ..few };
        },
        |run| {
            let some =
                LabelEvidence { read_bytes: 3 << 20, fetched_bytes: Some(3 << 20), ..stress() };
            *label(run) = LabelEvidence { looked_bytes: 100, cached_bytes: 80, ..some };
        },
    ),
    (
        "cached-reads",
        "100 % of the bytes",
        // Half was read directly, and all that was fetched belongs to that.
        |run| (label(run).direct_read_bytes, label(run).fetched_bytes) = (32 << 20, Some(32 << 20)),
        |run| (label(run).direct_read_bytes, label(run).fetched_bytes) = (64 << 20, Some(64 << 20)),
    ),
    (
        "cached-reads",
        "75 % of the files",
        // Less is fetched of what is compressed: only what lay in memory tells.
        |run| {
            (label(run).fetched_bytes, label(run).encoded_bytes) = (Some(1 << 20), 64 << 20);
            label(run).cached_bytes = 48 << 20;
        },
        |run| (label(run).fetched_bytes, label(run).encoded_bytes) = (Some(9 << 20), 64 << 20),
    ),
    (
        "unfetched-reads",
        "100 % of the files",
        |run| (label(run).fetched_bytes, label(run).hole_bytes) = (Some(0), 64 << 20),
        // Of a file with holes that part can be read which has been written.
        |run| label(run).hole_bytes = 64 << 20,
    ),
    (
        "unfetched-reads",
        "100 %",
        |run| {
            (label(run).fetched_bytes, label(run).hole_bytes) = (None, 64 << 20);
            label(run).direct_read_bytes = 64 << 20;
        },
        |run| (label(run).fetched_bytes, label(run).hole_bytes) = (None, 16 << 20),
    ),
    (
        "unstable-writes",
        "64 MiB",
        |run| label(run).unstable_bytes = 64 << 20,
        |run| label(run).unstable_bytes = 3 << 20,
    ),
    (
        "unstable-writes",
        "4 MiB of 64 MiB",
        |run| {
            let balance = Some(Balance { ranks: 1, ..Balance::default() });
            let sync =
                Row { label: "stress".into(), op: "sync".into(), count: 1, ..Row::default() };
            run.rows.push(Row { balance, ..sync });
            label(run).unstable_bytes = 4 << 20;
        },
        |run| label(run).unstable_bytes = 0,
    ),
    (
        "warm-names",
        "8 of 16",
        |run| label(run).cached_names = 8,
        |run| (label(run).cached_names, label(run).looked_names) = (0, 0),
    ),
    (
        "serial-queue",
        "50 % of 320 calls",
        |run| label(run).queued_at_once = 160,
        |run| (label(run).queued_at_once, label(run).handed_over) = (320, 320),
    ),
    (
        "null-engine",
        "7 reads and writes",
        |run| label(run).null_operations = 7,
        |run| label(run).null_operations = 0,
    ),
    (
        "unknown-zeros",
        "4 KiB of 1 MiB",
        |run| label(run).verified = Some(read_zeros(4096)),
        |run| label(run).verified = Some(read_zeros(0)),
    ),
    (
        "unknown-zeros",
        "1 MiB of 1 MiB",
        |run| label(run).verified = Some(read_zeros(1 << 20)),
        // A rank that is alone knows the holes of what it has written.
        |run| {
            let wrote = VerifiedData { filled_bytes: 4096, ..VerifiedData::default() };
            run.run.ranks = 1;
            run.run.evidence.labels[0].verified = Some(wrote);
        },
    ),
    (
        "unknown-zeros",
        "4 KiB of 1 MiB",
        |run| {
            run.run.ranks = 2;
            label(run).verified = Some(VerifiedData { filled_bytes: 4096, ..read_zeros(4096) });
        },
        |run| {
            run.run.ranks = 2;
            label(run).verified = Some(VerifiedData { filled_bytes: 4096, ..read_zeros(0) });
        },
    ),
    (
        "memory-storage",
        "tmpfs",
        |run| run.run.host.storage.file_system = "tmpfs".into(),
        |run| run.run.host.storage.file_system = "ext4".into(),
    ),
    (
        "client-saturated",
        "95.2 %",
        |run| {
            run.run.evidence.cpu_ns = 2_400_000_000;
            run.run.sites = vec![Site { busy_ns: 1_260_000_000, ..Site::default() }];
        },
        |run| run.run.evidence.cpu_ns = 2_200_000_000,
    ),
    // Calls that overlap are no longer than the run.
    (
        "client-saturated",
        "I/O was under way 10 %, ",
        |run| {
            run.run.evidence.cpu_ns = 2_400_000_000;
            run.rows.truncate(1);
            balance(run, Balance { busy_ns: 252_000_000, ..EVEN });
            run.rows[0].mean_ns = Some(1e6);
        },
        |run| run.run.evidence.cpu_ns = 2_200_000_000,
    ),
    ("crowded", "2 ranks", |run| run.run.host.cpus = 1, |run| run.run.host.cpus = 2),
    (
        "crowded",
        "",
        |run| {
            run.run.comm = "mpi".into();
            run.run.evidence.crowded = true;
        },
        // The header knows the CPUs of one machine; the ranks may be on many.
        |run| {
            run.run.comm = "mpi".into();
            run.run.host.cpus = 1;
        },
    ),
    (
        "memory-storage",
        "ram0",
        |run| run.run.host.storage.devices = vec![device("ram0", "memory", "")],
        |run| run.run.host.storage.devices = vec![device("sda", "disk", "")],
    ),
    (
        "loop-device",
        "/srv/image on vda",
        |run| {
            let (image, disk) = (device("loop3", "loop", "/srv/image"), device("vda", "disk", ""));
            run.run.host.storage.devices = vec![device("dm-0", "disk", ""), image, disk];
        },
        // Then there is more to be said.
        |run| {
            let image = device("loop3", "loop", "/dev/shm/image");
            run.run.host.storage.devices = vec![image, device("tmpfs", "memory", "")];
        },
    ),
    (
        "starved",
        "63 ms (5 %",
        |run| contention(run).longest_wait_ns = 63_000_000,
        |run| contention(run).longest_wait_ns = 62_900_000,
    ),
    (
        "starved",
        "stat is 10.0 times",
        |run| {
            contention(run).longest_wait_ns = 630_000_000;
            run.rows[5].mean_ns = Some(7_900.0);
        },
        // Nobody knows why the mean is far above the median.
        |run| run.rows[5].mean_ns = Some(7_900.0),
    ),
    (
        "starved",
        "stat.service is 2.0 times",
        |run| {
            contention(run).longest_wait_ns = 630_000_000;
            // Late starts are no time of calls.
            run.rows[5].mean_ns = Some(7_900_000.0);
            let service = Row {
                op: "stat.service".into(),
                part_of: Some("stat".into()),
                ..run.rows[5].clone()
            };
            run.rows.push(Row { mean_ns: Some(1_580.0), ..service });
        },
        |run| {
            contention(run).longest_wait_ns = 62_900_000;
            run.rows[5].mean_ns = Some(7_900_000.0);
        },
    ),
    (
        "unlike-mounts",
        "nfs4 (n0:/data at /data) on n1",
        |run| second_machine(run, "nfs4", "n0:/data"),
        |run| second_machine(run, "", ""),
    ),
    (
        "stolen-time",
        "10 %",
        |run| contention(run).stolen_ns = Some(200_000_000),
        |run| contention(run).stolen_ns = Some(99_000_000),
    ),
    (
        "throttled",
        "30 ms",
        |run| contention(run).throttled_ns = Some(30_000_000),
        |run| contention(run).throttled_ns = Some(20_000_000),
    ),
    (
        "unequal-work",
        "1.5 times the mean",
        |run| balance(run, Balance { slowest_busy_ns: 400_000_000, ..EVEN }),
        |run| balance(run, Balance { slowest_busy_ns: 340_000_000, ..EVEN }),
    ),
    (
        "unequal-work",
        "1.8 times the mean bytes",
        |run| balance(run, Balance { largest_bytes: 18_432_000, ..EVEN }),
        // One rank alone has nobody to differ from.
        |run| balance(run, Balance { ranks: 1, largest_bytes: 20_480_000, ..EVEN }),
    ),
    (
        "rate-not-reached",
        "31.25 kop/s of 50.00 kop/s",
        |run| run.run.arrivals = vec![arrivals(31_250.0, 180)],
        // A backlog at the end of a rate that was reached.
        |run| run.run.arrivals = vec![arrivals(49_900.0, 180), arrivals(49_400.0, 0)],
    ),
];

/// A job on two machines, of which the second one has something else below the run directory.
fn second_machine(run: &mut Run, file_system: &str, device: &str) {
    let node = |host: &str| Node { host: host.into(), ..Node::default() };
    run.run.job = Some(Job { nodes: vec![node("n0"), node("n1")], ..Job::default() });
    run.run.host.name = "n0".into();
    let storage = |file_system: &str, device: &str| Storage {
        mount: "/data".into(),
        device: device.into(),
        file_system: file_system.into(),
        ..Storage::default()
    };
    run.run.host.storage = storage("ext4", "/dev/vdb");
    let own = NodeStorage { name: String::new(), storage: storage(file_system, device) };
    let storage = if file_system.is_empty() { Vec::new() } else { vec![own] };
    run.run.node_use = vec![NodeUse { node: 1, storage, ..NodeUse::default() }];
}

/// Another server, or other options, may be as meant.
#[test]
fn machines_with_the_same_type_of_file_system_are_remarked_on() {
    let mut run = sound();
    second_machine(&mut run, "ext4", "/dev/vdc");
    let found = marks(&run);
    let mark = found.iter().find(|mark| mark.code == "unlike-mounts").expect("a mark");
    assert!(!mark.counts, "{mark:?}");
}

fn arrivals(achieved_ops_s: f64, backlog_end: u64) -> ArrivalRow {
    ArrivalRow {
        label: "stress".into(),
        place: "x.ppl:1:1".into(),
        due_ops_s: Some(50_000.0),
        achieved_ops_s: Some(achieved_ops_s),
        backlog_end,
        ..ArrivalRow::default()
    }
}

/// Who waits for due times spins: a busy CPU is no sign of a client at its limit then.
#[test]
fn a_rank_that_waits_for_due_times_is_not_saturated() {
    let mut run = sound();
    run.run.evidence.cpu_ns = u64::MAX / 4;
    assert!(codes(&run).contains(&"client-saturated".into()));
    run.run.arrivals = vec![arrivals(50_000.0, 0)];
    assert!(!codes(&run).contains(&"client-saturated".into()));
}

#[test]
fn each_rule_fires_when_it_should_and_only_then() {
    for (code, seen, fires, silent) in CASES {
        let mut run = sound();
        fires(&mut run);
        let found = marks(&run);
        let mark = found.iter().find(|mark| mark.code == *code);
        let mark = mark.unwrap_or_else(|| panic!("no {code} in {found:#?}"));
        assert!(mark.seen.contains(seen), "{code}: no {seen:?} in {:?}", mark.seen);
        assert!(!mark.advice.is_empty());
        let mut run = sound();
        silent(&mut run);
        assert!(!codes(&run).contains(&code.to_string()), "{code} without reason");
    }
}

#[test]
fn the_page_lists_every_mark() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verdicts.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    for (code, ..) in CASES {
        assert!(page.contains(&format!("\n- `{code}` (")), "docs/verdicts.md lacks {code}");
    }
}

#[test]
fn directories_on_one_device_are_said() {
    let mut run = sound();
    let sweep = |how| Sweep { shared_device: how, versus: true, ..Sweep::default() };
    let seen = |run: &Run| sweep_marks(run).into_iter().map(|mark| mark.seen).collect::<Vec<_>>();
    for (how, says) in [
        (None, None),
        (Some(SharedDevice::Swapped), Some("swapped directories with every block")),
        (Some(SharedDevice::Kept), Some("a difference may be the age and place of a directory")),
    ] {
        run.run.sweep = Some(sweep(how));
        let found = seen(&run);
        assert_eq!(found.len(), usize::from(says.is_some()));
        assert!(found.iter().all(|seen| says.is_some_and(|says| seen.contains(says))), "{found:?}");
    }
    let page = include_str!("../../../../docs/verdicts.md");
    assert!(page.contains("\n- `shared-device` (remark)"));
}

#[test]
fn odd_figures_are_no_reason_to_panic() {
    marks(&Run::default());
    let mut run = sound();
    run.run.ranks = 0;
    run.run.duration_wall_ns = 0;
    run.run.evidence.clock_read_ns = f64::NAN;
    balance(&mut run, Balance::default());
    marks(&run);
}

#[test]
fn a_mark_names_three_labels_and_counts_the_others() {
    let mut run = sound();
    let unstable = |n: u64| {
        let bytes = (n + 1) << 20;
        let (written_bytes, unstable_bytes) = (bytes, bytes);
        LabelEvidence { label: format!("l{n}"), written_bytes, unstable_bytes, ..MOVED }
    };
    run.run.evidence.labels = (0..5).map(unstable).collect();
    let mark = marks(&run).into_iter().find(|mark| mark.code == "unstable-writes");
    let seen = mark.expect("it fires").seen;
    assert!(seen.contains("l2") && !seen.contains("l3"), "{seen}");
    assert!(seen.contains("2 more labels"), "{seen}");
}

/// What a label moved in a directory: as much of each kind, nothing of it stable or fetched.
fn part(directory: &str, bytes: u64) -> DirectoryEvidence {
    DirectoryEvidence {
        directory: directory.into(),
        written_bytes: bytes,
        unstable_bytes: bytes,
        read_bytes: bytes,
        looked_bytes: bytes,
        cached_bytes: bytes,
        mapped_bytes: bytes,
        looked_names: 8,
        cached_names: 8,
        ..DirectoryEvidence::default()
    }
}

/// Something in memory in the directory fast.
fn with_fast(file_system: &str) -> Run {
    let mut run = sound();
    let storage = Storage { file_system: file_system.into(), ..run.run.host.storage.clone() };
    let fast = Directory { name: "fast".into(), directory: "/f".into(), scratch: false, storage };
    run.run.host.directories.push(fast);
    let own = DirectoryEvidence { unstable_bytes: 0, ..part("", 56 << 20) };
    let own = DirectoryEvidence { cached_bytes: 0, cached_names: 0, ..own };
    let seen = label(&mut run);
    seen.directories = vec![own, part("fast", 8 << 20)];
    seen.fetched_bytes = Some(1 << 20);
    run
}

#[test]
fn all_crowded_machines_are_named_or_counted() {
    let node = |number: u32, ranks: u32, cpus| Node {
        host: format!("n{number}"),
        cpus,
        ranks: vec![[10 * number, 10 * number + ranks - 1]],
        ..Node::default()
    };
    for (nodes, expected) in [
        (vec![node(1, 3, 2)], ["n1", "3 on 2"]),
        (vec![node(1, 3, 2), node(2, 3, 4), node(3, 3, 2)], ["n1 and n3", "3 on 2"]),
        ((1..8).map(|n| node(n, 3, 2)).collect(), ["n1, n2, n3, n4 and 3 more", "3 on 2"]),
        (vec![node(1, 4, 2), node(2, 3, 2)], ["n1 and n2", "4 on 2"]),
    ] {
        let mut run = listing1();
        run.run.comm = "mpi".into();
        run.run.evidence.crowded = true;
        run.run.job = Some(Job { nodes, ..Default::default() });
        let mark = marks(&run).into_iter().find(|mark| mark.code == "crowded").expect("a mark");
        assert!(expected.iter().all(|part| mark.seen.contains(part)), "{}", mark.seen);
    }
}

#[test]
fn every_directory_is_judged_by_its_own() {
    let mut run = with_fast("ext4");
    label(&mut run).fetched_bytes = None;
    let seen: Vec<(String, String)> =
        marks(&run).into_iter().map(|mark| (mark.code, mark.seen)).collect();
    for (code, text) in [
        ("cached-reads", "fast: 100 %"),
        ("unstable-writes", "fast: 8 MiB"),
        ("warm-names", "fast: 8 of 8"),
    ] {
        let of_code = seen.iter().find(|(known, _)| known == code).expect(code);
        assert!(of_code.1.contains(text), "{of_code:?}");
        assert!(!of_code.1.contains("run directory"), "{of_code:?}");
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
    // What was fetched may be of either: of 56 MiB at least 55 were not, of 8 MiB 7.
    label(&mut run).fetched_bytes = Some(1 << 20);
    let both = marks(&run).remove(0).seen;
    assert!(both.contains("run directory: at least 98.2 %") && both.contains("fast: "), "{both}");
    // What memory keeps anyway is judged as that alone.
    let mut run = with_fast("tmpfs");
    label(&mut run).fetched_bytes = None;
    assert_eq!(codes(&run), ["memory-storage"]);
    run.run.host.directories[0].storage.file_system = "ext4".into();
    run.run.host.storage.file_system = "tmpfs".into();
    assert_eq!(codes(&run), ["memory-storage", "cached-reads", "unstable-writes", "warm-names"]);
}

/// A run of four ranks by this library, which wrote a pattern of this kind at this level.
fn by_library(mpi: &str, kind: &str, level: u8) -> Run {
    let mut run = sound();
    run.rows[0].op = "pwrite".into();
    run.rows[0].bytes = 1 << 20;
    let holes = kind == "strided";
    let writes = PatternWrites { pattern: "p".into(), level, kind: kind.into(), holes };
    run.run.evidence.mpi_writes.push(writes);
    run.run.ranks = 4;
    run.run.job = Some(Job { mpi: mpi.into(), ..Job::default() });
    run
}

#[test]
fn what_libraries_do_to_files_is_marked() {
    let open = "Open MPI v4.1.4";
    let mpich = "MPICH 4.0.2";
    for (mpi, kind, level, expected) in [
        (open, "multipartition", 1, Some("mpi-lost-bytes")),
        ("Open MPI v5.0.5", "multipartition", 1, Some("mpi-lost-bytes")),
        ("Open MPI v4.1.7", "multipartition", 1, None),
        ("Open MPI v5.0.6", "multipartition", 1, None),
        ("Open MPI v4.0.7", "multipartition", 1, None),
        (open, "multipartition", 3, None),
        (mpich, "multipartition", 1, None),
        (open, "strided", 1, Some("mpi-holes")),
        (open, "strided", 3, Some("mpi-holes")),
        (open, "strided", 2, None),
        (mpich, "strided", 1, None),
        (mpich, "strided", 2, Some("mpi-holes")),
        (mpich, "strided", 3, Some("mpi-holes")),
        (mpich, "segmented", 2, None),
    ] {
        let mut run = by_library(mpi, kind, level);
        let found = |run: &Run| codes(run).into_iter().find(|code| code.starts_with("mpi-"));
        assert_eq!(found(&run).as_deref(), expected, "{mpi} {kind} {level}");
        let cure = "OMPI_MCA_fbtl_posix_write_datasieving=0".to_string();
        run.run.job.as_mut().unwrap().settings = vec![cure];
        let hints = "a=b;romio_ds_write=disable".to_string();
        run.run.evidence.mpi_io =
            vec![MpiFileFacts { effective_hints: hints, ..MpiFileFacts::default() }];
        assert_eq!(found(&run), None, "cured: {mpi} {kind} {level}");
    }
    let mut hangs = by_library(mpich, "segmented", 0);
    let job = hangs.run.job.as_mut().unwrap();
    (job.launcher, job.nodes) = ("srun".into(), vec![Node::default(); 2]);
    assert!(codes(&hangs).contains(&"mpi-hang".to_string()));
    hangs.run.job.as_mut().unwrap().launcher = "mpiexec".into();
    assert!(codes(&hangs).contains(&"mpi-hang".to_string()));
    hangs.run.job.as_mut().unwrap().settings = vec!["SLURM_MPI_TYPE=pmix".into()];
    assert!(!codes(&hangs).contains(&"mpi-hang".to_string()));
}

/// How much ranks do in a loop `until` a time limit is theirs; what stands beside it is the program's.
#[test]
fn unequal_work_is_not_said_where_a_time_limit_decides() {
    let mut run = sound();
    balance(&mut run, Balance { slowest_busy_ns: 400_000_000, ..EVEN });
    let (name, op) = (run.rows[0].label.clone(), run.rows[0].op.clone());
    let mut timed = run.clone();
    timed.run.evidence.labels[1].timed = true;
    timed.run.evidence.labels[1].label = name;
    timed.run.sites = vec![Site { op, timed: true, ..Site::default() }];
    assert!(!codes(&timed).contains(&"unequal-work".to_string()));
    let changes: [fn(&mut Run); 3] = [
        |run| run.run.evidence.labels[1].label = "other".into(),
        |run| run.run.evidence.labels[1].cell = 1,
        |run| run.run.sites[0].op = "stat".into(),
    ];
    for change in changes {
        let mut other = timed.clone();
        change(&mut other);
        assert!(codes(&other).contains(&"unequal-work".to_string()), "{:?}", other.run.sites);
    }
}

/// Ranks that stop at a time limit differ in what they did, not in when they ended.
#[test]
fn unequal_work_is_said_of_ranks_that_had_the_same_to_do() {
    let mut run = sound();
    balance(&mut run, Balance { slowest_busy_ns: 400_000_000, ..EVEN });
    assert_eq!(codes(&run), ["unequal-work"]);
    let mut killed = run.clone();
    killed.run.rank_errors = vec![RankError::default()];
    assert!(!codes(&killed).contains(&"unequal-work".to_string()));
    for part in ["until", "wear-out", "until/inner"] {
        let mut timed = run.clone();
        timed.rows.iter_mut().for_each(|row| row.label = format!("stress/{part}"));
        assert!(!codes(&timed).contains(&"unequal-work".to_string()), "{part}");
    }
}

fn notes(run: &mut Run) -> Vec<String> {
    run.run.evidence.notes.clear();
    judge(run);
    run.run.evidence.notes.clone()
}

/// Each way to control the page cache has a note with its figures.
#[test]
fn controls_of_the_page_cache_are_noted() {
    let mut run = sound();
    assert_eq!(notes(&mut run), Vec::<String>::new());
    let control = CacheControl {
        drops: 1,
        drops_refused: 2,
        drop_looked_bytes: 4096,
        advised: 3,
        advice_looked_bytes: 8192,
        advice_kept_bytes: 4096,
        ..CacheControl::default()
    };
    label(&mut run).cache_control = Some(control);
    let found = notes(&mut run);
    let expected = ["2 times refused", "dropcaches once", "dontneed\" 3 times: 4 KiB of 8 KiB"];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    assert!(found.iter().zip(expected).all(|(note, part)| note.contains(part)), "{found:?}");
    label(&mut run).cache_control = Some(CacheControl { drops: 1, ..CacheControl::default() });
    let found = notes(&mut run);
    assert!(found.len() == 1 && found[0].contains("unknown"), "{found:?}");
}

/// Direct reads should be fetched from storage, except for holes.
#[test]
fn direct_reads_are_compared_with_what_was_fetched() {
    let direct = |read, direct, fetched, hole_bytes| {
        let mut run = sound();
        run.run.evidence.labels = vec![LabelEvidence {
            read_bytes: read,
            direct_read_bytes: direct,
            fetched_bytes: fetched,
            mapped_bytes: 2 * hole_bytes - hole_bytes / 2,
            hole_bytes,
            ..LabelEvidence::default()
        }];
        notes(&mut run)
    };
    for (read, by_direct, fetched, holes, expected) in [
        (8192, 8192, Some(8192), 0, Some("worked: 8 KiB of 8 KiB")),
        (8192, 8192, Some(0), 0, Some("only 0 B of 8 KiB")),
        (8192, 4096, Some(8192), 0, None),
        (8192, 8192, None, 0, None),
        (0, 0, Some(0), 0, None),
        (9216, 9216, Some(2048), 12288, Some("worked: 2 KiB of 9 KiB")),
        (9216, 9216, Some(512), 12288, Some("only 512 B of 9 KiB")),
        (8192, 8192, Some(8192), 12288, Some("worked: 8 KiB of 8 KiB")),
    ] {
        let found = direct(read, by_direct, fetched, holes);
        assert_eq!(found.len(), usize::from(expected.is_some()), "{found:?}");
        assert!(expected.is_none_or(|part| found[0].contains(part)), "{found:?}");
    }
}

/// Each hint that is not in effect is named once.
#[test]
fn hints_without_effect_are_noted() {
    let file = |requested: &str, effective: &str| MpiFileFacts {
        requested_hints: requested.into(),
        effective_hints: effective.into(),
        ..MpiFileFacts::default()
    };
    let mut run = sound();
    run.run.evidence.mpi_io = vec![
        file("cb_nodes=2;nonsense=1;striping_factor=8", "cb_nodes=2;striping_factor=1"),
        file("nonsense=1", "cb_nodes=2"),
        file("other=2", ""),
        file("", "cb_nodes=2"),
    ];
    let found = notes(&mut run);
    assert_eq!(found.len(), 1, "{found:?}");
    for part in ["nonsense=1", "striping_factor=8"] {
        assert_eq!(found[0].matches(part).count(), 1, "{found:?}");
    }
    assert!(!found[0].contains("cb_nodes") && !found[0].contains("other"), "{found:?}");
    run.run.evidence.mpi_io.clear();
    assert!(notes(&mut run).is_empty());
}

/// Jobs on several machines: whether the reading machine held what was read.
#[test]
fn readers_that_had_the_file_already_are_noted() {
    let looked = |looked_bytes, cached_bytes| LabelEvidence {
        looked_bytes,
        cached_bytes,
        ..LabelEvidence::default()
    };
    for (machines, labels, expected) in [
        (1, vec![looked(4096, 4096)], None),
        (2, vec![looked(0, 0)], None),
        (2, vec![], None),
        (2, vec![looked(8192, 0), looked(8192, 4096)], Some("4 KiB of 16 KiB")),
        (2, vec![looked(8192, 0)], Some("0 B of 8 KiB")),
        (3, vec![looked(8192, 4096)], Some("3 machines")),
    ] {
        let mut run = sound();
        run.run.evidence.labels = labels;
        run.run.job = Some(Job { nodes: vec![Node::default(); machines], ..Job::default() });
        let found = notes(&mut run);
        assert_eq!(found.len(), usize::from(expected.is_some()), "{found:?}");
        assert!(expected.is_none_or(|part| found[0].contains(part)), "{found:?}");
    }
}

#[test]
fn drift_and_correlation_of_repetitions_are_noted() {
    let drift = |run: &Run| {
        let found: Vec<_> = sweeps::RULES.iter().filter(|rule| rule.note(run).is_some()).collect();
        found.iter().map(|rule| rule.code).collect::<Vec<_>>()
    };
    assert_eq!(drift(&sample::sweep(2, 12)), ["drift", "autocorrelation"]);
    assert_eq!(drift(&sample::sweep(2, 9)), [""; 0], "too few repetitions");

    let mut noise = sample::sweep(1, 40);
    let mut random = SplitMix64(7);
    noise.labels.iter_mut().for_each(|label| label.busy_ns = 1000 + random.bits() % 1000);
    assert_eq!(drift(&noise), [""; 0]);
}

/// A server that was gone for a while shows in one operation; one long fsync of much data does not.
#[test]
fn an_operation_far_beyond_its_median_has_stalled() {
    const MS: u64 = 1_000_000;
    let with = |op: &str, count: u64, times_ns: [u64; 5]| {
        let mut run = sound();
        run.rows = vec![sample::row("stress", op, count, 0, times_ns)];
        marks(&run).into_iter().find(|mark| mark.code == "stalled")
    };
    let stalled = [MS, 20 * MS, 5 * MS, 9 * MS, 14_000 * MS];
    let mark = with("fsync", 1000, stalled).expect("a stall");
    assert!(mark.counts);
    let seen = "one fsync in \"stress\" took 14 s, the median is 5 ms: the storage did not answer";
    assert!(mark.seen.starts_with(seen), "{}", mark.seen);
    assert_eq!(with("barrier", 1000, stalled), None);
    assert_eq!(with("fsync", 1, [14_000 * MS; 5]), None);
    assert_eq!(with("fsync", 1000, [MS, 20 * MS, 5 * MS, 9 * MS, 4_000 * MS]), None);
}

//! Every rule: runs in which it fires, and near ones in which it does not.

mod advice;
mod directories;
mod libraries;
mod work;

use super::*;
use crate::tests::sample::listing1;
use model::run::{
    ArrivalRow, Balance, Contention, Device, Directory, DirectoryEvidence, EventsInfo, Job,
    LabelEvidence, Node, NodeStorage, NodeUse, Row, Site, VerifiedData,
};

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
        "3 of 60002 operations failed (<0.1 %)",
        |run| run.run.evidence.failed = 3,
        |run| run.rows[0].expected = 3,
    ),
    (
        "short-operations",
        "7 operations moved fewer bytes",
        |run| run.run.evidence.short = 7,
        |run| run.run.evidence.short = 0,
    ),
    (
        "dropped-events",
        "12 events were not kept",
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
        "label \"stress\" lasted 9 ms: too short",
        |run| run.labels[0].busy_ns = 9_000_000,
        |run| run.labels[0].busy_ns = 10_000_000,
    ),
    (
        "clock-cost",
        "stat takes 60 ns on the average",
        |run| run.rows[5].mean_ns = Some(60.0),
        |run| run.rows[5].mean_ns = Some(70.0),
    ),
    (
        "clock-skew",
        "differ by up to 12.6 ms",
        |run| run.run.evidence.clock_skew_ns = 12_600_000,
        |run| run.run.evidence.clock_skew_ns = 12_500_000,
    ),
    (
        "clock-backward",
        "the clock went backward 2 times",
        |run| run.run.evidence.clock_backward = 2,
        |run| run.run.evidence.clock_backward = 0,
    ),
    (
        "clock-drift",
        "the clock (tsc) ran 101 ppm too slow",
        |run| run.run.evidence.clock_drift_ppm = Some(-101.0),
        |run| run.run.evidence.clock_drift_ppm = Some(-99.0),
    ),
    (
        "suspended",
        "slept for 5 s",
        |run| run.run.evidence.suspended_ns = 5_000_000_000,
        |run| run.run.evidence.suspended_ns = 0,
    ),
    (
        "cached-reads",
        "in label \"stress\" at least 50 % of the bytes read came from the page cache: these read",
        |run| label(run).fetched_bytes = Some(32 << 20),
        |run| label(run).fetched_bytes = Some(33 << 20),
    ),
    (
        "cached-reads",
        "in label \"stress\" 75 % of the files read lay in the page cache when they were opened",
        |run| (label(run).fetched_bytes, label(run).cached_bytes) = (None, 48 << 20),
        // Bytes that were fetched say more than what lay in memory before.
        |run| label(run).cached_bytes = 48 << 20,
    ),
    (
        "cached-reads",
        "in label \"stress\" 80 % of the files read lay in the page cache",
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
        "in label \"stress\" 100 % of the bytes",
        // Half was read directly, and all that was fetched belongs to that.
        |run| (label(run).direct_read_bytes, label(run).fetched_bytes) = (32 << 20, Some(32 << 20)),
        |run| (label(run).direct_read_bytes, label(run).fetched_bytes) = (64 << 20, Some(64 << 20)),
    ),
    (
        "cached-reads",
        "in label \"stress\" 75 % of the files read lay",
        // Less is fetched of what is compressed: only what lay in memory tells.
        |run| {
            (label(run).fetched_bytes, label(run).encoded_bytes) = (Some(1 << 20), 64 << 20);
            label(run).cached_bytes = 48 << 20;
        },
        |run| (label(run).fetched_bytes, label(run).encoded_bytes) = (Some(9 << 20), 64 << 20),
    ),
    (
        "unfetched-reads",
        "in label \"stress\" 100 % of the files read lies in holes or in extents that were never",
        |run| (label(run).fetched_bytes, label(run).hole_bytes) = (Some(0), 64 << 20),
        // Of a file with holes that part can be read which has been written.
        |run| label(run).hole_bytes = 64 << 20,
    ),
    (
        "unfetched-reads",
        "in label \"stress\" 100 %",
        |run| {
            (label(run).fetched_bytes, label(run).hole_bytes) = (None, 64 << 20);
            label(run).direct_read_bytes = 64 << 20;
        },
        |run| (label(run).fetched_bytes, label(run).hole_bytes) = (None, 16 << 20),
    ),
    (
        "unstable-writes",
        "in label \"stress\" 64 MiB were written and not made stable before it ended",
        |run| label(run).unstable_bytes = 64 << 20,
        |run| label(run).unstable_bytes = 3 << 20,
    ),
    (
        "unstable-writes",
        "in label \"stress\" 4 MiB of 64 MiB were not made stable, unless the sync of another rank",
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
        "in label \"stress\" 8 of 16 names looked at were in the name cache of this machine, as after",
        |run| label(run).cached_names = 8,
        |run| (label(run).cached_names, label(run).looked_names) = (0, 0),
    ),
    (
        "serial-queue",
        "in label \"stress\" 50 % of 320 calls given to io_uring had ended when the system call",
        |run| label(run).queued_at_once = 160,
        |run| (label(run).queued_at_once, label(run).handed_over) = (320, 320),
    ),
    (
        "null-engine",
        "in label \"stress\" 7 reads and writes moved nothing (engine=\"null\")",
        |run| label(run).null_operations = 7,
        |run| label(run).null_operations = 0,
    ),
    (
        "unknown-zeros",
        "in label \"stress\" 4 KiB of 1 MiB read with verify=true were zeros",
        |run| label(run).verified = Some(read_zeros(4096)),
        |run| label(run).verified = Some(read_zeros(0)),
    ),
    (
        "unknown-zeros",
        "in label \"stress\" 1 MiB of 1 MiB",
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
        "in label \"stress\" 4 KiB of 1 MiB read with verify=true were zeros where the reading rank wrote nothing",
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
        "tmpfs keeps files in main memory",
        |run| run.run.host.storage.file_system = "tmpfs".into(),
        |run| run.run.host.storage.file_system = "ext4".into(),
    ),
    (
        "client-saturated",
        "busy 95.2 % of the time (I/O calls took 50 %)",
        |run| {
            run.run.evidence.cpu_ns = 2_400_000_000;
            run.run.sites = vec![Site { busy_ns: 1_260_000_000, ..Site::default() }];
        },
        |run| run.run.evidence.cpu_ns = 2_200_000_000,
    ),
    (
        "crowded",
        "2 ranks share 1 processors",
        |run| run.run.host.cpus = 1,
        |run| run.run.host.cpus = 2,
    ),
    (
        "crowded",
        "on a machine there were more ranks than processors",
        |run| {
            run.run.comm = "mpi".into();
            run.run.evidence.crowded = true;
        },
        // The header knows the processors of one machine; the ranks may be on many.
        |run| {
            run.run.comm = "mpi".into();
            run.run.host.cpus = 1;
        },
    ),
    (
        "memory-storage",
        "ram0 keeps files in main memory",
        |run| run.run.host.storage.devices = vec![device("ram0", "memory", "")],
        |run| run.run.host.storage.devices = vec![device("sda", "disk", "")],
    ),
    (
        "loop-device",
        "lie on loop3, a loop device: its storage is the file /srv/image on vda,",
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
        "rank 1 was ready to run but had no processor for 63 ms (5 % of the run), the 2 ranks together 80 ms: ",
        |run| contention(run).longest_wait_ns = 63_000_000,
        |run| contention(run).longest_wait_ns = 62_900_000,
    ),
    (
        "starved",
        "times include the wait; the mean of stat is 10.0 times its median",
        |run| {
            contention(run).longest_wait_ns = 630_000_000;
            run.rows[5].mean_ns = Some(7_900.0);
        },
        // Nobody knows why the mean is far above the median.
        |run| run.rows[5].mean_ns = Some(7_900.0),
    ),
    (
        "starved",
        "times include the wait; the mean of stat.service is 2.0 times its median",
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
        "run directory: ext4 (/dev/vdb at /data) on n0, nfs4 (n0:/data at /data) on n1",
        |run| second_machine(run, "nfs4", "n0:/data"),
        |run| second_machine(run, "", ""),
    ),
    (
        "stolen-time",
        "the hypervisor took 10 % of the time",
        |run| contention(run).stolen_ns = Some(200_000_000),
        |run| contention(run).stolen_ns = Some(99_000_000),
    ),
    (
        "throttled",
        "kept its processes from running for 30 ms",
        |run| contention(run).throttled_ns = Some(30_000_000),
        |run| contention(run).throttled_ns = Some(20_000_000),
    ),
    (
        "unequal-work",
        "rank 1 spent 400 ms, 1.5 times the mean, in write of \"stress\"",
        |run| balance(run, Balance { slowest_busy_ns: 400_000_000, ..EVEN }),
        |run| balance(run, Balance { slowest_busy_ns: 340_000_000, ..EVEN }),
    ),
    (
        "unequal-work",
        "rank 0 moved 1.8 times the mean bytes in write",
        |run| balance(run, Balance { largest_bytes: 18_432_000, ..EVEN }),
        // One rank alone has nobody to differ from.
        |run| balance(run, Balance { ranks: 1, largest_bytes: 20_480_000, ..EVEN }),
    ),
    (
        "rate-not-reached",
        "stress (x.ppl:1:1): the rate was not reached: 31.25 kop/s of 50.00 kop/s; at the end 180 times of the schedule",
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

/// Who waits for due times spins: a busy processor is no sign of a client at its limit then.
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
    assert!(seen.contains("in label \"l2\" 3 MiB") && !seen.contains("l3"), "{seen}");
    assert!(seen.contains("and so in 2 more labels"), "{seen}");
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
        (vec![node(1, 3, 2)], "on n1 3 ranks share 2 processors:"),
        (vec![node(1, 3, 2), node(2, 3, 4), node(3, 3, 2)], "on each of n1, n3 3 ranks share 2"),
        (
            (1..8).map(|n| node(n, 3, 2)).collect(),
            "on each of n1, n2, n3, n4 and 3 more hosts 3 ranks",
        ),
        (
            vec![node(1, 4, 2), node(2, 3, 2)],
            "on n1 4 ranks share 2 processors; 1 other host has too many ranks, too:",
        ),
    ] {
        let mut run = listing1();
        run.run.comm = "mpi".into();
        run.run.evidence.crowded = true;
        run.run.job = Some(Job { nodes, ..Default::default() });
        let mark = marks(&run).into_iter().find(|mark| mark.code == "crowded").expect("a mark");
        assert!(mark.seen.starts_with(expected), "{}", mark.seen);
    }
}

//! Every rule: runs in which it fires, and near ones in which it does not.

use super::*;
use crate::sample::listing1;
use model::run::{Balance, Contention, Device, EventsInfo, Site};

/// A run on a disk against which nothing can be said.
fn sound() -> Run {
    let mut run = listing1();
    let evidence = &mut run.run.evidence;
    evidence.page_cache_share = Some(0.02);
    evidence.cached_at_open_share = Some(0.0);
    evidence.sync_writes = true;
    evidence.cpu_ns = 400_000_000;
    evidence.marks.clear();
    run
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
    run.run.evidence.sync_writes = false;
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
        "at least 50 % of the bytes read came from the page cache (0 % of the files",
        |run| run.run.evidence.page_cache_share = Some(0.5),
        |run| run.run.evidence.page_cache_share = Some(0.49),
    ),
    (
        "cached-reads",
        "80 % of the files read lay in the page cache when",
        |run| {
            run.run.evidence.page_cache_share = None;
            run.run.evidence.cached_at_open_share = Some(0.8);
        },
        // Blocks that were fetched say more than what lay in memory before.
        |run| {
            run.run.evidence.storage_read_bytes = Some(1 << 30);
            run.run.evidence.cached_at_open_share = Some(0.8);
        },
    ),
    (
        "cached-reads",
        "80 % of the files read lay in the page cache when",
        // So little can be directories and pages of the program.
        |run| {
            run.run.evidence.page_cache_share = Some(0.0);
            run.run.evidence.storage_read_bytes = Some(1 << 20);
            run.run.evidence.cached_at_open_share = Some(0.8);
        },
        |run| {
            run.run.evidence.page_cache_share = Some(0.0);
            run.run.evidence.storage_read_bytes = Some(1 << 30);
            run.run.evidence.cached_at_open_share = Some(0.8);
        },
    ),
    (
        "unstable-writes",
        "20480000 bytes were written and nothing",
        |run| run.run.evidence.sync_writes = false,
        |run| {
            run.run.evidence.sync_writes = false;
            run.rows[2].op = "write.sync".into();
        },
    ),
    (
        "memory-storage",
        "tmpfs keeps files in main memory",
        |run| run.run.host.file_system = "tmpfs".into(),
        |run| run.run.host.file_system = "ext4".into(),
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
        |run| run.run.host.devices = vec![device("ram0", "memory", "")],
        |run| run.run.host.devices = vec![device("sda", "disk", "")],
    ),
    (
        "loop-device",
        "lie on loop3, a loop device: its storage is the file /srv/image on vda,",
        |run| {
            let (image, disk) = (device("loop3", "loop", "/srv/image"), device("vda", "disk", ""));
            run.run.host.devices = vec![device("dm-0", "disk", ""), image, disk];
        },
        // Then there is more to be said.
        |run| {
            let image = device("loop3", "loop", "/dev/shm/image");
            run.run.host.devices = vec![image, device("tmpfs", "memory", "")];
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
];

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
        assert!(page.contains(&format!("| `{code}` |")), "docs/verdicts.md lacks {code}");
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

/// MPI-IO opens files itself: direct=true is no advice then.
#[test]
fn what_cannot_help_is_not_advised() {
    let mut run = sound();
    run.run.evidence.page_cache_share = Some(0.9);
    let advice = |run: &Run| {
        let mark = marks(run).into_iter().find(|mark| mark.code == "cached-reads");
        mark.expect("it fires").advice
    };
    assert!(advice(&run).starts_with("read with (direct=true)"));
    run.rows[0].op = "pfread".into();
    run.rows[0].bytes = 1;
    assert!(advice(&run).contains("direct=true does not concern MPI-IO"));
    assert!(!advice(&run).contains("read with (direct=true)"));
}

//! Rules about the machines: their storage, who else wanted their CPUs, and whether they made enough load.

use super::rule::{
    Rule, has_storage, in_memory, is_virtual, memory_of, rank_time_ns, remark, verdict,
};
use crate::machines::unlike_storage;
use crate::rows::OwnTimes;
use crate::table::work::describe_backlog;
use crate::text::percent;
use model::run::{ArrivalRow, Balance, Contention, Device, LabelEvidence, Node, Row, Run};
use model::units::{format_ns, significant};
use model::words;

/// From this share of busy CPUs on, the client is the limit.
const BUSY_SHARE: f64 = 0.9;
/// Shorter runs are not judged by CPU time: their start and end are counted with them.
const SHORTEST_RUN_NS: u64 = 100_000_000;
/// From this share of its time on a run queue, a rank's latencies are too high.
const WAITED_SHARE: f64 = 0.05;
/// From this share of stolen CPU time on, the hypervisor decides the times, ...
const STOLEN_SHARE: f64 = 0.05;
/// ... if at least this much was stolen: the kernel counts in ticks of 10 ms.
const STOLEN_NS: u64 = 50_000_000;
/// From this share of throttled time on, the limit decides the times.
const THROTTLED_SHARE: f64 = 0.01;
/// A ratio of mean to median that is named: a few operations took almost all the time.
const SKEWED: f64 = 2.0;
/// A rank that works this many times the mean is named, ...
const UNEQUAL: f64 = 1.25;
/// ... if ranks made this many calls on average, so that it is more than one slow call, ...
const FEW_CALLS: u64 = 4;
/// ... and if the operation takes at least this share of the ranks' time.
const WEIGHTY_SHARE: f64 = 0.05;
/// Hosts that are named.
const HOSTS: usize = 4;

/// Rules on the storage below the files.
pub const STORAGE: &[Rule] = &[
    remark(
        "memory-storage",
        memory_storage,
        "give a directory on the storage in question with --dir or --mount",
    ),
    remark("loop-device", loop_device, "give a directory on the storage in question with --dir"),
    verdict(
        "unlike-mounts",
        |run| unlike_mounts(run).filter(|(other_type, _)| *other_type).map(|(_, text)| text),
        "mount the directory on all machines in the same way: they measure different paths to the \
         storage",
    ),
    remark(
        "unlike-mounts",
        |run| unlike_mounts(run).filter(|(other_type, _)| !other_type).map(|(_, text)| text),
        "mount the directory on all machines in the same way: they measure different paths to the \
         storage",
    ),
];

/// Others that used the CPUs.
pub const COMPETITION: &[Rule] = &[
    verdict(
        "starved",
        starved,
        "stop other work on the CPUs that the ranks may use, use fewer ranks, or bind them to free CPUs",
    ),
    verdict(
        "stolen-time",
        stolen_time,
        "measure on a machine with CPUs of its own, or when its neighbours are quiet",
    ),
    verdict(
        "throttled",
        throttled,
        "raise or remove the limit (cpu.max, or the --cpus of a container)",
    ),
];

/// Ranks that could not make the load.
pub const LOAD: &[Rule] = &[
    verdict(
        "client-saturated",
        saturated,
        "use more nodes or ranks, larger requests, or (not for MPI-IO) direct=true, which copies less",
    ),
    remark(
        "crowded",
        crowded,
        "use at most one rank for each CPU where times of single operations matter",
    ),
    verdict(
        "unequal-work",
        unequal_work,
        "give all ranks equal work; if they have it, check the CPU and node of the slow rank",
    ),
    verdict(
        "rate-not-reached",
        rate_not_reached,
        "request a lower rate, use more ranks, or engine=\"uring\" with a larger depth: the times of these operations \
         grow as long as the run continues",
    ),
];

fn memory_storage(run: &Run) -> Option<String> {
    if let Some(storage) = in_memory(run).filter(|_| has_storage(run)) {
        return Some(format!("{storage} keeps files in memory: no storage was measured"));
    }
    let further = run.run.host.directories.iter();
    let held = further.filter_map(|one| {
        let storage = memory_of(&one.storage)?;
        Some(format!("{} ({storage})", one.name))
    });
    let held: Vec<String> = held.collect();
    (!held.is_empty()).then(|| {
        format!("files of {} are in memory: no storage was measured there", held.join(", "))
    })
}

/// The file system is in a file: two file systems and two page caches are measured.
fn loop_device(run: &Run) -> Option<String> {
    let devices = &run.run.host.storage.devices;
    let is_loop = |device: &&Device| device.kind == "loop";
    let device = devices.iter().find(is_loop).filter(|_| in_memory(run).is_none())?;
    let below = devices.iter().rfind(|device| !is_loop(device));
    let on = below.map_or(String::new(), |below| format!(" on {}", below.name));
    Some(format!(
        "the files are on {}, a loop device: its storage is the file {}{on}, whose file system and page cache are \
         measured too",
        device.name, device.file
    ))
}

/// Machines that reach the files in different ways, and whether by another type of file system.
fn unlike_mounts(run: &Run) -> Option<(bool, String)> {
    let found = unlike_storage(run);
    let shown = found.iter().find(|unlike| unlike.other_type).or(found.first())?;
    let more = match found.len() {
        1 => String::new(),
        n => format!("; and {} more", n - 1),
    };
    Some((shown.other_type, format!("{}{more}", shown.text)))
}

/// CPUs that the ranks could use at once.
fn cpus(run: &Run) -> f64 {
    let (ranks, cpus) = (run.run.ranks.max(1), run.run.host.cpus);
    let one_machine = matches!(run.run.comm.as_str(), "solo" | "local");
    f64::from(match &run.run.job {
        Some(job) => job.nodes.iter().map(|node| node.size().min(node.cpus.max(1))).sum(),
        None if one_machine && cpus > 0 => ranks.min(cpus),
        None => ranks,
    })
}

/// Competition of others, if the ranks ran long enough to judge it.
fn contention(run: &Run) -> Option<&Contention> {
    let long = run.run.duration_wall_ns >= SHORTEST_RUN_NS && !is_virtual(run);
    run.run.evidence.contention.as_ref().filter(|_| long)
}

fn starved(run: &Run) -> Option<String> {
    let (contention, wall_ns) = (contention(run)?, run.run.duration_wall_ns as f64);
    let share = contention.longest_wait_ns as f64 / wall_ns;
    let waited_ns = contention.waited_ns.filter(|_| share >= WAITED_SHARE)?;
    let all = match run.run.ranks {
        0 | 1 => String::new(),
        ranks => format!(", the {ranks} ranks together {}", format_ns(waited_ns as f64)),
    };
    let skewed = most_skewed(run).map_or(String::new(), |(row, factor)| {
        format!("; the mean of {} is {factor:.1} times its median", row.op)
    });
    Some(format!(
        "the machine was busy: rank {} waited {} ({} of the run) for a CPU{all}, so latencies are too high{skewed}",
        contention.longest_wait_rank,
        format_ns(contention.longest_wait_ns as f64),
        percent(share.min(1.0)),
    ))
}

/// The operation whose mean is farthest above its median.
fn most_skewed(run: &Run) -> Option<(&Row, f64)> {
    // A late start of a due operation is not its own time.
    let own = OwnTimes::new(run);
    let whole = run.rows.iter().filter(|row| row.part_of.is_none()).map(|row| own.row(row));
    let factors = whole.filter_map(|row| Some((row, row.mean_ns? / row.p50_ns? as f64)));
    let skewed = factors.filter(|(_, factor)| *factor >= SKEWED && factor.is_finite());
    skewed.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn stolen_time(run: &Run) -> Option<String> {
    let contention = contention(run)?;
    let (stolen_ns, busy_ns) = (contention.stolen_ns?, contention.busy_ns?);
    let share = stolen_ns as f64 / busy_ns as f64;
    (stolen_ns >= STOLEN_NS && share >= STOLEN_SHARE).then(|| {
        format!(
            "the hypervisor took {} of the CPU time of this machine ({}): times include it",
            percent(share.min(1.0)),
            format_ns(stolen_ns as f64)
        )
    })
}

fn throttled(run: &Run) -> Option<String> {
    let throttled_ns = contention(run)?.throttled_ns?;
    let share = throttled_ns as f64 / (run.run.duration_wall_ns as f64 * cpus(run));
    (share >= THROTTLED_SHARE).then(|| {
        format!(
            "a control group's limit on processor time stopped its processes for {}: times include it",
            format_ns(throttled_ns as f64)
        )
    })
}

/// From this mean number of calls under way on, calls overlap.
const OVERLAP: f64 = 1.05;

fn saturated(run: &Run) -> Option<String> {
    let wall_ns = run.run.duration_wall_ns;
    // Ranks that wait for due times spin.
    let waits = run.run.arrivals.iter().any(|row| !row.is_behind());
    if is_virtual(run) || wall_ns < SHORTEST_RUN_NS || waits {
        return None;
    }
    let share = run.run.evidence.cpu_ns as f64 / (wall_ns as f64 * cpus(run));
    (share >= BUSY_SHARE).then(|| {
        format!(
            "the ranks kept their CPUs busy {} of the time ({}): the client is the limit, not the storage",
            percent(share.min(1.0)),
            under_way(run)
        )
    })
}

/// `I/O calls took 40 %`; of calls that overlap how long any was under way, and how many were.
fn under_way(run: &Run) -> String {
    let own = OwnTimes::new(run);
    let rows = run.rows.iter().filter(|row| row.part_of.is_none());
    let [busy_ns, sum_ns] = rows
        .map(|row| own.busy_ns(row))
        .fold([0.0; 2], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
    let io = percent((busy_ns / rank_time_ns(run)).min(1.0));
    match sum_ns / busy_ns.max(1.0) {
        depth if depth >= OVERLAP => {
            format!("I/O was under way {io}, {} calls at one time on average", significant(depth))
        }
        _ => format!("I/O calls took {io}"),
    }
}

/// More ranks than CPUs take turns, and their times include the turns of others.
fn crowded(run: &Run) -> Option<String> {
    let (ranks, cpus) = (run.run.ranks, run.run.host.cpus);
    let here = run.run.comm == "local" && cpus > 0 && ranks > cpus;
    let nodes = run.run.job.iter().flat_map(|job| &job.nodes);
    let full: Vec<&Node> = nodes.filter(|node| node.size() > node.cpus).collect();
    let seen = match full.first() {
        _ if here => format!(
            "{counted_ranks} share {cpus} CPUs",
            counted_ranks = words::count(ranks, "rank")
        ),
        _ if !run.run.evidence.crowded => return None,
        None => "on a machine there were more ranks than CPUs they may use".to_string(),
        Some(first) => {
            let hosts = words::list_some(full.iter().map(|node| &node.host), HOSTS);
            format!("more ranks than CPUs on {hosts} ({} on {} CPUs)", first.size(), first.cpus)
        }
    };
    Some(format!("{seen}: times include waiting for them"))
}

/// How far a row is from equal work: bytes where ranks moved different amounts, else time.
fn unequal(row: &Row, balance: &Balance) -> Option<(f64, String)> {
    let ranks = f64::from(balance.ranks);
    let (mean_bytes, mean_ns) = (row.bytes as f64 / ranks, balance.busy_ns as f64 / ranks);
    let by_bytes = balance.largest_bytes as f64 / mean_bytes;
    let by_time = balance.slowest_busy_ns as f64 / mean_ns;
    if row.bytes > 0 && by_bytes > UNEQUAL {
        let rank = balance.largest_rank;
        return Some((
            by_bytes,
            format!("rank {rank} moved {by_bytes:.1} times the mean bytes in"),
        ));
    }
    (by_time > UNEQUAL && by_time.is_finite()).then(|| {
        let (rank, took) = (balance.slowest_rank, format_ns(balance.slowest_busy_ns as f64));
        (by_time, format!("rank {rank} spent {took}, {by_time:.1} times the mean, in"))
    })
}

/// A time limit decides how much each rank does: they stop by themselves, all at the same time. With `level`
/// the iterations after it make the amounts equal.
fn is_timed(run: &Run, row: &Row) -> bool {
    if row.label.split('/').any(|part| matches!(part, "until" | "wear-out")) {
        return true;
    }
    let label = |seen: &LabelEvidence| {
        (&seen.label, seen.cell, seen.repetition) == (&row.label, row.cell, row.repetition)
    };
    let labels = &run.run.evidence.labels;
    labels.iter().any(|seen| seen.timed && label(seen))
        && run.run.sites.iter().any(|site| site.timed && site.op == row.op)
}

fn unequal_work(run: &Run) -> Option<String> {
    // A rank that ended early did less than the others.
    if is_virtual(run) || !run.run.rank_errors.is_empty() {
        return None;
    }
    let weighty = |balance: &Balance| {
        balance.ranks > 1 && balance.busy_ns as f64 >= WEIGHTY_SHARE * rank_time_ns(run)
    };
    // Shared work goes to the fast ranks: it is unequal on purpose.
    let is_shared = |row: &&Row| run.run.shares.iter().any(|share| share.label == row.label);
    let fixed = run.rows.iter().filter(|row| !is_shared(row) && !is_timed(run, row));
    let rows = fixed.filter_map(|row| {
        let enough = |balance: &&Balance| row.count >= FEW_CALLS * u64::from(balance.ranks);
        let balance = row.balance.as_ref().filter(|balance| weighty(balance)).filter(enough)?;
        let (factor, text) = unequal(row, balance)?;
        Some((factor, row, text))
    });
    let (_, row, text) = rows.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let label = if row.label.is_empty() { "".into() } else { format!(" of \"{}\"", row.label) };
    Some(format!("{text} {}{label}: the total rate is that of the slowest rank", row.op))
}

/// Times of operations that fall behind a schedule depend on the length of the run, not on the storage.
fn rate_not_reached(run: &Run) -> Option<String> {
    let behind: Vec<&ArrivalRow> = run.run.arrivals.iter().filter(|row| row.is_behind()).collect();
    let more = match behind.len() {
        0 | 1 => String::new(),
        n => format!("; the same in {} more places or executions", n - 1),
    };
    Some(format!("{}{more}", describe_backlog(run, behind.first()?)))
}

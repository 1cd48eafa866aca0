//! Rules about who else wanted the processors, and what the storage really is, on all machines.

use super::client::{SHORTEST_RUN_NS, processors};
use super::{counts, in_memory, is_virtual, remark};
use crate::nodes::unlike_storage;
use crate::own_time::OwnTimes;
use crate::text::percent;
use model::run::{Contention, Device, Mark, Node, Row, Run};
use model::units::format_ns;

/// From this share of its time on a run queue, a rank's times are those of the queue.
const WAITED_SHARE: f64 = 0.05;
/// From this share of stolen processor time on, times are those of the hypervisor, ...
const STOLEN_SHARE: f64 = 0.05;
/// ... if there is so much of it: the kernel counts in ticks of 10 ms.
const STOLEN_NS: u64 = 50_000_000;
/// From this share of time spent throttled on, times are those of the limit.
const THROTTLED_SHARE: f64 = 0.01;
/// A mean so many times the median is named: a few operations took almost all the time.
const SKEWED: f64 = 2.0;

/// What competed with the ranks, if they ran long enough to judge it.
fn contention(run: &Run) -> Option<&Contention> {
    let long = run.run.duration_wall_ns >= SHORTEST_RUN_NS && !is_virtual(run);
    run.run.evidence.contention.as_ref().filter(|_| long)
}

pub(super) fn starved(run: &Run) -> Option<Mark> {
    let (contention, wall_ns) = (contention(run)?, run.run.duration_wall_ns as f64);
    let share = contention.longest_wait_ns as f64 / wall_ns;
    let waited_ns = contention.waited_ns.filter(|_| share >= WAITED_SHARE)?;
    let rank = contention.longest_wait_rank;
    let who = match run.run.ranks {
        0 | 1 => String::new(),
        ranks => format!(", the {ranks} ranks together {}", format_ns(waited_ns as f64)),
    };
    let skewed = most_skewed(run).map_or(String::new(), |(row, factor)| {
        format!("; the mean of {} is {factor:.1} times its median", row.op)
    });
    counts(
        "starved",
        format!(
            "rank {rank} was ready to run but had no processor for {} ({} of the run){who}: times \
             include the wait{skewed}",
            format_ns(contention.longest_wait_ns as f64),
            percent(share.min(1.0)),
        ),
        match is_bound(run) {
            true => {
                "stop other work on the processors that the ranks are bound to, use fewer ranks, or bind them to others"
            }
            false => {
                "stop other work on these processors, use fewer ranks, or bind ranks to free processors"
            }
        },
    )
}

/// The launcher has bound ranks to processors.
fn is_bound(run: &Run) -> bool {
    run.run.job.iter().flat_map(|job| &job.nodes).any(Node::is_bound)
}

/// The operation whose mean is farthest above its median.
fn most_skewed(run: &Run) -> Option<(&Row, f64)> {
    // How late operations started that were due at times is no time of theirs.
    let own = OwnTimes::of(run);
    let whole = run.rows.iter().filter(|row| row.part_of.is_none()).map(|row| own.row(row));
    let factors = whole.filter_map(|row| Some((row, row.mean_ns? / row.p50_ns? as f64)));
    let skewed = factors.filter(|(_, factor)| *factor >= SKEWED && factor.is_finite());
    skewed.max_by(|a, b| a.1.total_cmp(&b.1))
}

pub(super) fn stolen_time(run: &Run) -> Option<Mark> {
    let contention = contention(run)?;
    let (stolen_ns, busy_ns) = (contention.stolen_ns?, contention.busy_ns?);
    let share = stolen_ns as f64 / busy_ns as f64;
    if stolen_ns < STOLEN_NS || share.is_nan() || share < STOLEN_SHARE {
        return None;
    }
    counts(
        "stolen-time",
        format!(
            "the hypervisor took {} of the time in which this machine's processors had work ({}): \
             times include it",
            percent(share.min(1.0)),
            format_ns(stolen_ns as f64)
        ),
        "measure on a machine with processors of its own, or when its neighbours are quiet",
    )
}

pub(super) fn throttled(run: &Run) -> Option<Mark> {
    let throttled_ns = contention(run)?.throttled_ns?;
    let time_ns = run.run.duration_wall_ns as f64 * processors(run);
    let share = throttled_ns as f64 / time_ns;
    (share >= THROTTLED_SHARE).then(|| {
        counts(
            "throttled",
            format!(
                "a control group's limit on processor time kept its processes from running for {}: \
                 times include it",
                format_ns(throttled_ns as f64)
            ),
            "raise or remove the limit (cpu.max, or the --cpus of a container)",
        )
    })?
}

/// Machines reach the files in different ways.
pub(super) fn unlike_mounts(run: &Run) -> Option<Mark> {
    let found = unlike_storage(run);
    let shown = found.iter().find(|unlike| unlike.other_type).or(found.first())?;
    let more = match found.len() {
        1 => String::new(),
        n => format!("; and {} more", n - 1),
    };
    let seen = format!("{}{more}", shown.text);
    let advice = "mount the directory on all machines in the same way: their rates are those of different paths \
                  to the storage";
    let mark = if shown.other_type { counts } else { remark };
    mark("unlike-mounts", seen, advice)
}

/// The file system lies in a file: two file systems and two page caches are measured.
pub(super) fn loop_device(run: &Run) -> Option<Mark> {
    let devices = &run.run.host.storage.devices;
    let is_loop = |device: &&Device| device.kind == "loop";
    let device = devices.iter().find(is_loop).filter(|_| in_memory(run).is_none())?;
    let below = devices.iter().rfind(|device| !is_loop(device));
    let on = below.map_or(String::new(), |below| format!(" on {}", below.name));
    remark(
        "loop-device",
        format!(
            "the files lie on {}, a loop device: its storage is the file {}{on}, whose file system \
             and page cache are measured too",
            device.name, device.file
        ),
        "give a directory on the storage in question with --dir",
    )
}

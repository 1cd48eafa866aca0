//! Rules about the machines that made the load.

use super::{counts, is_virtual, rank_time_ns, reads_by_mpi, remark};
use crate::table::arrivals;
use crate::text::percent;
use model::run::{ArrivalRow, Balance, LabelEvidence, Mark, Node, Row, Run};
use model::units::format_ns;

/// From this share of busy processors on, the client is the limit.
const BUSY_SHARE: f64 = 0.9;
/// Shorter runs say nothing about processors: their start and end are counted with them.
pub(super) const SHORTEST_RUN_NS: u64 = 100_000_000;
/// A rank that works so many times the mean is named, ...
const UNEQUAL: f64 = 1.25;
/// ... if ranks made so many calls on the average, so that it is more than one slow call, ...
const FEW_CALLS: u64 = 4;
/// ... and if the operation takes at least this share of the ranks' time.
const WEIGHTY_SHARE: f64 = 0.05;

/// Processors the ranks could use at once.
pub(super) fn processors(run: &Run) -> f64 {
    let (ranks, cpus) = (run.run.ranks.max(1), run.run.host.cpus);
    let one_machine = matches!(run.run.comm.as_str(), "solo" | "local");
    f64::from(match &run.run.job {
        Some(job) => job.nodes.iter().map(|node| node.size().min(node.cpus.max(1))).sum(),
        None if one_machine && cpus > 0 => ranks.min(cpus),
        None => ranks,
    })
}

pub(super) fn saturated(run: &Run) -> Option<Mark> {
    let wall_ns = run.run.duration_wall_ns;
    // Who waits for due times spins.
    let waits = run.run.arrivals.iter().any(|row| !row.is_behind());
    if is_virtual(run) || wall_ns < SHORTEST_RUN_NS || waits {
        return None;
    }
    let share = run.run.evidence.cpu_ns as f64 / (wall_ns as f64 * processors(run));
    let io_ns: u64 = run.run.sites.iter().map(|site| site.busy_ns).sum();
    let io = percent((io_ns as f64 / rank_time_ns(run)).min(1.0));
    (share >= BUSY_SHARE).then(|| {
        counts(
            "client-saturated",
            format!(
                "the ranks kept their processors busy {} of the time (I/O calls took {io}): the client \
                 is the limit, not the storage",
                percent(share.min(1.0))
            ),
            match reads_by_mpi(run) {
                true => "use more nodes or ranks, or larger requests",
                false => "use more nodes or ranks, larger requests, or direct=true, which copies less",
            },
        )
    })?
}

/// Times of operations that fall behind a schedule tell how long the run was, not how fast storage is.
pub(super) fn rate_not_reached(run: &Run) -> Option<Mark> {
    let behind: Vec<&ArrivalRow> = run.run.arrivals.iter().filter(|row| row.is_behind()).collect();
    let first = arrivals::behind(behind.first()?);
    let more = match behind.len() {
        1 => String::new(),
        n => format!("; so it was in {} more places or executions", n - 1),
    };
    counts(
        "rate-not-reached",
        format!("{first}{more}"),
        "ask for a lower rate, use more ranks, or engine=\"uring\" with a larger depth: the times of these \
         operations grow as long as the run goes on",
    )
}

/// Hosts that are named.
const HOSTS: usize = 4;

/// More ranks than processors take turns, and their times hold the turns of others.
pub(super) fn crowded(run: &Run) -> Option<Mark> {
    let (ranks, cpus) = (run.run.ranks, run.run.host.cpus);
    let seen = if run.run.comm == "local" && cpus > 0 && ranks > cpus {
        format!("{ranks} ranks share {cpus} processors")
    } else if run.run.evidence.crowded {
        let nodes = run.run.job.iter().flat_map(|job| &job.nodes);
        let full: Vec<&Node> = nodes.filter(|node| node.size() > node.cpus).collect();
        match full.iter().max_by_key(|node| node.size()) {
            Some(fullest) => crowds(fullest, &full),
            None => "on a machine there were more ranks than processors they may use".to_string(),
        }
    } else {
        return None;
    };
    remark(
        "crowded",
        format!("{seen}: times include waiting for them"),
        "use at most one rank for each processor where times of single operations matter",
    )
}

/// The machines that are as full as the fullest, and how many others there are.
fn crowds(fullest: &Node, full: &[&Node]) -> String {
    let is_like = |node: &&&Node| (node.size(), node.cpus) == (fullest.size(), fullest.cpus);
    let hosts: Vec<&str> = full.iter().filter(is_like).map(|node| &*node.host).collect();
    let named = hosts[..hosts.len().min(HOSTS)].join(", ");
    let more = match hosts.len().saturating_sub(HOSTS) {
        0 => String::new(),
        more => format!(" and {more} more hosts"),
    };
    let each = if hosts.len() > 1 { "each of " } else { "" };
    let others = match full.len() - hosts.len() {
        0 => String::new(),
        1 => "; 1 other host has too many ranks, too".into(),
        others => format!("; {others} other hosts have too many ranks, too"),
    };
    let (ranks, cpus) = (fullest.size(), fullest.cpus);
    format!("on {each}{named}{more} {ranks} ranks share {cpus} processors{others}")
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
/// what follows evens out what they had done.
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

pub(super) fn unequal_work(run: &Run) -> Option<Mark> {
    // A rank that ended early did less than the others.
    if is_virtual(run) || !run.run.rank_errors.is_empty() {
        return None;
    }
    let weighty = |balance: &Balance| {
        balance.ranks > 1 && balance.busy_ns as f64 >= WEIGHTY_SHARE * rank_time_ns(run)
    };
    // Work that is shared goes to whoever is fast: it is unequal on purpose.
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
    counts(
        "unequal-work",
        format!("{text} {}{label}: the rate of all is that of the slowest", row.op),
        "give every rank the same work; if it has the same, look at the slow rank's processor and node",
    )
}

//! Rules about where the bytes of each label came from and went to, and what emptied the page cache.

use super::rule::{
    Rule, each_directory, each_label, each_phase, in_setup, inside, is_virtual, note, remark,
    share, sum, verdict,
};
use crate::text::{at_least, percent};
use model::merge::merge_all;
use model::run::{CacheControl, LabelEvidence, Row, Run};
use model::units::format_bytes;
use model::words::times;

/// From this share of cached bytes on, read rates are memory rates.
const CACHED_SHARE: f64 = 0.5;
/// From this share of bytes on that were never written, read rates are no storage rates.
const HOLE_SHARE: f64 = 0.5;
/// From this share of unsynced bytes on, a write rate is too high by more than noise.
const UNSTABLE_SHARE: f64 = 0.05;
/// From this share of cached names on, times of lookups are memory times.
const WARM_SHARE: f64 = 0.5;
/// Share of calls handed to a queue that had ended at once: they were executed one by one.
const AT_ONCE_SHARE: f64 = 0.5;
/// Bytes per rank that may have been fetched besides data: directories, maps of blocks, pages of the
/// program itself. The kernel counts them all as read.
const OTHER_BYTES: u64 = 1 << 20;
/// Places with zeros that are named; all are counted.
const PLACES_NAMED: usize = 3;

/// Rules about the data of labels.
pub const RULES: &[Rule] = &[
    verdict(
        "cached-reads",
        cached_reads,
        "read with (direct=true) {...} (no help for MPI-IO), add `dropcaches;` before the reads, read what another \
         node wrote, or use files larger than memory",
    ),
    verdict(
        "unfetched-reads",
        unfetched_reads,
        "write the files before they are read: truncate and fallocate make room, but no data",
    ),
    verdict(
        "unstable-writes",
        unstable_writes,
        "write with (fsync=\"close\") {...}, fsync($h); (pfsync($h); of MPI files) or sync; inside the label",
    ),
    remark(
        "unstable-writes",
        |run| {
            let unsure = each_phase(run, unstable(run))?;
            unstable_writes(run)
                .is_none()
                .then(|| format!("{unsure}, unless a later sync of another rank covered them"))
        },
        "let every rank call sync;, or write with (fsync=\"close\") {...}",
    ),
    // Files that a program prepares before its phases: what they left in memory is written during these.
    remark(
        "unstable-writes",
        |run| in_setup(run, unstable(run)),
        "end what is prepared with sync; or write it with (fsync=\"close\") {...}",
    ),
    remark(
        "warm-names",
        warm_names,
        "add `dropcaches;` before this phase, or use files created by another node",
    ),
    verdict(
        "serial-queue",
        serial_queue,
        "open the files with direct=true, or read the figures as figures of depth=1",
    ),
    verdict(
        "null-engine",
        |run| {
            let seen = each_label(run, |label| {
                let count = Some(label.null_operations).filter(|count| *count > 0)?;
                Some(format!("{} {count} reads and writes", inside(label)))
            })?;
            Some(format!(
                "{seen} moved nothing (engine=\"null\"): bytes, times and rates are Parabench's own, of \
                 no storage"
            ))
        },
        "leave engine=\"null\" out to measure storage",
    ),
    verdict(
        "unknown-zeros",
        unknown_zeros,
        "files that were written without holes have lost data, holes look the same: read them on the rank that \
         wrote them, which knows its holes",
    ),
];

/// Notes on the control of the page cache.
pub const NOTES: &[Rule] = &[
    note("dropcaches-refused", |run| {
        let refused = Some(cache_control(run).drops_refused).filter(|count| *count > 0)?;
        let times = times(refused);
        Some(format!(
            "dropcaches: DID NOT HAPPEN ({times} refused): the page cache kept its content"
        ))
    }),
    note("dropcaches", |run| {
        let all = cache_control(run);
        describe_control("dropcaches", all.drops, all.drop_kept_bytes, all.drop_looked_bytes)
    }),
    note("fadvise", |run| {
        let all = cache_control(run);
        let (kept, looked) = (all.advice_kept_bytes, all.advice_looked_bytes);
        describe_control("fadvise \"dontneed\"", all.advised, kept, looked)
    }),
    note("direct", direct),
    note("page-caches-of-machines", shifted_readers),
];

/// Where most of the bytes that a label reads come from, according to its evidence.
enum Origin {
    /// From storage, or unknown.
    Storage,
    /// This share was not fetched: it came from the page cache.
    NotFetched(f64),
    /// The page cache held this share when the files were opened.
    HeldAtOpen(f64),
    /// This share of its files was never written.
    Nowhere(f64),
}

/// Fetched bytes decide. Where they are unknown (network file systems), where so few were fetched that
/// they may not be data, or where files are compressed, the page cache at the opening of the files does.
fn origin(label: &LabelEvidence, ranks: u32) -> Origin {
    // Of files with holes only the written part may have been read.
    let written = label.mapped_bytes.saturating_sub(label.hole_bytes);
    let holes = match label.read_bytes > written {
        true => share(label.hole_bytes, label.mapped_bytes),
        false => 0.0,
    };
    let most = |bytes: u64, of: u64| bytes as f64 >= HOLE_SHARE * of as f64;
    let fetched_most = label.fetched_bytes.is_some_and(|bytes| most(bytes, label.read_bytes));
    if label.read_bytes > 0 && holes >= HOLE_SHARE && !fetched_most {
        return Origin::Nowhere(holes);
    }
    // Direct reads fetch all they give.
    let through_cache = label.read_bytes.saturating_sub(label.direct_read_bytes);
    let buffered = through_cache as f64 * (1.0 - holes);
    // The finding is about all that the label read.
    if buffered == 0.0 || share(through_cache, label.read_bytes) < CACHED_SHARE {
        return Origin::Storage;
    }
    let fetched = label.fetched_bytes.filter(|_| label.encoded_bytes == 0);
    let fetched = fetched.map(|bytes| bytes.saturating_sub(label.direct_read_bytes));
    let missing = fetched.map_or(0.0, |bytes| 1.0 - bytes as f64 / buffered);
    if missing >= CACHED_SHARE {
        return Origin::NotFetched(missing);
    }
    let little = fetched.is_none_or(|bytes| bytes <= OTHER_BYTES * u64::from(ranks));
    let held = share(label.cached_bytes, label.looked_bytes);
    match little && held >= CACHED_SHARE {
        true => Origin::HeldAtOpen(held),
        false => Origin::Storage,
    }
}

fn cached_reads(run: &Run) -> Option<String> {
    let find = |label: &LabelEvidence| match origin(label, run.run.ranks) {
        Origin::NotFetched(share) => {
            Some(format!("{} of the bytes read came from the page cache", at_least(share)))
        }
        Origin::HeldAtOpen(share) => Some(format!(
            "{} of the files read were in the page cache when they were opened",
            percent(share)
        )),
        _ => None,
    };
    let seen = each_label(run, |label| each_directory(run, label, find))?;
    Some(format!("{seen}: these read rates show memory speed, not disk speed"))
}

fn unfetched_reads(run: &Run) -> Option<String> {
    let find = |label: &LabelEvidence| match origin(label, run.run.ranks) {
        Origin::Nowhere(holes) => Some(format!(
            "{} of the files read are holes or extents that were never written",
            percent(holes)
        )),
        _ => None,
    };
    let seen = each_label(run, |label| each_directory(run, label, find))?;
    Some(format!("{seen}: they are not read from storage"))
}

/// A `sync` of one rank covers what others have written before it, in an order that is unknown.
fn others_synced(run: &Run, label: &LabelEvidence) -> bool {
    let syncs = run.rows.iter().filter(|row| row.op == "sync" && row.count > row.failed);
    let is_inside = |row: &Row| {
        let rest = row.label.strip_prefix(label.label.as_str());
        (row.cell, row.repetition) == (label.cell, label.repetition)
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut here = syncs.filter(|row| is_inside(row));
    let is_partial = |row: &Row| row.balance.as_ref().is_some_and(|by| by.ranks < run.run.ranks);
    here.any(is_partial)
}

fn unstable(run: &Run) -> impl Fn(&LabelEvidence) -> Option<String> + '_ {
    let find = |label: &LabelEvidence| {
        let is_unstable = share(label.unstable_bytes, label.written_bytes) >= UNSTABLE_SHARE;
        let all = format_bytes(label.written_bytes);
        is_unstable.then(|| match label.unstable_bytes == label.written_bytes {
            true => format!("{all} were written without fsync and may still be in memory"),
            false => format!(
                "{} of {all} were written without fsync and may still be in memory",
                format_bytes(label.unstable_bytes)
            ),
        })
    };
    move |label| each_directory(run, label, find)
}

fn unstable_writes(run: &Run) -> Option<String> {
    let find = unstable(run);
    each_phase(run, |label| find(label).filter(|_| !others_synced(run, label)))
}

/// Names that this machine knows already are looked up without the file system.
fn warm_names(run: &Run) -> Option<String> {
    let find = |label: &LabelEvidence| {
        let (known, sampled) = (label.cached_names, label.looked_names);
        let is_warm = share(known, sampled) >= WARM_SHARE;
        is_warm.then(|| format!("{known} of {sampled} sampled names"))
    };
    let seen = each_label(run, |label| each_directory(run, label, find))?;
    Some(format!(
        "{seen} were already cached here, so their lookups (stat, open) did not reach the file system"
    ))
}

fn verifies_writes(run: &Run) -> bool {
    let verified = run.run.evidence.labels.iter().filter_map(|label| label.verified.as_ref());
    verified.into_iter().any(|data| data.filled_bytes > 0)
}

/// Zeros where the reading rank wrote nothing are holes, or lost data of other ranks or of earlier runs:
/// each rank knows its own writes only. A rank that is alone and writes knows its holes.
fn unknown_zeros(run: &Run) -> Option<String> {
    let writes = verifies_writes(run);
    if writes && run.run.ranks == 1 {
        return None;
    }
    let seen = each_label(run, |label| {
        let data = label.verified.as_ref().filter(|data| data.zero_bytes > 0)?;
        let (zeros, checked) = (format_bytes(data.zero_bytes), format_bytes(data.checked_bytes));
        Some(format!("{} {zeros} of {checked}", inside(label)))
    })?;
    let what =
        if writes { " where the reading rank wrote nothing" } else { ": no data of any run" };
    Some(format!("{seen} read with verify=true were zeros{what}{}", zeros_at(run)))
}

/// `; the first of 17 places: f at offset 4096 (8 KiB), g at offset 0 (512 B)`
fn zeros_at(run: &Run) -> String {
    let verified = run.run.evidence.labels.iter().filter_map(|label| label.verified.as_ref());
    let all: u64 = verified.clone().map(|data| data.zero_places).sum();
    let first = verified.flat_map(|data| &data.zeros).take(PLACES_NAMED).map(|zeros| {
        let bytes = format_bytes(zeros.bytes);
        format!("{} at offset {} ({bytes})", zeros.path, zeros.offset_bytes)
    });
    let first: Vec<String> = first.collect();
    match first.len() {
        0 => String::new(),
        named if named as u64 >= all => format!("; places: {}", first.join(", ")),
        _ => format!("; the first of {all} places: {}", first.join(", ")),
    }
}

/// Buffered reads of cached data, and file systems that block: operations did not overlap. In virtual
/// time calls end without a kernel, at once for the machine though not for its clock.
fn serial_queue(run: &Run) -> Option<String> {
    if is_virtual(run) {
        return None;
    }
    let seen = each_label(run, |label| {
        let at_once = share(label.queued_at_once, label.queued_calls);
        // A single call that ends at once proves nothing: the device may be faster than the program.
        let overlap = label.queued_calls > label.handed_over;
        (overlap && at_once >= AT_ONCE_SHARE).then(|| {
            format!("{} {} of {} calls", inside(label), percent(at_once), label.queued_calls)
        })
    })?;
    Some(format!(
        "{seen} given to io_uring had ended when the system call returned that submitted them: the kernel executed \
         them one by one, whatever the depth"
    ))
}

fn cache_control(run: &Run) -> CacheControl {
    merge_all(run.run.evidence.labels.iter().filter_map(|label| label.cache_control))
}

/// `kept` and `looked`: bytes of the sampled files in the page cache afterwards, and their sizes.
fn describe_control(what: &str, count: u64, kept: u64, looked: u64) -> Option<String> {
    let done = format!("{what} {}", times(Some(count).filter(|count| *count > 0)?));
    Some(match (kept, looked) {
        (_, 0) => format!("{done}: how much stayed in the page cache is unknown"),
        (0, _) => {
            format!("{done}: it worked, nothing of the sampled files is left in the page cache")
        }
        (kept, looked) => format!(
            "{done}: {} of {} sampled stayed in the page cache; dirty pages, mapped pages and tmpfs cannot be \
             dropped, call fsync first",
            format_bytes(kept),
            format_bytes(looked)
        ),
    })
}

/// Labels whose reads were all direct: bytes read, and bytes fetched from storage meanwhile.
fn direct(run: &Run) -> Option<String> {
    let is_direct = |label: &&LabelEvidence| {
        label.read_bytes > 0 && label.direct_read_bytes == label.read_bytes
    };
    let labels = run.run.evidence.labels.iter().filter(is_direct);
    let known = labels.filter_map(|label| {
        let holes = label.hole_bytes.min(label.mapped_bytes);
        Some([label.read_bytes, label.fetched_bytes?, holes, label.mapped_bytes])
    });
    let add =
        |sum: [u64; 4], one: [u64; 4]| std::array::from_fn(|at| sum[at].saturating_add(one[at]));
    let [read, fetched, holes, mapped] = known.fold([0; 4], add);
    if read == 0 {
        return None;
    }
    // Holes are not fetched.
    let data = read as f64 * (1.0 - share(holes, mapped));
    let (all, came) = (format_bytes(read), format_bytes(fetched.min(read)));
    let rest = match holes {
        0 => String::new(),
        _ => format!("; {} of {} sampled are holes", format_bytes(holes), format_bytes(mapped)),
    };
    Some(match fetched as f64 >= data / 2.0 {
        true => format!("O_DIRECT worked: {came} of {all} came from storage{rest}"),
        false => {
            format!("O_DIRECT: only {came} of {all} came from storage, the rest from memory{rest}")
        }
    })
}

/// Programs shift readers from one node to the next (`@sequential`, IOR's `-C`), so that each reads what
/// another machine wrote: whether the page cache of the reading machine held the files.
fn shifted_readers(run: &Run) -> Option<String> {
    let machines = run.run.job.as_ref().map_or(1, |job| job.nodes.len());
    let (looked, cached) =
        (sum(run, |label| label.looked_bytes), sum(run, |label| label.cached_bytes));
    (machines > 1 && looked > 0).then(|| {
        let came = match cached as f64 >= CACHED_SHARE * looked as f64 {
            true => "most reads measured memory; shifting readers to another node did not help",
            false => "most reads came from other machines, or from storage",
        };
        format!(
            "page caches of {machines} machines: the reading machine held {} of {} sampled: {came}",
            format_bytes(cached),
            format_bytes(looked)
        )
    })
}

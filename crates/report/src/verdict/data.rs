//! Rules about where the bytes of each label came from and went to.

use super::labels::{inside, named, share, told};
use super::{counts, has_storage, in_memory, is_virtual, memory_of, reads_by_mpi, remark};
use crate::text::{at_least, percent};
use model::op::{Class, Op};
use model::run::{LabelEvidence, Mark, Row, Run};
use model::units::format_bytes;

/// From this share of cached bytes on, read rates are those of main memory.
const CACHED_SHARE: f64 = 0.5;
/// From this share of bytes on that were never written, read rates are those of no storage.
const HOLE_SHARE: f64 = 0.5;
/// From this share of unstable bytes on, a write rate is too high by more than noise.
const UNSTABLE_SHARE: f64 = 0.05;
/// From this share of cached names on, times of lookups are those of main memory.
const WARM_SHARE: f64 = 0.5;

/// So much per rank may have been fetched that is none of the data: directories, maps of blocks,
/// pages of the program itself. The kernel counts it all as read.
const OTHER_BYTES: u64 = 1 << 20;

pub(super) fn memory_storage(run: &Run) -> Option<Mark> {
    let Some(storage) = in_memory(run).filter(|_| has_storage(run)) else {
        return further_memory(run);
    };
    remark(
        "memory-storage",
        format!("{storage} keeps files in main memory: no storage was measured"),
        "give a directory on the storage in question with --dir",
    )
}

/// The same of directories besides the run directory.
fn further_memory(run: &Run) -> Option<Mark> {
    let further = run.run.host.directories.iter();
    let held = further.filter_map(|one| {
        let storage = memory_of(&one.storage)?;
        Some(format!("{} ({storage})", one.name))
    });
    let held: Vec<String> = held.collect();
    if held.is_empty() {
        return None;
    }
    remark(
        "memory-storage",
        format!(
            "main memory keeps the files of: {}; no storage was measured there",
            held.join(", ")
        ),
        "give a directory on the storage in question with --mount",
    )
}

/// Places with zeros that are named; all are counted.
const PLACES_NAMED: usize = 3;

/// Where most of what a label reads comes from, as far as its evidence tells.
enum Origin {
    /// From storage, or nobody knows.
    Storage,
    /// This share of it from the page cache.
    Cache(Held),
    /// This share of its files lies where nothing was ever written.
    Nowhere(f64),
}

/// How a share of the page cache is known.
enum Held {
    /// What is missing of the bytes that were read was not fetched.
    NotFetched(f64),
    /// What the page cache held when the files were opened.
    AtOpen(f64),
}

/// Bytes that were fetched tell what happened. Where nobody counts them (network file systems),
/// where so few were fetched that they may be none of the data, or where files are compressed,
/// what the page cache held when the files were opened tells what was likely.
fn origin(label: &LabelEvidence, ranks: u32) -> Origin {
    // Of files with holes only what was written may have been read.
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
    // What is said is said of all that the label read.
    if buffered == 0.0 || share(through_cache, label.read_bytes) < CACHED_SHARE {
        return Origin::Storage;
    }
    let fetched = label.fetched_bytes.filter(|_| label.encoded_bytes == 0);
    let fetched = fetched.map(|bytes| bytes.saturating_sub(label.direct_read_bytes));
    let missing = fetched.map_or(0.0, |bytes| 1.0 - bytes as f64 / buffered);
    if missing >= CACHED_SHARE {
        return Origin::Cache(Held::NotFetched(missing));
    }
    let little = fetched.is_none_or(|bytes| bytes <= OTHER_BYTES * u64::from(ranks));
    let held = share(label.cached_bytes, label.looked_bytes);
    match little && held >= CACHED_SHARE {
        true => Origin::Cache(Held::AtOpen(held)),
        false => Origin::Storage,
    }
}

pub(super) fn cached_reads(run: &Run) -> Option<Mark> {
    let tell = |seen: &LabelEvidence| match origin(seen, run.run.ranks) {
        Origin::Cache(Held::NotFetched(share)) => {
            Some(format!("{} of the bytes read came from the page cache", at_least(share)))
        }
        Origin::Cache(Held::AtOpen(share)) => Some(format!(
            "{} of the files read lay in the page cache when they were opened",
            percent(share)
        )),
        Origin::Storage | Origin::Nowhere(_) => None,
    };
    let seen = named(run, |label| told(run, label, tell))?;
    counts(
        "cached-reads",
        format!("{seen}: these read rates are those of main memory"),
        match reads_by_mpi(run) {
            true => {
                "put the statement dropcaches; before the reads, read what another node wrote, or use \
                 files larger than main memory (direct=true does not concern MPI-IO)"
            }
            false => {
                "read with (direct=true) {...}, put the statement dropcaches; before the reads, read \
                 what another node wrote, or use files larger than main memory"
            }
        },
    )
}

pub(super) fn unfetched_reads(run: &Run) -> Option<Mark> {
    let tell = |seen: &LabelEvidence| match origin(seen, run.run.ranks) {
        Origin::Nowhere(holes) => Some(format!(
            "{} of the files read lies in holes or in extents that were never written",
            percent(holes)
        )),
        Origin::Storage | Origin::Cache(_) => None,
    };
    let seen = named(run, |label| told(run, label, tell))?;
    counts(
        "unfetched-reads",
        format!("{seen}: no storage is asked for that"),
        "write the files before they are read: truncate and fallocate make room, but no data",
    )
}

/// A `sync` of one rank makes stable what others have written too, if it came after them: nobody
/// knows.
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

/// The run wrote through MPI-IO, or otherwise.
fn writes(run: &Run, mpi: bool) -> bool {
    run.rows.iter().filter(|row| row.part_of.is_none() && row.bytes > 0).any(|row| {
        let op = Op::find(&row.op);
        op.is_some_and(|op| op.row().class == Class::Write && op.is_mpi_io() == mpi)
    })
}

pub(super) fn unstable_writes(run: &Run) -> Option<Mark> {
    let tell = |seen: &LabelEvidence| {
        let (some, all) = (format_bytes(seen.unstable_bytes), format_bytes(seen.written_bytes));
        let unstable = share(seen.unstable_bytes, seen.written_bytes) >= UNSTABLE_SHARE;
        unstable.then(|| match seen.unstable_bytes == seen.written_bytes {
            true => format!("{all} were written and not made stable"),
            false => format!("{some} of {all} were not made stable"),
        })
    };
    let say = |label: &LabelEvidence| told(run, label, tell);
    let sure = |label: &LabelEvidence| say(label).filter(|_| !others_synced(run, label));
    if let Some(seen) = named(run, sure) {
        let advice = match (writes(run, false), writes(run, true)) {
            (_, false) => {
                "write with (fsync=\"close\") {...}, fsync($h); or sync; inside the label"
            }
            (false, true) => {
                "write with (fsync=\"close\") {...}, pfsync($h); or sync; inside the label"
            }
            (true, true) => {
                "write with (fsync=\"close\") {...}, fsync($h); or, of MPI files, pfsync($h); or \
                 sync; inside the label"
            }
        };
        let seen = format!("{seen} before it ended: they may be in main memory");
        return counts("unstable-writes", seen, advice);
    }
    remark(
        "unstable-writes",
        format!("{}, unless the sync of another rank came after them", named(run, say)?),
        "let every rank call sync;, or write with (fsync=\"close\") {...}",
    )
}

/// Names that this machine knows already are looked up without asking the file system.
pub(super) fn warm_names(run: &Run) -> Option<Mark> {
    let tell = |seen: &LabelEvidence| {
        let (known, looked) = (seen.cached_names, seen.looked_names);
        let is_warm = share(known, looked) >= WARM_SHARE;
        is_warm.then(|| format!("{known} of {looked} names looked at"))
    };
    let seen = named(run, |label| told(run, label, tell))?;
    remark(
        "warm-names",
        format!(
            "{seen} were in the name cache of this machine, as after they were made, listed or looked \
             up here: their lookups did not ask the file system"
        ),
        "put the statement dropcaches; before, or look up names that another node made",
    )
}

/// Reads and writes that moved nothing stand in the rows with bytes and times: nobody may take them for
/// those of storage.
pub(super) fn null_engine(run: &Run) -> Option<Mark> {
    let say = |label: &LabelEvidence| {
        let count = label.null_operations;
        (count > 0).then(|| format!("{} {count} reads and writes", inside(label)))
    };
    let seen = named(run, say)?;
    counts(
        "null-engine",
        format!(
            "{seen} moved nothing (engine=\"null\"): their bytes, times and rates are those of Parabench \
             itself, of no storage"
        ),
        "leave engine=\"null\" out to measure storage",
    )
}

/// Zeros where the reading rank wrote nothing are holes, or what was lost of other ranks or of earlier runs:
/// each rank knows its own writes only. A rank that is alone and writes tells its holes from what is lost.
pub(super) fn unknown_zeros(run: &Run) -> Option<Mark> {
    let mut verified = run.run.evidence.labels.iter().filter_map(|label| label.verified.as_ref());
    let writes = verified.any(|data| data.filled_bytes > 0);
    if writes && run.run.ranks == 1 {
        return None;
    }
    let say = |label: &LabelEvidence| {
        let data = label.verified.as_ref().filter(|data| data.zero_bytes > 0)?;
        let (zeros, checked) = (format_bytes(data.zero_bytes), format_bytes(data.checked_bytes));
        Some(format!("{} {zeros} of {checked}", inside(label)))
    };
    let seen = named(run, say)?;
    counts(
        "unknown-zeros",
        match writes {
            false => {
                format!(
                    "{seen} read with verify=true were zeros: no data of any run{}",
                    zeros_at(run)
                )
            }
            true => format!(
                "{seen} read with verify=true were zeros where the reading rank wrote nothing{}",
                zeros_at(run)
            ),
        },
        match writes {
            false => {
                "files of earlier runs that were written without holes have lost data; holes of others look \
                 the same"
            }
            true => {
                "what other ranks wrote there is lost; holes look the same: read it on the rank that wrote it, \
                 which tells them apart, or write files without holes"
            }
        },
    )
}

/// `; the first lie in f at offset 4096 (8 KiB), in g at offset 0 (512 B); in all in 17 places`
fn zeros_at(run: &Run) -> String {
    let verified = run.run.evidence.labels.iter().filter_map(|label| label.verified.as_ref());
    let all: u64 = verified.clone().map(|data| data.zero_places).sum();
    let first: Vec<String> = verified
        .flat_map(|data| &data.zeros)
        .take(PLACES_NAMED)
        .map(|zeros| {
            let bytes = format_bytes(zeros.bytes);
            format!("in {} at offset {} ({bytes})", zeros.path, zeros.offset_bytes)
        })
        .collect();
    match first.len() {
        0 => String::new(),
        named if named as u64 >= all => format!("; they lie {}", first.join(", ")),
        _ => format!("; the first of {all} places lie {}", first.join(", ")),
    }
}

/// Of the calls handed over to a queue, this share had ended at once: they were executed one by one.
const AT_ONCE_SHARE: f64 = 0.5;

/// Buffered reads of what the page cache holds, file systems that block: nothing was under way together.
/// In virtual time calls end without a kernel, at once for the machine though not for its clock.
pub(super) fn serial_queue(run: &Run) -> Option<Mark> {
    if is_virtual(run) {
        return None;
    }
    let say = |label: &LabelEvidence| {
        let at_once = share(label.queued_at_once, label.queued_calls);
        // One call alone that ends at once says nothing: the device may be faster than the program.
        let together = label.queued_calls > label.handed_over;
        (together && at_once >= AT_ONCE_SHARE).then(|| {
            let calls = label.queued_calls;
            format!("{} {} of {calls} calls", inside(label), percent(at_once))
        })
    };
    let seen = named(run, say)?;
    counts(
        "serial-queue",
        format!(
            "{seen} given to io_uring had ended when the system call returned that handed them over: \
             the kernel executed them one by one, whatever the depth"
        ),
        "open the files with direct=true, or take the figures for those of depth=1",
    )
}

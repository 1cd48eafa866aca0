//! Rules about where the bytes came from and went to.

use super::{counts, has_storage, in_memory, reads_by_mpi, remark};
use crate::text::{at_least, percent};
use model::Op;
use model::op::Class;
use model::run::{Mark, Row, Run};

/// From this share of cached bytes on, read rates are those of main memory.
const CACHED_SHARE: f64 = 0.5;

/// So much per rank may have been fetched that is none of the data: directories, maps of blocks,
/// pages of the program itself. The kernel counts it all as read.
const OTHER_BYTES: u64 = 1 << 20;

pub(super) fn memory_storage(run: &Run) -> Option<Mark> {
    let storage = in_memory(run).filter(|_| has_storage(run))?;
    remark(
        "memory-storage",
        format!("{storage} keeps files in main memory: no storage was measured"),
        "give a directory on the storage in question with --dir",
    )
}

/// Blocks that the ranks fetched tell what happened; where nobody counts them (network file
/// systems), or where so few were fetched that they may be none of the data, what the page cache
/// held when the files were opened tells what was likely.
pub(super) fn cached_reads(run: &Run) -> Option<Mark> {
    let evidence = &run.run.evidence;
    if !has_storage(run) || in_memory(run).is_some() || evidence.program_read_bytes == 0 {
        return None;
    }
    let held = evidence.cached_at_open_share;
    let seen = match (evidence.page_cache_share, held) {
        (Some(share), _) if share >= CACHED_SHARE => {
            let held = held.map_or(String::new(), |held| {
                format!(" ({} of the files lay there when they were opened)", percent(held))
            });
            format!("{} of the bytes read came from the page cache{held}", at_least(share))
        }
        (share, Some(held)) if held >= CACHED_SHARE && (share.is_none() || fetched_little(run)) => {
            format!(
                "{} of the files read lay in the page cache when they were opened",
                percent(held)
            )
        }
        _ => return None,
    };
    counts(
        "cached-reads",
        format!("{seen}: read rates are those of main memory"),
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

fn fetched_little(run: &Run) -> bool {
    let fetched = run.run.evidence.storage_read_bytes;
    fetched.is_some_and(|bytes| bytes <= OTHER_BYTES * u64::from(run.run.ranks))
}

fn moved(row: &Row, class: Class) -> bool {
    row.part_of.is_none() && Op::find(&row.op).is_some_and(|op| op.row().class == class)
}

/// Something made data stable: an operation of that class, or the part of a compound one.
fn is_sync(row: &Row) -> bool {
    let done = row.count > row.failed + row.expected;
    done && (moved(row, Class::Sync) || row.part_of.is_some() && row.op.ends_with(".sync"))
}

pub(super) fn unstable_writes(run: &Run) -> Option<Mark> {
    let written: u64 =
        run.rows.iter().filter(|row| moved(row, Class::Write)).map(|row| row.bytes).sum();
    let synced = run.run.evidence.sync_writes || run.rows.iter().any(is_sync);
    if written == 0 || synced || !has_storage(run) || in_memory(run).is_some() {
        return None;
    }
    counts(
        "unstable-writes",
        format!(
            "{written} bytes were written and nothing made them stable: they may all be in main memory"
        ),
        "write with (fsync=\"close\") {...}, fsync($h); or sync; inside the label",
    )
}

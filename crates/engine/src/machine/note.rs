//! Remarks a rank makes for the user beside its figures: one bit each.

use super::path::Place;
use crate::buffer::Wrote;
use model::op::{ByteEffect, OPS, OpRow};
use model::{Op, errno};

/// An open with O_DIRECT failed with EINVAL or EOPNOTSUPP.
pub const DIRECT_REFUSED: u32 = 1;
/// A transfer with O_DIRECT was refused before the call.
pub const DIRECT_MISALIGNED: u32 = 2;
/// More ranks on this machine than CPUs they may use.
pub const CROWDED: u32 = 8;
/// `data="zero"` was written.
pub const ZEROS: u32 = 32;
/// `data="offset"` was written.
pub const BY_OFFSET: u32 = 64;
/// Data was written that compresses or repeats: `compress=R`, `dedup=R`.
pub const SHAPED: u32 = 128;
/// `copy` or `fcopy` between file systems brought the data through memory.
pub const THROUGH_MEMORY: u32 = 1024;
/// An MPI file was opened inside `with (direct=true)`.
pub const DIRECT_MPI: u32 = 16;

/// A file was opened inside `with (engine="mmap")` and not mapped.
pub const UNMAPPED: u32 = 512;

/// Operations inside `with (engine="uring")` that were made by calls.
pub const UNQUEUED: u32 = 4;
/// There is no io_uring, and `engine="uring|posix"`.
pub const NO_QUEUE: u32 = 2048;

/// From here on a bit for each operation that file systems may lack, in the order of their table.
const LACKING: u32 = 1 << 12;

/// Operations that file systems may lack, each with its bit.
fn lackable() -> impl Iterator<Item = (Op, u32)> {
    let lacks = |op: &Op| !op.lacking_errors().is_empty() && said_of(*op) == *op;
    let ops = OPS.iter().map(|row| row.op).filter(lacks);
    ops.enumerate().map(|(at, op)| (op, LACKING << at))
}

/// The operation whose remark is that of this one, because they are the same call.
fn said_of(op: Op) -> Op {
    let is_same = |row: &&OpRow| row.bytes == op.row().bytes && !row.op.takes_handle();
    let named = || OPS.iter().find(is_same).map_or(op, |row| row.op);
    if op.row().bytes == ByteEffect::Nothing { op } else { named() }
}

/// The first of the bits for directories that refused one of these: the run directory, then the
/// directories of the plan.
const PLACES: u32 = 1 << 24;

/// The directory with this number refused O_DIRECT or an operation.
pub(super) fn refused_in(place: Place) -> u32 {
    PLACES << place
}

/// A directory of a run, for remarks.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its name in programs; "" is the run directory.
    pub name: &'a str,
    /// The type of its file system; "" where it is unknown.
    pub file_system: &'a str,
}

/// The remark that a file system has no such operation; 0: the error says something else.
#[cold]
pub(super) fn lacking(op: Op, errno: i32) -> u32 {
    let is_meant = |name: &str| errno::number(name).is_some_and(|known| i32::from(known) == errno);
    if !op.lacking_errors().iter().any(|name| is_meant(name)) {
        return 0;
    }
    lackable().find(|row| row.0 == said_of(op)).map_or(0, |row| row.1)
}

/// The remarks on the data that was written.
pub(super) fn of_data(wrote: Wrote) -> u32 {
    let bits = [(wrote.zeros, ZEROS), (wrote.by_offset, BY_OFFSET), (wrote.shaped, SHAPED)];
    bits.into_iter().filter(|(set, _)| *set).fold(0, |all, (_, bit)| all | bit)
}

/// The sentences of remarks that are the same on every file system.
const SENTENCES: &[(u32, &str)] = &[
    (
        UNMAPPED,
        "engine=\"mmap\": files that were opened to append to were not mapped: they were \
         written by calls",
    ),
    (
        UNQUEUED,
        "engine=\"uring\": some operations were made by single calls, because their end is not \
         known before (the rest of a file, the end of a file to append to), or because they are several \
         calls that depend on each other (patterns, fsync=\"op\", more than 64 MiB)",
    ),
    (NO_QUEUE, "engine=\"uring|posix\": io_uring cannot be used here, so single calls were made"),
    (
        DIRECT_MISALIGNED,
        "with direct=true sizes, offsets and transfer must be multiples of the \
         storage's block (512 or 4096 bytes): such transfers failed with EINVAL without a call",
    ),
    (
        DIRECT_MPI,
        "direct=true does not concern MPI-IO: the MPI library opens its files as it wants, so \
         they went through the page cache unless its hints say otherwise",
    ),
    (
        ZEROS,
        "data=\"zero\": zeros were written; storage that compresses or deduplicates hardly \
         stores them",
    ),
    (
        BY_OFFSET,
        "data=\"offset\" or from a file: files were written whose blocks are equal at equal positions; \
         storage that deduplicates stores them once",
    ),
    (
        SHAPED,
        "compress or dedup: data was written that compresses or repeats as the program says; \
         smaller writes than 4 KiB, and ends of others, compress each for itself and repeat no blocks",
    ),
    (
        THROUGH_MEMORY,
        "copy: the kernel does not copy between these file systems (EXDEV), so data was \
         read and written through memory, as cp does",
    ),
];

/// The sentences of a set of remarks. `directories` of the run are in the order of their numbers.
pub fn sentences(bits: u32, directories: &[Named<'_>]) -> Vec<String> {
    let place = format!("the file system {}", refusing(bits, directories));
    let place = place.trim_end();
    let refused = format!(
        "{place} does not support O_DIRECT; leave out direct=true or choose a directory on another file system"
    );
    let lacks = |(op, bit): (Op, u32)| {
        let said = format!("{op} is not supported by {place}: counted as expected, not as failed");
        (bit, said)
    };
    let fixed = SENTENCES.iter().map(|(bit, sentence)| (*bit, sentence.to_string()));
    let all = [(DIRECT_REFUSED, refused)].into_iter().chain(fixed).chain(lackable().map(lacks));
    all.filter(|(bit, _)| bits & bit != 0).map(|(_, sentence)| sentence).collect()
}

/// `ext4`; of several directories those that have refused: `tmpfs of fast or ext4 of the run directory`.
fn refusing(bits: u32, directories: &[Named<'_>]) -> String {
    if let [Named { file_system, .. }] = directories {
        return (*file_system).to_string();
    }
    let told = directories.iter().enumerate().filter(|(at, _)| bits & refused_in(*at) != 0);
    let told = told.map(|(_, Named { name, file_system })| match *name {
        "" => format!("{file_system} of the run directory"),
        name => format!("{file_system} of {name}"),
    });
    told.collect::<Vec<_>>().join(" or ").trim_start().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::directory::DIRECTORIES_MAX;

    const TMPFS: Named<'_> = Named { name: "", file_system: "tmpfs" };

    #[test]
    fn of_several_directories_those_are_named_that_refuse() {
        let fast = Named { name: "fast", file_system: "xfs" };
        let said = |places: u32| sentences(DIRECT_REFUSED | places, &[TMPFS, fast]).remove(0);
        assert!(said(refused_in(1)).starts_with("the file system xfs of fast does not support"));
        let both = said(refused_in(0) | refused_in(1));
        assert!(both.starts_with("the file system tmpfs of the run directory or xfs of fast does"));
        assert_eq!(refused_in(DIRECTORIES_MAX), 1 << 31, "each has a bit");
    }

    #[test]
    fn what_a_file_system_lacks_is_told_from_failures() {
        let bit = lacking(Op::Reflink, libc::EOPNOTSUPP);
        assert_eq!(
            sentences(bit, &[TMPFS]),
            [
                "reflink is not supported by the file system tmpfs: counted as expected, not as failed"
            ]
        );
        assert_ne!(bit, lacking(Op::Copy, libc::ENOSYS));
        assert_eq!(lacking(Op::Fcopy, libc::ENOSYS), lacking(Op::Copy, libc::ENOSYS));
        assert_eq!((lacking(Op::Reflink, libc::ENOSPC), lacking(Op::Stat, libc::ENOSYS)), (0, 0));
        let last = lackable().last().expect("some").1;
        assert!(last.is_power_of_two() && last < PLACES, "a bit is left for each of them");
    }
}

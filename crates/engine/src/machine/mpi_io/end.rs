//! Upper bound of the bytes that a read can have moved: those before the end of the file.
//!
//! Libraries tell more. ROMIO says of collective reads and of reads through views that they moved
//! what was asked for, Open MPI 4.1 of collective ones; both leave the buffer as it was. And Open MPI
//! 4.1 waits for ever for a non-blocking read that reaches beyond the end: it is cut before.

use super::super::io::Io;
use super::super::tally::Tally;
use crate::backend::Backend;
use crate::call::{FileCall, MpiFile};
use model::pattern::{Extent, Run};

/// The bytes that a read asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked<'a> {
    /// The pieces of a pattern.
    Runs(&'a [Run]),
    /// A number of bytes from a position.
    From(u64, u64),
    /// A number of bytes wherever the shared file pointer was.
    Anywhere(u64),
}

impl Asked<'_> {
    /// How long the file must be for all of them.
    fn end_bytes(self) -> u64 {
        match self {
            Asked::Runs(runs) => runs.iter().map(Run::end_bytes).max().unwrap_or(0),
            Asked::From(offset, len) => offset.saturating_add(len),
            Asked::Anywhere(len) => len,
        }
    }

    /// How many of them a file of this size has.
    fn within(self, size_bytes: u64) -> u64 {
        match self {
            Asked::Runs(runs) => runs.iter().map(|run| run.bytes_within(size_bytes)).sum(),
            Asked::From(offset, len) => size_bytes.saturating_sub(offset).min(len),
            Asked::Anywhere(len) => len.min(size_bytes),
        }
    }
}

/// Takes back what a read cannot have moved. `seen_bytes`: a size that the file is known to have;
/// only who asked for more looks. Not timed.
pub(super) fn bound<B: Backend>(
    io: &mut Io<'_, B>,
    file: MpiFile,
    seen_bytes: &mut u64,
    asked: Asked<'_>,
    tally: &mut Tally,
) {
    if tally.errno == 0
        && let Some(size_bytes) = look(io, file, seen_bytes, asked)
    {
        tally.done_bytes = tally.done_bytes.min(asked.within(size_bytes));
    }
}

/// The size of a file that may be too short for what is asked; `None`: it is long enough, or nobody
/// knows. Not timed.
pub(super) fn look<B: Backend>(
    io: &mut Io<'_, B>,
    file: MpiFile,
    seen_bytes: &mut u64,
    asked: Asked<'_>,
) -> Option<u64> {
    if asked.end_bytes() <= *seen_bytes {
        return None;
    }
    let size_bytes = u64::try_from(io.backend.issue_file(FileCall::Position { file })).ok()?;
    *seen_bytes = size_bytes;
    Some(size_bytes)
}

/// The part of a piece before the end of the file.
pub(super) fn before(end_bytes: u64, piece: Extent) -> Extent {
    let length_bytes = end_bytes.saturating_sub(piece.offset_bytes).min(piece.length_bytes);
    Extent { length_bytes, ..piece }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_before_the_end_are_counted_one_by_one(
            offset_bytes in 0..40u64,
            length_bytes in 1..9u64,
            stride_bytes in 0..20u64,
            count in 0..6u64,
            size_bytes in 0..100u64,
        ) {
            let run = Run { offset_bytes, length_bytes, stride_bytes, count };
            let bytes = (0..count).flat_map(|i| {
                let start = offset_bytes + i * stride_bytes;
                start..start + length_bytes
            });
            let bytes: Vec<u64> = bytes.collect();
            let within = bytes.iter().filter(|byte| **byte < size_bytes).count() as u64;
            let asked = Asked::Runs(&[run]);
            prop_assert_eq!(asked.within(size_bytes), within);
            prop_assert_eq!(asked.end_bytes(), bytes.iter().max().map_or(0, |last| last + 1));
        }
    }

    #[test]
    fn numbers_of_bytes() {
        assert_eq!((Asked::From(10, 5).end_bytes(), Asked::From(10, 5).within(12)), (15, 2));
        assert_eq!((Asked::From(10, 5).within(9), Asked::From(10, 5).within(99)), (0, 5));
        assert_eq!((Asked::Anywhere(5).within(3), Asked::Anywhere(5).within(9)), (3, 5));
    }
}

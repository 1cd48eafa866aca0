//! Rows that sums are made of: every byte and every second once.
//!
//! Rows of parts stand below the row of their operation. A recording from inside a program has rows of
//! the MPI-IO that the program called, above the events of POSIX that this became: the same bytes and
//! the same seconds again.

use model::Op;
use model::run::{Row, Run};

/// Format of recordings that hold calls of POSIX and, above them, those of MPI-IO.
const RECORDING: &str = "preload";

/// Whole operations that no other rows hold once more.
pub(crate) fn rows(run: &Run) -> impl Iterator<Item = &Row> {
    let format = format(run);
    run.rows.iter().filter(move |row| row.part_of.is_none() && !is_above(format, row))
}

/// Rows of calls whose bytes and times other rows hold, too.
pub(crate) fn above(run: &Run) -> impl Iterator<Item = &Row> {
    let format = format(run);
    run.rows.iter().filter(move |row| is_above(format, row))
}

/// The row is one of calls whose bytes and times other rows of an import of this format hold, too.
pub fn is_above(format: &str, row: &Row) -> bool {
    format == RECORDING && Op::find(&row.op).is_some_and(Op::is_mpi_io)
}

fn format(run: &Run) -> &str {
    run.run.trace.as_ref().map_or("", |trace| &trace.format)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;

    #[test]
    fn bytes_of_mpi_io_and_of_the_calls_below_it_are_the_same() {
        let run = sample::recorded_mpi();
        let counted: Vec<&str> = rows(&run).map(|row| &*row.op).collect();
        assert_eq!(counted, ["fwrite", "fread"]);
        let again: Vec<&str> = above(&run).map(|row| &*row.op).collect();
        assert_eq!(again, ["pfopen", "pfwrite"]);
        // A log of Darshan leaves out what is told twice: its rows of MPI-IO are all there is.
        let mut darshan = run.clone();
        darshan.run.trace.as_mut().unwrap().format = "darshan".into();
        assert_eq!((rows(&darshan).count(), above(&darshan).count()), (4, 0));
    }
}

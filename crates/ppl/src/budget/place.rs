//! Where a write goes in its file.

use super::abs::Turn;

/// A write at a position.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// At this position, once.
    At(u64),
    /// At this position and on from there in the next turn, through this handle.
    Onward(u64, Opened),
    /// At the end.
    End,
    /// At another position in every turn.
    Turn(Turn),
    /// Somewhere.
    Somewhere,
}

/// An open handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) number: u32,
    /// Loops around the open: in those from here on it goes on where it was.
    pub(super) level: u32,
}

/// Who writes on from turn to turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// Whoever has this handle, from where it is.
    Handle(Opened),
    /// Whoever appends.
    Appender,
    /// Nobody: positions are named.
    Nobody,
}

impl Place {
    pub(super) fn writer(self) -> Writer {
        match self {
            Place::Onward(_, handle) => Writer::Handle(handle),
            Place::End => Writer::Appender,
            Place::At(_) | Place::Turn(_) | Place::Somewhere => Writer::Nobody,
        }
    }

    /// Where the last byte of a write that starts at `start` ends, over all turns.
    pub(super) fn last_end(self, start: u64, bytes: u64) -> u64 {
        let last = match self {
            Place::Turn(turn) => {
                let last = turn.last().unwrap_or(i64::MAX).max(turn.from);
                u64::try_from(last).unwrap_or(0)
            }
            _ => start,
        };
        last.saturating_add(bytes)
    }
}

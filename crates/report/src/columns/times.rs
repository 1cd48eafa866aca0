//! Columns of occurrences: one of a label over all ranks.

use super::Media::Markdown;
use crate::table::grid::{Column as Heading, Kind};
use model::run::TimeRow;
use model::units::Measure;

const TIME: Kind = Kind::Quantity(Measure::Time);

columns! {
    /// The terminal has a table of labels instead, which sums up their occurrences.
    TIMES: TimeRow {
        label Text "Label path."
            shown(Markdown, Heading::new("label", "", Kind::Label, 0));
        cell Small "Parameter point of a sweep; 0 without one.";
        repetition Small "Repetition within a sweep; 0 without one.";
        index Whole "Number of the occurrence on each rank, from 0.";
        ranks Small "Ranks that executed it."
            shown(Markdown, Heading::new("ranks", "", Kind::Count, 0));
        first_start_ns Whole "Earliest start over ranks, nanoseconds since the start of the run."
            shown(Markdown, Heading::new("first start", "", TIME, 0));
        last_end_ns Whole "Latest end over ranks, nanoseconds since the start of the run."
            shown(Markdown, Heading::new("last end", "", TIME, 0));
        slowest_rank Small "The rank that took longest."
            shown(Markdown, Heading::new("slowest rank", "", Kind::Count, 0));
        max_ns Whole "Its time, nanoseconds: wall clock for time, sum of the operations' own times for ctime."
            shown(Markdown, Heading::new("longest", "", TIME, 0));
    }
}

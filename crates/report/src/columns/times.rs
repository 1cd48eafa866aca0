//! Columns of occurrences: one of a label over all ranks.

use super::{Column, Media, Type};
use crate::table::grid::{self, Kind};
use model::run::TimeRow;
use model::units::Measure;

const TIME: Kind = Kind::Quantity(Measure::Time);

/// The terminal has a table of labels instead, which sums up their occurrences.
pub static TIMES: &[Column<TimeRow>] = &[
    Column::<TimeRow>::new("label", Type::Text, |time| (&time.label).into(), "Label path.")
        .shown(Media::Markdown, grid::Column::new("label", "", Kind::Label, 0)),
    Column::<TimeRow>::new(
        "cell",
        Type::Small,
        |time| time.cell.into(),
        "Parameter point of a sweep; 0 without one.",
    ),
    Column::<TimeRow>::new(
        "repetition",
        Type::Small,
        |time| time.repetition.into(),
        "Repetition within a sweep; 0 without one.",
    ),
    Column::<TimeRow>::new(
        "index",
        Type::Whole,
        |time| time.index.into(),
        "Number of the occurrence on each rank, from 0.",
    ),
    Column::<TimeRow>::new(
        "ranks",
        Type::Small,
        |time| time.ranks.into(),
        "Ranks that executed it.",
    )
    .shown(Media::Markdown, grid::Column::new("ranks", "", Kind::Count, 0)),
    Column::<TimeRow>::new(
        "first_start_ns",
        Type::Whole,
        |time| time.first_start_ns.into(),
        "Earliest start over ranks, nanoseconds since the start of the run.",
    )
    .shown(Media::Markdown, grid::Column::new("first start", "", TIME, 0)),
    Column::<TimeRow>::new(
        "last_end_ns",
        Type::Whole,
        |time| time.last_end_ns.into(),
        "Latest end over ranks, nanoseconds since the start of the run.",
    )
    .shown(Media::Markdown, grid::Column::new("last end", "", TIME, 0)),
    Column::<TimeRow>::new(
        "slowest_rank",
        Type::Small,
        |time| time.slowest_rank.into(),
        "The rank that took longest.",
    )
    .shown(Media::Markdown, grid::Column::new("slowest rank", "", Kind::Count, 0)),
    Column::<TimeRow>::new(
        "max_ns",
        Type::Whole,
        |time| time.max_ns.into(),
        "Its time, nanoseconds: wall clock for time, sum of the operations' own times for \
         ctime.",
    )
    .shown(Media::Markdown, grid::Column::new("longest", "", TIME, 0)),
];

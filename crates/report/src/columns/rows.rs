//! Columns of rows: one label path and operation, or a part of one.

use super::{Column, Media, Type};
use crate::table::grid::{self, Kind};
use model::run::Row;
use model::units::Measure;

const TIME: Kind = Kind::Quantity(Measure::Time);
const BYTE_RATE: Kind = Kind::Quantity(Measure::ByteRate);
const OP_RATE: Kind = Kind::Quantity(Measure::OpRate);

/// Metric of operations by outcome; those that were done have no column.
pub const OPERATIONS: &str = "parabench_operations_total";
/// Metric of times; sum and count of the summary have no column.
pub const SECONDS: &str = "parabench_operation_seconds";
const BANDWIDTH: &str = "parabench_bandwidth_bytes_per_second";
const OP_RATES: &str = "parabench_operations_per_second";
/// Nanoseconds in a second.
const NS: f64 = 1e9;
/// MiB/s in a byte per second.
const MIB: f64 = 1.0 / (1u64 << 20) as f64;

/// Where a table is too wide, rare percentiles go first, then what one rank reaches, bytes (they
/// follow from count and program), then the least telling times; counts of failures never.
pub static ROWS: &[Column<Row>] = &[
    Column::<Row>::new(
        "label",
        Type::Text,
        |row| (&row.label).into(),
        "Label path, outer/inner; empty for what stands in no label.",
    ),
    Column::<Row>::new("op", Type::Text, |row| (&row.op).into(), "Operation, or operation.part."),
    Column::<Row>::new(
        "part_of",
        Type::MaybeText,
        |row| (&row.part_of).into(),
        "The compound operation a part belongs to; null for operations.",
    ),
    Column::<Row>::new(
        "cell",
        Type::Small,
        |row| row.cell.into(),
        "Parameter point of a sweep; 0 without one.",
    )
    .shown_if(Media::Markdown, grid::Column::new("cell", "", Kind::Count, 0), |row| {
        row.cell > 0 || row.repetition > 0
    }),
    Column::<Row>::new(
        "repetition",
        Type::Small,
        |row| row.repetition.into(),
        "Repetition within a sweep; 0 without one.",
    )
    .shown_if(Media::Markdown, grid::Column::new("repetition", "", Kind::Count, 0), |row| {
        row.cell > 0 || row.repetition > 0
    }),
    Column::<Row>::new(
        "count",
        Type::Whole,
        |row| row.count.into(),
        "Executions, failed ones included.",
    )
    .shown(Media::All, grid::Column::new("count", "", Kind::Count, 0)),
    Column::<Row>::new(
        "failed",
        Type::Whole,
        |row| row.failed.into(),
        "Executions that failed with an error the program did not expect.",
    )
    .shown_if(Media::All, grid::Column::new("failed", "", Kind::Count, 0), |row| row.failed > 0)
    .series(OPERATIONS, Some(("outcome", "failed")), 1.0),
    Column::<Row>::new(
        "short",
        Type::Whole,
        |row| row.short.into(),
        "Executions that moved fewer bytes than asked because the file ended.",
    )
    .shown_if(Media::All, grid::Column::new("short", "", Kind::Count, 0), |row| row.short > 0)
    .series("parabench_short_operations_total", None, 1.0),
    Column::<Row>::new(
        "expected",
        Type::Whole,
        |row| row.expected.into(),
        "Executions that failed with an error the program expects.",
    )
    .shown_if(Media::All, grid::Column::new("expected", "", Kind::Count, 0), |row| row.expected > 0)
    .series(OPERATIONS, Some(("outcome", "expected")), 1.0),
    Column::<Row>::new("bytes", Type::Whole, |row| row.bytes.into(), "Bytes moved.")
        .shown(Media::All, grid::Column::new("bytes", "", Kind::Quantity(Measure::Bytes), 5))
        .series("parabench_bytes_total", None, 1.0),
    Column::<Row>::new(
        "min_ns",
        Type::MaybeWhole,
        |row| row.min_ns.into(),
        "Shortest time of those that did not fail, nanoseconds; null without any.",
    )
    .shown(Media::All, grid::Column::new("min", "", TIME, 6))
    .series(SECONDS, Some(("quantile", "0")), NS),
    Column::<Row>::new(
        "mean_ns",
        Type::MaybePositive,
        |row| row.mean_ns.into(),
        "Mean time, nanoseconds.",
    )
    .shown(Media::All, grid::Column::new("avg", "", TIME, 9)),
    Column::<Row>::new(
        "p50_ns",
        Type::MaybeWhole,
        |row| row.p50_ns.into(),
        "Median, nanoseconds, within 1 %.",
    )
    .shown(Media::All, grid::Column::new("p50", "", TIME, 7))
    .series(SECONDS, Some(("quantile", "0.5")), NS),
    Column::<Row>::new(
        "p90_ns",
        Type::MaybeWhole,
        |row| row.p90_ns.into(),
        "90th percentile, nanoseconds, within 1 %; null with fewer than 10 times.",
    )
    .shown(Media::All, grid::Column::new("p90", "", TIME, 2))
    .series(SECONDS, Some(("quantile", "0.9")), NS),
    Column::<Row>::new(
        "p99_ns",
        Type::MaybeWhole,
        |row| row.p99_ns.into(),
        "99th percentile, nanoseconds, within 1 %; null with fewer than 100 times.",
    )
    .shown(Media::All, grid::Column::new("p99", "", TIME, 8))
    .series(SECONDS, Some(("quantile", "0.99")), NS),
    Column::<Row>::new(
        "p999_ns",
        Type::MaybeWhole,
        |row| row.p999_ns.into(),
        "99.9th percentile, nanoseconds, within 1 %; null with fewer than 1,000 times.",
    )
    .shown(Media::All, grid::Column::new("p99.9", "", TIME, 1))
    .series(SECONDS, Some(("quantile", "0.999")), NS),
    Column::<Row>::new(
        "max_ns",
        Type::MaybeWhole,
        |row| row.max_ns.into(),
        "Longest time, nanoseconds.",
    )
    .shown(Media::All, grid::Column::new("max", "", TIME, 0))
    .series(SECONDS, Some(("quantile", "1")), NS),
    Column::<Row>::new(
        "rank_mib_s",
        Type::MaybePositive,
        |row| row.rank_mib_s.into(),
        "Mean over ranks of bytes / sum of that rank's operation times, MiB/s; null without \
         bytes.",
    )
    .shown(Media::Terminal, grid::Column::new("bytes/s", "1 rank", BYTE_RATE, 4))
    .series(BANDWIDTH, Some(("of", "rank")), MIB),
    Column::<Row>::new(
        "mib_s",
        Type::MaybePositive,
        |row| row.mib_s.into(),
        "All bytes / busy_ns of the label, MiB/s; null without bytes. In no label: from the \
         operation's first start to its last end over ranks.",
    )
    .shown(Media::All, grid::Column::new("bytes/s", "all", BYTE_RATE, 0))
    .series(BANDWIDTH, Some(("of", "all")), MIB),
    Column::<Row>::new(
        "rank_ops_s",
        Type::MaybePositive,
        |row| row.rank_ops_s.into(),
        "As rank_mib_s, of operations that did not fail, 1/s; null for parts.",
    )
    .shown(Media::Terminal, grid::Column::new("ops/s", "1 rank", OP_RATE, 3))
    .series(OP_RATES, Some(("of", "rank")), 1.0),
    Column::<Row>::new(
        "ops_s",
        Type::MaybePositive,
        |row| row.ops_s.into(),
        "As mib_s, of operations that did not fail, 1/s; null for parts.",
    )
    .shown(Media::All, grid::Column::new("ops/s", "all", OP_RATE, 0))
    .series(OP_RATES, Some(("of", "all")), 1.0),
];

//! Columns of rows: one label path and operation, or a part of one.

use super::Media;
use crate::table::grid::{Column as Heading, Kind};
use model::run::Row;
use model::units::Measure;

const TIME: Kind = Kind::Quantity(Measure::Time);
const BYTES: Kind = Kind::Quantity(Measure::Bytes);
const BYTE_RATE: Kind = Kind::Quantity(Measure::ByteRate);
const OP_RATE: Kind = Kind::Quantity(Measure::OpRate);

fn is_in_sweep(row: &Row) -> bool {
    row.cell > 0 || row.repetition > 0
}

columns! {
    /// Where a table is too wide, rare percentiles go first, then what one rank reaches, bytes (they
    /// follow from count and program), then the least telling times; counts of failures never.
    ROWS: Row {
        label Text "Label path, outer/inner; empty for what stands in no label.";
        op Text "Operation, or operation.part.";
        part_of MaybeText "The compound operation a part belongs to; null for operations.";
        cell Small "Parameter point of a sweep; 0 without one."
            shown_if(Media::Markdown, Heading::new("cell", "", Kind::Count, 0), is_in_sweep);
        repetition Small "Repetition within a sweep; 0 without one."
            shown_if(Media::Markdown, Heading::new("repetition", "", Kind::Count, 0), is_in_sweep);
        count Whole "Executions, failed ones included."
            shown(Media::All, Heading::new("count", "", Kind::Count, 0));
        failed Whole "Executions that failed with an error the program did not expect."
            shown_if(Media::All, Heading::new("failed", "", Kind::Count, 0), |row| row.failed > 0);
        short Whole "Executions that moved fewer bytes than asked because the file ended."
            shown_if(Media::All, Heading::new("short", "", Kind::Count, 0), |row| row.short > 0);
        expected Whole "Executions that failed with an error the program expects."
            shown_if(Media::All, Heading::new("expected", "", Kind::Count, 0), |row| row.expected > 0);
        bytes Whole "Bytes moved."
            shown(Media::All, Heading::new("bytes", "", BYTES, 5));
        min_ns MaybeWhole "Shortest time of those that did not fail, nanoseconds; null without any."
            shown(Media::All, Heading::new("min", "", TIME, 6));
        mean_ns MaybePositive "Mean time, nanoseconds."
            shown(Media::All, Heading::new("avg", "", TIME, 9));
        p50_ns MaybeWhole "Median, nanoseconds, within 1 %."
            shown(Media::All, Heading::new("p50", "", TIME, 7));
        p90_ns MaybeWhole "90th percentile, nanoseconds, within 1 %; null with fewer than 10 times."
            shown(Media::All, Heading::new("p90", "", TIME, 2));
        p99_ns MaybeWhole "99th percentile, nanoseconds, within 1 %; null with fewer than 100 times."
            shown(Media::All, Heading::new("p99", "", TIME, 8));
        p999_ns MaybeWhole "99.9th percentile, nanoseconds, within 1 %; null with fewer than 1,000 times."
            shown(Media::All, Heading::new("p99.9", "", TIME, 1));
        max_ns MaybeWhole "Longest time, nanoseconds."
            shown(Media::All, Heading::new("max", "", TIME, 0));
        rank_mib_s MaybePositive "Mean over ranks of bytes / time in which that rank had such an operation under \
                                  way, MiB/s; null without bytes."
            shown(Media::Terminal, Heading::new("bytes/s", "1 rank", BYTE_RATE, 4));
        mib_s MaybePositive "All bytes / busy_ns of the label, MiB/s; null without bytes. In no label: \
                             from the operation's first start to its last end over ranks."
            shown(Media::All, Heading::new("bytes/s", "all", BYTE_RATE, 0));
        rank_ops_s MaybePositive "As rank_mib_s, of operations that did not fail, 1/s; null for parts."
            shown(Media::Terminal, Heading::new("ops/s", "1 rank", OP_RATE, 3));
        ops_s MaybePositive "As mib_s, of operations that did not fail, 1/s; null for parts."
            shown(Media::All, Heading::new("ops/s", "all", OP_RATE, 0));
    }
}

//! The columns of the records that a report prints, one line each: CSV writes all of them, tables for
//! people show some.
//!
//! ```text
//! name in JSON and CSV · heading in tables for people · shown only if a record has something there
//! ```

use crate::grid::{Column as Heading, Kind};
use crate::statistics::{Metric, Statistic};
use model::run::Row;
use model::units::Measure;

/// A column of records of type `R`.
#[derive(Debug)]
pub struct Column<R: 'static> {
    /// Its name in JSON and CSV.
    pub name: &'static str,
    /// The figure of a record.
    pub get: for<'r> fn(&'r R) -> Value<'r>,
    /// How tables for people show it; `None`: not as a column of its own.
    pub heading: Option<Heading>,
    /// It is left out unless this holds for a record.
    pub if_any: Option<fn(&R) -> bool>,
}

/// The figure of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'r> {
    /// Text as it was given, not escaped.
    Text(&'r str),
    /// A whole number.
    Whole(u64),
    /// Any number.
    Real(f64),
    /// Several whole numbers.
    List(&'r [u32]),
    /// There is no such figure.
    None,
}

/// The columns that a table of these records shows.
pub fn shown<R>(
    columns: &'static [Column<R>],
    records: &[R],
) -> Vec<(&'static Column<R>, &'static Heading)> {
    let wanted = |column: &Column<R>| column.if_any.is_none_or(|holds| records.iter().any(holds));
    let shown = columns.iter().filter(|column| wanted(column));
    shown.filter_map(|column| Some((column, column.heading.as_ref()?))).collect()
}

impl Value<'_> {
    /// The number; none if it is not finite.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Whole(value) => Some(*value as f64),
            Value::Real(value) => Some(*value).filter(|value| value.is_finite()),
            Value::Text(_) | Value::List(_) | Value::None => None,
        }
    }
}

/// A field that a column can show.
trait Field {
    fn value(&self) -> Value<'_>;
}

/// Types of fields, each with its value.
macro_rules! fields {
    ($($of:ty: |$field:ident| $value:expr;)*) => { $(
        impl Field for $of {
            fn value(&self) -> Value<'_> {
                let $field = self;
                $value
            }
        }
    )* };
}

fields! {
    String: |text| Value::Text(text);
    u32: |value| Value::Whole((*value).into());
    u64: |value| Value::Whole(*value);
    usize: |value| Value::Whole(*value as u64);
    f64: |value| Value::Real(*value);
    Vec<u32>: |all| Value::List(all);
    Metric: |metric| Value::Text(metric.name());
}

impl<T: Field> Field for Option<T> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::None, T::value)
    }
}

/// A table of columns: field of the record, then how tables for people show it.
macro_rules! columns {
    ($(#[$about:meta])* $table:ident: $record:ty {
        $( $field:ident $($name:literal $unit:literal $kind:ident $drop:literal $(if $holds:expr)?)?; )*
    }) => {
        $(#[$about])*
        pub static $table: &[Column<$record>] = &[ $( Column {
            name: stringify!($field),
            get: |record| Field::value(&record.$field),
            heading: columns!(@heading $($name $unit $kind $drop)?),
            if_any: columns!(@holds $($($holds)?)?),
        }, )* ];
    };
    (@heading) => { None };
    (@heading $name:literal $unit:literal $kind:ident $drop:literal) => {
        Some(Heading::new($name, $unit, $kind, $drop))
    };
    (@holds) => { None };
    (@holds $holds:expr) => { Some($holds) };
}

const COUNT: Kind = Kind::Count;
const TIME: Kind = Kind::Quantity(Measure::Time);
/// Amounts of bytes; where none could be moved the cell is empty.
pub const BYTES: Kind = Kind::Quantity(Measure::Bytes);
const BYTE_RATE: Kind = Kind::Quantity(Measure::ByteRate);
const OP_RATE: Kind = Kind::Quantity(Measure::OpRate);

columns! {
    /// Where a table is too wide, rare percentiles go first, then what one rank reaches, bytes (they
    /// follow from count and program), then the least telling times; counts of failures never.
    ROWS: Row {
        label;
        op;
        part_of;
        cell;
        repetition;
        count "count" "" COUNT 0;
        failed "failed" "" COUNT 0 if |row| row.failed > 0;
        short "short" "" COUNT 0 if |row| row.short > 0;
        expected "expected" "" COUNT 0 if |row| row.expected > 0;
        bytes "bytes" "" BYTES 5;
        min_ns "min" "" TIME 6;
        mean_ns "avg" "" TIME 9;
        p50_ns "p50" "" TIME 7;
        p90_ns "p90" "" TIME 2;
        p99_ns "p99" "" TIME 8;
        p999_ns "p99.9" "" TIME 1;
        max_ns "max" "" TIME 0;
        rank_mib_s "bytes/s" "per rank" BYTE_RATE 4;
        mib_s "bytes/s" "total" BYTE_RATE 0;
        rank_ops_s "ops/s" "per rank" OP_RATE 3;
        ops_s "ops/s" "total" OP_RATE 0;
    }
}

columns! {
    /// Tables for people lay them out over the grid of the sweep.
    STATISTICS: Statistic {
        label;
        op;
        cell;
        metric;
        n;
        mean;
        median;
        sd;
        ci95_low;
        ci95_high;
        mean_ci95_low;
        mean_ci95_high;
        outliers;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_all<R>(record: serde_json::Value, columns: &[Column<R>]) {
        let fields = record.as_object().expect("an object");
        assert!(fields.keys().all(|field| columns.iter().any(|column| column.name == field)));
        assert_eq!(fields.len(), columns.len());
    }

    #[test]
    fn every_field_of_a_record_has_a_column() {
        has_all(serde_json::to_value(Row::default()).unwrap(), ROWS);
        let run = crate::tests::sample::sweep(1, 5);
        let statistic = &crate::statistics::of(&run)[0];
        has_all(serde_json::to_value(statistic).unwrap(), STATISTICS);
    }
}

//! The columns of the records that a report prints: one row each. CSV, Markdown, the table of the
//! terminal and the tests of the JSON schema read them; nobody else lists columns.
//!
//! ```text
//! name and type (JSON, CSV, schema) · figure · heading (tables for people)
//! ```

/// A table of columns: field of the record, type in JSON, description; then its heading in tables for people,
/// as [`Column::shown`] and [`Column::shown_if`] take it.
macro_rules! columns {
    ($(#[$about:meta])* $table:ident: $record:ty {
        $( $field:ident $of:ident $doc:literal $( $medium:ident($($how:tt)*) )*; )*
    }) => {
        $(#[$about])*
        pub static $table: &[$crate::columns::Column<$record>] = &[
            $( $crate::columns::Column::<$record>::new(
                stringify!($field),
                $crate::columns::Type::$of,
                |record| $crate::columns::Field::value(&record.$field),
                $doc,
            ) $( .$medium($($how)*) )*, )*
        ];
    };
}

mod rows;
mod statistics;
mod times;

use crate::statistics::Metric;
use crate::table::grid;
pub use rows::ROWS;
pub use statistics::STATISTICS;
pub use times::TIMES;

/// A column of records of type `R`.
#[derive(Debug)]
pub struct Column<R: 'static> {
    /// Its name in JSON and CSV.
    pub name: &'static str,
    /// What it holds, as the schema says it.
    pub doc: &'static str,
    /// Its type in JSON.
    pub of: Type,
    /// The figure of a record.
    pub get: for<'r> fn(&'r R) -> Value<'r>,
    /// How tables for people show it; `None`: not as a column of its own.
    pub shown: Option<Shown<R>>,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Text.
    Text,
    /// Text or null.
    MaybeText,
    /// Numbers of ranks, cells, repetitions: 32 bits.
    Small,
    /// Counts, bytes, nanoseconds: 64 bits.
    Whole,
    /// The same or null.
    MaybeWhole,
    /// A number.
    Real,
    /// A number or null.
    MaybeReal,
    /// A time or rate, or null.
    MaybePositive,
    /// Which figure of a row or label: [`Metric`].
    Metric,
    /// Numbers of repetitions.
    List,
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

/// A column in tables for people.
#[derive(Debug)]
pub struct Shown<R: 'static> {
    /// Its heading, what stands in it, and when it is given up.
    pub heading: grid::Column,
    /// Which tables have it.
    pub media: Media,
    /// It is left out unless this holds for a record.
    pub if_any: Option<fn(&R) -> bool>,
}

/// Which tables for people have a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// Terminal, page and Markdown.
    All,
    /// Terminal and page.
    Terminal,
    /// Markdown.
    Markdown,
}

impl<R> Column<R> {
    /// A column that no table for people shows.
    pub const fn new(
        name: &'static str,
        of: Type,
        get: for<'r> fn(&'r R) -> Value<'r>,
        doc: &'static str,
    ) -> Column<R> {
        Column { name, doc, of, get, shown: None }
    }

    /// Shown to people under this heading.
    pub const fn shown(mut self, media: Media, heading: grid::Column) -> Column<R> {
        self.shown = Some(Shown { heading, media, if_any: None });
        self
    }

    /// Shown to people under this heading if a record has something there.
    pub const fn shown_if(
        mut self,
        media: Media,
        heading: grid::Column,
        if_any: fn(&R) -> bool,
    ) -> Column<R> {
        self.shown = Some(Shown { heading, media, if_any: Some(if_any) });
        self
    }
}

/// The columns that tables of such records show, with how they do.
pub fn shown<R>(
    columns: &'static [Column<R>],
    records: &[R],
    without: Media,
) -> Vec<(&'static Column<R>, &'static Shown<R>)> {
    let shown = columns.iter().filter_map(|column| Some((column, column.shown.as_ref()?)));
    let wanted = |shown: &Shown<R>| shown.if_any.is_none_or(|if_any| records.iter().any(if_any));
    shown.filter(|(_, shown)| shown.media != without && wanted(shown)).collect()
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

impl Field for String {
    fn value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl Field for u32 {
    fn value(&self) -> Value<'_> {
        Value::Whole((*self).into())
    }
}

impl Field for u64 {
    fn value(&self) -> Value<'_> {
        Value::Whole(*self)
    }
}

impl Field for usize {
    fn value(&self) -> Value<'_> {
        Value::Whole(*self as u64)
    }
}

impl Field for f64 {
    fn value(&self) -> Value<'_> {
        Value::Real(*self)
    }
}

impl Field for Vec<u32> {
    fn value(&self) -> Value<'_> {
        Value::List(self)
    }
}

impl Field for Metric {
    fn value(&self) -> Value<'_> {
        Value::Text(self.name())
    }
}

impl<T: Field> Field for Option<T> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::None, T::value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::run::{Row, TimeRow};
    use serde_json::{Value as Json, json};

    const SCHEMA: &str = include_str!("../../../docs/run.schema.json");

    fn in_schema<R>(column: &Column<R>) -> Json {
        let (small, whole) = (u32::MAX.into(), u64::MAX);
        let of = |of: Json, maximum: Option<u64>| match maximum {
            Some(maximum) => json!({"type": of, "minimum": 0, "maximum": maximum}),
            None => json!({"type": of}),
        };
        let mut found = match column.of {
            Type::Text => of(json!("string"), None),
            Type::MaybeText => of(json!(["string", "null"]), None),
            Type::Small => of(json!("integer"), Some(small)),
            Type::Whole => of(json!("integer"), Some(whole)),
            Type::MaybeWhole => of(json!(["integer", "null"]), Some(whole)),
            Type::Real => of(json!("number"), None),
            Type::MaybeReal => of(json!(["number", "null"]), None),
            Type::MaybePositive => json!({"type": ["number", "null"], "minimum": 0}),
            Type::Metric => json!({"enum": ["mib_s", "ops_s", "mean_ns", "time_ns"]}),
            Type::List => json!({"type": "array", "items": of(json!("integer"), None)}),
        };
        found["description"] = json!(column.doc);
        found
    }

    /// The schema describes every column as the table does; `besides` are fields without one.
    fn check<R>(definition: &str, columns: &[Column<R>], besides: &[&str]) {
        let schema: Json = serde_json::from_str(SCHEMA).unwrap();
        let schema = &schema["$defs"][definition];
        for column in columns {
            let expected = in_schema(column);
            let found = &schema["properties"][column.name];
            assert_eq!(*found, expected, "docs/run.schema.json, {definition}: {}", column.name);
        }
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        assert_eq!(schema["required"], json!(names), "docs/run.schema.json, {definition}");
        let fields = schema["properties"].as_object().unwrap().keys();
        let mut others = fields.filter(|field| !names.contains(&field.as_str()));
        assert!(others.all(|field| besides.contains(&field.as_str())));
    }

    #[test]
    fn the_schema_is_that_of_the_tables() {
        check("row", ROWS, &["histogram", "failed_histogram", "balance"]);
        check("time", TIMES, &[]);
        check("statistic", STATISTICS, &[]);
    }

    #[test]
    fn every_field_of_a_record_has_a_column() {
        let row = serde_json::to_value(Row::default()).unwrap();
        assert!(row.as_object().unwrap().keys().all(|field| ROWS.iter().any(|c| c.name == field)));
        assert_eq!(row.as_object().unwrap().len(), ROWS.len());
        let time = serde_json::to_value(TimeRow::default()).unwrap();
        assert!(
            time.as_object().unwrap().keys().all(|field| TIMES.iter().any(|c| c.name == field))
        );
        assert_eq!(time.as_object().unwrap().len(), TIMES.len());
    }
}

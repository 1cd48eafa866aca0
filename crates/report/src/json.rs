//! `--format json`: the run as one JSON object on one line.
//!
//! The fields equal [`model::Run`]; docs/run.schema.json describes them.
//! Histograms of rows stay out ([`crate::store`] keeps them). A figure that is no number is null.

use crate::limited::{self, Limited};
use crate::statistics::{self, Statistic};
use model::escape;
use model::run::{Header, LabelRow, Row, Run, TimeRow};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The same fields as [`Run`], borrowed where they can be.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct View<'a> {
    /// Format version.
    #[cfg_attr(test, schemars(extend("const" = 2)))]
    version: u32,
    /// Summary: one entry per label path and operation, then its parts, in order of first appearance.
    rows: Vec<Line>,
    /// Labels over all their occurrences and ranks: the durations that rates divide by.
    labels: &'a [LabelRow],
    /// Occurrences of labels, at most 1000 of each.
    times: &'a [TimeRow],
    /// Every figure of rows and labels over the repetitions of its cell; empty without repetitions.
    statistics: Vec<Figure>,
    /// Loops that a time limit ended: their rates up to the limit and with the wear-out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    limited: Vec<Limited>,
    /// Program, machine, outcome and evidence.
    run: &'a Header,
}

/// A row, and where in a sweep it was measured.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Line {
    #[serde(flatten)]
    row: Row,
    /// Names and values of what a sweep varied, in this cell.
    #[serde(skip_serializing_if = "Point::is_empty")]
    point: Point,
}

/// A figure over repetitions, and where in a sweep it was measured.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Figure {
    #[serde(flatten)]
    statistic: Statistic,
    /// Names and values of what a sweep varied, in this cell.
    #[serde(skip_serializing_if = "Point::is_empty")]
    point: Point,
}

type Point = BTreeMap<String, String>;

fn point(run: &Run, cell: u32) -> Point {
    run.run.sweep.as_ref().map(|sweep| sweep.point(cell)).unwrap_or_default()
}

/// An object on one line, escaped beyond JSON's rules because a terminal may be its reader. Figures that
/// are not finite become null.
pub fn object(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    escape::json(&text).into_owned() + "\n"
}

/// Writes the object without the rows' histograms, and a line end.
///
/// # Errors
/// Those of `out`.
pub fn write(run: &Run, out: &mut impl Write) -> io::Result<()> {
    write_view(run, out, &without_histograms)
}

/// Writes the object with everything in it, and a line end.
///
/// # Errors
/// Those of `out`.
pub fn write_full(run: &Run, out: &mut impl Write) -> io::Result<()> {
    write_view(run, out, &Row::clone)
}

/// The object of [`write()`] as text, line end included.
pub fn to_string(run: &Run) -> String {
    let mut bytes = Vec::new();
    write(run, &mut bytes).expect("writing into memory does not fail");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

fn write_view(run: &Run, out: &mut impl Write, row: &dyn Fn(&Row) -> Row) -> io::Result<()> {
    let line = |one: &Row| Line { row: row(one), point: point(run, one.cell) };
    let figure = |one: Statistic| Figure { point: point(run, one.cell), statistic: one };
    let view = View {
        version: run.version,
        rows: run.rows.iter().map(line).collect(),
        labels: &run.labels,
        times: &run.times,
        statistics: statistics::of(run).into_iter().map(figure).collect(),
        limited: limited::of(run),
        run: &run.run,
    };
    out.write_all(object(&view).as_bytes())
}

/// A row without its histograms.
pub(crate) fn without_histograms(row: &Row) -> Row {
    Row {
        label: row.label.clone(),
        op: row.op.clone(),
        part_of: row.part_of.clone(),
        balance: row.balance.clone(),
        histogram: None,
        failed_histogram: None,
        ..*row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;
    use model::run::{RankError, Score};
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::sync::LazyLock;

    const SCHEMA: &str = include_str!("../../../docs/run.schema.json");

    static VALIDATOR: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        jsonschema::draft202012::meta::validate(&schema).expect("a valid schema");
        jsonschema::draft202012::new(&schema).unwrap()
    });

    /// Errors of a text by the schema.
    fn complaints(text: &str) -> Vec<String> {
        let value: Value = serde_json::from_str(text).unwrap();
        VALIDATOR.iter_errors(&value).map(|error| error.to_string()).collect()
    }

    fn full(run: &Run) -> String {
        let mut bytes = Vec::new();
        write_full(run, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn assert_valid(run: &Run) {
        for text in [to_string(run), full(run)] {
            assert_eq!(complaints(&text), [""; 0], "{text}");
            assert_eq!(text.find('\n'), Some(text.len() - 1), "one line");
        }
    }

    fn interrupted() -> Run {
        let mut run = sample::aborted();
        (run.run.exit_code, run.run.outcome) = (130, "interrupted".into());
        run.run.rank_errors =
            vec![RankError { message: "interrupted".into(), ..RankError::default() }];
        run
    }

    #[test]
    fn trap_01_json_is_valid_after_success_abort_interrupt_and_without_rows() {
        let empty = Run { version: model::run::VERSION, ..Run::default() };
        let sweep = sample::sweep(3, 6);
        let mut scored = sample::listing1();
        scored.run.scores = vec![Score { value: 1.5, ..Score::default() }];
        for run in [scored, sample::listing1(), sample::aborted(), interrupted(), empty, sweep] {
            assert_valid(&run);
        }
    }

    #[test]
    fn trap_02_every_record_says_what_ran_where() {
        let value: Value = serde_json::from_str(&to_string(&sample::listing1())).unwrap();
        let run = &value["run"];
        assert_eq!(run["host"]["name"], "node1");
        assert_eq!(run["started"], "2026-11-21T10:43:00Z");
        assert_eq!(run["program"]["name"], "stress.ppl");
    }

    #[test]
    fn trap_31_hard_labels_survive() {
        for label in sample::HARD_LABELS.iter().map(|l| l.to_string()).chain(["x".repeat(300)]) {
            let text = to_string(&sample::labelled(&label));
            assert_eq!(complaints(&text), [""; 0]);
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value["rows"][0]["label"], label.as_str());
            assert_eq!(value["times"][0]["label"], label.as_str());
        }
    }

    #[test]
    fn histograms_stand_only_in_stored_runs() {
        let run = sample::listing1();
        assert!(!to_string(&run).contains("histogram"));
        assert!(full(&run).contains(r#""histogram":{"buckets":"#));
    }

    #[test]
    fn what_is_no_number_is_null() {
        let mut run = sample::listing1();
        (run.rows[0].mean_ns, run.rows[0].mib_s) = (Some(f64::NAN), Some(f64::INFINITY));
        run.run.evidence.page_cache_share = Some(f64::NAN);
        assert_valid(&run);
        let value: Value = serde_json::from_str(&to_string(&run)).unwrap();
        assert_eq!(value["rows"][0]["mean_ns"], Value::Null);
        assert_eq!(value["rows"][0]["mib_s"], Value::Null);
        assert_eq!(value["run"]["evidence"]["page_cache_share"], Value::Null);
    }

    /// All objects of a value, with the path to each.
    fn objects(value: &Value, path: String, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                found.push(path.clone());
                fields
                    .iter()
                    .for_each(|(key, value)| objects(value, format!("{path}/{key}"), found));
            }
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(at, v)| objects(v, format!("{path}/{at}"), found));
            }
            _ => {}
        }
    }

    #[test]
    fn the_schema_is_strict_everywhere() {
        let mut run = sample::aborted();
        run.times.truncate(2);
        let mut sweep = sample::sweep(1, 1);
        run.run.sweep = sweep.run.sweep.take();
        run.rows.extend(sweep.rows);
        // Absent where the words are not text.
        run.run.command.clear();
        let good: Value = serde_json::from_str(&full(&run)).unwrap();
        let mut places = Vec::new();
        objects(&good, String::new(), &mut places);
        assert!(places.len() > 20);
        // What a sweep varies has any name.
        places.retain(|place| !place.ends_with("/point"));
        for place in &places {
            let mut surplus = good.clone();
            let object = surplus.pointer_mut(place).unwrap().as_object_mut().unwrap();
            object.insert("surplus".into(), json!(1));
            assert!(!VALIDATOR.is_valid(&surplus), "a surplus field at {place}");
            let object = good.pointer(place).unwrap().as_object().unwrap();
            for field in
                object.keys().filter(|field| !field.ends_with("histogram") && *field != "point")
            {
                let mut without = good.clone();
                without.pointer_mut(place).unwrap().as_object_mut().unwrap().remove(field);
                assert!(!VALIDATOR.is_valid(&without), "without {place}/{field}");
            }
        }
    }

    #[test]
    fn the_schema_describes_every_field() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let mut places = Vec::new();
        objects(&schema, String::new(), &mut places);
        let named = places.iter().filter(|place| {
            let parent = place.rsplit_once('/').map_or("", |(parent, _)| parent);
            parent.ends_with("/properties")
        });
        for place in named {
            let field = schema.pointer(place).unwrap();
            let told = field.get("description").is_some() || field.get("$ref").is_some();
            assert!(told, "no description at {place}");
        }
    }

    #[test]
    fn the_schema_refuses_what_is_no_run() {
        for (place, value) in [
            ("/version", json!(3)),
            ("/rows/0/count", json!(-1)),
            ("/rows/0/min_ns", json!("1")),
            ("/rows/0/label", Value::Null),
            ("/run/evidence/page_cache_share", json!(1.5)),
            ("/run/failures/0/errno", json!(70_000)),
        ] {
            let mut run: Value = serde_json::from_str(&to_string(&sample::aborted())).unwrap();
            *run.pointer_mut(place).unwrap() = value;
            assert!(!VALIDATOR.is_valid(&run), "{place}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn any_run_is_valid(run in sample::any_run()) {
            for text in [to_string(&run), full(&run)] {
                prop_assert_eq!(complaints(&text), [""; 0]);
            }
        }
    }
}

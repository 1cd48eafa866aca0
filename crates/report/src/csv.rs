//! `--format csv`: one table per file, RFC 4180, names and units as in the JSON object.
//!
//! A column that a row has no figure for is empty. Line ends are CRLF as the RFC says; quotes, commas
//! and line ends inside labels are quoted. Labels that a spreadsheet would calculate or a terminal obey
//! are written as [`model::escape::cell`] says. What a sweep varies has a column each, `$NAME` where another
//! column has the name.

use crate::compare::{self, Comparison};
use crate::json::without_histograms;
use crate::statistics;
use model::escape::cell;
use model::run::{Row, Run, Score};
use model::sweep::Sweep;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The column behind which the parameters of a sweep stand.
const CELL: &str = "cell";

/// The words of a list of columns.
fn words(columns: &str) -> Vec<&str> {
    columns.split(' ').collect()
}

/// Columns of rows, as they are called in the JSON object.
const ROWS: &str = "label op part_of cell repetition count failed short expected bytes min_ns mean_ns \
    p50_ns p90_ns p99_ns p999_ns max_ns rank_mib_s mib_s rank_ops_s ops_s";

/// Columns of statistics.
const STATISTICS: &str = "label op cell metric n mean median sd ci95_low ci95_high mean_ci95_low \
    mean_ci95_high outliers";

/// Columns of scores behind the columns of rows, in runs that have any: the name is in the column of labels.
const SCORES: [&str; 2] = ["value", "unit"];

/// Writes the summary: one line per label and operation, then one per score.
///
/// # Errors
/// Those of `out`.
pub fn rows(run: &Run, out: &mut impl Write) -> io::Result<()> {
    let json = |row: &Row| serde_json::to_value(without_histograms(row)).unwrap_or_default();
    let rows = run.rows.iter().map(|row| (row.cell, json(row)));
    if run.run.scores.is_empty() {
        return records(run, out, &words(ROWS), rows);
    }
    let scores = run.run.scores.iter().map(|score| (score.cell, line_of(score)));
    records(run, out, &[words(ROWS), SCORES.to_vec()].concat(), rows.chain(scores))
}

/// A score in the columns of rows.
fn line_of(score: &Score) -> Value {
    let Score { name, cell, repetition, value, unit } = score;
    json!({ "label": name, "op": "score", "cell": cell, "repetition": repetition, "value": value, "unit": unit })
}

/// Writes the statistics of a sweep: one line per figure and cell. Outliers are separated by
/// blanks.
///
/// # Errors
/// Those of `out`.
pub fn statistics(run: &Run, out: &mut impl Write) -> io::Result<()> {
    records(
        run,
        out,
        &words(STATISTICS),
        statistics::of(run).into_iter().map(|one| (one.cell, one)),
    )
}

/// Columns of comparisons before and after the columns of parameters that vary.
const COMPARISON_PLACE: [&str; 5] = ["base", "new", "label", "op", "cell"];
const COMPARISON_FIGURES: &str = "tier metric base_n new_n base_median new_median speedup ci95_low ci95_high level \
    cliffs_delta p p_adjusted lag1 least_n claim sentence";
/// Columns of calls, for each side.
const COMPARISON_CALLS: [&str; 4] = ["calls", "bytes", "p50_ns", "p99_ns"];

/// Writes comparisons: one line per figure, a column for each parameter that varies.
///
/// # Errors
/// Those of `out`.
pub fn comparisons(all: &[Comparison], out: &mut impl Write) -> io::Result<()> {
    let rows = || all.iter().flat_map(|one| one.rows.iter().map(move |row| (one, row)));
    let params: BTreeSet<&String> = rows().flat_map(|(_, row)| row.params.keys()).collect();
    let calls = |side: &str| COMPARISON_CALLS.map(|column| format!("{side}_{column}"));
    let head = COMPARISON_PLACE.map(String::from).into_iter();
    let all_figures = words(COMPARISON_FIGURES);
    let fixed = [&COMPARISON_PLACE[..], &all_figures].concat();
    let head = head.chain(params.iter().map(|name| column_of(name, &fixed)));
    let head = head.chain(all_figures.iter().map(ToString::to_string));
    let head = head.chain(calls("base")).chain(calls("new")).collect();
    let line = |(one, row): (&Comparison, &compare::Row)| {
        let sides = [&one.base, &one.new].map(|name| cell(name).into_owned());
        let record = serde_json::to_value(row).unwrap_or_default();
        let of_row = |column: &&str| text(&record[*column]);
        let value = |name: &&String| {
            row.params.get(*name).map_or(String::new(), |value| cell(value).into_owned())
        };
        let place = COMPARISON_PLACE[2..].iter().map(of_row);
        let figures = all_figures.iter().map(of_row);
        let calls = ["base_calls", "new_calls"]
            .into_iter()
            .flat_map(|side| COMPARISON_CALLS.map(|column| text(&record[side][column])));
        sides
            .into_iter()
            .chain(place)
            .chain(params.iter().map(value))
            .chain(figures)
            .chain(calls)
            .collect()
    };
    lines(out, std::iter::once(head).chain(rows().map(line)))
}

/// Records with the cells that they belong to; what a sweep varies has columns behind that of the cell.
fn records<R: Serialize>(
    run: &Run,
    out: &mut impl Write,
    columns: &[&str],
    records: impl IntoIterator<Item = (u32, R)>,
) -> io::Result<()> {
    let names: Vec<&str> = run.run.sweep.iter().flat_map(names).collect();
    let column_of_cell = columns.iter().position(|column| *column == CELL);
    let (before, behind) = columns.split_at(column_of_cell.map_or(columns.len(), |at| at + 1));
    let name = |name: &&str| column_of(name, columns);
    let fixed =
        |columns: &[&str]| columns.iter().map(|column| column.to_string()).collect::<Vec<_>>();
    let head = [fixed(before), names.iter().map(name).collect(), fixed(behind)].concat();
    let line = |(number, record): (u32, R)| {
        let record = serde_json::to_value(record).unwrap_or_default();
        let figures = |columns: &[&str]| -> Vec<String> {
            columns.iter().map(|column| text(&record[*column])).collect()
        };
        let values = run.run.sweep.iter().flat_map(|sweep| sweep.values_at(number));
        let mut values: Vec<String> = values.map(|value| cell(value).into_owned()).collect();
        values.resize(names.len(), String::new());
        [figures(before), values, figures(behind)].concat()
    };
    lines(out, std::iter::once(head).chain(records.into_iter().map(line)))
}

/// Names of what a sweep varies.
fn names(sweep: &Sweep) -> impl Iterator<Item = &str> {
    sweep.dimensions.iter().map(|dimension| &*dimension.name)
}

/// The column of a parameter beside these columns.
fn column_of(name: &str, columns: &[&str]) -> String {
    match columns.contains(&name) {
        true => format!("${name}"),
        false => cell(name).into_owned(),
    }
}

/// Writes lines of a table as they are.
///
/// # Errors
/// Those of `out`.
pub fn lines(out: &mut impl Write, lines: impl IntoIterator<Item = Vec<String>>) -> io::Result<()> {
    let mut table =
        ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(out);
    lines.into_iter().try_for_each(|line| table.write_record(line).map_err(failed))?;
    table.flush()
}

/// The text of a cell; nothing where there is no figure.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => cell(text).into_owned(),
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map_or(String::new(), |number| number.to_string())
        }
        Value::Array(all) => all.iter().map(text).collect::<Vec<_>>().join(" "),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The error of `out` itself: the conversion that csv offers hides its kind, and a caller has to
/// know a closed pipe.
fn failed(error: ::csv::Error) -> io::Error {
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;
    use model::escape::value;
    use model::sweep::Dimension;

    fn read(bytes: &[u8]) -> Vec<Vec<String>> {
        let mut table = ::csv::ReaderBuilder::new().has_headers(false).from_reader(bytes);
        let lines = table.records().map(|line| line.unwrap());
        lines.map(|line| line.iter().map(str::to_string).collect()).collect()
    }

    fn has_all(record: impl Serialize, columns: &[&str]) {
        let record = serde_json::to_value(record).unwrap();
        let fields: Vec<&String> = record.as_object().expect("an object").keys().collect();
        assert!(fields.iter().all(|field| columns.contains(&field.as_str())), "{fields:?}");
        assert_eq!(fields.len(), columns.len());
    }

    #[test]
    fn every_field_of_a_record_has_a_column() {
        has_all(Row::default(), &words(ROWS));
        has_all(&statistics::of(&sample::sweep(1, 5))[0], &words(STATISTICS));
    }

    #[test]
    fn rows_are_written_as_rfc_4180_says() {
        let mut run = sample::listing1();
        run.rows.truncate(2);
        let mut out = Vec::new();
        rows(&run, &mut out).unwrap();
        expect_test::expect![[r#"
            label,op,part_of,cell,repetition,count,failed,short,expected,bytes,min_ns,mean_ns,p50_ns,p90_ns,p99_ns,p999_ns,max_ns,rank_mib_s,mib_s,rank_ops_s,ops_s
            stress,write,,0,0,20000,0,0,0,20480000,16000,27500,25700,42000,58300,3746650,7435000,35.51136363636363,15.625,36363.63636363636,15999.984640014747
            stress,write.open,write,0,0,20000,0,0,0,0,9000,15000,14400,22800,31200,3716100,7401000,,,,
        "#]]
        .assert_eq(&String::from_utf8(out.clone()).unwrap().replace("\r\n", "\n"));
        assert_eq!(out.iter().filter(|b| **b == b'\r').count(), 3);
    }

    #[test]
    fn scores_are_lines_with_columns_of_their_own() {
        let mut run = sample::listing1();
        run.rows.truncate(1);
        let (name, unit) = ("a, b".to_string(), "GiB/s".to_string());
        run.run.scores = vec![Score { name, value: 1.5, unit, ..Score::default() }];
        let mut out = Vec::new();
        rows(&run, &mut out).unwrap();
        let lines = read(&out);
        assert_eq!(lines[0][19..], ["rank_ops_s", "ops_s", "value", "unit"]);
        assert_eq!(lines[1][21..], ["", ""]);
        assert_eq!(lines[2][..3], ["a, b", "score", ""]);
        assert_eq!(lines[2][19..], ["", "", "1.5", "GiB/s"]);
    }

    #[test]
    fn a_reader_that_has_gone_away_is_told_as_such() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut run = sample::listing1();
        let row = run.rows[0].clone();
        // More than any buffer on the way takes.
        run.rows.extend(std::iter::repeat_n(row, 10_000));
        assert_eq!(rows(&run, &mut Gone).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn trap_31_hard_labels_survive() {
        for label in sample::HARD_LABELS.iter().map(|l| l.to_string()).chain(["x".repeat(300)]) {
            let run = sample::labelled(&label);
            let mut bytes = Vec::new();
            rows(&run, &mut bytes).unwrap();
            assert_eq!(value(&read(&bytes)[1][0]), label);
        }
    }

    #[test]
    fn statistics_have_the_columns_of_the_json_object() {
        let mut out = Vec::new();
        statistics(&sample::sweep(1, 5), &mut out).unwrap();
        let lines = read(&out);
        let columns = words(STATISTICS);
        let named = [&columns[..3], &["block"], &columns[3..]].concat();
        assert_eq!(lines[0], named);
        assert_eq!(lines[2][..8], ["io", "write", "0", "4k", "mib_s", "5", "102", "102"]);
    }

    #[test]
    fn parameters_of_a_sweep_are_columns() {
        let mut run = sample::sweep(2, 1);
        let dimension = |name: &str, values: &[&str]| Dimension {
            name: name.into(),
            values: values.iter().map(|value| value.to_string()).collect(),
            ..Dimension::default()
        };
        // One has the name of a column, and a value that a spreadsheet would calculate.
        let dimensions = vec![dimension("count", &["=1+1"]), dimension("block", &["4k", "64k"])];
        run.run.sweep.as_mut().unwrap().dimensions = dimensions;
        run.rows.truncate(3);
        let mut out = Vec::new();
        rows(&run, &mut out).unwrap();
        let lines: Vec<Vec<String>> =
            read(&out).into_iter().map(|line| line[..8].to_vec()).collect();
        let head = ["label", "op", "part_of", "cell", "$count", "block", "repetition", "count"];
        assert_eq!(lines[0], head);
        assert_eq!(lines[1], ["io", "write", "", "1", "'=1+1", "64k", "0", "100"]);
        assert_eq!(lines[3], ["io", "write", "", "0", "'=1+1", "4k", "0", "100"]);
    }

    #[test]
    fn what_is_no_number_is_empty() {
        let mut run = sample::labelled("a");
        run.rows[0].mean_ns = Some(f64::NAN);
        run.rows[0].mib_s = Some(f64::INFINITY);
        let mut out = Vec::new();
        rows(&run, &mut out).unwrap();
        let lines = read(&out);
        let cell =
            |name: &str| &lines[1][words(ROWS).iter().position(|column| *column == name).unwrap()];
        assert_eq!((cell("mean_ns").as_str(), cell("mib_s").as_str()), ("", ""));
    }

    #[test]
    fn a_run_without_rows_has_its_header() {
        let mut out = Vec::new();
        rows(&Run::default(), &mut out).unwrap();
        assert_eq!(read(&out), [words(ROWS)]);
    }
}

//! `--format csv`: one table per file, RFC 4180, names and units as in the JSON object.
//!
//! A column that a row has no figure for is empty. Line ends are CRLF as the
//! RFC says; quotes, commas and line ends inside labels are quoted. Labels that a spreadsheet would
//! calculate or a terminal obey are those of [`model::escape::cell`].

use crate::statistics::{self, Statistic};
use model::escape::cell;
use model::run::{Row, Run, TimeRow};
use std::io::{self, Write};

/// Columns of [`rows`], in order.
pub const ROW_COLUMNS: [&str; 21] = [
    "label",
    "op",
    "part_of",
    "cell",
    "repetition",
    "count",
    "failed",
    "short",
    "expected",
    "bytes",
    "min_ns",
    "mean_ns",
    "p50_ns",
    "p90_ns",
    "p99_ns",
    "p999_ns",
    "max_ns",
    "rank_mib_s",
    "mib_s",
    "rank_ops_s",
    "ops_s",
];

/// Columns of [`times`], in order.
pub const TIME_COLUMNS: [&str; 9] = [
    "label",
    "cell",
    "repetition",
    "index",
    "ranks",
    "first_start_ns",
    "last_end_ns",
    "slowest_rank",
    "max_ns",
];

/// Columns of [`statistics()`], in order.
pub const STATISTIC_COLUMNS: [&str; 13] = [
    "label",
    "op",
    "cell",
    "metric",
    "n",
    "mean",
    "median",
    "sd",
    "ci95_low",
    "ci95_high",
    "mean_ci95_low",
    "mean_ci95_high",
    "outliers",
];

/// Writes the summary: one line per label and operation.
///
/// # Errors
/// Those of `out`.
pub fn rows(run: &Run, out: &mut impl Write) -> io::Result<()> {
    write(out, &ROW_COLUMNS, run.rows.iter().map(row))
}

/// Writes the labels over ranks: one line per kept occurrence.
///
/// # Errors
/// Those of `out`.
pub fn times(run: &Run, out: &mut impl Write) -> io::Result<()> {
    write(out, &TIME_COLUMNS, run.times.iter().map(time))
}

/// Writes the statistics of a sweep: one line per figure and cell. Outliers are separated by
/// blanks.
///
/// # Errors
/// Those of `out`.
pub fn statistics(run: &Run, out: &mut impl Write) -> io::Result<()> {
    write(out, &STATISTIC_COLUMNS, statistics::of(run).iter().map(statistic))
}

fn write<const N: usize>(
    out: &mut impl Write,
    columns: &[&str; N],
    lines: impl Iterator<Item = [String; N]>,
) -> io::Result<()> {
    let mut table =
        ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(out);
    table.write_record(columns).map_err(failed)?;
    for line in lines {
        table.write_record(&line).map_err(failed)?;
    }
    table.flush()
}

/// The error of `out` itself: the conversion that csv offers hides its kind, and a caller has to
/// know a closed pipe.
fn failed(error: ::csv::Error) -> io::Error {
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn row(row: &Row) -> [String; 21] {
    [
        cell(&row.label).into_owned(),
        cell(&row.op).into_owned(),
        cell(row.part_of.as_deref().unwrap_or_default()).into_owned(),
        row.cell.to_string(),
        row.repetition.to_string(),
        row.count.to_string(),
        row.failed.to_string(),
        row.short.to_string(),
        row.expected.to_string(),
        row.bytes.to_string(),
        integer(row.min_ns),
        float(row.mean_ns),
        integer(row.p50_ns),
        integer(row.p90_ns),
        integer(row.p99_ns),
        integer(row.p999_ns),
        integer(row.max_ns),
        float(row.rank_mib_s),
        float(row.mib_s),
        float(row.rank_ops_s),
        float(row.ops_s),
    ]
}

fn time(time: &TimeRow) -> [String; 9] {
    [
        cell(&time.label).into_owned(),
        time.cell.to_string(),
        time.repetition.to_string(),
        time.index.to_string(),
        time.ranks.to_string(),
        time.first_start_ns.to_string(),
        time.last_end_ns.to_string(),
        time.slowest_rank.to_string(),
        time.max_ns.to_string(),
    ]
}

fn statistic(statistic: &Statistic) -> [String; 13] {
    let outliers: Vec<String> = statistic.outliers.iter().map(u32::to_string).collect();
    [
        cell(&statistic.label).into_owned(),
        cell(&statistic.op).into_owned(),
        statistic.cell.to_string(),
        statistic.metric.name().to_string(),
        statistic.n.to_string(),
        statistic.mean.to_string(),
        statistic.median.to_string(),
        float(statistic.sd),
        float(statistic.ci95_low),
        float(statistic.ci95_high),
        float(statistic.mean_ci95_low),
        float(statistic.mean_ci95_high),
        outliers.join(" "),
    ]
}

fn integer(value: Option<u64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn float(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use model::escape::value;

    fn read(bytes: &[u8]) -> Vec<Vec<String>> {
        let mut table = ::csv::ReaderBuilder::new().has_headers(false).from_reader(bytes);
        let lines = table.records().map(|line| line.unwrap());
        lines.map(|line| line.iter().map(str::to_string).collect()).collect()
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
    fn times_have_one_line_per_occurrence() {
        let mut out = Vec::new();
        times(&sample::listing1(), &mut out).unwrap();
        let lines = read(&out);
        assert_eq!(lines[0], TIME_COLUMNS);
        assert_eq!(
            lines[1],
            ["stress", "0", "0", "0", "2", "1200", "1250002400", "1", "1250000000"]
        );
    }

    #[test]
    fn trap_31_hard_labels_survive() {
        for label in sample::HARD_LABELS.iter().map(|l| l.to_string()).chain(["x".repeat(300)]) {
            let run = sample::labelled(&label);
            let (mut row_bytes, mut time_bytes) = (Vec::new(), Vec::new());
            rows(&run, &mut row_bytes).unwrap();
            times(&run, &mut time_bytes).unwrap();
            assert_eq!(value(&read(&row_bytes)[1][0]), label);
            assert_eq!(value(&read(&time_bytes)[1][0]), label);
        }
    }

    #[test]
    fn statistics_have_the_columns_of_the_json_object() {
        let mut out = Vec::new();
        statistics(&sample::sweep(1, 5), &mut out).unwrap();
        let lines = read(&out);
        assert_eq!(lines[0], STATISTIC_COLUMNS);
        assert_eq!(lines[2][..7], ["io", "write", "0", "mib_s", "5", "102", "102"]);
        let object = serde_json::to_value(&statistics::of(&sample::sweep(1, 5))[0]).unwrap();
        assert_eq!(object.as_object().unwrap().len(), STATISTIC_COLUMNS.len());
        assert!(STATISTIC_COLUMNS.iter().all(|column| object.get(column).is_some()));
    }

    #[test]
    fn what_is_no_number_is_empty() {
        let mut run = sample::labelled("a");
        run.rows[0].mean_ns = Some(f64::NAN);
        run.rows[0].mib_s = Some(f64::INFINITY);
        let mut out = Vec::new();
        rows(&run, &mut out).unwrap();
        let lines = read(&out);
        let cell = |name: &str| &lines[1][ROW_COLUMNS.iter().position(|c| *c == name).unwrap()];
        assert_eq!((cell("mean_ns").as_str(), cell("mib_s").as_str()), ("", ""));
    }

    #[test]
    fn a_run_without_rows_has_its_header() {
        let mut out = Vec::new();
        rows(&Run::default(), &mut out).unwrap();
        assert_eq!(read(&out), [ROW_COLUMNS.map(str::to_string).to_vec()]);
    }
}

//! `--format json`: the run as one JSON object on one line.
//!
//! The fields are those of [`model::Run`]; docs/run.schema.json describes them.
//! Histograms of rows stay out ([`crate::store`] keeps them).

use model::run::{Header, Row, Run, TimeRow};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, Write};

/// The same fields as [`Run`], borrowed where they can be.
#[derive(Serialize)]
struct View<'a> {
    version: u32,
    rows: Vec<Row>,
    times: &'a [TimeRow],
    run: Cow<'a, Header>,
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

/// The object of [`write`] as text, line end included.
pub fn to_string(run: &Run) -> String {
    let mut bytes = Vec::new();
    write(run, &mut bytes).expect("writing into memory does not fail");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

fn write_view(run: &Run, out: &mut impl Write, row: &dyn Fn(&Row) -> Row) -> io::Result<()> {
    let rows = run.rows.iter().map(row).map(finite_row).collect();
    let view = View { version: run.version, rows, times: &run.times, run: finite(&run.run) };
    serde_json::to_writer(&mut *out, &view)?;
    out.write_all(b"\n")
}

fn without_histograms(row: &Row) -> Row {
    Row {
        label: row.label.clone(),
        op: row.op.clone(),
        part_of: row.part_of.clone(),
        histogram: None,
        failed_histogram: None,
        ..*row
    }
}

/// JSON has no NaN and no infinity: such a figure is no figure, hence null.
fn finite_row(mut row: Row) -> Row {
    for figure in [&mut row.mean_ns, &mut row.rank_mib_s, &mut row.mib_s] {
        *figure = figure.filter(|value| value.is_finite());
    }
    row
}

fn finite(header: &Header) -> Cow<'_, Header> {
    let evidence = &header.evidence;
    let share_is_finite = evidence.page_cache_share.is_none_or(f64::is_finite);
    if evidence.clock_read_ns.is_finite() && share_is_finite {
        return Cow::Borrowed(header);
    }
    let mut header = header.clone();
    let evidence = &mut header.evidence;
    evidence.page_cache_share = evidence.page_cache_share.filter(|share| share.is_finite());
    // A cost that was not measured is stored as 0: the field is not optional.
    evidence.clock_read_ns =
        Some(evidence.clock_read_ns).filter(|ns| ns.is_finite()).unwrap_or(0.0);
    Cow::Owned(header)
}

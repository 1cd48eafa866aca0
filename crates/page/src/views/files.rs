//! Positions in files: over time, and by the ranks that touched them.

use super::source::{Source, time_axis};
use crate::aggregate::{Bands, FileParts, Owner};
use model::units::format_bytes;
use model::words;
use report::chart::{Axis, Bar, Chart, Join, Point, Series, Unit, View};
use report::text;
use std::collections::HashSet;

pub(crate) const NAME: &str = "file-map";
pub(crate) const OFFSETS: &str = "offset-over-time";
/// Colours of bands of ranks and of what several ranks touched, together.
const MAX_COLOURS: usize = 9;
/// Bands of ranks with a colour each at most.
const MAX_BANDS: usize = 8;
/// Ways in which several ranks touch a part.
const MEETINGS: [&str; 3] = [SAME_BYTES, OTHER_BYTES, NOT_COMPARED];
const SAME_BYTES: &str = "several ranks, the same bytes";
const OTHER_BYTES: &str = "several ranks, other bytes each";
const NOT_COMPARED: &str = "several ranks, not compared";

/// How several ranks touched a part of a file.
fn meeting(file: &FileParts, owner: Owner) -> Option<&'static str> {
    match owner {
        Owner::Nobody | Owner::Rank(_) => None,
        Owner::Shared => Some(SAME_BYTES),
        Owner::Several if file.is_compared => Some(OTHER_BYTES),
        Owner::Several => Some(NOT_COMPARED),
    }
}

/// Parts of the files with most bytes, in the colour of the rank that touched them.
pub(crate) fn map(source: &Source<'_>) -> Result<View, String> {
    let files = &source.events.files;
    let largest = files.files.first().ok_or("no operation moved bytes of a file with a name")?;
    let meetings = meetings(&files.files);
    let bands = MAX_BANDS.min(MAX_COLOURS - meetings.len());
    let bands = Bands::over(source.events.bands.ranks, bands);
    let mut bars = Vec::new();
    for (row, file) in files.files.iter().enumerate() {
        let class = |owner: &Owner| match *owner {
            Owner::Nobody => None,
            Owner::Rank(rank) => Some(bands.of(rank)),
            owner => {
                let meeting = meeting(file, owner)?;
                let at = meetings.iter().position(|known| *known == meeting)?;
                Some(bands.count + at)
            }
        };
        let mut at = 0;
        for run in file.owners.chunk_by(|a, b| class(a) == class(b)) {
            let edge = |part: usize| part as f64 * file.part_bytes as f64;
            if let Some(class) = class(&run[0]) {
                let (start, end) = (edge(at), edge(at + run.len()));
                bars.push(Bar { row: row as u32, class: class as u32, start, end });
            }
            at += run.len();
        }
    }
    let mut classes: Vec<String> = (0..bands.count).map(|band| bands.name(band)).collect();
    classes.extend(meetings.iter().map(|meeting| meeting.to_string()));
    let widest = files.files.iter().map(|file| file.part_bytes).max().unwrap_or(1);
    let shown = files.files.len() as u64;
    Ok(View {
        name: NAME.into(),
        title: source.titled("File map".into()),
        summary: format!(
            "{} with most bytes, each in parts of equal size, at most {}.{}{} Largest is {}: {} moved.{}{}{}",
            words::count(shown, "file"),
            format_bytes(widest),
            overlap(source, &files.files),
            if source.is_renamed { " A renamed file counts as several." } else { "" },
            shown_path(&largest.path),
            format_bytes((largest.bytes as f64 * source.scale) as u64),
            match files.more {
                0 => String::new(),
                more => format!(" {more} more are not shown."),
            },
            source.unplaced(),
            source.note
        ),
        chart: Chart::Spans {
            x: Axis::new("position in the file", Unit::Bytes),
            rows: files.files.iter().map(|file| shown_path(&file.path)).collect(),
            classes,
            bars,
        },
    })
}

/// Those that occur.
fn meetings(files: &[FileParts]) -> Vec<&'static str> {
    let owners = files.iter().flat_map(|file| file.owners.iter().map(move |o| (file, *o)));
    let found: HashSet<&str> = owners.filter_map(|(file, owner)| meeting(file, owner)).collect();
    MEETINGS.into_iter().filter(|meeting| found.contains(meeting)).collect()
}

/// Whether ranks overlap. Operations that were not kept, or whose position is unknown, may overlap too.
fn overlap(source: &Source<'_>, files: &[FileParts]) -> String {
    let count = |is: fn(&FileParts) -> bool| files.iter().filter(|file| is(file)).count() as u64;
    let (shared, open) = (count(FileParts::is_shared), count(FileParts::is_open));
    let is_partial = source.is_partial || source.events.unplaced > 0;
    match (shared, open) {
        _ if source.events.bands.ranks == 1 => String::new(),
        (0, 0) if is_partial => " No overlap in the operations shown.".into(),
        (0, 0) => " No overlap between ranks.".into(),
        (0, _) => format!(" Several ranks in the same parts of {}.", words::count(open, "file")),
        _ => format!(" Several ranks at the same bytes of {}.", words::count(shared, "file")),
    }
}

fn shown_path(path: &str) -> String {
    text::fit(&text::escape(path), 48)
}

/// One mark per cell in which bytes moved, in the colour of the ranks that moved most there.
pub(crate) fn offsets_over_time(source: &Source<'_>) -> Result<View, String> {
    let grid = &source.events.offsets;
    if source.events.bytes == 0 {
        return Err("no operation moved bytes".into());
    }
    if grid.rows == 1 {
        return Err("all operations moved the same byte of their file".into());
    }
    let files = &source.events.files;
    let files = (files.files.len() + files.more) as u64;
    let series =
        |band: usize| Series { name: grid.bands.name(band), color: band, points: Vec::new() };
    let mut series: Vec<Series> = (0..grid.bands.count).map(series).collect();
    let (mut marks, mut mixed) = (0, 0);
    for column in 0..grid.time.count {
        for row in 0..grid.rows {
            let bytes = grid.cell(column, row);
            let most = bytes.iter().copied().max().unwrap_or(0);
            let Some(band) = bytes.iter().position(|bytes| *bytes == most && most > 0) else {
                continue;
            };
            let x = (grid.time.edge_ns(column) as f64 + grid.time.edge_ns(column + 1) as f64) / 2.0;
            let span = grid.span_bytes(row);
            let y = (span.start as f64 + span.end as f64) / 2.0;
            series[band].points.push(Point { x, y, interval: None });
            marks += 1;
            mixed += u64::from(bytes.iter().filter(|bytes| **bytes > 0).count() > 1);
        }
    }
    let overlaid = if files > 1 { " (all files overlaid)" } else { "" };
    Ok(View {
        name: OFFSETS.into(),
        title: source.titled(format!("File offsets over time{overlaid}")),
        summary: format!(
            "{marks} cells, up to {}. Colour: the rank that moved most bytes there; others moved bytes in {mixed} of \
             them.{}{}",
            format_bytes(grid.end_bytes),
            source.unplaced(),
            source.note
        ),
        chart: Chart::Lines {
            x: time_axis(),
            y: Axis::new("position in the file", Unit::Bytes),
            join: Join::Dots,
            series: series.into_iter().filter(|series| !series.points.is_empty()).collect(),
        },
    })
}

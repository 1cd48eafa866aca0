//! The time line of an execution: calls by stream and column of time, latencies, positions in files, phases.

use super::axis::{Bands, Execution, TimeBins};
use super::cells::{Cell, Cells, Stream};
use super::due::DueGrid;
use super::encode;
use super::extents::{Extents, Row};
use super::offsets::{COLUMNS, Offsets};
use super::scope::Span;
use super::sparse::Sparse;
use model::op::{Class, OPS};
use model::run::TimeRow;
use model::units::format_ns;
use model::{Op, Run, words};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Columns of time at most.
const TIME_COLUMNS: usize = 16_384;
/// Bands of ranks at most.
const BANDS: usize = 128;
/// Cells of all executions at most.
const CELLS: usize = 200_000;
/// The same of the latencies, and of the positions.
const SUMS: usize = 60_000;
/// Files with a number of their own.
const FILES: usize = 24;
/// Phases at most.
const PHASES: usize = 2000;
/// Bits of a code of a latency: 16 for each octave of 64.
const CODE_BITS: u32 = 11;

/// What an operation does, as pictures distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It reads.
    Read,
    /// It writes, or makes stable what was written.
    Write,
    /// Opening, closing, names, attributes.
    Metadata,
    /// No I/O.
    Other,
}

impl Kind {
    /// All, in the order of their colours.
    pub const ALL: [Kind; 4] = [Kind::Read, Kind::Write, Kind::Metadata, Kind::Other];

    /// The kind of an operation.
    pub fn of(op: Op) -> Kind {
        match op.row().class {
            Class::Read => Kind::Read,
            Class::Write | Class::Sync => Kind::Write,
            Class::Metadata | Class::Open | Class::Close => Kind::Metadata,
            Class::Control => Kind::Other,
        }
    }

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Metadata => "metadata",
            Kind::Other => "other",
        }
    }
}

/// Calls whose times have one code, in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Number of the operation in [`TimeLine::ops`].
    pub op: usize,
    /// Column, of [`TimeLine::latency_columns`].
    pub column: usize,
    /// 0 for 0 ns, else 1 + floor(16 log2(ns)).
    pub code: u64,
    /// Calls.
    pub calls: u64,
}

/// A phase: an occurrence of a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Phase(
    /// Number of the label.
    pub u32,
    /// Start of the first rank, nanoseconds.
    pub u64,
    /// End of the last one.
    pub u64,
    /// Ranks.
    pub u32,
);

/// What the ranks did when, in one execution.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeLine {
    /// Which one.
    pub execution: Execution,
    /// "A", "block=4k, repetition 0"; "" where there is one.
    pub name: String,
    /// First begin of a call.
    pub start_ns: u64,
    /// Last end of one.
    pub end_ns: u64,
    /// Columns of `cells`.
    pub time: TimeBins,
    /// Ranks.
    pub ranks: u32,
    /// First and last rank of each band.
    pub bands: Vec<(u32, u32)>,
    /// Label paths; "" is outside of all.
    pub labels: Vec<String>,
    /// Operations.
    pub ops: Vec<Op>,
    /// Number of the program's file and line of it.
    pub lines: Vec<(u32, u32)>,
    /// The files with most bytes, most first.
    pub files: Vec<String>,
    /// Other files.
    pub more_files: usize,
    /// Streams in ascending order.
    pub streams: Vec<Stream>,
    /// Cells in the order of streams and columns: every call that did not fail is in one.
    pub cells: Vec<Cell>,
    /// Occurrences of labels.
    pub phases: Vec<Phase>,
    /// Calls that did not fail.
    pub events: u64,
    /// Calls that failed, also as the program expects; they are in no cell.
    pub failed: u64,
    /// One of so many operations was kept.
    pub sample_every: u64,
    /// The log has times of calls: else those of cells are 0 and there are no latencies.
    pub has_times: bool,
    /// Positions over time.
    pub offsets: Offsets,
    /// Times from when operations were due; `None`: the run sets no times.
    pub due: Option<DueGrid>,
    /// What a reader must know, in sentences.
    pub notes: Vec<String>,
    latencies: Vec<Latency>,
    latency_columns: usize,
}

/// Collects the time line of an execution.
pub(crate) struct Collector {
    span: Span,
    time: TimeBins,
    bands: Bands,
    pub has_times: bool,
    cells: Cells,
    /// By column, operation and code.
    latency: Sparse,
    offsets: Offsets,
    due: Option<DueGrid>,
    files: usize,
    events: u64,
    failed: u64,
}

impl Collector {
    /// One of `executions`, which share the numbers of cells.
    pub fn new(run: &Run, span: &Span, executions: usize) -> Collector {
        let time = TimeBins::in_powers(span.start_ns, span.end_ns, TIME_COLUMNS);
        let bands = Bands::over(span.ranks, BANDS);
        let has_due = !run.run.arrivals.is_empty();
        let sums = SUMS / executions;
        Collector {
            time,
            bands,
            has_times: has_times(run),
            cells: Cells::new(&time, &bands, CELLS / executions),
            latency: Sparse::new(time.count, COLUMNS, sums),
            offsets: Offsets::new(&time, span.end_bytes, sums),
            due: has_due.then(|| DueGrid::new(span.start_ns, span.end_ns)),
            files: span.files.iter().take(FILES).filter(|file| file.bytes > 0).count(),
            events: 0,
            failed: 0,
            span: span.clone(),
        }
    }

    /// Adds a call; `file` is its number among the chosen files, `line` that of the program line.
    pub fn add(&mut self, extents: &Extents, row: &Row, file: Option<usize>, line: i32) {
        if row.failed {
            self.failed += 1;
            return;
        }
        self.events += 1;
        let column = self.time.of(row.start_ns);
        let busy_ns = if self.has_times { row.busy_ns } else { 0 };
        let file = file.filter(|file| *file < self.files);
        let stream = Stream {
            band: self.bands.of(row.rank) as u32,
            label: row.label,
            op: row.op as u8,
            line,
            file: file.map_or(-1, |file| file as i32),
        };
        let (bytes, longest_ns) = (row.done_bytes, busy_ns);
        let call = Cell { stream: 0, column: 0, calls: 1, bytes, busy_ns, longest_ns };
        self.cells.add(stream, column, call);
        if self.has_times {
            let place = u64::from(row.op as u8) << CODE_BITS | encode::code(busy_ns, 16);
            self.latency.add(column, place, 1);
        }
        let class = row.op.row().class;
        if row.done_bytes > 0 && matches!(class, Class::Read | Class::Write) {
            let file = file.unwrap_or(self.files);
            self.offsets.add(extents, column, file, class == Class::Write, row);
        }
        if let Some(due) = &mut self.due {
            due.add(row);
        }
    }

    /// The time line; `labels` and `lines` are by number, `paths` those of the chosen files.
    pub fn finish(
        self,
        run: &Run,
        labels: &[String],
        lines: &[(u32, u32)],
        paths: &[String],
    ) -> TimeLine {
        let (shift, band_shift) = (self.cells.shift, self.cells.band_shift);
        let time = self.time.halved(shift);
        let (has_files, has_lines) = (self.cells.has_files, self.cells.has_lines);
        let (mut streams, cells) = self.cells.sorted();
        let numbers = |number: fn(&Stream) -> i64| Compact::of(streams.iter().map(number));
        let own_labels = numbers(|stream| i64::from(stream.label));
        let own_ops = numbers(|stream| i64::from(stream.op));
        let own_lines = numbers(|stream| i64::from(stream.line));
        for stream in &mut streams {
            stream.label = own_labels.number(i64::from(stream.label)) as u32;
            stream.op = own_ops.number(i64::from(stream.op)) as u8;
            stream.line = own_lines.number(i64::from(stream.line));
        }
        let latencies = latencies(&self.latency, &own_ops);
        let mut labels: Vec<String> =
            own_labels.known().map(|label| labels[label].clone()).collect();
        let (phases, all_phases) = phases(run, self.span.execution, &mut labels);
        let mut found = TimeLine {
            execution: self.span.execution,
            name: String::new(),
            start_ns: self.span.start_ns,
            end_ns: self.span.end_ns,
            time,
            ranks: self.bands.ranks,
            bands: bands(&self.bands, band_shift),
            labels,
            ops: own_ops.known().map(|op| OPS[op].op).collect(),
            lines: own_lines.known().map(|line| lines[line]).collect(),
            files: paths[..self.files].to_vec(),
            more_files: self.span.files.len() - self.files + self.span.more_files,
            streams,
            cells,
            phases,
            events: self.events,
            failed: self.failed,
            sample_every: run.run.events.as_ref().map_or(1, |info| info.sample_every.max(1)),
            has_times: self.has_times,
            offsets: self.offsets,
            due: self.due,
            notes: Vec::new(),
            latency_columns: self.latency.columns(),
            latencies,
        };
        found.notes = notes(&found, run, [has_files, has_lines, shift > 0], all_phases);
        found
    }
}

/// Numbers that occur, in ascending order; negative ones stay what they are.
struct Compact(BTreeMap<i64, i32>);

impl Compact {
    fn of(numbers: impl Iterator<Item = i64>) -> Compact {
        let mut found: BTreeMap<i64, i32> =
            numbers.filter(|number| *number >= 0).map(|number| (number, 0)).collect();
        found.values_mut().zip(0..).for_each(|(place, at)| *place = at);
        Compact(found)
    }

    fn number(&self, old: i64) -> i32 {
        self.0.get(&old).copied().unwrap_or(-1)
    }

    fn known(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.keys().map(|number| *number as usize)
    }
}

fn latencies(sums: &Sparse, ops: &Compact) -> Vec<Latency> {
    let latency = |(place, column, calls): (u64, usize, u64)| Latency {
        op: ops.number((place >> CODE_BITS) as i64) as usize,
        column,
        code: place & ((1 << CODE_BITS) - 1),
        calls,
    };
    let mut all: Vec<Latency> = sums.sorted().into_iter().map(latency).collect();
    all.sort_unstable_by_key(|one| (one.op, one.column, one.code));
    all
}

fn bands(bands: &Bands, shift: u32) -> Vec<(u32, u32)> {
    let step = 1 << shift;
    let firsts = (0..bands.count).step_by(step);
    firsts.map(|at| (bands.first(at), bands.first((at + step).min(bands.count)) - 1)).collect()
}

/// The log has times of calls.
fn has_times(run: &Run) -> bool {
    let mut gaps = run.run.trace.iter().flat_map(|trace| &trace.gaps);
    gaps.all(|gap| gap.code != "no-durations")
}

/// The longest occurrences of labels in the order of their starts, and the number of all. Labels without calls are
/// added to those with calls.
fn phases(run: &Run, execution: Execution, labels: &mut Vec<String>) -> (Vec<Phase>, usize) {
    let own = run.times.iter().filter(|time| (time.cell, time.repetition) == execution);
    let mut own: Vec<&TimeRow> = own.collect();
    let all = own.len();
    own.sort_by_key(|time| Reverse(time.last_end_ns.saturating_sub(time.first_start_ns)));
    own.truncate(PHASES);
    own.sort_by_key(|time| (time.first_start_ns, Reverse(time.last_end_ns)));
    let mut numbers: HashMap<String, u32> = labels.iter().cloned().zip(0..).collect();
    let phase = |time: &TimeRow| {
        let label = *numbers.entry(time.label.clone()).or_insert_with(|| {
            labels.push(time.label.clone());
            labels.len() as u32 - 1
        });
        let end_ns = time.last_end_ns.max(time.first_start_ns);
        Phase(label, time.first_start_ns, end_ns, time.ranks)
    };
    (own.into_iter().map(phase).collect(), all)
}

/// What is not as a reader would think.
fn notes(
    line: &TimeLine,
    run: &Run,
    [has_files, has_lines, is_halved]: [bool; 3],
    all_phases: usize,
) -> Vec<String> {
    let info = run.run.events.as_ref();
    let mut notes = Vec::new();
    let mut add = |holds: bool, note: String| notes.extend(holds.then_some(note));
    let every = line.sample_every;
    add(
        every > 1,
        format!("One of {every} operations was kept: counts and bytes are those of the sample."),
    );
    let dropped = info.map_or(0, |info| info.dropped);
    let missing = words::count(dropped, "operation");
    add(dropped > 0, format!("Not kept for lack of memory: {missing} of the whole run."));
    let failed = words::count(line.failed, "operation");
    add(line.failed > 0, format!("Not shown: {failed} that failed or met an expected error."));
    add(!line.has_times, "The log has no durations of calls: times are unknown, not 0.".into());
    let unplaced = words::count(line.offsets.unplaced, "operation");
    add(line.offsets.unplaced > 0, format!("Not among the positions: {unplaced} at unknown ones."));
    add(is_halved, {
        format!(
            "Columns of {}: shorter ones would be too many.",
            format_ns(line.time.width_ns as f64)
        )
    });
    add(!has_files, "Files are not distinguished: there would be too many parts.".into());
    add(!has_lines, "Program lines are not distinguished: there would be too many parts.".into());
    let phases = words::count((all_phases - line.phases.len()) as u64, "shorter phase");
    add(all_phases > line.phases.len(), format!("Not shown: {phases}."));
    notes
}

impl TimeLine {
    /// Calls by operation, column and time.
    pub fn latencies(&self) -> &[Latency] {
        &self.latencies
    }

    /// Columns of the latencies: a power of two.
    pub fn latency_columns(&self) -> usize {
        self.latency_columns
    }

    /// What the operation of a stream does.
    pub fn kind(&self, stream: u32) -> Kind {
        Kind::of(self.ops[usize::from(self.streams[stream as usize].op)])
    }

    /// The same columns of time, fewer of them; `count` is a power of two.
    pub fn columns(&self, count: usize) -> TimeBins {
        let width_ns = self.time.width_ns.saturating_mul(self.time.count as u64) / count as u64;
        TimeBins { start_ns: self.start_ns, width_ns, count }
    }

    /// What the script of a page reads.
    pub fn data(&self) -> Data<'_> {
        let ops = self.ops.iter().map(|op| (op.name(), Kind::of(*op))).collect();
        let stream = |one: &Stream| (one.band, one.label, u32::from(one.op), one.line, one.file);
        Data {
            name: &self.name,
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            columns: self.time.count,
            column_ns: self.time.width_ns,
            ranks: self.ranks,
            bands: &self.bands,
            labels: &self.labels,
            ops,
            lines: &self.lines,
            files: &self.files,
            more_files: self.more_files,
            streams: self.streams.iter().map(stream).collect(),
            phases: &self.phases,
            events: self.events,
            failed: self.failed,
            sample_every: self.sample_every,
            notes: &self.notes,
            cells: encode::packed(&encode::cells(self.streams.len(), &self.cells)),
            latency: LatencyData {
                columns: self.latency_columns,
                data: encode::packed(&encode::latencies(self.ops.len(), &self.latencies)),
            },
            offsets: OffsetData {
                columns: self.offsets.columns(),
                rows: super::offsets::ROWS,
                end_bytes: self.offsets.end_bytes(),
                data: encode::packed(&encode::offsets(&self.offsets.cells())),
            },
        }
    }
}

/// A time line as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Data<'a> {
    name: &'a str,
    start_ns: u64,
    end_ns: u64,
    columns: usize,
    column_ns: u64,
    ranks: u32,
    bands: &'a [(u32, u32)],
    labels: &'a [String],
    ops: Vec<(&'a str, Kind)>,
    lines: &'a [(u32, u32)],
    files: &'a [String],
    more_files: usize,
    streams: Vec<(u32, u32, u32, i32, i32)>,
    phases: &'a [Phase],
    events: u64,
    failed: u64,
    sample_every: u64,
    notes: &'a [String],
    cells: String,
    latency: LatencyData,
    offsets: OffsetData,
}

#[derive(Clone, Debug, Serialize)]
struct LatencyData {
    columns: usize,
    data: String,
}

#[derive(Clone, Debug, Serialize)]
struct OffsetData {
    columns: usize,
    rows: usize,
    end_bytes: u64,
    data: String,
}

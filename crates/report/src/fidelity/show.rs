//! The report as text for people, pictures and a page.

use super::align::Kind as Difference;
use super::figures::{Figure, Latency, Scope};
use super::profile::{Bins, Profile};
use super::report::{Differences, Execution, Fidelity, First, OpCounts, ShownStep};
use crate::chart::Views;
use crate::chart::{Axis, Bar, Chart, Join, Point, Range, Series, Unit, View};
use crate::curves::{LEAST_CALLS, latencies_of_sides};
use crate::document::{Block, Item, Sheet};
use crate::gate;
use crate::grid::{Cell, Grid, Kind, field, optional};
use crate::stats::Distance;
use crate::text::{Detail, Paint, Terminal, grouped};
use model::histogram::Histogram;
use model::units::{Measure, format_bytes, format_ns, with_digits};
use model::{Op, words};

/// The report for a terminal.
pub fn table(found: &Fidelity, terminal: Terminal, detail: Detail) -> String {
    let blocks = match detail {
        Detail::Short => short(found),
        Detail::Full => blocks(found),
    };
    crate::document::text(&blocks, terminal)
}

/// The answer, and the figures that show it.
fn short(found: &Fidelity) -> Vec<Block> {
    let summary = Block::Sheet(Sheet {
        name: "figures",
        title: String::new(),
        grid: summary(found),
        notes: Vec::new(),
    });
    let incomplete = found.incomplete.iter().map(|says| Item {
        paint: Paint::Warning,
        ..Item::new(format!("! the recording is incomplete: {says}"))
    });
    let verdict = std::iter::once(Item::new(found.verdict.clone())).chain(incomplete).collect();
    let mut blocks = vec![Block::List(verdict), summary, Block::List(gate::items(&found.gates))];
    let more = match notes(found).len() {
        0 => String::new(),
        n => format!(" ({})", words::count(n as u64, "remark")),
    };
    blocks.push(Block::Text(format!("more: -v{more}")));
    blocks
}

/// Phases and operations in the short table.
const SUMMARY_PHASES: usize = 6;
const SUMMARY_OPERATIONS: usize = 4;

/// A row of the short table.
struct Line {
    figure: String,
    original: String,
    replay: String,
    error_percent: Option<f64>,
}

fn summary(found: &Fidelity) -> Grid {
    Grid::of(
        vec![
            field("figure", "", Kind::Label, 0, |one: &Line| Cell::Text(one.figure.clone())),
            field("original", "", COUNT, 0, |one| Cell::Text(one.original.clone())),
            field("replay", "", COUNT, 0, |one| Cell::Text(one.replay.clone())),
            field("difference", "", COUNT, 0, |one| match one.error_percent {
                Some(percent) if percent.abs() < 0.05 => Cell::Text("0 %".into()),
                Some(percent) => Cell::Text(format!("{percent:+.1} %")),
                None => Cell::None,
            }),
        ],
        &lines(found),
        |_| false,
    )
}

fn lines(found: &Fidelity) -> Vec<Line> {
    let of_figure = |figure: String, one: &Figure| Line {
        figure,
        original: text_of(one.name, one.original),
        replay: text_of(one.name, one.replay),
        error_percent: match (one.name, one.original, one.replay) {
            // The figure's own error is that of the curve over time.
            ("concurrency", Some(ours), Some(theirs)) if ours > 0.0 => {
                Some(100.0 * (theirs - ours) / ours)
            }
            _ => one.error_percent,
        },
    };
    let mut lines = vec![counts(found)];
    if let Some(all) = found.scopes.first() {
        let named = all.figures.iter().filter_map(|one| Some((plain_name(one.name)?, one)));
        lines.extend(named.map(|(name, one)| of_figure(name.into(), one)));
    }
    let phases = found.scopes.iter().filter_map(|scope| Some((scope.phase.as_deref()?, scope)));
    for (phase, scope) in phases.filter(|(phase, _)| !phase.is_empty()).take(SUMMARY_PHASES) {
        let elapsed = scope.figures.iter().find(|one| one.name == "elapsed");
        lines.extend(elapsed.map(|one| of_figure(format!("phase {phase}"), one)));
    }
    let mut ops: Vec<&Latency> = found.scopes.iter().take(1).flat_map(|all| &all.latency).collect();
    let time = |one: &&Latency| one.original_mean_ns * one.original_count as f64;
    ops.sort_by(|a, b| time(b).total_cmp(&time(a)));
    lines.extend(ops.into_iter().take(SUMMARY_OPERATIONS).map(|one| Line {
        figure: format!("{}, mean of {}", one.op, one.original_count),
        original: Measure::Time.format(one.original_mean_ns, 3),
        replay: Measure::Time.format(one.replay_mean_ns, 3),
        error_percent: one.mean_error_percent,
    }));
    lines
}

/// Operations of the first original, and of the replay that differs most.
fn counts(found: &Fidelity) -> Line {
    let of = |side: Option<&Execution>| side.map_or(0, |one| one.operations);
    let [ours, theirs] = [of(found.originals.first()), of(found.worst())];
    let error_percent = (ours > 0).then(|| 100.0 * (theirs as f64 - ours as f64) / ours as f64);
    let [original, replay] = [ours, theirs].map(grouped);
    Line { figure: "operations".into(), original, replay, error_percent }
}

/// Figures of the short table in plain words; the others are under `-v`.
fn plain_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "elapsed" => "elapsed time",
        "io" => "time in calls, sum of ranks",
        "think" => "time between calls, sum of ranks",
        "concurrency" => "calls under way, mean",
        _ => return None,
    })
}

/// The name of a figure as gates have it, with plain words.
fn full_name(name: &str) -> String {
    let words = match name {
        "concurrency" => "distance of the curves of calls under way",
        "ks" => "largest distance of the distributions of times",
        "wasserstein" => "distance of the times of operations",
        name => plain_name(name).unwrap_or(name),
    };
    format!("{name}: {words}")
}

fn text_of(name: &str, value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(value) if name == "concurrency" => with_digits(value, 3),
        Some(value) => Measure::Time.format(value, 3),
    }
}

/// The figures that the answer of a page does not give: in short, and then all.
pub fn blocks_of_page(found: &Fidelity) -> [Vec<Block>; 2] {
    let mut short = short(found);
    // The answer has the verdict, the page has all figures.
    short.remove(0);
    short.pop();
    short.push(Block::Text(pictured(found)));
    [short, full(found)]
}

fn blocks(found: &Fidelity) -> Vec<Block> {
    let mut blocks = full(found);
    blocks.push(Block::Text(format!("verdict: {}", found.verdict)));
    blocks
}

fn full(found: &Fidelity) -> Vec<Block> {
    let sheets = [executions(found), operations(found), figures(found), latency(found)];
    let worst = found.worst().and_then(|worst| worst.differences.as_ref());
    let firsts = worst.iter().flat_map(|differences| &differences.firsts);
    let mut blocks: Vec<Block> = sheets.into_iter().flatten().map(Block::Sheet).collect();
    blocks.extend([
        Block::List(notes(found)),
        Block::List(firsts.map(example).collect()),
        Block::List(gate::items(&found.gates)),
    ]);
    blocks
}

fn notes(found: &Fidelity) -> Vec<Item> {
    let mut notes = Vec::new();
    if let (n @ 1.., Some([ours, theirs])) = (found.renamed, &found.renamed_first) {
        let files = words::count(n, "file");
        notes
            .push(format!("{files} with another name in the replay: first {ours}, there {theirs}"));
    }
    if let Some(adopted @ 1..) = found.worst().map(|worst| worst.adopted) {
        let opens = words::count(adopted, "open");
        notes.push(format!(
            "{opens} added to the replay, of files that another rank had opened: no differences"
        ));
    }
    let [ours, theirs] = [&found.originals, &found.replays].map(|side| side.len());
    let is_shown = found.scopes.first().is_some_and(|scope| !scope.latency.is_empty());
    if is_shown && ours.max(theirs) > 1 {
        let (ours, theirs) =
            (words::count(ours as u64, "original"), words::count(theirs as u64, "replay"));
        notes.push(format!("counts and times of single operations: sums over {ours} and {theirs}"));
    }
    notes.extend(found.notes.iter().cloned());
    notes.into_iter().map(|note| Item::new(format!("note: {note}"))).collect()
}

fn sheet(name: &'static str, grid: Grid) -> Option<Sheet> {
    Sheet::of(name, "", grid, [])
}

const COUNT: Kind = Kind::Count;
const TIME: Kind = Kind::Quantity(Measure::Time);
const PERCENT: Kind = Kind::Number(2);

/// Differences of each execution.
fn executions(found: &Fidelity) -> Option<Sheet> {
    type Named<'f> = (&'static str, &'f Execution);
    let originals = found.originals.iter().map(|one| ("original", one));
    let all: Vec<Named<'_>> =
        originals.chain(found.replays.iter().map(|one| ("replay", one))).collect();
    let grid = Grid::of(
        vec![
            field("execution", "", Kind::Label, 0, |one: &Named<'_>| {
                Cell::Text(format!("{} {}", one.0, one.1.name))
            }),
            field("operations", "", COUNT, 0, |one| Cell::Count(one.1.operations)),
            field("differ", "", COUNT, 0, |one| one.1.cell(|found| found.operations)),
            field("missing", "", COUNT, 0, |one| one.1.cell(|found| found.missing)),
            field("extra", "", COUNT, 0, |one| one.1.cell(|found| found.extra)),
            field("order", "", COUNT, 0, |one| one.1.cell(|found| found.order)),
            field("names", "", COUNT, 0, |one| one.1.cell(|found| found.names)),
            field("offsets", "", COUNT, 0, |one| one.1.cell(|found| found.offsets)),
            field("bytes", "", COUNT, 0, |one| one.1.cell(|found| found.bytes)),
            field("results", "", COUNT, 0, |one| one.1.cell(|found| found.results)),
            field("flags", "", COUNT, 0, |one| one.1.cell(|found| found.open_flags)),
        ],
        &all,
        |one| one.1.differences.as_ref().is_some_and(|found| found.operations > 0),
    );
    sheet("executions", grid)
}

impl Execution {
    /// A number of differences; none of the original itself.
    fn cell(&self, figure: fn(&Differences) -> u64) -> Cell {
        self.differences.as_ref().map_or(Cell::None, |found| Cell::Count(figure(found)))
    }
}

/// Operations whose number differs.
fn operations(found: &Fidelity) -> Option<Sheet> {
    let differing = found.ops.iter().filter(|op| op.original_count != op.replay_count);
    let differing: Vec<OpCounts> = differing.cloned().collect();
    let grid = Grid::of(
        vec![
            field("operation", "", Kind::Word, 0, |op: &OpCounts| Cell::Text(op.op.into())),
            field("count", "original", COUNT, 0, |op| Cell::Count(op.original_count)),
            field("count", "replay", COUNT, 0, |op| Cell::Count(op.replay_count)),
            field("bytes", "original", COUNT, 0, |op| Cell::Count(op.original_bytes)),
            field("bytes", "replay", COUNT, 0, |op| Cell::Count(op.replay_bytes)),
        ],
        &differing,
        |_| true,
    );
    sheet("operations", grid)
}

/// Times in all and by phase.
fn figures(found: &Fidelity) -> Option<Sheet> {
    type Scoped<'f> = (&'f Scope, &'f Figure);
    let all = found.scopes.iter().flat_map(|scope| scope.figures.iter().map(move |f| (scope, f)));
    let all: Vec<Scoped<'_>> = all.collect();
    let grid = Grid::of(
        vec![
            field("phase", "", Kind::Label, 0, |one: &Scoped<'_>| {
                Cell::Text(match one.0.phase.as_deref() {
                    None => "(all)".into(),
                    Some("") => "(no label)".into(),
                    Some(label) => label.into(),
                })
            }),
            field("figure", "", Kind::Word, 0, |one| Cell::Text(full_name(one.1.name))),
            field("original", "", COUNT, 0, |one| value(one.1.name, one.1.original)),
            field("replay", "", COUNT, 0, |one| value(one.1.name, one.1.replay)),
            field("error", "%", PERCENT, 0, |one| Cell::number(one.1.error_percent)),
            optional("spread", "%", PERCENT, 0, |one| Cell::number(one.1.spread_percent)),
        ],
        &all,
        |_| false,
    );
    sheet("figures", grid)
}

/// A time of a side; the other figures are distances of both.
fn value(name: &str, value: Option<f64>) -> Cell {
    match value {
        Some(ns) if !matches!(name, "concurrency" | "ks" | "wasserstein") => {
            Cell::Text(Measure::Time.format(ns, 4))
        }
        _ => Cell::None,
    }
}

/// Times of single operations over all phases.
fn latency(found: &Fidelity) -> Option<Sheet> {
    let grid = Grid::of(
        vec![
            field("operation", "", Kind::Word, 0, |one: &Latency| Cell::Text(one.op.into())),
            field("count", "original", COUNT, 0, |one| Cell::Count(one.original_count)),
            field("count", "replay", COUNT, 0, |one| Cell::Count(one.replay_count)),
            field("mean", "original", TIME, 0, |one| Cell::Number(one.original_mean_ns)),
            field("mean", "replay", TIME, 0, |one| Cell::Number(one.replay_mean_ns)),
            field("error", "%", PERCENT, 0, |one| Cell::number(one.mean_error_percent)),
            field("ks", "%", PERCENT, 0, |one| Cell::Number(one.ks_percent)),
            field("wasserstein", "%", PERCENT, 0, |one| Cell::number(one.wasserstein_percent)),
        ],
        &found.scopes.first()?.latency,
        |_| false,
    );
    sheet("latency", grid)
}

/// A difference with the operations around it on both sides.
fn example(first: &First) -> Item {
    let which = match first.kind {
        Difference::Missing | Difference::Extra => format!("that is {}", first.kind.words()),
        kind => kind.words().to_string(),
    };
    let line = |side: &str, step: &ShownStep| {
        let mark = if step.here { '>' } else { ' ' };
        let place = if step.place.is_empty() { "" } else { "   " };
        format!("{side:<8} {mark} {:>7}  {}{place}{}", step.number, step.text, step.place)
    };
    let sides = [("original", &first.original), ("replay", &first.replay)];
    let lines =
        sides.into_iter().flat_map(|(side, steps)| steps.iter().map(move |step| line(side, step)));
    let text = format!("the first operation {which}, on rank {}:", first.rank);
    Item { more: lines.collect(), ..Item::new(text) }
}

/// Columns of a curve over time.
const COLUMNS: usize = 240;
/// Bars of a phase.
const BARS: usize = 100;
/// Phases in the picture of phases.
const PHASES: usize = 24;
/// Operations with a picture of their times, those with most error.
const PICTURED_OPERATIONS: usize = 3;
/// Name of the picture of all differences.
pub const DIFFERENCES: &str = "differences";
/// Rows in it.
const ROWS: usize = 24;

/// Why pictures of durations show nothing.
const NO_DURATIONS: &str = "the log of a side has no durations of calls";

const SIDES: [&str; 2] = ["original", "replay"];
/// Colour of the first side: those before it are of reading and writing.
const SIDE_COLORS: usize = 2;

/// Name of the execution in the pictures; "" if there are no others.
fn pictured(found: &Fidelity) -> String {
    let first = |all: &[Execution]| match all {
        [] => String::new(),
        [one] => one.name.clone(),
        [first, ..] => format!("{}, the first of {}", first.name, all.len()),
    };
    match found.originals.len() + found.replays.len() {
        0..=2 => String::new(),
        _ => format!(
            "The figures above are medians. Pictures over time show single executions: {} (original) and {} (replay).",
            first(&found.originals),
            first(&found.replays)
        ),
    }
}

/// Pictures of both sides.
pub fn views(found: &Fidelity) -> Views {
    let mut views = Views::default();
    views.add(DIFFERENCES, differences(found));
    let no_durations = found.pictured.iter().any(|one| one.lacks_durations);
    let timed = |made: View| match found.pictured.iter().any(|one| one.elapsed_ns() == 0) {
        true => Err("all operations of a side lie at one point in time".to_string()),
        false => Ok(made),
    };
    let with_durations = |made| if no_durations { Err(NO_DURATIONS.to_string()) } else { Ok(made) };
    views.add("phases", timed(phases(found)));
    views.add("concurrency", with_durations(under_way(found)).and_then(timed));
    for (at, name) in ["bytes-read", "bytes-written"].into_iter().enumerate() {
        views.add(
            name,
            match found.pictured.iter().all(|one| one.moved[at].total() == 0.0) {
                true => Err("no operation moved bytes".into()),
                false => timed(bytes_moved(found, at, name)),
            },
        );
    }
    let latencies = latencies(found);
    views.add_all(
        "latency",
        match latencies.is_empty() && no_durations {
            true => Err(NO_DURATIONS.into()),
            false => Ok(latencies),
        },
    );
    views
}

/// Differences of times in per cent, all on one axis; lines beside are how far originals differ from each other.
fn differences(found: &Fidelity) -> Result<View, String> {
    let name = |scope: &Scope, figure: &Figure| {
        let name = plain_name(figure.name).unwrap_or(figure.name);
        let name = name.trim_end_matches(", sum of ranks");
        match scope.phase.as_deref() {
            None => name.to_string(),
            Some("") => format!("(no label): {name}"),
            Some(label) => format!("{label}: {name}"),
        }
    };
    let range = |(scope, figure): (&Scope, &Figure)| {
        let at = figure.error_percent?;
        let spread = figure.spread_percent.unwrap_or(0.0).abs();
        Some(Range { name: name(scope, figure), low: at - spread, at, high: at + spread })
    };
    let all =
        found.scopes.iter().flat_map(|scope| scope.figures.iter().map(move |one| (scope, one)));
    // The error of the concurrency is the distance of two curves, which has no sign.
    let is_difference = |figure: &Figure| figure.original.is_some() && figure.name != "concurrency";
    let timed = all.filter(|(_, figure)| is_difference(figure));
    let ranges: Vec<Range> = timed.filter_map(range).collect();
    if ranges.is_empty() {
        return Err("no figure of both sides has a difference in per cent".into());
    }
    let left = ranges.len().saturating_sub(ROWS);
    let left = match left {
        0 => String::new(),
        left => format!(" {left} more are in the table."),
    };
    Ok(View {
        name: DIFFERENCES.into(),
        title: "Replay against original".into(),
        summary: format!(
            "Differences of the replay in per cent of the original; 0: none. Lines: how far single originals are \
             from their median, where there are several.{left}"
        ),
        chart: Chart::Forest {
            x: Axis::new("difference of the replay, per cent", Unit::None),
            line: Some(0.0),
            ranges: ranges.into_iter().take(ROWS).collect(),
        },
    })
}

/// How many operations are under way.
fn under_way(found: &Fidelity) -> View {
    View {
        name: "concurrency".into(),
        title: "Operations under way over time".into(),
        summary: figure_words(found, "concurrency"),
        chart: over_time(found, "operations under way", Unit::Count, 1.0, |one| &one.busy),
    }
}

/// Bytes over time that were read (0) or written (1).
fn bytes_moved(found: &Fidelity, at: usize, name: &str) -> View {
    let word = ["read", "written"][at];
    let [ours, theirs] = [0, 1].map(|side| {
        let profile = &found.pictured[side];
        let bytes = format_bytes(profile.moved[at].total().round() as u64);
        format!("{bytes} in {}", format_ns(profile.elapsed_ns() as f64))
    });
    let scale = 1e9 / f64::from(1 << 20);
    View {
        name: name.into(),
        title: format!("Bytes {word} over time"),
        summary: format!("Bytes {word}: {ours} of the original, {theirs} of the replay."),
        chart: over_time(found, "bandwidth", Unit::MibPerSecond, scale, |one| &one.moved[at]),
    }
}

/// Both time lines: a row for each phase and side, from the first operation on.
fn phases(found: &Fidelity) -> View {
    let labels: Vec<&(u32, String)> = {
        let mut labels: Vec<&(u32, String)> = found.texts.iter().collect();
        let start = |label: u32| {
            let times = found.pictured.iter().filter_map(|one| one.phases.get(&label));
            times.map(|scope| scope.times.span().0).next().unwrap_or(u64::MAX)
        };
        labels.sort_by_key(|(label, _)| (start(*label), *label));
        labels.dedup();
        labels.truncate(PHASES);
        labels
    };
    let (mut rows, mut bars) = (Vec::new(), Vec::new());
    for (label, name) in &labels {
        for (side, word) in SIDES.iter().enumerate() {
            let profile = &found.pictured[side];
            let row = rows.len() as u32;
            let name = if name.is_empty() { "(no label)" } else { name };
            rows.push(format!("{name}, {word}"));
            bars.extend(spans(profile, *label).into_iter().map(|(start, end)| Bar {
                row,
                class: (SIDE_COLORS + side) as u32,
                start,
                end,
            }));
        }
    }
    View {
        name: "phases".into(),
        title: "Phases over time".into(),
        summary: figure_words(found, "elapsed"),
        chart: Chart::Spans {
            x: Axis::new("time since the first operation", Unit::Nanoseconds),
            rows,
            classes: vec![String::new(); SIDE_COLORS]
                .into_iter()
                .chain(SIDES.map(String::from))
                .collect(),
            bars,
        },
    }
}

/// When a side was in a phase, from its first operation on; neighbours together if they are many.
fn spans(profile: &Profile, label: u32) -> Vec<(f64, f64)> {
    let begin = profile.span().0;
    let all = profile.phases.get(&label).map(|scope| scope.times.all()).unwrap_or_default();
    let since = |ns: u64| ns.saturating_sub(begin) as f64;
    let together = all.chunks(all.len().div_ceil(BARS).max(1));
    together.map(|some| (since(some[0].0), since(some[some.len() - 1].1))).collect()
}

fn over_time(
    found: &Fidelity,
    title: &str,
    unit: Unit,
    scale: f64,
    of: impl Fn(&Profile) -> &Bins,
) -> Chart {
    let longest = found.pictured.iter().map(Profile::elapsed_ns).max().unwrap_or(0);
    let width = longest as f64 / COLUMNS as f64;
    let series = found.pictured.iter().enumerate().map(|(side, profile)| {
        let begin = profile.span().0;
        let rates = of(profile).rates(begin, begin + longest, COLUMNS);
        let point = |(at, rate): (usize, f64)| Point {
            x: at as f64 * width,
            y: rate * scale,
            interval: None,
        };
        let points = rates.into_iter().enumerate().map(point).collect();
        Series { name: SIDES[side].into(), color: SIDE_COLORS + side, points }
    });
    Chart::Lines {
        x: Axis::new("time since the first operation", Unit::Nanoseconds),
        y: Axis::new(title, unit),
        join: Join::Step,
        series: series.collect(),
    }
}

/// "The replay took 102 ms instead of 100 ms, an error of 2.0 %."
fn figure_words(found: &Fidelity, name: &str) -> String {
    let all = found.scopes.iter().take(1).flat_map(|scope| &scope.figures);
    let Some(figure) = all.into_iter().find(|figure| figure.name == name) else {
        return String::new();
    };
    let error = figure.error_percent.map_or("unknown".into(), |error| format!("{error:.1} %"));
    match (name, figure.original, figure.replay) {
        ("elapsed", Some(ours), Some(theirs)) => format!(
            "The replay took {} instead of {}, an error of {error}.",
            format_ns(theirs),
            format_ns(ours)
        ),
        ("concurrency", Some(ours), Some(theirs)) => format!(
            "Mean: {} in the original, {} in the replay. With both brought to the same length, the area between the \
             curves is {error} of that below the original's.",
            with_digits(ours, 3),
            with_digits(theirs, 3)
        ),
        _ => String::new(),
    }
}

/// How long single operations took, for those with most time.
fn latencies(found: &Fidelity) -> Vec<View> {
    let [ours, theirs] = &found.pictured;
    let mut ops: Vec<(u8, &Histogram, &Histogram)> = {
        let both = ours.all.ops.iter();
        both.filter_map(|(op, times)| Some((*op, times, theirs.all.ops.get(op)?))).collect()
    };
    let error = |op: u8| {
        let name = Op::from_u8(op)?.name();
        let one = found.scopes.first()?.latency.iter().find(|one| one.op == name)?;
        Some(one.ks_percent)
    };
    ops.retain(|(_, ours, theirs)| ours.count.min(theirs.count) >= LEAST_CALLS);
    ops.sort_by(|a, b| error(b.0).unwrap_or(0.0).total_cmp(&error(a.0).unwrap_or(0.0)));
    let view = |(op, ours, theirs): &(u8, &Histogram, &Histogram)| {
        let name = Op::from_u8(*op)?.name();
        let one = found.scopes.first()?.latency.iter().find(|one| one.op == name)?;
        let (kolmogorov_smirnov, wasserstein_ns) = (one.ks_percent / 100.0, one.wasserstein_ns);
        let distance = Distance { kolmogorov_smirnov, wasserstein_ns };
        let sides = [(SIDES[0], *ours), (SIDES[1], *theirs)];
        Some(latencies_of_sides(format!("latency-{name}"), name, sides, distance))
    };
    ops.iter().take(PICTURED_OPERATIONS).filter_map(view).collect()
}

//! The short report of a run: what ran and how it ended, the gravest warnings, one table.
//!
//! ```text
//! stress.ppl   2 ranks   ext4 /dev/sda1   1.26 s   ok
//! ! memory speed, not disk: 100 % of reads cached   fix: direct=true
//!
//! phase / operation   count   rate/rank  bandwidth/rank      p50      p99      max  time
//! stress   1.25 s   read 15.6 MiB/s   write 15.6 MiB/s
//!   write            20,000  36.4 kop/s      35.5 MiB/s  25.7 µs  58.3 µs  7.43 ms  22 %
//! ```
//!
//! Everything else is in the full report (`super::blocks`).

use super::{failures_by_kind, layouts, points, put_scores, rank_errors, scores, work};
use crate::document::{Block, Item, Sheet};
use crate::grid::{Cell, Grid, Kind, Line, field, optional};
use crate::limited;
use crate::machines;
use crate::rows::{class, grouped, once, sum};
use crate::rules::{FAILED, Warning, warnings};
use crate::table::{facts, layers};
use crate::text::{self, ON_REQUEST, Paint, percent};
use model::op::Class;
use model::run::{LabelRow, Row, Run};
use model::summary::{belongs_to, per_second};
use model::units::{Measure, format_ns};
use model::words;

/// Warnings that are printed; the others are counted.
const WARNINGS: usize = 2;
/// Operations of a phase that have a line each; the others, which took least time, share one.
const OPERATIONS: usize = 12;
/// The exit code of a verdict under --strict.
const STRICT: u8 = 3;
/// How many phases and operations a table has room for; the others, which took least time, are summed up.
#[derive(Clone, Copy, Debug)]
struct Room {
    phases: usize,
    operations: usize,
}

const TERMINAL: Room = Room { phases: PHASES, operations: OPERATIONS };
/// On a page each operation has a line, as far as anybody reads them.
const PAGE: Room = Room { phases: 500, operations: 500 };

/// Between the facts of a line.
const GAP: &str = "   ";

/// Kinds of failures that are printed; the others are counted.
const FAILURES: usize = 5;

/// With more phases, each has a line and their operations have none; of a log, those with most time in operations are
/// printed and the others counted.
const PHASES: usize = 10;

/// Lines of such a table.
const PHASE_LINES: usize = 60;

/// The end of names of columns, left out where there is one rank.
const PER_RANK: &str = "/rank";
const LEGEND_PHASES: &str = "read, write, rate: over the duration of the phase; operations";

/// The blocks of the short report.
pub fn blocks(run: &Run) -> Vec<Block> {
    let warnings = warnings(run);
    let mut blocks = vec![Block::List(head(run, &warnings))];
    blocks.extend(figures(run));
    match blocks.last_mut() {
        Some(Block::Sheet(last)) => last.notes.push(footer(run, &warnings)),
        _ => blocks.push(Block::Text(footer(run, &warnings))),
    }
    blocks
}

/// The first line, the gravest warnings, and what failed.
fn head(run: &Run, warnings: &[Warning]) -> Vec<Item> {
    let paint = if run.run.exit_code == 0 { Paint::Heading } else { Paint::Bad };
    let mut items = vec![Item { paint, ..Item::new(title(run).join(GAP)) }];
    items.extend(warnings.iter().take(WARNINGS).map(|one| {
        let fix = if one.fix.is_empty() { String::new() } else { format!("{GAP}fix: {}", one.fix) };
        Item { paint: Paint::Warning, ..Item::new(format!("! {}{fix}", one.text)) }
    }));
    items.extend(notes_shown(run).map(|note| Item::new(format!("note: {note}"))));
    items.extend(failures_by_kind(run, FAILURES));
    items.extend(rank_errors(run, FAILURES));
    items
}

/// Notes say why a run failed and what it has left, whether repetitions drift, and what of a log was left out.
fn notes_shown(run: &Run) -> impl Iterator<Item = &String> {
    const FEW: usize = 3;
    let is_ok = run.run.outcome == "finished" && run.run.exit_code == 0;
    let most = match run.run.trace.is_some() || (is_ok && run.run.sweep.is_some()) {
        true => FEW,
        false if is_ok => 0,
        false => usize::MAX,
    };
    run.run.evidence.notes.iter().take(most)
}

/// Program, ranks, storage, duration and outcome.
pub fn title(run: &Run) -> Vec<String> {
    let mut parts = vec![
        run.run.program.name.clone(),
        facts::size(run) + &nodes(run),
        facts::log(run).unwrap_or_else(|| machines::short_storage(run)),
        facts::duration(run).unwrap_or_default(),
        outcome(run),
    ];
    parts.retain(|part| !part.is_empty());
    parts
}

/// ` on 2 nodes`, for a job on several.
fn nodes(run: &Run) -> String {
    let nodes = run.run.job.as_ref().map_or(0, |job| job.nodes.len());
    if nodes > 1 { format!(" on {nodes} nodes") } else { String::new() }
}

/// How the run ended: "ok", or what went wrong; nothing of a log.
pub fn outcome(run: &Run) -> String {
    let header = &run.run;
    let failed = header.evidence.failed;
    if header.trace.is_some() {
        return String::new();
    }
    let mut parts = vec![match header.outcome.as_str() {
        "finished" if failed == 0 && header.exit_code == 0 => "ok".to_string(),
        "finished" if failed > 0 => format!("{} failed", words::count(failed, "operation")),
        "finished" if header.exit_code == STRICT => "a verdict counts (--strict)".to_string(),
        "finished" if header.evidence.short > 0 => {
            format!("{} short", words::count(header.evidence.short, "operation"))
        }
        "time limit" => "ended by its time limit".to_string(),
        other => other.to_string(),
    }];
    if header.exit_code != 0 {
        parts.push(format!("exit code {}", header.exit_code));
    }
    parts.join(", ")
}

/// One sentence: which phase took most of the time at which bandwidth, and what in it; what was executed, without
/// phases.
pub fn sentence(run: &Run) -> String {
    if run.rows.is_empty() {
        return "No I/O operation was executed.".into();
    }
    let phases = phases(run);
    let longest = phases.iter().filter(|phase| phase.label.is_some());
    let longest = longest.max_by_key(|phase| phase.label.map_or(0, |label| label.busy_ns));
    let spent = |phase: &Phase<'_>| {
        let most = phase.rows.iter().max_by_key(|row| busy_ns(row))?;
        let share = busy_ns(most) as f64 / whole_ns(run, phase);
        let share = Some(share).filter(|share| share.is_finite() && *share > 0.0)?;
        Some(format!("{} took {} of the time", most.op, percent(share.min(1.0))))
    };
    match longest {
        Some(phase) if run.run.trace.is_none() => {
            let figures = figures_of(run, phase);
            let figures: Vec<&str> = figures.split(GAP).filter(|part| !part.is_empty()).collect();
            let (time, rates) = figures.split_first().map_or(("", &[][..]), |(a, b)| (*a, b));
            let rates =
                if rates.is_empty() { String::new() } else { format!(": {}", rates.join(", ")) };
            let spent = spent(phase).map(|spent| format!("; {spent}")).unwrap_or_default();
            let which = if phases.len() > 1 { ", the longest phase," } else { "" };
            format!("{}{which} took {time}{rates}{spent}.", phase.name)
        }
        _ => {
            // Operations of a log's layers are the same work on several of them: their sum means nothing.
            let trace = run.run.trace.as_ref();
            let layered = trace.filter(|trace| trace.modules.len() > 1);
            if let Some(kinds) = layered.and_then(layers::times_by_kind) {
                return format!("{}.", words::capital(&kinds));
            }
            let all = once(run).fold(0u64, |sum, row| sum.saturating_add(row.count));
            let operations = words::count(all, "operation");
            let time = facts::duration(run).map(|time| format!(" in {time}")).unwrap_or_default();
            let kinds = run.run.trace.as_ref().and_then(layers::times_by_kind);
            let most = kinds.or_else(|| phases.iter().find_map(spent));
            let most = most.map(|most| format!("; {most}")).unwrap_or_default();
            format!("{operations}{time}{most}.")
        }
    }
}

/// Where to find the rest.
fn footer(run: &Run, warnings: &[Warning]) -> String {
    let evidence = &run.run.evidence;
    let shown: usize = warnings.iter().take(WARNINGS).map(|one| one.marks).sum();
    let failures = evidence.marks.iter().filter(|mark| mark.code == FAILED).count();
    let notes = evidence.notes.len() - notes_shown(run).count();
    let more = evidence.marks.len() + notes - shown - failures;
    let mut parts = vec!["more: -v".to_string(), "page: --html page.html".to_string()];
    if more > 0 {
        parts.push(format!("{more} more {}", words::plural(more as u64, "remark")));
    }
    parts.join(GAP)
}

/// The tables.
fn figures(run: &Run) -> Vec<Block> {
    figures_in(run, TERMINAL)
}

/// The same for a page, which has room for all phases and operations.
pub fn page(run: &Run) -> Vec<Block> {
    figures_in(run, PAGE)
}

fn figures_in(run: &Run, room: Room) -> Vec<Block> {
    let mut blocks = match &run.run.sweep {
        Some(sweep) => points::blocks(run, sweep),
        None if run.rows.is_empty() => vec![Block::Text("No I/O operation was executed.".into())],
        None => vec![Block::Sheet(sheet(run, room))],
    };
    let further = [work::shares(run), work::arrivals(run), scores::sheet(run)];
    let tables = layouts::sheets(run, layouts::FEW_POINTS);
    blocks.extend(further.into_iter().flatten().chain(tables).map(Block::Sheet));
    put_scores(run, &mut blocks);
    blocks
}

/// A phase: a label, or all operations outside of labels.
struct Phase<'r> {
    name: &'r str,
    label: Option<&'r LabelRow>,
    /// Its own operations.
    rows: Vec<&'r Row>,
}

/// Phases in the order in which they were first seen; operations outside of labels at the end.
fn phases(run: &Run) -> Vec<Phase<'_>> {
    let labels = run.labels.iter().map(|label| (&*label.label, None));
    let rows = run.rows.iter().filter(|row| row.part_of.is_none());
    let all = labels.chain(rows.map(|row| (&*row.label, Some(row))));
    let mut phases: Vec<Phase<'_>> = grouped(all)
        .into_iter()
        .map(|(name, rows)| Phase {
            name,
            label: run.labels.iter().find(|label| label.label == name),
            rows: rows.into_iter().flatten().collect(),
        })
        .collect();
    phases.retain(|phase| inside(run, phase.name).next().is_some());
    phases.sort_by_key(|phase| phase.name.is_empty());
    phases
}

/// The operations of a label and of the labels in it.
fn inside<'r>(run: &'r Run, name: &'r str) -> impl Iterator<Item = &'r Row> {
    once(run).filter(move |row| belongs_to(&row.label, name))
}

/// The table of a run that is no sweep.
fn sheet(run: &Run, room: Room) -> Sheet {
    let phases = phases(run);
    let has_labels = phases.iter().any(|phase| phase.label.is_some());
    let (shown, aside): (Vec<_>, Vec<_>) =
        phases.iter().partition(|phase| phase.label.is_some() || !is_aside(run, phase, has_labels));
    let aside = aside.first().map(|phase| format!("outside of phases: {}", listed(phase)));
    let imported = run.run.trace.is_some();
    let (grid, more, legend) = match shown.len() > room.phases && !imported {
        true => {
            let (shown, more) = longest(shown, PHASE_LINES);
            (phase_grid(run, &shown), more, format!("{LEGEND_PHASES}{ON_REQUEST}"))
        }
        false => {
            let (shown, more) = longest(shown, room.phases);
            (operation_grid(run, &shown, room), more, legend(run))
        }
    };
    let more = (more > 0).then(|| format!("{more} more {}", words::plural(more as u64, "phase")));
    let notes = limited::sentences(run).into_iter().chain(more);
    let kinds = run.run.trace.as_ref().and_then(layers::times_by_kind);
    let legend = std::iter::once(legend).chain(aside).collect::<Vec<_>>().join("; ");
    let notes = notes.chain(kinds).chain([legend]).collect();
    Sheet { name: "answer", title: String::new(), grid, notes }
}

/// The definitions of the columns. Ranks that are in an operation at different times reach no sum of their rates: a
/// rate in an operation is one of a rank.
fn legend(run: &Run) -> String {
    let rates = match run.run.ranks {
        1 => "rate, bandwidth: while in the operation",
        _ => "rate/rank, bandwidth/rank: while in the operation, mean of ranks",
    };
    let other = match run.run.trace.is_some() {
        true => "time: share of all calls",
        false => "phase: over its duration",
    };
    format!("{rates}; {other}")
}

/// The operations of each phase below its line.
fn operation_grid(run: &Run, phases: &[&Phase<'_>], room: Room) -> Grid {
    let of = |phase: &&Phase<'_>| entries(run, phase, room.operations).len();
    let lengths: Vec<usize> = phases.iter().map(of).collect();
    let all = phases.iter().flat_map(|phase| entries(run, phase, room.operations));
    let entries: Vec<Entry<'_>> = all.collect();
    let mut grid = columns(&entries);
    for column in grid.columns.iter_mut().filter(|_| run.run.ranks == 1) {
        column.name = column.name.trim_end_matches(PER_RANK).to_string().into();
    }
    let mut lines = std::mem::take(&mut grid.lines).into_iter();
    for (phase, count) in phases.iter().zip(lengths) {
        let name = phase_name(run, phase).to_string();
        grid.lines.push(Line::Heading { name, figures: figures_of(run, phase) });
        grid.lines.extend(lines.by_ref().take(count));
    }
    grid
}

/// The phases with most time in operations, in their order, and the number of others.
fn longest<'p, 'r>(phases: Vec<&'p Phase<'r>>, most: usize) -> (Vec<&'p Phase<'r>>, usize) {
    let spent = |phase: &Phase<'_>| {
        let failed = phase.rows.iter().any(|row| row.failed > 0);
        (failed, phase.rows.iter().fold(0u64, |sum, row| sum.saturating_add(busy_ns(row))))
    };
    let mut by_time: Vec<_> = phases.iter().map(|phase| spent(phase)).collect();
    by_time.sort_by(|a, b| b.cmp(a));
    let Some(least) = by_time.get(most.wrapping_sub(1)).copied() else { return (phases, 0) };
    let all = phases.len();
    let shown: Vec<_> =
        phases.into_iter().filter(|phase| spent(phase) >= least).take(most).collect();
    let more = all - shown.len();
    (shown, more)
}

/// Operations outside of labels are set-up where they took a small part of the time.
fn is_aside(run: &Run, phase: &Phase<'_>, has_labels: bool) -> bool {
    const SMALL: f64 = 0.05;
    let spent: u64 = phase.rows.iter().map(|row| busy_ns(row)).sum();
    let whole_ns = run.run.duration_wall_ns as f64 * f64::from(run.run.ranks.max(1));
    has_labels && (spent as f64) < SMALL * whole_ns && phase.rows.iter().all(|row| row.failed == 0)
}

/// `1 mkdir, 3 stat`
fn listed(phase: &Phase<'_>) -> String {
    let one = |row: &&Row| format!("{} {}", text::grouped(row.count), row.op);
    words::list_some(phase.rows.iter().map(one), 3)
}

/// Headings of operations that have no label: of a run without labels, and of others.
pub const NO_LABEL: [&str; 2] = ["(whole run)", "(outside of phases)"];

fn phase_name<'r>(run: &Run, phase: &Phase<'r>) -> &'r str {
    match phase.name {
        "" if run.labels.is_empty() => NO_LABEL[0],
        "" => NO_LABEL[1],
        name => name,
    }
}

/// The duration of a phase, and its bandwidths over it; of a run without labels its duration.
fn figures_of(run: &Run, phase: &Phase<'_>) -> String {
    let Some(label) = phase.label else {
        let is_whole = run.labels.is_empty() && run.run.trace.is_none();
        let whole = format_ns(run.run.duration_wall_ns as f64);
        return if is_whole { format!("{GAP}{whole}") } else { String::new() };
    };
    let (at_most, at_least) = if label.busy_is_bound { ("≤ ", "≥ ") } else { ("", "") };
    let mut parts = vec![String::new(), format!("{at_most}{}", format_ns(label.busy_ns as f64))];
    if label.occurrences > 1 {
        parts.push(format!("{} times", text::grouped(label.occurrences)));
    }
    parts.extend(Rates::of(run, label).words(at_least));
    parts.join(GAP)
}

/// Rates of a phase over its duration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// Bytes read, MiB/s.
    pub read_mib_s: Option<f64>,
    /// Bytes written, MiB/s.
    pub write_mib_s: Option<f64>,
    /// Operations per second, where no bytes were moved.
    pub ops_s: Option<f64>,
}

impl Rates {
    /// Those of a label and the labels in it.
    pub fn of(run: &Run, label: &LabelRow) -> Rates {
        let per_second = |amount: f64| {
            let rate = per_second(amount, label.busy_ns);
            Some(rate).filter(|rate| *rate > 0.0 && rate.is_finite())
        };
        let moved = |direction: Class| {
            let rows = inside(run, &label.label).filter(|row| class(&row.op) == direction);
            let bytes = rows.fold(0u64, |sum, row| sum.saturating_add(row.bytes));
            per_second(bytes as f64 / f64::from(1 << 20))
        };
        let done =
            inside(run, &label.label).fold(0, |sum: u64, row| sum.saturating_add(succeeded(row)));
        let (read_mib_s, write_mib_s) = (moved(Class::Read), moved(Class::Write));
        let is_still = read_mib_s.or(write_mib_s).is_none();
        let ops_s = per_second(done as f64).filter(|_| is_still);
        Rates { read_mib_s, write_mib_s, ops_s }
    }

    /// `read 12.7 MiB/s`, `write 12.7 MiB/s`; lower bounds where the duration is an upper one.
    fn words(&self, at_least: &str) -> Vec<String> {
        let bytes = |word: &str, rate: Option<f64>| {
            rate.map(|rate| format!("{word} {at_least}{}", Measure::ByteRate.format(rate, 3)))
        };
        let operations =
            self.ops_s.map(|rate| format!("{at_least}{}", Measure::OpRate.format(rate, 3)));
        let all = [bytes("read", self.read_mib_s), bytes("write", self.write_mib_s), operations];
        all.into_iter().flatten().collect()
    }
}

/// A line for a phase.
struct PhaseLine {
    name: String,
    busy_ns: Option<u64>,
    counts: Row,
    rates: Rates,
}

/// A line per phase, for programs of many.
fn phase_grid(run: &Run, phases: &[&Phase<'_>]) -> Grid {
    let bytes = Kind::Quantity(Measure::ByteRate);
    let line = |phase: &&Phase<'_>| PhaseLine {
        name: phase_name(run, phase).to_string(),
        busy_ns: phase.label.map(|label| label.busy_ns),
        counts: sum(phase.rows.iter().copied()),
        rates: phase.label.map(|label| Rates::of(run, label)).unwrap_or_default(),
    };
    let lines: Vec<PhaseLine> = phases.iter().map(line).collect();
    Grid::of(
        vec![
            field("phase", "", Kind::Word, 0, |one: &PhaseLine| Cell::Text(one.name.clone())),
            field("count", "", Kind::Count, 2, |one| number(one.counts.count)),
            optional("failed", "", Kind::Count, 0, |one| number(one.counts.failed)),
            optional("short", "", Kind::Count, 0, |one| number(one.counts.short)),
            optional("expected", "", Kind::Count, 0, |one| number(one.counts.expected)),
            field("time", "", Kind::Quantity(Measure::Time), 0, |one| {
                one.busy_ns.map_or(Cell::None, Cell::whole)
            }),
            optional("read", "", bytes, 0, |one| Cell::number(one.rates.read_mib_s)),
            optional("write", "", bytes, 0, |one| Cell::number(one.rates.write_mib_s)),
            optional("rate", "", Kind::Quantity(Measure::OpRate), 0, |one| {
                Cell::number(one.rates.ops_s)
            }),
        ],
        &lines,
        |one| one.counts.failed > 0,
    )
}

fn succeeded(row: &Row) -> u64 {
    row.count.saturating_sub(row.failed).saturating_sub(row.expected)
}

/// A line: an operation, or those that took least time together.
struct Entry<'r> {
    name: String,
    row: &'r Row,
    counts: Row,
    /// Share of the time of the ranks in the phase.
    share: Option<f64>,
    /// The line sums up several rows.
    is_sum: bool,
}

/// Time of all ranks in an operation, also in those that failed or were expected to.
fn busy_ns(row: &Row) -> u64 {
    // Sums of logs over several ranks have no balance.
    let sum_ns = || row.mean_ns.map_or(0, |mean_ns| (mean_ns * succeeded(row) as f64) as u64);
    let done_ns = row.balance.as_ref().map_or_else(sum_ns, |balance| balance.busy_ns);
    let failed_ns = row.failed_histogram.as_ref().map_or(0, |times| times.sum);
    done_ns.saturating_add(failed_ns)
}

/// The time of which operations have shares: that of all ranks in the phase; of a log, whose ranks may be idle for
/// long, that of all its calls. 0 where the log does not have the time of all: nobody knows the shares then.
fn whole_ns(run: &Run, phase: &Phase<'_>) -> f64 {
    let ranks = f64::from(ranks_in(run, phase));
    match phase.label {
        _ if run.run.trace.is_some() => match layers::time_in_calls(run) {
            Some(all_ns) => all_ns,
            None if once(run).any(lacks_times) => 0.0,
            None => once(run).map(|row| busy_ns(row) as f64).sum(),
        },
        Some(label) => label.busy_ns as f64 * ranks,
        None => run.run.duration_wall_ns as f64 * ranks,
    }
}

/// Ranks that executed a label at once.
fn ranks_in(run: &Run, phase: &Phase<'_>) -> u32 {
    let times = run.times.iter().filter(|time| phase.label.is_some() && time.label == phase.name);
    times.map(|time| time.ranks).max().unwrap_or(run.run.ranks).max(1)
}

/// It is unknown how long these operations took.
fn lacks_times(row: &Row) -> bool {
    succeeded(row) > 0 && row.mean_ns.is_none()
}

/// The operations of a phase in their order.
fn entries<'r>(run: &Run, phase: &Phase<'r>, most: usize) -> Vec<Entry<'r>> {
    let whole_ns = whole_ns(run, phase);
    let share = |ns: u64| (whole_ns > 0.0 && ns > 0).then(|| (ns as f64 / whole_ns).min(1.0));
    let mut by_time = phase.rows.clone();
    by_time.sort_by_key(|row| std::cmp::Reverse((row.failed, busy_ns(row))));
    let rest = by_time.split_off(by_time.len().min(most));
    let is_shown = |row: &&&Row| by_time.iter().any(|other| std::ptr::eq(**row, *other));
    let one = |row: &&'r Row| Entry {
        name: format!("  {}", row.op),
        row,
        counts: sum([*row]),
        share: share(busy_ns(row)),
        is_sum: false,
    };
    let shown = phase.rows.iter().filter(is_shown).map(one);
    let rest = rest.first().map(|first| Entry {
        name: format!("  {} more", rest.len()),
        row: first,
        counts: sum(rest.iter().copied()),
        share: share(rest.iter().fold(0, |sum, row| sum.saturating_add(busy_ns(row)))),
        is_sum: true,
    });
    shown.chain(rest).collect()
}

impl Entry<'_> {
    fn time(&self, ns: Option<u64>) -> Cell {
        self.figure(ns.map(|ns| ns as f64))
    }

    fn figure(&self, figure: Option<f64>) -> Cell {
        if self.is_sum { Cell::Text(String::new()) } else { Cell::number(figure) }
    }
}

fn number(count: u64) -> Cell {
    Cell::Text(if count == 0 { String::new() } else { text::grouped(count) })
}

/// The table without headings. Narrow terminals lose max, then count, then p50.
fn columns(entries: &[Entry<'_>]) -> Grid {
    const TIME: Kind = Kind::Quantity(Measure::Time);
    Grid::of(
        vec![
            field("phase / operation", "", Kind::Word, 0, |one: &Entry<'_>| {
                Cell::Text(one.name.clone())
            }),
            field("count", "", Kind::Count, 2, |one| number(one.counts.count)),
            optional("failed", "", Kind::Count, 0, |one| number(one.counts.failed)),
            optional("short", "", Kind::Count, 0, |one| number(one.counts.short)),
            optional("expected", "", Kind::Count, 0, |one| number(one.counts.expected)),
            field("rate/rank", "", Kind::Quantity(Measure::OpRate), 0, |one| {
                one.figure(one.row.rank_ops_s)
            }),
            field("bandwidth/rank", "", Kind::Quantity(Measure::ByteRate), 0, |one| {
                one.figure(one.row.rank_mib_s)
            }),
            field("p50", "", TIME, 3, |one| one.time(one.row.p50_ns)),
            field("p99", "", TIME, 0, |one| one.time(one.row.p99_ns)),
            field("max", "", TIME, 1, |one| one.time(one.row.max_ns)),
            field("time", "", Kind::Count, 0, |one| match one.share {
                Some(share) => Cell::Text(percent(share)),
                None => Cell::None,
            }),
        ],
        entries,
        |one| one.counts.failed > 0,
    )
}

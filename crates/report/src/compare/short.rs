//! A comparison in a few lines: a sentence for each question, one table, the warnings that count. Everything
//! else is counted, and shown by [`super::show`] in full.

use super::comparison::Amount;
use super::comparison::Comparison;
use super::design::{Calls, Claim, Design, Row, Tier};
use super::sentences::{change, figure, interval, is_small, span, too_few};
use super::sides::Brief;
use crate::document::{Block, Item, Sheet};
use crate::grid::{Cell, Column, Grid, Kind, Line};
use crate::rows::label_name;
use crate::rules::Warning;
use crate::statistics::Metric;
use crate::text::{ON_REQUEST, Paint, percent, width};
use model::units::Measure;
use model::words;
use std::collections::BTreeSet;

/// Sentences on questions with a difference; the table has all.
const SENTENCES: usize = 8;
/// Lines of operations in the table.
const OPERATIONS: usize = 3;
/// Places that a sentence names.
const NAMED: usize = 4;
/// Warnings that are shown.
const WARNINGS: usize = 2;
/// Columns of a line that must not become two.
const COLUMNS: usize = 98;

/// The rows of one label at one point.
struct Question<'c> {
    /// The first is the label's time or rate, a second its typical calls.
    opening: Vec<&'c Row>,
    operations: Vec<&'c Row>,
    /// Differences in the work: `reads 3.0x as much (30 MiB, A 10 MiB)`.
    work: Vec<String>,
}

fn questions(comparison: &Comparison) -> Vec<Question<'_>> {
    let groups = comparison.rows.chunk_by(|a, b| a.question == b.question);
    groups.filter_map(|rows| question(comparison, rows)).collect()
}

/// `None`: nothing of it is tested.
fn question<'c>(comparison: &'c Comparison, rows: &'c [Row]) -> Option<Question<'c>> {
    let (opening, operations): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.tier == Tier::Label);
    let lead = *opening.first()?;
    let here = |label: &str, op: &str, cell: u32| {
        (label, cell) == (&*lead.label, lead.cell) && (!label.is_empty() || op == lead.op)
    };
    let work = comparison.amounts.iter().filter(|one| here(&one.label, &one.op, one.cell));
    let work: Vec<&Amount> = work.collect();
    let work = work.iter().map(|one| one.phrase(work.len() > 1)).collect();
    Some(Question { opening, operations, work })
}

impl Question<'_> {
    fn lead(&self) -> &Row {
        self.opening[0]
    }

    fn typical(&self) -> Option<&Row> {
        self.opening.get(1).copied()
    }

    fn differs(&self) -> bool {
        self.opening.iter().any(|row| row.differs())
    }

    /// `read at block=4k`.
    fn name(&self) -> String {
        let Row { label, op, point, .. } = self.lead();
        let name = if label.is_empty() { op } else { label };
        if point.is_empty() { name.clone() } else { format!("{name} at {point}") }
    }

    fn sentence(&self) -> String {
        let name = self.name();
        if self.work.is_empty() {
            return format!("B is {}{}", self.outcome(&name), self.operations_that_differ());
        }
        let (time, is_joined) = self.time_with_other_work();
        let parts = self.work.iter().cloned().chain(time.clone().filter(|_| is_joined));
        let said = words::list(parts);
        let apart = time.filter(|_| !is_joined).map(|time| format!("; {time}"));
        format!("In {name} B {said}{}", apart.unwrap_or_default())
    }

    /// The difference: of the label's time, or of its typical calls alone.
    fn outcome(&self, name: &str) -> String {
        let lead = self.lead();
        let unclear = |what: &str, row: &Row| {
            format!("; {what}: no clear difference ({})", interval(row.quotient()))
        };
        match self.typical() {
            Some(typical) if !lead.differs() => {
                let what = lead.metric.quantity();
                format!(
                    "{} in {name} by p50 {}{}",
                    change(typical),
                    span(typical),
                    unclear(what, lead)
                )
            }
            typical => {
                let typical = typical.filter(|typical| typical.claim == Claim::None);
                let typical = typical.map(|typical| unclear("p50", typical)).unwrap_or_default();
                format!("{} in {name} {}{typical}", change(lead), span(lead))
            }
        }
    }

    /// `takes 3.2x as long (3.1 to 3.3)`, which joins the list of what B does; or what is not clear.
    fn time_with_other_work(&self) -> (Option<String>, bool) {
        let lead = self.lead();
        let [estimate, ..] = lead.quotient();
        let ends = interval(lead.quotient());
        match lead.claim {
            Claim::TooFew | Claim::NotTested => (None, false),
            Claim::Faster | Claim::Slower => {
                let times = figure(estimate);
                let said = match lead.metric.measure() {
                    Measure::Time => format!("takes {times}x as long ({ends})"),
                    _ => format!("works at {times}x the rate ({ends})"),
                };
                (Some(said), true)
            }
            Claim::None => {
                let typical = self.typical().filter(|typical| typical.differs()).map(|row| {
                    let [estimate, ..] = row.quotient();
                    let ends = interval(row.quotient());
                    format!("{} is {}x ({ends}); ", row.metric.quantity(), figure(estimate))
                });
                let typical = typical.unwrap_or_default();
                let what = lead.metric.quantity();
                (Some(format!("{typical}{what}: no clear difference ({ends})")), false)
            }
        }
    }

    /// `: write 3.1x slower, stat 1.2 % faster`.
    fn operations_that_differ(&self) -> String {
        let said = |row: &&&Row| format!("{} {}", row.op, change(row));
        let differing: Vec<&&Row> = self.operations.iter().filter(|row| row.differs()).collect();
        let mut ops = BTreeSet::new();
        let each = differing.iter().filter(|row| ops.insert(&row.op)).map(said);
        let each: Vec<String> = each.collect();
        if each.is_empty() { String::new() } else { format!(": {}", words::list_some(each, 2)) }
    }
}

/// The sentences of all questions, those with a difference first.
fn sentences(comparison: &Comparison, all: &[Question<'_>]) -> Vec<Item> {
    let own = |one: &&Question<'_>| one.differs() || !one.work.is_empty();
    let (telling, others): (Vec<_>, Vec<_>) = all.iter().partition(own);
    let item = |one: &&Question<'_>| {
        let is_slower = one.opening.iter().any(|row| row.claim == Claim::Slower);
        let item = if is_slower { Item::bad } else { Item::new };
        item(one.sentence())
    };
    let left = telling.len().saturating_sub(SENTENCES);
    let more = (left > 0).then(|| Item::new(format!("{left} more differ: see the table")));
    let mut items: Vec<Item> = telling.iter().take(SENTENCES).map(item).chain(more).collect();
    let few = all.iter().map(Question::lead).find(|row| row.claim == Claim::TooFew);
    items.extend(few.map(|row| Item::new(too_few(row, comparison.design))));
    let tested = others.into_iter().filter(|one| one.lead().claim == Claim::None);
    let (small, others): (Vec<_>, Vec<_>) =
        tested.partition(|one| is_small(one.lead(), comparison.min_effect));
    let excludes_1 = |one: &&Question<'_>| {
        let [_, low, high] = one.lead().quotient();
        comparison.design == Design::Blocks && (low > 1.0 || high < 1.0)
    };
    let (below, unclear): (Vec<_>, Vec<_>) = others.into_iter().partition(excludes_1);
    let least = format!("A difference below --min-effect {}", percent(comparison.min_effect));
    let bound = format!("No difference above {}", percent(comparison.min_effect));
    items.extend(together(&bound, &small).map(Item::new));
    items.extend(together(&least, &below).map(Item::new));
    items.extend(together("No clear difference", &unclear).map(Item::new));
    items
}

/// `No clear difference in write, stat (B/A 0.72 to 2.4, 0.95 to 1.1)`.
fn together(what: &str, all: &[&Question<'_>]) -> Option<String> {
    let names = words::list_some(all.iter().map(|one| one.name()), NAMED);
    let ends = |one: &&Question<'_>| interval(one.lead().quotient());
    let ends: Vec<String> = all.iter().map(ends).collect();
    match all.len() {
        0 => None,
        1..=NAMED => Some(format!("{what} in {names} (B/A {})", ends.join(", "))),
        _ => Some(format!("{what} in {names}")),
    }
}

/// The answer: a sentence for each question, those with a difference first.
pub fn answer(comparison: &Comparison) -> Vec<String> {
    let questions = questions(comparison);
    let lines = only_one_side(comparison).into_iter().chain(sentences(comparison, &questions));
    lines.map(|item| item.text).collect()
}

/// The gravest warnings of either side, and the number of others.
pub fn gravest(comparison: &Comparison) -> (Vec<String>, usize) {
    let (shown, more) = warnings(comparison);
    (shown.into_iter().map(|item| item.text).collect(), more)
}

/// The comparison in short. `is_alone`: no report on the run is around it, which has the warnings.
pub(crate) fn blocks(comparison: &Comparison, is_alone: bool) -> Vec<Block> {
    let questions = questions(comparison);
    let mut lines = names(comparison);
    lines.extend(only_one_side(comparison));
    let room = OPERATIONS.saturating_sub(lines.len() - 1);
    lines.extend(sentences(comparison, &questions));
    let (shown, left_out) = if is_alone { warnings(comparison) } else { (Vec::new(), 0) };
    let mut blocks = vec![Block::List(lines)];
    blocks.push(match questions.is_empty() {
        true => Block::Text("The two sides have nothing in common to compare.".into()),
        false => Block::Sheet(sheet(comparison, &questions, room, left_out)),
    });
    blocks.extend((!shown.is_empty()).then_some(Block::List(shown)));
    blocks
}

/// The warnings that count, on a line each, and the number of remarks that are left out.
fn warnings(comparison: &Comparison) -> (Vec<Item>, usize) {
    let notes = comparison.notes.iter().map(|note| (note.clone(), 1));
    let briefs = comparison.briefs.iter().map(|Brief { sides, warning }| {
        let Warning { text, fix, marks } = warning;
        let text = format!("{}: {text}", words::list(sides));
        let with_fix = format!("{text}   fix: {fix}");
        let fits = !fix.is_empty() && width(&with_fix) + 2 <= COLUMNS;
        (if fits { with_fix } else { text }, *marks)
    });
    let shown: Vec<(String, usize)> = notes.chain(briefs).take(WARNINGS).collect();
    let all = comparison.facts().len();
    let line = |(text, _): &(String, usize)| {
        let text = match width(text) + 2 <= COLUMNS {
            true => text.as_str().into(),
            false => words::shortened(text, COLUMNS - 5),
        };
        Item { paint: Paint::Warning, ..Item::new(format!("! {text}")) }
    };
    let left_out = all.saturating_sub(shown.iter().map(|(_, marks)| marks).sum());
    (shown.iter().map(line).collect(), left_out)
}

/// `A: before   B: after`; long names on lines of their own.
pub(crate) fn names(comparison: &Comparison) -> Vec<Item> {
    let (a, b) = (format!("A: {}", comparison.base), format!("B: {}", comparison.new));
    let both = format!("{a}   {b}");
    let lines = if width(&both) <= COLUMNS { vec![both] } else { vec![a, b] };
    lines.into_iter().map(Item::new).collect()
}

/// Operations that one side lacks; of a label that one side lacks the label alone.
fn only_one_side(comparison: &Comparison) -> Vec<Item> {
    let of = |side: &'static str| {
        let mut names: Vec<String> = Vec::new();
        let here = comparison.unmatched.iter().filter(|one| one.side == side);
        let labels: BTreeSet<&String> =
            here.clone().filter(|one| one.op.is_empty()).map(|one| &one.label).collect();
        for one in here {
            let name = match (one.op.as_str(), one.label.as_str()) {
                ("", label) => label.to_string(),
                (_, label) if labels.contains(&label.to_string()) => continue,
                (op, "") => op.to_string(),
                (op, label) => format!("{op} in {label}"),
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let list = words::list_some(&names, NAMED);
        (!names.is_empty()).then(|| Item::new(format!("Only in {side}: {list}")))
    };
    ["A", "B"].into_iter().filter_map(of).collect()
}

fn sheet(
    comparison: &Comparison,
    questions: &[Question<'_>],
    room: usize,
    remarks: usize,
) -> Sheet {
    let operations = shown_operations(questions, room);
    let mut lines: Vec<(&Row, bool)> = Vec::new();
    let mut left_out = 0;
    for question in questions {
        lines.push((question.lead(), false));
        let (shown, others): (Vec<&Row>, Vec<&Row>) = question
            .operations
            .iter()
            .partition(|row| operations.iter().any(|shown| std::ptr::eq(*shown, **row)));
        lines.extend(shown.into_iter().map(|row| (row, true)));
        left_out += others.len() + question.opening.len() - 1;
    }
    let names: Vec<&String> =
        lines.first().map_or(Vec::new(), |(row, _)| row.params.keys().collect());
    let mut columns = vec![Column::new("", "", Kind::Label, 0)];
    columns.extend(names.iter().map(|name| Column::named((*name).clone())));
    let figures = [
        ("n", 5),
        ("A", 0),
        ("B", 0),
        ("B/A", 0),
        ("95 %", 0),
        ("p50 A", 3),
        ("p50 B", 3),
        ("p99 A", 1),
        ("p99 B", 1),
    ];
    columns.extend(figures.map(|(name, order)| Column::new(name, "", Kind::Count, order)));
    let line = |(row, is_below): &(&Row, bool)| Line::Cells {
        cells: cells(row, *is_below, &names),
        bad: row.claim == Claim::Slower,
    };
    let grid = Grid { columns, lines: lines.iter().map(line).collect() };
    let notes = vec![footnote(comparison, &lines, left_out, remarks)];
    Sheet { name: "comparison", title: String::new(), grid: grid.without_empty_columns(), notes }
}

/// Operations of labels with several: first those that differ most, as many as there is room for.
fn shown_operations<'c>(questions: &[Question<'c>], room: usize) -> Vec<&'c Row> {
    let below = questions.iter().flat_map(|question| &question.operations);
    let mut all: Vec<&Row> =
        below.copied().filter(|row| row.level.is_some() && row.metric != Metric::P50Ns).collect();
    let distance = |row: &Row| if row.differs() { row.speedup.ln().abs() } else { -1.0 };
    all.sort_by(|one, other| distance(other).total_cmp(&distance(one)));
    let mut seen = BTreeSet::new();
    all.retain(|row| seen.insert((row.question, &row.op)));
    all.truncate(room);
    all
}

/// The cells of a row.
fn cells(row: &Row, is_below: bool, params: &[&String]) -> Vec<Cell> {
    let text = |text: String| Cell::Text(text);
    let name = match (is_below, row.label.as_str()) {
        (true, _) => format!("  {}", row.op),
        (false, "") => row.op.clone(),
        (false, label) => label_name(label).to_string(),
    };
    let n = match row.base_n == row.new_n {
        true => row.base_n.to_string(),
        false => format!("{}, {}", row.base_n, row.new_n),
    };
    let measured = |value: f64| text(row.metric.measure().format(value, 3));
    let [estimate, ..] = row.quotient();
    let has_interval = row.ci95_low.is_some() || row.ci95_high.is_some();
    let mut cells = vec![text(name)];
    cells
        .extend(params.iter().map(|name| text(row.params.get(*name).cloned().unwrap_or_default())));
    cells.extend([
        text(n),
        measured(row.base_median),
        measured(row.new_median),
        text(figure(estimate)),
        if has_interval { text(interval(row.quotient())) } else { Cell::None },
    ]);
    let time = |ns: Option<f64>| match ns {
        Some(ns) => text(Measure::Time.format(ns, 3)),
        None => text(String::new()),
    };
    let of = |calls: &Option<Calls>| {
        calls.as_ref().map_or((None, None), |calls| (calls.p50_ns, calls.p99_ns))
    };
    let (a, b) = (of(&row.base_calls), of(&row.new_calls));
    cells.extend([a.0, b.0, a.1, b.1].map(time));
    cells
}

fn footnote(
    comparison: &Comparison,
    lines: &[(&Row, bool)],
    rows: usize,
    remarks: usize,
) -> String {
    let is_rate = |row: &Row| row.metric.measure() != Measure::Time;
    let rates = lines.iter().any(|(row, _)| is_rate(row));
    let figures = match (lines.iter().any(|(_, is_below)| *is_below), rates) {
        (true, true) => "A, B: time of a label, rate per rank or mean time of an operation",
        (true, false) => "A, B: time of a label, mean time of an operation",
        (false, true) => "A, B: time or rate",
        (false, false) => "A, B: median time",
    };
    let of = match comparison.design {
        Design::Blocks => "block by block",
        Design::Samples => "median over all pairs",
    };
    let meaning = if rates { "a slower time, a faster rate" } else { "B is slower" };
    let counted = |count: usize, noun: &str| {
        (count > 0).then(|| format!("{count} more {}", words::plural(count as u64, noun)))
    };
    let left: Vec<String> =
        counted(remarks, "remark").into_iter().chain(counted(rows, "row")).collect();
    let left =
        if left.is_empty() { String::new() } else { format!("; {}{ON_REQUEST}", left.join(", ")) };
    format!("{figures}; B/A: {of}, above 1: {meaning}{left}")
}

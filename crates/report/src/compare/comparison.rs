//! Rows of a comparison: figures of both sides, the tests in their order, the outcome and its sentence. Amounts of
//! work that differ are known exactly and said first, because a ratio of times means little without them.

use super::design::{Calls, Claim, Design, LEAST, Options, Row, SIGNIFICANCE, Side, Tier};
use super::inference::{Contrast, Decision, Family, Memo, decide};
use super::quantities::{Key, Quantity, Question, Samples, Work};
use super::sentences::{figure, subject};
use super::sides::{Brief, Difference, SideMark, split};
use super::{quantities, sentences, sides};
use crate::gate::GateResult;
use crate::statistics::Metric;
use crate::stats::distance_between;
use crate::{rows, rules, stats};
use model::histogram::Histogram;
use model::op::Class;
use model::units::{Measure, format_bytes};
use model::{Run, words};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Labels and operations of two programs, by point of a sweep: how many tests share the error probability at
/// least. "" is no label, or no operation: the label itself.
pub fn test_count(a: &BTreeSet<(String, String)>, b: &BTreeSet<(String, String)>) -> usize {
    quantities::count(a, b)
}

/// A comparison of two sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Version of this object.
    pub version: u32,
    /// A.
    pub base: String,
    /// B.
    pub new: String,
    /// How the figures of both sides belong together.
    pub design: Design,
    /// The test that every p is of.
    pub test: &'static str,
    /// Smallest difference that is reported as one, as a share.
    pub min_effect: f64,
    /// Differences between the programs and their surroundings.
    pub differences: Vec<Difference>,
    /// Facts that change what the figures mean.
    pub notes: Vec<String>,
    /// Facts that do not.
    pub remarks: Vec<String>,
    /// Marks of either side.
    pub marks: Vec<SideMark>,
    /// The same in short.
    #[serde(skip)]
    pub(crate) briefs: Vec<Brief>,
    /// Amounts of work that differ.
    pub amounts: Vec<Amount>,
    /// One entry per figure: for each label its own, then its operations'.
    pub rows: Vec<Row>,
    /// Labels and operations that only one side has.
    pub unmatched: Vec<Unmatched>,
    /// Gates and how they ended.
    pub gates: Vec<GateResult>,
}

impl Comparison {
    /// Everything that is known of both sides besides the figures. What both have is there once.
    pub(crate) fn facts(&self) -> Vec<String> {
        let is_first =
            |at: usize| self.marks[..at].iter().all(|one| one.code != self.marks[at].code);
        let mut first: Vec<usize> = (0..self.marks.len()).filter(|at| is_first(*at)).collect();
        first.sort_by_key(|at| !self.marks[*at].counts);
        let mark = |at: usize| {
            let same = self.marks.iter().filter(|mark| mark.code == self.marks[at].code);
            let sides = words::list(same.map(|mark| mark.side));
            format!("{sides}: {}: {}", self.marks[at].code, self.marks[at].seen)
        };
        let differs = self.differences.iter().map(|one| format!("differs: {}", one.sentence()));
        let marks = first.into_iter().map(mark);
        let facts = self.remarks.iter().cloned().chain(differs);
        self.notes.iter().cloned().chain(marks).chain(facts).collect()
    }
}

/// A row that the other side lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Unmatched {
    /// "A" or "B".
    pub side: &'static str,
    /// Label path.
    pub label: String,
    /// Operation.
    pub op: String,
    /// Point of the sweep.
    pub cell: u32,
    /// The same in words, `block=4k`; "" if nothing varies.
    #[serde(skip)]
    pub point: String,
    /// Names and values of what varies.
    #[serde(rename = "point")]
    pub params: BTreeMap<String, String>,
}

/// Compares B (`new`) with A (`base`), repetition by repetition.
///
/// # Errors
/// Programs or parameters differ, or a run is on both sides, and `anyway` is not set:
/// a sentence for each reason.
pub fn compare(base: &Side, new: &Side, options: &Options) -> Result<Comparison, Vec<String>> {
    let (refused, differences) = sides::differences(&base.runs, &new.runs);
    let same = sides::same_runs(base, new);
    if !options.anyway && (!refused.is_empty() || same.is_some()) {
        return Err(refused.iter().map(Difference::sentence).chain(same).collect());
    }
    let differences = refused.into_iter().chain(differences).collect();
    let found = Comparison { differences, ..contrasted(base, new, Design::Samples, options) };
    Ok(Comparison { notes: same.into_iter().chain(found.notes).collect(), ..found })
}

/// Compares the two sides of one run that was made in blocks, block by block.
pub fn compare_blocks(base: &Side, new: &Side, options: &Options) -> Comparison {
    let differences = sides::surroundings_that_differ(&base.runs, &new.runs);
    let of_sweep = base.runs.first().map(rules::sweep_marks).unwrap_or_default();
    let remarks = of_sweep.into_iter().map(|mark| mark.seen).collect();
    Comparison { differences, remarks, ..contrasted(base, new, Design::Blocks, options) }
}

/// The comparison that a run itself is; `None` for one that is none.
pub fn within(run: &Run, options: &Options) -> Option<Comparison> {
    let (base, new) = split(run)?;
    Some(compare_blocks(&base, &new, options))
}

fn contrasted(base: &Side, new: &Side, design: Design, options: &Options) -> Comparison {
    let (a, b) = Samples::of_sides(&base.runs, &new.runs);
    let mut memo = Memo::default();
    let min_effect = options.min_effect.unwrap_or(design.min_effect());
    let sides = Sides { base, new, a: &a, b: &b, design, min_effect };
    let mut tested: Vec<Tested> = Vec::new();
    for (number, question) in quantities::questions(&a, &b).iter().enumerate() {
        for (tier, quantity) in in_order(question) {
            let row = sides.row(number, tier, quantity, &mut memo);
            tested.extend(row);
        }
    }
    judge(&mut tested, min_effect, design, &mut memo);
    let mut unmatched = lacking("A", &a, &b, base);
    unmatched.extend(lacking("B", &b, &a, new));
    Comparison {
        version: 2,
        base: base.name.clone(),
        new: new.name.clone(),
        design,
        test: design.test(),
        min_effect,
        differences: Vec::new(),
        notes: sides::notes(base, new),
        remarks: Vec::new(),
        marks: sides::marks(base, new),
        briefs: sides::briefs(base, new),
        amounts: amounts(&a, &b, |cell| (point(base, cell), params(base, cell))),
        rows: tested.into_iter().map(|tested| tested.row).collect(),
        unmatched,
        gates: Vec::new(),
    }
}

fn in_order(question: &Question) -> impl Iterator<Item = (Tier, &Quantity)> {
    let Question { opening, below, described } = question;
    let opening = opening.iter().map(|one| (Tier::Label, one));
    let below = below.iter().map(|one| (Tier::Operation, one));
    opening.chain(below).chain(described.iter().map(|one| (Tier::Described, one)))
}

fn lacking(side: &'static str, ours: &Samples, theirs: &Samples, of: &Side) -> Vec<Unmatched> {
    let missing = ours.keys().filter(|key| !theirs.knows(key));
    let unmatched = |(label, op, cell): &Key| Unmatched {
        side,
        label: label.clone(),
        op: op.clone(),
        cell: *cell,
        point: point(of, *cell),
        params: params(of, *cell),
    };
    missing.map(unmatched).collect()
}

/// A row with what its test is made of.
struct Tested {
    row: Row,
    contrast: Contrast,
}

/// The figures of both sides: all, or, of blocks, the pairs.
fn figures(quantity: &Quantity, a: &Samples, b: &Samples, design: Design) -> (Vec<f64>, Vec<f64>) {
    if design == Design::Samples {
        return (a.figures(quantity), b.figures(quantity));
    }
    let others: BTreeMap<_, f64> = b.points(quantity).iter().copied().collect();
    let both = a.points(quantity).iter().filter_map(|(at, a)| Some((*a, *others.get(at)?)));
    both.unzip()
}

struct Sides<'s> {
    base: &'s Side,
    new: &'s Side,
    a: &'s Samples,
    b: &'s Samples,
    design: Design,
    min_effect: f64,
}

impl Sides<'_> {
    fn row(
        &self,
        question: usize,
        tier: Tier,
        quantity: &Quantity,
        memo: &mut Memo,
    ) -> Option<Tested> {
        let Quantity { key, metric } = quantity;
        let (before, after) = figures(quantity, self.a, self.b, self.design);
        let speeds = |figures: &[f64]| -> Vec<f64> {
            // Of times the inverse is compared, so that a ratio above 1 is always "faster".
            let is_time = metric.measure() == Measure::Time;
            let speed = |figure: &f64| if is_time { 1.0 / *figure } else { *figure };
            figures.iter().map(speed).collect()
        };
        let contrast = Contrast::new(self.design, &speeds(&before), &speeds(&after));
        let enough = before.len() >= LEAST && after.len() >= LEAST;
        let (label, op, cell) = key.clone();
        let of_calls = self.calls_of(key);
        let row = Row {
            label,
            op,
            cell,
            point: point(self.base, cell),
            params: params(self.base, cell),
            tier,
            metric: *metric,
            base_n: before.len(),
            new_n: after.len(),
            base_median: stats::median(&before)?,
            new_median: stats::median(&after)?,
            speedup: contrast.ratio(),
            ci95_low: None,
            ci95_high: None,
            level: None,
            cliffs_delta: contrast.delta(),
            p: (enough && tier != Tier::Described).then(|| self.p(&contrast, memo)),
            p_adjusted: None,
            lag1: contrast.dependence().filter(|_| enough).map(|dependence| dependence.lag1),
            least_n: LEAST,
            claim: Claim::NotTested,
            sentence: String::new(),
            base_calls: of_calls.as_ref().and_then(|key| calls(self.a, key)),
            new_calls: of_calls.as_ref().and_then(|key| calls(self.b, key)),
            latency: of_calls.as_ref().and_then(|key| {
                distance_between(&histogram(self.base, key), &histogram(self.new, key))
            }),
            question,
        };
        Some(Tested { row, contrast })
    }

    /// Blocks are tested against no difference, runs one after the other against one that has no cause.
    fn p(&self, contrast: &Contrast, memo: &mut Memo) -> f64 {
        match self.design {
            Design::Blocks => contrast.p(memo),
            Design::Samples => contrast.p_beyond(1.0 + self.min_effect, memo),
        }
    }

    /// The operation of a row: its own, or the only one of the label.
    fn calls_of(&self, key: &Key) -> Option<Key> {
        if !key.1.is_empty() {
            return Some(key.clone());
        }
        let here = |other: &&Key| other.0 == key.0 && other.2 == key.2 && !other.1.is_empty();
        let all: BTreeSet<&Key> =
            self.a.keys().filter(here).chain(self.b.keys().filter(here)).collect();
        if all.len() == 1 { all.first().map(|key| (*key).clone()) } else { None }
    }
}

fn calls(of: &Samples, key: &Key) -> Option<Calls> {
    let work = of.median_work(key)?;
    let median =
        |metric: Metric| stats::median(&of.figures(&Quantity { key: key.clone(), metric }));
    let (p50_ns, p99_ns) = (median(Metric::P50Ns), median(Metric::P99Ns));
    Some(Calls { calls: work.calls, bytes: work.bytes, p50_ns, p99_ns })
}

/// Times of single operations of a side, merged over its runs and repetitions.
pub(crate) fn histogram(side: &Side, (label, op, cell): &Key) -> Histogram {
    let mut sum = Histogram::default();
    let rows = side.runs.iter().flat_map(|run| &run.rows);
    for row in rows.filter(|row| row.label == *label && row.op == *op && row.cell == *cell) {
        if let Some(histogram) = &row.histogram {
            sum.merge(histogram);
        }
    }
    sum
}

/// Tests label by label, then the operations of those that differ, and says what was found.
fn judge(all: &mut [Tested], min_effect: f64, design: Design, memo: &mut Memo) {
    let least_n = design.least_n(opening_tests(all));
    let decisions = decisions(all);
    let largest = 1.0 + if design == Design::Blocks { 0.0 } else { min_effect };
    for (Tested { row, contrast }, decision) in all.iter_mut().zip(decisions) {
        let level = decision.map(|decision| SIGNIFICANCE * decision.share);
        row.level = level;
        row.p_adjusted = decision.map(|decision| decision.adjusted_p);
        row.p = row.p.filter(|_| decision.is_some());
        if row.base_n.min(row.new_n) >= LEAST {
            (row.ci95_low, row.ci95_high) = interval(contrast, level, largest, memo);
        }
        if row.tier == Tier::Label {
            row.least_n = least_n;
        }
        row.claim = claim(row, contrast, min_effect);
        row.sentence = sentences::describe(row, design, min_effect);
    }
}

/// The most tests that share the error probability at first.
fn opening_tests(all: &[Tested]) -> usize {
    let opening = || all.iter().map(|one| &one.row).filter(|row| row.tier == Tier::Label);
    let questions: BTreeSet<usize> = opening().map(|row| row.question).collect();
    let of = |question: &usize| opening().filter(|row| row.question == *question).count();
    questions.len() * questions.iter().map(of).max().unwrap_or(0)
}

/// The decision on each row; `None`: not tested.
fn decisions(all: &[Tested]) -> Vec<Option<Decision>> {
    let (mut families, mut p, mut places) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (place, Tested { row, .. }) in all.iter().enumerate() {
        let Some(row_p) = row.p else { continue };
        let family: &mut Family = families.entry(row.question).or_default();
        let tests = if row.tier == Tier::Label { &mut family.opening } else { &mut family.below };
        tests.push(p.len());
        p.push(row_p);
        places.push(place);
    }
    let families: Vec<Family> =
        families.into_values().filter(|family| !family.opening.is_empty()).collect();
    let mut decisions = vec![None; all.len()];
    for (place, decision) in places.into_iter().zip(decide(&p, &families, SIGNIFICANCE)) {
        decisions[place] = decision;
    }
    decisions
}

/// Ends of the interval at a level; of a row that is not tested, of its own 95 %.
fn interval(
    contrast: &Contrast,
    level: Option<f64>,
    largest: f64,
    memo: &mut Memo,
) -> (Option<f64>, Option<f64>) {
    let (low, high) = contrast.interval(level.unwrap_or(SIGNIFICANCE), largest, memo);
    (Some(low).filter(|low| *low > 0.0), Some(high).filter(|high| high.is_finite()))
}

fn claim(row: &Row, contrast: &Contrast, min_effect: f64) -> Claim {
    let (Some(level), Some(p)) = (row.level, row.p_adjusted) else {
        let too_few = row.tier == Tier::Label && row.base_n.min(row.new_n) < LEAST;
        return if too_few { Claim::TooFew } else { Claim::NotTested };
    };
    if contrast.least_p() >= level {
        return Claim::TooFew;
    }
    // A factor and its inverse are equally large.
    let is_large = row.speedup.max(1.0 / row.speedup) - 1.0 > min_effect;
    match p < SIGNIFICANCE && is_large {
        true if row.speedup > 1.0 => Claim::Faster,
        true => Claim::Slower,
        false => Claim::None,
    }
}

fn point(side: &Side, cell: u32) -> String {
    side.runs.first().map_or(String::new(), |run| rows::point(run, cell))
}

/// Names and values of what varies.
fn params(side: &Side, cell: u32) -> BTreeMap<String, String> {
    let Some(sweep) = side.runs.first().and_then(|run| run.run.sweep.as_ref()) else {
        return BTreeMap::new();
    };
    let names = sweep.dimensions.iter().map(|dimension| dimension.name.clone());
    names.zip(sweep.values_at(cell).into_iter().map(str::to_string)).collect()
}

/// An operation that does another amount of work in B than in A, the same in every execution of a side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Amount {
    /// Label path.
    pub label: String,
    /// Operation.
    pub op: String,
    /// Point of the sweep.
    pub cell: u32,
    /// The same in words, `block=4k`; "" if nothing varies.
    #[serde(skip)]
    pub point: String,
    /// Names and values of what varies.
    #[serde(rename = "point")]
    pub params: BTreeMap<String, String>,
    /// Calls of A in one execution.
    pub base_calls: u64,
    /// Calls of B.
    pub new_calls: u64,
    /// Bytes of A in one execution.
    pub base_bytes: u64,
    /// Bytes of B.
    pub new_bytes: u64,
    /// The difference in words.
    pub sentence: String,
}

/// All of them, in order of appearance.
pub(crate) fn amounts(
    a: &Samples,
    b: &Samples,
    place: impl Fn(u32) -> (String, BTreeMap<String, String>),
) -> Vec<Amount> {
    let differing = |key: &Key| {
        let (base, new) = (work(a, key)?, work(b, key)?);
        (base != new).then(|| amount(key, base, new, place(key.2)))
    };
    let only_b = b.keys().filter(|key| !a.knows(key));
    let all = a.keys().chain(only_b).filter(|key| !key.1.is_empty());
    all.filter_map(differing).collect()
}

/// The work of a side; nothing where it executed the label without the operation.
fn work(side: &Samples, key: &Key) -> Option<Work> {
    let label = (key.0.clone(), String::new(), key.2);
    match side.knows(key) {
        true => side.fixed_work(key),
        false => side.knows(&label).then(Work::default),
    }
}

fn amount(
    (label, op, cell): &Key,
    base: Work,
    new: Work,
    (point, params): (String, BTreeMap<String, String>),
) -> Amount {
    let said = phrase(op, base, new);
    Amount {
        sentence: format!("{}: B {said}", subject(label, op, &point)),
        label: label.clone(),
        op: op.clone(),
        cell: *cell,
        point,
        params,
        base_calls: base.calls,
        new_calls: new.calls,
        base_bytes: base.bytes,
        new_bytes: new.bytes,
    }
}

impl Amount {
    /// `reads 3.0x as much (30 MiB, A 10 MiB)`; without the amounts if it `is_short`.
    pub(crate) fn phrase(&self, is_short: bool) -> String {
        let base = Work { calls: self.base_calls, bytes: self.base_bytes };
        let said = phrase(&self.op, base, Work { calls: self.new_calls, bytes: self.new_bytes });
        let end = said.find(" (").filter(|_| is_short).unwrap_or(said.len());
        said[..end].to_string()
    }
}

fn phrase(op: &str, base: Work, new: Work) -> String {
    let of_bytes = base.bytes != new.bytes;
    let (before, after) = if of_bytes { (base.bytes, new.bytes) } else { (base.calls, new.calls) };
    let more = more(before, after, of_bytes);
    match rows::class(op) {
        _ if !of_bytes && after == 0 => format!("makes no {op} calls (A {before})"),
        _ if !of_bytes => format!("makes {more} {op} calls ({after}, A {before})"),
        class => {
            let verb = match class {
                Class::Read => "reads",
                Class::Write => "writes",
                _ => "moves",
            };
            format!("{verb} {more} ({}, A {})", format_bytes(after), format_bytes(before))
        }
    }
}

/// `3.0x as much`, `5 % more`, `20 % less`.
fn more(before: u64, after: u64, of_bytes: bool) -> String {
    let ratio = after as f64 / before as f64;
    let (as_much, less) = if of_bytes { ("as much", "less") } else { ("as many", "fewer") };
    let per_cent = |share: f64| match share * 100.0 {
        share if share < 0.1 => "slightly".to_string(),
        share if share < 10.0 => format!("{share:.1} %").replace(".0 %", " %"),
        share => format!("{share:.0} %"),
    };
    match ratio {
        _ if before == 0 => "more".into(),
        _ if after == 0 => "nothing".into(),
        ratio if !(0.67..1.5).contains(&ratio) => format!("{}x {as_much}", figure(ratio)),
        ratio if ratio > 1.0 => format!("{} more", per_cent(ratio - 1.0)),
        ratio => format!("{} {less}", per_cent(1.0 - ratio)),
    }
}

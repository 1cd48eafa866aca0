//! Compares replays with originals, execution by execution: the report's fields, its verdict in one sentence, the
//! first place of each kind of difference, and gates.
//!
//! Gates on replays: `elapsed <= 5%` holds if the elapsed time of the replay is within 5 % of the original's.
//!
//! ```text
//! gate = [ label ":" ] figure ( "<=" | "<" ) number "%"      elapsed io think concurrency ks wasserstein
//!      | kind ( "<=" | "<" ) number [ "%" ]                  operations missing extra order names offsets bytes results open_flags
//! ```
//!
//! A figure's error counts without its sign. A kind of difference is a number of operations, or with
//! `%` their share of the original's; of several replays the worst decides.

use super::align::{Example, Kind, Tally};
use super::figures::Scope;
use super::names::{Renaming, Shared, Side};
use super::profile::Profile;
use super::stream::{Ahead, Near, Step, Steps, Texts, steps};
use super::{align, figures, names};
use crate::StoreError;
use crate::gate::{Condition, GateResult, Number, Verdict};
use crate::text::{at_least, grouped};
use model::event::{NO_ID, rename_word};
use model::op::Class;
use model::run::{Trace, TraceGap};
use model::units::Measure;
use model::{Op, Run, errno, words};
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

/// Version of the JSON object.
pub(crate) const VERSION: u32 = 1;

/// A stored run that takes part.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// Its name in reports: its path.
    pub name: &'a str,
    /// The folder of its event table.
    pub folder: &'a Path,
    /// Its run.json.
    pub run: &'a Run,
}

/// Why runs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The problem, with the name of the run.
    pub message: String,
    /// How to fix it.
    pub help: String,
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Refused {
        Refused { message: error.to_string(), help: String::new() }
    }
}

/// How faithful replays are.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fidelity {
    /// Version of this object.
    pub version: u32,
    /// Executions of the original.
    pub originals: Vec<Execution>,
    /// Executions of the replay.
    pub replays: Vec<Execution>,
    /// Names of the first original that have another one in the first replay.
    pub renamed: u64,
    /// The first of them: the name in the original, the one in the replay.
    pub renamed_first: Option<[String; 2]>,
    /// Calls on files that the log of the first original shows and that neither side has as operations.
    pub left_out: Vec<LeftOut>,
    /// Sentences on what the recording of the first original lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
    /// Executions and bytes by operation, of the first original and the first replay.
    pub ops: Vec<OpCounts>,
    /// Times: in all, then by phase in the order of the original.
    pub scopes: Vec<Scope>,
    /// Remarks in sentences.
    pub notes: Vec<String>,
    /// Gates and how they ended.
    pub gates: Vec<GateResult>,
    /// One sentence.
    pub verdict: String,
    /// Profiles of the first original and the first replay, for pictures.
    #[serde(skip)]
    pub(crate) pictured: [Profile; 2],
    /// Names of labels in them.
    #[serde(skip)]
    pub(crate) texts: Vec<(u32, String)>,
}

/// One execution of either side.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Execution {
    /// Its run, and of several executions in it the number of the repetition.
    pub name: String,
    /// Operations.
    pub operations: u64,
    /// Opens outside of every label, besides, that give a rank what another rank of an imported
    /// original had opened: no differences.
    pub adopted: u64,
    /// Writes of the original whose place in the file is not compared, because several ranks append to it.
    #[serde(skip)]
    pub appends: u64,
    /// Share of the bytes read that came from the page cache, 0 to 1; null where it is unknown, as of an import.
    pub page_cache_share: Option<f64>,
    /// The file system or ram disk that kept the files in memory; null: none, or unknown.
    pub memory_storage: Option<String>,
    /// Differences from the first original; `None` for that one itself.
    pub differences: Option<Differences>,
}

/// Calls that are not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The name of the call, or what they have in common.
    pub what: String,
    /// How many.
    pub count: u64,
}

/// Differences between an execution and the original. Units: operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Differences {
    /// Operations that differ in anything, including order, missing and extra.
    pub operations: u64,
    /// In the original alone.
    pub missing: u64,
    /// In the replay alone.
    pub extra: u64,
    /// At another place in the order of their process.
    pub order: u64,
    /// On another file.
    pub names: u64,
    /// On other bytes of the file.
    pub offsets: u64,
    /// With another requested number of bytes.
    pub bytes: u64,
    /// With another result.
    pub results: u64,
    /// Opened with other flags, where both sides know them.
    pub open_flags: u64,
    /// The first of each kind.
    pub firsts: Vec<First>,
}

/// Executions and bytes of one operation on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OpCounts {
    /// The operation.
    pub op: &'static str,
    /// Executions in the original.
    pub original_count: u64,
    /// Executions in the replay.
    pub replay_count: u64,
    /// Bytes moved in the original.
    pub original_bytes: u64,
    /// Bytes moved in the replay.
    pub replay_bytes: u64,
}

impl Differences {
    pub(crate) fn new(tally: &Tally, firsts: Vec<First>) -> Differences {
        let count = |kind: Kind| tally.count(kind);
        let ours: u64 = tally.ops.values().map(|counts| counts.count[0]).sum();
        let [missing, extra, order] = [Kind::Missing, Kind::Extra, Kind::Order].map(count);
        let pairs = ours - missing - order;
        Differences {
            operations: missing + extra + order + pairs - tally.equal,
            missing,
            extra,
            order,
            names: count(Kind::Names),
            offsets: count(Kind::Offsets),
            bytes: count(Kind::Bytes),
            results: count(Kind::Results),
            open_flags: count(Kind::OpenFlags),
            firsts,
        }
    }

    /// How many operations differ in one way.
    pub fn count(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Missing => self.missing,
            Kind::Extra => self.extra,
            Kind::Order => self.order,
            Kind::Names => self.names,
            Kind::Offsets => self.offsets,
            Kind::Bytes => self.bytes,
            Kind::Results => self.results,
            Kind::OpenFlags => self.open_flags,
        }
    }
}

impl Fidelity {
    /// The replay with most differences; of equal ones the first.
    pub(crate) fn worst(&self) -> Option<&Execution> {
        let differing = |one: &&Execution| one.differences.as_ref().map_or(0, |d| d.operations);
        self.replays.iter().rev().max_by_key(differing)
    }
}

/// Whether operations differ, which kinds, and the elapsed time.
pub(crate) fn describe(found: &Fidelity) -> String {
    let (Some(original), Some(worst)) = (found.originals.first(), found.worst()) else {
        return "nothing was compared".into();
    };
    let parts = [Some(operations(found, original, worst)), Some(elapsed(found)), cached(found)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// From this share of cached bytes on, the times of a replay show memory speed.
const CACHED_SHARE: f64 = 0.5;

/// Where the replays' data came from, if that was memory.
fn cached(found: &Fidelity) -> Option<String> {
    let replays = &found.replays;
    let who = if replays.len() > 1 { "the replays" } else { "the replay" };
    if let Some(storage) = replays.iter().find_map(|one| one.memory_storage.as_ref()) {
        return Some(format!("{who} ran in memory ({storage})"));
    }
    let shares = replays.iter().filter_map(|one| one.page_cache_share);
    let most = shares.fold(None, |most: Option<f64>, share| Some(most.unwrap_or(0.0).max(share)));
    let share = most.filter(|share| *share >= CACHED_SHARE)?;
    Some(format!("{who} read {} of the bytes from the page cache", at_least(share)))
}

/// Names of calls that the sentence has.
const LEFT_OUT_NAMED: usize = 3;

/// "2,018 left out: 1,817 fcntl, 150 flock and 51 others".
fn names_left_out(found: &Fidelity) -> Option<String> {
    let all: u64 = found.left_out.iter().map(|one| one.count).sum();
    let named = found.left_out.iter().take(LEFT_OUT_NAMED);
    let names: Vec<String> =
        named.clone().map(|one| format!("{} {}", grouped(one.count), one.what)).collect();
    let rest = match all - named.map(|one| one.count).sum::<u64>() {
        0 => String::new(),
        rest => format!(" and {} others", grouped(rest)),
    };
    (all > 0).then(|| format!("{} left out: {}{rest}", grouped(all), names.join(", ")))
}

fn operations(found: &Fidelity, original: &Execution, worst: &Execution) -> String {
    let skipped = found.left_out.iter().map(|one| one.count).sum::<u64>();
    let all = grouped(original.operations);
    let differences = worst.differences.clone().unwrap_or_default();
    let one = format!("{} does", worst.name);
    let who = if found.replays.len() > 1 { "each replay does" } else { &one };
    let but = names_left_out(found).map(|text| format!("; {text}")).unwrap_or_default();
    match differences.operations {
        0 if skipped > 0 => {
            let whole = grouped(original.operations + skipped);
            format!("{who} {all} of the {whole} operations of {}{but}", original.name)
        }
        0 if !found.incomplete.is_empty() => {
            format!("{who} what was recorded of {}, {all} operations", original.name)
        }
        0 => format!("{who} what {} did, all of its {all} operations", original.name),
        n => format!(
            "{} differs from {} in {} of {all} operations{} ({}){but}",
            worst.name,
            original.name,
            grouped(n),
            // Operations that are extra are none of the original's.
            match differences.extra {
                0 => String::new(),
                _ => format!(" there and {} here", grouped(worst.operations)),
            },
            kinds(&differences).join(", ")
        ),
    }
}

/// "3 missing, 1 with another offset".
fn kinds(differences: &Differences) -> Vec<String> {
    let known = Kind::all().map(|kind| (kind, differences.count(kind)));
    let found = known.into_iter().filter(|(_, count)| *count > 0);
    found.map(|(kind, count)| format!("{} {}", grouped(count), kind.words())).collect()
}

fn elapsed(found: &Fidelity) -> String {
    let figures = found.scopes.first().map_or(&[][..], |scope| &scope.figures[..]);
    let figure = figures.iter().find(|figure| figure.name == "elapsed");
    let Some(figure) = figure else { return "how long the original took is unknown".into() };
    let [ours, theirs] = [figure.original, figure.replay].map(Option::unwrap_or_default);
    let time = |ns: f64| Measure::Time.format(ns, 4);
    let several = found.originals.len() + found.replays.len() > 2;
    let medians = if several { " (medians)" } else { "" };
    let took = format!("it took {} instead of {}{medians}", time(theirs), time(ours));
    let Some(error) = figure.error_percent else { return took };
    let spread = figure.spread_percent.map_or_else(
        || "record the original twice to see how much it varies".to_string(),
        |spread| {
            let n = found.originals.len();
            let within = if error.abs() <= spread { "within" } else { "beyond" };
            format!("{within} the {spread:.1} % that {n} originals vary by")
        },
    );
    format!("{took} ({error:+.1} %; {spread})")
}

/// The first operation that differs in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct First {
    /// How it differs.
    pub kind: Kind,
    /// Its rank.
    pub rank: u32,
    /// The original around it.
    pub original: Vec<ShownStep>,
    /// The replay around it.
    pub replay: Vec<ShownStep>,
}

/// An operation as people read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ShownStep {
    /// It is the one that differs, not one around it.
    pub here: bool,
    /// Its number on its rank, from 0.
    pub number: u64,
    /// The operation as text: `fwrite a, 4096 bytes at 0`.
    pub text: String,
    /// Where it stands: `x.ppl:3` or `app.strace:17`; "" if nobody tells.
    pub place: String,
}

/// Examples as they are shown, in the order of [`Kind`].
pub(crate) fn first_differences(
    examples: &[Example],
    texts: &Texts,
    runs: [&Run; 2],
) -> Vec<First> {
    let mut sorted: Vec<&Example> = examples.iter().collect();
    sorted.sort_by_key(|example| example.kind);
    let first = |example: &&Example| {
        let side = |at: usize, here: Option<Step>| {
            let shown = Shown { texts, run: runs[at], here };
            shown.around(&example.near[at])
        };
        First {
            kind: example.kind,
            rank: example.rank,
            original: side(0, example.steps[0]),
            replay: side(1, example.steps[1]),
        }
    };
    sorted.iter().map(first).collect()
}

struct Shown<'a> {
    texts: &'a Texts,
    run: &'a Run,
    here: Option<Step>,
}

impl Shown<'_> {
    fn around(&self, near: &Near) -> Vec<ShownStep> {
        near.past.iter().chain(&near.next).map(|step| self.step(step)).collect()
    }

    fn step(&self, step: &Step) -> ShownStep {
        ShownStep {
            here: self.here == Some(*step),
            number: step.seq,
            text: self.text(step),
            place: self.place(step),
        }
    }

    fn text(&self, step: &Step) -> String {
        let op = Op::from_u8(step.op);
        let mut text = op.map_or("?", Op::name).to_string();
        let copies = op.is_some_and(Op::is_between_files);
        let moves = op.is_some_and(|op| matches!(op.row().class, Class::Read | Class::Write));
        for (sign, name) in [(" ", step.name), (if copies { " from " } else { " to " }, step.name2)]
        {
            if name != NO_ID {
                text.push_str(&format!("{sign}{}", self.texts.shown(name)));
            }
        }
        match (step.asked, step.offset) {
            (0, 0) => {}
            (how, _) if op == Some(Op::Rename) => {
                text.extend(rename_word(how).map(|how| format!(", \"{how}\"")));
            }
            (asked, offset) => text.push_str(&format!(", {asked} bytes at {offset}")),
        }
        if copies {
            text.push_str(&format!(" from {}", step.from));
        }
        match step.errno {
            0 if moves && step.done < step.asked => {
                text.push_str(&format!(": {} moved", step.done))
            }
            0 => {}
            number => text.push_str(&format!(": {}", errno::name(number))),
        }
        text
    }

    fn place(&self, step: &Step) -> String {
        let header = &self.run.run;
        if let Some(trace) = &header.trace {
            let log = trace.logs.get(step.log as usize).filter(|_| step.log_line > 0);
            return log.map_or_else(String::new, |log| format!("{}:{}", log.name, step.log_line));
        }
        let site = header.sites.iter().find(|site| site.site == step.site);
        site.map_or_else(String::new, |site| format!("{}:{}", site.file, site.line))
    }
}

/// Compares the executions of replays with the original. With several originals the first
/// one is what operations are compared with; times are compared with the median of all.
///
/// # Errors
/// A run without all of its events, or an event table that cannot be read.
pub fn compare(originals: &[Recorded<'_>], replays: &[Recorded<'_>]) -> Result<Fidelity, Refused> {
    let (ours, theirs) = (executions(originals)?, executions(replays)?);
    let mut found = Bench::default().measure(&ours, &theirs)?;
    if let Some(empty) = found.originals.iter().find(|original| original.operations == 0) {
        return Err(Refused {
            message: format!(
                "{}: the run has no operations: there is nothing to compare",
                empty.name
            ),
            help:
                "an import that kept none may have left out files of the system: --all keeps them"
                    .into(),
        });
    }
    let all = || originals.iter().chain(replays);
    let chance = appends(found.replays.iter().map(|replay| replay.appends).max());
    let notes = [cut_off, dropped, without_durations].iter().flat_map(|say| all().filter_map(say));
    found.notes.extend(all().flat_map(losses).chain(notes).chain(chance));
    found.verdict = describe(&found);
    Ok(found)
}

impl Fidelity {
    /// Judges gates.
    pub fn judge(&mut self, gates: &[Gate]) {
        self.gates = gates.iter().map(|gate| gate.judge(self)).collect();
    }
}

/// Opens outside of every label may be additions that give ranks what others had opened: the original is
/// imported, and everything in it has a label.
fn may_adopt(original: &Run) -> bool {
    original.run.trace.is_some() && original.rows.iter().all(|row| !row.label.is_empty())
}

/// Removes opens of what others had opened, and counts them.
pub(crate) fn own(
    steps: Steps,
    adopts: impl Fn(&Step) -> bool + 'static,
    adopted: &Rc<Cell<u64>>,
) -> Steps {
    let adopted = Rc::clone(adopted);
    Box::new(steps.filter(move |step| {
        let is_adopted = step.as_ref().is_ok_and(&adopts);
        adopted.set(adopted.get() + u64::from(is_adopted));
        !is_adopted
    }))
}

/// An open that has this label.
pub(crate) fn is_adopted(step: &Step, label: u32) -> bool {
    step.op == Op::Fopen as u8 && step.label == label
}

/// An execution in a stored run.
#[derive(Clone, Debug)]
struct Part<'a> {
    recorded: Recorded<'a>,
    name: String,
    /// Point of a sweep and repetition.
    execution: (u32, u32),
}

fn executions<'a>(all: &[Recorded<'a>]) -> Result<Vec<Part<'a>>, Refused> {
    let mut parts = Vec::new();
    for recorded in all {
        check(recorded)?;
        let order = order(recorded.run);
        let whole = order.iter().filter(|one| one.outcome != INTERRUPTED);
        let mut repetitions: Vec<(u32, u32)> =
            whole.map(|one| (one.cell, one.repetition)).collect();
        repetitions.sort_unstable();
        if order.is_empty() {
            repetitions.push((0, 0));
        }
        let several = order.len() > 1;
        parts.extend(repetitions.into_iter().map(|execution| Part {
            recorded: *recorded,
            name: match several {
                true => format!("{} (repetition {})", recorded.name, execution.1),
                false => recorded.name.to_string(),
            },
            execution,
        }));
    }
    Ok(parts)
}

/// Whether a run can be compared: all events must be there, of one thing.
///
/// # Errors
/// It has no events, a sample of them, several points of a sweep, or no execution that reached its end.
pub fn check(recorded: &Recorded<'_>) -> Result<(), Refused> {
    let name = recorded.name;
    let refused = |message: String, help: &str| Err(Refused { message, help: help.into() });
    let Some(events) = &recorded.run.run.events else {
        return refused(
            format!("{name}: the run has no events"),
            "record it with --events: parabench run x.ppl --events --out DIR",
        );
    };
    if events.sample_every > 1 {
        let every = events.sample_every;
        return refused(
            format!("{name}: the run kept a sample of its events, one of {every}"),
            "fidelity compares every operation: record it with --events alone",
        );
    }
    if is_cut_off(recorded.run) {
        return refused(
            format!(
                "{name}: the run was interrupted before an execution was over: it is not compared"
            ),
            "repeat the run",
        );
    }
    if recorded.run.run.sweep.as_ref().is_some_and(|sweep| sweep.cells.len() > 1) {
        return refused(
            format!("{name}: the run is a sweep over several points"),
            "compare runs of one point, also with repetitions: parabench run x.ppl --reps 5",
        );
    }
    Ok(())
}

/// Outcome of an execution that a signal cut off; it is not compared.
const INTERRUPTED: &str = "interrupted";

/// The executions of a sweep.
fn order(run: &Run) -> &[model::sweep::Execution] {
    run.run.sweep.as_ref().map_or(&[], |sweep| &sweep.order)
}

/// No execution of the run came to its end before it was interrupted.
fn is_cut_off(run: &Run) -> bool {
    let all = order(run).iter().all(|one| one.outcome == INTERRUPTED);
    let is_over = [INTERRUPTED, "time limit"].contains(&run.run.outcome.as_str());
    is_over && all
}

/// Executions that are left out because they were interrupted.
fn cut_off(recorded: &Recorded<'_>) -> Option<String> {
    let one = order(recorded.run).iter().find(|one| one.outcome == INTERRUPTED)?;
    let (name, repetition) = (recorded.name, one.repetition);
    Some(format!("{name}: repetition {repetition} was interrupted and is not compared"))
}

fn dropped(recorded: &Recorded<'_>) -> Option<String> {
    let dropped = recorded.run.run.events.as_ref().map_or(0, |events| events.dropped);
    (dropped > 0).then(|| {
        let name = recorded.name;
        format!("{name}: {dropped_operations} are not in its events, which had no memory for them; they count as missing or extra", dropped_operations = words::count(dropped, "operation"))
    })
}

/// A note on appends whose places are not compared.
pub(crate) fn appends(count: Option<u64>) -> Option<String> {
    let count = count.filter(|count| *count > 0)?;
    Some(format!(
        "where {count} appends lie is left to chance, because several ranks append to the same files: not compared"
    ))
}

/// The log of the run has no durations of calls.
fn lacks_durations(run: &Run) -> bool {
    let gaps = run.run.trace.iter().flat_map(|trace| &trace.gaps);
    gaps.into_iter().any(|gap| gap.code == "no-durations")
}

fn without_durations(recorded: &Recorded<'_>) -> Option<String> {
    lacks_durations(recorded.run).then(|| {
        let name = recorded.name;
        format!("{name}: its log has no durations: figures that need them are left out")
    })
}

/// Operations that happened and are not in the run: they are not compared.
fn losses(recorded: &Recorded<'_>) -> Vec<String> {
    let gaps = recorded.run.run.trace.iter().flat_map(Trace::losses);
    gaps.map(|gap| format!("{}: incomplete: {}", recorded.name, gap.says)).collect()
}

/// Share of bytes from the page cache, of a run that read something through it.
fn cache_share(run: &Run) -> Option<f64> {
    run.run.evidence.page_cache_share.filter(|share| share.is_finite())
}

/// Calls that the log shows and that are no operations of the run.
fn left_out(run: &Run) -> Vec<LeftOut> {
    let gaps = run.run.trace.iter().flat_map(Trace::left_out);
    let named = |gap: &TraceGap| {
        let named: u64 = gap.names.iter().map(|name| name.count).sum();
        let rest = match gap.code.as_str() {
            "unknown-descriptors" => "calls on unknown descriptors",
            _ => "other calls",
        };
        let names = gap.names.iter().map(|one| (one.name.clone(), one.count));
        names.chain([(rest.to_string(), gap.count.saturating_sub(named))]).collect::<Vec<_>>()
    };
    let all = gaps.flat_map(named).filter(|(_, count)| *count > 0);
    let mut all: Vec<LeftOut> = all.map(|(what, count)| LeftOut { what, count }).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.count));
    all
}

/// State of the comparisons of one report.
#[derive(Default)]
struct Bench {
    texts: Rc<RefCell<Texts>>,
    /// Names of the two executions that are being compared.
    names: Renaming,
    prefixes: [Vec<u8>; 2],
}

/// Two executions that are compared; the first is of an original.
type Compared<'p, 'a> = [&'p Part<'a>; 2];

impl Bench {
    /// The operations of one side.
    fn steps(&self, pair: Compared<'_, '_>, which: usize) -> Result<Steps, StoreError> {
        let part = pair[which];
        let Recorded { folder, run, .. } = part.recorded;
        steps(folder, run, part.execution, &self.prefixes[which], &self.texts)
    }

    /// Pairs the names of two runs, independently of other runs.
    fn name(&mut self, pair: Compared<'_, '_>) -> Result<(), StoreError> {
        let mut sides = [Side::default(), Side::default()];
        for (side, part) in sides.iter_mut().zip(pair) {
            side.add(part.recorded.folder)?;
        }
        let [ours, theirs] = &mut sides;
        self.names = Renaming::of(ours, theirs, &mut self.texts.borrow_mut());
        self.prefixes = sides.map(|side| side.prefix);
        Ok(())
    }

    fn compare(&mut self, pair: Compared<'_, '_>) -> Result<Tally, StoreError> {
        self.name(pair)?;
        let shared = match pair[0].recorded.run.run.trace {
            Some(_) => Shared::of(self.steps(pair, 0)?)?,
            None => Shared::default(),
        };
        let [adopted, appends] = [(); 2].map(|()| Rc::new(Cell::new(0)));
        let ours = shared.compared(self.steps(pair, 0)?, &appends);
        let theirs = self.replayed(pair, &shared, &adopted)?;
        let theirs = shared.compared(theirs, &Rc::default());
        let mut tally = Tally::default();
        let (mut ours, mut theirs) = (Ahead::of(ours), Ahead::of(theirs));
        align::compare(&mut ours, &mut theirs, &mut self.names, &mut tally)?;
        (tally.adopted, tally.appends) = (adopted.get(), appends.get());
        Ok(tally)
    }

    /// The operations of the replay, with the rank numbers of the original.
    fn replayed(
        &self,
        pair: Compared<'_, '_>,
        shared: &Shared,
        adopted: &Rc<Cell<u64>>,
    ) -> Result<Steps, StoreError> {
        let steps = self.steps(pair, 1)?;
        if pair[1].recorded.run.run.trace.is_some() {
            let numbers = names::matched(self.steps(pair, 0)?, steps, &self.names)?;
            let steps = self.steps(pair, 1)?;
            return match numbers {
                Some(numbers) => names::renumbered(steps, &numbers),
                None => Ok(steps),
            };
        }
        let shared = shared.clone();
        Ok(match may_adopt(pair[0].recorded.run) {
            true => own(steps, |step| is_adopted(step, NO_ID), adopted),
            // Without labels names decide.
            false => own(steps, move |step| shared.borrows(step), adopted),
        })
    }

    fn execution(&self, pair: Compared<'_, '_>, tally: &Tally) -> Execution {
        let part = pair[1];
        let runs = pair.map(|part| part.recorded.run);
        let firsts = first_differences(&tally.examples, &self.texts.borrow(), runs);
        Execution {
            name: part.name.clone(),
            operations: tally.ops.values().map(|counts| counts.count[1]).sum(),
            adopted: tally.adopted,
            appends: tally.appends,
            page_cache_share: cache_share(runs[1]),
            memory_storage: crate::rules::in_memory(runs[1]).map(str::to_string),
            differences: Some(Differences::new(tally, firsts)),
        }
    }

    fn measure(
        mut self,
        originals: &[Part<'_>],
        replays: &[Part<'_>],
    ) -> Result<Fidelity, Refused> {
        let (Some(original), Some(replay)) = (originals.first(), replays.first()) else {
            let message = "there is nothing to compare".to_string();
            return Err(Refused { message, help: "name an original and a replay".into() });
        };
        let left_out = left_out(original.recorded.run);
        let losses = original.recorded.run.run.trace.iter().flat_map(Trace::losses);
        let incomplete = losses.map(|gap| gap.says.clone()).collect();
        let mut found = Fidelity { version: VERSION, left_out, incomplete, ..Fidelity::default() };
        let mut profiles: [Vec<Profile>; 2] = Default::default();
        for theirs in replays {
            let pair = [original, theirs];
            let mut tally = self.compare(pair)?;
            found.replays.push(self.execution(pair, &tally));
            if found.originals.is_empty() {
                found.begin(&tally, &self, original);
                profiles[0].push(std::mem::take(&mut tally.profiles[0]));
            }
            profiles[1].push(std::mem::take(&mut tally.profiles[1]));
        }
        for ours in &originals[1..] {
            let pair = [original, ours];
            let tally = self.compare(pair)?;
            found.originals.push(self.execution(pair, &tally));
            // It gets its phases from the operations that replay it.
            let mut tally = self.compare([ours, replay])?;
            profiles[0].push(std::mem::take(&mut tally.profiles[0]));
        }
        for (profiles, parts) in profiles.iter_mut().zip([originals, replays]) {
            let pairs = profiles.iter_mut().zip(parts);
            let lacking = pairs.filter(|(_, part)| lacks_durations(part.recorded.run));
            lacking.for_each(|(profile, _)| profile.forget_unknown());
        }
        let texts = self.texts.borrow();
        found.scopes = figures::scopes(&profiles[0], &profiles[1], &texts);
        let uneven = figures::uneven(&profiles[1], &texts);
        found.notes.extend(uneven.into_iter().map(|phase| {
            format!(
                "the phase \"{phase}\" is not in all of the replays: its times are not compared"
            )
        }));
        let labels = profiles.iter().flatten().flat_map(|one| one.phases.keys());
        found.texts = labels.map(|label| (*label, texts.shown(*label))).collect();
        found.pictured = profiles.map(|side| side.into_iter().next().unwrap_or_default());
        Ok(found)
    }
}

impl Fidelity {
    /// Counts and names of the first pair.
    fn begin(&mut self, tally: &Tally, bench: &Bench, original: &Part<'_>) {
        let operations = tally.ops.values().map(|counts| counts.count[0]).sum();
        let name = original.name.clone();
        self.originals.push(Execution { name, operations, ..Execution::default() });
        let texts = bench.texts.borrow();
        self.renamed = bench.names.renamed();
        let first = bench.names.first_renamed();
        self.renamed_first = first.map(|(ours, theirs)| [texts.shown(ours), texts.shown(theirs)]);
        let counts = tally.ops.iter().filter_map(|(op, counts)| {
            Some(OpCounts {
                op: Op::from_u8(*op)?.name(),
                original_count: counts.count[0],
                replay_count: counts.count[1],
                original_bytes: counts.bytes[0],
                replay_bytes: counts.bytes[1],
            })
        });
        self.ops = counts.collect();
    }
}

/// Errors of times, in the order of reports.
const FIGURES: [&str; 6] = ["elapsed", "io", "think", "concurrency", "ks", "wasserstein"];

/// A condition on how faithful a replay is.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    condition: Condition,
    subject: Subject,
}

/// The measure of a gate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Subject {
    Figure(&'static str),
    /// All that differ.
    Operations,
    Differences(Kind),
}

impl Gate {
    /// Reads a gate.
    ///
    /// # Errors
    /// The text is no gate.
    pub fn parse(text: &str) -> Result<Gate, String> {
        let condition = Condition::parse(text, "elapsed <= 5%", "a number such as 5 % or 5")?;
        let Condition { name, label, number, .. } = &condition;
        let kind = Kind::all().into_iter().find(|kind| kind.name() == name);
        let figure = FIGURES.iter().find(|figure| *figure == name);
        let subject = match (figure, kind) {
            (Some(figure), _) => Subject::Figure(figure),
            (_, Some(kind)) => Subject::Differences(kind),
            _ if name == "operations" => Subject::Operations,
            _ => {
                let (figures, kinds) = (FIGURES.join(" "), Kind::all().map(Kind::name).join(" "));
                let known = format!("{figures} operations {kinds}");
                return Err(format!("expected one of {known}, found {name:?}"));
            }
        };
        let is_figure = figure.is_some();
        if !condition.is_upper() {
            return Err("expected <= or <, as in elapsed <= 5%".into());
        }
        if matches!(number, Number::Change(change) if change.is_sign_negative()) {
            return Err(format!("an error has no sign: expected {name} <= 5 %"));
        }
        if is_figure && matches!(number, Number::Plain(_)) {
            return Err(format!("expected a share of the original, as in {name} <= 5 %"));
        }
        match label.as_deref() {
            Some("") if is_figure => {
                Err(format!("expected a label before the colon, or {name} alone"))
            }
            Some(_) if !is_figure => {
                Err(format!("{name} counts all operations: leave the label out"))
            }
            _ => Ok(Gate { condition, subject }),
        }
    }

    /// Judges the gate.
    pub(crate) fn judge(&self, found: &Fidelity) -> GateResult {
        let phase = self.condition.label.as_deref();
        let (value, reason) = match self.subject {
            Subject::Figure(name) => figure(found, name, phase),
            Subject::Operations => self.differences(found, "that differ", |all| all.operations),
            Subject::Differences(kind) => {
                self.differences(found, kind.words(), |all| all.count(kind))
            }
        };
        let passes = value.is_some_and(|value| self.condition.holds(value));
        let verdict = if passes { Verdict::Pass } else { Verdict::Fail };
        GateResult { gate: self.condition.text.clone(), verdict, reasons: vec![reason] }
    }

    fn differences(
        &self,
        found: &Fidelity,
        what: &str,
        count: impl Fn(&Differences) -> u64,
    ) -> (Option<f64>, String) {
        let counts =
            found.replays.iter().filter_map(|replay| replay.differences.as_ref()).map(count);
        let worst = counts.max().unwrap_or(0);
        let all = found.originals.first().map_or(0, |original| original.operations);
        // Extra operations are not the original's.
        let reason = format!("{worst} operations {what}, where the original has {all}");
        match !matches!(self.condition.number, Number::Plain(_)) {
            true => (Some(100.0 * worst as f64 / all.max(1) as f64), reason),
            false => (Some(worst as f64), reason),
        }
    }
}

fn figure(found: &Fidelity, name: &str, phase: Option<&str>) -> (Option<f64>, String) {
    let scope = found.scopes.iter().find(|scope| scope.phase.as_deref() == phase);
    let Some(scope) = scope else {
        let phases = found.scopes.iter().filter_map(|scope| scope.phase.clone());
        let phases: Vec<String> = phases.collect();
        let known = match phases.len() {
            0 => "it has none".into(),
            count => words::list_some(&phases, count),
        };
        return (None, format!("there is no phase \"{}\": {known}", phase.unwrap_or_default()));
    };
    let Some(found) = scope.figures.iter().find(|figure| figure.name == name) else {
        return (None, format!("{name} is unknown: the log of a side has no durations"));
    };
    match found.error_percent {
        Some(error) => (Some(error.abs()), format!("{name} is off by {:.2} %", error.abs())),
        None => (None, format!("{name} is 0 in the original and more in the replay")),
    }
}

#[cfg(test)]
mod gate_tests {
    use super::*;

    #[test]
    fn gates_are_read() {
        let gate = Gate::parse("elapsed <= 5%").unwrap();
        assert_eq!((gate.subject, gate.condition.label), (Subject::Figure("elapsed"), None));
        let gate = Gate::parse(" a:b : think<2.5 %").unwrap();
        assert!(gate.condition.holds(2.4) && !gate.condition.holds(2.5));
        assert_eq!(gate.subject, Subject::Figure("think"));
        assert_eq!(gate.condition.label.as_deref(), Some("a:b"));
        assert_eq!(Gate::parse("operations <= 0").unwrap().subject, Subject::Operations);
        let gate = Gate::parse("order < 1%").unwrap();
        assert_eq!(gate.subject, Subject::Differences(Kind::Order));
        assert_eq!(gate.condition.number, Number::PerCent(1.0));
        // A change of at most 10 % to either side.
        assert_eq!(Gate::parse("io <= +10 %").unwrap().condition.limit, 10.0);
    }

    #[test]
    fn mistakes_are_refused() {
        for text in [
            "elapsed",
            "elapsed <= ",
            "elapsed <= -1%",
            "elapsed <= 5 s",
            "elapsed <= 5",
            "elapsed > 5%",
            "speed <= 5%",
            "p: speed <= 5%",
            "p: order <= 5",
            " : elapsed <= 5%",
            "",
        ] {
            assert!(Gate::parse(text).is_err(), "{text}");
        }
    }
}

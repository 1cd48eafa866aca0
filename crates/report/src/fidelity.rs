//! `parabench fidelity`: whether a replay does what an original did, and how its times differ.
//!
//! ```text
//! events of the original ─┐ names ▸ align ▸ tally ─▶ differences, each with its first place
//! events of the replay  ──┘                 └ profile (in all, by phase) ▸ figures ─▶ errors in %
//! ```
//!
//! Differences are counted exactly, operation by operation; ranks stand for each other by their
//! number, and names as `names` says. Times are never exact: each has its error, and beside it how
//! much the original differs from itself, where several were recorded. docs/fidelity.md has the
//! rules. Not here: whether one program is faster than another ([`crate::compare`]).

mod align;
mod bins;
mod chance;
mod examples;
mod figures;
mod gate;
mod intervals;
mod names;
mod pictures;
mod profile;
mod ranks;
pub mod show;
mod stream;
mod tally;
mod verdict;

#[cfg(test)]
mod tests;

pub use examples::{First, ShownStep};
pub use figures::{Figure, Latency, Scope};
pub use gate::Gate;
pub use pictures::html;
pub use tally::Kind;

use crate::StoreError;
use crate::compare::GateResult;
use chance::Shared;
use model::event::NO_ID;
use model::{Op, Run};
use names::{Renaming, Side, Texts};
use profile::Profile;
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use stream::{Ahead, Step, Steps, steps};
use tally::Tally;

/// Version of the JSON object.
const VERSION: u32 = 1;

/// A stored run that takes part.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// What it is called: its path.
    pub name: &'a str,
    /// The folder of its event table.
    pub folder: &'a Path,
    /// What run.json says.
    pub run: &'a Run,
}

/// Why runs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong, and with which run.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Refused {
        Refused { message: error.to_string(), help: String::new() }
    }
}

/// How faithful replays are.
#[derive(Clone, Debug, Serialize)]
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
    /// Executions and bytes by operation, of the first original and the first replay.
    pub ops: Vec<OpCounts>,
    /// Times: in all, then by phase in the order of the original.
    pub scopes: Vec<Scope>,
    /// What is to be known besides.
    pub notes: Vec<String>,
    /// Gates and how they ended.
    pub gates: Vec<GateResult>,
    /// One sentence.
    pub verdict: String,
    /// What the pictures show: of the first original and the first replay.
    #[serde(skip)]
    pictured: [Profile; 2],
    /// Names of labels in them.
    #[serde(skip)]
    texts: Vec<(u32, String)>,
}

/// One execution of either side.
#[derive(Clone, Debug, Default, Serialize)]
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
    /// What differs from the first original; `None` for that one itself.
    pub differences: Option<Differences>,
}

/// In what an execution differs from the original. Units: operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Differences {
    /// Operations that differ in anything; those out of order, missing and extra among them.
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
    /// With another number of bytes asked for.
    pub bytes: u64,
    /// With another result.
    pub results: u64,
    /// Opened with other flags, where both tell them.
    pub open_flags: u64,
    /// The first of each kind.
    pub firsts: Vec<First>,
}

/// Executions and bytes of one operation on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    fn of(tally: &Tally, firsts: Vec<First>) -> Differences {
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

/// Compares the executions of replays with those of the original. With several originals the first
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
    let notes = [cut_off, dropped, untold].iter().flat_map(|say| all().filter_map(say));
    found.notes.extend(notes.chain(chance));
    found.verdict = verdict::sentence(&found);
    Ok(found)
}

impl Fidelity {
    /// Judges gates.
    pub fn judge(&mut self, gates: &[Gate]) {
        self.gates = gates.iter().map(|gate| gate.judge(self)).collect();
    }

    /// What the replay differs in that differs most.
    fn worst(&self) -> Option<&Execution> {
        let differing = |one: &&Execution| one.differences.as_ref().map_or(0, |d| d.operations);
        // Of equal ones the first.
        self.replays.iter().rev().max_by_key(differing)
    }
}

/// Opens outside of every label can give ranks what others had opened: the original is imported,
/// and everything in it has a label.
fn may_adopt(original: &Run) -> bool {
    original.run.trace.is_some() && original.rows.iter().all(|row| !row.label.is_empty())
}

/// Operations without opens of what others had opened; those are counted.
fn own(steps: Steps, adopts: impl Fn(&Step) -> bool + 'static, adopted: &Rc<Cell<u64>>) -> Steps {
    let adopted = Rc::clone(adopted);
    Box::new(steps.filter(move |step| {
        let is_adopted = step.as_ref().is_ok_and(&adopts);
        adopted.set(adopted.get() + u64::from(is_adopted));
        !is_adopted
    }))
}

/// An open that has this label.
fn is_adopted(step: &Step, label: u32) -> bool {
    step.op == Op::Fopen as u8 && step.label == label
}

/// An execution in a stored run.
#[derive(Clone, Debug)]
struct Part<'a> {
    recorded: Recorded<'a>,
    name: String,
    cell: u32,
    repetition: u32,
}

fn executions<'a>(all: &[Recorded<'a>]) -> Result<Vec<Part<'a>>, Refused> {
    let mut parts = Vec::new();
    for recorded in all {
        check(recorded)?;
        let sweep = recorded.run.run.sweep.as_ref();
        let order = sweep.map_or(&[][..], |sweep| &sweep.order[..]);
        let whole = order.iter().filter(|one| one.outcome != INTERRUPTED);
        let mut repetitions: Vec<(u32, u32)> =
            whole.map(|one| (one.cell, one.repetition)).collect();
        repetitions.sort_unstable();
        if order.is_empty() {
            repetitions.push((0, 0));
        }
        let several = order.len() > 1;
        parts.extend(repetitions.into_iter().map(|(cell, repetition)| Part {
            recorded: *recorded,
            name: match several {
                true => format!("{} (repetition {repetition})", recorded.name),
                false => recorded.name.to_string(),
            },
            cell,
            repetition,
        }));
    }
    Ok(parts)
}

/// Whether a run can be compared: all events must be there, of one thing.
///
/// # Errors
/// It has none, a sample of them, those of a sweep, or none of an execution that came to its end.
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

/// How an execution ended that a signal cut off: what it had not done yet says nothing about it.
const INTERRUPTED: &str = "interrupted";

/// No execution of the run came to its end before it was interrupted.
fn is_cut_off(run: &Run) -> bool {
    let order = run.run.sweep.as_ref().map_or(&[][..], |sweep| &sweep.order[..]);
    let all = order.iter().all(|one| one.outcome == INTERRUPTED);
    run.run.outcome == INTERRUPTED && all
}

/// Executions that are left out because they were interrupted.
fn cut_off(recorded: &Recorded<'_>) -> Option<String> {
    let order = recorded.run.run.sweep.as_ref().map_or(&[][..], |sweep| &sweep.order[..]);
    let one = order.iter().find(|one| one.outcome == INTERRUPTED)?;
    let (name, repetition) = (recorded.name, one.repetition);
    Some(format!("{name}: repetition {repetition} was interrupted and is not compared"))
}

fn dropped(recorded: &Recorded<'_>) -> Option<String> {
    let dropped = recorded.run.run.events.as_ref().map_or(0, |events| events.dropped);
    (dropped > 0).then(|| {
        let name = recorded.name;
        format!("{name}: {dropped} operations are not in its events, which had no memory for them; they count as missing or extra")
    })
}

/// What is said of appends whose places are not compared.
fn appends(count: Option<u64>) -> Option<String> {
    let count = count.filter(|count| *count > 0)?;
    Some(format!(
        "where {count} appends lie is left to chance, because several ranks append to the same files: not compared"
    ))
}

/// The log of the run does not tell how long calls took.
fn is_untold(run: &Run) -> bool {
    let gaps = run.run.trace.iter().flat_map(|trace| &trace.gaps);
    gaps.into_iter().any(|gap| gap.code == "no-durations")
}

fn untold(recorded: &Recorded<'_>) -> Option<String> {
    is_untold(recorded.run).then(|| {
        let name = recorded.name;
        format!(
            "{name}: its log does not tell how long calls took: figures that need it are left out"
        )
    })
}

/// What comparisons of one report share.
#[derive(Default)]
struct Bench {
    texts: Rc<RefCell<Texts>>,
    /// Of the two executions that are being compared, as are the directories that are taken off.
    names: Renaming,
    prefixes: [Vec<u8>; 2],
}

/// Two executions that are compared; the first is of an original.
type Compared<'p, 'a> = [&'p Part<'a>; 2];

impl Bench {
    /// The operations of one of the two.
    fn steps(&self, pair: Compared<'_, '_>, which: usize) -> Result<Steps, StoreError> {
        let part = pair[which];
        let execution = (part.cell, part.repetition);
        let Recorded { folder, run, .. } = part.recorded;
        steps(folder, run, execution, &self.prefixes[which], &self.texts)
    }

    /// Pairs the names of two runs. Other runs have no part in it: what is compared beside them changes nothing.
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

    /// The operations of the second one, with the ranks of the first.
    fn replayed(
        &self,
        pair: Compared<'_, '_>,
        shared: &Shared,
        adopted: &Rc<Cell<u64>>,
    ) -> Result<Steps, StoreError> {
        let steps = self.steps(pair, 1)?;
        if pair[1].recorded.run.run.trace.is_some() {
            let numbers = ranks::matched(self.steps(pair, 0)?, steps, &self.names)?;
            let steps = self.steps(pair, 1)?;
            return match numbers {
                Some(numbers) => ranks::renumbered(steps, &numbers),
                None => Ok(steps),
            };
        }
        let shared = shared.clone();
        Ok(match may_adopt(pair[0].recorded.run) {
            true => own(steps, |step| is_adopted(step, NO_ID), adopted),
            // Without labels opens tell by their names.
            false => own(steps, move |step| shared.borrows(step), adopted),
        })
    }

    fn execution(&self, pair: Compared<'_, '_>, tally: &Tally) -> Execution {
        let part = pair[1];
        let runs = pair.map(|part| part.recorded.run);
        let firsts = examples::shown(&tally.examples, &self.texts.borrow(), runs);
        Execution {
            name: part.name.clone(),
            operations: tally.ops.values().map(|counts| counts.count[1]).sum(),
            adopted: tally.adopted,
            appends: tally.appends,
            differences: Some(Differences::of(tally, firsts)),
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
        let mut found = Fidelity::empty();
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
            // Its phases are those of the operations that replay it.
            let mut tally = self.compare([ours, replay])?;
            profiles[0].push(std::mem::take(&mut tally.profiles[0]));
        }
        for (profiles, parts) in profiles.iter_mut().zip([originals, replays]) {
            let untold = profiles.iter_mut().zip(parts);
            let untold = untold.filter(|(_, part)| is_untold(part.recorded.run));
            untold.for_each(|(profile, _)| profile.forget_untold());
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
    fn empty() -> Fidelity {
        Fidelity {
            version: VERSION,
            originals: Vec::new(),
            replays: Vec::new(),
            renamed: 0,
            renamed_first: None,
            ops: Vec::new(),
            scopes: Vec::new(),
            notes: Vec::new(),
            gates: Vec::new(),
            verdict: String::new(),
            pictured: Default::default(),
            texts: Vec::new(),
        }
    }

    /// What the first pair tells besides its differences.
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

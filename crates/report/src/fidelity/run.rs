//! Compares replays with originals, execution by execution.

use super::gate::Gate;
use super::names::{Renaming, Side};
use super::profile::Profile;
use super::ranks::Shared;
use super::report::{Differences, Execution, Fidelity, LeftOut, OpCounts, Recorded, Refused};
use super::stream::{Ahead, Step, Steps, Texts, steps};
use super::tally::Tally;
use super::{align, figures, ranks, report};
use crate::StoreError;
use model::event::NO_ID;
use model::run::{Trace, TraceGap};
use model::{Op, Run};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

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
    found.verdict = report::describe(&found);
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
        format!("{name}: {dropped_operations} are not in its events, which had no memory for them; they count as missing or extra", dropped_operations = model::words::count(dropped, "operation"))
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
            // Without labels names decide.
            false => own(steps, move |step| shared.borrows(step), adopted),
        })
    }

    fn execution(&self, pair: Compared<'_, '_>, tally: &Tally) -> Execution {
        let part = pair[1];
        let runs = pair.map(|part| part.recorded.run);
        let firsts = report::first_differences(&tally.examples, &self.texts.borrow(), runs);
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
        let mut found =
            Fidelity { version: report::VERSION, left_out, incomplete, ..Fidelity::default() };
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

//! A folded program is executed on files in memory and compared with its log: only what does the same
//! is called lossless.

use super::difference::{describe, differ, is_unplaced};
use engine::config::{BackendKind, Config};
use engine::recorder::{EventsConfig, Listen, Listener, Paths};
use engine::supervise::{Outcome, run_sim_among};
use fold::{Folded, Log, Logged};
use model::Plan;
use model::event::{Event, FLAG_UNPLACED};
use model::pattern::{Extents, MAX_STEPS};
use ppl::Binding;
use ppl::source::NoIncludes;
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

/// Operations of the log that are unpacked at a time.
const UNPACKED: usize = 1024;

/// Name of the program whose text is folded.
const PROGRAM: &str = "folded";

/// How far a program does what its log shows.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// Operations of the log.
    pub operations: u64,
    /// Opens that are not in the log.
    pub adopted: u64,
    /// Operations that differ, missing and additional ones included.
    pub differences: u64,
    /// Transfers of which the run does not report where they took place: any place is right.
    pub unplaced: u64,
    /// The first difference.
    pub first: Option<Difference>,
    /// Why the program could not be executed to its end.
    pub failure: Option<String>,
}

/// Two operations that should be the same.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Rank.
    pub rank: u32,
    /// Number of the operation, from 0.
    pub number: usize,
    /// In the log.
    pub expected: String,
    /// Executed by the program.
    pub found: String,
}

impl Proof {
    /// The program does the same as its log.
    pub fn is_lossless(&self) -> bool {
        self.differences == 0 && self.failure.is_none()
    }
}

/// Executes the text of a folded program among the files that it expects, and compares.
pub fn prove(log: &Rc<Log>, folded: &Rc<Folded>) -> Proof {
    let operations = log.ranks.iter().map(|rank| rank.len() as u64).sum();
    let mut proof = match compile(log.ranks.len() as u32, folded) {
        Ok(plan) => compare(log, folded, &Rc::new(plan)),
        Err(why) => Proof { failure: Some(why), differences: operations, ..Proof::default() },
    };
    proof.operations = operations;
    proof.adopted = folded.adopted.iter().map(|rank| rank.len() as u64).sum();
    proof
}

fn compare(log: &Rc<Log>, folded: &Rc<Folded>, plan: &Rc<Plan>) -> Proof {
    let comparison = Rc::new(RefCell::new(Comparison::new(log, folded, plan)));
    let ended = execute(plan, folded, &Listener(Rc::clone(&comparison) as Rc<RefCell<dyn Listen>>));
    let mut comparison = comparison.borrow_mut();
    comparison.end();
    let mut proof = std::mem::take(&mut comparison.proof);
    proof.failure = ended.err().or_else(|| other_extents(log, folded, plan));
    proof
}

/// A pattern that is not what a rank moved, in words.
fn other_extents(log: &Log, folded: &Folded, plan: &Plan) -> Option<String> {
    let ranks = log.ranks.len() as u32;
    let mut all = folded.patterns.iter().flat_map(|(name, entries)| {
        entries.iter().map(move |(rank, entry)| (name, *rank, *entry as usize - 1))
    });
    all.find_map(|(name, rank, entry)| {
        let pattern = plan.patterns.iter().find(|pattern| pattern.name == *name);
        let share = pattern.and_then(|it| it.share(plan, rank, ranks, MAX_STEPS).ok());
        let logged = log.extents[entry].runs.iter().copied();
        let same = share.is_some_and(|share| share.extents().eq(Extents::new(logged)));
        (!same).then(|| format!("the pattern {name} has other extents on rank {rank}"))
    })
}

fn compile(ranks: u32, folded: &Folded) -> Result<Plan, String> {
    let data = folded.data.as_ref().map(|(data, _)| (data.name.clone(), data.text.clone()));
    let files: ppl::Files = Box::new(move |name| match &data {
        Some((known, text)) if known == name => Ok(text.clone().into_bytes()),
        _ => Err("there is no such file".into()),
    });
    let binding = Binding { files, ..Binding::new(ranks) };
    let text = folded.text.clone().into_bytes();
    let compiled = ppl::compile(PROGRAM, text, &mut NoIncludes, &binding);
    compiled.plan.ok_or_else(|| {
        let mistake = compiled.diagnostics.first();
        let mistake = mistake.map_or(String::new(), |found| found.message.clone());
        format!("the text does not compile: {mistake}")
    })
}

/// Executes a program on files in memory; an error says why it did not come to its end.
fn execute(plan: &Plan, folded: &Folded, listener: &Listener) -> Result<(), String> {
    let events = EventsConfig { max_bytes: 1 << 40, expected: 0, sample_every: 1 };
    let mut config = Config {
        directory: PathBuf::from("/folded"),
        backend: BackendKind::Mem,
        events: Some(events),
        ..Config::default()
    };
    config.settings.print_fd = None;
    let outcome = run_sim_among(plan, &config, &folded.before, listener);
    let outcome = outcome.map_err(|error| error.to_string())?;
    if outcome.finished() { Ok(()) } else { Err(reason(plan, &outcome)) }
}

fn reason(plan: &Plan, outcome: &Outcome) -> String {
    let message = outcome.deadlock_message(plan);
    let errors = outcome.records.iter().flat_map(|record| &record.errors);
    let first = errors.map(|(_, message)| message.clone()).next();
    message.or(first).unwrap_or_else(|| "a rank did not come to its end".into())
}

/// Compares operations as they are executed.
struct Comparison {
    log: Rc<Log>,
    folded: Rc<Folded>,
    plan: Rc<Plan>,
    ranks: Vec<Rank>,
    proof: Proof,
}

/// How far a rank is.
#[derive(Default)]
struct Rank {
    /// Operations of the program.
    executed: u64,
    /// Operations of the log.
    compared: usize,
    /// The next operations of the log, the last one first.
    next: Vec<Logged>,
}

impl Comparison {
    fn new(log: &Rc<Log>, folded: &Rc<Folded>, plan: &Rc<Plan>) -> Comparison {
        let ranks = log.ranks.iter().map(|_| Rank::default()).collect();
        let (log, folded, plan) = (Rc::clone(log), Rc::clone(folded), Rc::clone(plan));
        Comparison { log, folded, plan, ranks, proof: Proof::default() }
    }

    /// All ranks have ended: the rest of the log is missing.
    fn end(&mut self) {
        for rank in 0..self.ranks.len() as u32 {
            while let Some(expected) = self.expected(rank) {
                self.compare(rank, Some(&expected), None, &|_| Cow::Borrowed(&[]));
            }
        }
    }

    /// The next operation of a rank in the log.
    fn expected(&mut self, rank: u32) -> Option<Logged> {
        let own = &mut self.ranks[rank as usize];
        if own.next.is_empty() {
            let events = &self.log.ranks[rank as usize];
            own.next.extend(events.from(own.compared).take(UNPACKED));
            own.next.reverse();
        }
        own.next.pop()
    }

    /// The next operation of a rank in the log has no statement.
    fn is_left_out(&self, rank: u32) -> bool {
        let compared = self.ranks[rank as usize].compared;
        let places = self.folded.left_out.get(rank as usize);
        places.is_some_and(|places| places.binary_search(&compared).is_ok())
    }

    fn compare<'p>(
        &mut self,
        rank: u32,
        expected: Option<&Logged>,
        found: Option<&Event>,
        path: &impl Fn(u32) -> Cow<'p, [u8]>,
    ) {
        let number = self.ranks[rank as usize].compared;
        self.ranks[rank as usize].compared += 1;
        let run = expected.map(|entry| &entry.event);
        let differs = match (run, found) {
            (Some(run), Some(found)) => {
                let mut run = *run;
                if expected.is_some_and(|entry| self.log.lies_anywhere(entry)) {
                    run.flags |= FLAG_UNPLACED;
                }
                differ((&run, &self.log), (found, path))
            }
            _ => true,
        };
        self.proof.differences += u64::from(differs);
        self.proof.unplaced += u64::from(run.is_some_and(is_unplaced));
        if differs && self.proof.first.is_none() {
            let log = &self.log;
            let in_log = |id| Cow::Borrowed(log.path(id));
            let nothing = || "nothing".to_string();
            self.proof.first = Some(Difference {
                rank,
                number,
                expected: run.map_or_else(nothing, |event| describe(event, in_log)),
                found: found.map_or_else(nothing, |event| describe(event, path)),
            });
        }
    }
}

impl Listen for Comparison {
    fn event(&mut self, rank: u32, event: &Event, paths: &Paths<'_>) {
        let own = &mut self.ranks[rank as usize];
        let number = own.executed;
        own.executed += 1;
        let adopted = self.folded.adopted.get(rank as usize);
        if adopted.is_some_and(|adopted| adopted.binary_search(&number).is_ok()) {
            return;
        }
        let plan = Rc::clone(&self.plan);
        let path = |id: u32| plan.named(paths.path(id).unwrap_or_default());
        while self.is_left_out(rank) {
            let missing = self.expected(rank);
            self.compare(rank, missing.as_ref(), None, &path);
        }
        let expected = self.expected(rank);
        self.compare(rank, expected.as_ref(), Some(event), &path);
    }
}

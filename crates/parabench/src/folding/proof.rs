//! A folded program is executed on files in memory and compared with its log: only what does the same
//! is called lossless.

use super::asked::Asked;
use super::compare::{Comparison, PROGRAM};
use super::tally::{Kind, Tally};
use engine::config::{BackendKind, Config};
use engine::record::{EventsConfig, Listen, Listener};
use engine::supervise::{Outcome, run_sim_among};
use fold::{Folded, Included, Log};
use model::event::{Event, FLAG_UNPLACED, NO_ID};
use model::pattern::{Extents, MAX_STEPS};
use model::{Op, Plan, errno};
use ppl::{Binding, Loader};
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

/// How far a program does what its log shows.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// Operations of the log.
    pub operations: u64,
    /// Opens that are not in the log.
    pub adopted: u64,
    /// Operations that differ, those that are missing or too many included; sums.
    pub tally: Tally,
    /// The first of them.
    pub first: Option<Difference>,
    /// Why the program could not be executed to its end.
    pub failure: Option<String>,
    /// Ranks and numbers of the first operations of the log that the line stands for which was asked
    /// for.
    pub of_line: Vec<(u32, usize)>,
    /// How many it stands for.
    pub of_line_total: u64,
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
    /// Of the program.
    pub found: String,
}

impl Proof {
    /// The program does the same as its log.
    pub fn is_lossless(&self) -> bool {
        self.tally.differences() == 0 && self.failure.is_none()
    }

    /// It does nearly the same: nothing ends otherwise, numbers of operations and their bytes are
    /// within the bound, a share.
    pub fn is_within(&self, bound: f64) -> bool {
        self.failure.is_none() && self.tally.is_within(bound)
    }
}

/// Executes the text of a folded program among the files that it expects, and compares. `asked`: what
/// this part of the text stands for is remembered.
pub fn prove(log: &Rc<Log>, folded: &Rc<Folded>, asked: Option<Asked>) -> Proof {
    let mut proof = match compiled(log.ranks.len() as u32, folded) {
        Ok(plan) => compared(log, folded, &Rc::new(plan), asked),
        Err(why) => {
            let mut proof = Proof { failure: Some(why), ..Proof::default() };
            let all = log.ranks.iter().flatten();
            all.for_each(|entry| proof.tally.add(Some(&entry.event), None, Some(Kind::Operation)));
            proof
        }
    };
    proof.operations = log.ranks.iter().map(|rank| rank.len() as u64).sum();
    proof.adopted = folded.adopted.iter().map(|rank| rank.len() as u64).sum();
    proof
}

fn compared(log: &Rc<Log>, folded: &Rc<Folded>, plan: &Rc<Plan>, asked: Option<Asked>) -> Proof {
    let comparison = Comparison::new(log, folded, plan, asked);
    let comparison = Rc::new(RefCell::new(comparison));
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
        let same = share.is_some_and(|share| share.extents().eq(Extents::of(Box::new(logged))));
        (!same).then(|| format!("the pattern {name} has other extents on rank {rank}"))
    })
}

pub(super) fn compiled(ranks: u32, folded: &Folded) -> Result<Plan, String> {
    let data = folded.data.as_ref().map(|(data, _)| (data.name.clone(), data.text.clone()));
    let files: ppl::Files = Box::new(move |name| match &data {
        Some((known, text)) if known == name => Ok(text.clone().into_bytes()),
        _ => Err("there is no such file".into()),
    });
    let binding = Binding { files, ..Binding::new(ranks) };
    let text = folded.text.clone().into_bytes();
    let compiled = ppl::compile(PROGRAM, text, &mut Parts(&folded.parts), &binding);
    compiled.plan.ok_or_else(|| {
        let mistake = compiled.diagnostics.first();
        let mistake = mistake.map_or(String::new(), |found| found.message.clone());
        format!("the text does not compile: {mistake}")
    })
}

/// Executes a program on files in memory; an error tells why it did not come to its end.
pub(super) fn execute(plan: &Plan, folded: &Folded, listener: &Listener) -> Result<(), String> {
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
    if outcome.finished() { Ok(()) } else { Err(ending(plan, &outcome)) }
}

/// The files of a program that are not written yet.
struct Parts<'a>(&'a [Included]);

impl Loader for Parts<'_> {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, Vec<u8>), String> {
        let part = self.0.iter().find(|part| part.name == path).ok_or("there is no such file")?;
        Ok((part.name.clone(), part.text.clone().into_bytes()))
    }
}

fn ending(plan: &Plan, outcome: &Outcome) -> String {
    let message = outcome.deadlock_message(plan);
    let errors = outcome.records.iter().flat_map(|record| &record.errors);
    let first = errors.map(|(_, message)| message.clone()).next();
    message.or(first).unwrap_or_else(|| "a rank did not come to its end".into())
}

/// It moves bytes of a file at a place.
pub(super) fn moves(event: &Event) -> bool {
    use Op::*;
    let posix = |op| {
        matches!(op, Fread | Fwrite | Readv | Writev | Read | Write | Append)
            || op.is_between_files()
    };
    let by_mpi = |op| matches!(op, Pfread | Pfwrite | Pread | Pwrite);
    Op::from_u8(event.op).is_some_and(|op| posix(op) || by_mpi(op))
}

/// An operation of a log in one line.
pub fn shown(event: &Event, log: &Log) -> String {
    told(event, |path| log.path(path).into())
}

pub(super) fn told<'a>(event: &Event, path: impl Fn(u32) -> Cow<'a, [u8]>) -> String {
    let op = Op::from_u8(event.op).map_or("?", Op::name);
    let name = |id: u32| model::escape::line(&String::from_utf8_lossy(&path(id)));
    let mut text = format!("{op} \"{}\"", name(event.path));
    if event.path2 != NO_ID {
        text.push_str(&format!(" \"{}\"", name(event.path2)));
    }
    if moves(event) {
        let (offset, asked, done) = (event.offset_bytes, event.requested_bytes, event.done_bytes);
        text.push_str(&format!(", {done} of {asked} bytes at "));
        match event.flags & FLAG_UNPLACED != 0 && event.errno == 0 {
            true => text.push_str("an unknown place"),
            false => text.push_str(&offset.to_string()),
        }
    }
    if Op::from_u8(event.op).is_some_and(Op::is_between_files) {
        text.push_str(&format!(" from {}", event.from_bytes));
    }
    match event.errno {
        0 => text,
        number => format!("{text}: {}", errno::name(number)),
    }
}

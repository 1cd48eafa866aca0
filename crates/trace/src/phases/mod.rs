//! Phases of an application, for logs that do not tell where in the program a call was made: the labels of
//! their events.
//!
//! ```text
//! read input-1 ... read input-8 │ write checkpoint-1 ... write checkpoint-1 │ read input-9 ...
//!        read input-*           │          write checkpoint-*               │   read input-*
//! ```
//!
//! A phase of a rank has a vocabulary: what is done (reading, writing, an operation on names) to files with
//! alike names. While it is new it learns; once 16 operations brought nothing new, a new word begins
//! the next phase. So does another program, and a pause that is long beside all before it: barriers and
//! computing show as pauses. A phase that falls back to the words of the one before it while it is new was
//! a part of that one. Barriers of a recorded MPI job end the phases of its ranks, too. Phases are named after what they moved, so that those that do the same are one label.

mod names;
mod patterns;
mod steps;

use crate::facts::Facts;
use crate::sort::{Cut, Sorted};
use model::Op;
use model::event::{Details, Event, NO_ID};
use model::op::Class;
use names::label_phases;
use patterns::Patterns;
use std::io;
use steps::{Step, Steps};

/// Operations without a new word after which a phase has learnt its vocabulary.
const SETTLED: u32 = 16;
/// Shortest pause that can end a phase, and how much longer than any before it must be.
const PAUSE_MIN_NS: u64 = 10_000_000;
const PAUSE_FACTOR: u64 = 4;
/// Operations before a pause can end a phase.
const BEFORE_PAUSE: u64 = 4;
/// Most words of a phase; beyond, all files count as one kind.
const WORDS_MAX: usize = 64;

/// Kind of access to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Verb {
    Read,
    Write,
    /// Opening for both, or nobody knows for what.
    Open,
    /// An operation on names.
    Other(u8),
}

/// A verb and the files of one pattern.
#[derive(Clone, Copy, Debug)]
struct Word {
    verb: Verb,
    pattern: u32,
    count: u64,
    bytes: u64,
}

/// A stretch of one rank.
#[derive(Clone, Debug, Default)]
struct Phase {
    /// Label of the program.
    program: u32,
    words: Vec<Word>,
    /// Operations since the last new word.
    quiet: u32,
    count: u64,
    last_end_ns: u64,
    longest_pause_ns: u64,
}

/// Labels events that have none but their program's, rank by rank.
///
/// # Errors
/// The files of sorting cannot be read.
pub fn label(mut events: Sorted, facts: &mut Facts) -> io::Result<Sorted> {
    if facts.has_sites {
        return Ok(events);
    }
    let mut finder = Finder::new(&facts.paths, Steps::of(&facts.barriers));
    while events.advance()? {
        let traced = events.current();
        finder.add(traced.rank, &traced.event, &traced.details);
    }
    let cuts = finder.finish(&mut facts.labels);
    events.again(cuts)?;
    Ok(events)
}

/// Finds the phases of events that come rank by rank, in order of start.
struct Finder {
    patterns: Patterns,
    /// The first events of phases that are over; they get their labels at the end.
    cuts: Vec<Cut>,
    over: Vec<(Option<Step>, Phase)>,
    steps: Steps,
    step: Option<Step>,
    rank: u64,
    /// Where the phase began.
    seq: u64,
    phase: Phase,
    /// The one before it, if nothing but its end parts the two.
    before: Option<Phase>,
}

impl Finder {
    fn new(paths: &[Vec<u8>], steps: Steps) -> Finder {
        Finder {
            patterns: Patterns::of(paths),
            cuts: Vec::new(),
            over: Vec::new(),
            steps,
            step: None,
            rank: u64::MAX,
            seq: 0,
            phase: Phase::default(),
            before: None,
        }
    }

    fn add(&mut self, rank: u64, event: &Event, details: &Details) {
        let pause_ns = event.start_ns.saturating_sub(self.phase.last_end_ns);
        let step = self.steps.at(rank, event.start_ns);
        let is_other = rank != self.rank || event.label != self.phase.program || step != self.step;
        if is_other || self.phase.ends_by(pause_ns) {
            self.begin(rank, event, None);
            self.step = step;
        } else if self.phase.count > 0 {
            self.phase.longest_pause_ns = self.phase.longest_pause_ns.max(pause_ns);
        }
        if let Some(verb) = verb(event, details) {
            self.hear(verb, self.patterns.of_path(event.path), event);
        }
        self.phase.count += 1;
        self.phase.last_end_ns = self.phase.last_end_ns.max(event.end_ns);
    }

    /// A word ends a phase that has learnt its own, or is learnt.
    fn hear(&mut self, verb: Verb, pattern: u32, event: &Event) {
        if self.phase.says_again(verb, pattern, event.done_bytes) {
            return;
        }
        if !self.phase.knows(verb, pattern) {
            if self.phase.is_settled() {
                self.begin(self.rank, event, Some(()));
            } else if self.before.as_ref().is_some_and(|before| before.knows(verb, pattern)) {
                self.join();
            }
        }
        self.phase.learn(verb, pattern, event.done_bytes);
    }

    /// The next phase begins with this event. `goes_on`: without a pause.
    fn begin(&mut self, rank: u64, event: &Event, goes_on: Option<()>) {
        self.end();
        let over = std::mem::take(&mut self.phase);
        self.before = goes_on.map(|()| over);
        (self.rank, self.seq) = (rank, event.seq);
        let last_end_ns = event.start_ns;
        self.phase = Phase { program: event.label, last_end_ns, ..Phase::default() };
    }

    /// The phase was a part of the one before it.
    fn join(&mut self) {
        let (Some(mut whole), Some(cut)) = (self.before.take(), self.cuts.pop()) else { return };
        self.over.pop();
        let part = std::mem::take(&mut self.phase);
        for word in part.words {
            whole.put(word);
        }
        whole.count += part.count;
        whole.last_end_ns = part.last_end_ns;
        (self.phase, self.seq) = (whole, cut.seq);
    }

    fn end(&mut self) {
        if self.phase.count > 0 {
            self.cuts.push(Cut { rank: self.rank, seq: self.seq, label: NO_ID });
            self.over.push((self.step, self.phase.clone()));
        }
    }

    /// Where labels begin. New ones are appended to `labels`.
    fn finish(mut self, labels: &mut Vec<Vec<u8>>) -> Vec<Cut> {
        self.end();
        let united = steps::united(&self.over);
        let mut phases: Vec<(u64, &Phase)> = Vec::new();
        for (cut, (step, phase)) in self.cuts.iter().zip(&self.over) {
            let whole = step.and_then(|(number, _)| united.get(&number));
            phases.push((cut.rank, whole.unwrap_or(phase)));
        }
        let found = label_phases(&phases, &self.patterns, labels);
        self.cuts.iter_mut().zip(found).for_each(|(cut, label)| cut.label = label);
        self.cuts.dedup_by(|next, cut| (next.rank, next.label) == (cut.rank, cut.label));
        self.cuts
    }
}

impl Phase {
    fn is_settled(&self) -> bool {
        self.quiet >= SETTLED
    }

    fn ends_by(&self, pause_ns: u64) -> bool {
        let longest = self.longest_pause_ns.saturating_mul(PAUSE_FACTOR);
        self.count >= BEFORE_PAUSE && pause_ns >= PAUSE_MIN_NS.max(longest)
    }

    fn find(&self, verb: Verb, pattern: u32) -> Option<usize> {
        let is_full = self.words.len() >= WORDS_MAX;
        let same = |word: &Word| word.verb == verb && (is_full || word.pattern == pattern);
        self.words.iter().position(same)
    }

    /// Counts a word that it has; false if it has not.
    fn says_again(&mut self, verb: Verb, pattern: u32, bytes: u64) -> bool {
        let Some(at) = self.find(verb, pattern) else { return false };
        let word = &mut self.words[at];
        word.count += 1;
        word.bytes = word.bytes.saturating_add(bytes);
        self.quiet = self.quiet.saturating_add(1);
        true
    }

    /// Opening and closing a file that is read or written is no new word.
    fn knows(&self, verb: Verb, pattern: u32) -> bool {
        let opens = verb == Verb::Open;
        self.find(verb, pattern).is_some()
            || (opens && self.words.iter().any(|word| word.pattern == pattern))
    }

    fn learn(&mut self, verb: Verb, pattern: u32, bytes: u64) {
        self.quiet = if self.knows(verb, pattern) { self.quiet.saturating_add(1) } else { 0 };
        self.put(Word { verb, pattern, count: 1, bytes });
    }

    fn put(&mut self, word: Word) {
        match self.find(word.verb, word.pattern) {
            Some(at) => {
                let known = &mut self.words[at];
                known.count += word.count;
                known.bytes = known.bytes.saturating_add(word.bytes);
            }
            None => self.words.push(word),
        }
    }
}

/// The kind of an operation; `None`: it belongs to any phase.
fn verb(event: &Event, details: &Details) -> Option<Verb> {
    let op = Op::from_u8(event.op)?;
    if event.path == NO_ID {
        return None;
    }
    match op.row().class {
        Class::Read => Some(Verb::Read),
        Class::Write => Some(Verb::Write),
        Class::Open => Some(match details.open_flags & 3 {
            _ if details.open_flags == NO_ID => Verb::Open,
            0 => Verb::Read,
            1 => Verb::Write,
            _ => Verb::Open,
        }),
        // Those on names; seeking, asking and making stable what is open go with it.
        Class::Metadata if details.instance == NO_ID => Some(Verb::Other(event.op)),
        Class::Metadata | Class::Sync | Class::Close | Class::Control => None,
    }
}

#[cfg(test)]
mod tests;

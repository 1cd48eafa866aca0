//! The stages in order: a log becomes statements, loops, one tree for all ranks, procs, text.

use super::barriers::Barriers;
use super::lists::DataFile;
use super::log::Log;
use super::long_pauses::LongPauses;
use super::order::{self, History, Order};
use super::pauses::{self, Recorder, Think};
use super::ranks::{self, Item, is_hidden};
use super::shape::Shaper;
use super::write::{Uneven, Writer, Written};
use super::{processes, procs};
use model::rehearsal::Expected;

/// How to fold.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Pauses between operations.
    pub think: Think,
    /// Lines of the comment at the head of the program.
    pub head: Vec<String>,
    /// Name of the program's file, for the comment.
    pub name: Option<String>,
    /// Name of the file beside the program that takes long lists; `None`: they are in the program.
    pub data: Option<String>,
}

/// A program and what it needs.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    /// Its text.
    pub text: String,
    /// The file of its long lists and their number.
    pub data: Option<(DataFile, usize)>,
    /// Files and directories that it expects to find.
    pub before: Vec<Expected>,
    /// By rank: operations that are not in the log, because they open what another rank had opened;
    /// numbers from 0 in the rank's order.
    pub adopted: Vec<Vec<u64>>,
    /// By rank: places in the log of operations without a statement, ascending.
    pub left_out: Vec<Vec<usize>>,
    /// Operations of which the run does not report a mode or a word.
    pub guessed: u64,
    /// Patterns: names, and by rank the extents of the log that they are.
    pub patterns: Vec<(String, Vec<(u32, u32)>)>,
    /// The longest pause that is far longer than the mean of its place.
    pub uneven: Option<Uneven>,
}

impl Folded {
    /// Bytes of the program and its lists.
    fn bytes(&self) -> usize {
        self.text.len() + self.data.as_ref().map_or(0, |(data, _)| data.text.len())
    }
}

/// Number of waits from which on signals between ranks may be shorter than barriers.
const BARRIERS_FEW: usize = 6;

/// A program that was tried.
struct Attempt {
    folded: Folded,
    /// A barrier is inside a condition.
    hidden: bool,
    /// The long pauses of the log.
    long: LongPauses,
}

/// Input of a program.
struct Source<'a> {
    log: &'a Log,
    history: History,
    options: &'a Options,
}

/// Makes a program of a log.
pub fn fold(log: &Log, options: &Options) -> Folded {
    let source = Source { log, history: History::follow(log), options };
    let recorded = Barriers::find(log);
    let attempt = source.with_barriers(&recorded);
    match attempt.hidden && recorded.count() > 0 {
        true => source.with_barriers(&Barriers::default()).folded,
        false => attempt.folded,
    }
}

impl Source<'_> {
    /// The program with barriers or with signals. Signals are used where barriers would be hidden, or many and
    /// longer.
    fn with_barriers(&self, recorded: &Barriers) -> Attempt {
        let signals = || order::signals(self.log, &self.history, recorded);
        let Some(order) = order::barriers(self.log, &self.history, recorded) else {
            return self.with_long_pauses(&signals());
        };
        let many = order.waits() > BARRIERS_FEW + recorded.count();
        let meeting = self.with_long_pauses(&order);
        if !many && !meeting.hidden {
            return meeting;
        }
        let signalling = self.with_long_pauses(&signals());
        match meeting.hidden || signalling.folded.bytes() < meeting.folded.bytes() {
            true => signalling,
            false => meeting,
        }
    }

    /// The program with long pauses as statements where the text that they take is worth it.
    fn with_long_pauses(&self, order: &Order) -> Attempt {
        let plain = self.attempt(order, LongPauses::default());
        if plain.long.is_empty() {
            return plain;
        }
        let most = plain.folded.bytes() + plain.long.worth(self.log.ranks.len());
        let long = self.attempt(order, plain.long.clone());
        if !long.hidden && long.folded.bytes() <= most { long } else { plain }
    }

    fn attempt(&self, order: &Order, long: LongPauses) -> Attempt {
        let Source { log, history, options } = self;
        let mut shaper = Shaper::new(log, history, options.think, long);
        let starts = processes::starts(log, options.think);
        let (mut trees, mut adopted) = (Vec::new(), Vec::new());
        // Where all that begin late wait for others, nobody sleeps.
        let sleeps = (0..).zip(&starts).any(|(rank, us)| *us > 0 && !order.waits_first(rank));
        for rank in 0..log.ranks.len() as u32 {
            let start_us = starts.get(rank as usize).copied().filter(|us| sleeps || *us > 0);
            let (tree, opened) = shaper.rank(rank, order, start_us);
            trees.push(tree);
            adopted.push(opened);
        }
        let mut items = ranks::unify(&trees, &|shape| shaper.kinds(shape));
        pauses::before_labels(&mut items);
        let (mut items, mut procs) = procs::extracted(items, &mut shaper);
        if options.think == Think::Typical {
            let procs = procs.iter_mut().map(|proc| &mut proc.body[..]);
            let mut bodies: Vec<&mut [Item]> =
                std::iter::once(&mut items[..]).chain(procs).collect();
            pauses::gather(&mut bodies, Recorder::adding(log.recorder_ns));
        }
        let writer = Writer::new(&shaper, &items, &procs, log);
        let mut head = options.head.clone();
        if let Some(ns) = processes::chance_ns(log).filter(|_| options.think != Think::Exact) {
            let apart = pauses::duration(ns);
            head.push(format!("Ranks began up to {apart} apart, which is left out as chance."));
        }
        let before = history.before.clone();
        head.push(how_to_run(options, log, !before.is_empty()));
        let Written { text, data, uneven } = writer.program(&items, &head, options.data.as_deref());
        let (text, _) = ppl::format(&text);
        let (long, patterns) = (shaper.pauses.find_long_pauses(), shaper.patterns.named());
        let (left_out, guessed) = (shaper.left_out, shaper.guessed);
        let folded = Folded { text, data, before, adopted, left_out, guessed, patterns, uneven };
        Attempt { folded, hidden: is_hidden(&items), long }
    }
}

/// "Run it: parabench run app.ppl -n 4 --prepare".
fn how_to_run(options: &Options, log: &Log, expects: bool) -> String {
    let name = options.name.as_deref().unwrap_or("FILE");
    let ranks = match log.ranks.len() {
        1 => String::new(),
        ranks => format!(" -n {ranks}"),
    };
    let mpi = if log.uses_mpi_io() { " --mpi" } else { "" };
    let prepare = if expects { " --prepare" } else { "" };
    format!("Run it: parabench run {name}{ranks}{mpi}{prepare}")
}

//! A run with events -> a short program that does the same.
//!
//! ```text
//! Log ──shape──▶ statements and numbers ──loops──▶ trees ──ranks──▶ one tree ──procs, write──▶ text
//!      └─order──▶ where ranks wait ─┘
//! ```
//!
//! Each stage is a function from data to data. The text is not proved here: who folds executes it on
//! files in memory and compares.

#![warn(clippy::disallowed_methods)]

mod alike;
pub mod anonymise;
mod appends;
pub mod approx;
mod arguments;
mod barriers;
pub mod before;
mod bursts;
mod ends;
pub mod events;
pub mod expr;
mod joined;
mod kinds;
mod lists;
pub mod log;
pub mod loops;
mod making;
mod meet;
mod merged;
pub mod names;
pub mod only;
pub mod order;
pub mod params;
mod patterns;
mod positions;
pub mod processes;
mod procs;
mod ragged;
pub mod ranks;
mod regular;
mod rounds;
pub mod shape;
pub mod starts;
mod tables;
pub mod think;
pub mod told;
mod variables;
pub mod write;

pub use approx::Changes;
pub use before::before;
pub use events::Events;
pub use log::{Log, Logged};
pub use only::Only;
pub use think::Think;
pub use write::{Fixed, Included, Uneven};

use approx::Bound;
use barriers::Barriers;
use bursts::Bursts;
use model::Op;
use model::rehearsal::Expected;
use order::Order;
use shape::Shaper;
use write::Writer;

/// How to fold.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Pauses between operations.
    pub think: Think,
    /// Lines of the comment at the head of the program.
    pub head: Vec<String>,
    /// How far numbers may be from those of the log, as a share, where that makes the text shorter.
    pub approx: Option<f64>,
    /// Each operation comes as often as in the log, whatever may be approximate.
    pub steady: bool,
    /// Numbers are made approximate in the loops that are found without that, not before.
    pub late: bool,
    /// What the file of the program is called.
    pub name: Option<String>,
    /// Every phase is a file of its own; what their names begin with.
    pub split: Option<String>,
    /// For how many ranks it is; `None`: those of the log.
    pub ranks: Option<u32>,
    /// The file beside the program that long lists stand in; `None`: they stand in the program.
    pub data: Option<String>,
}

/// A program, and what it needs.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    /// Its text.
    pub text: String,
    /// What it includes.
    pub parts: Vec<Included>,
    /// The file that its long lists stand in, if there are any, and how many they are.
    pub data: Option<(Included, usize)>,
    /// What it expects to find.
    pub before: Vec<Expected>,
    /// By rank: which of its operations are not in the log, because they open what another rank had
    /// opened; numbers from 0 in the rank's order.
    pub adopted: Vec<Vec<u64>>,
    /// By rank: places of operations that have no statement, ascending.
    pub left_out: Vec<Vec<usize>>,
    /// Operations of which the run does not tell a mode or a word.
    pub guessed: u64,
    /// What is not as in the log, because that makes the text shorter.
    pub changes: Changes,
    /// Parameters: names and values.
    pub params: Vec<(String, i64)>,
    /// Patterns: their names, and which extents of the log they are, by rank.
    pub patterns: Vec<(String, Vec<(u32, u32)>)>,
    /// What keeps the program from other numbers of ranks and other sizes.
    pub fixed: Fixed,
    /// The longest pause for which the mean of its place does not stand.
    pub uneven: Option<Uneven>,
    /// Places that have both long pauses and others.
    mixed_places: usize,
}

impl Folded {
    /// Bytes of all its files.
    fn bytes(&self) -> usize {
        let data = self.data.iter().map(|(data, _)| data);
        self.text.len() + self.parts.iter().chain(data).map(|part| part.text.len()).sum::<usize>()
    }

    /// Lines of all its files but that of long lists.
    pub fn lines(&self) -> usize {
        let parts = self.parts.iter().map(|part| part.text.lines().count());
        self.text.lines().count() + parts.sum::<usize>()
    }
}

/// Waits of a rank from which on signals between ranks may be shorter than meetings of all.
const MEETINGS_FEW: usize = 6;

/// Makes a program of a log: an approximate one only where that is shorter, and statements are drawn only
/// where that makes it shorter still.
pub fn fold(log: &Log, options: &Options) -> Folded {
    let exact = in_best_order(log, &Options { approx: None, ..options.clone() });
    if options.approx.is_none() {
        return exact;
    }
    let (lines, mut best) = (exact.lines(), exact);
    for (steady, late) in [(true, false), (true, true), (false, false), (false, true)] {
        if steady || !options.steady {
            let found = in_best_order(log, &Options { steady, late, ..options.clone() });
            if found.lines() <= lines && found.bytes() < best.bytes() {
                best = found;
            }
        }
    }
    best
}

/// The program with the barriers of the log, where a reader sees all of them; else with those that it needs.
fn in_best_order(log: &Log, options: &Options) -> Folded {
    let told = Barriers::of(log);
    match with_barriers(log, options, &told) {
        (true, _) if told.count() > 0 => with_barriers(log, options, &Barriers::default()).1,
        (_, folded) => folded,
    }
}

/// Of the programs with more barriers than are told and with signals the one that shows where all ranks
/// meet, and of these the shorter one; and whether ranks meet in it under a condition.
fn with_barriers(log: &Log, options: &Options, told: &Barriers) -> (bool, Folded) {
    let folded = |order: &Order| ordered(log, options, order, Bursts::default());
    let best = |order: &Order, (hidden, folded, bursts): (bool, Folded, Bursts)| {
        (hidden, with_bursts(log, options, order, folded, bursts))
    };
    let Some(order) = order::barriers(log, told) else {
        let signals = order::signals(log, told);
        return best(&signals, folded(&signals));
    };
    let many = order.waits() > MEETINGS_FEW + told.count();
    let meeting = folded(&order);
    if !many && !meeting.0 {
        return best(&order, meeting);
    }
    let signals = order::signals(log, told);
    let signalling = folded(&signals);
    match meeting.0 || signalling.1.bytes() < meeting.1.bytes() {
        true => best(&signals, signalling),
        false => best(&order, meeting),
    }
}

/// The program with long pauses as statements of their own, where they are worth their text: all, else
/// those before some statements.
fn with_bursts(
    log: &Log,
    options: &Options,
    order: &Order,
    plain: Folded,
    bursts: Bursts,
) -> Folded {
    if bursts.is_empty() || plain.mixed_places == 0 {
        return plain;
    }
    let (bytes, places) = (plain.bytes(), plain.mixed_places);
    let with = |kept: &Bursts| {
        let (hidden, folded, _) = ordered(log, options, order, kept.clone());
        let parted = places.saturating_sub(folded.mixed_places);
        let most = bytes + kept.worth(parted, log.ranks.len());
        (!hidden && parted > 0 && folded.bytes() <= most).then_some(folded)
    };
    if let Some(folded) = with(&bursts) {
        return folded;
    }
    let (mut best, mut kept) = (plain, Bursts::default());
    for number in 0..bursts.several() {
        let more = bursts.and(&kept, number);
        if let Some(folded) = with(&more) {
            (best, kept) = (folded, more);
        }
    }
    best
}

/// "Run it: parabench run app.ppl -n 4 --prepare".
fn how_to_run(options: &Options, log: &Log, expects: bool) -> String {
    let name = options.name.as_deref().unwrap_or("FILE");
    let ranks = match options.ranks.map_or(log.ranks.len(), |ranks| ranks as usize) {
        1 => String::new(),
        ranks => format!(" -n {ranks}"),
    };
    let mut all = log.ranks.iter().flatten();
    let mpi = if all.any(|entry| entry.op().is_some_and(Op::is_mpi_io)) { " --mpi" } else { "" };
    let prepare = if expects { " --prepare" } else { "" };
    format!("Run it: parabench run {name}{ranks}{mpi}{prepare}")
}

/// The program, whether ranks meet in it under a condition, and which long pauses could be kept that
/// are not. `bursts`: those that are.
fn ordered(log: &Log, options: &Options, order: &Order, bursts: Bursts) -> (bool, Folded, Bursts) {
    let share = options.approx.filter(|share| *share > 0.0);
    let bound = share.map(|share| Bound { share, steady: options.steady });
    let early = bound.filter(|_| !options.late);
    let mut shaper = Shaper::new(log, options.think, early, bursts);
    let starts = starts::starts(log, options.think);
    let (mut trees, mut adopted) = (Vec::new(), Vec::new());
    // Where all that begin late wait for others, nobody sleeps.
    let sleeps = (0..).zip(&starts).any(|(rank, us)| *us > 0 && !order.waits_first(rank));
    for rank in 0..log.ranks.len() as u32 {
        let start_us = starts.get(rank as usize).copied().filter(|us| sleeps || *us > 0);
        let (tree, opened) = shaper.rank(rank, order, start_us);
        trees.push(tree);
        adopted.push(opened);
    }
    let mut items = ranks::unify(&trees);
    let changes = bound.map(|bound| approx::shorten(&mut items, &shaper, bound));
    let changes = changes.unwrap_or_default();
    // Pauses of a proc are not told apart by the place of its call.
    let (mut items, mut procs) = match options.think {
        Think::Exact => {
            think::before_labels(&mut items);
            (items, Vec::new())
        }
        _ => {
            think::before_loops(&mut items);
            think::before_labels(&mut items);
            procs::extracted(items, &shaper)
        }
    };
    let hidden = meet::is_hidden(&items);
    let variables = variables::named(&mut items, &mut procs, &mut shaper);
    let writer = Writer::new(&shaper, &items, &procs, variables, log, options.think);
    let files = write::Files { split: options.split.as_deref(), data: options.data.as_deref() };
    let mut head = options.head.clone();
    head.extend(changes.shown().zip(share).map(|(changes, share)| {
        format!("Nearly, within {} %: {changes}.", (share * 1e5).round() / 1e3)
    }));
    if let Some(ns) = starts::chance_ns(log).filter(|_| options.think != Think::Exact) {
        let apart = think::duration(ns);
        head.push(format!("Ranks began up to {apart} apart, which is left out as chance."));
    }
    let before = before(log);
    head.push(how_to_run(options, log, !before.is_empty()));
    let write::Written { text, mut parts, data, params, fixed, uneven, mixed_places } =
        writer.program(&items, &head, files);
    let (text, _) = ppl::format(&text);
    parts.iter_mut().for_each(|part| part.text = ppl::format(&part.text).0);
    let (left_out, guessed) = (shaper.left_out, shaper.guessed);
    let patterns = shaper.patterns.named();
    let folded = Folded {
        text,
        parts,
        data,
        before,
        adopted,
        left_out,
        guessed,
        changes,
        params,
        patterns,
        fixed,
        uneven,
        mixed_places,
    };
    (hidden, folded, shaper.pauses.bursts())
}

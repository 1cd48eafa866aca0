//! A run with events -> a short program that does the same.
//!
//! ```text
//! Log ──shape──▶ statements and numbers ──loops──▶ trees ──ranks──▶ one tree ──procs, write──▶ text
//!      └─order──▶ where ranks wait ─┘
//! ```
//!
//! Each stage is a function from data to data. The text is not proved here: who folds executes it on
//! files in memory and compares.

mod alike;
pub mod anonymise;
pub mod before;
pub mod expr;
mod lists;
pub mod log;
pub mod loops;
mod meet;
pub mod names;
pub mod only;
pub mod order;
pub mod params;
mod procs;
mod ragged;
pub mod ranks;
pub mod shape;
pub mod starts;
pub mod think;
pub mod write;

pub use before::{Before, Kind, before};
pub use log::{Log, Logged};
pub use only::Only;
pub use think::Think;
pub use write::Fixed;

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
}

/// A program, and what it needs.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    /// Its text.
    pub text: String,
    /// What it expects to find.
    pub before: Vec<Before>,
    /// By rank: which of its operations are not in the log, because they open what another rank had
    /// opened; numbers from 0 in the rank's order.
    pub adopted: Vec<Vec<u64>>,
    /// Operations that have no statement.
    pub left_out: u64,
    /// Operations of which the run does not tell a mode or a word.
    pub guessed: u64,
    /// Parameters: names and values.
    pub params: Vec<(String, i64)>,
    /// What keeps the program from other numbers of ranks and other sizes.
    pub fixed: Fixed,
}

/// Waits of a rank from which on signals between ranks may be shorter than meetings of all.
const MEETINGS_FEW: usize = 6;

/// Makes a program of a log: of those with barriers and with signals the one that shows where all
/// ranks meet, and of these the shorter one.
pub fn fold(log: &Log, options: &Options) -> Folded {
    let order = order::barriers(log);
    let many = order.waits() > MEETINGS_FEW;
    let (hidden, folded) = ordered(log, options, &order);
    if !many && !hidden {
        return folded;
    }
    let (_, other) = ordered(log, options, &order::signals(log));
    if hidden || other.text.len() < folded.text.len() { other } else { folded }
}

/// The program, and whether ranks meet in it under a condition.
fn ordered(log: &Log, options: &Options, order: &Order) -> (bool, Folded) {
    let mut shaper = Shaper::new(log);
    let starts = starts::starts(log, options.think);
    let (mut trees, mut adopted) = (Vec::new(), Vec::new());
    for rank in 0..log.ranks.len() as u32 {
        let (tree, opened) = shaper.rank(rank, order, starts.get(rank as usize).copied());
        trees.push(tree);
        adopted.push(opened);
    }
    let (items, procs) = procs::extracted(ranks::unify(&trees), &shaper);
    let hidden = meet::is_hidden(&items);
    let writer = Writer::new(&shaper, &items, &procs, log, options.think);
    let write::Written { text, params, fixed } = writer.program(&items, &options.head);
    let (text, _) = ppl::format(&text);
    let (left_out, guessed) = (shaper.left_out, shaper.guessed);
    let before = before(log);
    (hidden, Folded { text, before, adopted, left_out, guessed, params, fixed })
}

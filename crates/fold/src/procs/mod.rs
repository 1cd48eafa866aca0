//! Sequences of statements that stand in several places become procs, where that is shorter.
//!
//! ```text
//! mkdir("a/3") stat("a/3") ... mkdir("a/7") stat("a/7")
//!     -> proc make_a($n) { mkdir("a/$n") stat("a/$n") }  make_a(3) ... make_a(7)
//! ```
//!
//! Numbers that differ between the places are parameters. Open files that a sequence uses are, too;
//! one that it leaves open it returns.

mod args;
mod find;
mod handles;
mod name;

use super::alike::NumberKind;
use super::loops::Gap;
use super::ranks::{Form, Item};
use super::shape::Shaper;
use find::Place;
pub(super) use handles::Handles;
pub(super) use name::{stem, text as text_of};
use std::collections::HashMap;
use std::rc::Rc;

/// Most procs of a program.
const PROCS_MAX: usize = 40;

/// A sequence with a name.
#[derive(Clone, Debug, Default)]
pub struct Proc {
    /// Its name.
    pub name: String,
    /// Open files that it is given.
    pub handles: Vec<u32>,
    /// Numbers and names that it is given.
    pub params: Vec<Param>,
    /// The open file that it gives back.
    pub returns: Option<u32>,
    /// Its statements.
    pub body: Vec<Item>,
}

/// A parameter of a proc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// `$n`
    pub name: Rc<str>,
    /// What it is.
    pub kind: NumberKind,
}

/// Takes sequences out of a tree: what is left, and what they are. A proc calls only those before it.
pub fn extracted(items: Vec<Item>, shaper: &Shaper<'_>) -> (Vec<Item>, Vec<Proc>) {
    let mut root = Item { form: Form::Loop, numbers: vec![], gap: Gap::default(), body: items };
    let mut procs: Vec<Proc> = Vec::new();
    while procs.len() < PROCS_MAX
        && let Some(found) = find::best(&root.body, shaper, &procs)
    {
        let mut proc = found.proc;
        proc.name = name::name(&proc.body, shaper, &procs);
        let mut by_body: HashMap<usize, Vec<Place>> = HashMap::new();
        found.places.into_iter().for_each(|p| by_body.entry(p.body).or_default().push(p));
        called(&mut root, &mut 0, &mut by_body, procs.len(), &mut proc.body);
        procs.push(proc);
    }
    (root.body, procs)
}

/// Puts calls in the place of sequences. Bodies are numbered as `find` visits them.
fn called(
    item: &mut Item,
    number: &mut usize,
    by_body: &mut HashMap<usize, Vec<Place>>,
    proc: usize,
    statements: &mut [Item],
) {
    let places = by_body.remove(&*number).unwrap_or_default();
    *number += 1;
    for inner in item.body.iter_mut().filter(|inner| !inner.body.is_empty()) {
        called(inner, number, by_body, proc, statements);
    }
    for place in places.into_iter().rev() {
        let gap = item.body[place.at].gap.clone();
        let call = Item { form: Form::Call(proc), numbers: place.args, gap, body: Vec::new() };
        let mut taken: Vec<Item> =
            item.body.splice(place.at..place.at + place.length, [call]).collect();
        // The pause before all of it stays before the call.
        taken[0].gap = Gap { meets_end: taken[0].gap.meets_end, ..Gap::default() };
        add_gaps(statements, &taken);
    }
}

fn add_gaps(items: &mut [Item], others: &[Item]) {
    for (item, other) in items.iter_mut().zip(others) {
        item.gap.sum_ns = item.gap.sum_ns.saturating_add(other.gap.sum_ns);
        item.gap.count += other.gap.count;
        item.gap.longest_ns = item.gap.longest_ns.max(other.gap.longest_ns);
        item.gap.meets_end |= other.gap.meets_end;
        add_gaps(&mut item.body, &other.body);
    }
}

//! The sequence that saves most text as a proc.

use super::super::ranks::{Form, Item, Spread};
use super::super::shape::{Shape, Shaper};
use super::Proc;
use super::args::{self, Bound};
use super::handles::Handles;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Longest sequence, in statements.
const LENGTH_MAX: usize = 64;
/// Programs with more elements have no procs.
const ELEMENTS_MAX: usize = 20_000;
/// Sequences that are looked at closely.
const TRIED: usize = 32;

/// What a statement, a loop, a call, one of its arguments and a definition take: bytes.
const STATEMENT: usize = 40;
const LOOP: usize = 25;
const CALL: usize = 25;
const ARG: usize = 6;
const DEFINITION: usize = 60;

/// A place where a sequence stands.
#[derive(Debug)]
pub struct Place {
    /// Number of the body, the program being 0, in the order in which they begin.
    pub body: usize,
    /// The first element.
    pub at: usize,
    /// Number of elements.
    pub length: usize,
    /// Values of its parameters.
    pub args: Vec<Spread>,
}

/// A proc and where it is called, in order.
#[derive(Debug)]
pub struct Found {
    /// The proc.
    pub proc: Proc,
    /// Its places.
    pub places: Vec<Place>,
}

/// Elements of a body, with what they are but for their numbers; `None`: they stay where they are.
struct Body<'a> {
    items: &'a [Item],
    keys: Vec<Option<u64>>,
}

/// A sequence that stands in several places.
struct Candidate {
    /// What it saves at most.
    gain: usize,
    length: usize,
    /// Body and first element.
    places: Vec<(usize, usize)>,
}

/// The best one.
pub fn best(items: &[Item], shaper: &Shaper<'_>, procs: &[Proc]) -> Option<Found> {
    let mut bodies = Vec::new();
    collect(items, shaper, &mut bodies);
    if bodies.iter().map(|body| body.items.len()).sum::<usize>() > ELEMENTS_MAX {
        return None;
    }
    let mut tried: Vec<Candidate> =
        (2..=LENGTH_MAX).flat_map(|length| candidates(&bodies, length)).collect();
    tried.sort_by_key(|tried| (std::cmp::Reverse(tried.gain), tried.length, tried.places[0]));
    tried.truncate(TRIED);
    let found = tried.iter().filter_map(|Candidate { length, places, .. }| {
        let slices: Vec<&[Item]> =
            places.iter().map(|(body, at)| &bodies[*body].items[*at..at + length]).collect();
        let handles = Handles::of(slices[0], shaper, procs).filter(|h| h.leaves.len() < 2)?;
        let bound = args::bound(&slices, shaper, procs)?;
        let each = CALL + ARG * (bound.params.len() + handles.needs.len());
        let takes = DEFINITION + weights(slices[0]) + places.len() * each;
        let gain = (weights(slices[0]) * places.len()).checked_sub(takes)?;
        Some((gain, *length, places, handles, bound))
    });
    let (gain, length, places, handles, bound) = found.max_by_key(|found| found.0)?;
    (gain > 0).then(|| made(length, places, handles, bound))
}

fn made(length: usize, places: &[(usize, usize)], handles: Handles, bound: Bound) -> Found {
    let places = places.iter().zip(bound.args);
    let places = places.map(|((body, at), args)| Place { body: *body, at: *at, length, args });
    let mut body = bound.body;
    body.iter_mut().for_each(clear);
    let returns = handles.leaves.first().copied();
    let name = String::new();
    let proc = Proc { name, handles: handles.needs, params: bound.params, returns, body };
    Found { proc, places: places.collect() }
}

fn clear(item: &mut Item) {
    item.gap = Default::default();
    item.body.iter_mut().for_each(clear);
}

fn collect<'a>(items: &'a [Item], shaper: &Shaper<'_>, bodies: &mut Vec<Body<'a>>) {
    let keys = items.iter().map(|item| key(item, 0, shaper)).collect();
    bodies.push(Body { items, keys });
    for inner in items.iter().filter(|item| !item.body.is_empty()) {
        collect(&inner.body, shaper, bodies);
    }
}

/// Sequences of this length that stand in several places, with what they save at most.
fn candidates(bodies: &[Body<'_>], length: usize) -> Vec<Candidate> {
    let mut places: HashMap<u64, Vec<(usize, usize)>> = HashMap::new();
    for (number, body) in bodies.iter().enumerate() {
        for (at, window) in body.keys.windows(length).enumerate() {
            if window.iter().any(Option::is_none) {
                continue;
            }
            let mut hasher = DefaultHasher::new();
            window.hash(&mut hasher);
            let known = places.entry(hasher.finish()).or_default();
            if known.last().is_none_or(|(last, end)| *last != number || end + length <= at) {
                known.push((number, at));
            }
        }
    }
    let several = places.into_values().filter(|places| places.len() > 1);
    let gain = |(body, at): (usize, usize), times: usize| {
        let one = weights(&bodies[body].items[at..at + length]);
        (one * (times - 1)).saturating_sub(times * CALL + DEFINITION)
    };
    let candidate = |places: Vec<(usize, usize)>| {
        let gain = gain(places[0], places.len());
        Candidate { gain, length, places }
    };
    let mut all: Vec<Candidate> = several.map(candidate).filter(|found| found.gain > 0).collect();
    all.sort_by_key(|found| (std::cmp::Reverse(found.gain), found.places[0]));
    all.truncate(TRIED);
    all
}

fn weights(items: &[Item]) -> usize {
    let weight = |item: &Item| match item.form {
        Form::Leaf(_) => STATEMENT,
        Form::Call(_) => CALL + ARG * item.numbers.len(),
        _ => LOOP + weights(&item.body),
    };
    items.iter().map(weight).sum()
}

/// What an element is but for numbers that can be parameters. `depth`: loops of the sequence around it.
fn key(item: &Item, depth: usize, shaper: &Shaper<'_>) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    match &item.form {
        Form::Leaf(shape) => match &shaper.shapes.all[*shape as usize] {
            Shape::Op(statement) if !statement.adopts => (0, shape).hash(&mut hasher),
            Shape::Pause => (0, shape).hash(&mut hasher),
            Shape::Between if depth > 0 => (0, shape).hash(&mut hasher),
            _ => return None,
        },
        Form::Call(proc) => (1, proc).hash(&mut hasher),
        Form::Loop => 2.hash(&mut hasher),
        Form::Block(_) | Form::Only(_) | Form::Mix | Form::Case(_) => return None,
    }
    for number in &item.numbers {
        number.steps.iter().take(depth).for_each(|step| step.hash(&mut hasher));
        match &number.list {
            Some(list) if list.root < depth => list.hash(&mut hasher),
            Some(list) if list.depth < depth => return None,
            _ => 3.hash(&mut hasher),
        }
    }
    let inner = depth + usize::from(item.form == Form::Loop);
    for item in &item.body {
        key(item, inner, shaper)?.hash(&mut hasher);
    }
    (item.numbers.len(), item.body.len()).hash(&mut hasher);
    Some(hasher.finish())
}

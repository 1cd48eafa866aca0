//! Numbers of the executions of a statement -> how they depend on the loops around it: constant, growing
//! evenly with some indices, or in a list, whichever text is shortest.

use super::regular::{Written, condition};
use super::tree::{Kind, List, Node, Number};
use std::collections::HashSet;
use std::rc::Rc;

/// Bytes of text of a statement, a loop, a variable that counts over executions of a loop, a list without
/// its values.
const STATEMENT: usize = 40;
const LOOP: usize = 30;
const CURSOR: usize = 20;
const LIST: usize = 15;
/// An expression in place of a list: more than a loop, so that nests stay where they leave nothing over.
const RULE: usize = 35;
/// Larger numbers do not grow with iterations.
const LARGEST: u64 = 1 << 50;

/// For each loop, outermost first: the iteration, and its number over all executions of the loop.
pub type Path = Rc<[(u32, u32)]>;

/// A loop around statements, in all of its executions.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// Most iterations of one execution.
    pub most: usize,
    /// Iterations of all executions.
    pub all: usize,
}

/// How values depend on the loops around them, outermost first. `is_name`: they are no numbers to be
/// reckoned with.
pub fn fit(around: &[Around], paths: &[Path], values: &[i64], is_name: bool) -> Number {
    let levels = paths.first().map_or(0, |path| path.len());
    let even = !is_name && values.iter().all(|value| value.unsigned_abs() < LARGEST);
    let steps = if even { steps(paths, values) } else { vec![0; levels] };
    if let Some(base) = constant(paths, values, &steps) {
        let steps = steps.into_iter().rev().collect();
        return Number { base, steps, ..Number::default() };
    }
    let listed = (0..levels).filter_map(|level| by_execution(around, paths, values, &steps, level));
    let indexed = (1..levels).filter_map(|level| by_iteration(around, paths, values, level));
    let best = listed.chain(indexed).min_by_key(|(cost, _)| *cost);
    best.map_or_else(Number::default, |(_, number)| number)
}

/// How much values grow with each loop, outermost first.
fn steps(paths: &[Path], values: &[i64]) -> Vec<i64> {
    let levels = paths.first().map_or(0, |path| path.len());
    (0..levels).map(|level| step(paths, values, level).unwrap_or(0)).collect()
}

fn step(paths: &[Path], values: &[i64], level: usize) -> Option<i64> {
    let is_first = |path: &Path| path[level + 1..].iter().all(|(at, _)| *at == 0);
    let mut first = paths.iter().zip(values).filter(|(path, _)| is_first(path));
    let (mut last, mut before) = first.next()?;
    for (path, value) in first {
        let same = level == 0 || path[level - 1].1 == last[level - 1].1;
        if same && path[level].0 == last[level].0 + 1 {
            return Some(value - before);
        }
        (last, before) = (path, value);
    }
    None
}

fn grown(path: &Path, steps: &[i64], from: usize) -> i64 {
    let each = path.iter().zip(steps).skip(from);
    each.map(|((at, _), step)| step.wrapping_mul(i64::from(*at))).fold(0, i64::wrapping_add)
}

fn constant(paths: &[Path], values: &[i64], steps: &[i64]) -> Option<i64> {
    let mut bases = paths.iter().zip(values).map(|(path, v)| v.wrapping_sub(grown(path, steps, 0)));
    let first = bases.next()?;
    bases.all(|base| base == first).then_some(first)
}

/// A list with a value for each execution of the body of a loop, and growth with those inside it.
fn by_execution(
    around: &[Around],
    paths: &[Path],
    values: &[i64],
    steps: &[i64],
    level: usize,
) -> Option<(usize, Number)> {
    let bases = paths
        .iter()
        .zip(values)
        .map(|(path, value)| (path[level].1, value.wrapping_sub(grown(path, steps, level + 1))));
    let list = listed(around[level].all, bases)?;
    let runs = if level > 0 { CURSOR } else { 0 };
    let steps = steps.iter().enumerate().map(|(at, s)| if at > level { *s } else { 0 });
    let steps: Vec<i64> = steps.rev().collect();
    let inner = steps.len() - 1;
    let (depth, root) = (inner - level, inner);
    Some((
        value_bytes(&list) + runs,
        Number { base: 0, steps, list: Some(List { depth, root, values: list.into() }) },
    ))
}

/// A list with a value for each iteration of a loop, the same in all its executions.
fn by_iteration(
    around: &[Around],
    paths: &[Path],
    values: &[i64],
    level: usize,
) -> Option<(usize, Number)> {
    let at = |path: &Path| path[level].0;
    let places = paths.iter().zip(values).map(|(path, value)| (at(path), *value));
    let list = listed(around[level].most, places)?;
    let levels = paths[0].len();
    let depth = levels - 1 - level;
    let list = List { depth, root: depth, values: list.into() };
    let cost = value_bytes(&list.values);
    let steps = vec![0; levels];
    Some((cost, Number { base: 0, steps, list: Some(list) }))
}

/// The values by place, if every place has one only. Where a statement is left out the list has a
/// value, too: a list may be looked into before it is known whether its value is used.
fn listed(len: usize, values: impl Iterator<Item = (u32, i64)>) -> Option<Vec<i64>> {
    let mut list: Vec<Option<i64>> = vec![None; len];
    for (at, value) in values {
        match &mut list[at as usize] {
            Some(known) if *known != value => return None,
            place => *place = Some(value),
        }
    }
    Some(list.into_iter().map(|value| value.unwrap_or(0)).collect())
}

/// The text of these nodes; lists that are the same stand once.
pub fn text_bytes(nodes: &[Node]) -> usize {
    let mut seen = HashSet::new();
    all(nodes, &mut seen)
}

fn all(nodes: &[Node], seen: &mut HashSet<Rc<[i64]>>) -> usize {
    let of = |node: &Node| {
        let own = match &node.kind {
            Kind::Leaf => STATEMENT,
            Kind::Loop(body) | Kind::Block(body) => LOOP + all(body, seen),
        };
        let numbers = node.numbers.iter();
        own + numbers.map(|number| number_bytes(number, seen)).sum::<usize>()
    };
    nodes.iter().map(of).sum()
}

fn number_bytes(number: &Number, seen: &mut HashSet<Rc<[i64]>>) -> usize {
    let Some(list) = &number.list else { return 0 };
    let runs = if list.root > list.depth { CURSOR } else { 0 };
    match seen.insert(Rc::clone(&list.values)) {
        true => runs + LIST + value_bytes(&list.values),
        false => runs,
    }
}

/// A list of these values, or the rule that they follow.
fn value_bytes(values: &[i64]) -> usize {
    let digits = |value: &i64| value.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 3;
    let all: usize = values.iter().map(digits).sum();
    if all <= RULE {
        return all;
    }
    if condition(values, "").is_some() {
        return RULE;
    }
    match Written::shortest(values.to_vec(), "") {
        Written::Sum { .. } => RULE,
        Written::List(list) if list.values.len() == values.len() => all,
        Written::List(list) => all.min(RULE + list.values.iter().map(digits).sum::<usize>()),
    }
}

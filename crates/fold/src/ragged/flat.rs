//! Short regular loops -> their iterations, one after the other: what repeats over several of them is
//! found in what they do.

use super::super::loops::{Gap, Kind, Node};

/// Most elements that a loop is written out to.
const LOOP_MAX: usize = 1 << 12;
/// Most elements of all.
const ALL_MAX: usize = 1 << 18;

/// The elements with short loops written out; `None`: there are too many.
pub fn flat(nodes: &[Node]) -> Option<Vec<Node>> {
    let mut all = Vec::new();
    for node in nodes {
        add(node, &mut all);
        if all.len() > ALL_MAX {
            return None;
        }
    }
    Some(all)
}

fn add(node: &Node, all: &mut Vec<Node>) {
    let Kind::Loop(body) = &node.kind else { return all.push(node.clone()) };
    if size(node).is_none_or(|size| size > LOOP_MAX) {
        return all.push(node.clone());
    }
    let count = node.numbers[0].base;
    for iteration in 0..count {
        body.iter().for_each(|inner| add(&executed(inner, iteration, count), all));
    }
}

/// Statements that a loop executes.
fn size(node: &Node) -> Option<usize> {
    let Kind::Loop(body) = &node.kind else { return Some(1) };
    let [count] = &node.numbers[..] else { return None };
    let count = usize::try_from(count.base).ok().filter(|_| count.steps.iter().all(|s| *s == 0))?;
    let inner: Option<usize> = body.iter().map(size).sum();
    inner?.checked_mul(count)
}

/// An element of a body in one iteration.
fn executed(node: &Node, iteration: i64, count: i64) -> Node {
    let mut node = node.clone();
    node.each_mut(&mut |number| {
        let step = number.steps.pop().unwrap_or(0);
        number.base = number.base.wrapping_add(step.wrapping_mul(iteration));
    });
    share(&mut node, iteration as u64, count.max(1) as u64);
    node
}

fn part_of<T>(all: Vec<T>, iteration: u64, parts: u64) -> Vec<T> {
    let own = all.len() / parts as usize;
    all.into_iter().skip(own * iteration as usize).take(own).collect()
}

/// Its part of the time before it.
fn share(node: &mut Node, iteration: u64, parts: u64) {
    let Gap { sum_ns, count, waited_ns, longest_ns, each, meets_end, .. } =
        std::mem::take(&mut node.gap);
    let part = |ns: u64| ns / parts + if iteration == 0 { ns % parts } else { 0 };
    let each = part_of(each, iteration, parts);
    for number in &mut node.numbers {
        number.wild = part_of(std::mem::take(&mut number.wild), iteration, parts);
    }
    let (sum_ns, waited_ns) = (part(sum_ns), part(waited_ns));
    let count = count / parts;
    node.gap = Gap { sum_ns, count, waited_ns, longest_ns, each, meets_end, ..Gap::default() };
    node.body_mut().iter_mut().for_each(|inner| share(inner, iteration, parts));
}

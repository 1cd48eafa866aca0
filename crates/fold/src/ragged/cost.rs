//! What a sequence takes as text, in bytes, roughly.

use super::super::loops::{Kind, Node, Number};
use super::super::regular::{Written, condition};
use std::collections::HashSet;
use std::rc::Rc;

const STATEMENT: usize = 40;
const LOOP: usize = 30;
/// A variable that counts the iterations of a loop over executions.
const CURSOR: usize = 20;
const LIST: usize = 15;
/// An expression in place of a list: more than a loop, so that nests stay where they leave nothing over.
const RULE: usize = 35;

/// The text of these nodes; lists that are the same stand once.
pub fn bytes(nodes: &[Node]) -> usize {
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
        true => runs + LIST + values(&list.values),
        false => runs,
    }
}

/// A list of these values, or the rule that they follow.
pub fn values(values: &[i64]) -> usize {
    let digits = |value: &i64| value.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 3;
    let all: usize = values.iter().map(digits).sum();
    if all <= RULE {
        return all;
    }
    if condition(values, "").is_some() {
        return RULE;
    }
    match Written::of(values.to_vec(), "") {
        Written::Sum { .. } => RULE,
        Written::List(list) if list.values.len() == values.len() => all,
        Written::List(list) => all.min(RULE + list.values.iter().map(digits).sum::<usize>()),
    }
}

//! Near-misses: like neighbours whose numbers follow no rule become a loop over lists.
//!
//! ```text
//! r(7) r(2) r(9) r(4) ...    -> repeat i 100 { r(values[i]) }
//! ```
//!
//! Only where that is shorter: what statements take is compared with what their numbers take.

use super::loops::{Gap, Kind, List, Node, Number, collect};
use super::regular::even_step;
use std::rc::Rc;

/// Longest body that is looked for, in elements.
const BODY_MAX: usize = 16;
/// What a statement takes in a text, in bytes, roughly.
const STATEMENT_BYTES: usize = 40;
/// What a loop and a list take besides.
const LOOP_BYTES: usize = 60;

/// Makes loops over lists of what is alike.
pub(super) fn listed(nodes: Vec<Node>) -> Vec<Node> {
    let mut all = Vec::with_capacity(nodes.len());
    let mut at = 0;
    while at < nodes.len() {
        match best(&nodes[at..]) {
            Some((width, count)) => {
                all.push(over_lists(&nodes[at..at + width * count], width, count));
                at += width * count;
            }
            None => {
                all.push(nodes[at].clone());
                at += 1;
            }
        }
    }
    all
}

/// The width and count of iterations that save most, from the first element on.
fn best(nodes: &[Node]) -> Option<(usize, usize)> {
    let saved = |width: usize| {
        let same = nodes.iter().zip(&nodes[width..]).take_while(|(a, b)| a.hash == b.hash).count();
        let count = same / width + 1;
        if count < 3 {
            return None;
        }
        let text = (count - 1) * width * STATEMENT_BYTES;
        let lists: usize = varying(&nodes[..width * count], width)?.iter().map(|n| n * count).sum();
        let saved = text.checked_sub(lists + LOOP_BYTES)?;
        Some((saved, std::cmp::Reverse(width), count))
    };
    let most = (1..=BODY_MAX.min(nodes.len() / 3)).filter_map(saved).max();
    most.map(|(_, width, count)| (width.0, count))
}

/// Of each number that does not grow evenly: the bytes that it takes in a list. `None`: it has a list
/// of an inner loop already.
fn varying(nodes: &[Node], width: usize) -> Option<Vec<usize>> {
    let mut has_list = Vec::new();
    nodes[..width].iter().for_each(|node| {
        node.each(&mut |number| {
            has_list.push(number.list.is_some());
            true
        });
    });
    let columns = columns(nodes, width);
    let digits = |value: &i64| value.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 3;
    let uneven = columns.iter().zip(has_list).filter(|(values, _)| even_step(values).is_none());
    uneven
        .map(|(values, has_list)| match has_list {
            true => None,
            false => values.iter().take(16).map(digits).max(),
        })
        .collect()
}

/// The values of every number of a body, over the iterations.
fn columns(nodes: &[Node], width: usize) -> Vec<Vec<i64>> {
    let mut columns: Vec<Vec<i64>> = Vec::new();
    for iteration in nodes.chunks(width) {
        let mut bases = Vec::new();
        iteration.iter().for_each(|node| {
            node.each(&mut |number| collect(&mut bases, number));
        });
        columns.resize(bases.len(), Vec::new());
        columns.iter_mut().zip(bases).for_each(|(column, base)| column.push(base));
    }
    columns
}

fn over_lists(nodes: &[Node], width: usize, count: usize) -> Node {
    let mut columns = columns(nodes, width).into_iter();
    let mut body = nodes[..width].to_vec();
    for other in nodes[width..].chunks(width) {
        body.iter_mut().zip(other).for_each(|(node, other)| node.add_gaps(other));
    }
    for node in &mut body {
        node.each_mut(&mut |number: &mut Number| {
            let values = columns.next().unwrap_or_default();
            let depth = number.steps.len();
            match even_step(&values) {
                Some(step) => number.steps.push(step),
                None => {
                    number.steps.push(0);
                    number.base = 0;
                    number.list = Some(List { depth, root: depth, values: Rc::from(values) });
                }
            }
        });
    }
    let count = vec![Number::constant(count as i64)];
    Node::made(0, count, Gap::default(), Kind::Loop(body))
}

#[cfg(test)]
mod tests {
    use super::super::alike::Plain;
    use super::super::loops::Folder;
    use super::*;

    fn folded(numbers: &[i64]) -> Vec<Node> {
        let mut folder = Folder::default();
        numbers.iter().for_each(|number| folder.push(Node::leaf(1, &[*number, 4096], 0)));
        folder.finish(&mut Plain::default().alike())
    }

    #[test]
    fn irregular_neighbours_become_a_loop_over_a_list() {
        let values = [7, 2, 9, 4, 11, 3, 3, 8, 1];
        let nodes = folded(&values);
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes[0].numbers[0].base, 9);
        let numbers = &nodes[0].body()[0].numbers;
        assert_eq!(numbers[0].list, Some(List { depth: 0, root: 0, values: Rc::from(values) }));
        assert_eq!((numbers[1].base, &numbers[1].list), (4096, &None));
        // Too few to be shorter.
        assert_eq!(folded(&values[..2]).len(), 2);
    }
}

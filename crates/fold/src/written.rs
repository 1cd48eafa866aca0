//! Elements of a program written out: the statements that they execute, one after the other, with the numbers that
//! they have then. Blocks stay together, because repeats do not cross their borders.
//!
//! ```text
//! repeat $i 3 { label { write($offsets[$i]) } }    ->    label { write(7) } label { write(3) } label { write(9) }
//! ```

use super::tree::{Gap, Kind, Node, Number};
use std::collections::HashMap;

/// Longest loop that is written out, in statements.
const LOOP_MAX: u64 = 1 << 12;

/// A statement, a long loop, or a block. Sequences have millions of them.
pub enum Flat<'a> {
    /// As it is in the program.
    Given(&'a Node),
    /// A statement of a loop in one iteration.
    Executed(Box<Node>),
    /// A block.
    Block(Box<Block<'a>>),
}

/// A block that was written out.
pub struct Block<'a> {
    /// The block in the program, if it is in no loop.
    pub given: Option<&'a Node>,
    /// Its label and the numbers in it, without a body.
    pub head: Node,
    /// Its elements, by their places.
    pub body: Vec<usize>,
}

impl Flat<'_> {
    /// The statement, or the head of the block.
    pub fn node(&self) -> &Node {
        match self {
            Flat::Given(node) => node,
            Flat::Executed(node) => node,
            Flat::Block(block) => &block.head,
        }
    }
}

/// Elements that were written out.
#[derive(Default)]
pub struct WrittenOut<'a> {
    /// All elements; the body of a block comes before the block.
    pub all: Vec<Flat<'a>>,
}

/// A loop that is executed.
struct Around {
    of: *const Node,
    /// Iterations of it, and of loops in it, since it began.
    done: HashMap<*const Node, i64>,
}

impl<'a> WrittenOut<'a> {
    /// Writes out a sequence; the places of its elements.
    pub fn add(&mut self, nodes: &'a [Node]) -> Vec<usize> {
        self.sequence(nodes, &mut Vec::new())
    }

    /// A sequence without these blocks: the body of each takes its place.
    pub fn without_blocks(
        &self,
        sequence: &[usize],
        is_left_out: &impl Fn(&Node) -> bool,
    ) -> Vec<usize> {
        let mut all = Vec::with_capacity(sequence.len());
        for at in sequence {
            match &self.all[*at] {
                Flat::Block(block) if is_left_out(&block.head) => {
                    all.extend(self.without_blocks(&block.body, is_left_out));
                }
                _ => all.push(*at),
            }
        }
        all
    }

    fn sequence(&mut self, nodes: &'a [Node], around: &mut Vec<Around>) -> Vec<usize> {
        let mut places = Vec::with_capacity(nodes.len());
        nodes.iter().for_each(|node| self.element(node, around, &mut places));
        places
    }

    fn element(&mut self, node: &'a Node, around: &mut Vec<Around>, places: &mut Vec<usize>) {
        let flat = match node.kind {
            Kind::Block => {
                let body = self.sequence(&node.body, around);
                let given = around.is_empty().then_some(node);
                Flat::Block(Box::new(Block { given, head: executed(node, around), body }))
            }
            Kind::Loop if !around.is_empty() || executions(node, 1) <= LOOP_MAX => {
                return self.iterations(node, around, places);
            }
            _ if around.is_empty() => Flat::Given(node),
            _ => Flat::Executed(Box::new(executed(node, around))),
        };
        places.push(self.all.len());
        self.all.push(flat);
    }

    fn iterations(&mut self, node: &'a Node, around: &mut Vec<Around>, places: &mut Vec<usize>) {
        let count = value(&node.numbers[0], around);
        around.push(Around { of: node, done: HashMap::new() });
        for _ in 0..count {
            node.body.iter().for_each(|inner| self.element(inner, around, places));
            around.iter_mut().for_each(|outer| *outer.done.entry(node).or_default() += 1);
        }
        around.pop();
    }
}

/// A statement, or the head of a block, in one iteration of the loops around it.
fn executed(node: &Node, around: &[Around]) -> Node {
    let constant = |number: &Number| Number::constant(value(number, around));
    let numbers = node.numbers.iter().map(constant).collect();
    let gap = if around.is_empty() { node.gap } else { mean(&node.gap) };
    Node::made(node.shape, numbers, gap, node.kind, Vec::new())
}

/// A number in one iteration of the loops around it, the innermost last.
fn value(number: &Number, around: &[Around]) -> i64 {
    let outwards = |depth: usize| &around[around.len() - 1 - depth];
    let done = |depth: usize, root: usize| {
        outwards(root).done.get(&outwards(depth).of).copied().unwrap_or(0)
    };
    let grown = number.steps.iter().enumerate().filter(|(_, step)| **step != 0);
    let grown = grown.map(|(depth, step)| step.wrapping_mul(done(depth, depth)));
    let listed = number.list.as_ref().and_then(|list| {
        let at = usize::try_from(done(list.depth, list.root)).ok()?;
        list.values.get(at).copied()
    });
    grown.chain(listed).fold(number.base, i64::wrapping_add)
}

/// One of several executions: all of them take the mean of their time.
fn mean(gap: &Gap) -> Gap {
    let count = gap.count.max(1);
    Gap {
        sum_ns: gap.sum_ns / count,
        count: gap.count.min(1),
        waited_ns: gap.waited_ns / count,
        ..*gap
    }
}

/// Statements that an element executes whose body is executed this often, at most.
fn executions(node: &Node, times: u64) -> u64 {
    let times = if node.kind == Kind::Loop { iterations(&node.numbers[0], times) } else { times };
    match node.kind {
        Kind::Leaf => times,
        Kind::Loop | Kind::Block => {
            node.body.iter().map(|inner| executions(inner, times)).fold(0, u64::saturating_add)
        }
    }
}

/// Iterations of all executions of a loop, at most.
fn iterations(count: &Number, times: u64) -> u64 {
    let positive = |number: i64| u64::try_from(number).unwrap_or(0);
    let grown = count.steps.iter().map(|step| positive(*step).saturating_mul(times));
    let most = grown.fold(positive(count.base), u64::saturating_add);
    let listed = count.list.as_ref().map_or(0, |list| match list.values.len() as u64 == times {
        true => list.values.iter().map(|value| positive(*value)).sum(),
        false => times.saturating_mul(positive(list.values.iter().copied().max().unwrap_or(0))),
    });
    times.saturating_mul(most).saturating_add(listed)
}

#[cfg(test)]
mod tests {
    use super::super::tree::List;
    use super::*;

    fn looped(count: Number, body: Vec<Node>) -> Node {
        Node::made(0, vec![count], Gap::default(), Kind::Loop, body)
    }

    fn listed(depth: usize, root: usize, steps: &[i64], values: &[i64]) -> Number {
        let list = Some(List { depth, root, values: values.into() });
        Number { base: 0, steps: steps.to_vec(), list }
    }

    fn leaf(number: Number, count: u64) -> Node {
        let gap = Gap { sum_ns: 10 * count, count, ..Gap::default() };
        Node::made(97, vec![number], gap, Kind::Leaf, Vec::new())
    }

    #[test]
    fn statements_have_the_numbers_of_their_iterations() {
        // repeat $i 3 { repeat $counts[$i] a($numbers[$at] + 100 * $j)  { a($i) a($numbers2[$i]) } }
        let inner = looped(
            listed(0, 0, &[0], &[2, 0, 1]),
            vec![leaf(listed(0, 1, &[100, 0], &[7, 8, 9]), 3)],
        );
        let even = leaf(Number { base: 1, steps: vec![2], list: None }, 3);
        let block = Node::block(5, &[], vec![even, leaf(listed(0, 0, &[0], &[4, 5, 6]), 3)]);
        let nodes = [looped(Number::constant(3), vec![inner, block]), leaf(Number::constant(1), 1)];
        let mut written = WrittenOut::default();
        let places = written.add(&nodes);
        let show = |places: &[usize]| -> Vec<(Kind, i64)> {
            let nodes = places.iter().map(|at| written.all[*at].node());
            nodes
                .map(|node| (node.kind, node.numbers.first().map_or(0, |number| number.base)))
                .collect()
        };
        let [statement, block] = [Kind::Leaf, Kind::Block];
        let expected =
            [(statement, 7), (statement, 108), (block, 0), (block, 0), (statement, 9), (block, 0)];
        assert_eq!(show(&places[..6]), expected);
        let plain = written.without_blocks(&places, &|_| true);
        let numbers: Vec<i64> = show(&plain).into_iter().map(|(_, number)| number).collect();
        assert_eq!(numbers, [7, 108, 1, 4, 3, 5, 9, 5, 6, 1]);
        assert!(plain.iter().all(|at| written.all[*at].node().gap.sum_ns == 10));
    }

    #[test]
    fn long_loops_stay() {
        let body = || vec![leaf(listed(0, 0, &[0], &[0; 5000]), 5000)];
        let nodes = [looped(Number::constant(5000), body())];
        assert_eq!(WrittenOut::default().add(&nodes), [0]);
        let rare = [looped(listed(0, 0, &[0], &[0, 900, 0]), body())];
        assert_eq!(executions(&looped(Number::constant(3), rare.to_vec()), 1), 900);
    }
}

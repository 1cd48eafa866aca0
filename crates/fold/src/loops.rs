//! A sequence of statements with numbers -> nested loops whose numbers are affine in their indices.
//!
//! ```text
//! w(0) w(8) w(16) c w(0) w(8) w(16) c w(0) w(8) w(16) c
//!     -> repeat i 3 { repeat j 3 { w(8 j) } c }
//! ```
//!
//! After Ketterlin and Clauss (CGO 2008): statements are pushed onto a stack; three like neighbours
//! whose numbers grow evenly become a loop, a loop followed by its predicted next iteration grows.
//! Loops are elements of the stack like statements, so nests come by themselves. Memory for regular
//! input is that of the result.

use super::tree::{Gap, Kind, Node, Number, collect};

/// Longest body of a loop, in elements.
const BODY_MAX: usize = 400;
/// Folds elements as they come.
#[derive(Debug, Default)]
pub struct Folder {
    stack: Vec<Node>,
    /// The sum of each element: that of elements that grow evenly does, too, so that most of those that
    /// do not are rejected without comparing their numbers.
    sums: Vec<u64>,
    /// Places of loops on the stack, and the lengths of their bodies: what can go on.
    loops: Vec<(usize, usize)>,
}

impl Folder {
    /// The next element.
    pub fn push(&mut self, node: Node) {
        self.add(node);
        while self.extend() || self.form() {}
    }

    fn add(&mut self, node: Node) {
        if node.kind == Kind::Loop && !node.body.is_empty() {
            self.loops.push((self.stack.len(), node.body.len()));
        }
        self.sums.push(node.sum());
        self.stack.push(node);
    }

    /// Takes elements away, from this place on.
    fn take(&mut self, from: usize) -> Vec<Node> {
        let end = self.loops.partition_point(|(at, _)| *at < from);
        self.loops.truncate(end);
        self.sums.truncate(from);
        self.stack.split_off(from.min(self.stack.len()))
    }

    /// Folds a sequence.
    pub fn fold(nodes: Vec<Node>) -> Vec<Node> {
        let mut folder = Folder::default();
        nodes.into_iter().for_each(|node| folder.push(node));
        folder.stack
    }

    /// The folded sequence.
    pub fn into_nodes(self) -> Vec<Node> {
        self.stack
    }

    /// The elements on top are the next iteration of the loop below them.
    fn extend(&mut self) -> bool {
        let len = self.stack.len();
        let near = self.loops.iter().rev().take_while(|(at, _)| len - at <= BODY_MAX + 1);
        let mut fitting = near.filter(|(at, width)| at + 1 + width == len).map(|(at, _)| *at);
        let found = fitting.find(|at| continues(&self.stack[*at], &self.stack[at + 1..]));
        let Some(at) = found else { return false };
        let top = self.take(at + 1);
        let node = &mut self.stack[at];
        node.numbers[0].base += 1;
        for (node, other) in node.body.iter_mut().zip(&top) {
            node.add_gaps(other);
        }
        self.sums[at] = self.stack[at].sum();
        true
    }

    /// The elements on top are three iterations of a loop.
    fn form(&mut self) -> bool {
        let (len, sums) = (self.sums.len(), &self.sums);
        let Some(last) = sums.last() else { return false };
        let is_loop = |width: &usize| {
            let (first, second) = (sums[len - 1 - 2 * width], sums[len - 1 - width]);
            last.wrapping_sub(second) == second.wrapping_sub(first)
                && is_even(&self.stack[len - 3 * width..], *width)
        };
        let Some(width) = (1..=(len / 3).min(BODY_MAX)).find(is_loop) else { return false };
        let mut iterations = self.take(len - 3 * width);
        let (first, later) = iterations.split_at_mut(width);
        grow(first, &later[..width]);
        for other in later.chunks(width) {
            first.iter_mut().zip(other).for_each(|(node, other)| node.add_gaps(other));
        }
        iterations.truncate(width);
        let count = vec![Number::constant(3)];
        self.add(Node::made(0, count, Gap::default(), Kind::Loop, iterations));
        true
    }
}

/// Elements are the iteration that a loop predicts.
fn continues(node: &Node, next: &[Node]) -> bool {
    let count = node.numbers[0].base;
    let is_loop = node.kind == Kind::Loop && node.body.len() == next.len();
    is_loop && node.body.iter().zip(next).all(|(body, next)| predicts(body, next, count))
}

/// The element has the numbers that the body predicts for iteration `count`.
fn predicts(body: &Node, next: &Node, count: i64) -> bool {
    let alike = body.shape == next.shape
        && body.numbers.len() == next.numbers.len()
        && body.kind == next.kind
        && body.body.len() == next.body.len();
    let numbers = || {
        body.numbers.iter().zip(&next.numbers).all(|(a, b)| {
            let Some((step, inner)) = a.steps.split_last() else { return false };
            let value = step.checked_mul(count).and_then(|grown| a.base.checked_add(grown));
            *inner == b.steps[..] && a.list == b.list && value == Some(b.base)
        })
    };
    alike && numbers() && body.body.iter().zip(&next.body).all(|(a, b)| predicts(a, b, count))
}

/// Three iterations of this width are alike, and their numbers grow evenly. Where input is irregular
/// the last element tells that already.
fn is_even(nodes: &[Node], width: usize) -> bool {
    let (first, later) = nodes.split_at(width);
    let (second, third) = later.split_at(width);
    let mut triples = first.iter().zip(second).zip(third).rev();
    triples.all(|((first, second), third)| grows_evenly(first, second, third))
}

fn grows_evenly(first: &Node, second: &Node, third: &Node) -> bool {
    let numbers = || {
        let pairs = first.numbers.iter().zip(&second.numbers);
        pairs.zip(&third.numbers).all(|((a, b), c)| {
            let step = b.base.checked_sub(a.base);
            step.is_some() && step == c.base.checked_sub(b.base)
        })
    };
    let bodies = || {
        let pairs = first.body.iter().zip(&second.body);
        pairs.zip(&third.body).all(|((a, b), c)| grows_evenly(a, b, c))
    };
    first.hash == second.hash && second.hash == third.hash && numbers() && bodies()
}

/// The first iteration becomes the body of a loop whose second one is known.
fn grow(first: &mut [Node], second: &[Node]) {
    for (node, next) in first.iter_mut().zip(second) {
        let mut bases = Vec::new();
        next.each(&mut |number| collect(&mut bases, number));
        let mut bases = bases.into_iter();
        node.each_mut(&mut |number| {
            let next = bases.next().unwrap_or(number.base);
            number.steps.push(next - number.base);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::irregular::finish;
    use super::super::statement::Plain;
    use super::*;

    /// `a0 a1`: shape and number; a loop is shown as `3{a0+1}`.
    fn folded(text: &str) -> String {
        let mut folder = Folder::default();
        for word in text.split_whitespace() {
            let (shape, number) = word.split_at(1);
            let bases: Vec<i64> =
                number.split(',').filter_map(|number| number.parse().ok()).collect();
            folder.push(Node::leaf(shape.as_bytes()[0].into(), &bases, 1));
        }
        show(&finish(folder, &mut Plain::default().alike()))
    }

    fn show(nodes: &[Node]) -> String {
        let number = |number: &Number| {
            let steps: String = number.steps.iter().map(|step| format!("+{step}")).collect();
            format!("{}{steps}", number.base)
        };
        let node = |node: &Node| {
            let numbers: Vec<String> = node.numbers.iter().map(number).collect();
            match node.kind {
                Kind::Leaf => format!("{}{}", node.shape as u8 as char, numbers.join(",")),
                Kind::Loop | Kind::Block => {
                    format!("{}{{{}}}", numbers.join(","), show(&node.body))
                }
            }
        };
        nodes.iter().map(node).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn regular_sequences_become_loops() {
        for (text, expected) in [
            ("a a a a", "4{a}"),
            ("a a", "a a"),
            ("a0 a1 a2 b", "3{a0+1} b"),
            ("a0 b5 a1 b3 a2 b1 a3 b-1", "4{a0+1 b5+-2}"),
            ("a0 a1 a2 c a0 a1 a2 c a0 a1 a2 c", "3{3+0{a0+1+0} c}"),
            ("a0 a1 a2 c a9 a10 a11 c a18 a19 a20 c", "3{3+0{a0+1+9} c}"),
            ("a0 a0 a0 b a0 a0 a0 a0 b a0 a0 a0 a0 a0 b", "3{3+1{a0+0+0} b}"),
            ("a0 a7", "a0 a7"),
            // Over a list.
            ("a0 a1 a3 a7", "4{a0+0}"),
            ("b a0 a2 a4 a6 a9", "b 4{a0+2} a9"),
        ] {
            assert_eq!(folded(text), expected, "{text}");
        }
    }

    #[test]
    fn memory_does_not_grow_with_iterations() {
        let mut folder = Folder::default();
        for at in 0..100_000 {
            folder.push(Node::leaf(1, &[at * 4096], 2));
        }
        let nodes = finish(folder, &mut Plain::default().alike());
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes[0].numbers[0].base, 100_000);
        assert_eq!(
            nodes[0].body[0].gap,
            Gap { sum_ns: 200_000, count: 100_000, longest_ns: 2, ..Gap::default() }
        );
    }

    #[test]
    fn numbers_at_the_edge_do_not_overflow() {
        let mut folder = Folder::default();
        for base in [i64::MIN, 0, i64::MAX, i64::MAX - 1, i64::MIN] {
            folder.push(Node::leaf(1, &[base], 0));
        }
        assert_eq!(finish(folder, &mut Plain::default().alike()).len(), 5);
    }
}

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

use super::alike::Alike;
use super::joined::join;
use super::ragged;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Longest body of a loop, in elements.
const BODY_MAX: usize = 400;
/// So many elements that became no loops are looked through for loops over lists before more come:
/// memory of irregular input is that of these and of lists.
const LONG: usize = 1 << 16;

/// A number in a loop nest: a base, and how much it grows with each index, the innermost loop first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Number {
    /// Its value where all indices are 0.
    pub base: i64,
    /// Growth per iteration, innermost loop first; as many as there are loops around it.
    pub steps: Vec<i64>,
    /// What is added in the iterations of one loop.
    pub list: Option<List>,
    /// What it is each time, in order, where it follows no rule; empty: it does.
    pub wild: Vec<i64>,
}

/// Values by iteration of a loop. Loops are counted from the innermost around a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct List {
    /// Which loop.
    pub depth: usize,
    /// Its iterations are counted over all executions within one of this loop: `depth`, or further out.
    pub root: usize,
    /// A value for each.
    pub values: Rc<[i64]>,
}

impl Number {
    /// A number outside of loops.
    pub fn constant(base: i64) -> Number {
        Number { base, ..Number::default() }
    }
}

/// The time between a statement's start and the end of what came before it, over its executions; and
/// what else is known of them all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// Sum, nanoseconds.
    pub sum_ns: u64,
    /// Executions.
    pub count: u64,
    /// What of the sum went by while the process waited for another one.
    pub waited_ns: u64,
    /// Those of them that come before the first iterations of the innermost loop around.
    pub entry: Entry,
    /// The longest of the others, nanoseconds.
    pub longest_ns: u64,
    /// Ranks and nanoseconds of every one, those of a rank in order; only where all are asked for.
    pub each: Vec<(u32, u64)>,
    /// An execution met the end of a file that the program itself had written.
    pub meets_end: bool,
}

/// Gaps before loops: what a thread or process waits until it begins, or computes between two loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Sum, nanoseconds.
    pub sum_ns: u64,
    /// Executions of the loop.
    pub count: u64,
    /// What of the sum went by while the process waited for another one.
    pub waited_ns: u64,
}

impl Gap {
    /// One execution.
    pub(super) fn once(ns: u64, waits: bool) -> Gap {
        let waited_ns = if waits { ns } else { 0 };
        Gap { sum_ns: ns, count: 1, waited_ns, longest_ns: ns, ..Gap::default() }
    }

    pub(super) fn add(&mut self, other: &Gap) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.count += other.count;
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
        self.entry.sum_ns = self.entry.sum_ns.saturating_add(other.entry.sum_ns);
        self.entry.count += other.entry.count;
        self.entry.waited_ns = self.entry.waited_ns.saturating_add(other.entry.waited_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.each.extend_from_slice(&other.each);
        self.meets_end |= other.meets_end;
    }

    /// A loop begins with what comes after it.
    fn enters(&mut self) {
        self.entry = Entry { sum_ns: self.sum_ns, count: self.count, waited_ns: self.waited_ns };
        self.longest_ns = 0;
    }

    /// Takes the gaps before loops away, as far as they are longer than those between iterations. What
    /// is left is as long in each iteration as between iterations.
    pub(super) fn take_entries(&mut self) -> Gap {
        let Entry { sum_ns, count, waited_ns } = std::mem::take(&mut self.entry);
        let (later_ns, later) =
            (self.sum_ns.saturating_sub(sum_ns), self.count.saturating_sub(count));
        if count == 0 || later == 0 {
            return Gap::default();
        }
        let usual_ns = (later_ns as u128 * u128::from(count) / u128::from(later)) as u64;
        let Some(more_ns) = sum_ns.checked_sub(usual_ns) else { return Gap::default() };
        let waited_ns = waited_ns.min(more_ns);
        self.sum_ns -= more_ns;
        self.waited_ns = self.waited_ns.saturating_sub(waited_ns);
        Gap { sum_ns: more_ns, count, waited_ns, ..Gap::default() }
    }
}

/// What an element is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A statement of this shape.
    Leaf,
    /// Its first number is the count.
    Loop(Vec<Node>),
    /// A labelled block; the shape is the label.
    Block(Vec<Node>),
}

/// An element of a program: a statement, a loop, a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is, with all growth in it, but without bases.
    pub(super) hash: u64,
    /// Number of the shape; of a loop 0.
    pub shape: u32,
    /// Its own numbers.
    pub numbers: Vec<Number>,
    /// Time before it.
    pub gap: Gap,
    /// What it is.
    pub kind: Kind,
}

impl Node {
    /// A statement.
    pub fn leaf(shape: u32, bases: &[i64], gap_ns: u64) -> Node {
        let numbers = bases.iter().map(|base| Number::constant(*base)).collect();
        Node::made(shape, numbers, Gap::once(gap_ns, false), Kind::Leaf)
    }

    /// A labelled block.
    pub fn block(shape: u32, bases: &[i64], body: Vec<Node>) -> Node {
        let numbers = bases.iter().map(|base| Number::constant(*base)).collect();
        Node::made(shape, numbers, Gap::default(), Kind::Block(body))
    }

    pub(super) fn made(shape: u32, numbers: Vec<Number>, gap: Gap, kind: Kind) -> Node {
        let mut node = Node { hash: 0, shape, numbers, gap, kind };
        node.hash = node.hashed();
        node
    }

    fn hashed(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.shape.hash(&mut hasher);
        self.numbers.iter().for_each(|number| (&number.steps, &number.list).hash(&mut hasher));
        let (kind, body) = match &self.kind {
            Kind::Leaf => (0u8, &[][..]),
            Kind::Loop(body) => (1, body.as_slice()),
            Kind::Block(body) => (2, body.as_slice()),
        };
        (kind, body.len()).hash(&mut hasher);
        body.iter().for_each(|node| node.hash.hash(&mut hasher));
        hasher.finish()
    }

    /// A sum over what it is and all its bases, each times a factor of its place: three nodes whose
    /// bases grow evenly have sums that do.
    fn sum(&self) -> u64 {
        let (mut sum, mut factor) = (self.hash, 1u64);
        self.each(&mut |number| {
            factor = factor.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            sum = sum.wrapping_add(factor.wrapping_mul(number.base as u64));
            true
        });
        sum
    }

    /// What stands in it.
    pub fn body(&self) -> &[Node] {
        match &self.kind {
            Kind::Leaf => &[],
            Kind::Loop(body) | Kind::Block(body) => body,
        }
    }

    pub(super) fn body_mut(&mut self) -> &mut [Node] {
        match &mut self.kind {
            Kind::Leaf => &mut [],
            Kind::Loop(body) | Kind::Block(body) => body,
        }
    }

    /// Gives every number in it, of like nodes in the same order.
    pub(super) fn each<'a>(&'a self, take: &mut impl FnMut(&'a Number) -> bool) -> bool {
        self.numbers.iter().all(&mut *take) && self.body().iter().all(|node| node.each(take))
    }

    /// Numbers that follow no rule have lists: a value for each execution.
    pub(super) fn list_wild(&mut self) {
        self.each_mut(&mut |number| {
            let values = std::mem::take(&mut number.wild);
            match (values.first(), number.steps.len().checked_sub(1)) {
                (Some(_), Some(root)) => {
                    number.list = Some(List { depth: 0, root, values: values.into() });
                }
                (Some(only), None) => number.base = *only,
                (None, _) => {}
            }
        });
    }

    pub(super) fn each_mut(&mut self, change: &mut impl FnMut(&mut Number)) {
        self.numbers.iter_mut().for_each(&mut *change);
        self.body_mut().iter_mut().for_each(|node| node.each_mut(change));
        self.hash = self.hashed();
    }

    /// Adds the gaps of another execution.
    pub(super) fn add_gaps(&mut self, other: &Node) {
        self.gap.add(&other.gap);
        for (number, other) in self.numbers.iter_mut().zip(&other.numbers) {
            number.wild.extend_from_slice(&other.wild);
        }
        for (node, other) in self.body_mut().iter_mut().zip(other.body()) {
            node.add_gaps(other);
        }
    }
}

/// Folds elements as they come.
#[derive(Debug, Default)]
pub struct Folder {
    stack: Vec<Node>,
    /// The sum of each element: that of elements that grow evenly does, too, so that most of those that
    /// do not are told apart without looking at their numbers.
    sums: Vec<u64>,
    /// Places of loops on the stack, and the lengths of their bodies: what can go on.
    loops: Vec<(usize, usize)>,
    /// Elements that are as short as they get.
    settled: usize,
}

impl Folder {
    /// The next element.
    pub fn push(&mut self, node: Node) {
        self.add(node);
        while self.extend() || self.form() {}
    }

    fn add(&mut self, node: Node) {
        if let Kind::Loop(body) = &node.kind
            && !body.is_empty()
        {
            self.loops.push((self.stack.len(), body.len()));
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

    /// What neighbours of elements became.
    pub fn of(nodes: Vec<Node>) -> Vec<Node> {
        let mut folder = Folder::default();
        nodes.into_iter().for_each(|node| folder.push(node));
        folder.stack
    }

    /// There are so many elements that their numbers had better stand in lists.
    pub fn is_long(&self) -> bool {
        self.stack.len() >= self.settled + LONG
    }

    /// Makes loops over lists of what came since the last time, where that is shorter.
    pub fn settle(&mut self, alike: &mut Alike<'_>) {
        self.shorten(alike);
        // What stands behind the last loop may be the beginning of its next iteration.
        let behind = self.stack.iter().rev().take_while(|node| node.kind == Kind::Leaf).count();
        let more = if behind < BODY_MAX { behind } else { 0 };
        self.settled = self.stack.len() - more;
    }

    fn shorten(&mut self, alike: &mut Alike<'_>) {
        // Loops may have formed across.
        self.settled = self.settled.min(self.stack.len());
        let own = self.take(self.settled);
        let mut shorter = ragged::shortened(own, alike).into_iter();
        if self.settled > 0
            && let Some(next) = shorter.next()
        {
            let mut latest = self.take(self.settled - 1).remove(0);
            let apart = join(&mut latest, next);
            self.add(latest);
            apart.into_iter().for_each(|node| self.add(node));
        }
        shorter.for_each(|node| self.add(node));
    }

    /// What all became, with loops over lists where that is shorter.
    pub fn finish(mut self, alike: &mut Alike<'_>) -> Vec<Node> {
        self.shorten(alike);
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
        for (node, other) in node.body_mut().iter_mut().zip(&top) {
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
        first[0].gap.enters();
        grow(first, &later[..width]);
        for other in later.chunks(width) {
            first.iter_mut().zip(other).for_each(|(node, other)| node.add_gaps(other));
        }
        iterations.truncate(width);
        let count = vec![Number::constant(3)];
        self.add(Node::made(0, count, Gap::default(), Kind::Loop(iterations)));
        true
    }
}

/// Elements are the iteration that a loop predicts.
fn continues(node: &Node, next: &[Node]) -> bool {
    let Kind::Loop(body) = &node.kind else { return false };
    if body.len() != next.len() {
        return false;
    }
    let count = node.numbers[0].base;
    body.iter().zip(next).all(|(body, next)| {
        let alike = body.shape == next.shape && body.numbers.len() == next.numbers.len();
        alike && predicts(body, next, count)
    })
}

/// The numbers of a body after so many iterations are those of an element outside of the loop.
fn predicts(body: &Node, next: &Node, count: i64) -> bool {
    let alike = body.shape == next.shape
        && body.numbers.len() == next.numbers.len()
        && std::mem::discriminant(&body.kind) == std::mem::discriminant(&next.kind)
        && body.body().len() == next.body().len();
    let numbers = || {
        body.numbers.iter().zip(&next.numbers).all(|(a, b)| {
            let Some((step, inner)) = a.steps.split_last() else { return false };
            let value = step.checked_mul(count).and_then(|grown| a.base.checked_add(grown));
            *inner == b.steps[..] && a.list == b.list && value == Some(b.base)
        })
    };
    alike && numbers() && body.body().iter().zip(next.body()).all(|(a, b)| predicts(a, b, count))
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
        let pairs = first.body().iter().zip(second.body());
        pairs.zip(third.body()).all(|((a, b), c)| grows_evenly(a, b, c))
    };
    first.hash == second.hash && second.hash == third.hash && numbers() && bodies()
}

pub(super) fn collect(bases: &mut Vec<i64>, number: &Number) -> bool {
    bases.push(number.base);
    true
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
    use super::super::alike::Plain;
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
        show(&folder.finish(&mut Plain::default().alike()))
    }

    fn show(nodes: &[Node]) -> String {
        let number = |number: &Number| {
            let steps: String = number.steps.iter().map(|step| format!("+{step}")).collect();
            format!("{}{steps}", number.base)
        };
        let node = |node: &Node| {
            let numbers: Vec<String> = node.numbers.iter().map(number).collect();
            match &node.kind {
                Kind::Leaf => format!("{}{}", node.shape as u8 as char, numbers.join(",")),
                Kind::Loop(body) | Kind::Block(body) => {
                    format!("{}{{{}}}", numbers.join(","), show(body))
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
        let nodes = folder.finish(&mut Plain::default().alike());
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes[0].numbers[0].base, 100_000);
        assert_eq!(
            nodes[0].body()[0].gap,
            Gap {
                sum_ns: 200_000,
                count: 100_000,
                longest_ns: 2,
                entry: Entry { sum_ns: 2, count: 1, waited_ns: 0 },
                ..Gap::default()
            }
        );
    }

    /// Ten times a statement and a pause of 20 us, then eight statements with pauses of 100 ns.
    #[test]
    fn gaps_before_a_loop_are_told_apart_from_those_in_it() {
        let mut folder = Folder::default();
        for outer in 0..10 {
            folder.push(Node::leaf(2, &[outer], 300));
            for inner in 0..8 {
                let gap_ns = if inner == 0 { 20_000 } else { 100 };
                folder.push(Node::leaf(1, &[inner * 4096], gap_ns));
            }
        }
        let mut nodes = folder.finish(&mut Plain::default().alike());
        let inner = &mut nodes[0].body_mut()[1];
        let gap = &mut inner.body_mut()[0].gap;
        let before = gap.take_entries();
        assert_eq!((before.sum_ns, before.count), (10 * 19_900, 10));
        assert_eq!((gap.sum_ns, gap.count), (80 * 100, 80));
        assert_eq!(gap.take_entries(), Gap::default());
    }

    /// A shorter one before the loop stays in the mean.
    #[test]
    fn gaps_before_a_loop_that_are_shorter_than_others_stay() {
        let entry = Entry { sum_ns: 10, count: 1, waited_ns: 0 };
        let mut gap = Gap { sum_ns: 70, count: 4, entry, ..Gap::default() };
        assert_eq!(gap.take_entries(), Gap::default());
        assert_eq!(gap.sum_ns, 70);
    }

    #[test]
    fn numbers_at_the_edge_do_not_overflow() {
        let mut folder = Folder::default();
        for base in [i64::MIN, 0, i64::MAX, i64::MAX - 1, i64::MIN] {
            folder.push(Node::leaf(1, &[base], 0));
        }
        assert_eq!(folder.finish(&mut Plain::default().alike()).len(), 5);
    }
}

//! The tree of a rank: statements, loops and blocks, with numbers that depend on the loops around them.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::iter::Sum;
use std::rc::Rc;

/// A number in a loop nest: a base, and how much it grows with each index, the innermost loop first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Number {
    /// Its value where all indices are 0.
    pub base: i64,
    /// Growth per iteration, innermost loop first; as many as there are loops around it.
    pub steps: Vec<i64>,
    /// Values added in the iterations of one loop.
    pub list: Option<List>,
}

/// Values by iteration of a loop. Loops are counted from the innermost around a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct List {
    /// Number of the loop.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// Sum, nanoseconds.
    pub sum_ns: u64,
    /// Executions.
    pub count: u64,
    /// Part of the sum during which the process waited for another one, nanoseconds.
    pub waited_ns: u64,
    /// The longest, nanoseconds.
    pub longest_ns: u64,
    /// An execution met the end of a file that the program itself had written.
    pub meets_end: bool,
}

impl Gap {
    /// One execution.
    pub fn once(ns: u64, waits: bool) -> Gap {
        let waited_ns = if waits { ns } else { 0 };
        Gap { sum_ns: ns, count: 1, waited_ns, longest_ns: ns, ..Gap::default() }
    }

    /// The mean, nanoseconds.
    pub fn mean_ns(&self) -> u64 {
        (self.sum_ns as f64 / self.count.max(1) as f64).round() as u64
    }

    /// The time of others before a place that is executed this often is added.
    pub fn take_time(&mut self, other: Gap, times: u64) {
        let part = |ns: u64| match self.count < times {
            true => (ns as f64 * self.count as f64 / times as f64) as u64,
            false => ns,
        };
        let (sum_ns, waited_ns) = (part(other.sum_ns), part(other.waited_ns));
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
        self.waited_ns = self.waited_ns.saturating_add(waited_ns);
    }

    /// The same executions, without pauses.
    pub fn without_time(&self) -> Gap {
        Gap { count: self.count, meets_end: self.meets_end, ..Gap::default() }
    }

    pub fn add(&mut self, other: &Gap) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.count += other.count;
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.meets_end |= other.meets_end;
    }
}

impl<'a> Sum<&'a Gap> for Gap {
    fn sum<I: Iterator<Item = &'a Gap>>(all: I) -> Gap {
        let mut sum = Gap::default();
        all.for_each(|gap| sum.add(gap));
        sum
    }
}

/// A hash of something.
pub fn hash_of(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Kind of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A statement of this shape.
    Leaf,
    /// Its first number is the count.
    Loop,
    /// A labelled block; the shape is the label.
    Block,
}

/// An element of a program: a statement, a loop, a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Hash of kind, shape and growth, without bases.
    pub hash: u64,
    /// Number of the shape; of a loop 0.
    pub shape: u32,
    /// Its own numbers.
    pub numbers: Vec<Number>,
    /// Time before it.
    pub gap: Gap,
    /// Its kind.
    pub kind: Kind,
    /// Elements of a loop or block.
    pub body: Vec<Node>,
}

impl Node {
    /// A statement.
    pub fn leaf(shape: u32, bases: &[i64], gap_ns: u64) -> Node {
        let numbers = bases.iter().map(|base| Number::constant(*base)).collect();
        Node::made(shape, numbers, Gap::once(gap_ns, false), Kind::Leaf, Vec::new())
    }

    /// A labelled block.
    pub fn block(shape: u32, bases: &[i64], body: Vec<Node>) -> Node {
        let numbers = bases.iter().map(|base| Number::constant(*base)).collect();
        Node::made(shape, numbers, Gap::default(), Kind::Block, body)
    }

    pub fn made(shape: u32, numbers: Vec<Number>, gap: Gap, kind: Kind, body: Vec<Node>) -> Node {
        let mut node = Node { hash: 0, shape, numbers, gap, kind, body };
        node.hash = node.hashed();
        node
    }

    fn hashed(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.shape.hash(&mut hasher);
        self.numbers.iter().for_each(|number| (&number.steps, &number.list).hash(&mut hasher));
        (self.kind, self.body.len()).hash(&mut hasher);
        self.body.iter().for_each(|node| node.hash.hash(&mut hasher));
        hasher.finish()
    }

    /// A sum over what it is and all its bases, each times a factor of its place: three nodes whose
    /// bases grow evenly have sums that do.
    pub fn sum(&self) -> u64 {
        let (mut sum, mut factor) = (self.hash, 1u64);
        self.each(&mut |number| {
            factor = factor.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            sum = sum.wrapping_add(factor.wrapping_mul(number.base as u64));
            true
        });
        sum
    }

    /// Gives every number in it, of like nodes in the same order.
    pub fn each<'a>(&'a self, take: &mut impl FnMut(&'a Number) -> bool) -> bool {
        self.numbers.iter().all(&mut *take) && self.body.iter().all(|node| node.each(take))
    }

    pub fn each_mut(&mut self, change: &mut impl FnMut(&mut Number)) {
        self.numbers.iter_mut().for_each(&mut *change);
        self.body.iter_mut().for_each(|node| node.each_mut(change));
        self.hash = self.hashed();
    }

    /// Adds the gaps of another execution.
    pub fn add_gaps(&mut self, other: &Node) {
        self.gap.add(&other.gap);
        for (node, other) in self.body.iter_mut().zip(&other.body) {
            node.add_gaps(other);
        }
    }
}

/// Adds the base of a number.
pub fn collect(bases: &mut Vec<i64>, number: &Number) -> bool {
    bases.push(number.base);
    true
}

/// Numbers of the shapes of barriers: what ranks do before one stays apart from what they do behind it. The
/// first is that of barriers which fold chooses. Barriers of the log have one by what the ranks begin with
/// behind: ranks with nothing to do between two barriers then come to both as the others do, and not to one
/// of them twice.
pub const BARRIERS: std::ops::Range<u32> = 0..17;

/// The shape of a barrier that fold chooses.
pub const BARRIER: u32 = BARRIERS.start;

/// The shape of a block without a label: what one of the processes of a rank did.
pub const PART: u32 = BARRIERS.end;

/// The shape of a long pause.
pub const LONG_PAUSE: u32 = PART + 1;

/// The shape of a pause of its number of nanoseconds.
pub const PAUSE: u32 = LONG_PAUSE + 1;

/// It is a pause of its number of nanoseconds.
pub fn is_pause(node: &Node) -> bool {
    node.kind == Kind::Leaf && node.shape == PAUSE
}

/// It is what one of the processes of a rank did.
pub fn is_part(node: &Node) -> bool {
    node.kind == Kind::Block && node.shape == PART
}

/// It is a barrier.
pub fn is_barrier(node: &Node) -> bool {
    node.kind == Kind::Leaf && BARRIERS.contains(&node.shape)
}

/// There is one in it.
pub fn has_barrier(node: &Node) -> bool {
    is_barrier(node) || node.body.iter().any(has_barrier)
}

/// Barriers among these elements, not in them.
pub fn count_barriers(nodes: &[Node]) -> usize {
    nodes.iter().filter(|node| is_barrier(node)).count()
}

/// The elements with every loop that consists of barriers alone written out.
pub fn write_out_barriers(nodes: &[Node]) -> Vec<Node> {
    let mut all = Vec::with_capacity(nodes.len());
    for node in nodes {
        if node.kind == Kind::Loop && node.body.iter().all(is_barrier) {
            let times = usize::try_from(node.numbers[0].base).unwrap_or(0);
            (0..times).for_each(|_| all.extend_from_slice(&node.body));
        } else {
            all.push(node.clone());
        }
    }
    all
}

/// The pauses before the barriers.
pub fn barrier_gaps(nodes: &[Node]) -> impl Iterator<Item = &Gap> {
    nodes.iter().filter(|node| is_barrier(node)).map(|node| &node.gap)
}

/// The elements between the barriers.
pub fn between_barriers(nodes: &[Node]) -> impl Iterator<Item = &[Node]> {
    nodes.split(is_barrier)
}

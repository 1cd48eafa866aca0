//! Sequences that the loop finder left -> loops over lists, with inner loops of varying lengths and parts
//! that some iterations leave out.
//!
//! ```text
//! open read close open read read read close open close ...
//!     -> repeat $i 100 { open(names[$i]) repeat counts[$i] read close }
//! ```
//!
//! Short regular loops are written out first: repeats over several of them are found in their statements.
//! Then repeats are looked for in the classes of statements alone, and numbers fitted to them. Only what
//! takes less text stays.
//!
//! Numbers depend on the loops around them: they are constant, grow evenly with some indices, or
//! are a list, whichever text is shortest.

use super::long_pauses::is_uneven;
use super::loops::Folder;
use super::regular::{Written, condition};
use super::repeats::{Element, Repeats, What, class_of};
use super::statement::{Alike, NumberKind};
use super::tree::{Gap, Kind, List, Node, Number, PAUSE, collect, has_barrier, is_part, is_pause};
use super::written::{Block, Flat, WrittenOut};
use model::op::HandleEffect;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// Fewer elements are short enough.
const SHORT: usize = 3;
/// Sequences of fewer elements stay unless much is won.
const FEW: usize = 8;

/// Bytes that a loop without its first iteration saves more.
const APART: usize = 200;
/// How many times as short a loop is that leaves files open.
const UNCLOSED: usize = 2;

/// All elements of a folder, with loops over lists where those are shorter.
pub fn finish(folder: Folder, alike: &mut Alike<'_>) -> Vec<Node> {
    shorten(folder.into_nodes(), alike)
}

/// The shortest form of a sequence that was folded into regular loops. Parts that several processes did are no blocks
/// of it.
fn shorten(nodes: Vec<Node>, alike: &mut Alike<'_>) -> Vec<Node> {
    let parts = nodes.iter().filter(|node| is_part(node)).count();
    if nodes.len() < SHORT && parts < 2 {
        return spliced(nodes);
    }
    let mut found = Vec::new();
    let mut parts = nodes.split(has_barrier).peekable();
    let mut meetings = nodes.iter().filter(|node| has_barrier(node));
    while let Some(part) = parts.next() {
        found.extend(without_meetings(part, alike));
        found.extend(meetings.next().filter(|_| parts.peek().is_some()).cloned());
    }
    let nodes = spliced(nodes);
    let bytes = text_bytes(&nodes);
    let worth = if nodes.len() < FEW { bytes * 2 / 3 } else { bytes };
    if text_bytes(&found) < worth { found } else { nodes }
}

/// Elements without parts: the body of each part takes its place.
fn spliced(nodes: Vec<Node>) -> Vec<Node> {
    nodes.into_iter().flat_map(without_parts).collect()
}

fn without_parts(mut node: Node) -> Vec<Node> {
    let is_part = is_part(&node);
    node.body = spliced(std::mem::take(&mut node.body));
    if is_part { node.body } else { vec![node] }
}

/// Finds repeats among statements without their numbers: in the parts of processes and across their borders.
fn without_meetings(nodes: &[Node], alike: &mut Alike<'_>) -> Vec<Node> {
    let mut written = WrittenOut::default();
    let sequence = written.add(nodes);
    for flat in &mut written.all {
        if let Flat::Executed(node) = flat {
            // Numbers of names do not grow.
            **node = alike.unnamed(node);
        }
    }
    let within = in_blocks(&written, &sequence, alike);
    if !sequence.iter().any(|at| is_part(written.all[*at].node())) {
        return within;
    }
    let across = written.without_blocks(&sequence, &is_part);
    let across = in_blocks(&written, &across, alike);
    // What a few processes have in common becomes procs.
    let is_shorter = text_bytes(&within) * 6 / 5 < text_bytes(&across);
    if is_shorter { within } else { across }
}

/// Finds repeats among elements, where blocks with one label have few kinds of bodies.
fn in_blocks(written: &WrittenOut<'_>, sequence: &[usize], alike: &mut Alike<'_>) -> Vec<Node> {
    let mut finder = Finder { written, alike, repeats: Repeats::default() };
    let elements = finder.find(&[sequence]).pop().unwrap_or_default();
    let Finder { repeats, alike, .. } = finder;
    let mut emitter = Emitter {
        repeats: &repeats,
        written,
        alike,
        all: Vec::new(),
        plain: Vec::new(),
        around: Vec::new(),
        orders: false,
        open: HashSet::new(),
        alone: HashMap::new(),
    };
    emitter.open = emitter.open_before(sequence);
    elements.iter().for_each(|element| emitter.top(element));
    emitter.flush();
    emitter.all
}

/// Finds repeats in sequences, and in the blocks in them.
struct Finder<'a, 'b, 'c> {
    written: &'a WrittenOut<'a>,
    alike: &'c mut Alike<'b>,
    repeats: Repeats,
}

impl Finder<'_, '_, '_> {
    /// The elements of sequences.
    fn find(&mut self, sequences: &[&[usize]]) -> Vec<Vec<Element>> {
        let written = self.written;
        let mut by_label: BTreeMap<u32, Vec<(usize, &Block<'_>)>> = BTreeMap::new();
        let mut plain = Vec::new();
        for at in sequences.iter().copied().flatten() {
            match &written.all[*at] {
                Flat::Block(block) => {
                    by_label.entry(block.head.shape).or_default().push((*at, block))
                }
                flat => plain.push((*at, flat.node())),
            }
        }
        let mut elements: HashMap<usize, Element> = HashMap::new();
        for (label, blocks) in by_label {
            let bodies: Vec<&[usize]> = blocks.iter().map(|(_, block)| &block.body[..]).collect();
            let bodies = self.find(&bodies).into_iter();
            let blocks = blocks.iter().map(|(at, _)| *at).zip(bodies).collect();
            elements.extend(self.repeats.blocks(label, blocks));
        }
        let classes = classes(&plain, self.alike);
        let one = |((at, _), class): (&(usize, &Node), u64)| {
            (*at, Element { class, what: What::One(*at) })
        };
        elements.extend(plain.iter().zip(classes).map(one));
        let elements = sequences.iter().map(|sequence| {
            sequence.iter().filter_map(|at| elements.remove(at)).collect::<Vec<Element>>()
        });
        self.repeats.join(elements.collect())
    }
}

/// Most sizes of a class that make classes of their own.
const SIZES_MAX: usize = 2;

/// Classes of statements; those with few sizes have a class per size.
fn classes(nodes: &[(usize, &Node)], alike: &Alike<'_>) -> Vec<u64> {
    let class = |(_, node): &(usize, &Node)| {
        let at = alike.kinds(node).iter().position(|kind| *kind == NumberKind::Bytes);
        (alike.class(node), at.map(|at| node.numbers[at].base))
    };
    let classes: Vec<(u64, Option<i64>)> = nodes.iter().map(class).collect();
    let mut sizes: HashMap<u64, HashSet<Option<i64>>> = HashMap::new();
    for (class, size) in &classes {
        sizes.entry(*class).or_default().insert(*size);
    }
    let sized = classes.iter().map(|(class, size)| match size {
        Some(size) if sizes[class].len() <= SIZES_MAX => class_of(&(class, size)),
        _ => class_of(class),
    });
    sized.collect()
}

/// Makes nodes of elements; loops only where they are shorter.
struct Emitter<'a, 'b> {
    repeats: &'a Repeats,
    written: &'a WrittenOut<'a>,
    alike: &'a mut Alike<'b>,
    all: Vec<Node>,
    /// Statements that are in no loop so far.
    plain: Vec<Node>,
    /// The loops around what is made, outermost first.
    around: Vec<Around>,
    /// The outermost loop is one over blocks in which ranks wait for each other.
    orders: bool,
    /// Variables of files that were opened before the sequence.
    open: HashSet<u32>,
    /// Blocks as they are on their own.
    alone: HashMap<usize, Vec<Node>>,
}

/// An element of each execution, if it is not left out there.
type Execution<'a> = (Option<&'a Element>, Path);

impl<'a> Emitter<'a, '_> {
    fn flush(&mut self) {
        let plain = std::mem::take(&mut self.plain);
        self.all.extend(Folder::fold(plain));
    }

    fn top(&mut self, element: &'a Element) {
        match &element.what {
            What::One(at) | What::Block(at, _) => {
                let nodes = self.alone(*at);
                self.plain.extend(nodes);
            }
            What::Many(iterations) => self.top_loop(element.class, iterations),
            What::Border => {}
        }
    }

    /// Iterations as a loop, with or without the first one, which often differs from the others; or one by one.
    fn top_loop(&mut self, class: u64, iterations: &'a [Vec<Option<Element>>]) {
        let (first, rest) = iterations.split_at(1);
        let alone = self.bytes_alone(iterations);
        let whole = self.as_loop(class, iterations);
        let whole = whole.filter(|(bytes, node)| *bytes < alone && self.opens_first(node));
        let least = whole.as_ref().map_or(alone, |(bytes, _)| bytes.saturating_sub(APART));
        let first_bytes = self.bytes_alone(first);
        let rest_only = self.as_loop(class, rest).filter(|(bytes, _)| first_bytes + bytes < least);
        match (rest_only, whole) {
            (Some((_, node)), _) => {
                first.iter().flatten().flatten().for_each(|inner| self.top(inner));
                if self.opens_first(&node) {
                    return self.add_loop(node);
                }
                rest.iter().flatten().flatten().for_each(|inner| self.top(inner));
            }
            (None, Some((_, node))) => self.add_loop(node),
            (None, None) => iterations.iter().flatten().flatten().for_each(|inner| self.top(inner)),
        }
    }

    /// Bytes of text of iterations one by one.
    fn bytes_alone(&mut self, iterations: &'a [Vec<Option<Element>>]) -> usize {
        let mut single = Vec::new();
        iterations.iter().flatten().flatten().for_each(|inner| self.statements(inner, &mut single));
        text_bytes(&Folder::fold(single))
    }

    fn add_loop(&mut self, node: Node) {
        self.flush();
        self.all.push(node);
    }

    /// A loop of several iterations, and how many bytes of text it may be worth.
    fn as_loop(
        &mut self,
        class: u64,
        iterations: &'a [Vec<Option<Element>>],
    ) -> Option<(usize, Node)> {
        let body = self.repeats.bodies.get(&class).filter(|_| iterations.len() > 1)?;
        let all = (0..).zip(iterations).map(|(at, iteration)| (iteration, Rc::from([(at, at)])));
        let all: Vec<(&'a Vec<Option<Element>>, Path)> = all.collect();
        let has = |is_it: &dyn Fn(&Element) -> bool| {
            iterations.iter().flatten().flatten().any(|inner| inner.any(is_it))
        };
        self.orders = has(&|inner| match inner.what {
            What::One(at) => self.alike.orders(self.written.all[at].node()),
            _ => false,
        }) && has(&|inner| matches!(inner.what, What::Block(..)));
        self.around.push(Around { most: all.len(), all: all.len() });
        let body = self.body(body, &all);
        self.around.pop();
        let count = vec![Number::constant(all.len() as i64)];
        let node = Node::made(0, count, Gap::default(), Kind::Loop, body);
        // Who reads a program looks for the end of what a loop begins in the loop.
        let is_closed = self.left_open(&node, HashSet::new()).is_empty();
        let factor = if is_closed { 1 } else { UNCLOSED };
        Some((factor * text_bytes(std::slice::from_ref(&node)), node))
    }

    /// A statement, or a block that has nothing in common with others.
    fn alone(&mut self, at: usize) -> Vec<Node> {
        let Flat::Block(block) = &self.written.all[at] else {
            return vec![self.written.all[at].node().clone()];
        };
        if let Some(known) = self.alone.get(&at) {
            return known.clone();
        }
        if let Some(given) = block.given {
            return without_parts(given.clone());
        }
        let body = in_blocks(self.written, &block.body, self.alike);
        let nodes = block_or_part(&block.head, body);
        self.alone.insert(at, nodes.clone());
        nodes
    }

    /// Variables that are used before they are opened here.
    fn open_before(&self, sequence: &[usize]) -> HashSet<u32> {
        let (mut opened, mut used) = (HashSet::new(), HashSet::new());
        for at in self.written.without_blocks(sequence, &|_| true) {
            self.follow(self.written.all[at].node(), &mut opened, &mut used);
        }
        used
    }

    /// No open file is used before the text shows where it is opened, in an iteration before.
    fn opens_first(&self, node: &Node) -> bool {
        let mut opened = self.open.clone();
        let before = self.all.iter().chain(&self.plain);
        before.for_each(|node| {
            self.follow(node, &mut opened, &mut HashSet::new());
        });
        let mut used = HashSet::new();
        self.follow(node, &mut opened, &mut used)
    }

    /// Follows which variables are opened, and which are used while none here was; `false`: one of
    /// these is opened afterwards.
    fn follow(&self, node: &Node, opened: &mut HashSet<u32>, used: &mut HashSet<u32>) -> bool {
        if let Some(statement) = self.alike.statement(node) {
            used.extend(statement.handles().filter(|variable| !opened.contains(variable)));
            if let Some(variable) = statement.gives {
                opened.insert(variable);
                return !used.contains(&variable);
            }
        }
        node.body.iter().all(|inner| self.follow(inner, opened, used))
    }

    /// Files that it opens and does not close.
    fn left_open(&self, node: &Node, mut open: HashSet<u32>) -> HashSet<u32> {
        if let Some(statement) = self.alike.statement(node) {
            if statement.op.row().handle == HandleEffect::Closes {
                statement.handles().for_each(|variable| _ = open.remove(&variable));
            }
            open.extend(statement.gives.filter(|_| statement.errno == 0));
        }
        node.body.iter().fold(open, |open, inner| self.left_open(inner, open))
    }

    fn statements(&mut self, element: &Element, all: &mut Vec<Node>) {
        match &element.what {
            What::Border => {}
            What::One(at) | What::Block(at, _) => all.extend(self.alone(*at)),
            What::Many(iterations) => {
                iterations.iter().flatten().flatten().for_each(|e| self.statements(e, all));
            }
        }
    }

    /// Emits one element of a body for all executions.
    fn element(&mut self, class: u64, all: Vec<Execution<'a>>) -> Vec<Node> {
        let body = self.repeats.bodies.get(&class);
        let first = all.iter().find_map(|(element, _)| *element).map(|element| &element.what);
        match (first, body) {
            (None, _) => Vec::new(),
            (Some(What::Many(_)), Some(body)) => self.loops(body, all),
            _ if all.iter().any(|(element, _)| element.is_none()) => {
                vec![self.optional(&[(class, all)])]
            }
            (Some(What::Block(..)), Some(body)) => self.block(body, &all),
            _ => self.leaf(&all),
        }
    }

    /// One block for all executions.
    fn block(&mut self, body: &[u64], all: &[Execution<'a>]) -> Vec<Node> {
        let within = |(element, path): &Execution<'a>| match element.map(|element| &element.what) {
            Some(What::Block(_, within)) => Some((within, path.clone())),
            _ => None,
        };
        let within: Vec<_> = all.iter().filter_map(within).collect();
        let mut body = self.body(body, &within);
        // Nothing is at work in the block before the first pause ends.
        let starts_with_pause = body.first().is_some_and(is_pause);
        let mut nodes: Vec<Node> = starts_with_pause.then(|| body.remove(0)).into_iter().collect();
        if let Some(head) = self.leaf(all).pop() {
            nodes.extend(block_or_part(&head, body));
        }
        nodes
    }

    fn loops(&mut self, body: &[u64], all: Vec<Execution<'a>>) -> Vec<Node> {
        let iterations = |element: Option<&'a Element>| match element.map(|e| &e.what) {
            Some(What::Many(iterations)) => &iterations[..],
            _ => &[],
        };
        let counts: Vec<i64> = all.iter().map(|(e, _)| iterations(*e).len() as i64).collect();
        if counts.iter().all(|count| *count == 1) && !all[0].1.is_empty() {
            let inner = all
                .iter()
                .flat_map(|(e, path)| iterations(*e).iter().map(move |i| (i, path.clone())));
            let inner: Vec<_> = inner.collect();
            return self.body(body, &inner);
        }
        let mut inner: Vec<(&'a Vec<Option<Element>>, Path)> = Vec::new();
        for (element, path) in &all {
            for (at, iteration) in (0..).zip(iterations(*element)) {
                inner.push((iteration, longer(path, at, inner.len())));
            }
        }
        self.around.push(Around { most: largest(&counts), all: inner.len() });
        let body = self.body(body, &inner);
        self.around.pop();
        vec![self.repeated(&all, &counts, body)]
    }

    /// Neighbours that the same executions leave out are left out together.
    fn body(&mut self, body: &[u64], all: &[(&'a Vec<Option<Element>>, Path)]) -> Vec<Node> {
        let presence =
            |slot: usize| all.iter().map(move |(iteration, _)| iteration[slot].is_some());
        let of_slot = |slot: usize| -> (u64, Vec<Execution<'a>>) {
            let all = all.iter().map(|(iteration, path)| (iteration[slot].as_ref(), path.clone()));
            (body[slot], all.collect())
        };
        let mut nodes = Vec::new();
        let slots: Vec<usize> = (0..body.len()).collect();
        for group in slots.chunk_by(|a, b| presence(*a).eq(presence(*b))) {
            if !presence(group[0]).any(|is_there| is_there) {
                // Others that have this body have it.
                continue;
            }
            let statements: Vec<_> = group.iter().map(|slot| of_slot(*slot)).collect();
            if group.len() > 1 && !presence(group[0]).all(|is_there| is_there) {
                nodes.push(self.optional(&statements));
            } else {
                let each = statements.into_iter().flat_map(|(class, all)| self.element(class, all));
                nodes.extend(each);
            }
        }
        nodes
    }

    /// Statements that some executions leave out, the same ones all: a loop of one iteration or none.
    fn optional(&mut self, statements: &[(u64, Vec<Execution<'a>>)]) -> Node {
        let all = &statements[0].1;
        let counts: Vec<i64> = all.iter().map(|(e, _)| i64::from(e.is_some())).collect();
        let there = counts.iter().filter(|count| **count == 1).count();
        self.around.push(Around { most: 1, all: there });
        let body = statements.iter().flat_map(|(class, all)| self.element(*class, inside(all)));
        let body = body.collect();
        self.around.pop();
        self.repeated(all, &counts, body)
    }

    fn repeated(&self, all: &[Execution<'_>], counts: &[i64], body: Vec<Node>) -> Node {
        let paths: Vec<Path> = all.iter().map(|(_, path)| path.clone()).collect();
        let count = self.column(&paths, counts).fit(false);
        Node::made(0, vec![count], Gap::default(), Kind::Loop, body)
    }

    /// One statement for all executions, behind the list of its pauses if they are apart.
    fn leaf(&mut self, all: &[Execution<'a>]) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::with_capacity(all.len());
        for (element, _) in all {
            if let Some(Element { what: What::One(at) | What::Block(at, _), .. }) = element {
                nodes.push(self.written.all[*at].node().clone());
            }
        }
        if nodes.iter().any(|node| node.shape != nodes[0].shape) {
            nodes = nodes.iter().map(|node| self.alike.named_node(node)).collect();
        }
        let kinds = self.alike.kinds(&nodes[0]);
        let paths: Vec<Path> = all.iter().map(|(_, path)| path.clone()).collect();
        let mut columns = columns(&nodes).into_iter().enumerate();
        let mut node = nodes[0].clone();
        nodes[1..].iter().for_each(|other| node.add_gaps(other));
        node.each_mut(&mut |number| {
            let Some((at, values)) = columns.next() else { return };
            let inner = number.steps.len();
            let found = self.column(&paths, &values).fit(kinds.get(at) == Some(&NumberKind::Name));
            number.base = found.base;
            number.steps.extend(found.steps);
            if let Some(mut list) = found.list {
                (list.depth, list.root) = (list.depth + inner, list.root + inner);
                number.list = Some(list);
            }
        });
        let pause = self.uneven_pauses(&nodes, &paths);
        if pause.is_some() {
            node.gap = node.gap.without_time();
        }
        pause.into_iter().chain([node]).collect()
    }

    fn column<'b>(&'b self, paths: &'b [Path], values: &'b [i64]) -> Column<'b> {
        Column { around: &self.around, paths, values }
    }

    /// The pauses before these executions, if ranks wait for each other in the loop and the longest is far above the
    /// mean.
    fn uneven_pauses(&self, nodes: &[Node], paths: &[Path]) -> Option<Node> {
        let gap: Gap = nodes.iter().map(|node| &node.gap).sum();
        let longest_ns = nodes.iter().map(|node| node.gap.sum_ns).max()?;
        if !self.orders || !is_uneven(longest_ns, &gap) {
            return None;
        }
        let in_whole_us = |node: &Node| ((node.gap.sum_ns + 500) / 1000 * 1000) as i64;
        let values: Vec<i64> = nodes.iter().map(in_whole_us).collect();
        let number = self.column(paths, &values).fit(false);
        let gap = Gap { meets_end: false, ..gap };
        Some(Node::made(PAUSE, vec![number], gap, Kind::Leaf, Vec::new()))
    }
}

/// A block with a body, or the body of a part, which is no block of the program.
fn block_or_part(head: &Node, body: Vec<Node>) -> Vec<Node> {
    match is_part(head) {
        true => body,
        false => vec![Node::made(head.shape, head.numbers.clone(), head.gap, Kind::Block, body)],
    }
}

fn longer(path: &Path, iteration: u32, execution: usize) -> Path {
    path.iter().copied().chain([(iteration, execution as u32)]).collect()
}

/// The executions that have the statement, within the loop of one iteration around it.
fn inside<'a>(all: &[Execution<'a>]) -> Vec<Execution<'a>> {
    let there = all.iter().filter(|(element, _)| element.is_some()).enumerate();
    there.map(|(at, (element, path))| (*element, longer(path, 0, at))).collect()
}

fn largest(counts: &[i64]) -> usize {
    counts.iter().copied().max().unwrap_or(0) as usize
}

/// The bases of every number of like nodes.
fn columns(nodes: &[Node]) -> Vec<Vec<i64>> {
    let mut columns: Vec<Vec<i64>> = Vec::new();
    for node in nodes {
        let mut bases = Vec::new();
        node.each(&mut |number| collect(&mut bases, number));
        columns.resize(bases.len(), Vec::with_capacity(nodes.len()));
        columns.iter_mut().zip(bases).for_each(|(column, base)| column.push(base));
    }
    columns
}

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
type Path = Rc<[(u32, u32)]>;

/// A loop around statements, in all of its executions.
#[derive(Clone, Copy, Debug)]
struct Around {
    /// Most iterations of one execution.
    most: usize,
    /// Iterations of all executions.
    all: usize,
}

/// Values of a number in its executions, and where they are executed.
struct Column<'a> {
    /// The loops around them, outermost first.
    around: &'a [Around],
    paths: &'a [Path],
    values: &'a [i64],
}

impl Column<'_> {
    /// How the values depend on the loops around them. `is_name`: they are no numbers to be reckoned with.
    fn fit(&self, is_name: bool) -> Number {
        let levels = self.paths.first().map_or(0, |path| path.len());
        let even = !is_name && self.values.iter().all(|value| value.unsigned_abs() < LARGEST);
        let step = |level: usize| if even { self.step(level).unwrap_or(0) } else { 0 };
        let steps: Vec<i64> = (0..levels).map(step).collect();
        if let Some(base) = self.constant(&steps) {
            let steps = steps.into_iter().rev().collect();
            return Number { base, steps, ..Number::default() };
        }
        let listed = (0..levels).filter_map(|level| self.listed(&steps, level, true));
        let zeros = vec![0; levels];
        let indexed = (1..levels).filter_map(|level| self.listed(&zeros, level, false));
        let best = listed.chain(indexed).min_by_key(|(cost, _)| *cost);
        best.map_or_else(Number::default, |(_, number)| number)
    }

    fn pairs(&self) -> impl Iterator<Item = (&Path, i64)> {
        self.paths.iter().zip(self.values.iter().copied())
    }

    /// How much values grow with a loop.
    fn step(&self, level: usize) -> Option<i64> {
        let is_first = |path: &Path| path[level + 1..].iter().all(|(at, _)| *at == 0);
        let mut first = self.pairs().filter(|(path, _)| is_first(path));
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

    fn constant(&self, steps: &[i64]) -> Option<i64> {
        let mut bases = self.pairs().map(|(path, value)| value.wrapping_sub(grown(path, steps, 0)));
        let first = bases.next()?;
        bases.all(|base| base == first).then_some(first)
    }

    /// A list with a value for each iteration of a loop, and growth with the loops in it. `across`: in all executions
    /// of the loop; else each execution has the same values.
    fn listed(&self, steps: &[i64], level: usize, across: bool) -> Option<(usize, Number)> {
        let Around { most, all } = self.around[level];
        let at = |path: &Path| if across { path[level].1 } else { path[level].0 };
        let bases = self
            .pairs()
            .map(|(path, value)| (at(path), value.wrapping_sub(grown(path, steps, level + 1))));
        let values = listed(if across { all } else { most }, bases)?;
        let runs = if across && level > 0 { CURSOR } else { 0 };
        let steps = steps.iter().enumerate().map(|(at, s)| if at > level { *s } else { 0 });
        let steps: Vec<i64> = steps.rev().collect();
        let depth = steps.len() - 1 - level;
        let root = if across { steps.len() - 1 } else { depth };
        let list = List { depth, root, values: values.into() };
        Some((value_bytes(&list.values) + runs, Number { base: 0, steps, list: Some(list) }))
    }
}

fn grown(path: &Path, steps: &[i64], from: usize) -> i64 {
    let each = path.iter().zip(steps).skip(from);
    each.map(|((at, _), step)| step.wrapping_mul(i64::from(*at))).fold(0, i64::wrapping_add)
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
fn text_bytes(nodes: &[Node]) -> usize {
    let mut seen = HashSet::new();
    all(nodes, &mut seen)
}

fn all(nodes: &[Node], seen: &mut HashSet<Rc<[i64]>>) -> usize {
    let of = |node: &Node| {
        let own = match node.kind {
            Kind::Leaf => STATEMENT,
            Kind::Loop | Kind::Block => LOOP + all(&node.body, seen),
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

#[cfg(test)]
mod tests {
    use super::super::long_pauses::LONG_NS;
    use super::super::loops::Folder;
    use super::super::names::Names;
    use super::super::statement::{Interner, Plain, Shape};
    use super::super::tree::{BARRIERS, Kind};
    use super::*;

    /// `a0 a1`: shape and number.
    fn folded(text: &str) -> String {
        let mut folder = Folder::default();
        for word in text.split_whitespace() {
            let (shape, number) = word.split_at(1);
            let bases: Vec<i64> = number.split(',').filter_map(|n| n.parse().ok()).collect();
            folder.push(Node::leaf(shape.as_bytes()[0].into(), &bases, 1));
        }
        show(&finish(folder, &mut Plain::default().alike()))
    }

    fn show(nodes: &[Node]) -> String {
        let node = |node: &Node| {
            let numbers = node.numbers.iter().map(|number| {
                let mut text = number.base.to_string();
                number.steps.iter().for_each(|step| text.push_str(&format!("+{step}")));
                if let Some(list) = &number.list {
                    text = format!("{:?}@{},{}", list.values, list.depth, list.root);
                }
                text
            });
            let numbers = numbers.collect::<Vec<_>>().join("|").replace(' ', "");
            match node.kind {
                Kind::Leaf => format!("{}{numbers}", node.shape as u8 as char),
                Kind::Loop | Kind::Block => format!("{numbers}{{{}}}", show(&node.body)),
            }
        };
        nodes.iter().map(node).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn inner_loops_of_other_lengths_have_a_list_of_counts() {
        let files = [3, 1, 4, 0, 5, 9, 2, 6];
        let text: String = files.iter().map(|n| format!("o {} c ", "r ".repeat(*n))).collect();
        assert_eq!(folded(&text), "8{o [3,1,4,0,5,9,2,6]@0,0{r} c}");
    }

    #[test]
    fn numbers_of_inner_loops_run_through_one_list_or_grow() {
        let text: String = [3u64, 1, 4, 2, 5, 9, 2, 6]
            .iter()
            .map(|n| {
                let reads = (0..*n).map(|k| format!("r{},{} ", k * 4, (n * 37 + k * k * 11) % 17));
                format!("o {} c ", reads.collect::<String>())
            })
            .collect();
        let shown = folded(&text);
        assert!(shown.starts_with("8{o [3,1,4,2,5,9,2,6]@0,0{r0+4+0|[9,3,2,"), "{shown}");
        assert!(shown.contains("]@0,1} c}"), "{shown}");
    }

    #[test]
    fn parts_that_are_left_out_are_loops_of_no_iteration() {
        let text: String =
            (0..12).map(|n| if n % 5 < 2 { "a b c d s x e " } else { "a b c d s e " }).collect();
        assert_eq!(folded(&text), "12{a b c d s [1,1,0,0,0,1,1,0,0,0,1,1]@0,0{x} e}");
    }

    #[test]
    fn long_pauses_are_a_list_where_ranks_wait_for_each_other() {
        let mut shapes = Interner::default();
        (0..BARRIERS.end).for_each(|kind| _ = shapes.number(Shape::Barrier(kind)));
        let [_, _, pause, wait] = [Shape::Part, Shape::LongPause, Shape::Pause, Shape::Wait]
            .map(|shape| shapes.number(shape));
        let mut plain = Plain(Names::default(), shapes, HashMap::new());
        let ms = [3, 9, 1, 7, 2, 8, 4, 6];
        for (first, expected) in [
            (
                wait,
                "8{w p[3000000,9000000,1000000,7000000,2000000,8000000,4000000,6000000]@0,0 {a b[3,9,1,7,2,8,4,6]@0,0}}",
            ),
            (u32::from(b'o'), "8{o {a b[3,9,1,7,2,8,4,6]@0,0}}"),
        ] {
            let mut folder = Folder::default();
            for pause_ms in ms {
                folder.push(Node::leaf(first, &[], 0));
                let late = Node::leaf(u32::from(b'a'), &[], pause_ms as u64 * LONG_NS);
                let body = vec![late, Node::leaf(u32::from(b'b'), &[pause_ms], 0)];
                folder.push(Node::block(u32::from(b'z'), &[], body));
            }
            let shown = show(&finish(folder, &mut plain.alike()));
            let shown = shown.replace(pause as u8 as char, "p").replace(wait as u8 as char, "w");
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn neighbours_are_left_out_together() {
        // The last iteration leaves x and y out.
        let drawn = [(1u64, 7u64), (0, 0), (1, 3), (1, 8), (0, 0), (1, 4), (1, 9), (0, 0)];
        let text: String = drawn
            .iter()
            .map(|(there, number)| match there {
                1 => format!("a b c d s x{number} y e "),
                _ => "a b c d s e ".to_string(),
            })
            .collect();
        let expected = "8{a b c d s [1,0,1,1,0,1,1,0]@0,0{x[7,0,3,8,0,4,9,0]@1,1 y} e}";
        assert_eq!(folded(&text), expected);
    }
}

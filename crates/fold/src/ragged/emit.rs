//! Loops of classes and the statements in them -> nodes with numbers.

use super::super::alike::{Alike, NumberKind};
use super::super::lists;
use super::super::loops::{Folder, Gap, Kind, Node, collect};
use super::super::shape::Arg;
use super::cost;
use super::fit::{Around, Path, fit};
use super::parse::{Element, Parsed, What};
use std::collections::HashSet;
use std::rc::Rc;

/// The nodes that a parsed sequence of statements is; loops only where they are shorter.
pub fn emit(parsed: &Parsed, nodes: &[Node], alike: &mut Alike<'_>) -> Vec<Node> {
    let mut emitter = Emitter {
        parsed,
        nodes,
        alike,
        all: Vec::new(),
        plain: Vec::new(),
        around: Vec::new(),
        open: HashSet::new(),
    };
    emitter.open = emitter.open_before();
    parsed.elements.iter().for_each(|element| emitter.top(element));
    emitter.flush();
    emitter.all
}

struct Emitter<'a, 'b> {
    parsed: &'a Parsed,
    nodes: &'a [Node],
    alike: &'a mut Alike<'b>,
    all: Vec<Node>,
    /// Statements that are in no loop so far.
    plain: Vec<Node>,
    /// The loops around what is made, outermost first.
    around: Vec<Around>,
    /// Variables of files that were opened before the sequence.
    open: HashSet<u32>,
}

/// An element of each execution, if it is not left out there.
type Execution<'a> = (Option<&'a Element>, Path);

impl<'a> Emitter<'a, '_> {
    fn flush(&mut self) {
        let plain = std::mem::take(&mut self.plain);
        self.all.extend(lists::listed(Folder::of(plain)));
    }

    fn top(&mut self, element: &'a Element) {
        let iterations = match &element.what {
            What::One(at) => return self.plain.push(self.nodes[*at].clone()),
            What::Many(iterations) => iterations,
        };
        if iterations.len() > 1 {
            let nodes = self.element(element.class, vec![(Some(element), Rc::from([]))]);
            let mut single = Vec::new();
            self.statements(element, &mut single);
            let is_shorter = cost::bytes(&nodes) < cost::bytes(&lists::listed(Folder::of(single)));
            if is_shorter && self.opens_first(&nodes) {
                self.flush();
                return self.all.extend(nodes);
            }
        }
        iterations.iter().flatten().flatten().for_each(|inner| self.top(inner));
    }

    /// What is used before it is opened here was opened before.
    fn open_before(&self) -> HashSet<u32> {
        let (mut opened, mut used) = (HashSet::new(), HashSet::new());
        self.nodes.iter().for_each(|node| {
            self.follow(node, &mut opened, &mut used);
        });
        used
    }

    /// No open file is used before the text shows where it is opened, in an iteration before.
    fn opens_first(&self, nodes: &[Node]) -> bool {
        let mut opened = self.open.clone();
        let before = self.all.iter().chain(&self.plain);
        before.for_each(|node| {
            self.follow(node, &mut opened, &mut HashSet::new());
        });
        let mut used = HashSet::new();
        nodes.iter().all(|node| self.follow(node, &mut opened, &mut used))
    }

    /// Follows which variables are opened, and which are used while none here was; `false`: one of
    /// these is opened afterwards.
    fn follow(&self, node: &Node, opened: &mut HashSet<u32>, used: &mut HashSet<u32>) -> bool {
        if let Some(statement) = self.alike.statement(node) {
            for arg in &statement.args {
                if let Arg::Handle(variable) = arg
                    && !opened.contains(variable)
                {
                    used.insert(*variable);
                }
            }
            if let Some(variable) = statement.gives {
                opened.insert(variable);
                return !used.contains(&variable);
            }
        }
        node.body().iter().all(|inner| self.follow(inner, opened, used))
    }

    fn statements(&self, element: &Element, all: &mut Vec<Node>) {
        match &element.what {
            What::One(at) => all.push(self.nodes[*at].clone()),
            What::Many(iterations) => {
                iterations.iter().flatten().flatten().for_each(|e| self.statements(e, all));
            }
        }
    }

    /// What one element of a body is in all executions.
    fn element(&mut self, class: u64, all: Vec<Execution<'a>>) -> Vec<Node> {
        match self.parsed.bodies.get(&class) {
            Some(body) => self.loops(body, all),
            None if all.iter().all(|(element, _)| element.is_some()) => vec![self.leaf(&all)],
            None => vec![self.optional(&[class], vec![all])],
        }
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
        let of_slot = |slot: usize| -> Vec<Execution<'a>> {
            all.iter().map(|(i, path)| (i[slot].as_ref(), path.clone())).collect()
        };
        let mut nodes = Vec::new();
        let mut slot = 0;
        while slot < body.len() {
            let together = self.left_out_together(&body[slot..], slot, all);
            if together > 1 {
                let classes = &body[slot..slot + together];
                nodes.push(self.optional(classes, (slot..slot + together).map(of_slot).collect()));
            } else {
                nodes.extend(self.element(body[slot], of_slot(slot)));
            }
            slot += together.max(1);
        }
        nodes
    }

    /// How many statements from this slot on are left out by the same executions; 0: it is always there.
    fn left_out_together(
        &self,
        body: &[u64],
        slot: usize,
        all: &[(&'a Vec<Option<Element>>, Path)],
    ) -> usize {
        if all.iter().all(|(iteration, _)| iteration[slot].is_some()) {
            return 0;
        }
        let is_alike = |other: usize| {
            all.iter().all(|(iteration, _)| iteration[other].is_some() == iteration[slot].is_some())
        };
        (0..body.len()).take_while(|at| is_alike(slot + at)).count()
    }

    /// Statements that some executions leave out, the same ones all: a loop of one iteration or none.
    fn optional(&mut self, classes: &[u64], statements: Vec<Vec<Execution<'a>>>) -> Node {
        let all = &statements[0];
        let counts: Vec<i64> = all.iter().map(|(e, _)| i64::from(e.is_some())).collect();
        let there = counts.iter().filter(|count| **count == 1).count();
        self.around.push(Around { most: 1, all: there });
        let mut body = Vec::new();
        for (class, all) in classes.iter().zip(&statements) {
            body.extend(self.element(*class, inside(all)));
        }
        self.around.pop();
        self.repeated(all, &counts, body)
    }

    fn repeated(&self, all: &[Execution<'_>], counts: &[i64], body: Vec<Node>) -> Node {
        let paths: Vec<Path> = all.iter().map(|(_, path)| path.clone()).collect();
        let count = fit(&self.around, &paths, counts, false);
        Node::made(0, vec![count], Gap::default(), Kind::Loop(body))
    }

    /// One statement for all executions.
    fn leaf(&mut self, all: &[Execution<'a>]) -> Node {
        let mut nodes: Vec<Node> = Vec::with_capacity(all.len());
        for (element, _) in all {
            if let Some(Element { what: What::One(at), .. }) = element {
                nodes.push(self.nodes[*at].clone());
            }
        }
        if nodes.iter().any(|node| node.shape != nodes[0].shape) {
            nodes = nodes.iter().map(|node| self.alike.named(node)).collect();
        }
        let kinds = self.alike.kinds(&nodes[0]);
        let paths: Vec<Path> = all.iter().map(|(_, path)| path.clone()).collect();
        let mut columns = columns(&nodes).into_iter().enumerate();
        let mut node = nodes[0].clone();
        nodes[1..].iter().for_each(|other| node.add_gaps(other));
        node.each_mut(&mut |number| {
            let Some((at, values)) = columns.next() else { return };
            let inner = number.steps.len();
            let found =
                fit(&self.around, &paths, &values, kinds.get(at) == Some(&NumberKind::Name));
            number.base = found.base;
            number.steps.extend(found.steps);
            if let Some(mut list) = found.list {
                (list.depth, list.root) = (list.depth + inner, list.root + inner);
                number.list = Some(list);
            }
        });
        node
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

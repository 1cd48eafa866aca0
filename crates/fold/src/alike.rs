//! Statements that are alike but for the names of their files.

use super::loops::{Kind, Node, Number};
use super::names::{Names, Part};
use super::shape::{Arg, Interner, Shape, Statement};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Tells which statements are alike, and makes the same shape of them.
pub struct Alike<'a> {
    /// Names of the log.
    pub names: &'a Names,
    /// All shapes.
    pub shapes: &'a mut Interner<Shape>,
    /// Names by template and numbers.
    pub known: &'a HashMap<(u32, Vec<i64>), u32>,
}

impl Alike<'_> {
    /// The same for statements that differ in numbers and names alone. Of what holds lists already,
    /// numbers count, too.
    pub fn class(&self, node: &Node) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self.statement(node) {
            Some(statement) => nameless(statement).hash(&mut hasher),
            None => {
                (node.hash, 1).hash(&mut hasher);
                if !node.each(&mut |number| number.list.is_none()) {
                    node.each(&mut |number| {
                        number.base.hash(&mut hasher);
                        true
                    });
                }
            }
        }
        hasher.finish()
    }

    /// The operation that it is.
    pub fn statement(&self, node: &Node) -> Option<&Statement> {
        match self.shapes.all.get(node.shape as usize)? {
            Shape::Op(statement) if node.kind == Kind::Leaf => Some(statement),
            _ => None,
        }
    }

    /// The statement with the numbers of its names in place of templates and their numbers.
    pub fn named(&mut self, node: &Node) -> Node {
        let Some(statement) = self.statement(node).cloned() else { return node.clone() };
        let mut left = node.numbers.iter().cloned();
        let mut numbers = Vec::new();
        for arg in &statement.args {
            match arg {
                Arg::Path(template) => {
                    let digits = count(&self.names.templates[*template as usize]);
                    let digits = left.by_ref().take(digits).map(|number| number.base).collect();
                    let id = self.known.get(&(*template, digits)).copied().unwrap_or(0);
                    numbers.push(Number::constant(id.into()));
                }
                Arg::Named | Arg::Bytes | Arg::Keyed(_) | Arg::Further | Arg::List => {
                    numbers.extend(left.next());
                }
                Arg::Handle(_) | Arg::Flags(_) | Arg::Pattern(_) | Arg::Mode(_) | Arg::Word(_) => {}
            }
        }
        let shape = self.shapes.number(Shape::Op(nameless(&statement)));
        Node::made(shape, numbers, node.gap.clone(), Kind::Leaf)
    }

    /// What the numbers of a statement are.
    pub fn kinds(&self, node: &Node) -> Vec<NumberKind> {
        let shape = self.shapes.all.get(node.shape as usize).filter(|_| node.kind == Kind::Leaf);
        shape.map(|shape| kinds(shape, self.names)).unwrap_or_default()
    }
}

/// What a number of a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberKind {
    /// A number in a name, or of iterations.
    Count,
    /// Bytes.
    Bytes,
    /// Which name of the log.
    Name,
}

/// What the numbers of a shape are.
pub fn kinds(shape: &Shape, names: &Names) -> Vec<NumberKind> {
    let Shape::Op(statement) = shape else { return Vec::new() };
    let mut all = Vec::new();
    for arg in &statement.args {
        let (times, kind) = match arg {
            Arg::Path(template) => (count(&names.templates[*template as usize]), NumberKind::Count),
            Arg::Named => (1, NumberKind::Name),
            Arg::Bytes | Arg::Keyed(_) | Arg::List => (1, NumberKind::Bytes),
            Arg::Further => (1, NumberKind::Count),
            Arg::Handle(_) | Arg::Flags(_) | Arg::Pattern(_) | Arg::Mode(_) | Arg::Word(_) => {
                (0, NumberKind::Count)
            }
        };
        all.resize(all.len() + times, kind);
    }
    all
}

fn nameless(statement: &Statement) -> Statement {
    let nameless = |arg: &Arg| match arg {
        Arg::Path(_) => Arg::Named,
        other => other.clone(),
    };
    Statement { args: statement.args.iter().map(nameless).collect(), ..statement.clone() }
}

fn count(template: &[Part]) -> usize {
    template.iter().filter(|part| matches!(part, Part::Number { .. })).count()
}

/// No names and no shapes, for tests.
#[cfg(test)]
#[derive(Default)]
pub struct Plain(Names, Interner<Shape>, HashMap<(u32, Vec<i64>), u32>);

#[cfg(test)]
impl Plain {
    /// Only nodes of the same shape are alike.
    pub fn alike(&mut self) -> Alike<'_> {
        Alike { names: &self.0, shapes: &mut self.1, known: &self.2 }
    }
}

//! Statements without their numbers, and which of them are alike: those that differ in numbers and names of
//! files alone.

use super::names::{Names, Part};
use super::tree::{Kind, Node, Number};
use model::Op;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// A statement without its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// An operation.
    Op(Statement),
    /// A label: template of its name.
    Label(u32),
    /// All ranks meet.
    Barrier,
    /// A long pause before a burst: as long as such pauses are in the mean.
    LongPause,
    /// A pause of its number of nanoseconds.
    Pause,
    /// Tells the rank that is its number.
    Signal,
    /// An extent of a pattern: its numbers are where and how long.
    Extent,
    /// Waits for signals: its numbers are the rank that gives them and how many.
    Wait,
}

/// An operation as a statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Statement {
    /// The operation.
    pub op: Op,
    /// Variable that takes the open file.
    pub gives: Option<u32>,
    /// Its arguments.
    pub args: Vec<Arg>,
    /// The error that it ends with; 0 for none.
    pub errno: u16,
    /// It fsyncs before it closes the file.
    pub syncs: bool,
    /// It is not an operation of the log: it opens what another rank had opened.
    pub adopts: bool,
    /// Each rank opens a file of MPI for itself.
    pub alone: bool,
    /// Number of the further directory that it syncs.
    pub directory: Option<usize>,
}

/// An argument of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Arg {
    /// A name by its template; the statement has its numbers.
    Path(u32),
    /// A name that follows no template: the number of the statement says which of the log.
    Named,
    /// A variable.
    Handle(u32),
    /// Flags of open(2).
    Flags(u32),
    /// Bytes: a number of the statement.
    Bytes,
    /// The same by the name of its parameter, where one before it is left out.
    Keyed(&'static str),
    /// How many bytes further on than its pattern it begins: a number of the statement.
    Further,
    /// A list of one such number.
    List,
    /// A pattern of the program.
    Pattern(u32),
    /// Permissions of a file.
    Mode(u16),
    /// A word in quotes.
    Word(&'static str),
}

/// Gives equal things the same number.
#[derive(Clone, Debug)]
pub struct Interner<T> {
    /// By number.
    pub all: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T> Default for Interner<T> {
    fn default() -> Interner<T> {
        Interner { all: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Interner<T> {
    /// Its number.
    pub fn number(&mut self, thing: T) -> u32 {
        if let Some(number) = self.numbers.get(&thing) {
            return *number;
        }
        let number = self.all.len() as u32;
        self.all.push(thing.clone());
        self.numbers.insert(thing, number);
        number
    }
}

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

    /// Kinds of the numbers of a statement.
    pub fn kinds(&self, node: &Node) -> Vec<NumberKind> {
        let shape = self.shapes.all.get(node.shape as usize).filter(|_| node.kind == Kind::Leaf);
        shape.map(|shape| kinds(shape, self.names)).unwrap_or_default()
    }
}

/// Kind of a number of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberKind {
    /// A number in a name, or of iterations.
    Count,
    /// Bytes.
    Bytes,
    /// Number of a name of the log.
    Name,
}

/// Kinds of the numbers of a shape.
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

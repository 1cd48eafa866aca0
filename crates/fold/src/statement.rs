//! Statements without their numbers, and which of them are alike: those that differ in numbers and names of
//! files alone.
//! The arguments that are neither names nor open files are made here, too.

use super::log::Facts;
use super::logged::Logged;
use super::names::{Names, Part};
use super::tree::{Kind, Node, Number};
use model::event::{
    FLAG_AT_POSITION, FLAG_FROM_POSITION, FLAG_KEEPS_SIZE, FLAG_UNPLACED, rename_word,
};
use model::op::{ByteEffect, Param, ParamKind};
use model::{Event, Op, errno};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A statement without its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// An operation.
    Op(Statement),
    /// A label: template of its name.
    Label(u32),
    /// The operations of one process, where a rank has several. It is not printed.
    Part,
    /// All ranks meet. Its kind: one of the numbers of barriers.
    Barrier(u32),
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

    /// It is a signal of a rank to another one, or the wait for it.
    pub fn orders(&self, node: &Node) -> bool {
        let shape = self.shapes.all.get(node.shape as usize);
        node.kind == Kind::Leaf && matches!(shape, Some(Shape::Signal | Shape::Wait))
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
        Node::made(shape, numbers, node.gap, Kind::Leaf, Vec::new())
    }

    /// The statement with templates and their numbers in place of the numbers of its names.
    pub fn unnamed(&mut self, node: &Node) -> Node {
        let is_named = |statement: &&Statement| statement.args.contains(&Arg::Named);
        let Some(mut statement) = self.statement(node).filter(is_named).cloned() else {
            return node.clone();
        };
        let mut left = node.numbers.iter().cloned();
        let mut numbers = Vec::new();
        for arg in &mut statement.args {
            match arg {
                Arg::Named => {
                    let id = left.next().map_or(0, |number| number.base);
                    let (template, digits) = &self.names.of[id as usize];
                    *arg = Arg::Path(*template);
                    numbers.extend(digits.iter().map(|digits| Number::constant(*digits)));
                }
                Arg::Bytes | Arg::Keyed(_) | Arg::Further | Arg::List => {
                    numbers.extend(left.next())
                }
                _ => {}
            }
        }
        let shape = self.shapes.number(Shape::Op(statement));
        Node::made(shape, numbers, node.gap, Kind::Leaf, Vec::new())
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

/// The arguments of one statement.
pub struct Arguments<'a> {
    /// The operation.
    pub entry: &'a Logged,
    /// Which.
    pub op: Op,
    /// Facts from the program's text.
    pub told: Facts,
    /// The file is a directory, as far as the run shows.
    pub is_directory: bool,
    /// Numbers so far.
    pub numbers: Vec<i64>,
    /// Arguments so far.
    pub args: Vec<Arg>,
}

impl Arguments<'_> {
    /// Adds an argument that is neither a name nor an open file; whether the run does not tell it.
    /// `None`: there is no way to write it.
    pub fn other(&mut self, param: &Param) -> Option<bool> {
        let (event, default) = (&self.entry.event, param.default);
        match param.kind {
            ParamKind::Flags | ParamKind::MpiMode => {
                self.args.push(Arg::Flags(self.entry.open_flags()));
            }
            ParamKind::Size | ParamKind::Offset if self.op == Op::Copy => self.part(param.name)?,
            ParamKind::Size | ParamKind::Offset if self.op == Op::Freflink => {
                self.shared(param.name)?;
            }
            ParamKind::Size | ParamKind::Pattern => {
                self.bytes(event.requested_bytes, Arg::Bytes)?
            }
            ParamKind::Sizes => self.bytes(event.requested_bytes, Arg::List)?,
            ParamKind::Offset if self.op == Op::Fcopy => self.place_of_copy(param.name)?,
            ParamKind::Offset if self.has_offset(default.is_none()) => {
                self.bytes(event.offset_bytes, Arg::Bytes)?;
            }
            ParamKind::Offset if self.op.row().bytes == ByteEffect::Allocates => {
                self.bytes(event.offset_bytes, Arg::Bytes)?;
            }
            ParamKind::Collective => self.args.extend(self.told.way.word().map(Arg::Word)),
            ParamKind::Word(_) if self.word(param).is_some() => {
                self.args.extend(self.word(param).map(Arg::Word));
            }
            _ if default.is_some() => {}
            ParamKind::Mode => return Some(self.mode()),
            // Those that were set have one name, those that were not there another.
            ParamKind::Attribute if errno::name(event.errno) == "ENODATA" => {
                return self.guess(Arg::Word("user.absent"));
            }
            ParamKind::Attribute => return self.guess(Arg::Word("user.name")),
            ParamKind::Word(words) => match words.first() {
                Some(&"shared") => return self.guess(Arg::Word("exclusive")),
                _ => return self.guess(Arg::Word("normal")),
            },
            _ => return None,
        }
        Some(false)
    }

    /// Where a copy reads or writes, unless it goes on.
    fn place_of_copy(&mut self, name: &'static str) -> Option<()> {
        let event = &self.entry.event;
        let (goes_on, bytes) = match name {
            "from_off" => (FLAG_FROM_POSITION, event.from_bytes),
            _ => (FLAG_AT_POSITION, event.offset_bytes),
        };
        if event.flags & goes_on != 0 {
            return Some(());
        }
        let follows = self.op.row().params.get(self.args.len()).is_some_and(|it| it.name == name);
        self.bytes(bytes, if follows { Arg::Bytes } else { Arg::Keyed(name) })
    }

    /// The part of a file that is copied, as far as the program names one.
    fn part(&mut self, name: &'static str) -> Option<()> {
        let Event { requested_bytes, from_bytes, offset_bytes, .. } = self.entry.event;
        match name {
            _ if self.args.len() >= self.told.arguments => Some(()),
            "n" => self.bytes(requested_bytes, Arg::Bytes),
            "from_off" => self.bytes(from_bytes, Arg::Bytes),
            _ => self.bytes(offset_bytes, Arg::Bytes),
        }
    }

    /// The word of a parameter, as far as it is known.
    fn word(&self, param: &Param) -> Option<&'static str> {
        let event = &self.entry.event;
        let of_log = match self.op {
            Op::Rename => rename_word(event.requested_bytes),
            _ => (event.flags & FLAG_KEEPS_SIZE != 0).then_some("keep"),
        };
        self.told.word(self.op, param).or(of_log)
    }

    /// Bytes that a file shares with another one; left out if that is the whole file.
    fn shared(&mut self, name: &'static str) -> Option<()> {
        let Event { requested_bytes, from_bytes, offset_bytes, .. } = self.entry.event;
        if (requested_bytes, from_bytes, offset_bytes) == (0, 0, 0) {
            return Some(());
        }
        let bytes = match name {
            "n" => requested_bytes,
            "from_off" => from_bytes,
            _ => offset_bytes,
        };
        self.bytes(bytes, Arg::Bytes)
    }

    fn has_offset(&self, required: bool) -> bool {
        match self.op {
            Op::Fread | Op::Fwrite | Op::Readv | Op::Writev => {
                self.entry.event.flags & FLAG_AT_POSITION == 0
            }
            Op::Pfread | Op::Pfwrite => {
                self.entry.event.flags & (FLAG_AT_POSITION | FLAG_UNPLACED) == 0
            }
            Op::Read | Op::Write => self.told.arguments > 2,
            _ => required,
        }
    }

    fn bytes(&mut self, bytes: u64, arg: Arg) -> Option<()> {
        self.numbers.push(i64::try_from(bytes).ok()?);
        self.args.push(arg);
        Some(())
    }

    /// The mode; true if the run does not tell it.
    fn mode(&mut self) -> bool {
        let told = u16::try_from(self.entry.event.requested_bytes).ok();
        let usual = if self.is_directory { 0o755 } else { 0o644 };
        self.args.push(Arg::Mode(told.unwrap_or(usual)));
        told.is_none()
    }

    fn guess(&mut self, arg: Arg) -> Option<bool> {
        self.args.push(arg);
        Some(true)
    }
}

#[cfg(test)]
#[derive(Default)]
pub struct Plain(pub Names, pub Interner<Shape>, pub HashMap<(u32, Vec<i64>), u32>);

#[cfg(test)]
impl Plain {
    /// Only nodes of the same shape are alike.
    pub fn alike(&mut self) -> Alike<'_> {
        Alike { names: &self.0, shapes: &mut self.1, known: &self.2 }
    }
}

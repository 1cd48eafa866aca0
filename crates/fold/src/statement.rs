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
    /// Not an argument but the option `filesize`: the size of the file before the run, a number of the statement.
    Found,
}

impl Arg {
    /// How many numbers of the statement it takes.
    pub fn numbers(&self, names: &Names) -> usize {
        let is_number = |part: &&Part| matches!(part, Part::Number { .. });
        match self {
            Arg::Path(template) => {
                names.templates[*template as usize].iter().filter(is_number).count()
            }
            Arg::Named | Arg::Bytes | Arg::Keyed(_) | Arg::Further | Arg::List | Arg::Found => 1,
            Arg::Handle(_) | Arg::Flags(_) | Arg::Pattern(_) | Arg::Mode(_) | Arg::Word(_) => 0,
        }
    }
}

impl Statement {
    /// One that succeeds and gives nothing.
    pub fn new(op: Op, args: Vec<Arg>) -> Statement {
        let (gives, errno, directory) = (None, 0, None);
        Statement { op, gives, args, errno, syncs: false, adopts: false, alone: false, directory }
    }

    /// Its arguments, each with those of its numbers that it takes.
    pub fn arguments<'a, N>(
        &'a self,
        numbers: &'a [N],
        names: &'a Names,
    ) -> impl Iterator<Item = (&'a Arg, &'a [N])> {
        let mut left = numbers;
        self.args.iter().map(move |arg| {
            let (own, rest) = left.split_at(arg.numbers(names).min(left.len()));
            left = rest;
            (arg, own)
        })
    }

    /// Variables of open files that it uses.
    pub fn handles(&self) -> impl Iterator<Item = u32> + '_ {
        self.args.iter().filter_map(|arg| match arg {
            Arg::Handle(variable) => Some(*variable),
            _ => None,
        })
    }
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

    /// A statement with the numbers of its names in place of templates and their numbers; not of names whose numbers
    /// are not `constant`. `made`: a number of a name.
    pub fn named<N: Clone>(
        &mut self,
        statement: &Statement,
        numbers: &[N],
        constant: impl Fn(&N) -> Option<i64>,
        made: impl Fn(i64) -> N,
    ) -> (u32, Vec<N>) {
        let (mut statement, mut named) = (statement.clone(), Vec::new());
        let mut left = numbers;
        for arg in &mut statement.args {
            let (own, rest) = left.split_at(arg.numbers(self.names));
            left = rest;
            let digits = || own.iter().map(&constant).collect::<Option<Vec<i64>>>();
            let id = match *arg {
                Arg::Path(template) => digits().and_then(|all| self.known.get(&(template, all))),
                _ => None,
            };
            if let Some(id) = id {
                *arg = Arg::Named;
                named.push(made(i64::from(*id)));
            } else {
                named.extend_from_slice(own);
            }
        }
        (self.shapes.number(Shape::Op(statement)), named)
    }

    /// The node with the numbers of its names in place of templates and their numbers.
    pub fn named_node(&mut self, node: &Node) -> Node {
        let Some(statement) = self.statement(node).cloned() else { return node.clone() };
        let constant = |number: &Number| Some(number.base);
        let (shape, numbers) = self.named(&statement, &node.numbers, constant, Number::constant);
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
            let own = left.by_ref().take(arg.numbers(self.names));
            match arg {
                Arg::Named => own.for_each(|id| {
                    let (template, digits) = &self.names.of[id.base as usize];
                    *arg = Arg::Path(*template);
                    numbers.extend(digits.iter().map(|digits| Number::constant(*digits)));
                }),
                _ => numbers.extend(own),
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
        let kind = match arg {
            Arg::Named => NumberKind::Name,
            Arg::Bytes | Arg::Keyed(_) | Arg::List | Arg::Found => NumberKind::Bytes,
            _ => NumberKind::Count,
        };
        all.resize(all.len() + arg.numbers(names), kind);
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
            ParamKind::Collective => self.args.extend(self.told.way.map(Arg::Word)),
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
        let goes_on = if name == "from_off" { FLAG_FROM_POSITION } else { FLAG_AT_POSITION };
        if self.entry.event.flags & goes_on != 0 {
            return Some(());
        }
        let follows = self.op.row().params.get(self.args.len()).is_some_and(|it| it.name == name);
        self.bytes(self.told_bytes(name), if follows { Arg::Bytes } else { Arg::Keyed(name) })
    }

    /// The part of a file that is copied, as far as the program names one.
    fn part(&mut self, name: &'static str) -> Option<()> {
        match self.args.len() < self.told.arguments {
            true => self.bytes(self.told_bytes(name), Arg::Bytes),
            false => Some(()),
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
        self.bytes(self.told_bytes(name), Arg::Bytes)
    }

    /// Bytes in the log for a parameter of a copy.
    fn told_bytes(&self, name: &str) -> u64 {
        match name {
            "n" => self.entry.event.requested_bytes,
            "from_off" => self.entry.event.from_bytes,
            _ => self.entry.event.offset_bytes,
        }
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
            op => required || op.row().bytes == ByteEffect::Allocates,
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

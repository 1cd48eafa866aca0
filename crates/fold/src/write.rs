//! The tree of all ranks -> text of a program.

use super::expr::{Linear, Loop, Sizes, bytes, quoted};
use super::log::Log;
use super::names::Part;
use super::params::Params;
use super::procs::Proc;
use super::ranks::{Form, Item, Ranks, Spread, Value};
use super::shape::{Arg, Shape, Shaper, Statement};
use super::tables::{Role, Tables};
use super::think::{Places, Recorder, Think, duration};
use super::told::mpi_mode;
use data::LongLists;
pub use fixed::Fixed;
use fixed::{has_lists_by_rank, is_chance};
use model::Op;
use model::errno;
use model::open_flags::text_of_flags;
use model::with::SHORT;
pub use pauses::Uneven;
pub use split::Included;
use split::Phases;
use std::fmt::Write;

mod calls;
mod data;
mod directory;
mod fixed;
mod named;
mod patterns;
mod pauses;
mod repeat;
mod split;

/// Writes a program.
pub struct Writer<'a> {
    shaper: &'a Shaper<'a>,
    procs: &'a [Proc],
    /// Variables of open files, by number.
    variables: Vec<String>,
    think: Think,
    places: Places,
    params: Params,
    sizes: Sizes,
    /// Loops around what is written, outermost first.
    loops: Vec<Loop>,
    /// Lists that numbers stand in.
    tables: Tables,
    /// Lists that names stand in.
    names: Vec<Vec<String>>,
    /// Lists that pauses stand in, nanoseconds.
    pauses: Vec<Vec<u64>>,
    /// The longest pause that a mean stands for.
    uneven: Option<Uneven>,
    /// Places that have both long pauses and others.
    mixed_places: usize,
    /// Places whose pauses are counted, so far.
    counted_pauses: usize,
    /// Variables that stand in names, with what they are, here and around.
    made: Vec<(String, String)>,
    /// Variables that count over executions of loops, with the loop before which they begin.
    cursors: Vec<(String, usize)>,
    /// Number of them so far.
    counted: usize,
    /// Expressions of ranks that names hold.
    of_ranks: Vec<String>,
    /// What keeps the program from other numbers of ranks and other sizes.
    fixed: Fixed,
    /// Number of ranks.
    ranks: u32,
    /// How many of them execute what is written.
    among: usize,
    /// Further directories in which files have names.
    directories: Vec<String>,
    /// More of them were at work at a time than there were processors.
    crowded: bool,
    /// Phases that became procs in files of their own; `None`: they stay where they are.
    phases: Option<Phases>,
}

/// A program with what can be changed in it.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// Its text, not laid out yet.
    pub text: String,
    /// What it includes.
    pub parts: Vec<Included>,
    /// The file that its long lists stand in, and how many they are.
    pub data: Option<(Included, usize)>,
    /// Its parameters: names and values.
    pub params: Vec<(String, i64)>,
    /// What cannot be changed.
    pub fixed: Fixed,
    /// The longest pause for which a mean does not stand.
    pub uneven: Option<Uneven>,
    /// Places that have both long pauses and others.
    pub mixed_places: usize,
}

/// What files a program consists of besides itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files<'a> {
    /// Every phase is to be one; what their names begin with.
    pub split: Option<&'a str>,
    /// Long lists are to stand in this one.
    pub data: Option<&'a str>,
}

/// Statements as lines; a block is one of them.
type Lines = Vec<String>;

impl<'a> Writer<'a> {
    /// Nothing is written yet.
    pub fn new(
        shaper: &'a Shaper<'a>,
        items: &[Item],
        procs: &'a [Proc],
        variables: Vec<String>,
        log: &Log,
        think: Think,
    ) -> Writer<'a> {
        let ranks = log.ranks.len() as u32;
        let bodies: Vec<&[Item]> =
            std::iter::once(items).chain(procs.iter().map(|proc| &proc.body[..])).collect();
        let params = Params::of(&bodies, shaper, &variables);
        Writer {
            shaper,
            procs,
            variables,
            think,
            places: Places::chosen(&bodies, think, Recorder::adding(log.recorder_ns)),
            params,
            sizes: Sizes { unit: None, ranks: ranks.into() },
            loops: Vec::new(),
            tables: Tables::default(),
            names: Vec::new(),
            pauses: Vec::new(),
            uneven: None,
            mixed_places: 0,
            counted_pauses: 0,
            made: Vec::new(),
            cursors: Vec::new(),
            counted: 0,
            of_ranks: Vec::new(),
            fixed: Fixed::default(),
            ranks,
            among: ranks as usize,
            directories: log.used_directories().map(str::to_string).collect(),
            crowded: shaper.is_crowded(),
            phases: None,
        }
    }

    /// The program. `head`: lines of the comment at its head.
    pub fn program(mut self, items: &[Item], head: &[String], names: Files<'_>) -> Written {
        let mut data = names.data.map(LongLists::named);
        let patterns = self.patterns(&mut data);
        let mut files = self.files(items, names.split, &mut data);
        let directory = files.name_directory();
        let mut text = String::new();
        for name in &self.directories {
            let _ = writeln!(text, "with (dir=\"{name}\") {{}} // --mount {name}=DIR");
        }
        text.push_str(&self.params.text());
        text.extend(directory.map(|directory| format!("$dir = \"{directory}\";\n")));
        patterns.iter().for_each(|definition| text.push_str(&format!("\n{definition}\n")));
        files.definitions.iter().for_each(|line| text.push_str(&format!("{line}\n")));
        for (at, shown) in self.of_ranks.iter().enumerate() {
            let _ = writeln!(text, "{} = {shown};", numbered("$r", at));
        }
        for (_, part) in &files.parts {
            let _ = writeln!(text, "include \"{}\";", part.name);
        }
        text.push('\n');
        push_apart(&mut text, &files.body);
        let parts: Vec<Included> =
            files.parts.into_iter().map(|part| split::with_head(part, head)).collect();
        let mut all = std::iter::once(&text).chain(parts.iter().map(|part| &part.text));
        let has_lists = all.any(|text| has_lists_by_rank(text));
        if has_lists {
            self.fixed.exactly("a list has a value for each rank");
        }
        let data = data.and_then(|data| data.file(head));
        let text = format!("{}\n{}{text}", comment(head), self.asserted_ranks());
        let (params, fixed) = (self.params.all(), self.fixed);
        let (uneven, mixed_places) = (self.uneven, self.mixed_places);
        Written { text, parts, data, params, fixed, uneven, mixed_places }
    }

    /// A program that names ranks needs them, one that has lists by rank is for no others: it says so.
    /// Who checks it needs not be told their number, and who runs it with another one is.
    fn asserted_ranks(&self) -> String {
        let ranks = self.ranks;
        if ranks == 1 || self.fixed.ranks.is_none() {
            return String::new();
        }
        let (relation, what) = if self.fixed.exactly { ("==", "is for") } else { (">=", "needs") };
        let message = format!("it {what} {ranks} ranks: run it with -n {ranks}");
        format!("assert($$size {relation} {ranks}, \"{message}\");\n")
    }

    fn body(&mut self, items: &[Item]) -> Lines {
        let mut lines = Lines::new();
        let made = self.made.len();
        for item in items {
            self.item(item, &mut lines);
        }
        self.made.truncate(made);
        lines
    }

    fn item(&mut self, item: &Item, lines: &mut Lines) {
        if self.phases.is_some()
            && let Some(phase) = self.phase(item)
        {
            return self.take_phase(item, phase, lines);
        }
        match &item.form {
            Form::Leaf(shape) => self.leaf(*shape, item, lines),
            Form::Loop => {
                self.pause(&item.gap, lines);
                let line = self.repeat(item);
                let begin = |(_, level): &mut (String, usize)| *level == self.loops.len();
                let own = self.cursors.extract_if(.., begin);
                lines.extend(own.map(|(cursor, _)| format!("{cursor} = 0;")));
                lines.push(line);
            }
            Form::Block(shape) => {
                let mut name = String::new();
                if let Shape::Label(template) = self.shaper.shapes.all[*shape as usize] {
                    name = self.text(template, &mut item.numbers.iter(), lines);
                }
                self.pause(&item.gap, lines);
                let body = self.body(&item.body);
                lines.push(block(&format!("time[{name}]"), body));
            }
            Form::Call(proc) => {
                let line = self.call(*proc, &item.numbers, lines);
                self.pause(&item.gap, lines);
                lines.push(line);
            }
            Form::Mix => {
                let cases = self.body(&item.body);
                lines.push(block("mix", cases));
            }
            Form::Case(weight) => {
                let body = self.body(&item.body);
                lines.push(block(&format!("{weight}:"), body));
            }
            Form::Only(ranks) => {
                let all = std::mem::replace(&mut self.among, ranks.len());
                let body = self.body(&item.body);
                self.among = all;
                if !body.is_empty() {
                    lines.push(self.only_there(ranks, body));
                }
            }
        }
    }

    /// Statements of some ranks.
    fn only_there(&mut self, ranks: &Ranks, body: Lines) -> String {
        let head = self.only(ranks);
        if names_ranks(&head) && self.fixed.ranks.is_none() {
            self.fixed.ranks = Some(head.clone());
        }
        block(&head, body)
    }

    fn leaf(&mut self, shape: u32, item: &Item, lines: &mut Lines) {
        if self.shaper.shapes.all[shape as usize] == Shape::Extent {
            let line = self.extent(&item.numbers);
            return lines.push(line);
        }
        let shape = self.shaper.shapes.all[shape as usize].clone();
        if let Shape::Pause | Shape::Between = shape {
            return self.long_pause(&item.gap, shape == Shape::Between, lines);
        }
        if let Shape::Op(statement) = shape {
            let line = self.statement(&statement, item, lines);
            // Behind the variables of its names: what they take is part of the pause.
            self.pause(&item.gap, lines);
            return lines.push(line);
        }
        self.pause(&item.gap, lines);
        match shape {
            Shape::Barrier | Shape::Told(_) => lines.push("barrier;".into()),
            Shape::Start => {
                let start_us = self.linear(&item.numbers[0]);
                lines.extend(match start_us.constant() {
                    Some(0) => None,
                    Some(us) => Some(format!("sleep({});", duration(us.unsigned_abs() * 1000))),
                    None => Some(format!("sleep({});", start_us.shown_us(&self.plain()))),
                });
            }
            Shape::Signal => {
                let to = self.partner(&item.numbers[0]).shown(&self.plain(), false);
                lines.push(format!("signal(\"from-$$rank\", to={to});"));
            }
            Shape::Wait => {
                let from = self.partner(&item.numbers[0]);
                let from = self.number_in_text(&from, 0, None, lines);
                let count = self.linear(&item.numbers[1]).shown(&self.plain(), false);
                let count = if count == "1" { String::new() } else { format!(", {count}") };
                lines.push(format!("wait(\"from-{from}\"{count});"));
            }
            Shape::Op(_) | Shape::Label(_) | Shape::Extent | Shape::Pause | Shape::Between => {}
        }
    }

    /// `$content_db`
    fn file(&self, variable: u32) -> String {
        self.variables[variable as usize].clone()
    }

    /// Numbers that are no multiples of a size.
    fn plain(&self) -> Sizes {
        Sizes { unit: None, ranks: self.ranks.into() }
    }

    fn statement(&mut self, statement: &Statement, item: &Item, lines: &mut Lines) -> String {
        let mut numbers = item.numbers.iter();
        let mut args = Vec::new();
        self.sizes.unit = None;
        let mut role = if statement.op == Op::Fseek { Role::Offsets } else { Role::Sizes };
        for arg in &statement.args {
            args.push(match arg {
                Arg::Path(template) => self.text(*template, &mut numbers, lines),
                Arg::Named => self.named(numbers.next(), lines),
                Arg::Handle(variable) => self.file(*variable),
                Arg::Flags(flags) if statement.op == Op::Pfopen => {
                    format!("\"{}\"", mpi_mode(*flags))
                }
                Arg::Flags(flags) => format!("\"{}\"", text_of_flags(*flags)),
                Arg::Bytes => {
                    self.tables.hold(role);
                    role = Role::Offsets;
                    self.bytes(statement.op, numbers.next())
                }
                Arg::Keyed(name) => {
                    self.tables.hold(role);
                    format!("{name}={}", self.bytes(statement.op, numbers.next()))
                }
                Arg::Further => {
                    let further = numbers.next().map(|number| self.linear(number));
                    further.unwrap_or_default().shown(&self.plain(), true)
                }
                Arg::Pattern(number) => format!("\"{}\"", super::patterns::name(*number)),
                Arg::List => format!("[{}]", self.bytes(statement.op, numbers.next())),
                Arg::Mode(mode) => format!("0o{mode:03o}"),
                Arg::Word(word) => format!("\"{word}\""),
            });
        }
        let mut text = String::new();
        let named = statement.directory.map(|at| format!("dir=\"{}\"", self.shaper.directory(at)));
        let mut options: Vec<String> = named.into_iter().collect();
        if statement.alone {
            options.push("comm=\"self\"".into());
        }
        if statement.errno != 0 {
            options.push(format!("expect=\"{}\"", errno::name(statement.errno)));
        }
        if item.gap.meets_end {
            options.push(format!("expect=\"{SHORT}\""));
        }
        if statement.syncs {
            options.push("fsync=\"close\"".into());
        }
        if !options.is_empty() {
            let _ = write!(text, "with ({}) ", options.join(", "));
        }
        if let Some(variable) = statement.gives {
            let _ = write!(text, "{} = ", self.file(variable));
        }
        let place = statement.args.iter().rposition(|arg| *arg == Arg::Bytes);
        if let (Some((_, size)), Some(place)) = (&self.sizes.unit, place)
            && size.starts_with('$')
            && args[place] != "0"
            && !args[place].contains(size.as_str())
        {
            self.fixed.sizes.push((size[1..].to_string(), args.join(", ")));
        }
        let _ = match (statement.op, args.is_empty()) {
            (Op::Sync | Op::Dropcaches, _) => write!(text, "{};", statement.op.name()),
            _ => write!(text, "{}({});", statement.op.name(), args.join(", ")),
        };
        text
    }

    /// A number of bytes; the first of a statement is its size, in which others are expressed.
    fn bytes(&mut self, op: Op, number: Option<&Spread>) -> String {
        let Some(number) = number else { return "0".into() };
        let linear = self.linear(number);
        if let Some(value) = linear.constant()
            && self.sizes.unit.is_none()
        {
            // A place that happens to be as large as a size has nothing to do with it.
            let param = self.params.size(value).filter(|_| op != Op::Fseek);
            let text = param.unwrap_or_else(|| bytes(value));
            if value > 1 && !matches!(op, Op::Ftruncate | Op::Truncate | Op::Fseek) {
                self.sizes.unit = Some((value, text.clone()));
            }
            return text;
        }
        linear.shown(&self.sizes, true)
    }

    /// A string in which numbers stand as variables; what is no variable is made one before.
    fn text<'n>(
        &mut self,
        template: u32,
        numbers: &mut impl Iterator<Item = &'n Spread>,
        lines: &mut Lines,
    ) -> String {
        let parts = self.shaper.names.templates[template as usize].clone();
        let mut text = String::from("\"");
        for (at, part) in parts.iter().enumerate() {
            match part {
                Part::Text(bytes) => text.push_str(&quoted(bytes)),
                Part::Number { width } => {
                    let Some(number) = numbers.next() else { continue };
                    let next = match parts.get(at + 1) {
                        Some(Part::Text(next)) => next.first().copied(),
                        _ => None,
                    };
                    self.tables.hold(Role::Numbers);
                    let linear = self.linear(number);
                    text.push_str(&self.number_in_text(&linear, *width, next, lines));
                }
            }
        }
        text + "\""
    }

    /// A variable of the program for an expression of ranks.
    fn of_ranks(&mut self, shown: String) -> String {
        let known = self.of_ranks.iter().position(|expression| *expression == shown);
        let at = known.unwrap_or_else(|| {
            self.of_ranks.push(shown);
            self.of_ranks.len() - 1
        });
        numbered("$r", at)
    }

    fn number_in_text(
        &mut self,
        linear: &Linear,
        width: usize,
        next: Option<u8>,
        lines: &mut Lines,
    ) -> String {
        if let Some(value) = linear.constant() {
            return format!("{value:0width$}");
        }
        let runs_on = next.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let name = match linear.variable() {
            Some("$$rank") if width == 0 && !runs_on => return "$$rank".into(),
            Some(name) if name != "$$rank" => name.to_string(),
            _ => {
                let shown = linear.shown(&self.plain(), false);
                // What does not depend on loops stands before them all; not lists, which may have
                // values for the ranks only that come here.
                match self.is_local(&shown) || shown.contains('[') {
                    false => self.of_ranks(shown),
                    true => self.variable("$n", shown, lines),
                }
            }
        };
        match (width, runs_on) {
            (0, false) => name,
            (0, true) => format!("${{{}}}", &name[1..]),
            _ => format!("${{{}:0{width}}}", &name[1..]),
        }
    }

    /// The other side of a signal: each of some ranks, or one.
    fn partner(&mut self, number: &Spread) -> Linear {
        let rank = self.linear(number);
        if rank.constant().is_none() && !rank.shown(&self.plain(), false).contains("$$rank") {
            self.fixed.exactly("a signal names ranks");
        }
        rank
    }

    fn linear(&mut self, number: &Spread) -> Linear {
        if is_chance(&number.base, self.among) {
            self.fixed.exactly("numbers of ranks follow no rule that goes on");
        }
        let mut linear = Linear::default();
        let tables = &mut self.tables;
        let around = || self.loops.iter().rev();
        if let Some(list) = &number.list
            && let Some(around) = around().nth(list.depth)
        {
            let unit = self.sizes.unit.as_ref().map_or(1, |(unit, _)| *unit);
            let divides = list.values.iter().all(|value| value % unit == 0);
            linear.add_list(list, around, if divides { unit } else { 1 }, tables);
        }
        let steps: Vec<_> = number.steps.iter().zip(around()).collect();
        for (step, around) in steps.into_iter().rev() {
            match step {
                Value::Same(step) => linear.add_index(*step, around),
                other => {
                    let mut factor = Linear::default();
                    factor.add_value(other, tables);
                    linear.add_product(&factor.shown(&Sizes::default(), false), around);
                }
            }
        }
        linear.add_value(&number.base, tables);
        linear
    }

    /// The head of a block for some ranks.
    fn only(&self, ranks: &Ranks) -> String {
        let (first, last) = (ranks[0], ranks[ranks.len() - 1]);
        let is_range = (last - first) as usize + 1 == ranks.len();
        let step = ranks.get(1).map_or(1, |second| second - first);
        let strided = ranks.windows(2).all(|pair| pair[1] - pair[0] == step);
        match (first, last) {
            (0, 0) => "master".into(),
            _ if first == last => format!("if ($$rank == {first})"),
            (0, _) if is_range => format!("if ($$rank < {})", last + 1),
            _ if is_range && last + 1 == self.ranks => format!("if ($$rank >= {first})"),
            _ if is_range => format!("if ($$rank >= {first} && $$rank <= {last})"),
            _ if strided && first < step && last + step >= self.ranks => {
                format!("if ($$rank % {step} == {first})")
            }
            _ => format!("if ({})", one_of(ranks, self.ranks)),
        }
    }
}

/// The condition that the rank is one of some: in ranges, or what the others are not.
fn one_of(ranks: &[u32], size: u32) -> String {
    let others: Vec<u32> = (0..size).filter(|rank| ranks.binary_search(rank).is_err()).collect();
    let (own, other) = (in_ranges(ranks), format!("!({})", in_ranges(&others)));
    if other.len() < own.len() { other } else { own }
}

/// `$$rank == 2 || ($$rank >= 5 && $$rank <= 9)`
fn in_ranges(ranks: &[u32]) -> String {
    let ranges = ranks.chunk_by(|a, b| a + 1 == *b).map(|range| match range {
        [first, _, .., last] => format!("($$rank >= {first} && $$rank <= {last})"),
        few => few.iter().map(|rank| format!("$$rank == {rank}")).collect::<Vec<_>>().join(" || "),
    });
    ranges.collect::<Vec<_>>().join(" || ")
}

/// The head of a block for some ranks says something else of a larger number of them: it is neither for
/// the first one, nor for all others, nor for every so many.
fn names_ranks(head: &str) -> bool {
    head != "master" && head != "if ($$rank >= 1)" && !head.contains(" % ")
}

/// `$x`, `$x2`, `$x3`
pub(super) fn numbered(name: &str, at: usize) -> String {
    if at == 0 { name.to_string() } else { format!("{name}{}", at + 1) }
}

/// Lines of a comment.
fn comment(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{}\n", format!("# {line}").trim_end())).collect()
}

/// Adds statements; around a block stands an empty line.
fn push_apart(text: &mut String, lines: &[String]) {
    let mut was_block = false;
    for line in lines {
        let is_block = line.contains('\n');
        if is_block || was_block {
            text.push('\n');
        }
        was_block = is_block;
        text.push_str(line);
        text.push('\n');
    }
}

/// A head and its body, in braces unless it is one statement of one line.
fn block(head: &str, body: Lines) -> String {
    match &body[..] {
        [one] if !one.contains('\n') => format!("{head} {one}"),
        _ => format!("{head} {{\n{}\n}}", body.join("\n")),
    }
}

//! The tree of all ranks -> text of a program.

use super::expr::{Linear, Loop, Sizes, bytes, holds, listed, name_of_loop, place_in};
use super::further::{Beyond, Changed, again, other_text};
use super::lists::{DataFile, LongLists, Role, Tables, comment, definition, numbered};
use super::log::{Log, mpi_mode};
use super::long_pauses::LONG_NS;
use super::names::{Part, quoted};
use super::params::{Params, name_directories};
use super::patterns;
use super::pauses::{Places, Recorder, duration};
use super::procs::{Handles, Proc};
use super::ranks::{Call, Form, Item, Listed, Ranks, Spread, Value};
use super::regular::condition;
use super::shape::Shaper;
use super::statement::{Arg, NumberKind, Shape, Statement};
use super::tree::Gap;
use model::open_flags::text_of_flags;
use model::with::SHORT;
use model::{Op, errno};
use std::fmt::Write;

/// Writes a program.
pub struct Writer<'a> {
    shaper: &'a Shaper<'a>,
    procs: &'a [Proc],
    places: Places,
    params: Params,
    /// Names that it makes or removes.
    changed: Changed,
    sizes: Sizes,
    /// Loops around what is written, outermost first.
    loops: Vec<Loop>,
    /// Lists of numbers.
    tables: Tables,
    /// Lists of names.
    names: Vec<Vec<String>>,
    /// The longest pause that became a far shorter mean.
    uneven: Option<Uneven>,
    /// Variables made so far for names, with their expressions.
    made: Vec<(String, String)>,
    /// Variables that count over executions of loops, with the loop before which they begin.
    cursors: Vec<(String, usize)>,
    /// Number of them so far.
    counted: usize,
    /// Expressions of ranks that names hold.
    of_ranks: Vec<String>,
    /// The program names ranks, so it needs this number of them.
    names_ranks: bool,
    /// It is for no larger number of ranks either.
    is_for_ranks: bool,
    /// Number of ranks.
    ranks: u32,
    /// Further directories in which files have names.
    directories: Vec<String>,
    /// More of them were at work at a time than there were CPUs.
    crowded: bool,
    /// Pauses lie between two starts.
    starts_only: bool,
}

/// A program with what can be changed in it.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// Its text, not laid out yet.
    pub text: String,
    /// The file of its long lists, and their number.
    pub data: Option<(DataFile, usize)>,
    /// The longest pause for which a mean does not stand.
    pub uneven: Option<Uneven>,
}

/// Statements as lines; a block is one of them.
type Lines = Vec<String>;

impl<'a> Writer<'a> {
    /// Nothing is written yet.
    pub fn new(shaper: &'a Shaper<'a>, items: &[Item], procs: &'a [Proc], log: &Log) -> Writer<'a> {
        let ranks = log.ranks.len() as u32;
        let bodies: Vec<&[Item]> =
            std::iter::once(items).chain(procs.iter().map(|proc| &proc.body[..])).collect();
        let params = Params::choose(&bodies, shaper);
        let changed = Changed::find(&bodies, shaper);
        Writer {
            changed,
            shaper,
            procs,
            places: Places::chosen(&bodies, Recorder::adding(log.recorder_ns)),
            params,
            sizes: Sizes { unit: None, ranks: ranks.into() },
            loops: Vec::new(),
            tables: Tables::default(),
            names: Vec::new(),
            uneven: None,
            made: Vec::new(),
            cursors: Vec::new(),
            counted: 0,
            of_ranks: Vec::new(),
            names_ranks: false,
            is_for_ranks: false,
            ranks,
            directories: log.used_directories().map(str::to_string).collect(),
            crowded: shaper.is_crowded(),
            starts_only: log.starts_only,
        }
    }

    /// The program. `head`: lines of the comment at its head. `data`: name of the file for long lists.
    pub fn program(mut self, items: &[Item], head: &[String], data: Option<&str>) -> Written {
        let mut data = data.map(LongLists::named);
        let patterns = self.patterns(&mut data);
        let procs = self.procs;
        let procs: Lines = procs.iter().map(|proc| self.definition(proc)).collect();
        let mut body = [procs, self.body(items)].concat();
        let mut definitions = self.lists(&mut data);
        let mut all: Vec<&mut String> = definitions.iter_mut().chain(&mut body).collect();
        let directories = name_directories(&mut all);
        let mut text = String::new();
        for name in &self.directories {
            let _ = writeln!(text, "with (dir=\"{name}\") {{}} // --mount {name}=DIR");
        }
        text.push_str(&self.params.definitions());
        text.push_str(&directories);
        patterns.iter().for_each(|definition| text.push_str(&format!("\n{definition}\n")));
        definitions.iter().for_each(|line| text.push_str(&format!("{line}\n")));
        for (at, shown) in self.of_ranks.iter().enumerate() {
            let _ = writeln!(text, "{} = {shown};", numbered("$r", at));
        }
        text.push('\n');
        push_separated(&mut text, &body);
        let data = data.and_then(|data| data.file(head));
        let text = format!("{}\n{}{text}", comment(head), self.asserted_ranks());
        Written { text, data, uneven: self.uneven }
    }

    /// A program that names ranks needs them, one that has lists by rank is for no others: it says so.
    /// `check` takes the number from there, and a run with another one ends there.
    fn asserted_ranks(&self) -> String {
        let (ranks, is_exact) = (self.ranks, self.is_for_ranks || self.tables.are_by_rank());
        if ranks == 1 || !(self.names_ranks || is_exact) {
            return String::new();
        }
        let relation = if is_exact { "==" } else { ">=" };
        assert_ranks(relation, ranks)
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
            Form::Call(call) => {
                let line = self.call(call, &item.numbers, lines);
                self.pause(&item.gap, lines);
                lines.push(line);
            }
            Form::Only(ranks) => {
                let body = self.body(&item.body);
                if !body.is_empty() {
                    let head = self.only(ranks);
                    self.names_ranks |= names_ranks(&head);
                    lines.push(block(&head, body));
                }
            }
        }
    }

    fn leaf(&mut self, shape: u32, item: &Item, lines: &mut Lines) {
        let shaper = self.shaper;
        let line = match &shaper.shapes.all[shape as usize] {
            // It is kept whatever its share is.
            Shape::LongPause => {
                return self.pause_of(self.places.mean_ns(&item.gap), &item.gap, lines);
            }
            Shape::Pause => return self.exact_pause(item, lines),
            Shape::Op(statement) => self.statement(statement, item, lines),
            Shape::Extent => self.extent(&item.numbers),
            Shape::Barrier(_) => "barrier;".into(),
            Shape::Signal => {
                let to = self.partner(&item.numbers[0]).text(&self.plain(), false);
                format!("signal(\"from-$$rank\", to={to});")
            }
            Shape::Wait => {
                let from = self.partner(&item.numbers[0]);
                let from = self.number_in_text(&from, 0, None, lines);
                let count = self.linear(&item.numbers[1]).text(&self.plain(), false);
                let count = if count == "1" { String::new() } else { format!(", {count}") };
                format!("wait(\"from-{from}\"{count});")
            }
            Shape::Label(_) | Shape::Part => return,
        };
        // Behind the variables of its names: what they take is part of the pause.
        self.pause(&item.gap, lines);
        lines.push(line);
    }

    /// Numbers that are no multiples of a size.
    fn plain(&self) -> Sizes {
        Sizes { unit: None, ranks: self.ranks.into() }
    }

    fn statement(&mut self, statement: &Statement, item: &Item, lines: &mut Lines) -> String {
        let mut numbers = item.numbers.iter();
        let (mut args, mut found) = (Vec::new(), None);
        self.sizes.unit = None;
        let mut role = if statement.op == Op::Fseek { Role::Offsets } else { Role::Sizes };
        for arg in &statement.args {
            args.push(match arg {
                Arg::Path(template) => self.text(*template, &mut numbers, lines),
                Arg::Named => self.named(numbers.next(), lines),
                Arg::Handle(variable) => file(*variable),
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
                    further.unwrap_or_default().text(&self.plain(), true)
                }
                Arg::Pattern(number) => format!("\"{}\"", patterns::name(*number)),
                Arg::List => format!("[{}]", self.bytes(statement.op, numbers.next())),
                Arg::Mode(mode) => format!("0o{mode:03o}"),
                Arg::Word(word) => format!("\"{word}\""),
                Arg::Found => {
                    // A file that happens to be as large as a transfer has nothing to do with it.
                    self.tables.hold(Role::Sizes);
                    let bytes = numbers.next().map(|number| self.linear(number));
                    found = Some(bytes.unwrap_or_default().text(&self.plain(), true));
                    continue;
                }
            });
        }
        let options = [
            statement.directory.map(|at| format!("dir=\"{}\"", self.shaper.directory(at))),
            statement.alone.then(|| "comm=\"self\"".to_string()),
            (statement.errno != 0).then(|| format!("expect=\"{}\"", errno::name(statement.errno))),
            item.gap.meets_end.then(|| format!("expect=\"{SHORT}\"")),
            statement.syncs.then(|| "fsync=\"close\"".to_string()),
            found.map(|bytes| format!("filesize={bytes}")),
        ];
        let options = options.into_iter().flatten().collect::<Vec<String>>().join(", ");
        let with = if options.is_empty() { options } else { format!("with ({options}) ") };
        let gives = statement.gives.map_or(String::new(), |given| format!("{} = ", file(given)));
        let name = statement.op.name();
        match statement.op {
            Op::Sync | Op::Dropcaches => format!("{with}{gives}{name};"),
            _ => format!("{with}{gives}{name}({});", args.join(", ")),
        }
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
        linear.text(&self.sizes, true)
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
                    let beyond = self.changed.beyond_numbers(template);
                    if beyond == Beyond::Again {
                        self.bind_files(number);
                    }
                    let linear = self.linear_beyond(number, beyond);
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
                let shown = linear.text(&self.plain(), false);
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
        if rank.constant().is_none() && !rank.text(&self.plain(), false).contains("$$rank") {
            self.is_for_ranks = true;
        }
        rank
    }

    fn linear(&mut self, number: &Spread) -> Linear {
        self.linear_beyond(number, Beyond::Again)
    }

    /// `beyond`: what the program reads beyond the end of the number's list.
    fn linear_beyond(&mut self, number: &Spread, beyond: Beyond) -> Linear {
        let mut linear = Linear::default();
        let beyond = self.beyond(number, beyond);
        let tables = &mut self.tables;
        if let Some(list) = &number.list
            && let Some(around) = self.loops.iter().rev().nth(list.depth)
        {
            let unit = self.sizes.unit.as_ref().map_or(1, |(unit, _)| *unit);
            let divides = list.values.iter().all(|value| value % unit == 0);
            let unit = if divides { unit } else { 1 };
            if let Some(bound) = linear.add_list(list, around, (unit, beyond), tables) {
                self.bind_counts(bound, list.depth, list.root);
            }
        }
        let tables = &mut self.tables;
        let steps: Vec<_> = number.steps.iter().zip(self.loops.iter().rev()).collect();
        for (step, around) in steps.into_iter().rev() {
            match step {
                Value::Same(step) => linear.add_index(*step, around),
                other => {
                    let mut factor = Linear::default();
                    factor.add_value(other, tables);
                    linear.add_product(&factor.text(&Sizes::default(), false), around);
                }
            }
        }
        linear.add_value(&number.base, tables);
        linear
    }

    /// Remembers that a list has a value for each iteration of these loops.
    fn bind_counts(&mut self, (list, beyond): (String, Beyond), depth: usize, root: usize) {
        let around = self.loops.iter().rev().skip(depth).take(root + 1 - depth);
        let counts = around.filter_map(|around| around.count);
        counts.for_each(|count| self.params.bind(count, &list, beyond));
    }

    /// Remembers of the loops with which a name grows that more iterations need files that the run did not.
    fn bind_files(&mut self, number: &Spread) {
        let steps = number.steps.iter().zip(self.loops.iter().rev());
        let growing = steps.filter(|(step, _)| **step != Value::Same(0));
        let counts = growing.filter_map(|(_, around)| around.count);
        counts.for_each(|count| self.params.bind_files(count));
    }

    /// Chooses what follows the last value of a number's list: nothing in lists by rank, and nothing if no parameter
    /// sets the number of iterations.
    fn beyond(&self, number: &Spread, beyond: Beyond) -> Beyond {
        let Some(Listed { depth, root, rows: None, .. }) = number.list else {
            return Beyond::Nothing;
        };
        let mut around = self.loops.iter().rev().skip(depth).take(root + 1 - depth);
        let is_param = |count: i64| self.params.count(count).is_some();
        match around.any(|around| around.count.is_some_and(is_param)) {
            true => beyond,
            false => Beyond::Nothing,
        }
    }

    /// The head of a block for some ranks.
    fn only(&self, ranks: &Ranks) -> String {
        let (first, last) = (ranks[0], ranks[ranks.len() - 1]);
        let step = ranks.get(1).map_or(1, |second| second - first);
        let is_strided = ranks.windows(2).all(|pair| pair[1] - pair[0] == step);
        match last {
            0 => "master".into(),
            _ if is_strided && step > 1 && first < step && last + step >= self.ranks => {
                format!("if ($$rank % {step} == {first})")
            }
            _ => format!("if ({})", one_of(ranks, self.ranks)),
        }
    }
}

/// The condition that the rank is one of some: in ranges, or what the others are not.
fn one_of(ranks: &[u32], size: u32) -> String {
    let others: Vec<u32> = (0..size).filter(|rank| ranks.binary_search(rank).is_err()).collect();
    let (own, other) = (in_ranges(ranks, size), format!("!({})", in_ranges(&others, size)));
    if other.len() < own.len() { other } else { own }
}

/// `$$rank == 2 || ($$rank >= 5 && $$rank <= 9)`
fn in_ranges(ranks: &[u32], size: u32) -> String {
    let ranges =
        ranks.chunk_by(|a, b| a + 1 == *b).map(|range| match (range[0], range[range.len() - 1]) {
            (first, last) if first == last => format!("$$rank == {first}"),
            (0, last) => format!("$$rank < {}", last + 1),
            (first, last) if last + 1 == size => format!("$$rank >= {first}"),
            (first, last) => format!("($$rank >= {first} && $$rank <= {last})"),
        });
    ranges.collect::<Vec<_>>().join(" || ")
}

/// The head of a block for some ranks says something else of a larger number of them: it is neither for
/// the first one, nor for all others, nor for every n-th.
fn names_ranks(head: &str) -> bool {
    head != "master" && head != "if ($$rank >= 1)" && !head.contains(" % ")
}

/// The variable of an open file.
fn file(variable: u32) -> String {
    numbered("$file", variable as usize)
}

/// The statement that ends a run with fewer ranks (`>=`), or with any other number (`==`).
pub(crate) fn assert_ranks(relation: &str, ranks: u32) -> String {
    let what = if relation == "==" { "is for" } else { "needs" };
    let counted = model::words::count(ranks, "rank");
    format!("assert($$size {relation} {ranks}, \"it {what} {counted}: run it with -n {ranks}\");\n")
}

/// Adds statements; around a block stands an empty line.
pub(super) fn push_separated(text: &mut String, lines: &[String]) {
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
pub(super) fn block(head: &str, body: Lines) -> String {
    match &body[..] {
        [one] if !one.contains('\n') => format!("{head} {one}"),
        _ => format!("{head} {{\n{}\n}}", body.join("\n")),
    }
}

impl Writer<'_> {
    fn repeat(&mut self, item: &Item) -> String {
        let name = name_of_loop(self.loops.len());
        let mut frame = Loop::new(name, item);
        let option = !frame.is_used() && is_option(&item.numbers[0]);
        let condition = self.condition(&item.numbers[0]).filter(|_| option);
        let count = match condition {
            Some(_) => Linear::default(),
            None => {
                self.tables.hold(if option { Role::Flags } else { Role::Counts });
                self.linear(&item.numbers[0])
            }
        };
        if let Some((cursor, further)) = frame.cursor() {
            *cursor = numbered("$at", self.counted);
            self.counted += 1;
            self.cursors.push((cursor.clone(), self.loops.len() - *further));
        }
        let cursor = frame.cursor().map(|(cursor, _)| cursor.clone());
        let constant = count.constant();
        let shown = match constant.and_then(|count| self.params.count(count)) {
            Some(param) => param,
            None => count.text(&Sizes::default(), false),
        };
        let head = match (option, condition) {
            (true, Some(condition)) => format!("if ({condition})"),
            (true, None) => format!("if ({shown} == 1)"),
            _ => frame.head(&shown, constant.filter(|_| !shown.starts_with('$'))),
        };
        let iterations = constant.filter(|_| !option).and_then(|count| u64::try_from(count).ok());
        let rate = iterations.and_then(|count| self.rate(item, count));
        self.loops.push(frame);
        let mut body = match rate {
            Some(_) => self.paced(&item.body),
            None => self.body(&item.body),
        };
        self.loops.pop();
        body.extend(cursor.map(|cursor| format!("{cursor} = {cursor} + 1;")));
        let line = block(&head, body);
        match rate {
            Some(rate) => format!("with (rate={rate}/s) {line}"),
            None => line,
        }
    }

    /// Iterations per second of a loop whose log tells when operations began, and not how long they took: its
    /// first operation is due at such times. A pause would add the time of the operations to each iteration.
    fn rate(&self, item: &Item, count: u64) -> Option<String> {
        let (first, rest) = item.body.split_first()?;
        let is_plain = |item: &Item| self.shaper.operation(item).is_some();
        let is_paced = self.starts_only && count >= PACED_MIN && item.body.iter().all(is_plain);
        let has_pause = |item: &Item| self.places.think_ns(&item.gap).is_some();
        if !is_paced || !has_pause(first) || rest.iter().any(has_pause) {
            return None;
        }
        // The first iteration of each execution is due at once.
        let intervals = first.gap.count - first.gap.count / count;
        let all_ns: u64 = item.body.iter().map(|item| item.gap.sum_ns).sum();
        let per_second = 1e9 * intervals as f64 / all_ns as f64;
        (per_second >= SLOWEST).then(|| digits(per_second))
    }

    /// The body of a loop with a rate: of each iteration only the first operation is due.
    fn paced(&mut self, items: &[Item]) -> Lines {
        let (mut lines, mut rest) = (Lines::new(), Lines::new());
        let made = self.made.len();
        for (number, item) in items.iter().enumerate() {
            let gap = Gap { meets_end: item.gap.meets_end, ..Gap::default() };
            let item = Item { gap, ..item.clone() };
            self.item(&item, if number == 0 { &mut lines } else { &mut rest });
        }
        self.made.truncate(made);
        if !rest.is_empty() {
            lines.push(block("with (rate=0)", rest));
        }
        lines
    }

    /// When a count of 0 and 1 is 1.
    fn condition(&mut self, count: &Spread) -> Option<String> {
        let list = count.list.as_ref().filter(|list| list.rows.is_none())?;
        let around = self.loops.iter().rev().nth(list.depth)?;
        condition(&list.values, &place_in(list, around, &mut self.tables))
    }
}

/// Fewer iterations have pauses.
const PACED_MIN: u64 = 3;
/// Slower loops have pauses, operations per second.
const SLOWEST: f64 = 0.01;

/// A number with five digits, without zeros at its end.
fn digits(number: f64) -> String {
    let places = (4 - number.log10().floor() as i32).clamp(0, 7) as usize;
    let text = format!("{number:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// Iterations are one or none each time.
fn is_option(count: &Spread) -> bool {
    let steady = count.base == Value::Same(0) && count.steps.iter().all(|s| *s == Value::Same(0));
    let list = count.list.as_ref().filter(|_| steady);
    list.is_some_and(|list| list.values.iter().all(|times| matches!(times, 0 | 1)))
}

impl Writer<'_> {
    /// An expression depends on a loop, or on what a proc is given.
    fn is_local(&self, shown: &str) -> bool {
        self.loops.iter().any(|around| around.is_in(shown))
            || self.made.iter().any(|(name, _)| holds(shown, name))
    }

    /// A variable for an expression, which is made before its first use.
    fn variable(&mut self, name: &str, shown: String, lines: &mut Lines) -> String {
        if let Some((name, _)) = self.made.iter().find(|(_, expression)| *expression == shown) {
            return name.clone();
        }
        let like = self.made.iter().filter(|(other, _)| {
            other.strip_prefix(name).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
        });
        let name = numbered(name, like.count());
        lines.push(format!("{name} = {shown};"));
        self.made.push((name.clone(), shown));
        name
    }

    /// One of several names, or one that is always the same.
    fn named(&mut self, number: Option<&Spread>, lines: &mut Lines) -> String {
        let Some(number) = number else { return "\"\"".into() };
        if let Value::Param(name) = &number.base {
            return name.to_string();
        }
        let (ids, index) = self.choice(number);
        let names: Vec<String> = ids.iter().map(|id| quoted(self.shaper.path(*id))).collect();
        let Some(index) = index else { return format!("\"{}\"", names.concat()) };
        let directory = common_directory(&names);
        let ending = common_ending(&names, directory.len());
        let stem = |name: &String| name[directory.len()..name.len() - ending.len()].to_string();
        let names = names.iter().map(stem).collect();
        let known = self.names.iter().position(|other| *other == names);
        let at = known.unwrap_or_else(|| {
            self.names.push(names);
            self.names.len() - 1
        });
        let list = numbered("$names", at);
        let wanted = self.changed.beyond_names(&ids, self.shaper);
        let mut beyond = Beyond::Nothing;
        if let Some(Listed { depth, root, .. }) =
            number.list.as_ref().filter(|_| !index.contains('%'))
        {
            beyond = self.beyond(number, wanted);
            self.bind_counts((list.clone(), beyond), *depth, *root);
        }
        let shown = match beyond {
            Beyond::Nothing => format!("{list}[{index}]"),
            Beyond::Again => again(&list, &index),
            Beyond::Others => other_text(&list, &index),
        };
        if directory.is_empty() && ending.is_empty() {
            return shown;
        }
        let name = self.variable("$name", shown, lines);
        format!("\"{directory}{name}{ending}\"")
    }

    /// Numbers of names, and the place among them of the one that is meant, if they are several.
    fn choice(&mut self, number: &Spread) -> (Vec<i64>, Option<String>) {
        if let Some(list) = &number.list
            && let Some(around) = self.loops.iter().rev().nth(list.depth)
        {
            return (list.values.clone(), Some(place_in(list, around, &mut self.tables)));
        }
        match &number.base {
            Value::Same(id) => (vec![*id], None),
            base => {
                let ids = (0..self.ranks).map(|rank| base.at(rank, self.ranks)).collect();
                self.is_for_ranks = true;
                (ids, Some("$$rank".into()))
            }
        }
    }
}

/// The directory that all names are below, with its slash.
pub(super) fn common_directory(names: &[String]) -> String {
    let Some(first) = names.first() else { return String::new() };
    let same = |name: &String| first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let common = names.iter().map(same).min().unwrap_or(0);
    let end = first.as_bytes()[..common].iter().rposition(|byte| *byte == b'/');
    first[..end.map_or(0, |end| end + 1)].to_string()
}

/// The ending that all names have behind a dot, and that is not the whole of one. `from`: where they begin to differ.
pub(super) fn common_ending(names: &[String], from: usize) -> String {
    let Some(first) = names.first() else { return String::new() };
    let same = |name: &String| {
        let pairs = first.bytes().rev().zip(name.bytes().rev());
        let most = first.len().min(name.len()).saturating_sub(from + 1);
        pairs.take(most).take_while(|(a, b)| a == b).count()
    };
    let common = first.len() - names.iter().map(same).min().unwrap_or(0);
    let start = first.as_bytes()[common..].iter().position(|byte| *byte == b'.');
    start.map_or(String::new(), |start| first[common + start..].to_string())
}

impl Writer<'_> {
    /// `define proc name($file, $n) { ... }`
    fn definition(&mut self, proc: &Proc) -> String {
        let params = proc.params.iter().map(|param| param.name.to_string());
        self.made = params.clone().map(|name| (name.clone(), name)).collect();
        let mut body = self.body(&proc.body);
        self.made.clear();
        let Handles { needs, leaves, .. } = &proc.handles;
        body.extend(leaves.first().map(|variable| format!("return {};", file(*variable))));
        let handles = needs.iter().map(|variable| file(*variable));
        let all: Vec<String> = handles.chain(params).collect();
        let head = format!("define proc {}({})", proc.name, all.join(", "));
        // A proc has braces, even around one statement.
        match &body[..] {
            [one] if !one.contains('\n') => format!("{head} {{\n{one}\n}}"),
            _ => block(&head, body),
        }
    }

    /// `name($file, 3);`
    fn call(&mut self, call: &Call, numbers: &[Spread], lines: &mut Lines) -> String {
        let procs = self.procs;
        let proc = &procs[call.proc];
        self.sizes.unit = None;
        let mut args: Vec<String> = call.handles.iter().map(|v| file(*v)).collect();
        for (param, number) in proc.params.iter().zip(numbers) {
            args.push(match param.kind {
                NumberKind::Name => self.named(Some(number), lines),
                NumberKind::Count => {
                    let beyond = self.changed.beyond_param(call.proc, &param.name);
                    self.linear_beyond(number, beyond).text(&self.plain(), false)
                }
                NumberKind::Bytes => self.size(number),
            });
        }
        let gives = call.returns.map(|variable| format!("{} = ", file(variable)));
        format!("{}{}({});", gives.unwrap_or_default(), proc.name, args.join(", "))
    }

    fn size(&mut self, number: &Spread) -> String {
        let linear = self.linear(number);
        let param = linear.constant().and_then(|value| self.params.size(value));
        param.unwrap_or_else(|| linear.text(&self.plain(), true))
    }
}

/// Pauses this many times as long as the mean are reported.
const UNEVEN: u64 = 5;

/// Pauses of a place for which their mean does not stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uneven {
    /// The longest, nanoseconds.
    pub longest_ns: u64,
    /// Their mean, which the program has, nanoseconds.
    pub mean_ns: u64,
}

impl Writer<'_> {
    /// `compute(12us);`
    fn pause(&mut self, gap: &Gap, lines: &mut Lines) {
        self.pause_of(self.places.think_ns(gap).unwrap_or(0), gap, lines);
    }

    fn pause_of(&mut self, ns: u64, gap: &Gap, lines: &mut Lines) {
        if ns > 0 {
            self.look_at_the_longest(gap);
            lines.push(self.as_statement(gap, &duration(ns)));
        }
    }

    /// A pause of a number of nanoseconds.
    fn exact_pause(&mut self, item: &Item, lines: &mut Lines) {
        self.tables.hold(Role::Pauses);
        self.sizes.unit = Some((1000, "1us".into()));
        let ns = self.linear(&item.numbers[0]);
        if ns.constant() != Some(0) {
            lines.push(self.as_statement(&item.gap, &ns.duration(self.ranks.into())));
        }
    }

    /// `compute(12us);`, `sleep(30ms);`
    fn as_statement(&self, gap: &Gap, shown: &str) -> String {
        // Between two starts nobody knows of any work.
        let may_sleep = self.crowded || self.starts_only;
        let waits =
            gap.waited_ns > gap.sum_ns / 2 || may_sleep && self.places.mean_ns(gap) >= LONG_NS;
        let pause = if waits { Op::Sleep } else { Op::Compute };
        format!("{}({shown});", pause.name())
    }

    /// A mean says little of pauses of which a few are long.
    fn look_at_the_longest(&mut self, gap: &Gap) {
        let mean_ns = gap.sum_ns / gap.count.max(1);
        if gap.longest_ns >= LONG_NS && gap.longest_ns / UNEVEN >= mean_ns {
            let longest = Uneven { longest_ns: gap.longest_ns, mean_ns };
            self.uneven = self.uneven.max(Some(longest));
        }
    }
}

impl Writer<'_> {
    /// `define pattern "extents" { repeat $i 3 extent($i * 16k + $$grank * 4k, 4k); }`
    fn patterns(&mut self, data: &mut Option<LongLists>) -> Lines {
        let shaper = self.shaper;
        let all = (0..).zip(shaper.patterns.levels());
        all.map(|(number, (level, body))| {
            let level = level.map_or(String::new(), |level| format!("level {level} "));
            let body = self.generator(number, body, data);
            format!("define pattern \"{}\" {level}{body}", patterns::name(number))
        })
        .collect()
    }

    fn generator(&mut self, number: u32, body: &[Item], data: &mut Option<LongLists>) -> String {
        // A pattern reads no lists of the program: it has its own.
        let tables = std::mem::take(&mut self.tables);
        let mut lines = self.body(body);
        let own = std::mem::replace(&mut self.tables, tables);
        let lists = own.all().map(|(list, values)| {
            let pattern = patterns::name(number);
            definition(list, &format!("{pattern}-{}", &list[1..]), &listed(values), data)
        });
        lines.splice(..0, lists);
        // All ranks use it, as the group that the program begins with.
        let text = lines.join("\n").replace("$$rank", "$$grank").replace("$$size", "$$gsize");
        let text = text.replace("master", "if ($$grank == 0)");
        format!("{{\n{text}\n}}")
    }

    /// `extent($i * 16k, 4k);`
    fn extent(&mut self, numbers: &[Spread]) -> String {
        self.sizes.unit = None;
        let length = self.linear(&numbers[1]);
        let shown = length.text(&self.plain(), true);
        // In lengths, so that it holds for other numbers of ranks, too.
        self.sizes.unit =
            length.constant().filter(|bytes| *bytes > 1).map(|it| (it, shown.clone()));
        let offset = self.linear(&numbers[0]).text(&self.sizes, true);
        format!("extent({offset}, {shown});")
    }
}

impl Writer<'_> {
    /// Definitions of the lists of numbers, names and pauses. `data` takes long ones.
    pub fn lists(&self, data: &mut Option<LongLists>) -> Lines {
        let tables = self.tables.all().map(|(name, table)| (name.to_string(), listed(table)));
        let names = self.names.iter().enumerate().map(|(at, names)| {
            let names = names.iter().map(|name| format!("\"{name}\"")).collect();
            (numbered("$names", at), names)
        });
        let all = tables.chain(names);
        all.map(|(name, values)| definition(&name, &name[1..], &values, data)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lists_of_what_differs() {
        for (names, directory, ending) in [
            (&["in/a.txt", "in/b.txt"][..], "in/", ".txt"),
            (&["in/a.txt.gz", "in/b.txt.gz"], "in/", ".txt.gz"),
            (&["a.c", "b.h"], "", ""),
            (&["d/.txt", "d/b.txt"], "d/", ""),
            (&["same.o", "same.o"], "", ".o"),
        ] {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            let found = common_directory(&names);
            let end = common_ending(&names, found.len());
            assert_eq!((found.as_str(), end.as_str()), (directory, ending), "{names:?}");
        }
    }
}

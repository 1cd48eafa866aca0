//! Sequences of statements that occur in several places become procs, where that is shorter.
//!
//! ```text
//! mkdir("a/3") stat("a/3") ... mkdir("a/7") stat("a/7")
//!     -> proc make_a($n) { mkdir("a/$n") stat("a/$n") }  make_a(3) ... make_a(7)
//! ```
//!
//! Numbers that differ between the places are parameters. Open files that a sequence uses are, too;
//! one that it leaves open it returns.

use super::lists::numbered;
use super::names::Part;
use super::pauses::is_exact;
use super::ranks::{Form, Item, Spread, Value};
use super::shape::Shaper;
use super::statement::{Arg, NumberKind, Shape, kinds};
use super::tree::Gap;
use model::Op;
use model::op::{Class, HandleEffect};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Most procs of a program.
const PROCS_MAX: usize = 40;

/// A sequence with a name.
#[derive(Clone, Debug, Default)]
pub struct Proc {
    /// Its name.
    pub name: String,
    /// Open files that it is given.
    pub handles: Vec<u32>,
    /// Numbers and names that it is given.
    pub params: Vec<Param>,
    /// The open file that it gives back.
    pub returns: Option<u32>,
    /// Its statements.
    pub body: Vec<Item>,
}

/// A parameter of a proc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// `$n`
    pub name: Rc<str>,
    /// Kind of its values.
    pub kind: NumberKind,
}

/// Takes sequences out of a tree: what is left, and what they are. A proc calls only those before it.
pub fn extracted(items: Vec<Item>, shaper: &Shaper<'_>) -> (Vec<Item>, Vec<Proc>) {
    let mut root = Item { form: Form::Loop, numbers: vec![], gap: Gap::default(), body: items };
    let mut procs: Vec<Proc> = Vec::new();
    while procs.len() < PROCS_MAX
        && let Some(found) = best(&root.body, shaper, &procs)
    {
        let Found { mut proc, mut places } = found;
        called(&mut root, &mut 0, &mut places, procs.len(), &mut proc.body);
        procs.push(proc);
    }
    (root.body, procs)
}

/// Puts calls in the place of sequences. Bodies are numbered as `find` visits them.
fn called(
    item: &mut Item,
    number: &mut usize,
    by_body: &mut HashMap<usize, Vec<Place>>,
    proc: usize,
    statements: &mut [Item],
) {
    let places = by_body.remove(&*number).unwrap_or_default();
    *number += 1;
    for inner in item.body.iter_mut().filter(|inner| !inner.body.is_empty()) {
        called(inner, number, by_body, proc, statements);
    }
    for place in places.into_iter().rev() {
        let first = &item.body[place.at];
        // A pause with its own time stays a statement of the proc.
        let gap = if is_exact(first) { Gap::default() } else { first.gap };
        let call = Item { form: Form::Call(proc), numbers: place.args, gap, body: Vec::new() };
        let mut taken: Vec<Item> =
            item.body.splice(place.at..place.at + place.length, [call]).collect();
        // The pause before all of it stays before the call.
        if !is_exact(&taken[0]) {
            taken[0].gap = Gap { meets_end: taken[0].gap.meets_end, ..Gap::default() };
        }
        add_gaps(statements, &taken);
    }
}

fn add_gaps(items: &mut [Item], others: &[Item]) {
    for (item, other) in items.iter_mut().zip(others) {
        item.gap.add(&other.gap);
        add_gaps(&mut item.body, &other.body);
    }
}

/// Longest sequence, in statements.
const LENGTH_MAX: usize = 64;
/// Programs with more elements have no procs.
const ELEMENTS_MAX: usize = 20_000;
/// Sequences that are looked at closely.
const TRIED: usize = 32;

/// Bytes of text of a statement, a loop, a call, an argument and a definition.
const STATEMENT: usize = 40;
const LOOP: usize = 25;
const CALL: usize = 25;
const ARG: usize = 6;
const DEFINITION: usize = 60;

/// A place where a sequence stands.
struct Place {
    /// The first element.
    at: usize,
    /// Number of elements.
    length: usize,
    /// Values of its parameters.
    args: Vec<Spread>,
}

/// A proc and where it is called, in order, by number of the body: the program is 0, others follow in the order in
/// which they begin.
struct Found {
    proc: Proc,
    places: HashMap<usize, Vec<Place>>,
}

/// Elements of a body, with what they are but for their numbers; `None`: they stay where they are.
struct Body<'a> {
    items: &'a [Item],
    keys: Vec<Option<u64>>,
}

/// A sequence that occurs in several places.
struct Candidate {
    /// Most bytes that it saves.
    gain: usize,
    length: usize,
    /// Body and first element.
    places: Vec<(usize, usize)>,
}

/// The best one.
fn best(items: &[Item], shaper: &Shaper<'_>, procs: &[Proc]) -> Option<Found> {
    let mut bodies = Vec::new();
    collect_bodies(items, shaper, &mut bodies);
    if bodies.iter().map(|body| body.items.len()).sum::<usize>() > ELEMENTS_MAX {
        return None;
    }
    let mut tried: Vec<Candidate> =
        (2..=LENGTH_MAX).flat_map(|length| candidates(&bodies, length)).collect();
    tried.sort_by_key(|tried| (std::cmp::Reverse(tried.gain), tried.length, tried.places[0]));
    tried.truncate(TRIED);
    let found = tried.iter().filter_map(|Candidate { length, places, .. }| {
        let slices: Vec<&[Item]> =
            places.iter().map(|(body, at)| &bodies[*body].items[*at..at + length]).collect();
        let handles = Handles::find(slices[0], shaper, procs).filter(|h| h.leaves.len() < 2)?;
        let bound = bound(&slices, shaper, procs)?;
        let each = CALL + ARG * (bound.params.len() + handles.needs.len());
        let takes = DEFINITION + weights(slices[0]) + places.len() * each;
        let gain = (weights(slices[0]) * places.len()).checked_sub(takes)?;
        Some((gain, *length, places, handles, bound))
    });
    let (gain, length, places, handles, bound) = found.max_by_key(|found| found.0)?;
    let mut by_body: HashMap<usize, Vec<Place>> = HashMap::new();
    for ((body, at), args) in places.iter().zip(bound.args) {
        by_body.entry(*body).or_default().push(Place { at: *at, length, args });
    }
    let mut body = bound.body;
    body.iter_mut().for_each(clear);
    let (name, returns) = (name(&body, shaper, procs), handles.leaves.first().copied());
    let proc = Proc { name, handles: handles.needs, params: bound.params, returns, body };
    (gain > 0).then_some(Found { proc, places: by_body })
}

fn clear(item: &mut Item) {
    item.gap = Default::default();
    item.body.iter_mut().for_each(clear);
}

fn collect_bodies<'a>(items: &'a [Item], shaper: &Shaper<'_>, bodies: &mut Vec<Body<'a>>) {
    let keys = items.iter().map(|item| key(item, 0, shaper)).collect();
    bodies.push(Body { items, keys });
    for inner in items.iter().filter(|item| !item.body.is_empty()) {
        collect_bodies(&inner.body, shaper, bodies);
    }
}

/// Sequences of this length that occur in several places.
fn candidates(bodies: &[Body<'_>], length: usize) -> Vec<Candidate> {
    let mut places: HashMap<u64, Vec<(usize, usize)>> = HashMap::new();
    for (number, body) in bodies.iter().enumerate() {
        for (at, window) in body.keys.windows(length).enumerate() {
            if window.iter().any(Option::is_none) {
                continue;
            }
            let mut hasher = DefaultHasher::new();
            window.hash(&mut hasher);
            let known = places.entry(hasher.finish()).or_default();
            if known.last().is_none_or(|(last, end)| *last != number || end + length <= at) {
                known.push((number, at));
            }
        }
    }
    let several = places.into_values().filter(|places| places.len() > 1);
    let gain = |(body, at): (usize, usize), times: usize| {
        let one = weights(&bodies[body].items[at..at + length]);
        (one * (times - 1)).saturating_sub(times * CALL + DEFINITION)
    };
    let candidate = |places: Vec<(usize, usize)>| {
        let gain = gain(places[0], places.len());
        Candidate { gain, length, places }
    };
    let mut all: Vec<Candidate> = several.map(candidate).filter(|found| found.gain > 0).collect();
    all.sort_by_key(|found| (std::cmp::Reverse(found.gain), found.places[0]));
    all.truncate(TRIED);
    all
}

fn weights(items: &[Item]) -> usize {
    let weight = |item: &Item| match item.form {
        Form::Leaf(_) => STATEMENT,
        Form::Call(_) => CALL + ARG * item.numbers.len(),
        _ => LOOP + weights(&item.body),
    };
    items.iter().map(weight).sum()
}

/// Hash of an element without numbers that can be parameters. `depth`: loops of the sequence around it.
fn key(item: &Item, depth: usize, shaper: &Shaper<'_>) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    match &item.form {
        Form::Leaf(shape) => match &shaper.shapes.all[*shape as usize] {
            Shape::Op(statement) if !statement.adopts => {
                (0, shape, item.gap.meets_end).hash(&mut hasher);
            }
            Shape::Pause | Shape::LongPause => (0, shape).hash(&mut hasher),
            _ => return None,
        },
        Form::Call(proc) => (1, proc).hash(&mut hasher),
        Form::Loop => 2.hash(&mut hasher),
        Form::Block(_) | Form::Only(_) => return None,
    }
    for number in &item.numbers {
        number.steps.iter().take(depth).for_each(|step| step.hash(&mut hasher));
        match &number.list {
            Some(list) if list.root < depth => list.hash(&mut hasher),
            Some(list) if list.depth < depth => return None,
            _ => 3.hash(&mut hasher),
        }
    }
    let inner = depth + usize::from(item.form == Form::Loop);
    for item in &item.body {
        key(item, inner, shaper)?.hash(&mut hasher);
    }
    (item.numbers.len(), item.body.len()).hash(&mut hasher);
    Some(hasher.finish())
}

/// Most parameters that a person wants to read.
const PARAMS_MAX: usize = 6;

/// A sequence whose numbers are parameters, and what they are in each place.
struct Bound {
    body: Vec<Item>,
    params: Vec<Param>,
    /// Values by place.
    args: Vec<Vec<Spread>>,
}

/// A number of a statement with the loops of the sequence around it.
struct Number<'a> {
    spread: &'a Spread,
    depth: usize,
    kind: NumberKind,
}

/// Makes one sequence of those in several places; `None`: they differ too much.
fn bound(places: &[&[Item]], shaper: &Shaper<'_>, procs: &[Proc]) -> Option<Bound> {
    let numbers = places.iter().map(|items| {
        let mut all = Vec::new();
        items.iter().for_each(|item| collect_numbers(item, 0, shaper, procs, &mut all));
        all
    });
    let numbers: Vec<Vec<Number<'_>>> = numbers.collect();
    let mut params: Vec<(Param, Vec<Spread>)> = Vec::new();
    let mut values = Vec::with_capacity(numbers[0].len());
    for (at, first) in numbers[0].iter().enumerate() {
        let column: Vec<Spread> = numbers.iter().map(|own| outer(&own[at])).collect();
        let same = |other: &Spread| is_free(other) && other.base == column[0].base;
        let stays = column.iter().all(same);
        let base =
            if stays { column[0].base.clone() } else { param(&mut params, first.kind, column) };
        values.push(inner(first, base));
        if params.len() > PARAMS_MAX {
            return None;
        }
    }
    let mut body = places[0].to_vec();
    let mut values = values.into_iter();
    body.iter_mut().for_each(|item| replace(item, &mut values));
    let of = |place: usize| params.iter().map(|(_, column)| column[place].clone()).collect();
    let args = (0..places.len()).map(of).collect();
    Some(Bound { body, args, params: params.into_iter().map(|(param, _)| param).collect() })
}

/// The parameter with these values.
fn param(params: &mut Vec<(Param, Vec<Spread>)>, kind: NumberKind, column: Vec<Spread>) -> Value {
    let same = params.iter().find(|(param, values)| {
        (param.kind == NumberKind::Name) == (kind == NumberKind::Name) && *values == column
    });
    if let Some((param, _)) = same {
        return Value::Param(Rc::clone(&param.name));
    }
    let like = params.iter().filter(|(param, _)| param.kind == kind).count();
    let name = match kind {
        NumberKind::Count => "$n",
        NumberKind::Bytes => "$bytes",
        NumberKind::Name => "$name",
    };
    let name: Rc<str> = numbered(name, like).into();
    params.push((Param { name: Rc::clone(&name), kind }, column));
    Value::Param(name)
}

fn collect_numbers<'a>(
    item: &'a Item,
    depth: usize,
    shaper: &Shaper<'_>,
    procs: &[Proc],
    all: &mut Vec<Number<'a>>,
) {
    let kinds = match &item.form {
        Form::Leaf(shape) => kinds(&shaper.shapes.all[*shape as usize], &shaper.names),
        Form::Call(proc) => procs[*proc].params.iter().map(|param| param.kind).collect(),
        _ => Vec::new(),
    };
    for (at, spread) in item.numbers.iter().enumerate() {
        let kind = kinds.get(at).copied().unwrap_or(NumberKind::Count);
        all.push(Number { spread, depth, kind });
    }
    let inner = depth + usize::from(item.form == Form::Loop);
    item.body.iter().for_each(|item| collect_numbers(item, inner, shaper, procs, all));
}

fn replace(item: &mut Item, values: &mut impl Iterator<Item = Spread>) {
    item.numbers.iter_mut().for_each(|number| {
        if let Some(value) = values.next() {
            *number = value;
        }
    });
    item.body.iter_mut().for_each(|item| replace(item, values));
}

/// The number as the caller of the sequence sees it.
fn outer(number: &Number<'_>) -> Spread {
    let Number { spread, depth, .. } = number;
    let steps = spread.steps.get(*depth..).unwrap_or_default().to_vec();
    let list = spread.list.clone().filter(|list| list.depth >= *depth).map(|mut list| {
        (list.depth, list.root) = (list.depth - depth, list.root - depth);
        list
    });
    Spread { base: spread.base.clone(), steps, list }
}

/// The number in the sequence.
fn inner(number: &Number<'_>, base: Value) -> Spread {
    let Number { spread, depth, .. } = number;
    let steps = spread.steps.iter().take(*depth).cloned().collect();
    Spread { base, steps, list: spread.list.clone().filter(|list| list.depth < *depth) }
}

/// It depends on no loop around the sequence.
fn is_free(spread: &Spread) -> bool {
    spread.list.is_none() && spread.steps.iter().all(|step| *step == Value::Same(0))
}

/// Open files of a sequence, as variables.
#[derive(Clone, Debug, Default)]
struct Handles {
    /// Those that must be open before.
    needs: Vec<u32>,
    /// Needed files that it closes.
    closes: Vec<u32>,
    /// Those that it opens and does not close.
    leaves: Vec<u32>,
}

impl Handles {
    /// Those of a sequence; `None`: it is not known when they are open.
    fn find(items: &[Item], shaper: &Shaper<'_>, procs: &[Proc]) -> Option<Handles> {
        let mut all = Handles::default();
        for item in items {
            match &item.form {
                Form::Leaf(shape) => all.follow(&shaper.shapes.all[*shape as usize])?,
                Form::Call(proc) => all.add(&Handles::find(&procs[*proc].body, shaper, procs)?)?,
                Form::Block(_) => all.add(&Handles::find(&item.body, shaper, procs)?)?,
                Form::Loop | Form::Only(_) => {
                    let inner = Handles::find(&item.body, shaper, procs)?;
                    // Ranks that leave this out may have nothing open that they could hand over.
                    let is_open = |variable: &u32| all.leaves.contains(variable);
                    let lacks =
                        matches!(item.form, Form::Only(_)) && !inner.needs.iter().all(is_open);
                    if lacks || !inner.leaves.is_empty() || !inner.closes.is_empty() {
                        return None;
                    }
                    all.add(&inner)?;
                }
            }
        }
        Some(all)
    }

    fn follow(&mut self, shape: &Shape) -> Option<()> {
        let Shape::Op(statement) = shape else { return Some(()) };
        let closes = statement.op.row().handle == HandleEffect::Closes;
        for arg in &statement.args {
            if let Arg::Handle(variable) = arg {
                self.uses(*variable)?;
                if closes {
                    self.close(*variable);
                }
            }
        }
        self.leaves.extend(statement.gives.filter(|_| statement.errno == 0));
        Some(())
    }

    /// Adds the handles of what follows.
    fn add(&mut self, other: &Handles) -> Option<()> {
        other.needs.iter().try_for_each(|variable| self.uses(*variable))?;
        other.closes.iter().for_each(|variable| self.close(*variable));
        self.leaves.extend(&other.leaves);
        Some(())
    }

    fn uses(&mut self, variable: u32) -> Option<()> {
        if self.leaves.contains(&variable) {
            return Some(());
        }
        if self.closes.contains(&variable) {
            return None;
        }
        if !self.needs.contains(&variable) {
            self.needs.push(variable);
        }
        Some(())
    }

    fn close(&mut self, variable: u32) {
        match self.leaves.iter().position(|open| *open == variable) {
            Some(at) => {
                self.leaves.remove(at);
            }
            None => self.closes.push(variable),
        }
    }
}

/// `fwrite_state`, `stat_content_db`: the first operation that moves bytes, or the first one, and the first file.
fn name(body: &[Item], shaper: &Shaper<'_>, others: &[Proc]) -> String {
    let (mut ops, mut paths) = (Vec::new(), Vec::new());
    body.iter().for_each(|item| collect_operations(item, shaper, &mut ops, &mut paths));
    let moves = |op: &&Op| matches!(op.row().class, Class::Read | Class::Write);
    let op = ops.iter().find(moves).or(ops.first()).map_or("do", |op| op.name());
    let stem = paths.first().map(|path| stem(path)).filter(|stem| !stem.is_empty());
    let name = format!("{op}_{}", stem.unwrap_or("file".into()));
    let is_taken = |name: &String| others.iter().any(|other| other.name == *name);
    let mut all = (0..).map(|at| if at == 0 { name.clone() } else { format!("{name}_{}", at + 1) });
    all.find(|name| !is_taken(name)).unwrap_or_default()
}

fn collect_operations(
    item: &Item,
    shaper: &Shaper<'_>,
    ops: &mut Vec<Op>,
    paths: &mut Vec<Vec<u8>>,
) {
    if let Form::Leaf(shape) = &item.form
        && let Shape::Op(statement) = &shaper.shapes.all[*shape as usize]
    {
        ops.push(statement.op);
        for arg in &statement.args {
            match (arg, item.numbers.first()) {
                (Arg::Path(template), _) => {
                    paths.push(text(&shaper.names.templates[*template as usize]));
                }
                (Arg::Named, Some(Spread { base: Value::Same(id), list: None, .. })) => {
                    paths.push(shaper.path(*id).to_vec());
                }
                _ => {}
            }
        }
    }
    item.body.iter().for_each(|item| collect_operations(item, shaper, ops, paths));
}

/// A template without its numbers.
fn text(template: &[Part]) -> Vec<u8> {
    let texts = template.iter().map(|part| match part {
        Part::Text(text) => &text[..],
        Part::Number { .. } => &b"-"[..],
    });
    texts.collect::<Vec<_>>().concat()
}

/// The last part of a path, in letters and underscores.
fn stem(path: &[u8]) -> String {
    let last =
        path.rsplit(|byte| *byte == b'/').find(|part| part.iter().any(u8::is_ascii_alphabetic));
    let letters = last.unwrap_or_default().iter();
    let letters = letters.map(|byte| match byte.is_ascii_alphabetic() {
        true => byte.to_ascii_lowercase() as char,
        false => '_',
    });
    let text: String = letters.collect();
    let words: Vec<&str> = text.split('_').filter(|word| !word.is_empty()).take(3).collect();
    words.join("_")
}

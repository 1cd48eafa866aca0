//! Sequences of statements that occur in several places become procs, where that is shorter.
//!
//! ```text
//! mkdir("a/3") stat("a/3") ... mkdir("a/7") stat("a/7")
//!     -> proc make_a($n) { mkdir("a/$n") stat("a/$n") }  make_a(3) ... make_a(7)
//! ```
//!
//! Numbers and names that differ between the places are parameters. Open files that a sequence uses are, too, whatever
//! their variables are called; one that it leaves open it returns.

use super::expr::constant;
use super::lists::numbered;
use super::names::Part;
use super::ranks::{Call, Form, Item, Spread, Value};
use super::shape::Shaper;
use super::statement::{Arg, NumberKind, Shape, Statement};
use super::tree::{Gap, hash_of};
use model::Op;
use model::op::HandleEffect;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::rc::Rc;

/// Most procs of a program.
const PROCS_MAX: usize = 40;

/// A sequence with a name.
#[derive(Clone, Debug, Default)]
pub struct Proc {
    /// Its name.
    pub name: String,
    /// Open files that it is given, and the one that it returns.
    pub handles: Handles,
    /// Numbers and names that it is given.
    pub params: Vec<Param>,
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
pub fn extracted(items: Vec<Item>, shaper: &mut Shaper<'_>) -> (Vec<Item>, Vec<Proc>) {
    let mut root = Item::new(Form::Loop, items);
    let mut procs: Vec<Proc> = Vec::new();
    while procs.len() < PROCS_MAX
        && let Some(Found { mut proc, mut places, .. }) = best(&root.body, shaper, &procs)
    {
        called(&mut root, &mut 0, &mut places, &mut proc.body);
        procs.push(proc);
    }
    (root.body, procs)
}

/// Puts calls in the place of sequences. Bodies are numbered as `collect_bodies` visits them.
fn called(
    item: &mut Item,
    number: &mut usize,
    by_body: &mut HashMap<usize, Vec<Place>>,
    statements: &mut [Item],
) {
    let places = by_body.remove(&*number).unwrap_or_default();
    *number += 1;
    for inner in item.body.iter_mut().filter(|inner| !inner.body.is_empty()) {
        called(inner, number, by_body, statements);
    }
    for Place { at, length, mut call } in places.into_iter().rev() {
        // The pause before all of it is before the call; one with its own time stays a statement of the proc.
        let first = &mut item.body[at];
        if !first.is_pause() {
            call.gap = first.gap;
            first.gap = Gap { meets_end: first.gap.meets_end, ..Gap::default() };
        }
        let taken: Vec<Item> = item.body.splice(at..at + length, [call]).collect();
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
/// Sequences of each length that are looked at closely.
const TRIED: usize = 32;

/// Bytes of text of a statement, a loop, a call, an argument, one that is a name, and a definition.
const STATEMENT: usize = 40;
const LOOP: usize = 25;
const CALL: usize = 25;
const ARG: usize = 6;
const NAME: usize = 20;
const DEFINITION: usize = 60;
/// Lines of a definition without its body.
const DEFINITION_LINES: usize = 3;

/// A place where a sequence stands.
struct Place {
    /// The first element.
    at: usize,
    /// Number of elements.
    length: usize,
    /// Takes the place of the sequence.
    call: Item,
}

/// A proc and where it is called, in order, by number of the body: the program is 0, others follow in the order in
/// which they begin.
struct Found {
    proc: Proc,
    places: HashMap<usize, Vec<Place>>,
    /// Bytes that it saves.
    gain: usize,
}

/// Elements of a body.
struct Body<'a> {
    items: &'a [Item],
    /// Keys of all elements, with names and without; `None`: the element can be in no proc.
    keys: [Vec<Option<u64>>; 2],
    /// Variables of open files, in order.
    variables: Vec<Vec<u32>>,
}

/// A sequence that occurs in several places.
struct Candidate {
    /// Most bytes that it saves.
    gain: usize,
    length: usize,
    /// Body and first element.
    places: Vec<(usize, usize)>,
}

/// The one that saves most.
fn best(items: &[Item], shaper: &mut Shaper<'_>, procs: &[Proc]) -> Option<Found> {
    let mut bodies = Vec::new();
    collect_bodies(items, shaper, &mut bodies);
    if bodies.iter().map(|body| body.items.len()).sum::<usize>() > ELEMENTS_MAX {
        return None;
    }
    let mut starts: Vec<Start> = bodies.iter().enumerate().flat_map(Start::all).collect();
    let mut tried: Vec<Candidate> = Vec::new();
    for length in 2..=LENGTH_MAX {
        tried.extend(candidates(&bodies, &mut starts, length));
    }
    tried.sort_by_key(|tried| (Reverse(tried.gain), tried.length, tried.places[0]));
    tried.dedup_by(|a, b| a.length == b.length && a.places == b.places);
    let mut best: Option<Found> = None;
    for candidate in tried {
        let least = best.as_ref().map_or(1, |best| best.gain);
        if candidate.gain < least {
            break;
        }
        let found = candidate.found(&bodies, shaper, procs, least);
        best = found.filter(|found| found.gain >= least).or(best);
    }
    best
}

impl Candidate {
    /// The proc that it becomes, if that saves enough bytes.
    fn found(
        &self,
        bodies: &[Body<'_>],
        shaper: &mut Shaper<'_>,
        procs: &[Proc],
        least: usize,
    ) -> Option<Found> {
        let Candidate { length, places, .. } = self;
        let items = |(body, at): &(usize, usize)| &bodies[*body].items[*at..at + length];
        let slices: Vec<&[Item]> = places.iter().map(items).collect();
        let first = slices[0];
        let handles = Handles::find(first, shaper, procs).filter(|h| h.leaves.len() < 2)?;
        let gain = |params: &[(Param, Vec<Spread>)]| {
            let arg =
                |(param, _): &(Param, _)| if param.kind == NumberKind::Name { NAME } else { ARG };
            let args = params.iter().map(arg).sum::<usize>() + ARG * handles.needs.len();
            let takes = DEFINITION + weights(first) + places.len() * (CALL + args);
            (weights(first) * places.len()).checked_sub(takes).filter(|gain| *gain >= least)
        };
        // Two places need at most the parameters of all places, and are compared in less time.
        gain(&bound(&slices[..2], shaper, procs)?.1)?;
        let (body, params) = bound(&slices, shaper, procs)?;
        let gain = gain(&params)?;
        let (params, mut values): (Vec<Param>, Vec<_>) =
            params.into_iter().map(|(param, values)| (param, values.into_iter())).unzip();
        let lines = lines(first);
        if lines * places.len() < lines + places.len() + DEFINITION_LINES + handles.leaves.len() {
            return None;
        }
        let variables = |(body, at): &(usize, usize)| {
            bodies[*body].variables[*at..at + length].iter().flatten().copied()
        };
        let mut by_body: HashMap<usize, Vec<Place>> = HashMap::new();
        for place in places {
            let numbers = values.iter_mut().filter_map(Iterator::next).collect();
            let names: HashMap<u32, u32> = variables(&places[0]).zip(variables(place)).collect();
            let call = Call {
                proc: procs.len(),
                handles: handles.needs.iter().map(|variable| names[variable]).collect(),
                returns: handles.leaves.first().map(|variable| names[variable]),
            };
            let call = Item { numbers, ..Item::new(Form::Call(call), Vec::new()) };
            let at = place.1;
            by_body.entry(place.0).or_default().push(Place { at, length: *length, call });
        }
        let proc = Proc { name: name(&body, shaper, procs), handles, params, body };
        Some(Found { proc, places: by_body, gain })
    }
}

fn collect_bodies<'a>(items: &'a [Item], shaper: &Shaper<'_>, bodies: &mut Vec<Body<'a>>) {
    let keys =
        [true, false].map(|named| items.iter().map(|item| key(item, 0, named, shaper)).collect());
    let variables = items.iter().map(|item| variables(item, shaper)).collect();
    bodies.push(Body { items, keys, variables });
    for inner in items.iter().filter(|item| !item.body.is_empty()) {
        collect_bodies(&inner.body, shaper, bodies);
    }
}

/// Where a sequence may begin: body, keys with names or without, and first element.
#[derive(Clone, Copy)]
struct Start {
    body: usize,
    keys: usize,
    at: usize,
}

impl Start {
    fn all((number, body): (usize, &Body<'_>)) -> impl Iterator<Item = Start> + use<> {
        let places = 0..body.items.len();
        (0..2).flat_map(move |keys| places.clone().map(move |at| Start { body: number, keys, at }))
    }

    /// Hash of a sequence that begins here.
    fn hash(&self, bodies: &[Body<'_>], length: usize) -> Option<u64> {
        let body = &bodies[self.body];
        let keys = body.keys[self.keys].get(self.at..self.at + length)?;
        let is_whole = keys.iter().all(Option::is_some);
        let variables = || renumbered(&body.variables[self.at..self.at + length]);
        is_whole.then(|| hash_of(&(keys, variables())))
    }
}

/// Sequences of this length that occur in several places. Longer ones can only begin at the starts that are left.
fn candidates(bodies: &[Body<'_>], starts: &mut Vec<Start>, length: usize) -> Vec<Candidate> {
    let mut places: HashMap<u64, Vec<(usize, usize)>> = HashMap::new();
    let hashes: Vec<Option<u64>> = starts.iter().map(|start| start.hash(bodies, length)).collect();
    for (Start { body, at, .. }, hash) in starts.iter().zip(&hashes) {
        let Some(hash) = hash else { continue };
        let known = places.entry(*hash).or_default();
        if known.last().is_none_or(|(last, end)| last != body || end + length <= *at) {
            known.push((*body, *at));
        }
    }
    let mut hashes = hashes.into_iter();
    starts.retain(|_| hashes.next().flatten().is_some_and(|hash| places[&hash].len() > 1));
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
    all.sort_by_key(|found| (Reverse(found.gain), found.places[0]));
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

/// Variables in the order of their first uses: 0, 1, ...
fn renumbered(variables: &[Vec<u32>]) -> Vec<usize> {
    let mut known = Vec::new();
    let number = |variable: &u32| {
        known.iter().position(|known| known == variable).unwrap_or_else(|| {
            known.push(*variable);
            known.len() - 1
        })
    };
    variables.iter().flatten().map(number).collect()
}

/// Variables of open files in an element.
fn variables(item: &Item, shaper: &Shaper<'_>) -> Vec<u32> {
    let mut all = Vec::new();
    item.each(&mut |item| match &item.form {
        Form::Call(call) => all.extend(call.handles.iter().chain(&call.returns)),
        _ => {
            let all_of = |it: &Statement| all.extend(it.handles().chain(it.gives));
            shaper.operation(item).into_iter().for_each(all_of);
        }
    });
    all
}

/// Lines of text, but for pauses.
fn lines(items: &[Item]) -> usize {
    let lines = |item: &Item| match item.form {
        Form::Loop => 2 + lines(&item.body),
        _ => 1,
    };
    items.iter().map(lines).sum()
}

/// Hash of an element without its variables and without numbers that can be parameters; names can be, too, unless it
/// is to be `named`. `depth`: loops of the sequence around it.
fn key(item: &Item, depth: usize, named: bool, shaper: &Shaper<'_>) -> Option<u64> {
    let what = match &item.form {
        Form::Leaf(shape) => match &shaper.shapes.all[*shape as usize] {
            Shape::Op(statement) if !statement.adopts => {
                let key = key_of(statement, item, depth, named, shaper)?;
                return Some(hash_of(&(0, key, item.gap.meets_end)));
            }
            Shape::Pause | Shape::LongPause => (0, *shape as usize),
            _ => return None,
        },
        Form::Call(call) => (1, call.proc),
        Form::Loop => (2, item.body.len()),
        Form::Block(_) | Form::Only(_) => return None,
    };
    let numbers = item.numbers.iter().map(|number| key_of_number(number, depth));
    let inner = depth + usize::from(item.form == Form::Loop);
    let body = item.body.iter().map(|item| key(item, inner, named, shaper));
    Some(hash_of(&(what, numbers.chain(body).collect::<Option<Vec<u64>>>()?)))
}

fn key_of(
    statement: &Statement,
    item: &Item,
    depth: usize,
    named: bool,
    shaper: &Shaper<'_>,
) -> Option<u64> {
    let mut args = Vec::with_capacity(statement.args.len());
    for (arg, own) in statement.arguments(&item.numbers, &shaper.names) {
        args.push(match arg {
            Arg::Handle(_) => 0,
            Arg::Path(_) if !named && own.iter().all(|it| constant(it).is_some()) => 1,
            Arg::Named if is_outer(&own[0], depth) => 1,
            arg => {
                let numbers = own.iter().map(|number| key_of_number(number, depth));
                hash_of(&(arg, numbers.collect::<Option<Vec<u64>>>()?))
            }
        });
    }
    let Statement { op, gives, errno, syncs, alone, directory, .. } = statement;
    Some(hash_of(&(args, op, gives.is_some(), errno, syncs, alone, directory)))
}

/// A number does not depend on loops of the sequence.
fn is_outer(number: &Spread, depth: usize) -> bool {
    let is_zero = |step: &Value| *step == Value::Same(0);
    number.steps.iter().take(depth).all(is_zero)
        && number.list.as_ref().is_none_or(|list| list.depth >= depth)
}

/// How a number depends on loops of the sequence; `None`: it depends on loops around it, too.
fn key_of_number(number: &Spread, depth: usize) -> Option<u64> {
    let steps = &number.steps[..depth.min(number.steps.len())];
    let list = match &number.list {
        Some(list) if list.root < depth => Some(list),
        Some(list) if list.depth < depth => return None,
        _ => None,
    };
    Some(hash_of(&(steps, list)))
}

/// Most parameters that a person wants to read.
const PARAMS_MAX: usize = 6;

/// One sequence of those in several places, and its parameters with their values by place.
type Bound = (Vec<Item>, Vec<(Param, Vec<Spread>)>);

/// Makes one sequence of those in several places; `None`: they differ too much.
fn bound(places: &[&[Item]], shaper: &mut Shaper<'_>, procs: &[Proc]) -> Option<Bound> {
    let mut all: Vec<Vec<Item>> = places.iter().map(|items| items.to_vec()).collect();
    let mut binding = Binding { shaper, procs, params: Vec::new() };
    binding.bind(&mut all.iter_mut().map(|items| &mut items[..]).collect::<Vec<_>>(), 0)?;
    Some((all.swap_remove(0), binding.params))
}

/// Makes one sequence of those in several places.
struct Binding<'a, 'b> {
    shaper: &'a mut Shaper<'b>,
    procs: &'a [Proc],
    /// Parameters with their values by place.
    params: Vec<(Param, Vec<Spread>)>,
}

impl Binding<'_, '_> {
    /// Makes the first sequence that of all, without pauses; `None`: they differ too much. `depth`: loops of the
    /// sequence around it.
    fn bind(&mut self, bodies: &mut [&mut [Item]], depth: usize) -> Option<()> {
        for at in 0..bodies[0].len() {
            let mut items: Vec<&mut Item> = bodies.iter_mut().map(|body| &mut body[at]).collect();
            self.align(&mut items)?;
            let kinds = self.kinds(items[0]);
            for number in 0..items[0].numbers.len() {
                let numbers = items.iter().map(|item| outer(&item.numbers[number], depth));
                let kind = kinds.get(number).copied().unwrap_or(NumberKind::Count);
                let base = self.base(kind, numbers.collect());
                items[0].numbers[number] = inner(&items[0].numbers[number], depth, base);
                if self.params.len() > PARAMS_MAX {
                    return None;
                }
            }
            items[0].gap = Gap::default();
            let depth = depth + usize::from(items[0].form == Form::Loop);
            let bodies = items.into_iter().map(|item| &mut item.body[..]);
            self.bind(&mut bodies.collect::<Vec<_>>(), depth)?;
        }
        Some(())
    }

    /// Names that have different templates become their numbers.
    fn align(&mut self, items: &mut [&mut Item]) -> Option<()> {
        let first = templates(items[0], self.shaper);
        if items.iter().any(|item| templates(item, self.shaper) != first) {
            items.iter_mut().for_each(|item| name_by_number(item, self.shaper));
        }
        let count = items[0].numbers.len();
        items.iter().all(|item| item.numbers.len() == count).then_some(())
    }

    fn kinds(&self, item: &Item) -> Vec<NumberKind> {
        match &item.form {
            Form::Leaf(shape) => self.shaper.kinds(*shape),
            Form::Call(call) => self.procs[call.proc].params.iter().map(|it| it.kind).collect(),
            _ => Vec::new(),
        }
    }

    /// The value of a number: the same in all places, or a parameter with these values.
    fn base(&mut self, kind: NumberKind, values: Vec<Spread>) -> Value {
        if values.iter().all(|other| is_free(other) && other.base == values[0].base) {
            return values[0].base.clone();
        }
        let is_name = |kind: NumberKind| kind == NumberKind::Name;
        let same = self
            .params
            .iter()
            .find(|(param, known)| is_name(param.kind) == is_name(kind) && *known == values);
        if let Some((param, _)) = same {
            return Value::Param(Rc::clone(&param.name));
        }
        let like = self.params.iter().filter(|(param, _)| param.kind == kind).count();
        let name = match kind {
            NumberKind::Count => "$n",
            NumberKind::Bytes => "$bytes",
            NumberKind::Name => "$name",
        };
        let name: Rc<str> = numbered(name, like).into();
        self.params.push((Param { name: Rc::clone(&name), kind }, values));
        Value::Param(name)
    }
}

/// The names of a statement: their templates, or `None` for their numbers.
fn templates(item: &Item, shaper: &Shaper<'_>) -> Vec<Option<u32>> {
    let template = |arg: &Arg| match arg {
        Arg::Path(template) => Some(Some(*template)),
        Arg::Named => Some(None),
        _ => None,
    };
    shaper.operation(item).into_iter().flat_map(|it| &it.args).filter_map(template).collect()
}

fn name_by_number(item: &mut Item, shaper: &mut Shaper<'_>) {
    let Some(statement) = shaper.operation(item).cloned() else { return };
    let mut alike = shaper.alike();
    let (shape, numbers) = alike.named(&statement, &item.numbers, constant, Spread::constant);
    (item.form, item.numbers) = (Form::Leaf(shape), numbers);
}

/// The number as the caller of the sequence sees it.
fn outer(number: &Spread, depth: usize) -> Spread {
    let steps = number.steps.get(depth..).unwrap_or_default().to_vec();
    let list = number.list.clone().filter(|list| list.depth >= depth).map(|mut list| {
        (list.depth, list.root) = (list.depth - depth, list.root - depth);
        list
    });
    Spread { base: number.base.clone(), steps, list }
}

/// The number in the sequence.
fn inner(number: &Spread, depth: usize, base: Value) -> Spread {
    let steps = number.steps.iter().take(depth).cloned().collect();
    Spread { base, steps, list: number.list.clone().filter(|list| list.depth < depth) }
}

/// It depends on no loop around the sequence.
fn is_free(spread: &Spread) -> bool {
    spread.list.is_none() && spread.steps.iter().all(|step| *step == Value::Same(0))
}

/// Open files of a sequence, as variables.
#[derive(Clone, Debug, Default)]
pub struct Handles {
    /// Those that must be open before.
    pub needs: Vec<u32>,
    /// Needed files that it closes.
    closes: Vec<u32>,
    /// Those that it opens and does not close.
    pub leaves: Vec<u32>,
}

impl Handles {
    /// Those of a sequence; `None`: it is not known when they are open.
    fn find(items: &[Item], shaper: &Shaper<'_>, procs: &[Proc]) -> Option<Handles> {
        let mut all = Handles::default();
        for item in items {
            match &item.form {
                Form::Leaf(_) => all.follow(shaper.operation(item))?,
                Form::Call(call) => all.add(&procs[call.proc].handles.called(call))?,
                _ => {
                    let inner = Handles::find(&item.body, shaper, procs)?;
                    if !inner.leaves.is_empty() || !inner.closes.is_empty() {
                        return None;
                    }
                    all.add(&inner)?;
                }
            }
        }
        Some(all)
    }

    /// These with the variables of a call.
    fn called(&self, call: &Call) -> Handles {
        let own = self.needs.iter().chain(&self.leaves).copied();
        let names: HashMap<u32, u32> =
            own.zip(call.handles.iter().chain(&call.returns).copied()).collect();
        let called = |all: &[u32]| all.iter().map(|variable| names[variable]).collect();
        let Handles { needs, closes, leaves } = self;
        Handles { needs: called(needs), closes: called(closes), leaves: called(leaves) }
    }

    fn follow(&mut self, statement: Option<&Statement>) -> Option<()> {
        let Some(statement) = statement else { return Some(()) };
        let closes = statement.op.row().handle == HandleEffect::Closes;
        for variable in statement.handles() {
            self.uses(variable)?;
            if closes {
                self.close(variable);
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
    let mut stems = Vec::new();
    body.iter().for_each(|item| {
        item.each(&mut |item| {
            let Some(statement) = shaper.operation(item) else { return };
            stems.extend(statement.args.iter().filter_map(|arg| match (arg, &item.numbers[..]) {
                (Arg::Path(template), _) => {
                    Some(stem(&text(&shaper.names.templates[*template as usize])))
                }
                (Arg::Named, [id, ..]) => Some(stem(shaper.path(constant(id)?))),
                _ => None,
            }));
        });
    });
    let op = shaper.main_operation(body).map_or("do", Op::name);
    let stem = stems.into_iter().next().filter(|stem| !stem.is_empty());
    let name = format!("{op}_{}", stem.unwrap_or("file".into()));
    let is_taken = |name: &String| others.iter().any(|other| other.name == *name);
    let mut all = (0..).map(|at| if at == 0 { name.clone() } else { format!("{name}_{}", at + 1) });
    all.find(|name| !is_taken(name)).unwrap_or_default()
}

/// A template without its numbers.
fn text(template: &[Part]) -> Vec<u8> {
    let texts = template.iter().map(|part| match part {
        Part::Text(text) => &text[..],
        Part::Number { .. } => &b"-"[..],
    });
    texts.collect::<Vec<_>>().concat()
}

/// The last part of a path that has letters: its first three words.
fn stem(path: &[u8]) -> String {
    let mut stems = path.rsplit(|byte| *byte == b'/').map(|part| {
        let words = part.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| !word.is_empty());
        let words = words.take(3).map(|word| String::from_utf8_lossy(word).to_lowercase());
        words.collect::<Vec<_>>().join("_")
    });
    stems.find(|stem| !stem.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::log::Log;
    use super::super::logged::Logged;
    use super::super::long_pauses::LongPauses;
    use super::super::order::{History, Order};
    use super::super::pauses::{Recorder, Think, gather};
    use super::super::ranks::unify;
    use super::*;
    use model::event::NO_ID;
    use proptest::prelude::*;

    const NAMES: [&str; 6] = ["one", "two", "three", "four", "five", "six"];

    /// Operations with the pauses before them, microseconds. Each takes 1 us.
    fn log(operations: &[(Op, u32, u64)]) -> Log {
        let (mut ns, mut opened) = (0, 0);
        let rank = operations.iter().map(|(op, path, pause_us)| {
            let mut entry = Logged::default();
            let event = &mut entry.event;
            (event.op, event.path, event.path2, event.label) = (*op as u8, *path, NO_ID, NO_ID);
            (event.start_ns, event.end_ns) = (ns + pause_us * 1000, ns + pause_us * 1000 + 1000);
            (event.requested_bytes, event.done_bytes) = (8, 8);
            (ns, opened) = (event.end_ns, opened + u32::from(*op == Op::Fopen));
            entry.details.instance =
                if op.takes_handle() || *op == Op::Fopen { opened } else { NO_ID };
            entry
        });
        let ranks = vec![rank.collect()];
        let paths = NAMES.iter().map(|name| name.as_bytes().to_vec()).collect();
        Log { ranks, paths, ..Log::default() }
    }

    /// The program of a log.
    fn program(log: &Log, gathers: bool) -> (Vec<Item>, Vec<Proc>) {
        let history = History::follow(log);
        let mut shaper = Shaper::new(log, &history, Think::Typical, LongPauses::default());
        let (tree, _) = shaper.rank(0, &Order::default(), None);
        let items = unify(&[tree], &|shape| shaper.kinds(shape));
        let (mut items, mut procs) = extracted(items, &mut shaper);
        if gathers {
            let bodies = procs.iter_mut().map(|proc| &mut proc.body[..]);
            let mut bodies: Vec<&mut [Item]> = bodies.chain([&mut items[..]]).collect();
            gather(&mut bodies, Recorder::adding(Some(0)));
        }
        (items, procs)
    }

    /// Loops that are executed, the innermost last: the address of each, and how many iterations of it and of loops
    /// in it are over since it began.
    type Around = Vec<(*const Item, HashMap<*const Item, i64>)>;

    /// The parameters of a proc with their values.
    type Given = HashMap<Rc<str>, i64>;

    fn value(number: &Spread, around: &Around, given: &Given) -> i64 {
        let outwards = |depth: usize| &around[around.len() - 1 - depth];
        let done = |depth: usize, root: usize| {
            outwards(root).1.get(&outwards(depth).0).copied().unwrap_or(0)
        };
        let base = match &number.base {
            Value::Param(name) => given[name],
            base => base.at(0, 1),
        };
        let steps = number.steps.iter().enumerate();
        let grown: i64 = steps.map(|(depth, step)| step.at(0, 1) * done(depth, depth)).sum();
        let list = number.list.as_ref();
        base + grown + list.map_or(0, |list| list.values[done(list.depth, list.root) as usize])
    }

    /// Time of all pauses as items are executed, nanoseconds: each takes the mean of its place.
    fn pauses_ns(items: &[Item], procs: &[Proc], around: &mut Around, given: &Given) -> f64 {
        let mut sum_ns = 0.0;
        for item in items {
            sum_ns += item.gap.sum_ns as f64 / item.gap.count.max(1) as f64;
            if let Form::Call(call) = &item.form {
                let Proc { params, body, .. } = &procs[call.proc];
                let numbers = item.numbers.iter().map(|number| value(number, around, given));
                let given = params.iter().map(|param| Rc::clone(&param.name)).zip(numbers);
                sum_ns += pauses_ns(body, procs, &mut Vec::new(), &given.collect());
            } else if item.form == Form::Loop {
                let count = value(&item.numbers[0], around, given);
                around.push((item, HashMap::new()));
                for _ in 0..count {
                    sum_ns += pauses_ns(&item.body, procs, around, given);
                    around.iter_mut().for_each(|outer| *outer.1.entry(item).or_default() += 1);
                }
                around.pop();
            }
        }
        sum_ns
    }

    /// A file that is read, or a directory that is made and looked at, between other operations.
    fn sequences() -> impl Strategy<Value = Vec<(Op, u32, u64)>> {
        let read = &[Op::Fopen, Op::Fstat, Op::Fread, Op::Fsync, Op::Fread, Op::Fclose][..];
        let made = &[Op::Mkdir, Op::Stat, Op::Lstat, Op::Rmdir][..];
        let kind =
            prop::sample::select(vec![read, made, &[Op::Stat], &[Op::Lstat], &[Op::Readlink]]);
        let sequence = (kind, 0..NAMES.len() as u32, prop::collection::vec(0u64..300, 6));
        prop::collection::vec(sequence, 1..24).prop_map(|all| {
            let operations = all.into_iter().flat_map(|(ops, path, pauses_us)| {
                ops.iter().zip(pauses_us).map(move |(op, us)| (*op, path, us)).collect::<Vec<_>>()
            });
            operations.collect()
        })
    }

    proptest! {
        #[test]
        fn all_pauses_of_a_program_keep_their_sum(operations in sequences(), gathers: bool) {
            let log = log(&operations);
            let (items, procs) = program(&log, gathers);
            let recorded_ns = 1000.0 * operations.iter().map(|(_, _, us)| *us as f64).sum::<f64>();
            let found_ns = pauses_ns(&items, &procs, &mut Vec::new(), &HashMap::new());
            let rounded = (found_ns - recorded_ns).abs() <= operations.len() as f64;
            prop_assert!(rounded, "{recorded_ns} {found_ns} {items:?} {procs:?}");
        }
    }

    const READ: [Op; 7] =
        [Op::Fopen, Op::Fstat, Op::Fread, Op::Fsync, Op::Fread, Op::Fstat, Op::Fclose];

    #[test]
    fn a_pause_before_a_sequence_is_before_its_call() {
        let read = |path: u32, us: u64| READ.map(|op| (op, path, us));
        let operations = [&read(0, 70)[..], &[(Op::Mkdir, 4, 5)], &read(1, 80)].concat();
        let (items, procs) = program(&log(&operations), false);
        let sums_us = |items: &[Item]| -> Vec<u64> {
            items.iter().map(|item| item.gap.sum_ns / 1000).collect()
        };
        assert_eq!(sums_us(&items), [70, 5, 80]);
        assert_eq!(sums_us(&procs[0].body), [0, 150, 150, 150, 150, 150, 150]);
    }

    #[test]
    fn a_sequence_is_a_proc_whatever_its_files_and_variables_are_called() {
        let read = |path: u32| READ[..6].iter().map(move |op| (*op, path, 0));
        let operations: Vec<_> = read(0).chain([(Op::Mkdir, 4, 0)]).chain(read(1)).collect();
        let mut log = log(&operations);
        for instance in [1, 2] {
            let mut close = log.ranks[0].get(operations.len() - 1).expect("the last operation");
            (close.event.op, close.details.instance) = (Op::Fclose as u8, instance);
            log.ranks[0].push(&close);
        }
        let (items, procs) = program(&log, false);
        let calls = items.iter().filter_map(|item| match &item.form {
            Form::Call(call) => Some((call.returns, item.numbers.clone())),
            _ => None,
        });
        let name = |id: i64| vec![Spread::constant(id)];
        assert_eq!(calls.collect::<Vec<_>>(), [(Some(0), name(0)), (Some(1), name(1))]);
        assert_eq!(
            (procs[0].name.as_str(), procs[0].params[0].kind),
            ("fread_file", NumberKind::Name)
        );
    }
}

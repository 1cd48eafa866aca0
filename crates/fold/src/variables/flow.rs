//! Which opens reach which uses.

use super::super::procs::{Proc, text_of};
use super::super::ranks::{Form, Item, Value};
use super::super::shape::{Arg, Shape, Shaper, Statement};
use super::stem::{ANY, common, stem};
use model::Op;
use std::collections::{BTreeMap, BTreeSet};

/// Most names of one open that are looked at.
const NAMES_MAX: usize = 64;

/// Opens that share a variable.
struct Class {
    place: u32,
    /// The class that it became part of; itself, if none.
    parent: usize,
    /// What their files are called.
    stems: BTreeSet<String>,
    /// Some of their files have names that say nothing.
    unnamed: bool,
}

/// What a place holds: the last open, and whether it can be open still.
type State = BTreeMap<u32, (usize, bool)>;

/// The open files of a program.
#[derive(Default)]
pub struct Flow {
    classes: Vec<Class>,
    /// The class of each open file that the text names, in its order.
    seen: Vec<usize>,
    /// By proc: what its places hold at its end.
    ends: Vec<State>,
    /// By proc: the classes of what it is given.
    given: Vec<Vec<usize>>,
    /// By loop around: places that are used before an open of the loop's body.
    exposed: Vec<Vec<(u32, usize)>>,
}

impl Flow {
    /// Follows a program.
    pub fn of(items: &[Item], procs: &[Proc], shaper: &Shaper<'_>) -> Flow {
        let mut flow = Flow::default();
        for proc in procs {
            let mut state = State::new();
            let given = proc.handles.iter().map(|place| {
                let class = flow.class(*place);
                state.insert(*place, (class, true));
                class
            });
            let given: Vec<usize> = given.collect();
            flow.seen.extend(&given);
            flow.walk(&proc.body, procs, shaper, &mut state);
            let returned = proc.returns.map(|place| flow.used(place, &mut state));
            flow.seen.extend(returned);
            flow.given.push(given);
            flow.ends.push(state);
        }
        flow.walk(items, procs, shaper, &mut State::new());
        flow
    }

    /// The place and the name of each open file in the order of the text.
    pub fn found(&self) -> impl Iterator<Item = (u32, String)> {
        self.seen.iter().map(|class| {
            let class = &self.classes[self.root(*class)];
            let stems = class.stems.iter().map(String::as_str);
            (class.place, if class.unnamed { ANY.into() } else { common(stems) })
        })
    }

    fn class(&mut self, place: u32) -> usize {
        let parent = self.classes.len();
        self.classes.push(Class { place, parent, stems: BTreeSet::new(), unnamed: false });
        parent
    }

    fn root(&self, mut class: usize) -> usize {
        while self.classes[class].parent != class {
            class = self.classes[class].parent;
        }
        class
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            let (first, second) = (a.min(b), a.max(b));
            let stems = std::mem::take(&mut self.classes[second].stems);
            self.classes[second].parent = first;
            let unnamed = self.classes[second].unnamed;
            self.classes[first].stems.extend(stems);
            self.classes[first].unnamed |= unnamed;
        }
    }

    fn walk(&mut self, items: &[Item], procs: &[Proc], shaper: &Shaper<'_>, state: &mut State) {
        for item in items {
            match &item.form {
                Form::Leaf(shape) => {
                    if let Shape::Op(statement) = &shaper.shapes.all[*shape as usize] {
                        self.leaf(item, statement, shaper, state);
                    }
                }
                Form::Block(_) => self.walk(&item.body, procs, shaper, state),
                Form::Only(_) | Form::Case(_) | Form::Mix => {
                    let mut inner = state.clone();
                    self.walk(&item.body, procs, shaper, &mut inner);
                    self.join(state, &inner);
                }
                Form::Loop => {
                    let mut inner = state.clone();
                    self.exposed.push(Vec::new());
                    self.walk(&item.body, procs, shaper, &mut inner);
                    for (place, class) in self.exposed.pop().unwrap_or_default() {
                        if let Some((end, _)) = inner.get(&place) {
                            self.unite(class, *end);
                        }
                    }
                    self.join(state, &inner);
                }
                Form::Call(proc) => self.call(*proc, &procs[*proc], state),
            }
        }
    }

    fn leaf(&mut self, item: &Item, statement: &Statement, shaper: &Shaper<'_>, state: &mut State) {
        let closes = matches!(statement.op, Op::Fclose | Op::Pfclose);
        for arg in &statement.args {
            if let Arg::Handle(place) = arg {
                let class = self.used(*place, state);
                self.seen.push(class);
                if closes {
                    state.insert(*place, (class, false));
                }
            }
        }
        if let Some(place) = statement.gives {
            let class = self.class(place);
            let stems = stems(item, statement, shaper);
            self.classes[class].unnamed = stems.is_none();
            self.classes[class].stems = stems.unwrap_or_default();
            state.insert(place, (class, statement.errno == 0));
            self.seen.push(class);
        }
    }

    fn call(&mut self, at: usize, proc: &Proc, state: &mut State) {
        for (place, given) in proc.handles.iter().zip(self.given[at].clone()) {
            let class = self.used(*place, state);
            self.unite(class, given);
            let is_open = self.ends[at].get(place).is_some_and(|end| end.1);
            state.insert(*place, (class, is_open));
        }
        if let Some(place) = proc.returns
            && let Some(end) = self.ends[at].get(&place)
        {
            state.insert(place, *end);
        }
    }

    /// The class of what a place holds where it is used.
    fn used(&mut self, place: u32, state: &mut State) -> usize {
        let held = state.get(&place).copied();
        let class = held.map_or_else(|| self.class(place), |held| held.0);
        if held.is_none_or(|held| !held.1) {
            state.insert(place, (class, false));
            // An earlier iteration may have opened it.
            for exposed in &mut self.exposed {
                if !exposed.contains(&(place, class)) {
                    exposed.push((place, class));
                }
            }
        }
        class
    }

    /// What places hold after a part that not all ranks and iterations execute.
    fn join(&mut self, state: &mut State, other: &State) {
        for (place, end) in other {
            match state.get(place).copied() {
                Some(held) if held.1 && end.1 => self.unite(held.0, end.0),
                Some(held) if held.1 => {}
                _ => {
                    state.insert(*place, *end);
                }
            }
        }
    }
}

/// What the files of an open are called; `None`: there are others, whose names say nothing.
fn stems(item: &Item, statement: &Statement, shaper: &Shaper<'_>) -> Option<BTreeSet<String>> {
    match statement.args.first()? {
        Arg::Path(template) => {
            let path = text_of(&shaper.names.templates[*template as usize]);
            Some(BTreeSet::from([stem(&path)?]))
        }
        Arg::Named => {
            let number = item.numbers.first()?;
            let ids: &[i64] = match (&number.list, &number.base) {
                (Some(list), _) => &list.values,
                (None, Value::Same(id)) => std::slice::from_ref(id),
                (None, Value::Table(_, ids)) => ids,
                _ => return None,
            };
            ids.iter().take(NAMES_MAX).map(|id| stem(shaper.path(*id))).collect()
        }
        _ => None,
    }
}

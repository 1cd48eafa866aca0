//! Which sets of ranks can become active: every path from the world through groups, splits and procs.
//!
//! ```text
//! group "a" { split ($$grank / 2) work(); }      0..8 -> 0..4 -> 0..2, 2..4
//! define proc work() { group "b" { ... } }                     -> 1..2, 2..3
//! ```
//!
//! All communicators are made from them before the program starts.

use super::Lower;
use super::split::Asked;
use crate::diag::{Code, Diagnostic};
use model::RankSet;
use model::plan::{Classes, Instr, MemberSet, Pc, Plan, SetId, Span};
use model::value::EvalError;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, VecDeque};

/// Sets that a plan can have.
const MAX_SETS: usize = 1 << 16;
/// Values of splits that are worked out.
const MAX_VALUES: u64 = 1 << 24;

/// Code that is executed with one active set after the other: the program, a proc, or the body of a
/// group or split.
#[derive(Default)]
struct Context {
    enters: Vec<(Enter, usize)>,
    /// Contexts of the procs that it calls.
    calls: Vec<usize>,
}

#[derive(Clone, Copy)]
enum Enter {
    Group(u32),
    Split(u32),
}

/// The program, the procs, and the bodies in them.
fn contexts(plan: &Plan) -> Vec<Context> {
    let mut contexts: Vec<Context> = Vec::new();
    contexts.resize_with(1 + plan.procs.len(), Context::default);
    // What the instruction stands in, and where each ends.
    let mut inside = vec![(0, Pc::MAX)];
    let mut procs = plan.procs.iter().map(|proc| proc.entry).zip(1..).peekable();
    for (pc, instr) in (0..).zip(&plan.code) {
        inside.truncate(1 + inside[1..].iter().take_while(|(_, end)| pc < *end).count());
        if let Some((_, proc)) = procs.next_if(|(entry, _)| *entry == pc) {
            inside = vec![(proc, Pc::MAX)];
        }
        let (enter, end) = match *instr {
            Instr::GroupEnter { group, skip } => (Enter::Group(group), skip),
            Instr::SplitEnter { split, end, .. } => (Enter::Split(split), end),
            Instr::CallProc { proc, .. } => {
                contexts[inside[inside.len() - 1].0].calls.push(1 + proc as usize);
                continue;
            }
            _ => continue,
        };
        let body = contexts.len();
        contexts[inside[inside.len() - 1].0].enters.push((enter, body));
        contexts.push(Context::default());
        inside.push((body, end));
    }
    contexts
}

/// Sets found so far.
#[derive(Default)]
struct Sets {
    list: Vec<MemberSet>,
    known: FxHashMap<RankSet, SetId>,
    groups: Vec<RankSet>,
}

impl Sets {
    /// The world and what groups make of it.
    fn new(plan: &Plan) -> Sets {
        let groups = plan.groups.iter().map(|group| group.members.clone().into()).collect();
        let mut sets = Sets { groups, ..Sets::default() };
        sets.number((0..plan.ranks).into());
        for group in 0..plan.groups.len() {
            sets.enter(0, group);
        }
        sets
    }

    fn number(&mut self, members: RankSet) -> SetId {
        let new = self.list.len() as SetId;
        let number = *self.known.entry(members.clone()).or_insert(new);
        if number == new {
            let (enter, splits) = (vec![0; self.groups.len()], Vec::new());
            self.list.push(MemberSet { members, enter, splits });
        }
        number
    }

    fn enter(&mut self, from: SetId, group: usize) -> SetId {
        let inner = self.list[from as usize].members.intersection(&self.groups[group]);
        let inner = self.number(inner);
        self.list[from as usize].enter[group] = inner;
        inner
    }
}

/// Why there are no sets: which split, and a sentence.
type Refused = (u32, String);

impl Lower<'_> {
    /// Fills [`model::Plan::sets`].
    pub(super) fn member_sets(&mut self) {
        let mut walk =
            Walk { lower: self, sets: Sets::new(&self.plan), places: Vec::new(), values: 0 };
        let walked = match walk.lower.reports.has_errors() {
            true => Ok(()),
            false => walk.everything(),
        };
        let mut sets = walk.sets.list;
        sets.iter_mut().for_each(|set| set.splits.sort_by_key(|made| (made.split, made.case)));
        self.plan.sets = sets;
        if let Err((split, message)) = walked {
            let span = self.splits.get(split as usize).map_or(Span::default(), |split| split.span);
            self.reports.push(Diagnostic::new(Code::SplitValue, span, message));
        }
    }
}

struct Walk<'l, 'a> {
    lower: &'l Lower<'a>,
    sets: Sets,
    /// The machine of each rank, and its number on it.
    places: Vec<(u32, u32)>,
    /// Values worked out so far.
    values: u64,
}

impl Walk<'_, '_> {
    /// Comes to every context with every set that can be active in it.
    fn everything(&mut self) -> Result<(), Refused> {
        let contexts = contexts(&self.lower.plan);
        if contexts.iter().all(|context| context.enters.is_empty()) {
            return Ok(());
        }
        self.places = self.lower.binding.places();
        let mut seen = FxHashSet::default();
        let mut todo = VecDeque::from([(0, 0)]);
        while let Some((context, set)) = todo.pop_front() {
            if !seen.insert((context, set)) || self.sets.list[set as usize].members.is_empty() {
                continue;
            }
            let Context { enters, calls } = &contexts[context];
            todo.extend(calls.iter().map(|proc| (*proc, set)));
            for (enter, body) in enters {
                match *enter {
                    Enter::Group(group) => {
                        todo.push_back((*body, self.sets.enter(set, group as usize)));
                    }
                    Enter::Split(split) => {
                        let inner = self.split(set, split)?;
                        todo.extend(inner.into_iter().map(|set| (*body, set)));
                    }
                }
            }
        }
        Ok(())
    }

    /// The sets that a split makes of a set, in all cases.
    fn split(&mut self, from: SetId, split: u32) -> Result<Vec<SetId>, Refused> {
        let cases = self.lower.plan.splits.get(split as usize).map_or(0, |split| split.cases());
        let mut inner = Vec::new();
        for case in 0..cases {
            let classes = self.classes(from, split, case)?;
            inner.extend(classes.iter().map(|(_, set)| *set));
            let made = Classes { split, case: case as u32, classes };
            self.sets.list[from as usize].splits.push(made);
            if self.sets.list.len() > MAX_SETS {
                return Err((
                    split,
                    format!("this split makes more than {MAX_SETS} sets of ranks"),
                ));
            }
        }
        Ok(inner)
    }

    fn classes(
        &mut self,
        from: SetId,
        split: u32,
        case: u64,
    ) -> Result<Vec<(i64, SetId)>, Refused> {
        let members = self.sets.list[from as usize].members.clone();
        self.values += members.len() as u64;
        if self.values > MAX_VALUES {
            let message = "so many ranks, loops and sets make it too much to find out who has \
                           the same value";
            return Err((split, message.into()));
        }
        let inputs = self.lower.plan.splits[split as usize].values(case);
        let by = &self.lower.splits[split as usize].by;
        let mut ranks_of: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
        for (member, rank) in (0..).zip(members.iter()) {
            let asked = Asked {
                rank,
                member,
                members: members.len() as u32,
                place: self.places[rank as usize],
                inputs: &inputs,
                seed: self.lower.plan.seed,
            };
            let value = by.number(&asked).map_err(|error| (split, no_value(rank, &error)))?;
            ranks_of.entry(value).or_default().push(rank);
        }
        let numbered = |(value, ranks): (i64, Vec<u32>)| {
            (value, self.sets.number(ranks.into_iter().collect()))
        };
        Ok(ranks_of.into_iter().map(numbered).collect())
    }
}

fn no_value(rank: u32, error: &EvalError) -> String {
    format!("this split has no value on rank {rank}: {error}")
}

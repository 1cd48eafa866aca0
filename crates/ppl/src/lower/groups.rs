//! `group`, `master`, `barrier`, `split`, and the sets of ranks that can become active.

use super::expr::RUNNING;
use super::state::{Asked, Assigned, Ev, Lower, Nest, Parted};
use crate::ast::{Expr, ExprId, StmtId};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Kind, SymbolId, holds};
use crate::text;
use crate::word::suggest;
use model::evaluate::count_iterations;
use model::plan::{
    Classes, Group, GroupId, Input, Instr, Internal, MemberSet, NO_SLOT, Pc, Plan, SetId, Span,
    Split,
};
use model::types::Types;
use model::{RankSet, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// The group of all ranks.
pub(crate) const WORLD: &str = "world";

impl Lower<'_> {
    /// `group "name" body`
    pub(crate) fn group(&mut self, name: ExprId, body: StmtId, span: Span) {
        let Some(group) = self.group_named(name) else {
            self.nested(Nest::Group, body);
            return;
        };
        let inner = self.around.active.clone().map(|ranks| meet(&ranks, self.members(group)));
        let outer = std::mem::replace(&mut self.around.active, inner);
        let enter = self.emit(Instr::GroupEnter { group, skip: 0 }, span);
        let inside = |lower: &mut Self| lower.in_scope(|lower| lower.nested(Nest::Group, body));
        self.under(true, None, inside);
        self.emit(Instr::GroupLeave, span);
        self.patch_here([enter]);
        self.around.active = outer;
    }

    fn members(&self, group: GroupId) -> &Range<u32> {
        &self.plan.groups[group as usize].members
    }

    /// The number of the group that a string names.
    pub(crate) fn group_named(&mut self, name: ExprId) -> Option<GroupId> {
        let text = self.group_name(name)?;
        let symbol = self.facts.find(Kind::Group, &text);
        let found = symbol.map(|symbol| self.facts.symbol(symbol).ordinal);
        let found = found.filter(|group| (*group as usize) < self.plan.groups.len());
        let found = found.or_else(|| self.world(&text));
        if found.is_none() {
            let help = suggest(&text, self.facts.names(Kind::Group));
            let help =
                help.unwrap_or_else(|| format!("define it: define groups {{\"{text}\":D}};"));
            let message = format!("expected the name of a group, found \"{text}\"");
            let span = self.ast.expr_span(name);
            self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
        }
        found
    }

    /// The group of all ranks, which is there without a definition.
    pub(crate) fn world(&mut self, name: &str) -> Option<GroupId> {
        if name != WORLD {
            return None;
        }
        let known = self.plan.groups.iter().rposition(|group| group.name == WORLD);
        let number = known.unwrap_or(self.plan.groups.len());
        if known.is_none() {
            self.plan.groups.push(Group { name: WORLD.into(), members: 0..self.plan.ranks });
        }
        Some(number as GroupId)
    }

    /// The name in a string, without blanks around it; they are warned about.
    pub(crate) fn group_name(&mut self, id: ExprId) -> Option<String> {
        let text = self.plain_string(id)?;
        let name = text.trim();
        if name.len() != text.len() {
            let span = self.ast.expr_span(id);
            let message = format!("the blanks around the group's name \"{text}\" are dropped");
            let fix = format!("\"{name}\"");
            self.reports.push(Diagnostic::new(Code::GroupName, span, message).fix(span, fix));
        }
        Some(name.to_string())
    }

    /// The text of a string in which `$` means nothing.
    pub(crate) fn plain_string(&mut self, id: ExprId) -> Option<String> {
        if self.ast.expr(id) != Expr::Str {
            return None;
        }
        let raw = self.sources.text(self.ast.expr_span(id));
        Some(String::from_utf8_lossy(&text::plain(raw)).into_owned())
    }

    /// `master body`, `master sync { ... }`
    pub(crate) fn master(&mut self, body: StmtId, sync: bool, span: Span) {
        let word = Span { start: span.start, end: span.start + "master".len() as u32 };
        let several = self.around.active.as_ref().is_none_or(|ranks| ranks.len() > 1);
        let enter = self.emit(Instr::Master { skip: 0 }, span);
        self.under(true, several.then_some(word), |lower| lower.statement(body));
        self.patch_here([enter]);
        if sync {
            self.collective("the barrier of `master sync`", word);
            self.emit(Instr::Barrier { group: None }, word);
        }
    }

    /// `barrier;`, `barrier("name");`
    pub(crate) fn barrier(&mut self, name: Option<ExprId>, span: Span) {
        let group = match name {
            Some(name) => match self.group_named(name) {
                Some(group) => Some(group),
                None => return,
            },
            None => None,
        };
        match group {
            // Under a condition nobody but members may get here.
            Some(group) if !self.all_members(group) => {
                if self.around.differs.is_none() {
                    self.not_members(group, span);
                }
            }
            _ => self.collective("a barrier", span),
        }
        self.emit(Instr::Barrier { group }, span);
    }

    /// All ranks of the active group are members, for all that is known.
    fn all_members(&self, group: GroupId) -> bool {
        let Some(active) = self.around.active.as_ref().filter(|active| !active.is_empty()) else {
            return true;
        };
        let members = self.members(group);
        members.start <= active.start && active.end <= members.end
    }

    #[cold]
    fn not_members(&mut self, group: GroupId, span: Span) {
        let group = &self.plan.groups[group as usize];
        let name = &group.name;
        let message = format!(
            "expected only members of \"{name}\" at its barrier, found others: it has {}",
            RankSet::from(group.members.clone())
        );
        let help = format!("put it into group \"{name}\" {{ ... }}");
        self.reports.push(Diagnostic::new(Code::Misplaced, span, message).help(help));
    }
}

/// The ranks that are in both; 0..0 if there are none.
fn meet(a: &Range<u32>, b: &Range<u32>) -> Range<u32> {
    let (start, end) = (a.start.max(b.start), a.end.min(b.end));
    if start < end { start..end } else { 0..0 }
}

/// Assignments that the value of a split can go back to.
const MAX_ASSIGNMENTS: usize = 1_000;
/// Combinations of loop variables in it.
const MAX_CASES: u64 = 4_096;

impl Lower<'_> {
    /// `split (value) body`
    pub(crate) fn split(&mut self, value: ExprId, body: StmtId, span: Span) {
        let place = self.ast.expr_span(value);
        let ev = self.expr(value);
        let wanted = Types::CONDITION.or(Types::AS_INT);
        let ev = self.of_type(ev, wanted, "an integer or a condition to split by", place);
        if !ev.is_bad() {
            self.goes_by(value, place);
        }
        let split = (self.splits.len() as u32).saturating_sub(1);
        let outer = self.around.active.take();
        let enter = self.emit(Instr::SplitEnter { split, value: ev.operand, end: 0 }, span);
        self.in_scope(|lower| lower.same_inside(value, body));
        self.emit(Instr::GroupLeave, span);
        self.patch_here([enter]);
        self.around.active = outer;
    }

    /// The body. A variable in the value of the split is the same on all members.
    fn same_inside(&mut self, value: ExprId, body: StmtId) {
        let symbol = match self.ast.expr(self.bare(value)) {
            Expr::Var(_) => self.visible(self.ast.expr_span(self.bare(value)).start),
            _ => None,
        };
        let symbol = symbol.map(|mention| mention.symbol);
        let before = symbol.map(|symbol| self.set_differs(symbol, false));
        self.nested(Nest::Group, body);
        if let (Some(symbol), Some(true)) = (symbol, before) {
            self.set_differs(symbol, true);
        }
    }

    fn bare(&self, id: ExprId) -> ExprId {
        match self.ast.expr(id) {
            Expr::Paren(inner) => self.bare(inner),
            _ => id,
        }
    }

    /// Lowers the body of a group, a split or a proc.
    pub(crate) fn in_scope<T>(&mut self, then: impl FnOnce(&mut Self) -> T) -> T {
        self.around.scopes += 1;
        let outer = std::mem::replace(&mut self.around.scope, self.around.scopes);
        let result = then(self);
        self.around.scope = outer;
        result
    }

    /// Remembers what a variable was set to; only splits ask.
    #[inline]
    pub(crate) fn note_value(&mut self, symbol: SymbolId, value: ExprId) {
        if self.ast.splits > 0 {
            let assigned = Assigned { value, scope: self.around.scope };
            self.assigned.insert(symbol, assigned);
        }
    }

    /// Takes in what a split goes by, or refuses it: any rank shows which names it is made of.
    fn goes_by(&mut self, value: ExprId, split: Span) {
        let scope = self.around.scope;
        let any = Asked { members: 1, split, split_scope: scope, scope, ..Asked::default() };
        let (_, asked, said) = self.value_on_rank(value, any);
        if let Some(refusal) = said.into_iter().find(|found| found.code == Code::SplitValue) {
            return self.reports.push(refusal);
        }
        let made = Split { inputs: asked.inputs };
        if made.cases() > MAX_CASES {
            let message = format!(
                "the loops around this split give it {} combinations of values; the limit is \
                 {MAX_CASES}",
                made.cases()
            );
            self.reports.push(Diagnostic::new(Code::SplitValue, split, message));
        }
        let loops = asked.loops.into_iter().map(|(symbol, _)| symbol).collect();
        self.splits.push(Parted { value, scope, loops });
        self.plan.splits.push(made);
    }

    /// The value of an expression on a rank, if it has one, and what there is to say about it. Nothing
    /// of it stays in the plan.
    fn value_on_rank(
        &mut self,
        value: ExprId,
        asked: Asked,
    ) -> (Option<Value>, Asked, Vec<Diagnostic>) {
        let (code, consts) = (self.plan.code.len(), self.plan.consts.len());
        let interner = std::mem::take(&mut self.interner);
        let reports = std::mem::take(&mut self.reports);
        let temps = self.frame().used_temps();
        self.asked = Some(asked);
        let ev = self.expr(value);
        let found = self.constant(ev).cloned();
        let asked = self.asked.take().unwrap_or_default();
        self.frame().reuse_temps(temps);
        let said = std::mem::replace(&mut self.reports, reports).finish();
        self.interner = interner;
        self.plan.consts.truncate(consts);
        self.plan.code.truncate(code);
        self.plan.spans.truncate(code);
        (found, asked, said)
    }

    /// The value of an internal variable on the rank that is asked.
    pub(crate) fn internal_on_rank(&mut self, what: Internal, span: Span) -> Ev {
        let Some(asked) = &self.asked else { return Ev::BAD };
        let is_inside = asked.scope == asked.split_scope;
        let number = match what {
            Internal::Rank => asked.rank,
            Internal::Node => asked.place.0,
            Internal::NodeRank => asked.place.1,
            Internal::GroupRank if is_inside => asked.member,
            Internal::GroupSize if is_inside => asked.members,
            Internal::GroupRank if asked.scope == 0 => asked.rank,
            Internal::GroupSize if asked.scope == 0 => self.plan.ranks,
            Internal::GroupRank | Internal::GroupSize => {
                return self.refuse(span, "is read in another group than the one that is split");
            }
            Internal::GroupName => return self.refuse(span, "is the same on all members"),
            Internal::Rand | Internal::CommonRand | Internal::Time | Internal::Now => {
                return self.refuse(span, RUNNING);
            }
        };
        self.known(Value::Int(number.into()))
    }

    /// The value of a variable on the rank that is asked.
    pub(crate) fn variable_on_rank(&mut self, symbol: SymbolId, span: Span) -> Ev {
        let Some(asked) = &mut self.asked else { return Ev::BAD };
        if let Some((_, value)) = asked.loops.iter().find(|(known, _)| *known == symbol) {
            let value = Value::Int(*value);
            return self.known(value);
        }
        asked.assignments += 1;
        let (is_long, outer) = (asked.assignments > MAX_ASSIGNMENTS, asked.scope);
        let known = self.facts.symbol(symbol);
        let Assigned { value, scope } = match (known.kind, self.assigned.get(&symbol)) {
            (Kind::Loop, _) => return self.loop_on_rank(symbol, span),
            (Kind::Argument, _) => return self.refuse(span, "is a parameter of a proc"),
            _ if known.definitions > 1 => return self.refuse(span, "is set more than once"),
            (_, None) => return self.refuse(span, RUNNING),
            _ if is_long => return self.refuse(span, "is made of too many others"),
            (_, Some(assigned)) => *assigned,
        };
        self.asked.iter_mut().for_each(|asked| asked.scope = scope);
        let ev = self.expr(value);
        self.asked.iter_mut().for_each(|asked| asked.scope = outer);
        ev
    }

    /// The variable of a loop around the split, met for the first time: its first value.
    fn loop_on_rank(&mut self, symbol: SymbolId, span: Span) -> Ev {
        let Some(split) = self.asked.as_ref().map(|asked| asked.split) else { return Ev::BAD };
        let slot = self.place(symbol).slot;
        let body = self.facts.symbol(symbol).within;
        let is_around = body.is_some_and(|body| holds(self.ast.stmt_span(body), split.start))
            && slot != NO_SLOT;
        let open = self.plan.loops.iter().rev().find(|code| code.var == slot && code.exit == 0);
        let Some(code) = open.filter(|_| is_around) else {
            return self
                .refuse(span, "is the variable of a loop over a list, or of one that has ended");
        };
        let int = |operand| self.constant_of(operand).and_then(|value| value.as_int().ok());
        let (Some(from), Some(to), Some(step)) = (int(code.from), int(code.to), int(code.step))
        else {
            return self.refuse(span, "is the variable of a loop whose range is no constant");
        };
        let count = u32::try_from(count_iterations(from, to, step)).unwrap_or(u32::MAX);
        if let Some(asked) = &mut self.asked {
            asked.inputs.push(Input { slot, from, step, count });
            asked.loops.push((symbol, from));
        }
        self.known(Value::Int(from))
    }

    /// A value that other ranks cannot know.
    #[cold]
    pub(crate) fn refuse(&mut self, span: Span, why: &str) -> Ev {
        let split = self.asked.as_ref().map_or(span, |asked| asked.split);
        let text = self.sources.text(span);
        let message = format!(
            "expected a value to split by that all ranks know of each other, found {text}, which {why}"
        );
        let mut diagnostic = Diagnostic::new(Code::SplitValue, split, message).help(
            "it can be made of $$rank $$grank $$size $$gsize $$node $$noderank, parameters, \
             variables that are set once to such a value, and loops over constants",
        );
        if !(split.start <= span.start && span.end <= split.end) {
            diagnostic = diagnostic.related(span, "here");
        }
        self.reports.push(diagnostic);
        Ev::BAD
    }
}

/// Sets that a plan can have.
const MAX_SETS: usize = 1 << 16;
/// Values of splits that are worked out, which takes some seconds.
const MAX_VALUES: u64 = 1 << 22;

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
    // The groups and splits around the instruction, and where each ends.
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
    /// The machine of each rank, and its number on it.
    places: Vec<(u32, u32)>,
    /// Values worked out so far.
    values: u64,
}

impl Sets {
    /// The world and what groups make of it.
    fn new(plan: &Plan, places: Vec<(u32, u32)>) -> Sets {
        let groups = plan.groups.iter().map(|group| group.members.clone().into()).collect();
        let mut sets = Sets { groups, places, ..Sets::default() };
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

/// Why there are no sets: the place of a split, and a sentence.
type Refused = (Span, String);

impl Lower<'_> {
    /// Fills [`model::Plan::sets`].
    pub(crate) fn member_sets(&mut self) {
        let mut sets = Sets::new(&self.plan, self.binding.places());
        if !self.reports.has_errors()
            && let Err((span, message)) = self.every_set(&mut sets)
        {
            self.reports.push(Diagnostic::new(Code::SplitValue, span, message));
        }
        let mut sets = sets.list;
        sets.iter_mut().for_each(|set| set.splits.sort_by_key(|made| (made.split, made.case)));
        let all = RankSet::from(0..self.plan.ranks);
        let own = |_: &String| MemberSet { members: all.clone(), ..MemberSet::default() };
        sets.extend(self.plan.counters.iter().map(own));
        self.plan.sets = sets;
    }

    /// Comes to every context with every set that can be active in it.
    fn every_set(&mut self, sets: &mut Sets) -> Result<(), Refused> {
        if self.plan.groups.is_empty() && self.ast.splits == 0 {
            return Ok(());
        }
        let contexts = contexts(&self.plan);
        let mut seen = FxHashSet::default();
        let mut todo = VecDeque::from([(0, 0)]);
        while let Some((context, set)) = todo.pop_front() {
            if !seen.insert((context, set)) || sets.list[set as usize].members.is_empty() {
                continue;
            }
            let Context { enters, calls } = &contexts[context];
            todo.extend(calls.iter().map(|proc| (*proc, set)));
            for (enter, body) in enters {
                match *enter {
                    Enter::Group(group) => {
                        todo.push_back((*body, sets.enter(set, group as usize)));
                    }
                    Enter::Split(split) => {
                        let inner = self.split_set(sets, set, split)?;
                        todo.extend(inner.into_iter().map(|set| (*body, set)));
                    }
                }
            }
        }
        Ok(())
    }

    /// The sets that a split makes of a set, in all cases.
    fn split_set(
        &mut self,
        sets: &mut Sets,
        from: SetId,
        split: u32,
    ) -> Result<Vec<SetId>, Refused> {
        let cases = self.plan.splits.get(split as usize).map_or(0, |split| split.cases());
        let mut inner = Vec::new();
        for case in 0..cases {
            let classes = self.classes(sets, from, (split, case))?;
            inner.extend(classes.iter().map(|(_, set)| *set));
            sets.list[from as usize].splits.push(Classes { split, case: case as u32, classes });
            if sets.list.len() > MAX_SETS {
                let message = format!("this split makes more than {MAX_SETS} sets of ranks");
                return Err((self.ast.expr_span(self.splits[split as usize].value), message));
            }
        }
        Ok(inner)
    }

    fn classes(
        &mut self,
        sets: &mut Sets,
        from: SetId,
        (split, case): (u32, u64),
    ) -> Result<Vec<(i64, SetId)>, Refused> {
        let members = sets.list[from as usize].members.clone();
        let Parted { value, scope, ref loops } = self.splits[split as usize];
        let place = self.ast.expr_span(value);
        let values = self.plan.splits[split as usize].values(case);
        let loops: Vec<(SymbolId, i64)> = loops.iter().copied().zip(values).collect();
        sets.values += members.len() as u64;
        if sets.values > MAX_VALUES {
            let message = "with this number of ranks, loops and sets it is too much to find out who has \
                           the same value";
            return Err((place, message.into()));
        }
        let mut ranks_of: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
        for (member, rank) in (0..).zip(members.iter()) {
            let asked = Asked {
                rank,
                member,
                members: members.len() as u32,
                place: sets.places[rank as usize],
                loops: loops.clone(),
                split: place,
                split_scope: scope,
                scope,
                ..Asked::default()
            };
            let number = self.number_on_rank(value, asked);
            let number = number
                .map_err(|why| (place, format!("this split has no value on rank {rank}: {why}")))?;
            ranks_of.entry(number).or_default().push(rank);
        }
        let numbered =
            |(value, ranks): (i64, Vec<u32>)| (value, sets.number(ranks.into_iter().collect()));
        Ok(ranks_of.into_iter().map(numbered).collect())
    }

    /// The value of a split as the number that sorts ranks into sets.
    fn number_on_rank(&mut self, value: ExprId, asked: Asked) -> Result<i64, String> {
        let (found, _, said) = self.value_on_rank(value, asked);
        match found {
            Some(Value::Bool(holds)) => Ok(holds.into()),
            Some(value) => value.as_int().map_err(|error| error.to_string()),
            None => Err(said.into_iter().next().map_or(RUNNING.into(), |said| said.message)),
        }
    }
}

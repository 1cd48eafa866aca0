//! `group`, `master`, `barrier`, `split`, and the sets of ranks that can become active.

use super::pass::Lower;
use super::stmt::Nest;
use crate::ast::{Expr, ExprId, List, StmtId};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Kind, SymbolId, holds};
use crate::text;
use crate::word::nearest;
use model::function::FunctionRow;
use model::internal::{InternalRow, Read};
use model::plan::{
    BinaryOp, Classes, Group, GroupId, Input, Instr, Internal, MemberSet, NO_SLOT, Pc, Plan, SetId,
    Source, Span, Split, UnaryOp,
};
use model::types::Types;
use model::value::{self, Eval, EvalError};
use model::{RankSet, Value, iteration, limits};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// The group of all ranks.
pub(super) const WORLD: &str = "world";

impl Lower<'_> {
    /// `group "name" body`
    pub(super) fn group(&mut self, name: ExprId, body: StmtId, span: Span) {
        let Some(group) = self.group_named(name) else {
            self.nested(Nest::Group, body);
            return;
        };
        let inner = self.around.active.clone().map(|ranks| meet(&ranks, self.members(group)));
        let outer = std::mem::replace(&mut self.around.active, inner);
        self.around.unsure += 1;
        let enter = self.emit(Instr::GroupEnter { group, skip: 0 }, span);
        self.in_scope(|lower| lower.nested(Nest::Group, body));
        self.emit(Instr::GroupLeave, span);
        self.patch_here(enter);
        self.around.unsure -= 1;
        self.around.active = outer;
    }

    fn members(&self, group: GroupId) -> &Range<u32> {
        &self.plan.groups[group as usize].members
    }

    /// The number of the group that a string names.
    pub(super) fn group_named(&mut self, name: ExprId) -> Option<GroupId> {
        let text = self.group_name(name)?;
        let symbol = self.facts.find(Kind::Group, &text);
        let found = symbol.map(|symbol| self.facts.symbol(symbol).ordinal);
        let found = found.filter(|group| (*group as usize) < self.plan.groups.len());
        let found = found.or_else(|| self.world(&text));
        if found.is_none() {
            let help = match nearest(&text, self.facts.names(Kind::Group)) {
                Some(name) => format!("the nearest is \"{name}\""),
                None => format!("define it: define groups {{\"{text}\":D}};"),
            };
            let message = format!("expected the name of a group, found \"{text}\"");
            let span = self.ast.expr_span(name);
            self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
        }
        found
    }

    /// The group of all ranks, which is there without a definition.
    pub(super) fn world(&mut self, name: &str) -> Option<GroupId> {
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
    pub(super) fn group_name(&mut self, id: ExprId) -> Option<String> {
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
    pub(super) fn plain_string(&mut self, id: ExprId) -> Option<String> {
        if self.ast.expr(id) != Expr::Str {
            return None;
        }
        let raw = self.reader.text(self.ast.expr_span(id));
        Some(String::from_utf8_lossy(&text::plain(raw)).into_owned())
    }

    /// `master body`
    pub(super) fn master(&mut self, body: StmtId, span: Span) {
        let outer = self.around.differs;
        if self.around.active.as_ref().is_none_or(|ranks| ranks.len() > 1) {
            self.around.differs =
                Some(Span { start: span.start, end: span.start + "master".len() as u32 });
        }
        self.around.unsure += 1;
        let enter = self.emit(Instr::Master { skip: 0 }, span);
        self.statement(body);
        self.patch_here(enter);
        self.around.unsure -= 1;
        self.around.differs = outer;
    }

    /// `barrier;`, `barrier("name");`
    pub(super) fn barrier(&mut self, name: Option<ExprId>, span: Span) {
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

/// Operators and functions in the value of a split.
const MAX_PARTS: usize = 1_000;
/// Combinations of loop variables in it.
const MAX_CASES: u64 = 4_096;

/// The value of a `split`.
pub(super) struct Parted {
    pub(super) by: Formula,
    /// Its value in the text.
    pub(super) span: Span,
}

/// The last assignment to a variable.
#[derive(Clone, Copy)]
pub(super) struct Assigned {
    value: ExprId,
    /// Where: see [`super::Around::scope`].
    scope: u32,
}

/// The value of a split, without names.
pub(super) enum Formula {
    Value(Value),
    Internal(Internal),
    /// A loop variable, by its place in [`Split::inputs`].
    Input(usize),
    Unary(UnaryOp, Box<Formula>),
    Binary(BinaryOp, Box<[Formula; 2]>),
    Call(&'static FunctionRow, Vec<Formula>),
    List(Vec<Formula>),
    Index(Box<[Formula; 2]>),
}

/// A rank whose value is asked for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) rank: u32,
    /// Its number among the members of the active set, and how many they are.
    pub(super) member: u32,
    pub(super) members: u32,
    /// Its machine, and its number on it.
    pub(super) place: (u32, u32),
    inputs: &'a [i64],
    pub(super) seed: u64,
}

impl Formula {
    /// The value on a rank.
    pub(super) fn value(&self, asked: &Asked<'_>) -> Eval<Value> {
        let truth = |side: &Formula| side.value(asked)?.as_condition();
        Ok(match self {
            Formula::Value(value) => value.clone(),
            Formula::Internal(what) => Value::Int(asked.internal(*what)),
            Formula::Input(at) => Value::Int(asked.inputs[*at]),
            Formula::Unary(op, a) => value::unary(*op, &a.value(asked)?)?,
            Formula::Binary(BinaryOp::Or, ab) => Value::Bool(truth(&ab[0])? || truth(&ab[1])?),
            Formula::Binary(BinaryOp::And, ab) => Value::Bool(truth(&ab[0])? && truth(&ab[1])?),
            Formula::Binary(op, ab) => {
                value::binary(*op, &ab[0].value(asked)?, &ab[1].value(asked)?)?
            }
            Formula::Call(row, args) => {
                let args = args.iter().map(|arg| arg.value(asked)).collect::<Eval<Vec<_>>>()?;
                row.pure(&args, asked.seed).unwrap_or(Err(EvalError::Unset))?
            }
            Formula::List(items) => {
                limits::list(items.iter().map(|item| item.value(asked)).collect::<Eval<_>>()?)?
            }
            Formula::Index(ab) => value::index(&ab[0].value(asked)?, &ab[1].value(asked)?)?.clone(),
        })
    }

    /// The value as the number that sorts ranks into sets.
    pub(super) fn number(&self, asked: &Asked<'_>) -> Eval<i64> {
        match self.value(asked)? {
            Value::Bool(holds) => Ok(holds.into()),
            value => value.as_int(),
        }
    }
}

impl Asked<'_> {
    fn internal(&self, what: Internal) -> i64 {
        i64::from(match what {
            Internal::GroupRank => self.member,
            Internal::GroupSize => self.members,
            Internal::Node => self.place.0,
            Internal::NodeRank => self.place.1,
            _ => self.rank,
        })
    }
}

impl Lower<'_> {
    /// `split (value) body`
    pub(super) fn split(&mut self, value: ExprId, body: StmtId, span: Span) {
        let place = self.ast.expr_span(value);
        let ev = self.expr(value);
        let fits = ev.is_bad() || ev.types.may(Types::CONDITION.or(Types::AS_INT));
        if !fits && self.is_alive() {
            let found = ev.types.describe();
            let message = format!("expected an integer or a condition to split by, found {found}");
            self.reports.push(Diagnostic::new(Code::WrongType, place, message));
        } else if !ev.is_bad() {
            self.goes_by(value, place);
        }
        let split = (self.splits.len() as u32).saturating_sub(1);
        let outer = self.around.active.take();
        let enter = self.emit(Instr::SplitEnter { split, value: ev.operand, end: 0 }, span);
        self.in_scope(|lower| lower.same_inside(value, body));
        self.emit(Instr::GroupLeave, span);
        self.patch_here(enter);
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
    pub(super) fn in_scope<T>(&mut self, then: impl FnOnce(&mut Self) -> T) -> T {
        self.around.scopes += 1;
        let outer = std::mem::replace(&mut self.around.scope, self.around.scopes);
        let result = then(self);
        self.around.scope = outer;
        result
    }

    /// Remembers what a variable was set to; only splits ask.
    #[inline]
    pub(super) fn note_value(&mut self, symbol: SymbolId, value: ExprId) {
        if self.ast.splits > 0 {
            let assigned = Assigned { value, scope: self.around.scope };
            self.assigned.insert(symbol, assigned);
        }
    }

    /// Takes in what a split goes by, or refuses it.
    fn goes_by(&mut self, value: ExprId, span: Span) {
        let scope = self.around.scope;
        let mut builder = Builder { lower: self, split: span, scope, inputs: Vec::new(), parts: 0 };
        let by = builder.formula(value);
        let split = Split { inputs: builder.inputs };
        if let Some(by) = by {
            if split.cases() > MAX_CASES {
                let message = format!(
                    "the loops around this split give it {} combinations of values; the limit is \
                     {MAX_CASES}",
                    split.cases()
                );
                self.reports.push(Diagnostic::new(Code::SplitValue, span, message));
            }
            self.splits.push(Parted { by, span });
            self.plan.splits.push(split);
        }
    }
}

/// Makes a formula of an expression.
struct Builder<'b, 'a> {
    lower: &'b mut Lower<'a>,
    /// The value of the split.
    split: Span,
    /// Where the expression is evaluated: see [`super::Around::scope`].
    scope: u32,
    inputs: Vec<Input>,
    parts: usize,
}

impl Builder<'_, '_> {
    fn formula(&mut self, id: ExprId) -> Option<Formula> {
        self.parts += 1;
        let span = self.lower.ast.expr_span(id);
        if self.parts > MAX_PARTS {
            return self.refuse(span, "is too long");
        }
        let ast = self.lower.ast;
        Some(match ast.expr(id) {
            Expr::Int(n) => Formula::Value(Value::Int(n)),
            Expr::Float(x) => Formula::Value(Value::Float(x)),
            Expr::Bool(b) => Formula::Value(Value::Bool(b)),
            Expr::Duration(ns) => Formula::Value(Value::Duration(ns)),
            Expr::Str => self.text(span)?,
            Expr::Var(_) => return self.variable(span),
            Expr::Internal(name) => return self.internal(ast.names.text(name), span),
            Expr::Env(name) => {
                let text = self.lower.environment_text(ast.names.text(name))?;
                Formula::Value(Value::str(&text))
            }
            Expr::Unary(op, a) => Formula::Unary(op, Box::new(self.formula(a)?)),
            Expr::Binary(op, a, b) => {
                Formula::Binary(op, Box::new([self.formula(a)?, self.formula(b)?]))
            }
            Expr::Paren(inner) => self.formula(inner)?,
            Expr::List(items) => Formula::List(self.formulas(items)?),
            Expr::Index(list, at) => {
                Formula::Index(Box::new([self.formula(list)?, self.formula(at)?]))
            }
            Expr::Call(name, args) => {
                let row = FunctionRow::find(ast.names.text(name)).filter(|row| row.is_pure());
                let Some(row) = row else {
                    return self.refuse(span, "is found out while the program runs");
                };
                Formula::Call(row, self.formulas(args)?)
            }
            Expr::Error | Expr::Rate(_) | Expr::Named(..) | Expr::Word(_) => return None,
        })
    }

    fn formulas(&mut self, list: List) -> Option<Vec<Formula>> {
        let ids: Vec<ExprId> = self.lower.ast.exprs_in(list).collect();
        ids.into_iter().map(|id| self.formula(id)).collect()
    }

    fn text(&mut self, span: Span) -> Option<Formula> {
        let raw = self.lower.reader.text(span);
        if raw.contains('$') {
            return self.refuse(span, "is a text with variables in it");
        }
        Some(Formula::Value(Value::Str(text::plain(raw).to_vec())))
    }

    fn internal(&mut self, name: &str, span: Span) -> Option<Formula> {
        match InternalRow::find(name)?.read {
            Read::Bound(bound) => Some(Formula::Value(Value::Int(self.lower.bound_value(bound)))),
            Read::Running(what) => match what {
                Internal::Rank | Internal::Node | Internal::NodeRank => {
                    Some(Formula::Internal(what))
                }
                Internal::GroupRank | Internal::GroupSize => self.of_group(what, span),
                Internal::GroupName => self.refuse(span, "is the same on all members"),
                Internal::Rand | Internal::CommonRand | Internal::Time | Internal::Now => {
                    self.refuse(span, "is found out while the program runs")
                }
            },
        }
    }

    /// The scope whose active group counts: of the split, or of an assignment.
    fn of_group(&mut self, what: Internal, span: Span) -> Option<Formula> {
        let ranks = i64::from(self.lower.plan.ranks);
        match (self.scope == self.lower.around.scope, self.scope, what) {
            (true, ..) => Some(Formula::Internal(what)),
            (_, 0, Internal::GroupRank) => Some(Formula::Internal(Internal::Rank)),
            (_, 0, _) => Some(Formula::Value(Value::Int(ranks))),
            _ => self.refuse(span, "is read in another group than the one that is split"),
        }
    }

    fn variable(&mut self, span: Span) -> Option<Formula> {
        let symbol = self.lower.visible(span.start)?.symbol;
        if let Some(value) = self.lower.constant_of(symbol) {
            return Some(Formula::Value(value.clone()));
        }
        let known = *self.lower.facts.symbol(symbol);
        match known.kind {
            Kind::Loop => self.input(symbol, span),
            Kind::Argument => self.refuse(span, "is a parameter of a proc"),
            _ if known.definitions > 1 => self.refuse(span, "is set more than once"),
            _ => match self.lower.assigned.get(&symbol).copied() {
                Some(assigned) => self.assigned(assigned),
                None => self.refuse(span, "is found out while the program runs"),
            },
        }
    }

    fn assigned(&mut self, Assigned { value, scope }: Assigned) -> Option<Formula> {
        let outer = std::mem::replace(&mut self.scope, scope);
        let formula = self.formula(value);
        self.scope = outer;
        formula
    }

    /// The variable of a loop around the split.
    fn input(&mut self, symbol: SymbolId, span: Span) -> Option<Formula> {
        let slot = self.lower.place(symbol).slot;
        let body = self.lower.facts.symbol(symbol).within;
        let around = body
            .is_some_and(|body| holds(self.lower.ast.stmt_span(body), self.split.start))
            && slot != NO_SLOT;
        let open =
            self.lower.plan.loops.iter().rev().find(|code| code.var == slot && code.exit == 0);
        let Some(code) = open.filter(|_| around).copied() else {
            return self
                .refuse(span, "is the variable of a loop over a list, or of one that has ended");
        };
        if let Some(at) = self.inputs.iter().position(|input| input.slot == slot) {
            return Some(Formula::Input(at));
        }
        let int = |operand: model::plan::Operand| match operand.source() {
            Source::Const(index) => self.lower.plan.consts[index as usize].as_int().ok(),
            _ => None,
        };
        let (Some(from), Some(to), Some(step)) = (int(code.from), int(code.to), int(code.step))
        else {
            return self.refuse(span, "is the variable of a loop whose range is no constant");
        };
        let count = u32::try_from(iteration::count(from, to, step)).unwrap_or(u32::MAX);
        self.inputs.push(Input { slot, from, step, count });
        Some(Formula::Input(self.inputs.len() - 1))
    }

    #[cold]
    fn refuse(&mut self, span: Span, why: &str) -> Option<Formula> {
        let text = self.lower.reader.text(span);
        let message = format!(
            "expected a value to split by that all ranks know of each other, found {text}, which {why}"
        );
        let mut diagnostic = Diagnostic::new(Code::SplitValue, self.split, message).help(
            "it can be made of $$rank $$grank $$size $$gsize $$node $$noderank, parameters, \
             variables that are set once to such a value, and loops over constants",
        );
        if !(self.split.start <= span.start && span.end <= self.split.end) {
            diagnostic = diagnostic.related(span, "here");
        }
        self.lower.reports.push(diagnostic);
        None
    }
}

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
            let message = "with this number of ranks, loops and sets it is too much to find out who has \
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

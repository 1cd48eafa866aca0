//! Values: variables, operands, templates, and the groups that this rank is inside of. Nothing here allocates once
//! every buffer has its size; a text assigned to a variable reuses the old one's storage.
//! (Operators that make new texts or lists do allocate.)

use super::extents::{RankExtents, Ready};
use super::path::{Origin, PathText, Place, push_int, settle_path};
use super::prepare::Prepared;
use super::tally::{Fault, Flow};
use crate::clock::Clock;
use crate::comm::{Members, NodePlace};
use crate::rng;
use crate::rng::RankRng;
use model::evaluate::Frame;
use model::plan::{GroupId, Internal, LoopCode, NO_SLOT, Operand, Pc, Piece, SetId, Slot, Source};
use model::value::{Eval, EvalError};
use model::{Plan, RankSet, Value, limits};
use std::collections::HashMap;

/// Patterns that a message names.
const PATTERNS: usize = 8;
/// Texts kept for reuse.
const SPARE_MAX: usize = 64;
/// The value of an argument that was left out.
static UNSET: Value = Value::Unset;

/// Everything an expression can see.
pub(super) struct Env<'p> {
    pub(super) plan: &'p Plan,
    /// See [`Prepared::timed`].
    timed: &'p [bool],
    /// Global slots, then the frames of running procs.
    pub(super) values: Vec<Value>,
    /// Where the running proc's frame starts.
    pub(super) base: usize,
    /// Rendered templates that are operands.
    temps: [Value; 2],
    /// The arguments of a function.
    arguments: Vec<Value>,
    spare: Vec<Vec<u8>>,
    pub(super) scope: Scope,
    place: NodePlace,
    pub(super) random: Random,
    pub(super) extents: RankExtents<'p>,
    pub(super) clock: Clock,
    /// Where paths begin.
    directory: Place,
}

impl<'p> Frame<'p> for Env<'p> {
    #[inline(always)]
    fn plan(&self) -> &'p Plan {
        self.plan
    }

    #[inline(always)]
    fn ready(&mut self, site: Pc, operand: Operand, temp: usize) -> Eval<()> {
        if let Source::Template(template) = operand.source() {
            self.render_temp(site, template, temp)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn peek(&self, operand: Operand, temp: usize) -> &Value {
        match operand.source() {
            Source::Slot(slot) => &self.values[self.at(slot)],
            Source::Const(index) => &self.plan.consts[index as usize],
            seldom => self.peek_seldom(seldom, temp),
        }
    }

    /// Texts reuse spare storage.
    #[inline(never)]
    fn copied(&mut self, src: Operand) -> Eval<Value> {
        match self.peek(src, 0) {
            Value::Unset => return Err(EvalError::Unset),
            Value::Str(_) => {}
            other => return Ok(other.clone()),
        }
        let mut text = self.spare.pop().unwrap_or_default();
        text.clear();
        if let Value::Str(from) = self.peek(src, 0) {
            text.extend_from_slice(from);
        }
        Ok(Value::Str(text))
    }

    fn variable(&mut self, slot: Slot) -> &mut Value {
        let at = self.at(slot);
        &mut self.values[at]
    }

    #[inline(always)]
    fn set(&mut self, slot: Slot, value: Value) {
        Env::set(self, slot, value);
    }

    /// In place: a whole value built in memory and copied from there costs a failed store
    /// forwarding, several nanoseconds.
    #[inline(always)]
    fn set_int(&mut self, slot: Slot, n: i64) {
        let at = self.at(slot);
        match &mut self.values[at] {
            Value::Int(old) => *old = n,
            _ => self.set_slow(at, Value::Int(n)),
        }
    }

    fn internal(&mut self, site: Pc, dst: Slot, what: Internal) -> Eval<()> {
        if what == Internal::GroupName {
            let mut text = self.spare.pop().unwrap_or_default();
            text.clear();
            text.extend_from_slice(self.scope.group_name(self.plan).as_bytes());
            self.set(dst, Value::Str(text));
        } else if what == Internal::Now {
            let now = self.since_start();
            self.set(dst, now);
        } else {
            let n = self.internal_int(site, what);
            self.set_int(dst, n);
        }
        Ok(())
    }

    #[inline(always)]
    fn state(&mut self, code: &LoopCode) -> &mut [Value] {
        let at = self.at(code.state);
        &mut self.values[at..at + 3]
    }

    fn arguments(&mut self) -> &mut Vec<Value> {
        &mut self.arguments
    }
}

impl<'p> Env<'p> {
    /// The instruction is inside a loop with a time limit.
    pub(super) fn is_timed(&self, pc: Pc) -> bool {
        self.timed.get(pc as usize).is_some_and(|timed| *timed)
    }

    pub(super) fn new(
        prepared: &'p Prepared<'p>,
        rank: u32,
        place: NodePlace,
        clock: Clock,
    ) -> Env<'p> {
        let plan = prepared.plan;
        let mut values = Vec::with_capacity(plan.globals.len());
        values.resize(plan.globals.len(), Value::Unset);
        let mut extents = RankExtents::default();
        if clock.passes_by_itself() {
            extents.work_out(plan, rank);
        }
        Env {
            plan,
            timed: &prepared.timed,
            base: values.len(),
            values,
            temps: [const { Value::Unset }; 2],
            arguments: Vec::new(),
            spare: Vec::new(),
            scope: Scope::new(plan, rank),
            place,
            random: Random::new(plan.seed, rank),
            extents,
            clock,
            directory: 0,
        }
    }

    #[inline(always)]
    pub(super) fn at(&self, slot: Slot) -> usize {
        if slot.0 & Slot::LOCAL == 0 {
            slot.0 as usize
        } else {
            self.base + (slot.0 & !Slot::LOCAL) as usize
        }
    }

    /// Neither a variable nor a constant. A function of its own: four cases would be a jump through a table.
    #[cold]
    fn peek_seldom(&self, source: Source, temp: usize) -> &Value {
        if matches!(source, Source::Template(_)) { &self.temps[temp] } else { &UNSET }
    }

    #[cold]
    fn render_temp(&mut self, site: Pc, template: u32, temp: usize) -> Eval<()> {
        let mut text = match std::mem::take(&mut self.temps[temp]) {
            Value::Str(text) => text,
            _ => Vec::new(),
        };
        text.clear();
        let result = self.render_template(site, template, &mut text);
        self.temps[temp] = Value::Str(text);
        result
    }

    /// The value of an operand.
    #[inline(always)]
    pub(super) fn value(&mut self, site: Pc, operand: Operand) -> Eval<&Value> {
        self.ready(site, operand, 0)?;
        Ok(self.peek(operand, 0))
    }

    /// The value of an operand as an integer.
    #[inline(always)]
    pub(super) fn int(&mut self, site: Pc, operand: Operand) -> Eval<i64> {
        self.value(site, operand)?.as_int()
    }

    /// The value of an operand as a number of bytes or a count.
    #[inline(always)]
    pub(super) fn size(&mut self, site: Pc, operand: Operand) -> Eval<u64> {
        self.value(site, operand)?.as_size()
    }

    /// The same for an argument that may be left out.
    #[inline(always)]
    pub(super) fn optional_size(&mut self, site: Pc, operand: Operand) -> Eval<Option<u64>> {
        if operand == Operand::ABSENT { Ok(None) } else { self.size(site, operand).map(Some) }
    }

    /// Sets a variable.
    #[inline(always)]
    pub(super) fn set(&mut self, slot: Slot, value: Value) {
        let at = self.at(slot);
        self.set_slow(at, value);
    }

    #[inline(never)]
    fn set_slow(&mut self, at: usize, value: Value) {
        match std::mem::replace(&mut self.values[at], value) {
            Value::Str(text) => self.recycle(text),
            other => drop(other),
        }
    }

    /// Keeps the storage of a text for the next one.
    #[cold]
    fn recycle(&mut self, text: Vec<u8>) {
        if self.spare.len() < SPARE_MAX {
            self.spare.push(text);
        }
    }

    /// Drops the running proc's frame.
    pub(super) fn drop_frame(&mut self) {
        while self.values.len() > self.base {
            if let Some(Value::Str(text)) = self.values.pop() {
                self.recycle(text);
            }
        }
    }

    /// `$$now`
    fn since_start(&self) -> Value {
        Value::Duration(i64::try_from(self.clock.now()).unwrap_or(i64::MAX))
    }

    #[inline]
    fn internal_int(&mut self, site: Pc, what: Internal) -> i64 {
        let members = self.scope.members();
        match what {
            Internal::Rank => i64::from(self.scope.rank),
            Internal::NodeRank => i64::from(self.place.node_rank),
            Internal::Node => i64::from(self.place.node),
            Internal::GroupRank => members.ranks.position(self.scope.rank).unwrap_or(0).into(),
            Internal::GroupSize => members.ranks.len() as i64,
            // A name and a duration are no integers.
            Internal::GroupName | Internal::Now => 0,
            Internal::Rand => i64::from(self.random.rank.bits()),
            Internal::CommonRand => i64::from(self.random.common(site, &members.ranks)),
            Internal::Time => (self.clock.now() / 1_000_000_000) as i64,
        }
    }

    /// Appends an operand as `print` and interpolation show it.
    #[inline(always)]
    pub(super) fn render(&mut self, site: Pc, operand: Operand, out: &mut Vec<u8>) -> Eval<()> {
        match operand.source() {
            Source::Template(template) => return self.render_template(site, template, out),
            _ => match self.peek(operand, 0) {
                Value::Int(n) => push_int(out, *n),
                Value::Str(text) => {
                    limits::check_text(out.len() + text.len())?;
                    out.extend_from_slice(text);
                }
                other => {
                    other.render(out)?;
                    limits::check_text(out.len())?;
                }
            },
        }
        Ok(())
    }

    pub(super) fn render_template(
        &mut self,
        site: Pc,
        template: u32,
        out: &mut Vec<u8>,
    ) -> Eval<()> {
        let plan = self.plan;
        let template = plan.templates[template as usize];
        for piece in &plan.pieces[template.start as usize..template.end as usize] {
            match *piece {
                Piece::Text { start, end } => {
                    out.extend_from_slice(&plan.text[start as usize..end as usize]);
                }
                Piece::Value(operand) => self.render(site, operand, out)?,
                Piece::Formatted { value, format } => {
                    format.render(self.value(site, value)?, out)?;
                }
                Piece::Internal(Internal::Rank) => push_int(out, i64::from(self.scope.rank)),
                Piece::Internal(Internal::GroupName) => {
                    out.extend_from_slice(self.scope.group_name(plan).as_bytes());
                }
                Piece::Internal(Internal::Now) => self.since_start().render(out)?,
                Piece::Internal(what) => push_int(out, self.internal_int(site, what)),
            }
        }
        limits::check_text(out.len())
    }

    /// Paths begin in this directory from now on. What was rendered before, `paths`, lies elsewhere.
    pub(super) fn begin_in(&mut self, directory: Place, paths: &mut [PathText]) {
        if std::mem::replace(&mut self.directory, directory) != directory {
            paths.iter_mut().for_each(PathText::forget_origin);
        }
    }

    /// The directory in which paths begin.
    pub(super) fn place(&self) -> Place {
        self.directory
    }

    /// The path of the directory in which paths begin; `None`: the run directory.
    pub(super) fn directory(&self) -> Option<&'p str> {
        let at = self.directory.checked_sub(1)?;
        Some(&self.plan.directories[at].path)
    }

    /// Renders the text that a symbolic link is to hold: a path that begins nowhere.
    pub(super) fn link_target(
        &mut self,
        site: Pc,
        operand: Operand,
        out: &mut PathText,
    ) -> Eval<()> {
        out.fill(|bytes| self.render(site, operand, bytes))
    }

    /// Renders a path.
    #[inline(always)]
    pub(super) fn path(&mut self, site: Pc, operand: Operand, out: &mut PathText) -> Eval<()> {
        let origin = out.origin();
        if origin.operand == operand {
            if origin.slot == NO_SLOT {
                return Ok(());
            }
            if let Value::Int(number) = self.values[self.at(origin.slot)]
                && out.step_to(number)
            {
                return Ok(());
            }
        }
        self.render_path(site, operand, out)
    }

    #[inline(never)]
    fn render_path(&mut self, site: Pc, operand: Operand, out: &mut PathText) -> Eval<()> {
        out.fill(|bytes| self.render(site, operand, bytes))?;
        if !self.plan.directories.is_empty() {
            settle_path(&self.plan.directories, self.directory, out)?;
        }
        if let Some(origin) = self.origin(operand, out.bytes().len()) {
            out.set_origin(origin);
        }
        Ok(())
    }

    /// The origin of a path of `len` bytes, if that is only constants and then a number.
    fn origin(&self, operand: Operand, len: usize) -> Option<Origin> {
        let constant = Origin { operand, slot: NO_SLOT, number: 0, digits_at: len };
        let template = match operand.source() {
            Source::Template(template) => self.plan.templates[template as usize],
            Source::Const(_) => return Some(constant),
            _ => return None,
        };
        let pieces = &self.plan.pieces[template.start as usize..template.end as usize];
        let (last, before) = pieces.split_last()?;
        let is_constant =
            |piece: &Piece| matches!(piece, Piece::Text { .. } | Piece::Internal(Internal::Rank));
        if !before.iter().all(is_constant) {
            return None;
        }
        let Piece::Value(value) = last else { return is_constant(last).then_some(constant) };
        let Source::Slot(slot) = value.source() else { return None };
        match self.values[self.at(slot)] {
            Value::Int(number @ 0..) => {
                let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
                Some(Origin { operand, slot, number, digits_at: len - digits })
            }
            _ => None,
        }
    }
}

impl<'p> Env<'p> {
    /// All members of a group of the program.
    pub(super) fn group_named(&self, name: &[u8]) -> Flow<Members> {
        let number = self.plan.groups.iter().position(|group| group.name.as_bytes() == name);
        let members = number.and_then(|number| self.scope.whole_group(self.plan, number as u32));
        members.ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            Fault::message(format!("there is no group \"{name}\""))
        })
    }
}

impl<'p> Env<'p> {
    /// The extents of the pattern that an operand names, if it names one.
    #[inline(always)]
    pub(super) fn extents_of(
        &mut self,
        site: Pc,
        operand: Operand,
    ) -> Flow<Option<&mut Ready<'p>>> {
        if self.plan.patterns.is_empty() {
            return Ok(None);
        }
        self.named_extents(site, operand)
    }

    #[inline(never)]
    fn named_extents(&mut self, site: Pc, operand: Operand) -> Flow<Option<&mut Ready<'p>>> {
        let plan = self.plan;
        let Value::Str(name) = self.value(site, operand)? else { return Ok(None) };
        let named = |pattern: &model::plan::Pattern| pattern.name.as_bytes() == name;
        let Some(number) = plan.patterns.iter().position(named) else {
            let is_number = Value::Str(name.clone()).as_int().is_ok();
            return if is_number { Ok(None) } else { Err(no_pattern(plan, name)) };
        };
        let group = plan.patterns[number].group.as_ref();
        let group = group.and_then(|name| plan.groups.iter().find(|group| group.name == *name));
        let own: RankSet;
        let ranks = match group {
            Some(group) => {
                own = group.members.clone().into();
                &own
            }
            None => &self.scope.members().ranks,
        };
        let rank = self.scope.rank;
        let Some(member) = ranks.position(rank) else {
            let name = &plan.patterns[number].name;
            let message = format!("rank {rank} is no member of the group of pattern \"{name}\"");
            return Err(Fault::message(message));
        };
        self.extents.get(plan, number, (Some(member), ranks.len() as u32)).map(Some)
    }
}

/// A text that is neither a number of bytes nor a pattern, where either could stand.
fn no_pattern(plan: &Plan, name: &[u8]) -> Fault {
    let name = String::from_utf8_lossy(name);
    let known = plan.patterns.iter().take(PATTERNS).map(|p| format!("\"{}\"", p.name));
    let known = known.collect::<Vec<_>>().join(", ");
    Fault::message(format!(
        "expected the name of a pattern or a number of bytes, found \"{name}\"; there are {known}"
    ))
}

/// The streams of one rank.
pub(super) struct Random {
    pub(super) rank: RankRng,
    seed: u64,
    /// How often a site has drawn `$$crand`.
    drawn: HashMap<Pc, u64>,
    /// Sums of weights, of lists that are constants, by their number.
    pub(super) weights: HashMap<u32, Vec<f64>>,
}

impl Random {
    pub(super) fn new(seed: u64, rank: u32) -> Random {
        Random {
            rank: RankRng::new(seed, rank),
            seed,
            drawn: HashMap::new(),
            weights: HashMap::new(),
        }
    }

    /// `$$crand` at a site.
    pub(super) fn common(&mut self, site: Pc, members: &RankSet) -> u32 {
        let drawn = self.drawn.entry(site).or_insert(0);
        let occurrence = *drawn;
        *drawn += 1;
        rng::common_rand(self.seed, members, site, occurrence)
    }
}

/// The stack of active groups of one rank.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) rank: u32,
    active: Members,
    /// The group entered (`None`: a split) and the set that was active before.
    outer: Vec<(Option<GroupId>, SetId)>,
}

impl Scope {
    /// Outside every group: the world is active.
    pub(super) fn new(plan: &Plan, rank: u32) -> Scope {
        Scope { rank, active: members(plan, 0), outer: Vec::new() }
    }

    /// The active set.
    #[inline(always)]
    pub(super) fn members(&self) -> &Members {
        &self.active
    }

    /// Enters a group; false: this rank is not a member.
    pub(super) fn enter(&mut self, plan: &Plan, group: GroupId) -> bool {
        let inner = plan
            .sets
            .get(self.active.set as usize)
            .and_then(|set| set.enter.get(group as usize).copied());
        inner.is_some_and(|set| self.activate(plan, Some(group), set))
    }

    /// Enters what a split, in a case, makes of the members with a value; false: this rank is none
    /// of them.
    pub(super) fn split(&mut self, plan: &Plan, (split, case): (u32, u32), value: i64) -> bool {
        let set = plan.sets.get(self.active.set as usize);
        let inner = set.and_then(|set| set.class(split, case, value));
        inner.is_some_and(|set| self.activate(plan, None, set))
    }

    fn activate(&mut self, plan: &Plan, group: Option<GroupId>, set: SetId) -> bool {
        let inner = members(plan, set);
        if !inner.ranks.contains(self.rank) {
            return false;
        }
        self.outer.push((group, self.active.set));
        self.active = inner;
        true
    }

    /// Leaves the innermost group or split.
    pub(super) fn leave(&mut self, plan: &Plan) {
        if let Some((_, set)) = self.outer.pop() {
            self.active = members(plan, set);
        }
    }

    /// Name of the innermost group; "" outside every group.
    pub(super) fn group_name<'p>(&self, plan: &'p Plan) -> &'p str {
        let group = self.outer.iter().rev().find_map(|(group, _)| *group);
        group.map_or("", |group| &plan.groups[group as usize].name)
    }

    /// All members of a group, whatever is active.
    pub(super) fn whole_group(&self, plan: &Plan, group: GroupId) -> Option<Members> {
        let set = *plan.sets.first()?.enter.get(group as usize)?;
        Some(members(plan, set))
    }

    /// The number of this rank among the members of the active set.
    pub(super) fn number(&self) -> usize {
        self.active.ranks.position(self.rank).unwrap_or(0) as usize
    }

    /// This rank is member 0 of the active set.
    pub(super) fn is_master(&self) -> bool {
        self.active.ranks.first() == Some(self.rank)
    }
}

/// The set as communicators see it. A plan made by hand may lack the world's set.
fn members(plan: &Plan, set: SetId) -> Members {
    let known = plan.sets.get(set as usize);
    let ranks = known.map_or_else(|| (0..plan.ranks).into(), |set| set.members.clone());
    Members { set, ranks }
}

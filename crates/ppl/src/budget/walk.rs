//! Walks through a plan without executing it.
//!
//! Straight code is followed instruction by instruction with what is known of every
//! value. Both ways of a condition that is not known are looked at, but nothing in them
//! is counted ("maybe"); loops: [`super::loops`]; operations: [`super::effect`].

use super::abs::{Abs, Why};
use super::claims::Claims;
use super::files::Files;
use super::handles::Handles;
use super::mpi::Together;
use super::skip::Skip;
use super::tally::Tally;
use super::watch::Watch;
use model::Value;
use model::plan::{Args, Instr, MemberSet, NO_SLOT, Pc, Plan, SetId, Slot};
use std::ops::Range;

/// Calls inside calls that are followed.
const MAX_CALLS: u32 = 100;

/// How a piece of code ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// At its end.
    Reached,
    /// With a jump out of it.
    Left(Pc),
    /// The rank ends here, or the walk does.
    Stopped,
}

/// What all walks of a plan share.
pub(super) struct Shared<'a> {
    pub(super) plan: &'a Plan,
    /// See [`crate::lower::Lowered::merges`].
    pub(super) merges: &'a [(Pc, Pc)],
    pub(super) directory: Option<&'a str>,
    /// By loop: can it be looked at as a whole?
    pub(super) verdicts: Vec<Option<bool>>,
    /// The program sets positions in files.
    pub(super) seeks: bool,
    /// Instructions that may still be looked at.
    pub(super) steps: u64,
    pub(super) claims: Claims,
    pub(super) watch: Watch,
    pub(super) together: Together,
}

/// The options in force.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Active {
    /// Largest size of one call; 0: not known.
    pub(super) transfer_bytes: Option<u64>,
    /// Errors are expected.
    pub(super) expects: bool,
}

/// A walk for a range of ranks that go the same way.
pub(super) struct Walk<'s, 'a> {
    pub(super) shared: &'s mut Shared<'a>,
    pub(super) ranks: Range<u32>,
    pub(super) values: Vec<Abs>,
    /// Where the running proc's frame starts.
    base: usize,
    calls: u32,
    /// Active sets and names of groups, the innermost last.
    pub(super) groups: Vec<(SetId, u32)>,
    pub(super) options: Vec<Active>,
    /// Executions of the code being looked at.
    pub(super) weight: u64,
    /// Loops around it that are looked at as a whole.
    pub(super) level: u32,
    /// Loops up to this one set positions in files, so that writes in them need not go on
    /// where those of the turn before ended.
    pub(super) seeks_below: u32,
    /// Conditions around it that are not known.
    pub(super) maybe: u32,
    /// It may be skipped.
    pub(super) skip: Option<Skip>,
    /// Only looking whether a loop can be looked at as a whole.
    pub(super) probing: u32,
    /// Bit n: something depended on the turn of loop n, which was looked at as a whole.
    pub(super) needs_turns: u64,
    /// Something depended on the rank.
    pub(super) needs_ranks: bool,
    pub(super) tally: Tally,
    pub(super) files: Files,
    pub(super) handles: Handles,
}

impl<'s, 'a> Walk<'s, 'a> {
    pub(super) fn new(shared: &'s mut Shared<'a>, ranks: Range<u32>) -> Walk<'s, 'a> {
        shared.claims.ranks = ranks.clone();
        shared.watch.ranks = ranks.clone();
        let globals = shared.plan.globals.len();
        Walk {
            ranks,
            values: vec![Abs::Unknown(Why::Never); globals],
            base: globals,
            shared,
            calls: 0,
            groups: Vec::new(),
            options: vec![Active::default()],
            weight: 1,
            level: 0,
            seeks_below: 0,
            maybe: 0,
            skip: None,
            probing: 0,
            needs_turns: 0,
            needs_ranks: false,
            tally: Tally::default(),
            files: Files::default(),
            handles: Handles::default(),
        }
    }

    /// What is done here is done for certain, and counts.
    pub(super) fn is_certain(&self) -> bool {
        self.maybe == 0 && self.skip.is_none() && self.probing == 0
    }

    /// What is done hangs on a value that is not known.
    pub(super) fn hangs_on(&mut self, why: Why) {
        self.files_hang_on(why);
        if self.probing == 0 {
            self.tally.exact = false;
        }
    }

    /// Which files, or which part of them, hangs on a value that is not known.
    pub(super) fn files_hang_on(&mut self, why: Why) {
        match why {
            Why::Rank => self.needs_ranks = true,
            Why::Turn(level) => self.needs_turns |= loop_bit(level),
            Why::Never => {}
        }
        if self.probing == 0 {
            self.tally.files_exact = false;
        }
    }

    /// Goes from `pc` to `end`.
    pub(super) fn run(&mut self, mut pc: Pc, end: Pc) -> Exit {
        let plan = self.shared.plan;
        let start = pc;
        while pc != end {
            self.arrive(pc);
            if self.shared.steps == 0 {
                self.tally.exact = false;
                return Exit::Stopped;
            }
            self.shared.steps -= 1;
            let next = match plan.code[pc as usize] {
                Instr::Jump { to } => to,
                Instr::JumpIf { cond, when, to } => match self.abs(cond).condition() {
                    Ok(holds) => {
                        if holds == when {
                            to
                        } else {
                            pc + 1
                        }
                    }
                    Err(why) => match self.both_ways(pc, to, why) {
                        Ok(next) => next,
                        Err(exit) => return exit,
                    },
                },
                Instr::Loop { code } => match self.repeat(pc, code) {
                    Ok(next) => next,
                    Err(exit) => return exit,
                },
                Instr::CallProc { proc, args } => match self.call(proc, args) {
                    Exit::Stopped => return Exit::Stopped,
                    _ => pc + 1,
                },
                Instr::Halt | Instr::Return => return Exit::Reached,
                instr => match self.step(pc, instr) {
                    Some(next) => next,
                    None => return Exit::Stopped,
                },
            };
            if next > end || next < start {
                return Exit::Left(next);
            }
            pc = next;
        }
        self.arrive(end);
        Exit::Reached
    }

    /// Instructions that go on to the next one or to a place that is known.
    fn step(&mut self, pc: Pc, instr: Instr) -> Option<Pc> {
        let plan = self.shared.plan;
        match instr {
            Instr::GroupEnter { group, skip } => {
                let set = self.set().map_or(0, |set| set.enter[group as usize]);
                if !self.contains(&plan.sets[set as usize].members) {
                    return Some(skip);
                }
                self.groups.push((set, group));
            }
            Instr::GroupLeave => {
                self.groups.pop();
            }
            Instr::Master { skip } => {
                let first = self.set().map_or(0, |set| set.members.start);
                if self.ranks != (first..first + 1) {
                    return Some(skip);
                }
            }
            Instr::WithEnter { options } => self.with(options),
            Instr::WithLeave => {
                self.options.pop();
            }
            Instr::Op { op, dst, args } => {
                let handle = self.operation(pc, op, args)?;
                if dst != NO_SLOT {
                    self.set_value(dst, handle);
                }
            }
            _ => self.evaluate(instr),
        }
        Some(pc + 1)
    }

    fn contains(&self, members: &Range<u32>) -> bool {
        members.start <= self.ranks.start && self.ranks.end <= members.end
    }

    pub(super) fn set(&self) -> Option<&'a MemberSet> {
        let set = self.groups.last().map_or(0, |group| group.0);
        self.shared.plan.sets.get(set as usize)
    }

    /// The other ranks of the active group, this one included.
    pub(super) fn first_member(&self) -> u32 {
        self.set().map_or(0, |set| set.members.start)
    }

    fn with(&mut self, options: u32) {
        let plan = self.shared.plan;
        let options = &plan.options[options as usize];
        let mut active = self.options.last().copied().unwrap_or_default();
        if let Some(operand) = options.transfer {
            let size = self.abs(operand).int().ok().and_then(|size| u64::try_from(size).ok());
            active.transfer_bytes = Some(size.unwrap_or(0));
        }
        if let Some(operand) = options.expect {
            let none =
                matches!(self.abs(operand), Abs::Known(Value::Str(names)) if names.is_empty());
            active.expects = !none;
        }
        self.options.push(active);
    }

    /// Both ways of a condition that is not known: nothing in them counts.
    fn both_ways(&mut self, pc: Pc, to: Pc, why: Why) -> Result<Pc, Exit> {
        self.hangs_on(why);
        let merges = self.shared.merges;
        let found = merges.binary_search_by_key(&pc, |merge| merge.0);
        let Ok(merge) = found.map(|at| merges[at].1) else { return Err(Exit::Stopped) };
        let assigned = self.assigned(pc, merge);
        let before: Vec<Abs> = assigned.iter().map(|slot| self.value(*slot)).collect();
        self.maybe += 1;
        // A jump out of it leaves the groups and options that it goes out of.
        let (groups, options) = (self.groups.clone(), self.options.clone());
        let mut left = Vec::new();
        for start in [pc + 1, to] {
            let exit = if start < merge { self.run(start, merge) } else { Exit::Reached };
            self.groups.clone_from(&groups);
            self.options.clone_from(&options);
            for (slot, value) in assigned.iter().zip(&before) {
                self.set_value(*slot, value.clone());
            }
            match exit {
                Exit::Left(target) if target != merge => left.push(target),
                // Only the walk itself ends: a rank may go the other way.
                Exit::Stopped if self.shared.steps == 0 => return Err(Exit::Stopped),
                _ => {}
            }
        }
        self.maybe -= 1;
        for slot in assigned {
            self.set_value(slot, Abs::Unknown(why));
        }
        left.into_iter().for_each(|target| self.may_skip(pc, target, why));
        Ok(merge)
    }

    /// Slots that the code between two places writes.
    pub(super) fn assigned(&self, from: Pc, to: Pc) -> Vec<Slot> {
        let plan = self.shared.plan;
        let mut slots: Vec<Slot> = Vec::new();
        for instr in &plan.code[from as usize..to as usize] {
            let slot = match *instr {
                Instr::Move { dst, .. }
                | Instr::Unary { dst, .. }
                | Instr::Binary { dst, .. }
                | Instr::Function { dst, .. }
                | Instr::Internal { dst, .. }
                | Instr::List { dst, .. }
                | Instr::Index { dst, .. }
                | Instr::Test { dst, .. }
                | Instr::Op { dst, .. } => dst,
                Instr::Loop { code } => plan.loops[code as usize].var,
                _ => NO_SLOT,
            };
            if slot != NO_SLOT {
                slots.push(slot);
            }
        }
        slots.sort_unstable_by_key(|slot| slot.0);
        slots.dedup();
        slots
    }

    /// A proc.
    fn call(&mut self, proc: u32, args: Args) -> Exit {
        if self.calls == MAX_CALLS {
            self.hangs_on(Why::Never);
            self.files.confuse();
            return Exit::Reached;
        }
        let plan = self.shared.plan;
        let callee = &plan.procs[proc as usize];
        let end = plan.procs.get(proc as usize + 1).map_or(plan.code.len() as Pc, |p| p.entry) - 1;
        let mut frame: Vec<Abs> =
            plan.args[args.range()].iter().map(|operand| self.abs(*operand)).collect();
        frame.resize(callee.locals as usize, Abs::Unknown(Why::Never));
        let outer = std::mem::replace(&mut self.base, self.values.len());
        let skip = self.skip.take();
        self.maybe += u32::from(skip.is_some());
        self.values.extend(frame);
        self.calls += 1;
        let exit = self.run(callee.entry, end);
        self.calls -= 1;
        self.values.truncate(self.base);
        self.base = outer;
        self.maybe -= u32::from(skip.is_some());
        self.skip = skip;
        exit
    }

    fn at(&self, slot: Slot) -> usize {
        match slot.0 & Slot::LOCAL {
            0 => slot.0 as usize,
            _ => self.base + (slot.0 & !Slot::LOCAL) as usize,
        }
    }

    pub(super) fn value(&self, slot: Slot) -> Abs {
        self.values[self.at(slot)].clone()
    }

    pub(super) fn set_value(&mut self, slot: Slot, value: Abs) {
        self.note_assigned(slot);
        let at = self.at(slot);
        self.values[at] = value;
    }
}

/// The bit of a loop among those around it; very deep ones share the last.
pub(super) fn loop_bit(level: u32) -> u64 {
    1 << level.min(u64::BITS - 1)
}

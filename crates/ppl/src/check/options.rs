//! W0403: options of `with` that nothing takes.
//!
//! ```text
//! with (depth=32) write("a", 1m);      depth=32 has no effect: write does not take it
//! ```
//!
//! Options hold for called procs too, so this is looked at when all code is made. Which operation takes
//! what is in [`model::with`].

use super::{dedup, direct};
use crate::diag::{Code, Diagnostic};
use crate::lower::notes::{Asked, Notes, With};
use crate::source::Sources;
use model::op::Needs;
use model::plan::{Instr, Operand, Pc, Plan, Source};
use model::with::{OptionRow, WithOption};
use model::{Op, Value};
use std::ops::Range;

/// So many operations are named in a message.
const NAMED: usize = 4;

/// Operations as bits.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Ops(u64);

const _: () = assert!(Op::COUNT <= 64);

impl Ops {
    fn add(&mut self, op: Op) {
        self.0 |= 1 << op as u8;
    }

    fn all(self) -> impl Iterator<Item = Op> {
        (0..64).filter(move |bit| self.0 >> bit & 1 != 0).filter_map(Op::from_u8)
    }
}

/// What some code executes, called procs included.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Inside {
    ops: Ops,
    /// Those that keep several transfers under way, if they are told to.
    deep: Ops,
    /// Constants switch some of it off.
    dead: bool,
    /// Functions ask for files: `size("f")`.
    asks: bool,
}

impl Inside {
    fn join(&mut self, other: Inside) {
        self.ops.0 |= other.ops.0;
        self.deep.0 |= other.deep.0;
        self.dead |= other.dead;
        self.asks |= other.asks;
    }

    /// Who takes an option, and who does not; `queues`: io_uring may be in force.
    fn split(self, row: &OptionRow, word: Option<&str>, queues: bool) -> (Vec<Op>, Vec<Op>) {
        let deep: Vec<Op> = self.deep.all().collect();
        let has_queue = |op: &Op| match row.option {
            WithOption::Depth if op.row().needs == Needs::Mpi => deep.contains(op),
            WithOption::Depth | WithOption::Batch | WithOption::Sqpoll | WithOption::Iopoll => {
                queues
            }
            _ => true,
        };
        self.ops.all().partition(|op| row.takes(*op, word) && has_queue(op))
    }
}

/// Finds out what code executes.
struct Survey<'a> {
    plan: &'a Plan,
    /// By instruction: constants switch it off.
    dead: Vec<bool>,
    /// By proc.
    procs: Vec<Inside>,
    /// Transfers may be cut.
    cuts: bool,
}

impl Survey<'_> {
    fn new<'a>(plan: &'a Plan, dead_code: &[Range<Pc>]) -> Survey<'a> {
        let mut dead = vec![false; plan.code.len()];
        for range in dead_code {
            dead[range.start as usize..range.end as usize].fill(true);
        }
        let procs = vec![Inside::default(); plan.procs.len()];
        let cuts = plan.options.iter().any(|options| options.transfer.is_some());
        let mut survey = Survey { plan, dead, procs, cuts };
        while survey.walk_procs() {}
        survey
    }

    /// Looks through all procs once more; whether that told anything new.
    fn walk_procs(&mut self) -> bool {
        let mut changed = false;
        for at in 0..self.procs.len() {
            let end = self.plan.procs.get(at + 1).map_or(self.plan.code.len() as Pc, |p| p.entry);
            let inside = self.inside(self.plan.procs[at].entry..end);
            changed |= inside != std::mem::replace(&mut self.procs[at], inside);
        }
        changed
    }

    fn inside(&self, code: Range<Pc>) -> Inside {
        let mut inside = Inside::default();
        for pc in code.start as usize..code.end as usize {
            match self.plan.code[pc] {
                Instr::Op { .. } | Instr::CallProc { .. } if self.dead[pc] => inside.dead = true,
                Instr::CallProc { proc, .. } => {
                    inside.join(self.procs.get(proc as usize).copied().unwrap_or_default());
                }
                Instr::Function { function, .. } => inside.asks |= function.row().takes_path(),
                Instr::Op { op, args, .. } if op.is_io() => {
                    inside.ops.add(op);
                    if self.can_be_deep(op, args as usize) {
                        inside.deep.add(op);
                    }
                }
                _ => {}
            }
        }
        inside
    }

    /// A transfer of MPI-IO is several calls: pieces of a pattern, or cut by `transfer`. One
    /// at the shared file pointer is never under way with others.
    fn can_be_deep(&self, op: Op, args: usize) -> bool {
        let args = &self.plan.args[args..args + op.row().params.len()];
        let word = matches!(op, Op::Pfwrite | Op::Pfread).then(|| self.text(args[3])).flatten();
        if matches!(word, Some(b"shared" | b"ordered")) {
            return false;
        }
        let pattern = args.get(1).and_then(|arg| self.text(*arg));
        let level = pattern.and_then(|name| {
            let mut patterns = self.plan.patterns.iter();
            patterns.find(|pattern| pattern.name.as_bytes() == name).map(|pattern| pattern.level)
        });
        let is_number = || args.get(1).is_some_and(|arg| self.is_number(*arg));
        match level {
            Some(level) => level < 2 || self.cuts,
            None => self.cuts || !is_number(),
        }
    }

    fn text(&self, operand: Operand) -> Option<&[u8]> {
        self.plan.literal(operand)
    }

    fn is_number(&self, operand: Operand) -> bool {
        let Source::Const(index) = operand.source() else { return false };
        matches!(self.plan.consts[index as usize], Value::Int(_))
    }
}

/// Operations that look as if they took an option with this value, and do not.
fn seems_to_take(row: &OptionRow, op: Op, word: Option<&str>) -> bool {
    let queued = word.is_some_and(|word| word.starts_with("uring"));
    match row.option {
        WithOption::Engine if queued => {
            matches!(op, Op::Write | Op::Read) || row.seeming.contains(&op)
        }
        WithOption::Engine if word == Some("null") => {
            use Op::*;
            matches!(op, Copy | Fcopy | Pfwrite | Pfread | Pwrite | Pread)
        }
        WithOption::Depth => row.seeming.contains(&op) || row.takes(op, word),
        _ => row.seeming.contains(&op),
    }
}

/// Where io_uring is asked for.
struct Queued {
    /// First instructions of these `with`, in order, and where the last of those so far ends.
    starts: Vec<(Pc, Pc)>,
}

impl Queued {
    fn of(plan: &Plan, withs: &[With]) -> Queued {
        let asks = |with: &&With| {
            let mut asked =
                with.asked.iter().filter(|asked| asked.row.option == WithOption::Engine);
            asked.any(|asked| option_text(plan, asked).is_none_or(|word| word.starts_with("uring")))
        };
        let ranges = withs.iter().filter(asks).map(|with| (with.code.start, with.code.end));
        let mut starts: Vec<(Pc, Pc)> = ranges.collect();
        starts.sort_unstable();
        let mut last = 0;
        for (_, end) in &mut starts {
            last = last.max(*end);
            *end = last;
        }
        Queued { starts }
    }

    /// Whether it may be in force inside a `with`: that asks for it, or one around it or inside, or one
    /// that another proc may come from or lead to.
    fn may_hold(&self, plan: &Plan, with: &With) -> bool {
        let code = &plan.code[with.code.start as usize..with.code.end as usize];
        let calls = || code.iter().any(|instr| matches!(instr, Instr::CallProc { .. }));
        let is_called = || plan.procs.first().is_some_and(|proc| proc.entry <= with.code.start);
        let before = self.starts.partition_point(|(start, _)| *start < with.code.end);
        let meets = before > 0 && self.starts[before - 1].1 > with.code.start;
        meets || !self.starts.is_empty() && (is_called() || calls())
    }
}

/// Warns of options without effect, of direct transfers that cannot succeed, and of blocks that cannot repeat.
pub(crate) fn check(plan: &Plan, notes: &Notes, sources: &Sources) -> Vec<Diagnostic> {
    if notes.withs.is_empty() {
        return Vec::new();
    }
    let survey = Survey::new(plan, &notes.dead_code);
    let queued = Queued::of(plan, &notes.withs);
    let mut found = Vec::new();
    for with in &notes.withs {
        let inside = survey.inside(with.code.clone());
        let asked = with.asked.iter();
        let queues = queued.may_hold(plan, with);
        let inside = (inside, queues);
        found.extend(asked.filter_map(|asked| without_effect(plan, sources, asked, with, inside)));
    }
    found.extend(direct::check(plan, &notes.withs));
    found.extend(dedup::check(plan, &notes.withs));
    found
}

fn without_effect(
    plan: &Plan,
    sources: &Sources,
    asked: &Asked,
    with: &With,
    (inside, queues): (Inside, bool),
) -> Option<Diagnostic> {
    let word = option_text(plan, asked);
    if word.as_deref().is_some_and(|word| asked.row.off.contains(&word)) {
        return None;
    }
    if asked.row.option == WithOption::Dir && (inside.asks || with.is_empty()) {
        return None;
    }
    let (takers, others) = inside.split(asked.row, word.as_deref(), queues);
    let seems = |op: &Op| seems_to_take(asked.row, *op, word.as_deref());
    let seeming: Vec<Op> = others.iter().copied().filter(seems).collect();
    let said = asked.row.option == WithOption::Direct && opens_with_mpi(plan, with);
    let why = match (takers.is_empty(), seeming.is_empty()) {
        (false, false) => format!("has no effect on {}", names(&seeming)),
        (false, true) => return None,
        _ if said || others.is_empty() && inside.dead => return None,
        _ if others.is_empty() => "has no effect: no I/O stands inside".into(),
        _ => format!("has no effect: nothing inside takes it (found {})", names(&others)),
    };
    let message = format!("{} {why}", sources.text(asked.span));
    Some(Diagnostic::new(Code::NoEffect, asked.span, message).help(asked.row.help))
}

/// W0402 says more about that.
fn opens_with_mpi(plan: &Plan, with: &With) -> bool {
    let code = &plan.code[with.code.start as usize..with.code.end as usize];
    let opens =
        |instr: &Instr| matches!(instr, Instr::Op { op: Op::Pfopen | Op::Pwrite | Op::Pread, .. });
    code.iter().any(opens)
}

/// The value of an option, if it is known.
fn option_text(plan: &Plan, asked: &Asked) -> Option<String> {
    match asked.value.source() {
        Source::Const(index) => Some(plan.consts[index as usize].to_string()),
        _ => None,
    }
}

/// `write, fread, ...`
fn names(ops: &[Op]) -> String {
    let mut names: Vec<&str> = ops.iter().take(NAMED).map(|op| op.name()).collect();
    if ops.len() > NAMED {
        names.push("...");
    }
    names.join(", ")
}

//! Checks of `with`: options without effect (W0403), direct transfers that no block divides (W0404), and
//! blocks that cannot repeat (W0405).
//!
//! ```text
//! with (depth=32) write("a", 1m);          depth=32 has no effect: write does not take it
//! with (direct=true) write("a", 1000);     ranks refuse it with EINVAL, as the kernel would
//! with (dedup=2) append("a", 1000);        blocks of 4 KiB repeat as a whole, and this is none
//! ```
//!
//! Options hold for called procs too, so this runs on the finished code. The operations that take an
//! option are in [`model::with`]. Reported is only what is certain: constants, and handles that are opened
//! with O_DIRECT wherever they are opened.

use crate::diag::{Code, Diagnostic};
use crate::lower::notes::{Asked, Notes, With};
use crate::source::Sources;
use model::op::Needs;
use model::plan::{Instr, NO_SLOT, Operand, Pc, Plan, Slot, Source, Span};
use model::with::{OptionRow, WithOption};
use model::{Op, Value};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Most operations named in a message.
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

/// The operations that some code executes, called procs included.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Inside {
    ops: Ops,
    /// Operations that can keep several transfers in flight.
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

    /// Operations that take an option, and the others; `queues`: io_uring may be in force.
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
pub(crate) fn check_options(plan: &Plan, notes: &Notes, sources: &Sources) -> Vec<Diagnostic> {
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
    found.extend(warn_of_direct(plan, &notes.withs));
    found.extend(warn_of_dedup(plan, &notes.withs));
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

/// The options in force at an instruction.
#[derive(Clone, Copy, Default)]
struct Scope {
    /// The `direct=true` that is in force.
    pub(super) direct: Option<Span>,
    /// The `dedup` above 1 that is in force.
    dedup: Option<Span>,
    transfer: Option<u64>,
}

/// By instruction.
fn scopes(plan: &Plan, withs: &[With]) -> Vec<Scope> {
    let mut inner_last: Vec<&With> = withs.iter().collect();
    inner_last.sort_by_key(|with| with.code.start);
    let mut scopes = vec![Scope::default(); plan.code.len()];
    for with in inner_last {
        for asked in &with.asked {
            for scope in &mut scopes[with.code.start as usize..with.code.end as usize] {
                enter(plan, scope, asked);
            }
        }
    }
    scopes
}

fn enter(plan: &Plan, scope: &mut Scope, asked: &Asked) {
    let value = match asked.value.source() {
        Source::Const(index) => Some(&plan.consts[index as usize]),
        _ => None,
    };
    match asked.row.option {
        WithOption::Direct => {
            let on = value.is_some_and(|value| value.as_condition() == Ok(true));
            scope.direct = on.then_some(asked.span);
        }
        WithOption::Dedup => {
            let repeats =
                value.is_none_or(|value| !matches!(value, Value::Int(1) | Value::Float(1.0)));
            scope.dedup = repeats.then_some(asked.span);
        }
        WithOption::Transfer => scope.transfer = value.and_then(|value| value.as_size().ok()),
        _ => {}
    }
}

/// A number in the program's text.
pub(super) fn number(plan: &Plan, args: &[Operand], at: usize) -> Option<u64> {
    match args.get(at)?.source() {
        Source::Const(index) => match &plan.consts[index as usize] {
            Value::Int(n) => u64::try_from(*n).ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Describes the part of a transfer that is no multiple of a block.
fn multiple(
    plan: &Plan,
    (op, args): (Op, &[Operand]),
    transfer: Option<u64>,
    block: u64,
) -> Option<String> {
    let odd = |n: &u64| !n.is_multiple_of(block);
    let size = number(plan, args, 1);
    if let Some(size) = size.filter(odd) {
        return Some(format!("its {size} bytes are no multiple of {block}"));
    }
    if let Some(position) = number(plan, args, 2).filter(odd) {
        return Some(format!("its position {position} is no multiple of {block}"));
    }
    let rest = matches!(op, Op::Read | Op::Fread) && args[1] == Operand::ABSENT;
    let is_cut = |transfer: &u64| rest || size.is_some_and(|size| size > *transfer);
    let transfer = transfer.filter(odd).filter(is_cut)?;
    Some(format!("transfer={transfer} cuts it into calls of no multiple of {block} bytes"))
}

/// The smallest block of storage, bytes.
const SECTOR: u64 = 512;
const DIRECT_HELP: &str = "storage moves whole blocks of 512 or 4096 bytes past the page cache: other sizes \
                    and positions fail with EINVAL, unless the file system says that it takes them";

/// A variable: of the program, or of a proc.
type Variable = (Option<usize>, Slot);

/// Warns of direct transfers that cannot succeed.
fn warn_of_direct(plan: &Plan, withs: &[With]) -> Vec<Diagnostic> {
    let is_direct = |asked: &Asked| asked.row.option == WithOption::Direct;
    if !withs.iter().flat_map(|with| &with.asked).any(is_direct) {
        return Vec::new();
    }
    let scopes = scopes(plan, withs);
    let handles = direct_handles(plan, &scopes);
    let mut found = Vec::new();
    for (pc, instr) in plan.code.iter().enumerate() {
        let Instr::Op { op, args, .. } = *instr else { continue };
        let args = &plan.args[args as usize..][..op.row().params.len()];
        let scope = scopes[pc];
        let direct = match op {
            Op::Write | Op::Append | Op::Read => scope.direct,
            Op::Fwrite | Op::Fread => {
                let variable = variable(plan, pc, args[0]);
                variable.and_then(|variable| handles.get(&variable).copied().flatten())
            }
            _ => None,
        };
        if let Some(place) = direct
            && let Some(why) = multiple(plan, (op, args), scope.transfer, SECTOR)
        {
            let message = format!("{op} with direct=true: {why}");
            let diagnostic = Diagnostic::new(Code::Misaligned, plan.spans[pc], message);
            found.push(diagnostic.related(place, "it is asked for here").help(DIRECT_HELP));
        }
    }
    found
}

/// Variables and where their files were asked to be opened with O_DIRECT; `None`: not all were.
fn direct_handles(plan: &Plan, scopes: &[Scope]) -> FxHashMap<Variable, Option<Span>> {
    let mut handles: FxHashMap<Variable, Option<Span>> = FxHashMap::default();
    for (pc, instr) in plan.code.iter().enumerate() {
        let (dst, direct) = match *instr {
            Instr::Op { op: Op::Fopen | Op::Fcreat, dst, .. } => (dst, scopes[pc].direct),
            Instr::Op { op: Op::Pfopen, dst, .. } | Instr::Move { dst, .. } => (dst, None),
            _ => continue,
        };
        if dst == NO_SLOT {
            continue;
        }
        if let Some(variable) = variable(plan, pc, Operand::slot(dst)) {
            let known = handles.entry(variable).or_insert(direct);
            *known = known.filter(|_| direct.is_some());
        }
    }
    handles
}

fn variable(plan: &Plan, pc: usize, operand: Operand) -> Option<Variable> {
    let Source::Slot(slot) = operand.source() else { return None };
    let procs = plan.procs.partition_point(|proc| proc.entry <= pc as Pc);
    let is_local = slot.0 & Slot::LOCAL != 0;
    Some((is_local.then_some(procs), slot))
}

/// Bytes of a block that `dedup` repeats.
const BLOCK: u64 = 4096;
/// From this number of blocks on, the last part of a file changes the ratio by less than 5 %.
const MANY_BLOCKS: u64 = 20;
const DEDUP_HELP: &str = "storage finds equal blocks only where they begin at multiples of their size: write \
                    multiples of 4k at multiples of 4k, or leave dedup out";

/// Warns of writes whose data cannot repeat as it is asked for.
fn warn_of_dedup(plan: &Plan, withs: &[With]) -> Vec<Diagnostic> {
    let is_dedup = |asked: &Asked| asked.row.option == WithOption::Dedup;
    if !withs.iter().flat_map(|with| &with.asked).any(is_dedup) {
        return Vec::new();
    }
    let scopes = scopes(plan, withs);
    let found =
        plan.code.iter().zip(&plan.spans).zip(scopes).filter_map(|((instr, span), scope)| {
            let Instr::Op { op: op @ (Op::Write | Op::Append | Op::Fwrite), args, .. } = *instr
            else {
                return None;
            };
            let args = &plan.args[args as usize..][..op.row().params.len()];
            let place = scope.dedup?;
            let why = multiple(plan, (op, args), scope.transfer, BLOCK);
            let cut = scope.transfer.is_some_and(|transfer| !transfer.is_multiple_of(BLOCK));
            let why = why.filter(|_| cut || !is_large(plan, op, args))?;
            let message = format!("{op} with dedup: {why}, so that its blocks do not repeat");
            let diagnostic = Diagnostic::new(Code::NoRepeat, *span, message);
            Some(diagnostic.related(place, "it is asked for here").help(DEDUP_HELP))
        });
    found.collect()
}

/// A whole file, of which only the end is no block.
fn is_large(plan: &Plan, op: Op, args: &[Operand]) -> bool {
    let size = number(plan, args, 1);
    op == Op::Write
        && size.is_some_and(|size| size >= MANY_BLOCKS * BLOCK)
        && (args[2] == Operand::ABSENT
            || number(plan, args, 2).is_some_and(|position| position.is_multiple_of(BLOCK)))
}

//! W0404: transfers under `with (direct=true)` whose size or position no block divides.
//!
//! ```text
//! with (direct=true) write("a", 1000);      ranks refuse it with EINVAL, as the kernel would
//! ```
//!
//! Only what is certain: constants, and handles that are opened with O_DIRECT wherever they are opened.

use crate::diag::{Code, Diagnostic};
use crate::lower::notes::{Asked, With};
use model::plan::{Instr, NO_SLOT, Operand, Pc, Plan, Slot, Source, Span};
use model::with::WithOption;
use model::{Op, Value};
use rustc_hash::FxHashMap;

/// The smallest block of storage, bytes.
const BLOCK: u64 = 512;
const HELP: &str = "storage moves whole blocks of 512 or 4096 bytes past the page cache: other sizes \
                    and positions fail with EINVAL, unless the file system says that it takes them";

/// What holds at an instruction, as far as the text around it tells.
#[derive(Clone, Copy, Default)]
struct Scope {
    /// The `direct=true` that is in force.
    direct: Option<Span>,
    transfer: Option<u64>,
}

/// A variable: of the program, or of a proc.
type Variable = (Option<usize>, Slot);

/// Warns of direct transfers that cannot succeed.
pub(super) fn check(plan: &Plan, withs: &[With]) -> Vec<Diagnostic> {
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
            && let Some(why) = misaligned(plan, op, args, scope.transfer)
        {
            let message = format!("{op} with direct=true: {why}");
            let diagnostic = Diagnostic::new(Code::Misaligned, plan.spans[pc], message);
            found.push(diagnostic.related(place, "it is asked for here").help(HELP));
        }
    }
    found
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
        WithOption::Transfer => scope.transfer = value.and_then(|value| value.as_size().ok()),
        _ => {}
    }
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

/// What no block divides, in words.
fn misaligned(plan: &Plan, op: Op, args: &[Operand], transfer: Option<u64>) -> Option<String> {
    let number = |at: usize| match args.get(at)?.source() {
        Source::Const(index) => match &plan.consts[index as usize] {
            Value::Int(n) => u64::try_from(*n).ok(),
            _ => None,
        },
        _ => None,
    };
    let odd = |n: &u64| !n.is_multiple_of(BLOCK);
    let size = number(1);
    if let Some(size) = size.filter(odd) {
        return Some(format!("its {size} bytes are no multiple of {BLOCK}"));
    }
    if let Some(position) = number(2).filter(odd) {
        return Some(format!("its position {position} is no multiple of {BLOCK}"));
    }
    let rest = matches!(op, Op::Read | Op::Fread) && args[1] == Operand::ABSENT;
    let is_cut = |transfer: &u64| rest || size.is_some_and(|size| size > *transfer);
    let transfer = transfer.filter(odd).filter(is_cut)?;
    Some(format!("transfer={transfer} cuts it into calls of no multiple of {BLOCK} bytes"))
}

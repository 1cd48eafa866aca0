//! W0404: transfers under `with (direct=true)` whose size or position no block divides.
//!
//! ```text
//! with (direct=true) write("a", 1000);      ranks refuse it with EINVAL, as the kernel would
//! ```
//!
//! Only what is certain: constants, and handles that are opened with O_DIRECT wherever they are opened.

use super::scopes::{Scope, multiple, scopes};
use crate::diag::{Code, Diagnostic};
use crate::lower::notes::{Asked, With};
use model::Op;
use model::plan::{Instr, NO_SLOT, Operand, Pc, Plan, Slot, Source, Span};
use model::with::WithOption;
use rustc_hash::FxHashMap;

/// The smallest block of storage, bytes.
const BLOCK: u64 = 512;
const HELP: &str = "storage moves whole blocks of 512 or 4096 bytes past the page cache: other sizes \
                    and positions fail with EINVAL, unless the file system says that it takes them";

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
            && let Some(why) = multiple(plan, (op, args), scope.transfer, BLOCK)
        {
            let message = format!("{op} with direct=true: {why}");
            let diagnostic = Diagnostic::new(Code::Misaligned, plan.spans[pc], message);
            found.push(diagnostic.related(place, "it is asked for here").help(HELP));
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

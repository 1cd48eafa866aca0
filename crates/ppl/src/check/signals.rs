//! W0312: a signal whose name stands in no `wait` and no `tested`.
//!
//! ```text
//! signal("redy"); wait("ready");       the first is never waited for
//! ```
//!
//! Whether the waits there are can be met is for a rehearsal to find.

use crate::diag::{Code, Diagnostic};
use crate::suggest::nearest;
use model::plan::{Function, Instr, Operand, Plan, Span};
use model::{Op, escape};

/// Warns of signals that nobody waits for, unless the names of some waits are only known at run time.
pub(crate) fn check(plan: &Plan) -> Vec<Diagnostic> {
    let waits: Option<Vec<&[u8]>> =
        plan.code.iter().filter_map(waited).map(|at| plan.literal(plan.args[at])).collect();
    let Some(waits) = waits else { return Vec::new() };
    let signals = plan.code.iter().zip(&plan.spans).filter_map(|(instr, span)| match instr {
        Instr::Op { op: Op::Signal, args, .. } => Some((plan.args[*args as usize], *span)),
        _ => None,
    });
    signals.filter_map(|(name, span)| unheard(plan, name, span, &waits)).collect()
}

/// Where the name of the signal that an instruction waits for stands in [`Plan::args`].
fn waited(instr: &Instr) -> Option<usize> {
    match instr {
        Instr::Op { op: Op::Wait, args, .. } => Some(*args as usize),
        Instr::Function { function: Function::Tested, args, .. } => Some(args.start as usize),
        _ => None,
    }
}

fn unheard(plan: &Plan, name: Operand, span: Span, waits: &[&[u8]]) -> Option<Diagnostic> {
    let name = plan.literal(name)?;
    if waits.contains(&name) {
        return None;
    }
    let shown = escape::bytes(name);
    let message = format!("nobody waits for the signal \"{shown}\"");
    let waits = waits.iter().filter_map(|wait| std::str::from_utf8(wait).ok());
    let help = match nearest(&shown, waits) {
        Some(wait) => format!("there is a wait for \"{wait}\""),
        None => format!("other ranks wait for it with wait(\"{shown}\"); or leave it out"),
    };
    Some(Diagnostic::new(Code::Unheard, span, message).help(help))
}

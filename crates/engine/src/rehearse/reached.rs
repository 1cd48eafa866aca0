//! The instructions that a plan can reach: constants switch others off, such as those of a time limit of 0.

use model::Plan;
use model::plan::{Instr, Pc};

/// By instruction: a rank may execute it.
pub(crate) fn reached(plan: &Plan) -> Vec<bool> {
    let mut reached = vec![false; plan.code.len()];
    let mut waiting: Vec<Pc> = vec![0];
    while let Some(pc) = waiting.pop() {
        let at = pc as usize;
        if reached.get(at).is_none_or(|known| *known) {
            continue;
        }
        reached[at] = true;
        let (next, jump) = successors(plan, pc, &plan.code[at]);
        waiting.extend(next.into_iter().chain(jump));
    }
    reached
}

/// The next instruction, and another one that may come instead or besides.
fn successors(plan: &Plan, pc: Pc, instr: &Instr) -> (Option<Pc>, Option<Pc>) {
    match *instr {
        Instr::Halt | Instr::Return => (None, None),
        Instr::Jump { to } => (None, Some(to)),
        Instr::JumpIf { to, .. } => (Some(pc + 1), Some(to)),
        Instr::Loop { code } => (Some(pc + 1), Some(plan.loops[code as usize].exit)),
        Instr::Next { code } => (Some(pc + 1), Some(plan.loops[code as usize].body)),
        Instr::Claim { exit, .. } | Instr::Limit { exit, .. } => (Some(pc + 1), Some(exit)),
        Instr::GroupEnter { skip, .. } | Instr::Master { skip } => (Some(pc + 1), Some(skip)),
        Instr::SplitEnter { end, .. } => (Some(pc + 1), Some(end)),
        Instr::CallProc { proc, .. } => (Some(pc + 1), Some(plan.procs[proc as usize].entry)),
        _ => (Some(pc + 1), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::Proc;

    #[test]
    fn code_behind_a_jump_and_procs_that_nobody_calls_are_not_reached() {
        let proc = |entry| Proc { name: String::new(), entry, params: 0, locals: 0 };
        let call = Instr::CallProc { proc: 1, args: Default::default() };
        let code = vec![
            Instr::Jump { to: 2 },
            Instr::ShareEnd,
            call,
            Instr::Halt,
            Instr::Return,
            Instr::Return,
        ];
        let plan = Plan { code, procs: vec![proc(4), proc(5)], ..Plan::default() };
        assert_eq!(reached(&plan), [true, false, true, true, false, true]);
    }
}

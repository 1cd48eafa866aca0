//! What all ranks of a run look up in the plan, found once before they start.

use super::flags;
use model::plan::{Instr, Source};
use model::{Op, Plan, Value};

/// A plan and what was found in it; shared by all ranks of a process.
pub struct Prepared<'p> {
    pub(super) plan: &'p Plan,
    /// Constants that are open flags: index and flags, ascending by index.
    flags: Vec<(u32, i32)>,
    /// Instructions in loops with a time limit; empty: there is none.
    pub(super) timed: Vec<bool>,
}

impl<'p> Prepared<'p> {
    /// Looks through a plan.
    pub fn new(plan: &'p Plan) -> Prepared<'p> {
        let limited = plan.code.iter().any(|instr| matches!(instr, Instr::Limit { .. }));
        let timed = if limited { plan.timed(|_| true) } else { Vec::new() };
        Prepared { plan, flags: constant_flags(plan), timed }
    }

    /// The plan.
    pub fn plan(&self) -> &'p Plan {
        self.plan
    }

    /// The open flags that a constant stands for.
    pub(super) fn flags(&self, constant: u32) -> Option<i32> {
        let at = self.flags.binary_search_by_key(&constant, |entry| entry.0).ok()?;
        Some(self.flags[at].1)
    }
}

fn constant_flags(plan: &Plan) -> Vec<(u32, i32)> {
    let flags = plan.code.iter().filter_map(|instr| {
        let Instr::Op { op: Op::Fopen, args, .. } = instr else { return None };
        let Source::Const(index) = plan.args.get(*args as usize + 1)?.source() else {
            return None;
        };
        let Value::Str(text) = plan.consts.get(index as usize)? else { return None };
        Some((index, flags::parse(text).ok()?))
    });
    let mut flags: Vec<(u32, i32)> = flags.collect();
    flags.sort_unstable();
    flags.dedup();
    flags
}

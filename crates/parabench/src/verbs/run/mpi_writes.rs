//! Which patterns a program writes by MPI-IO, for the marks of what libraries do to files.

use crate::verbs::pattern;
use model::plan::Instr;
use model::run::PatternWrites;
use model::{Op, Plan};
use std::collections::HashSet;

/// Those that a statement names, in the order of the program.
pub fn of(plan: &Plan) -> Vec<PatternWrites> {
    let name_of = |instr: &Instr| match instr {
        Instr::Op { op: Op::Pwrite | Op::Pfwrite, args, .. } => {
            plan.literal(*plan.args.get(*args as usize + 1)?)
        }
        _ => None,
    };
    let written: HashSet<&[u8]> = plan.code.iter().filter_map(name_of).collect();
    let is_written = |pattern: &&model::plan::Pattern| written.contains(pattern.name.as_bytes());
    let patterns = plan.patterns.iter().filter(is_written).map(|pattern| PatternWrites {
        pattern: pattern.name.clone(),
        level: pattern.level,
        kind: pattern.geometry.kind().into(),
        holes: pattern::has_holes(plan, pattern),
    });
    patterns.collect()
}

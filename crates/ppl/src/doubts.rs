//! Warnings of a rehearsal as diagnostics.

use crate::diag::{Code, Diagnostic};
use model::plan::{Instr, Pc, Span};
use model::rehearsal::{Doubt, DoubtKind};
use model::{Op, Plan};

/// The diagnostic of a doubtful place, with what to write instead.
pub fn diagnostic(plan: &Plan, doubt: &Doubt) -> Diagnostic {
    let (code, help) = match doubt.kind {
        DoubtKind::Collision => (
            Code::Collision,
            "let one rank do it: master { ... } barrier; or give each rank a name with $$rank; or \
             expect it: with (expect=\"EEXIST\") ...",
        ),
        DoubtKind::NotWritten => (
            Code::NotWritten,
            "name the file of the rank that made it, as in \"$other\" with $other computed",
        ),
        DoubtKind::BeyondEnd => (
            Code::BeyondEnd,
            "reads behind the end of the file move nothing and count as short; where that is meant, expect \
             it: with (expect=\"short\") ...",
        ),
        DoubtKind::NotMade => (
            Code::NotMade,
            "write \"cw\" to create it, as \"w\" of fopen does; without, it has to be there before the run",
        ),
        DoubtKind::NeverMet if !waits_for_signal(plan, doubt.site) => (
            Code::NeverMet,
            "all members of the group have to come here, each as often as the others: take it out of the \
             condition or loop, or put it into the group of those who come",
        ),
        DoubtKind::NeverMet => (
            Code::NeverMet,
            "signals belong to a group: one is for those who wait while the group is active in which \
             it is given; signal(\"x\", group=\"g\") is for those who wait inside group \"g\", \
             group=\"world\" for those outside of all groups",
        ),
        DoubtKind::NotMember => (
            Code::NotMember,
            "to= counts the members of the active group, or of the one named with group=, from 0",
        ),
    };
    let span = plan.spans.get(doubt.site as usize).copied().unwrap_or(Span::default());
    Diagnostic::new(code, span, doubt.message.clone()).help(help)
}

fn waits_for_signal(plan: &Plan, site: Pc) -> bool {
    matches!(plan.code.get(site as usize), Some(Instr::Op { op: Op::Wait, .. }))
}

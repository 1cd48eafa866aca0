//! W0405: writes under `with (dedup=R)` whose blocks cannot repeat.
//!
//! ```text
//! with (dedup=2) append("a", 1000);      blocks of 4 KiB repeat as a whole, and none of these is one
//! ```
//!
//! Only what is certain: constants. The end of a large file that is written at once is too small a part of
//! it to count.

use super::scopes::{multiple, number, scopes};
use crate::diag::{Code, Diagnostic};
use crate::lower::notes::{Asked, With};
use model::Op;
use model::plan::{Instr, Operand, Plan};
use model::with::WithOption;

/// What repeats, bytes.
const BLOCK: u64 = 4096;
/// From so many blocks on the last part of a file changes the ratio by less than a twentieth.
const MANY_BLOCKS: u64 = 20;
const HELP: &str = "storage finds equal blocks only where they begin at multiples of their size: write \
                    multiples of 4k at multiples of 4k, or leave dedup out";

/// Warns of writes whose data cannot repeat as it is asked for.
pub(super) fn check(plan: &Plan, withs: &[With]) -> Vec<Diagnostic> {
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
            Some(diagnostic.related(place, "it is asked for here").help(HELP))
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

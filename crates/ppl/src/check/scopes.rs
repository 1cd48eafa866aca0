//! Which options hold at an instruction, as far as the text around it tells, and which constants no block
//! divides.

use crate::lower::notes::{Asked, With};
use model::plan::{Operand, Plan, Source, Span};
use model::with::WithOption;
use model::{Op, Value};

/// What holds at an instruction.
#[derive(Clone, Copy, Default)]
pub(super) struct Scope {
    /// The `direct=true` that is in force.
    pub(super) direct: Option<Span>,
    /// The `dedup` above 1 that is in force.
    pub(super) dedup: Option<Span>,
    pub(super) transfer: Option<u64>,
}

/// By instruction.
pub(super) fn scopes(plan: &Plan, withs: &[With]) -> Vec<Scope> {
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

/// What of a transfer is no multiple of a block, in words.
pub(super) fn multiple(
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

//! The evaluator of pure instructions: those that compute and choose the next instruction.
//!
//! ```text
//! 3  binary  t0 = $i * 4096      ┐
//! 4  jumpif  t0 > 10  -> 7       ┘ here; operations, labels, groups and procs are not
//! ```
//!
//! Ranks (crate `engine`) and generators of patterns execute plans with it; constant
//! folding calls the same operators and functions ([`crate::value`], [`crate::function`]). A [`Frame`] gives
//! access to the values. The execute loop inlines [`step`] and [`next`], so that nothing here allocates unless a
//! value has to be made.
//!
//! It counts the iterations of a loop before the first one:
//!
//! ```text
//! repeat $i 10..0 step -3 ...      10 7 4 1: four iterations
//! ```

use crate::limits::{self, MAX_LIST_DEPTH};
use crate::plan::{
    Args, BinaryOp, Function, Instr, Internal, LoopCode, NO_SLOT, Operand, Pc, Plan, Slot,
};
use crate::value::{self, Eval, EvalError, Value};

/// Where values are while a plan is executed.
pub trait Frame<'p> {
    /// The plan.
    fn plan(&self) -> &'p Plan;

    /// Prepares an operand for reading: templates are rendered. There are two places, 0 and
    /// 1, so that an operator can read both of its operands.
    fn ready(&mut self, site: Pc, operand: Operand, place: usize) -> Eval<()>;

    /// The value of a ready operand; [`Value::Unset`] where there is none.
    fn peek(&self, operand: Operand, place: usize) -> &Value;

    /// A copy of an operand that is ready at place 0.
    fn copied(&mut self, operand: Operand) -> Eval<Value> {
        match self.peek(operand, 0) {
            Value::Unset => Err(EvalError::Unset),
            value => Ok(value.clone()),
        }
    }

    /// A variable, to be changed in place.
    fn variable(&mut self, slot: Slot) -> &mut Value;

    /// Sets a variable.
    fn set(&mut self, slot: Slot, value: Value);

    /// Sets a variable to an integer.
    #[inline(always)]
    fn set_int(&mut self, slot: Slot, n: i64) {
        self.set(slot, Value::Int(n));
    }

    /// Sets a variable to an internal one.
    fn internal(&mut self, site: Pc, dst: Slot, what: Internal) -> Eval<()>;

    /// The three hidden variables of a loop.
    fn state(&mut self, code: &LoopCode) -> &mut [Value];

    /// A list that is used again for the arguments of every function.
    fn arguments(&mut self) -> &mut Vec<Value>;
}

/// Executes an instruction if it is pure: the number of the next one, or `None` if it is not.
///
/// # Errors
/// An expression has no value.
#[inline(always)]
pub fn step<'p>(frame: &mut impl Frame<'p>, pc: Pc, instr: &Instr) -> Eval<Option<Pc>> {
    match *instr {
        Instr::Move { dst, src } => copy(frame, pc, dst, src)?,
        Instr::Binary { op, dst, a, b } => binary(frame, pc, op, dst, (a, b))?,
        Instr::Internal { what, dst } => frame.internal(pc, dst, what)?,
        Instr::Next { code } => return next(frame, pc, code).map(Some),
        Instr::Jump { to } => return Ok(Some(to)),
        Instr::JumpIf { cond, when, to } => {
            let holds = value_of(frame, pc, cond)?.as_condition()?;
            return Ok(Some(if holds == when { to } else { pc + 1 }));
        }
        Instr::Index { dst, list, index } => element(frame, pc, dst, (list, index))?,
        _ => return seldom(frame, pc, instr),
    }
    Ok(Some(pc + 1))
}

/// Folded programs read numbers out of lists before many an operation.
#[inline(always)]
fn element<'p>(
    frame: &mut impl Frame<'p>,
    site: Pc,
    dst: Slot,
    (list, index): (Operand, Operand),
) -> Eval<()> {
    frame.ready(site, list, 0)?;
    frame.ready(site, index, 1)?;
    let element = value::index(frame.peek(list, 0), frame.peek(index, 1))?;
    if let Value::Int(n) = element {
        let n = *n;
        frame.set_int(dst, n);
        return Ok(());
    }
    let element = element.clone();
    frame.set(dst, element);
    Ok(())
}

/// The value of an operand.
#[inline(always)]
fn value_of<'f, 'p, F: Frame<'p>>(frame: &'f mut F, site: Pc, operand: Operand) -> Eval<&'f Value> {
    frame.ready(site, operand, 0)?;
    Ok(frame.peek(operand, 0))
}

#[inline(always)]
fn copy<'p>(frame: &mut impl Frame<'p>, site: Pc, dst: Slot, src: Operand) -> Eval<()> {
    if let Value::Int(n) = value_of(frame, site, src)? {
        let n = *n;
        frame.set_int(dst, n);
        return Ok(());
    }
    let copy = frame.copied(src)?;
    frame.set(dst, copy);
    Ok(())
}

#[inline(always)]
fn binary<'p>(
    frame: &mut impl Frame<'p>,
    site: Pc,
    op: BinaryOp,
    dst: Slot,
    (a, b): (Operand, Operand),
) -> Eval<()> {
    frame.ready(site, a, 0)?;
    frame.ready(site, b, 1)?;
    match value::integer(op, frame.peek(a, 0), frame.peek(b, 1)) {
        Some(n) => frame.set_int(dst, n),
        None => binary_of_any(frame, op, dst, (a, b))?,
    }
    Ok(())
}

/// Operands that are ready.
#[inline(never)]
fn binary_of_any<'p>(
    frame: &mut impl Frame<'p>,
    op: BinaryOp,
    dst: Slot,
    (a, b): (Operand, Operand),
) -> Eval<()> {
    let result = value::binary(op, frame.peek(a, 0), frame.peek(b, 1))?;
    frame.set(dst, result);
    Ok(())
}

/// Begins the next iteration of a loop, or goes on behind it ([`Instr::Next`]).
///
/// # Errors
/// The loop has not begun.
#[inline(always)]
pub fn next<'p>(frame: &mut impl Frame<'p>, pc: Pc, code: u32) -> Eval<Pc> {
    let code = &frame.plan().loops[code as usize];
    let [Value::Int(now), Value::Int(left), Value::Int(step)] = frame.state(code) else {
        return Err(EvalError::Unset);
    };
    if *left == 0 {
        return Ok(pc + 1);
    }
    *left = left.wrapping_sub(1);
    *now = now.wrapping_add(*step);
    let now = *now;
    Ok(iterate(frame, code, now))
}

/// Sets the loop variable and gives the body.
#[inline(always)]
fn iterate<'p>(frame: &mut impl Frame<'p>, code: &LoopCode, now: i64) -> Pc {
    if code.var != NO_SLOT {
        frame.set_int(code.var, now);
    }
    code.body
}

/// Instructions that few hot loops have.
#[inline(never)]
fn seldom<'p>(frame: &mut impl Frame<'p>, pc: Pc, instr: &Instr) -> Eval<Option<Pc>> {
    let (dst, result) = match *instr {
        Instr::Unary { op, dst, a } => (dst, value::unary(op, value_of(frame, pc, a)?)?),
        Instr::Test { dst, a } => (dst, Value::Bool(value_of(frame, pc, a)?.as_condition()?)),
        Instr::List { dst, args } => (dst, list(frame, pc, args)?),
        Instr::Function { function, dst, args } if function.row().is_pure() => {
            (dst, call(frame, pc, function, args)?)
        }
        Instr::Push { list, args } => {
            change(frame, pc, args, list, value::push)?;
            return Ok(Some(pc + 1));
        }
        Instr::SetItem { list, args } => {
            change(frame, pc, args, list, value::set_item)?;
            return Ok(Some(pc + 1));
        }
        Instr::Loop { code } => return first(frame, pc, code).map(Some),
        _ => return Ok(None),
    };
    frame.set(dst, result);
    Ok(Some(pc + 1))
}

/// Changes a list where the indices lead to.
fn change<'p>(
    frame: &mut impl Frame<'p>,
    site: Pc,
    args: Args,
    list: Slot,
    apply: fn(&mut Value, &[i64], Value) -> Eval<()>,
) -> Eval<()> {
    let operands = &frame.plan().args[args.range()];
    let (value, indices) = operands.split_last().ok_or(EvalError::Unset)?;
    let mut path = [0; MAX_LIST_DEPTH];
    for (at, operand) in path.iter_mut().zip(indices) {
        frame.ready(site, *operand, 1)?;
        *at = frame.peek(*operand, 1).as_int()?;
    }
    frame.ready(site, *value, 0)?;
    let value = frame.copied(*value)?;
    apply(frame.variable(list), &path[..indices.len()], value)
}

fn list<'p>(frame: &mut impl Frame<'p>, site: Pc, args: Args) -> Eval<Value> {
    let operands = &frame.plan().args[args.range()];
    let mut items = Vec::with_capacity(operands.len());
    copy_all(frame, site, operands, &mut items)?;
    limits::list(items)
}

/// Adds the values of operands to a list.
fn copy_all<'p>(
    frame: &mut impl Frame<'p>,
    site: Pc,
    operands: &[Operand],
    values: &mut Vec<Value>,
) -> Eval<()> {
    for operand in operands {
        frame.ready(site, *operand, 0)?;
        values.push(frame.copied(*operand)?);
    }
    Ok(())
}

fn call<'p>(frame: &mut impl Frame<'p>, site: Pc, function: Function, args: Args) -> Eval<Value> {
    let plan = frame.plan();
    let mut values = std::mem::take(frame.arguments());
    let copied = copy_all(frame, site, &plan.args[args.range()], &mut values);
    let result = copied
        .and_then(|()| function.row().pure(&values, plan.seed).unwrap_or(Err(EvalError::Unset)));
    // A list that stayed here would be copied when its variable changes.
    values.clear();
    *frame.arguments() = values;
    result
}

/// Evaluates the range of a loop and begins its first iteration, or goes on behind it.
fn first<'p>(frame: &mut impl Frame<'p>, pc: Pc, code: u32) -> Eval<Pc> {
    let code = &frame.plan().loops[code as usize];
    let mut int = |operand| value_of(frame, pc, operand)?.as_int();
    let (from, to, step) = (int(code.from)?, int(code.to)?, int(code.step)?);
    let iterations = check_iterations(from, to, step, code.counted)?;
    let Some(left) = iterations.checked_sub(1) else { return Ok(code.exit) };
    // The count as bits: it can be larger than any integer.
    let state = [Value::Int(from), Value::Int(left as i64), Value::Int(step)];
    frame.state(code).clone_from_slice(&state);
    Ok(iterate(frame, code, from))
}

/// Iterations of a loop from `from` to `to`, exclusive; 0 for a step of 0. All values of a 64-bit
/// variable are 2^64 less one, because the end is excluded.
pub fn count_iterations(from: i64, to: i64, step: i64) -> u64 {
    let distance = match step {
        1.. if to > from => to.abs_diff(from),
        ..=-1 if to < from => from.abs_diff(to),
        _ => return 0,
    };
    distance.div_ceil(step.unsigned_abs())
}

/// Iterations of a loop over a range of a program; `counted`: written as `repeat n`.
///
/// # Errors
/// The step is 0, or the number of repetitions negative.
pub fn check_iterations(from: i64, to: i64, step: i64, counted: bool) -> Eval<u64> {
    if counted && to < 0 {
        let what = "expected a number of repetitions that is not negative";
        return Err(EvalError::Range(what, to.to_string()));
    }
    if step == 0 {
        return Err(EvalError::Range("expected a step that is not 0", step.to_string()));
    }
    Ok(count_iterations(from, to, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_of_ranges() {
        for (from, to, step, iterations) in [
            (0, 10, 1, 10),
            (10, 100, 10, 9),
            (10, 101, 10, 10),
            (10, 0, -3, 4),
            (0, 10, -1, 0),
            (5, 5, 1, 0),
            (0, 5, 0, 0),
            (i64::MIN, i64::MAX, 1, u64::MAX),
            (i64::MAX, i64::MIN, i64::MIN, 2),
        ] {
            assert_eq!(count_iterations(from, to, step), iterations, "{from}..{to} step {step}");
        }
        assert!(
            check_iterations(0, -1, 1, true).is_err() && check_iterations(0, 1, 0, false).is_err()
        );
        assert_eq!(check_iterations(0, -1, 1, false), Ok(0));
    }
}

//! The turns of a loop that does one thing: opens a file, moves data, closes it.
//!
//! ```text
//! repeat $i 10000 write("file-$i", 4k);
//! ```
//!
//! Instruction by instruction, every turn would find out again where it is, what is asked for
//! and where it is counted. Here that is done once, after the first turn; calls, clock readings
//! and counters are the same. What is not the usual case goes the usual way.

use super::compound::file_at;
use super::eval::Env;
use super::execute::{Pause, arguments, check};
use super::fault::Fault;
use super::io::Io;
use super::perform::{Step, open_flags, whole_file_of};
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::clock::Clock;
use crate::comm::Comm;
use model::plan::{Instr, LoopCode, NO_SLOT, Operand, Plan, Slot, Source};
use model::value::{Eval, EvalError};
use model::{Op, Value};

/// How far a loop got.
pub(super) enum Turned {
    /// What is left goes instruction by instruction.
    GoesOn,
    /// The last turn is done.
    Over,
    /// The rank has to stop before the next turn.
    Paused(Pause),
}

/// Whether a loop is one of these, as far as its code tells: its body is an operation on a file
/// as a whole, of which nothing but the path changes from turn to turn.
pub(super) fn repeats_file(plan: &Plan, code: &LoopCode) -> bool {
    if code.exit != code.body + 2 {
        return false;
    }
    let Some(Instr::Op { op, args, .. }) = plan.code.get(code.body as usize).copied() else {
        return false;
    };
    let is_same = |operand: &Operand| match operand.source() {
        Source::Const(_) | Source::Absent => true,
        Source::Slot(slot) => slot != code.var,
        Source::Template(_) => false,
    };
    let is_file = matches!(op, Op::Create | Op::Write | Op::Append);
    is_file && arguments(plan, op, args).is_ok_and(|args| args[1..].iter().all(is_same))
}

/// Whether such a loop's next turn can be one of these: no events are kept, and its path is that of
/// the turn before but for the number at its end.
#[inline(always)]
pub(super) fn can_go_on<B, K>(plan: &Plan, code: &LoopCode, io: &Io<'_, B, K>) -> bool {
    let Some(Instr::Op { args, .. }) = plan.code.get(code.body as usize) else { return false };
    !io.keeps_events && continues(plan.args[*args as usize], code, io)
}

#[inline(always)]
fn continues<B, K>(path: Operand, code: &LoopCode, io: &Io<'_, B, K>) -> bool {
    let origin = io.paths[0].origin();
    origin.operand == path && (origin.slot == code.var || origin.slot == NO_SLOT)
}

/// Executes the turns that are left of a loop that [`repeats_file`] and [`can_go_on`].
#[inline(never)]
pub(super) fn of_file<B: Backend, C: Comm, K: Clock>(
    plan: &Plan,
    code: &LoopCode,
    env: &mut Env<'_, K>,
    io: &mut Io<'_, B, K>,
    comm: &mut C,
    buffers: &mut Buffers,
) -> Result<Turned, Fault> {
    let site = code.body;
    let Some(Instr::Op { op, dst, args }) = plan.code.get(site as usize).copied() else {
        return Ok(Turned::GoesOn);
    };
    if !io.labels.is_selected() {
        return Ok(Turned::GoesOn);
    }
    let step = Step { op, site, dst, args: arguments(plan, op, args)? };
    let inner = whole_file_of(step, env)?;
    let flags = open_flags(io, inner.flags());
    let spot = io.spot(op, site);
    let counts_on = io.paths[0].origin().slot != NO_SLOT;
    let mut turns = Turns::load(env, code)?;
    while continues(step.args[0], code, io) {
        if let Some(pause) = check(comm) {
            turns.store(env, code);
            return Ok(Turned::Paused(pause));
        }
        if turns.left == 0 {
            turns.store(env, code);
            return Ok(Turned::Over);
        }
        turns.next();
        if counts_on && !io.paths[0].step_to(turns.value) {
            turns.store(env, code);
            env.path(site, step.args[0], &mut io.paths[0])?;
        }
        file_at(step, io, buffers, inner, flags, Some(&spot))?;
        comm.progress(io.operations);
    }
    turns.store(env, code);
    Ok(Turned::GoesOn)
}

/// The state of a loop.
struct Turns {
    value: i64,
    left: i64,
    step: i64,
}

impl Turns {
    fn load<K: Clock>(env: &Env<'_, K>, code: &LoopCode) -> Eval<Turns> {
        let at = env.at(code.state);
        match env.values[at..at + 3] {
            [Value::Int(value), Value::Int(left), Value::Int(step)] => {
                Ok(Turns { value, left, step })
            }
            _ => Err(EvalError::Unset),
        }
    }

    fn next(&mut self) {
        self.left = self.left.wrapping_sub(1);
        self.value = self.value.wrapping_add(self.step);
    }

    fn store<K: Clock>(&self, env: &mut Env<'_, K>, code: &LoopCode) {
        env.set_int(code.state, self.value);
        env.set_int(Slot(code.state.0 + 1), self.left);
        if code.var != NO_SLOT {
            env.set_int(code.var, self.value);
        }
    }
}

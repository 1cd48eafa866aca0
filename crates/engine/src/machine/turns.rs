//! The turns of a loop that does one thing: opens a file, moves data, closes it.
//!
//! ```text
//! repeat $i 10000 write("file-$i", 4k);
//! ```
//!
//! Instruction by instruction, every turn would find out again where it is, what is asked for
//! and where it is counted. Here that is done once, after the first turn; calls, clock readings
//! and counters are the same. What is not the usual case goes the usual way.

use super::compound::{Inner, file_at};
use super::eval::Env;
use super::execute::{Pause, check};
use super::fault::Fault;
use super::io::Io;
use super::perform::{Step, open_flags};
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::clock::Clock;
use crate::comm::Comm;
use model::plan::{LoopCode, NO_SLOT, Operand, Slot, Source};
use model::value::{Eval, EvalError};
use model::{Op, Value};

/// How far a loop got.
pub(super) enum Turned {
    /// What comes next goes instruction by instruction.
    NotHere,
    /// The last turn is done.
    Over,
    /// The rank has to stop before the next turn.
    Paused(Pause),
}

/// Executes the turns that are left of a loop whose body is `step` alone; its path [`goes_on`], and
/// no events are kept.
#[inline(never)]
pub(super) fn turns_of_file<B: Backend, C: Comm, K: Clock>(
    step: Step<'_>,
    code: &LoopCode,
    env: &mut Env<'_, K>,
    io: &mut Io<'_, B, K>,
    comm: &mut C,
    buffers: &mut Buffers,
) -> Result<Turned, Fault> {
    let inner = if io.labels.is_selected() { inner(step, code, env)? } else { None };
    let Some(inner) = inner else { return Ok(Turned::NotHere) };
    let flags = open_flags(io, inner.flags());
    let spot = io.spot(step.op, step.site);
    let counts_on = io.paths[0].origin().slot != NO_SLOT;
    let mut turns = Turns::load(env, code)?;
    while goes_on(step.args[0], code, io) {
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
            env.path(step.site, step.args[0], &mut io.paths[0])?;
        }
        file_at(step, io, buffers, inner, flags, Some(&spot))?;
        comm.progress(io.labels.depth(), io.operations);
    }
    turns.store(env, code);
    Ok(Turned::NotHere)
}

/// The next path is the one of the turn before but for the number at its end.
#[inline(always)]
pub(super) fn goes_on<B, K>(path: Operand, code: &LoopCode, io: &Io<'_, B, K>) -> bool {
    let origin = io.paths[0].origin();
    origin.operand == path && (origin.slot == code.var || origin.slot == NO_SLOT)
}

/// What every turn does, if it is the same in all.
fn inner<K: Clock>(step: Step<'_>, code: &LoopCode, env: &mut Env<'_, K>) -> Eval<Option<Inner>> {
    if !step.args[1..].iter().all(|number| is_same(*number, code)) {
        return Ok(None);
    }
    Ok(match step.op {
        Op::Create => Some(Inner::Nothing),
        Op::Write => Some(Inner::Write {
            len: env.size(step.site, step.args[1])?,
            offset_bytes: env.optional_size(step.site, step.args[2])?.unwrap_or(0),
        }),
        Op::Append => Some(Inner::Append { len: env.size(step.site, step.args[1])? }),
        _ => None,
    })
}

/// An operand has the same value in all turns.
fn is_same(operand: Operand, code: &LoopCode) -> bool {
    match operand.source() {
        Source::Const(_) | Source::Absent => true,
        Source::Slot(slot) => slot != code.var,
        Source::Template(_) => false,
    }
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

//! Statements that are not I/O: printing, sleeping, talking to other ranks.

use super::eval::Env;
use super::io::Io;
use super::step::Step;
use super::tally::{Fault, Flow};
use super::work_claims::WorkClaims;
use crate::backend::Backend;
use crate::clock::Clock;
use crate::comm::{Check, Comm, Given, Members, Poll};
use crate::stop;
use model::function::{Accepts, Calc};
use model::plan::{Function, Operand, Pc, SetId};
use model::value::{self, Eval, EvalError};
use model::{Value, escape};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::io::Write;
use std::os::fd::RawFd;

/// How often a rank that computes looks whether it shall stop.
const SLICE_NS: u64 = 10_000_000;

/// How often a rank that prints into a full pipe does, milliseconds.
const LOOK_MS: i32 = 100;

/// Texts and sums that control statements use again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    line: Vec<u8>,
    /// Sums of the numbers that waits asked for so far, by set and name.
    waited: HashMap<(SetId, Vec<u8>), u64>,
    /// Key of the wait in progress.
    key: (SetId, Vec<u8>),
    /// Values of the members of a collective function.
    given: Vec<Value>,
    /// Work that is shared.
    pub(super) work_claims: WorkClaims,
}

/// `sleep`; `agile`: no time passes.
pub(super) fn sleep<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    comm: &mut dyn Comm,
    io: &mut Io<'_, B>,
) -> Result<Flow, Fault> {
    if io.settings.agile {
        return Ok(Flow::Next);
    }
    pass(step, env, comm, io, (u64::MAX, Clock::sleep))
}

/// `compute`
pub(super) fn compute<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    comm: &mut dyn Comm,
    io: &mut Io<'_, B>,
) -> Result<Flow, Fault> {
    pass(step, env, comm, io, (SLICE_NS, Clock::spin))
}

/// Lets time pass in slices, until it has or the rank shall stop. What statements have cost since the
/// last operation or pause is part of it, so that pauses add up exactly.
fn pass<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    comm: &mut dyn Comm,
    io: &mut Io<'_, B>,
    (slice_ns, slice): (u64, fn(&Clock, u64)),
) -> Result<Flow, Fault> {
    let ns = env.value(step.site, step.args[0])?.as_duration_ns()?;
    let mut now_ns = io.clock.now();
    let since_ns = match io.ended_ns {
        1.. if io.queue.is_idle() => io.ended_ns.min(now_ns),
        _ => now_ns,
    };
    let end_ns = since_ns.saturating_add(ns);
    while now_ns < end_ns {
        if comm.check() == Check::Interrupted {
            return Ok(Flow::Interrupted);
        }
        slice(&io.clock, (end_ns - now_ns).min(slice_ns));
        now_ns = io.clock.now();
    }
    io.ended_ns = end_ns;
    Ok(Flow::Next)
}

/// `print`: one line in one write(2), so that the lines of ranks do not mix.
pub(super) fn print(
    step: Step<'_>,
    env: &mut Env<'_>,
    scratch: &mut Scratch,
    fd: Option<RawFd>,
) -> Result<Flow, Fault> {
    let line = &mut scratch.line;
    line.clear();
    write!(line, "[{}]", env.scope.rank).expect("writing to a vector cannot fail");
    for operand in step.args {
        line.push(b' ');
        env.render(step.site, *operand, line)?;
    }
    // Names and parameters come from outside: they must not command the terminal.
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~');
    if !line.iter().all(is_plain) {
        let shown = escape::bytes(line);
        line.clear();
        line.extend_from_slice(shown.as_bytes());
    }
    line.push(b'\n');
    if let Some(fd) = fd {
        write_all(fd, line);
    }
    Ok(Flow::Next)
}

/// Nothing can be done about a closed terminal: errors end the line.
fn write_all(fd: RawFd, mut line: &[u8]) {
    while !line.is_empty() {
        // A reader may have stopped reading.
        if !can_write(fd) {
            return;
        }
        // SAFETY: the buffer is as long as said.
        let written = unsafe { libc::write(fd, line.as_ptr().cast(), line.len()) };
        if written < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) {
            continue;
        }
        let Ok(written @ 1..) = usize::try_from(written) else { return };
        line = &line[written..];
    }
}

/// Waits until a pipe has room for a line; false: the rank is to stop before.
fn can_write(fd: RawFd) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
    loop {
        // SAFETY: one structure, which lives across the call. A signal ends the wait.
        match unsafe { libc::poll(&raw mut poll, 1, LOOK_MS) } {
            0 | -1 if stop::requested() => return false,
            0 => {}
            -1 if std::io::Error::last_os_error().kind() == ErrorKind::Interrupted => {}
            _ => return true,
        }
    }
}

/// `assert`
pub(super) fn assert(step: Step<'_>, env: &mut Env<'_>) -> Result<Flow, Fault> {
    if env.value(step.site, step.args[0])?.as_condition()? {
        return Ok(Flow::Next);
    }
    let message = step.args[1];
    if message == Operand::ABSENT {
        return Err(Fault::message("assertion failed"));
    }
    let mut text = b"assertion failed: ".to_vec();
    env.render(step.site, message, &mut text)?;
    Err(Fault::message(String::from_utf8_lossy(&text)))
}

/// `gsum(x)` and the like: meets the other members of the active group. Inner `Err`: not now. May be
/// asked again with the same argument.
pub(super) fn collective(
    site: Pc,
    function: Function,
    own: Operand,
    env: &mut Env<'_>,
    comm: &mut dyn Comm,
    scratch: &mut Scratch,
) -> Result<Result<Value, Flow>, Fault> {
    let row = function.row();
    let own = env.value(site, own)?;
    let own = match row.params {
        [Accepts::Condition] => Value::Bool(own.as_condition()?),
        _ => value::number(own)?,
    };
    let (Calc::Met(of_all), Some(given)) = (row.calc, Given::new(function, &own)) else {
        return Err(EvalError::Unset.into());
    };
    let all = &mut scratch.given;
    let poll = comm.gather(env.scope.members(), site, (function, given), all);
    match poll.map_err(Fault::message)? {
        Poll::Ready => Ok(Ok(of_all(all)?)),
        poll => Ok(Err(poll.into())),
    }
}

/// `signal`
pub(super) fn signal(
    step: Step<'_>,
    env: &mut Env<'_>,
    comm: &mut dyn Comm,
    scratch: &mut Scratch,
) -> Result<Flow, Fault> {
    let members = receivers(step, env)?;
    let to = match step.args[1] {
        Operand::ABSENT => None,
        operand => Some(member(env.int(step.site, operand)?, &members)?),
    };
    scratch.line.clear();
    env.render(step.site, step.args[0], &mut scratch.line)?;
    comm.signal(&members, &scratch.line, to).map_err(Fault::message)?;
    Ok(Flow::Next)
}

/// The members of the group that a signal names, else of the active group.
fn receivers(step: Step<'_>, env: &Env<'_>) -> Result<Members, Fault> {
    if step.args[2] == Operand::ABSENT {
        return Ok(env.scope.members().clone());
    }
    let name = env.plan.literal(step.args[2]).unwrap_or_default();
    let number = env.plan.groups.iter().position(|group| group.name.as_bytes() == name);
    let members = number.and_then(|number| env.scope.whole_group(env.plan, number as u32));
    members.ok_or_else(|| {
        let name = String::from_utf8_lossy(name);
        Fault::message(format!("there is no group \"{name}\""))
    })
}

/// World rank of a member.
fn member(number: i64, members: &Members) -> Eval<u32> {
    let found = u32::try_from(number).ok().and_then(|at| members.ranks.nth(at));
    found.ok_or_else(|| {
        let found = format!("member {number} of {}", members.ranks.len());
        EvalError::Range("expected a member of the group that the signal is for", found)
    })
}

/// `wait`: the k-th wait for a signal is over when its counter has reached the sum of the first
/// k numbers. May be asked again with the same arguments.
pub(super) fn wait(
    step: Step<'_>,
    env: &mut Env<'_>,
    comm: &mut dyn Comm,
    scratch: &mut Scratch,
) -> Result<Flow, Fault> {
    let members = env.scope.members().clone();
    let target = target(step.site, step.args, env, scratch)?;
    let poll = comm.wait(&members, &scratch.key.1, target, step.site).map_err(Fault::message)?;
    if poll == Poll::Ready {
        match scratch.waited.get_mut(&scratch.key) {
            Some(sum) => *sum = target,
            None => drop(scratch.waited.insert(scratch.key.clone(), target)),
        }
    }
    Ok(poll.into())
}

/// `tested(signal, n)`: whether such a wait would be over at once.
pub(super) fn tested(
    site: Pc,
    args: &[Operand],
    env: &mut Env<'_>,
    comm: &mut dyn Comm,
    scratch: &mut Scratch,
) -> Result<bool, Fault> {
    let target = target(site, args, env, scratch)?;
    comm.tested(env.scope.members(), &scratch.key.1, target).map_err(Fault::message)
}

/// The target of the counter of a signal: the sum of the numbers this rank has waited for, and
/// the next. Name and set are in `scratch.key` then.
fn target(
    site: Pc,
    args: &[Operand],
    env: &mut Env<'_>,
    scratch: &mut Scratch,
) -> Result<u64, Fault> {
    let n = match args.get(1) {
        Some(operand) => env.optional_size(site, *operand)?.unwrap_or(1),
        None => 1,
    };
    scratch.key.0 = env.scope.members().set;
    scratch.key.1.clear();
    env.render(site, args[0], &mut scratch.key.1)?;
    let before = scratch.waited.get(&scratch.key).copied().unwrap_or(0);
    Ok(before.saturating_add(n))
}

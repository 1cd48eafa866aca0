//! Statements that are not I/O: printing, sleeping, talking to other ranks. And open-loop arrivals:
//! `with (rate=1000/s, arrival="poisson")`. Operations are due at times of a schedule that goes on however long
//! they take.
//!
//! ```text
//! due      |    |    |    |    |    |      the schedule
//! started  |    |         || |      |      when it is due, or as soon as the rank can
//!                    ^ backlog 1
//! ```
//!
//! A rank waits for the next due time before its operation, outside of the readings of the clock: it
//! sleeps, and spins at the end. Operations under way (io_uring) are counted meanwhile.

use super::eval::Env;
use super::io::Io;
use super::rank::Machine;
use super::schedule::NOT_DUE;
use super::step::Step;
use super::tally::{Fault, Flow, Pause, came};
use crate::backend::Backend;
use crate::clock::Clock;
use crate::comm::{Check, Claim, Comm, Given, Members};
use crate::stop;
use model::function::{Accepts, Calc};
use model::plan::{Function, Operand, Pc, SetId};
use model::value::{self, Eval, EvalError};
use model::{Value, escape};
use std::io::{ErrorKind, Write};
use std::os::fd::RawFd;

/// How often a rank that computes looks whether it shall stop.
const SLICE_NS: u64 = 10_000_000;

/// How often a rank that prints into a full pipe does, milliseconds.
const LOOK_MS: i32 = 100;

/// Nothing is due later than this, 146 years: clocks, also the one of rehearsals, go no further than twice
/// as far.
const DUE_MAX_NS: u64 = 1 << 62;
/// So long before it is due a rank stops sleeping: a sleep of the kernel may end later than asked for.
const SPIN_NS: u64 = 120_000;

impl<B: Backend> Machine<'_, B> {
    /// `sleep`; `agile`: no time passes.
    pub(super) fn sleep(&mut self, step: Step<'_>, comm: &mut dyn Comm) -> Flow {
        if self.io.settings.agile {
            return Ok(());
        }
        self.pass(step, comm, (u64::MAX, Clock::sleep))
    }

    /// `compute`
    pub(super) fn compute(&mut self, step: Step<'_>, comm: &mut dyn Comm) -> Flow {
        // Virtual time jumps.
        let slice_ns = if matches!(self.io.clock, Clock::Virtual(_)) { u64::MAX } else { SLICE_NS };
        self.pass(step, comm, (slice_ns, Clock::spin))
    }

    /// Lets time pass in slices, until it has or the rank shall stop. What statements have cost since the
    /// last operation or pause is part of it, so that pauses add up exactly.
    fn pass(
        &mut self,
        step: Step<'_>,
        comm: &mut dyn Comm,
        (slice_ns, slice): (u64, fn(&Clock, u64)),
    ) -> Flow {
        let ns = self.env.value(step.site, step.args[0])?.as_duration_ns()?;
        let io = &mut self.io;
        let mut now_ns = io.clock.now();
        let since_ns = match io.ended_ns {
            1.. if io.queue.is_idle() => io.ended_ns.min(now_ns),
            _ => now_ns,
        };
        let end_ns = since_ns.saturating_add(ns);
        while now_ns < end_ns {
            if comm.check() == Check::Interrupted {
                return Err(Pause::Interrupted.into());
            }
            slice(&io.clock, (end_ns - now_ns).min(slice_ns));
            now_ns = io.clock.now();
        }
        io.ended_ns = end_ns;
        Ok(())
    }

    /// `print`: one line in one write(2), so that the lines of ranks do not mix.
    pub(super) fn print(&mut self, step: Step<'_>) -> Flow {
        let line = &mut self.scratch.line;
        line.clear();
        write!(line, "[{}]", self.env.scope.rank).expect("writing to a vector cannot fail");
        for operand in step.args {
            line.push(b' ');
            self.env.render(step.site, *operand, line)?;
        }
        // Names and parameters come from outside: they must not command the terminal.
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~');
        if !line.iter().all(is_plain) {
            let shown = escape::bytes(line);
            line.clear();
            line.extend_from_slice(shown.as_bytes());
        }
        line.push(b'\n');
        if let Some(fd) = self.io.settings.print_fd {
            write_all(fd, line);
        }
        Ok(())
    }

    /// `gsum(x)` and the like: meets the other members of the active group. May be asked again with the
    /// same argument.
    pub(super) fn collective(
        &mut self,
        site: Pc,
        function: Function,
        args: &[Operand],
        comm: &mut dyn Comm,
    ) -> Flow<Value> {
        let row = function.row();
        let member = match (args.get(1), function) {
            (Some(root), _) => self.env.size(site, *root)? as usize,
            (None, Function::Gbcast) => 0,
            (None, _) => self.env.scope.number(),
        };
        let own = self.env.value(site, args[0])?;
        let own = match row.params {
            [Accepts::Condition] => Value::Bool(own.as_condition()?),
            _ => value::number(own)?,
        };
        let (Calc::Collective(of_all), Some(given)) = (row.calc, Given::new(function, &own)) else {
            return Err(EvalError::Unset.into());
        };
        let all = &mut self.scratch.given;
        let poll = comm.gather(self.env.scope.members(), site, (function, given), all);
        came(poll?)?;
        Ok(of_all(all, member)?)
    }

    /// `next(counter)`: claims from the set of its own that the counter has in the plan ([`Plan::counters`]).
    pub(super) fn next_number(&mut self, counter: Operand, comm: &mut dyn Comm) -> Flow<Value> {
        let plan = self.prepared.plan;
        let name = plan.literal(counter).unwrap_or_default();
        let at = plan.counters.iter().position(|known| known.as_bytes() == name);
        let first = plan.sets.len().saturating_sub(plan.counters.len());
        let set = (first + at.ok_or(EvalError::Unset)?) as SetId;
        let members = Members { set, ranks: (0..plan.ranks).into() };
        // Without an end no rank claims ahead, so that every number is given.
        let number = comm.claim(&members, Claim { execution: 1, numbers: 0 })?;
        number.map(|number| Value::Int(number as i64)).ok_or_else(|| Pause::Pending.into())
    }

    /// `signal`
    pub(super) fn signal(&mut self, step: Step<'_>, comm: &mut dyn Comm) -> Flow {
        let members = match self.env.plan.literal(step.args[2]) {
            Some(name) => self.env.group_named(name)?,
            None => self.env.scope.members().clone(),
        };
        let to = match step.args[1] {
            Operand::ABSENT => None,
            operand => Some(member(self.env.int(step.site, operand)?, &members)?),
        };
        self.scratch.line.clear();
        self.env.render(step.site, step.args[0], &mut self.scratch.line)?;
        comm.signal(&members, &self.scratch.line, to).map_err(Fault::message)
    }

    /// `wait`: the k-th wait for a signal is over when its counter has reached the sum of the first
    /// k numbers. May be asked again with the same arguments.
    pub(super) fn wait(&mut self, step: Step<'_>, comm: &mut dyn Comm) -> Flow {
        let members = self.env.scope.members().clone();
        let target = self.wait_target(step.site, step.args)?;
        let poll = comm.wait(&members, &self.scratch.key.1, target, step.site)?;
        came(poll)?;
        match self.scratch.waited.get_mut(&self.scratch.key) {
            Some(sum) => *sum = target,
            None => drop(self.scratch.waited.insert(self.scratch.key.clone(), target)),
        }
        Ok(())
    }

    /// `tested(signal, n)`: whether such a wait would be over at once.
    pub(super) fn tested(&mut self, site: Pc, args: &[Operand], comm: &mut dyn Comm) -> Flow<bool> {
        let target = self.wait_target(site, args)?;
        comm.tested(self.env.scope.members(), &self.scratch.key.1, target).map_err(Fault::message)
    }

    /// The target of the counter of a signal: the sum of the numbers this rank has waited for, and
    /// the next. Name and set are in `scratch.key` then.
    fn wait_target(&mut self, site: Pc, args: &[Operand]) -> Flow<u64> {
        let n = match args.get(1) {
            Some(operand) => self.env.optional_size(site, *operand)?.unwrap_or(1),
            None => 1,
        };
        self.scratch.key.0 = self.env.scope.members().set;
        self.scratch.key.1.clear();
        self.env.render(site, args[0], &mut self.scratch.key.1)?;
        let before = self.scratch.waited.get(&self.scratch.key).copied().unwrap_or(0);
        Ok(before.saturating_add(n))
    }
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
pub(super) fn assert(step: Step<'_>, env: &mut Env<'_>) -> Flow {
    if env.value(step.site, step.args[0])?.as_condition()? {
        return Ok(());
    }
    let message = step.args[1];
    if message == Operand::ABSENT {
        return Err(Fault::message("assertion failed"));
    }
    let mut text = b"assertion failed: ".to_vec();
    env.render(step.site, message, &mut text)?;
    Err(Fault::message(String::from_utf8_lossy(&text)))
}

/// World rank of a member.
fn member(number: i64, members: &Members) -> Eval<u32> {
    let found = u32::try_from(number).ok().and_then(|at| members.ranks.nth(at));
    found.ok_or_else(|| {
        let found = format!("member {number} of {}", members.ranks.len());
        EvalError::Range("expected a member of the group that the signal is for", found)
    })
}

impl<B: Backend> Io<'_, B> {
    /// Waits until the operation that is about to be executed is due. May be asked again.
    #[cold]
    pub(super) fn wait_until_due(&mut self, comm: &mut dyn Comm) -> Flow {
        if self.arrivals.due_ns != NOT_DUE {
            // It was begun before.
            return Ok(());
        }
        let schedule = self.options.active().schedule;
        let due_ns = self.arrivals.next_due_ns(schedule);
        if due_ns > DUE_MAX_NS {
            return Err(Fault::message("the next operation is due in more than 146 years"));
        }
        let mut now_ns = self.clock.now();
        if now_ns < due_ns {
            self.wait_until(due_ns, comm)?;
            now_ns = self.clock.now();
        }
        self.arrivals.start(schedule, now_ns);
        Ok(())
    }

    /// Whether the next iteration of a loop would begin at its time limit or later: where operations are due,
    /// when the next one is. The loop then lasts until the limit. May be asked again.
    pub(super) fn reaches_limit(&mut self, limit_ns: u64, comm: &mut dyn Comm) -> Flow<bool> {
        let begins_ns = match self.options.active().schedule {
            0 => 0,
            schedule => self.arrivals.next_due_ns(schedule),
        };
        if begins_ns.max(self.clock.now()) < limit_ns {
            return Ok(false);
        }
        self.wait_until(limit_ns, comm)?;
        Ok(true)
    }

    fn wait_until(&mut self, due_ns: u64, comm: &mut dyn Comm) -> Flow {
        self.ended_ns = 0;
        let spin_ns = if self.clock.passes_by_itself() { SPIN_NS } else { 0 };
        loop {
            let left_ns = due_ns.saturating_sub(self.clock.now());
            if left_ns == 0 {
                return Ok(());
            }
            let sleep_ns = left_ns.saturating_sub(spin_ns);
            match self.queue.is_idle() {
                true if sleep_ns > 0 => self.clock.sleep(sleep_ns),
                true => self.clock.spin(left_ns),
                false => self.wait_within(sleep_ns)?,
            }
            match comm.check() {
                Check::GoOn => {}
                Check::Interrupted => return Err(Pause::Interrupted.into()),
                // Another simulated rank is behind in time.
                Check::Yield => return Err(Pause::Pending.into()),
            }
        }
    }

    /// Keeps what became of a schedule, and of those inside of it.
    pub(super) fn leave_schedule(&mut self, number: u32) {
        let now_ns = self.clock.now();
        for (label, site, figures) in self.arrivals.leave(number, now_ns) {
            self.recorder.arrived(label, site, &figures);
        }
    }
}

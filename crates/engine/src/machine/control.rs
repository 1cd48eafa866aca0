//! Statements and functions that are no I/O: printing, sleeping, talking to other ranks, random numbers, figures of
//! labels while the program runs (`seconds("write")`), scores.
//!
//! Open-loop arrivals are here, too (`with (rate=1000/s, arrival="poisson")`): operations are due at times of a
//! schedule that goes on however long they take.
//!
//! ```text
//! due      |    |    |    |    |    |      the schedule
//! started  |    |         || |      |      when it is due, or as soon as the rank can
//!                    ^ backlog 1
//! ```
//!
//! A rank waits for the next due time before its operation, outside of the readings of the clock: it
//! sleeps, and spins at the end. Operations under way (io_uring) are counted meanwhile.
//!
//! Figures are taken over all ranks of a label:
//!
//! ```text
//! record of this rank ─▶ LabelFigures ─▶ bytes ─▶ a gather for every 8 bytes ─▶ LabelFigures of all ranks ─▶ value
//! ```

use super::eval::{Env, Random};
use super::extents::Ready;
use super::io::Io;
use super::rank::{Exchange, Machine};
use super::schedule::NOT_DUE;
use super::step::Step;
use super::tally::{Fault, Flow, Pause, came};
use crate::call::Call;
use crate::clock::Clock;
use crate::collect::{LabelFigures, never_executed};
use crate::comm::{Check, Claim, Comm, Given, Members, Poll};
use crate::recorder::{RankRecord, ScoreRecord};
use crate::rng::RankRng;
use crate::stop;
use model::function::{Accepts, Calc, Choice, Draw, Figure, Question};
use model::merge::Merge;
use model::pattern::Extent;
use model::plan::{Args, Function, Operand, Pc, SetId, Slot, Source};
use model::value::{self, Eval, EvalError};
use model::{Value, errno, escape};
use std::collections::hash_map::Entry;
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

impl Machine<'_> {
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

impl Io<'_> {
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

impl Machine<'_> {
    /// `dst = function(args)`
    pub(super) fn function(&mut self, site: Pc, function: Function, dst: Slot, args: Args) -> Flow {
        let args = &self.prepared.plan.args[args.range()];
        let env = &mut self.env;
        let value = match function.row().calc {
            Calc::Drawn(what) => drawn(env, site, what, args)?,
            Calc::Queried(Question::Size) => {
                let size = self.size_of((site, function), args[0])?;
                Value::Int(size.map_or(-1, |bytes| bytes as i64))
            }
            Calc::Queried(Question::Exists) => {
                Value::Bool(self.size_of((site, function), args[0])?.is_some())
            }
            Calc::Queried(Question::Pieces) => of_pattern(env, site, args[0], |p| Ok(p.count()))?,
            Calc::Queried(Question::PieceOffset) => of_piece(env, site, args, |p| p.offset_bytes)?,
            Calc::Queried(Question::PieceSize) => of_piece(env, site, args, |p| p.length_bytes)?,
            // The evaluator and the execute loop have taken the others.
            _ => return Ok(()),
        };
        self.env.set(dst, value);
        Ok(())
    }

    /// `size(path)`, `exists(path)`: asks the back-end; not timed, not counted. `None`: it is not there.
    fn size_of(&mut self, (site, function): (Pc, Function), path: Operand) -> Flow<Option<u64>> {
        self.env.path(site, path, &mut self.io.paths[0])?;
        if self.io.accounts {
            self.io.backend.begins(site, true);
        }
        let path = self.io.paths[0].as_c_str();
        // Whose size is asked for has to be there; a rehearsal takes nothing for granted of the other.
        let call = match function {
            Function::Exists => Call::Access { path },
            _ => Call::Stat { path },
        };
        let reply = match self.io.backend.prepare(&call) {
            Ok(()) => self.io.backend.issue(call),
            Err(errno) => -i64::from(errno),
        };
        match u64::try_from(reply) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(_) if matches!(-reply as i32, libc::ENOENT | libc::ENOTDIR) => Ok(None),
            Err(_) => {
                let path = String::from_utf8_lossy(self.io.paths[0].bytes());
                let (name, text) = (errno::name(-reply as u16), errno::text(-reply as u16));
                Err(Fault::message(format!("\"{path}\" cannot be looked at: {name} ({text})")))
            }
        }
    }
}

/// Asks the pattern that the first argument names.
fn of_pattern(
    env: &mut Env<'_>,
    site: Pc,
    pattern: Operand,
    ask: impl FnOnce(&mut Ready<'_>) -> Flow<u64>,
) -> Flow<Value> {
    let Some(ready) = env.extents_of(site, pattern)? else {
        let found = env.value(site, pattern)?.describe();
        return Err(Fault::message(format!("expected the name of a pattern, found {found}")));
    };
    ask(ready).map(|n| Value::Int(n as i64))
}

/// Asks for a piece: `piece_offset(pattern, i)`, `piece_size(pattern, i)`.
fn of_piece(
    env: &mut Env<'_>,
    site: Pc,
    args: &[Operand],
    ask: impl FnOnce(Extent) -> u64,
) -> Flow<Value> {
    let i = env.size(site, args[1])?;
    of_pattern(env, site, args[0], |ready| {
        let count = ready.count();
        let missing = || format!("expected a piece from 0 to below {count}, found {i}");
        ready.extent(i).map(ask).ok_or_else(|| Fault::message(missing()))
    })
}

/// `empirical(list)`
fn element(env: &mut Env<'_>, site: Pc, list: Operand) -> Eval<Value> {
    let Value::List(items) = env.value(site, list)?.clone() else {
        return Err(EvalError::Type("a list", env.value(site, list)?.describe()));
    };
    let weighted = matches!(items.first(), Some(Value::List(_)));
    if items.is_empty() {
        return Err(EvalError::Range("expected a list with a value", "an empty one".into()));
    }
    let Random { rank: stream, weights, .. } = &mut env.random;
    if !weighted {
        let at = stream.uniform(0, items.len() as i64 - 1)?;
        return value::number(&items[at as usize]);
    }
    let made;
    let sums = match list.source() {
        Source::Const(number) => match weights.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(sums_of_weights(&items)?),
        },
        _ => {
            made = sums_of_weights(&items)?;
            &made
        }
    };
    let chosen = stream.below(sums[sums.len() - 1]);
    let at = sums.partition_point(|sum| *sum <= chosen).min(sums.len() - 1);
    value::number(pair(&items[at])?.0)
}

fn pair(item: &Value) -> Eval<(&Value, f64)> {
    let wrong = || EvalError::Type("a value and its weight, such as [4k, 70]", item.describe());
    let Value::List(pair) = item else { return Err(wrong()) };
    let [value, weight] = &pair[..] else { return Err(wrong()) };
    let weight = weight.as_float()?;
    let usable = weight.is_finite() && weight >= 0.0;
    usable.then_some((value, weight)).ok_or_else(|| {
        EvalError::Range("expected a weight that is not negative", weight.to_string())
    })
}

fn sums_of_weights(items: &[Value]) -> Eval<Vec<f64>> {
    let mut sum = 0.0;
    let sums = items.iter().map(|item| {
        sum += pair(item)?.1;
        Ok(sum)
    });
    let sums = sums.collect::<Eval<Vec<f64>>>()?;
    match sum > 0.0 && sum.is_finite() {
        true => Ok(sums),
        false => Err(EvalError::Range("expected a weight above 0", "none".into())),
    }
}

fn drawn(env: &mut Env<'_>, site: Pc, what: Draw, args: &[Operand]) -> Eval<Value> {
    if what == Draw::Empirical {
        return element(env, site, args[0]);
    }
    let first = value::number(env.value(site, args[0])?)?;
    let second = match args.get(1) {
        Some(operand) => value::number(env.value(site, *operand)?)?,
        None => Value::Unset,
    };
    let stream = &mut env.random.rank;
    if let Value::Duration(first_ns) = first {
        return duration(stream, what, first_ns, &second);
    }
    Ok(match what {
        Draw::Uniform => Value::Int(stream.uniform(first.as_int()?, second.as_int()?)?),
        Draw::Normal => Value::Float(stream.normal(first.as_float()?, second.as_float()?)?),
        Draw::Zipf => Value::Int(stream.zipf(first.as_int()?, second.as_float()?)?),
        Draw::Exponential => Value::Float(stream.exponential(first.as_float()?)?),
        Draw::Gamma => Value::Float(stream.gamma(first.as_float()?, second.as_float()?)?),
        Draw::Empirical => Value::Unset,
    })
}

/// A duration of a distribution of durations. A normal one has a tail below 0, which counts as 0,
/// so that a program can sleep for what it draws.
fn duration(stream: &mut RankRng, what: Draw, first_ns: i64, second: &Value) -> Eval<Value> {
    let second_ns = match second {
        Value::Duration(ns) => *ns,
        _ if matches!(what, Draw::Exponential | Draw::Gamma) => 0,
        other => return Err(EvalError::Type("a duration, as the first is", other.describe())),
    };
    let ns = match what {
        Draw::Uniform => return stream.uniform(first_ns, second_ns).map(Value::Duration),
        Draw::Normal => stream.normal(first_ns as f64, second_ns as f64)?,
        Draw::Exponential => stream.exponential(first_ns as f64)?,
        Draw::Gamma => stream.gamma(first_ns as f64, second.as_float()?)?,
        Draw::Zipf | Draw::Empirical => {
            return Err(EvalError::Type("an integer", "a duration".into()));
        }
    };
    Ok(Value::Duration(ns.max(0.0) as i64))
}

/// A label and what its figures are of, as every rank has to ask for them.
type Asked<'a> = (&'a str, Option<Choice>);

impl Machine<'_> {
    /// `seconds(label)` and the like. May be asked again with the same arguments.
    pub(super) fn measured(
        &mut self,
        site: Pc,
        function: Function,
        args: &[Operand],
        comm: &mut dyn Comm,
    ) -> Flow<Value> {
        let Calc::Measured(figure) = function.row().calc else {
            return Err(EvalError::Unset.into());
        };
        let mut label = Vec::new();
        self.env.render(site, args[0], &mut label)?;
        let label = String::from_utf8_lossy(&label).into_owned();
        let choice = match args.get(1) {
            Some(word) => {
                let mut text = Vec::new();
                self.env.render(site, *word, &mut text)?;
                Some(figure.choice(&text)?)
            }
            None => None,
        };
        let all = self.figures_of_all(site, function, (&label, choice), comm)?;
        self.value_of(figure, &label, &all)
    }

    /// The label's figures over all ranks.
    fn figures_of_all(
        &mut self,
        site: Pc,
        function: Function,
        asked: Asked<'_>,
        comm: &mut dyn Comm,
    ) -> Flow<LabelFigures> {
        let world = Members { set: 0, ranks: (0..self.prepared.plan.ranks).into() };
        let mut exchange = match self.scratch.exchange.take() {
            Some(begun) => begun,
            None => {
                let own = LabelFigures::of_rank(&self.so_far()?, asked.0, asked.1);
                Exchange::new(pack(asked, own))
            }
        };
        while !exchange.is_done() {
            let given = Given::new(function, &Value::Int(exchange.next())).unwrap_or_default();
            let poll = comm.gather(&world, site, (function, given), &mut self.scratch.given)?;
            if poll == Poll::Pending {
                self.scratch.exchange = Some(exchange);
                return Err(Pause::Pending.into());
            }
            came(poll)?;
            exchange.take(&self.scratch.given);
        }
        let mut sum = LabelFigures::default();
        for (rank, (bytes, length)) in exchange.all.iter().enumerate() {
            let figures = unpack(asked, &bytes[..*length]);
            sum.merge_from(figures.map_err(|found| {
                let (name, label) = (function.row().name, asked.0);
                let message =
                    format!("{name}: rank {rank} asks for {found}, this rank for \"{label}\"");
                Fault::message(message)
            })?);
        }
        Ok(sum)
    }

    fn so_far(&self) -> Flow<RankRecord> {
        self.io.recorder.figures_so_far().map_err(Fault::message)
    }

    /// The value. What a rehearsal or `--only` leaves out counts as 1, so that formulas have values.
    fn value_of(&self, figure: Figure, label: &str, all: &LabelFigures) -> Flow<Value> {
        if all.is_open() {
            return Err(Fault::message(format!("the label \"{label}\" has not ended")));
        }
        match all.value(figure) {
            Some(value) => Ok(value),
            None if self.io.accounts || self.io.labels.leaves_out() => Ok(match figure {
                Figure::Seconds | Figure::Rate => Value::Float(1.0),
                Figure::Count | Figure::Bytes => Value::Int(1),
            }),
            None => Err(Fault::message(never_executed(label, &self.so_far()?))),
        }
    }

    /// `score`: rank 0 keeps the value.
    pub(super) fn score(&mut self, step: Step<'_>) -> Flow {
        let value = match value::number(self.env.value(step.site, step.args[1])?)? {
            Value::Duration(ns) => ns as f64 / 1e9,
            number => number.as_float()?,
        };
        if !value.is_finite() {
            return Err(Fault::message(format!("expected a finite score, found {value}")));
        }
        if self.env.scope.rank != 0 || self.io.accounts || self.io.labels.leaves_out() {
            return Ok(());
        }
        let (mut name, mut unit) = (Vec::new(), Vec::new());
        self.env.render(step.site, step.args[0], &mut name)?;
        if step.args[2] != Operand::ABSENT {
            self.env.render(step.site, step.args[2], &mut unit)?;
        } else if matches!(self.env.value(step.site, step.args[1])?, Value::Duration(_)) {
            unit.push(b's');
        }
        let [name, unit] = [name, unit].map(|text| String::from_utf8_lossy(&text).into_owned());
        self.io.recorder.score(ScoreRecord { name, value, unit });
        Ok(())
    }
}

/// Figures, after what they are of.
fn pack(asked: Asked<'_>, figures: LabelFigures) -> Vec<u8> {
    postcard::to_stdvec(&(key(asked), figures)).unwrap_or_default()
}

/// The figures of a rank; an error is what it asks for, if that is something else.
fn unpack(asked: Asked<'_>, bytes: &[u8]) -> Result<LabelFigures, String> {
    let damaged = |_| "something unknown".to_string();
    let (found, figures): (String, LabelFigures) = postcard::from_bytes(bytes).map_err(damaged)?;
    if found == key(asked) { Ok(figures) } else { Err(found) }
}

fn key((label, choice): Asked<'_>) -> String {
    choice.map_or(format!("\"{label}\""), |choice| format!("\"{label}\" {choice:?}"))
}

#[cfg(test)]
mod figures_tests {
    use super::*;

    #[test]
    fn bytes_of_all_lengths_arrive() {
        let texts: Vec<Vec<u8>> = [0, 1, 8, 30].map(|len| (1..=len).collect()).into();
        let mut ranks: Vec<Exchange> =
            texts.iter().map(|text| Exchange::new(text.clone())).collect();
        let mut rounds = 0;
        while !ranks[0].is_done() {
            let given: Vec<Value> = ranks.iter().map(|rank| Value::Int(rank.next())).collect();
            ranks.iter_mut().for_each(|rank| rank.take(&given));
            rounds += 1;
        }
        assert_eq!(rounds, 1 + 30usize.div_ceil(8));
        for rank in &ranks {
            assert!(rank.is_done());
            let arrived: Vec<&[u8]> = rank.all.iter().map(|(bytes, len)| &bytes[..*len]).collect();
            assert_eq!(arrived, texts);
        }
    }

    #[test]
    fn ranks_that_ask_for_different_labels_are_noticed() {
        let bytes = pack(("a", None), LabelFigures::default());
        assert!(unpack(("a", None), &bytes).is_ok());
        assert_eq!(unpack(("b", None), &bytes), Err("\"a\"".into()));
        assert!(unpack(("a", Some(Choice::Op(model::Op::Write))), &bytes).is_err());
    }
}

//! Open-loop arrivals: `with (rate=1000/s, arrival="poisson")`. Operations are due at times of a schedule
//! that goes on however long they take.
//!
//! ```text
//! due      |    |    |    |    |    |      the schedule
//! started  |    |         || |      |      when it is due, or as soon as the rank can
//!                    ^ backlog 1
//! ```
//!
//! A rank waits for the next due time before its operation, outside of the readings of the clock: it
//! sleeps, and spins at the end. Operations under way (io_uring) are counted meanwhile.

mod times;

use super::control::Flow;
use super::eval::Env;
use super::fault::Fault;
use super::io::Io;
use super::options::word;
use crate::backend::Backend;
use crate::comm::{Check, Comm};
use crate::recorder::{Arrived, Process};
use model::Value;
use model::plan::{Options, Pc};
use model::value::Eval;
use model::with::RANK_RATE_MAX;
pub(super) use times::Rate;
use times::Times;

/// The running operation is due at no time.
pub(super) const NOT_DUE: u64 = u64::MAX;
/// Nothing is due later than this, 146 years: clocks, also the one of rehearsals, go no further than twice
/// as far.
const DUE_MAX_NS: u64 = 1 << 62;
/// So long before it is due a rank stops sleeping: a sleep of the kernel may end later than asked for.
const SPIN_NS: u64 = 120_000;

/// The schedules of a rank.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// When the running operation was due.
    pub(super) due_ns: u64,
    open: Vec<Schedule>,
    /// Schedules so far.
    begun: u32,
}

/// A `with (rate=...)` that the rank is in.
#[derive(Debug)]
struct Schedule {
    label: u32,
    site: Pc,
    /// The operations that are not started.
    next: Times,
    /// Those that were not due at the latest look.
    later: Times,
    first: At,
    last: At,
    /// What is kept, as far as it is known.
    figures: Arrived,
}

/// A start of an operation.
#[derive(Clone, Copy, Debug, Default)]
struct At {
    due_ns: u64,
    start_ns: u64,
}

impl Arrivals {
    pub(super) fn new() -> Arrivals {
        Arrivals { due_ns: NOT_DUE, open: Vec::new(), begun: 0 }
    }

    /// Enters a `with (rate=...)` inside of a label; the number of its schedule.
    pub(super) fn enter(
        &mut self,
        rate: &Rate,
        (label, site): (u32, Pc),
        (seed, rank): (u64, u32),
        now_ns: u64,
    ) -> u32 {
        // So that operations under way and the stack need no memory later.
        let next = Times::new(rate, now_ns, (seed, rank, self.begun));
        self.begun += 1;
        let figures = Arrived {
            executions: 1,
            process: rate.process as u64,
            asked_milli: (rate.own_ops_s * 1e3).round() as u64,
            ..Arrived::default()
        };
        let later = next.clone();
        let (first, last) = (At::default(), At::default());
        self.open.push(Schedule { label, site, next, later, first, last, figures });
        self.open.len() as u32
    }

    /// The schedule with this number and those inside of it are over: what is to be kept of them.
    pub(super) fn leave(
        &mut self,
        number: u32,
        now_ns: u64,
    ) -> impl Iterator<Item = (u32, Pc, Arrived)> + '_ {
        let from = (number as usize).saturating_sub(1).min(self.open.len());
        self.open.drain(from..).map(move |schedule| schedule.over(now_ns))
    }

    /// The next operation of a schedule starts.
    fn start(&mut self, number: u32, now_ns: u64) {
        if let Some(schedule) = self.open.get_mut(number as usize - 1) {
            self.due_ns = schedule.start(now_ns);
        }
    }

    fn next_due_ns(&self, number: u32) -> u64 {
        self.open.get(number as usize - 1).map_or(0, |schedule| schedule.next.due_ns())
    }
}

impl Schedule {
    /// Starts the next operation; when it was due.
    fn start(&mut self, now_ns: u64) -> u64 {
        let at = At { due_ns: self.next.due_ns(), start_ns: now_ns };
        self.next.advance();
        if self.figures.operations == 0 {
            self.first = at;
        }
        self.last = at;
        let late_ns = now_ns.saturating_sub(at.due_ns);
        let backlog = self.backlog(now_ns);
        let figures = &mut self.figures;
        figures.operations += 1;
        figures.late_ns = figures.late_ns.saturating_add(late_ns);
        figures.latest_ns = figures.latest_ns.max(late_ns);
        figures.backlog_max = figures.backlog_max.max(backlog);
        at.due_ns
    }

    /// Times of the schedule that have passed without an operation.
    fn backlog(&mut self, now_ns: u64) -> u64 {
        while self.later.due_ns() <= now_ns {
            self.later.advance();
        }
        self.later.given().saturating_sub(self.next.given())
    }

    fn over(mut self, now_ns: u64) -> (u32, Pc, Arrived) {
        let backlog_end = self.backlog(now_ns);
        let figures = Arrived {
            gaps: self.figures.operations.saturating_sub(1),
            due_span_ns: self.last.due_ns - self.first.due_ns,
            start_span_ns: self.last.start_ns - self.first.start_ns,
            backlog_max: self.figures.backlog_max.max(backlog_end),
            backlog_end,
            ..self.figures
        };
        (self.label, self.site, figures)
    }
}

/// Waits until the operation that is about to be executed is due. May be asked again.
#[cold]
pub(super) fn wait<B: Backend>(io: &mut Io<'_, B>, comm: &mut dyn Comm) -> Result<Flow, Fault> {
    if io.arrivals.due_ns != NOT_DUE {
        // It was begun before.
        return Ok(Flow::Next);
    }
    let schedule = io.options.active().schedule;
    let due_ns = io.arrivals.next_due_ns(schedule);
    if due_ns > DUE_MAX_NS {
        return Err(Fault::message("the next operation is due in more than 146 years"));
    }
    let mut now_ns = io.clock.now();
    if now_ns < due_ns {
        match wait_until(due_ns, io, comm)? {
            Flow::Next => now_ns = io.clock.now(),
            flow => return Ok(flow),
        }
    }
    io.arrivals.start(schedule, now_ns);
    Ok(Flow::Next)
}

/// Whether the next iteration of a loop would begin at its time limit or later: where operations are due,
/// when the next one is. The loop then lasts until the limit. May be asked again.
pub(super) fn reaches<B: Backend>(
    limit_ns: u64,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
) -> Result<Result<bool, Flow>, Fault> {
    let begins_ns = match io.options.active().schedule {
        0 => 0,
        schedule => io.arrivals.next_due_ns(schedule),
    };
    if begins_ns.max(io.clock.now()) < limit_ns {
        return Ok(Ok(false));
    }
    match wait_until(limit_ns, io, comm)? {
        Flow::Next => Ok(Ok(true)),
        flow => Ok(Err(flow)),
    }
}

fn wait_until<B: Backend>(
    due_ns: u64,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
) -> Result<Flow, Fault> {
    io.ended_ns = 0;
    let spin_ns = if io.clock.passes_by_itself() { SPIN_NS } else { 0 };
    loop {
        let left_ns = due_ns.saturating_sub(io.clock.now());
        if left_ns == 0 {
            return Ok(Flow::Next);
        }
        let sleep_ns = left_ns.saturating_sub(spin_ns);
        match io.queue.is_idle() {
            true if sleep_ns > 0 => io.clock.sleep(sleep_ns),
            true => io.clock.spin(left_ns),
            false => io.wait_within(sleep_ns)?,
        }
        match comm.check() {
            Check::GoOn => {}
            Check::Interrupted => return Ok(Flow::Interrupted),
            // Another simulated rank is behind in time.
            Check::Yield => return Ok(Flow::Pending),
        }
    }
}

impl<B: Backend> Io<'_, B> {
    /// Keeps what became of a schedule, and of those inside of it.
    pub(super) fn leave_schedule(&mut self, number: u32) {
        let now_ns = self.clock.now();
        for (label, site, figures) in self.arrivals.leave(number, now_ns) {
            self.recorder.arrived(label, site, &figures);
        }
    }
}

/// The rate of this rank that a `with` asks for; `None`: none, or 0.
pub(super) fn rate(env: &mut Env<'_>, site: Pc, options: &Options) -> Result<Option<Rate>, Fault> {
    let mut process = Process::Fixed;
    let mut times: Vec<u64> = Vec::new();
    if let Some(operand) = options.arrival {
        match env.value(site, operand)? {
            Value::List(list) => {
                process = Process::Times;
                times = list.iter().map(Value::as_duration_ns).collect::<Eval<_>>()?;
            }
            value if word(value) == "poisson" => process = Process::Poisson,
            _ => {}
        }
    }
    let ops_s = match (options.rate, times.last()) {
        (Some(_), Some(_)) => {
            return Err(Fault::message("the times of arrival are the rate: leave out rate"));
        }
        (Some(operand), None) => env.value(site, operand)?.as_float()?,
        (None, Some(last_ns)) => times.len() as f64 * 1e9 / *last_ns as f64,
        (None, None) => return Ok(None),
    };
    let member = match options.per {
        Some(operand) if word(env.value(site, operand)?) == "group" => {
            let ranks = &env.scope.members().ranks;
            (ranks.position(env.scope.rank).unwrap_or(0), ranks.len().max(1) as u32)
        }
        _ => (0, 1),
    };
    let own_ops_s = ops_s / f64::from(member.1);
    if own_ops_s > RANK_RATE_MAX {
        return Err(Fault::message(format!(
            "a rank makes at most {RANK_RATE_MAX} operations per second, found a rate of {own_ops_s} for each; \
             use a lower one, or more ranks and per=\"group\""
        )));
    }
    Ok((ops_s > 0.0).then(|| Rate { process, own_ops_s, member, times: times.into() }))
}

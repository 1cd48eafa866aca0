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

use super::io::Io;
use super::schedule::NOT_DUE;
use super::tally::{Fault, Flow};
use crate::backend::Backend;
use crate::comm::{Check, Comm};

/// Nothing is due later than this, 146 years: clocks, also the one of rehearsals, go no further than twice
/// as far.
const DUE_MAX_NS: u64 = 1 << 62;
/// So long before it is due a rank stops sleeping: a sleep of the kernel may end later than asked for.
const SPIN_NS: u64 = 120_000;

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

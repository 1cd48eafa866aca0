//! Locks of files. The kernel is only ever asked to try: a rank that finds a lock taken waits for its
//! communicator, as at a barrier, so that it can be released, and that ranks which wait for each other
//! are found and named.
//!
//! ```text
//! rank 0  flock($a, "exclusive"); flock($b, "exclusive");     each holds what the other wants
//! rank 1  flock($b, "exclusive"); flock($a, "exclusive");
//! ```

use super::driver;
use super::eval::Env;
use super::flow::{Fault, Flow};
use super::io::{Io, WantedLock};
use super::step::{LOCKS, Step, chosen, handle};
use super::tally::{Shot, Subject};
use crate::backend::Backend;
use crate::call::{Call, Fd, Reply};
use crate::comm::{Comm, Poll};
use model::plan::Operand;

const TAKEN: Reply = -(libc::EWOULDBLOCK as Reply);

/// `flock`. May be asked again with the same arguments.
pub(super) fn flock<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
) -> Result<Flow, Fault> {
    let operation = chosen(step, env, 1, LOCKS)?.unwrap_or(libc::LOCK_UN);
    let waits = step.args[2] == Operand::ABSENT;
    let Some((at, fd)) = handle(step, env, io)? else { return Ok(Flow::Next) };
    loop {
        if let Some(wanted) = io.wanted_lock {
            let poll = comm.wait_for_lock(&io.handles.get(at).path, wanted.seen, step.site);
            if poll != Poll::Ready {
                io.wanted_lock = io.wanted_lock.filter(|_| poll == Poll::Pending);
                return Ok(poll.into());
            }
        }
        let seen = comm.locks_given_back();
        let shot = driver::timed(&mut io.backend, &io.clock, Call::Flock { fd, operation });
        let start_ns = io.wanted_lock.map_or(shot.start_ns, |wanted| wanted.start_ns);
        // Taking another kind of lock gives the old one up, even if the new one is refused.
        let held = std::mem::replace(
            &mut io.handles.get(at).locked,
            shot.reply >= 0 && operation != libc::LOCK_UN,
        );
        if held {
            comm.gave_lock_back();
        }
        if shot.reply == TAKEN && waits {
            io.wanted_lock = Some(WantedLock { start_ns, seen });
            continue;
        }
        io.wanted_lock = None;
        let shot = Shot { start_ns, ..shot };
        return io.settle(step.op, step.site, shot, Subject::Handle(at)).map(|()| Flow::Next);
    }
}

/// Gives back what a rank that ends still holds, so that nobody waits for it.
pub(super) fn give_all_back<B: Backend>(io: &mut Io<'_, B>, comm: &mut dyn Comm) {
    let held: Vec<Fd> = io.handles.locked().collect();
    for fd in held {
        io.backend.issue(Call::Flock { fd, operation: libc::LOCK_UN });
        comm.gave_lock_back();
    }
}

//! Access by a pattern: a loop of pread or pwrite over its pieces, one operation with their times
//! added up. Between two clock readings there is one call here too.

use super::eval::Env;
use super::fault::Fault;
use super::io::{Io, Subject, Tally};
use super::perform::{Step, sync_written};
use super::shares::Ready;
use super::transfer::{self, Place};
use crate::backend::{Act, Backend};
use crate::buffer::Buffers;
use crate::call::Fd;
use crate::clock::Clock;
use crate::stop;
use model::pattern::Run;
use model::plan::{Operand, Pc};
use model::{Op, Value};

/// The handle that an access goes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// Its place in the table of handles.
    pub(super) at: usize,
    pub(super) fd: Fd,
    /// Added to the offset of every piece.
    pub(super) displacement_bytes: u64,
}

impl<'p, K: Clock> Env<'p, K> {
    /// The pieces of the pattern that an operand names, if it names one.
    #[inline(always)]
    pub(super) fn pieces(
        &mut self,
        site: Pc,
        operand: Operand,
    ) -> Result<Option<&mut Ready<'p>>, Fault> {
        if self.plan.patterns.is_empty() {
            return Ok(None);
        }
        self.pieces_of(site, operand)
    }

    #[inline(never)]
    fn pieces_of(&mut self, site: Pc, operand: Operand) -> Result<Option<&mut Ready<'p>>, Fault> {
        let plan = self.plan;
        let Value::Str(name) = self.value(site, operand)? else { return Ok(None) };
        let named = |pattern: &model::plan::Pattern| pattern.name.as_bytes() == name;
        let Some(number) = plan.patterns.iter().position(named) else { return Ok(None) };
        let group = plan.patterns[number].group.as_ref();
        let group = group.and_then(|name| plan.groups.iter().find(|group| group.name == *name));
        let ranks = match group {
            Some(group) => group.members.clone(),
            None => self.scope.members().ranks.clone(),
        };
        self.shares.get(plan, number, &ranks, self.scope.rank).map(Some)
    }
}

/// Reads or writes all pieces; the position of the handle stays.
#[inline(never)]
pub(super) fn access<B: Backend, K: Clock>(
    step: Step<'_>,
    ready: &Ready<'_>,
    io: &mut Io<'_, B, K>,
    buffers: &mut Buffers,
    target: Target,
) -> Result<(), Fault> {
    let writes = step.op == Op::Fwrite;
    let mode = io.handles.get(target.at).mode;
    let mut total = Tally::EMPTY;
    if writes && mode.append {
        // Everything would go to the end of the file, in no pattern.
        total.fail(libc::EINVAL);
        return io.conclude(step.op, step.site, &total, Subject::Handle(target.at));
    }
    if B::REHEARSES {
        rehearse(ready, io, target, writes, &mut total);
    }
    ready.for_each(|piece| {
        if B::REHEARSES {
            return false;
        }
        let offset_bytes = piece.offset_bytes.saturating_add(target.displacement_bytes);
        let place = Place { fd: target.fd, offset_bytes, append: false, direct: mode.direct };
        let mut part = Tally::EMPTY;
        if writes {
            transfer::write(io, buffers, place, piece.length_bytes, None, &mut part);
        } else {
            transfer::read(io, buffers, place, Some(piece.length_bytes), &mut part);
        }
        total.absorb(&part);
        if stop::requested() {
            transfer::give_up(&mut total);
        }
        total.errno == 0
    });
    total.requested_bytes = ready.bytes;
    if !writes {
        io.was_read(mode.direct.is_some(), total.done_bytes);
    } else if total.errno == 0 {
        io.wrote_to(target.at, mode, total.done_bytes);
        sync_written(io, target.at, target.fd, &mut total);
    }
    total.short |= B::REHEARSES && total.done_bytes < ready.bytes;
    if total.timing.start_ns == u64::MAX {
        let now_ns = io.clock.now();
        (total.timing.start_ns, total.timing.end_ns) = (now_ns, now_ns);
    }
    if io.keeps_events {
        (io.touched.extents, io.touched.pieces) = ready.recorded(&mut io.recorder);
    }
    io.conclude(step.op, step.site, &total, Subject::Handle(target.at))
}

/// All pieces as a rehearsal accesses them: equal ones at once.
fn rehearse<B: Backend, K: Clock>(
    ready: &Ready<'_>,
    io: &mut Io<'_, B, K>,
    target: Target,
    write: bool,
    total: &mut Tally,
) {
    for run in ready.runs().filter(|run| run.count > 0 && run.length_bytes > 0) {
        let largest = transfer::call_bytes(io.options.active().transfer).min(run.length_bytes);
        io.backend.rehearse(Act::Buffer(largest));
        let offset_bytes = run.offset_bytes.saturating_add(target.displacement_bytes);
        let run = Run { offset_bytes, ..run };
        match io.backend.rehearse(Act::Pieces { fd: target.fd, run, write }) {
            reply if reply < 0 => return total.fail(-reply as i32),
            moved => total.done_bytes += moved as u64,
        }
    }
}

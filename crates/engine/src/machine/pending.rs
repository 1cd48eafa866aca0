//! Operations under way together: `with (engine="uring", depth=N)`. A statement submits its operation
//! and the program goes on; it is counted when it has ended, in whatever order that is.
//!
//! ```text
//! fread   submit ─┐               N are under way: wait for one of them
//! fread   submit ─┼─ hand over ──▶ kernel ──▶ ended: count, and go on with what was partial
//! fread   submit ─┘
//! fclose  wait for those of its file              label, with, barrier, signal, wait: for all
//! ```
//!
//! An operation lasts from the reading before it was handed over to the reading after its end was seen;
//! what is handed over together shares the first, what has ended together the second.

mod waits;

use super::arrivals::NOT_DUE;
use super::fault::Fault;
use super::handles::Mode;
use super::io::Io;
use super::note;
use super::now;
use super::options::{Engine, Fsync};
use super::perform::Step;
use super::place::RUN;
use super::tally::{Shot, Subject, Tally};
use super::task::{Bytes, Data, STOPPED, Transfer, call_bytes};
use crate::backend::Backend;
use crate::buffer::{Area, Buffers};
use crate::call::{Fd, QueueSettings, Queued, Reply, Submitted, Tag, Target};
use crate::record::Count;
use crate::stop;
use model::plan::{NO_SLOT, Pc};
use model::value::Outcome;
use model::{Op, Part};

/// Without `batch`: so many operations are handed over together. A disk that ended many at once would
/// have nothing to do while all of their successors are prepared: at depth 32 the rate is a sixth
/// below that of 4 (a virtual disk of 70,000 reads/s); fewer cost system calls.
const HANDED_OVER: usize = 4;

/// Of batches whose ends are waited for in the same system call, one of so many is handed over without
/// waiting: whether the kernel makes calls one by one shows only there.
const LOOK_EVERY: u64 = 64;
/// Larger operations are made by calls: each of those under way has memory of its own.
const LARGEST_BYTES: u64 = 64 << 20;

/// What is under way on a rank.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// The queue that the back-end has open.
    settings: Option<QueueSettings>,
    area: Area,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Submitted, and not handed over.
    fresh: Vec<u32>,
    under_way: u32,
    /// How often something was handed over.
    batch: u64,
    kinds: Vec<Kind>,
    /// What became of the operation that a statement waits for.
    outcome: Option<Outcome>,
}

/// An operation under way.
#[derive(Clone, Copy, Debug)]
struct Slot {
    op: Op,
    site: Pc,
    /// The place of its handle.
    at: usize,
    fd: Fd,
    mode: Mode,
    work: Work,
    offset_bytes: u64,
    len: u64,
    done_bytes: u64,
    /// The most that one call moves.
    call_bytes: u64,
    /// When it was handed over; `u64::MAX` before.
    start_ns: u64,
    batch: u64,
    /// Its statement waits for it.
    awaited: bool,
    /// When it was due.
    due_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Read,
    Write,
    Sync { data: bool },
}

/// Operations of one kind: since when some are under way that is not counted as busy yet.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    under_way: u32,
    since_ns: u64,
}

impl Pending {
    /// Nothing is under way.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    /// The back-end has a queue.
    pub(super) fn is_open(&self) -> bool {
        self.settings.is_some()
    }

    fn depth(&self) -> u32 {
        self.settings.map_or(1, |settings| settings.depth)
    }
}

/// Moves bytes of an open file: submits the operation, if it is one that can be under way with others.
pub(super) fn transfer<B: Backend>(
    step: Step<'_>,
    transfer: Transfer,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    let Transfer { at, fd, mode, bytes: Bytes { data, offset_bytes, len }, .. } = transfer;
    let call_bytes = call_bytes(io, data);
    let work = if data.writes() { Work::Write } else { Work::Read };
    if !can_wait(io, &transfer, call_bytes) || !make_room(io, len)? {
        return by_calls(step, transfer, io, buffers);
    }
    if work == Work::Write && io.handles.get(at).syncing {
        io.finish_file(at)?;
    }
    let slot = Slot {
        op: step.op,
        site: step.site,
        at,
        fd,
        mode,
        work,
        offset_bytes,
        len,
        done_bytes: 0,
        call_bytes,
        start_ns: u64::MAX,
        batch: 0,
        awaited: step.dst != NO_SLOT,
        due_ns: io.arrivals.due_ns,
    };
    let number = io.take_slot()?;
    let content = io.options.active().data;
    let whole = (len as usize, offset_bytes);
    let watch = if work == Work::Write { io.watch_filling(len) } else { None };
    if work == Work::Write && io.pending.area.fill(number, buffers, content, whole).is_err() {
        io.pending.free.push(number);
        return by_calls(step, transfer, io, buffers);
    }
    if work == Work::Write {
        io.filled(watch, len);
    }
    if transfer.moves_position {
        io.handles.get(at).position += len;
    }
    io.start(number, slot)
}

/// fsync or fdatasync of a file, after what was written to it.
pub(super) fn sync<B: Backend>(
    step: Step<'_>,
    (at, fd): (usize, Fd),
    io: &mut Io<'_, B>,
) -> Result<(), Fault> {
    io.finish_file(at)?;
    let number = io.take_slot()?;
    let handle = io.handles.get(at);
    handle.syncing = true;
    let slot = Slot {
        op: step.op,
        site: step.site,
        at,
        fd,
        mode: handle.mode,
        work: Work::Sync { data: step.op == Op::Fdatasync },
        offset_bytes: 0,
        len: 0,
        done_bytes: 0,
        call_bytes: 0,
        start_ns: u64::MAX,
        batch: 0,
        awaited: step.dst != NO_SLOT,
        due_ns: io.arrivals.due_ns,
    };
    io.start(number, slot)
}

/// fsync can wait in the queue: a queue of `iopoll` takes transfers alone.
pub(super) fn takes_syncs<B: Backend>(io: &Io<'_, B>) -> bool {
    io.pending.settings.is_some_and(|settings| !settings.iopoll)
}

/// The place and end of an operation are known before it starts, and it is transfers alone.
fn can_wait<B: Backend>(io: &Io<'_, B>, transfer: &Transfer, call_bytes: u64) -> bool {
    let Bytes { data, offset_bytes, len } = transfer.bytes;
    let known = matches!(data, Data::Read | Data::Write) && len <= LARGEST_BYTES;
    let syncs = data.writes() && io.options.active().fsync == Fsync::Op;
    let aligned = transfer.mode.direct.is_none_or(|alignment| {
        let unit = u64::from(alignment.offset_bytes);
        let splits = len > call_bytes && !call_bytes.is_multiple_of(unit);
        offset_bytes.is_multiple_of(unit) && len.is_multiple_of(unit) && !splits
    });
    known && !syncs && aligned && !transfer.mode.mapped && io.pending.is_open()
}

/// Slots have room for an operation of `len` bytes; not if there is no memory.
#[inline(always)]
fn make_room<B: Backend>(io: &mut Io<'_, B>, len: u64) -> Result<bool, Fault> {
    if io.pending.area.has_room(len as usize) { Ok(true) } else { make_more_room(io, len) }
}

#[cold]
fn make_more_room<B: Backend>(io: &mut Io<'_, B>, len: u64) -> Result<bool, Fault> {
    io.finish_all()?;
    let depth = io.pending.depth();
    let made = io.pending.area.make_room(depth, len as usize);
    Ok(made.map(|memory| io.backend.lend_memory(memory)).is_ok())
}

/// One call after the other, after what is under way on the file.
#[cold]
fn by_calls<B: Backend>(
    step: Step<'_>,
    transfer: Transfer,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    if io.pending.is_open() {
        io.finish_file(transfer.at)?;
        io.notes |= note::UNQUEUED;
    }
    now::run_transfer(step, transfer, io, buffers)
}

impl<B: Backend> Io<'_, B> {
    /// Opens the queue that the options in force ask for, if it is not open.
    ///
    /// # Errors
    /// There is no such queue here, and nothing else may be used.
    pub(super) fn open_queue(&mut self) -> Result<(), Fault> {
        let Engine::Uring { or_posix } = self.options.active().engine else { return Ok(()) };
        let settings = self.options.queue();
        if self.accounts || self.pending.settings == Some(settings) {
            return Ok(());
        }
        self.pending = Pending::default();
        match self.backend.open_queue(&settings) {
            Ok(()) => {
                self.pending.open(settings);
                Ok(())
            }
            Err(_) if or_posix => {
                self.options.use_posix();
                self.notes |= note::NO_QUEUE;
                Ok(())
            }
            Err(errno) => Err(Fault::message(waits::no_queue(errno))),
        }
    }

    /// A slot that is free; waits for one.
    fn take_slot(&mut self) -> Result<u32, Fault> {
        loop {
            match self.pending.free.pop() {
                Some(number) => return Ok(number),
                None => self.turn(1)?,
            }
        }
    }

    /// Submits an operation in a free slot. As many as may be are under way then: waits for one.
    fn start(&mut self, number: u32, slot: Slot) -> Result<(), Fault> {
        let handle = self.handles.get(slot.at);
        handle.under_way += 1;
        self.pending.slots[number as usize] = slot;
        self.pending.under_way += 1;
        self.submit(number)?;
        if slot.awaited {
            return self.await_outcome();
        }
        let batch = self.options.active().batch;
        if self.pending.under_way == self.pending.depth() {
            if batch > 1 && self.pending.batch.is_multiple_of(LOOK_EVERY) {
                self.turn(0)?;
            }
            return self.turn(batch.clamp(1, self.pending.under_way.max(1)));
        }
        // What is due is not kept back until more of it is.
        let at_most = if batch == 0 { HANDED_OVER } else { batch as usize };
        let is_whole = self.pending.fresh.len() >= at_most;
        if is_whole || slot.due_ns != NOT_DUE { self.turn(0) } else { Ok(()) }
    }

    fn await_outcome(&mut self) -> Result<(), Fault> {
        loop {
            if let Some(outcome) = self.pending.outcome.take() {
                self.outcome = outcome;
                return Ok(());
            }
            self.turn(1)?;
        }
    }

    /// Submits the next call of an operation.
    fn submit(&mut self, number: u32) -> Result<(), Fault> {
        let slot = self.pending.slots[number as usize];
        let from = slot.done_bytes as usize;
        let len = (slot.len - slot.done_bytes).min(slot.call_bytes) as usize;
        let write = slot.work == Work::Write;
        // SAFETY: the slot is this operation's until its end, and the area gets room when nothing is
        // under way.
        let memory = unsafe { self.pending.area.lend(number, from, len, write) };
        let target = match slot.work {
            Work::Sync { data } => Target::Sync { fd: slot.fd, data },
            Work::Read | Work::Write => Target::File(slot.fd),
        };
        let (offset, asked_bytes) = (slot.offset_bytes + slot.done_bytes, len as u64);
        let mut call = Queued { target, offset, memory, asked_bytes };
        self.backend.prepare_queued(Tag(number), &mut call);
        let start_ns = self.clock.now();
        match self.backend.submit(Tag(number), call) {
            Submitted::UnderWay => {
                self.pending.fresh.push(number);
                Ok(())
            }
            Submitted::Done(reply) => {
                let end_ns = self.clock.now();
                self.handed_over(number, start_ns);
                self.ended(number, reply, end_ns)
            }
        }
    }

    /// Hands over what was submitted, waits for so many ends, and counts all that have ended.
    pub(super) fn turn(&mut self, wait: u32) -> Result<(), Fault> {
        self.turn_by(wait <= 1, |backend| backend.hand_over(wait))
    }

    /// The same; waits for one end, but no longer than `ns`.
    pub(super) fn turn_within(&mut self, ns: u64) -> Result<(), Fault> {
        self.turn_by(true, |backend| backend.wait_within(ns))
    }

    /// `tells`: what has ended at its return did so by itself, not because it was waited for.
    fn turn_by(&mut self, tells: bool, enter: impl FnOnce(&mut B) -> Reply) -> Result<(), Fault> {
        let start_ns = self.clock.now();
        let entered = enter(&mut self.backend);
        let end_ns = self.clock.now();
        let refused = entered < 0
            && !matches!(-entered as i32, libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME);
        if refused {
            return Err(Fault::message(waits::broken(-entered as i32)));
        }
        self.pending.batch += 1;
        let handed_over = self.pending.fresh.len();
        for at in 0..handed_over {
            self.handed_over(self.pending.fresh[at], start_ns);
        }
        self.pending.fresh.clear();
        let mut first = Ok(());
        let (batch, mut at_once) = (self.pending.batch, 0);
        while let Some((tag, reply)) = self.backend.ended() {
            at_once += u64::from(self.pending.slots[tag.0 as usize].batch == batch);
            first = first.and(self.ended(tag.0, reply, end_ns));
        }
        if tells && self.pending.depth() > 1 && handed_over > 0 {
            self.count_batch(handed_over as u64, at_once);
        }
        first
    }

    fn count_batch(&mut self, calls: u64, at_once: u64) {
        let block = self.labels.traffic(&mut self.recorder, RUN);
        for (count, more) in
            [(Count::Queued, calls), (Count::AtOnce, at_once), (Count::HandedOver, 1)]
        {
            self.recorder.count(block, count, more);
        }
    }

    /// A call was handed over; the first of its operation starts it.
    fn handed_over(&mut self, number: u32, start_ns: u64) {
        let pending = &mut self.pending;
        let slot = &mut pending.slots[number as usize];
        slot.batch = pending.batch;
        if slot.start_ns == u64::MAX {
            slot.start_ns = start_ns;
            let kind = &mut pending.kinds[slot.op as usize];
            if kind.under_way == 0 {
                kind.since_ns = start_ns;
            }
            kind.under_way += 1;
        }
    }

    /// A call has ended: the operation goes on, or is over.
    fn ended(&mut self, number: u32, reply: Reply, end_ns: u64) -> Result<(), Fault> {
        let slot = &mut self.pending.slots[number as usize];
        let asked = (slot.len - slot.done_bytes).min(slot.call_bytes);
        let errno = match reply {
            moved @ 0.. => {
                slot.done_bytes = (slot.done_bytes + moved as u64).min(slot.len);
                let stuck = slot.work == Work::Write && moved == 0 && asked > 0;
                if stuck { libc::EIO } else { 0 }
            }
            failed => -failed as i32,
        };
        let is_again = matches!(errno, libc::EINTR | libc::EAGAIN);
        let partial = (reply as u64) < asked;
        let takes_part = slot.mode.direct.is_some() || self.options.active().expects_short;
        let at_end = slot.work == Work::Read && partial && (reply == 0 || takes_part);
        let goes_on = is_again || errno == 0 && slot.done_bytes < slot.len && !at_end;
        if !goes_on {
            return self.over(number, errno, end_ns);
        }
        if stop::requested() { self.over(number, STOPPED, end_ns) } else { self.submit(number) }
    }

    fn over(&mut self, number: u32, errno: i32, end_ns: u64) -> Result<(), Fault> {
        let slot = self.pending.slots[number as usize];
        self.pending.free.push(number);
        self.pending.under_way -= 1;
        let handle = self.handles.get(slot.at);
        handle.under_way -= 1;
        handle.syncing &= !matches!(slot.work, Work::Sync { .. });
        let mut tally = Tally::EMPTY;
        tally.add_time(part(slot.work), Shot { start_ns: slot.start_ns, end_ns, reply: 0 });
        (tally.offset_bytes, tally.requested_bytes) = (slot.offset_bytes, slot.len);
        tally.done_bytes = slot.done_bytes;
        tally.fail(errno);
        tally.short = errno == 0 && slot.work == Work::Read && slot.done_bytes < slot.len;
        match slot.work {
            Work::Read => {
                self.was_read(slot.mode.place, slot.mode.direct.is_some(), slot.done_bytes);
            }
            Work::Write if errno == 0 => self.wrote_to(slot.at, slot.mode, slot.done_bytes),
            Work::Sync { .. } if errno == 0 => self.made_stable(slot.at),
            _ => {}
        }
        let running = std::mem::replace(&mut self.arrivals.due_ns, slot.due_ns);
        let concluded = self.conclude(slot.op, slot.site, &tally, Subject::Handle(slot.at));
        self.arrivals.due_ns = running;
        self.count_overlap(&slot, &tally);
        if slot.awaited {
            self.pending.outcome = Some(self.outcome);
        }
        concluded
    }

    /// Of an operation's time, what others of its kind were under way in and that is counted already.
    fn count_overlap(&mut self, slot: &Slot, tally: &Tally) {
        let (timing, kind) = (tally.timing, &mut self.pending.kinds[slot.op as usize]);
        kind.under_way -= 1;
        if tally.errno != 0 {
            return;
        }
        let alone_ns = timing.end_ns.saturating_sub(kind.since_ns);
        kind.since_ns = kind.since_ns.max(timing.end_ns);
        let overlap_ns = timing.busy_ns.saturating_sub(alone_ns);
        self.labels.own_ns = self.labels.own_ns.saturating_sub(overlap_ns);
        let stat = self.labels.stat(&mut self.recorder, slot.op);
        self.recorder.overlapped(stat, overlap_ns);
    }
}

impl Pending {
    fn open(&mut self, settings: QueueSettings) {
        const FREE: Slot = Slot {
            op: Op::Fread,
            site: 0,
            at: 0,
            fd: Fd(-1),
            mode: Mode::CLOSED,
            work: Work::Read,
            offset_bytes: 0,
            len: 0,
            done_bytes: 0,
            call_bytes: 0,
            start_ns: 0,
            batch: 0,
            awaited: false,
            due_ns: NOT_DUE,
        };
        self.settings = Some(settings);
        self.slots = vec![FREE; settings.depth as usize];
        self.free = (0..settings.depth).rev().collect();
        self.fresh = Vec::with_capacity(settings.depth as usize);
        self.kinds = vec![Kind::default(); Op::COUNT];
    }
}

fn part(work: Work) -> Part {
    if matches!(work, Work::Sync { .. }) { Part::Sync } else { Part::Data }
}

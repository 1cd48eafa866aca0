//! Bytes on their way between memory and an open file: which call is next, and what it has come to.
//!
//! Data is one call or many: partial transfers are continued, large ones cut, patterns have many extents.
//! Most transfers are one call, which is made first; the rest is asked only if it has not moved all bytes.
//! With `engine="mmap"` data is copied, with `engine="null"` no call is made for it.
//!
//! A transfer holds no memory, so it can wait anywhere. Several are in flight together in
//! `with (engine="uring", depth=N)`: a statement submits its operation and the program continues; an operation is
//! counted when it has ended, in any order.
//!
//! ```text
//! fread   submit ─┐               N are in flight: wait for one of them
//! fread   submit ─┼─ hand over ──▶ kernel ──▶ ended: count, and continue partial transfers
//! fread   submit ─┘
//! fclose  wait for operations on its file         label, with, barrier, signal, wait: for all
//! ```
//!
//! Each slot holds a transfer or an fsync, and has memory of its own. An operation lasts from the
//! reading before it was handed over to the reading after its end was seen; operations that are handed
//! over together share the first, those that have ended together the second.

use super::extents::Ready;
use super::handles::Mode;
use super::io::{Io, timed};
use super::note;
use super::options::{Engine, Fsync};
use super::path::RUN;
use super::schedule::NOT_DUE;
use super::step::Step;
use super::tally::{Fault, Flow, Shot, Subject, Tally, is_stopped};
use crate::backend::{Backend, Bulk, BulkFile};
use crate::buffer::{ALIGNMENT_BYTES, Area, Buffers, Content, MAX_CALL_BYTES};
use crate::call::{Call, Fd, QueueSettings, Queued, Reply, Submitted, Tag, Target};
use crate::recorder::Count;
use crate::stop;
use model::limits::{CALL_BYTES, POOL_BYTES};
use model::pattern::Run;
use model::plan::{Function, Instr, NO_SLOT};
use model::rehearsal::BufferBytes;
use model::value::Outcome;
use model::{Op, Part, errno};
use std::io::{self, IoSlice, IoSliceMut};

/// Most buffers of one call (`UIO_MAXIOV`).
pub(super) const BUFFERS_MAX: usize = 1024;
/// Size of the calls that read the rest of a file, unless `with (transfer=...)` says otherwise.
const REST_BYTES: u64 = 1 << 20;
const INTERRUPTED: Reply = -(libc::EINTR as Reply);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    Write,
    Append,
    Read,
    /// Reads to the end of the file.
    ReadRest,
}

impl Data {
    pub(super) fn writes(self) -> bool {
        matches!(self, Data::Write | Data::Append)
    }
}

/// How the bytes of an operation are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Calls,
    /// By calls with several buffers, of the sizes in `io.sizes`.
    Vector,
    /// Through a mapping of the file.
    Mapping,
    /// Not at all: they count as moved.
    Nothing,
}

/// See the [head](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) fd: Fd,
    pub(super) data: Data,
    pub(super) way: Way,
    pub(super) direct: Option<u32>,
    /// The extent, and how much of it was moved. Appended bytes count from 0.
    pub(super) offset_bytes: u64,
    pub(super) len: u64,
    done_bytes: u64,
    /// Most bytes of one call.
    pub(super) call_bytes: u64,
}

impl Io<'_> {
    /// The most that one call moves.
    #[inline(always)]
    pub(super) fn call_bytes(&self, data: Data) -> u64 {
        let usual = if data == Data::ReadRest { REST_BYTES } else { CALL_BYTES };
        self.options.active().transfer.unwrap_or(usual).min(MAX_CALL_BYTES as u64)
    }

    /// Moves bytes of an open file, and its position if nobody named another one.
    #[inline(always)]
    pub(super) fn transfer(
        &mut self,
        step: Step<'_>,
        (at, moves_position): (usize, bool),
        transfer: Transfer,
        buffers: &mut Buffers,
    ) -> Flow {
        let Transfer { offset_bytes, len, .. } = transfer;
        if !transfer.is_one_call(self) {
            return self.transfer_rest(step, (at, moves_position), transfer, buffers, None);
        }
        let shot = transfer.issue((offset_bytes, len as usize), self, buffers);
        if shot.reply != len as Reply {
            return self.transfer_rest(step, (at, moves_position), transfer, buffers, Some(shot));
        }
        let mut tally = Tally::of_one_call(shot, offset_bytes, len);
        transfer.count_for_handle(self, (at, moves_position), &mut tally);
        self.conclude(step, &tally, Subject::Handle(at))
    }

    /// Makes the calls that are left after the one that was made already.
    #[inline(never)]
    fn transfer_rest(
        &mut self,
        step: Step<'_>,
        handle: (usize, bool),
        mut transfer: Transfer,
        buffers: &mut Buffers,
        made: Option<Shot>,
    ) -> Flow {
        let mut tally = transfer.tally();
        transfer.run(self, buffers, &mut tally, made);
        self.end_transfer(step, handle, &transfer, tally)
    }

    /// A transfer of an open file is over: the file is made stable if that is wanted, and all is counted.
    pub(super) fn end_transfer(
        &mut self,
        step: Step<'_>,
        handle: (usize, bool),
        transfer: &Transfer,
        mut tally: Tally,
    ) -> Flow {
        transfer.count_for_handle(self, handle, &mut tally);
        let fd = transfer.fd;
        let mapped = transfer.way == Way::Mapping;
        if tally.errno == 0 && transfer.syncs(self) && self.sync(&mut tally, fd, mapped) {
            self.made_stable(handle.0);
        }
        self.conclude(step, &tally, Subject::Handle(handle.0))
    }

    /// Makes a file stable, as a part of an operation.
    pub(super) fn sync(&mut self, tally: &mut Tally, fd: Fd, mapped: bool) -> bool {
        let call = if mapped { Call::Msync { fd } } else { Call::Fsync { fd } };
        self.part(tally, Part::Sync, call) >= 0
    }

    /// Memory of an operation of `len` bytes by calls of `call_bytes`, if they are made.
    fn memory(&self, write: bool, call_bytes: u64, len: u64) -> BufferBytes {
        let one_call = call_memory(write.then_some(self.options.active().data), call_bytes);
        match self.queue_memory(len) {
            0 => one_call,
            // Reads use the slots of the queue alone.
            queue_bytes if write => BufferBytes { queue_bytes, ..one_call },
            queue_bytes => BufferBytes { queue_bytes, ..BufferBytes::default() },
        }
    }

    /// Moves extents of a file for a back-end that keeps an account.
    pub(super) fn move_in_bulk(&mut self, tally: &mut Tally, bulk: &Bulk) {
        let start_ns = self.clock.now();
        let reply = self.backend.move_bulk(bulk);
        let shot = Shot { start_ns, end_ns: self.clock.now(), reply };
        tally.done_bytes += tally.add(Part::Data, shot).max(0) as u64;
    }
}

/// Memory of calls that move `bytes`; `content`: of writes.
pub(super) fn call_memory(content: Option<Content>, bytes: u64) -> BufferBytes {
    match content {
        None => BufferBytes { read_bytes: bytes, ..BufferBytes::default() },
        Some(Content::Random) => BufferBytes { write_bytes: bytes, ..BufferBytes::default() },
        Some(Content::Zero | Content::Marked) => {
            BufferBytes { zero_bytes: bytes, ..BufferBytes::default() }
        }
        Some(Content::Offset | Content::Sample(_)) => {
            BufferBytes { placed_bytes: bytes, ..BufferBytes::default() }
        }
        // Each shape has a pool of its own.
        Some(Content::Shaped(_)) => BufferBytes::default(),
    }
}

/// The same of transfers under way together: each has a slot of whole pages, and random data uses the whole
/// pool.
pub(super) fn slots_memory(one: BufferBytes, depth: u32) -> BufferBytes {
    let of_slots = |bytes: u64| match bytes {
        0 => 0,
        bytes => bytes.saturating_add(u64::from(depth) * ALIGNMENT_BYTES as u64),
    };
    let pool_bytes = match of_slots(one.write_bytes) {
        0 => 0,
        bytes => bytes.max(POOL_BYTES),
    };
    BufferBytes { read_bytes: of_slots(one.read_bytes), write_bytes: 0, pool_bytes, ..one }
}

impl Transfer {
    #[inline(always)]
    pub(super) fn new(
        io: &Io<'_>,
        (fd, way): (Fd, Way),
        direct: Option<u32>,
        data: Data,
        (offset_bytes, len): (u64, u64),
    ) -> Transfer {
        let call_bytes = io.call_bytes(data);
        Transfer { fd, data, way, direct, offset_bytes, len, done_bytes: 0, call_bytes }
    }

    /// Bytes of the file of a handle.
    #[inline(always)]
    pub(super) fn of_handle(
        io: &Io<'_>,
        (fd, mode): (Fd, Mode),
        data: Data,
        extent: (u64, u64),
    ) -> Transfer {
        let way = match mode.mapped {
            _ if io.options.active().is_null() => Way::Nothing,
            true => Way::Mapping,
            false => Way::Calls,
        };
        Transfer::new(io, (fd, way), mode.direct, data, extent)
    }

    /// One call moves all bytes, if it goes well, and nothing follows it.
    #[inline(always)]
    fn is_one_call(&self, io: &Io<'_>) -> bool {
        let ends_known = match self.data {
            // It is asked where an append went.
            Data::Append => !io.keeps_events,
            Data::Write | Data::Read => true,
            Data::ReadRest => false,
        };
        ends_known
            && self.len <= self.call_bytes
            && self.direct.is_none()
            && !io.accounts
            && !self.syncs(io)
    }

    /// `with (fsync="op")` makes the file stable after it.
    #[inline(always)]
    pub(super) fn syncs(&self, io: &Io<'_>) -> bool {
        let options = io.options.active();
        self.data.writes() && options.fsync == Fsync::Op && !options.is_null()
    }

    /// Offset and size of the next call.
    pub(super) fn next(&self) -> (u64, usize) {
        let done = self.done_bytes;
        let most = match self.data.writes() {
            // The rest of a partial write first: the next one begins where it would have without.
            true => self.call_bytes - done % self.call_bytes,
            false => self.call_bytes,
        };
        (self.offset_bytes + done, (self.len - done).min(most) as usize)
    }

    /// Makes a call; without memory for it, it is refused. The result is no `Result`, so that it stays in
    /// registers: through memory it costs a failed store forwarding, five nanoseconds.
    #[inline(always)]
    fn issue(&self, (offset, len): (u64, usize), io: &mut Io<'_>, buffers: &mut Buffers) -> Shot {
        let (fd, rest) = (self.fd, self.data == Data::ReadRest);
        match (self.way, self.data) {
            (Way::Calls, Data::Write) => match io.source(buffers, len, offset) {
                Ok(buf) => timed(&mut *io.backend, &io.clock, Call::Pwrite { fd, buf, offset }),
                Err(_) => Shot::refused(&io.clock, libc::ENOMEM),
            },
            (Way::Calls, Data::Append) => match io.source(buffers, len, offset) {
                Ok(buf) => timed(&mut *io.backend, &io.clock, Call::Append { fd, buf }),
                Err(_) => Shot::refused(&io.clock, libc::ENOMEM),
            },
            (Way::Calls, Data::Read | Data::ReadRest) => match io.target(buffers, len) {
                Ok(buf) => {
                    timed(&mut *io.backend, &io.clock, Call::Pread { fd, buf, offset, rest })
                }
                Err(_) => Shot::refused(&io.clock, libc::ENOMEM),
            },
            _ => match self.issue_otherwise((offset, len), io, buffers) {
                Ok(shot) => shot,
                Err(_) => Shot::refused(&io.clock, libc::ENOMEM),
            },
        }
    }

    /// The same in the other ways. An error: there is no memory for the call.
    #[inline(never)]
    fn issue_otherwise(
        &self,
        (offset, len): (u64, usize),
        io: &mut Io<'_>,
        buffers: &mut Buffers,
    ) -> io::Result<Shot> {
        let (fd, rest) = (self.fd, self.data == Data::ReadRest);
        let call = match (self.way, self.data.writes()) {
            (Way::Vector, true) => return self.write_vector(io, buffers),
            (Way::Vector, false) => return self.read_vector(io, buffers),
            (Way::Nothing, _) => Call::Nothing { bytes: len as u64, rest },
            (_, true) => Call::MapWrite { fd, buf: io.source(buffers, len, offset)?, offset },
            (_, false) => Call::MapRead { fd, buf: io.target(buffers, len)?, offset, rest },
        };
        Ok(timed(&mut *io.backend, &io.clock, call))
    }

    /// pwritev of the buffers of `io.sizes`, which lie one after the other, without the bytes that are done.
    fn write_vector(&self, io: &mut Io<'_>, buffers: &mut Buffers) -> io::Result<Shot> {
        let (fd, offset) = (self.fd, self.offset_bytes + self.done_bytes);
        let mut rest = io.source(buffers, self.len as usize, self.offset_bytes)?;
        let mut bufs = [IoSlice::new(&[]); BUFFERS_MAX];
        for (slot, size) in bufs.iter_mut().zip(&io.sizes) {
            let (one, others) = rest.split_at(*size as usize);
            (*slot, rest) = (IoSlice::new(one), others);
        }
        let mut bufs = &mut bufs[..io.sizes.len()];
        IoSlice::advance_slices(&mut bufs, self.done_bytes as usize);
        Ok(timed(&mut *io.backend, &io.clock, Call::Pwritev { fd, bufs, offset }))
    }

    /// The same with preadv.
    fn read_vector(&self, io: &mut Io<'_>, buffers: &mut Buffers) -> io::Result<Shot> {
        let (fd, offset) = (self.fd, self.offset_bytes + self.done_bytes);
        let mut rest = io.target(buffers, self.len as usize)?;
        let mut bufs: [IoSliceMut<'_>; BUFFERS_MAX] =
            std::array::from_fn(|_| IoSliceMut::new(&mut []));
        for (slot, size) in bufs.iter_mut().zip(&io.sizes) {
            let (one, others) = rest.split_at_mut(*size as usize);
            (*slot, rest) = (IoSliceMut::new(one), others);
        }
        let mut bufs = &mut bufs[..io.sizes.len()];
        IoSliceMut::advance_slices(&mut bufs, self.done_bytes as usize);
        Ok(timed(&mut *io.backend, &io.clock, Call::Preadv { fd, bufs, offset }))
    }

    /// Takes what a call for `asked` bytes has come to; true: another one is needed.
    pub(super) fn take(
        &mut self,
        io: &mut Io<'_>,
        tally: &mut Tally,
        shot: Shot,
        asked: usize,
    ) -> bool {
        if shot.reply == INTERRUPTED {
            tally.add_time(Part::Data, shot);
            return !is_stopped(tally);
        }
        let Ok(moved) = u64::try_from(tally.add(Part::Data, shot)) else { return false };
        tally.done_bytes += moved;
        self.done_bytes += moved;
        if self.data == Data::Append && self.way == Way::Calls && io.keeps_events {
            io.appended(self.fd, moved);
        }
        if self.done_bytes >= self.len {
            return false;
        }
        if self.data.writes() {
            if moved == 0 {
                // Nothing was written and nothing was refused: going on could last forever.
                tally.fail(libc::EIO);
                return false;
            }
        } else {
            // With O_DIRECT a partial transfer ends at the end of the file, which is no place to go
            // on from; and who expects the end does not ask for it once more.
            let takes_part = self.direct.is_some() || io.options.active().expects_short;
            if moved == 0 || takes_part && moved < asked as u64 {
                tally.short |= self.data != Data::ReadRest;
                return false;
            }
        }
        !is_stopped(tally)
    }

    /// Whether O_DIRECT cannot do it: the kernel would say EINVAL, or worse, fall back.
    pub(super) fn is_misaligned(&self) -> bool {
        let Some(alignment) = self.direct.filter(|_| self.way == Way::Calls) else { return false };
        let unit = u64::from(alignment);
        let len = if self.data == Data::ReadRest { self.call_bytes } else { self.len };
        let splits = len > self.call_bytes && !self.call_bytes.is_multiple_of(unit);
        !self.offset_bytes.is_multiple_of(unit) || !len.is_multiple_of(unit) || splits
    }

    /// Moves the bytes. `made`: the first call, if it was made already.
    pub(super) fn run(
        &mut self,
        io: &mut Io<'_>,
        buffers: &mut Buffers,
        tally: &mut Tally,
        mut made: Option<Shot>,
    ) {
        if self.is_misaligned() {
            io.notes |= note::DIRECT_MISALIGNED;
            return tally.fail(libc::EINVAL);
        }
        if io.accounts {
            let rest = self.data == Data::ReadRest;
            let len = if rest { u64::MAX - self.offset_bytes } else { self.len };
            self.run_in_bulk(io, tally, Run::single(self.offset_bytes, len));
            tally.short = !rest && tally.errno == 0 && tally.done_bytes < self.len;
            return;
        }
        loop {
            let (offset, len) = self.next();
            let shot = match made.take() {
                Some(shot) => shot,
                None => self.issue((offset, len), io, buffers),
            };
            if !self.take(io, tally, shot, len) {
                return;
            }
        }
    }

    /// The bytes without calls, which can be millions.
    fn run_in_bulk(&self, io: &mut Io<'_>, tally: &mut Tally, run: Run) {
        let rest = self.data == Data::ReadRest;
        if self.way == Way::Nothing {
            let bytes = run.count.saturating_mul(run.length_bytes);
            let moved = io.part(tally, Part::Data, Call::Nothing { bytes, rest });
            tally.done_bytes += moved.max(0) as u64;
            return;
        }
        let buffer_bytes = self.call_bytes.min(run.length_bytes);
        let (file, write) = (BulkFile::Posix(self.fd), self.data.writes());
        let memory = io.memory(write, buffer_bytes, run.length_bytes);
        io.move_in_bulk(tally, &Bulk { file, run, write, rest, buffer_bytes, memory });
    }

    /// Moves all extents of a pattern.
    pub(super) fn run_extents(
        &mut self,
        io: &mut Io<'_>,
        buffers: &mut Buffers,
        tally: &mut Tally,
        (ready, displacement_bytes): (&Ready<'_>, u64),
    ) {
        tally.requested_bytes = ready.bytes;
        if io.accounts {
            for run in ready.runs() {
                self.run_in_bulk(io, tally, run.displaced(displacement_bytes));
                if tally.errno != 0 {
                    break;
                }
            }
            tally.short = tally.done_bytes < tally.requested_bytes;
            return;
        }
        let mut is_first = true;
        for extent in ready.extents() {
            if tally.errno != 0 || is_stopped(tally) {
                return;
            }
            self.offset_bytes = extent.offset_bytes.saturating_add(displacement_bytes);
            (self.len, self.done_bytes) = (extent.length_bytes, 0);
            if std::mem::take(&mut is_first) {
                tally.offset_bytes = self.offset_bytes;
            }
            self.run(io, buffers, tally, None);
        }
    }

    /// The bytes of a handle's file are moved, or no more will be: counts them for it.
    #[inline(always)]
    pub(super) fn count_for_handle(
        &self,
        io: &mut Io<'_>,
        (at, moves_position): (usize, bool),
        tally: &mut Tally,
    ) {
        if self.data == Data::ReadRest {
            tally.requested_bytes = tally.done_bytes;
        }
        let (handle, done_bytes) = (io.handles.get(at), tally.done_bytes);
        let mode = handle.mode;
        if moves_position {
            handle.position += done_bytes;
        }
        match self.data.writes() {
            writes if self.way == Way::Nothing => io.moved_nothing(writes, done_bytes),
            false => io.was_read(mode.place, self.direct.is_some(), done_bytes),
            true if tally.errno == 0 => io.wrote_to(at, mode, done_bytes),
            true => {}
        }
    }

    /// Offset and size of what it is to move, as far as they are known before.
    pub(super) fn asks_for(&self) -> (u64, u64) {
        (self.offset_bytes, if self.data == Data::ReadRest { 0 } else { self.len })
    }

    /// The sum of its calls before the first one.
    pub(super) fn tally(&self) -> Tally {
        let (offset_bytes, requested_bytes) = self.asks_for();
        Tally { offset_bytes, requested_bytes, ..Tally::EMPTY }
    }
}

/// Operations that are handed over at one time without `batch`. A disk that ended many at once would
/// have nothing to do while all of their successors are prepared: at depth 32 the rate is a sixth
/// below that of 4 (a virtual disk of 70,000 reads/s); fewer cost system calls.
const HANDED_OVER: usize = 4;

/// One of this number of batches whose ends are waited for in the same system call is handed over without
/// waiting: whether the kernel makes calls one by one shows only there.
const LOOK_EVERY: u64 = 64;
/// Larger operations are made by calls: each of those under way has memory of its own.
const LARGEST_BYTES: u64 = 64 << 20;

/// The operations under way on a rank.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The queue that the back-end has open.
    settings: Option<QueueSettings>,
    area: Area,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// Submitted, and not handed over.
    fresh: Vec<u32>,
    under_way: u32,
    /// How often something was handed over.
    batch: u64,
    kinds: Vec<Kind>,
    /// The outcome of the operation that a statement waits for.
    outcome: Option<Outcome>,
}

/// An operation under way.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Its statement, without arguments.
    step: Step<'static>,
    /// The place of its handle.
    at: usize,
    work: Work,
    /// Sum of its calls so far.
    tally: Tally,
    /// Bytes that the call under way is to move.
    asked: usize,
    /// When it was handed over, later when its last call ended; `u64::MAX` before.
    since_ns: u64,
    batch: u64,
    /// Its statement waits for it.
    awaited: bool,
    /// When it was due.
    due_ns: u64,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Transfer(Transfer),
    /// fsync, `data`: fdatasync.
    Sync {
        fd: Fd,
        data: bool,
    },
}

/// Operations of one kind: since when some are under way that is not counted as busy yet.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    under_way: u32,
    since_ns: u64,
}

impl Queue {
    /// No operation is under way.
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

    fn open(&mut self, settings: QueueSettings) {
        self.settings = Some(settings);
        self.slots.resize_with(settings.depth as usize, || None);
        self.free = (0..settings.depth).rev().collect();
        self.fresh = Vec::with_capacity(settings.depth as usize);
        self.kinds = vec![Kind::default(); Op::COUNT];
    }
}

impl Io<'_> {
    /// Moves bytes of an open file: submits the operation, if it is one that can be under way with others.
    pub(super) fn queue_transfer(
        &mut self,
        step: Step<'_>,
        (at, moves_position): (usize, bool),
        mode: Mode,
        one: Transfer,
        buffers: &mut Buffers,
    ) -> Flow {
        let Transfer { data, offset_bytes, len, .. } = one;
        let handle = (at, moves_position);
        if !self.can_wait(mode, &one) || !self.make_slots(len)? {
            return self.by_calls(step, handle, one, buffers);
        }
        if data.writes() && self.handles.get(at).syncing {
            self.finish_file(at)?;
        }
        let number = self.take_slot()?;
        if data.writes() {
            let content = self.options.active().data;
            let whole = (len as usize, offset_bytes);
            self.make_room(buffers, len as usize);
            let fill = |io: &mut Self| io.queue.area.fill(number, buffers, content, whole);
            if self.fill(len, fill).is_err() {
                self.queue.free.push(number);
                return self.by_calls(step, handle, one, buffers);
            }
        }
        if moves_position {
            self.handles.get(at).position += len;
        }
        self.start(number, step, at, Work::Transfer(one), one.tally())
    }

    /// fsync or fdatasync of a file, after the writes to it.
    pub(super) fn queue_sync(&mut self, step: Step<'_>, (at, fd): (usize, Fd)) -> Flow {
        self.finish_file(at)?;
        let number = self.take_slot()?;
        self.handles.get(at).syncing = true;
        let work = Work::Sync { fd, data: step.op == Op::Fdatasync };
        self.start(number, step, at, work, Tally::EMPTY)
    }

    /// fsync can wait in the queue: a queue of `iopoll` takes transfers alone.
    pub(super) fn takes_syncs(&self) -> bool {
        self.queue.settings.is_some_and(|settings| !settings.iopoll)
    }

    /// The place and end of an operation are known before it starts, and it is transfers alone.
    fn can_wait(&self, mode: Mode, one: &Transfer) -> bool {
        let known = matches!(one.data, Data::Read | Data::Write) && one.len <= LARGEST_BYTES;
        let syncs = one.data.writes() && self.options.active().fsync == Fsync::Op;
        known && !syncs && !one.is_misaligned() && !mode.mapped && self.queue.is_open()
    }

    /// Slots have room for an operation of `len` bytes; not if there is no memory.
    #[inline(always)]
    fn make_slots(&mut self, len: u64) -> Flow<bool> {
        if self.queue.area.has_room(len as usize) { Ok(true) } else { self.make_larger_slots(len) }
    }

    #[cold]
    fn make_larger_slots(&mut self, len: u64) -> Flow<bool> {
        self.finish_all()?;
        let depth = self.queue.depth();
        let lacks = self.queue.area.lacks(depth, len as usize);
        let make = |io: &mut Self| {
            let made = io.queue.area.make_room(depth, len as usize);
            made.map(|memory| io.backend.lend_memory(memory)).is_ok()
        };
        Ok(if lacks { self.make_memory(make) } else { make(self) })
    }

    /// Memory of the queue that an operation of `len` bytes would use; 0: it would use none.
    pub(super) fn queue_memory(&self, len: u64) -> u64 {
        let queued = matches!(self.options.active().engine, Engine::Uring { .. });
        if !queued || len > LARGEST_BYTES {
            return 0;
        }
        let depth = self.options.queue().depth;
        Area::bytes_for(depth, len as usize).map_or(0, |bytes| bytes as u64)
    }

    /// Memory for the queue, made before the program starts.
    pub(super) fn take_area(&mut self, buffers: &mut Buffers) {
        if let Some(area) = buffers.take_area() {
            self.queue.area = area;
        }
    }

    /// One call after the other, after the operations under way on the file.
    #[cold]
    fn by_calls(
        &mut self,
        step: Step<'_>,
        handle: (usize, bool),
        one: Transfer,
        buffers: &mut Buffers,
    ) -> Flow {
        if self.queue.is_open() {
            self.finish_file(handle.0)?;
            self.notes |= note::UNQUEUED;
        }
        self.transfer(step, handle, one, buffers)
    }

    /// Opens the queue that the options in force ask for, if it is not open.
    ///
    /// # Errors
    /// There is no such queue here, and nothing else may be used.
    pub(super) fn open_queue(&mut self) -> Flow {
        let Engine::Uring { or_posix } = self.options.active().engine else { return Ok(()) };
        let settings = self.options.queue();
        if self.accounts || self.queue.settings == Some(settings) {
            return Ok(());
        }
        let mut area = std::mem::take(&mut self.queue.area);
        area.forget_slots();
        self.queue = Queue { area, ..Queue::default() };
        match self.backend.open_queue(&settings) {
            Ok(()) => self.queue.open(settings),
            Err(_) if or_posix => {
                self.options.use_posix();
                self.notes |= note::NO_QUEUE;
            }
            Err(errno) => return Err(Fault::message(no_queue(errno))),
        }
        Ok(())
    }

    /// A slot that is free; waits for one.
    fn take_slot(&mut self) -> Flow<u32> {
        loop {
            match self.queue.free.pop() {
                Some(number) => return Ok(number),
                None => self.wait_for(1)?,
            }
        }
    }

    /// Submits an operation in a free slot. Waits for an end if `depth` operations are under way then.
    fn start(&mut self, number: u32, step: Step<'_>, at: usize, work: Work, tally: Tally) -> Flow {
        self.handles.get(at).under_way += 1;
        let (awaited, due_ns) = (step.dst != NO_SLOT, self.arrivals.due_ns);
        let Step { op, site, dst, .. } = step;
        let (step, since_ns) = (Step { op, site, dst, args: &[] }, u64::MAX);
        self.queue.under_way += 1;
        self.queue.slots[number as usize] =
            Some(Slot { step, at, work, tally, asked: 0, since_ns, batch: 0, awaited, due_ns });
        self.advance(number)?;
        if awaited {
            return self.await_outcome();
        }
        let batch = self.options.active().batch;
        if self.queue.under_way == self.queue.depth() {
            if batch > 1 && self.queue.batch.is_multiple_of(LOOK_EVERY) {
                self.wait_for(0)?;
            }
            return self.wait_for(batch.clamp(1, self.queue.under_way.max(1)));
        }
        // An operation that is due is not kept back until there are more.
        let at_most = if batch == 0 { HANDED_OVER } else { batch as usize };
        let is_whole = self.queue.fresh.len() >= at_most;
        if is_whole || due_ns != NOT_DUE { self.wait_for(0) } else { Ok(()) }
    }

    fn await_outcome(&mut self) -> Flow {
        loop {
            if let Some(outcome) = self.queue.outcome.take() {
                self.outcome = outcome;
                return Ok(());
            }
            self.wait_for(1)?;
        }
    }

    /// Submits the next call of an operation.
    fn advance(&mut self, number: u32) -> Flow {
        let Some(slot) = &mut self.queue.slots[number as usize] else { return Ok(()) };
        let (target, offset, write) = match slot.work {
            Work::Transfer(one) => {
                let (offset, len) = one.next();
                slot.asked = len;
                (Target::File(one.fd), offset, one.data.writes())
            }
            Work::Sync { fd, data } => (Target::Sync { fd, data }, 0, false),
        };
        let (from, len) = ((offset - slot.tally.offset_bytes) as usize, slot.asked);
        // SAFETY: the slot is this operation's until its end, and the area gets room when nothing is
        // under way.
        let memory = unsafe { self.queue.area.lend(number, from, len, write) };
        let mut call = Queued { target, offset, memory, asked_bytes: len as u64 };
        self.backend.prepare_queued(Tag(number), &mut call);
        let start_ns = self.clock.now();
        match self.backend.submit(Tag(number), call) {
            Submitted::UnderWay => {
                self.queue.fresh.push(number);
                Ok(())
            }
            Submitted::Done(reply) => {
                let end_ns = self.clock.now();
                self.handed_over(number, start_ns);
                self.ended(number, reply, end_ns)
            }
        }
    }

    /// Hands over submitted calls, waits for `ends` ends, and counts all operations that have ended.
    pub(super) fn wait_for(&mut self, ends: u32) -> Flow {
        self.enter_queue(ends <= 1, |backend| backend.hand_over(ends))
    }

    /// Waits for everything under way, whatever becomes of it: it uses memory of this rank. A queue that is broken ends
    /// nothing any more.
    pub(super) fn wait_for_all(&mut self) {
        while !self.queue.is_idle() {
            let under_way = self.queue.under_way;
            if self.wait_for(1).is_err() && self.queue.under_way == under_way {
                return;
            }
        }
    }

    /// The same; waits for one end, but no longer than `ns`.
    pub(super) fn wait_within(&mut self, ns: u64) -> Flow {
        self.enter_queue(true, |backend| backend.wait_within(ns))
    }

    /// `counts`: operations that have ended at its return did so by themselves, not because they were waited
    /// for.
    fn enter_queue(&mut self, counts: bool, enter: impl FnOnce(&mut dyn Backend) -> Reply) -> Flow {
        let start_ns = self.clock.now();
        let entered = enter(&mut *self.backend);
        let end_ns = self.clock.now();
        let refused = entered < 0
            && !matches!(-entered as i32, libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME);
        if refused {
            return Err(Fault::message(broken(-entered as i32)));
        }
        self.queue.batch += 1;
        let handed_over = self.queue.fresh.len();
        for at in 0..handed_over {
            self.handed_over(self.queue.fresh[at], start_ns);
        }
        self.queue.fresh.clear();
        let mut first = Ok(());
        let (batch, mut at_once) = (self.queue.batch, 0);
        while let Some((tag, reply)) = self.backend.ended() {
            let slot = &self.queue.slots[tag.0 as usize];
            at_once += u64::from(slot.as_ref().is_some_and(|slot| slot.batch == batch));
            first = first.and(self.ended(tag.0, reply, end_ns));
        }
        if counts && self.queue.depth() > 1 && handed_over > 0 {
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
        let Queue { slots, kinds, batch, .. } = &mut self.queue;
        let Some(slot) = &mut slots[number as usize] else { return };
        slot.batch = *batch;
        if slot.since_ns == u64::MAX {
            slot.since_ns = start_ns;
            let kind = &mut kinds[slot.step.op as usize];
            if kind.under_way == 0 {
                kind.since_ns = start_ns;
            }
            kind.under_way += 1;
        }
    }

    /// A call has ended: the operation goes on, or has ended too.
    fn ended(&mut self, number: u32, reply: Reply, end_ns: u64) -> Flow {
        let Some(mut slot) = self.queue.slots[number as usize] else { return Ok(()) };
        let is_interrupted = matches!(-reply as i32, libc::EINTR | libc::EAGAIN);
        if is_interrupted && !stop::requested() {
            return self.advance(number);
        }
        let shot = Shot { start_ns: slot.since_ns, end_ns, reply };
        slot.since_ns = end_ns;
        let goes_on = match &mut slot.work {
            _ if is_interrupted => {
                slot.tally.add_time(Part::Data, shot);
                !is_stopped(&mut slot.tally)
            }
            Work::Transfer(one) => one.take(self, &mut slot.tally, shot, slot.asked),
            Work::Sync { .. } => {
                if slot.tally.add(Part::Sync, shot) >= 0 {
                    self.made_stable(slot.at);
                }
                false
            }
        };
        if !goes_on {
            return self.finish_slot(number, slot);
        }
        self.queue.slots[number as usize] = Some(slot);
        self.advance(number)
    }

    fn finish_slot(&mut self, number: u32, slot: Slot) -> Flow {
        self.queue.free.push(number);
        self.queue.under_way -= 1;
        let Slot { step, at, work, mut tally, awaited, due_ns, .. } = slot;
        self.handles.get(at).under_way -= 1;
        match work {
            Work::Transfer(one) => one.count_for_handle(self, (at, false), &mut tally),
            Work::Sync { .. } => self.handles.get(at).syncing = false,
        }
        let running = std::mem::replace(&mut self.arrivals.due_ns, due_ns);
        let concluded = self.conclude(step, &tally, Subject::Handle(at));
        self.arrivals.due_ns = running;
        self.count_overlap(step.op, &tally);
        if awaited {
            self.queue.outcome = Some(self.outcome);
        }
        concluded
    }

    /// Counts the part of an operation's time in which others of its kind were under way, and which is
    /// counted already.
    fn count_overlap(&mut self, op: Op, tally: &Tally) {
        let (timing, kind) = (tally.timing, &mut self.queue.kinds[op as usize]);
        if timing.start_ns == u64::MAX {
            return;
        }
        kind.under_way -= 1;
        if tally.errno != 0 {
            return;
        }
        let alone_ns = timing.end_ns.saturating_sub(kind.since_ns);
        kind.since_ns = kind.since_ns.max(timing.end_ns);
        let overlap_ns = timing.busy_ns.saturating_sub(alone_ns);
        self.labels.own_ns = self.labels.own_ns.saturating_sub(overlap_ns);
        let stat = self.labels.stat(&mut self.recorder, op);
        self.recorder.overlapped(stat, overlap_ns);
    }

    // Statements that depend on operations under way.

    /// Waits for all operations under way.
    pub(super) fn finish_all(&mut self) -> Flow {
        while self.queue.under_way > 0 {
            self.wait_for(1)?;
        }
        Ok(())
    }

    /// Waits for the operations under way on a file.
    pub(super) fn finish_file(&mut self, at: usize) -> Flow {
        while self.handles.get(at).under_way > 0 {
            self.wait_for(1)?;
        }
        Ok(())
    }

    /// Hands over submitted operations, so that they are under way while the program does other things.
    pub(super) fn hand_over_fresh(&mut self) -> Flow {
        if self.queue.fresh.is_empty() { Ok(()) } else { self.wait_for(0) }
    }

    /// An instruction is about to be executed while operations are under way.
    #[cold]
    pub(super) fn wait_before_instr(&mut self, instr: &Instr) -> Flow {
        let waits = match instr {
            Instr::LabelEnter { .. } | Instr::LabelLeave => true,
            Instr::WithEnter { .. } | Instr::WithLeave => true,
            Instr::Barrier { .. } | Instr::SplitEnter { .. } | Instr::ShareEnd => true,
            Instr::Function { function, .. } => {
                let asks = matches!(function, Function::Size | Function::Exists | Function::Tested);
                asks || function.row().is_collective()
            }
            _ => false,
        };
        if waits { self.finish_all() } else { Ok(()) }
    }
}

/// Why there is no queue, and what to do.
fn no_queue(number: i32) -> String {
    let why = match number {
        libc::ENOSYS => {
            "this kernel has no io_uring, or a filter of system calls (seccomp) hides it"
        }
        libc::EPERM | libc::EACCES => {
            "io_uring is forbidden, by the setting kernel.io_uring_disabled or by a filter of system calls \
             (seccomp)"
        }
        libc::EINVAL => "the kernel knows none with these options (depth, sqpoll, iopoll)",
        libc::ENOMEM => "there is not enough memory that may be locked (ulimit -l)",
        _ => errno::text(number as u16),
    };
    format!(
        "engine=\"uring\" cannot be used here: {why}: {}; engine=\"uring|posix\" makes single calls \
         instead where it cannot",
        errno::name(number as u16)
    )
}

/// The kernel does not take calls any more.
fn broken(number: i32) -> String {
    let (name, text) = (errno::name(number as u16), errno::text(number as u16));
    format!("io_uring_enter failed: {name} ({text})")
}

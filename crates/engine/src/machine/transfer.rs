//! Bytes on their way between memory and an open file: which call is next, and what it has come to.
//!
//! Data is one call or many: partial transfers are continued, large ones cut, patterns have many extents.
//! Most transfers are one call, which is made first; the rest is asked only if it has not moved all bytes.
//! A transfer holds no memory, so it can wait anywhere: [`super::queue`] has several under way.
//!
//! With `engine="mmap"` data is copied, with `engine="null"` no call is made for it.

use super::driver::timed;
use super::extents::Ready;
use super::handles::Mode;
use super::io::Io;
use super::note;
use super::options::Fsync;
use super::step::Step;
use super::tally::{Flow, Shot, Subject, Tally, is_stopped};
use crate::backend::direct::Alignment;
use crate::backend::{Backend, Bulk, BulkFile};
use crate::buffer::{ALIGNMENT_BYTES, Buffers, Content, MAX_CALL_BYTES};
use crate::call::{Call, Fd, Reply};
use model::Part;
use model::limits::{CALL_BYTES, POOL_BYTES};
use model::pattern::Run;
use model::rehearsal::BufferBytes;
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
    pub(super) direct: Option<Alignment>,
    /// The extent, and how much of it was moved. Appended bytes count from 0.
    pub(super) offset_bytes: u64,
    pub(super) len: u64,
    done_bytes: u64,
    /// Most bytes of one call.
    pub(super) call_bytes: u64,
}

impl<B: Backend> Io<'_, B> {
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
    pub(super) fn new<B: Backend>(
        io: &Io<'_, B>,
        (fd, way): (Fd, Way),
        direct: Option<Alignment>,
        data: Data,
        (offset_bytes, len): (u64, u64),
    ) -> Transfer {
        let call_bytes = io.call_bytes(data);
        Transfer { fd, data, way, direct, offset_bytes, len, done_bytes: 0, call_bytes }
    }

    /// Bytes of the file of a handle.
    #[inline(always)]
    pub(super) fn of_handle<B: Backend>(
        io: &Io<'_, B>,
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
    fn is_one_call<B: Backend>(&self, io: &Io<'_, B>) -> bool {
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
    pub(super) fn syncs<B: Backend>(&self, io: &Io<'_, B>) -> bool {
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
    fn issue<B: Backend>(
        &self,
        (offset, len): (u64, usize),
        io: &mut Io<'_, B>,
        buffers: &mut Buffers,
    ) -> Shot {
        let (fd, rest) = (self.fd, self.data == Data::ReadRest);
        match (self.way, self.data) {
            (Way::Calls, Data::Write) => match io.source(buffers, len, offset) {
                Ok(buf) => timed(&mut io.backend, &io.clock, Call::Pwrite { fd, buf, offset }),
                Err(_) => Shot::refused(&io.clock, libc::ENOMEM),
            },
            (Way::Calls, Data::Append) => match io.source(buffers, len, offset) {
                Ok(buf) => timed(&mut io.backend, &io.clock, Call::Append { fd, buf }),
                Err(_) => Shot::refused(&io.clock, libc::ENOMEM),
            },
            (Way::Calls, Data::Read | Data::ReadRest) => match io.target(buffers, len) {
                Ok(buf) => timed(&mut io.backend, &io.clock, Call::Pread { fd, buf, offset, rest }),
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
    fn issue_otherwise<B: Backend>(
        &self,
        (offset, len): (u64, usize),
        io: &mut Io<'_, B>,
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
        Ok(timed(&mut io.backend, &io.clock, call))
    }

    /// pwritev of the buffers of `io.sizes`, which lie one after the other, without the bytes that are done.
    fn write_vector<B: Backend>(
        &self,
        io: &mut Io<'_, B>,
        buffers: &mut Buffers,
    ) -> io::Result<Shot> {
        let (fd, offset) = (self.fd, self.offset_bytes + self.done_bytes);
        let mut rest = io.source(buffers, self.len as usize, self.offset_bytes)?;
        let mut bufs = [IoSlice::new(&[]); BUFFERS_MAX];
        for (slot, size) in bufs.iter_mut().zip(&io.sizes) {
            let (one, others) = rest.split_at(*size as usize);
            (*slot, rest) = (IoSlice::new(one), others);
        }
        let mut bufs = &mut bufs[..io.sizes.len()];
        IoSlice::advance_slices(&mut bufs, self.done_bytes as usize);
        Ok(timed(&mut io.backend, &io.clock, Call::Pwritev { fd, bufs, offset }))
    }

    /// The same with preadv.
    fn read_vector<B: Backend>(
        &self,
        io: &mut Io<'_, B>,
        buffers: &mut Buffers,
    ) -> io::Result<Shot> {
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
        Ok(timed(&mut io.backend, &io.clock, Call::Preadv { fd, bufs, offset }))
    }

    /// Takes what a call for `asked` bytes has come to; true: another one is needed.
    pub(super) fn take<B: Backend>(
        &mut self,
        io: &mut Io<'_, B>,
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
        let unit = u64::from(alignment.offset_bytes);
        let len = if self.data == Data::ReadRest { self.call_bytes } else { self.len };
        let splits = len > self.call_bytes && !self.call_bytes.is_multiple_of(unit);
        !self.offset_bytes.is_multiple_of(unit) || !len.is_multiple_of(unit) || splits
    }

    /// Moves the bytes. `made`: the first call, if it was made already.
    pub(super) fn run<B: Backend>(
        &mut self,
        io: &mut Io<'_, B>,
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
    fn run_in_bulk<B: Backend>(&self, io: &mut Io<'_, B>, tally: &mut Tally, run: Run) {
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
    pub(super) fn run_extents<B: Backend>(
        &mut self,
        io: &mut Io<'_, B>,
        buffers: &mut Buffers,
        tally: &mut Tally,
        (ready, displacement_bytes): (&Ready<'_>, u64),
    ) {
        tally.requested_bytes = ready.bytes;
        if io.accounts {
            for run in ready.runs() {
                let offset_bytes = run.offset_bytes.saturating_add(displacement_bytes);
                self.run_in_bulk(io, tally, Run { offset_bytes, ..run });
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
    pub(super) fn count_for_handle<B: Backend>(
        &self,
        io: &mut Io<'_, B>,
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

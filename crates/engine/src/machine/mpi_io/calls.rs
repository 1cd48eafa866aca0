//! The calls that move the bytes of a statement: one for each extent, or one over all extents through a view;
//! one after the other, or several under way at one time.
//!
//! Each transfer under way has a slot of memory; transfers end in any order, and an ended one makes room
//! for the next. The time of the statement is the time of the calls that make, start and await them.
//!
//! Libraries tell more than a read has moved. ROMIO says of collective reads and of reads through views that they
//! moved what was asked for, Open MPI 4.1 of collective ones; both leave the buffer as it was. And Open MPI 4.1
//! waits for ever for a non-blocking read that reaches beyond the end: it is cut before.

use super::super::extents::Ready;
use super::super::io::Io;
use super::super::tally::{STOPPED, Shot, Tally};
use super::super::transfer::{call_memory, slots_memory};
use crate::backend::{Backend, Bulk, BulkFile};
use crate::buffer::{Buffers, Content};
use crate::call::{At, FileCall, Memory, MpiFile, Queued, Reply, Submitted, Tag, Target, ViewId};
use crate::comm::Members;
use crate::stop;
use model::Part;
use model::pattern::{Extent, Run};
use std::io;

/// `pfwrite($h, n [, off] [, word])`
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    pub(super) len: u64,
    /// `None`: this rank's position.
    pub(super) offset: Option<u64>,
    pub(super) word: Word,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Independent,
    All,
    Shared,
    Ordered,
}

impl Bytes {
    pub(super) fn is_shared(&self) -> bool {
        matches!(self.word, Word::Shared | Word::Ordered)
    }
}

/// The bytes that a statement asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked<'a> {
    Pattern(&'a Ready<'a>),
    /// A number of bytes from a position.
    From(u64, u64),
    /// A number of bytes wherever the shared file pointer was.
    Anywhere(u64),
}

impl Asked<'_> {
    /// How many of them a file of this size has.
    fn within(self, size_bytes: u64) -> u64 {
        match self {
            Asked::Pattern(ready) => ready.runs().map(|run| run.bytes_within(size_bytes)).sum(),
            Asked::From(offset, len) => size_bytes.saturating_sub(offset).min(len),
            Asked::Anywhere(len) => len.min(size_bytes),
        }
    }
}

/// A file in which bytes are moved.
pub(super) struct Job<'a> {
    pub(super) file: MpiFile,
    pub(super) members: &'a Members,
    pub(super) write: bool,
    /// A size that the file was seen to have.
    pub(super) seen_bytes: u64,
}

impl Job<'_> {
    /// The size of a file that may be too short for what is asked; `None`: it is long enough, or nobody
    /// knows. Only who asks for more than was seen looks. Not timed.
    fn look<B: Backend>(&mut self, io: &mut Io<'_, B>, asked: Asked<'_>) -> Option<u64> {
        let end_bytes = match asked {
            Asked::Pattern(ready) => ready.end_bytes,
            Asked::From(offset, len) => offset.saturating_add(len),
            Asked::Anywhere(len) => len,
        };
        if end_bytes <= self.seen_bytes {
            return None;
        }
        let reply = io.backend.issue_file(FileCall::Position { file: self.file });
        self.seen_bytes = u64::try_from(reply).ok()?;
        Some(self.seen_bytes)
    }

    /// Where the file ends for reads that are under way together.
    fn end_bytes<B: Backend>(&mut self, io: &mut Io<'_, B>, asked: Asked<'_>, depth: u32) -> u64 {
        if self.write || depth == 1 {
            return u64::MAX;
        }
        // Asked anew: another rank or handle can have cut the file since, and some library would hang.
        self.seen_bytes = 0;
        self.look(io, asked).unwrap_or(u64::MAX)
    }

    /// Takes back what a read cannot have moved. Fewer bytes than asked for are the end of the file, or an
    /// error that MPI did not report.
    pub(super) fn check_amount<B: Backend>(
        &mut self,
        io: &mut Io<'_, B>,
        asked: Asked<'_>,
        tally: &mut Tally,
    ) {
        if tally.errno != 0 {
            return;
        }
        if !self.write
            && let Some(size_bytes) = self.look(io, asked)
        {
            tally.done_bytes = tally.done_bytes.min(asked.within(size_bytes));
        }
        if tally.done_bytes < tally.requested_bytes {
            if self.write {
                let what = "MPI wrote fewer bytes than it was given, without an error";
                io.fail_file(tally, libc::EIO, what);
            } else {
                tally.short = true;
            }
        }
    }

    /// Moves the bytes in bulk, without calls.
    fn move_in_bulk<B: Backend>(
        &self,
        io: &mut Io<'_, B>,
        asked: Asked<'_>,
        (buffer_bytes, depth): (u64, u32),
        tally: &mut Tally,
    ) {
        let (write, rest) = (self.write, false);
        let memory = call_memory(write.then_some(io.options.active().data), buffer_bytes);
        let memory = if depth > 1 { slots_memory(memory, depth) } else { memory };
        let mut moved = |file: BulkFile, run: Run| {
            io.move_in_bulk(tally, &Bulk { file, run, write, rest, buffer_bytes, memory });
        };
        let file = BulkFile::Mpi(self.file);
        match asked {
            Asked::Pattern(ready) => ready.runs().for_each(|run| moved(file, run)),
            Asked::From(offset, len) => moved(file, Run::single(offset, len)),
            Asked::Anywhere(len) => moved(BulkFile::MpiShared(self.file), Run::single(0, len)),
        }
    }
}

impl<B: Backend> Io<'_, B> {
    /// Most bytes of one call: what the option says, and what the library takes.
    fn mpi_call_bytes(&self) -> u64 {
        self.options.active().transfer.unwrap_or(u64::MAX).min(self.mpi_call_bytes)
    }

    /// Moves a number of bytes; `position`: of this rank in the file.
    pub(super) fn move_mpi_bytes(
        &mut self,
        buffers: &mut Buffers,
        job: &mut Job<'_>,
        (bytes, position): (Bytes, u64),
        tally: &mut Tally,
    ) {
        let shared = bytes.is_shared();
        let collective = matches!(bytes.word, Word::All | Word::Ordered);
        let from = if shared { 0 } else { bytes.offset.unwrap_or(position) };
        self.touched.unknown = shared && self.keeps_events;
        (tally.offset_bytes, tally.requested_bytes) = (from, bytes.len);
        let asked = if shared { Asked::Anywhere(bytes.len) } else { Asked::From(from, bytes.len) };
        let active = self.options.active();
        // One transfer is one call, unless `transfer` cuts it.
        let depth = if shared || active.transfer.is_none() { 1 } else { active.depth };
        let longest_bytes = self.mpi_call_bytes().min(bytes.len);
        if self.accounts {
            let buffer_bytes = longest_bytes.saturating_mul(depth.into());
            job.move_in_bulk(self, asked, (buffer_bytes, depth), tally);
            return job.check_amount(self, asked, tally);
        }
        let own = bytes.len.div_ceil(longest_bytes.max(1)).max(1);
        // The same number of calls on all members.
        let agrees = collective && self.mpi_call_bytes() < u64::MAX;
        let rounds = if agrees { self.most(job.members, own as i64) as u64 } else { own };
        let at = match shared {
            true => At::Shared { ordered: collective },
            false => At::Offset { offset: 0, collective },
        };
        let end_bytes = job.end_bytes(self, asked, depth);
        let calls = Calls { at, rounds, longest_bytes, depth, end_bytes, ..Calls::of(job) };
        let whole = Extent { offset_bytes: from, length_bytes: bytes.len };
        calls.make(self, buffers, split(whole, longest_bytes), tally);
        job.check_amount(self, asked, tally);
    }

    /// Moves this member's extents. `restore`: the file goes on being used, as plain bytes.
    pub(super) fn move_pattern(
        &mut self,
        buffers: &mut Buffers,
        job: &mut Job<'_>,
        ready: &Ready<'_>,
        restore: bool,
        tally: &mut Tally,
    ) {
        let asked = Asked::Pattern(ready);
        (tally.offset_bytes, tally.requested_bytes) = (ready.first_offset, ready.bytes);
        if self.keeps_events {
            (self.touched.extents, self.touched.pieces) = ready.recorded(&mut self.recorder);
        }
        let (longest_bytes, depth) = match ready.is_whole() {
            true => (ready.bytes, 1),
            false => (ready.longest_bytes, self.options.active().depth),
        };
        if self.accounts {
            let buffer_bytes =
                self.mpi_call_bytes().min(longest_bytes).saturating_mul(depth.into());
            job.move_in_bulk(self, asked, (buffer_bytes, depth), tally);
        } else if ready.is_whole() {
            self.through_view(buffers, job, ready, restore, tally);
        } else {
            let call_bytes = self.mpi_call_bytes();
            let extents = || ready.extents().flat_map(|extent| split(extent, call_bytes));
            let own_rounds = || match call_bytes < longest_bytes {
                true => extents().count() as u64,
                false => ready.count(),
            };
            let (at, rounds) = job.at_offsets(self, ready.is_collective(), own_rounds);
            let longest_bytes = longest_bytes.min(call_bytes);
            let end_bytes = job.end_bytes(self, asked, depth);
            let calls = Calls { at, rounds, longest_bytes, depth, end_bytes, ..Calls::of(job) };
            calls.make(self, buffers, extents(), tally);
        }
        job.check_amount(self, asked, tally);
    }

    /// Levels 2 and 3: one call over all extents, which a file view shows one after the other.
    fn through_view(
        &mut self,
        buffers: &mut Buffers,
        job: &Job<'_>,
        ready: &Ready<'_>,
        restore: bool,
        tally: &mut Tally,
    ) {
        let (file, view) = (job.file, self.build_view(ready));
        if let Err(errno) = view {
            tally.fail(errno);
            self.detail = self.backend.explanation().map(str::to_string);
        }
        if self.any_failed(job.members, tally, "building the view failed on another member") {
            return;
        }
        let view = view.ok().flatten();
        self.part(tally, Part::View, FileCall::SetView { file, view });
        if !self.any_failed(job.members, tally, "setting the view failed on another member") {
            self.view_calls(buffers, job, ready, tally);
        }
        if restore {
            // Not timed: an application would keep its view, or open the file anew.
            let whole = FileCall::SetView { file, view: None };
            if self.backend.prepare_file(&whole).is_ok() {
                self.backend.issue_file(whole);
            }
        }
    }

    /// The number of the view over a pattern; `None`: this member sees nothing. Not timed.
    fn build_view(&mut self, ready: &Ready<'_>) -> Result<Option<ViewId>, i32> {
        let Some(view) = ready.view() else { return Ok(None) };
        let built = ready.view_id.get().unwrap_or_else(|| {
            match self.backend.issue_file(FileCall::MakeView { view }) {
                reply if reply < 0 => Err(-reply as i32),
                reply => Ok(ViewId(reply as i32)),
            }
        });
        ready.view_id.set(Some(built));
        built.map(Some)
    }

    fn view_calls(
        &mut self,
        buffers: &mut Buffers,
        job: &Job<'_>,
        ready: &Ready<'_>,
        tally: &mut Tally,
    ) {
        let (order, bytes) = (ready.order(), ready.bytes);
        // What goes to several places in memory order is one call.
        let call_bytes = if order.is_some() { u64::MAX } else { self.mpi_call_bytes() };
        let own_rounds = || bytes.div_ceil(call_bytes).max(1);
        let (at, rounds) = job.at_offsets(self, ready.is_collective(), own_rounds);
        let content = self.options.active().data;
        // Zeros are the same everywhere.
        let gathered = job.write && content != Content::Zero;
        if gathered {
            let range = |extent: Extent| (extent.offset_bytes, extent.length_bytes as usize);
            let places = ready.extents().map(range);
            self.make_room(buffers, bytes as usize);
            let filled = self.fill(bytes, |_| buffers.gather(content, bytes as usize, places));
            if filled.is_err() {
                tally.fail(libc::ENOMEM);
            }
        }
        let calls = Calls { at, rounds, order, gathered, ..Calls::of(job) };
        let whole = Extent { offset_bytes: 0, length_bytes: bytes };
        calls.make(self, buffers, split(whole, call_bytes), tally);
    }

    fn submit_mpi(&mut self, tag: Tag, mut call: Queued, tally: &mut Tally) -> Submitted {
        self.backend.prepare_queued(tag, &mut call);
        let start_ns = self.clock.now();
        let submitted = self.backend.submit(tag, call);
        let end_ns = self.clock.now();
        let reply = match submitted {
            Submitted::UnderWay => 0,
            Submitted::Done(reply) => reply,
        };
        self.count_mpi(tally, Shot { start_ns, end_ns, reply });
        submitted
    }

    /// Waits for one of the transfers under way. `None`: the back-end has lost it, and its memory is not used
    /// again.
    fn wait_for_mpi(&mut self, tally: &mut Tally) -> Option<Tag> {
        let start_ns = self.clock.now();
        self.backend.hand_over(1);
        let end_ns = self.clock.now();
        let ended = self.backend.ended();
        let reply = ended.map_or(-Reply::from(libc::EIO), |ended| ended.1);
        self.count_mpi(tally, Shot { start_ns, end_ns, reply });
        ended.map(|(tag, _)| tag)
    }

    fn count_mpi(&mut self, tally: &mut Tally, shot: Shot) {
        tally.done_bytes += self.add_explained(tally, Part::Data, shot).max(0) as u64;
    }
}

/// An extent, cut into calls of at most `call_bytes`.
fn split(extent: Extent, call_bytes: u64) -> impl Iterator<Item = Extent> {
    let call_bytes = call_bytes.max(1);
    (0..extent.length_bytes.div_ceil(call_bytes)).map(move |i| Extent {
        offset_bytes: extent.offset_bytes + i * call_bytes,
        length_bytes: call_bytes.min(extent.length_bytes - i * call_bytes),
    })
}

impl Job<'_> {
    /// Calls at offsets, and how many: members of a collective access agree on it.
    fn at_offsets<B: Backend>(
        &self,
        io: &mut Io<'_, B>,
        collective: bool,
        own_rounds: impl FnOnce() -> u64,
    ) -> (At, u64) {
        let rounds = match collective {
            true => io.most(self.members, own_rounds() as i64) as u64,
            false => 0,
        };
        (At::Offset { offset: 0, collective }, rounds)
    }
}

/// Arguments that all calls of one statement share.
#[derive(Clone, Copy, Debug)]
struct Calls {
    file: MpiFile,
    write: bool,
    /// Where; the offset is that of each call.
    at: At,
    /// Calls to make at least: a member with fewer extents pads with calls of no bytes.
    rounds: u64,
    /// The longest call of this member, if several are under way.
    longest_bytes: u64,
    /// Transfers under way at one time.
    depth: u32,
    /// Where the file ends for reads that are under way together.
    end_bytes: u64,
    /// The view whose order the memory has.
    order: Option<ViewId>,
    /// [`Buffers::gather`] has put together what is written; offsets are places in it.
    gathered: bool,
}

impl Calls {
    /// Independent calls, one at a time.
    fn of(job: &Job<'_>) -> Calls {
        Calls {
            file: job.file,
            write: job.write,
            at: At::Offset { offset: 0, collective: false },
            rounds: 0,
            longest_bytes: 0,
            depth: 1,
            end_bytes: u64::MAX,
            order: None,
            gathered: false,
        }
    }

    /// After an error, or when the run is to stop, independent calls end; collective ones go on, after an
    /// error without bytes, because the other members wait.
    fn next(
        &self,
        extents: &mut impl Iterator<Item = Extent>,
        round: u64,
        tally: &mut Tally,
    ) -> Option<Extent> {
        let collective = self.at.is_collective();
        if !collective && stop::requested() {
            tally.fail(STOPPED);
        }
        let good = tally.errno == 0;
        let extent = if good { extents.next() } else { None };
        let pads = (good || collective) && round < self.rounds;
        extent.or_else(|| pads.then(Extent::default))
    }

    /// Makes all calls.
    fn make<B: Backend>(
        &self,
        io: &mut Io<'_, B>,
        buffers: &mut Buffers,
        mut extents: impl Iterator<Item = Extent>,
        tally: &mut Tally,
    ) {
        if let At::Offset { collective, .. } = self.at
            && self.depth > 1
        {
            return self.overlap(io, buffers, collective, extents, tally);
        }
        let mut round = 0;
        while let Some(extent) = self.next(&mut extents, round, tally) {
            round += 1;
            let memory = match self.memory(io, buffers, extent) {
                Ok(memory) => memory,
                Err(_) => {
                    tally.fail(libc::ENOMEM);
                    if !self.at.is_collective() {
                        return;
                    }
                    // The other members make this call too.
                    if self.write { Memory::Write(&[]) } else { Memory::Read(&mut []) }
                }
            };
            let at = match self.at {
                At::Offset { collective, .. } => {
                    At::Offset { offset: extent.offset_bytes, collective }
                }
                shared => shared,
            };
            let (file, order) = (self.file, self.order);
            let call = FileCall::Transfer { file, at, memory, order };
            tally.done_bytes += io.part(tally, Part::Data, call).max(0) as u64;
        }
    }

    /// Memory for one call, filled where it is written.
    fn memory<'b, B: Backend>(
        &self,
        io: &mut Io<'_, B>,
        buffers: &'b mut Buffers,
        extent: Extent,
    ) -> io::Result<Memory<'b>> {
        let len = extent.length_bytes as usize;
        Ok(match (self.write, self.gathered) {
            (false, _) => Memory::Read(io.target(buffers, len)?),
            (true, true) => {
                let from = extent.offset_bytes as usize;
                Memory::Write(buffers.gathered(from..from + len))
            }
            (true, false) => Memory::Write(io.source(buffers, len, extent.offset_bytes)?),
        })
    }

    /// Up to `depth` transfers at a time, each with memory of its own (those that write zeros share it).
    fn overlap<B: Backend>(
        &self,
        io: &mut Io<'_, B>,
        buffers: &mut Buffers,
        collective: bool,
        mut extents: impl Iterator<Item = Extent>,
        tally: &mut Tally,
    ) {
        let content: Option<Content> = self.write.then_some(io.options.active().data);
        let mut slots = match buffers.slots(content, self.longest_bytes as usize, self.depth) {
            Ok(slots) => slots,
            Err(_) => {
                tally.fail(libc::ENOMEM);
                // Calls without bytes, as many as the other members make.
                let none = buffers.slots(content.map(|_| Content::Zero), 0, self.depth);
                let (Ok(slots), true) = (none, collective) else { return };
                slots
            }
        };
        let target = Target::Mpi { file: self.file, collective };
        let (mut under_way, mut round) = (0, 0);
        loop {
            if under_way == self.depth {
                io.wait_for_mpi(tally).into_iter().for_each(|tag| slots.give_back(tag));
                under_way -= 1;
            }
            let Some(asked) = self.next(&mut extents, round, tally) else { break };
            round += 1;
            let before_end = self.end_bytes.saturating_sub(asked.offset_bytes);
            let length_bytes = asked.length_bytes.min(before_end);
            let extent = Extent { length_bytes, ..asked };
            let lent = match self.write {
                true => io.fill(length_bytes, |_| slots.lend(extent)),
                false => slots.lend(extent),
            };
            let Some((tag, memory)) = lent else { break };
            let (offset, asked_bytes) = (asked.offset_bytes, asked.length_bytes);
            match io.submit_mpi(tag, Queued { target, offset, memory, asked_bytes }, tally) {
                Submitted::UnderWay => under_way += 1,
                Submitted::Done(_) => slots.give_back(tag),
            }
        }
        for _ in 0..under_way {
            io.wait_for_mpi(tally).into_iter().for_each(|tag| slots.give_back(tag));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_before_the_end_are_counted() {
        assert_eq!((Asked::From(10, 5).within(12), Asked::From(10, 5).within(9)), (2, 0));
        assert_eq!(Asked::From(10, 5).within(99), 5);
        assert_eq!((Asked::Anywhere(5).within(3), Asked::Anywhere(5).within(9)), (3, 5));
    }

    #[test]
    fn an_extent_is_cut_into_calls() {
        let extent = Extent { offset_bytes: 7, length_bytes: 10 };
        let cut = |most| split(extent, most).map(|one| (one.offset_bytes, one.length_bytes));
        assert_eq!(cut(4).collect::<Vec<_>>(), [(7, 4), (11, 4), (15, 2)]);
        assert_eq!(cut(u64::MAX).collect::<Vec<_>>(), [(7, 10)]);
    }
}

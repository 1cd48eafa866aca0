//! The calls of one statement: one after the other, or several under way at one time.
//!
//! Each transfer under way has a slot of memory; transfers end in any order, and an ended one makes room
//! for the next. The time of the statement is the time of the calls that make, start and await them.

use super::super::io::Io;
use super::super::tally::{Shot, Tally};
use super::super::transfer::STOPPED;
use super::end::before;
use crate::backend::Backend;
use crate::buffer::{Buffers, Content};
use crate::call::{At, FileCall, Memory, MpiFile, Queued, Reply, Submitted, Tag, Target, ViewId};
use crate::stop;
use model::Part;
use model::pattern::Extent;
use std::io;

/// Where the bytes to be written come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    /// Each call's offset is a place in the file.
    ByOffset,
    /// [`Buffers::gather`] has put them together; offsets are places in them.
    Gathered,
}

/// Arguments that all calls of one statement share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls {
    pub(super) file: MpiFile,
    pub(super) write: bool,
    /// Where; the offset is that of each call.
    pub(super) at: At,
    /// Calls to make at least: a member with fewer pieces pads with calls of no bytes.
    pub(super) rounds: Option<u64>,
    /// The longest call of all members, bytes, if it is known.
    pub(super) most_bytes: Option<u64>,
    /// The longest call of this member, bytes.
    pub(super) longest_bytes: u64,
    /// Transfers under way at one time.
    pub(super) depth: u32,
    /// Where the file ends for reads that are under way together.
    pub(super) end_bytes: u64,
    /// The view whose order the memory has.
    pub(super) order: Option<ViewId>,
    pub(super) filling: Filling,
}

impl Calls {
    /// After an error, or when the run is to stop, independent calls end; collective ones go on, after an
    /// error without bytes, because the other members wait.
    fn next(
        &self,
        pieces: &mut impl Iterator<Item = Extent>,
        round: u64,
        tally: &mut Tally,
    ) -> Option<Extent> {
        if !self.at.is_collective() && stop::requested() {
            tally.fail(STOPPED);
        }
        let good = tally.errno == 0;
        let piece = if good { pieces.next() } else { None };
        let pads = good || self.at.is_collective();
        piece.or_else(|| {
            self.rounds.filter(|rounds| pads && round < *rounds).map(|_| Extent::default())
        })
    }

    /// Makes all calls.
    pub(super) fn make<B: Backend>(
        &self,
        io: &mut Io<'_, B>,
        buffers: &mut Buffers,
        mut pieces: impl Iterator<Item = Extent>,
        tally: &mut Tally,
    ) {
        if let At::Offset { collective, .. } = self.at
            && self.depth > 1
        {
            return self.overlap(io, buffers, collective, pieces, tally);
        }
        let mut round = 0;
        while let Some(piece) = self.next(&mut pieces, round, tally) {
            round += 1;
            let memory = match self.memory(io, buffers, piece) {
                Ok(memory) => memory,
                Err(_) => {
                    tally.fail(libc::ENOMEM);
                    if !self.at.is_collective() {
                        return;
                    }
                    Memory::Write(&[])
                }
            };
            let at = match self.at {
                At::Offset { collective, .. } => {
                    At::Offset { offset: piece.offset_bytes, collective }
                }
                shared => shared,
            };
            let (file, order, most_bytes) = (self.file, self.order, self.most_bytes);
            let call = FileCall::Transfer { file, at, memory, order, most_bytes };
            let reply = io.part(tally, Part::Data, call);
            tally.done_bytes += reply.max(0) as u64;
        }
    }

    /// Memory for one call, filled where it is written.
    fn memory<'b, B: Backend>(
        &self,
        io: &mut Io<'_, B>,
        buffers: &'b mut Buffers,
        piece: Extent,
    ) -> io::Result<Memory<'b>> {
        let len = piece.length_bytes as usize;
        Ok(match (self.write, self.filling) {
            (false, _) => Memory::Read(buffers.target(len)?),
            (true, Filling::Gathered) => {
                let from = piece.offset_bytes as usize;
                Memory::Write(buffers.gathered(from..from + len))
            }
            (true, Filling::ByOffset) => {
                let watch = io.watch_filling(piece.length_bytes);
                let content = io.options.active().data;
                let memory = buffers.wide_source(content, len, piece.offset_bytes);
                io.filled(watch, piece.length_bytes);
                Memory::Write(memory?)
            }
        })
    }

    /// Up to `depth` transfers at a time, each with memory of its own (those that write zeros share it).
    fn overlap<B: Backend>(
        &self,
        io: &mut Io<'_, B>,
        buffers: &mut Buffers,
        collective: bool,
        mut pieces: impl Iterator<Item = Extent>,
        tally: &mut Tally,
    ) {
        let content: Option<Content> = self.write.then_some(io.options.active().data);
        let slots = buffers.slots(content, self.longest_bytes as usize, self.depth);
        let Ok(mut slots) = slots else { return tally.fail(libc::ENOMEM) };
        let target = Target::Mpi { file: self.file, collective };
        let (mut under_way, mut round) = (0, 0);
        loop {
            if under_way == self.depth {
                reap(io, tally).into_iter().for_each(|tag| slots.give_back(tag));
                under_way -= 1;
            }
            let Some(asked) = self.next(&mut pieces, round, tally) else { break };
            round += 1;
            let piece = if self.write { asked } else { before(self.end_bytes, asked) };
            let watch = if self.write { io.watch_filling(piece.length_bytes) } else { None };
            let Some((tag, memory)) = slots.lend(piece) else { break };
            io.filled(watch, piece.length_bytes);
            let (offset, asked_bytes) = (piece.offset_bytes, asked.length_bytes);
            match submit(io, tag, Queued { target, offset, memory, asked_bytes }, tally) {
                Submitted::UnderWay => under_way += 1,
                Submitted::Done(_) => slots.give_back(tag),
            }
        }
        for _ in 0..under_way {
            reap(io, tally).into_iter().for_each(|tag| slots.give_back(tag));
        }
    }
}

fn submit<B: Backend>(
    io: &mut Io<'_, B>,
    tag: Tag,
    mut call: Queued,
    tally: &mut Tally,
) -> Submitted {
    io.backend.prepare_queued(tag, &mut call);
    let start_ns = io.clock.now();
    let submitted = io.backend.submit(tag, call);
    let end_ns = io.clock.now();
    let reply = match submitted {
        Submitted::UnderWay => 0,
        Submitted::Done(reply) => reply,
    };
    count(io, tally, Shot { start_ns, end_ns, reply });
    submitted
}

/// Waits for one of the transfers under way. `None`: the back-end has lost it, and its memory is not used
/// again.
fn reap<B: Backend>(io: &mut Io<'_, B>, tally: &mut Tally) -> Option<Tag> {
    io.backend.prepare_reap();
    let start_ns = io.clock.now();
    let ended = io.backend.reap();
    let end_ns = io.clock.now();
    let reply = ended.map_or(-Reply::from(libc::EIO), |ended| ended.1);
    count(io, tally, Shot { start_ns, end_ns, reply });
    ended.map(|(tag, _)| tag)
}

fn count<B: Backend>(io: &mut Io<'_, B>, tally: &mut Tally, shot: Shot) {
    tally.done_bytes += io.add_explained(tally, Part::Data, shot).max(0) as u64;
}

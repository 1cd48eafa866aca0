//! The calls of one statement, one after the other or several at a time.

use super::super::io::Io;
use super::super::now;
use super::super::queued;
use super::super::tally::Tally;
use super::super::task;
use super::end::before;
use crate::backend::Backend;
use crate::buffer::{Buffers, Content};
use crate::call::{At, FileCall, Memory, MpiFile, Target, ViewId};
use crate::stop;
use model::Part;
use model::pattern::Extent;
use std::io;

/// Where the bytes to be written come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Filling {
    /// Each call's offset is a place in the file.
    ByOffset,
    /// [`Buffers::gather`] has put them together; offsets are places in them.
    Gathered,
}

/// What the calls of one statement have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls {
    pub(super) file: MpiFile,
    pub(super) write: bool,
    /// Where; the offset is that of each call.
    pub(super) at: At,
    /// Calls to make at least: who has fewer pieces pads with calls of no bytes.
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
    /// After an error, or when somebody asked the run to stop, independent calls end; collective ones
    /// go on, after an error without bytes, because the other members wait.
    fn next(
        &self,
        pieces: &mut impl Iterator<Item = Extent>,
        round: u64,
        tally: &mut Tally,
    ) -> Option<Extent> {
        if !self.at.is_collective() && stop::requested() {
            tally.fail(task::STOPPED);
        }
        let good = tally.errno == 0;
        let piece = if good { pieces.next() } else { None };
        let pads = good || self.at.is_collective();
        piece.or_else(|| {
            self.rounds.filter(|rounds| pads && round < *rounds).map(|_| Extent::default())
        })
    }
}

/// Makes all calls of a statement.
pub(super) fn run<B: Backend>(
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    calls: &Calls,
    pieces: impl Iterator<Item = Extent>,
    tally: &mut Tally,
) {
    match calls.at {
        At::Offset { collective, .. } if calls.depth > 1 => {
            overlapped(io, buffers, calls, collective, pieces, tally);
        }
        _ => one_by_one(io, buffers, calls, pieces, tally),
    }
}

fn one_by_one<B: Backend>(
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    calls: &Calls,
    mut pieces: impl Iterator<Item = Extent>,
    tally: &mut Tally,
) {
    let content = io.options.active().data;
    let mut round = 0;
    while let Some(piece) = calls.next(&mut pieces, round, tally) {
        round += 1;
        let fills = calls.write && calls.filling == Filling::ByOffset;
        let watch = if fills { io.watch_filling(piece.length_bytes) } else { None };
        let memory = memory(buffers, calls, content, piece);
        io.filled(watch, piece.length_bytes);
        let memory = match memory {
            Ok(memory) => memory,
            Err(_) => {
                tally.fail(libc::ENOMEM);
                if !calls.at.is_collective() {
                    return;
                }
                Memory::Write(&[])
            }
        };
        let at = match calls.at {
            At::Offset { collective, .. } => At::Offset { offset: piece.offset_bytes, collective },
            shared => shared,
        };
        let (order, most_bytes) = (calls.order, calls.most_bytes);
        let call = FileCall::Transfer { file: calls.file, at, memory, order, most_bytes };
        let reply = now::part(io, tally, Part::Data, call);
        tally.done_bytes += reply.max(0) as u64;
    }
}

/// Memory for one call, filled where it is written.
fn memory<'b>(
    buffers: &'b mut Buffers,
    calls: &Calls,
    content: Content,
    piece: Extent,
) -> io::Result<Memory<'b>> {
    let len = piece.length_bytes as usize;
    Ok(match (calls.write, calls.filling) {
        (false, _) => Memory::Read(buffers.target(len)?),
        (true, Filling::Gathered) => {
            let from = piece.offset_bytes as usize;
            Memory::Write(buffers.gathered(from..from + len))
        }
        (true, Filling::ByOffset) => {
            Memory::Write(buffers.wide_source(content, len, piece.offset_bytes)?)
        }
    })
}

/// Up to `depth` transfers at a time, each with memory of its own (those that write zeros share
/// it).
fn overlapped<B: Backend>(
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    calls: &Calls,
    collective: bool,
    mut pieces: impl Iterator<Item = Extent>,
    tally: &mut Tally,
) {
    let content = calls.write.then_some(io.options.active().data);
    let Ok(slots) = buffers.slots(content, calls.longest_bytes as usize, calls.depth) else {
        return tally.fail(libc::ENOMEM);
    };
    let target = Target::Mpi { file: calls.file, collective };
    let mut round = 0;
    queued::run(io, slots, (target, calls.depth), tally, |tally| {
        let piece = calls.next(&mut pieces, round, tally)?;
        round += 1;
        let cut = if calls.write { piece } else { before(calls.end_bytes, piece) };
        Some((cut, piece.length_bytes))
    });
}

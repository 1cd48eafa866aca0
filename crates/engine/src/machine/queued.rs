//! Makes the transfers of an operation with several of them under way: each has a slot of memory,
//! they end in any order, and an ended one makes room for the next.
//!
//! The time is what the calls that start and that wait take.

use super::io::Io;
use super::tally::{Shot, Tally};
use crate::backend::Backend;
use crate::buffer::Slots;
use crate::call::{Queued, Reply, Submitted, Tag, Target};
use model::Part;
use model::pattern::Extent;

/// Makes the transfers that `next` gives, each with its length before it was cut, up to `depth` at a time.
pub(super) fn run<B: Backend>(
    io: &mut Io<'_, B>,
    mut slots: Slots<'_>,
    (target, depth): (Target, u32),
    tally: &mut Tally,
    mut next: impl FnMut(&mut Tally) -> Option<(Extent, u64)>,
) {
    let mut under_way = 0;
    loop {
        if under_way == depth {
            reap(io, &mut slots, tally);
            under_way -= 1;
        }
        let Some((piece, asked_bytes)) = next(tally) else { break };
        let watch = if slots.fills() { io.watch_filling(piece.length_bytes) } else { None };
        let Some((tag, memory)) = slots.lend(piece) else { break };
        io.filled(watch, piece.length_bytes);
        let mut call = Queued { target, offset: piece.offset_bytes, memory, asked_bytes };
        io.backend.prepare_queued(tag, &mut call);
        match submit(io, tag, call, tally) {
            Submitted::UnderWay => under_way += 1,
            Submitted::Done(_) => slots.give_back(tag),
        }
    }
    for _ in 0..under_way {
        reap(io, &mut slots, tally);
    }
}

fn submit<B: Backend>(io: &mut Io<'_, B>, tag: Tag, call: Queued, tally: &mut Tally) -> Submitted {
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

/// Waits for one of the transfers under way.
fn reap<B: Backend>(io: &mut Io<'_, B>, slots: &mut Slots<'_>, tally: &mut Tally) {
    let start_ns = io.clock.now();
    let ended = io.backend.reap();
    let end_ns = io.clock.now();
    // A back-end that has lost a transfer: its memory is not used again.
    let reply = ended.map_or(-Reply::from(libc::EIO), |ended| ended.1);
    count(io, tally, Shot { start_ns, end_ns, reply });
    if let Some((tag, _)) = ended {
        slots.give_back(tag);
    }
}

fn count<B: Backend>(io: &mut Io<'_, B>, tally: &mut Tally, shot: Shot) {
    tally.done_bytes += io.add_explained(tally, Part::Data, shot).max(0) as u64;
}

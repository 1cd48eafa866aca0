//! The calls that move the bytes of a statement: one for each piece, or one over all pieces
//! through a view.

use super::super::io::Io;
use super::super::tally::{Shot, Tally};
use super::calls::{Calls, Filling};
use super::data::{Bytes, Word};
use super::end::{self, Asked};
use super::members::Opened;
use super::patterns::{Facts, Used};
use crate::backend::{Backend, Bulk, BulkFile};
use crate::buffer::{Buffers, Content, WIDE_BYTES};
use crate::call::{At, FileCall, MpiFile};
use crate::comm::Members;
use model::Part;
use model::pattern::{Extent, Run};

/// A file in which bytes are moved.
pub(super) struct Job<'a> {
    pub(super) file: MpiFile,
    pub(super) members: &'a Members,
    pub(super) write: bool,
    /// A size that the file was seen to have.
    pub(super) seen_bytes: u64,
}

impl Job<'_> {
    /// Calls that depend on nobody, one at a time.
    fn calls(&self, at: At, longest_bytes: u64) -> Calls {
        Calls {
            file: self.file,
            write: self.write,
            at,
            rounds: None,
            most_bytes: None,
            longest_bytes,
            depth: 1,
            end_bytes: u64::MAX,
            order: None,
            filling: Filling::ByOffset,
        }
    }

    /// The same at offsets. Members of a collective access agree on the number of calls and on
    /// the longest of them.
    fn calls_at_offsets<B: Backend>(
        &self,
        io: &mut Io<'_, B>,
        collective: bool,
        longest_bytes: u64,
        own_rounds: impl FnOnce() -> u64,
    ) -> Calls {
        let calls = self.calls(At::Offset { offset: 0, collective }, longest_bytes);
        if !collective {
            return calls;
        }
        let rounds = io.most(self.members, own_rounds() as i64) as u64;
        let most_bytes = io.most(self.members, longest_bytes as i64) as u64;
        Calls { rounds: Some(rounds), most_bytes: Some(most_bytes), ..calls }
    }
}

/// `made`: the only call, which was made already.
pub(super) fn move_bytes<B: Backend>(
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    job: &mut Job<'_>,
    opened: &Opened,
    (bytes, made): (Bytes, Option<Shot>),
    tally: &mut Tally,
) {
    let shared = matches!(bytes.word, Word::Shared | Word::Ordered);
    let from = bytes.offset.unwrap_or(io.handles.get(opened.at).position);
    let from = if shared { 0 } else { from };
    io.touched.unknown = shared && io.keeps_events;
    (tally.offset_bytes, tally.requested_bytes) = (from, bytes.len);
    let active = *io.options.active();
    let call_bytes = active.transfer.unwrap_or(u64::MAX).min(bytes.len);
    let together = matches!(bytes.word, Word::All | Word::Ordered);
    let own = if bytes.len == 0 { 1 } else { bytes.len.div_ceil(call_bytes) };
    let asked = if shared { Asked::Anywhere(bytes.len) } else { Asked::From(from, bytes.len) };
    // One transfer is one call, unless `transfer` cuts it; the same kind of call on all members.
    let depth = if shared || active.transfer.is_none() { 1 } else { active.depth };
    let several = together && active.transfer.is_some();
    let rounds = if several { io.most(job.members, own as i64) as u64 } else { own };
    let at = match bytes.word {
        Word::Shared | Word::Ordered => At::Shared { ordered: together },
        _ => At::Offset { offset: 0, collective: together },
    };
    if io.accounts {
        move_without_calls(io, job, asked, call_bytes.saturating_mul(depth.into()), tally);
    }
    let end_bytes = end_bytes(io, job, asked, depth);
    let calls = Calls { rounds: Some(rounds), depth, end_bytes, ..job.calls(at, call_bytes) };
    let whole = Extent { offset_bytes: from, length_bytes: bytes.len };
    match made {
        Some(shot) => {
            tally.done_bytes = io.add_explained(tally, Part::Data, shot).max(0) as u64;
        }
        None if io.accounts => {}
        None => calls.make(io, buffers, split(whole, call_bytes), tally),
    }
    check_amount(io, job, asked, tally);
    if !shared && bytes.offset.is_none() {
        io.handles.get(opened.at).position += tally.done_bytes;
    }
}

/// Where the file ends for what is under way together.
fn end_bytes<B: Backend>(
    io: &mut Io<'_, B>,
    job: &mut Job<'_>,
    asked: Asked<'_>,
    depth: u32,
) -> u64 {
    if job.write || depth == 1 {
        return u64::MAX;
    }
    // Asked anew: another rank or handle can have cut the file since, and some library would hang.
    job.seen_bytes = 0;
    end::look(io, job.file, &mut job.seen_bytes, asked).unwrap_or(u64::MAX)
}

/// A piece, cut into calls of at most `call_bytes`.
fn split(extent: Extent, call_bytes: u64) -> impl Iterator<Item = Extent> {
    let call_bytes = call_bytes.max(1);
    (0..extent.length_bytes.div_ceil(call_bytes)).map(move |i| Extent {
        offset_bytes: extent.offset_bytes + i * call_bytes,
        length_bytes: call_bytes.min(extent.length_bytes - i * call_bytes),
    })
}

/// Moves this member's pieces. `restore`: the file goes on being used, as plain bytes.
pub(super) fn move_pattern<B: Backend>(
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    job: &mut Job<'_>,
    used: &Used<'_>,
    restore: bool,
    tally: &mut Tally,
) {
    let facts = io.patterns.facts(used);
    (tally.offset_bytes, tally.requested_bytes) = (facts.first_offset, facts.bytes);
    if io.keeps_events {
        (io.touched.extents, io.touched.pieces) = io.patterns.recorded(used, &mut io.recorder);
    }
    if io.accounts {
        let active = io.options.active();
        let (longest, depth) = match used.is_whole() {
            true => (facts.bytes, 1),
            false => (facts.longest_bytes, active.depth),
        };
        let call_bytes = active.transfer.unwrap_or(u64::MAX).min(longest);
        let buffer_bytes = call_bytes.saturating_mul(depth.into());
        move_without_calls(io, job, Asked::Runs(used.runs()), buffer_bytes, tally);
    } else {
        by_level(io, buffers, job, (used, facts), restore, tally);
    }
    check_amount(io, job, Asked::Runs(used.runs()), tally);
}

fn by_level<B: Backend>(
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    job: &mut Job<'_>,
    (used, facts): (&Used<'_>, Facts),
    restore: bool,
    tally: &mut Tally,
) {
    if used.is_whole() {
        through_view(io, buffers, job, used, facts, restore, tally);
    } else {
        piece_by_piece(io, buffers, job, used, facts, tally);
    }
}

/// Moves the bytes in bulk, without views.
fn move_without_calls<B: Backend>(
    io: &mut Io<'_, B>,
    job: &Job<'_>,
    asked: Asked<'_>,
    buffer_bytes: u64,
    tally: &mut Tally,
) {
    let (file, write) = (job.file, job.write);
    let start_ns = io.clock.now();
    let mut moved = |file: BulkFile, run: Run| {
        let bulk = Bulk { file, run, write, rest: false, buffer_bytes };
        match io.backend.move_bulk(&bulk) {
            reply if reply < 0 => tally.fail(-reply as i32),
            moved => tally.done_bytes += moved as u64,
        }
    };
    match asked {
        Asked::Runs(runs) => runs.iter().for_each(|run| moved(BulkFile::Mpi(file), *run)),
        Asked::From(offset, len) => moved(BulkFile::Mpi(file), Run::single(offset, len)),
        Asked::Anywhere(len) => moved(BulkFile::MpiShared(file), Run::single(0, len)),
    }
    tally.add_time(Part::Data, Shot { start_ns, end_ns: io.clock.now(), reply: 0 });
}

/// Fewer bytes than asked for: the end of the file, or an error that MPI did not report.
fn check_amount<B: Backend>(
    io: &mut Io<'_, B>,
    job: &mut Job<'_>,
    asked: Asked<'_>,
    tally: &mut Tally,
) {
    if !job.write {
        end::bound(io, job.file, &mut job.seen_bytes, asked, tally);
    }
    if tally.errno != 0 || tally.done_bytes >= tally.requested_bytes {
        return;
    }
    if job.write {
        io.fail_file(tally, libc::EIO, "MPI wrote fewer bytes than it was given, without an error");
    } else {
        tally.short = true;
    }
}

/// Levels 0 and 1: one call for each contiguous piece.
fn piece_by_piece<B: Backend>(
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    job: &mut Job<'_>,
    used: &Used<'_>,
    facts: Facts,
    tally: &mut Tally,
) {
    let active = *io.options.active();
    let call_bytes = active.transfer.unwrap_or(u64::MAX);
    let pieces = || used.extents().flat_map(|extent| split(extent, call_bytes));
    let longest_bytes = facts.longest_bytes.min(call_bytes);
    let own_rounds = || match active.transfer {
        None => facts.pieces,
        Some(_) => pieces().count() as u64,
    };
    let calls = job.calls_at_offsets(io, used.is_collective(), longest_bytes, own_rounds);
    let end_bytes = end_bytes(io, job, Asked::Runs(used.runs()), active.depth);
    let calls = Calls { depth: active.depth, end_bytes, ..calls };
    calls.make(io, buffers, pieces(), tally);
}

/// Levels 2 and 3: one call over all pieces, which a file view shows one after the other.
fn through_view<B: Backend>(
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    job: &Job<'_>,
    used: &Used<'_>,
    facts: Facts,
    restore: bool,
    tally: &mut Tally,
) {
    let view = match io.patterns.view(&mut io.backend, used) {
        Ok(view) => view,
        Err(errno) => {
            tally.fail(errno);
            io.detail = io.backend.explanation().map(str::to_string);
            None
        }
    };
    if io.any_failed(job.members, tally, "building the view failed on another member") {
        return;
    }
    let file = job.file;
    io.part(tally, Part::View, FileCall::SetView { file, view });
    if !io.any_failed(job.members, tally, "setting the view failed on another member") {
        view_calls(io, buffers, job, used, facts, tally);
    }
    if restore {
        // Not timed: an application would keep its view, or open the file anew.
        let whole = FileCall::SetView { file, view: None };
        if io.backend.prepare_file(&whole).is_ok() {
            io.backend.issue_file(whole);
        }
    }
}

fn view_calls<B: Backend>(
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    job: &Job<'_>,
    used: &Used<'_>,
    facts: Facts,
    tally: &mut Tally,
) {
    let active = *io.options.active();
    let order = io.patterns.order(used);
    // What goes to several places in memory order is one call.
    let call_bytes = active.transfer.filter(|_| order.is_none()).unwrap_or(u64::MAX);
    let own_rounds = || facts.bytes.div_ceil(call_bytes).max(1);
    let longest_bytes = facts.bytes.min(call_bytes);
    let calls = job.calls_at_offsets(io, used.is_collective(), longest_bytes, own_rounds);
    // Zeros are the same everywhere, and random data beyond this size repeats anyway.
    let by_place = match active.data {
        Content::Offset | Content::Sample(_) | Content::Marked => true,
        Content::Random | Content::Shaped(_) => facts.bytes <= WIDE_BYTES as u64,
        Content::Zero => false,
    };
    let gathers = job.write && by_place;
    let filling = if gathers { Filling::Gathered } else { Filling::ByOffset };
    if gathers {
        let range = |extent: Extent| (extent.offset_bytes, extent.length_bytes as usize);
        let places = used.extents().map(range);
        let watch = io.watch_filling(facts.bytes);
        if buffers.gather(active.data, facts.bytes as usize, places).is_err() {
            tally.fail(libc::ENOMEM);
        }
        io.filled(watch, facts.bytes);
    }
    let calls = Calls { order, filling, ..calls };
    let whole = Extent { offset_bytes: 0, length_bytes: facts.bytes };
    calls.make(io, buffers, split(whole, call_bytes), tally);
}

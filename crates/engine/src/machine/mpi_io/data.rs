//! Moving bytes by patterns and by numbers.

use super::super::control::Flow;
use super::super::eval::Env;
use super::super::fault::Fault;
use super::super::io::{Io, Subject, Tally};
use super::super::options::{Active, Fsync};
use super::super::perform::Step;
use super::end::{self, Asked};
use super::files::{close_file, open_file};
use super::plan::{self, Facts, Used};
use super::window::{Calls, Filling, run};
use super::{Opened, bad_file, meet, opened, timed, way};
use crate::backend::Backend;
use crate::buffer::{Buffers, Content};
use crate::call::{At, FileCall, MpiFile, MpiMode};
use crate::clock::Clock;
use crate::comm::{Comm, Members, Together};
use model::pattern::Extent;
use model::{Op, Part};

/// A file in which bytes are moved.
struct Job<'a> {
    file: MpiFile,
    members: &'a Members,
    write: bool,
    /// A size that the file was seen to have.
    seen_bytes: u64,
}

/// `pwrite(path, pattern [, group])`, `pread`: open, view, data, sync, close.
pub(super) fn whole_file<B: Backend, C: Comm, K: Clock>(
    step: Step<'_>,
    env: &mut Env<'_, K>,
    io: &mut Io<'_, B, K>,
    comm: &mut C,
    buffers: &mut Buffers,
) -> Result<Flow, Fault> {
    let write = step.op == Op::Pwrite;
    let group = plan::group_argument(step, env)?;
    let members = group.as_ref().unwrap_or(env.scope.members()).clone();
    if !members.ranks.contains(&env.scope.rank) {
        return Ok(Flow::Next);
    }
    let found = plan::pattern_named(env.plan, env.value(step.site, step.args[1])?)
        .ok_or_else(|| Fault::message(format!("{} needs the name of a pattern", step.op)))?;
    let used = plan::used(env, io, found, group.as_ref(), write)?;
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    let active = io.options.active();
    let stable = write && active.fsync != Fsync::None;
    let how = pattern_way(&used, active);
    let call = Together { op: step.op, file: 0, way: how | way(&[active.atomic, stable]) };
    match meet(comm, &members, step.site, call) {
        Flow::Next => {}
        flow => return Ok(flow),
    }
    let mode = MpiMode { read: !write, write, create: write, ..MpiMode::default() };
    let mut tally = Tally::EMPTY;
    if let Some(file) = open_file(io, mode, &members, &mut tally) {
        let mut job = Job { file, members: &members, write, seen_bytes: 0 };
        move_pattern(io, buffers, &mut job, &used, false, &mut tally);
        close_file(io, file, stable, &mut tally);
    }
    io.conclude(step.op, step.site, &tally, Subject::Path).map(|()| Flow::Next)
}

/// `pfwrite($h, ...)`, `pfread`
pub(super) fn transfer<B: Backend, C: Comm, K: Clock>(
    step: Step<'_>,
    env: &mut Env<'_, K>,
    io: &mut Io<'_, B, K>,
    comm: &mut C,
    buffers: &mut Buffers,
) -> Result<Flow, Fault> {
    let write = step.op == Op::Pfwrite;
    let plan = env.plan;
    let found = plan::pattern_named(plan, env.value(step.site, step.args[1])?);
    let what = match found {
        Some(found) => What::Pattern(plan::used(env, io, found, None, write)?),
        None => bytes(step, env)?,
    };
    let opened = match opened(step, env, io)? {
        Ok(opened) => opened,
        Err(at) => return bad_file(step, io, at),
    };
    let sync = write && io.options.active().fsync == Fsync::Op;
    if what.needs_all() {
        let way = what.way(io.options.active()) | way(&[sync]);
        let call = Together { op: step.op, file: opened.number, way };
        match meet(comm, &opened.members, step.site, call) {
            Flow::Next => {}
            flow => return Ok(flow),
        }
    } else if sync && opened.members.ranks.len() > 1 {
        return Err(Fault::message(
            "fsync=\"op\" with an independent transfer: MPI_File_sync needs all members; use a \
             collective one, pfsync, or fsync=\"close\"",
        ));
    }
    let mut tally = Tally::EMPTY;
    let seen_bytes = io.handles.get(opened.at).seen_bytes;
    let mut job = Job { file: opened.file, members: &opened.members, write, seen_bytes };
    match what {
        What::Pattern(used) => move_pattern(io, buffers, &mut job, &used, true, &mut tally),
        What::Bytes(bytes) => move_bytes(io, buffers, &mut job, &opened, bytes, &mut tally),
    }
    io.handles.get(opened.at).seen_bytes = job.seen_bytes;
    if sync {
        let shot = timed(&mut io.backend, &io.clock, FileCall::Sync { file: job.file });
        io.add_file_call(&mut tally, Part::Sync, shot);
    }
    io.conclude(step.op, step.site, &tally, Subject::Handle(opened.at)).map(|()| Flow::Next)
}

/// What a transfer moves.
enum What<'p> {
    Pattern(Used<'p>),
    Bytes(Bytes),
}

/// `pfwrite($h, n [, off] [, word])`
#[derive(Clone, Copy)]
struct Bytes {
    len: u64,
    /// `None`: this rank's position.
    offset: Option<u64>,
    word: Word,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Independent,
    All,
    Shared,
    Ordered,
}

impl What<'_> {
    /// All members have to be there; setting a view is collective too.
    fn needs_all(&self) -> bool {
        match self {
            What::Pattern(used) => used.is_collective() || used.is_whole(),
            What::Bytes(bytes) => matches!(bytes.word, Word::All | Word::Ordered),
        }
    }

    /// Which calls of MPI it becomes.
    fn way(&self, active: &Active) -> u16 {
        match self {
            What::Pattern(used) => pattern_way(used, active),
            What::Bytes(bytes) => {
                let ordered = bytes.word == Word::Ordered;
                let several = active.transfer.is_some();
                // One transfer is one call, unless `transfer` cuts it.
                let deep = several && !ordered && active.depth > 1;
                way(&[ordered, several, deep]) << 4
            }
        }
    }
}

/// Which calls of MPI the access by a pattern becomes; leaves room for four flags below.
fn pattern_way(used: &Used<'_>, active: &Active) -> u16 {
    let (collective, whole) = (used.is_collective(), used.is_whole());
    let deep = collective && !whole && active.depth > 1;
    way(&[true, collective, whole, deep]) << 4
}

fn bytes<'p, K: Clock>(step: Step<'_>, env: &mut Env<'_, K>) -> Result<What<'p>, Fault> {
    let word = match env.plan.literal(step.args[3]) {
        None => Word::Independent,
        Some(b"all") => Word::All,
        Some(b"shared") => Word::Shared,
        Some(_) => Word::Ordered,
    };
    Ok(What::Bytes(Bytes {
        len: env.size(step.site, step.args[1])?,
        offset: env.optional_size(step.site, step.args[2])?,
        word,
    }))
}

fn move_bytes<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
    buffers: &mut Buffers,
    job: &mut Job<'_>,
    opened: &Opened,
    bytes: Bytes,
    tally: &mut Tally,
) {
    let shared = matches!(bytes.word, Word::Shared | Word::Ordered);
    let from = bytes.offset.unwrap_or(io.handles.get(opened.at).position);
    let from = if shared { 0 } else { from };
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
    let calls = Calls {
        file: job.file,
        write: job.write,
        at: match bytes.word {
            Word::Shared | Word::Ordered => At::Shared { ordered: together },
            _ => At::Offset { offset: 0, collective: together },
        },
        rounds: Some(rounds),
        most_bytes: None,
        longest_bytes: call_bytes,
        depth,
        end_bytes: end_bytes(io, job, asked, depth),
        order: None,
        filling: Filling::ByOffset,
    };
    let whole = Extent { offset_bytes: from, length_bytes: bytes.len };
    run(io, buffers, &calls, split(whole, call_bytes), tally);
    check_amount(io, job, asked, tally);
    if !shared && bytes.offset.is_none() {
        io.handles.get(opened.at).position += tally.done_bytes;
    }
}

/// Where the file ends for what is under way together.
fn end_bytes<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
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

/// A piece in calls of at most so many bytes.
fn split(extent: Extent, call_bytes: u64) -> impl Iterator<Item = Extent> {
    let call_bytes = call_bytes.max(1);
    (0..extent.length_bytes.div_ceil(call_bytes)).map(move |i| Extent {
        offset_bytes: extent.offset_bytes + i * call_bytes,
        length_bytes: call_bytes.min(extent.length_bytes - i * call_bytes),
    })
}

/// Moves this member's pieces. `restore`: the file goes on being used, as plain bytes.
fn move_pattern<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
    buffers: &mut Buffers,
    job: &mut Job<'_>,
    used: &Used<'_>,
    restore: bool,
    tally: &mut Tally,
) {
    let facts = io.patterns.facts(used);
    (tally.offset_bytes, tally.requested_bytes) = (facts.first_offset, facts.bytes);
    if used.is_whole() {
        through_view(io, buffers, job, used, facts, restore, tally);
    } else {
        piece_by_piece(io, buffers, job, used, facts, tally);
    }
    check_amount(io, job, Asked::Runs(used.runs()), tally);
}

/// Fewer bytes than asked for: the end of the file, or an error that MPI did not report.
fn check_amount<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
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
fn piece_by_piece<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
    buffers: &mut Buffers,
    job: &mut Job<'_>,
    used: &Used<'_>,
    facts: Facts,
    tally: &mut Tally,
) {
    let active = *io.options.active();
    let call_bytes = active.transfer.unwrap_or(u64::MAX);
    let pieces = || used.extents().flat_map(|extent| split(extent, call_bytes));
    let collective = used.is_collective();
    let longest_bytes = facts.longest_bytes.min(call_bytes);
    let (mut rounds, mut most_bytes) = (None, None);
    if collective {
        let own = match active.transfer {
            None => facts.pieces,
            Some(_) => pieces().count() as u64,
        };
        rounds = Some(io.most(job.members, own as i64) as u64);
        most_bytes = Some(io.most(job.members, longest_bytes as i64) as u64);
    }
    let calls = Calls {
        file: job.file,
        write: job.write,
        at: At::Offset { offset: 0, collective },
        rounds,
        most_bytes,
        longest_bytes,
        depth: active.depth,
        end_bytes: end_bytes(io, job, Asked::Runs(used.runs()), active.depth),
        order: None,
        filling: Filling::ByOffset,
    };
    run(io, buffers, &calls, pieces(), tally);
}

/// Levels 2 and 3: one call over all pieces, which a file view shows one after the other.
fn through_view<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
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
    let shot = timed(&mut io.backend, &io.clock, FileCall::SetView { file, view });
    io.add_file_call(tally, Part::View, shot);
    if !io.any_failed(job.members, tally, "setting the view failed on another member") {
        view_calls(io, buffers, job, used, facts, tally);
    }
    if restore {
        // Not timed: an application would keep its view, or open the file anew.
        io.backend.issue_file(FileCall::SetView { file, view: None });
    }
}

fn view_calls<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
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
    let collective = used.is_collective();
    let (mut rounds, mut most_bytes) = (None, None);
    if collective {
        let own = facts.bytes.div_ceil(call_bytes).max(1);
        rounds = Some(io.most(job.members, own as i64) as u64);
        most_bytes = Some(io.most(job.members, facts.bytes.min(call_bytes) as i64) as u64);
    }
    let by_offset = job.write && active.data == Content::Offset;
    let filling = if by_offset { Filling::Gathered } else { Filling::ByOffset };
    if by_offset {
        let range = |extent: Extent| (extent.offset_bytes, extent.length_bytes as usize);
        if buffers.gather(facts.bytes as usize, used.extents().map(range)).is_err() {
            tally.fail(libc::ENOMEM);
        }
    }
    let calls = Calls {
        file: job.file,
        write: job.write,
        at: At::Offset { offset: 0, collective },
        rounds,
        most_bytes,
        longest_bytes: facts.bytes.min(call_bytes),
        depth: 1,
        end_bytes: u64::MAX,
        order,
        filling,
    };
    let whole = Extent { offset_bytes: 0, length_bytes: facts.bytes };
    run(io, buffers, &calls, split(whole, call_bytes), tally);
}

//! The statements that move bytes, by patterns and by numbers: what they mean, and who has to
//! be there. The calls are made in `moving`, but for a number of bytes that one independent call moves, as loops
//! of transfers have it: little stands around that call, because a system call drives the code between two
//! calls out of the CPU's first-level caches.

use super::super::driver;
use super::super::eval::Env;
use super::super::io::Io;
use super::super::options::{Active, Fsync};
use super::super::step::Step;
use super::super::tally::{Fault, Flow, Shot, Subject, Tally};
use super::files::{close_file, open_file};
use super::members::{bad_file, check_mpi, file, meet, opened, way};
use super::moving::{Job, move_bytes, move_pattern};
use super::patterns::{self, Used};
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::call::{At, FileCall, Memory, MpiFile, MpiMode, Reply};
use crate::comm::{Collective, CollectiveCall, Comm, Members};
use crate::stop;
use model::plan::{Operand, Pattern};
use model::{Op, Part};

/// `pwrite(path, pattern [, group])`, `pread`: open, view, data, sync, close.
#[inline(never)]
pub(in super::super) fn whole_file<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
    buffers: &mut Buffers,
) -> Result<Flow, Fault> {
    check_mpi(step.op, io)?;
    let write = step.op == Op::Pwrite;
    let group = group_argument(step, env)?;
    if group.as_ref().is_some_and(|group| !group.ranks.contains(env.scope.rank)) {
        return Ok(Flow::Next);
    }
    let alone = io.options.active().alone.then(|| Members::alone(env.scope.rank));
    let group = alone.or(group);
    let members = group.as_ref().unwrap_or(env.scope.members()).clone();
    let found = patterns::pattern_named(env.plan, env.value(step.site, step.args[1])?)
        .ok_or_else(|| Fault::message(format!("{} needs the name of a pattern", step.op)))?;
    let used = patterns::used(env, &mut io.patterns, found, group.as_ref(), write)?;
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    let active = io.options.active();
    let stable = write && active.fsync != Fsync::None;
    let how = pattern_way(&used, active);
    let call = CollectiveCall {
        what: Collective::Op(step.op),
        file: 0,
        way: how | way(&[active.atomic, stable]),
    };
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
    match write {
        false => io.was_read(io.paths[0].place, false, tally.done_bytes),
        true if tally.errno == 0 => io.wrote(io.paths[0].place, tally.done_bytes, !stable),
        true => {}
    }
    io.conclude_together(step, &tally, Subject::Path)
}

/// `pfwrite($h, ...)`, `pfread`
#[inline(never)]
pub(in super::super) fn transfer<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
    buffers: &mut Buffers,
) -> Result<Flow, Fault> {
    check_mpi(step.op, io)?;
    let write = step.op == Op::Pfwrite;
    let found = patterns::pattern_named(env.plan, env.value(step.site, step.args[1])?);
    let place = match file(step, env, io)? {
        Ok(place) => place,
        Err(at) => return bad_file(step, io, at),
    };
    let given = match found {
        Some(found) => Given::Pattern(found),
        None => {
            let bytes = bytes(step, env)?;
            let one = One::of(io, place, (bytes, write));
            let made = one.and_then(|one| Some((one, one.make(io, buffers)?)));
            if let Some((one, shot)) = made
                && let Some(tally) = one.whole(io, shot)
            {
                let subject = Subject::Handle(place.0);
                return io.conclude(step.op, step.site, &tally, subject).map(|()| Flow::Next);
            }
            Given::Bytes(bytes, made.map(|(_, shot)| shot))
        }
    };
    transfer_given(step, env, io, comm, buffers, given)
}

/// Arguments of a statement: a pattern, or bytes and the only call that moves them, if it was made already.
enum Given<'p> {
    Pattern((usize, &'p Pattern)),
    Bytes(Bytes, Option<Shot>),
}

#[inline(never)]
fn transfer_given<'p, B: Backend>(
    step: Step<'_>,
    env: &mut Env<'p>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
    buffers: &mut Buffers,
    given: Given<'p>,
) -> Result<Flow, Fault> {
    let write = step.op == Op::Pfwrite;
    let opened = match opened(step, env, io)? {
        Ok(opened) => opened,
        Err(at) => return bad_file(step, io, at),
    };
    let what = match given {
        Given::Pattern(found) => {
            let alone = Some(&opened.members).filter(|members| members.is_alone());
            What::Pattern(patterns::used(env, &mut io.patterns, found, alone, write)?)
        }
        Given::Bytes(bytes, made) => What::Bytes(bytes, made),
    };
    if io.options.active().verify && what.has_no_place() {
        return Err(Fault::message(
            "verify=true needs places: transfers at the shared pointer (\"shared\", \"ordered\") go \
             where nobody knows before; give them offsets",
        ));
    }
    let sync = write && io.options.active().fsync == Fsync::Op;
    if what.needs_all() {
        let way = what.way(io.options.active()) | way(&[sync]);
        let call = CollectiveCall { what: Collective::Op(step.op), file: opened.number, way };
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
    let subject = Subject::Handle(opened.at);
    let mut tally = Tally::EMPTY;
    let seen_bytes = io.handles.get(opened.at).seen_bytes;
    let mut job = Job { file: opened.file, members: &opened.members, write, seen_bytes };
    match what {
        What::Pattern(used) => move_pattern(io, buffers, &mut job, &used, true, &mut tally),
        What::Bytes(bytes, made) => {
            move_bytes(io, buffers, &mut job, &opened, (bytes, made), &mut tally)
        }
    }
    let handle = io.handles.get(opened.at);
    handle.seen_bytes = job.seen_bytes;
    let (file, mode) = (job.file, handle.mode);
    if !write {
        io.was_read(mode.place, false, tally.done_bytes);
    } else if tally.errno == 0 {
        io.wrote_to(opened.at, mode, tally.done_bytes);
    }
    if sync && io.part(&mut tally, Part::Sync, FileCall::Sync { file }) >= 0 {
        io.made_stable(opened.at);
    }
    io.conclude_together(step, &tally, subject)
}

/// The bytes that a transfer moves.
enum What<'p> {
    Pattern(Used<'p>),
    Bytes(Bytes, Option<Shot>),
}

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

impl What<'_> {
    /// All members have to be there; setting a view is collective too.
    fn needs_all(&self) -> bool {
        match self {
            What::Pattern(used) => used.is_collective() || used.is_whole(),
            What::Bytes(bytes, _) => matches!(bytes.word, Word::All | Word::Ordered),
        }
    }

    /// It goes where the shared pointer is.
    fn has_no_place(&self) -> bool {
        matches!(self, What::Bytes(bytes, _) if matches!(bytes.word, Word::Shared | Word::Ordered))
    }

    /// A number for the calls of MPI that it becomes.
    fn way(&self, active: &Active) -> u16 {
        match self {
            What::Pattern(used) => pattern_way(used, active),
            What::Bytes(bytes, _) => {
                let ordered = bytes.word == Word::Ordered;
                let several = active.transfer.is_some();
                // One transfer is one call, unless `transfer` cuts it.
                let deep = several && !ordered && active.depth > 1;
                way(&[ordered, several, deep]) << 4
            }
        }
    }
}

/// A number for the calls of MPI that an access by a pattern becomes; leaves room for four flags below.
fn pattern_way(used: &Used<'_>, active: &Active) -> u16 {
    let (collective, whole) = (used.is_collective(), used.is_whole());
    let deep = collective && !whole && active.depth > 1;
    way(&[true, collective, whole, deep]) << 4
}

/// Inlined: a result in memory would be read back before it is there.
#[inline(always)]
fn bytes(step: Step<'_>, env: &mut Env<'_>) -> Result<Bytes, Fault> {
    let word = match env.plan.literal(step.args[3]) {
        None => Word::Independent,
        Some(b"all") => Word::All,
        Some(b"shared") => Word::Shared,
        Some(_) => Word::Ordered,
    };
    Ok(Bytes {
        len: env.size(step.site, step.args[1])?,
        offset: env.optional_size(step.site, step.args[2])?,
        word,
    })
}

/// A number of bytes that one independent call moves.
#[derive(Clone, Copy)]
struct One {
    /// The place of the file in the table of handles.
    at: usize,
    file: MpiFile,
    write: bool,
    offset_bytes: u64,
    len: u64,
    moves_position: bool,
}

impl Bytes {
    /// One independent call moves them, and no other call follows.
    #[inline(always)]
    fn is_one_call<B: Backend>(&self, io: &Io<'_, B>, active: &Active, write: bool) -> bool {
        self.word == Word::Independent
            && self.len > 0
            && !(write && active.fsync == Fsync::Op)
            && active.transfer.is_none_or(|most| self.len <= most && active.depth == 1)
            && !io.accounts
            && !stop::requested()
    }
}

impl One {
    /// The call that moves bytes of a file, which is the handle at a place of the table, if it is one.
    #[inline(always)]
    fn of<B: Backend>(
        io: &mut Io<'_, B>,
        (at, file): (usize, MpiFile),
        (bytes, write): (Bytes, bool),
    ) -> Option<One> {
        if !bytes.is_one_call(io, io.options.active(), write) {
            return None;
        }
        let offset_bytes = bytes.offset.unwrap_or(io.handles.get(at).position);
        let moves_position = bytes.offset.is_none();
        Some(One { at, file, write, offset_bytes, len: bytes.len, moves_position })
    }

    /// Makes it; `None`: there is no memory.
    #[inline(always)]
    fn make<B: Backend>(self, io: &mut Io<'_, B>, buffers: &mut Buffers) -> Option<Shot> {
        let (content, len, offset) =
            (io.options.active().data, self.len as usize, self.offset_bytes);
        let memory = match self.write {
            true => {
                let watch = io.watch_filling(self.len);
                let source = buffers.wide_source(content, len, offset).ok()?;
                io.filled(watch, self.len);
                Memory::Write(source)
            }
            false => Memory::Read(buffers.target(len).ok()?),
        };
        let at = At::Offset { offset, collective: false };
        let (file, order, most_bytes) = (self.file, None, None);
        let call = FileCall::Transfer { file, at, memory, order, most_bytes };
        Some(driver::timed(&mut io.backend, &io.clock, call))
    }

    /// The operation's tally, if the call has moved all bytes; a read also has to lie before the end
    /// that the file is known to have.
    #[inline(always)]
    fn whole<B: Backend>(self, io: &mut Io<'_, B>, shot: Shot) -> Option<Tally> {
        let handle = io.handles.get(self.at);
        let end_bytes = self.offset_bytes.saturating_add(self.len);
        if shot.reply != self.len as Reply || !self.write && end_bytes > handle.seen_bytes {
            return None;
        }
        if self.moves_position {
            handle.position = end_bytes;
        }
        let mode = handle.mode;
        match self.write {
            true => io.wrote_to(self.at, mode, self.len),
            false => io.was_read(mode.place, false, self.len),
        }
        Some(Tally::of_one_call(shot, self.offset_bytes, self.len))
    }
}

/// The group that `pwrite` and `pread` name; `None`: none is named.
fn group_argument(step: Step<'_>, env: &Env<'_>) -> Result<Option<Members>, Fault> {
    if step.args[2] == Operand::ABSENT {
        return Ok(None);
    }
    match env.plan.literal(step.args[2]) {
        Some(name) => patterns::group_named(env, &String::from_utf8_lossy(name)).map(Some),
        None => Err(Fault::message("the name of a group has to be a constant")),
    }
}

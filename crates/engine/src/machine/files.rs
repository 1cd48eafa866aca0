//! Operations on open files, and `delete`.

use super::eval::Env;
use super::extents::Ready;
use super::flow::Fault;
use super::handles::Mode;
use super::io::Io;
use super::options::{Engine, Fsync};
use super::prepare::Prepared;
use super::prepare::parse_open_flags;
use super::step::{Step, bad_handle, file, handle, refused};
use super::tally::{Shot, Subject, Tally};
use super::task::{Bytes, Data, More, Task, Transfer, alignment, map_flags, refused_direct};
use super::{driver, note, queue};
use crate::backend::Backend;
use crate::buffer::{Buffers, MAX_CALL_BYTES};
use crate::call::{Call, Fd};
use crate::comm::Comm;
use model::event::NO_ID;
use model::plan::{NO_SLOT, Operand, Source};
use model::value::{Eval, EvalError};
use model::{Op, Part, Value};

/// unlink, and rmdir where that says that the name is a directory (EISDIR on Linux, EPERM in POSIX).
#[inline(always)]
pub(super) fn delete<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<(), Fault> {
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    let shot = driver::shot(io, |paths| Call::Unlink { path: paths[0].as_c_str() });
    match -shot.reply as i32 {
        libc::EISDIR | libc::EPERM => remove_directory(step, io, shot),
        _ => io.settle(step.op, step.site, shot, Subject::Path),
    }
}

#[cold]
fn remove_directory<B: Backend>(
    step: Step<'_>,
    io: &mut Io<'_, B>,
    unlinked: Shot,
) -> Result<(), Fault> {
    let mut tally = Tally::EMPTY;
    tally.add_time(Part::Data, unlinked);
    let shot = driver::shot(io, |paths| Call::Rmdir { path: paths[0].as_c_str() });
    tally.add_time(Part::Data, shot);
    match -shot.reply as i32 {
        0 => {}
        libc::ENOTDIR => tally.fail(-unlinked.reply as i32),
        other => tally.fail(other),
    }
    io.conclude(step.op, step.site, &tally, Subject::Path)
}

/// A name for a file that was opened without one. For other files it would be another way to the
/// marker.
pub(super) fn linkat<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<(), Fault> {
    env.path(step.site, step.args[1], &mut io.paths[0])?;
    let Some((at, fd)) = handle(step, env, io)? else { return Ok(()) };
    if !io.handles.get(at).mode.nameless {
        return refused(step, io, libc::EINVAL, Subject::Path);
    }
    driver::one_on_paths(step, io, Subject::Path, |paths| {
        let path = paths[0].as_c_str();
        Call::LinkFile { fd, path }
    })
}

/// fopen, fcreat and tmpfile.
pub(super) fn open<B: Backend>(
    step: Step<'_>,
    prepared: &Prepared<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<(), Fault> {
    let flags = match step.op {
        Op::Fopen => fopen_flags(step, prepared, env)?,
        Op::Tmpfile => libc::O_TMPFILE | libc::O_RDWR,
        _ => libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
    };
    match step.args[0] {
        Operand::ABSENT => {
            io.paths[0].fill(|path| {
                path.extend_from_slice(env.directory().unwrap_or(".").as_bytes());
                Ok(())
            })?;
            io.paths[0].place = env.place();
        }
        path => env.path(step.site, path, &mut io.paths[0])?,
    }
    let mut mode = Mode { place: io.paths[0].place, ..Mode::of(flags) };
    if io.options.active().engine == Engine::Mmap {
        mode.mapped = maps(io, mode);
    }
    let flags = map_flags(open_flags(io, flags), mode.mapped);
    let opened = driver::shot(io, |paths| driver::open(paths, flags));
    let shot = if mode.mapped { map(io, opened, mode.writable) } else { opened };
    let fd = (shot.reply >= 0).then_some(Fd(shot.reply as i32));
    match fd {
        Some(fd) => {
            mode.direct = alignment(io, fd, flags);
            if flags & libc::O_ACCMODE != libc::O_WRONLY {
                io.opened_for_reading(fd, mode.direct.is_some());
            }
        }
        None => refused_direct(io, flags, -shot.reply as i32),
    }
    let path_id = io.recorder.path(io.paths[0].bytes());
    let handle = io.handles.add(fd, mode, io.paths[0].bytes(), path_id);
    if step.dst != NO_SLOT {
        env.set(step.dst, handle);
    }
    io.settle(step.op, step.site, shot, Subject::Path)
}

/// Whether a file opened inside `engine="mmap"` is mapped; what is opened to append to is not.
#[cold]
fn maps<B>(io: &mut Io<'_, B>, mode: Mode) -> bool {
    if mode.append {
        io.notes |= note::UNMAPPED;
    }
    !mode.append
}

/// Maps a file that was opened, if it was; both as one call. One that cannot be mapped is closed.
#[cold]
fn map<B: Backend>(io: &mut Io<'_, B>, open: Shot, write: bool) -> Shot {
    if open.reply < 0 {
        return open;
    }
    let fd = Fd(open.reply as i32);
    let map = driver::timed(&mut io.backend, &io.clock, Call::Map { fd, write });
    if map.reply < 0 {
        io.backend.issue(Call::Close { fd });
        return Shot { start_ns: open.start_ns, ..map };
    }
    Shot { end_ns: map.end_ns, ..open }
}

/// fsync and fdatasync: msync where the file is mapped.
pub(super) fn sync<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<(), Fault> {
    let Some((at, fd)) = handle(step, env, io)? else { return Ok(()) };
    let queues = matches!(io.options.active().engine, Engine::Uring { .. });
    if queues && !io.handles.get(at).mode.mapped && queue::takes_syncs(io) {
        return queue::sync(step, (at, fd), io);
    }
    if queues {
        io.finish_file(at)?;
    }
    let call = match (io.handles.get(at).mode.mapped, step.op) {
        (true, _) => Call::Msync { fd },
        (false, Op::Fdatasync) => Call::Fdatasync { fd },
        (false, _) => Call::Fsync { fd },
    };
    driver::one(step, io, Subject::Handle(at), call)
}

/// An open that `--only` leaves out: its handle is one whose open failed.
pub(super) fn open_left_out<B: Backend>(step: Step<'_>, env: &mut Env<'_>, io: &mut Io<'_, B>) {
    if step.dst != NO_SLOT {
        let handle = io.handles.add(None, Mode::of(0), io.paths[0].bytes(), NO_ID);
        env.set(step.dst, handle);
    }
}

fn fopen_flags(step: Step<'_>, prepared: &Prepared<'_>, env: &mut Env<'_>) -> Eval<i32> {
    if let Source::Const(index) = step.args[1].source()
        && let Some(flags) = prepared.flags(index)
    {
        return Ok(flags);
    }
    let mut text = Vec::new();
    env.render(step.site, step.args[1], &mut text)?;
    parse_open_flags(&text)
}

/// Adds O_DIRECT where `with (direct=true)` wants it.
#[inline(always)]
pub(super) fn open_flags<B>(io: &Io<'_, B>, flags: i32) -> i32 {
    if io.options.active().direct { flags | libc::O_DIRECT } else { flags }
}

/// Where the bytes of a statement go: an open file, its position, and the offset that the statement
/// names.
#[derive(Clone, Copy)]
struct Target {
    at: usize,
    fd: Fd,
    mode: Mode,
    position: u64,
    offset: Option<u64>,
}

/// Reads the file and offset of `fread` and `fwrite`. `None`: a bad handle, and the operation has ended.
#[inline(always)]
fn target<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<Option<Target>, Fault> {
    let offset = env.optional_size(step.site, step.args[2])?;
    let Some((at, fd)) = handle(step, env, io)? else { return Ok(None) };
    let handle = io.handles.get(at);
    Ok(Some(Target { at, fd, mode: handle.mode, position: handle.position, offset }))
}

#[inline(always)]
pub(super) fn fread<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    let Some(target) = target(step, env, io)? else { return Ok(()) };
    if let Some(ready) = env.pieces(step.site, step.args[1])? {
        return pieces(step, target, Data::Read, ready, io, buffers);
    }
    let Target { at, fd, mode, position, offset } = target;
    let (data, len) = to_read(env.optional_size(step.site, step.args[1])?);
    let bytes = Bytes { data, offset_bytes: offset.unwrap_or(position), len };
    let transfer = Transfer { at, fd, mode, bytes, moves_position: offset.is_none() };
    moved(step, transfer, io, buffers)
}

#[inline(always)]
pub(super) fn fwrite<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    let Some(target) = target(step, env, io)? else { return Ok(()) };
    if let Some(ready) = env.pieces(step.site, step.args[1])? {
        return pieces(step, target, Data::Write, ready, io, buffers);
    }
    let Target { at, fd, mode, position, offset } = target;
    let len = env.size(step.site, step.args[1])?;
    let (data, offset_bytes) = match mode.append {
        true => (Data::Append, 0),
        false => (Data::Write, offset.unwrap_or(position)),
    };
    let bytes = Bytes { data, offset_bytes, len };
    let moves_position = offset.is_none() && !mode.append;
    moved(step, Transfer { at, fd, mode, bytes, moves_position }, io, buffers)
}

/// Moves bytes: now, or with others under way.
#[inline(always)]
fn moved<B: Backend>(
    step: Step<'_>,
    transfer: Transfer,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    match io.options.active().engine {
        Engine::Uring { .. } => queue::transfer(step, transfer, io, buffers),
        _ => driver::transfer(step, transfer, io, buffers),
    }
}

/// Access by a pattern: all its pieces in one operation, whose times are added up.
#[inline(never)]
fn pieces<B: Backend>(
    step: Step<'_>,
    Target { at, fd, mode, offset, .. }: Target,
    data: Data,
    ready: &Ready<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    if data.writes() && mode.append {
        // Everything would go to the end of the file, in no pattern.
        return refused(step, io, libc::EINVAL, Subject::Handle(at));
    }
    if !io.queue.is_idle() {
        io.finish_file(at)?;
    }
    if io.keeps_events {
        (io.touched.extents, io.touched.pieces) = ready.recorded(&mut io.recorder);
    }
    let displacement_bytes = offset.unwrap_or(0);
    let more = More { pieces: ready.pieces(), displacement_bytes, bytes: ready.bytes };
    let bytes = Bytes { data, offset_bytes: 0, len: 0 };
    let transfer = Transfer { at, fd, mode, bytes, moves_position: false };
    driver::run(step, Task::transfer(io, transfer).with_pieces(more), io, buffers)
}

/// `readv` and `writev`: several buffers in one call, which lie one after the other in the rank's own.
pub(super) fn vector<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    let offset = env.optional_size(step.site, step.args[2])?;
    take_sizes(env.value(step.site, step.args[1])?, &mut io.sizes)?;
    let Some((at, fd)) = handle(step, env, io)? else { return Ok(()) };
    let (mode, position) = (io.handles.get(at).mode, io.handles.get(at).position);
    let offset_bytes = offset.unwrap_or(position);
    let len = io.sizes.iter().fold(0u64, |all, size| all.saturating_add(*size));
    if io.sizes.len() > driver::BUFFERS_MAX || len > MAX_CALL_BYTES as u64 {
        let mut tally = Tally { offset_bytes, requested_bytes: len, ..Tally::EMPTY };
        tally.fail(libc::EINVAL);
        return io.conclude(step.op, step.site, &tally, Subject::Handle(at));
    }
    let data = if step.op == Op::Writev { Data::Write } else { Data::Read };
    // No call says where the end of the file was.
    let unplaced = data.writes() && mode.append && !io.options.active().is_null();
    io.touched.unknown |= unplaced && io.keeps_events;
    let bytes = Bytes { data, offset_bytes, len };
    let transfer = Transfer { at, fd, mode, bytes, moves_position: offset.is_none() };
    driver::run(step, Task::transfer(io, transfer).with_vector(), io, buffers)
}

/// The sizes in a list.
fn take_sizes(list: &Value, sizes: &mut Vec<u64>) -> Eval<()> {
    sizes.clear();
    let Value::List(items) = list else {
        return Err(EvalError::Type("a list of numbers of bytes", list.describe()));
    };
    for item in items.iter() {
        sizes.push(item.as_size()?);
    }
    Ok(())
}

pub(super) fn fclose<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    let (at, fd) = file(step, env, io)?;
    let Some(at) = at else { return bad_handle(step, io, None) };
    let locked = std::mem::take(&mut io.handles.get(at).locked);
    let closed = close(step, io, (at, fd), buffers);
    if locked {
        comm.gave_lock_back();
    }
    closed
}

fn close<B: Backend>(
    step: Step<'_>,
    io: &mut Io<'_, B>,
    (at, fd): (usize, Option<Fd>),
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    io.handles.remove(at);
    let Some(fd) = fd else { return bad_handle(step, io, Some(at)) };
    if io.queue.is_open() {
        io.backend.leave_file(fd);
    }
    let mode = io.handles.get(at).mode;
    let sync = mode.writable && io.options.active().fsync == Fsync::Close;
    if sync || mode.mapped {
        return driver::run(step, Task::close(io, (at, fd), mode.mapped, sync), io, buffers);
    }
    driver::one(step, io, Subject::Handle(at), Call::Close { fd })
}

/// `fseek($h, off [, whence])`. Only the end of a file is the system's to know: the current position is
/// the handle's own.
pub(super) fn fseek<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
) -> Result<(), Fault> {
    let from = Whence::of(step, env);
    let offset = from.distance(step, env)?;
    let (at, fd) = match file(step, env, io)? {
        (Some(at), Some(fd)) => (at, fd),
        (at, _) => return bad_handle(step, io, at),
    };
    let offset = match from {
        Whence::Current => offset.saturating_add(io.handles.get(at).position as i64),
        Whence::Start | Whence::End => offset,
    };
    let call = Call::Seek { fd, offset, end: from == Whence::End };
    let shot = driver::timed(&mut io.backend, &io.clock, call);
    if let Ok(position) = u64::try_from(shot.reply) {
        io.handles.get(at).position = position;
        io.names(position, 0);
    }
    io.settle(step.op, step.site, shot, Subject::Handle(at))
}

/// Where the distance of `fseek` and `pfseek` begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whence {
    Start,
    Current,
    End,
}

impl Whence {
    pub(super) fn of(step: Step<'_>, env: &Env<'_>) -> Whence {
        match env.plan.literal(step.args[2]) {
            Some(b"SEEK_CUR") => Whence::Current,
            Some(b"SEEK_END") => Whence::End,
            _ => Whence::Start,
        }
    }

    /// From the start it is a position.
    pub(super) fn distance(self, step: Step<'_>, env: &mut Env<'_>) -> Eval<i64> {
        match self {
            Whence::Start => Ok(env.size(step.site, step.args[1])? as i64),
            Whence::Current | Whence::End => env.int(step.site, step.args[1]),
        }
    }
}

/// The kind of read of `len` bytes, or of all.
#[inline(always)]
pub(super) fn to_read(len: Option<u64>) -> (Data, u64) {
    len.map_or((Data::ReadRest, u64::MAX), |len| (Data::Read, len))
}

//! Operations on files: whole ones (opened, used and closed), open ones, `delete`, locks.
//!
//! ```text
//! create  open, close               fwrite  data [, sync]
//! write   open, data [, sync], close        fread   data
//! readdir open, data, close         fclose  [sync,] close
//! ```
//!
//! With `engine="mmap"` a file is mapped after it is opened and unmapped before it is closed.
//!
//! Of locks the kernel is only ever asked to try: a rank that finds one taken waits for its communicator, as
//! at a barrier, so that it can be released, and that ranks which wait for each other are found and named.
//!
//! ```text
//! rank 0  flock($a, "exclusive"); flock($b, "exclusive");     each holds what the other wants
//! rank 1  flock($b, "exclusive"); flock($a, "exclusive");
//! ```

use super::eval::Env;
use super::extents::Ready;
use super::handles::Mode;
use super::io::{Io, WantedLock};
use super::options::{Engine, Fsync};
use super::prepare::{Prepared, parse_open_flags};
use super::step::{LOCKS, Step, bad_handle, chosen, file, handle, refused};
use super::tally::{Fault, Flow, Shot, Subject, Tally};
use super::transfer::{BUFFERS_MAX, Data, Transfer, Way, end, transfer};
use super::{driver, note, queue};
use crate::backend::Backend;
use crate::backend::direct::Alignment;
use crate::buffer::{Buffers, MAX_CALL_BYTES};
use crate::call::{Call, Fd, Reply};
use crate::comm::{Comm, Poll};
use crate::entries;
use model::event::NO_ID;
use model::plan::{NO_SLOT, Operand, Source};
use model::value::{Eval, EvalError};
use model::{Op, Part, Value};

/// Room for directory entries in one call, as readdir(3) of glibc has.
const ENTRIES_BYTES: usize = 32 << 10;

const TAKEN: Reply = -(libc::EWOULDBLOCK as Reply);

/// An operation on a file as a whole: opens the first path, uses the file, closes it.
#[inline(always)]
pub(super) fn with_file<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    flags: i32,
    use_file: impl FnOnce(&mut Io<'_, B>, Fd, &mut Tally),
) -> Result<(), Fault> {
    env.path(step.site, step.args[0], &mut io.paths[0])?;
    let mut tally = Tally::EMPTY;
    if let Some(fd) = io.open(&mut tally, 0, flags) {
        use_file(io, fd, &mut tally);
        io.part(&mut tally, Part::Close, Call::Close { fd });
    }
    io.conclude(step.op, step.site, &tally, Subject::Path)
}

/// write, append and read: moves bytes of the first path's file.
#[inline(always)]
pub(super) fn move_bytes<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
    (flags, data): (i32, Data),
    extent: (u64, u64),
) -> Result<(), Fault> {
    let way = match io.options.active().engine {
        Engine::Null => Way::Nothing,
        Engine::Mmap if data != Data::Append => Way::Mapping,
        _ => Way::Calls,
    };
    let flags = map_flags(open_flags(io, flags), way == Way::Mapping);
    with_file(step, env, io, flags, |io, fd, tally| {
        let direct = alignment(io, fd, flags);
        let mapped = way == Way::Mapping;
        let write = data.writes();
        if mapped && io.part(tally, Part::Open, Call::Map { fd, write }) < 0 {
            return;
        }
        if !write && way != Way::Nothing {
            io.opened_for_reading(fd, direct.is_some());
        }
        let mut transfer = Transfer::new(io, (fd, way), direct, data, extent);
        (tally.offset_bytes, tally.requested_bytes) = transfer.asks_for();
        transfer.run(io, buffers, tally, None);
        count_for_path(io, &transfer, tally);
        if mapped {
            io.part(tally, Part::Close, Call::Unmap { fd });
        }
    })
}

/// The bytes of the first path's file are moved: counts them, and makes the file stable if that is wanted.
fn count_for_path<B: Backend>(io: &mut Io<'_, B>, transfer: &Transfer, tally: &mut Tally) {
    if transfer.data == Data::ReadRest {
        tally.requested_bytes = tally.done_bytes;
    }
    let (place, bytes) = (io.paths[0].place, tally.done_bytes);
    let is_direct = transfer.direct.is_some();
    match transfer.data.writes() {
        writes if transfer.way == Way::Nothing => io.moved_nothing(writes, bytes),
        false => io.was_read(place, is_direct, bytes),
        true if tally.errno == 0 => {
            let syncs = io.options.active().fsync != Fsync::None;
            io.wrote(place, bytes, !syncs && !is_direct);
            if syncs {
                io.sync(tally, transfer.fd, transfer.way == Way::Mapping);
            }
        }
        true => {}
    }
}

/// `readdir`
pub(super) fn list<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    io.names.clear();
    with_file(step, env, io, libc::O_RDONLY | libc::O_DIRECTORY, |io, fd, tally| {
        loop {
            let Ok(buf) = buffers.target(ENTRIES_BYTES) else { return tally.fail(libc::ENOMEM) };
            if io.part(tally, Part::Data, Call::Getdents { fd, buf }) <= 0 {
                return;
            }
            if step.dst != NO_SLOT {
                keep_names(io, buffers);
            }
        }
    })
}

/// Keeps the names that the call before has found.
#[cold]
fn keep_names<B: Backend>(io: &mut Io<'_, B>, buffers: &mut Buffers) {
    let Ok(buf) = buffers.target(ENTRIES_BYTES) else { return };
    let visible = entries::entries(buf).filter(entries::Entry::is_visible);
    io.names.extend(visible.map(|entry| Value::str(entry.name.to_bytes())));
}

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
    let opened = driver::shot(io, |paths| driver::open(&paths[0], flags));
    let shot = if mode.mapped { map(io, opened, mode.writable) } else { opened };
    let fd = (shot.reply >= 0).then_some(Fd(shot.reply as i32));
    match fd {
        Some(fd) => {
            mode.direct = alignment(io, fd, flags);
            if flags & libc::O_ACCMODE != libc::O_WRONLY {
                io.opened_for_reading(fd, mode.direct.is_some());
            }
        }
        None => io.refused_direct(flags, -shot.reply as i32),
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

/// Reads the file and offset of a transfer. `None`: a bad handle, and the operation has ended.
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
    if let Some(ready) = env.extents_of(step.site, step.args[1])? {
        return by_pattern(step, target, Data::Read, ready, io, buffers);
    }
    let Target { at, fd, mode, position, offset } = target;
    let (data, len) = to_read(env.optional_size(step.site, step.args[1])?);
    let extent = (offset.unwrap_or(position), len);
    let one = Transfer::of_handle(io, (fd, mode), data, extent);
    start(step, (at, offset.is_none()), mode, one, io, buffers)
}

#[inline(always)]
pub(super) fn fwrite<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    let Some(target) = target(step, env, io)? else { return Ok(()) };
    if let Some(ready) = env.extents_of(step.site, step.args[1])? {
        return by_pattern(step, target, Data::Write, ready, io, buffers);
    }
    let Target { at, fd, mode, position, offset } = target;
    let len = env.size(step.site, step.args[1])?;
    let (data, offset_bytes) = match mode.append {
        true => (Data::Append, 0),
        false => (Data::Write, offset.unwrap_or(position)),
    };
    let one = Transfer::of_handle(io, (fd, mode), data, (offset_bytes, len));
    start(step, (at, offset.is_none() && !mode.append), mode, one, io, buffers)
}

/// Moves bytes: now, or with others under way.
#[inline(always)]
fn start<B: Backend>(
    step: Step<'_>,
    handle: (usize, bool),
    mode: Mode,
    one: Transfer,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    match io.options.active().engine {
        Engine::Uring { .. } => queue::transfer(step, handle, mode, one, io, buffers),
        _ => transfer(step, handle, one, io, buffers),
    }
}

/// Access by a pattern: all its extents in one operation, whose times are added up.
#[inline(never)]
fn by_pattern<B: Backend>(
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
    let mut all = Transfer::of_handle(io, (fd, mode), data, (0, 0));
    let mut tally = Tally::EMPTY;
    all.run_extents(io, buffers, &mut tally, (ready, offset.unwrap_or(0)));
    end(step, (at, false), &all, io, tally)
}

/// `readv` and `writev`: several buffers in one call, which lie one after the other in the rank's own.
pub(super) fn vector<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    buffers: &mut Buffers,
) -> Result<(), Fault> {
    take_sizes(env.value(step.site, step.args[1])?, &mut io.sizes)?;
    let Some(target) = target(step, env, io)? else { return Ok(()) };
    let Target { at, fd, mode, position, offset } = target;
    let offset_bytes = offset.unwrap_or(position);
    let len = io.sizes.iter().fold(0u64, |all, size| all.saturating_add(*size));
    let data = if step.op == Op::Writev { Data::Write } else { Data::Read };
    let mut all = Transfer::of_handle(io, (fd, mode), data, (offset_bytes, len));
    let mut tally = all.tally();
    if io.sizes.len() > BUFFERS_MAX || len > MAX_CALL_BYTES as u64 {
        tally.fail(libc::EINVAL);
        return io.conclude(step.op, step.site, &tally, Subject::Handle(at));
    }
    if all.way != Way::Nothing {
        (all.way, all.call_bytes) = (Way::Vector, len.max(1));
        // No call says where the end of the file was.
        io.touched.unknown |= data.writes() && mode.append && io.keeps_events;
    }
    all.run(io, buffers, &mut tally, None);
    end(step, (at, offset.is_none()), &all, io, tally)
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
) -> Result<(), Fault> {
    let (at, fd) = file(step, env, io)?;
    let Some(at) = at else { return bad_handle(step, io, None) };
    let locked = std::mem::take(&mut io.handles.get(at).locked);
    let closed = close(step, io, (at, fd));
    if locked {
        comm.gave_lock_back();
    }
    closed
}

fn close<B: Backend>(
    step: Step<'_>,
    io: &mut Io<'_, B>,
    (at, fd): (usize, Option<Fd>),
) -> Result<(), Fault> {
    io.handles.remove(at);
    let Some(fd) = fd else { return bad_handle(step, io, Some(at)) };
    if io.queue.is_open() {
        io.backend.leave_file(fd);
    }
    let mode = io.handles.get(at).mode;
    let sync = mode.writable && io.options.active().fsync == Fsync::Close;
    if !sync && !mode.mapped {
        return driver::one(step, io, Subject::Handle(at), Call::Close { fd });
    }
    let mut tally = Tally::EMPTY;
    if sync && io.sync(&mut tally, fd, mode.mapped) {
        io.made_stable(at);
    }
    if mode.mapped {
        io.part(&mut tally, Part::Close, Call::Unmap { fd });
    }
    io.part(&mut tally, Part::Close, Call::Close { fd });
    io.conclude(step.op, step.site, &tally, Subject::Handle(at))
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

/// Who changes a mapping must be able to read the file.
#[inline(always)]
fn map_flags(flags: i32, mapped: bool) -> i32 {
    match mapped && flags & libc::O_ACCMODE == libc::O_WRONLY {
        true => flags & !libc::O_ACCMODE | libc::O_RDWR,
        false => flags,
    }
}

/// What an open file with O_DIRECT wants of transfers.
#[inline(always)]
fn alignment<B: Backend>(io: &mut Io<'_, B>, fd: Fd, flags: i32) -> Option<Alignment> {
    (flags & libc::O_DIRECT != 0).then(|| io.backend.alignment(fd))
}

impl<B: Backend> Io<'_, B> {
    /// Remarks that an open with O_DIRECT failed as file systems without it fail.
    #[cold]
    pub(super) fn refused_direct(&mut self, flags: i32, errno: i32) {
        if flags & libc::O_DIRECT != 0 && matches!(errno, libc::EINVAL | libc::EOPNOTSUPP) {
            self.notes |= note::DIRECT_REFUSED | note::refused_in(self.paths[0].place);
        }
    }
}

/// `flock`. May be asked again with the same arguments.
pub(super) fn flock<B: Backend>(
    step: Step<'_>,
    env: &mut Env<'_>,
    io: &mut Io<'_, B>,
    comm: &mut dyn Comm,
) -> Result<Flow, Fault> {
    let operation = chosen(step, env, 1, LOCKS)?.unwrap_or(libc::LOCK_UN);
    let waits = step.args[2] == Operand::ABSENT;
    let Some((at, fd)) = handle(step, env, io)? else { return Ok(Flow::Next) };
    loop {
        if let Some(wanted) = io.wanted_lock {
            let poll = comm.wait_for_lock(&io.handles.get(at).path, wanted.seen, step.site);
            if poll != Poll::Ready {
                io.wanted_lock = io.wanted_lock.filter(|_| poll == Poll::Pending);
                return Ok(poll.into());
            }
        }
        let seen = comm.locks_given_back();
        let shot = driver::timed(&mut io.backend, &io.clock, Call::Flock { fd, operation });
        let start_ns = io.wanted_lock.map_or(shot.start_ns, |wanted| wanted.start_ns);
        // Taking another kind of lock gives the old one up, even if the new one is refused.
        let held = std::mem::replace(
            &mut io.handles.get(at).locked,
            shot.reply >= 0 && operation != libc::LOCK_UN,
        );
        if held {
            comm.gave_lock_back();
        }
        if shot.reply == TAKEN && waits {
            io.wanted_lock = Some(WantedLock { start_ns, seen });
            continue;
        }
        io.wanted_lock = None;
        let shot = Shot { start_ns, ..shot };
        return io.settle(step.op, step.site, shot, Subject::Handle(at)).map(|()| Flow::Next);
    }
}

/// Gives back what a rank that ends still holds, so that nobody waits for it.
pub(super) fn give_all_back<B: Backend>(io: &mut Io<'_, B>, comm: &mut dyn Comm) {
    let held: Vec<Fd> = io.handles.locked().collect();
    for fd in held {
        io.backend.issue(Call::Flock { fd, operation: libc::LOCK_UN });
        comm.gave_lock_back();
    }
}

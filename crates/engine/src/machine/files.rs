//! Operations on files: whole ones (opened, used and closed), open ones, `delete`, locks, statements that
//! empty the page cache, and copies inside the kernel.
//!
//! ```text
//! create  open, close               fwrite  data [, sync]
//! write   open, data [, sync], close        fread   data
//! readdir open, data, close         fclose  [sync,] close
//! copy     open, open, copy_file_range ... [, fsync], close, close
//! fcopy    copy_file_range ... [, fsync]
//!          between file systems that refuse that: pread, pwrite ... in its place, as cp(1) does
//! reflink  open, open, ioctl FICLONE, close, close
//! freflink ioctl FICLONE, or FICLONERANGE of a part
//! ```
//!
//! With `engine="mmap"` a file is mapped after it is opened and unmapped before it is closed.
//!
//! Locks are only tried, never waited for in the kernel: a rank that finds one taken waits in its
//! communicator, as at a barrier. So it can be released, and ranks that wait for each other are
//! found and named.
//!
//! ```text
//! rank 0  flock($a, "exclusive"); flock($b, "exclusive");     each holds what the other wants
//! rank 1  flock($b, "exclusive"); flock($a, "exclusive");
//! ```

use super::eval::Env;
use super::extents::Ready;
use super::handles::Mode;
use super::io::{Io, WantedLock, open, timed};
use super::note;
use super::options::{Engine, Fsync};
use super::path::RUN;
use super::prepare::{Prepared, parse_open_flags};
use super::rank::Machine;
use super::step::{LOCKS, Step, chosen};
use super::tally::{Flow, Shot, Subject, Tally, came, is_stopped};
use super::transfer::{BUFFERS_MAX, Data, Transfer, Way};
use crate::backend::InForce;
use crate::buffer::{Buffers, MAX_CALL_BYTES};
use crate::call::{Call, Fd, Reply};
use crate::comm::{Comm, Poll};
use crate::recorder::Count;
use crate::{entries, stop};
use model::event::NO_ID;
use model::plan::{NO_SLOT, Operand, Source};
use model::value::{Eval, EvalError};
use model::{Op, Part, Value};

/// Room for directory entries in one call, as readdir(3) of glibc has.
const ENTRIES_BYTES: usize = 32 << 10;

const TAKEN: Reply = -(libc::EWOULDBLOCK as Reply);

/// After one `dropcaches` no more files are looked at.
const LOOKED_AT: usize = 16;
/// Advice where the page cache cannot be dropped.
const REFUSED: &str = "the page cache keeps what it has: root may drop it where /proc/sys is writable, which it is \
                       in few containers; without that fsync files and say fadvise($h, 0, 0, \"dontneed\"), read \
                       with (direct=true) {...}, or read what another node wrote";

impl Machine<'_> {
    /// An operation on a file as a whole: opens the first path, uses the file, closes it.
    #[inline(always)]
    pub(super) fn with_file(
        &mut self,
        step: Step<'_>,
        flags: i32,
        use_file: impl FnOnce(&mut Io<'_>, Fd, &mut Tally),
    ) -> Flow {
        self.env.path(step.site, step.args[0], &mut self.io.paths[0])?;
        let mut tally = Tally::EMPTY;
        if let Some(fd) = self.io.open(&mut tally, 0, flags) {
            use_file(&mut self.io, fd, &mut tally);
            self.io.part(&mut tally, Part::Close, Call::Close { fd });
        }
        self.io.conclude(step, &tally, Subject::Path)
    }

    /// write, append and read: moves bytes of the first path's file.
    #[inline(always)]
    pub(super) fn move_file_bytes(
        &mut self,
        step: Step<'_>,
        buffers: &mut Buffers,
        (flags, data): (i32, Data),
        extent: (u64, u64),
    ) -> Flow {
        let way = match self.io.options.active().engine {
            Engine::Null => Way::Nothing,
            Engine::Mmap if data != Data::Append => Way::Mapping,
            _ => Way::Calls,
        };
        let flags = map_flags(self.io.open_flags(flags), way == Way::Mapping);
        self.with_file(step, flags, |io, fd, tally| {
            let direct = io.alignment(fd, flags);
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
            io.count_for_path(&transfer, tally);
            if mapped {
                io.part(tally, Part::Close, Call::Unmap { fd });
            }
        })
    }

    /// `readdir`
    pub(super) fn readdir(&mut self, step: Step<'_>, buffers: &mut Buffers) -> Flow {
        self.io.names.clear();
        self.with_file(step, libc::O_RDONLY | libc::O_DIRECTORY, |io, fd, tally| {
            loop {
                let Ok(buf) = buffers.target(ENTRIES_BYTES) else {
                    return tally.fail(libc::ENOMEM);
                };
                if io.part(tally, Part::Data, Call::Getdents { fd, buf }) <= 0 {
                    return;
                }
                if step.dst != NO_SLOT {
                    io.keep_names(buffers);
                }
            }
        })
    }

    /// unlink, and rmdir where that says that the name is a directory (EISDIR on Linux, EPERM in POSIX).
    #[inline(always)]
    pub(super) fn delete(&mut self, step: Step<'_>) -> Flow {
        self.env.path(step.site, step.args[0], &mut self.io.paths[0])?;
        let shot = self.io.shot_on_paths(|paths| Call::Unlink { path: paths[0].as_c_str() });
        match -shot.reply as i32 {
            libc::EISDIR | libc::EPERM => self.io.remove_directory(step, shot),
            _ => self.io.settle(step, shot, Subject::Path),
        }
    }

    /// A name for a file that was opened without one. For other files it would be another way to the
    /// marker.
    pub(super) fn linkat(&mut self, step: Step<'_>) -> Flow {
        self.env.path(step.site, step.args[1], &mut self.io.paths[0])?;
        let Some((at, fd)) = self.handle(step)? else { return Ok(()) };
        if !self.io.handles.get(at).mode.nameless {
            return self.io.refused(step, libc::EINVAL, Subject::Path);
        }
        self.io.one_on_paths(step, Subject::Path, |paths| {
            let path = paths[0].as_c_str();
            Call::LinkFile { fd, path }
        })
    }

    /// fopen, fcreat and tmpfile.
    pub(super) fn fopen(&mut self, step: Step<'_>) -> Flow {
        let flags = match step.op {
            Op::Fopen => fopen_flags(step, self.prepared, &mut self.env)?,
            Op::Tmpfile => libc::O_TMPFILE | libc::O_RDWR,
            _ => libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
        };
        match step.args[0] {
            Operand::ABSENT => {
                self.io.paths[0].fill(|path| {
                    path.extend_from_slice(self.env.directory().unwrap_or(".").as_bytes());
                    Ok(())
                })?;
                self.io.paths[0].place = self.env.place();
            }
            path => self.env.path(step.site, path, &mut self.io.paths[0])?,
        }
        let mut mode = Mode { place: self.io.paths[0].place, ..Mode::of(flags) };
        if self.io.options.active().engine == Engine::Mmap {
            mode.mapped = self.io.maps(mode);
        }
        let flags = map_flags(self.io.open_flags(flags), mode.mapped);
        let opened = self.io.shot_on_paths(|paths| open(&paths[0], flags));
        let shot = if mode.mapped { self.io.map_opened(opened, mode.writable) } else { opened };
        let fd = (shot.reply >= 0).then_some(Fd(shot.reply as i32));
        match fd {
            Some(fd) => {
                mode.direct = self.io.alignment(fd, flags);
                if flags & libc::O_ACCMODE != libc::O_WRONLY {
                    self.io.opened_for_reading(fd, mode.direct.is_some());
                }
            }
            None => self.io.refused_direct(flags, -shot.reply as i32),
        }
        let path_id = self.io.recorder.path(self.io.paths[0].bytes());
        let handle = self.io.handles.add(fd, mode, self.io.paths[0].bytes(), path_id);
        if step.dst != NO_SLOT {
            self.env.set(step.dst, handle);
        }
        self.io.settle(step, shot, Subject::Path)
    }

    /// fsync and fdatasync: msync where the file is mapped.
    pub(super) fn fsync(&mut self, step: Step<'_>) -> Flow {
        let Some((at, fd)) = self.handle(step)? else { return Ok(()) };
        let queues = matches!(self.io.options.active().engine, Engine::Uring { .. });
        if queues && !self.io.handles.get(at).mode.mapped && self.io.takes_syncs() {
            return self.io.queue_sync(step, (at, fd));
        }
        if queues {
            self.io.finish_file(at)?;
        }
        let call = match (self.io.handles.get(at).mode.mapped, step.op) {
            (true, _) => Call::Msync { fd },
            (false, Op::Fdatasync) => Call::Fdatasync { fd },
            (false, _) => Call::Fsync { fd },
        };
        self.io.one_call(step, Subject::Handle(at), call)
    }

    /// An open that `--only` leaves out: its handle is one whose open failed.
    pub(super) fn open_left_out(&mut self, step: Step<'_>) {
        if step.dst != NO_SLOT {
            let handle = self.io.handles.add(None, Mode::of(0), self.io.paths[0].bytes(), NO_ID);
            self.env.set(step.dst, handle);
        }
    }

    /// Reads the file and offset of a transfer. `None`: a bad handle, and the operation has ended.
    #[inline(always)]
    fn target(&mut self, step: Step<'_>) -> Flow<Option<Target>> {
        let offset = self.env.optional_size(step.site, step.args[2])?;
        let Some((at, fd)) = self.handle(step)? else { return Ok(None) };
        let handle = self.io.handles.get(at);
        Ok(Some(Target { at, fd, mode: handle.mode, position: handle.position, offset }))
    }

    #[inline(always)]
    pub(super) fn fread(&mut self, step: Step<'_>, buffers: &mut Buffers) -> Flow {
        let Some(target) = self.target(step)? else { return Ok(()) };
        if let Some(ready) = self.env.extents_of(step.site, step.args[1])? {
            return self.io.by_pattern(step, target, Data::Read, ready, buffers);
        }
        let Target { at, fd, mode, position, offset } = target;
        let (data, len) = to_read(self.env.optional_size(step.site, step.args[1])?);
        let extent = (offset.unwrap_or(position), len);
        let one = Transfer::of_handle(&self.io, (fd, mode), data, extent);
        self.io.start_transfer(step, (at, offset.is_none()), mode, one, buffers)
    }

    #[inline(always)]
    pub(super) fn fwrite(&mut self, step: Step<'_>, buffers: &mut Buffers) -> Flow {
        let Some(target) = self.target(step)? else { return Ok(()) };
        if let Some(ready) = self.env.extents_of(step.site, step.args[1])? {
            return self.io.by_pattern(step, target, Data::Write, ready, buffers);
        }
        let Target { at, fd, mode, position, offset } = target;
        let len = self.env.size(step.site, step.args[1])?;
        let (data, offset_bytes) = match mode.append {
            true => (Data::Append, 0),
            false => (Data::Write, offset.unwrap_or(position)),
        };
        let one = Transfer::of_handle(&self.io, (fd, mode), data, (offset_bytes, len));
        self.io.start_transfer(step, (at, offset.is_none() && !mode.append), mode, one, buffers)
    }

    /// `readv` and `writev`: several buffers in one call, which lie one after the other in the rank's own.
    pub(super) fn vector(&mut self, step: Step<'_>, buffers: &mut Buffers) -> Flow {
        take_sizes(self.env.value(step.site, step.args[1])?, &mut self.io.sizes)?;
        let Some(target) = self.target(step)? else { return Ok(()) };
        let Target { at, fd, mode, position, offset } = target;
        let offset_bytes = offset.unwrap_or(position);
        let len = self.io.sizes.iter().fold(0u64, |all, size| all.saturating_add(*size));
        let data = if step.op == Op::Writev { Data::Write } else { Data::Read };
        let mut all = Transfer::of_handle(&self.io, (fd, mode), data, (offset_bytes, len));
        let mut tally = all.tally();
        if self.io.sizes.len() > BUFFERS_MAX || len > MAX_CALL_BYTES as u64 {
            tally.fail(libc::EINVAL);
            return self.io.conclude(step, &tally, Subject::Handle(at));
        }
        if all.way != Way::Nothing {
            (all.way, all.call_bytes) = (Way::Vector, len.max(1));
            // No call says where the end of the file was.
            self.io.touched.unknown |= data.writes() && mode.append && self.io.keeps_events;
        }
        all.run(&mut self.io, buffers, &mut tally, None);
        self.io.end_transfer(step, (at, offset.is_none()), &all, tally)
    }

    pub(super) fn fclose(&mut self, step: Step<'_>, comm: &mut dyn Comm) -> Flow {
        let (at, fd) = self.file(step)?;
        let Some(at) = at else { return self.io.bad_handle(step, None) };
        let locked = std::mem::take(&mut self.io.handles.get(at).locked);
        let closed = self.io.close_file(step, (at, fd));
        if locked {
            comm.gave_lock_back();
        }
        closed
    }

    /// `fseek($h, off [, whence])`. Only the end of a file is the system's to know: the current position is
    /// the handle's own.
    pub(super) fn fseek(&mut self, step: Step<'_>) -> Flow {
        let from = Whence::of(step, &self.env);
        let offset = from.distance(step, &mut self.env)?;
        let Some((at, fd)) = self.handle(step)? else { return Ok(()) };
        let offset = match from {
            Whence::Current => offset.saturating_add(self.io.handles.get(at).position as i64),
            Whence::Start | Whence::End => offset,
        };
        let call = Call::Seek { fd, offset, end: from == Whence::End };
        let shot = timed(&mut *self.io.backend, &self.io.clock, call);
        if let Ok(position) = u64::try_from(shot.reply) {
            self.io.handles.get(at).position = position;
            self.io.names(position, 0);
        }
        self.io.settle(step, shot, Subject::Handle(at))
    }

    /// `flock`. May be asked again with the same arguments.
    pub(super) fn flock(&mut self, step: Step<'_>, comm: &mut dyn Comm) -> Flow {
        let operation = chosen(step, &mut self.env, 1, LOCKS)?.unwrap_or(libc::LOCK_UN);
        let waits = step.args[2] == Operand::ABSENT;
        let Some((at, fd)) = self.handle(step)? else { return Ok(()) };
        let io = &mut self.io;
        loop {
            if let Some(wanted) = io.wanted_lock {
                let poll = comm.wait_for_lock(&io.handles.get(at).path, wanted.seen, step.site);
                io.wanted_lock = Some(wanted).filter(|_| poll != Poll::Released);
                came(poll)?;
            }
            let seen = comm.locks_given_back();
            let shot = timed(&mut *io.backend, &io.clock, Call::Flock { fd, operation });
            let start_ns = io.wanted_lock.map_or(shot.start_ns, |wanted| wanted.start_ns);
            // Taking another kind of lock gives the old one up, even if the new one is refused.
            let holds = shot.reply >= 0 && operation != libc::LOCK_UN;
            if std::mem::replace(&mut io.handles.get(at).locked, holds) {
                comm.gave_lock_back();
            }
            if shot.reply == TAKEN && waits {
                io.wanted_lock = Some(WantedLock { start_ns, seen });
                continue;
            }
            io.wanted_lock = None;
            let shot = Shot { start_ns, ..shot };
            return io.settle(step, shot, Subject::Handle(at));
        }
    }

    /// `dropcaches;` The kernel may keep what it was asked to drop (pages that are not written to storage
    /// yet, or that somebody has mapped), so some files are looked at afterwards, outside of every reading
    /// of the clock.
    #[cold]
    pub(super) fn drop_caches(&mut self, step: Step<'_>) -> Flow {
        let io = &mut self.io;
        let shot = timed(&mut *io.backend, &io.clock, Call::DropCaches {});
        let done = shot.reply >= 0;
        io.count_clearing(if done { Count::Drops } else { Count::DropsRefused }, 1);
        if done {
            let files: Vec<Fd> = io.handles.open_files().take(LOOKED_AT).collect();
            for fd in files {
                io.look_after(fd, [Count::DropLooked, Count::DropKept]);
            }
        } else {
            io.detail = Some(REFUSED.to_string());
        }
        io.settle(step, shot, Subject::Nothing)
    }

    /// `fadvise($h, off, n, "dontneed")`
    #[cold]
    pub(super) fn need_no_more(&mut self, step: Step<'_>, (offset, size): (u64, u64)) -> Flow {
        let Some((at, fd)) = self.handle(step)? else { return Ok(()) };
        let io = &mut self.io;
        let call = Call::Fadvise { fd, offset, size, advice: libc::POSIX_FADV_DONTNEED };
        let shot = timed(&mut *io.backend, &io.clock, call);
        if shot.reply >= 0 {
            io.count_clearing(Count::Advised, 1);
            // Of a part of a file nobody says what was kept.
            if (offset, size) == (0, 0) && io.traffic.chooses_advised() {
                io.look_after(fd, [Count::AdviceLooked, Count::AdviceKept]);
            }
        }
        io.settle(step, shot, Subject::Handle(at))
    }
}

impl Io<'_> {
    /// The bytes of the first path's file are moved: counts them, and makes the file stable if that is wanted.
    fn count_for_path(&mut self, transfer: &Transfer, tally: &mut Tally) {
        if transfer.data == Data::ReadRest {
            tally.requested_bytes = tally.done_bytes;
        }
        let (place, bytes) = (self.paths[0].place, tally.done_bytes);
        let is_direct = transfer.direct.is_some();
        match transfer.data.writes() {
            writes if transfer.way == Way::Nothing => self.moved_nothing(writes, bytes),
            false => self.was_read(place, is_direct, bytes),
            true if tally.errno == 0 => {
                let syncs = self.options.active().fsync != Fsync::None;
                self.wrote(place, bytes, !syncs && !is_direct);
                if syncs {
                    self.sync(tally, transfer.fd, transfer.way == Way::Mapping);
                }
            }
            true => {}
        }
    }

    /// Keeps the names that the call before has found.
    #[cold]
    fn keep_names(&mut self, buffers: &mut Buffers) {
        let Ok(buf) = buffers.target(ENTRIES_BYTES) else { return };
        let visible = entries::entries(buf).filter(entries::Entry::is_visible);
        self.names.extend(visible.map(|entry| Value::str(entry.name.to_bytes())));
    }

    #[cold]
    fn remove_directory(&mut self, step: Step<'_>, unlinked: Shot) -> Flow {
        let mut tally = Tally::EMPTY;
        tally.add_time(Part::Data, unlinked);
        let shot = self.shot_on_paths(|paths| Call::Rmdir { path: paths[0].as_c_str() });
        tally.add_time(Part::Data, shot);
        match -shot.reply as i32 {
            0 => {}
            libc::ENOTDIR => tally.fail(-unlinked.reply as i32),
            other => tally.fail(other),
        }
        self.conclude(step, &tally, Subject::Path)
    }

    /// Whether a file opened inside `engine="mmap"` is mapped; what is opened to append to is not.
    #[cold]
    fn maps(&mut self, mode: Mode) -> bool {
        if mode.append {
            self.notes |= note::UNMAPPED;
        }
        !mode.append
    }

    /// Maps a file that was opened, if it was; both as one call. One that cannot be mapped is closed.
    #[cold]
    fn map_opened(&mut self, open: Shot, write: bool) -> Shot {
        if open.reply < 0 {
            return open;
        }
        let fd = Fd(open.reply as i32);
        let map = timed(&mut *self.backend, &self.clock, Call::Map { fd, write });
        if map.reply < 0 {
            self.backend.issue(Call::Close { fd });
            return Shot { start_ns: open.start_ns, ..map };
        }
        Shot { end_ns: map.end_ns, ..open }
    }

    /// Adds O_DIRECT where `with (direct=true)` wants it.
    #[inline(always)]
    pub(super) fn open_flags(&self, flags: i32) -> i32 {
        if self.options.active().direct { flags | libc::O_DIRECT } else { flags }
    }

    /// Moves bytes: now, or with others under way.
    #[inline(always)]
    fn start_transfer(
        &mut self,
        step: Step<'_>,
        handle: (usize, bool),
        mode: Mode,
        one: Transfer,
        buffers: &mut Buffers,
    ) -> Flow {
        match self.options.active().engine {
            Engine::Uring { .. } => self.queue_transfer(step, handle, mode, one, buffers),
            _ => self.transfer(step, handle, one, buffers),
        }
    }

    /// Access by a pattern: all its extents in one operation, whose times are added up.
    #[inline(never)]
    fn by_pattern(
        &mut self,
        step: Step<'_>,
        Target { at, fd, mode, offset, .. }: Target,
        data: Data,
        ready: &Ready<'_>,
        buffers: &mut Buffers,
    ) -> Flow {
        if data.writes() && mode.append {
            // Everything would go to the end of the file, in no pattern.
            return self.refused(step, libc::EINVAL, Subject::Handle(at));
        }
        if !self.queue.is_idle() {
            self.finish_file(at)?;
        }
        if self.keeps_events {
            (self.touched.extents, self.touched.pieces) = ready.recorded(&mut self.recorder);
        }
        let mut all = Transfer::of_handle(self, (fd, mode), data, (0, 0));
        let mut tally = Tally::EMPTY;
        all.run_extents(self, buffers, &mut tally, (ready, offset.unwrap_or(0)));
        self.end_transfer(step, (at, false), &all, tally)
    }

    fn close_file(&mut self, step: Step<'_>, (at, fd): (usize, Option<Fd>)) -> Flow {
        self.handles.remove(at);
        let Some(fd) = fd else { return self.bad_handle(step, Some(at)) };
        if self.queue.is_open() {
            self.backend.leave_file(fd);
        }
        let mode = self.handles.get(at).mode;
        let sync = mode.writable && self.options.active().fsync == Fsync::Close;
        if !sync && !mode.mapped {
            return self.one_call(step, Subject::Handle(at), Call::Close { fd });
        }
        let mut tally = Tally::EMPTY;
        if sync && self.sync(&mut tally, fd, mode.mapped) {
            self.made_stable(at);
        }
        if mode.mapped {
            self.part(&mut tally, Part::Close, Call::Unmap { fd });
        }
        self.part(&mut tally, Part::Close, Call::Close { fd });
        self.conclude(step, &tally, Subject::Handle(at))
    }

    /// Alignment that transfers of an open file need with O_DIRECT.
    #[inline(always)]
    fn alignment(&mut self, fd: Fd, flags: i32) -> Option<u32> {
        (flags & libc::O_DIRECT != 0).then(|| self.backend.alignment(fd))
    }

    /// Remarks that an open with O_DIRECT failed as file systems without it fail.
    #[cold]
    pub(super) fn refused_direct(&mut self, flags: i32, errno: i32) {
        if flags & libc::O_DIRECT != 0 && matches!(errno, libc::EINVAL | libc::EOPNOTSUPP) {
            self.notes |= note::DIRECT_REFUSED | note::refused_in(self.paths[0].place);
        }
    }

    /// Gives back what a rank that ends still holds, so that nobody waits for it.
    pub(super) fn give_all_back(&mut self, comm: &mut dyn Comm) {
        let locked = self.handles.open().filter(|(_, handle)| handle.locked);
        let held: Vec<Fd> = locked.map(|(fd, _)| fd).collect();
        for fd in held {
            self.backend.issue(Call::Flock { fd, operation: libc::LOCK_UN });
            comm.gave_lock_back();
        }
    }

    /// In virtual time there is no page cache.
    fn count_clearing(&mut self, count: Count, more: u64) {
        if self.clock.passes_by_itself() {
            let block = self.labels.traffic(&mut self.recorder, RUN);
            self.recorder.count(block, count, more);
        }
    }

    /// Counts the size of a file, and what of it stayed in the page cache.
    fn look_after(&mut self, fd: Fd, [looked, kept]: [Count; 2]) {
        if let Some(found) = self.backend.look(fd)
            && let Some(cached_bytes) = found.cached_bytes
        {
            self.count_clearing(looked, found.size_bytes);
            self.count_clearing(kept, cached_bytes);
        }
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

/// mmap(2) needs a readable descriptor also for writing.
#[inline(always)]
fn map_flags(flags: i32, mapped: bool) -> i32 {
    match mapped && flags & libc::O_ACCMODE == libc::O_WRONLY {
        true => flags & !libc::O_ACCMODE | libc::O_RDWR,
        false => flags,
    }
}

/// Most bytes of one call of `copy`, and of one to the end of a file, unless `with (transfer=...)` says
/// otherwise: as cp(1) asks for.
const CALL_BYTES: u64 = 1 << 30;
/// The same where the bytes go through memory, as for the rest of a file.
const MEMORY_BYTES: u64 = 1 << 20;

/// The bytes to be copied.
#[derive(Clone, Copy)]
struct Range {
    from_bytes: u64,
    to_bytes: u64,
    /// `None`: all to the end of the file.
    len: Option<u64>,
    /// Most bytes of one call without the option `transfer`.
    call_bytes: u64,
}

/// The places of two handles in the table, and the descriptors behind them.
type TwoFiles = ([usize; 2], [Fd; 2]);

impl Machine<'_> {
    /// `copy` and `reflink`
    pub(super) fn copy_paths(&mut self, step: Step<'_>, buffers: &mut Buffers) -> Flow {
        let [len, from_bytes, to_bytes] = self.range_arguments(step)?;
        let truncate = if to_bytes.is_none() { libc::O_TRUNC } else { 0 };
        let (from_bytes, to_bytes) = (from_bytes.unwrap_or(0), to_bytes.unwrap_or(0));
        self.env.path(step.site, step.args[0], &mut self.io.paths[0])?;
        self.env.path(step.site, step.args[1], &mut self.io.paths[1])?;
        let io = &mut self.io;
        let range = Range { from_bytes, to_bytes, len, call_bytes: CALL_BYTES };
        let mut tally = io.begin_copy(range);
        if let Some(from) = io.open(&mut tally, 0, libc::O_RDONLY) {
            io.opened_for_reading(from, false);
            if let Some(to) = io.open(&mut tally, 1, libc::O_WRONLY | libc::O_CREAT | truncate) {
                io.bring(step.op, buffers, &mut tally, [from, to], range);
                if step.op == Op::Copy {
                    io.count_copied(&mut tally, to);
                }
                io.part(&mut tally, Part::Close, Call::Close { fd: to });
            }
            io.part(&mut tally, Part::Close, Call::Close { fd: from });
        }
        io.conclude(step, &tally, Subject::Paths)
    }

    /// `fcopy` and `freflink`
    pub(super) fn copy_files(&mut self, step: Step<'_>, buffers: &mut Buffers) -> Flow {
        let [len, from_bytes, to_bytes] = self.range_arguments(step)?;
        let (subject, files) = self.two_files(step)?;
        let io = &mut self.io;
        let Some((ats, fds)) = files else { return io.refused(step, libc::EBADF, subject) };
        let copies = step.op == Op::Fcopy;
        let mut position = |at: usize| if copies { io.handles.get(at).position } else { 0 };
        let range = Range {
            from_bytes: from_bytes.unwrap_or_else(|| position(ats[0])),
            to_bytes: to_bytes.unwrap_or_else(|| position(ats[1])),
            len,
            call_bytes: len.unwrap_or(CALL_BYTES),
        };
        let mut tally = io.begin_copy(range);
        io.bring(step.op, buffers, &mut tally, fds, range);
        if copies {
            io.count_copied_files(&mut tally, (ats, fds));
            for (at, given) in ats.into_iter().zip([from_bytes, to_bytes]) {
                io.handles.get(at).position += if given.is_none() { tally.done_bytes } else { 0 };
            }
        }
        io.conclude(step, &tally, subject)
    }

    /// How many bytes, from where and to where, as far as that is said.
    fn range_arguments(&mut self, step: Step<'_>) -> Flow<[Option<u64>; 3]> {
        let mut numbers = [None; 3];
        for (number, operand) in numbers.iter_mut().zip(step.args.iter().skip(2)) {
            *number = self.env.optional_size(step.site, *operand)?;
        }
        Ok(numbers)
    }

    /// The subject of an operation on two open files, and both files if they are open.
    fn two_files(&mut self, step: Step<'_>) -> Flow<(Subject, Option<TwoFiles>)> {
        let [(source, from), (target, to)] = [self.file_of(step, 0)?, self.file_of(step, 1)?];
        let (Some(from_at), Some(to_at)) = (source, target) else {
            return Ok((target.or(source).map_or(Subject::Nothing, Subject::Handle), None));
        };
        let files = from.zip(to).map(|(from, to)| ([from_at, to_at], [from, to]));
        Ok((Subject::Handles { from: from_at, to: to_at }, files))
    }
}

impl Io<'_> {
    fn begin_copy(&mut self, range: Range) -> Tally {
        self.copies_from(range.from_bytes);
        let requested_bytes = range.len.unwrap_or(0);
        Tally { offset_bytes: range.to_bytes, requested_bytes, ..Tally::EMPTY }
    }

    /// From one open file to the other.
    fn bring(
        &mut self,
        op: Op,
        buffers: &mut Buffers,
        tally: &mut Tally,
        [from, to]: [Fd; 2],
        range: Range,
    ) {
        let Range { from_bytes, to_bytes, len, .. } = range;
        let clone = match (len.unwrap_or(0), from_bytes, to_bytes) {
            _ if matches!(op, Op::Copy | Op::Fcopy) => {
                return self.copy_range(buffers, tally, [from, to], range);
            }
            (0, 0, 0) => Call::Clone { from, to },
            (len, ..) => Call::CloneRange { from: (from, from_bytes), to: (to, to_bytes), len },
        };
        self.part(tally, Part::Data, clone);
    }

    /// Counts the bytes of a copy for both paths.
    fn count_copied(&mut self, tally: &mut Tally, to: Fd) {
        let [read, written] = [0, 1].map(|at| self.paths[at].place);
        self.was_read(read, false, tally.done_bytes);
        let syncs = tally.errno == 0 && self.options.active().fsync != Fsync::None;
        let synced = syncs && self.sync(tally, to, false);
        self.wrote(written, tally.done_bytes, !synced);
    }

    /// The same for two open files.
    fn count_copied_files(&mut self, tally: &mut Tally, ([source, target], fds): TwoFiles) {
        let mode = self.handles.get(source).mode;
        self.was_read(mode.place, mode.direct.is_some(), tally.done_bytes);
        let mode = self.handles.get(target).mode;
        self.wrote_to(target, mode, tally.done_bytes);
        let syncs = tally.errno == 0 && self.options.active().fsync == Fsync::Op;
        if syncs && self.sync(tally, fds[1], false) {
            self.made_stable(target);
        }
    }

    fn copy_range(
        &mut self,
        buffers: &mut Buffers,
        tally: &mut Tally,
        files: [Fd; 2],
        range: Range,
    ) {
        let (wanted, in_force) = (range.len.unwrap_or(u64::MAX), self.options.active().in_force());
        let mut in_memory = false;
        while tally.errno == 0 && tally.done_bytes < wanted {
            let usual = if in_memory { MEMORY_BYTES } else { range.call_bytes };
            // Without data one call does, where there could be millions.
            let most = match self.accounts {
                true => 1 << 62,
                false => self.options.active().transfer.unwrap_or(usual),
            };
            let len = (wanted - tally.done_bytes).min(most) as usize;
            let reply = match in_memory {
                true => self.copy_in_memory(buffers, tally, files, (range, len)),
                false => self.copy_call(tally, files, (range, len)),
            };
            if reply == -Reply::from(libc::EINTR) && !stop::requested() {
                continue;
            }
            if reply == -Reply::from(libc::EXDEV) && !in_memory {
                in_memory = true;
                self.notes |= note::THROUGH_MEMORY;
                // The bytes are the source's: nothing is filled or checked on the way.
                self.backend.set_options(&InForce { verify: false, ..in_force });
            } else if reply <= 0 || tally.done_bytes < wanted && is_stopped(tally) {
                break;
            }
        }
        if in_memory {
            self.backend.set_options(&in_force);
        }
        match range.len {
            Some(len) => tally.short = tally.errno == 0 && tally.done_bytes < len,
            None => tally.requested_bytes = tally.done_bytes,
        }
    }

    /// An interrupted call is repeated, and EXDEV is no error yet.
    fn copy_call(
        &mut self,
        tally: &mut Tally,
        [from, to]: [Fd; 2],
        (range, len): (Range, usize),
    ) -> Reply {
        let (done, rest) = (tally.done_bytes, range.len.is_none());
        let (from, to) = ((from, range.from_bytes + done), (to, range.to_bytes + done));
        let shot = timed(&mut *self.backend, &self.clock, Call::CopyRange { from, to, len, rest });
        match -shot.reply as i32 {
            libc::EINTR if !stop::requested() => tally.add_time(Part::Data, shot),
            libc::EXDEV => tally.add_time(Part::Data, shot),
            _ => tally.done_bytes += tally.add(Part::Data, shot).max(0) as u64,
        }
        shot.reply
    }

    /// Reads bytes, and writes all of them.
    fn copy_in_memory(
        &mut self,
        buffers: &mut Buffers,
        tally: &mut Tally,
        [from, to]: [Fd; 2],
        (range, len): (Range, usize),
    ) -> Reply {
        let Ok(buf) = self.target(buffers, len) else {
            tally.fail(libc::ENOMEM);
            return 0;
        };
        let (offset, rest) = (range.from_bytes + tally.done_bytes, range.len.is_none());
        let read = Call::Pread { fd: from, buf: &mut *buf, offset, rest };
        let read = self.part(tally, Part::Data, read);
        let mut left = &buf[..read.max(0) as usize];
        while !left.is_empty() {
            let offset = range.to_bytes + tally.done_bytes;
            let written = self.part(tally, Part::Data, Call::Pwrite { fd: to, buf: left, offset });
            if written <= 0 {
                return 0;
            }
            left = &left[written as usize..];
            tally.done_bytes += written as u64;
        }
        read
    }
}

//! Statements of MPI-IO become calls on MPI files.
//!
//! A collective statement has four steps: every expression is
//! evaluated (a rank whose expression has no value ends before anybody waits for it inside
//! MPI), the members meet at a barrier that can be released and find out whether all have come to
//! the same statement, they agree on what a back-end call needs, and then they call. Only the
//! last step is timed.
//!
//! The bytes of a statement move by one call for each extent, one after the other or several at a time, or by one
//! call over all extents through a view. A number of bytes that one independent call moves, as loops of transfers
//! have it, has little code around that call, because a system call drives the code between two calls out of the
//! CPU's first-level caches.
//!
//! Each transfer under way has a slot of memory; transfers end in any order, and an ended one makes room
//! for the next. The time of the statement is the time of the calls that make, start and await them.
//!
//! Libraries report more than a read has moved. ROMIO says of collective reads and of reads through views that they
//! moved what was asked for, Open MPI 4.1 of collective ones; both leave the buffer as it was. And Open MPI 4.1
//! waits for ever for a non-blocking read that reaches beyond the end: it is cut before.

use super::eval::Env;
use super::extents::Ready;
use super::files::Whence;
use super::handles::Mode;
use super::io::{Io, timed};
use super::note;
use super::options::{Active, Fsync};
use super::rank::Machine;
use super::step::Step;
use super::tally::{Fault, Flow, STOPPED, Shot, Subject, Tally, came};
use super::transfer::{call_memory, slots_memory};
use crate::backend::{Bulk, BulkFile};
use crate::buffer::{Buffers, Content};
use crate::call::{
    At, FileCall, Memory, MpiFile, MpiMode, Queued, Reply, Submitted, Tag, Target, ViewId,
};
use crate::comm::{Collective, CollectiveCall, Comm, Members};
use crate::stop;
use model::pattern::{Extent, Run};
use model::plan::{NO_SLOT, Operand, Plan};
use model::value::{Eval, EvalError};
use model::{Op, Part, Value};
use std::io;

impl Io<'_> {
    /// Whether statements of MPI-IO can be executed.
    pub(super) fn check_mpi(&mut self, op: Op) -> Flow {
        let has_mpi = self.mpi_call_bytes > 0;
        if has_mpi { Ok(()) } else { Err(needs_mpi(op, self.backend.capabilities().name)) }
    }

    /// The operation fails for a reason that is no call's.
    pub(super) fn fail_file(&mut self, tally: &mut Tally, errno: i32, detail: &str) {
        if tally.errno == 0 {
            tally.fail(errno);
            self.detail = Some(detail.to_string());
        }
    }

    /// Whether the operation failed so far on any member. Not timed; all members ask. Who has
    /// not failed himself fails with the others.
    pub(super) fn any_failed(&mut self, members: &Members, tally: &mut Tally, what: &str) -> bool {
        let failed = self.most(members, i64::from(tally.errno != 0)) > 0;
        if failed {
            self.fail_file(tally, libc::ECANCELED, what);
        }
        failed
    }

    /// An operation is over in which members have asked each other after its calls: that was waiting,
    /// and none of the pause that may follow.
    pub(super) fn conclude_together(
        &mut self,
        step: Step<'_>,
        tally: &Tally,
        subject: Subject,
    ) -> Flow {
        self.conclude(step, tally, subject)?;
        self.ended_ns = 0;
        Ok(())
    }

    /// The largest value of all members; not timed, all members ask.
    pub(super) fn most(&mut self, members: &Members, value: i64) -> i64 {
        if members.ranks.len() < 2 {
            return value;
        }
        match self.backend.issue_file(FileCall::Most { members, value }) {
            reply if reply < 0 => value,
            most => most,
        }
    }
}

#[cold]
fn needs_mpi(op: Op, backend: &str) -> Fault {
    Fault::message(format!(
        "{op} needs MPI, and this run has none (back-end {backend}): start it with mpiexec or \
         --mpi, use the POSIX operations, or leave the statement out with --only"
    ))
}

/// Waits for the members of a collective call on the `number`-th file that they opened; a rank that has ended, or that
/// has come to another statement, releases the others here.
pub(super) fn meet(
    comm: &mut dyn Comm,
    members: &Members,
    step: Step<'_>,
    (file, way): (u32, u16),
) -> Flow {
    if members.ranks.len() < 2 {
        return Ok(());
    }
    let call = CollectiveCall { what: Collective::Op(step.op), file, way };
    came(comm.barrier(members, step.site, Some(call)))
}

/// The way of a call, from what decides which calls of MPI it becomes.
pub(super) fn way(flags: &[bool]) -> u16 {
    flags.iter().fold(0, |way, flag| way << 1 | u16::from(*flag))
}

/// An open MPI file with what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    /// Its place in the table of handles.
    pub(super) at: usize,
    pub(super) file: MpiFile,
    pub(super) members: Members,
    /// How many files the members had opened before.
    pub(super) number: u32,
}

impl Machine<'_> {
    /// The place of the first argument's handle in the table, and its file.
    #[inline(always)]
    pub(super) fn mpi_file(&mut self, step: Step<'_>) -> Flow<(Option<usize>, Option<MpiFile>)> {
        let at = self.io.handles.find(self.env.value(step.site, step.args[0])?)?;
        Ok((at, at.and_then(|at| self.io.handles.mpi_file(at)).map(|(file, ..)| file)))
    }

    /// The same with what is known of it. `None`: a bad one, and the operation is over, on all members alike
    /// because they agreed on the open.
    pub(super) fn opened_mpi_file(&mut self, step: Step<'_>) -> Flow<Option<Opened>> {
        let (at, _) = self.mpi_file(step)?;
        match at.and_then(|at| Some((at, self.io.handles.mpi_file(at)?))) {
            Some((at, (file, members, number))) => {
                Ok(Some(Opened { at, file, members: members.clone(), number }))
            }
            None => self.io.bad_handle(step, at).map(|()| None),
        }
    }
}

impl Machine<'_> {
    /// `$h = pfopen(path, mode)`
    #[inline(never)]
    pub(crate) fn pfopen(&mut self, step: Step<'_>, comm: &mut dyn Comm) -> Flow {
        self.io.check_mpi(step.op)?;
        let mode = mode(step, &mut self.env)?;
        self.env.path(step.site, step.args[0], &mut self.io.paths[0])?;
        let members = match self.io.options.active().alone {
            true => Members::alone(self.env.scope.rank),
            false => self.env.scope.members().clone(),
        };
        // A member that gave another path or mode gets an error from the open itself.
        meet(comm, &members, step, (0, way(&[self.io.options.active().atomic])))?;
        let mut tally = Tally::EMPTY;
        let file = self.io.open_mpi_file(mode, &members, &mut tally);
        let position =
            file.filter(|_| mode.append).map_or(0, |file| self.io.end_of(file, &members));
        let path_id = self.io.recorder.path(self.io.paths[0].bytes());
        let path = self.io.paths[0].bytes();
        let mode = Mode { writable: mode.write, place: self.io.paths[0].place, ..Mode::of(0) };
        let handle = self.io.handles.add_mpi(file, members, (mode, position), path, path_id);
        if step.dst != NO_SLOT {
            self.env.set(step.dst, handle);
        }
        self.io.conclude_together(step, &tally, Subject::Path)
    }

    /// `pfclose($h)`
    #[inline(never)]
    pub(crate) fn pfclose(&mut self, step: Step<'_>, comm: &mut dyn Comm) -> Flow {
        self.io.check_mpi(step.op)?;
        let Some(opened) = self.opened_mpi_file(step)? else {
            if let (Some(at), _) = self.mpi_file(step)? {
                self.io.handles.remove(at);
            }
            return Ok(());
        };
        let stable = self.io.options.active().fsync == Fsync::Close;
        meet(comm, &opened.members, step, (opened.number, way(&[stable])))?;
        let mut tally = Tally::EMPTY;
        let writable = self.io.handles.get(opened.at).mode.writable;
        self.io.handles.remove(opened.at);
        self.io.close_mpi_file(opened.file, writable, &mut tally);
        if tally.errno == 0 && stable {
            self.io.made_stable(opened.at);
        }
        self.io.conclude(step, &tally, Subject::Handle(opened.at))
    }

    /// The position that a `pfseek` leads to. The end is asked for before the call.
    fn sought(&mut self, step: Step<'_>, opened: &Opened) -> Eval<u64> {
        let from = Whence::of(step, &self.env);
        let distance = from.distance(step, &mut self.env)?;
        let base = match from {
            Whence::Start => 0,
            Whence::Current => self.io.handles.get(opened.at).position as i64,
            Whence::End => {
                self.io.backend.issue_file(FileCall::Position { file: opened.file }).max(0)
            }
        };
        u64::try_from(base.saturating_add(distance)).map_err(|_| {
            let found = format!("{distance} bytes from byte {base}");
            EvalError::Range("expected a position that is not before the start of the file", found)
        })
    }

    /// `pfsync($h)`, `pfsetsize($h, n)`, `pfpreallocate($h, n)`, `pfseek($h, off)`: one call.
    #[inline(never)]
    pub(crate) fn on_mpi_file(&mut self, step: Step<'_>, comm: &mut dyn Comm) -> Flow {
        self.io.check_mpi(step.op)?;
        let size = match step.op {
            Op::Pfsetsize | Op::Pfpreallocate => self.env.size(step.site, step.args[1])?,
            _ => 0,
        };
        let Some(opened) = self.opened_mpi_file(step)? else { return Ok(()) };
        let Opened { at, file, .. } = opened;
        let offset = if step.op == Op::Pfseek { self.sought(step, &opened)? } else { 0 };
        if step.op.is_collective() {
            meet(comm, &opened.members, step, (opened.number, 0))?;
        }
        self.io.names(offset, size);
        let handle = self.io.handles.get(at);
        let call = match step.op {
            Op::Pfsync => FileCall::Sync { file },
            Op::Pfsetsize => {
                handle.seen_bytes = 0;
                FileCall::SetSize { file, size }
            }
            Op::Pfpreallocate => FileCall::Preallocate { file, size },
            _ => {
                handle.position = offset;
                FileCall::Seek { file, offset }
            }
        };
        let mut tally = Tally::EMPTY;
        if self.io.part(&mut tally, Part::Data, call) >= 0 && step.op == Op::Pfsync {
            self.io.made_stable(at);
        }
        self.io.conclude(step, &tally, Subject::Handle(at))
    }

    /// `pdelete(path)`: by member 0, under `with (comm="self")` by each rank.
    #[inline(never)]
    pub(crate) fn pdelete(&mut self, step: Step<'_>) -> Flow {
        self.io.check_mpi(step.op)?;
        self.env.path(step.site, step.args[0], &mut self.io.paths[0])?;
        if !self.env.scope.is_master() && !self.io.options.active().alone {
            return Ok(());
        }
        let mut tally = Tally::EMPTY;
        let call = FileCall::Delete { path: self.io.paths[0].as_c_str() };
        let shot = timed(&mut *self.io.backend, &self.io.clock, call);
        self.io.add_explained(&mut tally, Part::Data, shot);
        self.io.conclude(step, &tally, Subject::Path)
    }
}

impl Io<'_> {
    /// Where a file ends that was opened for appending. Nobody goes on, and writes, before all
    /// members have asked.
    fn end_of(&mut self, file: MpiFile, members: &Members) -> u64 {
        let position = self.backend.issue_file(FileCall::Position { file }).max(0);
        self.most(members, position) as u64
    }

    /// Opens the file at the first path; `None` on all members if it failed on one.
    pub(super) fn open_mpi_file(
        &mut self,
        mode: MpiMode,
        members: &Members,
        tally: &mut Tally,
    ) -> Option<MpiFile> {
        if self.options.active().direct {
            self.notes |= note::DIRECT_MPI;
        }
        let path = self.paths[0].as_c_str();
        let call = FileCall::Open { path, mode, members, hints: self.options.hints() };
        let shot = timed(&mut *self.backend, &self.clock, call);
        let reply = self.add_explained(tally, Part::Open, shot);
        // A file that only some have opened cannot be closed, because closing is collective too.
        if self.any_failed(members, tally, "opening it failed on another member of the group") {
            return None;
        }
        let file = MpiFile(reply as i32);
        if self.options.active().atomic {
            self.part(tally, Part::Open, FileCall::SetAtomic { file });
        }
        if let Some(facts) = self.backend.opened_facts(file, members, self.options.hints()) {
            self.recorder.mpi_file(&facts);
        }
        Some(file)
    }

    /// Closes a file, made stable before where `with (fsync="close")` wants it.
    pub(super) fn close_mpi_file(&mut self, file: MpiFile, writable: bool, tally: &mut Tally) {
        if writable && self.options.active().fsync == Fsync::Close {
            self.part(tally, Part::Sync, FileCall::Sync { file });
        }
        self.part(tally, Part::Close, FileCall::Close { file });
    }
}

fn mode(step: Step<'_>, env: &mut Env<'_>) -> Flow<MpiMode> {
    let mut text = Vec::new();
    env.render(step.site, step.args[1], &mut text)?;
    MpiMode::parse(&text).ok_or_else(|| {
        let found = format!("\"{}\"", String::from_utf8_lossy(&text));
        EvalError::Type("an MPI open mode (letters of r w c x a)", found).into()
    })
}

impl Machine<'_> {
    /// `pwrite(path, pattern [, group])`, `pread`: open, view, data, sync, close.
    #[inline(never)]
    pub(crate) fn whole_mpi_file(
        &mut self,
        step: Step<'_>,
        comm: &mut dyn Comm,
        buffers: &mut Buffers,
    ) -> Flow {
        self.io.check_mpi(step.op)?;
        let write = step.op == Op::Pwrite;
        let group = group_argument(step, &self.env)?;
        if group.as_ref().is_some_and(|group| !group.ranks.contains(self.env.scope.rank)) {
            return Ok(());
        }
        let active = *self.io.options.active();
        let group = if active.alone { Some(Members::alone(self.env.scope.rank)) } else { group };
        let members = group.as_ref().unwrap_or(self.env.scope.members()).clone();
        let number = pattern_named(self.env.plan, self.env.value(step.site, step.args[1])?)
            .ok_or_else(|| Fault::message(format!("{} needs the name of a pattern", step.op)))?;
        self.env.path(step.site, step.args[0], &mut self.io.paths[0])?;
        let ready = extents(&mut self.env, number, group.as_ref(), write)?;
        let stable = write && active.fsync != Fsync::None;
        let what = What::Pattern(ready, 0);
        let way = what.way(&active) | way(&[active.atomic, stable]);
        meet(comm, &members, step, (0, way))?;
        let mode = MpiMode { read: !write, write, create: write, ..MpiMode::default() };
        let mut tally = Tally::EMPTY;
        if let Some(file) = self.io.open_mpi_file(mode, &members, &mut tally) {
            let mut job = Job { file, members: &members, write, seen_bytes: 0 };
            self.io.move_pattern(buffers, &mut job, (ready, 0, false), &mut tally);
            self.io.close_mpi_file(file, stable, &mut tally);
        }
        match write {
            false => self.io.was_read(self.io.paths[0].place, false, tally.done_bytes),
            true if tally.errno == 0 => {
                self.io.wrote(self.io.paths[0].place, tally.done_bytes, !stable)
            }
            true => {}
        }
        self.io.conclude_together(step, &tally, Subject::Path)
    }

    /// `pfwrite($h, ...)`, `pfread`
    #[inline(never)]
    pub(crate) fn pf_transfer(
        &mut self,
        step: Step<'_>,
        comm: &mut dyn Comm,
        buffers: &mut Buffers,
    ) -> Flow {
        self.io.check_mpi(step.op)?;
        let given = match pattern_named(self.env.plan, self.env.value(step.site, step.args[1])?) {
            Some(number) => {
                let offset = self.env.optional_size(step.site, step.args[2])?;
                Given::Pattern(number, offset.unwrap_or(0))
            }
            None => {
                let bytes = bytes(step, &mut self.env)?;
                let (at, file) = match self.mpi_file(step)? {
                    (Some(at), Some(file)) => (at, file),
                    (at, _) => return self.io.bad_handle(step, at),
                };
                if let Some(one) = One::of(&mut self.io, (at, file), bytes, step.op == Op::Pfwrite)
                    && let Some(shot) = one.issue(&mut self.io, buffers)
                {
                    return one.conclude(step, &mut self.io, shot);
                }
                Given::Bytes(bytes)
            }
        };
        self.transfer_given(step, comm, buffers, given)
    }

    #[inline(never)]
    fn transfer_given(
        &mut self,
        step: Step<'_>,
        comm: &mut dyn Comm,
        buffers: &mut Buffers,
        given: Given,
    ) -> Flow {
        let write = step.op == Op::Pfwrite;
        let Some(opened) = self.opened_mpi_file(step)? else { return Ok(()) };
        let active = *self.io.options.active();
        let what = match given {
            Given::Pattern(number, displacement_bytes) => {
                let alone = Some(&opened.members).filter(|members| members.is_alone());
                What::Pattern(extents(&mut self.env, number, alone, write)?, displacement_bytes)
            }
            Given::Bytes(bytes) => What::Bytes(bytes),
        };
        if active.verify && what.has_no_place() {
            return Err(Fault::message(
                "verify=true needs places: transfers at the shared pointer (\"shared\", \"ordered\") go \
                 where nobody knows before; give them offsets",
            ));
        }
        let sync = write && active.fsync == Fsync::Op;
        if what.needs_all() {
            let way = what.way(&active) | way(&[sync]);
            meet(comm, &opened.members, step, (opened.number, way))?;
        } else if sync && opened.members.ranks.len() > 1 {
            return Err(Fault::message(
                "fsync=\"op\" with an independent transfer: MPI_File_sync needs all members; use a \
                 collective one, pfsync, or fsync=\"close\"",
            ));
        }
        let mut tally = Tally::EMPTY;
        let (at, file) = (opened.at, opened.file);
        let handle = self.io.handles.get(at);
        let (position, seen_bytes) = (handle.position, handle.seen_bytes);
        let mut job = Job { file, members: &opened.members, write, seen_bytes };
        let mut moves_position = false;
        match what {
            What::Pattern(ready, displacement_bytes) => {
                let placed = (ready, displacement_bytes, true);
                self.io.move_pattern(buffers, &mut job, placed, &mut tally)
            }
            What::Bytes(bytes) => {
                moves_position = bytes.offset.is_none() && !bytes.shared;
                self.io.move_mpi_bytes(buffers, &mut job, (bytes, position), &mut tally);
            }
        }
        self.io.moved_mpi(at, (&job, moves_position), &tally);
        if sync && self.io.part(&mut tally, Part::Sync, FileCall::Sync { file }) >= 0 {
            self.io.made_stable(at);
        }
        self.io.conclude_together(step, &tally, Subject::Handle(at))
    }
}

/// Operand of a statement: the number of a pattern and where in the file it begins, or bytes.
enum Given {
    Pattern(usize, u64),
    Bytes(Bytes),
}

impl Io<'_> {
    /// Bytes of an open file were moved.
    fn moved_mpi(&mut self, at: usize, (job, moves_position): (&Job<'_>, bool), tally: &Tally) {
        let handle = self.handles.get(at);
        handle.seen_bytes = job.seen_bytes;
        if moves_position {
            handle.position += tally.done_bytes;
        }
        let mode = handle.mode;
        if !job.write {
            self.was_read(mode.place, false, tally.done_bytes);
        } else if tally.errno == 0 {
            self.wrote_to(at, mode, tally.done_bytes);
        }
    }
}

/// The bytes that a statement moves.
#[derive(Clone, Copy)]
enum What<'a> {
    /// A pattern, and where in the file it begins.
    Pattern(&'a Ready<'a>, u64),
    Bytes(Bytes),
}

impl What<'_> {
    /// All members have to be there; setting a view is collective too.
    fn needs_all(&self) -> bool {
        match self {
            What::Pattern(ready, _) => ready.is_collective() || ready.is_whole(),
            What::Bytes(bytes) => bytes.collective,
        }
    }

    /// It goes where the shared pointer is.
    fn has_no_place(&self) -> bool {
        matches!(self, What::Bytes(bytes) if bytes.shared)
    }

    /// A number for the calls of MPI that it becomes; leaves room for four flags below.
    fn way(&self, active: &Active) -> u16 {
        let several = active.transfer.is_some();
        let flags = match self {
            What::Pattern(ready, _) => {
                let (collective, whole) = (ready.is_collective(), ready.is_whole());
                [true, collective, whole, collective && !whole && active.depth > 1]
            }
            What::Bytes(bytes) => {
                let ordered = bytes.shared && bytes.collective;
                [false, ordered, several, several && !ordered && active.depth > 1]
            }
        };
        way(&flags) << 4
    }
}

impl Bytes {
    /// One independent call moves them, and no other call follows.
    #[inline(always)]
    fn is_one_call(&self, io: &Io<'_>, write: bool) -> bool {
        let active = io.options.active();
        !self.shared
            && !self.collective
            && self.len > 0
            && self.len <= io.mpi_call_bytes
            && !(write && active.fsync == Fsync::Op)
            && active.transfer.is_none_or(|most| self.len <= most && active.depth == 1)
            && !io.accounts
            && !stop::requested()
    }
}

/// Inlined: a result in memory would be read back before it is there.
#[inline(always)]
fn bytes(step: Step<'_>, env: &mut Env<'_>) -> Flow<Bytes> {
    let (shared, collective) = match env.plan.literal(step.args[3]) {
        None => (false, false),
        Some(b"all") => (false, true),
        Some(b"shared") => (true, false),
        Some(_) => (true, true),
    };
    Ok(Bytes {
        len: env.size(step.site, step.args[1])?,
        offset: env.optional_size(step.site, step.args[2])?,
        shared,
        collective,
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

impl One {
    /// The call that moves bytes of a file, if it is one.
    #[inline(always)]
    fn of(io: &mut Io<'_>, (at, file): (usize, MpiFile), bytes: Bytes, write: bool) -> Option<One> {
        if !bytes.is_one_call(io, write) {
            return None;
        }
        let offset_bytes = bytes.offset.unwrap_or(io.handles.get(at).position);
        let moves_position = bytes.offset.is_none();
        Some(One { at, file, write, offset_bytes, len: bytes.len, moves_position })
    }

    /// Makes it; `None`: there is no memory.
    #[inline(always)]
    fn issue(self, io: &mut Io<'_>, buffers: &mut Buffers) -> Option<Shot> {
        let (len, offset) = (self.len as usize, self.offset_bytes);
        let memory = match self.write {
            true => Memory::Write(io.source(buffers, len, offset).ok()?),
            false => Memory::Read(io.target(buffers, len).ok()?),
        };
        let at = At::Offset { offset, collective: false };
        let call = FileCall::Transfer { file: self.file, at, memory, order: None };
        Some(timed(&mut *io.backend, &io.clock, call))
    }

    /// The call has moved all bytes, which for a read have to lie before the end that the file is known to
    /// have; or it is looked at more closely.
    #[inline(always)]
    fn conclude(self, step: Step<'_>, io: &mut Io<'_>, shot: Shot) -> Flow {
        let handle = io.handles.get(self.at);
        let end_bytes = self.offset_bytes.saturating_add(self.len);
        if shot.reply != self.len as Reply || !self.write && end_bytes > handle.seen_bytes {
            return self.conclude_partial(step, io, shot);
        }
        if self.moves_position {
            handle.position = end_bytes;
        }
        let mode = handle.mode;
        match self.write {
            true => io.wrote_to(self.at, mode, self.len),
            false => io.was_read(mode.place, false, self.len),
        }
        let tally = Tally::of_one_call(shot, self.offset_bytes, self.len);
        io.conclude(step, &tally, Subject::Handle(self.at))
    }

    #[inline(never)]
    fn conclude_partial(self, step: Step<'_>, io: &mut Io<'_>, shot: Shot) -> Flow {
        let One { at, file, write, offset_bytes, len, moves_position } = self;
        let mut tally = Tally { offset_bytes, requested_bytes: len, ..Tally::EMPTY };
        tally.done_bytes = io.add_explained(&mut tally, Part::Data, shot).max(0) as u64;
        let seen_bytes = io.handles.get(at).seen_bytes;
        let members = &Members::alone(0);
        let mut job = Job { file, members, write, seen_bytes };
        job.check_amount(io, Asked::From(offset_bytes, len), &mut tally);
        io.moved_mpi(at, (&job, moves_position), &tally);
        io.conclude(step, &tally, Subject::Handle(at))
    }
}

/// The number of the pattern that an argument names; `None`: it is a number of bytes.
fn pattern_named(plan: &Plan, value: &Value) -> Option<usize> {
    let Value::Str(name) = value else { return None };
    plan.patterns.iter().position(|pattern| pattern.name.as_bytes() == name)
}

/// A pattern for this rank: as a member of the active group, of the pattern's, or of `group`.
/// Everything that can be wrong with it is found here, before anybody calls.
fn extents<'e, 'p>(
    env: &'e mut Env<'p>,
    number: usize,
    group: Option<&Members>,
    write: bool,
) -> Flow<&'e Ready<'p>> {
    let (plan, rank) = (env.plan, env.scope.rank);
    let own = match (&plan.patterns[number].group, group) {
        (Some(name), None) => Some(env.group_named(name.as_bytes())?),
        _ => None,
    };
    let who = own.as_ref().or(group).unwrap_or(env.scope.members());
    let geometry = (who.ranks.position(rank), who.ranks.len() as u32);
    let ready = &*env.extents.get(plan, number, geometry)?;
    if write && ready.is_whole() && ready.view().is_some_and(|view| view.overlapping) {
        return Err(Fault::message(format!(
            "the pattern \"{}\" accesses bytes twice; MPI forbids to write through such a \
             view: use level 0 or 1",
            ready.pattern.name
        )));
    }
    Ok(ready)
}

/// The group that `pwrite` and `pread` name; `None`: none is named.
fn group_argument(step: Step<'_>, env: &Env<'_>) -> Flow<Option<Members>> {
    if step.args[2] == Operand::ABSENT {
        return Ok(None);
    }
    match env.plan.literal(step.args[2]) {
        Some(name) => env.group_named(name).map(Some),
        None => Err(Fault::message("the name of a group has to be a constant")),
    }
}

/// `pfwrite($h, n [, off] [, word])`
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    pub(super) len: u64,
    /// `None`: this rank's position.
    pub(super) offset: Option<u64>,
    /// They go where the shared file pointer is; if collective, in the order of the members.
    pub(super) shared: bool,
    pub(super) collective: bool,
}

/// The bytes that a statement asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked<'a> {
    /// A pattern, and where in the file it begins.
    Pattern(&'a Ready<'a>, u64),
    /// A number of bytes from a position.
    From(u64, u64),
    /// A number of bytes wherever the shared file pointer was.
    Anywhere(u64),
}

impl Asked<'_> {
    /// How many of them a file of this size has.
    fn within(self, size_bytes: u64) -> u64 {
        match self {
            Asked::Pattern(ready, from) => {
                let size_bytes = size_bytes.saturating_sub(from);
                ready.runs().map(|run| run.bytes_within(size_bytes)).sum()
            }
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
    fn look(&mut self, io: &mut Io<'_>, asked: Asked<'_>) -> Option<u64> {
        let end_bytes = match asked {
            Asked::Pattern(ready, from) => ready.end_bytes.saturating_add(from),
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
    fn end_bytes(&mut self, io: &mut Io<'_>, asked: Asked<'_>, depth: u32) -> u64 {
        if self.write || depth == 1 {
            return u64::MAX;
        }
        // Asked anew: another rank or handle can have cut the file since, and some library would hang.
        self.seen_bytes = 0;
        self.look(io, asked).unwrap_or(u64::MAX)
    }

    /// Takes back what a read cannot have moved. Fewer bytes than asked for are the end of the file, or an
    /// error that MPI did not report.
    pub(super) fn check_amount(&mut self, io: &mut Io<'_>, asked: Asked<'_>, tally: &mut Tally) {
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
    fn move_in_bulk(
        &self,
        io: &mut Io<'_>,
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
            Asked::Pattern(ready, from) => {
                ready.runs().for_each(|run| moved(file, run.displaced(from)));
            }
            Asked::From(offset, len) => moved(file, Run::single(offset, len)),
            Asked::Anywhere(len) => moved(BulkFile::MpiShared(self.file), Run::single(0, len)),
        }
    }
}

impl Io<'_> {
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
        let Bytes { shared, collective, .. } = bytes;
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

    /// Moves this member's extents, which begin at a displacement; `restore`: the file goes on being used, as
    /// plain bytes.
    pub(super) fn move_pattern(
        &mut self,
        buffers: &mut Buffers,
        job: &mut Job<'_>,
        (ready, displacement_bytes, restore): (&Ready<'_>, u64, bool),
        tally: &mut Tally,
    ) {
        let asked = Asked::Pattern(ready, displacement_bytes);
        let first_bytes = ready.first_offset.saturating_add(displacement_bytes);
        (tally.offset_bytes, tally.requested_bytes) = (first_bytes, ready.bytes);
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
            self.through_view(buffers, job, (ready, displacement_bytes, restore), tally);
        } else {
            let call_bytes = self.mpi_call_bytes();
            let placed = |extent: Extent| extent.displaced(displacement_bytes);
            let extents = || ready.extents().flat_map(|extent| split(placed(extent), call_bytes));
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
        (ready, displacement_bytes, restore): (&Ready<'_>, u64, bool),
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
        self.part(tally, Part::View, FileCall::SetView { file, view, displacement_bytes });
        if !self.any_failed(job.members, tally, "setting the view failed on another member") {
            self.view_calls(buffers, job, (ready, displacement_bytes), tally);
        }
        if restore {
            // Not timed: an application would keep its view, or open the file anew.
            let whole = FileCall::SetView { file, view: None, displacement_bytes: 0 };
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
        (ready, displacement_bytes): (&Ready<'_>, u64),
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
            let range = |extent: Extent| {
                let placed = extent.displaced(displacement_bytes);
                (placed.offset_bytes, placed.length_bytes as usize)
            };
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
    fn at_offsets(
        &self,
        io: &mut Io<'_>,
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
    fn make(
        &self,
        io: &mut Io<'_>,
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
    fn memory<'b>(
        &self,
        io: &mut Io<'_>,
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
    fn overlap(
        &self,
        io: &mut Io<'_>,
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
mod calls_tests {
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

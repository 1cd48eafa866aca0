//! The statements that move bytes, by patterns and by numbers: what they mean, and who has to
//! be there. The calls are made in `calls`, but for a number of bytes that one independent call moves, as loops
//! of transfers have it: little stands around that call, because a system call drives the code between two
//! calls out of the CPU's first-level caches.

use super::super::driver;
use super::super::eval::Env;
use super::super::extents::Ready;
use super::super::io::Io;
use super::super::options::{Active, Fsync};
use super::super::rank::Machine;
use super::super::step::Step;
use super::super::tally::{Fault, Flow, Shot, Subject, Tally};
use super::calls::{Asked, Bytes, Job, Word};
use super::members::{meet, way};
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::call::{At, FileCall, Memory, MpiFile, MpiMode, Reply};
use crate::comm::{Comm, Members};
use crate::stop;
use model::plan::{Operand, Plan};
use model::{Op, Part, Value};

impl<B: Backend> Machine<'_, B> {
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
        let what = What::Pattern(ready);
        let way = what.way(&active) | way(&[active.atomic, stable]);
        meet(comm, &members, step, (0, way))?;
        let mode = MpiMode { read: !write, write, create: write, ..MpiMode::default() };
        let mut tally = Tally::EMPTY;
        if let Some(file) = self.io.open_mpi_file(mode, &members, &mut tally) {
            let mut job = Job { file, members: &members, write, seen_bytes: 0 };
            self.io.move_pattern(buffers, &mut job, ready, false, &mut tally);
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
            Some(number) => Given::Pattern(number),
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
            Given::Pattern(number) => {
                let alone = Some(&opened.members).filter(|members| members.is_alone());
                What::Pattern(extents(&mut self.env, number, alone, write)?)
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
            What::Pattern(ready) => {
                self.io.move_pattern(buffers, &mut job, ready, true, &mut tally)
            }
            What::Bytes(bytes) => {
                moves_position = bytes.offset.is_none() && !bytes.is_shared();
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

/// Operand of a statement: the number of a pattern, or bytes.
enum Given {
    Pattern(usize),
    Bytes(Bytes),
}

impl<B: Backend> Io<'_, B> {
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
    Pattern(&'a Ready<'a>),
    Bytes(Bytes),
}

impl What<'_> {
    /// All members have to be there; setting a view is collective too.
    fn needs_all(&self) -> bool {
        match self {
            What::Pattern(ready) => ready.is_collective() || ready.is_whole(),
            What::Bytes(bytes) => matches!(bytes.word, Word::All | Word::Ordered),
        }
    }

    /// It goes where the shared pointer is.
    fn has_no_place(&self) -> bool {
        matches!(self, What::Bytes(bytes) if bytes.is_shared())
    }

    /// A number for the calls of MPI that it becomes; leaves room for four flags below.
    fn way(&self, active: &Active) -> u16 {
        let several = active.transfer.is_some();
        let flags = match self {
            What::Pattern(ready) => {
                let (collective, whole) = (ready.is_collective(), ready.is_whole());
                [true, collective, whole, collective && !whole && active.depth > 1]
            }
            What::Bytes(bytes) => {
                let ordered = bytes.word == Word::Ordered;
                [false, ordered, several, several && !ordered && active.depth > 1]
            }
        };
        way(&flags) << 4
    }
}

impl Bytes {
    /// One independent call moves them, and no other call follows.
    #[inline(always)]
    fn is_one_call<B: Backend>(&self, io: &Io<'_, B>, write: bool) -> bool {
        let active = io.options.active();
        self.word == Word::Independent
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

impl One {
    /// The call that moves bytes of a file, if it is one.
    #[inline(always)]
    fn of<B: Backend>(
        io: &mut Io<'_, B>,
        (at, file): (usize, MpiFile),
        bytes: Bytes,
        write: bool,
    ) -> Option<One> {
        if !bytes.is_one_call(io, write) {
            return None;
        }
        let offset_bytes = bytes.offset.unwrap_or(io.handles.get(at).position);
        let moves_position = bytes.offset.is_none();
        Some(One { at, file, write, offset_bytes, len: bytes.len, moves_position })
    }

    /// Makes it; `None`: there is no memory.
    #[inline(always)]
    fn issue<B: Backend>(self, io: &mut Io<'_, B>, buffers: &mut Buffers) -> Option<Shot> {
        let (len, offset) = (self.len as usize, self.offset_bytes);
        let memory = match self.write {
            true => Memory::Write(io.source(buffers, len, offset).ok()?),
            false => Memory::Read(io.target(buffers, len).ok()?),
        };
        let at = At::Offset { offset, collective: false };
        let call = FileCall::Transfer { file: self.file, at, memory, order: None };
        Some(driver::timed(&mut io.backend, &io.clock, call))
    }

    /// The call has moved all bytes, which for a read have to lie before the end that the file is known to
    /// have; or it is looked at more closely.
    #[inline(always)]
    fn conclude<B: Backend>(self, step: Step<'_>, io: &mut Io<'_, B>, shot: Shot) -> Flow {
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
    fn conclude_partial<B: Backend>(self, step: Step<'_>, io: &mut Io<'_, B>, shot: Shot) -> Flow {
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

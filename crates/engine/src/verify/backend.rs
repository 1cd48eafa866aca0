//! A back-end around another one that verifies data: it writes marked bytes in place of those that it is
//! given, follows every change of a file, and examines what is read. Other back-ends and the machine
//! know nothing of it.
//!
//! ```text
//! write   prepare: generation and mark, fill │ issue │ settle: remember where it lies
//! read    prepare: memory                    │ issue │ settle: examine
//! ```
//!
//! The effect of a call is determined before it (`Effect`), and recorded before the next one,
//! outside of every reading. Once a program has verified anything, all its changes of files are
//! tracked: other writes, truncations and removals are expected then.

use super::examine::{Checked, Examiner, Findings, ZeroPlace};
use super::mark::{Mark, RUN_MASK, WRITER_MASK, file_number};
use super::memory::{Memory, State};
use crate::backend::api::{Backend, InForce};
use crate::buffer::Mapping;
use crate::call::{
    At, Call, Fd, FileCall, Lent, Memory as Buffer, MpiFile, Queued, Reply, Submitted, Tag, Target,
    ViewId, Work,
};
use crate::clock::Clock;
use crate::rng::mix;
use model::pattern::Extent;
use model::plan::Instr;
use model::{Op, Plan};
use rustc_hash::FxHashMap;
use std::ffi::CStr;
use std::ops::Range;
use std::rc::Rc;

/// A statement of the plan may verify data.
pub fn verifies(plan: &Plan) -> bool {
    plan.options.iter().any(|options| options.verify.is_some())
}

/// An open file of the back-end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Handle {
    Posix(Fd),
    Mpi(MpiFile),
}

/// State of an open file.
#[derive(Clone, Debug)]
struct File {
    /// See [`file_number`].
    number: u64,
    path: Rc<[u8]>,
    /// Writes go to the end.
    append: bool,
    /// The view that is set, of an MPI file.
    view: Option<(ViewId, u64)>,
}

/// The visible part of a file.
struct View {
    /// Extents of the file, ascending.
    extents: Vec<Extent>,
    /// Where their bytes lie in memory; `None`: one after the other.
    memory: Option<Vec<Extent>>,
}

/// Bytes of a transfer: their place in the file and in memory.
#[derive(Clone, Copy, Debug)]
struct Part {
    offset_bytes: u64,
    memory_bytes: u64,
    len: u64,
}

impl Part {
    fn end_bytes(&self) -> u64 {
        self.offset_bytes.saturating_add(self.len)
    }

    /// Bytes of it among the first `moved` ones of the memory.
    fn moved_bytes(&self, moved: u64) -> u64 {
        moved.saturating_sub(self.memory_bytes).min(self.len)
    }
}

/// A transfer that is made, or under way with others.
struct Transfer {
    file: File,
    parts: Vec<Part>,
    write: bool,
    verifies: bool,
    /// Mark of the written bytes; `None` for reads and for bytes that do not describe themselves.
    mark: Option<Mark>,
    /// No other transfer that is under way has to do with its bytes.
    exact: bool,
    /// The file that it is appended to.
    appends: Option<Fd>,
    /// Where the file ends, if that was asked for.
    end_bytes: Option<u64>,
    /// Memory of a transfer under way; `None`: the buffer.
    lent: Option<Lent>,
}

impl Transfer {
    /// From its first to its last byte in the file.
    fn range(&self) -> Range<u64> {
        let start = self.parts.iter().map(|part| part.offset_bytes).min().unwrap_or(0);
        start..self.parts.iter().map(Part::end_bytes).max().unwrap_or(start)
    }

    fn overlaps(&self, other: &Transfer) -> bool {
        let (one, other) = (self.range(), other.range());
        one.start < other.end && other.start < one.end
    }

    fn len(&self) -> u64 {
        self.parts.iter().map(|part| part.len).sum()
    }

    fn fill(&self, bytes: &mut [u8]) {
        let Some(mark) = self.mark else { return };
        for part in &self.parts {
            let place = &mut bytes[part.memory_bytes as usize..][..part.len as usize];
            mark.fill(place, part.offset_bytes);
        }
    }
}

/// Effect of a successful call on the data of files.
enum Effect {
    Opened {
        file: File,
        is_mpi: bool,
        truncates: bool,
    },
    Closed(Handle),
    Moved(Transfer),
    /// Bytes have this state then; `None`: nothing lies there. After a failure nobody knows.
    Changed {
        number: u64,
        range: Range<u64>,
        state: Option<State>,
    },
    /// Nobody knows what the file of this number holds.
    Replaced(u64),
    Removed(u64),
    Renamed,
    /// A transfer that was under way has ended.
    Ended(Tag),
    Nothing,
}

impl Effect {
    /// The call moves bytes of the buffer.
    fn replaces_bytes(&self) -> bool {
        matches!(self, Effect::Moved(one) if one.verifies)
    }
}

/// See the [head](self).
pub struct Verified<'b> {
    inner: Box<dyn Backend + 'b>,
    clock: Clock,
    writer: u32,
    ranks: u32,
    run: u16,
    /// No statement gives a file another name or copies it.
    keeps_names: bool,
    memory: Memory,
    /// `verify=true` is in force.
    verifies: bool,
    /// It was in force before, so that everything is followed.
    follows: bool,
    files: FxHashMap<Handle, File>,
    views: FxHashMap<ViewId, View>,
    /// Files that were opened without a name so far.
    nameless: u64,
    /// Bytes of the call that is made, and their division into the buffers of a vector.
    buffer: Mapping,
    vector: Vec<libc::iovec>,
    /// Effect of the last call, recorded before the next one, and its reply.
    effect: Effect,
    reply: Option<Reply>,
    /// Transfers under way, by tag.
    queued: Vec<Option<Transfer>>,
    checked: Checked,
}

impl<'b> Verified<'b> {
    /// Verifies data of a rank of a plan. `run` tells executions apart.
    pub fn around(
        inner: Box<dyn Backend + 'b>,
        plan: &Plan,
        (rank, run): (u32, u16),
        clock: Clock,
    ) -> Verified<'b> {
        let uses = |is_meant: fn(Op) -> bool| {
            let is_one = |instr: &Instr| matches!(instr, Instr::Op { op, .. } if is_meant(*op));
            plan.code.iter().any(is_one)
        };
        let has_other_names = uses(Op::adds_name);
        Verified {
            inner,
            clock,
            writer: rank & WRITER_MASK,
            ranks: plan.ranks,
            run: run & RUN_MASK,
            keeps_names: !has_other_names && !uses(|op| op.has_target_name() || op.has_source()),
            memory: Memory::new(has_other_names),
            verifies: false,
            follows: false,
            files: FxHashMap::default(),
            views: FxHashMap::default(),
            nameless: 0,
            buffer: Mapping::default(),
            vector: Vec::new(),
            effect: Effect::Nothing,
            reply: None,
            queued: Vec::new(),
            checked: Checked::default(),
        }
    }

    fn number(&self, handle: Handle) -> u64 {
        self.files.get(&handle).map_or(0, |file| file.number)
    }

    // Before a call.

    /// The effect of a call on the data of files. The match has every call: a missing one would
    /// make right data wrong.
    fn prepare_effect(&mut self, call: &Call<'_>) -> Result<Effect, i32> {
        Ok(match *call {
            Call::Open { path, flags, .. } => {
                let (file, truncates) = (self.new_file(path, flags), flags & libc::O_TRUNC != 0);
                Effect::Opened { file, is_mpi: false, truncates }
            }
            Call::Close { fd } => Effect::Closed(Handle::Posix(fd)),
            _ if !self.follows => Effect::Nothing,
            Call::Pwrite { fd, buf, offset } | Call::MapWrite { fd, buf, offset } => {
                self.prepare_bytes(Handle::Posix(fd), whole(offset, buf.len()), true, buf.len())?
            }
            Call::Append { fd, buf } => {
                let parts = whole(self.end_of(fd), buf.len());
                let mut effect = self.prepare_bytes(Handle::Posix(fd), parts, true, buf.len())?;
                if let Effect::Moved(write) = &mut effect {
                    write.appends = Some(fd);
                }
                effect
            }
            Call::Pread { fd, ref buf, offset, .. } | Call::MapRead { fd, ref buf, offset, .. } => {
                self.prepare_bytes(Handle::Posix(fd), whole(offset, buf.len()), false, buf.len())?
            }
            Call::Pwritev { fd, bufs, offset } => {
                let appends = self.files.get(&Handle::Posix(fd)).is_some_and(|file| file.append);
                let start = if appends { self.end_of(fd) } else { offset };
                self.prepare_vector(fd, start, bufs.iter().map(|buf| buf.len()), true)?
            }
            Call::Preadv { fd, ref bufs, offset } => {
                self.prepare_vector(fd, offset, bufs.iter().map(|buf| buf.len()), false)?
            }
            Call::Ftruncate { fd, size } => {
                let number = self.number(Handle::Posix(fd));
                Effect::Changed { number, range: size..u64::MAX, state: None }
            }
            Call::Truncate { path, size } => {
                let number = file_number(path.to_bytes());
                Effect::Changed { number, range: size..u64::MAX, state: None }
            }
            Call::Fallocate { fd, mode, offset, size } => {
                const HOLES: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
                let number = self.number(Handle::Posix(fd));
                let (range, state) = match mode & !libc::FALLOC_FL_KEEP_SIZE {
                    0 => return Ok(Effect::Nothing),
                    mode if mode & !HOLES == 0 => (offset..offset.saturating_add(size), None),
                    // What lies behind has moved, and says that it belongs elsewhere.
                    _ => (offset..u64::MAX, Some(State::Other)),
                };
                Effect::Changed { number, range, state }
            }
            Call::CopyRange { to: (fd, _), .. }
            | Call::Clone { to: fd, .. }
            | Call::CloneRange { to: (fd, _), .. } => {
                Effect::Replaced(self.number(Handle::Posix(fd)))
            }
            Call::Unlink { path } => Effect::Removed(file_number(path.to_bytes())),
            Call::Rename { .. } => Effect::Renamed,
            ref other if other.work() != Work::Data => Effect::Nothing,
            // Bytes that nobody follows must not move.
            _ => return Err(libc::ENOSYS),
        })
    }

    fn new_file(&mut self, path: &CStr, flags: i32) -> File {
        let path = path.to_bytes();
        let mut number = file_number(path);
        // Files without a name lie in the same directory.
        if flags & libc::O_TMPFILE == libc::O_TMPFILE {
            self.nameless += 1;
            number = mix(number ^ mix(self.nameless));
        }
        File { number, path: path.into(), append: flags & libc::O_APPEND != 0, view: None }
    }

    /// Where a write to the end of a file begins. Others may append too.
    fn end_of(&mut self, fd: Fd) -> u64 {
        let end = self.inner.issue(Call::Seek { fd, offset: 0, end: true });
        u64::try_from(end).unwrap_or(0)
    }

    /// Gets `len` bytes of the buffer ready for a transfer, and fills them.
    fn prepare_bytes(
        &mut self,
        handle: Handle,
        parts: Vec<Part>,
        write: bool,
        len: usize,
    ) -> Result<Effect, i32> {
        let start_ns = self.clock.now();
        let Some(transfer) = self.begin(handle, parts, write) else { return Ok(Effect::Nothing) };
        if self.verifies {
            self.buffer.grow(len, true).map_err(|_| libc::ENOMEM)?;
            transfer.fill(&mut self.buffer.bytes_mut()[..len]);
            self.count_filled(&transfer, start_ns);
        }
        Ok(Effect::Moved(transfer))
    }

    /// The same, with the buffer divided into the buffers of a vector.
    fn prepare_vector(
        &mut self,
        fd: Fd,
        offset: u64,
        lens: impl Iterator<Item = usize> + Clone,
        write: bool,
    ) -> Result<Effect, i32> {
        let len = lens.clone().sum();
        let effect = self.prepare_bytes(Handle::Posix(fd), whole(offset, len), write, len)?;
        self.vector.clear();
        if effect.replaces_bytes() {
            let mut rest = self.buffer.bytes_mut();
            for iov_len in lens {
                let (one, after) = rest.split_at_mut(iov_len);
                self.vector.push(libc::iovec { iov_base: one.as_mut_ptr().cast(), iov_len });
                rest = after;
            }
        }
        Ok(effect)
    }

    /// A transfer begins, beside those that are under way.
    fn begin(&mut self, handle: Handle, parts: Vec<Part>, write: bool) -> Option<Transfer> {
        let file = self.files.get(&handle)?.clone();
        let number = file.number;
        let mut one = Transfer {
            file,
            parts,
            write,
            verifies: self.verifies,
            mark: None,
            exact: true,
            appends: None,
            end_bytes: None,
            lent: None,
        };
        for other in self.queued.iter_mut().flatten() {
            // Either of two writes may be the last, and a read may come before or after a write.
            let clashes =
                if write && other.write { one.overlaps(other) } else { write || other.write };
            if clashes && other.file.number == number {
                (one.exact, other.exact) = (false, false);
            }
        }
        if write && self.verifies {
            let generation = self.memory.next_generation(number, one.range());
            let (file, writer, run) = (number as u32, self.writer, self.run);
            one.mark = Some(Mark { file, writer, run, generation });
        }
        Some(one)
    }

    fn count_filled(&mut self, transfer: &Transfer, start_ns: u64) {
        if transfer.mark.is_some() {
            self.checked.filled_bytes += transfer.len();
            self.checked.fill_ns += self.clock.now().saturating_sub(start_ns);
        }
    }

    /// [`Verified::prepare_effect`] of a call on MPI files.
    fn prepare_file_effect(&mut self, call: &FileCall<'_>) -> Result<Effect, i32> {
        Ok(match *call {
            FileCall::Open { path, .. } => {
                Effect::Opened { file: self.new_file(path, 0), is_mpi: true, truncates: false }
            }
            FileCall::Close { file } => Effect::Closed(Handle::Mpi(file)),
            FileCall::SetView { file, view, displacement_bytes } => {
                let view = view.map(|view| (view, displacement_bytes));
                self.files.entry(Handle::Mpi(file)).and_modify(|file| file.view = view);
                Effect::Nothing
            }
            _ if !self.follows => Effect::Nothing,
            FileCall::Delete { path } => Effect::Removed(file_number(path.to_bytes())),
            // All members set it: some of them may have done so before others wrote.
            FileCall::SetSize { file, .. } => Effect::Replaced(self.number(Handle::Mpi(file))),
            FileCall::Transfer {
                file, at: At::Offset { offset, .. }, ref memory, order, ..
            } => {
                let (handle, len) = (Handle::Mpi(file), memory.len());
                let write = memory.is_written();
                let parts = self.place(handle, offset, len as u64, order);
                let mut effect = self.prepare_bytes(handle, parts, write, len)?;
                // Libraries leave memory behind the end of the file as it was.
                if let Effect::Moved(read) = &mut effect
                    && !write
                    && read.verifies
                {
                    let size = self.inner.issue_file(FileCall::Position { file });
                    read.end_bytes = u64::try_from(size).ok();
                }
                effect
            }
            // Transfers at the shared pointer are refused, and the others move no bytes.
            _ => Effect::Nothing,
        })
    }

    /// Places of the bytes of a transfer of an MPI file.
    fn place(&self, handle: Handle, offset: u64, len: u64, order: Option<ViewId>) -> Vec<Part> {
        let (view, displacement_bytes) = self.files.get(&handle).and_then(|file| file.view).unzip();
        let view = view.and_then(|view| self.views.get(&view));
        let displacement_bytes = displacement_bytes.unwrap_or(0);
        let memory = order.and_then(|view| self.views.get(&view)?.memory.as_deref());
        if view.is_none() && memory.is_none() {
            return whole(offset, len as usize);
        }
        let everything = [Extent { offset_bytes: offset, length_bytes: len }];
        let in_order = [Extent { offset_bytes: 0, length_bytes: len }];
        let (extents, mut skip) =
            view.map_or((&everything[..], 0), |view| (&view.extents[..], offset));
        let mut memory = memory.unwrap_or(&in_order).iter().copied();
        let (mut parts, mut left, mut to) = (Vec::new(), len, Extent::default());
        for extent in extents {
            let from = skip.min(extent.length_bytes);
            skip -= from;
            let mut at = extent.offset_bytes + displacement_bytes + from;
            let mut rest = left.min(extent.length_bytes - from);
            left -= rest;
            while rest > 0 {
                if to.length_bytes == 0 {
                    let Some(next) = memory.next() else { return parts };
                    to = next;
                    continue;
                }
                let len = rest.min(to.length_bytes);
                parts.push(Part { offset_bytes: at, memory_bytes: to.offset_bytes, len });
                (at, rest) = (at + len, rest - len);
                to.offset_bytes += len;
                to.length_bytes -= len;
            }
        }
        parts
    }

    // After a call.

    /// Takes the call that was made last into account.
    fn settle(&mut self) {
        let effect = std::mem::replace(&mut self.effect, Effect::Nothing);
        if let Some(reply) = self.reply.take() {
            self.take_effect(effect, reply);
        }
    }

    fn take_effect(&mut self, effect: Effect, reply: Reply) {
        match effect {
            Effect::Opened { file, is_mpi, truncates } if reply >= 0 => {
                if truncates {
                    self.change(file.number, |memory, number| memory.clear(number, 0..u64::MAX));
                }
                let number = reply as i32;
                let posix = Handle::Posix(Fd(number));
                let handle = if is_mpi { Handle::Mpi(MpiFile(number)) } else { posix };
                self.files.insert(handle, file);
            }
            Effect::Closed(handle) => drop(self.files.remove(&handle)),
            Effect::Moved(transfer) => self.finish(transfer, reply),
            Effect::Changed { number, range, state } if reply >= 0 => {
                self.change(number, |memory, number| match state {
                    Some(state) => memory.put(number, range, state),
                    None => memory.clear(number, range),
                });
            }
            Effect::Changed { number, .. } | Effect::Replaced(number) => {
                self.change(number, Memory::forget);
            }
            Effect::Removed(number) if reply >= 0 => {
                self.change(number, |memory, number| memory.clear(number, 0..u64::MAX));
            }
            Effect::Opened { .. } | Effect::Removed(_) | Effect::Nothing => {}
            // A directory may have moved.
            Effect::Renamed => self.change(0, |memory, _| memory.forget_all()),
            Effect::Ended(tag) => self.end_transfer(tag, reply),
        }
    }

    /// A file is changed otherwise than by a transfer, under this name or another one.
    fn change(&mut self, number: u64, change: impl FnOnce(&mut Memory, u64)) {
        self.queued.iter_mut().flatten().for_each(|other| other.exact = false);
        if self.follows {
            change(&mut self.memory, number);
        }
    }

    fn end_transfer(&mut self, tag: Tag, reply: Reply) {
        if let Some(one) = self.queued.get_mut(tag.0 as usize).and_then(Option::take) {
            self.finish(one, reply);
        }
    }

    fn finish(&mut self, one: Transfer, reply: Reply) {
        match one.write {
            true => self.remember(&one, reply),
            false if one.verifies => self.examine(one, reply),
            false => {}
        }
    }

    /// Records the data of a write that has moved `reply` bytes.
    fn remember(&mut self, one: &Transfer, reply: Reply) {
        let number = one.file.number;
        let moved = u64::try_from(reply).ok();
        if let (Some(fd), Some(moved)) = (one.appends, moved)
            && let Some(end) = self.inner.position(fd)
            && end != one.range().start + moved
        {
            // Others have appended too: what went elsewhere than it says cannot be checked.
            let range = end.saturating_sub(moved)..end;
            return self.memory.put(number, range, State::Other);
        }
        let (written, unsure) = match one.mark {
            Some(mark) if !self.memory.has_other_names => {
                (State::Written(mark.generation), State::Unsure)
            }
            Some(_) => (State::Unsure, State::Unsure),
            None => (State::Other, State::Other),
        };
        for part in &one.parts {
            let start = part.offset_bytes;
            match moved.filter(|_| one.exact) {
                Some(moved) => {
                    self.memory.put(number, start..start + part.moved_bytes(moved), written);
                }
                // Nobody knows how far it came.
                None => self.memory.put(number, start..part.end_bytes(), unsure),
            }
        }
    }

    /// Examines what was read, and what is missing behind the end of the file.
    fn examine(&mut self, mut one: Transfer, reply: Reply) {
        let Ok(moved) = u64::try_from(reply) else { return };
        let start_ns = self.clock.now();
        let asked_bytes = one.len();
        let lent = one.lent.as_mut().map(Lent::memory);
        let bytes = match &lent {
            Some(Buffer::Read(bytes)) => bytes,
            _ => self.buffer.bytes(),
        };
        // A transfer under way can be cut at the end of the file beforehand.
        let is_cut = moved == 0 || lent.is_some() && (bytes.len() as u64) < asked_bytes;
        let examiner = Examiner {
            memory: &self.memory,
            number: one.file.number,
            writer: self.writer,
            run: self.run,
            ranks: self.ranks,
            keeps_names: self.keeps_names,
            exact: one.exact,
        };
        let mut findings = Findings::default();
        for part in &one.parts {
            let read = part.moved_bytes(moved);
            let unknown = if is_cut { read } else { part.len };
            let inside = one.end_bytes.map_or(unknown, |end| end.saturating_sub(part.offset_bytes));
            let inside = inside.min(part.len);
            let read = &bytes[part.memory_bytes as usize..][..read.min(inside) as usize];
            findings.add(examiner.examine(read, part.offset_bytes));
            findings.add(examiner.examine_end(part.offset_bytes + inside..part.end_bytes()));
        }
        let File { number: file, path, .. } = one.file;
        let zeros = std::mem::take(&mut findings.zeros).into_iter();
        let zeros = zeros.map(|range| ZeroPlace { file, path: Rc::clone(&path), range });
        self.checked.zeros.extend(zeros);
        self.checked.findings.add(findings);
        self.checked.check_ns += self.clock.now().saturating_sub(start_ns);
    }

    /// Issues a call with the bytes of the buffer instead of the machine's.
    fn issue_replaced(&mut self, call: Call<'_>) -> Reply {
        let (inner, bytes) = (&mut *self.inner, self.buffer.bytes_mut());
        let (parts, count) = (self.vector.as_mut_ptr(), self.vector.len());
        match call {
            Call::Pwrite { fd, buf, offset } => {
                inner.issue(Call::Pwrite { fd, buf: &bytes[..buf.len()], offset })
            }
            Call::MapWrite { fd, buf, offset } => {
                inner.issue(Call::MapWrite { fd, buf: &bytes[..buf.len()], offset })
            }
            Call::Append { fd, buf } => inner.issue(Call::Append { fd, buf: &bytes[..buf.len()] }),
            Call::Pread { fd, buf, offset, rest } => {
                let buf = &mut bytes[..buf.len()];
                inner.issue(Call::Pread { fd, buf, offset, rest })
            }
            Call::MapRead { fd, buf, offset, rest } => {
                let buf = &mut bytes[..buf.len()];
                inner.issue(Call::MapRead { fd, buf, offset, rest })
            }
            Call::Pwritev { fd, offset, .. } => {
                // SAFETY: `IoSlice` has the layout of iovec, and these name parts of the buffer, which
                // nothing else uses during the call.
                let bufs = unsafe { std::slice::from_raw_parts(parts.cast(), count) };
                inner.issue(Call::Pwritev { fd, bufs, offset })
            }
            Call::Preadv { fd, offset, .. } => {
                // SAFETY: the same for `IoSliceMut`.
                let bufs = unsafe { std::slice::from_raw_parts_mut(parts.cast(), count) };
                inner.issue(Call::Preadv { fd, bufs, offset })
            }
            other => inner.issue(other),
        }
    }
}

/// A transfer that is one piece.
fn whole(offset_bytes: u64, len: usize) -> Vec<Part> {
    vec![Part { offset_bytes, memory_bytes: 0, len: len as u64 }]
}

impl Backend for Verified<'_> {
    fn inner(&mut self) -> Option<&mut dyn Backend> {
        Some(&mut *self.inner)
    }

    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        self.settle();
        self.inner.prepare(call)?;
        self.effect = self.prepare_effect(call)?;
        Ok(())
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        // A call that was not prepared.
        if self.reply.is_some() {
            self.settle();
        }
        let reply = match self.effect.replaces_bytes() {
            true => self.issue_replaced(call),
            false => self.inner.issue(call),
        };
        self.reply = Some(reply);
        reply
    }

    fn prepare_file(&mut self, call: &FileCall<'_>) -> Result<(), i32> {
        self.settle();
        self.inner.prepare_file(call)?;
        self.effect = self.prepare_file_effect(call)?;
        Ok(())
    }

    fn issue_file(&mut self, call: FileCall<'_>) -> Reply {
        if self.reply.is_some() {
            self.settle();
        }
        let reply = match call {
            FileCall::MakeView { view } => {
                let reply = self.inner.issue_file(FileCall::MakeView { view });
                let shown = View { extents: view.extents(), memory: view.memory.clone() };
                self.views.insert(ViewId(reply as i32), shown);
                reply
            }
            FileCall::Transfer { file, at, memory, order } if self.effect.replaces_bytes() => {
                let bytes = &mut self.buffer.bytes_mut()[..memory.len()];
                let memory = match memory {
                    Buffer::Write(_) => Buffer::Write(bytes),
                    Buffer::Read(_) => Buffer::Read(bytes),
                };
                self.inner.issue_file(FileCall::Transfer { file, at, memory, order })
            }
            other => self.inner.issue_file(other),
        };
        self.reply = Some(reply);
        reply
    }

    fn prepare_queued(&mut self, tag: Tag, call: &mut Queued) {
        self.settle();
        self.inner.prepare_queued(tag, call);
        let handle = match call.target {
            Target::File(fd) => Handle::Posix(fd),
            Target::Mpi { file, .. } => Handle::Mpi(file),
            Target::Sync { .. } => return,
        };
        if !self.follows {
            return;
        }
        let start_ns = self.clock.now();
        let parts = self.place(handle, call.offset, call.asked_bytes, None);
        let write = call.memory.parts().2;
        let Some(mut one) = self.begin(handle, parts, write) else { return };
        if one.mark.is_some() {
            call.memory.fill(|bytes| one.fill(bytes));
            self.count_filled(&one, start_ns);
        } else if write {
            self.memory.put(one.file.number, one.range(), State::Other);
        }
        one.lent = Some(call.memory.again());
        let at = tag.0 as usize;
        if self.queued.len() <= at {
            self.queued.resize_with(at + 1, || None);
        }
        self.queued[at] = Some(one);
    }

    fn submit(&mut self, tag: Tag, call: Queued) -> Submitted {
        let submitted = self.inner.submit(tag, call);
        if let Submitted::Done(reply) = submitted {
            (self.effect, self.reply) = (Effect::Ended(tag), Some(reply));
        }
        submitted
    }

    fn ended(&mut self) -> Option<(Tag, Reply)> {
        self.settle();
        let (tag, reply) = self.inner.ended()?;
        self.end_transfer(tag, reply);
        Some((tag, reply))
    }

    fn set_options(&mut self, options: &InForce) {
        self.settle();
        self.verifies = options.verify;
        self.follows |= options.verify;
        self.inner.set_options(options);
    }

    fn take_checked(&mut self) -> Option<Checked> {
        self.settle();
        let is_some = self.checked != Checked::default();
        is_some.then(|| std::mem::take(&mut self.checked))
    }
}

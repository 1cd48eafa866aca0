//! A back-end around another one that verifies data: it writes marked bytes in place of those that it is
//! given, follows every change of a file, and examines what is read. Other back-ends and the machine
//! know nothing of it.
//!
//! ```text
//! write   prepare: generation and mark, fill │ issue │ settle: remember where it lies
//! read    prepare: memory                    │ issue │ settle: examine
//! ```
//!
//! Between the readings of the clock (`issue`) lies the call of the inner back-end and the choice of
//! memory. What a call has come to is settled before the next one, outside of every reading. Once a
//! program has verified anything, all that it does to files is followed: what it writes otherwise, cuts
//! and removes is expected then.

use super::examine::{Checked, Examiner, Findings, ZeroPlace};
use super::mark::{Mark, file_number};
use super::memory::{Memory, State};
use crate::backend::api::{Backend, Bulk, Capabilities, InForce, Look, Over};
use crate::backend::direct::Alignment;
use crate::buffer::Mapping;
use crate::call::{
    At, Call, Fd, FileCall, Lent, MpiFile, QueueSettings, Queued, Reply, Submitted, Tag, Target,
    ViewId,
};
use crate::call::{Memory as Buffer, Memory::Read, Memory::Write};
use crate::clock::Clock;
use crate::comm::Members;
use crate::rng::mix;
use model::pattern::Extent;
use model::plan::Instr;
use model::run::MpiFileFacts;
use model::{Op, Plan};
use std::collections::HashMap;
use std::ffi::CStr;
use std::io::{IoSlice, IoSliceMut};
use std::ops::Range;
use std::rc::Rc;

/// Vectors of few buffers need little memory on the stack.
const FEW_BUFFERS: usize = 16;
/// Most buffers of one call, as the kernel allows.
const MOST_BUFFERS: usize = 1024;
/// Runs and executions are numbered modulo 2^12, writers modulo 2^20.
const RUN_MASK: u16 = 0xfff;
const WRITER_MASK: u32 = 0xf_ffff;

/// A statement of the plan may verify data.
pub fn verifies(plan: &Plan) -> bool {
    plan.options.iter().any(|options| options.verify.is_some())
}

/// An open file.
#[derive(Clone, Debug)]
struct File {
    /// See [`file_number`].
    number: u64,
    path: Rc<[u8]>,
    /// Writes go to the end.
    append: bool,
    /// The view that is set, of an MPI file.
    view: Option<ViewId>,
}

/// What a file view shows.
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

/// A call that was made and is not settled.
#[derive(Clone, Copy, Debug)]
enum Made {
    Opened {
        flags: i32,
    },
    Closed {
        fd: Fd,
    },
    Wrote {
        fd: Fd,
        offset: u64,
        len: u64,
    },
    Appended {
        fd: Fd,
        len: u64,
    },
    Read {
        fd: Fd,
        offset: u64,
        len: u64,
    },
    /// `None`: the file at the path of the call.
    Cut {
        fd: Option<Fd>,
        size: u64,
    },
    Allocated {
        fd: Fd,
        mode: i32,
        offset: u64,
        size: u64,
    },
    /// Another file's data was put there.
    Replaced {
        fd: Fd,
    },
    MpiSized {
        file: MpiFile,
    },
    Removed,
    Renamed,
    MpiOpened,
    MpiClosed {
        file: MpiFile,
    },
    MpiWrote {
        file: MpiFile,
    },
    MpiRead {
        file: MpiFile,
    },
    /// A queued call that has ended at once.
    Queued {
        tag: Tag,
    },
}

/// A transfer that is under way with others.
struct UnderWay {
    file: File,
    verifies: bool,
    generation: u32,
    /// [`Verified::writes`] and [`Verified::changes`] when it was submitted.
    writes: u64,
    changes: u64,
    offset: u64,
    /// Bytes of the transfer, and those of it that lie before the end of the file.
    asked_bytes: u64,
    memory: Lent,
    write: bool,
    /// Another write to some of its bytes was under way too: either may be the last.
    clashes: bool,
}

impl UnderWay {
    fn range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.asked_bytes)
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
    /// No statement gives a file a second name.
    has_one_name: bool,
    memory: Memory,
    /// `verify=true` is in force.
    verifies: bool,
    /// It was in force before, so that everything is followed.
    follows: bool,
    files: HashMap<Fd, File>,
    mpi_files: HashMap<MpiFile, File>,
    views: HashMap<ViewId, View>,
    /// Files that were opened without a name so far.
    nameless: u64,
    /// Path of the last call that opens, cuts or removes a file.
    path: Vec<u8>,
    /// Bytes of the call that is made.
    buffer: Mapping,
    parts: Vec<Part>,
    /// The generation of the write that is made, where it begins if that is the end of the file, and
    /// where the file of a read ends.
    generation: u32,
    start: Option<u64>,
    end: u64,
    made: Option<(Made, Reply)>,
    queued: Vec<Option<UnderWay>>,
    /// How often a write was submitted to be under way with others, or has ended.
    writes: u64,
    /// How often files were changed otherwise.
    changes: u64,
    checked: Checked,
}

impl<'b> Verified<'b> {
    /// Verifies data of a rank of a plan. `run` tells executions apart.
    pub fn around(
        inner: impl Backend + 'b,
        plan: &Plan,
        (rank, run): (u32, u16),
        clock: Clock,
    ) -> Verified<'b> {
        let uses = |is_meant: fn(Op) -> bool| {
            let is_one = |instr: &Instr| matches!(instr, Instr::Op { op, .. } if is_meant(*op));
            plan.code.iter().any(is_one)
        };
        let has_one_name = !uses(Op::adds_name);
        let mut memory = Memory::default();
        memory.has_other_names = !has_one_name;
        Verified {
            inner: Box::new(inner),
            clock,
            writer: rank & WRITER_MASK,
            ranks: plan.ranks,
            run: run & RUN_MASK,
            keeps_names: has_one_name && !uses(|op| op.has_target_name() || op.has_source()),
            has_one_name,
            memory,
            verifies: false,
            follows: false,
            files: HashMap::new(),
            mpi_files: HashMap::new(),
            views: HashMap::new(),
            nameless: 0,
            path: Vec::new(),
            buffer: Mapping::default(),
            parts: Vec::new(),
            generation: 0,
            start: None,
            end: u64::MAX,
            made: None,
            queued: Vec::new(),
            writes: 0,
            changes: 0,
            checked: Checked::default(),
        }
    }

    fn mpi_number(&self, file: MpiFile) -> u64 {
        self.mpi_files.get(&file).map_or(0, |file| file.number)
    }

    fn number(&self, fd: Fd) -> u64 {
        self.files.get(&fd).map_or(0, |file| file.number)
    }

    // Before a call.

    /// Memory for the bytes of a call.
    fn make_room(&mut self, len: usize) -> Result<(), i32> {
        self.buffer.grow(len, true).map_err(|_| libc::ENOMEM)
    }

    /// A new mark for a write to these bytes.
    fn mark(&mut self, number: u64, range: Range<u64>) -> Mark {
        self.generation = self.memory.next_generation(number, range);
        let generation = self.generation;
        Mark { file: number as u32, writer: self.writer, run: self.run, generation }
    }

    /// Fills what is about to be written.
    fn fill(&mut self, fd: Fd, offset: u64, len: usize) -> Result<(), i32> {
        if !self.verifies {
            return Ok(());
        }
        self.make_room(len)?;
        let start_ns = self.clock.now();
        let mark = self.mark(self.number(fd), offset..offset.saturating_add(len as u64));
        mark.fill(&mut self.buffer.bytes_mut()[..len], offset);
        self.count_filled(start_ns, len as u64);
        Ok(())
    }

    fn count_filled(&mut self, start_ns: u64, bytes: u64) {
        self.checked.filled_bytes += bytes;
        self.checked.fill_ns += self.clock.now().saturating_sub(start_ns);
    }

    /// Where a write to the end of a file begins. Others may append too.
    fn find_end(&mut self, fd: Fd) -> u64 {
        let end = self.inner.issue(Call::Seek { fd, offset: 0, end: true });
        self.start = u64::try_from(end).ok();
        self.start.unwrap_or(0)
    }

    fn prepare_bytes(&mut self, call: &Call<'_>) -> Result<(), i32> {
        self.start = None;
        match *call {
            Call::Pwrite { fd, buf, offset } | Call::MapWrite { fd, buf, offset } => {
                self.fill(fd, offset, buf.len())
            }
            Call::Append { fd, buf } => {
                let start = self.find_end(fd);
                self.fill(fd, start, buf.len())
            }
            Call::Pwritev { fd, bufs, offset } => {
                let append = self.files.get(&fd).is_some_and(|file| file.append);
                let start = if append { self.find_end(fd) } else { offset };
                self.fill(fd, start, bufs.iter().map(|buf| buf.len()).sum())
            }
            Call::Pread { ref buf, .. } | Call::MapRead { ref buf, .. } if self.verifies => {
                self.make_room(buf.len())
            }
            Call::Preadv { ref bufs, .. } if self.verifies => {
                self.make_room(bufs.iter().map(|buf| buf.len()).sum())
            }
            _ => Ok(()),
        }
    }

    /// Places of the bytes of a transfer of an MPI file.
    fn place(&mut self, file: MpiFile, offset: u64, len: u64, order: Option<ViewId>) {
        self.parts.clear();
        let view = self.mpi_files.get(&file).and_then(|file| file.view);
        let whole = [Extent { offset_bytes: offset, length_bytes: len }];
        let (extents, skip) = match view.and_then(|view| self.views.get(&view)) {
            Some(view) => (&view.extents[..], offset),
            None => (&whole[..], 0),
        };
        let plain = [Extent { offset_bytes: 0, length_bytes: len }];
        let memory = order.and_then(|view| self.views.get(&view)?.memory.as_deref());
        let mut memory = memory.unwrap_or(&plain).iter().copied();
        let (mut skip, mut left, mut to) = (skip, len, Extent::default());
        for extent in extents {
            let from = skip.min(extent.length_bytes);
            skip -= from;
            let mut at = extent.offset_bytes + from;
            let mut rest = left.min(extent.length_bytes - from);
            left -= rest;
            while rest > 0 {
                if to.length_bytes == 0 {
                    let Some(next) = memory.next() else { return };
                    to = next;
                    continue;
                }
                let len = rest.min(to.length_bytes);
                let (offset_bytes, memory_bytes) = (at, to.offset_bytes);
                self.parts.push(Part { offset_bytes, memory_bytes, len });
                (at, rest) = (at + len, rest - len);
                to.offset_bytes += len;
                to.length_bytes -= len;
            }
        }
    }

    fn prepare_transfer(
        &mut self,
        file: MpiFile,
        offset: u64,
        memory: &Buffer<'_>,
        order: Option<ViewId>,
    ) -> Result<(), i32> {
        self.place(file, offset, memory.len() as u64, order);
        if !self.verifies {
            return Ok(());
        }
        self.make_room(memory.len())?;
        match memory {
            Write(_) => {
                let start_ns = self.clock.now();
                let ends = self.parts.iter().map(|part| part.offset_bytes + part.len);
                let starts = self.parts.iter().map(|part| part.offset_bytes);
                let start = starts.min().unwrap_or(0);
                let range = start..ends.max().unwrap_or(start);
                let number = self.mpi_number(file);
                let mark = self.mark(number, range);
                let bytes = self.buffer.bytes_mut();
                for part in &self.parts {
                    let piece = &mut bytes[part.memory_bytes as usize..][..part.len as usize];
                    mark.fill(piece, part.offset_bytes);
                }
                self.count_filled(start_ns, memory.len() as u64);
            }
            // Libraries leave memory behind the end of the file as it was.
            Read(_) => {
                let size = self.inner.issue_file(FileCall::Position { file });
                self.end = u64::try_from(size).unwrap_or(u64::MAX);
            }
        }
        Ok(())
    }

    // After a call.

    /// Takes the call that was made last into account.
    fn settle(&mut self) {
        if let Some((made, reply)) = self.made.take() {
            self.settle_call(made, reply);
        }
    }

    fn settle_call(&mut self, made: Made, reply: Reply) {
        match made {
            Made::Opened { flags } => self.opened(flags, reply),
            Made::Closed { fd } => drop(self.files.remove(&fd)),
            Made::MpiOpened if reply >= 0 => {
                let file = self.named_file(0);
                self.mpi_files.insert(MpiFile(reply as i32), file);
            }
            Made::MpiClosed { file } => drop(self.mpi_files.remove(&file)),
            _ if !self.follows => {}
            Made::Wrote { fd, offset, len } => {
                let start = self.start.unwrap_or(offset);
                self.wrote(self.number(fd), start..start.saturating_add(len), reply);
            }
            Made::Appended { fd, len } => self.appended(fd, len, reply),
            Made::Read { fd, offset, len } if self.verifies => {
                let Some(file) = self.files.get(&fd).cloned() else { return };
                let moved = usize::try_from(reply).unwrap_or(0);
                match (moved, reply) {
                    (0, 0) => self.examine_end(&file, offset..offset.saturating_add(len)),
                    _ => self.examine(&file, 0..moved.min(len as usize), offset),
                }
            }
            Made::Cut { fd, size } => {
                let number = fd.map_or_else(|| file_number(&self.path), |fd| self.number(fd));
                self.change(number, reply, |memory| memory.clear(number, size..u64::MAX));
            }
            Made::Allocated { fd, mode, offset, size } => {
                let number = self.number(fd);
                self.change(number, reply, |memory| {
                    allocated(memory, number, mode, (offset, size));
                });
            }
            Made::Replaced { fd } => self.change(self.number(fd), -1, |_| ()),
            // All members set it: some of them may have done so before others wrote.
            Made::MpiSized { file } => self.change(self.mpi_number(file), -1, |_| ()),
            Made::Removed => {
                self.changes += 1;
                if reply >= 0 {
                    self.memory.clear(file_number(&self.path), 0..u64::MAX);
                }
            }
            // A directory may have moved.
            Made::Renamed => {
                self.changes += 1;
                self.memory.forget_all();
            }
            Made::MpiWrote { file } => self.mpi_wrote(file, reply),
            Made::MpiRead { file } if self.verifies => self.mpi_read(file, reply),
            Made::Queued { tag } => self.transfer_ended(tag, reply),
            Made::MpiOpened | Made::Read { .. } | Made::MpiRead { .. } => {}
        }
    }

    fn named_file(&mut self, flags: i32) -> File {
        let mut number = file_number(&self.path);
        // Files without a name lie in the same directory.
        if flags & libc::O_TMPFILE == libc::O_TMPFILE {
            self.nameless += 1;
            number = mix(number ^ mix(self.nameless));
        }
        let append = flags & libc::O_APPEND != 0;
        File { number, path: self.path.as_slice().into(), append, view: None }
    }

    fn opened(&mut self, flags: i32, reply: Reply) {
        if flags & libc::O_TRUNC != 0 {
            self.changes += 1;
        }
        if reply < 0 {
            return;
        }
        let file = self.named_file(flags);
        if self.follows && flags & libc::O_TRUNC != 0 {
            self.memory.clear(file.number, 0..u64::MAX);
        }
        self.files.insert(Fd(reply as i32), file);
    }

    /// A file was changed otherwise than by writing; where the call failed nobody knows how far it came.
    fn change(&mut self, number: u64, reply: Reply, change: impl FnOnce(&mut Memory)) {
        self.changes += 1;
        match reply {
            0.. => change(&mut self.memory),
            _ => self.memory.forget(number),
        }
    }

    /// A call has written some of these bytes.
    fn wrote(&mut self, number: u64, range: Range<u64>, reply: Reply) {
        self.changes += 1;
        self.keep(number, range, reply, self.verifies.then_some(self.generation));
    }

    /// What lies where a call has written `reply` of the bytes that it was given; `marked`: they
    /// describe themselves.
    fn keep(&mut self, number: u64, range: Range<u64>, reply: Reply, marked: Option<u32>) {
        let state = match marked {
            Some(generation) if self.has_one_name => State::Written(generation),
            Some(_) => State::Unsure,
            None => State::Other,
        };
        match u64::try_from(reply) {
            Ok(done) => self.memory.put(number, range.start..range.start + done, state),
            // Nobody knows how far it came.
            Err(_) => self.memory.put(number, range, doubt(marked)),
        }
    }

    /// Others may append too: what went elsewhere than it says cannot be checked.
    fn appended(&mut self, fd: Fd, len: u64, reply: Reply) {
        let number = self.number(fd);
        let start = match (self.start.take(), self.inner.position(fd), u64::try_from(reply)) {
            (Some(start), Some(end), Ok(moved)) if end != start + moved => {
                self.changes += 1;
                return self.memory.put(number, end.saturating_sub(moved)..end, State::Other);
            }
            (Some(start), ..) => start,
            (None, ..) => return,
        };
        self.wrote(number, start..start + len, reply);
    }

    /// Examines bytes of the buffer, which were read at an offset.
    fn examine(&mut self, file: &File, bytes: Range<usize>, offset: u64) {
        let start_ns = self.clock.now();
        // What is under way may have been written, or not.
        let exact = self.queued.iter().all(Option::is_none);
        let bytes = &self.buffer.bytes()[bytes];
        let findings = self.examiner(file.number, exact).examine(bytes, offset);
        self.found(file, findings, start_ns);
    }

    /// The same where the file has ended.
    fn examine_end(&mut self, file: &File, range: Range<u64>) {
        let exact = self.queued.iter().all(Option::is_none);
        let findings = self.examiner(file.number, exact).examine_end(range);
        self.found(file, findings, self.clock.now());
    }

    fn examiner(&self, number: u64, exact: bool) -> Examiner<'_> {
        Examiner {
            memory: &self.memory,
            number,
            writer: self.writer,
            run: self.run,
            ranks: self.ranks,
            keeps_names: self.keeps_names,
            exact,
        }
    }

    fn found(&mut self, file: &File, mut findings: Findings, start_ns: u64) {
        let zeros = std::mem::take(&mut findings.zeros).into_iter();
        let place = |range| ZeroPlace { file: file.number, path: Rc::clone(&file.path), range };
        self.checked.zeros.extend(zeros.map(place));
        self.checked.findings.add(findings);
        self.checked.check_ns += self.clock.now().saturating_sub(start_ns);
    }

    fn mpi_wrote(&mut self, file: MpiFile, reply: Reply) {
        let number = self.mpi_number(file);
        for at in 0..self.parts.len() {
            let Part { offset_bytes, len, .. } = self.parts[at];
            let moved = if reply < 0 { -1 } else { len as Reply };
            self.wrote(number, offset_bytes..offset_bytes + len, moved);
        }
    }

    fn mpi_read(&mut self, file: MpiFile, reply: Reply) {
        let Some(file) = self.mpi_files.get(&file).cloned() else { return };
        let Ok(moved) = u64::try_from(reply) else { return };
        for at in 0..self.parts.len() {
            let Part { offset_bytes, memory_bytes, len } = self.parts[at];
            let inside = self.end.saturating_sub(offset_bytes).min(len);
            let read = moved.saturating_sub(memory_bytes).min(inside);
            let bytes = memory_bytes as usize..(memory_bytes + read) as usize;
            self.examine(&file, bytes, offset_bytes);
            self.examine_end(&file, offset_bytes + inside..offset_bytes + len);
        }
    }

    // Transfers that are under way together.

    /// A transfer is about to be submitted.
    fn submitted(&mut self, tag: Tag, file: File, call: &mut Queued) {
        let write = call.memory.parts().2;
        let number = file.number;
        let mut one = UnderWay {
            file,
            verifies: self.verifies,
            generation: 0,
            writes: 0,
            changes: self.changes,
            offset: call.offset,
            asked_bytes: call.asked_bytes,
            memory: call.memory.again(),
            write,
            clashes: false,
        };
        if write {
            self.writes += 1;
            let range = one.range();
            let overlaps = |other: &Range<u64>| other.start < range.end && range.start < other.end;
            for other in self.queued.iter_mut().flatten() {
                if other.write && other.file.number == number && overlaps(&other.range()) {
                    (other.clashes, one.clashes) = (true, true);
                }
            }
            if self.verifies {
                let start_ns = self.clock.now();
                let mark = self.mark(number, range.clone());
                one.generation = self.generation;
                call.memory.fill(|bytes| mark.fill(bytes, range.start));
                self.count_filled(start_ns, one.asked_bytes);
            } else {
                self.memory.put(number, range, State::Other);
            }
        }
        one.writes = self.writes;
        let at = tag.0 as usize;
        if self.queued.len() <= at {
            self.queued.resize_with(at + 1, || None);
        }
        self.queued[at] = Some(one);
    }

    fn transfer_ended(&mut self, tag: Tag, reply: Reply) {
        let one = self.queued.get_mut(tag.0 as usize).and_then(Option::take);
        match one {
            Some(one) if one.write => self.write_ended(&one, reply),
            Some(one) if one.verifies => self.read_ended(one, reply),
            _ => {}
        }
    }

    fn write_ended(&mut self, one: &UnderWay, reply: Reply) {
        self.writes += 1;
        let marked = one.verifies.then_some(one.generation);
        match one.clashes || one.changes != self.changes {
            true => self.memory.put(one.file.number, one.range(), doubt(marked)),
            false => self.keep(one.file.number, one.range(), reply, marked),
        }
    }

    /// Writes meanwhile may have come before or after a read.
    fn read_ended(&mut self, mut one: UnderWay, reply: Reply) {
        let Ok(moved) = u64::try_from(reply) else { return };
        let number = one.file.number;
        let mut others = self.queued.iter().flatten();
        let writing = others.any(|other| other.write && other.file.number == number);
        let exact = !writing && (one.writes, one.changes) == (self.writes, self.changes);
        let start_ns = self.clock.now();
        let (offset, range) = (one.offset, one.range());
        let examiner = self.examiner(number, exact);
        let Read(bytes) = one.memory.memory() else { return };
        let given_bytes = bytes.len() as u64;
        let mut findings = examiner.examine(&bytes[..moved.min(given_bytes) as usize], offset);
        // Cut before the end of the file, or there.
        if moved == 0 || given_bytes < one.asked_bytes {
            findings.add(examiner.examine_end(offset + moved..range.end));
        }
        self.found(&one.file, findings, start_ns);
    }

    fn take_end(&mut self, end: Option<(Tag, Reply)>) -> Option<(Tag, Reply)> {
        if let Some((tag, reply)) = end {
            self.transfer_ended(tag, reply);
        }
        end
    }
}

/// What lies where a write may have come or not.
fn doubt(marked: Option<u32>) -> State {
    if marked.is_some() { State::Unsure } else { State::Other }
}

fn allocated(memory: &mut Memory, number: u64, mode: i32, (offset, size): (u64, u64)) {
    const KEEPS: i32 = libc::FALLOC_FL_KEEP_SIZE;
    const HOLES: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
    match mode & !KEEPS {
        0 => {}
        mode if mode & !HOLES == 0 => memory.clear(number, offset..offset.saturating_add(size)),
        // What lies behind has moved, and says that it belongs elsewhere.
        _ => memory.put(number, offset..u64::MAX, State::Other),
    }
}

/// Issues a vector of writes with these lengths of buffers from other memory.
fn write_vector<const N: usize>(
    inner: &mut dyn Backend,
    mut bytes: &[u8],
    lens: impl Iterator<Item = usize>,
    (fd, offset): (Fd, u64),
) -> Reply {
    let (mut bufs, mut count) = ([IoSlice::new(&[]); N], 0);
    for (buf, len) in bufs.iter_mut().zip(lens) {
        let (one, rest) = bytes.split_at(len);
        (*buf, bytes, count) = (IoSlice::new(one), rest, count + 1);
    }
    inner.issue(Call::Pwritev { fd, bufs: &bufs[..count], offset })
}

/// The same for reads.
fn read_vector<const N: usize>(
    inner: &mut dyn Backend,
    mut bytes: &mut [u8],
    lens: impl Iterator<Item = usize>,
    (fd, offset): (Fd, u64),
) -> Reply {
    let mut bufs: [IoSliceMut<'_>; N] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
    let mut count = 0;
    for (buf, len) in bufs.iter_mut().zip(lens) {
        let (one, rest) = bytes.split_at_mut(len);
        (*buf, bytes, count) = (IoSliceMut::new(one), rest, count + 1);
    }
    inner.issue(Call::Preadv { fd, bufs: &mut bufs[..count], offset })
}

impl Verified<'_> {
    /// What a call will have come to, as far as data of files goes. Every call stands here, because one
    /// that is forgotten would make right data wrong.
    fn made(call: &Call<'_>) -> Option<Made> {
        Some(match *call {
            Call::Open { flags, .. } => Made::Opened { flags },
            Call::Close { fd } => Made::Closed { fd },
            Call::Pwrite { fd, buf, offset } | Call::MapWrite { fd, buf, offset } => {
                Made::Wrote { fd, offset, len: buf.len() as u64 }
            }
            Call::Append { fd, buf } => Made::Appended { fd, len: buf.len() as u64 },
            Call::Pwritev { fd, bufs, offset } => {
                Made::Wrote { fd, offset, len: bufs.iter().map(|buf| buf.len() as u64).sum() }
            }
            Call::Pread { fd, ref buf, offset, .. } | Call::MapRead { fd, ref buf, offset, .. } => {
                Made::Read { fd, offset, len: buf.len() as u64 }
            }
            Call::Preadv { fd, ref bufs, offset } => {
                Made::Read { fd, offset, len: bufs.iter().map(|buf| buf.len() as u64).sum() }
            }
            Call::Ftruncate { fd, size } => Made::Cut { fd: Some(fd), size },
            Call::Truncate { size, .. } => Made::Cut { fd: None, size },
            Call::Fallocate { fd, mode, offset, size } => {
                Made::Allocated { fd, mode, offset, size }
            }
            Call::CopyRange { to: (fd, _), .. }
            | Call::Clone { to: fd, .. }
            | Call::CloneRange { to: (fd, _), .. } => Made::Replaced { fd },
            Call::Unlink { .. } => Made::Removed,
            Call::Rename { .. } => Made::Renamed,
            Call::Seek { .. }
            | Call::Fsync { .. }
            | Call::Fdatasync { .. }
            | Call::Map { .. }
            | Call::Unmap { .. }
            | Call::Nothing { .. }
            | Call::Msync { .. }
            | Call::Fadvise { .. }
            | Call::Flock { .. }
            | Call::LinkFile { .. }
            | Call::Fstat { .. }
            | Call::Stat { .. }
            | Call::Lstat { .. }
            | Call::Access { .. }
            | Call::Mkdir { .. }
            | Call::Rmdir { .. }
            | Call::Getdents { .. }
            | Call::Link { .. }
            | Call::Symlink { .. }
            | Call::Readlink { .. }
            | Call::Chmod { .. }
            | Call::Utime { .. }
            | Call::Statfs { .. }
            | Call::Setxattr { .. }
            | Call::Getxattr { .. }
            | Call::Listxattr { .. }
            | Call::Removexattr { .. }
            | Call::Syncfs { .. }
            | Call::SyncDirectory { .. }
            | Call::DropCaches {} => return None,
        })
    }

    /// Issues a call with the bytes of the buffer in place of those of the machine.
    fn issue_verified(&mut self, call: Call<'_>) -> Reply {
        let (inner, bytes) = (&mut *self.inner, self.buffer.bytes_mut());
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
            Call::Pwritev { fd, bufs, offset } => {
                let lens = bufs.iter().map(|buf| buf.len());
                match bufs.len() {
                    ..=FEW_BUFFERS => write_vector::<FEW_BUFFERS>(inner, bytes, lens, (fd, offset)),
                    _ => write_vector::<MOST_BUFFERS>(inner, bytes, lens, (fd, offset)),
                }
            }
            Call::Preadv { fd, bufs, offset } => {
                let lens = bufs.iter().map(|buf| buf.len());
                match bufs.len() {
                    ..=FEW_BUFFERS => read_vector::<FEW_BUFFERS>(inner, bytes, lens, (fd, offset)),
                    _ => read_vector::<MOST_BUFFERS>(inner, bytes, lens, (fd, offset)),
                }
            }
            other => inner.issue(other),
        }
    }
}

impl Backend for Verified<'_> {
    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        self.settle();
        self.inner.prepare(call)?;
        if let Call::Open { path, .. } | Call::Truncate { path, .. } | Call::Unlink { path } = call
        {
            self.path.clear();
            self.path.extend_from_slice(path.to_bytes());
        }
        if self.follows { self.prepare_bytes(call) } else { Ok(()) }
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        if self.made.is_some() {
            self.settle();
        }
        let made = Self::made(&call);
        let reply = if self.verifies { self.issue_verified(call) } else { self.inner.issue(call) };
        self.made = made.map(|made| (made, reply));
        reply
    }

    fn prepare_file(&mut self, call: &FileCall<'_>) -> Result<(), i32> {
        self.settle();
        self.inner.prepare_file(call)?;
        match call {
            FileCall::Open { path, .. } | FileCall::Delete { path } => {
                self.path.clear();
                self.path.extend_from_slice(path.to_bytes());
            }
            FileCall::Transfer { file, at: At::Offset { offset, .. }, memory, order, .. }
                if self.follows =>
            {
                return self.prepare_transfer(*file, *offset, memory, *order);
            }
            _ => {}
        }
        Ok(())
    }

    fn issue_file(&mut self, call: FileCall<'_>) -> Reply {
        if self.made.is_some() {
            self.settle();
        }
        let made = match call {
            FileCall::Open { .. } => Some(Made::MpiOpened),
            FileCall::Close { file } => Some(Made::MpiClosed { file }),
            FileCall::Delete { .. } => Some(Made::Removed),
            FileCall::SetSize { file, .. } => Some(Made::MpiSized { file }),
            FileCall::SetView { file, view } => {
                self.mpi_files.entry(file).and_modify(|file| file.view = view);
                None
            }
            FileCall::MakeView { view } => {
                let reply = self.inner.issue_file(FileCall::MakeView { view });
                let seen = View { extents: view.extents(), memory: view.memory.clone() };
                self.views.insert(ViewId(reply as i32), seen);
                return reply;
            }
            FileCall::Transfer { file, at: At::Offset { .. }, ref memory, .. } => match memory {
                Write(_) => Some(Made::MpiWrote { file }),
                Read(_) => Some(Made::MpiRead { file }),
            },
            FileCall::Transfer { at: At::Shared { .. }, .. }
            | FileCall::Sync { .. }
            | FileCall::Preallocate { .. }
            | FileCall::Seek { .. }
            | FileCall::SetAtomic { .. }
            | FileCall::Most { .. }
            | FileCall::Position { .. } => None,
        };
        let reply = match call {
            FileCall::Transfer { file, at: at @ At::Offset { .. }, memory, order, most_bytes }
                if self.verifies =>
            {
                let bytes = &mut self.buffer.bytes_mut()[..memory.len()];
                let memory = match memory {
                    Write(_) => Write(bytes),
                    Read(_) => Read(bytes),
                };
                self.inner.issue_file(FileCall::Transfer { file, at, memory, order, most_bytes })
            }
            other => self.inner.issue_file(other),
        };
        self.made = made.map(|made| (made, reply));
        reply
    }

    fn prepare_queued(&mut self, tag: Tag, call: &mut Queued) {
        self.settle();
        self.inner.prepare_queued(tag, call);
        let file = match call.target {
            Target::File(fd) => self.files.get(&fd).cloned(),
            Target::Mpi { file, .. } => self.mpi_files.get(&file).cloned(),
            Target::Sync { .. } => None,
        };
        if let Some(file) = file.filter(|_| self.follows) {
            self.submitted(tag, file, call);
        }
    }

    fn submit(&mut self, tag: Tag, call: Queued) -> Submitted {
        let submitted = self.inner.submit(tag, call);
        if let Submitted::Done(reply) = submitted {
            self.made = Some((Made::Queued { tag }, reply));
        }
        submitted
    }

    fn prepare_reap(&mut self) {
        self.settle();
        self.inner.prepare_reap();
    }

    fn reap(&mut self) -> Option<(Tag, Reply)> {
        let end = self.inner.reap();
        if let Some((tag, reply)) = end {
            self.made = Some((Made::Queued { tag }, reply));
        }
        end
    }

    fn ended(&mut self) -> Option<(Tag, Reply)> {
        self.settle();
        let end = self.inner.ended();
        self.take_end(end)
    }

    fn set_options(&mut self, options: &InForce) {
        self.settle();
        self.verifies = options.verify;
        self.follows |= options.verify;
        self.inner.set_options(options);
    }

    fn take_checked(&mut self) -> Option<Checked> {
        self.settle();
        let checked = std::mem::take(&mut self.checked);
        (checked != Checked::default()).then_some(checked)
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn look(&self, fd: Fd) -> Option<Look> {
        self.inner.look(fd)
    }

    fn knows_name(&self, path: &CStr) -> Option<bool> {
        self.inner.knows_name(path)
    }

    fn fetched_bytes(&self) -> Option<u64> {
        self.inner.fetched_bytes()
    }

    fn alignment(&self, fd: Fd) -> Alignment {
        self.inner.alignment(fd)
    }

    fn position(&mut self, fd: Fd) -> Option<u64> {
        self.inner.position(fd)
    }

    fn open_queue(&mut self, settings: &QueueSettings) -> Result<(), i32> {
        self.inner.open_queue(settings)
    }

    fn lend_memory(&mut self, memory: &mut [u8]) {
        self.inner.lend_memory(memory);
    }

    fn leave_file(&mut self, fd: Fd) {
        self.inner.leave_file(fd);
    }

    fn hand_over(&mut self, wait: u32) -> Reply {
        self.inner.hand_over(wait)
    }

    fn wait_within(&mut self, ns: u64) -> Reply {
        self.inner.wait_within(ns)
    }

    fn opened_facts(
        &mut self,
        file: MpiFile,
        members: &Members,
        hints: &str,
    ) -> Option<MpiFileFacts> {
        self.inner.opened_facts(file, members, hints)
    }

    fn explanation(&self) -> Option<&str> {
        self.inner.explanation()
    }

    fn needs_name(&mut self) {
        self.inner.needs_name();
    }

    fn move_bulk(&mut self, bulk: &Bulk) -> Reply {
        self.inner.move_bulk(bulk)
    }

    fn concluded(&mut self, over: &Over<'_>) {
        self.inner.concluded(over);
    }
}

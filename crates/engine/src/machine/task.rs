//! Operations on files as small tasks: a task gives the next call, takes the reply, and
//! gives the next one, until it has ended.
//!
//! ```text
//! create  open, close               fwrite  data [, sync]
//! write   open, data [, sync], close        fread   data
//! readdir open, data, close         fclose  [sync,] close
//! ```
//!
//! With `engine="mmap"` a file is mapped after it is opened and unmapped before it is closed, and data
//! is copied. With `engine="null"` no call is made for data.
//!
//! Data is one call or many: partial transfers are continued, large ones cut, patterns have many
//! pieces. A task holds neither its path nor its memory, so it can wait anywhere. [`super::driver`] makes
//! the calls one after the other, [`super::queue`] those of several tasks at one time.

use super::extents::Pieces;
use super::handles::Mode;
use super::io::Io;
use super::note;
use super::options::{Engine, Fsync};
use super::tally::{Shot, Subject, Tally};
use crate::backend::direct::Alignment;
use crate::backend::{Backend, Bulk, BulkFile};
use crate::buffer::MAX_CALL_BYTES;
use crate::call::{Fd, Reply};
use crate::stop;
use model::Part;
use model::limits::CALL_BYTES;
use model::pattern::{Extent, Run};

/// Size of the calls that read the rest of a file, unless `with (transfer=...)` says otherwise.
const REST_BYTES: u64 = 1 << 20;
/// Error of an operation in whose middle the rank was stopped. It is not counted: calls that the
/// kernel interrupts are repeated, so that nothing else gives this error.
pub(super) const STOPPED: i32 = libc::EINTR;

const INTERRUPTED: Reply = -(libc::EINTR as Reply);

/// The next call of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// open of the first path.
    Open { flags: i32 },
    /// mmap.
    Map { write: bool },
    /// munmap.
    Unmap,
    /// pwrite, or a copy into the mapping.
    Write { offset: u64, len: usize, mapped: bool },
    /// write at the end; `done` bytes of the operation were written before.
    Append { done: u64, len: usize },
    /// pread, or a copy out of the mapping; `rest`: to the end of the file.
    Read { offset: u64, len: usize, rest: bool, mapped: bool },
    /// Data that counts as moved; `rest`: to the end of the file.
    Nothing { len: usize, rest: bool },
    /// getdents64.
    List,
    /// fsync, or msync; `data`: fdatasync.
    Sync { mapped: bool, data: bool },
    /// preadv or pwritev of the operation's buffers, of which `done` bytes were moved before.
    Vector { offset: u64, done: u64, write: bool },
    /// close.
    Close,
}

/// What a task does between open and close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    Nothing,
    Write,
    Append,
    Read,
    /// Reads to the end of the file.
    ReadRest,
    /// Lists a directory.
    List,
}

impl Data {
    pub(super) fn writes(self) -> bool {
        matches!(self, Data::Write | Data::Append)
    }

    fn reads(self) -> bool {
        matches!(self, Data::Read | Data::ReadRest)
    }
}

/// How the bytes of an operation are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By calls.
    Calls,
    /// Through a mapping of the file.
    Mapping,
    /// Not at all: they count as moved.
    Nothing,
}

impl Way {
    /// Of an open file.
    #[inline(always)]
    fn of<B>(io: &Io<'_, B>, mapped: bool) -> Way {
        match mapped {
            _ if io.options.active().is_null() => Way::Nothing,
            true => Way::Mapping,
            false => Way::Calls,
        }
    }
}

/// Bytes that an operation moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    pub(super) data: Data,
    pub(super) offset_bytes: u64,
    pub(super) len: u64,
}

impl Bytes {
    /// One call moves all of them, if it goes well, and nothing has to be asked after it.
    #[inline(always)]
    fn is_one_call<B: Backend>(self, io: &Io<'_, B>) -> bool {
        match self.data {
            Data::Nothing => true,
            // Where an append went.
            Data::Append if io.keeps_events => false,
            Data::Write | Data::Append | Data::Read => {
                self.len <= call_bytes(io, self.data) && !io.accounts
            }
            Data::ReadRest | Data::List => false,
        }
    }
}

/// The call that moves `len` bytes after `done` ones.
#[inline(always)]
fn want(data: Data, way: Way, offset_bytes: u64, done: u64, len: usize) -> Want {
    let (offset, mapped) = (offset_bytes + done, way == Way::Mapping);
    match data {
        Data::Write | Data::Append | Data::Read | Data::ReadRest if way == Way::Nothing => {
            Want::Nothing { len, rest: data == Data::ReadRest }
        }
        Data::Write => Want::Write { offset, len, mapped },
        Data::Append => Want::Append { done, len },
        Data::Read => Want::Read { offset, len, rest: false, mapped },
        Data::ReadRest => Want::Read { offset, len, rest: true, mapped },
        Data::List => Want::List,
        Data::Nothing => Want::Close,
    }
}

/// An operation on a file as a whole: opens the first path, moves bytes, closes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    pub(super) flags: i32,
    pub(super) bytes: Bytes,
}

impl Whole {
    /// How the file is opened.
    #[inline(always)]
    fn open_flags<B>(self, io: &Io<'_, B>) -> i32 {
        map_flags(self.flags, self.way(io) == Way::Mapping)
    }

    #[inline(always)]
    fn way<B>(self, io: &Io<'_, B>) -> Way {
        let maps = matches!(self.bytes.data, Data::Write | Data::Read | Data::ReadRest);
        Way::of(io, maps && io.options.active().engine == Engine::Mmap)
    }
}

/// An operation that moves bytes of an open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// The place of its handle.
    pub(super) at: usize,
    pub(super) fd: Fd,
    pub(super) mode: Mode,
    pub(super) bytes: Bytes,
    /// The handle's position moves with the bytes.
    pub(super) moves_position: bool,
}

impl Transfer {
    /// It is one call, if that goes well.
    #[inline(always)]
    pub(super) fn is_plain<B: Backend>(&self, io: &Io<'_, B>) -> bool {
        self.mode.direct.is_none() && !self.syncs(io) && self.bytes.is_one_call(io)
    }

    /// That call.
    #[inline(always)]
    pub(super) fn call<B>(&self, io: &Io<'_, B>) -> Want {
        let Bytes { data, offset_bytes, len } = self.bytes;
        want(data, Way::of(io, self.mode.mapped), offset_bytes, 0, len as usize)
    }

    #[inline(always)]
    fn syncs<B>(&self, io: &Io<'_, B>) -> bool {
        self.bytes.data.writes() && syncs(io, |fsync| fsync == Fsync::Op)
    }
}

/// How far a task has come: what is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    Map,
    NextPiece,
    Begin,
    Data,
    Sync,
    Unmap,
    Close,
    End,
}

/// An operation under way.
#[derive(Debug)]
pub(super) struct Task<'r> {
    pub(super) subject: Subject,
    stage: Stage,
    data: Data,
    /// Of the open; 0 without.
    flags: i32,
    pub(super) fd: Fd,
    direct: Option<Alignment>,
    way: Way,
    /// The file is made stable after the data.
    sync: bool,
    /// Only as far as its data goes: fdatasync.
    syncs_data: bool,
    /// The bytes lie in several buffers.
    vector: bool,
    closes: bool,
    /// The piece: its place in the file, and what of it has been moved.
    offset_bytes: u64,
    len: u64,
    done_bytes: u64,
    /// The most that one call moves, and what the next one still has to.
    call_bytes: u64,
    left_bytes: u64,
    /// The pieces that come after it.
    more: Option<More<'r>>,
    /// The handle's position moves with the bytes.
    moves_position: bool,
    /// What its calls have come to.
    pub(super) tally: Tally,
}

/// Pieces of a pattern.
#[derive(Debug)]
pub(super) struct More<'r> {
    pub(super) pieces: Pieces<'r>,
    /// Added to the offset of every piece.
    pub(super) displacement_bytes: u64,
    /// Bytes of all pieces.
    pub(super) bytes: u64,
}

impl More<'_> {
    fn next(&mut self) -> Option<Extent> {
        let piece = self.pieces.next()?;
        let offset_bytes = piece.offset_bytes.saturating_add(self.displacement_bytes);
        Some(Extent { offset_bytes, ..piece })
    }

    /// Equal pieces together that hold a byte.
    fn next_run(&mut self) -> Option<Run> {
        let run = loop {
            let run = self.pieces.next_run()?;
            if run.count > 0 && run.length_bytes > 0 {
                break run;
            }
        };
        let offset_bytes = run.offset_bytes.saturating_add(self.displacement_bytes);
        Some(Run { offset_bytes, ..run })
    }
}

/// What was written is made stable by this option; there is nothing to be made so where nothing is written.
#[inline(always)]
fn syncs<B>(io: &Io<'_, B>, meant: impl FnOnce(Fsync) -> bool) -> bool {
    let options = io.options.active();
    meant(options.fsync) && !options.is_null()
}

/// Who changes a mapping must be able to read the file.
#[inline(always)]
pub(super) fn map_flags(flags: i32, mapped: bool) -> i32 {
    match mapped && flags & libc::O_ACCMODE == libc::O_WRONLY {
        true => flags & !libc::O_ACCMODE | libc::O_RDWR,
        false => flags,
    }
}

/// What an open file with O_DIRECT wants of transfers.
#[inline(always)]
pub(super) fn alignment<B: Backend>(io: &mut Io<'_, B>, fd: Fd, flags: i32) -> Option<Alignment> {
    (flags & libc::O_DIRECT != 0).then(|| io.backend.alignment(fd))
}

/// Remarks that an open with O_DIRECT failed as file systems without it fail.
#[cold]
pub(super) fn refused_direct<B>(io: &mut Io<'_, B>, flags: i32, errno: i32) {
    if flags & libc::O_DIRECT != 0 && matches!(errno, libc::EINVAL | libc::EOPNOTSUPP) {
        io.notes |= note::DIRECT_REFUSED | note::refused_in(io.paths[0].place);
    }
}

/// The most that one call moves.
#[inline(always)]
pub(super) fn call_bytes<B>(io: &Io<'_, B>, data: Data) -> u64 {
    let usual = if data == Data::ReadRest { REST_BYTES } else { CALL_BYTES };
    io.options.active().transfer.unwrap_or(usual).min(MAX_CALL_BYTES as u64)
}

impl<'r> Task<'r> {
    pub(super) fn whole<B>(io: &Io<'_, B>, whole: Whole) -> Task<'r> {
        let (flags, bytes) = (whole.open_flags(io), whole.bytes);
        let task = Task::new(io, Stage::Open, bytes);
        let sync = bytes.data.writes() && syncs(io, |fsync| fsync != Fsync::None);
        Task { flags, way: whole.way(io), sync, closes: true, ..task }
    }

    pub(super) fn transfer<B>(io: &Io<'_, B>, transfer: Transfer) -> Task<'r> {
        let Transfer { at, fd, mode, bytes, moves_position } = transfer;
        let (subject, direct, sync) = (Subject::Handle(at), mode.direct, transfer.syncs(io));
        let task = Task::new(io, Stage::Begin, bytes);
        let way = Way::of(io, mode.mapped);
        Task { subject, fd, direct, way, sync, moves_position, ..task }
    }

    /// Closes an open file; `sync`: makes it stable before.
    pub(super) fn close<B>(
        io: &Io<'_, B>,
        (at, fd): (usize, Fd),
        mapped: bool,
        sync: bool,
    ) -> Task<'r> {
        let nothing = Bytes { data: Data::Nothing, offset_bytes: 0, len: 0 };
        let task = Task::new(io, Stage::Sync, nothing);
        let way = if mapped { Way::Mapping } else { Way::Calls };
        let task = Task { subject: Subject::Handle(at), fd, way, sync, closes: true, ..task };
        if sync { task } else { Task { stage: task.after_sync(), ..task } }
    }

    /// Makes an open file stable.
    pub(super) fn sync<B>(io: &Io<'_, B>, (at, fd): (usize, Fd), syncs_data: bool) -> Task<'r> {
        let nothing = Bytes { data: Data::Nothing, offset_bytes: 0, len: 0 };
        let task = Task::new(io, Stage::Sync, nothing);
        Task { subject: Subject::Handle(at), fd, sync: true, syncs_data, ..task }
    }

    /// The same with several buffers in one call, which is not cut.
    pub(super) fn with_vector(self) -> Task<'r> {
        let way = if self.way == Way::Nothing { Way::Nothing } else { Way::Calls };
        Task { vector: true, call_bytes: self.len, way, ..self }
    }

    /// Where its bytes begin in the file.
    pub(super) fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// The same with all pieces of a pattern.
    pub(super) fn with_pieces(self, more: More<'r>) -> Task<'r> {
        Task { stage: Stage::NextPiece, more: Some(more), ..self }
    }

    fn new<B>(io: &Io<'_, B>, stage: Stage, bytes: Bytes) -> Task<'r> {
        let Bytes { data, offset_bytes, len } = bytes;
        Task {
            subject: Subject::Path,
            stage,
            data,
            flags: 0,
            fd: Fd(-1),
            direct: None,
            way: Way::Calls,
            sync: false,
            syncs_data: false,
            vector: false,
            closes: false,
            offset_bytes,
            len,
            done_bytes: 0,
            call_bytes: call_bytes(io, data),
            left_bytes: 0,
            more: None,
            moves_position: false,
            tally: Tally::EMPTY,
        }
    }
}

impl Task<'_> {
    /// The next call; `None`: the operation is over.
    pub(super) fn next<B: Backend>(&mut self, io: &mut Io<'_, B>) -> Option<Want> {
        if self.stage == Stage::NextPiece {
            self.next_piece(io);
        }
        if self.stage == Stage::Begin {
            self.begin(io);
        }
        Some(match self.stage {
            Stage::Open => Want::Open { flags: self.flags },
            Stage::Map => Want::Map { write: self.data.writes() },
            Stage::NextPiece | Stage::Begin | Stage::Data => {
                let (done, left) = (self.done_bytes, self.left_bytes as usize);
                if self.vector && self.way != Way::Nothing {
                    let (offset, write) = (self.offset_bytes + done, self.data.writes());
                    return Some(Want::Vector { offset, done, write });
                }
                want(self.data, self.way, self.offset_bytes, done, left)
            }
            Stage::Sync => Want::Sync { mapped: self.way == Way::Mapping, data: self.syncs_data },
            Stage::Unmap => Want::Unmap,
            Stage::Close => Want::Close,
            Stage::End => return None,
        })
    }

    /// Takes what a call has given.
    pub(super) fn take<B: Backend>(&mut self, io: &mut Io<'_, B>, want: Want, shot: Shot) {
        match want {
            Want::Open { flags } => self.opened(io, flags, shot),
            Want::Write { .. } | Want::Append { .. } | Want::Vector { write: true, .. } => {
                self.written(io, shot);
            }
            Want::Read { len, .. } => self.read(io, len, shot),
            Want::Vector { .. } => self.read(io, self.left_bytes as usize, shot),
            Want::Nothing { .. } if self.data.writes() => self.written(io, shot),
            Want::Nothing { len, .. } => self.read(io, len, shot),
            Want::List => {
                if self.tally.add(Part::Data, shot) <= 0 {
                    self.stage = Stage::Close;
                }
            }
            Want::Map { .. } => self.was_mapped(io, shot),
            Want::Unmap => {
                self.tally.add(Part::Close, shot);
                self.stage = Stage::Close;
            }
            Want::Sync { .. } => {
                let reply = self.tally.add(Part::Sync, shot);
                if let Subject::Handle(at) = self.subject
                    && reply >= 0
                {
                    io.made_stable(at);
                }
                self.stage = self.after_sync();
            }
            Want::Close => {
                self.tally.add(Part::Close, shot);
                self.stage = Stage::End;
            }
        }
    }

    /// There is no memory for the next call.
    pub(super) fn starved<B: Backend>(&mut self, io: &mut Io<'_, B>) {
        self.tally.fail(libc::ENOMEM);
        self.data_over(io);
    }

    fn opened<B: Backend>(&mut self, io: &mut Io<'_, B>, flags: i32, shot: Shot) {
        if self.tally.add(Part::Open, shot) < 0 {
            refused_direct(io, flags, self.tally.errno);
            self.stage = Stage::End;
            return;
        }
        self.fd = Fd(shot.reply as i32);
        self.stage = match self.data {
            Data::Nothing => Stage::Close,
            Data::List => Stage::Data,
            Data::Write | Data::Read | Data::ReadRest if self.way == Way::Mapping => Stage::Map,
            Data::Write | Data::Append | Data::Read | Data::ReadRest => Stage::Begin,
        };
        self.direct = alignment(io, self.fd, flags);
        if self.way != Way::Mapping {
            self.opened_to_read(io);
        }
    }

    fn was_mapped<B: Backend>(&mut self, io: &mut Io<'_, B>, shot: Shot) {
        self.stage = Stage::Begin;
        if self.tally.add(Part::Open, shot) < 0 {
            (self.way, self.stage) = (Way::Calls, Stage::Close);
        }
        self.opened_to_read(io);
    }

    fn opened_to_read<B: Backend>(&mut self, io: &mut Io<'_, B>) {
        if self.data.reads() && self.way != Way::Nothing {
            io.opened_for_reading(self.fd, self.direct.is_some());
        }
    }

    /// Begins with a piece.
    fn begin<B: Backend>(&mut self, io: &mut Io<'_, B>) {
        if self.tally.timing.start_ns == u64::MAX || self.more.is_none() {
            self.tally.offset_bytes = self.offset_bytes;
            let rest = self.data == Data::ReadRest;
            let len = if rest { 0 } else { self.len };
            self.tally.requested_bytes = self.more.as_ref().map_or(len, |more| more.bytes);
        }
        self.done_bytes = 0;
        self.left_bytes = self.len.min(self.call_bytes);
        if self.way == Way::Nothing {
            return self.begin_nothing(io);
        }
        let is_misaligned = |alignment| !self.vector && self.is_misaligned(alignment);
        if self.direct.is_some_and(is_misaligned) {
            io.notes |= note::DIRECT_MISALIGNED;
            self.tally.fail(libc::EINVAL);
            return self.data_over(io);
        }
        if io.accounts {
            return self.move_extent(io);
        }
        self.stage = Stage::Data;
    }

    /// No byte is moved, and without calls they count at once.
    fn begin_nothing<B: Backend>(&mut self, io: &mut Io<'_, B>) {
        self.stage = Stage::Data;
        if io.accounts {
            self.tally.done_bytes += if self.data == Data::ReadRest { 0 } else { self.len };
            self.data_over(io);
        }
    }

    /// The bytes without calls, which can be millions.
    fn move_extent<B: Backend>(&mut self, io: &mut Io<'_, B>) {
        let rest = self.data == Data::ReadRest;
        let len = if rest { u64::MAX - self.offset_bytes } else { self.len };
        self.move_run(io, Run::single(self.offset_bytes, len));
        self.tally.short = !rest && self.tally.errno == 0 && self.tally.done_bytes < self.len;
        self.data_over(io);
    }

    fn move_run<B: Backend>(&mut self, io: &mut Io<'_, B>, run: Run) {
        let reply = io.backend.move_bulk(&Bulk {
            file: BulkFile::Posix(self.fd),
            run,
            write: self.data.writes(),
            rest: self.data == Data::ReadRest,
            buffer_bytes: self.call_bytes.min(run.length_bytes),
        });
        match reply {
            reply if reply < 0 => self.tally.fail(-reply as i32),
            moved => self.tally.done_bytes += moved as u64,
        }
    }

    /// Whether O_DIRECT cannot do it: the kernel would say EINVAL, or worse, fall back.
    fn is_misaligned(&self, alignment: Alignment) -> bool {
        let unit = u64::from(alignment.offset_bytes);
        let len = if self.data == Data::ReadRest { self.call_bytes } else { self.len };
        let splits = len > self.call_bytes && !self.call_bytes.is_multiple_of(unit);
        !self.offset_bytes.is_multiple_of(unit) || !len.is_multiple_of(unit) || splits
    }

    fn written<B: Backend>(&mut self, io: &mut Io<'_, B>, shot: Shot) {
        let Some(moved) = self.moved(io, shot) else { return };
        if self.data == Data::Append && io.keeps_events && self.way != Way::Nothing {
            io.appended(self.fd, moved);
        }
        let wanted = self.left_bytes;
        self.left_bytes = wanted.saturating_sub(moved);
        if self.left_bytes > 0 {
            if moved == 0 {
                // Nothing was written and nothing was refused: going on could last forever.
                self.tally.fail(libc::EIO);
                self.data_over(io);
            }
        } else if self.done_bytes >= self.len {
            self.piece_over(io);
        } else {
            self.go_on(io);
        }
    }

    fn read<B: Backend>(&mut self, io: &mut Io<'_, B>, asked: usize, shot: Shot) {
        let Some(moved) = self.moved(io, shot) else { return };
        // With O_DIRECT a partial transfer ends at the end of the file, which is no place to go
        // on from; and who expects the end does not ask for it once more.
        let takes_part = self.direct.is_some() || io.options.active().expects_short;
        let ended = moved == 0 || takes_part && moved < asked as u64;
        if self.done_bytes < self.len && !ended {
            return self.go_on(io);
        }
        self.tally.short |= self.data != Data::ReadRest && self.done_bytes < self.len;
        self.piece_over(io);
    }

    /// What a call has moved; `None`: nothing, it was interrupted or has failed.
    fn moved<B: Backend>(&mut self, io: &mut Io<'_, B>, shot: Shot) -> Option<u64> {
        if shot.reply == INTERRUPTED {
            self.tally.add_time(Part::Data, shot);
            return None;
        }
        let Ok(moved) = u64::try_from(self.tally.add(Part::Data, shot)) else {
            self.data_over(io);
            return None;
        };
        self.tally.done_bytes += moved;
        self.done_bytes += moved;
        Some(moved)
    }

    /// Another call of the same piece is needed.
    fn go_on<B: Backend>(&mut self, io: &mut Io<'_, B>) {
        self.left_bytes = (self.len - self.done_bytes).min(self.call_bytes);
        if stop::requested() {
            self.tally.fail(STOPPED);
            self.data_over(io);
        }
    }

    fn piece_over<B: Backend>(&mut self, io: &mut Io<'_, B>) {
        if self.more.is_some() {
            self.stage = Stage::NextPiece;
        } else {
            self.data_over(io);
        }
    }

    fn next_piece<B: Backend>(&mut self, io: &mut Io<'_, B>) {
        if io.accounts {
            self.move_runs(io);
        } else if stop::requested() {
            self.tally.fail(STOPPED);
        } else if let Some(next) = self.more.as_mut().and_then(More::next) {
            (self.offset_bytes, self.len) = (next.offset_bytes, next.length_bytes);
            self.stage = Stage::Begin;
            return;
        }
        self.data_over(io);
    }

    /// All pieces without calls: equal ones at once.
    fn move_runs<B: Backend>(&mut self, io: &mut Io<'_, B>) {
        self.tally.requested_bytes = self.more.as_ref().map_or(0, |more| more.bytes);
        if self.way == Way::Nothing {
            self.tally.done_bytes = self.tally.requested_bytes;
            return;
        }
        while let Some(run) = self.more.as_mut().and_then(More::next_run) {
            self.move_run(io, run);
            if self.tally.errno != 0 {
                break;
            }
        }
        self.tally.short = self.tally.done_bytes < self.tally.requested_bytes;
    }

    /// All data was moved, or no more will be.
    fn data_over<B: Backend>(&mut self, io: &mut Io<'_, B>) {
        let good = self.tally.errno == 0;
        if self.data == Data::ReadRest {
            self.tally.requested_bytes = self.tally.done_bytes;
        }
        if self.way == Way::Nothing {
            return self.nothing_over(io);
        }
        if self.data.reads() {
            let place = match self.subject {
                Subject::Handle(at) => io.handles.get(at).mode.place,
                _ => io.paths[0].place,
            };
            io.was_read(place, self.direct.is_some(), self.tally.done_bytes);
        }
        if let Subject::Handle(at) = self.subject {
            let handle = io.handles.get(at);
            let mode = handle.mode;
            if self.moves_position {
                handle.position += self.tally.done_bytes;
            }
            if self.data.writes() && good {
                io.wrote_to(at, mode, self.tally.done_bytes);
            }
        } else if self.data.writes() && good {
            let unstable = !self.sync && self.direct.is_none();
            io.wrote(io.paths[0].place, self.tally.done_bytes, unstable);
        }
        self.stage = if good && self.sync { Stage::Sync } else { self.after_sync() };
    }

    /// No data was moved.
    fn nothing_over<B: Backend>(&mut self, io: &mut Io<'_, B>) {
        io.moved_nothing(self.data.writes(), self.tally.done_bytes);
        if let (true, Subject::Handle(at)) = (self.moves_position, self.subject) {
            io.handles.get(at).position += self.tally.done_bytes;
        }
        self.stage = self.after_sync();
    }

    fn after_sync(&self) -> Stage {
        match (self.closes, self.way) {
            (true, Way::Mapping) => Stage::Unmap,
            (true, _) => Stage::Close,
            (false, _) => Stage::End,
        }
    }
}

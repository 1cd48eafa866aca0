//! Operations on files as small tasks: a task says which call comes next, is told the reply, and
//! says the next one, until it is over.
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
//! pieces. A task holds neither its path nor its memory, so it can wait anywhere. Who makes the
//! calls is [`super::now`]; how a task goes on from reply to reply is in `step`.

mod step;

use super::handles::Mode;
use super::io::Io;
use super::options::{Engine, Fsync};
use super::shares::Pieces;
use super::tally::{Subject, Tally};
use crate::backend::Backend;
use crate::backend::direct::Alignment;
use crate::buffer::MAX_CALL_BYTES;
use crate::call::Fd;
use model::limits::CALL_BYTES;
use model::pattern::{Extent, Run};

/// Size of the calls that read the rest of a file, unless `with (transfer=...)` says otherwise.
const REST_BYTES: u64 = 1 << 20;
/// Error of an operation in whose middle the rank was stopped. It is not counted: calls that the
/// kernel interrupts are repeated, so that nothing else gives this error.
pub(super) const STOPPED: i32 = libc::EINTR;

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
    /// write at the end; so many bytes of the operation were written before.
    Append { done: u64, len: usize },
    /// pread, or a copy out of the mapping; `rest`: to the end of the file.
    Read { offset: u64, len: usize, rest: bool, mapped: bool },
    /// Data that counts as moved; `rest`: to the end of the file.
    Nothing { len: usize, rest: bool },
    /// getdents64.
    List,
    /// fsync, or msync.
    Sync { mapped: bool },
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

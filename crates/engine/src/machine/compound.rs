//! Operations that open a file, do something with it and close it. Their parts
//! are timed apart; whatever fails, the file is closed.

use super::fault::Fault;
use super::handles::Mode;
use super::io::{Io, Subject, Tally, timed};
use super::options::Fsync;
use super::perform::{FILE_MODE, Step, alignment, open_flags, refused_direct};
use super::transfer::{self, Place};
use crate::backend::Backend;
use crate::buffer::Buffers;
use crate::call::{Call, Fd};
use crate::clock::Clock;
use model::Part;

/// What happens between open and close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// Nothing.
    Nothing,
    /// Write so many bytes at an offset.
    Write { len: u64, offset_bytes: u64 },
    /// Write so many bytes at the end.
    Append { len: u64 },
    /// Read so many bytes, or all, from an offset.
    Read { len: Option<u64>, offset_bytes: u64 },
}

impl Inner {
    fn flags(self) -> i32 {
        match self {
            Inner::Nothing | Inner::Write { .. } => libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
            Inner::Append { .. } => libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND,
            Inner::Read { .. } => libc::O_RDONLY,
        }
    }
}

/// Opens the file at the first path, does `inner`, closes it.
#[inline(always)]
pub(super) fn whole_file<B: Backend, K: Clock>(
    step: Step<'_>,
    io: &mut Io<'_, B, K>,
    buffers: &mut Buffers,
    inner: Inner,
) -> Result<(), Fault> {
    let mut tally = Tally::EMPTY;
    let flags = open_flags(io, inner.flags());
    let call = Call::Open { path: io.paths[0].as_c_str(), flags, mode: FILE_MODE };
    let shot = timed(&mut io.backend, &io.clock, call);
    let reply = tally.add(Part::Open, shot);
    if reply < 0 {
        refused_direct(io, flags, tally.errno);
        return io.conclude(step.op, step.site, &tally, Subject::Path);
    }
    let fd = Fd(reply as i32);
    move_data(io, buffers, fd, flags, inner, &mut tally);
    let shot = timed(&mut io.backend, &io.clock, Call::Close { fd });
    tally.add(Part::Close, shot);
    io.conclude(step.op, step.site, &tally, Subject::Path)
}

#[inline(always)]
fn move_data<B: Backend, K: Clock>(
    io: &mut Io<'_, B, K>,
    buffers: &mut Buffers,
    fd: Fd,
    flags: i32,
    inner: Inner,
    tally: &mut Tally,
) {
    let direct = alignment(io, fd, flags);
    let place = |offset_bytes| Place { fd, offset_bytes, append: Mode::of(flags).append, direct };
    match inner {
        Inner::Nothing => return,
        Inner::Read { len, offset_bytes } => {
            io.opened_for_reading(fd);
            return transfer::read(io, buffers, place(offset_bytes), len, tally);
        }
        Inner::Write { len, offset_bytes } => {
            transfer::write(io, buffers, place(offset_bytes), len, tally);
        }
        Inner::Append { len } => transfer::write(io, buffers, place(0), len, tally),
    }
    if tally.errno == 0 && io.options.active().fsync != Fsync::None {
        let shot = timed(&mut io.backend, &io.clock, Call::Fsync { fd });
        tally.add(Part::Sync, shot);
    }
}

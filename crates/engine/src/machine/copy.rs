//! Operations that bring data from one file to another inside the kernel.
//!
//! ```text
//! copy     open, open, copy_file_range ... [, fsync], close, close
//! fcopy    copy_file_range ... [, fsync]
//!          between file systems that refuse that: pread, pwrite ... in its place, as cp(1) does
//! reflink  open, open, ioctl FICLONE, close, close
//! freflink ioctl FICLONE, or FICLONERANGE of a part
//! ```

use super::io::Io;
use super::io::timed;
use super::note;
use super::options::Fsync;
use super::rank::Machine;
use super::step::Step;
use super::tally::{Flow, Subject, Tally, is_stopped};
use crate::backend::{Backend, InForce};
use crate::buffer::Buffers;
use crate::call::{Call, Fd, Reply};
use crate::stop;
use model::{Op, Part};

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

impl<B: Backend> Machine<'_, B> {
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

impl<B: Backend> Io<'_, B> {
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
        let shot = timed(&mut self.backend, &self.clock, Call::CopyRange { from, to, len, rest });
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

//! How a task goes on: the next call, and what its reply means.

use super::super::files::{alignment, refused_direct};
use super::super::io::Io;
use super::super::note;
use super::super::tally::{Shot, Subject};
use super::{Data, More, STOPPED, Stage, Task, Want, Way, want};
use crate::backend::direct::Alignment;
use crate::backend::{Backend, Bulk, BulkFile};
use crate::call::{Fd, Reply};
use crate::stop;
use model::Part;
use model::pattern::Run;

const INTERRUPTED: Reply = -(libc::EINTR as Reply);

impl Task<'_> {
    /// The next call; `None`: the operation is over.
    pub(in super::super) fn next<B: Backend>(&mut self, io: &mut Io<'_, B>) -> Option<Want> {
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
                want(self.data, self.way, self.offset_bytes, done, left)
            }
            Stage::Sync => Want::Sync { mapped: self.way == Way::Mapping },
            Stage::Unmap => Want::Unmap,
            Stage::Close => Want::Close,
            Stage::End => return None,
        })
    }

    /// Takes what a call has given.
    pub(in super::super) fn take<B: Backend>(
        &mut self,
        io: &mut Io<'_, B>,
        want: Want,
        shot: Shot,
    ) {
        match want {
            Want::Open { flags } => self.opened(io, flags, shot),
            Want::Write { .. } | Want::Append { .. } => self.written(io, shot),
            Want::Read { len, .. } => self.read(io, len, shot),
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
    pub(in super::super) fn starved<B: Backend>(&mut self, io: &mut Io<'_, B>) {
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
        if self.direct.is_some_and(|alignment| self.is_misaligned(alignment)) {
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

    pub(super) fn after_sync(&self) -> Stage {
        match (self.closes, self.way) {
            (true, Way::Mapping) => Stage::Unmap,
            (true, _) => Stage::Close,
            (false, _) => Stage::End,
        }
    }
}

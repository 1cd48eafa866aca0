//! Bytes that go from one descriptor to another without passing through the program.
//!
//! ```text
//! copy_file_range(3, NULL, 4, NULL, 4096, 0) = 4096   ──▶ fcopy
//! sendfile(4, 3, NULL, 4096) = 4096                   ──▶ fread without time, fwrite
//! ioctl(4, FICLONE, 3) = 0                            ──▶ freflink
//! ```

use super::calls::moved;
use super::{Done, Meaning, Resolver, is_fault};
use crate::gaps::Gap;
use crate::record::{Call, Outcome, Record};
use model::Op;
use model::event::{FLAG_AT_POSITION, FLAG_FROM_POSITION, FLAG_SHORT, FLAG_UNPLACED, NO_ID};

/// Most bytes that a copy is taken to ask for, unless it moved more.
const COPIED_BYTES: u64 = 1 << 20;

/// Bytes that a copy asks for: programs name a limit that no file reaches, not the size of a buffer.
fn requested(bytes: u64, moved: u64) -> u64 {
    match bytes > moved.max(COPIED_BYTES) {
        true if moved > 0 => moved,
        true => COPIED_BYTES,
        false => bytes,
    }
}

impl Resolver<'_> {
    /// Bytes go from one descriptor to another inside the kernel. Of those that failed only errors of
    /// storage are kept: others say that these files cannot be copied so, on this storage.
    pub(super) fn between(&mut self, thread: u32, r: &Record<'_>) {
        let (Call::Copy { from, from_offset, to, to_offset, bytes }
        | Call::Send { from, from_offset, to, to_offset, bytes }) = r.call
        else {
            return;
        };
        let bytes = requested(bytes, moved(r));
        let (from, to) = (self.meaning(thread, from), self.meaning(thread, to));
        let both = match (&from, &to) {
            (Meaning::File(from), Meaning::File(to)) => Some((*from, *to)),
            _ => None,
        };
        match both {
            Some(_) if r.outcome.errno != 0 && !is_fault(r.outcome.errno, Op::Fcopy) => {
                self.gaps.add_name(Gap::FailedCopies, r.name);
            }
            Some((from, to)) if matches!(r.call, Call::Copy { .. }) && self.keeps(from, to) => {
                self.copied(thread, r, (from, from_offset), (to, to_offset), bytes);
            }
            _ => self.sent(thread, r, (from, from_offset), (to, to_offset), bytes),
        }
    }

    /// The files of both are kept. Both are asked: what is kept decides what paths are below.
    fn keeps(&mut self, from: u32, to: u32) -> bool {
        let path = |place: u32| self.tables.instances.at(place).map_or(NO_ID, |i| i.path);
        let [from, to] = [from, to].map(path).map(|path| self.is_kept(path));
        from && to
    }

    /// A read without time, then a write of what was read. With a pipe or socket on one side only the
    /// other one is left.
    fn sent(
        &mut self,
        thread: u32,
        r: &Record<'_>,
        (from, from_offset): (Meaning, Option<u64>),
        (to, to_offset): (Meaning, Option<u64>),
        requested: u64,
    ) {
        let moved = moved(r);
        match (from, to) {
            (Meaning::File(_), Meaning::File(to)) if r.outcome.errno != 0 => {
                self.moved(thread, to, r, Op::Fwrite, requested, to_offset);
            }
            (Meaning::File(from), Meaning::File(to)) => {
                self.gaps.add(Gap::Halves);
                let no_time = Record { elapsed_ns: Some(0), ..*r };
                self.moved(thread, from, &no_time, Op::Fread, requested, from_offset);
                // Where the source has ended, nothing is written.
                if moved > 0 {
                    self.moved(thread, to, r, Op::Fwrite, moved, to_offset);
                }
            }
            (Meaning::File(from), _) => {
                self.moved(thread, from, r, Op::Fread, requested, from_offset);
            }
            (_, Meaning::File(to)) => self.moved(thread, to, r, Op::Fwrite, moved, to_offset),
            (Meaning::Unknown, _) | (_, Meaning::Unknown) => {
                self.gaps.add_name(Gap::UnknownFiles, r.name);
            }
            _ => self.gaps.add_name(Gap::NoFiles, r.name),
        }
    }

    /// One file was copied to another, or a part of it.
    fn copied(
        &mut self,
        thread: u32,
        r: &Record<'_>,
        (from, from_offset): (u32, Option<u64>),
        (to, to_offset): (u32, Option<u64>),
        requested: u64,
    ) {
        let known = |place| self.tables.instances.at(place).copied();
        let (Some(source), Some(target)) = (known(from), known(to)) else { return };
        let (moved, ok) = (moved(r), r.outcome.errno == 0);
        let starts = [from_offset.or(source.position), to_offset.or(target.position)];
        let (short, unplaced) = (ok && moved < requested, ok && starts.contains(&None));
        if ok {
            let ends = starts.map(|start| Some(start?.saturating_add(moved)));
            for (place, offset, end) in [(from, from_offset, ends[0]), (to, to_offset, ends[1])] {
                if let Some(instance) = self.tables.instances.at_mut(place)
                    && offset.is_none()
                {
                    instance.position = end;
                }
            }
            self.reached(&source, Op::Fread, ends[0], short && moved > 0);
            self.reached(&target, Op::Fwrite, ends[1], false);
        }
        if unplaced {
            self.gaps.add(Gap::Unplaced);
        }
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        let done = Done {
            path2: source.path,
            instance2: source.number,
            offset: starts[1].unwrap_or(0),
            from: starts[0].unwrap_or(0),
            requested,
            done: moved,
            flags: flag(short, FLAG_SHORT)
                | flag(unplaced, FLAG_UNPLACED)
                | flag(to_offset.is_none(), FLAG_AT_POSITION)
                | flag(from_offset.is_none(), FLAG_FROM_POSITION),
            ..Done::on(Op::Fcopy, &target)
        };
        self.emit(thread, r, done);
    }

    /// A file gets bytes of another one, which both share. Where they cannot, programs copy: only errors
    /// of storage are kept, as of copies.
    pub(super) fn clones(&mut self, thread: u32, r: &Record<'_>) {
        let Call::Clone { from, from_offset, to, to_offset, bytes } = r.call else { return };
        let (from, to) = (self.meaning(thread, from), self.meaning(thread, to));
        let errno = r.outcome.errno;
        match (from, to) {
            (Meaning::Unknown, _) | (_, Meaning::Unknown) => {
                self.gaps.add_name(Gap::UnknownFiles, r.name);
            }
            (Meaning::File(_), Meaning::File(_))
                if errno != 0 && !is_fault(errno, Op::Freflink) =>
            {
                self.gaps.add_name(Gap::FailedCopies, r.name);
            }
            (Meaning::File(from), Meaning::File(to)) if self.keeps(from, to) => {
                self.shared(thread, r, (from, from_offset), (to, to_offset), bytes);
            }
            (Meaning::File(from), Meaning::File(to)) => {
                // Only one of them is kept: as many bytes are read or written.
                let bytes = self.cloned(from, from_offset, bytes).unwrap_or(0);
                let outcome = Outcome { value: Some(bytes.cast_signed()), ..r.outcome };
                let (from_offset, to_offset) = (Some(from_offset), Some(to_offset));
                let (from, to) = (Meaning::File(from), Meaning::File(to));
                let record = Record { outcome, ..*r };
                self.sent(thread, &record, (from, from_offset), (to, to_offset), bytes);
            }
            _ => self.gaps.add_name(Gap::NoFiles, r.name),
        }
    }

    /// How many bytes a file shares, as far as the log tells.
    fn cloned(&self, source: u32, from_offset: u64, bytes: u64) -> Option<u64> {
        let file = self.tables.instances.at(source)?.file;
        let rest = || Some(self.names.size(file)?.saturating_sub(from_offset));
        if bytes == 0 { rest() } else { Some(bytes) }
    }

    /// Neither position is used or moved.
    fn shared(
        &mut self,
        thread: u32,
        r: &Record<'_>,
        (from, from_offset): (u32, u64),
        (to, to_offset): (u32, u64),
        bytes: u64,
    ) {
        let known = |place| self.tables.instances.at(place).copied();
        let (Some(source), Some(target)) = (known(from), known(to)) else { return };
        if r.outcome.errno == 0 {
            match self.cloned(from, from_offset, bytes) {
                Some(bytes) => self.names.grow(target.file, to_offset.saturating_add(bytes)),
                None => self.names.set_size(target.file, None),
            }
            // Other operations may not show its size.
            let size_bytes = self.names.size(source.file).filter(|_| bytes == 0);
            self.found_size(source.path, size_bytes);
        }
        let done = Done {
            path2: source.path,
            instance2: source.number,
            offset: to_offset,
            from: from_offset,
            requested: bytes,
            ..Done::on(Op::Freflink, &target)
        };
        self.emit(thread, r, done);
    }
}

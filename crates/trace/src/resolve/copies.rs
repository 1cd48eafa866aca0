//! Bytes that go from one descriptor to another without passing through the program.
//!
//! ```text
//! copy_file_range(3, NULL, 4, NULL, 4096, 0) = 4096   ──▶ fcopy
//! sendfile(4, 3, NULL, 4096) = 4096                   ──▶ fread without time, fwrite
//! ioctl(4, FICLONE, 3) = 0                            ──▶ freflink
//! ```

use super::calls::{flag, moved};
use super::table::Instance;
use super::{Done, Meaning, Resolver, is_fault};
use crate::gaps::Gap;
use crate::record::{Act, Call, Outcome, Record};
use model::Op;
use model::event::{FLAG_AT_POSITION, FLAG_FROM_POSITION, FLAG_SHORT, FLAG_UNPLACED};

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
    pub(crate) fn between(&mut self, thread: u32, r: &Record<'_>) {
        let (call, errno) = (&r.call, r.outcome.errno);
        let bytes = requested(call.bytes, moved(r));
        let (from, to) = (self.meaning(thread, call.at.dir), self.meaning(thread, call.to.dir));
        match (&from, &to) {
            (Meaning::File(_), Meaning::File(_)) if errno != 0 && !is_fault(errno, Op::Fcopy) => {
                self.gaps.add_name(Gap::FailedCopies, r.name);
            }
            (Meaning::File(from), Meaning::File(to))
                if call.act != Act::Send && self.keeps(from, to) =>
            {
                self.copied(thread, r, from, to, bytes);
            }
            _ => self.sent(thread, r, &from, &to, bytes),
        }
    }

    /// The files of both are kept. Both are asked: what is kept decides what paths are below.
    fn keeps(&mut self, from: &Instance, to: &Instance) -> bool {
        let [from, to] = [from, to].map(|instance| self.is_kept(instance.path));
        from && to
    }

    /// A read without time, then a write of what was read. With a pipe or socket on one side only the
    /// other one is left.
    fn sent(&mut self, thread: u32, r: &Record<'_>, from: &Meaning, to: &Meaning, requested: u64) {
        let (moved, Call { offset, to_offset, .. }) = (moved(r), r.call);
        match (from, to) {
            (Meaning::File(_), Meaning::File(to)) if r.outcome.errno != 0 => {
                self.moved(thread, to, r, Op::Fwrite, requested, to_offset);
            }
            (Meaning::File(from), Meaning::File(to)) => {
                self.gaps.add(Gap::Halves);
                let no_time = Record { elapsed_ns: Some(0), ..*r };
                self.moved(thread, from, &no_time, Op::Fread, requested, offset);
                // Where the source has ended, nothing is written.
                if moved > 0 {
                    self.moved(thread, to, r, Op::Fwrite, moved, to_offset);
                }
            }
            (Meaning::File(from), _) => {
                self.moved(thread, from, r, Op::Fread, requested, offset);
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
        source: &Instance,
        target: &Instance,
        requested: u64,
    ) {
        let (moved, ok, Call { offset, to_offset, .. }) = (moved(r), r.outcome.errno == 0, r.call);
        let starts = [offset.or(source.position.get()), to_offset.or(target.position.get())];
        let (short, unplaced) = (ok && moved < requested, ok && starts.contains(&None));
        if ok {
            let ends = starts.map(|start| Some(start?.saturating_add(moved)));
            for (instance, offset, end) in [(source, offset, ends[0]), (target, to_offset, ends[1])]
            {
                if offset.is_none() {
                    instance.position.set(end);
                }
            }
            self.reached(source, Op::Fread, ends[0], short && moved > 0);
            self.reached(target, Op::Fwrite, ends[1], false);
        }
        if unplaced {
            self.gaps.add(Gap::Unplaced);
        }
        let mut done = Done::on(Op::Fcopy, target);
        done.details.instance2 = source.number;
        let event = &mut done.event;
        event.path2 = source.path;
        (event.offset_bytes, event.from_bytes) = (starts[1].unwrap_or(0), starts[0].unwrap_or(0));
        (event.requested_bytes, event.done_bytes) = (requested, moved);
        event.flags = flag(short, FLAG_SHORT)
            | flag(unplaced, FLAG_UNPLACED)
            | flag(to_offset.is_none(), FLAG_AT_POSITION)
            | flag(offset.is_none(), FLAG_FROM_POSITION);
        self.emit(thread, r, done);
    }

    /// A file gets bytes of another one, which both share. Where they cannot, programs copy: only errors
    /// of storage are kept, as of copies.
    pub(crate) fn clones(&mut self, thread: u32, r: &Record<'_>) {
        let (from, to) = (self.meaning(thread, r.call.at.dir), self.meaning(thread, r.call.to.dir));
        let errno = r.outcome.errno;
        match (&from, &to) {
            (Meaning::Unknown, _) | (_, Meaning::Unknown) => {
                self.gaps.add_name(Gap::UnknownFiles, r.name);
            }
            (Meaning::File(_), Meaning::File(_))
                if errno != 0 && !is_fault(errno, Op::Freflink) =>
            {
                self.gaps.add_name(Gap::FailedCopies, r.name);
            }
            (Meaning::File(source), Meaning::File(target)) if self.keeps(source, target) => {
                self.shared(thread, r, source, target);
            }
            (Meaning::File(source), Meaning::File(_)) => {
                // Only one of them is kept: as many bytes are read or written.
                let bytes = self.cloned(source, r).unwrap_or(0);
                let outcome = Outcome { value: Some(bytes.cast_signed()), ..r.outcome };
                self.sent(thread, &Record { outcome, ..*r }, &from, &to, bytes);
            }
            _ => self.gaps.add_name(Gap::NoFiles, r.name),
        }
    }

    /// How many bytes a file shares, as far as the log tells.
    fn cloned(&self, source: &Instance, r: &Record<'_>) -> Option<u64> {
        match r.call.bytes {
            0 => Some(self.names.size(source.file)?.saturating_sub(r.call.offset.unwrap_or(0))),
            bytes => Some(bytes),
        }
    }

    /// Neither position is used or moved.
    fn shared(&mut self, thread: u32, r: &Record<'_>, source: &Instance, target: &Instance) {
        let Call { bytes, .. } = r.call;
        let [from, to] = [r.call.offset, r.call.to_offset].map(Option::unwrap_or_default);
        if r.outcome.errno == 0 {
            match self.cloned(source, r) {
                Some(bytes) => self.names.grow(target.file, to.saturating_add(bytes)),
                None => self.names.set_size(target.file, None),
            }
            // Other operations may not show its size.
            let size_bytes = self.names.size(source.file).filter(|_| bytes == 0);
            self.found_size(source.path, size_bytes);
        }
        let mut done = Done::on(Op::Freflink, target);
        done.details.instance2 = source.number;
        done.event.path2 = source.path;
        (done.event.offset_bytes, done.event.from_bytes) = (to, from);
        done.event.requested_bytes = bytes;
        self.emit(thread, r, done);
    }
}

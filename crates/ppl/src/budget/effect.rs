//! What one operation does to counts, files and handles.
//!
//! Operations are taken to succeed in full; only an end of file that is known cuts a read.

use super::abs::{Abs, Why};
use super::files::ONCE;
use super::handles::Handle;
use super::key::Key;
use super::place::{Opened, Place};
use super::walk::Walk;
use crate::check::flags::{self, Meaning};
use model::plan::{Operand, Pc, Source};
use model::{Op, Value};
use std::rc::Rc;

/// Size of the pieces in which the rest of a file is read.
const REST_TRANSFER_BYTES: u64 = 1 << 20;

impl Walk<'_, '_> {
    pub(super) fn argument(&self, args: u32, at: u32) -> Operand {
        self.shared.plan.args.get((args + at) as usize).copied().unwrap_or(Operand::ABSENT)
    }

    /// An operation; the value it gives, or `None` if the rank ends here.
    pub(super) fn operation(&mut self, pc: Pc, op: Op, args: u32) -> Option<Abs> {
        if op == Op::Assert {
            let fails = self.abs(self.argument(args, 0)).condition() == Ok(false);
            return (!(fails && self.is_certain())).then_some(Abs::Unknown(Why::Never));
        }
        if !op.is_io() {
            return Some(Abs::Unknown(Why::Never));
        }
        if self.is_certain() {
            self.tally.count(op, self.weight);
        }
        match op {
            Op::Fopen | Op::Fcreat => return Some(self.open(pc, op, args)),
            Op::Pfopen => return Some(self.pfopen(args)),
            Op::Fclose | Op::Pfclose => {
                if let (Some(number), true) = (self.handle(args), self.is_certain()) {
                    self.handles.close(number);
                }
            }
            Op::Fread => self.fread(pc, args),
            Op::Fwrite => self.fwrite(args),
            Op::Fseek | Op::Pfseek => self.fseek(args),
            Op::Ftruncate | Op::Fallocate | Op::Pfsetsize | Op::Pfpreallocate => {
                self.fresize(op, args);
            }
            Op::Pwrite => self.pwrite(args),
            Op::Pfwrite => self.pfwrite(args),
            Op::Pread | Op::Pfread => self.mpi_bytes(op, args),
            _ => self.path_operation(pc, op, args),
        }
        Some(Abs::Unknown(Why::Never))
    }

    fn path_operation(&mut self, pc: Pc, op: Op, args: u32) {
        match op {
            Op::Write | Op::Append | Op::Create => self.write_file(op, args),
            Op::Read => self.read_file(pc, args),
            Op::Mkdir => {
                let key = self.name(self.argument(args, 0), true);
                self.make(pc, &key, true, true);
            }
            Op::Delete | Op::Rmdir => {
                let key = self.name(self.argument(args, 0), false);
                self.need(pc, &key);
                if self.probing == 0 {
                    self.files.remove(&key);
                }
            }
            Op::Pdelete => {
                let key = self.name(self.argument(args, 0), false);
                if self.probing == 0 {
                    self.files.remove(&key);
                }
            }
            Op::Rename => self.rename(pc, args),
            Op::Link | Op::Symlink => {
                let to = self.name(self.argument(args, 1), false);
                self.shared.watch.made(&to);
                self.shared.watch.written(&to, None, 0);
                if self.probing == 0 {
                    self.files.confuse();
                }
                self.exclusive(pc, &to);
            }
            Op::Truncate => {
                let key = self.name(self.argument(args, 0), false);
                self.need(pc, &key);
                self.resize(&key, args, false);
            }
            Op::Stat | Op::Lookup | Op::Chmod | Op::Utime | Op::Readlink => {
                let key = self.key(self.argument(args, 0));
                self.need(pc, &key);
            }
            _ => {}
        }
    }

    /// The name that an argument is. `counts`: figures hang on it.
    pub(super) fn name(&mut self, operand: Operand, counts: bool) -> Key {
        let key = self.key(operand);
        if let Some(why) = key.vague.filter(|_| counts) {
            self.files_hang_on(why);
        }
        key
    }

    /// A number of bytes; `None` if it is not known.
    fn size(&mut self, operand: Operand) -> Option<u64> {
        match self.abs(operand).int() {
            Ok(size) => u64::try_from(size).ok(),
            Err(why) => {
                self.hangs_on(why);
                None
            }
        }
    }

    pub(super) fn buffer(&mut self, bytes: u64) {
        let transfer = self.options.last().and_then(|active| active.transfer_bytes);
        let largest = bytes.min(transfer.unwrap_or(model::limits::CALL_BYTES));
        if self.is_certain() {
            self.tally.buffer_bytes = self.tally.buffer_bytes.max(largest);
        }
    }

    /// Counts bytes of an operation, so many in each execution.
    pub(super) fn moved(&mut self, op: Op, bytes: Option<u64>) {
        if self.is_certain() {
            let bytes = bytes.map(|bytes| bytes.saturating_mul(self.weight));
            self.tally.bytes(op, bytes);
        }
    }

    fn expects_errors(&self) -> bool {
        self.options.last().is_some_and(|active| active.expects)
    }

    fn exclusive(&mut self, pc: Pc, key: &Key) {
        if self.is_certain() && !self.expects_errors() {
            self.shared.watch.exclusive(pc, key);
        }
    }

    fn need(&mut self, pc: Pc, key: &Key) {
        if self.is_certain() && !self.expects_errors() {
            self.shared.watch.needed(pc, key);
        }
    }

    /// A name is made. `exclusive`: it is an error if it is there.
    fn make(&mut self, pc: Pc, key: &Key, directory: bool, exclusive: bool) {
        if self.probing > 0 {
            return;
        }
        if exclusive {
            self.exclusive(pc, key);
        }
        self.shared.watch.made(key);
        if self.is_certain() {
            self.files.make(key, directory, &mut self.shared.claims);
        }
    }

    /// `write`, `append`, `create`
    fn write_file(&mut self, op: Op, args: u32) {
        let key = self.name(self.argument(args, 0), true);
        let bytes = if op == Op::Create { Some(0) } else { self.size(self.argument(args, 1)) };
        if op != Op::Create {
            self.moved(op, bytes);
            self.buffer(bytes.unwrap_or(0));
        }
        let offset = if op == Op::Write { self.argument(args, 2) } else { Operand::ABSENT };
        let start = if offset == Operand::ABSENT { Some(0) } else { self.size(offset) };
        if self.probing > 0 {
            return;
        }
        self.shared.watch.made(&key);
        if !self.is_certain() {
            return self.perhaps_written(&key, op != Op::Append);
        }
        let total = bytes.map(|bytes| bytes.saturating_mul(self.weight));
        self.shared.watch.written(&key, total, self.weight);
        self.files.make(&key, false, &mut self.shared.claims);
        let bytes = bytes.unwrap_or(0);
        if op == Op::Append {
            return self.files.write(&key, Place::End, bytes, 0);
        }
        match start {
            // What it held and is not written again is gone.
            Some(0) => self.files.rewrite(&key, bytes),
            Some(start) => {
                self.files.resize(&key, 0);
                self.files.write(&key, Place::At(start), bytes, ONCE);
            }
            None => self.files.resize(&key, 0),
        }
    }

    /// Code that may not run changes a file.
    fn perhaps_written(&mut self, key: &Key, truncates: bool) {
        self.shared.watch.written(key, None, 0);
        if truncates {
            self.files.resize(key, 0);
        }
        self.files.doubt_sizes();
    }

    fn read_file(&mut self, pc: Pc, args: u32) {
        let key = self.key(self.argument(args, 0));
        self.need(pc, &key);
        let (bytes, offset) = (self.argument(args, 1), self.argument(args, 2));
        let start = if offset == Operand::ABSENT { Some(0) } else { self.size(offset) };
        let left = self.left(&key, start);
        if bytes == Operand::ABSENT {
            self.moved(Op::Read, left);
            return self.buffer(REST_TRANSFER_BYTES.min(left.unwrap_or(u64::MAX)));
        }
        let asked = self.size(bytes);
        self.moved(Op::Read, cut(asked, left));
        self.buffer(asked.unwrap_or(0));
        if let (Some(asked), Some(start), true) = (asked, start, self.is_certain()) {
            self.shared.watch.read(pc, &key, asked.saturating_add(start), 1);
        }
    }

    /// Bytes from a position to the end of a file, if its size is known.
    fn left(&self, key: &Key, start: Option<u64>) -> Option<u64> {
        let size = self.files.size(key)?;
        Some(size.saturating_sub(start?))
    }

    fn rename(&mut self, pc: Pc, args: u32) {
        let (from, to) = (self.argument(args, 0), self.argument(args, 1));
        let (from, to) = (self.name(from, false), self.name(to, false));
        self.need(pc, &from);
        if self.probing > 0 {
            return;
        }
        self.shared.watch.made(&to);
        self.shared.watch.written(&to, None, 0);
        if self.is_certain() {
            self.files.rename(&from, &to, &mut self.shared.claims);
        } else {
            self.files.confuse();
        }
    }

    /// `fopen`, `fcreat`
    fn open(&mut self, pc: Pc, op: Op, args: u32) -> Abs {
        let key = self.name(self.argument(args, 0), false);
        let meaning = match op {
            Op::Fcreat => Some(flags::meaning(b"w")),
            _ => match self.abs(self.argument(args, 1)) {
                Abs::Known(Value::Str(text)) => Some(flags::meaning(&text)),
                _ => None,
            },
        };
        if let Some(why) = key.vague.filter(|_| meaning.is_none_or(|meaning| meaning.creates)) {
            self.files_hang_on(why);
        }
        if self.probing > 0 {
            return Abs::Unknown(Why::Never);
        }
        let Some(Meaning { creates, exclusive, truncates, appends }) = meaning else {
            self.perhaps_written(&key, true);
            return Abs::Unknown(Why::Never);
        };
        if creates {
            self.make(pc, &key, false, exclusive);
        } else {
            self.need(pc, &key);
        }
        if truncates {
            self.files.resize(&key, 0);
        }
        if !self.is_certain() {
            return Abs::Unknown(Why::Never);
        }
        let file = self.files.file(&key);
        let number = self.handles.open(Rc::new(key), self.level, self.weight);
        let handle = &mut self.handles.list[number as usize];
        (handle.appends, handle.file) = (appends, file);
        Abs::Handle(number)
    }

    /// The handle that the first argument is.
    pub(super) fn handle(&self, args: u32) -> Option<u32> {
        match self.argument(args, 0).source() {
            Source::Slot(slot) => match self.value(slot) {
                Abs::Handle(number) => Some(number),
                _ => None,
            },
            _ => None,
        }
    }

    /// `fwrite` of a pattern: positions stay, the file is as long as the pattern.
    fn fwrite_pattern(&mut self, args: u32) {
        if self.probing > 0 {
            return;
        }
        let Some(number) = self.handle(args) else { return self.files.doubt_sizes() };
        let handle = self.handles.list[number as usize].clone();
        self.shared.watch.written(&handle.key, None, self.weight);
        let end = self.pattern_end(self.argument(args, 1));
        let known = handle.file.is_some() && handle.file == self.files.file(&handle.key);
        match end.filter(|_| known && self.argument(args, 2) == Operand::ABSENT) {
            Some(bytes) if self.is_certain() => {
                let additive_from = handle.level.max(self.seeks_below);
                self.files.write(&handle.key, Place::At(0), bytes, additive_from);
            }
            _ => self.perhaps_written(&handle.key, false),
        }
    }

    fn fwrite(&mut self, args: u32) {
        if self.moved_by_pattern(Op::Fwrite, self.argument(args, 1)) {
            return self.fwrite_pattern(args);
        }
        let bytes = self.size(self.argument(args, 1));
        self.moved(Op::Fwrite, bytes);
        self.buffer(bytes.unwrap_or(0));
        let offset = self.offset(args, 2);
        if self.probing > 0 {
            return;
        }
        let Some(number) = self.handle(args) else { return self.files.doubt_sizes() };
        let handle = self.handles.list[number as usize].clone();
        if !self.is_certain() {
            self.handles.go_to(number, None);
            return self.perhaps_written(&handle.key, false);
        }
        let total = bytes.map(|bytes| bytes.saturating_mul(self.weight));
        self.shared.watch.written(&handle.key, total, self.weight);
        let Some(bytes) = bytes else {
            self.handles.go_to(number, None);
            return self.files.doubt_sizes();
        };
        if handle.file.is_none() || handle.file != self.files.file(&handle.key) {
            self.handles.go_to(number, None);
            return self.files.doubt_sizes();
        }
        let place = offset.unwrap_or_else(|| self.onward(&handle, number, bytes));
        let additive_from = handle.level.max(self.seeks_below);
        self.files.write(&handle.key, place, bytes, additive_from);
    }

    /// Where a write with an offset goes.
    pub(super) fn offset(&mut self, args: u32, at: u32) -> Option<Place> {
        let offset = self.argument(args, at);
        if offset == Operand::ABSENT {
            return None;
        }
        Some(match self.abs(offset) {
            Abs::Turn(turn) => Place::Turn(turn),
            other => match other.int() {
                Ok(start) => Place::At(u64::try_from(start).unwrap_or(0)),
                Err(why) => {
                    self.files_hang_on(why);
                    Place::Somewhere
                }
            },
        })
    }

    /// Where a write without an offset goes; the position moves on.
    pub(super) fn onward(&mut self, handle: &Handle, number: u32, bytes: u64) -> Place {
        let next = handle.position.map(|position| position.saturating_add(bytes));
        match handle.turn {
            Some(turn) => self.handles.go_to_turn(number, turn.moved(bytes), handle.why),
            None => self.handles.go_to(number, next),
        }
        match (handle.position, handle.turn) {
            _ if handle.appends => Place::End,
            (Some(position), _) => Place::Onward(position, Opened { number, level: handle.level }),
            (None, Some(turn)) => Place::Turn(turn),
            (None, None) => {
                self.files_hang_on(handle.why);
                Place::Somewhere
            }
        }
    }

    fn fread(&mut self, pc: Pc, args: u32) {
        if self.moved_by_pattern(Op::Fread, self.argument(args, 1)) {
            return;
        }
        let (count, offset) = (self.argument(args, 1), self.argument(args, 2));
        let asked = if count == Operand::ABSENT { None } else { self.size(count) };
        let handle = self.handle(args);
        let known = handle.map(|number| self.handles.list[number as usize].clone());
        let start = match offset {
            Operand::ABSENT => known.as_ref().and_then(|handle| handle.position),
            offset => self.abs(offset).int().ok().and_then(|start| u64::try_from(start).ok()),
        };
        let left = known.as_ref().and_then(|handle| self.left(&handle.key, start));
        let rest = if count == Operand::ABSENT { left } else { asked };
        // In a loop that is looked at as a whole, later turns may meet the end.
        let cuts = known.as_ref().is_some_and(|handle| handle.weight == self.weight);
        self.moved(Op::Fread, if cuts { cut(rest, left) } else { rest });
        self.buffer(asked.unwrap_or(REST_TRANSFER_BYTES.min(left.unwrap_or(u64::MAX))));
        if let (Some(number), Operand::ABSENT, true) = (handle, offset, self.probing == 0) {
            self.read_onward(pc, number, rest);
        }
    }

    /// A read without a position moves on, and adds up with others of the handle.
    fn read_onward(&mut self, pc: Pc, number: u32, bytes: Option<u64>) {
        let position = self.handles.list[number as usize].position;
        let next = position.zip(bytes).map(|(from, bytes)| from.saturating_add(bytes));
        let certain = self.is_certain();
        self.handles.go_to(number, next.filter(|_| certain));
        let handle = &mut self.handles.list[number as usize];
        if certain && let Some(bytes) = bytes {
            let times = self.weight / handle.weight.max(1);
            handle.asked_bytes = handle.asked_bytes.saturating_add(bytes.saturating_mul(times));
            handle.reads = handle.reads.saturating_add(times);
            handle.site = Some(pc);
        }
    }

    fn fseek(&mut self, args: u32) {
        let to = self.abs(self.argument(args, 1));
        let (Some(number), 0) = (self.handle(args), self.probing) else { return };
        match to {
            _ if !self.is_certain() => self.handles.go_to(number, None),
            Abs::Turn(turn) => self.handles.go_to_turn(number, Some(turn), Why::Turn(turn.level)),
            other => match other.int() {
                Ok(to) => self.handles.go_to(number, u64::try_from(to).ok()),
                Err(why) => self.handles.go_to_turn(number, None, why),
            },
        }
        // What is read from here on does not add up with what was read before.
        let handle = &mut self.handles.list[number as usize];
        (handle.asked_bytes, handle.reads) = (0, 0);
    }

    /// `ftruncate`, `fallocate`, and those of MPI-IO
    fn fresize(&mut self, op: Op, args: u32) {
        if self.probing > 0 {
            return;
        }
        match self.handle(args) {
            Some(number) => {
                let key = Rc::clone(&self.handles.list[number as usize].key);
                self.shared.watch.written(&key, None, 0);
                self.resize(&key, args, matches!(op, Op::Fallocate | Op::Pfpreallocate));
            }
            None => self.files.forget_all(),
        }
    }

    /// A file gets the size of the second argument, or what is left of it if that is not known.
    fn resize(&mut self, key: &Key, args: u32, allocate: bool) {
        if self.probing > 0 {
            return;
        }
        self.shared.watch.written(key, None, 0);
        let size = self.abs(self.argument(args, 1)).int().ok().and_then(|n| u64::try_from(n).ok());
        match size.filter(|_| self.is_certain()) {
            Some(size) if allocate => {
                // It does not make a file shorter.
                self.files.write(key, Place::At(0), size, ONCE);
            }
            Some(size) => self.files.resize(key, size),
            None => {
                if !allocate {
                    self.files.resize(key, 0);
                }
                self.files.doubt_sizes();
            }
        }
    }

    /// Bytes of an MPI-IO operation: a pattern's or a number.
    pub(super) fn mpi_bytes(&mut self, op: Op, args: u32) {
        let operand = self.argument(args, 1);
        if !self.moved_by_pattern(op, operand) {
            let bytes = self.size(operand);
            self.moved(op, bytes);
        }
    }
}

/// The smaller of what is asked for and what is there, as far as that is known.
fn cut(asked: Option<u64>, left: Option<u64>) -> Option<u64> {
    asked.map(|asked| left.map_or(asked, |left| asked.min(left)))
}

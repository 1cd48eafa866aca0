//! What statements of MPI-IO do to files and handles.
//!
//! One file is written by many ranks: who is looked at first counts it, with all bytes of a pattern.
//! Ranks looked at after it add what they write behind everything that was counted before.

use super::abs::{Abs, Why};
use super::files::ONCE;
use super::key::Key;
use super::place::Place;
use super::walk::Walk;
use model::pattern::Shape;
use model::plan::{Instr, Operand, Plan};
use model::{Op, Value};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Files that ranks looked at one by one write together.
#[derive(Default)]
pub(super) struct Together {
    /// By name: everything that was counted lies before this position.
    ends: FxHashMap<u64, u64>,
    /// Files lose bytes or names: nothing is added.
    shrinks: bool,
}

impl Together {
    pub(super) fn of(plan: &Plan) -> Together {
        let shrinks = plan.code.iter().any(|instr| match instr {
            Instr::Op { op, .. } => matches!(
                op,
                Op::Pdelete
                    | Op::Delete
                    | Op::Rename
                    | Op::Truncate
                    | Op::Ftruncate
                    | Op::Pfsetsize
                    | Op::Write
                    | Op::Create
                    | Op::Fcreat
                    | Op::Fopen
            ),
            _ => false,
        });
        Together { ends: FxHashMap::default(), shrinks }
    }
}

impl Walk<'_, '_> {
    /// `$h = pfopen(path, mode)`
    pub(super) fn pfopen(&mut self, args: u32) -> Abs {
        let key = self.name(self.argument(args, 0), false);
        if self.probing > 0 {
            return Abs::Unknown(Why::Never);
        }
        let mode = match self.abs(self.argument(args, 1)) {
            Abs::Known(Value::Str(text)) => text,
            _ => return self.unknown_open(&key),
        };
        if mode.contains(&b'c') {
            if let Some(why) = key.vague {
                self.files_hang_on(why);
            }
            self.make_together(&key);
        } else {
            // What it holds already is not known.
            self.note_end(&key, u64::MAX);
        }
        if !self.is_certain() {
            return Abs::Unknown(Why::Never);
        }
        let file = self.files.file(&key);
        let number = self.handles.open(Rc::new(key), self.level, self.weight);
        let handle = &mut self.handles.list[number as usize];
        (handle.appends, handle.file) = (mode.contains(&b'a'), file);
        Abs::Handle(number)
    }

    fn unknown_open(&mut self, key: &Key) -> Abs {
        self.shared.watch.made(key);
        self.files.doubt_sizes();
        Abs::Unknown(Why::Never)
    }

    /// Members make one file: nobody collides.
    fn make_together(&mut self, key: &Key) {
        self.shared.watch.made(key);
        if self.is_certain() {
            self.files.make(key, false, &mut self.shared.claims);
        }
    }

    /// `pwrite(path, pattern)`
    pub(super) fn pwrite(&mut self, args: u32) {
        self.mpi_bytes(Op::Pwrite, args);
        let key = self.name(self.argument(args, 0), true);
        if self.probing > 0 {
            return;
        }
        self.make_together(&key);
        self.write_together(&key, self.argument(args, 1));
    }

    /// `pfwrite($h, pattern)`, `pfwrite($h, n [, off] [, word])`
    pub(super) fn pfwrite(&mut self, args: u32) {
        let what = self.argument(args, 1);
        self.mpi_bytes(Op::Pfwrite, args);
        if self.probing > 0 {
            return;
        }
        let Some(number) = self.handle(args) else { return self.files.doubt_sizes() };
        let handle = self.handles.list[number as usize].clone();
        if self.pattern(what).is_some() {
            return self.write_together(&handle.key, what);
        }
        self.shared.watch.written(&handle.key, None, 0);
        let bytes = self.abs(what).int().ok().and_then(|bytes| u64::try_from(bytes).ok());
        let word = self.abs(self.argument(args, 3));
        let shared = matches!(&word, Abs::Known(Value::Str(word)) if *word != *b"all");
        let Some(bytes) = bytes.filter(|_| self.is_certain() && !shared) else {
            self.handles.go_to(number, if shared { handle.position } else { None });
            return self.files.doubt_sizes();
        };
        let offset = self.offset(args, 2);
        let place = offset.unwrap_or_else(|| self.onward(&handle, number, bytes));
        if handle.file.is_some() && handle.file == self.files.file(&handle.key) {
            self.files.write(&handle.key, place, bytes, handle.level.max(self.seeks_below));
        }
        self.add_behind(&handle.key, place, bytes, handle.file.is_none());
    }

    /// All members write a pattern: who counts the file counts all their bytes.
    fn write_together(&mut self, key: &Key, what: Operand) {
        self.shared.watch.written(key, None, 0);
        let covered = self.pattern(what).and_then(|pattern| {
            let members = self.group_of(pattern).len() as u32;
            let shape = pattern.geometry.shape()?;
            shape.check(members).ok()?;
            covered(shape, members)
        });
        match covered.filter(|_| self.is_certain()) {
            Some((start, bytes)) => {
                self.files.write(key, Place::At(start), bytes, ONCE);
                self.note_end(key, start.saturating_add(bytes));
            }
            None => {
                self.files.doubt_sizes();
                self.note_end(key, u64::MAX);
            }
        }
    }

    fn note_end(&mut self, key: &Key, end: u64) {
        let known = self.shared.together.ends.entry(key.hash()).or_default();
        *known = end.max(*known);
    }

    /// Bytes behind everything that was counted of a file. `other`: another rank counts the file.
    fn add_behind(&mut self, key: &Key, place: Place, bytes: u64, other: bool) {
        let (Place::At(start) | Place::Onward(start, _), 1) = (place, self.weight) else {
            return self.note_end(key, u64::MAX);
        };
        let known = self.shared.together.ends.get(&key.hash()).copied();
        let adds = other && !self.shared.together.shrinks && key.vague.is_none();
        if adds && known.is_some_and(|known| start >= known) {
            self.files.add_elsewhere(bytes);
        }
        self.note_end(key, start.saturating_add(bytes));
    }
}

/// First byte and number of bytes of a pattern without holes.
fn covered(shape: &dyn Shape, members: u32) -> Option<(u64, u64)> {
    let covers = shape.promise(members).covers?;
    Some((covers.start, covers.end.saturating_sub(covers.start)))
}

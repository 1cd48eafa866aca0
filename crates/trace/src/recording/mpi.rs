//! Calls of MPI-IO that a program made: sums by file, as the calls of POSIX below them are events.

use super::file::Slot;
use crate::gaps::{Gap, Gaps};
use crate::selection::Selection;
use crate::sums::{Sum, Sums};
use hashbrown::HashMap;
use model::Op;
use rustc_hash::FxBuildHasher;
use std::collections::BTreeMap;

/// Suffix of the program's name in labels of its MPI-IO.
const LABEL: &str = "mpi-io";

/// Sums of one process and operation on a file.
type OfFile = BTreeMap<(u32, u8), Sum>;

/// MPI-IO of the processes of a folder.
#[derive(Debug, Default)]
pub struct MpiIo {
    /// Names of programs by process.
    programs: HashMap<u32, Box<[u8]>, FxBuildHasher>,
    files: HashMap<Box<[u8]>, OfFile, FxBuildHasher>,
}

impl MpiIo {
    /// A process executes a program.
    pub fn executes(&mut self, process: u32, path: &[u8]) {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        self.programs.insert(process, name.into());
    }

    /// A process is a copy of its parent.
    pub fn forked(&mut self, process: u32, parent: u32) {
        if let Some(name) = self.programs.get(&parent).cloned() {
            self.programs.insert(process, name);
        }
    }

    /// The name of the program that a process executes.
    pub fn program(&self, process: u32) -> &[u8] {
        self.programs.get(&process).map_or(&b"?"[..], |name| name)
    }

    /// A process made a call on a file.
    pub fn call(&mut self, process: u32, op: Op, path: &[u8], slot: &Slot) {
        let of_file = self.files.entry_ref(path).or_default();
        let elapsed_ns = slot.end_ns.saturating_sub(slot.start_ns);
        let sum = Sum {
            count: 1,
            bytes: if moves(op) { u64::try_from(slot.value).unwrap_or(0) } else { 0 },
            busy_ns: Some(elapsed_ns),
            max_ns: Some(elapsed_ns),
            span_ns: Some((slot.start_ns, slot.end_ns)),
        };
        of_file.entry((process, op as u8)).or_default().add(&sum);
    }

    /// Adds what was done on files that are kept.
    pub fn tell(&mut self, which: &Selection, sums: &mut Sums, gaps: &mut Gaps) {
        let kept = std::mem::take(&mut self.files).into_iter();
        let mut kept = kept.filter(|(path, _)| which.keeps(path)).peekable();
        if kept.peek().is_some() {
            gaps.add_name(Gap::Sums, b"MPI-IO");
        }
        for ((process, op), sum) in kept.flat_map(|(_, of_file)| of_file) {
            let program = String::from_utf8_lossy(self.program(process));
            let label = format!("{program}/{LABEL}");
            if let Some(op) = Op::from_u8(op) {
                sums.add(&label, op, None, &sum);
            }
        }
    }
}

fn moves(op: Op) -> bool {
    matches!(op, Op::Pfread | Op::Pfwrite)
}

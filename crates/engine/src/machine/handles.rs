//! File handles: the numbers that variables hold, and the files behind them.
//!
//! A number is a place in the table and its generation, so that a handle used
//! after `fclose` is not taken for the next file in the same place.

use super::evidence::Dirty;
use super::path::Place;
use crate::call::{Fd, MpiFile};
use crate::comm::Members;
use model::value::{Eval, EvalError, Value};
use std::collections::HashSet;

/// A file that a program opened, or failed to open.
#[derive(Debug, Default)]
pub(super) struct Handle {
    generation: u32,
    state: State,
    /// The path it was opened with, for messages.
    pub(super) path: Vec<u8>,
    /// Its id in the event table.
    pub(super) path_id: u32,
    /// Where transfers without an offset start, bytes.
    pub(super) position: u64,
    pub(super) mode: Mode,
    /// The ranks that opened it (MPI files).
    members: Option<Members>,
    /// How many MPI files the same members had opened before.
    number: u32,
    /// A size that the MPI file was seen to have, bytes.
    pub(super) seen_bytes: u64,
    /// Bytes written through it that are not fsynced.
    pub(super) dirty: Dirty,
    /// It holds a lock of its file.
    pub(super) locked: bool,
    /// Operations under way on it, and whether one of them makes it stable.
    pub(super) under_way: u32,
    pub(super) syncing: bool,
}

/// How a file is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mode {
    /// Writes go to the end.
    pub(super) append: bool,
    /// It can be written.
    pub(super) writable: bool,
    /// Writes return when they are stable (O_SYNC, O_DSYNC).
    pub(super) stable: bool,
    /// It was opened without a name (O_TMPFILE).
    pub(super) nameless: bool,
    /// Its bytes are moved through a mapping.
    pub(super) mapped: bool,
    /// O_DIRECT and what it wants.
    pub(super) direct: Option<u32>,
    /// The directory of its file.
    pub(super) place: Place,
}

impl Mode {
    /// The mode that flags of open(2) give, without O_DIRECT.
    pub(super) fn of(flags: i32) -> Mode {
        Mode {
            append: flags & libc::O_APPEND != 0,
            writable: flags & libc::O_ACCMODE != libc::O_RDONLY,
            stable: flags & libc::O_DSYNC != 0,
            nameless: flags & libc::O_TMPFILE == libc::O_TMPFILE,
            ..Mode::default()
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Free,
    /// The open failed, or was left out by `--only`.
    Failed,
    Open(Fd),
    Mpi(MpiFile),
}

/// The table of one rank.
#[derive(Debug, Default)]
pub(super) struct Handles {
    table: Vec<Handle>,
    free: Vec<u32>,
    /// MPI files opened so far, by set of members: alike on all of them.
    opened: Vec<u32>,
}

impl Handles {
    /// Keeps a file; without a descriptor: one whose open failed. Gives the variable's value.
    pub(super) fn add(&mut self, fd: Option<Fd>, mode: Mode, path: &[u8], path_id: u32) -> Value {
        let state = fd.map_or(State::Failed, State::Open);
        self.keep(state, mode, path, path_id)
    }

    /// Keeps an MPI file; `None`: one whose open failed, on all members.
    pub(super) fn add_mpi(
        &mut self,
        file: Option<MpiFile>,
        members: Members,
        (mode, position): (Mode, u64),
        path: &[u8],
        path_id: u32,
    ) -> Value {
        let value = self.keep(file.map_or(State::Failed, State::Mpi), mode, path, path_id);
        if let Ok(Some(at)) = self.find(&value) {
            let number = self.count_opened(&members);
            let handle = &mut self.table[at];
            (handle.members, handle.position) = (Some(members), position);
            (handle.number, handle.seen_bytes) = (number, 0);
        }
        value
    }

    /// How many files these members had opened before; a rank alone agrees with nobody about it.
    fn count_opened(&mut self, members: &Members) -> u32 {
        if members.is_alone() {
            return 0;
        }
        let set = members.set as usize;
        if self.opened.len() <= set {
            self.opened.resize(set + 1, 0);
        }
        let before = self.opened[set];
        self.opened[set] = before.wrapping_add(1);
        before
    }

    fn keep(&mut self, state: State, mode: Mode, path: &[u8], path_id: u32) -> Value {
        let at = self.free.pop().unwrap_or_else(|| {
            self.table.push(Handle::default());
            self.table.len() as u32 - 1
        });
        let handle = &mut self.table[at as usize];
        (handle.state, handle.dirty, handle.locked) = (state, Dirty::default(), false);
        (handle.mode, handle.path_id, handle.position) = (mode, path_id, 0);
        handle.path.clear();
        handle.path.extend_from_slice(path);
        Value::Handle(u64::from(handle.generation) << 32 | u64::from(at), 0)
    }

    /// The place of a handle in the table; `None` once it is closed.
    #[inline(always)]
    pub(super) fn find(&self, value: &Value) -> Eval<Option<usize>> {
        let Value::Handle(number, _) = value else { return Err(not_a_handle(value)) };
        let (at, generation) = (*number as u32 as usize, (number >> 32) as u32);
        let current = self.table.get(at).is_some_and(|handle| handle.generation == generation);
        Ok(current.then_some(at))
    }

    /// Its file; `None` if the open failed.
    #[inline(always)]
    pub(super) fn fd(&self, at: usize) -> Option<Fd> {
        match self.table[at].state {
            State::Open(fd) => Some(fd),
            _ => None,
        }
    }

    /// Its MPI file, who opened it together, and how many files they had opened before.
    pub(super) fn mpi_file(&self, at: usize) -> Option<(MpiFile, &Members, u32)> {
        let handle = &self.table[at];
        match (handle.state, &handle.members) {
            (State::Mpi(file), Some(members)) => Some((file, members, handle.number)),
            _ => None,
        }
    }

    #[inline(always)]
    pub(super) fn get(&mut self, at: usize) -> &mut Handle {
        &mut self.table[at]
    }

    /// Forgets a handle, whose path stays readable until the place is used again.
    pub(super) fn remove(&mut self, at: usize) {
        let handle = &mut self.table[at];
        handle.state = State::Free;
        handle.generation = handle.generation.wrapping_add(1);
        self.free.push(at as u32);
    }

    /// Positions of all files, closed ones included.
    pub(super) fn positions(&self) -> impl Iterator<Item = u64> + '_ {
        self.table.iter().map(|handle| handle.position)
    }

    /// Sets them.
    pub(super) fn set_positions(&mut self, positions: impl Iterator<Item = u64>) {
        self.table.iter_mut().zip(positions).for_each(|(handle, at)| handle.position = at);
    }

    /// Files that are open, with their descriptors.
    pub(super) fn open(&self) -> impl Iterator<Item = (Fd, &Handle)> + '_ {
        self.table.iter().filter_map(|handle| match handle.state {
            State::Open(fd) => Some((fd, handle)),
            _ => None,
        })
    }

    /// The values of all open handles, each with its descriptor or MPI file.
    pub(super) fn list(&self) -> impl Iterator<Item = (u64, Result<Fd, MpiFile>, &Handle)> + '_ {
        (0..).zip(&self.table).filter_map(|(at, handle)| {
            let file = match handle.state {
                State::Open(fd) => Ok(fd),
                State::Mpi(file) => Err(file),
                State::Free | State::Failed => return None,
            };
            Some((u64::from(handle.generation) << 32 | at, file, handle))
        })
    }

    /// One handle of each file that is open.
    pub(super) fn open_files(&self) -> impl Iterator<Item = Fd> + '_ {
        let mut seen = HashSet::new();
        let is_first = move |(_, handle): &(Fd, &Handle)| {
            handle.mode.nameless || seen.insert((handle.mode.place, handle.path.clone()))
        };
        self.open().filter(is_first).map(|(fd, _)| fd)
    }
}

#[cold]
fn not_a_handle(value: &Value) -> EvalError {
    match value {
        Value::Unset => EvalError::Unset,
        value => EvalError::Type("a file handle", value.describe()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::event::NO_ID;

    #[test]
    fn a_closed_handle_is_not_the_next_one() {
        let mut handles = Handles::default();
        let first = handles.add(Some(Fd(7)), Mode::of(0), b"a", NO_ID);
        let at = handles.find(&first).unwrap().unwrap();
        assert_eq!(handles.fd(at), Some(Fd(7)));
        handles.remove(at);
        assert_eq!(handles.find(&first), Ok(None));
        let second = handles.add(None, Mode::of(0), b"b", NO_ID);
        assert_ne!(first, second);
        assert_eq!(handles.find(&first), Ok(None));
        let at = handles.find(&second).unwrap().unwrap();
        assert_eq!(handles.fd(at), None);
        assert_eq!(handles.open().count(), 0);
        assert!(handles.find(&Value::Int(3)).is_err());
        assert_eq!(handles.find(&Value::Unset), Err(EvalError::Unset));
    }
}

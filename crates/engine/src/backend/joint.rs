//! MPI files over files in memory, for ranks that are simulated in one thread: what members do
//! together they do one after the other.

use super::{Backend, Capabilities, Mem};
use crate::call::{At, Call, Fd, FileCall, MpiFile, MpiMode, Queued, Reply, Submitted, Tag};
use crate::clock::Virtual;
use model::pattern::{Extent, Run};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CStr;
use std::rc::Rc;

/// Shared file pointers of all ranks, by number of the file.
pub(crate) type Pointers = Rc<RefCell<HashMap<u32, u64>>>;

/// One rank's files.
pub(crate) struct Joint {
    inner: Mem,
    clock: Virtual,
    /// Open MPI files, with what is seen of them; `None`: all.
    files: Vec<Option<(Fd, Option<usize>)>>,
    views: Vec<Vec<Extent>>,
    pointers: Pointers,
}

impl Joint {
    pub(crate) fn new(inner: Mem, clock: Virtual, pointers: &Pointers) -> Joint {
        let pointers = Rc::clone(pointers);
        Joint { inner, clock, files: Vec::new(), views: Vec::new(), pointers }
    }

    fn file(&self, file: MpiFile) -> Option<(Fd, Option<usize>)> {
        *usize::try_from(file.0).ok().and_then(|at| self.files.get(at))?
    }

    fn open(&mut self, path: &CStr, mode: MpiMode) -> Reply {
        let access = match (mode.read, mode.write) {
            (true, true) => libc::O_RDWR,
            (false, _) => libc::O_WRONLY,
            _ => libc::O_RDONLY,
        };
        // Members open one after the other: only the first one can be the one that makes it.
        let create = if mode.create { libc::O_CREAT } else { 0 };
        let reply = self.inner.issue(Call::Open { path, flags: access | create, mode: 0o644 });
        if reply < 0 {
            return reply;
        }
        self.files.push(Some((Fd(reply as i32), None)));
        self.files.len() as Reply - 1
    }

    fn close(&mut self, file: MpiFile) -> Reply {
        let Some((fd, _)) = self.file(file) else { return -Reply::from(libc::EBADF) };
        self.files[file.0 as usize] = None;
        self.inner.issue(Call::Close { fd })
    }

    /// A call on the file behind an MPI file.
    fn on_file(&mut self, file: MpiFile, call: impl FnOnce(Fd) -> Call<'static>) -> Reply {
        match self.file(file) {
            Some((fd, _)) => self.inner.issue(call(fd)),
            None => -Reply::from(libc::EBADF),
        }
    }

    fn set_view(&mut self, file: MpiFile, view: Option<usize>) -> Reply {
        match usize::try_from(file.0).ok().and_then(|at| self.files.get_mut(at)) {
            Some(Some((_, seen))) => {
                *seen = view;
                0
            }
            _ => -Reply::from(libc::EBADF),
        }
    }

    fn transfer(&mut self, file: MpiFile, at: At, bytes: u64, write: bool) -> Reply {
        let Some((fd, view)) = self.file(file) else { return -Reply::from(libc::EBADF) };
        let extents = match (at, view.and_then(|view| self.views.get(view))) {
            (At::Offset { offset, .. }, Some(seen)) => within(seen, offset, bytes),
            (At::Offset { offset, .. }, None) => vec![extent(offset, bytes)],
            (At::Shared { .. }, _) => vec![extent(self.pointer(fd, bytes), bytes)],
        };
        let mut moved = 0;
        for extent in extents {
            let run = Run::single(extent.offset_bytes, extent.length_bytes);
            match self.inner.access(fd, &run, write) {
                Ok(bytes) => moved += bytes,
                Err(errno) => return -Reply::from(errno),
            }
        }
        // As a call of files in memory: a microsecond, and 2,000 bytes in each further one.
        self.clock.advance(1_000 + moved / 2);
        moved as Reply
    }

    /// The shared pointer moves on by so many bytes; where it was.
    fn pointer(&mut self, fd: Fd, bytes: u64) -> u64 {
        let number = self.inner.number(fd).unwrap_or(u32::MAX);
        let mut pointers = self.pointers.borrow_mut();
        let pointer = pointers.entry(number).or_default();
        let at = *pointer;
        *pointer = at.saturating_add(bytes);
        at
    }
}

fn extent(offset_bytes: u64, length_bytes: u64) -> Extent {
    Extent { offset_bytes, length_bytes }
}

/// What lies in these extents, as if they were one, from a position on.
fn within(extents: &[Extent], offset: u64, bytes: u64) -> Vec<Extent> {
    let (mut skip, mut left) = (offset, bytes);
    let cut = extents.iter().map(|whole| {
        let from = skip.min(whole.length_bytes);
        skip -= from;
        let length = left.min(whole.length_bytes - from);
        left -= length;
        extent(whole.offset_bytes + from, length)
    });
    cut.filter(|extent| extent.length_bytes > 0).collect()
}

impl Backend for Joint {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { mpi_files: true, ..self.inner.capabilities() }
    }

    fn position(&mut self, fd: Fd) -> Option<u64> {
        self.inner.position(fd)
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        self.inner.issue(call)
    }

    fn issue_file(&mut self, call: FileCall<'_>) -> Reply {
        match call {
            FileCall::Open { path, mode, .. } => self.open(path, mode),
            FileCall::Close { file } => self.close(file),
            FileCall::Delete { path } => self.inner.issue(Call::Unlink { path }),
            FileCall::Sync { file } => self.on_file(file, |fd| Call::Fsync { fd }),
            FileCall::SetSize { file, size } => {
                self.on_file(file, |fd| Call::Ftruncate { fd, size })
            }
            FileCall::Preallocate { file, size } => {
                self.on_file(file, |fd| Call::Fallocate { fd, mode: 0, offset: 0, size })
            }
            FileCall::Position { file } => self.on_file(file, |fd| Call::Fstat { fd }),
            FileCall::Most { value, .. } => value,
            FileCall::Seek { .. } | FileCall::SetAtomic { .. } => 0,
            FileCall::SetView { file, view } => {
                self.set_view(file, view.and_then(|view| usize::try_from(view.0).ok()))
            }
            FileCall::MakeView { view } => {
                self.views.push(view.extents());
                self.views.len() as Reply - 1
            }
            FileCall::Transfer { file, at, memory, .. } => {
                let write = matches!(memory, crate::call::Memory::Write(_));
                self.transfer(file, at, memory.len() as u64, write)
            }
        }
    }

    fn submit(&mut self, tag: Tag, call: Queued) -> Submitted {
        self.inner.submit(tag, call)
    }

    fn reap(&mut self) -> Option<(Tag, Reply)> {
        self.inner.reap()
    }

    fn hand_over(&mut self, wait: u32) -> Reply {
        self.inner.hand_over(wait)
    }

    fn wait_within(&mut self, ns: u64) -> Reply {
        self.inner.wait_within(ns)
    }

    fn ended(&mut self) -> Option<(Tag, Reply)> {
        self.inner.ended()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_shows_its_extents_one_after_the_other() {
        let seen = [extent(10, 4), extent(100, 4), extent(200, 8)];
        assert_eq!(within(&seen, 0, 6), [extent(10, 4), extent(100, 2)]);
        assert_eq!(within(&seen, 6, 100), [extent(102, 2), extent(200, 8)]);
        assert_eq!(within(&seen, 99, 1), []);
    }
}

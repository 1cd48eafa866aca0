//! MPI files over files of which only names and sizes are kept, for ranks that are simulated in one
//! thread: what members do together they do one after the other.

use super::api::{Backend, Bulk, BulkFile, Capabilities};
use super::mem::Mem;
use crate::call::{
    At, Call, Fd, FileCall, Memory, MpiFile, MpiMode, Queued, Reply, Submitted, Tag, Target, ViewId,
};
use crate::verify::file_number;
use model::pattern::{Extent, Run, View};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CStr;
use std::rc::Rc;

/// A back-end without data.
pub(crate) trait Sizes: Backend {
    /// The file was there before: nobody knows how large it is.
    fn is_found(&mut self, fd: Fd) -> bool;
}

impl Sizes for Mem {
    fn is_found(&mut self, fd: Fd) -> bool {
        self.has_unknown_size(fd)
    }
}

/// A shared file pointer, and how many handles its file has.
#[derive(Debug, Default)]
pub(crate) struct Pointer {
    at: u64,
    handles: u32,
}

/// The shared pointers of all ranks, by [`file_number`].
pub(crate) type Pointers = Rc<RefCell<HashMap<u64, Pointer>>>;

/// MPI files of one rank.
pub(crate) struct MpiFiles<B> {
    inner: B,
    /// Open files by number.
    files: Vec<Option<Open>>,
    views: Vec<View>,
    pointers: Pointers,
}

/// An open file.
#[derive(Clone, Copy)]
struct Open {
    fd: Fd,
    /// See [`file_number`].
    number: u64,
    /// The view and its displacement; `None`: the whole file.
    view: Option<(ViewId, u64)>,
}

impl<B: Sizes> MpiFiles<B> {
    pub(crate) fn new(inner: B, pointers: &Pointers) -> MpiFiles<B> {
        MpiFiles { inner, files: Vec::new(), views: Vec::new(), pointers: Rc::clone(pointers) }
    }

    fn file(&mut self, file: MpiFile) -> Result<&mut Open, Reply> {
        let open = self.files.get_mut(file.0 as usize).and_then(Option::as_mut);
        open.ok_or(-Reply::from(libc::EBADF))
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
        let (fd, number) = (Fd(reply as i32), file_number(path.to_bytes()));
        let mut pointers = self.pointers.borrow_mut();
        let pointer = pointers.entry(number).or_default();
        if pointer.handles == 0 {
            let size = if mode.append { self.inner.issue(Call::Fstat { fd }) } else { 0 };
            pointer.at = u64::try_from(size).unwrap_or(0);
        }
        pointer.handles += 1;
        self.files.push(Some(Open { fd, number, view: None }));
        self.files.len() as Reply - 1
    }

    fn close(&mut self, file: MpiFile) -> Result<Reply, Reply> {
        let Open { fd, number, .. } = *self.file(file)?;
        self.pointers.borrow_mut().entry(number).or_default().handles -= 1;
        self.files[file.0 as usize] = None;
        Ok(self.inner.issue(Call::Close { fd }))
    }

    /// A call on the file behind an MPI file.
    fn issue_on(
        &mut self,
        file: MpiFile,
        call: impl FnOnce(Fd) -> Call<'static>,
    ) -> Result<Reply, Reply> {
        let fd = self.file(file)?.fd;
        Ok(self.inner.issue(call(fd)))
    }

    fn transfer(&mut self, file: MpiFile, at: At, memory: &Memory<'_>) -> Result<Reply, Reply> {
        let Open { fd, view, .. } = *self.file(file)?;
        let (bytes, write) = (memory.len() as u64, memory.is_written());
        let view = view.and_then(|(view, by)| Some((self.views.get(view.0 as usize)?, by)));
        let runs = match (at, view) {
            (At::Offset { offset, .. }, Some((view, by))) => {
                let runs = part_of(&view.extents(), offset, bytes).into_iter();
                runs.map(|run| run.displaced(by)).collect()
            }
            (At::Offset { offset, .. }, None) => vec![Run::single(offset, bytes)],
            (At::Shared { .. }, _) => vec![Run::single(self.advance(file, bytes)?, bytes)],
        };
        let mut moved = 0;
        for run in runs {
            let file = BulkFile::Posix(fd);
            let (buffer_bytes, memory) = (0, Default::default());
            let bulk = Bulk { file, run, write, rest: false, buffer_bytes, memory };
            match self.inner.move_bulk(&bulk) {
                bytes @ 0.. => moved += bytes,
                errno => return Err(errno),
            }
        }
        Ok(moved)
    }

    /// Advances the shared pointer; its position before.
    fn advance(&mut self, file: MpiFile, bytes: u64) -> Result<u64, Reply> {
        let number = self.file(file)?.number;
        let mut pointers = self.pointers.borrow_mut();
        let pointer = pointers.entry(number).or_default();
        let next = pointer.at.saturating_add(bytes);
        Ok(std::mem::replace(&mut pointer.at, next))
    }

    /// The same bytes of the file behind an MPI file.
    fn bulk_of_file(&mut self, bulk: &Bulk) -> Result<Bulk, Reply> {
        match bulk.file {
            BulkFile::Posix(_) => Ok(*bulk),
            BulkFile::Mpi(file) => Ok(Bulk { file: BulkFile::Posix(self.file(file)?.fd), ..*bulk }),
            BulkFile::MpiShared(file) => {
                let bytes = bulk.run.length_bytes;
                let run = Run::single(self.advance(file, bytes)?, bytes);
                Ok(Bulk { file: BulkFile::Posix(self.file(file)?.fd), run, ..*bulk })
            }
        }
    }

    fn execute(&mut self, call: FileCall<'_>) -> Result<Reply, Reply> {
        Ok(match call {
            FileCall::Open { path, mode, .. } => self.open(path, mode),
            FileCall::Close { file } => self.close(file)?,
            FileCall::Delete { path } => self.inner.issue(Call::Unlink { path }),
            FileCall::Sync { file } => self.issue_on(file, |fd| Call::Fsync { fd })?,
            FileCall::SetSize { file, size } => {
                self.issue_on(file, |fd| Call::Ftruncate { fd, size })?
            }
            FileCall::Preallocate { file, size } => {
                self.issue_on(file, |fd| Call::Fallocate { fd, mode: 0, offset: 0, size })?
            }
            FileCall::Position { file } => {
                let fd = self.file(file)?.fd;
                match self.inner.is_found(fd) {
                    true => -Reply::from(libc::EOPNOTSUPP),
                    false => self.inner.issue(Call::Fstat { fd }),
                }
            }
            FileCall::Most { value, .. } => value,
            FileCall::Seek { .. } | FileCall::SetAtomic { .. } => 0,
            FileCall::SetView { file, view, displacement_bytes } => {
                self.file(file)?.view = view.map(|view| (view, displacement_bytes));
                0
            }
            FileCall::MakeView { view } => {
                self.views.push(view.clone());
                self.views.len() as Reply - 1
            }
            FileCall::Transfer { file, at, memory, .. } => self.transfer(file, at, &memory)?,
        })
    }
}

/// The part of these extents, taken as one, that begins at a position.
fn part_of(extents: &[Extent], offset: u64, bytes: u64) -> Vec<Run> {
    let (mut skip, mut left) = (offset, bytes);
    let cut = extents.iter().map(|whole| {
        let from = skip.min(whole.length_bytes);
        skip -= from;
        let length = left.min(whole.length_bytes - from);
        left -= length;
        Run::single(whole.offset_bytes + from, length)
    });
    cut.filter(|run| run.length_bytes > 0).collect()
}

impl<B: Sizes> Backend for MpiFiles<B> {
    fn inner(&mut self) -> Option<&mut dyn Backend> {
        Some(&mut self.inner)
    }

    fn capabilities(&mut self) -> Capabilities {
        Capabilities { mpi_call_bytes: u64::MAX, ..self.inner.capabilities() }
    }

    fn flags_and_size(&mut self, file: Result<Fd, MpiFile>) -> Option<(i32, u64)> {
        let fd = file.or_else(|file| self.file(file).map(|open| open.fd)).ok()?;
        self.inner.flags_and_size(Ok(fd))
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        self.inner.issue(call)
    }

    fn issue_file(&mut self, call: FileCall<'_>) -> Reply {
        self.execute(call).unwrap_or_else(|errno| errno)
    }

    fn submit(&mut self, tag: Tag, call: Queued) -> Submitted {
        match call.target {
            Target::Mpi { .. } => Submitted::Done(call.execute(self)),
            _ => self.inner.submit(tag, call),
        }
    }

    fn move_bulk(&mut self, bulk: &Bulk) -> Reply {
        match self.bulk_of_file(bulk) {
            Ok(bulk) => self.inner.move_bulk(&bulk),
            Err(errno) => errno,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_shows_its_extents_one_after_the_other() {
        let extent = |offset_bytes, length_bytes| Extent { offset_bytes, length_bytes };
        let seen = [extent(10, 4), extent(100, 4), extent(200, 8)];
        assert_eq!(part_of(&seen, 0, 6), [Run::single(10, 4), Run::single(100, 2)]);
        assert_eq!(part_of(&seen, 6, 100), [Run::single(102, 2), Run::single(200, 8)]);
        assert_eq!(part_of(&seen, 99, 1), []);
    }
}

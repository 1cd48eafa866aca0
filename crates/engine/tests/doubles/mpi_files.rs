//! MPI files over files with faults, for ranks that are simulated in one thread: what members do
//! together they do one after the other.
//!
//! It is like a library: it goes on with partial transfers and after interruptions, and what the members
//! do once for all (opening a file, setting its size) happens when the first one comes and ends on all as
//! it has ended there.

use crate::faults::Faulty;
use engine::backend::{Backend, Capabilities};
use engine::call::{
    At, Call, Fd, FileCall, Memory, MpiFile, MpiMode, Queued, Reply, Submitted, Tag, Target,
};
use engine::comm::Members;
use engine::verify::file_number;
use model::pattern::{Extent, View};
use model::plan::SetId;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CStr;
use std::rc::Rc;

/// State that the files of all ranks share.
#[derive(Debug, Default)]
pub struct Shared {
    /// Shared file pointers, by number of the file's name.
    pointers: HashMap<u64, u64>,
    /// How calls that are made once for all members have ended, by set and number of the call.
    replies: HashMap<(SetId, u32), Reply>,
}

/// One rank's files.
pub struct MpiFiles<B> {
    inner: Faulty<B>,
    /// Open MPI files.
    files: Vec<Option<Open>>,
    views: Vec<Seen>,
    /// Calls of each set that are made once for all members.
    calls: HashMap<SetId, u32>,
    shared: Rc<RefCell<Shared>>,
}

/// An open file.
#[derive(Clone, Copy)]
struct Open {
    fd: Fd,
    number: u64,
    /// The view and its displacement; `None`: the whole file.
    view: Option<(usize, u64)>,
    /// The ranks that opened it, if several did.
    set: Option<SetId>,
}

/// Extents of a view.
struct Seen {
    /// Extents of the file, ascending.
    extents: Vec<Extent>,
    /// Where their bytes lie in memory; `None`: one after the other.
    memory: Option<Vec<Extent>>,
}

impl<B: Backend> MpiFiles<B> {
    pub fn new(inner: Faulty<B>, shared: &Rc<RefCell<Shared>>) -> MpiFiles<B> {
        let (files, views, calls) = (Vec::new(), Vec::new(), HashMap::new());
        MpiFiles { inner, files, views, calls, shared: Rc::clone(shared) }
    }

    fn file(&self, file: MpiFile) -> Option<Open> {
        *usize::try_from(file.0).ok().and_then(|at| self.files.get(at))?
    }

    fn open(&mut self, path: &CStr, mode: MpiMode, members: &Members) -> Reply {
        let access = match (mode.read, mode.write) {
            (true, true) => libc::O_RDWR,
            (false, _) => libc::O_WRONLY,
            _ => libc::O_RDONLY,
        };
        // Members open one after the other: only the first one can be the one that makes it.
        let create = if mode.create { libc::O_CREAT } else { 0 };
        let call = Call::Open { path, flags: access | create, mode: 0o644 };
        let several = members.ranks.len() > 1;
        let set = several.then_some(members.set);
        let reply = match self.decided(set) {
            None => self.inner.issue(call),
            Some(failed) if failed < 0 => failed,
            Some(_) => self.inner.issue_unharmed(call),
        };
        self.decide(set, reply);
        if reply < 0 {
            return reply;
        }
        let number = file_number(path.to_bytes());
        self.files.push(Some(Open { fd: Fd(reply as i32), number, view: None, set }));
        self.files.len() as Reply - 1
    }

    /// How the call that comes next has ended on the first member, if another one was that.
    fn decided(&self, set: Option<SetId>) -> Option<Reply> {
        let set = set?;
        let count = self.calls.get(&set).copied().unwrap_or(0);
        self.shared.borrow().replies.get(&(set, count)).copied()
    }

    /// The call has ended here.
    fn decide(&mut self, set: Option<SetId>, reply: Reply) {
        let Some(set) = set else { return };
        let count = self.calls.entry(set).or_default();
        self.shared.borrow_mut().replies.entry((set, *count)).or_insert(reply);
        *count += 1;
    }

    fn close(&mut self, file: MpiFile) -> Reply {
        let Some(Open { fd, .. }) = self.file(file) else { return -Reply::from(libc::EBADF) };
        self.files[file.0 as usize] = None;
        self.inner.issue(Call::Close { fd })
    }

    /// A call on the file behind an MPI file.
    fn on_file(&mut self, file: MpiFile, call: impl FnOnce(Fd) -> Call<'static>) -> Reply {
        match self.file(file) {
            Some(Open { fd, .. }) => self.inner.issue(call(fd)),
            None => -Reply::from(libc::EBADF),
        }
    }

    /// The same for a call that is made once for all members.
    fn once_on_file(&mut self, file: MpiFile, call: impl FnOnce(Fd) -> Call<'static>) -> Reply {
        let set = self.file(file).and_then(|open| open.set);
        let reply = self.decided(set).unwrap_or_else(|| self.on_file(file, call));
        self.decide(set, reply);
        reply
    }

    fn set_view(&mut self, file: MpiFile, view: Option<(usize, u64)>) -> Reply {
        match usize::try_from(file.0).ok().and_then(|at| self.files.get_mut(at)) {
            Some(Some(open)) => {
                open.view = view;
                0
            }
            _ => -Reply::from(libc::EBADF),
        }
    }

    fn transfer(
        &mut self,
        file: MpiFile,
        at: At,
        memory: Memory<'_>,
        order: Option<usize>,
    ) -> Reply {
        let Some(Open { fd, number, view, .. }) = self.file(file) else {
            return -Reply::from(libc::EBADF);
        };
        let bytes = memory.len() as u64;
        let seen = view.and_then(|(view, by)| Some((self.views.get(view)?, by)));
        let extents = match (at, seen) {
            (At::Offset { offset, .. }, Some((seen, by))) => {
                let extents = within(&seen.extents, offset, bytes).into_iter();
                extents.map(|of| extent(of.offset_bytes + by, of.length_bytes)).collect()
            }
            (At::Offset { offset, .. }, None) => vec![extent(offset, bytes)],
            (At::Shared { .. }, _) => vec![extent(self.pointer(number, bytes), bytes)],
        };
        let moved = match memory {
            Memory::Write(buf) => {
                let mut bytes = self.arranged(buf, order);
                self.move_all(fd, &extents, &mut bytes, true)
            }
            Memory::Read(buf) => {
                let mut bytes = self.arranged(buf, order);
                let moved = self.move_all(fd, &extents, &mut bytes, false);
                let places = self.places(buf.len(), order);
                let mut rest = &bytes[..];
                for place in places {
                    let (piece, after) = rest.split_at(place.length_bytes as usize);
                    buf[place.offset_bytes as usize..][..piece.len()].copy_from_slice(piece);
                    rest = after;
                }
                moved
            }
        };
        moved.map_or_else(|errno| -Reply::from(errno), |bytes| bytes as Reply)
    }

    /// Where the bytes of a transfer lie in memory, in the order of the file.
    fn places(&self, len: usize, order: Option<usize>) -> Vec<Extent> {
        let ordered = order.and_then(|view| self.views.get(view)?.memory.clone());
        ordered.filter(|_| len > 0).unwrap_or_else(|| vec![extent(0, len as u64)])
    }

    /// The bytes of memory in the order of the file.
    fn arranged(&self, buf: &[u8], order: Option<usize>) -> Vec<u8> {
        let of = |place: Extent| &buf[place.offset_bytes as usize..place.end_bytes() as usize];
        self.places(buf.len(), order).into_iter().flat_map(of).copied().collect()
    }

    /// Moves the bytes of these extents one after the other.
    fn move_all(
        &mut self,
        fd: Fd,
        extents: &[Extent],
        bytes: &mut [u8],
        write: bool,
    ) -> Result<usize, i32> {
        let (mut moved, mut rest) = (0, bytes);
        for extent in extents {
            let (piece, after) = rest.split_at_mut(extent.length_bytes as usize);
            moved += self.move_piece(fd, extent.offset_bytes, piece, write)?;
            rest = after;
        }
        Ok(moved)
    }

    fn move_piece(
        &mut self,
        fd: Fd,
        from: u64,
        piece: &mut [u8],
        write: bool,
    ) -> Result<usize, i32> {
        let mut done = 0;
        while done < piece.len() {
            let (buf, offset) = (&mut piece[done..], from + done as u64);
            let reply = match write {
                true => self.inner.issue(Call::Pwrite { fd, buf, offset }),
                false => self.inner.issue(Call::Pread { fd, buf, offset, rest: false }),
            };
            match usize::try_from(reply) {
                Ok(0) => break,
                Ok(bytes) => done += bytes,
                Err(_) if reply == -Reply::from(libc::EINTR) => {}
                Err(_) => return Err(-reply as i32),
            }
        }
        Ok(done)
    }

    /// Advances the shared pointer; its position before.
    fn pointer(&mut self, number: u64, bytes: u64) -> u64 {
        let mut shared = self.shared.borrow_mut();
        let pointer = shared.pointers.entry(number).or_default();
        let at = *pointer;
        *pointer = at.saturating_add(bytes);
        at
    }
}

fn seen(view: &View) -> Seen {
    Seen { extents: view.extents(), memory: view.memory.clone() }
}

fn extent(offset_bytes: u64, length_bytes: u64) -> Extent {
    Extent { offset_bytes, length_bytes }
}

/// The part of these extents, taken as one, that begins at a position.
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

impl<B: Backend> Backend for MpiFiles<B> {
    fn inner(&mut self) -> Option<&mut dyn Backend> {
        Some(&mut self.inner)
    }

    fn capabilities(&mut self) -> Capabilities {
        Capabilities { mpi_call_bytes: u64::MAX, ..self.inner.capabilities() }
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        self.inner.issue(call)
    }

    fn issue_file(&mut self, call: FileCall<'_>) -> Reply {
        match call {
            FileCall::Open { path, mode, members, .. } => self.open(path, mode, members),
            FileCall::Close { file } => self.close(file),
            FileCall::Delete { path } => self.inner.issue(Call::Unlink { path }),
            FileCall::Sync { file } => self.on_file(file, |fd| Call::Fsync { fd }),
            FileCall::SetSize { file, size } => {
                self.once_on_file(file, |fd| Call::Ftruncate { fd, size })
            }
            FileCall::Preallocate { file, size } => {
                self.once_on_file(file, |fd| Call::Fallocate { fd, mode: 0, offset: 0, size })
            }
            FileCall::Position { file } => match self.file(file) {
                Some(Open { fd, .. }) => self.inner.issue_unharmed(Call::Fstat { fd }),
                None => -Reply::from(libc::EBADF),
            },
            FileCall::Most { value, .. } => value,
            FileCall::Seek { .. } | FileCall::SetAtomic { .. } => 0,
            FileCall::SetView { file, view, displacement_bytes } => {
                let number = view.and_then(|view| usize::try_from(view.0).ok());
                self.set_view(file, number.map(|number| (number, displacement_bytes)))
            }
            FileCall::MakeView { view } => {
                self.views.push(seen(view));
                self.views.len() as Reply - 1
            }
            FileCall::Transfer { file, at, memory, order, .. } => {
                let order = order.and_then(|view| usize::try_from(view.0).ok());
                self.transfer(file, at, memory, order)
            }
        }
    }

    fn submit(&mut self, tag: Tag, call: Queued) -> Submitted {
        match call.target {
            Target::Mpi { .. } => Submitted::Done(call.execute(self)),
            _ => self.inner.submit(tag, call),
        }
    }
}

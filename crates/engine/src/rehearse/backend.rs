//! The back-end of a rehearsal: files in memory of which only names and sizes are kept, and a
//! word to the [`Stage`] about every change.

use super::names::What;
use super::stage::Stage;
use crate::backend::mem::Planted;
use crate::backend::{Backend, Bulk, BulkFile, Capabilities, Cost, InForce, Mem, Over, lexical};
use crate::call::{Call, Fd, FileCall, MpiFile, MpiMode, Names, Reply};
use crate::clock::Virtual;
use model::pattern::Run;
use model::rehearsal::Exception;
use std::borrow::Cow;
use std::ffi::CStr;
use std::rc::Rc;

/// One rank's files.
pub(super) struct Rehearsed {
    inner: Mem,
    stage: Rc<Stage>,
    rank: u32,
    /// Absolute path of the run directory.
    root: Rc<[u8]>,
    mpi_files: Vec<Option<Fd>>,
    /// The program expects names to be missing now.
    expects_missing: bool,
    /// What it makes may be there already.
    expects_existing: bool,
    /// The next call that asks for a name needs it.
    relies: bool,
    /// Why the lexical rule does not cover a call of the operation under way.
    exception: Option<&'static str>,
}

impl Rehearsed {
    pub(super) fn new(stage: &Rc<Stage>, rank: u32, clock: Virtual, root: &Rc<[u8]>) -> Rehearsed {
        let inner = Mem::new(Rc::clone(&stage.fs), clock, Cost::default());
        let (stage, root) = (Rc::clone(stage), Rc::clone(root));
        Rehearsed {
            inner,
            stage,
            rank,
            root,
            mpi_files: Vec::new(),
            expects_missing: false,
            expects_existing: false,
            relies: false,
            exception: None,
        }
    }

    /// A path as a name below the run directory, or below a further one with that one's path.
    fn name<'a>(&self, path: &'a [u8]) -> Cow<'a, [u8]> {
        if let Some(root) = self.stage.fs.borrow().root_of(path) {
            return Cow::Owned([root, &tidied(&path[root.len()..])].join(&b'/'));
        }
        let inside = match path.strip_prefix(&*self.root) {
            Some(inside) if path.first() == Some(&b'/') => inside,
            _ => path,
        };
        tidied(inside)
    }

    /// Puts what the call needs in its place, if skipped iterations would have made it, or if
    /// it may have been there before.
    fn set_up(&mut self, call: &Call<'_>) {
        let lists = matches!(*call, Call::Open { flags, .. } if flags & libc::O_DIRECTORY != 0);
        let directory = lists || matches!(call, Call::Rmdir { .. });
        let makes_directory = matches!(MadeNames::of(call), MadeNames::Directory(_));
        let makes = makes_directory || matches!(MadeNames::of(call), MadeNames::Made(_));
        match call.names() {
            Names::None => {}
            Names::One { path, .. } if matches!(call, Call::Access { .. }) => {
                let relies = std::mem::take(&mut self.relies);
                self.set_up_name(path, relies, directory);
                self.asked(path);
            }
            Names::One { path, .. } if matches!(call, Call::Readlink { .. }) => {
                let name = self.name(path.to_bytes()).into_owned();
                let has = |it: &Rehearsed| it.stage.state.borrow().expects.has(&name);
                let known = has(self);
                self.set_up_name(path, true, false);
                if !known && has(self) {
                    self.stage.state.borrow_mut().expects.is_link(&name);
                }
            }
            Names::One { path, .. } | Names::Link { path, .. } => {
                if !matches!(call, Call::Lstat { .. } | Call::Unlink { .. }) {
                    let name = self.name(path.to_bytes());
                    self.stage.state.borrow_mut().expects.is_followed(&name);
                }
                // Who makes a name and takes EEXIST does not rely on it either.
                self.set_up_name(path, !makes, directory || makes_directory);
                if matches!(call, Call::Stat { .. } | Call::Lstat { .. }) {
                    let name = self.name(path.to_bytes());
                    self.stage.state.borrow_mut().doubts.asked(&name);
                }
            }
            Names::Two { from, to } => {
                let exchanges = matches!(call, Call::Rename { flags: libc::RENAME_EXCHANGE, .. });
                self.set_up_name(to, exchanges, false);
                self.set_up_name(from, true, false);
            }
        }
    }

    /// Who asks whether a file is there, and looks at the answer, does not rely on it: it is not, unless the
    /// program made or used it. Files from before can make the answer another one.
    fn asked(&mut self, path: &CStr) {
        let name = self.name(path.to_bytes()).into_owned();
        let missing = self.stage.fs.borrow().number(&name) == Err(libc::ENOENT);
        self.stage.state.borrow_mut().about |= missing && self.stage.finds_files;
    }

    fn set_up_name(&mut self, path: &CStr, must_exist: bool, directory: bool) {
        let name = self.name(path.to_bytes()).into_owned();
        if name.is_empty() || (!directory && self.stage.fs.borrow().number(&name).is_ok()) {
            return;
        }
        let start = self.stage.fs.borrow().root_of(&name).map_or(0, |root| root.len() + 1);
        // What may be missing is not relied on.
        let relies = !self.expects_missing;
        let above = (start..name.len()).filter(|at| name[*at] == b'/');
        for end in above {
            self.plant(&name[..end], relies, true);
        }
        self.plant(&name, must_exist && relies, directory);
    }

    fn plant(&self, name: &[u8], must_exist: bool, directory: bool) {
        let number = self.stage.fs.borrow().number(name);
        if number != Err(libc::ENOENT) {
            if directory && number.is_ok() {
                self.is_directory(name);
            }
            return;
        }
        let state = &mut *self.stage.state.borrow_mut();
        let before = self.stage.used();
        let skipped = state.names.find(name);
        let what = match skipped {
            Some(What::Directory) => Planted::Directory,
            Some(What::File(bytes)) => Planted::File(bytes),
            Some(What::Gone) => return,
            None if !must_exist => return,
            None => {
                let like = state.doubts.missing(self.rank, name);
                let size = like.and_then(|name| self.stage.fs.borrow().number(&name).ok());
                let known = size.map(|number| self.stage.fs.borrow().extent(number).0);
                match known {
                    _ if !self.stage.finds_files && !state.vague => {
                        state.expects.name(name, directory, None);
                        return;
                    }
                    _ if directory => Planted::Directory,
                    Some(size) => Planted::File(size),
                    None => Planted::Found,
                }
            }
        };
        if self.stage.fs.borrow_mut().plant(name, what).is_err() {
            return;
        }
        if skipped.is_none() && !state.vague {
            let number = self.stage.fs.borrow().number(name).ok();
            state.expects.name(name, directory, number);
            if let Planted::File(size) = what {
                state.expects.read(number, size);
            }
        }
        // What was there before takes none of the room that is free now.
        state.placed(before, self.stage.used());
        state.about |= skipped.is_none();
    }

    /// `stat("d")` does not tell what `d` is; a name below it does.
    fn is_directory(&self, name: &[u8]) {
        let state = &mut *self.stage.state.borrow_mut();
        if !state.expects.is_read(name) && self.stage.fs.borrow_mut().found_is_directory(name) {
            state.expects.is_directory(name);
        }
    }

    /// The file whose size a call changes, with its size and room.
    fn extent(&mut self, call: &Call<'_>) -> Option<(u32, (u64, u64))> {
        let number = match *call {
            Call::Ftruncate { fd, .. }
            | Call::Fallocate { fd, .. }
            | Call::Pwritev { fd, .. }
            | Call::CopyRange { to: (fd, _), .. }
            | Call::Clone { to: fd, .. }
            | Call::CloneRange { to: (fd, _), .. } => self.inner.number(fd),
            Call::Open { flags, .. } if flags & libc::O_TRUNC == 0 => None,
            Call::Open { path, .. } | Call::Truncate { path, .. } => {
                let name = self.name(path.to_bytes());
                self.stage.fs.borrow().number(&name).ok()
            }
            _ => None,
        }?;
        Some((number, self.stage.fs.borrow().extent(number)))
    }

    fn grew(&mut self, before: Option<(u32, (u64, u64))>) {
        let Some((number, (size, room))) = before else { return };
        let now = self.stage.fs.borrow().extent(number);
        if now != (size, room) {
            let change = |now: u64, old: u64| now.wrapping_sub(old) as i64;
            let (size_bytes, room_bytes) = (change(now.0, size), change(now.1, room));
            let tally = &mut self.stage.state.borrow_mut().ranks[self.rank as usize];
            tally.grew(number, size_bytes, room_bytes);
        }
    }

    /// What became of names.
    fn renamed(&mut self, call: MadeNames<'_>, new: bool) {
        let (made, gone, directory) = match call {
            MadeNames::Made(path) => (Some(path), None, false),
            MadeNames::Directory(path) => (Some(path), None, true),
            MadeNames::Gone(path) => (None, Some(path), false),
            MadeNames::Moved(from, to) => (Some(to), Some(from), false),
            MadeNames::Nothing => return,
        };
        let state = &mut *self.stage.state.borrow_mut();
        if let Some(path) = gone {
            state.gone(self.rank, &self.name(path.to_bytes()));
        }
        if let Some(path) = made {
            let name = self.name(path.to_bytes());
            let number = self.stage.fs.borrow().number(&name).unwrap_or(u32::MAX);
            if directory && self.expects_existing {
                state.expects.may_be_there(&name);
            }
            state.made(self.rank, &name, number, directory, new);
        }
    }

    /// A file of unknown size is read to its end.
    fn reads_all(&mut self, fd: Fd) -> Reply {
        let number = self.inner.number(fd);
        self.stage.state.borrow_mut().expects.read_all(number);
        0
    }

    fn buffers(&self, bytes: u64) {
        let tally = &mut self.stage.state.borrow_mut().ranks[self.rank as usize];
        tally.buffer_bytes = tally.buffer_bytes.max(bytes);
    }

    fn opened(&self, change: i64) {
        self.stage.state.borrow_mut().ranks[self.rank as usize].open += change;
    }

    fn pieces(&mut self, fd: Option<Fd>, run: &Run, write: bool) -> Reply {
        let fd = fd.unwrap_or(Fd(-1));
        if !self.stage.call() {
            return -Reply::from(libc::EIO);
        }
        let before = self.stage.used();
        let number = self.inner.number(fd);
        let extent = number.map(|number| (number, self.stage.fs.borrow().extent(number)));
        let moved = match self.inner.access(fd, run, write) {
            Ok(bytes) => bytes.min(Reply::MAX as u64) as Reply,
            Err(errno) => return -Reply::from(errno),
        };
        if !write && moved > 0 {
            let last = run.stride_bytes.saturating_mul(run.count.saturating_sub(1));
            let end = run.offset_bytes.saturating_add(last).saturating_add(run.length_bytes);
            self.stage.state.borrow_mut().expects.read(number, end);
        }
        self.stage.changed(self.rank, before);
        self.grew(extent);
        // As a call of the back-end: a microsecond, and 2,000 bytes in each further one.
        self.stage.clock.advance(1_000 + moved.max(0) as u64 / 2);
        moved
    }

    fn file(&self, file: MpiFile) -> Option<Fd> {
        *usize::try_from(file.0).ok().and_then(|at| self.mpi_files.get(at))?
    }

    /// The shared pointer moves on by so many bytes; where it was.
    fn pointer(&mut self, file: MpiFile, bytes: u64) -> Option<u64> {
        let number = self.file(file).and_then(|fd| self.inner.number(fd))?;
        let mut state = self.stage.state.borrow_mut();
        let pointer = &mut state.pointers.entry(number).or_default().0;
        let at = *pointer;
        *pointer = at.saturating_add(bytes);
        Some(at)
    }

    fn open_mpi(&mut self, path: &CStr, mode: MpiMode) -> Reply {
        let access = match (mode.read, mode.write) {
            (true, true) => libc::O_RDWR,
            (false, _) => libc::O_WRONLY,
            _ => libc::O_RDONLY,
        };
        // Members open one after the other: only the first one can be the one that makes it.
        let create = if mode.create { libc::O_CREAT } else { 0 };
        let reply = self.issue(Call::Open { path, flags: access | create, mode: 0o644 });
        if reply < 0 {
            return reply;
        }
        let fd = Fd(reply as i32);
        if let Some(number) = self.inner.number(fd) {
            let end = if mode.append { self.stage.fs.borrow().extent(number).0 } else { 0 };
            let mut state = self.stage.state.borrow_mut();
            let pointer = state.pointers.entry(number).or_default();
            if pointer.1 == 0 {
                pointer.0 = end;
            }
            pointer.1 += 1;
        }
        self.mpi_files.push(Some(fd));
        self.mpi_files.len() as Reply - 1
    }

    fn close_mpi(&mut self, file: MpiFile) -> Reply {
        let Some(fd) = self.file(file) else { return -Reply::from(libc::EBADF) };
        if let Some(number) = self.inner.number(fd) {
            let mut state = self.stage.state.borrow_mut();
            let pointer = state.pointers.entry(number).or_default();
            pointer.1 = pointer.1.saturating_sub(1);
        }
        self.mpi_files[file.0 as usize] = None;
        self.issue(Call::Close { fd })
    }

    /// A call on the file behind an MPI file.
    fn on_file(&mut self, file: MpiFile, call: impl FnOnce(Fd) -> Call<'static>) -> Reply {
        match self.file(file) {
            Some(fd) => self.issue(call(fd)),
            None => -Reply::from(libc::EBADF),
        }
    }

    fn size(&mut self, file: MpiFile) -> Reply {
        match self.file(file) {
            // How large it is nobody knows.
            Some(fd) if self.inner.is_found(fd) => -Reply::from(libc::EOPNOTSUPP),
            _ => self.on_file(file, |fd| Call::Fstat { fd }),
        }
    }
}

/// A path without empty components and dots.
fn tidied(path: &[u8]) -> Cow<'_, [u8]> {
    let odd = |pair: &[u8]| matches!(pair, b"//" | b"./");
    if !path.windows(2).any(odd) && path.first() != Some(&b'/') {
        return Cow::Borrowed(path);
    }
    let parts = path.split(|byte| *byte == b'/');
    let parts: Vec<&[u8]> = parts.filter(|part| !matches!(*part, b"" | b".")).collect();
    Cow::Owned(parts.join(&b'/'))
}

/// The file of which a call copies or shares all that is there.
fn takes_all(call: &Call<'_>) -> Option<Fd> {
    match *call {
        Call::CopyRange { from: (fd, _), rest: true, .. }
        | Call::Clone { from: fd, .. }
        | Call::CloneRange { from: (fd, _), len: 0, .. } => Some(fd),
        _ => None,
    }
}

/// The file of which a call copies or shares bytes, and where they end.
fn reads_up_to(call: &Call<'_>) -> Option<(Fd, u64)> {
    match *call {
        Call::CopyRange { from: (fd, offset), len, .. } => {
            Some((fd, offset.saturating_add(len as u64)))
        }
        Call::CloneRange { from: (fd, offset), len: len @ 1.., .. } => {
            Some((fd, offset.saturating_add(len)))
        }
        _ => None,
    }
}

/// Names that a call makes or removes, if it succeeds.
#[derive(Clone, Copy)]
enum MadeNames<'a> {
    Nothing,
    Made(&'a CStr),
    Directory(&'a CStr),
    Gone(&'a CStr),
    Moved(&'a CStr, &'a CStr),
}

impl<'a> MadeNames<'a> {
    fn of(call: &Call<'a>) -> MadeNames<'a> {
        match *call {
            Call::Open { path, flags, .. } if flags & libc::O_CREAT != 0 => MadeNames::Made(path),
            Call::Symlink { path, .. } | Call::Link { to: path, .. } => MadeNames::Made(path),
            Call::LinkFile { path, .. } => MadeNames::Made(path),
            Call::Mkdir { path } => MadeNames::Directory(path),
            Call::Unlink { path } | Call::Rmdir { path } => MadeNames::Gone(path),
            Call::Rename { flags: libc::RENAME_EXCHANGE, .. } => MadeNames::Nothing,
            Call::Rename { from, to, .. } => MadeNames::Moved(from, to),
            _ => MadeNames::Nothing,
        }
    }
}

impl Backend for Rehearsed {
    fn set_options(&mut self, options: &InForce) {
        self.expects_missing = options.expects_missing;
        self.expects_existing = options.expects_existing;
    }

    fn needs_name(&mut self) {
        self.relies = true;
    }

    fn move_bulk(&mut self, bulk: &Bulk) -> Reply {
        self.buffers(bulk.buffer_bytes);
        match bulk.file {
            // How much there is nobody knows.
            BulkFile::Posix(fd) if bulk.rest && self.inner.is_found(fd) => self.reads_all(fd),
            BulkFile::Posix(fd) => self.pieces(Some(fd), &bulk.run, bulk.write),
            BulkFile::Mpi(file) => self.pieces(self.file(file), &bulk.run, bulk.write),
            BulkFile::MpiShared(file) => match self.pointer(file, bulk.run.length_bytes) {
                Some(at) => {
                    let run = Run::single(at, bulk.run.length_bytes);
                    self.pieces(self.file(file), &run, bulk.write)
                }
                None => -Reply::from(libc::EBADF),
            },
        }
    }

    fn concluded(&mut self, over: &Over<'_>) {
        let name = self.name(over.path);
        let state = &mut *self.stage.state.borrow_mut();
        state.over(self.rank, &name, over);
        if let Some(reason) = self.exception.take() {
            state.exception.get_or_insert(Exception { site: over.site, reason });
        }
    }

    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        self.inner.prepare(call)?;
        self.exception = self.exception.or(lexical::exception(call));
        Ok(())
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { mpi_files: true, accounts: true, ..self.inner.capabilities() }
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        if !self.stage.call() {
            return -Reply::from(libc::EIO);
        }
        if let Some(fd) = takes_all(&call).filter(|fd| self.inner.is_found(*fd)) {
            return self.reads_all(fd);
        }
        match &call {
            Call::Preadv { bufs, .. } => {
                self.buffers(bufs.iter().map(|buf| buf.len() as u64).sum())
            }
            Call::Pwritev { bufs, .. } => {
                self.buffers(bufs.iter().map(|buf| buf.len() as u64).sum())
            }
            _ => {}
        }
        if let Some((fd, end)) = reads_up_to(&call) {
            let number = self.inner.number(fd);
            self.stage.state.borrow_mut().expects.read(number, end);
        }
        if let Call::Seek { fd, end: true, .. } = call
            && self.inner.is_found(fd)
        {
            return 0;
        }
        self.set_up(&call);
        let (names, extent) = (MadeNames::of(&call), self.extent(&call));
        let opens = matches!(call, Call::Open { .. });
        let closes = matches!(call, Call::Close { .. });
        let before = self.stage.used();
        let reply = self.inner.issue(call);
        if reply < 0 {
            return reply;
        }
        self.stage.changed(self.rank, before);
        self.grew(extent);
        let new = self.stage.used().has_more_names(before);
        if new || !opens {
            self.renamed(names, new);
        }
        self.opened(i64::from(opens) - i64::from(closes));
        reply
    }

    fn issue_file(&mut self, call: FileCall<'_>) -> Reply {
        match call {
            FileCall::Open { path, mode, .. } => self.open_mpi(path, mode),
            FileCall::Close { file } => self.close_mpi(file),
            FileCall::Delete { path } => self.issue(Call::Unlink { path }),
            FileCall::Sync { file } => self.on_file(file, |fd| Call::Fsync { fd }),
            FileCall::SetSize { file, size } => {
                self.on_file(file, |fd| Call::Ftruncate { fd, size })
            }
            FileCall::Preallocate { file, size } => {
                self.on_file(file, |fd| Call::Fallocate { fd, mode: 0, offset: 0, size })
            }
            FileCall::Position { file } => self.size(file),
            FileCall::Most { value, .. } => value,
            FileCall::Seek { .. }
            | FileCall::SetAtomic { .. }
            | FileCall::SetView { .. }
            | FileCall::MakeView { .. } => 0,
            // Bytes are moved in bulk.
            FileCall::Transfer { .. } => -Reply::from(libc::ENOSYS),
        }
    }
}

//! The back-end of a rehearsal, around that of files in memory: it keeps an account of what calls and
//! operations change, in the [`Stage`].

use super::doubts::skeleton;
use super::races::Access;
use super::stage::{Kind, Stage};
use crate::backend::mem::Planted;
use crate::backend::{
    Backend, Bulk, BulkFile, Capabilities, Cost, InForce, Mem, Over, Sizes, lexical,
};
use crate::call::{Call, Fd, Names, Reply};
use crate::clock::Virtual;
use model::pattern::Run;
use model::plan::Pc;
use model::rehearsal::{BufferBytes, Exception};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ffi::CStr;
use std::rc::Rc;

/// One rank's files.
pub(crate) struct Rehearsed {
    inner: Mem,
    stage: Rc<Stage>,
    rank: u32,
    /// Absolute path of the run directory.
    root: Rc<[u8]>,
    /// The program expects names to be missing now, or to be there already.
    options: InForce,
    /// The operation under way, and whether the program takes its result.
    site: Pc,
    uses_result: bool,
    /// Why the lexical rule does not cover a call of the operation under way.
    exception: Option<&'static str>,
}

impl Rehearsed {
    pub(crate) fn new(stage: &Rc<Stage>, rank: u32, clock: Virtual, root: &Rc<[u8]>) -> Rehearsed {
        let inner = Mem::new(Rc::clone(&stage.fs), clock, Cost::default());
        let (stage, root, options) = (Rc::clone(stage), Rc::clone(root), InForce::default());
        let (site, uses_result, exception) = (0, false, None);
        Rehearsed { inner, stage, rank, root, options, site, uses_result, exception }
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

    /// The number of the file at a name.
    fn number(&self, name: &[u8]) -> Result<u32, i32> {
        self.stage.fs.borrow().number(name)
    }

    fn size_bytes(&self, number: u32) -> u64 {
        self.stage.fs.borrow().extent(number).0
    }

    /// Puts what the call needs in its place, if iterations that were left out would have made it, or
    /// if it may have been there before.
    fn set_up(&mut self, call: &Call<'_>, effect: &NameEffect<'_>) {
        let path = match call.names() {
            Names::None => return,
            Names::One { path, .. } | Names::Link { path, .. } => path,
            Names::Two { from, to } => {
                let exchanges = matches!(call, Call::Rename { flags: libc::RENAME_EXCHANGE, .. });
                self.set_up_name(&self.name(to.to_bytes()), exchanges, Kind::File);
                return self.set_up_name(&self.name(from.to_bytes()), true, Kind::File);
            }
        };
        let name = self.name(path.to_bytes());
        if !matches!(call, Call::Lstat { .. } | Call::Unlink { .. } | Call::Readlink { .. }) {
            self.stage.state.borrow_mut().expects.is_followed(&name);
        }
        let kind = match call {
            _ if self.options.expects_other_kind => Kind::File,
            Call::Open { flags, .. } if flags & libc::O_DIRECTORY != 0 => Kind::Directory,
            Call::Rmdir { .. } | Call::Mkdir { .. } => Kind::Directory,
            Call::Readlink { .. } => Kind::Link,
            _ => Kind::File,
        };
        let relies = match call {
            Call::Access { .. } => !self.uses_result,
            // Who makes a name and takes EEXIST does not rely on it either.
            _ => effect.makes.is_none(),
        };
        self.set_up_name(&name, relies, kind);
        let state = &mut *self.stage.state.borrow_mut();
        match call {
            // A program that asks whether a file is there, and uses the answer, does not rely on it: it is
            // not there, unless the program made or used it. Files from before can change the answer.
            Call::Access { .. } => {
                let is_missing = self.number(&name) == Err(libc::ENOENT);
                state.about |= is_missing && self.stage.finds_files;
            }
            Call::Stat { .. } | Call::Lstat { .. } => state.doubts.mark_used(&name),
            _ => {}
        }
    }

    fn set_up_name(&self, name: &[u8], must_exist: bool, kind: Kind) {
        if name.is_empty() || (kind != Kind::Directory && self.number(name).is_ok()) {
            return;
        }
        let start = self.stage.fs.borrow().root_of(name).map_or(0, |root| root.len() + 1);
        // What may be missing is not relied on.
        let relies = !self.options.expects_missing;
        for end in (start..name.len()).filter(|at| name[*at] == b'/') {
            self.plant(&name[..end], relies, Kind::Directory);
        }
        self.plant(name, must_exist && relies, kind);
    }

    fn plant(&self, name: &[u8], must_exist: bool, kind: Kind) {
        let state = &mut *self.stage.state.borrow_mut();
        match self.number(name) {
            Err(libc::ENOENT) if must_exist && !state.removed.contains(name) => {}
            // `stat("d")` does not tell what `d` is; a name below it does.
            Ok(_) if kind == Kind::Directory && !state.expects.is_read(name) => {
                if self.stage.fs.borrow_mut().found_is_directory(name) {
                    state.expects.is_directory(name);
                }
                return;
            }
            _ => return,
        }
        let left_out = state.left_out(name, &self.stage.fs.borrow());
        let what = match left_out {
            Some(what) => what,
            None => {
                let like = state.doubts.missing((self.rank, self.site), name);
                if !self.stage.finds_files && !state.sampled {
                    return state.expects.name(name, kind, None);
                }
                match like.and_then(|name| self.number(&name).ok()) {
                    _ if kind == Kind::Directory => Planted::Directory,
                    Some(number) => Planted::File(self.size_bytes(number)),
                    None => Planted::Found,
                }
            }
        };
        if self.stage.fs.borrow_mut().plant(name, what).is_err() {
            return;
        }
        // Names that were left out are unknown: one that is missing may be theirs.
        if !state.sampled {
            let number = self.number(name).ok();
            state.expects.name(name, kind, number);
            if let Planted::File(size) = what {
                state.expects.read(number, size, false);
            }
            state.about = true;
        }
        // It counts already, or takes none of the room that is free now.
        state.placed(self.stage.fs.borrow().used());
    }

    /// The file of which a call may change the size, or ask for it; and its size now.
    fn file_of(&mut self, call: &Call<'_>) -> Option<(u32, u64)> {
        let number = match *call {
            Call::Ftruncate { fd, .. }
            | Call::Fallocate { fd, .. }
            | Call::Fstat { fd }
            | Call::Seek { fd, end: true, .. }
            | Call::Preadv { fd, .. }
            | Call::Pwritev { fd, .. }
            | Call::CopyRange { to: (fd, _), .. }
            | Call::Clone { to: fd, .. }
            | Call::CloneRange { to: (fd, _), .. } => self.inner.number(fd),
            Call::Open { path, .. } | Call::Truncate { path, .. } | Call::Stat { path } => {
                self.number(&self.name(path.to_bytes())).ok()
            }
            _ => None,
        }?;
        Some((number, self.size_bytes(number)))
    }

    /// For the search for races: what a call has done to the bytes of its file. `before`: its size.
    fn changed_size(&mut self, (number, before): (u32, u64), asks: bool) {
        let size = self.size_bytes(number);
        let races = &mut self.stage.state.borrow_mut().races;
        if asks {
            races.on_file(self.rank, number, Access::Asks);
        }
        match size.cmp(&before) {
            Ordering::Less => races.on_file(self.rank, number, Access::Takes),
            Ordering::Equal => {}
            Ordering::Greater => races.on_file(self.rank, number, Access::Adds(size)),
        }
    }

    /// A call was made. `new`: there is one file or directory more.
    fn changed_names(&mut self, effect: &NameEffect<'_>, new: bool, done: bool) {
        let state = &mut *self.stage.state.borrow_mut();
        if let Some(path) = effect.asks {
            state.races.on_name(self.rank, &self.name(path.to_bytes()), Access::Asks);
        }
        if let Some(path) = effect.removes.filter(|_| done) {
            let name = self.name(path.to_bytes());
            state.races.on_name(self.rank, &name, Access::Takes);
            state.removed.insert(name[..].into());
        }
        let Some(path) = effect.makes.filter(|_| done) else { return };
        if effect.opens && !new {
            state.ranks[self.rank as usize].found_old = true;
            return;
        }
        let name = self.name(path.to_bytes());
        let number = self.number(&name).ok();
        state.races.on_name(self.rank, &name, Access::Adds(0));
        if effect.directory && self.options.expects_existing {
            state.expects.may_be_there(&name);
        }
        state.record_made(self.rank, &name, number.unwrap_or(u32::MAX), effect.directory, new);
        if let Some(number) = number.filter(|_| self.stage.iterations_max < u64::MAX) {
            state.kinds.insert(skeleton(&name), number);
        }
    }

    /// A file that was opened with `filesize` gets that size, if it was there before the program.
    fn give_size(&mut self, fd: Fd) {
        let sized = self.options.found_bytes.zip(self.inner.number(fd));
        let Some((bytes, number)) = sized else { return };
        if self.stage.fs.borrow_mut().found_has_size(number, bytes) {
            let state = &mut *self.stage.state.borrow_mut();
            state.expects.set_size(number, bytes);
            // It takes none of the room that is free now.
            state.placed(self.stage.fs.borrow().used());
        }
    }

    /// A file of unknown size is read to its end.
    fn reads_all(&mut self, fd: Fd) -> Reply {
        let number = self.inner.number(fd);
        self.stage.state.borrow_mut().expects.read(number, 0, true);
        0
    }

    fn buffers(&self, bytes: u64, memory: BufferBytes) {
        let tally = &mut self.stage.state.borrow_mut().ranks[self.rank as usize];
        tally.buffer_bytes = tally.buffer_bytes.max(bytes);
        tally.memory = tally.memory.max(memory);
    }

    fn opened(&self, change: i64) {
        let state = &mut *self.stage.state.borrow_mut();
        let place = state.layout.handles();
        state.ranks[self.rank as usize].amounts[place] += change;
    }

    /// A call has removed a file, or closed one without a name.
    fn forget_gone(&self) {
        if let Some(number) = self.stage.fs.borrow().freed_last() {
            self.stage.state.borrow_mut().races.file_is_gone(number);
        }
    }

    fn accessed(&mut self, fd: Fd, run: &Run, (write, moved): (bool, u64)) {
        let Some(number) = self.inner.number(fd) else { return };
        let appends = write && self.inner.appends(fd);
        let state = &mut *self.stage.state.borrow_mut();
        let end = run.end_bytes();
        if !write && moved > 0 {
            state.expects.read(Some(number), end, false);
        }
        let access = match write {
            true if appends => Access::Adds(self.size_bytes(number)),
            true => Access::Adds(end),
            false => Access::Needs(end),
        };
        state.races.on_file(self.rank, number, access);
        let tally = &mut state.ranks[self.rank as usize];
        if appends && tally.stands_for_several {
            tally.appended.push((number, moved));
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

/// The file of which a call copies or shares bytes, where they end, and whether it takes all that is there.
fn source(call: &Call<'_>) -> Option<(Fd, u64, bool)> {
    match *call {
        Call::CopyRange { from: (fd, offset), len, rest, .. } => {
            Some((fd, offset.saturating_add(len as u64), rest))
        }
        Call::CloneRange { from: (fd, offset), len, .. } => {
            Some((fd, offset.saturating_add(len), len == 0))
        }
        Call::Clone { from, .. } => Some((from, 0, true)),
        _ => None,
    }
}

/// Effect of a successful call on names.
#[derive(Clone, Copy, Default)]
struct NameEffect<'a> {
    /// Whether the name is there decides what follows.
    asks: Option<&'a CStr>,
    makes: Option<&'a CStr>,
    removes: Option<&'a CStr>,
    /// It makes a directory.
    directory: bool,
    /// It opens what is there already.
    opens: bool,
}

impl<'a> NameEffect<'a> {
    fn from_call(call: &Call<'a>) -> NameEffect<'a> {
        let nothing = NameEffect::default();
        match *call {
            Call::Open { path, flags, .. } if flags & libc::O_CREAT != 0 => {
                let asks = Some(path).filter(|_| flags & libc::O_EXCL != 0);
                NameEffect { asks, makes: Some(path), opens: true, ..nothing }
            }
            Call::Open { path, .. } | Call::Stat { path } | Call::Access { path } => {
                NameEffect { asks: Some(path), ..nothing }
            }
            Call::Mkdir { path } => NameEffect { makes: Some(path), directory: true, ..nothing },
            Call::Symlink { path, .. } | Call::Link { to: path, .. } => {
                NameEffect { makes: Some(path), ..nothing }
            }
            Call::LinkFile { path, .. } => NameEffect { makes: Some(path), ..nothing },
            Call::Unlink { path } | Call::Rmdir { path } => {
                NameEffect { removes: Some(path), ..nothing }
            }
            Call::Rename { flags: libc::RENAME_EXCHANGE, .. } => nothing,
            Call::Rename { from, to, .. } => {
                NameEffect { makes: Some(to), removes: Some(from), ..nothing }
            }
            _ => nothing,
        }
    }
}

impl Sizes for Rehearsed {
    fn is_found(&mut self, fd: Fd) -> bool {
        self.inner.is_found(fd)
    }
}

impl Backend for Rehearsed {
    fn set_options(&mut self, options: &InForce) {
        self.options = *options;
    }

    fn begins(&mut self, site: Pc, uses_result: bool) {
        (self.site, self.uses_result) = (site, uses_result);
    }

    fn move_bulk(&mut self, bulk: &Bulk) -> Reply {
        self.buffers(bulk.buffer_bytes, bulk.memory);
        let BulkFile::Posix(fd) = bulk.file else { return -Reply::from(libc::ENOSYS) };
        if bulk.rest && self.inner.is_found(fd) {
            // How much there is nobody knows.
            return self.reads_all(fd);
        }
        if !self.stage.budget.call() {
            return -Reply::from(libc::EIO);
        }
        let moved = self.inner.move_bulk(bulk);
        if moved >= 0 {
            self.accessed(fd, &bulk.run, (bulk.write, moved as u64));
            self.stage.changed(self.rank);
        }
        moved
    }

    fn concluded(&mut self, over: &Over<'_>) {
        let name = self.name(over.path);
        let state = &mut *self.stage.state.borrow_mut();
        state.end_operation(self.rank, &name, over, &self.options);
        if let Some(reason) = self.exception.take() {
            state.exception.get_or_insert(Exception { site: over.site, reason });
        }
    }

    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        self.inner.prepare(call)?;
        self.exception = self.exception.or(lexical::exception(call));
        Ok(())
    }

    fn capabilities(&mut self) -> Capabilities {
        Capabilities { accounts: true, ..self.inner.capabilities() }
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        if !self.stage.budget.call() {
            return -Reply::from(libc::EIO);
        }
        let mut asks = matches!(call, Call::Fstat { .. } | Call::Stat { .. });
        match &call {
            Call::Seek { fd, end: true, .. } if self.inner.is_found(*fd) => return 0,
            Call::Seek { .. } => asks = true,
            Call::Preadv { bufs, .. } => {
                asks = true;
                let read_bytes = bufs.iter().map(|buf| buf.len() as u64).sum();
                self.buffers(read_bytes, BufferBytes { read_bytes, ..BufferBytes::default() });
            }
            Call::Pwritev { bufs, .. } => {
                let write_bytes = bufs.iter().map(|buf| buf.len() as u64).sum();
                self.buffers(write_bytes, BufferBytes { write_bytes, ..BufferBytes::default() });
            }
            _ => {}
        }
        if let Some((fd, end, all)) = source(&call) {
            if all && self.inner.is_found(fd) {
                return self.reads_all(fd);
            }
            let number = self.inner.number(fd);
            let state = &mut *self.stage.state.borrow_mut();
            state.expects.read(number, end, false);
            if let Some(number) = number {
                state.races.on_file(self.rank, number, Access::Needs(end));
            }
        }
        let effect = NameEffect::from_call(&call);
        self.set_up(&call, &effect);
        let file = self.file_of(&call);
        let handles = match call {
            Call::Open { .. } => 1,
            Call::Close { .. } => -1,
            _ => 0,
        };
        let names = self.stage.names();
        let reply = self.inner.issue(call);
        let names_now = self.stage.names();
        self.changed_names(&effect, names_now > names, reply >= 0);
        if handles > 0 && reply >= 0 {
            self.give_size(Fd(reply as i32));
        }
        if reply >= 0 {
            file.into_iter().for_each(|file| self.changed_size(file, asks));
            self.stage.changed(self.rank);
            self.opened(handles);
            if names_now < names {
                self.forget_gone();
            }
        }
        reply
    }
}

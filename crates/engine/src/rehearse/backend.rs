//! The back-end of a rehearsal, around that of files in memory: it keeps an account of what calls and
//! operations change, in the [`Stage`].

use super::races::Access;
use super::stage::Stage;
use crate::backend::mem::Planted;
use crate::backend::{
    Backend, Bulk, BulkFile, Capabilities, Cost, InForce, Mem, Over, Sizes, lexical,
};
use crate::call::{Call, Fd, Names, Reply};
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
    /// The program expects names to be missing now.
    expects_missing: bool,
    /// The program expects names that it makes to be there already.
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

    /// Puts what the call needs in its place, if iterations that were left out would have made it, or
    /// if it may have been there before.
    fn set_up(&mut self, call: &Call<'_>) {
        let lists = matches!(*call, Call::Open { flags, .. } if flags & libc::O_DIRECTORY != 0);
        let directory = lists || matches!(call, Call::Rmdir { .. });
        let effect = Effect::of(call);
        let makes_directory = matches!(effect, Effect::Makes { directory: true, .. });
        let makes = matches!(effect, Effect::Makes { .. });
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

    /// A program that asks whether a file is there, and uses the answer, does not rely on it: it is not
    /// there, unless the program made or used it. Files from before can change the answer.
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
        let left_out = state.left_out(name, &self.stage.fs.borrow());
        let what = match left_out {
            _ if !must_exist || state.was_removed(name) => return,
            Some(what) => what,
            None => {
                let like = state.doubts.missing(self.rank, name);
                let size = like.and_then(|name| self.stage.fs.borrow().number(&name).ok());
                let known = size.map(|number| self.stage.fs.borrow().extent(number).0);
                match known {
                    _ if !self.stage.finds_files && !state.sampled => {
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
        // Names that were left out are unknown: one that is missing may be theirs.
        if !state.sampled {
            let number = self.stage.fs.borrow().number(name).ok();
            state.expects.name(name, directory, number);
            if let Planted::File(size) = what {
                state.expects.read(number, size);
            }
            state.about = true;
        }
        // It counts already, or takes none of the room that is free now.
        state.placed(self.stage.fs.borrow().used());
    }

    /// `stat("d")` does not tell what `d` is; a name below it does.
    fn is_directory(&self, name: &[u8]) {
        let state = &mut *self.stage.state.borrow_mut();
        if !state.expects.is_read(name) && self.stage.fs.borrow_mut().found_is_directory(name) {
            state.expects.is_directory(name);
        }
    }

    /// The file of which a call may change the size, or ask for it.
    fn file_of(&mut self, call: &Call<'_>) -> Option<u32> {
        match *call {
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
                let name = self.name(path.to_bytes());
                self.stage.fs.borrow().number(&name).ok()
            }
            _ => None,
        }
    }

    fn size_bytes(&self, number: u32) -> u64 {
        self.stage.fs.borrow().extent(number).0
    }

    /// For the search for races: what a call has done to the bytes of its file. `before`: its size.
    fn touched(&mut self, file: Option<(u32, u64)>, asks: bool) {
        let Some((number, before)) = file else { return };
        let size = self.size_bytes(number);
        let races = &mut self.stage.state.borrow_mut().races;
        if asks {
            races.on_file(self.rank, number, Access::Asks);
        }
        match size.cmp(&before) {
            std::cmp::Ordering::Less => races.on_file(self.rank, number, Access::Takes),
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => races.on_file(self.rank, number, Access::Adds(size)),
        }
    }

    /// For the search for races: what a call needs of names or does to them.
    fn touched_names(&self, effect: Effect<'_>, new: bool, done: bool) {
        let races = &mut self.stage.state.borrow_mut().races;
        let mut touch =
            |path: &CStr, access| races.on_name(self.rank, &self.name(path.to_bytes()), access);
        match effect {
            Effect::Nothing => {}
            Effect::Asks(path) => touch(path, Access::Asks),
            Effect::Makes { path, exclusive, .. } => {
                if exclusive {
                    touch(path, Access::Asks);
                }
                if new {
                    touch(path, Access::Adds(0));
                }
            }
            Effect::Removes(path) if done => touch(path, Access::Takes),
            Effect::Moves(from, to) if done => {
                touch(from, Access::Takes);
                touch(to, Access::Adds(0));
            }
            Effect::Removes(_) | Effect::Moves(..) => {}
        }
    }

    /// A call has made or removed names. `new`: there is one more.
    fn renamed(&mut self, effect: Effect<'_>, new: bool) {
        let (made, gone, is_directory) = match effect {
            Effect::Makes { path, directory, .. } => (Some(path), None, directory),
            Effect::Removes(path) => (None, Some(path), false),
            Effect::Moves(from, to) => (Some(to), Some(from), false),
            Effect::Nothing | Effect::Asks(_) => return,
        };
        let state = &mut *self.stage.state.borrow_mut();
        if let Some(path) = gone {
            state.gone(self.rank, &self.name(path.to_bytes()));
        }
        if let Some(path) = made {
            let name = self.name(path.to_bytes());
            let number = self.stage.fs.borrow().number(&name).ok();
            if is_directory && self.expects_existing {
                state.expects.may_be_there(&name);
            }
            state.made(self.rank, &name, number.unwrap_or(u32::MAX), is_directory, new);
            if let Some(number) = number.filter(|_| self.stage.iterations_max < u64::MAX) {
                state.remember_kind(&name, number);
            }
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
        let state = &mut *self.stage.state.borrow_mut();
        let place = state.layout.handles();
        state.ranks[self.rank as usize].amounts[place] += change;
    }

    fn accessed(&mut self, fd: Fd, number: u32, run: &Run, (write, moved): (bool, u64)) {
        let appends = write && self.inner.appends(fd);
        let state = &mut *self.stage.state.borrow_mut();
        let end = run.end_bytes();
        if !write && moved > 0 {
            state.expects.read(Some(number), end);
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

/// Effect of a successful call on names.
#[derive(Clone, Copy)]
enum Effect<'a> {
    Nothing,
    /// It fails without the name.
    Asks(&'a CStr),
    Makes {
        path: &'a CStr,
        directory: bool,
        /// Whether the name was there decides what follows.
        exclusive: bool,
    },
    Removes(&'a CStr),
    Moves(&'a CStr, &'a CStr),
}

impl<'a> Effect<'a> {
    fn of(call: &Call<'a>) -> Effect<'a> {
        let makes = |path| Effect::Makes { path, directory: false, exclusive: false };
        match *call {
            Call::Open { path, flags, .. } if flags & libc::O_CREAT != 0 => {
                let exclusive = flags & libc::O_EXCL != 0;
                Effect::Makes { path, directory: false, exclusive }
            }
            Call::Open { path, .. } | Call::Stat { path } | Call::Access { path } => {
                Effect::Asks(path)
            }
            Call::Symlink { path, .. } | Call::Link { to: path, .. } => makes(path),
            Call::LinkFile { path, .. } => makes(path),
            Call::Mkdir { path } => Effect::Makes { path, directory: true, exclusive: false },
            Call::Unlink { path } | Call::Rmdir { path } => Effect::Removes(path),
            Call::Rename { flags: libc::RENAME_EXCHANGE, .. } => Effect::Nothing,
            Call::Rename { from, to, .. } => Effect::Moves(from, to),
            _ => Effect::Nothing,
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
        self.expects_missing = options.expects_missing;
        self.expects_existing = options.expects_existing;
    }

    fn needs_name(&mut self) {
        self.relies = true;
    }

    fn move_bulk(&mut self, bulk: &Bulk) -> Reply {
        self.buffers(bulk.buffer_bytes);
        let BulkFile::Posix(fd) = bulk.file else { return -Reply::from(libc::ENOSYS) };
        if bulk.rest && self.inner.is_found(fd) {
            // How much there is nobody knows.
            return self.reads_all(fd);
        }
        if !self.stage.budget.call() {
            return -Reply::from(libc::EIO);
        }
        let moved = self.inner.move_bulk(bulk);
        if moved < 0 {
            return moved;
        }
        if let Some(number) = self.inner.number(fd) {
            self.accessed(fd, number, &bulk.run, (bulk.write, moved as u64));
        }
        self.stage.changed(self.rank);
        moved
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

    fn capabilities(&mut self) -> Capabilities {
        Capabilities { accounts: true, ..self.inner.capabilities() }
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        if !self.stage.budget.call() {
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
            let state = &mut *self.stage.state.borrow_mut();
            state.expects.read(number, end);
            if let Some(number) = number {
                state.races.on_file(self.rank, number, Access::Needs(end));
            }
        }
        if let Call::Seek { fd, end: true, .. } = call
            && self.inner.is_found(fd)
        {
            return 0;
        }
        self.set_up(&call);
        let (effect, file) = (Effect::of(&call), self.file_of(&call));
        let file = file.map(|number| (number, self.size_bytes(number)));
        let asks = matches!(
            call,
            Call::Fstat { .. } | Call::Stat { .. } | Call::Seek { .. } | Call::Preadv { .. }
        );
        let opens = matches!(call, Call::Open { .. });
        let closes = matches!(call, Call::Close { .. });
        let names = self.stage.names();
        let reply = self.inner.issue(call);
        let new = self.stage.names() > names;
        self.touched_names(effect, new, reply >= 0);
        if reply < 0 {
            return reply;
        }
        self.touched(file, asks);
        self.stage.changed(self.rank);
        if new || !opens {
            self.renamed(effect, new);
        } else if matches!(effect, Effect::Makes { .. }) {
            self.stage.state.borrow_mut().ranks[self.rank as usize].found_old = true;
        }
        if opens || closes {
            self.opened(i64::from(opens) - i64::from(closes));
        }
        reply
    }
}

//! A rank's open files and the calls on them: transfers, and calls on ranges (allocating, copying, sharing).
//!
//! Descriptors start at 3 and are the lowest free number, as in a process. The order of checks is that of Linux
//! (fs/open.c, fs/read_write.c, fs/remap_range.c).

use super::content::{Content, PAGE, SIZE_MAX};
use super::node::{Done, Ino, Kind, Lock, MemFs};
use crate::backend::lexical::{check_path, refuses_flags};
use crate::call::Fd;
use crate::entries::{self, MARKER};
use model::pattern::Run;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const FIRST: i32 = 3;
/// Descriptors a rank may have open at one time.
const OPEN_FILES_MAX: usize = 1 << 20;
/// Most bytes of one transfer (`MAX_RW_COUNT`, read(2)).
const TRANSFER_MAX: u64 = 0x7fff_f000;

/// An open file description.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) ino: Ino,
    flags: i32,
    pub(crate) position: u64,
    /// Names in the directory that are still to be listed.
    listing: Option<std::vec::IntoIter<Box<[u8]>>>,
    /// How it holds its file with flock.
    lock: Option<Lock>,
    /// It is mapped, and whether the mapping can be written.
    mapped: Option<bool>,
}

impl Open {
    /// `O_ACCMODE` is a number, not bits; the value 3 allows neither (open(2)).
    fn allows(&self, write: bool) -> bool {
        let one = if write { libc::O_WRONLY } else { libc::O_RDONLY };
        [one, libc::O_RDWR].contains(&(self.flags & libc::O_ACCMODE))
            && self.flags & libc::O_PATH == 0
    }

    /// Flags of open(2).
    pub(crate) fn flags(&self) -> i32 {
        self.flags
    }

    pub(crate) fn appends(&self) -> bool {
        self.flags & libc::O_APPEND != 0
    }
}

/// The descriptor table of a rank.
#[derive(Debug, Default)]
pub(crate) struct Files {
    table: Vec<Option<Open>>,
    free: BinaryHeap<Reverse<usize>>,
}

impl Files {
    pub(crate) fn close_all(&mut self, fs: &mut MemFs) {
        for open in self.table.drain(..).flatten() {
            fs.close(&open);
        }
        self.free.clear();
    }

    pub(crate) fn open(&mut self, fs: &mut MemFs, path: &[u8], flags: i32) -> Done {
        let flags = check_flags(flags)?;
        check_path(path)?;
        if self.free.is_empty() && self.table.len() >= OPEN_FILES_MAX {
            return Err(libc::EMFILE);
        }
        let ino = fs.open(path, flags)?;
        fs.nodes.get_mut(ino).opens += 1;
        let open = Some(Open { ino, flags, position: 0, listing: None, lock: None, mapped: None });
        let at = match self.free.pop() {
            Some(Reverse(at)) => at,
            None => {
                self.table.push(None);
                self.table.len() - 1
            }
        };
        self.table[at] = open;
        Ok(at as i64 + i64::from(FIRST))
    }

    pub(crate) fn get(&mut self, fd: Fd) -> Result<&mut Open, i32> {
        let at = usize::try_from(fd.0 - FIRST).map_err(|_| libc::EBADF)?;
        self.table.get_mut(at).and_then(Option::as_mut).ok_or(libc::EBADF)
    }

    /// The file, unless the descriptor is for its name only.
    pub(crate) fn file(&mut self, fd: Fd) -> Result<&mut Open, i32> {
        self.get(fd).and_then(|open| match open.flags & libc::O_PATH {
            0 => Ok(open),
            _ => Err(libc::EBADF),
        })
    }

    /// The file, if its bytes may be read, or written.
    fn accessible(&mut self, fd: Fd, write: bool) -> Result<&mut Open, i32> {
        self.get(fd).and_then(|open| if open.allows(write) { Ok(open) } else { Err(libc::EBADF) })
    }

    pub(crate) fn close(&mut self, fs: &mut MemFs, fd: Fd) -> Done {
        fs.close(self.get(fd)?);
        let at = (fd.0 - FIRST) as usize;
        self.table[at] = None;
        self.free.push(Reverse(at));
        Ok(0)
    }

    /// A transfer of a call; at most `TRANSFER_MAX` bytes of it.
    pub(crate) fn transfer(
        &mut self,
        fs: &mut MemFs,
        fd: Fd,
        (offset, len): (u64, usize),
        write: bool,
    ) -> Done {
        if offset > SIZE_MAX {
            return Err(libc::EINVAL);
        }
        self.accessible(fd, write)?;
        check_end(offset, len)?;
        let run = Run::single(offset, (len as u64).min(TRANSFER_MAX));
        self.access(fs, fd, &run, write)
    }

    /// Accesses equal pieces of an open file at once; the bytes moved.
    pub(crate) fn access(&mut self, fs: &mut MemFs, fd: Fd, run: &Run, write: bool) -> Done {
        let open = self.accessible(fd, write)?;
        let content = fs.nodes.content(open.ino)?;
        if !write {
            return Ok(content.readable_bytes(run) as i64);
        }
        // Linux appends even then (pwrite(2), bugs).
        let bytes = run.length_bytes.saturating_mul(run.count);
        let end = Run::single(content.size(), bytes);
        put(fs, open.ino, if open.appends() { &end } else { run })
    }

    /// Writes at the position, or at the end.
    pub(crate) fn append(&mut self, fs: &mut MemFs, fd: Fd, len: usize) -> Done {
        let open = self.accessible(fd, true)?;
        check_end(open.position, len)?;
        let at = if open.appends() { fs.size(open.ino) as u64 } else { open.position };
        let done = put(fs, open.ino, &Run::single(at, (len as u64).min(TRANSFER_MAX)))?;
        if done > 0 {
            open.position = at + done as u64;
        }
        Ok(done)
    }

    pub(crate) fn map(&mut self, fs: &MemFs, fd: Fd, write: bool) -> Done {
        let open = self.file(fd)?;
        if !matches!(fs.nodes.get(open.ino).kind, Kind::File(_)) {
            return Err(libc::ENODEV);
        }
        if !open.allows(false) || write && !open.allows(true) {
            return Err(libc::EACCES);
        }
        open.mapped = Some(write);
        Ok(0)
    }

    pub(crate) fn unmap(&mut self, fd: Fd) -> Done {
        self.file(fd)?.mapped.take().map(|_| 0).ok_or(libc::EBADF)
    }

    /// The file behind a mapping that can be read, or written.
    pub(crate) fn mapped(&mut self, fd: Fd, write: bool) -> Result<Ino, i32> {
        let open = self.file(fd)?;
        open.mapped.filter(|writable| *writable || !write).map(|_| open.ino).ok_or(libc::EBADF)
    }

    /// A copy out of a mapping, or into it.
    pub(crate) fn access_map(
        &mut self,
        fs: &mut MemFs,
        fd: Fd,
        (offset, len): (u64, usize),
        write: bool,
    ) -> Done {
        let ino = self.mapped(fd, write)?;
        if write && len == 0 {
            return Ok(0);
        }
        check_end(offset, len)?;
        let run = Run::single(offset, len as u64);
        if write {
            put(fs, ino, &run)
        } else {
            Ok(fs.nodes.content(ino)?.readable_bytes(&run) as i64)
        }
    }

    pub(crate) fn seek(&mut self, fs: &MemFs, fd: Fd, (offset, end): (i64, bool)) -> Done {
        let open = self.file(fd)?;
        let base = if end { fs.size(open.ino) } else { 0 };
        let position = base.checked_add(offset).and_then(|at| u64::try_from(at).ok());
        let position = position.filter(|at| *at <= SIZE_MAX).ok_or(libc::EINVAL)?;
        open.position = position;
        open.listing = None;
        Ok(position as i64)
    }

    pub(crate) fn truncate(&mut self, fs: &mut MemFs, fd: Fd, size: u64) -> Done {
        if size > SIZE_MAX {
            return Err(libc::EINVAL);
        }
        let open = self.file(fd)?;
        if !open.allows(true) {
            return Err(libc::EINVAL);
        }
        fs.nodes.change(open.ino, |content| content.resize(size)).map(|()| 0)
    }

    /// As many entries as fit in the buffer; see [`crate::call::Call::Getdents`].
    pub(crate) fn list(&mut self, fs: &MemFs, fd: Fd, buf: &mut [u8]) -> Done {
        let open = self.file(fd)?;
        let Kind::Directory { names, .. } = &fs.nodes.get(open.ino).kind else {
            return Err(libc::ENOTDIR);
        };
        if fs.nodes.get(open.ino).links == 0 {
            return Err(libc::ENOENT);
        }
        let listing = open.listing.get_or_insert_with(|| {
            let visible = names.keys().filter(|name| &***name != MARKER.as_bytes()).cloned();
            let dots = [&b"."[..], b".."].map(Box::from);
            dots.into_iter().chain(visible).collect::<Vec<_>>().into_iter()
        });
        take_entries(listing, buf)
    }

    /// A virtual clock stands still while a call lasts, so that a lock that others hold is
    /// `EWOULDBLOCK` also without `LOCK_NB`.
    pub(crate) fn flock(&mut self, fs: &mut MemFs, fd: Fd, operation: i32) -> Done {
        let wanted = match operation & !libc::LOCK_NB {
            libc::LOCK_SH => Some(Lock::Shared),
            libc::LOCK_EX => Some(Lock::Exclusive),
            libc::LOCK_UN => None,
            _ => return Err(libc::EINVAL),
        };
        let open = self.file(fd)?;
        if wanted.is_some() && !open.allows(false) && !open.allows(true) {
            return Err(libc::EBADF);
        }
        if open.lock != wanted {
            // Another kind of lock is no change of the old one, which may be lost (flock(2)).
            let locks = &mut fs.nodes.get_mut(open.ino).locks;
            locks.give_back(open.lock.take());
            locks.take(wanted)?;
            open.lock = wanted;
        }
        Ok(0)
    }
}

impl MemFs {
    fn close(&mut self, open: &Open) {
        self.nodes.get_mut(open.ino).locks.give_back(open.lock);
        self.nodes.release(open.ino);
    }
}

fn take_entries(listing: &mut std::vec::IntoIter<Box<[u8]>>, buf: &mut [u8]) -> Done {
    let (mut used, mut counted) = (0, 0);
    while let Some(name) = listing.as_slice().first() {
        let Some(bytes) = entries::write(name, &mut buf[used..]) else { break };
        used += bytes;
        counted += i64::from(!matches!(&**name, b"." | b".."));
        listing.next();
    }
    entries::end(buf, used);
    match (used, listing.as_slice().is_empty()) {
        (0, true) => Ok(0),
        (0, false) => Err(libc::EINVAL),
        _ => Ok(counted + 1),
    }
}

/// Flags that contradict each other, and those that `O_PATH` turns off (open(2)).
fn check_flags(flags: i32) -> Result<i32, i32> {
    if flags & libc::O_PATH != 0 {
        return Ok(flags & (libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW));
    }
    if refuses_flags(flags) { Err(libc::EINVAL) } else { Ok(flags) }
}

/// A transfer must end within 63 bits.
fn check_end(offset: u64, length: usize) -> Result<(), i32> {
    let end = offset.checked_add(length as u64).filter(|end| *end <= SIZE_MAX);
    end.map(|_| ()).ok_or(libc::EINVAL)
}

/// Writes a run; the bytes that files can hold.
fn put(fs: &mut MemFs, ino: Ino, run: &Run) -> Done {
    let all = run.length_bytes.saturating_mul(run.count);
    let bytes = all.min(SIZE_MAX.saturating_sub(run.offset_bytes));
    let run = if run.count == 1 { Run::single(run.offset_bytes, bytes) } else { *run };
    match bytes {
        0 if all > 0 => Err(libc::EFBIG),
        0 => Ok(0),
        _ => fs.nodes.change(ino, |content| content.put(&run)).map(|()| bytes as i64),
    }
}

/// A hole keeps the size (`FALLOC_FL_PUNCH_HOLE` goes with no other flag).
const PUNCH: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

impl Files {
    pub(crate) fn allocate(
        &mut self,
        fs: &mut MemFs,
        fd: Fd,
        mode: i32,
        (start, size): (u64, u64),
    ) -> Done {
        self.file(fd)?;
        if size == 0 || size > SIZE_MAX || start > SIZE_MAX {
            return Err(libc::EINVAL);
        }
        let ino = self.accessible(fd, true)?.ino;
        if fs.nodes.is_directory(ino) {
            return Err(libc::EISDIR);
        }
        let end = start.checked_add(size).filter(|end| *end <= SIZE_MAX).ok_or(libc::EFBIG)?;
        let whole_pages = start.is_multiple_of(PAGE) && size.is_multiple_of(PAGE);
        let now = fs.size(ino) as u64;
        match mode {
            libc::FALLOC_FL_COLLAPSE_RANGE if !whole_pages || end >= now => Err(libc::EINVAL),
            libc::FALLOC_FL_INSERT_RANGE if !whole_pages || start >= now => Err(libc::EINVAL),
            libc::FALLOC_FL_INSERT_RANGE if now > SIZE_MAX - size => Err(libc::EFBIG),
            mode => fs.nodes.change(ino, |content| change(content, mode, start, end)).map(|()| 0),
        }
    }

    /// Bytes go from one file to another without a buffer.
    pub(crate) fn copy(
        &mut self,
        fs: &mut MemFs,
        from: (Fd, u64),
        to: (Fd, u64),
        len: usize,
    ) -> Done {
        let (source, target) = self.two_files(fs, from.0, to.0)?;
        let (start, at, len) = (from.1, to.1, len as u64);
        let fits = |offset: u64| offset.checked_add(len).is_some_and(|end| end <= SIZE_MAX);
        if start > SIZE_MAX || at > SIZE_MAX {
            return Err(libc::EINVAL);
        }
        if !fits(start) || !fits(at) {
            return Err(libc::EOVERFLOW);
        }
        let len = fs.nodes.content(source)?.readable_bytes(&Run::single(start, len));
        if source == target && at < start + len && start < at + len {
            return Err(libc::EINVAL);
        }
        if len > 0 {
            fs.nodes.change(target, |content| content.put(&Run::single(at, len)))?;
        }
        Ok(len as i64)
    }

    /// A file gets bytes of another, of length 0 all to its end, and shares their room.
    pub(crate) fn share(
        &mut self,
        fs: &mut MemFs,
        (from, start): (Fd, u64),
        (to, at): (Fd, u64),
        len: u64,
    ) -> Done {
        let (source, target) = self.two_files(fs, from, to)?;
        fs.nodes.same_tree(source, target)?;
        let end = at + fs.shared_len((source, start), (target, at), len)?;
        if end > at {
            fs.nodes.change(target, |content| {
                content.extend(end);
                content.punch(at, end);
            })?;
        }
        Ok(0)
    }

    /// The files of a copy: regular ones, open for reading and for writing.
    fn two_files(&mut self, fs: &MemFs, from: Fd, to: Fd) -> Result<(Ino, Ino), i32> {
        for fd in [from, to] {
            fs.nodes.content(self.file(fd)?.ino)?;
        }
        let target = self.accessible(to, true)?;
        let (target, appends) = (target.ino, target.appends());
        if appends { Err(libc::EBADF) } else { Ok((self.accessible(from, false)?.ino, target)) }
    }
}

impl MemFs {
    /// Bytes that a file can get from another one: whole blocks, but for those to the end of both.
    fn shared_len(&self, from: (Ino, u64), to: (Ino, u64), len: u64) -> Result<u64, i32> {
        let ((source, start), (target, at)) = (from, to);
        let [there, before] = [source, target].map(|ino| self.size(ino) as u64);
        if !start.is_multiple_of(PAGE) || !at.is_multiple_of(PAGE) {
            return Err(libc::EINVAL);
        }
        let found = self.nodes.content(source)?.found;
        let len = if len == 0 { there.saturating_sub(start) } else { len };
        let ends = [start, at].map(|from| from.checked_add(len).filter(|end| *end <= SIZE_MAX));
        let [Some(end), Some(ends_at)] = ends else { return Err(libc::EINVAL) };
        let overlaps = source == target && at < end && start < ends_at;
        let cut = !len.is_multiple_of(PAGE) && (end != there || ends_at < before);
        if overlaps || start > there || !found && (end > there || cut) {
            return Err(libc::EINVAL);
        }
        Ok(len)
    }
}

fn change(content: &mut Content, mode: i32, start: u64, end: u64) {
    match mode {
        PUNCH => content.punch(start, end),
        libc::FALLOC_FL_COLLAPSE_RANGE => content.collapse(start, end),
        libc::FALLOC_FL_INSERT_RANGE => content.insert(start, end),
        libc::FALLOC_FL_KEEP_SIZE => content.allocate(start, end),
        _ => {
            content.allocate(start, end);
            content.extend(end);
        }
    }
}

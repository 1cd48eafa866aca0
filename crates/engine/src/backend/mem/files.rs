//! A rank's open files and the calls on them.
//!
//! Descriptors start at 3 and are the lowest free number, as in a process.

use super::content::SIZE_MAX;
use super::fs::MemFs;
use super::locks::Lock;
use super::node::{Ino, Kind};
use crate::backend::refused::{check_path, refuses_flags};
use crate::call::Fd;
use crate::entries;
use crate::entries::MARKER;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const FIRST: i32 = 3;

/// An open file description.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) ino: Ino,
    flags: i32,
    position: u64,
    /// Sizes of the directory entries that are still to be listed.
    listing: Option<std::vec::IntoIter<Box<[u8]>>>,
    /// How it holds its file with flock.
    lock: Option<Lock>,
    /// It is mapped, and whether the mapping can be written.
    pub(super) mapped: Option<bool>,
}

impl Open {
    /// `O_ACCMODE` is a number, not bits; the value 3 allows neither (open(2)).
    pub(super) fn reads(&self) -> bool {
        matches!(self.flags & libc::O_ACCMODE, libc::O_RDONLY | libc::O_RDWR) && !self.path_only()
    }

    pub(super) fn writes(&self) -> bool {
        matches!(self.flags & libc::O_ACCMODE, libc::O_WRONLY | libc::O_RDWR) && !self.path_only()
    }

    pub(super) fn appends(&self) -> bool {
        self.flags & libc::O_APPEND != 0
    }

    fn path_only(&self) -> bool {
        self.flags & libc::O_PATH != 0
    }
}

/// The descriptor table of a rank.
#[derive(Debug)]
pub(super) struct Files {
    table: Vec<Option<Open>>,
    free: BinaryHeap<Reverse<usize>>,
    limit: usize,
}

/// A reply, or an errno.
pub(super) type Done = Result<i64, i32>;

impl Files {
    pub(super) fn new(limit: usize) -> Files {
        Files { table: Vec::new(), free: BinaryHeap::new(), limit }
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    pub(super) fn close_all(&mut self, fs: &mut MemFs) {
        for open in self.table.drain(..).flatten() {
            fs.unlock(open.ino, open.lock);
            fs.nodes.release(open.ino);
        }
        self.free.clear();
    }

    pub(super) fn open(&mut self, fs: &mut MemFs, path: &[u8], flags: i32, mode: u32) -> Done {
        let flags = check_flags(flags)?;
        check_path(path)?;
        if self.free.is_empty() && self.table.len() >= self.limit {
            return Err(libc::EMFILE);
        }
        let ino = fs.open(path, flags, mode)?;
        fs.nodes.hold(ino);
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

    fn get(&mut self, fd: Fd) -> Result<&mut Open, i32> {
        let at = usize::try_from(fd.0 - FIRST).map_err(|_| libc::EBADF)?;
        self.table.get_mut(at).and_then(Option::as_mut).ok_or(libc::EBADF)
    }

    /// The file, unless the descriptor was opened with `O_PATH`.
    pub(super) fn file(&mut self, fd: Fd) -> Result<&mut Open, i32> {
        self.get(fd).and_then(|open| if open.path_only() { Err(libc::EBADF) } else { Ok(open) })
    }

    /// The file behind a descriptor that is not for its name only.
    pub(super) fn open_file(&mut self, fd: Fd) -> Result<Ino, i32> {
        self.file(fd).map(|open| open.ino)
    }

    /// The same if it can be read.
    pub(super) fn readable(&mut self, fd: Fd) -> Result<Ino, i32> {
        self.accessible(fd, false).map(|open| open.ino)
    }

    /// The same if it can be written.
    pub(super) fn writable(&mut self, fd: Fd) -> Result<Ino, i32> {
        self.accessible(fd, true).map(|open| open.ino)
    }

    /// Writes go to its end.
    pub(super) fn appends(&mut self, fd: Fd) -> bool {
        self.file(fd).is_ok_and(|open| open.appends())
    }

    /// The file behind a descriptor, and how that holds it with flock.
    pub(super) fn lock_of(&mut self, fd: Fd) -> Result<(Ino, &mut Option<Lock>), i32> {
        self.file(fd).map(|open| (open.ino, &mut open.lock))
    }

    /// The file, if its bytes may be read, or written.
    pub(super) fn accessible(&mut self, fd: Fd, write: bool) -> Result<&mut Open, i32> {
        let open = self.file(fd)?;
        let allowed = if write { open.writes() } else { open.reads() };
        if allowed { Ok(open) } else { Err(libc::EBADF) }
    }

    pub(super) fn close(&mut self, fs: &mut MemFs, fd: Fd) -> Done {
        let open = self.get(fd)?;
        fs.unlock(open.ino, open.lock);
        fs.nodes.release(open.ino);
        let at = (fd.0 - FIRST) as usize;
        self.table[at] = None;
        self.free.push(Reverse(at));
        Ok(0)
    }

    pub(super) fn pread(&mut self, fs: &mut MemFs, fd: Fd, buf: &mut [u8], offset: u64) -> Done {
        if offset > SIZE_MAX {
            return Err(libc::EINVAL);
        }
        let open = self.accessible(fd, false)?;
        check_end(offset, buf.len())?;
        let content = fs.nodes.content(open.ino)?;
        let most = buf.len().min(TRANSFER_MAX);
        Ok(content.read(&mut buf[..most], offset) as i64)
    }

    pub(super) fn pwrite(&mut self, fs: &mut MemFs, fd: Fd, buf: &[u8], offset: u64) -> Done {
        if offset > SIZE_MAX {
            return Err(libc::EINVAL);
        }
        let open = self.accessible(fd, true)?;
        check_end(offset, buf.len())?;
        // Linux appends even then (pwrite(2), bugs).
        let at = if open.appends() { fs.size(open.ino) as u64 } else { offset };
        put(fs, open.ino, buf, at)
    }

    pub(super) fn write(&mut self, fs: &mut MemFs, fd: Fd, buf: &[u8]) -> Done {
        let open = self.accessible(fd, true)?;
        check_end(open.position, buf.len())?;
        let at = if open.appends() { fs.size(open.ino) as u64 } else { open.position };
        let done = put(fs, open.ino, buf, at)?;
        if done > 0 {
            open.position = at + done as u64;
        }
        Ok(done)
    }

    pub(super) fn seek(&mut self, fs: &MemFs, fd: Fd, (offset, end): (i64, bool)) -> Done {
        let open = self.file(fd)?;
        let base = if end { fs.size(open.ino) } else { 0 };
        let position = base.checked_add(offset).and_then(|at| u64::try_from(at).ok());
        let position = position.filter(|at| *at <= SIZE_MAX).ok_or(libc::EINVAL)?;
        open.position = position;
        open.listing = None;
        Ok(position as i64)
    }

    pub(super) fn position(&mut self, fd: Fd) -> Option<u64> {
        self.file(fd).ok().map(|open| open.position)
    }

    /// The file behind a descriptor.
    pub(super) fn ino(&mut self, fd: Fd) -> Option<Ino> {
        self.get(fd).ok().map(|open| open.ino)
    }

    pub(super) fn sync(&mut self, fd: Fd) -> Done {
        self.file(fd).map(|_| 0)
    }

    pub(super) fn truncate(&mut self, fs: &mut MemFs, fd: Fd, size: u64) -> Done {
        if size > SIZE_MAX {
            return Err(libc::EINVAL);
        }
        let open = self.file(fd)?;
        if !open.writes() {
            return Err(libc::EINVAL);
        }
        fs.nodes.change(open.ino, |content| content.resize(size)).map(|()| 0)
    }

    pub(super) fn stat(&mut self, fs: &MemFs, fd: Fd) -> Done {
        Ok(fs.size(self.get(fd)?.ino))
    }

    /// As many entries as fit in the buffer; see [`crate::call::Call::Getdents`].
    pub(super) fn list(&mut self, fs: &MemFs, fd: Fd, buf: &mut [u8]) -> Done {
        let open = self.file(fd)?;
        let Kind::Directory { names, .. } = &fs.nodes.get(open.ino).kind else {
            return Err(libc::ENOTDIR);
        };
        if fs.nodes.get(open.ino).links == 0 {
            return Err(libc::ENOENT);
        }
        let listing = open.listing.get_or_insert_with(|| {
            let visible = names.keys().filter(|name| &***name != MARKER.as_bytes());
            let dots = [&b"."[..], b".."].map(Box::from);
            dots.into_iter()
                .chain(visible.map(|name| Box::from(&**name)))
                .collect::<Vec<_>>()
                .into_iter()
        });
        take_entries(listing, buf)
    }
}

/// Most bytes of one transfer (`MAX_RW_COUNT`, read(2)).
const TRANSFER_MAX: usize = 0x7fff_f000;

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
    if offset + length as u64 > SIZE_MAX { Err(libc::EINVAL) } else { Ok(()) }
}

pub(super) fn put(fs: &mut MemFs, ino: Ino, buf: &[u8], at: u64) -> Done {
    if buf.is_empty() {
        return Ok(0);
    }
    if at >= SIZE_MAX {
        return Err(libc::EFBIG);
    }
    let most = (buf.len().min(TRANSFER_MAX) as u64).min(SIZE_MAX - at) as usize;
    fs.nodes.change(ino, |content| content.write(&buf[..most], at)).map(|()| most as i64)
}

//! Calls on ranges of open files: allocating, copying, sharing.
//!
//! The order of checks is that of Linux (fs/open.c, fs/read_write.c, fs/remap_range.c).

use super::content::{Content, PAGE, SIZE_MAX};
use super::files::Files;
use super::node::{Done, Ino, MemFs};
use crate::call::Fd;
use model::pattern::Run;

/// A hole keeps the size (`FALLOC_FL_PUNCH_HOLE` goes with no other flag).
const PUNCH: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

impl Files {
    pub(super) fn allocate(
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
    pub(super) fn copy(
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
    pub(super) fn share(
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

//! Calls on ranges of open files: allocating, copying, sharing, several buffers.
//!
//! The order of checks is that of Linux (fs/open.c, fs/read_write.c, fs/remap_range.c).

use super::content::{PAGE, SIZE_MAX};
use super::files::{Done, Files};
use super::fs::MemFs;
use super::node::Ino;
use crate::call::Fd;
use model::pattern::Run;
use std::io::{IoSlice, IoSliceMut};

/// A hole keeps the size (`FALLOC_FL_PUNCH_HOLE` goes with no other flag).
const PUNCH: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
/// Most buffers of one call (`UIO_MAXIOV`).
const BUFFERS_MAX: usize = 1024;

impl Files {
    pub(super) fn allocate(
        &mut self,
        fs: &mut MemFs,
        fd: Fd,
        mode: i32,
        (start, size): (u64, u64),
    ) -> Done {
        let writable = self.writable(fd);
        if writable == Err(libc::EBADF) && self.open_file(fd).is_err() {
            return Err(libc::EBADF);
        }
        if size == 0 || size > SIZE_MAX || start > SIZE_MAX {
            return Err(libc::EINVAL);
        }
        let ino = writable?;
        if fs.nodes.is_directory(ino) {
            return Err(libc::EISDIR);
        }
        let end = start.checked_add(size).filter(|end| *end <= SIZE_MAX).ok_or(libc::EFBIG)?;
        let whole_pages = start % PAGE as u64 == 0 && size % PAGE as u64 == 0;
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
        let ((start, at), len) = ((from.1, to.1), len as u64);
        let fits = |offset: u64| offset.checked_add(len).is_some_and(|end| end <= SIZE_MAX);
        if start > SIZE_MAX || at > SIZE_MAX {
            return Err(libc::EINVAL);
        }
        if !fits(start) || !fits(at) {
            return Err(libc::EOVERFLOW);
        }
        let content = fs.nodes.content(source)?;
        let there = content.size().saturating_sub(start).min(len);
        let len = if content.found { len } else { there };
        if source == target && at < start + len && start < at + len {
            return Err(libc::EINVAL);
        }
        fs.put_copy(source, start, target, at, len)?;
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
        let len = fs.shared_len((source, start), (target, at), len)?;
        fs.put_copy(source, start, target, at, len)?;
        fs.nodes.change(target, |content| content.share(at, at + len)).map(|()| 0)
    }

    /// The files of a copy: regular ones, open for reading and for writing.
    fn two_files(&mut self, fs: &MemFs, from: Fd, to: Fd) -> Result<(Ino, Ino), i32> {
        let files = [self.open_file(from)?, self.open_file(to)?];
        for ino in files {
            fs.nodes.content(ino)?;
        }
        let target = self.writable(to)?;
        if self.appends(to) { Err(libc::EBADF) } else { Ok((self.readable(from)?, target)) }
    }

    pub(super) fn preadv(
        &mut self,
        fs: &mut MemFs,
        fd: Fd,
        bufs: &mut [IoSliceMut<'_>],
        offset: u64,
    ) -> Done {
        let all = bufs.iter().map(|buf| buf.len()).sum();
        if check_vector(self.readable(fd), bufs.len(), all, offset)? {
            return Ok(0);
        }
        let mut done = 0;
        for buf in bufs {
            let moved = self.pread(fs, fd, buf, offset + done as u64)?;
            done += moved;
            if (moved as usize) < buf.len() {
                break;
            }
        }
        Ok(done)
    }

    pub(super) fn pwritev(
        &mut self,
        fs: &mut MemFs,
        fd: Fd,
        bufs: &[IoSlice<'_>],
        offset: u64,
    ) -> Done {
        let all = bufs.iter().map(|buf| buf.len()).sum();
        if check_vector(self.writable(fd), bufs.len(), all, offset)? {
            return Ok(0);
        }
        let mut done = 0;
        for buf in bufs {
            done += self.pwrite(fs, fd, buf, offset + done as u64)?;
        }
        Ok(done)
    }
}

impl MemFs {
    /// Bytes that a file can get from another one: whole blocks, but for those to the end of both.
    fn shared_len(&self, from: (Ino, u64), to: (Ino, u64), len: u64) -> Result<u64, i32> {
        let ((source, start), (target, at)) = (from, to);
        let [there, before] = [source, target].map(|ino| self.size(ino) as u64);
        let in_blocks = |bytes: u64| bytes.is_multiple_of(PAGE as u64);
        if !in_blocks(start) || !in_blocks(at) {
            return Err(libc::EINVAL);
        }
        let found = self.nodes.content(source)?.found;
        let len = if len == 0 { there.saturating_sub(start) } else { len };
        let ends = [start, at].map(|from| from.checked_add(len).filter(|end| *end <= SIZE_MAX));
        let [Some(end), Some(ends_at)] = ends else { return Err(libc::EINVAL) };
        let overlaps = source == target && at < end && start < ends_at;
        let cut = !in_blocks(len) && (end != there || ends_at < before);
        if overlaps || start > there || (end > there && !found) || (cut && !found) {
            return Err(libc::EINVAL);
        }
        Ok(len)
    }

    /// Puts `len` bytes of a file into another one, or at another place.
    fn put_copy(&mut self, source: Ino, start: u64, to: Ino, at: u64, len: u64) -> Result<(), i32> {
        if len == 0 {
            return Ok(());
        }
        if !self.keeps_data {
            return self.nodes.change(to, |content| content.put(&Run::single(at, len)));
        }
        let mut buf = vec![0; len.min(1 << 16) as usize];
        let mut done = 0;
        while done < len {
            let most = (len - done).min(buf.len() as u64) as usize;
            let moved = self.nodes.content(source)?.read(&mut buf[..most], start + done);
            self.nodes.change(to, |content| content.write(&buf[..moved], at + done))?;
            done += moved.max(1) as u64;
        }
        Ok(())
    }
}

fn change(content: &mut super::content::Content, mode: i32, start: u64, end: u64) {
    match mode {
        PUNCH => content.punch(start, end),
        libc::FALLOC_FL_COLLAPSE_RANGE => content.collapse(start, end),
        libc::FALLOC_FL_INSERT_RANGE => content.insert(start, end),
        libc::FALLOC_FL_KEEP_SIZE => content.allocate(start, end),
        libc::FALLOC_FL_ZERO_RANGE => {
            content.clear(start, end);
            content.allocate(start, end);
            content.extend(end);
        }
        _ => {
            content.allocate(start, end);
            content.extend(end);
        }
    }
}

/// Checks a transfer of several buffers; true: nothing is to be moved.
fn check_vector(
    file: Result<Ino, i32>,
    buffers: usize,
    all: usize,
    offset: u64,
) -> Result<bool, i32> {
    if offset > SIZE_MAX {
        return Err(libc::EINVAL);
    }
    file?;
    if buffers > BUFFERS_MAX || offset + all as u64 > SIZE_MAX {
        return Err(libc::EINVAL);
    }
    Ok(all == 0)
}

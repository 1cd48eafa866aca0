//! Mapped files: what is copied out of and into a mapping is what calls would move.

use super::content::SIZE_MAX;
use super::files::{Done, Files, put};
use super::fs::MemFs;
use super::node::{Ino, Kind};
use crate::call::Fd;

impl Files {
    pub(super) fn map(&mut self, fs: &MemFs, fd: Fd, write: bool) -> Done {
        let open = self.file(fd)?;
        if !matches!(fs.nodes.get(open.ino).kind, Kind::File(_)) {
            return Err(libc::ENODEV);
        }
        if !open.reads() || write && !open.writes() {
            return Err(libc::EACCES);
        }
        open.mapped = Some(write);
        Ok(0)
    }

    pub(super) fn unmap(&mut self, fd: Fd) -> Done {
        self.mapped(fd)?;
        self.file(fd)?.mapped = None;
        Ok(0)
    }

    /// The file behind a mapping, and whether that can be written.
    pub(super) fn mapped(&mut self, fd: Fd) -> Result<(Ino, bool), i32> {
        let open = self.file(fd)?;
        open.mapped.map(|write| (open.ino, write)).ok_or(libc::EBADF)
    }

    pub(super) fn map_read(&mut self, fs: &MemFs, fd: Fd, buf: &mut [u8], offset: u64) -> Done {
        let (ino, _) = self.mapped(fd)?;
        check_end(offset, buf.len())?;
        Ok(fs.nodes.content(ino)?.read(buf, offset) as i64)
    }

    pub(super) fn map_write(&mut self, fs: &mut MemFs, fd: Fd, buf: &[u8], offset: u64) -> Done {
        let (ino, true) = self.mapped(fd)? else { return Err(libc::EBADF) };
        if buf.is_empty() {
            return Ok(0);
        }
        check_end(offset, buf.len())?;
        put(fs, ino, buf, offset)
    }
}

/// A mapping ends within 63 bits.
fn check_end(offset: u64, len: usize) -> Result<(), i32> {
    let end = offset.checked_add(len as u64).filter(|end| *end <= SIZE_MAX);
    end.map(|_| ()).ok_or(libc::EINVAL)
}

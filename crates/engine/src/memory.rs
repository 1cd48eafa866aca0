//! Memory that processes share: a mapping of a file, or of memory that forked processes inherit. Buffers of
//! I/O are not here but in [`crate::buffer`].

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;

/// A shared mapping at an address of the kernel's choice; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to no thread; whoever reads or writes it answers for how.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// A mapping of the start of a file, to read only or to write too. Bytes beyond the end of the file must not
    /// be touched.
    pub(crate) fn of_file(file: impl AsFd, bytes: usize, writes: bool) -> io::Result<Mapping> {
        let protection = if writes { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        // SAFETY: a new mapping; nothing is replaced.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes, protection, flags, file, 0) }?;
        Mapping::new(base, bytes)
    }

    /// Memory of zeros for this process and those that it forks.
    pub(crate) fn anonymous(bytes: usize) -> io::Result<Mapping> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        // SAFETY: a new mapping; nothing is replaced.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags) }?;
        Mapping::new(base, bytes)
    }

    fn new(base: *mut std::ffi::c_void, bytes: usize) -> io::Result<Mapping> {
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { base, bytes })
    }

    /// Its first byte.
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Its length.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped with this length; nothing refers to it any more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

//! The words of an area that is read: in memory, or mapped from a file.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// Words that stay in place.
#[derive(Debug)]
pub(super) enum Source {
    Memory(Vec<u64>),
    Mapped(Mapping),
}

impl Source {
    /// Copies bytes; a last incomplete word is left out.
    pub(super) fn copy(bytes: &[u8]) -> Source {
        let word = |chunk: &[u8]| u64::from_ne_bytes(chunk.try_into().expect("chunks of 8"));
        Source::Memory(bytes.chunks_exact(8).map(word).collect())
    }

    /// Maps a file, so that a large event table needs no memory of its own.
    pub(super) fn map(file: &File) -> io::Result<Source> {
        let len = (file.metadata()?.len() / 8) as usize;
        if len == 0 {
            return Ok(Source::Memory(Vec::new()));
        }
        let (protection, flags) = (libc::PROT_READ, libc::MAP_SHARED);
        // SAFETY: a fresh read-only mapping at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), len * 8, protection, flags, file.as_raw_fd(), 0)
        };
        match NonNull::new(base.cast::<u64>()) {
            Some(base) if base.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => {
                Ok(Source::Mapped(Mapping { base, len }))
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(super) fn words(&self) -> &[u64] {
        match self {
            Source::Memory(words) => words,
            Source::Mapped(mapping) => mapping.words(),
        }
    }
}

/// A read-only mapping.
#[derive(Debug)]
pub(super) struct Mapping {
    base: NonNull<u64>,
    len: usize,
}

// SAFETY: the mapping is read only and owned by this value alone.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn words(&self) -> &[u64] {
        // SAFETY: the mapping holds `len` words and lives as long as `self`; the rank that
        // wrote the file has ended, nobody changes or shortens it.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length and nothing refers to it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len * 8) };
    }
}

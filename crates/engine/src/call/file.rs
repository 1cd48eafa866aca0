//! Requests on MPI files, in the terms of MPI-IO (MPI standard, chapter "I/O").
//!
//! The machine speaks them without knowing MPI: files and views are numbers,
//! offsets are bytes in 64 bits, buffers are memory, and who takes part is a set of ranks.

use super::words::Reply;
use crate::comm::Members;
use model::pattern::View;
use std::ffi::CStr;

/// An MPI file that the back-end has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MpiFile(pub i32);

/// A file view that the back-end has built ([`FileCall::MakeView`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ViewId(pub i32);

/// How a file is opened: the MPI_MODE constants. MPI has no truncation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MpiMode {
    /// MPI_MODE_RDONLY, or with `write` MPI_MODE_RDWR.
    pub read: bool,
    /// MPI_MODE_WRONLY, or with `read` MPI_MODE_RDWR.
    pub write: bool,
    /// MPI_MODE_CREATE
    pub create: bool,
    /// MPI_MODE_EXCL
    pub exclusive: bool,
    /// MPI_MODE_APPEND: file pointers start at the end.
    pub append: bool,
}

impl MpiMode {
    /// Reads letters of `r w c x a`; `None` for others and without `r` and `w`.
    pub fn parse(letters: &[u8]) -> Option<MpiMode> {
        let mut mode = MpiMode::default();
        for letter in letters {
            *match letter {
                b'r' => &mut mode.read,
                b'w' => &mut mode.write,
                b'c' => &mut mode.create,
                b'x' => &mut mode.exclusive,
                b'a' => &mut mode.append,
                _ => return None,
            } = true;
        }
        (mode.read || mode.write).then_some(mode)
    }
}

/// Where the bytes of a transfer lie in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// At a position of the file view, bytes: `MPI_File_*_at`; all members together: `_at_all`.
    Offset {
        /// The position.
        offset: u64,
        /// All members call; each must, with no bytes if it has none.
        collective: bool,
    },
    /// At the shared file pointer: `_shared`; in the order of ranks: `_ordered` (collective).
    Shared {
        /// In the order of ranks.
        ordered: bool,
    },
}

impl At {
    /// All members have to call.
    pub fn is_collective(self) -> bool {
        matches!(self, At::Offset { collective: true, .. } | At::Shared { ordered: true })
    }
}

/// Memory of a transfer.
#[derive(Debug)]
pub enum Memory<'a> {
    /// To be read into.
    Read(&'a mut [u8]),
    /// To be written.
    Write(&'a [u8]),
}

impl Memory<'_> {
    /// Its size in bytes.
    pub fn len(&self) -> usize {
        match self {
            Memory::Read(buf) => buf.len(),
            Memory::Write(buf) => buf.len(),
        }
    }

    /// It holds no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its address, for C.
    pub fn address(&mut self) -> *mut u8 {
        match self {
            Memory::Read(buf) => buf.as_mut_ptr(),
            Memory::Write(buf) => buf.as_ptr().cast_mut(),
        }
    }
}

/// One call on MPI files. Marked *: all members have to make it.
#[derive(Debug)]
pub enum FileCall<'a> {
    /// * MPI_File_open; the file's number.
    Open {
        /// The path; the back-end makes it absolute.
        path: &'a CStr,
        /// The mode.
        mode: MpiMode,
        /// Ranks that open it together.
        members: &'a Members,
        /// Keys and values, `key=value;key=value`.
        hints: &'a str,
    },
    /// * MPI_File_close
    Close {
        /// The file.
        file: MpiFile,
    },
    /// MPI_File_delete
    Delete {
        /// The path.
        path: &'a CStr,
    },
    /// * MPI_File_sync
    Sync {
        /// The file.
        file: MpiFile,
    },
    /// * MPI_File_set_size
    SetSize {
        /// The file.
        file: MpiFile,
        /// Bytes.
        size: u64,
    },
    /// * MPI_File_preallocate
    Preallocate {
        /// The file.
        file: MpiFile,
        /// Bytes.
        size: u64,
    },
    /// MPI_File_seek(MPI_SEEK_SET) of this rank's pointer.
    Seek {
        /// The file.
        file: MpiFile,
        /// Bytes.
        offset: u64,
    },
    /// * MPI_File_set_atomicity(true)
    SetAtomic {
        /// The file.
        file: MpiFile,
    },
    /// * MPI_File_set_view(displacement, MPI_BYTE, view), or of plain bytes.
    SetView {
        /// The file.
        file: MpiFile,
        /// The view; `None`: the file as bytes.
        view: Option<ViewId>,
        /// Bytes by which the view lies further behind in the file.
        displacement_bytes: u64,
    },
    /// One transfer; the bytes moved.
    Transfer {
        /// The file.
        file: MpiFile,
        /// Where.
        at: At,
        /// From or to where.
        memory: Memory<'a>,
        /// The view whose order the memory has, where that is not the order of the file.
        order: Option<ViewId>,
    },
    /// Builds a view; its number. Not a part of any operation's time.
    MakeView {
        /// Part of the file that the view shows.
        view: &'a View,
    },
    /// * The largest value of all members: how they agree. Not a part of any operation's time.
    Most {
        /// Who.
        members: &'a Members,
        /// Value of this member; not negative.
        value: i64,
    },
    /// This rank's position in the file after an open for appending, bytes. Not timed.
    Position {
        /// The file.
        file: MpiFile,
    },
}

impl FileCall<'_> {
    /// The reply of a back-end without files, as if all had been done; that to an open is its own.
    #[inline(always)]
    pub fn done_in_full(&self, opened: Reply) -> Reply {
        match self {
            FileCall::Open { .. } => opened,
            FileCall::Transfer { memory, .. } => memory.len() as Reply,
            FileCall::Most { value, .. } => *value,
            // No file has a size here: reads get what they ask for.
            FileCall::Position { .. } => -Reply::from(libc::EOPNOTSUPP),
            FileCall::Close { .. }
            | FileCall::Delete { .. }
            | FileCall::Sync { .. }
            | FileCall::SetSize { .. }
            | FileCall::Preallocate { .. }
            | FileCall::Seek { .. }
            | FileCall::SetAtomic { .. }
            | FileCall::SetView { .. }
            | FileCall::MakeView { .. } => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_letters() {
        let crw = MpiMode { read: true, write: true, create: true, ..MpiMode::default() };
        assert_eq!(MpiMode::parse(b"crw"), Some(crw));
        assert_eq!(MpiMode::parse(b"rwc"), Some(crw));
        for bad in ["", "c", "q", "r+"] {
            assert_eq!(MpiMode::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}

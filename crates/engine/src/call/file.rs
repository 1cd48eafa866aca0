//! Requests on MPI files, in the terms of MPI-IO (MPI standard, chapter "I/O").
//!
//! The machine speaks them without knowing MPI: files and views are numbers,
//! offsets are bytes in 64 bits, buffers are memory, and who takes part is a set of ranks.

use super::table::{Reply, Show, show};
use crate::comm::Members;
use model::pattern::View;
use std::ffi::CStr;
use std::fmt;

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

    /// The function of MPI that moves bytes there.
    pub fn name(self, write: bool) -> &'static str {
        let names = match self {
            At::Offset { collective: false, .. } => ["MPI_File_read_at", "MPI_File_write_at"],
            At::Offset { collective: true, .. } => {
                ["MPI_File_read_at_all", "MPI_File_write_at_all"]
            }
            At::Shared { ordered: false } => ["MPI_File_read_shared", "MPI_File_write_shared"],
            At::Shared { ordered: true } => ["MPI_File_read_ordered", "MPI_File_write_ordered"],
        };
        names[usize::from(write)]
    }

    fn offset_shown(self) -> String {
        match self {
            At::Offset { offset, .. } => offset.to_string(),
            At::Shared { .. } => String::new(),
        }
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

    /// Its bytes go to the file.
    pub fn is_written(&self) -> bool {
        matches!(self, Memory::Write(_))
    }

    /// Its address, for C.
    pub fn address(&mut self) -> *mut u8 {
        match self {
            Memory::Read(buf) => buf.as_mut_ptr(),
            Memory::Write(buf) => buf.as_ptr().cast_mut(),
        }
    }
}

impl Show for MpiFile {
    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// Makes [`FileCall`] from rows
/// `name { fields } => reply of a back-end without files, name and arguments to show`.
macro_rules! file_calls {
    ($($(#[$doc:meta])* $call:ident { $($field:ident: $type:ty),* }
        => $reply:expr, $name:expr, [$($shown:expr),*];)*) => {
        /// One call on MPI files. Marked *: all members have to make it.
        #[derive(Debug)]
        #[allow(missing_docs)] // the fields have the names of the arguments
        pub enum FileCall<'a> {
            $($(#[$doc])* $call { $($field: $type),* },)*
        }

        #[allow(unused_variables)] // each column uses some of the fields
        impl FileCall<'_> {
            /// The reply of a back-end without files, as if all had been done.
            #[inline(always)]
            pub fn done_in_full(&self) -> Reply {
                match self {
                    $(FileCall::$call { $($field),* } => $reply,)*
                }
            }
        }

        #[allow(unused_variables)]
        impl fmt::Display for FileCall<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(FileCall::$call { $($field),* } => show(f, $name, &[$($shown),*]),)*
                }
            }
        }
    };
}

file_calls! {
    /// * MPI_File_open of a path, which the back-end makes absolute, with hints
    /// `key=value;key=value`; the file's number.
    Open { path: &'a CStr, mode: MpiMode, members: &'a Members, hints: &'a str } => 3,
        "MPI_File_open", [path, &hints_shown(hints)];
    /// * MPI_File_close
    Close { file: MpiFile } => 0, "MPI_File_close", [file];
    /// MPI_File_delete
    Delete { path: &'a CStr } => 0, "MPI_File_delete", [path];
    /// * MPI_File_sync
    Sync { file: MpiFile } => 0, "MPI_File_sync", [file];
    /// * MPI_File_set_size, bytes
    SetSize { file: MpiFile, size: u64 } => 0, "MPI_File_set_size", [file, size];
    /// * MPI_File_preallocate, bytes
    Preallocate { file: MpiFile, size: u64 } => 0, "MPI_File_preallocate", [file, size];
    /// MPI_File_seek(MPI_SEEK_SET) of this rank's pointer.
    Seek { file: MpiFile, offset: u64 } => 0, "MPI_File_seek", [file, offset];
    /// * MPI_File_set_atomicity(true)
    SetAtomic { file: MpiFile } => 0, "MPI_File_set_atomicity", [file, &"true"];
    /// * MPI_File_set_view(displacement, MPI_BYTE, view), or of plain bytes.
    SetView { file: MpiFile, view: Option<ViewId>, displacement_bytes: u64 } => 0,
        "MPI_File_set_view", [file, &view.map_or("bytes", |_| "view")];
    /// One transfer; the bytes moved. `order`: the view whose order the memory has, where that is not the order of the
    /// file.
    Transfer { file: MpiFile, at: At, memory: Memory<'a>, order: Option<ViewId> } => memory.len() as Reply,
        at.name(memory.is_written()), [file, &at.offset_shown(), &memory.len()];
    /// Builds a view; its number. Not a part of any operation's time.
    MakeView { view: &'a View } => 0, "", [];
    /// * The largest value of all members, none of them negative: how they agree. Not a part of any operation's time.
    Most { members: &'a Members, value: i64 } => *value, "", [];
    /// This rank's position in the file after an open for appending, bytes. Not timed. Without files none has a size:
    /// reads get what they ask for.
    Position { file: MpiFile } => -Reply::from(libc::EOPNOTSUPP), "", [];
}

fn hints_shown(hints: &str) -> String {
    if hints.is_empty() { String::new() } else { format!("\"{hints}\"") }
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

//! Words of calls: files, replies, names.

use std::ffi::CStr;

/// A file the back-end has opened: a number of the back-end's own. That of [`crate::backend::Posix`]
/// is a file descriptor; nobody else takes it for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fd(pub i32);

/// Result of a call as the kernel gives it: not negative (bytes, descriptor,
/// 0), or minus the errno.
pub type Reply = i64;

macro_rules! values {
    ($($name:ident)*) => { &[$((stringify!($name), libc::$name)),*] };
}

/// Names of flags of open(2).
pub(crate) const OPEN_FLAGS: &[(&str, i32)] = model::open_flag_names!(values);

/// The names that a call works on. Confinement and the protection of the marker read it here: a new
/// call with a name cannot be forgotten by either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names<'a> {
    /// None: it works on an open file or on the whole file system.
    None,
    /// One name.
    One {
        /// The name.
        path: &'a CStr,
        /// The name, or the file it leads to, is made, changed or removed.
        changes: bool,
    },
    /// Two names, both of which are made, changed or removed.
    Two {
        /// The first one.
        from: &'a CStr,
        /// The second one.
        to: &'a CStr,
    },
    /// A name that is made and the text it holds, which may lead anywhere.
    Link {
        /// The text.
        target: &'a CStr,
        /// The name.
        path: &'a CStr,
    },
}

/// Kind of a call's work, which decides what its time depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A file is opened.
    Open,
    /// A file is closed.
    Close,
    /// Bytes are moved: those that the reply tells.
    Data,
    /// Names, attributes, positions.
    Metadata,
    /// Data is made stable, or caches are dropped.
    Sync,
    /// Nothing.
    Nothing,
}

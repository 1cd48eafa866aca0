//! Calls as strace writes them: names, numbers, and lengths in place of contents.

use super::words::{Fd, OPEN_FLAGS};
use std::ffi::CStr;
use std::fmt::{self, Write};
use std::io::{IoSlice, IoSliceMut};

/// An argument of a call.
pub(super) trait Show {
    /// Writes it; nothing: the call is shown without it.
    fn show(&self, text: &mut String);
}

/// `name(argument, argument)`
pub(super) fn call(f: &mut fmt::Formatter<'_>, name: &str, args: &[&dyn Show]) -> fmt::Result {
    let mut text = String::new();
    for arg in args {
        let before = text.len();
        arg.show(&mut text);
        if before > 0 && text.len() > before {
            text.insert_str(before, ", ");
        }
    }
    write!(f, "{name}({text})")
}

macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl Show for $type {
            fn show(&self, text: &mut String) {
                let _ = write!(text, "{self}");
            }
        })*
    };
}

numbers!(i32, i64, u64, usize);

impl Show for Fd {
    fn show(&self, text: &mut String) {
        self.0.show(text);
    }
}

impl Show for [u64; 1] {
    fn show(&self, text: &mut String) {
        let _ = write!(text, "{self:?}");
    }
}

/// A text as it stands.
pub(super) struct Text(pub(super) &'static str);

impl Show for Text {
    fn show(&self, text: &mut String) {
        text.push_str(self.0);
    }
}

impl Show for &CStr {
    fn show(&self, text: &mut String) {
        quote(self.to_bytes(), text);
    }
}

impl Show for &[u8] {
    fn show(&self, text: &mut String) {
        self.len().show(text);
    }
}

impl Show for &mut [u8] {
    fn show(&self, text: &mut String) {
        self.len().show(text);
    }
}

impl Show for &[IoSlice<'_>] {
    fn show(&self, text: &mut String) {
        let lens: Vec<usize> = self.iter().map(|buf| buf.len()).collect();
        let _ = write!(text, "{lens:?}");
    }
}

impl Show for &mut [IoSliceMut<'_>] {
    fn show(&self, text: &mut String) {
        let lens: Vec<usize> = self.iter().map(|buf| buf.len()).collect();
        let _ = write!(text, "{lens:?}");
    }
}

/// A place in the mapping of a file.
pub(super) struct Mapped(pub(super) Fd, pub(super) u64);

impl Show for Mapped {
    fn show(&self, text: &mut String) {
        let _ = write!(text, "mapping of {} + {}", self.0.0, self.1);
    }
}

/// Access that a mapping allows.
pub(super) struct Access(pub(super) bool);

impl Show for Access {
    fn show(&self, text: &mut String) {
        let protection = if self.0 { "PROT_READ|PROT_WRITE" } else { "PROT_READ" };
        let _ = write!(text, "{protection}, MAP_SHARED");
    }
}

/// Permission bits of a call that makes something, by its flags.
pub(super) struct Mode(pub(super) i32, pub(super) u32);

impl Show for Mode {
    fn show(&self, text: &mut String) {
        if self.0 & libc::O_CREAT != 0 {
            let _ = write!(text, "{:04o}", self.1);
        }
    }
}

/// Operations of flock.
pub(super) struct Locks(pub(super) i32);

impl Show for Locks {
    fn show(&self, text: &mut String) {
        text.push_str(match self.0 & !libc::LOCK_NB {
            libc::LOCK_SH => "LOCK_SH|LOCK_NB",
            libc::LOCK_EX => "LOCK_EX|LOCK_NB",
            _ => "LOCK_UN",
        });
    }
}

/// Flags of renameat2.
pub(super) struct Renames(pub(super) u32);

impl Show for Renames {
    fn show(&self, text: &mut String) {
        text.push_str(match self.0 {
            0 => "",
            libc::RENAME_EXCHANGE => "RENAME_EXCHANGE",
            _ => "RENAME_NOREPLACE",
        });
    }
}

/// The path of an open file.
pub(super) struct OwnPath(pub(super) Fd);

impl Show for OwnPath {
    fn show(&self, text: &mut String) {
        let _ = write!(text, "\"/proc/self/fd/{}\"", self.0.0);
    }
}

/// A file, or the run directory.
pub(super) struct DirectoryOr(pub(super) Option<Fd>);

impl Show for DirectoryOr {
    fn show(&self, text: &mut String) {
        match self.0 {
            Some(fd) => fd.show(text),
            None => text.push_str("\".\""),
        }
    }
}

/// Flags of open.
pub(super) struct OpenFlags(pub(super) i32);

impl Show for OpenFlags {
    fn show(&self, text: &mut String) {
        let access = match self.0 & libc::O_ACCMODE {
            libc::O_WRONLY => "O_WRONLY",
            libc::O_RDWR => "O_RDWR",
            _ => "O_RDONLY",
        };
        text.push_str(access);
        let mut rest = self.0 & !libc::O_ACCMODE;
        let mut names: Vec<(&str, i32)> = OPEN_FLAGS.to_vec();
        // O_SYNC contains O_DSYNC, O_TMPFILE contains O_DIRECTORY: the larger ones first.
        names.sort_by_key(|row| std::cmp::Reverse(row.1.count_ones()));
        for (name, bits) in names {
            if bits != 0 && rest & bits == bits {
                rest &= !bits;
                text.push('|');
                text.push_str(name);
            }
        }
    }
}

/// A text in double quotes with strace's escapes.
fn quote(bytes: &[u8], text: &mut String) {
    text.push('"');
    for byte in bytes {
        match byte {
            b'"' | b'\\' => {
                text.push('\\');
                text.push(char::from(*byte));
            }
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
    text.push('"');
}

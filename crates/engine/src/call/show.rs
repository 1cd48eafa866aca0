//! Calls as strace writes them: names, numbers, and lengths in place of contents.

use super::words::{Fd, OPEN_FLAGS};
use std::ffi::CStr;
use std::fmt::{self, Write};
use std::io::{IoSlice, IoSliceMut};

/// An argument of a call.
pub(crate) trait Show {
    /// Its text; an empty one: the call is shown without it.
    fn show(&self) -> String;
}

/// `name(argument, argument)`
pub(crate) fn call(f: &mut fmt::Formatter<'_>, name: &str, args: &[&dyn Show]) -> fmt::Result {
    let args: Vec<String> = args.iter().map(|arg| arg.show()).collect();
    let shown: Vec<&str> = args.iter().map(String::as_str).filter(|arg| !arg.is_empty()).collect();
    write!(f, "{name}({})", shown.join(", "))
}

macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl Show for $type {
            fn show(&self) -> String {
                self.to_string()
            }
        })*
    };
}

numbers!(i32, i64, u64, usize, &str, String);

impl Show for Fd {
    fn show(&self) -> String {
        self.0.to_string()
    }
}

impl Show for [u64; 1] {
    fn show(&self) -> String {
        format!("{self:?}")
    }
}

impl Show for &CStr {
    fn show(&self) -> String {
        quote(self.to_bytes())
    }
}

impl Show for &[u8] {
    fn show(&self) -> String {
        self.len().to_string()
    }
}

impl Show for &mut [u8] {
    fn show(&self) -> String {
        self.len().to_string()
    }
}

impl Show for &[IoSlice<'_>] {
    fn show(&self) -> String {
        format!("{:?}", self.iter().map(|buf| buf.len()).collect::<Vec<_>>())
    }
}

impl Show for &mut [IoSliceMut<'_>] {
    fn show(&self) -> String {
        format!("{:?}", self.iter().map(|buf| buf.len()).collect::<Vec<_>>())
    }
}

/// A place in the mapping of a file.
pub(crate) fn mapped(fd: Fd, offset: u64) -> String {
    format!("mapping of {} + {offset}", fd.0)
}

/// Access that a mapping allows.
pub(crate) fn access(write: bool) -> &'static str {
    if write { "PROT_READ|PROT_WRITE, MAP_SHARED" } else { "PROT_READ, MAP_SHARED" }
}

/// Permission bits of a call that makes something, by its flags.
pub(crate) fn mode(flags: i32, mode: u32) -> String {
    if flags & libc::O_CREAT != 0 { format!("{mode:04o}") } else { String::new() }
}

/// Operations of flock.
pub(crate) fn locks(operation: i32) -> &'static str {
    match operation & !libc::LOCK_NB {
        libc::LOCK_SH => "LOCK_SH|LOCK_NB",
        libc::LOCK_EX => "LOCK_EX|LOCK_NB",
        _ => "LOCK_UN",
    }
}

/// Flags of renameat2.
pub(crate) fn renames(flags: u32) -> &'static str {
    match flags {
        0 => "",
        libc::RENAME_EXCHANGE => "RENAME_EXCHANGE",
        _ => "RENAME_NOREPLACE",
    }
}

/// The path of an open file.
pub(crate) fn own_path(fd: Fd) -> String {
    format!("\"/proc/self/fd/{}\"", fd.0)
}

/// A file, or the run directory.
pub(crate) fn directory_or(fd: Option<Fd>) -> String {
    fd.map_or("\".\"".into(), |fd| fd.show())
}

/// Flags of open.
pub(crate) fn open_flags(flags: i32) -> String {
    let mut text = match flags & libc::O_ACCMODE {
        libc::O_WRONLY => "O_WRONLY",
        libc::O_RDWR => "O_RDWR",
        _ => "O_RDONLY",
    }
    .to_string();
    let mut rest = flags & !libc::O_ACCMODE;
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
    text
}

/// A text in double quotes with strace's escapes.
fn quote(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes {
        let _ = match byte {
            b'"' | b'\\' => write!(text, "\\{}", char::from(*byte)),
            b'\n' => text.write_str("\\n"),
            b'\t' => text.write_str("\\t"),
            b' '..=b'~' => text.write_char(char::from(*byte)),
            _ => write!(text, "\\x{byte:02x}"),
        };
    }
    text + "\""
}

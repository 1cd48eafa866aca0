//! The records that getdents64 leaves in a buffer (linux_dirent64).
//!
//! ```text
//! u64 ino | i64 off | u16 reclen | u8 type | name, NUL, padding to 8
//! ```

use std::ffi::CStr;

/// Name of the file that marks a run directory. Reserved in every directory of a run: `readdir` does
/// not show it, and programs can neither make, change, rename nor remove it.
pub const MARKER: &str = ".parabench";

const NAME_AT: usize = 19;

/// One directory entry.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Name without its directory.
    pub name: &'a CStr,
}

impl Entry<'_> {
    /// It is `.` or `..`.
    pub fn is_dots(&self) -> bool {
        matches!(self.name.to_bytes(), b"." | b"..")
    }

    /// Neither `.` and `..` nor the marker.
    pub fn is_visible(&self) -> bool {
        let name = self.name.to_bytes();
        let hidden = || self.is_dots() || name == MARKER.as_bytes();
        name.first().is_some_and(|first| *first != b'.' || !hidden())
    }
}

/// The entries in `filled`, what one getdents64 call left.
pub fn entries(filled: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    let mut rest = filled;
    std::iter::from_fn(move || {
        let length = u16::from_ne_bytes(rest.get(16..18)?.try_into().ok()?) as usize;
        let record = rest.get(..length)?;
        rest = &rest[length..];
        let name = CStr::from_bytes_until_nul(record.get(NAME_AT..)?).ok()?;
        Some(Entry { name })
    })
}

/// Entries besides `.`, `..` and the marker.
pub fn count_visible(filled: &[u8]) -> usize {
    entries(filled).filter(Entry::is_visible).count()
}

/// Writes a record as getdents64 would; [`entries`] finds it. `None`: there is no room.
pub fn write(name: &[u8], buf: &mut [u8]) -> Option<usize> {
    let length = record_bytes(name.len());
    let record = buf.get_mut(..length)?;
    record.fill(0);
    record[16..18].copy_from_slice(&(length as u16).to_ne_bytes());
    record[18] = libc::DT_UNKNOWN;
    record[NAME_AT..][..name.len()].copy_from_slice(name);
    Some(length)
}

/// Bytes of a record: the name, a NUL, filled up to 8.
pub fn record_bytes(name_len: usize) -> usize {
    (NAME_AT + name_len + 1).next_multiple_of(8)
}

/// Ends the records of a buffer, so that older records behind them are not read.
pub fn end(buf: &mut [u8], filled: usize) {
    if let Some(next) = buf.get_mut(filled..filled + 18) {
        next.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(name: &str) -> Vec<u8> {
        let mut bytes = vec![1u8; record_bytes(name.len())];
        write(name.as_bytes(), &mut bytes).expect("there is room");
        bytes
    }

    #[test]
    fn dots_and_the_marker_are_not_counted() {
        let names = [".", "..", "a", MARKER, ".parabench2", "...", "long name of a file"];
        let filled: Vec<u8> = names.iter().flat_map(|name| record(name)).collect();
        let read: Vec<_> = entries(&filled).map(|entry| entry.name.to_str().unwrap()).collect();
        assert_eq!(read, names);
        assert_eq!(count_visible(&filled), 4);
        let mut stale = filled.clone();
        end(&mut stale, 24 * 3);
        assert_eq!(entries(&stale).count(), 3);
    }

    proptest! {
        #[test]
        fn any_bytes_are_walked_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(count_visible(&bytes) <= bytes.len() / (NAME_AT + 1));
        }
    }
}

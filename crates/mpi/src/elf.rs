//! Whether a shared library's file is whole. The dynamic linker maps what the headers say without
//! a look at the file's length, and a process that touches pages beyond the end dies of SIGBUS.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const HEADER_BYTES: usize = 64;
/// A program header, and the type of those that are mapped.
const PROGRAM_BYTES: usize = 56;
const PT_LOAD: u32 = 1;
/// "\x7fELF", 64 bits; the byte order of this machine.
const MAGIC: [u8; 6] =
    [0x7f, b'E', b'L', b'F', 2, if cfg!(target_endian = "little") { 1 } else { 2 }];

/// Bytes that the headers speak of and the file does not have: the length it should have, and the
/// one it has. What is no library of this machine's kind is left to the linker, which says so.
pub(crate) fn cut_off(path: &Path) -> io::Result<Option<(u64, u64)>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let wanted = wanted_bytes(|buffer, at| file.read_exact_at(buffer, at).is_ok());
    Ok(wanted.filter(|wanted| *wanted > length).map(|wanted| (wanted, length)))
}

/// How long the file must be; `None`: no such library. `read` fills a buffer from a position.
fn wanted_bytes(read: impl Fn(&mut [u8], u64) -> bool) -> Option<u64> {
    let mut header = [0; HEADER_BYTES];
    if !read(&mut header, 0) || !header.starts_with(&MAGIC) {
        return None;
    }
    let table = |offset: u64, size: usize, count: usize| {
        let bytes = u64::from(half(&header, size)) * u64::from(half(&header, count));
        if offset == 0 { 0 } else { offset.saturating_add(bytes) }
    };
    let (programs, sections) = (word(&header, 32), word(&header, 40));
    let mut wanted = table(programs, 54, 56).max(table(sections, 58, 60));
    for at in 0..u64::from(half(&header, 56)) {
        let mut program = [0; PROGRAM_BYTES];
        let place = programs.saturating_add(at * u64::from(half(&header, 54)));
        if !read(&mut program, place) {
            break; // Beyond the end: the table's own end tells.
        }
        if u32::from_ne_bytes([program[0], program[1], program[2], program[3]]) == PT_LOAD {
            wanted = wanted.max(word(&program, 8).saturating_add(word(&program, 32)));
        }
    }
    Some(wanted)
}

/// The two bytes at a position of a header.
fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

/// The eight bytes at a position of a header.
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(word)
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_was_cut_is_noticed_wherever_it_was_cut() {
        let whole = std::fs::read("/proc/self/exe").expect("this test");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cut.so");
        let length = whole.len();
        for (cut, noticed) in [
            (length, false),
            (length - 1, true),
            (length / 2, true),
            (100, true),
            (63, false),
            (0, false),
        ] {
            std::fs::write(&path, &whole[..cut]).expect("written");
            let found = cut_off(&path).expect("readable");
            assert_eq!(found.is_some(), noticed, "{cut} of {length}");
            assert!(found.is_none_or(|(wanted, has)| wanted <= length as u64 && has == cut as u64));
        }
        std::fs::write(&path, [&MAGIC[..], &[0xff; 58]].concat()).expect("written");
        assert_eq!(cut_off(&path).expect("readable"), Some((u64::MAX, 64)));
    }
}

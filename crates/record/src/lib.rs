//! The library that records a program's calls from inside: it stands before the C library
//! (`LD_PRELOAD`) and writes each call into a file of its thread.
//!
//! ```text
//! preload/record.h        what is recorded, and how it lies in a file
//! preload/core.c          files of threads
//! preload/lost.c          what is lost, by program
//! preload/descriptors.c   read, write, dup, mmap and others
//! preload/names.c         open, stat, rename, opendir and others
//! preload/streams.c       what fopen, fread and printf move
//! preload/mpi.c          MPI-IO
//! preload/async.c         transfers of libaio and of POSIX aio
//! preload/rings.c         io_uring, as a gap
//! preload/raw.c           syscall(2)
//! preload/processes.c     fork, exec, threads
//! ```
//!
//! Here: the library as bytes, the variables that let a program record itself, and whether it can.
//! `trace::recording` reads the records; a test of `parabench` compares both formats.
#![warn(clippy::disallowed_methods)]

mod look;

pub use look::{Hindrance, look};

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The compiled library.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/record.so"));
/// Its file's name.
pub const FILE: &str = "libparabench-record.so";
/// The file, beside the threads' files, that counts lost calls.
const LOST_FILE: &str = "lost";
/// `PB_LOST_MAX` entries of `struct pb_lost`: state, calls, programs, name.
const LOST_BYTES: usize = 512 * 128;
/// Bytes of a name, without the zero byte.
const NAME_MAX: usize = 103;
const NAMED: u32 = 2;

/// Writes the library into a folder that is ours alone; gives its path.
///
/// # Errors
/// Those of the file, which must not be there yet.
pub fn write_library(folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join(FILE);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o500).open(&path)?;
    file.write_all(LIBRARY)?;
    Ok(path)
}

/// Writes the file that counts what is lost into the folder for the recording. The program that is executed
/// first counts as not seen until it says that it is there.
///
/// # Errors
/// Those of the file, which must not be there yet.
pub fn write_lost(folder: &Path, program: &Path) -> io::Result<()> {
    let name = program.as_os_str().as_bytes();
    let name = &name[name.len().saturating_sub(NAME_MAX)..];
    let mut bytes = vec![0; LOST_BYTES];
    bytes[..4].copy_from_slice(&NAMED.to_ne_bytes());
    bytes[16..24].copy_from_slice(&1_u64.to_ne_bytes());
    bytes[24..24 + name.len()].copy_from_slice(name);
    let path = folder.join(LOST_FILE);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(&bytes)
}

/// Variables with which the program of [`write_lost`] records itself in `folder`. `epoch_ns`: from the monotonic clock to
/// the time of day. `preloaded`: what LD_PRELOAD holds already.
pub fn variables(
    library: &Path,
    folder: &Path,
    epoch_ns: i64,
    preloaded: Option<&str>,
) -> [(&'static str, String); 2] {
    let before = preloaded.filter(|text| !text.is_empty()).map(|text| format!(":{text}"));
    [
        ("PARABENCH_RECORD", format!("{epoch_ns}:000:{}", folder.display())),
        ("LD_PRELOAD", format!("{}{}", library.display(), before.unwrap_or_default())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_libraries_stay_preloaded() {
        let of = |before| variables("/r/l.so".as_ref(), "/r".as_ref(), -5, before)[1].1.clone();
        assert_eq!((of(None), of(Some(""))), ("/r/l.so".into(), "/r/l.so".into()));
        assert_eq!(of(Some("x.so")), "/r/l.so:x.so");
    }

    #[test]
    fn the_library_is_written_once_and_is_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = write_library(folder.path()).expect("written");
        assert_eq!(look(&path), None);
        assert!(write_library(folder.path()).is_err(), "a file of others stays");
        assert!(LIBRARY.starts_with(b"\x7fELF"));
    }
}

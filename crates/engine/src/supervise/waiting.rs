//! The system call and file that a process waits for, for people whose run does not progress.
//!
//! ```text
//! /proc/4711/syscall   74 0x5 ...        fsync of descriptor 5
//! /proc/4711/fd/5      /mnt/x/d-2/f-283
//! ```
//!
//! The rank itself records nothing of this: it would cost time in every operation. A process in
//! uninterruptible sleep cannot be killed: its storage has to answer first.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The longest path that is read, bytes.
const PATH_MAX: usize = 4096;

/// The argument of a system call that says which file it works on.
enum Of {
    Descriptor(usize),
    Path(usize),
    Nothing,
}

use Of::{Descriptor, Nothing, Path as Name};

/// System calls that wait for storage.
const CALLS: [(i64, &str, Of); 36] = [
    (libc::SYS_read, "read", Descriptor(0)),
    (libc::SYS_pread64, "pread", Descriptor(0)),
    (libc::SYS_readv, "readv", Descriptor(0)),
    (libc::SYS_preadv, "preadv", Descriptor(0)),
    (libc::SYS_preadv2, "preadv2", Descriptor(0)),
    (libc::SYS_write, "write", Descriptor(0)),
    (libc::SYS_pwrite64, "pwrite", Descriptor(0)),
    (libc::SYS_writev, "writev", Descriptor(0)),
    (libc::SYS_pwritev, "pwritev", Descriptor(0)),
    (libc::SYS_pwritev2, "pwritev2", Descriptor(0)),
    (libc::SYS_close, "close", Descriptor(0)),
    (libc::SYS_fsync, "fsync", Descriptor(0)),
    (libc::SYS_fdatasync, "fdatasync", Descriptor(0)),
    (libc::SYS_syncfs, "syncfs", Descriptor(0)),
    (libc::SYS_sync, "sync", Nothing),
    (libc::SYS_fstat, "fstat", Descriptor(0)),
    (libc::SYS_ftruncate, "ftruncate", Descriptor(0)),
    (libc::SYS_fallocate, "fallocate", Descriptor(0)),
    (libc::SYS_flock, "flock", Descriptor(0)),
    (libc::SYS_fcntl, "fcntl", Descriptor(0)),
    (libc::SYS_ioctl, "ioctl", Descriptor(0)),
    (libc::SYS_getdents64, "getdents", Descriptor(0)),
    (libc::SYS_copy_file_range, "copy_file_range", Descriptor(0)),
    (libc::SYS_sendfile, "sendfile", Descriptor(1)),
    (libc::SYS_io_uring_enter, "io_uring_enter", Nothing),
    (libc::SYS_openat, "open", Name(1)),
    (libc::SYS_openat2, "open", Name(1)),
    (libc::SYS_newfstatat, "stat", Name(1)),
    (libc::SYS_statx, "statx", Name(1)),
    (libc::SYS_unlinkat, "unlink", Name(1)),
    (libc::SYS_mkdirat, "mkdir", Name(1)),
    (libc::SYS_renameat2, "rename", Name(1)),
    (libc::SYS_linkat, "link", Name(1)),
    (libc::SYS_symlinkat, "symlink", Name(2)),
    (libc::SYS_readlinkat, "readlink", Name(1)),
    (libc::SYS_faccessat, "access", Name(1)),
];

/// The call on storage in which a process is, in words: "fsync of d-2/f-283". `None`: it runs, waits for something
/// else, or cannot be looked at. Paths below `directory` are shown from there.
pub fn describe(pid: libc::pid_t, directory: &Path) -> Option<String> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let text = fs::read_to_string(process.join("syscall")).ok()?;
    let mut words = text.split_ascii_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let arguments: Vec<u64> = words.map_while(number_of).collect();
    let (_, name, of) = CALLS.iter().find(|call| call.0 == number)?;
    let file = match of {
        Descriptor(at) => {
            fs::read_link(process.join(format!("fd/{}", *arguments.get(*at)? as i32))).ok()
        }
        Name(at) => read_path(&process, *arguments.get(*at)?),
        Nothing => None,
    };
    let Some(file) = file else { return Some(name.to_string()) };
    let shown = file.strip_prefix(directory).unwrap_or(&file);
    Some(format!("{name} of {}", shown.display()))
}

/// How often the main thread of a process has gone to sleep: as often as before, it has been in one call since.
pub fn count_sleeps(pid: libc::pid_t) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    count.trim().parse().ok()
}

fn number_of(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// The path at an address of a process.
fn read_path(process: &Path, address: u64) -> Option<PathBuf> {
    let mut bytes = [0; PATH_MAX];
    let read = File::open(process.join("mem")).ok()?.read_at(&mut bytes, address).ok()?;
    let end = bytes[..read].iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::Duration;

    fn waits_as(command: &mut Command, expected: &str, folder: &Path) {
        let mut child = command.current_dir(folder).stdin(Stdio::null()).spawn().expect("a shell");
        let mut seen = None;
        for _ in 0..30_000 {
            seen = describe(child.id() as i32, folder);
            if seen.as_deref() == Some(expected) {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        child.kill().and_then(|()| child.wait()).expect("ended");
        assert_eq!(seen.as_deref(), Some(expected));
    }

    #[test]
    fn waiting_processes_are_in_their_calls() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("a path");
        let pipe = Command::new("mkfifo").arg(folder.join("pipe")).status();
        assert!(pipe.expect("mkfifo runs").success());
        let open = "exec 3<pipe";
        waits_as(Command::new("bash").args(["-c", open]), "open of pipe", &folder);
        // Somebody has it open, so that reading waits.
        let held = File::options().read(true).write(true).open(folder.join("pipe"));
        waits_as(Command::new("bash").args(["-c", "exec cat <pipe"]), "read of pipe", &folder);
        drop(held);
        assert_eq!(describe(std::process::id() as i32, &folder), None, "it runs");
    }
}

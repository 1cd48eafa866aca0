//! Limits that the process was started under (setrlimit(2), control groups), and what they leave.

use crate::host::{self, usage};
use model::units::format_bytes;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Address space that the smallest run needs, bytes.
const ADDRESS_SPACE_BYTES: u64 = 128 << 20;
/// Stack that the deepest program which is accepted needs, bytes.
const STACK_BYTES: usize = 8 << 20;

/// Lets a write beyond `ulimit -f` fail with `EFBIG`, so that it is counted like any failed
/// operation: the signal that the kernel sends with it is ignored, also by ranks forked later.
pub fn ignore_file_size_signal() {
    // SAFETY: ignoring a signal touches no memory.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Gives a command that is going to be executed the signal back.
pub fn restore_file_size_signal(command: &mut Command) {
    // SAFETY: between fork and exec only signal(2) is called, which is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
            Ok(())
        });
    }
}

/// Whether this process may have enough memory for a run.
///
/// # Errors
/// It may not, as a sentence.
pub fn check_memory() -> Result<(), String> {
    for (resource, option) in [(Resource::As, 'v'), (Resource::Data, 'd')] {
        if let Some(limit) = soft(resource).filter(|limit| *limit < ADDRESS_SPACE_BYTES) {
            let (limit, needed) = (format_bytes(limit), format_bytes(ADDRESS_SPACE_BYTES));
            return Err(format!(
                "this shell allows {limit} of memory (ulimit -{option}), but Parabench needs at \
                 least {needed}"
            ));
        }
    }
    Ok(())
}

/// Runs `body` with a stack on which every program that is accepted can be compiled, whatever
/// `ulimit -s` says. There is still one thread: a second one would slow down the ranks.
pub fn with_stack<T>(body: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_BYTES / 2, STACK_BYTES, body)
}

/// The soft limit; `None`: there is none.
fn soft(resource: Resource) -> Option<u64> {
    getrlimit(resource).current
}

/// Bytes of memory that can still be had: what is free on the machine, and what the control
/// groups of this process and its address space leave of it. `None` where nothing tells.
pub fn free_memory_bytes() -> Option<u64> {
    let space = soft(Resource::As).map(|space| space.saturating_sub(ADDRESS_SPACE_BYTES));
    let machine = host::memory("MemAvailable");
    [machine, in_groups(&usage::group_folders("memory")), space].into_iter().flatten().min()
}

/// Memory that the limits of these groups leave, in both versions of control groups, bytes.
fn in_groups(folders: &[PathBuf]) -> Option<u64> {
    let rooms = folders.iter().flat_map(|folder| {
        let first = room(folder, "memory.limit_in_bytes", "memory.usage_in_bytes");
        first.into_iter().chain(room(folder, "memory.max", "memory.current"))
    });
    rooms.min()
}

/// Memory that one group leaves, bytes. Its page cache counts as used but can be reclaimed.
fn room(folder: &Path, limit: &str, usage: &str) -> Option<u64> {
    let number =
        |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let (limit, used) = (number(limit)?, number(usage).unwrap_or(0));
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let cache = |line: &str| {
        let (name, bytes) = line.split_once(' ')?;
        matches!(name, "inactive_file" | "active_file").then(|| bytes.parse::<u64>().ok())?
    };
    let cached = stat.lines().filter_map(cache).sum();
    Some(limit.saturating_sub(used.saturating_sub(cached)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of control groups as the kernel shows it.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary directory");
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        root
    }

    fn in_groups(root: &Path, groups: &str) -> Option<u64> {
        super::in_groups(&usage::group_folders_in(root, groups, "memory"))
    }

    #[test]
    fn the_tightest_control_group_counts() {
        let root = tree(&[
            ("a/memory.max", "1000\n"),
            ("a/memory.current", "700\n"),
            ("a/memory.stat", "anon 100\nactive_file 300\ninactive_file 200\nfile 500\n"),
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.current", "1\n"),
        ]);
        assert_eq!(in_groups(root.path(), "0::/a/b\n"), Some(800));
        assert_eq!(in_groups(root.path(), "0::/\n"), None);
        assert_eq!(in_groups(root.path(), ""), None);
    }

    #[test]
    fn the_first_version_of_control_groups_counts_too() {
        let root = tree(&[
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/job/memory.limit_in_bytes", "5000\n"),
            ("memory/job/memory.usage_in_bytes", "6000\n"),
            ("unified/job/memory.max", "2000\n"),
        ]);
        assert_eq!(in_groups(root.path(), "4:cpu,memory:/job\n2:pids:/x\n"), Some(0));
        assert_eq!(in_groups(root.path(), "4:memory:/other\n0::/job\n"), Some(2000));
    }

    #[test]
    fn deep_work_has_a_stack() {
        fn depth(n: u64) -> u64 {
            let page = std::hint::black_box([n; 128]);
            if n == 0 { page[0] } else { 1 + depth(n - 1) }
        }
        let small = std::thread::Builder::new().stack_size(64 << 10);
        let deep = small.spawn(|| with_stack(|| depth(1000))).expect("a thread");
        assert_eq!(deep.join().expect("no overflow"), 1000);
    }
}

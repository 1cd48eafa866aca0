//! The last words of a rank whose process calls exit() in the middle of the program, such as a
//! library may on an error of its own:
//!
//! ```text
//! error: rank 1: its process called exit() in the middle of the program
//! ```
//!
//! Launchers end the job then, but not all of them tell which process was the first, and what a
//! dying job writes may be lost on its way through them. So the words go to standard error and
//! into a file beside the ranks' records. `_exit` and signals leave no time for words: those are
//! left to the launcher and to [`crate::watch`].

use engine::config::Records;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Mutex, Once};

/// Why the rank has ended.
pub const CALLED_EXIT: &str = "its process called exit() in the middle of the program";
/// The file in the folder of the ranks' records: a line "rank: reason" for each such rank.
pub const LAST_WORDS: &str = "last-words";
/// The exit code of such an end, whatever the process wanted: the job has failed.
const FAILED: i32 = 1;

/// The rank of the program that runs in this process; -1: none does.
static RANK: AtomicI64 = AtomicI64::new(-1);
/// Where its last words would go.
static WORDS: Mutex<Option<PathBuf>> = Mutex::new(None);

/// A program runs as long as this lives.
#[derive(Debug)]
pub(crate) struct Running(());

impl Running {
    pub(crate) fn start(rank: u32, records: &Records) -> Running {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: the handler is a function without arguments that does not unwind. If there
            // is no room for it, launchers have the last word.
            let _ = unsafe { libc::atexit(left) };
        });
        if let (Records::Directory(folder), Ok(mut words)) = (records, WORDS.lock()) {
            *words = Some(folder.join(LAST_WORDS));
        }
        RANK.store(rank.into(), Relaxed);
        Running(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RANK.store(-1, Relaxed);
        if let Ok(mut words) = WORDS.lock() {
            *words = None;
        }
    }
}

/// exit() was called. It must not go on: MPICH takes a 0 for the end of a job that went well, and
/// what MPI does at exit may wait for others.
extern "C" fn left() {
    let rank = RANK.load(Relaxed);
    if rank < 0 {
        return;
    }
    // One write for a line, so that those of several ranks stay whole.
    if let Ok(words) = WORDS.try_lock()
        && let Some(path) = words.as_ref()
        && let Ok(mut file) = File::options().create(true).append(true).open(path)
    {
        let _ = file.write_all(format!("{rank}: {CALLED_EXIT}\n").as_bytes());
    }
    let _ = std::io::stderr().write_all(format!("error: rank {rank}: {CALLED_EXIT}\n").as_bytes());
    // SAFETY: no pointers; the process ends here as it was about to. Streams of C are not written
    // out: another thread of MPI may hold one of their locks.
    unsafe { libc::_exit(FAILED) };
}

/// The first rank that left, and why; those after it may have been ended by MPI.
pub fn told(records: &Path) -> Option<(u32, String)> {
    let words = fs::read_to_string(records.join(LAST_WORDS)).ok()?;
    let (rank, why) = words.lines().next()?.split_once(": ")?;
    Some((rank.parse().ok()?, why.to_string()))
}

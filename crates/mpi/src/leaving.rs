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

use crate::world::World;
use engine::config::Records;
use std::ffi::c_int;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, Once};

/// Why the rank has ended.
pub const CALLED_EXIT: &str = "its process called exit() in the middle of the program";
/// The file in the folder of the ranks' records: a line "rank: reason" for each such rank.
pub const LAST_WORDS: &str = "last-words";
/// The exit code of such an end, whatever the process wanted: the job has failed.
const FAILED: c_int = 1;

/// What is needed to say last words.
#[derive(Debug)]
struct Program {
    rank: u32,
    words: Option<PathBuf>,
    /// MPI_Abort.
    abort: unsafe extern "C" fn(c_int) -> c_int,
}

/// The program that runs in this process.
static PROGRAM: Mutex<Option<Program>> = Mutex::new(None);

/// A program runs as long as this lives.
#[derive(Debug)]
pub(crate) struct Running(());

impl Running {
    pub(crate) fn start(world: &World, records: &Records) -> Running {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: the handler is a function without arguments that does not unwind. If there
            // is no room for it, launchers have the last word.
            let _ = unsafe { libc::atexit(left) };
        });
        let words = match records {
            Records::Directory(folder) => Some(folder.join(LAST_WORDS)),
            Records::Memory => None,
        };
        set(Some(Program { rank: world.rank, words, abort: world.shim().abort }));
        Running(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        set(None);
    }
}

fn set(program: Option<Program>) {
    if let Ok(mut running) = PROGRAM.lock() {
        *running = program;
    }
}

/// exit() was called. MPI has to be told: MPICH takes a 0 for the end of a job that went well, and
/// its launcher does not always notice that a process has gone, so that the others would wait for ever.
extern "C" fn left() {
    // Taken out, because MPI_Abort may call exit() too.
    let program = PROGRAM.try_lock().ok().and_then(|mut running| running.take());
    let Some(Program { rank, words, abort }) = program else { return };
    // One write for a line, so that those of several ranks stay whole.
    let open = |path| File::options().create(true).append(true).open(path);
    if let Some(Ok(mut file)) = words.map(open) {
        let _ = file.write_all(format!("{rank}: {CALLED_EXIT}\n").as_bytes());
    }
    let _ = std::io::stderr().write_all(format!("error: rank {rank}: {CALLED_EXIT}\n").as_bytes());
    // SAFETY: the shim is open and MPI initialised as long as there is a program; no pointers.
    unsafe {
        abort(FAILED);
        libc::_exit(FAILED);
    }
}

/// The first rank that left, and why, from the text of [`LAST_WORDS`]; those after it may have
/// been ended by MPI.
pub fn told(words: &str) -> Option<(u32, String)> {
    let (rank, why) = words.lines().next()?.split_once(": ")?;
    Some((rank.parse().ok()?, why.to_string()))
}

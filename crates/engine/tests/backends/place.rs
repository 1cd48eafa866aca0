//! A fresh run directory for each script, as a rank has it: the current directory.

use engine::backend::{Backend, Cost, MARKER, Mem, MemFs};
use engine::clock::Virtual;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Where a script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Posix,
    Beneath,
    Mem,
}

impl Place {
    pub const ALL: [Place; 3] = [Place::Posix, Place::Beneath, Place::Mem];

    pub fn name(self) -> &'static str {
        match self {
            Place::Posix => "posix",
            Place::Beneath => "beneath",
            Place::Mem => "mem",
        }
    }
}

/// A rank on a file system in memory whose root has this path.
pub fn mem(directory: &str) -> Mem {
    let mut mem = Mem::new(MemFs::shared(directory), Virtual::start(), Cost::default());
    // The run makes the marker before the program starts.
    let path = c".parabench";
    let flags = libc::O_CREAT | libc::O_WRONLY;
    let fd = mem.issue(engine::call::Call::Open { path, flags, mode: 0o644 });
    mem.issue(engine::call::Call::Close { fd: engine::call::Fd(fd as i32) });
    mem
}

/// Gives this thread a current directory and umask of its own, so that it can stand
/// for a rank beside other tests.
pub fn own_current_directory() {
    // SAFETY: no pointers; only this thread is affected.
    let done = unsafe { libc::unshare(libc::CLONE_FS) };
    assert_eq!(done, 0, "unshare(CLONE_FS) needs no rights");
    // SAFETY: no pointers.
    unsafe { libc::umask(0o022) };
}

/// A run directory with a marker, in a directory of its own.
pub struct RunPlace {
    _place: TempDir,
    pub inside: PathBuf,
}

impl RunPlace {
    pub fn new() -> RunPlace {
        let place = tempfile::tempdir().expect("a temporary directory");
        let inside = place.path().canonicalize().expect("it exists").join("in");
        std::fs::create_dir(&inside).expect("mkdir");
        std::fs::write(inside.join(MARKER), "{}").expect("write");
        RunPlace { _place: place, inside }
    }
}

/// Runs the body with a fresh run directory as current directory.
pub fn in_directory<T>(body: impl FnOnce(&Path) -> T) -> T {
    let place = RunPlace::new();
    std::env::set_current_dir(&place.inside).expect("chdir");
    let result = body(&place.inside);
    std::env::set_current_dir("/").expect("chdir");
    result
}

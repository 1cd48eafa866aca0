//! The longest time that MPI_Finalize may take. MPICH 4.0 with UCX may never come back from it where
//! ranks are on several machines: some wait for connections to close, the others for these ranks.
//! Everything is stored then, and all ranks have met, so the process says to the launcher what MPI would have
//! said, and ends.
//!
//! A signal interrupts it, as in [`crate::limit`].

use crate::launcher::{self, Launcher};
use crate::world::World;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Where it works, it takes less than a second.
const LIMIT_S: u32 = 10;
/// How long the launcher's answer is waited for, milliseconds.
const ANSWER_MS: i32 = 2000;
/// PMI-1, MPICH's wire protocol.
const FINALIZE: &[u8] = b"cmd=finalize\n";
const TOLD: &[u8] =
    b"note: MPI_Finalize has not come back within 10 s, as may be with MPICH 4.0 on several \
    machines: the job ends without it; results are stored (docs/mpi-io.md)\n";

/// What the process ends with.
static CODE: AtomicI32 = AtomicI32::new(0);
/// The connection to a launcher that speaks PMI-1; -1: none.
static CONNECTION: AtomicI32 = AtomicI32::new(-1);
/// It tells what has happened.
static SPEAKS: AtomicBool = AtomicBool::new(false);

/// Whether the library may hang there.
pub(crate) fn may_hang(library: &str, nodes: u32) -> bool {
    nodes > 1 && library.starts_with("MPICH 4.0")
}

/// From now on this process ends with `code` when the time is over, MPI or not.
pub(crate) fn limit(world: &World, code: u8) {
    let is_pmi = launcher::job().is_some_and(|job| job.launcher == Launcher::Pmi);
    let connection = std::env::var("PMI_FD").ok().and_then(|fd| fd.parse().ok());
    CODE.store(code.into(), Ordering::Release);
    CONNECTION.store(connection.filter(|_| is_pmi).unwrap_or(-1), Ordering::Release);
    SPEAKS.store(world.rank == 0, Ordering::Release);
    // SAFETY: zeroes are a valid sigaction; the handler only calls what signal-safety(7) allows.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = over as extern "C" fn(i32) as *const () as libc::sighandler_t;
        libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
        libc::alarm(LIMIT_S);
    }
}

extern "C" fn over(_signal: i32) {
    let connection = CONNECTION.load(Ordering::Acquire);
    let mut answer = [0u8; 256];
    // SAFETY: all calls are async-signal-safe; pointers and lengths are those of static texts and the buffer.
    unsafe {
        if SPEAKS.load(Ordering::Acquire) {
            libc::write(libc::STDERR_FILENO, TOLD.as_ptr().cast::<c_void>(), TOLD.len());
        }
        if connection >= 0 {
            libc::send(connection, FINALIZE.as_ptr().cast(), FINALIZE.len(), libc::MSG_NOSIGNAL);
            let mut ready = libc::pollfd { fd: connection, events: libc::POLLIN, revents: 0 };
            if libc::poll(&mut ready, 1, ANSWER_MS) > 0 {
                libc::read(connection, answer.as_mut_ptr().cast(), answer.len());
            }
        }
        libc::_exit(CODE.load(Ordering::Acquire));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_libraries_that_hang_are_hurried() {
        assert!(may_hang("MPICH 4.0.2", 2));
        for (library, nodes) in [("MPICH 4.0.2", 1), ("MPICH 4.1", 2), ("Open MPI v4.1.4", 2)] {
            assert!(!may_hang(library, nodes), "{library} on {nodes}");
        }
    }
}

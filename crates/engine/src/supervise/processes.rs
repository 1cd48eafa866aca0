//! The child processes of a run: forked, watched, killed by id.

use super::signals::WAKE;
use crate::comm::End;
use std::io;

/// One rank's process.
#[derive(Clone, Copy, Debug)]
struct Process {
    pid: libc::pid_t,
    alive: bool,
}

/// All processes, by rank.
#[derive(Debug, Default)]
pub(super) struct Processes {
    all: Vec<Process>,
}

impl Processes {
    /// Forks the next rank; in the child `body` runs and the process ends without
    /// running anything of the parent's.
    pub(super) fn fork(&mut self, body: impl FnOnce()) -> io::Result<()> {
        // SAFETY: the supervisor has one thread, so the child may do everything.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
                // SAFETY: ends this process, without destructors and buffers of the parent.
                unsafe { libc::_exit(if result.is_ok() { 0 } else { 70 }) }
            }
            pid => {
                self.all.push(Process { pid, alive: true });
                Ok(())
            }
        }
    }

    /// Processes that have not ended.
    pub(super) fn alive(&self) -> usize {
        self.all.iter().filter(|process| process.alive).count()
    }

    /// Looks which processes have ended since; tells their ranks and how: killed or lost
    /// as far as the kernel knows.
    pub(super) fn reap(&mut self, mut ended: impl FnMut(u32, End)) {
        for (rank, process) in self.all.iter_mut().enumerate() {
            if process.alive
                && let Some(end) = status(process.pid)
            {
                process.alive = false;
                ended(rank as u32, end);
            }
        }
    }

    /// Ends the sleep of all ranks.
    pub(super) fn wake(&self) {
        self.send(WAKE);
    }

    /// Kills all ranks.
    pub(super) fn kill(&self) {
        self.send(libc::SIGKILL);
    }

    fn send(&self, signal: i32) {
        for process in self.all.iter().filter(|process| process.alive) {
            // SAFETY: a child of ours that was not reaped, so its id is still its own.
            unsafe { libc::kill(process.pid, signal) };
        }
    }
}

impl Drop for Processes {
    /// No rank outlives its supervisor, whatever happens to that.
    fn drop(&mut self) {
        self.kill();
        for process in self.all.iter().filter(|process| process.alive) {
            // SAFETY: a child of ours that was not reaped.
            unsafe { libc::waitpid(process.pid, std::ptr::null_mut(), 0) };
        }
    }
}

/// How a child has ended; `None` while it runs.
fn status(pid: libc::pid_t) -> Option<End> {
    let mut status = 0;
    // SAFETY: the status lives across the call.
    match unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } {
        0 => None,
        reaped if reaped == pid && libc::WIFSIGNALED(status) => {
            Some(End::Killed(libc::WTERMSIG(status)))
        }
        _ => Some(End::Lost),
    }
}

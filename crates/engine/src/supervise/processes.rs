//! Forked ranks: what each does from its fork to its end, and how the supervisor learns that it has ended.

use super::rank::{Rank, Storage, open_storage};
use super::signals::{Signals, WAKE};
use crate::backend::{Backend, Null};
use crate::clock::Real;
use crate::comm::{End, Local, Region};
use crate::config::Config;
use crate::machine::Prepared;
use crate::recorder::Medium;
use model::Plan;
use std::io;
use std::sync::Arc;

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

/// Everything that a rank gets from its supervisor.
pub(super) struct Context<'a> {
    pub(super) plan: &'a Plan,
    pub(super) prepared: &'a Prepared<'a>,
    pub(super) config: &'a Config,
    pub(super) region: &'a Arc<Region>,
    pub(super) signals: &'a Signals,
    pub(super) supervisor: libc::pid_t,
    /// Processors the run may use.
    pub(super) cpus: u32,
}

/// A rank that is set up.
struct Child<'a> {
    context: &'a Context<'a>,
    number: u32,
    rank: Rank<'a>,
}

/// The whole life of a rank. What goes wrong before the start is left as its text.
pub(super) fn live(context: &Context<'_>, rank: u32, medium: Medium) {
    context.signals.become_rank();
    if let Err(message) = die_with(context.supervisor).and_then(|()| start(context, rank, medium)) {
        context.region.set_text(rank, message.as_bytes());
        context.region.end(rank, &End::Lost);
    }
}

/// The kernel kills this process when the supervisor ends, so that no rank runs on alone.
fn die_with(supervisor: libc::pid_t) -> Result<(), String> {
    // SAFETY: no pointers.
    let orphaned = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::getppid() != supervisor
    };
    if orphaned { Err("the supervisor is gone".into()) } else { Ok(()) }
}

fn start(context: &Context<'_>, number: u32, medium: Medium) -> Result<(), String> {
    let rank = Rank::prepare(context.plan, context.prepared, context.config, number, medium)?;
    let ready = Child { context, number, rank };
    match open_storage(context.config, false)? {
        Storage::Null => ready.run_on(Null),
        Storage::Posix(posix, _inside) => ready.run_on(posix),
        Storage::Beneath(beneath, _inside) => ready.run_on(beneath),
    }
}

impl Child<'_> {
    fn run_on<B: Backend>(self, backend: B) -> Result<(), String> {
        let region = self.context.region;
        match region.wait_for_start(self.number) {
            None => {
                self.rank.abandon();
                region.end(self.number, &End::Interrupted);
            }
            Some(clock) => self.run(backend, clock),
        }
        Ok(())
    }

    fn run<B: Backend>(self, backend: B, clock: Real) {
        let Context { region, cpus, .. } = *self.context;
        let mut comm = Local::new(Arc::clone(region), self.number, cpus);
        let ran = self.rank.run(backend, &mut comm, clock);
        region.set_notes(self.number, ran.notes);
    }
}

//! The life of a forked rank, from its first to its last instruction.

use super::rank::{Rank, enter, open_directories};
use super::signals::Signals;
use crate::backend::{Backend, Beneath, Null, Posix};
use crate::clock::Real;
use crate::comm::{Comm, End, Local, Region, Solo};
use crate::config::{BackendKind, Config, Confinement};
use crate::machine::Prepared;
use crate::recorder::Medium;
use model::Plan;
use std::sync::Arc;

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
    match context.config.backend {
        BackendKind::Null => ready.run_on(Null),
        BackendKind::Mem => Err("the mem back-end is for simulated ranks".into()),
        BackendKind::Posix => {
            let _inside = enter(context.config, false)?;
            let held = open_directories(context.config, false)?;
            let posix = Posix::known_as(&context.config.directory).map_err(|e| cannot_open(&e))?;
            let posix = posix.with_directories(held);
            match context.config.confinement {
                Confinement::Checked => ready.run_on(posix),
                Confinement::Trusted => ready.run_on(posix.trusting()),
                Confinement::Beneath { across_mounts } => {
                    let beneath = Beneath::new(posix).map_err(|e| cannot_open(&e))?;
                    ready.run_on(if across_mounts { beneath.across_mounts() } else { beneath })
                }
            }
        }
    }
}

fn cannot_open(error: &std::io::Error) -> String {
    format!("cannot open the run directory: {error}")
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
        let mut comm: Box<dyn Comm> = if region.ranks() == 1 {
            Box::new(Solo::new(Arc::clone(region)))
        } else {
            Box::new(Local::new(Arc::clone(region), self.number, cpus))
        };
        let ran = self.rank.run(backend, &mut *comm, clock);
        region.set_notes(self.number, ran.notes);
    }
}

//! What one forked rank does from its first to its last instruction.

use super::signals::Signals;
use crate::backend::{Backend, Guarded, Null, Posix};
use crate::buffer::{Buffers, Content};
use crate::clock::{Clock, Real};
use crate::comm::{Comm, End, Local, Region, Solo};
use crate::config::{BackendKind, Config};
use crate::confine::confine;
use crate::host::UsageMeter;
use crate::machine::{Machine, Prepared};
use crate::record::{EventsConfig, Meta, Place, Recorder, State, Usage};
use model::Plan;
use model::plan::Budget;
use std::sync::Arc;

/// Buffers up to this size are made before the start; larger ones on first use.
const PREPARED_BYTES: u64 = 64 << 20;

/// What the supervisor gives to every rank.
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

/// A rank that is set up but for its back-end.
struct Rank<'a> {
    context: &'a Context<'a>,
    number: u32,
    recorder: Recorder,
    meter: UsageMeter,
    buffers: Buffers,
}

/// The whole life of a rank. What goes wrong before the start is left as its text.
pub(super) fn live(context: &Context<'_>, rank: u32, place: Place) {
    context.signals.become_rank();
    if let Err(message) = die_with(context.supervisor).and_then(|()| start(context, rank, place)) {
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

fn start(context: &Context<'_>, rank: u32, place: Place) -> Result<(), String> {
    let plan = context.plan;
    let sites = plan.code.len() as u32;
    let events = context.config.events.map(|events| EventsConfig {
        expected: events.expected.max(expected_events(plan, rank)),
        ..events
    });
    let meta = Meta { rank, ranks: plan.ranks, sites, events };
    let recorder = Recorder::create(place, &meta)
        .map_err(|error| format!("cannot keep what is measured: {error}"))?;
    let buffers = buffers(context, rank);
    let meter = UsageMeter::start();
    let ready = Rank { context, number: rank, recorder, meter, buffers };
    match context.config.backend {
        BackendKind::Null => ready.run_on(Null),
        BackendKind::Mem => Err("the mem back-end is for simulated ranks".into()),
        BackendKind::Posix => {
            enter(context.config)?;
            if context.config.guarded {
                let backend = Guarded::new().map_err(|error| cannot_open(&error))?;
                restrict(context.config)?;
                ready.run_on(backend)
            } else {
                let backend = Posix::new().map_err(|error| cannot_open(&error))?;
                restrict(context.config)?;
                ready.run_on(backend)
            }
        }
    }
}

fn cannot_open(error: &std::io::Error) -> String {
    format!("cannot open the run directory: {error}")
}

/// Relative paths of the program start in the run directory.
#[expect(clippy::disallowed_methods, reason = "a rank, after the fork")]
fn enter(config: &Config) -> Result<(), String> {
    std::env::set_current_dir(&config.directory)
        .map_err(|error| format!("cannot enter {}: {error}", config.directory.display()))
}

fn restrict(config: &Config) -> Result<(), String> {
    if !config.landlock {
        return Ok(());
    }
    confine(&config.directory).map_err(|error| error.to_string())
}

/// Operations that the budget knows of.
fn expected_events(plan: &Plan, rank: u32) -> u64 {
    let ops = budget(plan, rank).map_or(&[][..], |budget| &budget.ops);
    ops.iter().map(|(_, op)| op.count).fold(0, u64::saturating_add)
}

fn budget(plan: &Plan, rank: u32) -> Option<&Budget> {
    plan.budget.iter().find(|(ranks, _)| ranks.contains(&rank)).map(|(_, budget)| budget)
}

/// Buffers, made beforehand as far as the budget tells what is needed.
fn buffers(context: &Context<'_>, rank: u32) -> Buffers {
    if context.config.backend == BackendKind::Null {
        return Buffers::unfilled();
    }
    let mut buffers = Buffers::new(context.plan.seed, rank);
    let largest = budget(context.plan, rank).map_or(0, |budget| budget.buffer_bytes);
    let bytes = largest.min(PREPARED_BYTES) as usize;
    // A failure shows again, with its place, when a program needs the buffer.
    let _ = buffers.source(Content::Random, bytes, 0);
    let _ = buffers.target(bytes).map(|target| target.fill(1));
    buffers
}

impl Rank<'_> {
    fn run_on<B: Backend>(self, backend: B) -> Result<(), String> {
        let region = self.context.region;
        match region.wait_for_start(self.number) {
            None => self.never_started(),
            Some(clock) => self.choose(backend, clock),
        }
        Ok(())
    }

    /// The loop is compiled for every clock and communicator.
    fn choose<B: Backend>(self, backend: B, clock: Real) {
        let (region, cpus) = (Arc::clone(self.context.region), self.context.cpus);
        let number = self.number;
        match clock {
            #[cfg(target_arch = "x86_64")]
            Real::Tsc(clock) if region.ranks() == 1 => self.run(backend, Solo::new(region), clock),
            #[cfg(target_arch = "x86_64")]
            Real::Tsc(clock) => self.run(backend, Local::new(region, number, cpus), clock),
            Real::Monotonic(clock) => self.run(backend, Local::new(region, number, cpus), clock),
        }
    }

    fn run<B, C, K>(mut self, backend: B, comm: C, clock: K)
    where
        B: Backend,
        C: Comm,
        K: Clock + Clone,
    {
        let (context, number) = (self.context, self.number);
        let start_ns = clock.now();
        let mut machine = Machine::new(
            context.prepared,
            &context.config.settings,
            backend,
            comm,
            clock,
            self.recorder,
        );
        let stop = machine.run(&mut self.buffers);
        let meter = self.meter;
        let usage = |end_ns| usage(&meter, start_ns, end_ns);
        let (_, notes) = machine.finish(&stop, usage);
        context.region.set_notes(number, notes);
    }

    fn never_started(mut self) {
        self.recorder.finish(State::Interrupted, &usage(&self.meter, 0, 0));
        self.context.region.end(self.number, &End::Interrupted);
    }
}

fn usage(meter: &UsageMeter, start_ns: u64, end_ns: u64) -> Usage {
    let used = meter.used();
    Usage {
        start_ns,
        end_ns,
        cpu_ns: used.cpu_ns,
        read_bytes: used.storage_read_bytes,
        write_bytes: used.storage_write_bytes,
        rchar_bytes: used.call_read_bytes,
        wchar_bytes: used.call_write_bytes,
    }
}

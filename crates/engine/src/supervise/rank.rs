//! One rank, started by [`super::run_local`] in a forked process or by `mpi::run`
//! in an MPI process.
//!
//! ```text
//! Rank::prepare ─▶ (the ranks agree to start) ─▶ Rank::run ─▶ Ran
//! ```

use crate::backend::{Backend, Beneath, Held, Posix};
use crate::buffer::Buffers;
use crate::clock::{Alignment, Clock, Real};
use crate::comm::{Comm, End};
use crate::config::{BackendKind, Config, Confinement};
use crate::directory::{self, Inside};
use crate::host::UsageMeter;
use crate::machine::{Machine, Prepared, Stop};
use crate::recorder::{EventsConfig, Medium, Meta, Recorder, State, Usage};
use crate::verify::{Verified, verifies};
use model::Plan;

/// A rank that is set up but for its back-end, communicator and clock.
pub struct Rank<'a> {
    prepared: &'a Prepared<'a>,
    config: &'a Config,
    recorder: Recorder,
    meter: UsageMeter,
    buffers: Buffers,
}

/// A rank that has ended.
pub struct Ran {
    /// Its record.
    pub recorder: Recorder,
    /// How it ended.
    pub end: End,
    /// Its remarks: bits of [`crate::machine::note`].
    pub notes: u32,
}

impl<'a> Rank<'a> {
    /// Makes the recorder and the buffers of a rank.
    ///
    /// # Errors
    /// Why what it measures cannot be kept, as a sentence.
    pub fn prepare(
        plan: &Plan,
        prepared: &'a Prepared<'a>,
        config: &'a Config,
        rank: u32,
        medium: Medium,
    ) -> Result<Rank<'a>, String> {
        let sites = plan.code.len() as u32;
        let events = config.events.map(|events| EventsConfig {
            expected: events.expected.max(config.forecast(rank).operations),
            ..events
        });
        let meta = Meta { rank, ranks: plan.ranks, sites, events };
        let recorder = Recorder::create(medium, &meta)
            .map_err(|error| format!("cannot keep what is measured: {error}"))?;
        let buffers = buffers(plan, config, rank);
        Ok(Rank { prepared, config, recorder, meter: UsageMeter::start(), buffers })
    }

    /// Records how the rank's clock relates to rank 0's.
    pub fn clock(&mut self, clock: &Alignment) {
        self.recorder.clock(clock);
    }

    /// Executes the program to its end.
    pub fn run(self, mut backend: Box<dyn Backend + '_>, comm: &mut dyn Comm, clock: Real) -> Ran {
        let plan = self.prepared.plan();
        if !verifies(plan) || !backend.capabilities().keeps_data {
            return self.execute(backend, comm, clock);
        }
        let run = self.config.settings.run_mark.wrapping_add(self.config.execution as u16);
        let verified = Verified::around(backend, plan, (comm.rank(), run), Clock::from(clock));
        self.execute(Box::new(verified), comm, clock)
    }

    fn execute(mut self, backend: Box<dyn Backend + '_>, comm: &mut dyn Comm, clock: Real) -> Ran {
        // What was done to get ready is none of the program's.
        self.meter.restart();
        let start_ns = clock.now();
        let settings = &self.config.settings;
        let mut machine =
            Machine::new(self.prepared, settings, backend, &*comm, clock, self.recorder);
        let stop = machine.run(comm, &mut self.buffers);
        let meter = self.meter;
        let usage = |end_ns| Usage { start_ns, end_ns, ..meter.used() };
        let (recorder, notes) = machine.finish(&stop, comm, usage);
        Ran { recorder, end: end(&stop), notes }
    }

    /// Ends a rank that was never started.
    pub fn abandon(mut self) {
        self.recorder.finish(State::Interrupted, &self.meter.used());
    }
}

/// How a rank has ended that stopped so.
pub(crate) fn end(stop: &Stop) -> End {
    match stop {
        Stop::Finished => End::Finished,
        Stop::Failed { .. } => End::Failed,
        Stop::Released { .. } => End::Released,
        Stop::Interrupted | Stop::Pending => End::Interrupted,
    }
}

/// Storage on which a rank in a process executes its calls, and the run directory that it has entered.
pub enum Storage {
    /// Nothing.
    Null,
    /// A file system; paths are checked by their text, or trusted.
    Posix(Posix, Inside),
    /// A file system; every path is resolved beneath the run directory.
    Beneath(Beneath, Inside),
}

/// Enters the run directory and opens the further ones. `far`: on another machine than the one where they were
/// identified.
pub fn open_storage(config: &Config, far: bool) -> Result<Storage, String> {
    let cannot_open = |error: std::io::Error| format!("cannot open the run directory: {error}");
    match config.backend {
        BackendKind::Null => return Ok(Storage::Null),
        BackendKind::Mem => return Err("the mem back-end is for simulated ranks".into()),
        BackendKind::Posix => {}
    }
    let inside = directory::enter(&config.directory, config.identity.as_ref(), far)?;
    let posix = Posix::known_as(&config.directory).map_err(cannot_open)?;
    let held = config.directories.iter().map(|(path, identity)| {
        let file = directory::open_same(path, identity, far)?;
        Ok(Held { path: path.clone(), file })
    });
    let posix = posix.with_directories(held.collect::<Result<_, String>>()?);
    Ok(match config.confinement {
        Confinement::Checked => Storage::Posix(posix, inside),
        Confinement::Trusted => Storage::Posix(posix.trusting(), inside),
        Confinement::Beneath { across_mounts } => {
            let beneath = Beneath::new(posix).map_err(cannot_open)?;
            let beneath = if across_mounts { beneath.across_mounts() } else { beneath };
            Storage::Beneath(beneath, inside)
        }
    })
}

/// Buffers, made beforehand as far as the rehearsal tells what is needed.
fn buffers(plan: &Plan, config: &Config, rank: u32) -> Buffers {
    if config.backend == BackendKind::Null {
        return Buffers::unfilled();
    }
    let mut buffers =
        Buffers::of_execution(plan.seed, rank, config.execution).with_samples(&plan.samples);
    // A failure shows again, with its place, when a program needs the buffer.
    let _ = buffers.prepare(&config.forecast(rank).memory);
    buffers
}

//! One rank, started by [`super::run_local`] in a forked process or by `mpi::run`
//! in an MPI process.
//!
//! ```text
//! Rank::prepare ─▶ (the ranks agree to start) ─▶ Rank::run ─▶ Ran
//! ```

use crate::backend::{Backend, Held};
use crate::buffer::Buffers;
use crate::clock::{Clock, Real, align::Alignment};
use crate::comm::{Comm, End};
use crate::config::{BackendKind, Config};
use crate::directory::{self, Identity, Inside};
use crate::host::UsageMeter;
use crate::machine::{Machine, Prepared, Stop};
use crate::recorder::{EventsConfig, Medium, Meta, Recorder, State, Usage};
use crate::verify::{Verified, verifies};
use model::Plan;
use std::path::PathBuf;

/// Buffers up to this size are made before the start; larger ones on first use.
const PREPARED_BYTES: u64 = 64 << 20;

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

    /// Executes the program to its end. The loop is compiled for every back-end, and once for those that
    /// verify data.
    pub fn run<B: Backend>(self, mut backend: B, comm: &mut dyn Comm, clock: Real) -> Ran {
        let plan = self.prepared.plan();
        if !verifies(plan) || !backend.capabilities().keeps_data {
            return self.execute(backend, comm, clock);
        }
        let run = self.config.settings.run_mark.wrapping_add(self.config.execution as u16);
        let verified = Verified::around(backend, plan, (comm.rank(), run), Clock::from(clock));
        self.execute(verified, comm, clock)
    }

    fn execute<B: Backend>(mut self, backend: B, comm: &mut dyn Comm, clock: Real) -> Ran {
        // What was done to get ready is none of the program's.
        self.meter.restart();
        let start_ns = clock.now();
        let settings = &self.config.settings;
        let mut machine =
            Machine::new(self.prepared, settings, backend, &*comm, clock, self.recorder);
        let stop = machine.run(comm, &mut self.buffers);
        let meter = self.meter;
        let usage = |end_ns| usage(&meter, start_ns, end_ns);
        let (recorder, notes) = machine.finish(&stop, comm, usage);
        Ran { recorder, end: end(&stop), notes }
    }

    /// Ends a rank that was never started.
    pub fn abandon(mut self) {
        self.recorder.finish(State::Interrupted, &usage(&self.meter, 0, 0));
    }
}

/// How a rank has ended that stopped so.
pub(super) fn end(stop: &Stop) -> End {
    match stop {
        Stop::Finished => End::Finished,
        Stop::Failed { .. } => End::Failed,
        Stop::Released { .. } => End::Released,
        Stop::Interrupted | Stop::Pending => End::Interrupted,
    }
}

/// Relative paths of the program start in the run directory, the one that was accepted. `far`: on
/// another machine than that.
///
/// # Errors
/// Why it cannot be entered, as a sentence.
pub fn enter(config: &Config, far: bool) -> Result<Inside, String> {
    directory::enter(&config.directory, config.identity.as_ref(), far)
}

/// Opens the further directories of the program, those that were accepted. `far`: on another machine
/// than that.
///
/// # Errors
/// Why one cannot be opened, as a sentence.
pub fn open_directories(config: &Config, far: bool) -> Result<Vec<Held>, String> {
    let open = |(path, identity): &(PathBuf, Identity)| {
        let file = directory::open_same(path, identity, far)?;
        Ok(Held { path: path.clone(), file })
    };
    config.directories.iter().map(open).collect()
}

/// Buffers, made beforehand as far as the rehearsal tells what is needed.
fn buffers(plan: &Plan, config: &Config, rank: u32) -> Buffers {
    if config.backend == BackendKind::Null {
        return Buffers::unfilled();
    }
    let mut buffers =
        Buffers::of_execution(plan.seed, rank, config.execution).with_samples(&plan.samples);
    let forecast = config.forecast(rank);
    let prepared = |bytes: u64| bytes.min(PREPARED_BYTES) as usize;
    // A failure shows again, with its place, when a program needs the buffer.
    let _ = buffers.prepare(prepared(forecast.pool_bytes), prepared(forecast.buffer_bytes));
    buffers
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
        waited_ns: used.waited_ns,
        preemptions: used.preemptions,
        faults: used.faults,
    }
}

//! Local ranks: forks them, starts them together, watches them, reads what they left.

use super::outcome::{Outcome, StartError, check_ranks, sets};
use super::processes::{Context, Processes, live};
use super::signals::{Received, Signals};
use super::watch::Watch;
use crate::clock::check::{Check, Checked};
use crate::clock::{self, Real};
use crate::comm::{Activity, End, Progress, Region};
use crate::config::Config;
use crate::host::{self, MachineMeter};
use crate::machine::Prepared;
use crate::recorder::{Medium, RankRecord, memory_file, read_file};
use model::Plan;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

/// How often the supervisor looks after ranks that say nothing.
const PERIOD: Duration = Duration::from_millis(50);
/// Ranks whose progress is read: reading takes CPU time.
const RANKS_READ: u32 = 256;
/// The same while they set themselves up.
const START_PERIOD: Duration = Duration::from_millis(1);

/// The supervisor of a run.
struct Supervisor<'a> {
    plan: &'a Plan,
    config: &'a Config,
    region: Arc<Region>,
    signals: Signals,
    processes: Processes,
    ends: Vec<Option<End>>,
    /// Memory in which ranks record, unless they record in files.
    memory: Vec<File>,
    deadlock: Vec<Activity>,
    /// That of the ranks, once they have started.
    clock: Option<Real>,
    watch: Option<Watch>,
    /// How often somebody asked the run to stop.
    stops: u32,
    /// Load of the machine by other processes, from the start on.
    machine: Option<MachineMeter>,
}

/// Runs a plan with one forked process per rank. `on_progress` is called some twenty times per
/// second, reports progress as often as the configuration asks for it, and is called once
/// before the start if that waits for SIGUSR1.
pub fn run_local(
    plan: &Plan,
    config: &Config,
    on_progress: &mut dyn FnMut(&Progress),
) -> Result<Outcome, StartError> {
    let ranks = check_ranks(plan)?;
    let clock = clock::best();
    let clock_read_ns = clock.reading_cost_ns();
    let region = io_error("share memory", Region::create(ranks, &sets(plan)))?;
    let mut supervisor = Supervisor {
        plan,
        config,
        region: Arc::new(region),
        signals: io_error("take signals", Signals::take())?,
        processes: Processes::default(),
        ends: vec![None; ranks as usize],
        memory: Vec::new(),
        deadlock: Vec::new(),
        clock: None,
        watch: Watch::new(0..ranks.min(RANKS_READ), config),
        stops: 0,
        machine: None,
    };
    supervisor.fork_all(ranks)?;
    let check = Check::start(clock);
    supervisor.start(clock, on_progress)?;
    supervisor.watch(on_progress);
    let checked = check.seen();
    let contention = supervisor.machine.take().map(|machine| machine.used());
    Ok(Outcome { contention, checked, ..supervisor.outcome(clock, clock_read_ns) })
}

fn io_error<T>(what: &'static str, result: io::Result<T>) -> Result<T, StartError> {
    result.map_err(|error| StartError::Io { what, error })
}

/// A rank does not need what others measure: its descriptors count against its limit.
fn close_all(fds: &[RawFd]) {
    for fd in fds {
        // SAFETY: in a process whose owner of the descriptor will never run.
        unsafe { libc::close(*fd) };
    }
}

impl Supervisor<'_> {
    fn fork_all(&mut self, ranks: u32) -> Result<(), StartError> {
        let prepared = Prepared::new(self.plan);
        // SAFETY: no pointers.
        let supervisor = unsafe { libc::getpid() };
        for rank in 0..ranks {
            let others: Vec<RawFd> = self.memory.iter().map(AsRawFd::as_raw_fd).collect();
            let medium = io_error("make memory for what is measured", self.medium(rank))?;
            let context = Context {
                plan: self.plan,
                prepared: &prepared,
                config: self.config,
                region: &self.region,
                signals: &self.signals,
                supervisor,
                cpus: host::cpus(),
            };
            let forked = self.processes.fork(|| {
                close_all(&others);
                live(&context, rank, medium);
            });
            io_error("fork a rank", forked)?;
        }
        Ok(())
    }

    /// Where a rank keeps what it measures.
    fn medium(&mut self, rank: u32) -> io::Result<Medium> {
        if let Some(path) = self.config.records.path(rank) {
            return Ok(Medium::File(path));
        }
        let memory = memory_file()?;
        let theirs = memory.try_clone()?;
        self.memory.push(memory);
        Ok(Medium::Memory(theirs.into()))
    }

    /// Waits until all ranks are set up (and for SIGUSR1), then lets them go together.
    fn start(
        &mut self,
        clock: Real,
        on_progress: &mut dyn FnMut(&Progress),
    ) -> Result<(), StartError> {
        let mut may_start = !self.config.wait_for_signal;
        let mut held = self.config.wait_for_signal;
        loop {
            self.reap();
            if let Some(rank) = self.ends.iter().position(Option::is_some) {
                self.region.abandon();
                return Err(StartError::Rank {
                    rank: rank as u32,
                    message: self.last_words(rank as u32),
                });
            }
            let ready = self.region.ready() == self.region.ranks();
            if self.stops > 0 {
                self.region.abandon();
                return Ok(());
            }
            if ready && may_start {
                self.machine = Some(MachineMeter::start());
                let clock = clock.restarted();
                self.clock = Some(clock);
                self.region.start(clock);
                return Ok(());
            }
            if ready && std::mem::take(&mut held) {
                on_progress(&Progress::Held);
            }
            match self.signals.next(if ready { PERIOD } else { START_PERIOD }) {
                Received::Start if self.config.wait_for_signal => may_start = true,
                Received::Start | Received::Stop => self.stops += 1,
                Received::Child | Received::Nothing => {}
            }
        }
    }

    fn last_words(&self, rank: u32) -> String {
        let text = self.region.text(rank);
        match &self.ends[rank as usize] {
            Some(end) if text.is_empty() => format!("its process {}", end.describe()),
            _ => text,
        }
    }

    /// Until all processes have ended.
    fn watch(&mut self, on_progress: &mut dyn FnMut(&Progress)) {
        loop {
            self.reap();
            if self.processes.alive() == 0 {
                return;
            }
            match self.signals.next(PERIOD) {
                // Batch systems announce a limit by it; a run that waited for it has started.
                Received::Start if !self.config.wait_for_signal => self.stop(),
                Received::Stop => self.stop(),
                Received::Start | Received::Child => {}
                Received::Nothing => self.look(on_progress),
            }
            if self.stops > 0 {
                // Again and again: a rank may have fallen asleep after the last time.
                self.processes.wake();
            }
        }
    }

    /// The first time ranks stop at their next statement, the second time at once.
    fn stop(&mut self) {
        self.stops += 1;
        self.region.interrupt();
        if self.stops > 1 {
            self.processes.kill();
        }
    }

    fn look(&mut self, on_progress: &mut dyn FnMut(&Progress)) {
        if self.deadlock.is_empty()
            && let Some(stuck) = self.region.deadlock()
        {
            self.deadlock = stuck;
            self.region.release();
        }
        let sample = self.clock.and_then(|clock| {
            let (config, memory) = (&self.config, &self.memory);
            let area = |rank: u32| area(config, memory, rank).ok();
            self.watch.as_mut()?.look(clock.now(), area)
        });
        on_progress(&sample.map_or(Progress::Alive, Progress::At));
    }

    /// Takes note of processes that have ended; the others do not wait for them.
    fn reap(&mut self) {
        let (region, ends) = (&self.region, &mut self.ends);
        self.processes.reap(|rank, end| {
            let own_word = region.ended(rank);
            let end = match (own_word, end) {
                (Some(word), End::Lost) => word,
                (_, killed) => killed,
            };
            region.end(rank, &end);
            ends[rank as usize] = Some(end);
        });
    }

    fn outcome(self, clock: Real, clock_read_ns: f64) -> Outcome {
        let ends: Vec<End> = self.ends.iter().flatten().cloned().collect();
        let mut errors: Vec<(u32, String)> = Vec::new();
        for (end, rank) in ends.iter().zip(0..) {
            if matches!(end, End::Killed(_) | End::Lost) {
                errors.push((rank, format!("its process {}", end.describe())));
            }
        }
        let mut records = Vec::with_capacity(ends.len());
        for rank in 0..self.region.ranks() {
            match self.record(rank) {
                Ok(record) => records.push(record),
                Err(error) => errors.push((rank, format!("what it measured is lost: {error}"))),
            }
        }
        Outcome {
            comm: if self.region.ranks() == 1 { "solo" } else { "local" },
            backend: self.config.backend.name(),
            clock: clock.name(),
            clock_read_ns,
            clock_skew_ns: 0,
            checked: Checked::default(),
            records,
            ends,
            errors,
            deadlock: self.deadlock,
            interrupted: self.stops > 0,
            notes: self.region.notes(),
            contention: None,
        }
    }

    fn record(&self, rank: u32) -> Result<RankRecord, String> {
        read_file(&area(self.config, &self.memory, rank)?)
    }
}

/// Where a rank records.
fn area(config: &Config, memory: &[File], rank: u32) -> Result<File, String> {
    let Some(path) = config.records.path(rank) else {
        return memory[rank as usize].try_clone().map_err(|error| error.to_string());
    };
    File::open(&path).map_err(|error| format!("cannot open {}: {error}", path.display()))
}

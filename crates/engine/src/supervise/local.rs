//! Local ranks: forks them, starts them together, watches them, learns that they have ended, and reads what they
//! recorded.

use super::outcome::{Outcome, StartError, Watch, check_ranks, sets};
use super::rank::{Rank, Storage, open_storage};
use super::signals::{Received, Signals, WAKE};
use super::waiting;
use crate::backend::{Backend, Null};
use crate::clock::{self, Check, Checked, Real, monotonic_raw_ns};
use crate::comm::{Activity, End, Local, Progress, Region};
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
/// How long killed ranks may take to end.
const TO_DIE_NS: u64 = 2_000_000_000;
/// How long ranks may take to stop at a deadline; then they are killed.
const TO_STOP_NS: u64 = 10_000_000_000;
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
    /// The deadline asked first.
    timed_out: bool,
    /// When the ranks were killed.
    killed_ns: Option<u64>,
    /// Ranks that cannot be killed, with the call that each waits in.
    unkillable: Vec<(u32, String)>,
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
        timed_out: false,
        killed_ns: None,
        unkillable: Vec::new(),
        machine: None,
    };
    supervisor.fork_all(ranks)?;
    let check = Check::start(clock);
    supervisor.start(clock, on_progress)?;
    supervisor.watch(on_progress);
    let checked = check.compare();
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
            self.stop_at_deadline();
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

    /// Until all processes have ended, but for those that cannot be killed.
    fn watch(&mut self, on_progress: &mut dyn FnMut(&Progress)) {
        loop {
            self.reap();
            let had_time = |killed_ns| monotonic_raw_ns() - killed_ns > TO_DIE_NS;
            if self.killed_ns.is_some_and(had_time) {
                self.leave_behind();
            }
            if self.processes.alive().next().is_none() {
                return;
            }
            self.stop_at_deadline();
            match self.signals.next(PERIOD) {
                // Batch systems announce a limit by it; a run that waited for it has started.
                Received::Start if !self.config.wait_for_signal => self.stop(),
                Received::Stop => self.stop(),
                Received::Start | Received::Child => {}
                Received::Nothing => self.look(on_progress),
            }
            if self.stops > 0 {
                // Again and again: a rank may have fallen asleep after the last time.
                self.processes.send(WAKE);
            }
        }
    }

    /// The first time ranks stop at their next statement, the second time at once.
    fn stop(&mut self) {
        self.stops += 1;
        self.region.interrupt();
        if self.stops > 1 {
            self.processes.send(libc::SIGKILL);
            self.killed_ns.get_or_insert_with(monotonic_raw_ns);
        }
    }

    /// The deadline is like an interrupt; where ranks do not end by it, like two.
    fn stop_at_deadline(&mut self) {
        let Some(deadline_ns) = self.config.deadline_ns else { return };
        let now_ns = monotonic_raw_ns();
        if self.stops == 0 && now_ns >= deadline_ns {
            self.timed_out = true;
            self.stop();
        } else if self.timed_out && self.stops == 1 && now_ns >= deadline_ns + TO_STOP_NS {
            self.stop();
        }
    }

    /// Processes in uninterruptible sleep end when their storage answers: nobody waits for that.
    fn leave_behind(&mut self) {
        for (rank, pid) in self.processes.leave() {
            let call = waiting::describe(pid, &self.config.directory);
            let call = call.map_or(String::new(), |call| format!(", it is in {call}"));
            let words = format!(
                "its process {pid} cannot be killed{call}: it ends when the storage answers"
            );
            self.unkillable.push((rank, words));
            let end = End::Killed(libc::SIGKILL);
            self.region.end(rank, &end);
            self.ends[rank as usize] = Some(end);
        }
    }

    fn look(&mut self, on_progress: &mut dyn FnMut(&Progress)) {
        if self.deadlock.is_empty()
            && let Some(stuck) = self.region.deadlock()
        {
            self.deadlock = stuck;
            self.region.release();
        }
        let now_ns = self.clock.map(|clock| clock.now());
        let mut sample = now_ns.and_then(|now_ns| {
            let (config, memory) = (&self.config, &self.memory);
            let area = |rank: u32| area(config, memory, rank).ok();
            self.watch.as_mut()?.look(now_ns, area)
        });
        if let (Some(sample), Some(watch)) = (&mut sample, &self.watch) {
            let still = watch.still_for(sample.at_ns);
            sample.waiting = still.and_then(|still| self.describe_waiting(still));
        }
        on_progress(&sample.map_or(Progress::Alive, Progress::At));
    }

    /// The first rank that waits for storage, and for how long at least.
    fn describe_waiting(&self, still: Duration) -> Option<String> {
        let mut alive = self.processes.alive().take(RANKS_READ as usize);
        let (rank, call) = alive.find_map(|(rank, pid)| {
            Some((rank, waiting::describe(pid, &self.config.directory)?))
        })?;
        Some(format!("rank {rank} in {call} for {} s", still.as_secs()))
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
        let mut errors = self.unkillable.clone();
        for (end, rank) in ends.iter().zip(0..) {
            let is_told = self.unkillable.iter().any(|(told, _)| *told == rank);
            if matches!(end, End::Killed(_) | End::Lost) && !is_told {
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
            timed_out: self.timed_out,
            hangs: !self.unkillable.is_empty(),
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

/// One rank's process.
#[derive(Clone, Copy, Debug)]
struct Process {
    pid: libc::pid_t,
    alive: bool,
}

/// All processes, by rank.
#[derive(Debug, Default)]
struct Processes {
    all: Vec<Process>,
}

impl Processes {
    /// Forks the next rank; in the child `body` runs and the process ends without
    /// running anything of the parent's.
    fn fork(&mut self, body: impl FnOnce()) -> io::Result<()> {
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

    /// Looks which processes have ended since; tells their ranks and how: killed or lost
    /// as far as the kernel knows.
    fn reap(&mut self, mut ended: impl FnMut(u32, End)) {
        for (rank, process) in self.all.iter_mut().enumerate() {
            if process.alive
                && let Some(end) = status(process.pid)
            {
                process.alive = false;
                ended(rank as u32, end);
            }
        }
    }

    /// Those that have not ended, by rank with their numbers.
    fn alive(&self) -> impl Iterator<Item = (u32, libc::pid_t)> {
        let alive = (0..).zip(&self.all).filter(|(_, process)| process.alive);
        alive.map(|(rank, process)| (rank, process.pid))
    }

    /// Gives up those that have not ended, by rank with their numbers.
    fn leave(&mut self) -> Vec<(u32, libc::pid_t)> {
        let left = self.alive().collect();
        self.all.iter_mut().for_each(|process| process.alive = false);
        left
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
        self.send(libc::SIGKILL);
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
struct Context<'a> {
    plan: &'a Plan,
    prepared: &'a Prepared<'a>,
    config: &'a Config,
    region: &'a Arc<Region>,
    signals: &'a Signals,
    supervisor: libc::pid_t,
    /// Processors the run may use.
    cpus: u32,
}

/// A rank that is set up.
struct Child<'a> {
    context: &'a Context<'a>,
    number: u32,
    rank: Rank<'a>,
}

/// The whole life of a rank. What goes wrong before the start is left as its text.
fn live(context: &Context<'_>, rank: u32, medium: Medium) {
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
        Storage::Null => ready.run_on(Box::new(Null)),
        Storage::Posix(posix, _inside) => ready.run_on(Box::new(posix)),
        Storage::Beneath(beneath, _inside) => ready.run_on(Box::new(beneath)),
    }
}

impl Child<'_> {
    fn run_on(self, backend: Box<dyn Backend>) -> Result<(), String> {
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

    fn run(self, backend: Box<dyn Backend>, clock: Real) {
        let Context { region, cpus, .. } = *self.context;
        let mut comm = Local::new(Arc::clone(region), self.number, cpus);
        let ran = self.rank.run(backend, &mut comm, clock);
        region.set_notes(self.number, ran.notes);
    }
}

//! Simulated ranks: all machines in this thread, on files in memory, in virtual time.

use super::outcome::{Outcome, StartError, check_ranks, sets};
use crate::backend::mem::Planted;
use crate::backend::{Backend, Cost, Mem, MemFs, MpiFiles, Pointers};
use crate::buffer::Buffers;
use crate::clock::{self, Checked, Real, Virtual};
use crate::comm::{Activity, Comm, End, Progress, Sample, Sim, World};
use crate::config::Config;
use crate::machine::{Machine, Prepared, Stop};
use crate::recorder::{Listener, Medium, Meta, RankRecord, Recorder, Usage};
use crate::{limits, stop};
use model::directory::absolute;
use model::rehearsal::{Expected, Thing};
use model::units::format_bytes;
use model::{Plan, Value};
use std::rc::Rc;

/// Memory of a simulated rank, bytes: measured with one that executes a few operations, and
/// a quarter more. Its variables come on top.
const RANK_BYTES: u64 = 13_000;

/// Runs a plan with simulated ranks on the mem back-end. `on_progress` gets their progress as often as the
/// configuration asks for it. `before`: files and directories at the start, each directory before its content.
pub fn run_sim(
    plan: &Plan,
    config: &Config,
    before: &[Expected],
    on_progress: &mut dyn FnMut(&Progress),
) -> Result<Outcome, StartError> {
    run_sim_with(plan, config, before, on_progress, None)
}

/// The same among what is there before, directories before what is in them. What cannot be there is
/// left out.
/// Statements of MPI-IO are executed, too. Events are not kept: somebody listens to them.
pub fn run_sim_among(
    plan: &Plan,
    config: &Config,
    before: &[Expected],
    listener: &Listener,
) -> Result<Outcome, StartError> {
    run_sim_with(plan, config, before, &mut |_| (), Some(listener))
}

/// Runs a plan with simulated ranks, each on a back-end of its own: for tests.
pub fn run_sim_on<B: Backend>(
    plan: &Plan,
    config: &Config,
    backend: impl FnMut(u32, Virtual) -> B,
) -> Result<Outcome, StartError> {
    let buffers = Buffers::new(plan.seed, 0).with_samples(&plan.samples);
    let _stops = stop::StopOnSignals::new();
    simulate(plan, config, Virtual::start(), buffers, (backend, alone), &mut |_, _| (), None)
}

fn run_sim_with(
    plan: &Plan,
    config: &Config,
    before: &[Expected],
    on_progress: &mut dyn FnMut(&Progress),
    listener: Option<&Listener>,
) -> Result<Outcome, StartError> {
    let clock = Virtual::start();
    let mut looks = Looks::new(plan, config);
    let mut is_first = true;
    let mut on_turn = |_: &World, sample: &dyn Fn() -> Sample| {
        if std::mem::take(&mut is_first) {
            // Signals are taken from now on: the caller passes on what came before.
            on_progress(&Progress::Alive);
        }
        looks.turn(sample, on_progress);
    };
    // Programs cannot see what files hold, so neither buffers nor files take memory for it.
    let fs = MemFs::shared(&config.directory.to_string_lossy());
    fs.borrow_mut().add(&plan.directories);
    for one in before {
        let path = absolute(&plan.directories, &one.path);
        let _ = match &one.what {
            Thing::Directory => fs.borrow_mut().plant(&path, Planted::Directory),
            Thing::File { size_bytes, .. } => {
                fs.borrow_mut().plant(&path, Planted::File(*size_bytes))
            }
            Thing::Link(target) => fs.borrow_mut().plant_link(&path, target),
        };
    }
    let backend = |_: u32, clock: Virtual| Mem::new(Rc::clone(&fs), clock, Cost::default());
    if listener.is_none() {
        let make = (backend, alone);
        // Only what was measured is worth keeping when a signal comes; else it ends the process.
        let _stops = stop::StopOnSignals::new();
        return simulate(plan, config, clock, Buffers::unfilled(), make, &mut on_turn, None);
    }
    let pointers = Pointers::default();
    let with_mpi = |rank, clock| MpiFiles::new(backend(rank, clock), &pointers);
    simulate(plan, config, clock, Buffers::unfilled(), (with_mpi, alone), &mut on_turn, listener)
}

/// A rank that is simulated and nothing else.
pub(crate) fn alone(sim: Sim) -> Sim {
    sim
}

/// Looks at a simulation from time to time, by a clock that is not virtual.
struct Looks {
    clock: Option<Real>,
    expected: Option<u64>,
    period_ns: u64,
    next_ns: u64,
}

impl Looks {
    fn new(plan: &Plan, config: &Config) -> Looks {
        let period = config.watch.unwrap_or_default();
        let period_ns = period.as_nanos().try_into().unwrap_or(u64::MAX);
        let clock = config.watch.map(|_| clock::best().restarted());
        let expected = config.expected_operations(0..plan.ranks);
        Looks { clock, expected, period_ns, next_ns: period_ns }
    }

    fn turn(&mut self, sample: &dyn Fn() -> Sample, on_progress: &mut dyn FnMut(&Progress)) {
        let Some(at_ns) = self.clock.map(|clock| clock.now()) else { return };
        if at_ns >= self.next_ns {
            self.next_ns = at_ns.saturating_add(self.period_ns);
            let sample = Sample { at_ns, expected: self.expected, ..sample() };
            on_progress(&Progress::At(sample));
        }
    }
}

/// The ranks of a simulation.
pub(crate) struct Simulation<'p> {
    pub(crate) world: Rc<World>,
    /// Ranks that have not ended.
    pub(crate) ranks: Vec<Option<(Machine<'p>, Sim)>>,
    clock: Virtual,
    buffers: Buffers,
    /// Of ranks that have.
    pub(crate) records: Vec<Option<RankRecord>>,
    pub(crate) ends: Vec<End>,
    errors: Vec<(u32, String)>,
    deadlock: Vec<Activity>,
    notes: u32,
    /// The deadline has ended the run.
    timed_out: bool,
    /// Operations of ranks that have ended.
    operations: u64,
}

/// Runs all ranks to their end. `make`: gives a rank its back-end, and its end of the world.
/// `on_turn` is asked before every turn and may interrupt. `listener`: takes the events.
pub(crate) fn simulate<B: Backend>(
    plan: &Plan,
    config: &Config,
    clock: Virtual,
    buffers: Buffers,
    make: (impl FnMut(u32, Virtual) -> B, impl FnMut(Sim) -> Sim),
    on_turn: &mut dyn FnMut(&World, &dyn Fn() -> Sample),
    listener: Option<&Listener>,
) -> Result<Outcome, StartError> {
    check_ranks(plan)?;
    check_memory(plan)?;
    let prepared = Prepared::new(plan);
    let mut simulation = Simulation::new(plan, config, &prepared, clock, buffers, make, listener)?;
    loop {
        on_turn(&simulation.world, &|| simulation.sample());
        let is_enough = listener.is_some_and(|listener| listener.0.borrow().is_enough());
        // Nobody listens to a run that is measured.
        if listener.is_none() && !stop::requested() && config.is_time_up() {
            simulation.timed_out = true;
        }
        if stop::requested() || is_enough || simulation.timed_out {
            simulation.world.interrupt();
        }
        if !simulation.turn(Machine::run) {
            break;
        }
    }
    Ok(simulation.outcome(config))
}

/// Runs all ranks, each asked for before every instruction, until `is_paused` or to their ends; `look` sees them as they
/// are then. `make`: as in [`simulate`].
pub(crate) fn simulate_in_steps<B: Backend, T>(
    plan: &Plan,
    config: &Config,
    clock: Virtual,
    make: (impl FnMut(u32, Virtual) -> B, impl FnMut(Sim) -> Sim),
    is_paused: impl Fn() -> bool,
    look: impl FnOnce(&mut Simulation<'_>) -> T,
) -> Result<T, StartError> {
    check_ranks(plan)?;
    check_memory(plan)?;
    let prepared = Prepared::new(plan);
    let buffers = Buffers::unfilled();
    let mut simulation = Simulation::new(plan, config, &prepared, clock, buffers, make, None)?;
    while !is_paused() && simulation.turn(Machine::run_in_steps) {}
    Ok(look(&mut simulation))
}

/// Ranks that are simulated together must fit into memory.
fn check_memory(plan: &Plan) -> Result<(), StartError> {
    let variables = (plan.globals.len() * size_of::<Value>()) as u64;
    let needed = u64::from(plan.ranks).saturating_mul(RANK_BYTES + variables);
    match limits::free_memory_bytes() {
        Some(free) if needed > free => {
            let (needed, free) = (format_bytes(needed), format_bytes(free));
            let message = format!(
                "{} simulated ranks need at least {needed} of memory, but {free} are free here; \
                 use fewer ranks (-n)",
                plan.ranks
            );
            Err(StartError::Config(message))
        }
        _ => Ok(()),
    }
}

/// A way to run a rank.
type Runs<'p> = fn(&mut Machine<'p>, &mut dyn Comm, &mut Buffers) -> Stop;

impl<'p> Simulation<'p> {
    fn new<B: Backend + 'p>(
        plan: &'p Plan,
        config: &'p Config,
        prepared: &'p Prepared<'p>,
        clock: Virtual,
        buffers: Buffers,
        (mut backend, mut comm): (impl FnMut(u32, Virtual) -> B, impl FnMut(Sim) -> Sim),
        listener: Option<&Listener>,
    ) -> Result<Simulation<'p>, StartError> {
        let ranks = plan.ranks;
        let world = Rc::new(World::new(ranks, &sets(plan), clock.clone()));
        let mut machines = Vec::with_capacity(ranks as usize);
        for rank in 0..ranks {
            if stop::requested() {
                return Err(StartError::Interrupted);
            }
            let sites = plan.code.len() as u32;
            let meta = Meta { rank, ranks, sites, events: config.events };
            let mut recorder = Recorder::create(Medium::Heap, &meta).map_err(|error| {
                StartError::Rank { rank, message: format!("cannot keep what is measured: {error}") }
            })?;
            listener.into_iter().for_each(|listener| recorder.listen(listener.clone()));
            let comm = comm(Sim::new(Rc::clone(&world), rank));
            let backend = Box::new(backend(rank, clock.clone()));
            let settings = &config.settings;
            let clock = clock.clone();
            let machine = Machine::new(prepared, settings, backend, &comm, clock, recorder);
            machines.push(Some((machine, comm)));
        }
        Ok(Simulation {
            world,
            ranks: machines,
            clock,
            buffers,
            records: (0..ranks).map(|_| None).collect(),
            ends: vec![End::Lost; ranks as usize],
            errors: Vec::new(),
            deadlock: Vec::new(),
            notes: 0,
            timed_out: false,
            operations: 0,
        })
    }

    /// Lets the next rank run, by [`Machine::run`] or in steps; false: all have ended.
    fn turn(&mut self, run: Runs<'p>) -> bool {
        let Some(rank) = self.world.next() else { return self.resolve_deadlock() };
        let Some((machine, comm)) = &mut self.ranks[rank as usize] else { return true };
        let stop = run(machine, comm, &mut self.buffers);
        if stop == Stop::Pending {
            self.world.give_back(rank);
        } else {
            self.end(rank, stop);
        }
        true
    }

    fn sample(&self) -> Sample {
        let at_work = self.ranks.iter().flatten();
        let operations = self.operations + at_work.map(|rank| rank.0.operations()).sum::<u64>();
        Sample { ranks: self.ranks.len() as u32, operations, ..Sample::default() }
    }

    /// Nobody can run: those who are left wait for what cannot come.
    fn resolve_deadlock(&mut self) -> bool {
        let waiting = self.world.waiting();
        if waiting.is_empty() {
            return false;
        }
        if self.deadlock.is_empty() {
            self.deadlock = waiting;
        }
        self.world.release_all();
        true
    }

    fn end(&mut self, rank: u32, stop: Stop) {
        let Some((machine, mut comm)) = self.ranks[rank as usize].take() else { return };
        self.operations += machine.operations();
        let usage = |end_ns| Usage { end_ns, ..Usage::default() };
        let (recorder, notes) = machine.finish(&stop, &mut comm, usage);
        self.notes |= notes;
        self.ends[rank as usize] = super::rank::end(&stop);
        match recorder.into_record() {
            Ok(record) => self.records[rank as usize] = Some(record),
            Err(error) => self.errors.push((rank, format!("what it measured is lost: {error}"))),
        }
    }

    fn outcome(self, config: &Config) -> Outcome {
        Outcome {
            comm: "sim",
            backend: config.backend.name(),
            clock: self.clock.name(),
            clock_read_ns: 0.0,
            clock_skew_ns: 0,
            checked: Checked::default(),
            records: self.records.into_iter().flatten().collect(),
            ends: self.ends,
            errors: self.errors,
            deadlock: self.deadlock,
            interrupted: self.world.is_interrupted(),
            timed_out: self.timed_out,
            hangs: false,
            notes: self.notes,
            contention: None,
        }
    }
}

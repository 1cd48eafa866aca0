//! Runs a plan as the rank that this MPI process is: the counterpart of
//! [`engine::supervise::run_local`], without a supervisor.
//!
//! ```text
//! set up ─▶ all agree to start ─▶ run ─▶ all have ended ─▶ compare clocks again
//! ```
//!
//! The ranks of a machine share a clock: the first one calibrates it and tells the others its
//! origin. The clocks of different machines are compared with rank 0's before and after the
//! program ([`engine::clock::offset`]); the first comparison sets them, both are recorded.

use crate::comm::{Comm, Finish};
use crate::error::MpiError;
use crate::file::Files;
use crate::groups::Groups;
use crate::signals;
use crate::world::{Patience, Reduce, World};
use engine::backend::Null;
use engine::clock::{Alignment, Check, Checked, Exchange, Offset, Real, offset};
use engine::comm::{End, Progress};
use engine::config::Config;
use engine::host::MachineMeter;
use engine::machine::{Prepared, note};
use engine::recorder::{Medium, RankRecord, Recorder, memory_file, read_path};
use engine::supervise::{Outcome, Ran, Rank, StartError, Storage, open_storage, sets};
use model::Plan;
use model::plan::Instr;

/// The outcome of a run on one rank.
#[derive(Debug)]
pub struct RankOutcome {
    /// How this rank has ended.
    pub end: End,
    /// Its record, or why that is lost.
    pub record: Result<RankRecord, String>,
    /// All ranks are here. If not (some were killed after an interrupt), nothing collective
    /// can be done any more: [`World::abort`] is the only way out.
    pub complete: bool,
    /// Bytes that the network interfaces of this machine received and sent meanwhile; on its first rank.
    pub network: Option<[u64; 2]>,
    /// All ranks together; records and errors are left to the caller. Ends and the deadlock are known on rank 0, the
    /// load of a machine on its first rank. If not complete, the notes are this rank's.
    pub all: Outcome,
}

/// Runs a plan that was made for as many ranks as there are. All ranks call it with the same
/// plan; every rank ends, whatever happens to another one. `config.directory` is entered.
/// `on_progress` is called on rank 0 now and then, between two
/// statements, and once before the start if that waits for SIGUSR1. May be called
/// again for the next plan. Collective.
///
/// # Errors
/// The same on all ranks: why a rank could not start, or what MPI said.
pub fn run_rank(
    world: &World,
    plan: &Plan,
    config: &Config,
    on_progress: &mut dyn FnMut(&Progress),
) -> Result<RankOutcome, StartError> {
    signals::take();
    let prepared = Prepared::new(plan);
    let ready = set_up(world, plan, &prepared, config);
    let (mut rank, storage) = confirm_start(world, ready)?;
    let calibrated = engine::clock::best();
    let clock_read_ns = calibrated.reading_cost_ns();
    let groups = Groups::new(world, &sets(plan))?;
    if config.wait_for_signal {
        hold(world, on_progress)?;
    }
    let has_share = !plan.counters.is_empty()
        || plan.code.iter().any(|instr| matches!(instr, Instr::Share { .. }));
    let mut comm = Comm::new(world, &groups, config, has_share, on_progress)?;
    let (clock, start) = shared(world, calibrated)?;
    rank.clock(&Alignment { start, end: None });
    let machine = (world.node_rank == 0).then(MachineMeter::start);
    world.barrier(world.all)?;
    let check = Check::start(clock);
    let ran = run(rank, storage, (world, &groups, config), &mut comm, clock);
    let mut outcome = end(world, config, ran, comm.finish(), (&clock, start, &check));
    outcome.all.clock_read_ns = clock_read_ns;
    outcome.all.contention = machine.as_ref().map(MachineMeter::used);
    outcome.network = machine.and_then(|machine| machine.network());
    if outcome.complete
        && let Err(error) = groups.free(world)
    {
        outcome.complete = false;
        outcome.all.errors.push((world.rank, error.to_string()));
    }
    Ok(outcome)
}

impl From<MpiError> for StartError {
    fn from(error: MpiError) -> StartError {
        StartError::Config(error.to_string())
    }
}

/// Prepares this rank and its storage.
fn set_up<'a>(
    world: &World,
    plan: &Plan,
    prepared: &'a Prepared<'a>,
    config: &'a Config,
) -> Result<(Rank<'a>, Storage), String> {
    if plan.ranks != world.size {
        let (made, found) = (plan.ranks, world.size);
        return Err(format!(
            "the plan was made for {made_ranks}, and MPI started {found}",
            made_ranks = model::words::count(made, "rank")
        ));
    }
    let medium = match config.records.path(world.rank) {
        Some(path) => Medium::File(path),
        None => Medium::Memory(memory_file().map_err(|error| error.to_string())?.into()),
    };
    let rank = Rank::prepare(plan, prepared, config, world.rank, medium)?;
    Ok((rank, open_storage(config, world.nodes > 1)?))
}

/// Either all ranks start or none; the first one that cannot is named by all.
fn confirm_start<T>(world: &World, ready: Result<T, String>) -> Result<T, StartError> {
    let own = if ready.is_ok() { world.size } else { world.rank };
    let first = world.reduce(world.all, [i64::from(own)], Reduce::Min)?[0] as u32;
    if first == world.size {
        return ready.map_err(StartError::Config);
    }
    let mut message = match ready {
        Err(message) if world.rank == first => message.into_bytes(),
        _ => Vec::new(),
    };
    world.broadcast_from(first, &mut message)?;
    let message = String::from_utf8_lossy(&message).into_owned();
    Err(StartError::Rank { rank: first, message })
}

/// Waits until rank 0 receives SIGUSR1, or is asked to stop.
fn hold(world: &World, on_progress: &mut dyn FnMut(&Progress)) -> Result<(), MpiError> {
    // On all ranks: Open MPI's launcher passes on to all what it is sent.
    signals::take_start();
    if world.rank == 0 {
        on_progress(&Progress::Held);
    }
    let mut go = Vec::new();
    let mut patience = Patience::idle(world.crowd);
    while world.rank == 0 && !signals::may_start() && !signals::is_requested() {
        patience.rest();
    }
    world.broadcast(&mut go)
}

fn run<'a>(
    rank: Rank<'_>,
    storage: Storage,
    (world, groups, config): (&'a World, &'a Groups, &'a Config),
    comm: &mut Comm<'_>,
    clock: Real,
) -> Ran {
    let further = config.directories.iter().map(|(path, _)| &**path);
    let roots = std::iter::once(&*config.directory).chain(further);
    match storage {
        Storage::Null => rank.run(Box::new(Null), comm, clock),
        Storage::Posix(backend, _inside) => {
            let files = Files::new(backend, world, groups, roots);
            rank.run(Box::new(files), comm, clock)
        }
        Storage::Beneath(backend, _inside) => {
            let files = Files::new(backend, world, groups, roots);
            rank.run(Box::new(files), comm, clock)
        }
    }
}

/// Results that all ranks agree on after a run.
struct Agreed {
    clock: Alignment,
    clock_skew_ns: u64,
    checked: Checked,
    notes: u32,
    interrupted: bool,
}

/// Compares clocks again, and brings together what all ranks must know. Whatever MPI says by now, what was measured
/// is kept: then the ranks are not complete.
fn end(
    world: &World,
    config: &Config,
    ran: Ran,
    finish: Result<Finish, MpiError>,
    (clock, start, check): (&Real, Offset, &Check),
) -> RankOutcome {
    let Ran { mut recorder, end, mut notes } = ran;
    if world.crowd.is_crowded() {
        notes |= note::CROWDED;
    }
    let own = Agreed {
        clock: Alignment { start, end: None },
        clock_skew_ns: 0,
        checked: check.compare(),
        notes,
        interrupted: signals::is_requested(),
    };
    let mut errors = Vec::new();
    let finish = finish.unwrap_or_else(|error| {
        errors.push((world.rank, error.to_string()));
        Finish::default()
    });
    let agreed = finish.complete.then(|| agree(world, clock, &own)).transpose();
    let complete = finish.complete && agreed.is_ok();
    let agreed = agreed.unwrap_or_else(|error| {
        errors.push((world.rank, error.to_string()));
        None
    });
    let agreed = agreed.unwrap_or(own);
    recorder.clock(&agreed.clock);
    let all = Outcome {
        comm: "mpi",
        backend: config.backend.name(),
        clock: clock.name(),
        clock_read_ns: 0.0,
        clock_skew_ns: agreed.clock_skew_ns,
        checked: agreed.checked,
        records: Vec::new(),
        ends: finish.ends,
        errors,
        deadlock: finish.deadlock,
        interrupted: agreed.interrupted,
        timed_out: finish.timed_out,
        hangs: false,
        notes: agreed.notes,
        contention: None,
    };
    RankOutcome { end, record: record(world, config, recorder), complete, network: None, all }
}

/// Collective.
fn agree(world: &World, clock: &Real, own: &Agreed) -> Result<Agreed, MpiError> {
    let start = own.clock.start;
    let last = offset_now(world, clock)?;
    let clock_skew_ns = skew_ns(world, &[start, last])?;
    let checked =
        Checked::from_largest(world.reduce(world.all, own.checked.to_words(), Reduce::Max)?);
    let flags = [i64::from(own.notes), i64::from(own.interrupted)];
    let all = world.reduce(world.all, flags, Reduce::Or)?;
    let clock = Alignment { start, end: Some(last) };
    Ok(Agreed { clock, clock_skew_ns, checked, notes: all[0] as u32, interrupted: all[1] != 0 })
}

/// The largest difference between two clocks at one of some moments.
fn skew_ns(world: &World, moments: &[Offset]) -> Result<u64, MpiError> {
    let mut skew_ns = 0;
    for moment in moments {
        let ends = world.reduce(world.all, [moment.ahead_ns, -moment.ahead_ns], Reduce::Max)?;
        skew_ns = skew_ns.max((ends[0] + ends[1]) as u64);
    }
    Ok(skew_ns)
}

fn record(world: &World, config: &Config, recorder: Recorder) -> Result<RankRecord, String> {
    match config.records.path(world.rank) {
        // The file is mapped, not copied.
        Some(path) => {
            drop(recorder);
            read_path(&path)
        }
        None => recorder.into_record(),
    }
}

/// Exchanges with rank 0; the shortest counts.
const EXCHANGES: usize = 20;

/// The clock that all ranks of this machine use, near 0 now on all machines. `calibrated`:
/// this rank's own clock. Collective over the world.
pub(crate) fn shared(world: &World, calibrated: Real) -> Result<(Real, Offset), MpiError> {
    let own = calibrated.restarted();
    let far = compare(world, &own, world.node_rank == 0)?.unwrap_or_default();
    let set = own.set_back(far.ahead_ns);
    let clock = Real::from_words(world.share(world.node_comm, set.to_words())?);
    // The comparison that set the clock is as exact as one made now.
    let rest = Offset { at_ns: clock.now(), ahead_ns: 0, ..far };
    let round_trip_ns = world.share(world.node_comm, [rest.round_trip_ns])?[0];
    Ok((clock, Offset { round_trip_ns, ..rest }))
}

/// The offset of this machine's clock now. Collective over the world.
pub(crate) fn offset_now(world: &World, clock: &Real) -> Result<Offset, MpiError> {
    let far = compare(world, clock, world.node_rank == 0)?.unwrap_or_default();
    let words = [far.at_ns, far.ahead_ns as u64, far.round_trip_ns];
    let [at_ns, ahead_ns, round_trip_ns] = world.share(world.node_comm, words)?;
    Ok(Offset { at_ns, ahead_ns: ahead_ns as i64, round_trip_ns })
}

/// Compares clocks with rank 0's, one rank after the other. `None` for ranks that do not take
/// part; rank 0 agrees with itself. Collective over the world.
pub fn compare(world: &World, clock: &Real, takes_part: bool) -> Result<Option<Offset>, MpiError> {
    let mut part = vec![0; world.size as usize];
    part[world.rank as usize] = i64::from(takes_part);
    world.reduce_all(world.all, &mut part, Reduce::Max)?;
    if world.rank == 0 {
        for (rank, _) in part.iter().enumerate().skip(1).filter(|(_, part)| **part == 1) {
            answer(world, clock, rank as u32)?;
        }
        let at_ns = clock.now();
        return Ok(takes_part.then_some(Offset { at_ns, ahead_ns: 0, round_trip_ns: 0 }));
    }
    if takes_part { ask(world, clock) } else { Ok(None) }
}

fn ask(world: &World, clock: &Real) -> Result<Option<Offset>, MpiError> {
    let mut exchanges = Vec::with_capacity(EXCHANGES);
    for _ in 0..EXCHANGES {
        let mut answer = [0; 8];
        let sent_ns = clock.now();
        world.send_piece(0, &[0])?;
        world.receive_piece(0, &mut answer)?;
        let received_ns = clock.now();
        let reference_ns = u64::from_ne_bytes(answer);
        exchanges.push(Exchange { sent_ns, reference_ns, received_ns });
    }
    Ok(offset(&exchanges))
}

fn answer(world: &World, clock: &Real, rank: u32) -> Result<(), MpiError> {
    for _ in 0..EXCHANGES {
        world.receive_piece(rank, &mut [0])?;
        world.send_piece(rank, &clock.now().to_ne_bytes())?;
    }
    Ok(())
}

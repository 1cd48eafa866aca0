//! Executes a plan and keeps what its ranks do: the events are those of a run on mem, because it is one.

use super::waits::{Follower, Log};
use crate::backend::{Cost, Mem, MemFs, MpiFiles, Pointers};
use crate::buffer::Buffers;
use crate::clock::Virtual;
use crate::collect::collect;
use crate::comm::{Comm, End, Sample, Sim, World};
use crate::config::{BackendKind, Config};
use crate::recorder::{EventsConfig, FailureRecord, Listen, Listener, Paths, RankRecord};
use crate::rehearse;
use crate::supervise::{Outcome, StartError, simulate};
use model::plan::Pc;
use model::rehearsal::Rehearsal;
use model::run::{EventsInfo, Header, Program, ProgramFile, VERSION};
use model::watched::{Found, Watched, WatchedRank};
use model::{Event, Plan, Run, errno};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Memory of a rank for path names and extents, bytes.
const NAMES_BYTES: u64 = 32 << 20;

/// How much is executed.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Operations that are kept, of all ranks together.
    pub operations: u64,
    /// Statements and iterations of all ranks together.
    pub steps: u64,
    /// CPU time, so that other load of the machine does not matter.
    pub time: Duration,
    /// Limits of the rehearsal, which finds amounts and mistakes.
    pub rehearsal: rehearse::Limits,
}

impl Default for Limits {
    /// Some 100 ms.
    fn default() -> Limits {
        Limits {
            operations: 60_000,
            steps: 1 << 18,
            time: Duration::from_millis(100),
            rehearsal: rehearse::Limits { steps: 1 << 17, time: None, by_site: false },
        }
    }
}

/// Executes a plan on simulated ranks and keeps what they do. `finds_files`: the program may work on files from before.
///
/// # Errors
/// The ranks cannot be simulated: there are too many for the memory.
pub fn watch(
    plan: &Plan,
    config: &Config,
    finds_files: bool,
    limits: Limits,
) -> Result<Watched, StartError> {
    let clock = Virtual::start();
    let time_ns = limits.time.as_nanos().try_into().unwrap_or(u64::MAX);
    let log = Rc::new(Log::new(clock.clone(), limits.steps, time_ns));
    let kept = vec![Vec::new(); plan.ranks as usize];
    let kept = Rc::new(RefCell::new(Kept { events: kept, left: limits.operations }));
    let outcome = execute(plan, config, clock, &log, &kept)?;
    let rehearsal = rehearse::rehearse_within(plan, config, finds_files, limits.rehearsal);
    let (waits, signals) = log.take();
    let events = std::mem::take(&mut kept.borrow_mut().events);
    let ranks = outcome.records.iter().map(|record| {
        let events = events.get(record.rank as usize).cloned().unwrap_or_default();
        watched_rank(plan, &outcome, record, events)
    });
    let (ranks, run) = (ranks.collect(), make_run(plan, &outcome));
    let findings = find(plan, &outcome, &rehearsal);
    Ok(Watched { run, ranks, waits, signals, whole: !log.is_spent(), findings, rehearsal })
}

/// Failures, alike ones of several ranks together, and doubts.
fn find(plan: &Plan, outcome: &Outcome, rehearsal: &Rehearsal) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut add = |rank: u32, site: Option<Pc>, message: String| {
        let same = |one: &&mut Found| one.site == site && one.message == message;
        match found.iter_mut().find(same) {
            Some(one) => one.ranks.push(rank),
            None => found.push(Found { happened: true, site, message, ranks: vec![rank] }),
        }
    };
    for record in &outcome.records {
        for (site, message) in &record.errors {
            add(record.rank, *site, message.clone());
        }
        for failure in &record.failures {
            add(record.rank, Some(failure.site), describe_failure(plan, failure));
        }
    }
    for (rank, message) in &outcome.errors {
        add(*rank, None, message.clone());
    }
    found.iter_mut().for_each(|one| one.ranks.dedup());
    // What fails here needs no doubt.
    let failed: Vec<_> = found.iter().filter_map(|one| one.site).collect();
    let doubts = rehearsal.doubts.iter().filter(|doubt| !failed.contains(&doubt.site));
    found.extend(doubts.map(|doubt| Found {
        happened: false,
        site: Some(doubt.site),
        message: doubt.message.clone(),
        ranks: Vec::new(),
    }));
    found.sort_by_key(|one| one.site.and_then(|site| plan.spans.get(site as usize).copied()));
    found
}

/// "fopen of d/f: ENOENT (No such file or directory)".
fn describe_failure(plan: &Plan, failure: &FailureRecord) -> String {
    let path = plan.named(&failure.path);
    let of = match &*path {
        [] => String::new(),
        path => format!(" of {}", String::from_utf8_lossy(path)),
    };
    let (name, text) = (errno::name(failure.errno), errno::text(failure.errno));
    let detail = match &*failure.detail {
        "" => String::new(),
        detail => format!(", {detail}"),
    };
    format!("{}{of}: {name} ({text}{detail})", failure.op.name())
}

fn execute(
    plan: &Plan,
    config: &Config,
    clock: Virtual,
    log: &Rc<Log>,
    kept: &Rc<RefCell<Kept>>,
) -> Result<Outcome, StartError> {
    let events = EventsConfig { max_bytes: NAMES_BYTES, expected: 0, sample_every: 1 };
    let mut config = Config { backend: BackendKind::Mem, events: Some(events), ..config.clone() };
    config.settings.print_fd = None;
    let fs = MemFs::shared(&config.directory.to_string_lossy());
    fs.borrow_mut().add(&plan.directories);
    let pointers = Pointers::default();
    let backend =
        |_, clock| MpiFiles::new(Mem::new(Rc::clone(&fs), clock, Cost::default()), &pointers);
    let part = |sim: Sim| {
        let follower = Follower::new(log, sim.rank());
        sim.observed(Box::new(follower))
    };
    let mut on_turn = |world: &World, _: &dyn Fn() -> Sample| {
        if kept.borrow().left == 0 {
            log.spend_all();
        }
        if log.is_spent() && !world.is_interrupted() {
            world.interrupt();
        }
    };
    let listener = Listener(Rc::clone(kept) as Rc<RefCell<dyn Listen>>);
    let make = (backend, part);
    simulate(plan, &config, clock, Buffers::unfilled(), make, &mut on_turn, Some(&listener))
}

/// Events by rank.
struct Kept {
    events: Vec<Vec<Event>>,
    left: u64,
}

impl Listen for Kept {
    fn event(&mut self, rank: u32, event: &Event, _: &Paths<'_>) {
        if self.left > 0 {
            self.left -= 1;
            self.events[rank as usize].push(*event);
        }
    }
}

fn watched_rank(
    plan: &Plan,
    outcome: &Outcome,
    record: &RankRecord,
    events: Vec<Event>,
) -> WatchedRank {
    let mut phases = Vec::new();
    for (number, label) in (0..).zip(&record.labels) {
        let open = label.entered_ns.map(|start_ns| (number, start_ns, record.end_ns()));
        let known = label.kept.iter().map(|one| (number, one.start_ns, one.end_ns));
        phases.extend(known.chain(open));
    }
    phases.sort_by_key(|(_, start_ns, end_ns)| (*start_ns, std::cmp::Reverse(*end_ns)));
    let end = outcome.ends.get(record.rank as usize).unwrap_or(&End::Lost);
    WatchedRank {
        end_ns: record.end_ns(),
        end: end_word(end),
        labels: record.labels.iter().map(|label| label.path.clone()).collect(),
        paths: record.paths().map(|path| plan.named(path).into_owned()).collect(),
        extents: record.extents.clone(),
        events,
        phases,
    }
}

/// A rank's end in a word.
pub(super) fn end_word(end: &End) -> &'static str {
    match end {
        End::Finished => "finished",
        End::Failed => "failed",
        End::Released => "released",
        End::Interrupted | End::Killed(_) | End::Lost => "interrupted",
    }
}

/// The figures of the ranks as a run.
fn make_run(plan: &Plan, outcome: &Outcome) -> Run {
    let collected = collect(&outcome.records, plan);
    let file = |file: &model::plan::SourceFile| ProgramFile {
        name: file.name.clone(),
        text: file.text.to_string(),
    };
    let program = Program {
        name: plan.files.first().map_or(String::new(), |file| file.name.clone()),
        files: plan.files.iter().map(file).collect(),
    };
    let events = EventsInfo { count: collected.events, sample_every: 1, ..EventsInfo::default() };
    let mut evidence = collected.evidence;
    evidence.notes.extend(outcome.deadlock_message(plan));
    let header = Header {
        program,
        ranks: plan.ranks,
        seed: plan.seed,
        backend: "mem".into(),
        comm: outcome.comm.into(),
        times_more: collected.times_more,
        shares: collected.shares,
        arrivals: collected.arrivals,
        failures: collected.failures,
        rank_errors: collected.rank_errors,
        scores: collected.scores,
        sites: collected.sites,
        duration_wall_ns: collected.duration_wall_ns,
        evidence,
        events: Some(events),
        ..Header::default()
    };
    let (rows, labels, times) = (collected.rows, collected.labels, collected.times);
    Run { version: VERSION, run: header, rows, labels, times }
}

//! The header of a run: what, where, when, as far as it is known before the ranks
//! start, and the rest afterwards.

use super::args::Run;
use super::directory::Directory;
use super::further::Further;
use super::{command_line, mpi_writes, shift};
use crate::error::Error;
use engine::host;
use engine::machine::note;
use engine::supervise::Outcome;
use model::Plan;
use model::run::{
    Contention, EventsInfo, Evidence, Header, Host, Param, Program, ProgramFile, RankError, VERSION,
};

/// The run as it is stored while the ranks are at work: should they be cut off, it says so.
pub fn provisional(args: &Run, plan: &Plan, name: &str, directory: &Directory) -> model::Run {
    let file = |file: &model::plan::SourceFile| ProgramFile {
        name: file.name.clone(),
        text: file.text.to_string(),
    };
    let param = |(name, value): &(String, model::Value)| Param {
        name: name.clone(),
        value: value.to_string(),
    };
    let header = Header {
        program: Program { name: name.into(), files: plan.files.iter().map(file).collect() },
        params: plan.params.iter().map(param).collect(),
        ranks: plan.ranks,
        seed: plan.seed,
        outcome: "cut off".into(),
        exit_code: 1,
        // What is in the table is known when it is written.
        events: args
            .results
            .events
            .map(|kept| EventsInfo { sample_every: kept.sample_every, ..EventsInfo::default() }),
        host: here(plan, directory),
        ..common(args)
    };
    model::Run { version: VERSION, run: header, ..model::Run::default() }
}

/// The machine and the directories; of files in memory the names alone.
fn here(plan: &Plan, directory: &Directory) -> Host {
    let Some(path) = directory.path() else {
        let named = |one: &model::directory::Directory| model::run::Directory {
            name: one.name.clone(),
            directory: one.path.clone(),
            ..model::run::Directory::default()
        };
        let directories = plan.directories.iter().map(named).collect();
        return Host { directories, ..host::machine() };
    };
    let further =
        |one: &Further| host::further(&one.name, one.place.path(), one.place.is_scratch());
    Host { directories: directory.further().each(further), ..host::host(path) }
}

/// The object for a run that was refused: it has no rows, and says why.
pub fn refused(args: &Run, error: &Error) -> model::Run {
    let mut notes = vec![error.message.clone()];
    notes.extend(error.help.clone());
    let header = Header {
        program: Program { name: args.program.program.to_string_lossy().into(), files: Vec::new() },
        ranks: args.ranks,
        outcome: "refused".into(),
        exit_code: error.exit.code(),
        host: host::machine(),
        evidence: Evidence { notes, confinement: "none".into(), ..Evidence::default() },
        ..common(args)
    };
    model::Run { version: VERSION, run: header, ..model::Run::default() }
}

fn common(args: &Run) -> Header {
    Header {
        command: command_line::of(args),
        backend: args.execution.backend.name().into(),
        parabench: env!("CARGO_PKG_VERSION").into(),
        started: host::utc_now(),
        ..Header::default()
    }
}

/// Adds what only the end of the ranks tells.
pub fn complete(run: &mut model::Run, outcome: &Outcome, plan: &Plan) {
    let header = &mut run.run;
    header.comm = outcome.comm.into();
    for (rank, message) in &outcome.errors {
        let (rank, message) = (*rank, header.host.named_in(message));
        header.rank_errors.push(RankError { rank, message, ..RankError::default() });
    }
    header.rank_errors.sort_by_key(|error| error.rank);
    let evidence = &mut header.evidence;
    evidence.clock = outcome.clock.into();
    evidence.clock_read_ns = outcome.clock_read_ns;
    evidence.clock_skew_ns = outcome.clock_skew_ns;
    evidence.clock_drift_ppm = outcome.checked.drift_ppb.map(|ppb| ppb as f64 / 1000.0);
    evidence.suspended_ns = outcome.checked.suspended_ns;
    evidence.crowded = outcome.notes & note::CROWDED != 0;
    if let Some(machine) = &outcome.contention {
        let ranks = evidence.contention.take().unwrap_or_default();
        evidence.contention = Some(Contention {
            waited_ns: ranks.waited_ns,
            longest_wait_rank: ranks.longest_wait_rank,
            longest_wait_ns: ranks.longest_wait_ns,
            preemptions: ranks.preemptions,
            ..machine.clone()
        });
    }
    let machines = header.job.as_ref().map_or(1, |job| job.nodes.len());
    evidence.notes.extend(shift::sentence(machines, &evidence.labels));
    if outcome.comm == "mpi" {
        evidence.mpi_writes = mpi_writes::of(plan);
    }
    let deadlock = outcome.deadlock_message(plan);
    evidence.notes.extend(deadlock.map(|text| header.host.named_in(&text)));
    evidence.notes.extend(note::sentences(outcome.notes, &directories(&header.host, plan)));
    let further = header.host.directories.iter().map(|further| &further.storage.file_system);
    let mut systems = std::iter::once(&header.host.storage.file_system).chain(further);
    if !systems.all(|system| host::page_cache_can_be_told(system)) {
        evidence.storage_read_bytes = None;
        evidence.storage_write_bytes = None;
        evidence.page_cache_share = None;
        evidence.labels.iter_mut().for_each(|label| label.fetched_bytes = None);
    }
}

/// The directories of a run by their numbers in the plan.
fn directories<'a>(host: &'a Host, plan: &'a Plan) -> Vec<note::Named<'a>> {
    let of_name = |name: &'a str| {
        let known = host.directories.iter().find(|known| known.name == name);
        let file_system = known.map_or("", |known| &*known.storage.file_system);
        note::Named { name, file_system }
    };
    let own = note::Named { name: "", file_system: &host.storage.file_system };
    let further = plan.directories.iter().map(|directory| of_name(&directory.name));
    std::iter::once(own).chain(further).collect()
}

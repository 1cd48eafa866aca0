//! The header of a run: what, where, when, as far as it is known before the ranks
//! start, and the rest afterwards.

use super::args::Run;
use super::directory::Directory;
use crate::error::{Error, Exit};
use crate::legacy;
use crate::results;
use crate::verbs::pattern;
use engine::collect::Collected;
use engine::host;
use engine::machine::note;
use engine::supervise::Outcome;
use model::plan::Instr;
use model::run::{
    Contention, EventsInfo, Evidence, Header, Host, Param, PatternWrites, Program, ProgramFile,
    RankError, VERSION,
};
use model::{Op, Plan};
use mpi::launcher::{self, Launcher};
use std::collections::HashSet;

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
    let further = directory.further();
    let further = further.iter().map(|one| host::further(&one.name, &one.path, one.is_scratch));
    Host { directories: further.collect(), ..host::host(path) }
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
        command: command(args),
        backend: args.execution.backend.name().into(),
        parabench: env!("CARGO_PKG_VERSION").into(),
        started: host::utc_now(),
        ..Header::default()
    }
}

/// Completes the run of an execution with what its ranks have left, and judges it: marks, outcome, exit code.
pub fn complete(
    run: &mut model::Run,
    outcome: &Outcome,
    collected: Collected,
    plan: &Plan,
    strict: bool,
) -> Exit {
    results::fill(run, collected);
    add_outcome(run, outcome, plan);
    report::rules::judge(run);
    let exit = judge(&run.run.evidence, outcome, strict);
    run.run.exit_code = exit.code();
    run.run.outcome = describe_outcome(outcome).into();
    exit
}

/// Adds what only the end of the ranks tells.
fn add_outcome(run: &mut model::Run, outcome: &Outcome, plan: &Plan) {
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
    if outcome.comm == "mpi" {
        evidence.mpi_writes = written_patterns(plan);
    }
    let deadlock = outcome.deadlock_message(plan);
    evidence.notes.extend(deadlock.map(|text| header.host.named_in(&text)));
    evidence.notes.extend(note::sentences(outcome.notes, &directories(&header.host, plan)));
    let further = header.host.directories.iter().map(|further| &further.storage.file_system);
    let mut systems = std::iter::once(&header.host.storage.file_system).chain(further);
    if !systems.all(|system| host::counts_storage_reads(system)) {
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

fn judge(evidence: &Evidence, outcome: &Outcome, strict: bool) -> Exit {
    let contradicted = evidence.marks.iter().any(|mark| mark.counts);
    // Ranks that a time limit had to kill have failed to stop.
    let ranks_failed = match outcome.interrupted {
        true => outcome.timed_out && !outcome.errors.is_empty(),
        false => !outcome.finished() || !outcome.errors.is_empty(),
    };
    let operations_failed = evidence.failed > 0 || (strict && evidence.short > 0);
    let reasons = [
        (outcome.interrupted && !outcome.timed_out, Exit::Interrupted),
        (ranks_failed || operations_failed, Exit::Failed),
        (strict && contradicted, Exit::Verdict),
    ];
    let holds = reasons.into_iter().filter(|(holds, _)| *holds).map(|(_, exit)| exit);
    holds.fold(Exit::Success, Exit::and)
}

fn describe_outcome(outcome: &Outcome) -> &'static str {
    if outcome.timed_out {
        "time limit"
    } else if outcome.interrupted {
        "interrupted"
    } else if outcome.finished() && outcome.errors.is_empty() {
        "finished"
    } else {
        "failed"
    }
}

/// The command line that repeats a run; none if it is not text. Processes do not know how their launcher was
/// called, so the shortest way is in front: `mpiexec -n 4 parabench run x.ppl`.
fn command(run: &Run) -> Vec<String> {
    let own = own_command();
    let is_own = run.is_simulated() || run.job.mpi || run.job.launcher.is_some();
    let Some(job) = launcher::job().filter(|_| !is_own && !own.is_empty()) else { return own };
    let launcher = match job.launcher {
        Launcher::Slurm => "srun",
        Launcher::OpenMpi | Launcher::Pmi => "mpiexec",
    };
    let started = [launcher.into(), "-n".into(), run.ranks.to_string()];
    started.into_iter().chain(own).collect()
}

/// The command line of this process, with the verb; without the path of Parabench, which is another one
/// elsewhere.
pub fn own_command() -> Vec<String> {
    let mut words = legacy::with_verb(std::env::args_os().collect());
    if let Some(first) = words.first_mut() {
        *first = "parabench".into();
    }
    let words = words.into_iter().map(|word| word.into_string().ok());
    words.collect::<Option<_>>().unwrap_or_default()
}

/// The patterns that the program writes by MPI-IO, in the order of the program: libraries fill their holes.
fn written_patterns(plan: &Plan) -> Vec<PatternWrites> {
    let name_of = |instr: &Instr| match instr {
        Instr::Op { op: Op::Pwrite | Op::Pfwrite, args, .. } => {
            plan.literal(*plan.args.get(*args as usize + 1)?)
        }
        _ => None,
    };
    let written: HashSet<&[u8]> = plan.code.iter().filter_map(name_of).collect();
    let is_written = |pattern: &&model::plan::Pattern| written.contains(pattern.name.as_bytes());
    let patterns = plan.patterns.iter().filter(is_written).map(|pattern| PatternWrites {
        pattern: pattern.name.clone(),
        level: pattern.level,
        kind: pattern.kind().into(),
        holes: pattern::has_holes(plan, pattern),
    });
    patterns.collect()
}

//! One point of a sweep: the program bound to its parameters and ranks, rehearsed, and checked against its
//! directory; and how its ranks are configured.

use super::args::{self, DirectoryArgs, KeptEvents, Run};
use super::confinement::Confined;
use super::directory::Directory;
use super::header;
use super::launch::Remains;
use super::only;
use super::progress;
use super::team::Members;
use crate::args::{ProgramArgs, ResultFormat, Seed};
use crate::compile::{self, Ranks};
use crate::console;
use crate::diagnostics;
use crate::error::Result;
use crate::prepare;
use crate::program::Text;
use crate::rehearse::rehearse;
use crate::results::{Folder, Needs};
use engine::config::{BackendKind, Config, Records};
use engine::machine::Settings;
use engine::recorder::EventsConfig;
use model::Plan;
use model::rehearsal::{Expected, Rehearsal};
use std::time::Duration;

/// Memory for the figures of a rank, without events.
const STATISTICS_BYTES: u64 = 2 << 20;
/// File descriptors that `print` writes to.
const STDOUT: i32 = 1;
const STDERR: i32 = 2;

impl Run {
    /// A program bound to its parameters and ranks, and checked against its directory. `job`: the machine of each
    /// rank of an MPI job.
    pub fn bind(
        &self,
        text: Text,
        binding: &Binding,
        directory: &Directory,
        job: Option<&[u32]>,
        warnings: bool,
    ) -> Result<Point> {
        let name = text.name.clone();
        let all = job.unwrap_or_default();
        let machines: Vec<u32> =
            binding.members.ranks(all).iter().map(|rank| all[*rank as usize]).collect();
        let count = if job.is_some() { machines.len() as u32 } else { binding.ranks };
        let path = directory.path().map(Into::into).unwrap_or_default();
        let settings = self.settings();
        let config =
            Config { directory: path, settings, machines: machines.clone(), ..Config::default() };
        let ranks = Ranks { count, assumed: false, machines };
        // The null back-end takes them without MPI.
        let mpi = job.is_some() || self.execution.backend == BackendKind::Null;
        let places = directory.places(self)?;
        let mut compiled = compile::compile(text, &binding.program, ranks, places, mpi);
        if let Some(plan) = &mut compiled.plan {
            directory.grant(self, plan)?;
        }
        let (plan, found) = (compiled.plan.as_ref(), &mut compiled.diagnostics);
        let rehearsal = rehearse(plan, found, &config, self.finds_files())?;
        if compiled.plan.is_none() || (warnings && !self.results.quiet) {
            compile::show(&compiled, &name);
        }
        let unused = diagnostics::without_effect(&compiled.diagnostics, &compiled.sources);
        let plan = compile::plan(compiled, &name)?;
        only::check(&self.execution.only, &plan)?;
        let remark = only::about_scores(&self.execution.only, &plan);
        remark.filter(|_| warnings && !self.results.quiet).into_iter().for_each(console::note);
        let expected = self.expected(&plan, &rehearsal, directory, &config, warnings)?;
        let confined = directory.confine(self, &plan, &rehearsal, &expected, job.is_some())?;
        let mut notes = confined.notes.clone();
        notes.extend(directory.preflight(self, &plan, &rehearsal)?);
        let mut run = header::provisional(self, &plan, &name, directory);
        run.run.batch = if job.is_some() { String::new() } else { mpi::facts::batch() };
        run.run.evidence.confinement = confined.name().into();
        run.run.evidence.notes = notes;
        run.run.evidence.options_without_effect = unused;
        Ok(Point { plan, members: binding.members, rehearsal, confined, expected, run })
    }

    /// Files to make before each execution, with `--prepare`. Without it, missing files are reported.
    fn expected(
        &self,
        plan: &Plan,
        rehearsal: &Rehearsal,
        directory: &Directory,
        config: &Config,
        warnings: bool,
    ) -> Result<Vec<Expected>> {
        let directories = directory.named();
        if self.directory.prepare && self.is_simulated() {
            return prepare::expected(plan, config, prepare::WHOLE_BYTES);
        }
        if directories.is_empty() {
            return Ok(Vec::new());
        }
        if self.directory.prepare {
            let mut expected = prepare::expected(plan, config, prepare::WHOLE_BYTES)?;
            if let Some(original) = &self.results.against_trace {
                expected = prepare::shown_by(original, expected)?;
            }
            prepare::missing(&directories, &expected)?;
            return Ok(expected);
        }
        if warnings && !self.results.quiet {
            prepare::tell_missing(plan, &directories, &rehearsal.expected);
        }
        Ok(Vec::new())
    }

    /// Files that the program has not made may be there; the null back-end finds all.
    fn finds_files(&self) -> bool {
        let DirectoryArgs { prepare, dir, .. } = &self.directory;
        match self.execution.backend {
            BackendKind::Null => true,
            BackendKind::Posix => *prepare || dir.is_some() || !self.program.mounts.is_empty(),
            BackendKind::Mem => *prepare,
        }
    }

    /// Where the run is stored. Ranks without common memory need a folder in any case.
    pub fn folder(&self, directory: &Directory, mpi: bool) -> Result<Option<Folder>> {
        match &self.results.out {
            Some(out) => Folder::open(out, directory.path(), self.directory.force).map(Some),
            None if mpi => {
                let wanted = Remains::wanted().map(|remains| remains.results());
                Folder::temporary(wanted).map(Some)
            }
            None => Ok(None),
        }
    }

    /// Memory that the ranks of one machine need to record.
    pub fn needs<'a>(
        &self,
        rehearsal: &Rehearsal,
        directory: &'a Directory,
        nodes: u32,
    ) -> Needs<'a> {
        let events = self.results.events.map(|kept| events(rehearsal, kept, nodes));
        let events = events.map_or(0, |events| events.expected_bytes());
        let ranks = u64::from(ranks(rehearsal).div_ceil(nodes.max(1)));
        Needs { bytes: ranks.saturating_mul(STATISTICS_BYTES + events), measured: directory.path() }
    }

    pub fn config(
        &self,
        rehearsal: &Rehearsal,
        directory: &Directory,
        confined: &Confined,
        folder: Option<&Folder>,
        nodes: u32,
    ) -> Config {
        Config {
            directory: directory.path().map(Into::into).unwrap_or_default(),
            backend: self.execution.backend,
            execution: 0,
            identity: directory.identity(),
            directories: directory
                .further()
                .iter()
                .map(|place| (place.path.clone(), place.identity.clone()))
                .collect(),
            confinement: confined.by,
            events: self.results.events.map(|kept| events(rehearsal, kept, nodes)),
            machines: Vec::new(),
            forecasts: rehearsal.forecasts(),
            records: folder.map_or(Records::Memory, Folder::records),
            wait_for_signal: self.execution.wait,
            watch: progress::watch_period(&self.results),
            timeout: Some(Duration::from_nanos(self.execution.timeout)),
            deadline_ns: None,
            settings: self.settings(),
        }
    }

    /// Settings of the program.
    fn settings(&self) -> Settings {
        Settings {
            agile: self.execution.agile,
            stop_on_error: self.execution.on_error == args::OnError::Stop,
            strict: self.results.strict,
            only: self.execution.only.clone(),
            print_fd: match self.results.format {
                _ if self.results.quiet => None,
                ResultFormat::Table => Some(STDOUT),
                _ => Some(STDERR),
            },
            run_mark: run_mark(self.execution.backend),
        }
    }
}

/// Memory for events: what was given is for all ranks of a machine together.
fn events(rehearsal: &Rehearsal, kept: KeptEvents, nodes: u32) -> EventsConfig {
    let ranks = ranks(rehearsal).div_ceil(nodes.max(1)).max(1);
    EventsConfig {
        max_bytes: kept.max_bytes() / u64::from(ranks),
        expected: rehearsal.most_operations(),
        sample_every: kept.sample_every,
    }
}

/// Number of ranks.
fn ranks(rehearsal: &Rehearsal) -> u32 {
    rehearsal.ranks.last().map_or(0, |(ranks, _)| ranks.end)
}

/// Parameters and ranks of a point.
pub struct Binding {
    pub program: ProgramArgs,
    pub ranks: u32,
    pub members: Members,
}

/// A point of a sweep that can be executed here.
pub struct Point {
    pub plan: Plan,
    pub members: Members,
    pub rehearsal: Rehearsal,
    pub confined: Confined,
    /// Files that are made before each execution.
    pub expected: Vec<Expected>,
    /// Its run as far as it is known before.
    pub run: model::Run,
}

/// Tells verified data of this run from that of others; simulated runs are all alike.
fn run_mark(backend: BackendKind) -> u16 {
    if backend.is_simulated() { 0 } else { Seed::Random.number() as u16 }
}

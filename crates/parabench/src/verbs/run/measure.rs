//! Lets the ranks run, whatever they are, and merges what they measured.

use super::args::Run;
use super::directory::Directory;
use super::members::Members;
use super::nodes::Nodes;
use super::progress;
use super::remains::{Job, Remains};
use super::team::{Measured, Team};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::results::{EventSource, Folder};
use engine::collect::collect;
use engine::comm::Progress;
use engine::config::Config;
use engine::supervise::{self, StartError};
use model::Plan;

/// Nothing was measured: a limit of this machine stands against it, or something failed.
fn not_started(error: StartError) -> Error {
    let exit = match error {
        StartError::Config(_) => Exit::Input,
        StartError::Interrupted => Exit::Interrupted,
        StartError::Io { .. } | StartError::Rank { .. } => Exit::Failed,
    };
    Error { exit, ..Error::failed(error.to_string()) }
}

/// One execution.
pub struct Execution<'a> {
    /// The command line.
    pub args: &'a Run,
    /// The plan of every rank.
    pub plan: &'a Plan,
    /// How.
    pub config: &'a Config,
    /// The ranks of an MPI job that execute it.
    pub members: Members,
    /// Where what they measure is stored.
    pub folder: Option<&'a Folder>,
    /// The folder of the run that this is a part of.
    pub whole: Option<&'a Folder>,
    /// The run directory.
    pub directory: &'a Directory,
}

impl Execution<'_> {
    /// Runs the ranks to their end.
    pub fn measure(
        &self,
        team: Option<&Team>,
        on_progress: &mut dyn FnMut(&Progress),
    ) -> Result<Measured> {
        match team {
            Some(team) => self.together(team, on_progress),
            None => self.here(on_progress),
        }
    }

    /// Ranks that this process forks or simulates.
    fn here(&self, on_progress: &mut dyn FnMut(&Progress)) -> Result<Measured> {
        let ran = supervise::run(self.plan, self.config, on_progress);
        let mut outcome = ran.map_err(not_started)?;
        let quiet = self.args.results.quiet;
        let collected = progress::during(quiet, "adding up what the ranks recorded", || {
            collect(&outcome.records, self.plan)
        });
        let events = EventSource::Records(std::mem::take(&mut outcome.records));
        Ok(Measured { outcome, collected, nodes: Nodes::default(), events })
    }

    /// Ranks that are processes of an MPI job.
    fn together(&self, team: &Team, on_progress: &mut dyn FnMut(&Progress)) -> Result<Measured> {
        let leave = |processes: &[i64]| self.leave(processes);
        let results = self.folder.map(Folder::path);
        team.lead(self.members, self.plan, self.config, results, leave, on_progress)
    }

    /// Tells whoever started the job what there is to put in order, should all ranks be killed.
    fn leave(&self, processes: &[i64]) {
        let (Some(remains), Some(folder)) = (Remains::wanted(), self.whole) else { return };
        remains.leave(&Job {
            results: folder.path().to_path_buf(),
            directories: self.directory.removed(self.args),
            processes: processes.to_vec(),
        });
    }
}

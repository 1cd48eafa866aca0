//! The end of a job that left nothing on this machine: its ranks never started, or they ran on machines
//! that do not see the folder in which rank 0 leaves what is to be known here, as those of a login
//! node do not.

use super::args::Run;
use crate::error::{Error, Result};
use crate::exit::Exit;
use ::report::store;
use model::run::Header;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The run.json of `--out`, as it was before the job.
pub(super) struct Before {
    folder: Option<PathBuf>,
    stored: Option<(u64, i64, i64)>,
}

impl Before {
    /// Now, before the job starts.
    pub(super) fn look(run: &Run) -> Before {
        let folder = run.results.out.clone();
        let stored = folder.as_deref().and_then(which);
        Before { folder, stored }
    }

    /// The run that the job has stored since, with its folder.
    fn new_run(&self) -> Option<(&Path, Header)> {
        let folder = self.folder.as_deref()?;
        which(folder).filter(|found| Some(*found) != self.stored)?;
        Some((folder, store::read(folder).ok()?.run))
    }
}

/// Tells a file from the one that takes its place.
fn which(folder: &Path) -> Option<(u64, i64, i64)> {
    let facts = fs::metadata(folder.join(store::RUN_FILE)).ok()?;
    Some((facts.ino(), facts.mtime(), facts.mtime_nsec()))
}

/// How the launcher ended, seen from here.
pub(super) struct Launcher {
    /// "ended with exit code 255"
    pub(super) told: String,
    pub(super) code: Option<i32>,
    /// Somebody wanted the job to end.
    pub(super) interrupted: bool,
    /// Ranks have printed something.
    pub(super) heard_ranks: bool,
    /// What to do where no rank has started.
    pub(super) advice: &'static str,
}

/// What is to be said. Ranks that were there have spoken for themselves.
pub(super) fn end(before: &Before, launcher: &Launcher) -> Result<Exit> {
    let run = before.new_run();
    let of_input = launcher.code == Some(i32::from(Exit::Input.code()));
    match run {
        Some((_, header)) if header.recording.is_none() => Ok(Exit::from_code(header.exit_code)),
        Some((folder, header)) => Err(left(folder, &header, launcher)),
        None if launcher.interrupted => {
            let message = "interrupted before the ranks were seen to be at work";
            Err(Error { exit: Exit::Interrupted, ..Error::input(message) })
        }
        None if launcher.code == Some(0) => Ok(Exit::Success),
        // The ranks have said what is wrong.
        None if of_input => Ok(Exit::Input),
        // Rank 0 has ended the job in order and printed why, or it has not.
        None if launcher.heard_ranks => match launcher.code.map(u8::try_from) {
            Some(Ok(code @ (1 | 3 | 130))) => Ok(Exit::from_code(code)),
            _ => Err(lost(launcher)),
        },
        None => {
            let message = format!("no rank was seen to start: the launcher {}", launcher.told);
            Err(Error::failed(message).help(launcher.advice))
        }
    }
}

/// The ranks were at work, and nobody knows where.
fn lost(launcher: &Launcher) -> Error {
    let message = format!("the job was cut off: the launcher {}", launcher.told);
    Error::failed(message).help(
        "what the ranks measured on machines other than this one is kept with --out DIR, a folder that all see",
    )
}

/// The ranks were at work, and what they recorded is in the memory of their machines.
fn left(folder: &Path, header: &Header, launcher: &Launcher) -> Error {
    let exit = if launcher.interrupted { Exit::Interrupted } else { Exit::Failed };
    let folder = crate::console::quoted(&folder.display().to_string()).to_string();
    let first = header.recording.iter().map(|recording| &*recording.host);
    let nodes = header.job.iter().flat_map(|job| &job.nodes).map(|node| &*node.host);
    let mut hosts: Vec<&str> = first.chain(nodes).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let message = format!(
        "the ranks were at work and the job was cut off: its launcher {}; what they measured lies in the \
         memory of {}, not of this machine",
        launcher.told,
        super::agree::list(&hosts)
    );
    Error { exit, ..Error::input(message) }.help(format!(
        "`parabench report {folder}` there shows it; `parabench report {folder} --settle` on each of them \
         stores it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::run::{Job, Node, Recording, VERSION};

    fn launcher(code: i32, interrupted: bool) -> Launcher {
        let told = format!("ended with exit code {code}");
        let advice = "try hostname";
        Launcher { told, code: Some(code), interrupted, heard_ranks: false, advice }
    }

    /// A job whose rank 0 has stored this.
    fn after(recording: Option<Recording>, launcher: &Launcher) -> Result<Exit> {
        let folder = tempfile::tempdir().unwrap();
        let before = Before { folder: Some(folder.path().into()), stored: None };
        let nodes = ["bn1", "bn2"].map(|host| Node { host: host.into(), ..Node::default() });
        let job = Some(Job { nodes: nodes.into(), ..Job::default() });
        let run = Header { recording, job, exit_code: 3, ..Header::default() };
        let run = model::Run { version: VERSION, run, ..model::Run::default() };
        store::write(folder.path(), &run).unwrap();
        end(&before, launcher)
    }

    #[test]
    fn records_on_other_machines_are_told() {
        let recording = Recording { host: "bn1".into(), ..Recording::default() };
        let error = after(Some(recording.clone()), &launcher(255, false)).unwrap_err();
        assert_eq!(error.exit, Exit::Failed);
        assert!(error.message.contains("the ranks were at work"), "{}", error.message);
        assert!(error.message.contains("the memory of bn1, bn2"), "{}", error.message);
        assert!(error.help.is_some_and(|help| help.contains("--settle")));
        let interrupted = after(Some(recording), &launcher(2, true)).unwrap_err();
        assert_eq!(interrupted.exit, Exit::Interrupted);
        assert_eq!(after(None, &launcher(255, false)), Ok(Exit::Verdict), "it had ended");
    }

    #[test]
    fn a_run_from_before_is_not_that_of_the_job() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(store::RUN_FILE), "{}").unwrap();
        let (folder, stored) = (Some(folder.path().into()), which(folder.path()));
        let before = Before { folder, stored };
        let ended = |code, interrupted| end(&before, &launcher(code, interrupted));
        assert_eq!(ended(2, false), Ok(Exit::Input));
        assert_eq!(ended(0, false), Ok(Exit::Success));
        let error = ended(15, true).unwrap_err();
        assert!(error.exit == Exit::Interrupted && error.message.contains("interrupted"));
        assert_eq!(ended(2, true).unwrap_err().exit, Exit::Interrupted, "Hydra's signal number");
        assert!(ended(255, false).unwrap_err().message.contains("no rank was seen to start"));
        let heard = |code| end(&before, &Launcher { heard_ranks: true, ..launcher(code, false) });
        assert_eq!(heard(1), Ok(Exit::Failed), "it has said why");
        assert!(heard(255).unwrap_err().message.starts_with("the job was cut off"));
    }
}

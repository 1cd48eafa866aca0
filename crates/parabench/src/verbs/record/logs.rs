//! The logs of a recording: where they are while the command runs, and under MPI how the logs of all
//! ranks come together.
//!
//! ```text
//! /dev/shm/parabench-recording-x7Qz2w/strace.log   while the command runs; goes when it is imported
//! DIR.rank-3/strace.log                            of rank 3 of an MPI job, until rank 0 has imported it
//! ```

use super::command::Program;
use crate::console;
use crate::error::{Error, Result};
use engine::own_folder::OwnFolder;
use mpi::launcher::{self, Job};
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;
use trace::recording;

/// Beginning of the name of the folder.
const PREFIX: &str = "parabench-recording-";
/// Room that a tmpfs must have for logs, bytes; else they lie beside the run.
const ROOM_BYTES: u64 = 1 << 30;
/// How long rank 0 waits for the logs of other ranks after its own command has ended, in steps.
const STEPS: u32 = 1200;
const STEP: Duration = Duration::from_millis(50);
/// How often a folder is removed anew in which others make files.
const REMOVALS: u32 = 100;

/// Where the logs lie.
pub struct Logs {
    own: OwnFolder,
    out: PathBuf,
    job: Option<Job>,
}

impl Logs {
    /// Makes the folder for the logs of a run that goes to `out`.
    pub fn new(out: &Path) -> Result<Logs> {
        let absolute = std::path::absolute(out).unwrap_or_else(|_| out.into());
        let beside = absolute.parent().unwrap_or(Path::new("/"));
        let fresh = || OwnFolder::fresh(beside, PREFIX);
        let own = OwnFolder::in_memory(ROOM_BYTES, None, PREFIX).map_or_else(fresh, Ok);
        let own = own.map_err(|error| {
            Error::input(format!(
                "cannot make a folder for the log in {}: {error}",
                beside.display()
            ))
        })?;
        let job = launcher::job().filter(|job| job.ranks.is_some_and(|ranks| ranks > 1));
        let logs = Logs { own, out: absolute, job };
        if let Some(job) = job {
            // What an earlier job that was killed has left.
            let _ = fs::remove_dir_all(logs.place(job.rank));
        }
        Ok(logs)
    }

    /// Logs of all ranks become a run here.
    pub fn are_stored_here() -> bool {
        launcher::job().is_none_or(|job| job.rank == 0)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.own.path()
    }

    /// The command has ended: something must have been recorded.
    pub fn recorded(&self, program: &Program) -> Result<()> {
        let files = files(self.own.path()).map_err(|error| self.cannot("read", &error))?;
        let bytes = |file: &OsString| fs::metadata(self.own.path().join(file)).map(|f| f.len());
        let mut logs = files.iter().filter(|file| *file != recording::LOST_FILE);
        if logs.any(|file| bytes(file).is_ok_and(|bytes| bytes > 0)) {
            return Ok(());
        }
        self.remove()?;
        let name = program.words[0].to_string_lossy().into_owned();
        Err(Error::failed(format!("nothing of {name} was recorded")).help(
            "what was said above may tell why; the other way is --via strace or --via preload",
        ))
    }

    /// All folders of logs with the names that the run gives them. `None`: another rank takes them.
    pub fn gathered(&self) -> Result<Option<Vec<(PathBuf, PathBuf)>>> {
        let own = self.own.path().to_path_buf();
        let Some(job) = self.job else { return Ok(Some(vec![("".into(), own)])) };
        if job.rank > 0 {
            return self.hand_over(job.rank).map(|()| None);
        }
        let mut all = vec![("rank-0".into(), own)];
        let mut missing = Vec::new();
        for rank in 1..job.ranks.unwrap_or(1) {
            let place = self.place(rank);
            match waited(&place) {
                true => all.push((format!("rank-{rank}").into(), place)),
                false => missing.push(rank.to_string()),
            }
        }
        if !missing.is_empty() {
            console::warning(&format!(
                "no log came from ranks {}: they were killed, or {} lies on no file system that \
                 all machines share",
                missing.join(", "),
                self.out.display()
            ));
        }
        Ok(Some(all))
    }

    /// Where a rank puts its logs for rank 0.
    fn place(&self, rank: u32) -> PathBuf {
        let mut name = self.out.clone().into_os_string();
        name.push(format!(".rank-{rank}"));
        name.into()
    }

    /// The folder appears when everything is in it.
    fn hand_over(&self, rank: u32) -> Result<()> {
        let place = self.place(rank);
        let part = place.with_extension(format!("rank-{rank}-part"));
        let copy = || {
            fs::create_dir(&part)?;
            for file in files(self.own.path())? {
                fs::copy(self.own.path().join(&file), part.join(&file))?;
            }
            fs::rename(&part, &place)
        };
        copy().map_err(|error| self.cannot("hand over", &error))
    }

    /// A recording that cannot be imported is kept.
    pub fn kept(&self, error: Error) -> Error {
        let folder = self.own.path().display();
        let message = format!("{}; what was recorded is still in {folder}", error.message);
        let others = match self.job {
            Some(_) => format!(" {}.rank-*", self.out.display()),
            None => String::new(),
        };
        Error { message, ..error }
            .help(format!("`parabench import {folder}{others} -o DIR` makes a run of it"))
    }

    /// Removes what was imported.
    pub fn remove(&self) -> Result<()> {
        // What a process that was left behind starts meanwhile begins another log.
        let mut own = self.remove_own();
        for _ in 0..REMOVALS {
            match own {
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {}
                _ => break,
            }
            own = self.remove_own();
        }
        own.map_err(|error| self.cannot("remove", &error))?;
        if let Some(Job { rank: 0, ranks: Some(ranks), .. }) = self.job {
            (1..ranks).for_each(|rank| drop(fs::remove_dir_all(self.place(rank))));
        }
        Ok(())
    }

    fn remove_own(&self) -> io::Result<()> {
        for file in files(self.own.path())? {
            self.own.remove_file(&file.to_string_lossy())?;
        }
        self.own.remove()
    }

    fn cannot(&self, what: &str, error: &io::Error) -> Error {
        Error::failed(format!("cannot {what} the log in {}: {error}", self.own.path().display()))
    }
}

/// Names of the files in a folder, in order.
fn files(folder: &Path) -> io::Result<Vec<OsString>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name()));
    let mut names = entries.collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// A folder of another rank appears, or never.
fn waited(place: &Path) -> bool {
    (0..STEPS).any(|step| {
        if step > 0 {
            sleep(STEP);
        }
        place.is_dir()
    })
}

//! Files that rank 0 of an MPI job leaves for the `parabench run --mpi` that started it, so that
//! the end of all ranks at once, by SIGKILL for example, loses nothing.
//!
//! ```text
//! FOLDER/job.json   where the results are, which directories to remove, process numbers of the ranks
//! FOLDER/command    the words of the command line that has started the job, each ended by a NUL
//! FOLDER/ended      the exit code: rank 0 has done everything itself
//! FOLDER/results/   results that were not to be stored (no --out)
//! ```

use crate::error::{Error, Result};
use crate::exit::Exit;
use engine::directory::Identity;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Variable that tells rank 0 the folder.
pub const VARIABLE: &str = "PARABENCH_JOB";

/// A job while its ranks are at work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Folder with run.json and the ranks' files.
    pub results: PathBuf,
    /// Directories in which something is to be removed at the end, what tells each from others that
    /// may get its path, and whether it goes as a whole.
    pub directories: Vec<(PathBuf, Identity, bool)>,
    /// Process numbers by rank, as their machines count.
    pub processes: Vec<i64>,
}

/// The folder.
#[derive(Clone, Debug)]
pub struct Remains {
    folder: PathBuf,
}

impl Remains {
    /// An existing folder.
    pub fn at(folder: impl Into<PathBuf>) -> Remains {
        Remains { folder: folder.into() }
    }

    /// The folder of whoever started this job; `None`: nobody waits for it.
    pub fn wanted() -> Option<Remains> {
        let folder = Remains::at(std::env::var_os(VARIABLE)?);
        folder.folder.is_dir().then_some(folder)
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Where results go that are not to be stored.
    pub fn results(&self) -> PathBuf {
        self.folder.join("results")
    }

    /// The words of the command line that starts the job, for its header.
    pub fn keep_command(&self, words: &[String]) {
        let text: String = words.iter().flat_map(|word| [word, "\0"]).collect();
        // Without it the run does not say how it was started, nothing else.
        let _ = fs::write(self.folder.join("command"), text);
    }

    /// The words that [`Remains::keep_command`] kept.
    pub fn command(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("command")).unwrap_or_default();
        text.split_terminator('\0').map(String::from).collect()
    }

    /// Rank 0: what would be left.
    pub fn leave(&self, job: &Job) {
        let bytes = serde_json::to_vec(job).unwrap_or_default();
        // Without it an unforeseen end loses the tables, nothing else.
        let _ = fs::write(self.folder.join("job.new"), bytes)
            .and_then(|()| fs::rename(self.folder.join("job.new"), self.folder.join("job.json")));
    }

    /// Rank 0: nothing is left to do.
    pub fn end(&self, exit: Exit) {
        let _ = fs::write(self.folder.join("ended"), exit.code().to_string());
    }

    /// The exit code, if rank 0 has done everything itself.
    pub fn ended(&self) -> Option<Exit> {
        let text = fs::read_to_string(self.folder.join("ended")).ok()?;
        text.parse().ok().map(Exit::from_code)
    }

    /// The remains of the job; `None` if the ranks never started.
    pub fn job(&self) -> Result<Option<Job>> {
        let Ok(bytes) = fs::read(self.folder.join("job.json")) else { return Ok(None) };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| Error::failed(format!("what the job left cannot be read: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_found() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let remains = Remains::at(folder.path());
        assert_eq!((remains.ended(), remains.job()), (None, Ok(None)));
        assert!(remains.command().is_empty());
        let words = ["parabench", "", "a b\nc"].map(String::from);
        remains.keep_command(&words);
        assert_eq!(remains.command(), words);
        let directories = vec![("d".into(), Identity::default(), true)];
        let job = Job { results: "r".into(), directories, processes: vec![7] };
        remains.leave(&job);
        remains.end(Exit::Interrupted);
        assert_eq!((remains.ended(), remains.job()), (Some(Exit::Interrupted), Ok(Some(job))));
    }
}

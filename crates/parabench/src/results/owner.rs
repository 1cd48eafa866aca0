//! The run that a folder in memory belongs to, named by a file in it.
//!
//! ```text
//! /dev/shm/parabench-records-x7Qz2w/owner    k3rw9a0b7c2d4e5f node-1 /home/me/results
//! /home/me/results/run.json                  "id": "k3rw9a0b7c2d4e5f"
//! ```
//!
//! Paths are given to others and files are edited: records are opened, counted and removed only for a run that has
//! the same identity, which nobody can guess, wherever its folder lies by now.

use ::report::file::open_regular;
use engine::own_folder::OwnFolder;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The file that names the run.
pub const OWNER: &str = "owner";
/// Longest content of that file, bytes.
const OWNER_MAX: u64 = 8192;

/// The run that a folder in memory belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Identity of the run, as in run.json.
    pub id: String,
    /// The machine that stores it.
    pub host: String,
    /// Its folder when the run began.
    pub results: PathBuf,
}

impl Owner {
    /// Says so in a new folder.
    pub fn write(&self, memory: &OwnFolder) -> io::Result<()> {
        let mut text = format!("{} {} ", self.id, self.host).into_bytes();
        text.extend(self.results.as_os_str().as_bytes());
        File::create_new(memory.path().join(OWNER))?.write_all(&text)
    }

    /// Reads the owner of a folder; `None` if its file cannot be read.
    pub fn read(memory: &Path) -> Option<Owner> {
        let (file, _) = open_regular(&memory.join(OWNER), "a run's name", OWNER_MAX).ok()?;
        let mut bytes = Vec::new();
        file.take(OWNER_MAX).read_to_end(&mut bytes).ok()?;
        let mut parts = bytes.splitn(3, |byte| *byte == b' ');
        let mut text = || String::from_utf8(parts.next()?.to_vec()).ok();
        let (id, host) = (text()?, text()?);
        let results = PathBuf::from(OsString::from_vec(parts.next()?.to_vec()));
        (!id.is_empty()).then_some(Owner { id, host, results })
    }
}

//! Folders that this process makes for itself and removes before it ends.

use crate::console;
use crate::error::{Error, Result};
use crate::results;
use engine::own_folder::OwnFolder;
use report::events::EVENTS_FILE;
use report::store::RUN_FILE;
use std::io;

/// Files of a stored run.
const RESULTS: &[&str] = &[RUN_FILE, EVENTS_FILE];

/// A folder that nobody else uses, where temporary files lie. `help`: how to do without.
pub fn folder(prefix: &str, help: &str) -> Result<OwnFolder> {
    let parent = std::env::temp_dir();
    OwnFolder::fresh(&parent, prefix).map_err(|error| {
        let shown = parent.display();
        Error::input(format!("cannot make a folder in {shown}: {error}")).help(help)
    })
}

/// Removes a folder with the run in it, also one that was interrupted and can be resumed.
pub fn remove_run(own: &OwnFolder) {
    results::remove_executions(own.path());
    remove(own, RESULTS);
}

/// Removes a folder with these files in it; warns of what cannot be removed.
pub fn remove(own: &OwnFolder, files: &[&str]) {
    let removed: io::Result<()> =
        files.iter().try_for_each(|file| own.remove_file(file)).and_then(|()| own.remove());
    if let Err(error) = removed {
        let shown = own.path().display();
        console::warning(&format!("cannot remove the folder {shown}: {error}"));
    }
}

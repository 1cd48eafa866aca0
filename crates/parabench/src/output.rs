//! Files that the user names for pages and pictures: written under another name and renamed, so
//! that nobody finds half of one, and never in the place of what is none of ours.

use crate::error::{Error, Result};
use report::events::EVENTS_FILE;
use report::file::AtomicFile;
use report::store::RUN_FILE;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Beginning of a file that a page may replace.
pub const PAGE: &str = "<!doctype html";
/// The same for a picture.
pub const PICTURE: &str = "<svg";
/// Tables look like any other text.
pub const ANYTHING: &str = "";

/// The file may be written as far as one can see: there is none yet, or an older one that begins
/// with `start`, and it has not the name of a result. `option` is for the message.
pub fn check(file: &Path, option: &str, start: &str) -> Result<()> {
    let refused = |why: &str| {
        let message = format!("{option} {}: {why}", file.display());
        Err(Error::input(message).help(format!("choose another name with {option}")))
    };
    if file.file_name().is_some_and(|name| name == RUN_FILE || name == EVENTS_FILE) {
        return refused("results of runs have that name");
    }
    match fs::symlink_metadata(file) {
        Ok(facts) if facts.is_dir() => refused("expected a file, found a folder"),
        Ok(facts) if !facts.is_file() => refused("expected a regular file, found something else"),
        Ok(_) if !begins_with(file, start) => {
            refused("the existing file was not written by Parabench")
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => match missing_folder(file) {
            None => Ok(()),
            Some(folder) => refused(&format!("there is no folder {}", folder.display())),
        },
        Err(error) => refused(&error.to_string()),
    }
}

/// The folder that the file is to be in, if it is not there.
fn missing_folder(file: &Path) -> Option<&Path> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.filter(|folder| !folder.is_dir())
}

/// The same for a program: people change programs, so one that is there stays unless `force` asks.
pub fn check_program(file: &Path, option: &str, start: &str, force: bool) -> Result<()> {
    if file.as_os_str() == "-" {
        let message = format!("{option} -: expected a file, found standard output");
        return Err(Error::input(message).help("without -o the program is printed"));
    }
    let why = "a program is there, and may have been changed";
    check_kept(file, option, start, force, why)
}

/// The same for any file that stays unless `force` asks, and why.
pub fn check_kept(file: &Path, option: &str, start: &str, force: bool, why: &str) -> Result<()> {
    check(file, option, start)?;
    let is_there = fs::symlink_metadata(file).is_ok_and(|facts| facts.len() > 0);
    if !is_there || force {
        return Ok(());
    }
    let message = format!("{option} {}: {why}", file.display());
    Err(Error::input(message)
        .help(format!("replace it with --force, or choose another name with {option}")))
}

/// An empty file may become anything.
fn begins_with(file: &Path, start: &str) -> bool {
    let mut bytes = Vec::new();
    let read =
        File::open(file).and_then(|file| file.take(start.len() as u64).read_to_end(&mut bytes));
    read.is_ok() && (bytes.is_empty() || bytes.eq_ignore_ascii_case(start.as_bytes()))
}

/// A file that is to be written.
pub struct New<'a> {
    /// Its name, and the option that gives it.
    pub file: PathBuf,
    /// For messages.
    pub option: &'a str,
    /// Beginning of an older one.
    pub start: &'a str,
    /// Its content.
    pub bytes: &'a [u8],
}

impl New<'_> {
    fn cannot(&self, error: &std::io::Error) -> Error {
        // What says more than the error names a file that nobody knows.
        let error = match error.raw_os_error() {
            Some(_) => error.to_string(),
            None => error.kind().to_string(),
        };
        let (option, file) = (self.option, self.file.display());
        Error::failed(format!("{option} {file}: cannot write: {error}"))
            .help(format!("choose another name with {option}"))
    }

    /// The file under another name.
    fn begun(&self) -> Result<AtomicFile> {
        let begun = AtomicFile::create(&self.file).and_then(|new| {
            new.handle()?.write_all(self.bytes)?;
            new.handle()?.sync_all()?;
            Ok(new)
        });
        begun.map_err(|error| self.cannot(&error))
    }
}

/// Writes the file, or leaves the older one as it was.
pub fn write(file: &Path, option: &str, start: &str, bytes: &[u8]) -> Result<()> {
    write_all(&[New { file: file.to_path_buf(), option, start, bytes }])
}

/// Writes files that belong together: no file gets its name before all are written.
pub fn write_all(files: &[New<'_>]) -> Result<()> {
    files.iter().try_for_each(|new| check(&new.file, new.option, new.start))?;
    let begun: Vec<AtomicFile> = files.iter().map(New::begun).collect::<Result<_>>()?;
    let mut all = begun.into_iter().zip(files);
    all.try_for_each(|(begun, new)| begun.commit().map_err(|error| new.cannot(&error)))
}

/// Removes a file of Parabench, if there is one. What is none of ours stays.
///
/// # Errors
/// It cannot be removed.
pub fn remove(file: &Path, option: &str, start: &str) -> Result<()> {
    let is_there = fs::symlink_metadata(file).is_ok_and(|facts| facts.len() > 0);
    if !is_there || check(file, option, start).is_err() {
        return Ok(());
    }
    fs::remove_file(file).map_err(|error| {
        Error::failed(format!("{option} {}: cannot remove: {error}", file.display()))
            .help("no program reads it any more: remove it")
    })
}

/// Makes a folder for files, if it is not there.
pub fn make_folder(folder: &Path, option: &str) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| {
        Error::input(format!("{option} {}: cannot make the folder: {error}", folder.display()))
            .help(format!("choose another folder with {option}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_belong_together_are_written_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let new = |name: &str| New {
            file: folder.path().join(name),
            option: "-o",
            start: ANYTHING,
            bytes: b"new",
        };
        // The other name of so long a one is too long.
        let error = write_all(&[new("a"), new(&"b".repeat(250))]).expect_err("refused");
        assert!(error.message.ends_with("cannot write: invalid filename"), "{}", error.message);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
        write_all(&[new("a"), new("b")]).expect("written");
        assert_eq!(fs::read(folder.path().join("b")).expect("a file"), b"new");
    }
}

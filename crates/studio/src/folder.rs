//! Files of the folder that the studio was opened in, and of no other place.
//!
//! A name from the browser is relative, has a known suffix, and is resolved by the kernel beneath the folder, so that
//! no link and no `..` leads out. Programs are saved by renaming: a file is old or new, never half.

use crate::answer::Refused;
use axum::http::StatusCode;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, openat2, renameat, statat, unlinkat};
use rustix::io::Errno;
use serde::Serialize;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Longest program, bytes.
pub const TEXT_MAX: u64 = 4 << 20;
/// Longest name, bytes.
const NAME_MAX: usize = 300;
/// Begins the names of scratch directories of runs.
const SCRATCH: &str = "parabench-scratch-";
/// Levels of folders that are listed.
const DEPTH_MAX: usize = 5;
/// Entries that are looked at for a list.
const ENTRIES_MAX: usize = 20_000;

/// The folder.
pub struct Folder {
    path: PathBuf,
    root: OwnedFd,
}

/// A program as it is stored.
#[derive(Serialize)]
pub struct Text {
    /// Its text.
    pub text: String,
    /// Changes with the text: whoever saves says which text is replaced.
    pub version: String,
}

/// A stored run.
#[derive(Serialize)]
pub struct RunEntry {
    /// Its folder.
    pub name: String,
    /// Last change, seconds since 1970.
    pub changed_s: u64,
}

/// Programs and runs in the folder.
#[derive(Default, Serialize)]
pub struct Listing {
    /// Names of programs.
    pub programs: Vec<String>,
    /// Runs, the newest first.
    pub runs: Vec<RunEntry>,
    /// There are more than were looked at.
    pub is_cut: bool,
}

impl Folder {
    /// Opens it.
    ///
    /// # Errors
    /// It is no folder, or cannot be read.
    pub fn open(path: &Path) -> std::io::Result<Folder> {
        let path = path.canonicalize()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&path, flags, Mode::empty())?;
        Ok(Folder { path, root })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a name beneath the folder.
    fn resolve(&self, name: &str, flags: OFlags) -> Result<OwnedFd, Refused> {
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        // Opening a FIFO must not wait for somebody; O_PATH opens nothing.
        let waits = !flags.contains(OFlags::PATH);
        let flags =
            flags | OFlags::CLOEXEC | if waits { OFlags::NONBLOCK } else { OFlags::empty() };
        openat2(&self.root, name, flags, Mode::empty(), how).map_err(|errno| {
            let (status, why) = match errno {
                Errno::NOENT => (StatusCode::NOT_FOUND, "it does not exist".to_string()),
                Errno::XDEV => (StatusCode::FORBIDDEN, "it leads out of the folder".to_string()),
                errno => (StatusCode::FORBIDDEN, errno.to_string()),
            };
            Refused::new(status, format!("cannot open {name}: {why}"))
        })
    }

    /// Reads a program.
    pub fn read(&self, name: &str) -> Result<Text, Refused> {
        check_program(name)?;
        let file = File::from(self.resolve(name, OFlags::RDONLY)?);
        let is_file = file.metadata().is_ok_and(|facts| facts.is_file());
        let mut bytes = Vec::new();
        let read = file.take(TEXT_MAX + 1).read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= TEXT_MAX);
        match text.filter(|_| is_file && read.is_ok()) {
            Some(text) => Ok(Text { version: version(&text), text }),
            None => Err(Refused::input(format!("{name} is no text of at most 4 MiB"))),
        }
    }

    /// Saves a program in place of the text with this version; of none, if `replaces` is empty.
    pub fn save(&self, name: &str, text: &str, replaces: &str) -> Result<Text, Refused> {
        check_program(name)?;
        if text.len() as u64 > TEXT_MAX {
            let message = format!("{name} is longer than 4 MiB");
            return Err(Refused::new(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        match self.read(name) {
            Ok(stored) if stored.version != replaces && stored.text != text => {
                return Err(Refused::new(
                    StatusCode::CONFLICT,
                    format!(
                        "{name} was changed by somebody else meanwhile: save under another name, or open it again"
                    ),
                ));
            }
            Err(refused) if refused.status != StatusCode::NOT_FOUND => return Err(refused),
            _ => {}
        }
        let (parent, last) = name.rsplit_once('/').unwrap_or((".", name));
        let parent = self.resolve(parent, OFlags::RDONLY | OFlags::DIRECTORY)?;
        replace(&parent, last, text.as_bytes())
            .map_err(|why| Refused::failed(format!("cannot save {name}: {why}")))?;
        Ok(Text { text: text.into(), version: version(text) })
    }

    /// The name of a folder with a stored run, fit for a command line.
    pub fn run(&self, name: &str) -> Result<String, Refused> {
        check_name(name)?;
        let run = self.resolve(name, OFlags::RDONLY | OFlags::DIRECTORY)?;
        match statat(&run, "run.json", AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(word(name)),
            Err(_) => Err(Refused::input(format!("{name} holds no run"))),
        }
    }

    /// The name of a program, fit for a command line.
    pub fn program(&self, name: &str) -> Result<String, Refused> {
        self.read(name).map(|_| word(name))
    }

    /// The path of a program that need not exist.
    pub fn place(&self, name: &str) -> Result<String, Refused> {
        check_program(name)?;
        match self.resolve(name, OFlags::PATH) {
            Err(refused) if refused.status != StatusCode::NOT_FOUND => Err(refused),
            _ => Ok(self.path.join(name).to_string_lossy().into_owned()),
        }
    }

    /// A name below `below` that nothing has: `stem-N`.
    pub fn free_name(&self, below: &str, stem: &str, suffix: &str) -> Result<String, Refused> {
        let stem: String =
            stem.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
        let stem = stem.trim_start_matches('-');
        let stem = if stem.is_empty() { "run" } else { stem };
        let names = (1..100_000).map(|number| format!("{below}{stem}-{number}{suffix}"));
        let is_free = |name: &String| matches!(self.resolve(name, OFlags::PATH), Err(refused) if refused.status == StatusCode::NOT_FOUND);
        names.into_iter().find(is_free).ok_or_else(|| Refused::failed("there are too many runs"))
    }

    /// Makes a folder directly in this one if it is not there, and makes sure that it is inside.
    pub fn make(&self, name: &str) -> Result<(), Refused> {
        match rustix::fs::mkdirat(&self.root, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {
                self.resolve(name, OFlags::RDONLY | OFlags::DIRECTORY).map(|_| ())
            }
            Err(errno) => Err(Refused::failed(format!("cannot make {name}: {errno}"))),
        }
    }

    /// Programs and runs. Links and hidden names are not followed.
    pub fn list(&self) -> Listing {
        let mut listing = Listing::default();
        let mut left = ENTRIES_MAX;
        self.list_below(Path::new(""), 0, &mut left, &mut listing);
        listing.programs.sort();
        listing.runs.sort_by(|a, b| (b.changed_s, &b.name).cmp(&(a.changed_s, &a.name)));
        listing.is_cut = left == 0;
        listing
    }

    fn list_below(&self, below: &Path, depth: usize, left: &mut usize, listing: &mut Listing) {
        let Ok(entries) = std::fs::read_dir(self.path.join(below)) else { return };
        for entry in entries.flatten() {
            let Some(rest) = left.checked_sub(1) else { return };
            *left = rest;
            let (path, kind) = (below.join(entry.file_name()), entry.file_type());
            let Some(name) = path.to_str().filter(|name| check_name(name).is_ok()) else {
                continue;
            };
            let is = |test: fn(&std::fs::FileType) -> bool| kind.as_ref().is_ok_and(test);
            if is(std::fs::FileType::is_file) && name.ends_with(".ppl") {
                listing.programs.push(name.into());
            } else if is(std::fs::FileType::is_dir) && depth < DEPTH_MAX && !name.contains(SCRATCH)
            {
                match changed_s(&self.path.join(&path).join("run.json")) {
                    Some(changed_s) => listing.runs.push(RunEntry { name: name.into(), changed_s }),
                    None => self.list_below(&path, depth + 1, left, listing),
                }
            }
        }
    }
}
/// A name as a word of a command line: no option, and no embedded program.
fn word(name: &str) -> String {
    if name.starts_with(['-', '@']) { format!("./{name}") } else { name.into() }
}

/// Last change of a file that is there.
fn changed_s(path: &Path) -> Option<u64> {
    let facts = std::fs::symlink_metadata(path).ok()?;
    let since = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(since.as_secs())
}

/// A relative name without `..`, hidden parts and control characters.
fn check_name(name: &str) -> Result<(), Refused> {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.');
    let is_name = name.len() <= NAME_MAX
        && !name.chars().any(char::is_control)
        && name.split('/').all(is_part);
    match is_name {
        true => Ok(()),
        false => Err(Refused::new(
            StatusCode::FORBIDDEN,
            format!("{name:?} is no name below the folder"),
        )),
    }
}

fn check_program(name: &str) -> Result<(), Refused> {
    check_name(name)?;
    match name.ends_with(".ppl") {
        true => Ok(()),
        false => Err(Refused::new(
            StatusCode::FORBIDDEN,
            format!("{name} is no program: its name must end with .ppl"),
        )),
    }
}

/// Two texts with one version are the same, but for bad luck in 2^64.
fn version(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    format!("{:016x}", hasher.finish())
}

/// Puts a file into `parent`, whole.
fn replace(parent: &OwnedFd, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = format!(".{name}.{}.new", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let _ = unlinkat(parent, &temporary, AtFlags::empty());
    let mut file =
        File::from(rustix::fs::openat(parent, &temporary, flags, Mode::from_raw_mode(0o644))?);
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let done = written.and_then(|()| Ok(renameat(parent, &temporary, parent, name)?));
    if done.is_err() {
        let _ = unlinkat(parent, &temporary, AtFlags::empty());
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below_the_folder() {
        for name in ["a.ppl", "runs/a-1", "ü b/c.ppl"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "/a", "../a", "a/../b", "a//b", ".a", "a/.b", "a\n", "a\0"] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_program("a.sh").is_err());
    }

    #[test]
    fn a_text_is_replaced_by_who_has_read_it() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(place.path()).expect("open");
        let first =
            folder.save("a.ppl", "one", "").map_err(|refused| refused.message).expect("saved");
        let other = folder.save("a.ppl", "two", "");
        assert_eq!(other.err().map(|refused| refused.status), Some(StatusCode::CONFLICT));
        assert!(folder.save("a.ppl", "two", &first.version).is_ok());
        assert_eq!(folder.read("a.ppl").map(|text| text.text).ok().as_deref(), Some("two"));
        assert_eq!(folder.list().programs, ["a.ppl"]);
        assert_eq!(std::fs::read_dir(place.path()).expect("entries").count(), 1);
    }
}

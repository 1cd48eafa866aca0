//! Makes what a program expects to find: directories, files full of data, and symbolic links.
//!
//! ```text
//! expected (rehearsal, trace) ─▶ compared with what is there ─▶ room ─▶ made
//! ```
//!
//! Only inside the directory: names are walked from its descriptor, component by component, and no
//! symbolic link is followed; one that is made leads to a name inside. Nothing is overwritten and nothing shrinks: files are made where no
//! name is, and a file that is too short gets data behind its end. Obstacles are reported.

use crate::preflight::space;
use model::directory::{self, link_leaves};
use model::escape;
use model::permutation::fnv1a;
use model::rehearsal::{Expected, Thing};
use model::units::format_bytes;
use rand::RngCore;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, fstat, mkdirat, openat, statat, symlinkat, syncfs,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Data written at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// Things to make, and obstacles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Todo {
    /// Directories, then files, in the order in which they are made.
    pub things: Vec<Missing>,
    /// Obstacles, as sentences.
    pub in_the_way: Vec<String>,
}

/// Something that is not there, or too short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Expected name and kind.
    pub expected: Expected,
    /// Bytes that a file has already; `None`: nothing has the name.
    pub has_bytes: Option<u64>,
}

impl Missing {
    /// Its name for people.
    pub fn describe(&self) -> String {
        escape::bytes(&self.expected.path)
    }

    /// Bytes that are to be written.
    pub fn new_bytes(&self) -> u64 {
        match self.expected.what {
            Thing::Directory | Thing::Link(_) => 0,
            Thing::File { size_bytes, .. } => {
                size_bytes.saturating_sub(self.has_bytes.unwrap_or(0))
            }
        }
    }
}

impl Todo {
    /// Compares what is expected with the directory. A directory that does not exist holds nothing.
    ///
    /// # Errors
    /// The directory cannot be looked at.
    pub fn compare(directory: &Path, expected: &[Expected]) -> io::Result<Todo> {
        let root = match open_directory(directory) {
            Ok(root) => Some(root),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(errno.into()),
        };
        let mut todo = Todo::default();
        for expected in expected {
            let state =
                root.as_ref().map_or(Ok(State::Absent), |root| look(root.as_fd(), expected));
            match state {
                Ok(State::There) => {}
                Ok(State::Absent) => todo.add(expected, None),
                Ok(State::Short(has)) => todo.add(expected, Some(has)),
                Err(why) => {
                    let name = escape::bytes(&expected.path);
                    todo.in_the_way.push(format!("{name}: {why}"));
                }
            }
        }
        Ok(todo)
    }

    fn add(&mut self, expected: &Expected, has_bytes: Option<u64>) {
        self.things.push(Missing { expected: expected.clone(), has_bytes });
    }

    /// Bytes that are to be written.
    pub fn bytes(&self) -> u64 {
        self.things.iter().map(Missing::new_bytes).fold(0, u64::saturating_add)
    }

    /// Why there is no room for it; `None`: there is, or nobody tells.
    pub fn lacks_room(&self, directory: &Path) -> Option<String> {
        let (free_bytes, free_files) = space(directory)?;
        let names = self.things.iter().filter(|missing| missing.has_bytes.is_none()).count() as u64;
        if self.bytes() > free_bytes {
            let (needed, free) = (format_bytes(self.bytes()), format_bytes(free_bytes));
            return Some(format!("{needed} are to be written, {free} are free"));
        }
        let files = free_files.filter(|free| names > *free)?;
        Some(format!(
            "{names_files} and directories are to be made, {files} inodes are free",
            names_files = model::words::count(names, "file")
        ))
    }

    /// Makes all of it and waits until it is stable, until somebody asks to stop. The seed and the name
    /// decide the data.
    ///
    /// # Errors
    /// The first that cannot be made, with its name; what was made before stays.
    pub fn make(&self, directory: &Path, seed: u64, stop: impl Fn() -> bool) -> Result<(), String> {
        let open = |errno: Errno| format!("{}: {}", directory.display(), io::Error::from(errno));
        let root = open_directory(directory).map_err(open)?;
        for missing in &self.things {
            if stop() {
                return Err("interrupted".into());
            }
            make(root.as_fd(), missing, seed)
                .map_err(|error| format!("{}: {error}", missing.describe()))?;
        }
        match self.things.is_empty() {
            true => Ok(()),
            // What is still on its way to storage would slow down what is measured next.
            false => syncfs(&root).map_err(open),
        }
    }
}

/// Only this user can write what is made, whatever the umask is: others could put links into it.
const DIRECTORY_MODE: Mode = Mode::from_bits_retain(0o755);
const FILE_MODE: Mode = Mode::from_bits_retain(0o644);

/// State of a name.
enum State {
    There,
    Absent,
    Short(u64),
}

fn open_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    openat(rustix::fs::CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// The components of a name, if it stays below the directory.
fn components(path: &[u8]) -> Result<Vec<&[u8]>, String> {
    let parts: Vec<&[u8]> = directory::components(path).collect();
    let leaves = path.starts_with(b"/") || parts.contains(&&b".."[..]);
    match leaves || path.contains(&0) {
        true => Err("the name leaves the directory".into()),
        false => Ok(parts),
    }
}

/// Opens the parent directory of a name without following any link; `None`: it is not there.
fn above(root: BorrowedFd<'_>, parts: &[&[u8]]) -> Result<Option<OwnedFd>, String> {
    let mut at = root.try_clone_to_owned().map_err(|error| error.to_string())?;
    for part in parts.iter().take(parts.len().saturating_sub(1)) {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        at = match openat(&at, *part, flags, Mode::empty()) {
            Ok(next) => next,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => {
                let part = escape::bytes(part);
                return Err(format!("{part} is not a directory (links are not followed)"));
            }
            Err(errno) => return Err(io::Error::from(errno).to_string()),
        };
    }
    Ok(Some(at))
}

fn look(root: BorrowedFd<'_>, expected: &Expected) -> Result<State, String> {
    let parts = components(&expected.path)?;
    let Some(name) = parts.last() else { return Ok(State::There) };
    let Some(parent) = above(root, &parts)? else { return Ok(State::Absent) };
    let facts = match statat(&parent, *name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(facts) => facts,
        Err(Errno::NOENT) => return Ok(State::Absent),
        Err(errno) => return Err(io::Error::from(errno).to_string()),
    };
    match (&expected.what, FileType::from_raw_mode(facts.st_mode)) {
        (_, FileType::Symlink) => Ok(State::There),
        (Thing::Link(_), _) => Err("a symbolic link is expected, something else is there".into()),
        (Thing::Directory, FileType::Directory) => Ok(State::There),
        (Thing::Directory, _) => Err("a directory is expected, something else is there".into()),
        // Only asked for by name: what it is does not matter.
        (Thing::File { size_bytes: 0, whole: false }, _) => Ok(State::There),
        (Thing::File { size_bytes, .. }, FileType::RegularFile) => {
            let has = u64::try_from(facts.st_size).unwrap_or(0);
            Ok(if has < *size_bytes { State::Short(has) } else { State::There })
        }
        (Thing::File { .. }, _) => Err("a file is expected, something else is there".into()),
    }
}

fn make(root: BorrowedFd<'_>, missing: &Missing, seed: u64) -> Result<(), String> {
    let said = |errno: Errno| io::Error::from(errno).to_string();
    let path = &missing.expected.path;
    let parts = components(path)?;
    let Some(name) = parts.last() else { return Ok(()) };
    let parent = above(root, &parts)?.ok_or("the directory above it is not there")?;
    let size_bytes = match &missing.expected.what {
        Thing::File { size_bytes, .. } => *size_bytes,
        Thing::Directory => {
            return mkdirat(&parent, *name, DIRECTORY_MODE).map_err(said);
        }
        Thing::Link(target) if !target.starts_with(b"/") && !link_leaves(target, path) => {
            return symlinkat(&target[..], &parent, *name).map_err(said);
        }
        Thing::Link(_) => return Err("the link would leave the directory".into()),
    };
    let fresh = match missing.has_bytes {
        None => OFlags::CREATE | OFlags::EXCL,
        Some(_) => OFlags::empty(),
    };
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | fresh;
    let file = openat(&parent, *name, flags, FILE_MODE).map_err(said)?;
    // What has grown meanwhile keeps its data.
    let has = u64::try_from(fstat(&file).map_err(said)?.st_size).unwrap_or(0);
    fill(&File::from(file), path, has..size_bytes, seed).map_err(|error| error.to_string())
}

/// Writes data that no other file has, and that none compresses.
fn fill(file: &File, path: &[u8], range: std::ops::Range<u64>, seed: u64) -> io::Result<()> {
    let mut block = vec![0; BLOCK_BYTES];
    // Another stream for another name.
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ fnv1a(path));
    let mut at = range.start;
    while at < range.end {
        let count = (range.end - at).min(BLOCK_BYTES as u64) as usize;
        random.fill_bytes(&mut block[..count]);
        file.write_all_at(&block[..count], at)?;
        at += count as u64;
    }
    (&*file).flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn file(path: &str, size_bytes: u64) -> Expected {
        Expected { path: path.into(), what: Thing::File { size_bytes, whole: false } }
    }

    fn directory(path: &str) -> Expected {
        Expected { path: path.into(), what: Thing::Directory }
    }

    #[test]
    fn what_is_missing_is_made_and_what_is_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("d")).unwrap();
        fs::write(at("d/long"), vec![7; 100]).unwrap();
        fs::write(at("d/short"), b"abc").unwrap();
        let expected = [
            directory("d"),
            file("d/long", 50),
            file("d/short", 3_000_000),
            directory("e"),
            file("e/new", 10),
        ];
        let todo = Todo::compare(dir.path(), &expected).unwrap();
        let names: Vec<String> = todo.things.iter().map(Missing::describe).collect();
        assert_eq!(names, ["d/short", "e", "e/new"]);
        assert_eq!((todo.bytes(), todo.in_the_way.len()), (3_000_007, 0));
        assert_eq!(todo.lacks_room(dir.path()), None);
        todo.make(dir.path(), 42, || false).unwrap();
        assert_eq!(fs::read(at("d/long")).unwrap(), vec![7; 100]);
        let short = fs::read(at("d/short")).unwrap();
        assert_eq!((&short[..3], short.len()), (&b"abc"[..], 3_000_000));
        assert!(short.chunks(4096).all(|page| page.iter().any(|byte| *byte != 0)), "no holes");
        assert_eq!(fs::metadata(at("e/new")).unwrap().len(), 10);
        assert_eq!(Todo::compare(dir.path(), &expected).unwrap(), Todo::default());
    }

    #[test]
    fn nothing_outside_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, inside.join("link")).unwrap();
        symlink(outside.join("file"), inside.join("name")).unwrap();
        let wrong =
            [file("../out/a", 1), file("/tmp/a", 1), file("link/a", 1), file("d/../../out/b", 1)];
        let todo = Todo::compare(&inside, &wrong).unwrap();
        assert_eq!((todo.things.len(), todo.in_the_way.len()), (0, 4));
        // A link of that name is left as it is.
        assert_eq!(Todo::compare(&inside, &[file("name", 9)]).unwrap(), Todo::default());
        for expected in wrong.into_iter().chain([file("name", 9)]) {
            let todo =
                Todo { things: vec![Missing { expected, has_bytes: None }], ..Todo::default() };
            assert!(todo.make(&inside, 1, || false).is_err());
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }

    #[test]
    fn links_are_made_that_stay_inside() {
        let dir = tempfile::tempdir().unwrap();
        let link = |path: &str, text: &str| Expected {
            path: path.into(),
            what: Thing::Link(text.as_bytes().to_vec()),
        };
        let expected = [
            directory("a"),
            link("a/up", "../b"),
            link("here", "."),
            file("b", 3),
            link("c", "a/x"),
        ];
        let todo = Todo::compare(dir.path(), &expected).unwrap();
        todo.make(dir.path(), 1, || false).unwrap();
        assert_eq!(fs::read(dir.path().join("here/a/up")).unwrap().len(), 3);
        assert_eq!(Todo::compare(dir.path(), &expected).unwrap(), Todo::default());
        assert_eq!(Todo::compare(dir.path(), &[link("b", "a")]).unwrap().in_the_way.len(), 1);
        for text in ["/etc", "..", "a/../../b", "../../x", "", "a\0b"] {
            let todo = Todo::compare(dir.path(), &[link("new", text)]).unwrap();
            assert!(todo.make(dir.path(), 1, || false).is_err(), "{text:?}");
            assert!(fs::symlink_metadata(dir.path().join("new")).is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_stands_in_the_way_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f"), "").unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        let todo = Todo::compare(
            dir.path(),
            &[directory("f"), file("d", 1), file("f/g", 1), file("huge", u64::MAX)],
        );
        let todo = todo.unwrap();
        assert_eq!(todo.in_the_way.len(), 3, "{:?}", todo.in_the_way);
        assert!(todo.lacks_room(dir.path()).unwrap().contains("are free"));
        let nowhere = Todo::compare(&dir.path().join("nowhere"), &[file("a", 1)]).unwrap();
        assert_eq!(nowhere.things.len(), 1);
    }
}

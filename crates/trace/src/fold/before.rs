//! Which files and directories must be there before a program starts, as its log shows.
//!
//! A name that is used before anything makes it was there. A file was as long as reads show that
//! meet bytes which nobody has written.

use super::log::{Log, Logged};
use super::merged::Merged;
use crate::strace::{O_CREAT, O_EXCL, O_TRUNC};
use model::Op;
use model::directory::is_whole;
use model::event::{FLAG_SHORT, FLAG_UNPLACED, NO_ID};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What stands at a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A file of this size.
    File {
        /// Bytes.
        size_bytes: u64,
    },
}

/// Something that must be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// Its name, below the directory of the run.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: Kind,
}

/// What a log shows of what was there before it, directories before what is in them.
pub fn before(log: &Log) -> Vec<Before> {
    let mut world = World::default();
    for (_, entry) in Merged::of(log, |entry| entry.event.start_ns) {
        world.follow(log, &entry);
    }
    let mut found = world.found();
    found.retain(|before| !is_whole(&log.directories, &before.path));
    found
}

/// A file or directory.
#[derive(Clone, Copy, Debug, Default)]
struct Thing {
    is_directory: bool,
    /// It was there before; bytes that it must have had.
    was_there: bool,
    size_bytes: u64,
    /// Bytes up to here were written, or cut off.
    written_bytes: u64,
}

/// What is known of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Absent,
    Thing(usize),
}

#[derive(Default)]
struct World {
    names: BTreeMap<Vec<u8>, State>,
    things: Vec<Thing>,
    /// Name under which things were there before.
    first: HashMap<usize, Vec<u8>>,
    open: HashMap<u32, usize>,
    /// Names that are directories if there is something: names below them were missing.
    only_directories: HashSet<Vec<u8>>,
}

/// Names of the directories above a name.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(at, byte)| **byte == b'/' && *at > 0);
    slashes.map(|(at, _)| &path[..at])
}

const ENOENT: u16 = 2;
const EEXIST: u16 = 17;
const EISDIR: u16 = 21;
const ENOTEMPTY: u16 = 39;

impl World {
    fn follow(&mut self, log: &Log, entry: &Logged) {
        let Some(op) = entry.op() else { return };
        let event = &entry.event;
        if event.path == NO_ID || super::log::takes_handle(op) {
            return self.handle(log, op, entry);
        }
        let path = log.path(event.path).to_vec();
        match event.errno {
            0 => {}
            ENOENT => return self.missing(&path),
            EEXIST | EISDIR | ENOTEMPTY => {
                self.was(&path, op == Op::Rmdir || op == Op::Mkdir || event.errno == EISDIR);
                return;
            }
            _ => return,
        }
        self.parents(&path);
        self.succeeded(log, op, entry, path);
    }

    fn succeeded(&mut self, log: &Log, op: Op, entry: &Logged, path: Vec<u8>) {
        let event = &entry.event;
        let flags = if entry.details.open_flags == NO_ID { 0 } else { entry.details.open_flags };
        match op {
            Op::Fopen | Op::Pfopen if flags & O_CREAT != 0 => {
                // All members of a group have made it.
                let thing = self.made(&path, op == Op::Fopen && flags & O_EXCL != 0);
                self.opened(entry, thing, flags & O_TRUNC != 0);
            }
            Op::Fopen | Op::Pfopen => {
                let thing = self.was(&path, flags & 0o200000 != 0);
                self.opened(entry, thing, flags & O_TRUNC != 0);
            }
            Op::Fcreat => {
                let thing = self.made(&path, false);
                self.opened(entry, thing, true);
            }
            Op::Create | Op::Write | Op::Append => {
                let thing = self.made(&path, false);
                if op == Op::Append {
                    self.append(thing, event.offset_bytes);
                } else {
                    self.things[thing].written_bytes = u64::MAX;
                }
                self.wrote(thing, event.offset_bytes + event.done_bytes);
            }
            Op::Read => {
                let thing = self.was(&path, false);
                self.read(thing, entry, event.offset_bytes + event.done_bytes);
            }
            Op::Pwrite => {
                let thing = self.made(&path, false);
                self.wrote(thing, log.touched(event).1);
            }
            Op::Pread => {
                let thing = self.was(&path, false);
                self.read(thing, entry, log.touched(event).1);
            }
            Op::Mkdir => {
                let thing = self.put(&path, true);
                self.things[thing].is_directory = true;
            }
            Op::Readdir => drop(self.was(&path, true)),
            Op::Delete | Op::Pdelete | Op::Rmdir => {
                self.was(&path, op == Op::Rmdir);
                self.names.insert(path, State::Absent);
            }
            Op::Rename => {
                self.was(&path, false);
                self.rename(&path, log.path(event.path2));
            }
            Op::Link | Op::Copy | Op::Reflink => {
                let thing = self.was(&path, false);
                let to = log.path(event.path2).to_vec();
                self.parents(&to);
                match op {
                    Op::Link => drop(self.names.insert(to, State::Thing(thing))),
                    _ => {
                        let copied = self.made(&to, false);
                        self.things[copied].written_bytes = u64::MAX;
                    }
                }
            }
            Op::Symlink => {
                let to = log.path(event.path2).to_vec();
                self.parents(&to);
                self.put(&to, false);
            }
            Op::Tmpfile => {}
            _ => drop(self.was(&path, false)),
        }
    }

    /// Operations on open files.
    fn handle(&mut self, log: &Log, op: Op, entry: &Logged) {
        let event = &entry.event;
        if event.path == NO_ID || event.errno != 0 {
            return;
        }
        let thing = match self.open.get(&entry.details.instance) {
            Some(thing) => *thing,
            None => {
                let path = log.path(event.path).to_vec();
                self.parents(&path);
                let writes = matches!(op, Op::Fwrite | Op::Writev | Op::Pfwrite);
                let thing = if writes { self.made(&path, false) } else { self.was(&path, false) };
                self.open.insert(entry.details.instance, thing);
                thing
            }
        };
        match op {
            Op::Pfread if event.flags & FLAG_UNPLACED != 0 => {}
            Op::Fread | Op::Readv | Op::Pfread => self.read(thing, entry, log.touched(event).1),
            Op::Fwrite | Op::Writev | Op::Pfwrite => self.wrote(thing, log.touched(event).1),
            Op::Ftruncate | Op::Pfsetsize | Op::Pfpreallocate => {
                self.things[thing].written_bytes = u64::MAX;
            }
            _ => {}
        }
    }

    fn opened(&mut self, entry: &Logged, thing: usize, cuts: bool) {
        if cuts {
            self.things[thing].written_bytes = u64::MAX;
        }
        self.open.insert(entry.details.instance, thing);
    }

    fn read(&mut self, thing: usize, entry: &Logged, end: u64) {
        let event = &entry.event;
        let thing = &mut self.things[thing];
        let shows_end = thing.was_there && event.flags & FLAG_SHORT != 0;
        if end > thing.written_bytes && (event.done_bytes > 0 || shows_end) {
            thing.was_there = true;
            thing.size_bytes = thing.size_bytes.max(end);
        }
    }

    fn wrote(&mut self, thing: usize, end: u64) {
        let thing = &mut self.things[thing];
        thing.written_bytes = thing.written_bytes.max(end);
    }

    /// Where bytes were appended shows how long the file was.
    fn append(&mut self, thing: usize, at: u64) {
        let thing = &mut self.things[thing];
        if at > thing.written_bytes {
            thing.was_there = true;
            thing.size_bytes = thing.size_bytes.max(at);
        }
    }

    /// The name is missing, which is said of nothing below a file.
    fn missing(&mut self, path: &[u8]) {
        for above in above(path) {
            match self.names.get(above) {
                Some(State::Thing(thing)) => self.things[*thing].is_directory = true,
                Some(State::Absent) => return,
                None if self.only_directories.contains(above) => {}
                None => drop(self.only_directories.insert(above.to_vec())),
            }
        }
    }

    /// The name exists, so it was there unless something made it.
    fn was(&mut self, path: &[u8], is_directory: bool) -> usize {
        match self.names.get(path) {
            Some(State::Thing(thing)) => {
                self.things[*thing].is_directory |= is_directory;
                *thing
            }
            _ => {
                let is_directory = is_directory || self.only_directories.contains(path);
                let thing = self.put(path, is_directory);
                self.things[thing].was_there = true;
                self.first.insert(thing, path.to_vec());
                thing
            }
        }
    }

    /// The name exists now, and may have been there before only if something shows it.
    fn made(&mut self, path: &[u8], is_new: bool) -> usize {
        match self.names.get(path) {
            Some(State::Thing(thing)) if !is_new => *thing,
            known => {
                let is_unknown = known.is_none() && !is_new;
                let thing = self.put(path, false);
                if is_unknown {
                    self.first.insert(thing, path.to_vec());
                }
                thing
            }
        }
    }

    fn put(&mut self, path: &[u8], is_directory: bool) -> usize {
        self.things.push(Thing { is_directory, ..Thing::default() });
        let thing = self.things.len() - 1;
        self.names.insert(path.to_vec(), State::Thing(thing));
        thing
    }

    /// Directories above a name that exists.
    fn parents(&mut self, path: &[u8]) {
        for above in above(path) {
            self.was(above, true);
        }
    }

    fn rename(&mut self, from: &[u8], to: &[u8]) {
        self.parents(to);
        let below: Vec<u8> = [from, b"/"].concat();
        let inner: Vec<(Vec<u8>, State)> = self
            .names
            .range(below.clone()..)
            .take_while(|(name, _)| name.starts_with(&below))
            .map(|(name, state)| (name.clone(), *state))
            .collect();
        for (name, state) in inner {
            self.names.insert(name.clone(), State::Absent);
            self.names.insert([to, &name[from.len()..]].concat(), state);
        }
        if let Some(state) = self.names.insert(from.to_vec(), State::Absent) {
            self.names.insert(to.to_vec(), state);
        }
    }

    fn found(self) -> Vec<Before> {
        let mut found: Vec<Before> = Vec::new();
        for (thing, path) in self.first {
            let Thing { is_directory, was_there, size_bytes, .. } = self.things[thing];
            if !was_there || path.is_empty() || path == b"." {
                continue;
            }
            let kind = if is_directory { Kind::Directory } else { Kind::File { size_bytes } };
            found.push(Before { path, kind });
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }
}

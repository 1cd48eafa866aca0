//! Files and directories that must exist before a program starts, as its log shows.
//!
//! A name that is used before anything makes it was there. A file was as long as reads show that
//! meet bytes which nobody has written, or when it was removed.
//!
//! Names through symbolic links are replaced by their targets.

use super::log::Log;
use super::logged::{Logged, takes_handle};
use super::merged::Merged;
use model::Op;
use model::directory::is_whole;
use model::event::{
    FLAG_AT_POSITION, FLAG_KEEPS_SIZE, FLAG_SHORT, FLAG_UNPLACED, NO_ID, RENAME_EXCHANGE,
};
use model::links::{target_of_link, text_of_link};
use model::open_flags::{O_APPEND, O_CREAT, O_EXCL, O_TRUNC};
use model::rehearsal::{Expected, Thing};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Files and directories that existed before the log, each directory before its content.
pub fn before(log: &Log) -> Vec<Expected> {
    let mut world = World::default();
    world.find_links(log);
    for (_, entry) in Merged::new(log, |entry| entry.event.start_ns) {
        match entry.op() {
            Some(Op::Freflink) => world.share_open(log, &entry),
            _ => entry.parts().for_each(|part| world.follow(log, &part)),
        }
    }
    let mut found = world.found();
    found.retain(|before| !is_whole(&log.directories, &before.path));
    found
}

/// A file, directory or link.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    is_directory: bool,
    /// It was there before; bytes that it must have had.
    was_there: bool,
    size_bytes: u64,
    /// Bytes up to here were written, or cut off.
    written_bytes: u64,
    /// Those behind are the ones of this file, which nobody knows the size of.
    shares: Option<usize>,
}

/// State of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Absent,
    Thing(usize),
}

/// The file or directory of a name, or above it.
struct Named {
    /// By the rest of the name.
    states: Vec<(Vec<u8>, State)>,
    /// Target of a link.
    link: Option<Vec<u8>>,
}

#[derive(Default)]
struct World {
    names: BTreeMap<Vec<u8>, State>,
    things: Vec<Seen>,
    /// Name under which things were there before.
    first: HashMap<usize, Vec<u8>>,
    open: HashMap<u32, usize>,
    /// Open files whose writes go to their ends.
    appending: HashSet<u32>,
    /// Names that are directories if there is something: names below them were missing.
    only_directories: HashSet<Vec<u8>>,
    /// Symbolic links that are there now, and what they lead to.
    links: HashMap<Vec<u8>, Vec<u8>>,
    /// Targets of links that existed before.
    targets: HashMap<usize, Vec<u8>>,
}

/// Links on the way of a name, as the kernel follows them.
const LINKS_MAX: usize = 40;

/// Names of the directories above a name.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(at, byte)| **byte == b'/' && *at > 0);
    slashes.map(|(at, _)| &path[..at])
}

const ENOENT: u16 = 2;
const EEXIST: u16 = 17;
const EISDIR: u16 = 21;
const EINVAL: u16 = 22;
const ENOTEMPTY: u16 = 39;

impl World {
    fn follow(&mut self, log: &Log, entry: &Logged) {
        let Some(op) = entry.op() else { return };
        let event = &entry.event;
        if event.path == NO_ID || takes_handle(op) {
            return self.handle(log, op, entry);
        }
        // What a symbolic link holds is no name.
        let name = if op == Op::Symlink { event.path2 } else { event.path };
        let path = self.real(log.path(name), follows(op));
        match event.errno {
            0 => {}
            ENOENT => {
                self.missing(&path);
                let to = self.real(log.path(event.path2), false);
                // Of two names the other one can be missing, or what it is to be in.
                if event.path2 == NO_ID || self.is_in_known(&to) {
                    self.names.entry(path).or_insert(State::Absent);
                }
                return;
            }
            // It is there, and no link.
            EINVAL if op == Op::Readlink => {
                self.parents(&path);
                self.was(&path, false);
                return;
            }
            EEXIST | EISDIR | ENOTEMPTY => {
                self.was(&path, op == Op::Rmdir || op == Op::Mkdir || event.errno == EISDIR);
                return;
            }
            _ => return,
        }
        self.parents(&path);
        self.succeeded(log, op, entry, path);
    }

    /// Links that were there before.
    fn find_links(&mut self, log: &Log) {
        for (link, target) in &log.links {
            let (path, target) = (log.path(*link).to_vec(), log.path(*target).to_vec());
            self.links.insert(path, target);
        }
        for (link, target) in self.links.clone() {
            // The log may name it through another link.
            let path = self.real(&link, false);
            self.links.remove(&link);
            self.links.insert(path.clone(), target.clone());
            self.parents(&path);
            let thing = self.was(&path, false);
            self.targets.insert(thing, text_of_link(&path, &target));
        }
    }

    /// Resolves links of the directories above, and the last one if it `follows`.
    fn real(&self, path: &[u8], follows: bool) -> Vec<u8> {
        let mut path = path.to_vec();
        if self.links.is_empty() {
            return path;
        }
        for _ in 0..LINKS_MAX {
            let all = above(&path).chain(follows.then_some(&path[..]));
            let found = all.filter_map(|part| Some((part.len(), self.links.get(part)?))).next();
            let Some((length, target)) = found else { break };
            let rest = &path[length..];
            path = match (&target[..], rest) {
                (b".", b"") => b".".to_vec(),
                (b".", rest) => rest[1..].to_vec(),
                (target, rest) => [target, rest].concat(),
            };
        }
        path
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
                if let Some(end) = self.end(log, entry) {
                    self.read(thing, entry, end);
                }
            }
            Op::Truncate => {
                let thing = self.was(&path, false);
                self.things[thing].written_bytes = u64::MAX;
            }
            Op::Mkdir => {
                let thing = self.put(&path, true);
                self.things[thing].is_directory = true;
            }
            Op::Readdir => drop(self.was(&path, true)),
            Op::Delete | Op::Pdelete | Op::Rmdir => {
                let thing = self.was(&path, op == Op::Rmdir);
                // What was made in the log may have grown by ways that it does not show.
                let known = log.sizes.get(&event.path);
                if let Some(bytes) = known.filter(|_| self.things[thing].was_there) {
                    self.append(thing, *bytes);
                }
                self.links.remove(&path);
                self.names.insert(path, State::Absent);
            }
            Op::Rename => {
                self.was(&path, false);
                let to = self.real(log.path(event.path2), false);
                match event.requested_bytes {
                    RENAME_EXCHANGE => self.exchange(&path, &to),
                    _ => self.rename(&path, &to),
                }
            }
            Op::Link | Op::Copy | Op::Reflink => {
                let thing = self.was(&path, false);
                let to = self.real(log.path(event.path2), false);
                self.parents(&to);
                if op == Op::Link {
                    self.names.insert(to, State::Thing(thing));
                    return;
                }
                self.read(thing, entry, event.from_bytes + event.done_bytes);
                let copied = self.made(&to, false);
                self.things[copied].written_bytes = u64::MAX;
                if op == Op::Reflink {
                    self.share(None, thing, copied);
                }
            }
            Op::Symlink => {
                self.put(&path, false);
                let target = target_of_link(&path, log.path(event.path));
                self.links.insert(path, target);
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
        let thing = self.of_open(log, op, entry);
        match op {
            Op::Fread | Op::Readv | Op::Pfread => {
                if let Some(end) = self.end(log, entry) {
                    self.read(thing, entry, end);
                }
            }
            Op::Fwrite | Op::Writev | Op::Pfwrite => {
                let appends = self.appending.contains(&entry.details.instance);
                if appends && event.flags & FLAG_UNPLACED == 0 {
                    self.append(thing, event.offset_bytes);
                }
                let end = self.end(log, entry);
                self.wrote(thing, end.unwrap_or(u64::MAX));
            }
            Op::Linkat => {
                let path = self.real(log.path(event.path), false);
                self.parents(&path);
                self.names.insert(path, State::Thing(thing));
            }
            Op::Fallocate if event.flags & FLAG_KEEPS_SIZE == 0 => {
                self.wrote(thing, event.offset_bytes.saturating_add(event.requested_bytes));
            }
            Op::Ftruncate | Op::Pfsetsize | Op::Pfpreallocate => {
                self.things[thing].written_bytes = u64::MAX;
            }
            _ => {}
        }
    }

    /// One past the last byte that an operation touched; relative to where its open file was at first, if
    /// nobody knows where that is. `None`: it can be anywhere.
    fn end(&self, log: &Log, entry: &Logged) -> Option<u64> {
        let event = &entry.event;
        let is_mpi = entry.op().is_some_and(Op::is_mpi_io);
        let goes_on = event.flags & FLAG_AT_POSITION != 0
            && !is_mpi
            && !self.appending.contains(&entry.details.instance);
        match event.flags & FLAG_UNPLACED != 0 {
            true if goes_on => Some(event.offset_bytes.saturating_add(event.done_bytes)),
            true => None,
            false => Some(log.touched(event).1),
        }
    }

    /// The thing that an open file is.
    fn of_open(&mut self, log: &Log, op: Op, entry: &Logged) -> usize {
        if let Some(thing) = self.open.get(&entry.details.instance) {
            return *thing;
        }
        let path = self.real(log.path(entry.event.path), true);
        self.parents(&path);
        let writes = matches!(op, Op::Fwrite | Op::Writev | Op::Pfwrite);
        let thing = if writes { self.made(&path, false) } else { self.was(&path, false) };
        self.open.insert(entry.details.instance, thing);
        thing
    }

    /// An open file gets bytes of another one.
    fn share_open(&mut self, log: &Log, entry: &Logged) {
        let event = &entry.event;
        if event.errno != 0 || event.path == NO_ID || event.path2 == NO_ID {
            return;
        }
        let things = entry.parts().map(|part| self.of_open(log, Op::Freflink, &part));
        let [source, target] = things.collect::<Vec<_>>()[..] else { return };
        match event.requested_bytes {
            0 => self.share(log.sizes.get(&event.path2), source, target),
            bytes => {
                self.append(source, event.from_bytes + bytes);
                self.wrote(target, event.offset_bytes + bytes);
            }
        }
    }

    /// A file gets all bytes of another one, which is so long if that is known.
    fn share(&mut self, known: Option<&u64>, source: usize, target: usize) {
        if let Some(bytes) = known.filter(|_| self.things[source].was_there) {
            self.append(source, *bytes);
            self.things[target].written_bytes = u64::MAX;
            return;
        }
        let source = self.origin(source, u64::MAX);
        if source != target {
            let written_bytes = self.things[source].written_bytes;
            self.things[target].written_bytes = written_bytes;
            self.things[target].shares = Some(source);
        }
    }

    /// The file that bytes up to `end` come from.
    fn origin(&self, thing: usize, end: u64) -> usize {
        let mut at = thing;
        while let Some(next) =
            self.things[at].shares.filter(|_| end > self.things[at].written_bytes)
        {
            at = next;
        }
        at
    }

    fn opened(&mut self, entry: &Logged, thing: usize, cuts: bool) {
        if cuts {
            self.things[thing].written_bytes = u64::MAX;
        }
        let flags = entry.details.open_flags;
        if flags != NO_ID && flags & O_APPEND != 0 {
            self.appending.insert(entry.details.instance);
        }
        self.open.insert(entry.details.instance, thing);
    }

    fn read(&mut self, thing: usize, entry: &Logged, end: u64) {
        let event = &entry.event;
        let origin = self.origin(thing, end);
        let thing = &mut self.things[origin];
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

    /// Where bytes were appended, or how long it was in the end, shows how long the file was.
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
        self.things.push(Seen { is_directory, ..Seen::default() });
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

    /// The directory that the name is in is there.
    fn is_in_known(&self, path: &[u8]) -> bool {
        let parent = above(path).last().map(|parent| self.names.get(parent));
        parent.is_none_or(|known| matches!(known, Some(State::Thing(_))))
    }

    fn rename(&mut self, from: &[u8], to: &[u8]) {
        self.parents(to);
        if self.names.get(from) == self.names.get(to) {
            // Two names of one file stay.
            return;
        }
        let inner = self.take(from);
        self.put_all(to, inner);
    }

    fn exchange(&mut self, from: &[u8], to: &[u8]) {
        self.parents(to);
        self.was(to, false);
        let (one, other) = (self.take(from), self.take(to));
        self.put_all(to, one);
        self.put_all(from, other);
    }

    /// A name and those below it are no longer there: what they were, by the rest of the name.
    fn take(&mut self, name: &[u8]) -> Named {
        let below: Vec<u8> = [name, b"/"].concat();
        let inner = self.names.range_mut(below.clone()..);
        let inner = inner.take_while(|(inner, _)| inner.starts_with(&below));
        let mut states: Vec<(Vec<u8>, State)> = inner
            .map(|(inner, state)| {
                (inner[name.len()..].to_vec(), std::mem::replace(state, State::Absent))
            })
            .collect();
        let own = self.names.insert(name.to_vec(), State::Absent);
        states.extend(own.map(|state| (Vec::new(), state)));
        Named { states, link: self.links.remove(name) }
    }

    fn put_all(&mut self, name: &[u8], taken: Named) {
        for (rest, state) in taken.states {
            self.names.insert([name, &rest].concat(), state);
        }
        if let Some(target) = taken.link {
            self.links.insert(name.to_vec(), target);
        }
    }

    fn found(mut self) -> Vec<Expected> {
        let mut found: Vec<Expected> = Vec::new();
        for (thing, path) in self.first {
            let Seen { is_directory, was_there, size_bytes, .. } = self.things[thing];
            if !was_there || path.is_empty() || path == b"." {
                continue;
            }
            let what = match self.targets.remove(&thing) {
                Some(target) => Thing::Link(target),
                None if is_directory => Thing::Directory,
                None => Thing::File { size_bytes, whole: false },
            };
            found.push(Expected { path, what });
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }
}

/// The operation works on what a link leads to.
fn follows(op: Op) -> bool {
    use Op::*;
    !matches!(op, Lstat | Readlink | Delete | Pdelete | Rmdir | Mkdir | Rename | Link | Symlink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Events;
    use model::Event;
    use model::run::TraceFound;

    /// Operations on paths by number, and errors.
    fn log(paths: &[&str], operations: &[(Op, u32, u16)], found: &[TraceFound]) -> Log {
        let mut events = Events::default();
        for (at, (op, path, errno)) in (0..).zip(operations) {
            let event = Event {
                start_ns: at,
                end_ns: at,
                path: *path,
                path2: NO_ID,
                op: *op as u8,
                errno: *errno,
                ..Event::default()
            };
            events.push(&Logged { event, ..Logged::default() });
        }
        let paths = paths.iter().map(|path| path.as_bytes().to_vec()).collect();
        let mut log = Log { paths, ranks: vec![events], imported: true, ..Log::default() };
        log.take_found(found);
        log
    }

    fn link(path: &str, target: &str) -> TraceFound {
        TraceFound { path: path.into(), target: Some(target.into()), ..TraceFound::default() }
    }

    fn show(log: &Log) -> Vec<String> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let one = |one: &Expected| match &one.what {
            Thing::Directory => format!("{}/", text(&one.path)),
            Thing::File { size_bytes, .. } => format!("{} {size_bytes}", text(&one.path)),
            Thing::Link(target) => format!("{} -> {}", text(&one.path), text(target)),
        };
        before(log).iter().map(one).collect()
    }

    #[test]
    fn names_through_links_are_those_of_what_they_lead_to() {
        let found = [
            link("a/l", "b"),
            link("a/l/deep", "e"),
            link("top", "."),
            link("round", "round/x"),
            link("f", "g"),
        ];
        let operations = [
            (Op::Stat, 0, 0),
            (Op::Readlink, 1, 0),
            (Op::Lstat, 2, 0),
            (Op::Stat, 3, 0),
            (Op::Delete, 4, 0),
            (Op::Stat, 4, 2),
            (Op::Mkdir, 5, 17),
        ];
        let log = log(&["a/l/c", "a/l", "top/d", "round", "f", "a/l/deep/h"], &operations, &found);
        let expected = [
            "a/",
            "a/l -> ../b",
            "b/",
            "b/c 0",
            "b/deep -> ../e",
            "d 0",
            "e/h/",
            "f -> g",
            "round -> round/x",
            "top -> .",
        ];
        let mut all = show(&log);
        all.retain(|one| !one.starts_with("round/"));
        assert_eq!(all, expected);
    }

    #[test]
    fn a_file_that_is_only_removed_was_as_long_as_the_log_tells() {
        let size = |path: &str, bytes| TraceFound {
            path: path.into(),
            size_bytes: Some(bytes),
            ..TraceFound::default()
        };
        let operations = [(Op::Delete, 0, 0), (Op::Write, 1, 0), (Op::Delete, 1, 0)];
        let log = log(&["old", "new"], &operations, &[size("old", 5000), size("new", 7)]);
        assert_eq!(show(&log), ["old 5000"]);
    }
}

//! Files and directories as the operations of a log find and change them: which were there before, and how long they
//! were.
//!
//! A name that is used before anything makes it was there. A file was as long as reads show that
//! meet bytes which nobody has written, or when it was removed.
//!
//! Names through symbolic links are replaced by their targets.

use super::log::Log;
use super::logged::{EEXIST, EINVAL, EISDIR, ENOENT, ENOTEMPTY, Logged};
use model::Op;
use model::directory::{is_whole, target_of_link, text_of_link};
use model::event::{
    Event, FLAG_AT_POSITION, FLAG_KEEPS_SIZE, FLAG_SHORT, FLAG_UNPLACED, NO_ID, RENAME_EXCHANGE,
};
use model::op::{ByteEffect, NameEffect};
use model::open_flags::{O_APPEND, O_DIRECTORY, O_TRUNC};
use model::rehearsal::{Expected, Thing};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A file, directory or link.
#[derive(Clone, Debug, Default)]
struct Seen {
    is_directory: bool,
    /// It was there before; bytes that it must have had.
    was_there: bool,
    size_bytes: u64,
    /// Bytes up to here were written, or cut off.
    written_bytes: u64,
    /// Bytes that were appended while nobody knew how long it was.
    appended_bytes: u64,
    /// Some bytes of it were written.
    is_written: bool,
    /// The name under which it was there before, if it was.
    first: Option<Vec<u8>>,
    /// The text of a link that was there before.
    link: Option<Vec<u8>>,
}

/// A file that was opened and had been there before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// How long it was, as far as the log shows, bytes.
    pub bytes: u64,
    /// A read met its end: it was not longer.
    pub to_end: bool,
}

/// The files of a log at one time.
#[derive(Debug, Default)]
pub struct World {
    /// The file of each name; `None` if the name does not exist.
    names: BTreeMap<Vec<u8>, Option<usize>>,
    things: Vec<Seen>,
    open: HashMap<u32, usize>,
    /// Open files whose writes go to their ends.
    appending: HashSet<u32>,
    /// Names that are directories if there is something: names below them were missing.
    only_directories: HashSet<Vec<u8>>,
    /// Symbolic links that are there now, and what they lead to.
    links: HashMap<Vec<u8>, Vec<u8>>,
    /// Names and files of reads that met an end, and of changes of modes.
    short_reads: HashSet<(u32, usize)>,
    /// Names and files of opens that cut nothing off.
    opens: HashSet<(u32, usize)>,
    /// Files that were there before of which a read met the end.
    read_to_end: HashSet<usize>,
    modes: HashSet<(u32, usize)>,
}

/// Links on the way of a name, as the kernel follows them.
const LINKS_MAX: usize = 40;

/// Names of the directories above a name.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(at, byte)| **byte == b'/' && *at > 0);
    slashes.map(|(at, _)| &path[..at])
}

/// The place of the name that an operation is about: what a symbolic link holds is none.
fn own_name(op: Op, event: &Event) -> u32 {
    if op == Op::Symlink { event.path2 } else { event.path }
}

impl World {
    /// Nothing has happened yet but what the log reports beside operations.
    pub fn new(log: &Log) -> World {
        let mut world = World::default();
        for (link, target) in &log.links {
            world.links.insert(log.path(*link).to_vec(), log.path(*target).to_vec());
        }
        for (link, target) in world.links.clone() {
            // The log may name it through another link.
            let path = world.real(&link, false);
            world.links.remove(&link);
            world.links.insert(path.clone(), target.clone());
            world.use_parents(&path);
            let thing = world.used(&path, false);
            world.things[thing].link = Some(text_of_link(&path, &target));
        }
        world
    }

    /// There is something of that name, as far as that is known.
    pub fn has(&self, path: &[u8]) -> Option<bool> {
        self.names.get(&self.real(path, true)).map(Option::is_some)
    }

    /// The operation cannot have ended so now: another one that begins before its end comes first.
    pub fn contradicts(&self, log: &Log, entry: &Logged) -> bool {
        use NameEffect::*;
        let (event, effect) = (&entry.event, entry.name_effect());
        let (Some(op), Some(effect)) = (entry.op(), effect) else { return false };
        if event.path == NO_ID || op.takes_handle() || effect == Text {
            return false;
        }
        let path = log.path(event.path);
        let own = self.has(path);
        let lacks_parent = above(path).any(|parent| self.has(parent) == Some(false));
        match (event.errno, effect) {
            (0, MakesNew) => own == Some(true) || lacks_parent,
            (0, Makes) => lacks_parent,
            (0, _) => own == Some(false) || lacks_parent,
            (EEXIST, _) => own != Some(true),
            // What is made is missing: its directory was.
            (ENOENT, Makes | MakesNew) => {
                above(path).last().and_then(|parent| self.has(parent)) == Some(true)
                    && !lacks_parent
            }
            (ENOENT, _) if event.path2 == NO_ID => own == Some(true) && !lacks_parent,
            _ => false,
        }
    }

    /// Follows an operation.
    pub fn follow(&mut self, log: &Log, entry: &Logged) {
        match entry.op() {
            Some(Op::Freflink) => self.share_open(log, entry),
            _ => entry.parts().for_each(|part| self.follow_part(log, &part)),
        }
    }

    fn follow_part(&mut self, log: &Log, entry: &Logged) {
        let (event, Some(op)) = (&entry.event, entry.op()) else { return };
        if event.path == NO_ID {
            return;
        }
        if op.takes_handle() {
            if entry.is_ok() {
                let thing = self.opened_thing(log, op, entry);
                self.move_bytes(log, op, entry, thing);
            }
            return;
        }
        let itself = [NameEffect::UsesItself, NameEffect::Removes, NameEffect::MakesNew];
        let effects = op.row().names;
        let effect = if op == Op::Symlink { effects.last() } else { effects.first() };
        let follows = !effect.is_some_and(|effect| itself.contains(effect));
        let path = self.real(log.path(own_name(op, event)), follows);
        match event.errno {
            0 => {
                self.use_parents(&path);
                self.succeed(log, op, entry, path);
            }
            ENOENT => self.miss(log, event, path),
            // It is there, and no link.
            EINVAL if op == Op::Readlink => {
                self.use_parents(&path);
                self.used(&path, false);
            }
            EEXIST | EISDIR | ENOTEMPTY => {
                self.used(&path, op == Op::Rmdir || op == Op::Mkdir || event.errno == EISDIR);
            }
            _ => {}
        }
    }

    /// Resolves links of the directories above, and the last one if it `follows`.
    fn real(&self, path: &[u8], follows: bool) -> Vec<u8> {
        let mut path = path.to_vec();
        let most = if self.links.is_empty() { 0 } else { LINKS_MAX };
        for _ in 0..most {
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

    fn succeed(&mut self, log: &Log, op: Op, entry: &Logged, path: Vec<u8>) {
        let (event, flags) = (&entry.event, entry.open_flags());
        let to = self.real(log.path(event.path2), false);
        let is_directory = matches!(op, Op::Readdir | Op::Rmdir) || flags & O_DIRECTORY != 0;
        let thing = match entry.name_effect() {
            _ if op == Op::Tmpfile => return,
            Some(NameEffect::Makes) => self.made(&path, false),
            Some(NameEffect::MakesNew | NameEffect::Text) => self.made(&path, true),
            _ => self.used(&path, is_directory),
        };
        match op {
            Op::Fopen | Op::Pfopen | Op::Fcreat => {
                self.opened(entry, thing, op == Op::Fcreat || flags & O_TRUNC != 0);
            }
            Op::Mkdir => self.things[thing].is_directory = true,
            Op::Chmod => drop(self.modes.insert((event.path, thing))),
            Op::Delete | Op::Pdelete | Op::Rmdir => {
                // What was made in the log may have grown by ways that it does not show.
                let known = log.sizes.get(&event.path);
                if let Some(bytes) = known.filter(|_| self.things[thing].was_there) {
                    self.append(thing, *bytes);
                }
                self.links.remove(&path);
                self.names.insert(path, None);
            }
            Op::Rename if event.requested_bytes == RENAME_EXCHANGE => self.exchange(&path, &to),
            Op::Rename => self.rename(&path, &to),
            Op::Link => {
                self.use_parents(&to);
                self.names.insert(to, Some(thing));
            }
            Op::Copy | Op::Reflink => {
                self.use_parents(&to);
                self.read(thing, entry, event.from_bytes + event.done_bytes);
                let copied = self.made(&to, false);
                self.set_size(copied);
            }
            Op::Symlink => {
                let target = target_of_link(&path, log.path(event.path));
                self.links.insert(path, target);
            }
            Op::Create => self.set_size(thing),
            _ => self.move_bytes(log, op, entry, thing),
        }
    }

    /// Applies an operation to the bytes of a file.
    fn move_bytes(&mut self, log: &Log, op: Op, entry: &Logged, thing: usize) {
        let event = &entry.event;
        match op.row().bytes {
            ByteEffect::Reads => {
                // Wherever it was: the file is as long as what was read of it.
                let least = event.offset_bytes.saturating_add(event.done_bytes);
                self.read(thing, entry, self.end(log, entry).unwrap_or(least));
            }
            ByteEffect::Writes => {
                let appends = op == Op::Append || self.appending.contains(&entry.details.instance);
                self.things[thing].is_written |= event.done_bytes > 0;
                if op == Op::Write {
                    self.set_size(thing);
                } else if appends && event.flags & FLAG_UNPLACED != 0 {
                    return self.things[thing].appended_bytes += event.done_bytes;
                } else if appends {
                    self.append(thing, event.offset_bytes);
                }
                let end = self.end(log, entry);
                self.wrote(thing, end.unwrap_or(u64::MAX));
            }
            ByteEffect::Resizes => self.set_size(thing),
            ByteEffect::Allocates if event.flags & FLAG_KEEPS_SIZE == 0 => {
                self.wrote(thing, event.offset_bytes.saturating_add(event.requested_bytes));
            }
            _ if op == Op::Linkat => {
                let path = self.real(log.path(event.path), false);
                self.use_parents(&path);
                self.names.insert(path, Some(thing));
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

    /// The file that an open one is.
    fn opened_thing(&mut self, log: &Log, op: Op, entry: &Logged) -> usize {
        let instance = entry.details.instance;
        if let Some(thing) = self.open.get(&instance).filter(|_| instance != NO_ID) {
            return *thing;
        }
        let path = self.real(log.path(entry.event.path), true);
        self.use_parents(&path);
        let writes = op.row().bytes == ByteEffect::Writes;
        let thing = if writes { self.made(&path, false) } else { self.used(&path, false) };
        self.open.insert(instance, thing);
        if !op.is_mpi_io() {
            self.opens.insert((entry.event.path, thing));
        }
        thing
    }

    fn opened(&mut self, entry: &Logged, thing: usize, cuts: bool) {
        if cuts {
            self.set_size(thing);
        } else if entry.op() == Some(Op::Fopen) {
            self.opens.insert((entry.event.path, thing));
        }
        if entry.open_flags() & O_APPEND != 0 {
            self.appending.insert(entry.details.instance);
        }
        self.open.insert(entry.details.instance, thing);
    }

    /// An open file gets bytes of another one.
    fn share_open(&mut self, log: &Log, entry: &Logged) {
        let event = &entry.event;
        if !entry.is_ok() || event.path == NO_ID || event.path2 == NO_ID {
            return;
        }
        let things = entry.parts().map(|part| self.opened_thing(log, Op::Freflink, &part));
        let [source, target] = things.collect::<Vec<_>>()[..] else { return };
        match event.requested_bytes {
            // All bytes, as many as the log may tell.
            0 => {
                let known = log.sizes.get(&event.path2);
                if let Some(bytes) = known.filter(|_| self.things[source].was_there) {
                    self.append(source, *bytes);
                }
                self.set_size(target);
            }
            bytes => {
                self.append(source, event.from_bytes + bytes);
                self.wrote(target, event.offset_bytes + bytes);
            }
        }
    }

    fn read(&mut self, thing: usize, entry: &Logged, end: u64) {
        let (event, number) = (&entry.event, thing);
        let is_short = event.done_bytes < event.requested_bytes;
        let thing = &mut self.things[thing];
        if is_short {
            self.short_reads.insert((event.path, number));
        }
        let shows_end = thing.was_there && event.flags & FLAG_SHORT != 0;
        let end = end.saturating_sub(thing.appended_bytes);
        if end > thing.written_bytes && (event.done_bytes > 0 || shows_end) {
            thing.was_there = true;
            thing.size_bytes = thing.size_bytes.max(end);
        }
        if is_short && thing.was_there && end >= thing.written_bytes {
            self.read_to_end.insert(number);
        }
    }

    fn wrote(&mut self, thing: usize, end: u64) {
        let thing = &mut self.things[thing];
        thing.written_bytes = thing.written_bytes.max(end);
    }

    /// From now on its bytes are those that the log made.
    fn set_size(&mut self, thing: usize) {
        self.things[thing].written_bytes = u64::MAX;
    }

    /// Where bytes were appended, or how long it was in the end, shows how long the file was.
    fn append(&mut self, thing: usize, at: u64) {
        let thing = &mut self.things[thing];
        let at = at.saturating_sub(thing.appended_bytes);
        if at > thing.written_bytes {
            thing.was_there = true;
            thing.size_bytes = thing.size_bytes.max(at);
        }
    }

    fn miss(&mut self, log: &Log, event: &Event, path: Vec<u8>) {
        for above in above(&path) {
            match self.names.get(above) {
                Some(Some(thing)) => self.things[*thing].is_directory = true,
                // Nothing is said of what is below a file.
                Some(None) => break,
                None => drop(self.only_directories.insert(above.to_vec())),
            }
        }
        let to = self.real(log.path(event.path2), false);
        let parent = above(&to).last().map(|parent| self.names.get(parent));
        // Of two names the other one can be missing, or what it is to be in.
        if event.path2 == NO_ID || parent.is_none_or(|known| matches!(known, Some(Some(_)))) {
            self.names.entry(path).or_insert(None);
        }
    }

    /// The name exists, so it was there unless something made it.
    fn used(&mut self, path: &[u8], is_directory: bool) -> usize {
        if let Some(Some(thing)) = self.names.get(path) {
            self.things[*thing].is_directory |= is_directory;
            return *thing;
        }
        let is_directory = is_directory || path == b"." || self.only_directories.contains(path);
        let first = Some(path.to_vec());
        self.put(path, Seen { is_directory, was_there: true, first, ..Seen::default() })
    }

    /// The name exists now, and may have been there before only if something shows it.
    fn made(&mut self, path: &[u8], is_new: bool) -> usize {
        match self.names.get(path) {
            Some(Some(thing)) if !is_new => *thing,
            known => {
                let first = (known.is_none() && !is_new).then(|| path.to_vec());
                self.put(path, Seen { first, ..Seen::default() })
            }
        }
    }

    fn put(&mut self, path: &[u8], seen: Seen) -> usize {
        self.things.push(seen);
        let thing = self.things.len() - 1;
        self.names.insert(path.to_vec(), Some(thing));
        thing
    }

    /// Directories above a name that exists.
    fn use_parents(&mut self, path: &[u8]) {
        for above in above(path) {
            self.used(above, true);
        }
    }

    fn rename(&mut self, from: &[u8], to: &[u8]) {
        self.use_parents(to);
        // Two names of one file stay.
        if self.names.get(from) != self.names.get(to) {
            let inner = self.take(from);
            self.put_all(to, inner);
        }
    }

    fn exchange(&mut self, from: &[u8], to: &[u8]) {
        self.use_parents(to);
        self.used(to, false);
        let (one, other) = (self.take(from), self.take(to));
        self.put_all(to, one);
        self.put_all(from, other);
    }

    /// A name and those below it are no longer there: what they were, by the rest of the name, and the target of a
    /// link.
    fn take(&mut self, name: &[u8]) -> Named {
        let below: Vec<u8> = [name, b"/"].concat();
        let inner = self.names.range_mut(below.clone()..);
        let inner = inner.take_while(|(inner, _)| inner.starts_with(&below));
        let inner = inner.map(|(inner, thing)| (inner[name.len()..].to_vec(), thing.take()));
        let mut all: Vec<_> = inner.collect();
        let own = self.names.insert(name.to_vec(), None);
        all.extend(own.map(|thing| (Vec::new(), thing)));
        (all, self.links.remove(name))
    }

    fn put_all(&mut self, name: &[u8], (all, link): Named) {
        for (rest, thing) in all {
            self.names.insert([name, &rest].concat(), thing);
        }
        if let Some(target) = link {
            self.links.insert(name.to_vec(), target);
        }
    }

    /// Names of files with reads that met an end which the log itself had written, or whose size the opens give.
    pub fn ends(&self) -> HashSet<u32> {
        let opened: HashSet<usize> = self.opened_before().map(|(_, thing)| thing).collect();
        let is_sized = |thing| opened.contains(&thing) && self.read_to_end.contains(&thing);
        let is_known = |thing: usize| self.things[thing].is_written || is_sized(thing);
        let known = self.short_reads.iter().filter(|(_, thing)| is_known(*thing));
        known.map(|(path, _)| *path).collect()
    }

    /// Files that were opened and had been there before, by the names they were opened with.
    pub fn found(&self) -> HashMap<u32, Found> {
        let mut all: HashMap<u32, Found> = HashMap::new();
        for (path, thing) in self.opened_before() {
            let found = all.entry(path).or_default();
            found.bytes = self.things[thing].size_bytes.max(found.bytes);
            found.to_end |= self.read_to_end.contains(&thing);
        }
        all
    }

    /// Names and files of opens of what was there before.
    fn opened_before(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        let was_there = |thing: &Seen| thing.was_there && !thing.is_directory;
        self.opens.iter().copied().filter(move |(_, thing)| was_there(&self.things[*thing]))
    }

    /// Names of directories whose modes were changed.
    pub fn directories(&self) -> HashSet<u32> {
        let all = self.modes.iter().filter(|(_, thing)| self.things[*thing].is_directory);
        all.map(|(path, _)| *path).collect()
    }

    /// Files and directories that were there before, each directory before its content.
    pub fn before(self, log: &Log) -> Vec<Expected> {
        let found = self.things.into_iter().filter(|thing| thing.was_there).filter_map(|thing| {
            let path = thing.first.filter(|path| !path.is_empty() && path != b".")?;
            let what = match thing.link {
                Some(target) => Thing::Link(target),
                None if thing.is_directory => Thing::Directory,
                None => Thing::File { size_bytes: thing.size_bytes, whole: false },
            };
            Some(Expected { path, what })
        });
        let mut found: Vec<Expected> = found.collect();
        found.retain(|expected| !is_whole(&log.directories, &expected.path));
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }
}

/// Files by the rest of their names, and the target of a link.
type Named = (Vec<(Vec<u8>, Option<usize>)>, Option<Vec<u8>>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Events;
    use crate::order::History;
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
        History::follow(log).before.iter().map(one).collect()
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

    fn written_log(operations: &[(Op, u32, u32, u64, u64)]) -> Log {
        let entry = |(at, (op, path, path2, asked, done)): (u64, &(Op, u32, u32, u64, u64))| {
            let mut entry = Logged::default();
            (entry.event.op, entry.event.path, entry.event.path2) = (*op as u8, *path, *path2);
            (entry.event.requested_bytes, entry.event.done_bytes) = (*asked, *done);
            (entry.event.start_ns, entry.event.end_ns) = (at, at);
            entry
        };
        let names = ["a", "b", "d/f", "d", "e", "e/f", "old"];
        Log {
            paths: names.iter().map(|name| name.as_bytes().to_vec()).collect(),
            ranks: vec![(0..).zip(operations).map(entry).collect()],
            ..Log::default()
        }
    }

    #[test]
    fn what_is_appended_was_not_there_before() {
        let append = (Op::Append, 0, NO_ID, 5, 5);
        for (operations, bytes) in [
            (&[append, (Op::Fread, 0, NO_ID, 100, 84)][..], 79),
            (&[append, append, (Op::Fread, 0, NO_ID, 100, 84)], 74),
            (&[(Op::Fread, 0, NO_ID, 100, 79), append, (Op::Fread, 0, NO_ID, 100, 84)], 79),
        ] {
            let mut log = written_log(operations);
            log.ranks[0].change(|entry| {
                let is_append = entry.event.op == Op::Append as u8;
                entry.event.flags = if is_append { FLAG_UNPLACED } else { FLAG_SHORT };
            });
            assert_eq!(show(&log), [format!("a {bytes}")], "{operations:?}");
        }
        let mut log = written_log(&[append, (Op::Fread, 0, NO_ID, 100, 5)]);
        log.ranks[0].change(|entry| entry.event.flags = FLAG_UNPLACED | FLAG_AT_POSITION);
        assert_eq!(show(&log), [""; 0], "it is new");
    }

    #[test]
    fn reads_meet_the_ends_of_files_that_were_written_under_any_name() {
        let log = written_log(&[
            (Op::Fwrite, 0, NO_ID, 10, 10),
            (Op::Fread, 0, NO_ID, 20, 10),
            (Op::Fread, 0, NO_ID, 10, 10),
            (Op::Rename, 0, 1, 0, 0),
            (Op::Fread, 1, NO_ID, 20, 0),
            (Op::Fwrite, 2, NO_ID, 10, 10),
            (Op::Rename, 3, 4, 0, 0),
            (Op::Fread, 5, NO_ID, 20, 10),
            (Op::Fread, 6, NO_ID, 20, 10),
        ]);
        let ends = History::follow(&log).ends;
        let met: Vec<bool> = log.ranks[0]
            .iter()
            .map(|entry| entry.is_short() && ends.contains(&entry.event.path))
            .collect();
        assert_eq!(met, [false, true, false, false, true, false, false, true, true]);
        // The last one was there before: the program says how long.
        let found = Found { bytes: 10, to_end: true };
        assert_eq!(History::follow(&log).found.get(&6), Some(&found));
    }
}

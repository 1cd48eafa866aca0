//! Records -> events: what descriptors, positions, directories and names meant when a call was made.
//!
//! ```text
//! openat(AT_FDCWD, "f", O_RDWR) = 3 ──▶ fopen, instance 7, file 2, path "d/f"
//! read(3, "..", 4096) = 4096        ──▶ fread, instance 7, file 2, offset 0, 4096 bytes
//! ```
//!
//! Facts that a log lacks are counted, not invented ([`Gaps`]).

mod barriers;
mod calls;
mod copies;
mod found;
mod table;
mod threads;

use crate::facts::Facts;
use crate::gaps::{Gap, Gaps};
use crate::names::{Interned, Names, Node, ROOT, START};
use crate::record::{Act, At, CWD, ERRNO_UNKNOWN, Fd, Name, Record};
use crate::selection::Scope;
use crate::sort::Sorter;
use crate::strace::unescape;
use barriers::Barriers;
use found::Found;
use model::Op;
use model::directory::text_of_link;
use model::event::{Details, Event, FLAG_EXPECTED, FLAG_FAILED, NO_ID};
use model::op::{Class, ParamKind};
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use table::{Instance, Slot};
use threads::{Labels, Threads};

pub use threads::Ranked;

/// Errors of storage: the program met them. Others answer what it asked: "is there such a file?".
const FAULTS: &[u16] = &[5, 12, 23, 24, 27, 28, 30, 116, 117, 121, 122];

/// Calls that are left out and take this time are taken to wait; shorter ones are work, or what the
/// recorder adds.
const WAITS_NS: u64 = 50_000;

/// Nanoseconds since 1970 from which on a time is a date.
const DATES_FROM_NS: u64 = 100_000_000 * 1_000_000_000;

const ENOENT: u16 = 2;
const EEXIST: u16 = 17;

/// Follows the logs of one job.
pub struct Resolver<'s> {
    sorter: &'s mut Sorter,
    /// Gaps of the logs.
    pub gaps: Gaps,
    names: Names,
    pub(crate) threads: Threads,
    scope: Scope,
    calls: Interned,
    labels: Labels,
    found: Found,
    barriers: Barriers,
    log: u32,
    /// Open instances so far.
    instances: u32,
    /// Descriptors of all tables together.
    held: usize,
    /// Time of the first record.
    origin_ns: Option<u64>,
    last_end_ns: u64,
    /// Events so far.
    events: u64,
    /// The directory in which the log begins, once it is known.
    start: Option<Vec<u8>>,
    text: Vec<u8>,
}

/// The meaning of a descriptor.
enum Meaning {
    /// An open instance.
    File(Rc<Instance>),
    /// A pipe, a socket, a terminal.
    NoFile,
    /// The log does not tell.
    Unknown,
}

/// An operation that goes into the run; its time and thread are added then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    op: Op,
    event: Event,
    details: Details,
}

impl Done {
    /// On what is open.
    fn on(op: Op, instance: &Instance) -> Done {
        let mut done = Done::named(op, instance.path);
        (done.details.instance, done.details.file) = (instance.number, instance.file);
        done
    }

    /// On a name.
    fn named(op: Op, path: u32) -> Done {
        Done::between(op, path, NO_ID)
    }

    /// On two names.
    fn between(op: Op, path: u32, path2: u32) -> Done {
        let event = Event { path, path2, ..Event::default() };
        Done { op, event, details: Details::default() }
    }
}

impl<'s> Resolver<'s> {
    /// Nothing is known yet. Events go to `sorter`, if `scope` keeps their files.
    pub fn new(scope: Scope, sorter: &'s mut Sorter) -> Resolver<'s> {
        Resolver {
            sorter,
            gaps: Gaps::default(),
            names: Names::default(),
            threads: Threads::default(),
            scope,
            calls: Interned::default(),
            labels: Labels::default(),
            found: Found::default(),
            barriers: Barriers::default(),
            log: 0,
            instances: 0,
            held: 0,
            origin_ns: None,
            last_end_ns: 0,
            events: 0,
            start: None,
            text: Vec::new(),
        }
    }

    /// The following records belong to this log. Threads of logs with the same `group` belong to
    /// one machine.
    pub fn set_log(&mut self, log: u32, group: u32) {
        self.log = log;
        self.threads.group = group;
    }

    /// Follows one call.
    pub fn record(&mut self, record: &Record<'_>) {
        self.origin_ns.get_or_insert(record.start_ns);
        let Some(thread) = self.thread(record) else { return };
        let begin_ns = record.start_ns.saturating_sub(self.origin_ns());
        let end_ns = begin_ns.saturating_add(record.elapsed_ns.unwrap_or(0));
        self.threads.at_mut(thread).lives(begin_ns, end_ns);
        if record.outcome.restarts {
            return self.gaps.add(Gap::Restarted);
        }
        self.threads.at_mut(thread).waited_ns += record.waited_ns;
        let is_call = !matches!(record.call.act, Act::Introduce(_) | Act::Barrier);
        let events = self.events;
        self.call(thread, record);
        // A long call that is left out waits: for a lock, a pipe, a time, files elsewhere.
        let waited_ns =
            record.elapsed_ns.filter(|ns| *ns >= WAITS_NS && is_call && self.events == events);
        self.threads.at_mut(thread).waited_ns += waited_ns.unwrap_or(0);
    }

    /// Time of the first record on the log's clock.
    fn origin_ns(&self) -> u64 {
        self.origin_ns.unwrap_or(0)
    }

    /// At the end of the logs: names by id, and gaps.
    pub fn finish(mut self) -> Facts {
        let all = (0..self.names.path_count()).map(|path| self.names.path_text(path as u32));
        let all: Vec<&[u8]> = all.collect();
        let (root, mut paths) = self.scope.mapped(&all, self.start.as_deref());
        for path in 0..paths.len() {
            if let Some((link, target)) = self.names.link_of_text(path as u32) {
                paths[path] = text_of_link(&paths[link as usize], &paths[target as usize]);
            }
        }
        let (found, left_out) = self.found.list(&paths);
        self.gaps.add_many(Gap::Unfound, left_out);
        let (barriers, lost) = self.barriers.list(self.threads.job);
        self.gaps.add_many(Gap::Unmet, lost);
        let started = self.origin_ns.filter(|ns| *ns >= DATES_FROM_NS);
        Facts {
            times: Vec::new(),
            root,
            paths,
            has_sites: self.labels.has_sites(),
            labels: self.labels.into_words(),
            calls: self.calls.into_texts(),
            ranks: self.threads.ranks,
            hosts: self.threads.hosts(),
            threads: self.threads.list(),
            gaps: self.gaps.list(),
            started_ns: started,
            duration_ns: self.last_end_ns,
            rows: Vec::new(),
            modules: Vec::new(),
            files: Vec::new(),
            files_more: Vec::new(),
            layouts: Vec::new(),
            found,
            barriers,
            moved: Vec::new(),
            call_ns: 0,
        }
    }

    /// The meaning of a thread's descriptor.
    fn meaning(&mut self, thread: u32, fd: Fd<'_>) -> Meaning {
        let fd = Fd { shown: without_device(fd), ..fd };
        match self.threads.at(thread).table.get(fd.number) {
            Some(Slot { instance: None, .. }) if !fd.shows_path() => Meaning::NoFile,
            Some(Slot { instance: Some(instance), .. }) if self.is_shown(&instance, fd) => {
                Meaning::File(instance)
            }
            _ if fd.shows_path() => self.found_open(thread, fd),
            _ if fd.shown.is_empty() => Meaning::Unknown,
            _ => {
                self.set(thread, fd.number, Slot { instance: None, at_exec: false });
                Meaning::NoFile
            }
        }
    }

    /// Sets a descriptor of a thread. False: there are too many.
    fn set(&mut self, thread: u32, fd: i64, slot: Slot) -> bool {
        self.threads.at(thread).table.set(&mut self.held, fd, slot)
    }

    /// The recorder shows what the instance was opened as, or as what it is called now.
    fn is_shown(&mut self, instance: &Instance, fd: Fd<'_>) -> bool {
        let (shown, known) = (fd.shown, instance.shown.get());
        if !shown.starts_with(b"/") || known == 0 || known == hash(shown) {
            return true;
        }
        if fd.removed || shown.ends_with(b"(deleted)") {
            return true;
        }
        let text = self.shown_name(fd);
        let now = self.names.path(instance.node);
        let same = self.names.path_text(now) == text;
        self.text = text;
        if same {
            instance.shown.set(hash(shown));
        }
        same
    }

    /// The recorder shows a file that was opened before the log began, or out of its sight.
    fn found_open(&mut self, thread: u32, fd: Fd<'_>) -> Meaning {
        let Some(node) = self.shown_node(fd) else { return Meaning::Unknown };
        self.gaps.add(Gap::UnknownOrigin);
        let file = self.names.file(node);
        let instance = self.opened(node, file, NO_ID, hash(fd.shown));
        instance.position.set(None);
        let slot = Slot { instance: Some(instance.clone()), at_exec: false };
        match self.set(thread, fd.number, slot) {
            true => Meaning::File(instance),
            false => Meaning::Unknown,
        }
    }

    /// An instance that was just opened. `shown`: hash of what the recorder shows for it.
    fn opened(&mut self, node: Node, file: u32, flags: u32, shown: u64) -> Rc<Instance> {
        let (number, path) = (self.instances, self.names.path(node));
        self.instances = number.wrapping_add(1);
        let (flags, shown) = (Cell::new(flags), Cell::new(shown));
        let (position, scan) = (Cell::new(Some(0)), Cell::new(None));
        Rc::new(Instance { number, node, path, file, flags, shown, position, scan })
    }

    /// An open instance. What is none is counted.
    fn instance(&mut self, thread: u32, fd: Fd<'_>, record: &Record<'_>) -> Option<Rc<Instance>> {
        match self.meaning(thread, fd) {
            Meaning::File(instance) => return Some(instance),
            Meaning::NoFile => self.gaps.add_name(Gap::NoFiles, record.name),
            Meaning::Unknown if record.outcome.errno == 9 => {}
            Meaning::Unknown => self.gaps.add_name(Gap::UnknownFiles, record.name),
        }
        None
    }

    /// The node of a name. What cannot be followed is counted.
    fn node(&mut self, thread: u32, at: &At<'_>) -> Option<Node> {
        if at.name.cut {
            self.gaps.add(Gap::CutNames);
            return None;
        }
        let from = self.directory(thread, at);
        let text = self.decoded(at.name);
        let node = match own_descriptor(&text) {
            Some(number) => match self.meaning(thread, Fd::bare(number)) {
                Meaning::File(instance) => Some(instance.node),
                _ => self.names.walk(ROOT, &text),
            },
            None => self.names.walk(from, &text),
        };
        self.text = text;
        if node.is_none() {
            self.gaps.add(Gap::Impossible);
        }
        node
    }

    /// The bytes of a name, in the memory that is used again.
    fn decoded(&mut self, name: Name<'_>) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        match name.escaped {
            true => unescape(name.text, &mut text),
            false => text.extend_from_slice(name.text),
        }
        text
    }

    /// The bytes of a descriptor's name, in memory that is reused.
    fn shown_name(&mut self, fd: Fd<'_>) -> Vec<u8> {
        self.decoded(Name { text: fd.shown, escaped: fd.escaped, cut: false })
    }

    /// The directory in which a name starts.
    fn directory(&mut self, thread: u32, at: &At<'_>) -> Node {
        let is_absolute = at.name.text.first() == Some(&b'/');
        if at.dir.number == CWD {
            let shown = self.shown_name(at.dir);
            self.learn_directory(thread, &shown);
            self.text = shown;
            let node = self.threads.at(thread).directory.get();
            if node == START && !is_absolute && self.start.is_none() {
                self.gaps.add(Gap::UnknownDirectory);
            }
            return node;
        }
        if is_absolute {
            return ROOT;
        }
        match self.meaning(thread, at.dir) {
            Meaning::File(instance) => instance.node,
            _ => {
                self.gaps.add(Gap::UnknownDirectory);
                START
            }
        }
    }

    /// The recorder shows the current directory.
    fn learn_directory(&mut self, thread: u32, shown: &[u8]) {
        if !shown.starts_with(b"/") {
            return;
        }
        let Some(node) = self.names.walk(ROOT, shown) else { return };
        let directory = &self.threads.at(thread).directory;
        if directory.get() == START && self.start.is_none() {
            self.start = Some(shown.to_vec());
            self.scope.begins(shown);
        }
        directory.set(node);
    }

    /// The path of a node is one of those that are kept.
    fn is_kept(&mut self, path: u32) -> bool {
        self.scope.keeps(path, self.names.path_text(path))
    }

    /// The open file without a name that a link gives one.
    fn nameless(&mut self, thread: u32, from: &At<'_>) -> Option<Rc<Instance>> {
        let text = self.decoded(from.name);
        let number = if text.is_empty() { Some(from.dir.number) } else { own_descriptor(&text) };
        self.text = text;
        let Meaning::File(instance) = self.meaning(thread, Fd::bare(number?)) else { return None };
        Some(instance).filter(|instance| instance.is_nameless())
    }

    /// The event of an operation on what is open. Those that Parabench has for names only work on the name
    /// that the file has now; of a file without one they are left out.
    fn emit_on_open(&mut self, thread: u32, record: &Record<'_>, on: &Instance, mut done: Done) {
        let first = done.op.row().params.first();
        if first.is_some_and(|param| param.kind == ParamKind::Path) {
            if on.is_nameless() || self.names.is_absent(on.node) {
                return self.gaps.add_name(Gap::NoOperation, record.name);
            }
            done.event.path = self.names.path(on.node);
        }
        self.emit(thread, record, done);
    }

    /// Gives the event of an operation to the sorter, unless its file is left out.
    fn emit(&mut self, thread: u32, record: &Record<'_>, done: Done) {
        let elapsed_ns = record.elapsed_ns.unwrap_or_else(|| {
            self.gaps.add(Gap::NoDurations);
            0
        });
        self.emit_span(thread, record, (record.start_ns, elapsed_ns, elapsed_ns), done);
    }

    /// The directory of the run is made, removed, renamed or missed: there it neither can nor has to be.
    fn is_about_root(&mut self, done: &Done, errno: u16) -> bool {
        let changes = match done.op {
            Op::Mkdir => errno != EEXIST,
            Op::Rmdir | Op::Rename => true,
            _ => false,
        };
        // The first path of a symbolic link is a text.
        if done.op == Op::Symlink || (!changes && errno != ENOENT) {
            return false;
        }
        let mut found = false;
        for path in [done.event.path, done.event.path2].into_iter().filter(|path| *path != NO_ID) {
            let text = self.names.path_text(path);
            found |= if changes {
                self.scope.changes(path, text)
            } else {
                self.scope.which.is_root(text)
            };
        }
        found
    }

    /// The same of an operation over several calls: start, elapsed and own time.
    fn emit_span(
        &mut self,
        thread: u32,
        record: &Record<'_>,
        (start_ns, elapsed_ns, busy_ns): (u64, u64, u64),
        done: Done,
    ) {
        // Both are asked: what is kept decides what paths are below.
        let Event { path, path2, done_bytes, .. } = done.event;
        let is_name = path != NO_ID && done.op != Op::Symlink;
        let kept = path == NO_ID || (is_name && self.is_kept(path));
        let kept2 = path2 != NO_ID && self.is_kept(path2);
        if !kept && !kept2 {
            return self.gaps.add_bytes(Gap::Outside, done_bytes);
        }
        if self.threads.is_launcher(thread) {
            return self.gaps.add_bytes(Gap::Launcher, done_bytes);
        }
        let errno = record.outcome.errno;
        if self.is_about_root(&done, errno) {
            return self.gaps.add(Gap::OwnDirectory);
        }
        let Done { op, mut event, mut details } = done;
        event.start_ns = start_ns.saturating_sub(self.origin_ns());
        event.end_ns = event.start_ns.saturating_add(elapsed_ns);
        (event.intended_start_ns, event.busy_ns) = (event.start_ns, busy_ns);
        (event.op, event.errno) = (op as u8, errno);
        if errno != 0 {
            event.flags |= if is_fault(errno, op) { FLAG_FAILED } else { FLAG_EXPECTED };
        }
        event.label = self.labels.site(self.threads.at(thread).label, record.site);
        details.waited_us = std::mem::take(&mut self.threads.at_mut(thread).waited_ns) / 1000;
        (details.line, details.log) = (record.line, self.log);
        details.call = self.calls.number(record.name);
        self.last_end_ns = self.last_end_ns.max(event.end_ns);
        self.events += 1;
        self.sorter.event(self.threads.rank(thread), &event, &details);
    }
}

/// The error is one of storage. Of an unknown one the operation decides: what moves data asks nothing.
fn is_fault(errno: u16, op: Op) -> bool {
    let moves = matches!(op.row().class, Class::Read | Class::Write | Class::Sync);
    FAULTS.contains(&errno) || (errno == ERRNO_UNKNOWN && moves)
}

/// `/dev/sda<block 8:0>` is a file; `/dev/pts/0<char 136:0>` none.
fn without_device(fd: Fd<'_>) -> &[u8] {
    let shown = fd.shown;
    match memchr::memrchr(b'<', shown) {
        Some(at) if shown[at..].starts_with(b"<char ") => &shown[at..],
        Some(at) if fd.escaped => &shown[..at],
        _ => shown,
    }
}

/// The descriptor that `/proc/self/fd/7` is another name of.
fn own_descriptor(name: &[u8]) -> Option<i64> {
    let number = name.strip_prefix(b"/proc/self/fd/")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Never 0.
fn hash(text: &[u8]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    text.hash(&mut hasher);
    hasher.finish() | 1
}
